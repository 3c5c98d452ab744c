# SPDX-License-Identifier: MIT
"""The benchmark, from the call to the worker: every fault becomes a row, and only a row."""

import json
import math
import os
import shutil
import socket
import threading
import unittest

import jsonschema

from harness import BUILD, Daemon, VarlinkError, children, wait_until

SQUARE = "elementwise/square"
FAULTS = "measured_faults"
TIME_S = 0.02
TIMES = ["median_us", "p10_us", "p90_us", "min_us", "max_us"]


def place(daemon, fixture=FAULTS, **manifest):
    """The reference and a fixture, as plugins of this daemon."""
    for name, source in (
        ("reference", os.path.join(BUILD, "plugins", "reference.so")),
        (fixture, os.path.join(BUILD, "tests", "fixtures", fixture + ".so")),
    ):
        # With its time: a file that looks as if it were being written is waited for.
        shutil.copy2(source, daemon.library_path(name))
    daemon.manifest("reference")
    daemon.manifest(fixture, timeout_ms=1000, **manifest)
    daemon.call("Reload")
    daemon.settle()


class Measuring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon)

    def bench(self, *kernels, operation=SQUARE, shapes=({"n": 1000},), **more):
        names = [name if "/" in name else f"{FAULTS}/{name}" for name in kernels]
        parameters = {"operation": operation, "time_s": TIME_S, **more}
        if names:
            parameters["kernels"] = names
        if shapes is not None:
            parameters["shapes"] = list(shapes)
        return self.daemon.call("Bench", parameters)["runs"]

    def row(self, kernel, **more):
        runs = self.bench(kernel, **more)
        self.assertEqual(len(runs), 1)
        return runs[0]

    def expect(self, kernel, verdict, *texts, **more):
        """Its row has this verdict, says this, and shows no times."""
        row = self.row(kernel, **more)
        self.assertEqual(row["verdict"], verdict, row)
        for text in texts:
            self.assertIn(text, row["message"])
        for key in (*TIMES, "gflops", "gbytes_per_s"):
            self.assertIsNone(row[key])
        return row


class Results(Measuring):
    def test_right_kernel_has_times_in_order_and_rates(self):
        row = self.row("right")
        self.assertEqual(row["verdict"], "ok", row)
        self.assertIsNone(row["message"])
        order = [row[key] for key in ("min_us", "p10_us", "median_us", "p90_us", "max_us")]
        self.assertEqual(order, sorted(order))
        self.assertGreater(order[0], 0)
        self.assertAlmostEqual(row["gflops"], 1000 / row["median_us"] / 1e3)
        self.assertAlmostEqual(row["gbytes_per_s"], 8000 / row["median_us"] / 1e3)
        self.assertLessEqual(row["max_error"], row["tolerance"])

    def test_at_least_30_samples_and_some_calls_before_them(self):
        row = self.row("right")
        self.assertGreaterEqual(row["samples"], 30)
        self.assertGreaterEqual(row["warmup"], 3)

    def test_row_says_what_was_measured(self):
        row = self.row("right", seed=7)
        self.assertEqual(row["operation"], SQUARE)
        self.assertEqual(row["kernel"], FAULTS + "/right")
        self.assertEqual(row["signature"], "x=f32,y=f32")
        self.assertEqual(row["shape"], {"n": 1000})
        self.assertEqual(row["seed"], 7)
        info = self.daemon.call("Info", name=FAULTS)["plugin"]
        self.assertEqual(row["sha256"], info["sha256"])

    def test_reference_is_a_row_of_its_own(self):
        row = self.row("reference/elementwise_square")
        self.assertEqual(row["verdict"], "ok")
        self.assertEqual(row["max_error"], 0)

    def test_shapes_are_the_familys_when_none_is_given(self):
        runs = self.bench("right", shapes=None)
        self.assertEqual([run["shape"] for run in runs], [{"n": 1048576}, {"n": 4096}])

    def test_rows_are_by_shape_and_then_by_kernel(self):
        runs = self.bench("right", "wrong", shapes=[{"n": 3}, {"n": 5}])
        seen = [(run["shape"]["n"], run["kernel"].split("/")[1]) for run in runs]
        self.assertEqual(seen, [(3, "right"), (3, "wrong"), (5, "right"), (5, "wrong")])

    def test_dims_that_are_not_given_are_the_familys(self):
        row = self.row("reference/gemm_mm", operation="gemm/mm", shapes=[{"m": 3}])
        self.assertEqual(row["shape"], {"m": 3, "n": 256, "k": 256})

    def test_k02_empty_output_is_measured_and_has_no_rate(self):
        row = self.row("right", shapes=[{"n": 0}])
        self.assertEqual(row["verdict"], "ok", row)
        self.assertIsNone(row["gflops"])
        self.assertIsNone(row["gbytes_per_s"])

    def test_k02_empty_reduction_is_held_against_the_reference(self):
        row = self.row(
            "reference/gemm_mm", operation="gemm/mm", shapes=[{"m": 3, "n": 5, "k": 0}]
        )
        self.assertEqual(row["verdict"], "ok", row)
        self.assertIsNone(row["gflops"])

    def test_k02_attention_without_a_token_is_measured(self):
        shape = {"b": 3, "h": 4, "hkv": 2, "d": 16, "pages": 6, "page": 8, "max_pages": 2}
        row = self.row(
            "reference/attention_decode",
            operation="attention/decode",
            shapes=[{**shape, "tokens": 0}],
        )
        self.assertEqual(row["verdict"], "ok", row)

    def test_trait_of_an_attribute_is_its_value(self):
        rows = [
            self.row(
                "reference/attention_decode",
                operation="attention/decode",
                shapes=[{"b": 1, "tokens": 400}],
                traits=traits,
            )
            for traits in ({}, {"window": 8})
        ]
        self.assertEqual([row["verdict"] for row in rows], ["ok", "ok"])
        self.assertEqual([row["traits"] for row in rows], [{}, {"window": 8}])
        # 8 of 400 tokens count: the work is a part of what it was.
        self.assertLess(rows[1]["min_us"], rows[0]["min_us"])

    def decode(self, **traits):
        return self.row(
            "reference/attention_decode",
            operation="attention/decode",
            shapes=[{"b": 1, "tokens": 400}],
            traits=traits,
        )

    def test_rates_are_null_where_the_work_terms_do_not_hold(self):
        for value in (5, "5", [5]):
            with self.subTest(value=value):
                row = self.decode(window=value)
                self.assertEqual((row["verdict"], row["traits"]), ("ok", {"window": 5}))
                self.assertGreater(row["median_us"], 0)
                self.assertIsNone(row["gflops"])
                self.assertIsNone(row["gbytes_per_s"])

    def test_rates_are_told_for_defaults_and_for_what_changes_no_meaning(self):
        for traits in ({"window": 0}, {"window": "0"}, {"head_dim": 128}):
            with self.subTest(traits=traits):
                row = self.decode(**traits)
                self.assertGreater(row["gflops"], 0)
                self.assertGreater(row["gbytes_per_s"], 0)

    def test_what_is_asked_for_twice_is_measured_once(self):
        runs = self.bench(
            "right", "right", FAULTS + "/right", shapes=[{"n": 3}, {"n": 3}, {"n": 4}]
        )
        self.assertEqual([run["shape"] for run in runs], [{"n": 3}, {"n": 4}])

    def test_name_of_a_plugin_is_all_that_it_has_of_the_operation(self):
        runs = self.bench(operation="gemm/mm", kernels=["reference"], shapes=[{"m": 2}])
        self.assertEqual([run["kernel"] for run in runs], ["reference/gemm_mm"])
        runs = self.bench(
            operation="gemm/mm",
            kernels=["reference/gemm_mm", "reference"],
            shapes=[{"m": 2}],
        )
        self.assertEqual(len(runs), 1)

    def test_where_nothing_may_run_every_kernel_says_why(self):
        for name in (FAULTS, "reference"):
            self.daemon.call("Disable", name=name)
            self.addCleanup(self.daemon.call, "Enable", name=name)
        runs = self.bench(shapes=[{"n": 3}, {"n": 4}])
        kernels = {run["kernel"] for run in runs}
        self.assertIn("reference/elementwise_square", kernels)
        self.assertIn(FAULTS + "/right", kernels)
        self.assertEqual(len(runs), 2 * len(kernels))
        for run in runs:
            self.assertEqual(run["verdict"], "not_eligible")
            self.assertIn("disabled", run["message"])

    def test_signature_that_nobody_has_says_so_of_each(self):
        runs = self.bench(signature="x=bf16,y=bf16")
        self.assertTrue(runs)
        for run in runs:
            self.assertEqual(run["verdict"], "not_eligible", run)
            self.assertIn("bf16", run["message"])

    def test_same_seed_gives_the_same_error(self):
        errors = [self.row("wrong", seed=seed)["max_error"] for seed in (1, 1, 2)]
        self.assertEqual(errors[0], errors[1])
        self.assertNotEqual(errors[0], errors[2])

    def test_every_usable_kernel_is_measured_when_none_is_named(self):
        self.daemon.call("Disable", name=FAULTS)
        self.addCleanup(self.daemon.call, "Enable", name=FAULTS)
        runs = self.bench()
        self.assertEqual([run["kernel"] for run in runs], ["reference/elementwise_square"])


class Faults(Measuring):
    def test_crash_is_a_row(self):
        self.expect("crash", "crashed", "SIGSEGV")

    def test_crash_after_a_while_says_when(self):
        self.expect("crash_later", "crashed", "SIGSEGV", "timing")

    def test_abort_is_a_row_with_its_last_words(self):
        self.expect("abort", "crashed", "SIGABRT", "this cannot be")

    def test_t19_exit_0_is_no_success(self):
        self.expect("exit", "crashed", "first check")

    def test_t19_heap_that_is_spoiled_is_no_success(self):
        self.expect("heap", "crashed")

    def test_crash_in_unload_is_a_row(self):
        self.expect("crash_in_unload", "crashed", "unload")

    def test_hang_is_a_row(self):
        self.expect("hang", "hung", "first check")

    def test_hang_after_a_while_is_a_row(self):
        self.expect("hang_later", "hung", "timing")

    def test_hang_in_need_is_a_row(self):
        self.expect("hang_in_need", "hung", "need")

    def test_write_behind_an_output_is_seen(self):
        self.expect("behind", "out_of_bounds", "behind y")

    def test_write_before_an_output_is_seen(self):
        self.expect("before", "out_of_bounds", "before y", "4 bytes")

    def test_write_far_before_an_output_is_seen(self):
        self.expect("far_before", "out_of_bounds", "before y")

    def test_read_behind_an_input_is_seen(self):
        self.expect("reads_behind", "out_of_bounds", "behind x")

    def test_write_to_an_input_is_seen(self):
        self.expect("writes_input", "out_of_bounds", "input x")

    def test_write_behind_the_workspace_is_seen(self):
        self.expect("behind_workspace", "out_of_bounds", "behind workspace")

    def test_wrong_element_is_named_with_both_values(self):
        row = self.expect("wrong", "wrong", "y: element 500 is")
        self.assertGreater(row["max_error"], row["tolerance"])

    def test_t63_half_a_result_is_wrong(self):
        self.expect("half", "wrong")

    def test_t63_wrong_after_a_while_is_wrong(self):
        self.expect("wrong_later", "wrong", "right at first")

    def test_t63_no_op_is_wrong(self):
        self.expect("nothing", "wrong")

    def test_t63_no_op_after_the_first_call_is_wrong(self):
        self.expect("nothing_later", "wrong", "right at first")

    def test_t63_wrong_whenever_it_is_checked_again_is_wrong(self):
        self.expect("wrong_at_last", "wrong", "right at first")

    def test_result_that_is_no_number_is_wrong_and_null(self):
        row = self.expect("not_a_number", "wrong")
        self.assertIsNone(row["max_error"])

    def test_k05_status_and_text_are_the_message(self):
        self.expect("status", "error", "run returned KP_INVALID", "x is not to my taste")

    def test_k05_odd_status_keeps_its_number(self):
        self.expect("odd_status", "error", "KP_RUNTIME (999)", "no such status")

    def test_k05_status_after_a_while_is_a_row(self):
        self.expect("status_later", "error", "KP_NO_MEMORY", "enough")

    def test_k05_unsupported_is_said(self):
        self.expect("unsupported", "unsupported", "not this shape")

    def test_k05_unavailable_in_load_is_said(self):
        self.expect("unavailable", "unavailable", "load returned", "libabsent.so.1")

    def test_memory_that_nobody_has_is_said(self):
        self.expect("greedy", "error", "workspace")

    def test_named_kernel_that_selection_would_not_take_is_a_row(self):
        self.expect("not_here", "not_eligible", "required")

    def test_the_others_still_run(self):
        runs = self.bench("crash", "hang", "behind", "right")
        verdicts = [run["verdict"] for run in runs]
        self.assertEqual(verdicts, ["crashed", "hung", "out_of_bounds", "ok"])

    def test_no_worker_is_left(self):
        before = self.daemon.call("Status")["workers"]["running"]
        self.bench("hang", "crash")
        self.assertEqual(self.daemon.call("Status")["workers"]["running"], before)

    def test_registry_is_as_it_was(self):
        before = self.daemon.call("List")
        self.bench("crash", "heap", "wrong")
        self.assertEqual(self.daemon.call("List"), before)


class Requests(Measuring):
    def refuse(self, name, code, **parameters):
        with self.assertRaises(VarlinkError) as caught:
            self.daemon.call("Bench", {"operation": SQUARE, **parameters})
        self.assertEqual((caught.exception.short, caught.exception.code), (name, code))
        return caught.exception.parameters

    def test_unknown_operation_offers_the_nearest(self):
        error = self.refuse("NotFound", "unknown_operation", operation="elementwise/squar")
        self.assertEqual(error["nearest"], SQUARE)

    def test_unknown_kernel_is_not_found(self):
        self.refuse("NotFound", "no_such_kernel", kernels=["nobody/nothing"])

    def test_kernel_of_another_operation_is_not_found(self):
        self.refuse("NotFound", "no_such_kernel", kernels=[FAULTS + "/other_operation"])

    def test_unknown_dim_is_refused(self):
        self.refuse("InvalidArgument", "unknown_dim", shapes=[{"q": 1}])

    def test_negative_extent_is_refused(self):
        self.refuse("InvalidArgument", "bad_extent", shapes=[{"n": -1}])

    def test_role_that_is_unknown_is_refused(self):
        self.refuse("InvalidArgument", "unknown_role", signature="q=f32,x=f32,y=f32")

    def test_time_of_nothing_or_of_a_day_is_refused(self):
        for time_s in (0, -1, 86400):
            with self.subTest(time_s=time_s):
                self.refuse("InvalidArgument", "bad_time", time_s=time_s)

    def test_time_beyond_the_most_names_the_most(self):
        self.assertIn("60", self.refuse("InvalidArgument", "bad_time", time_s=61)["message"])

    def test_set_of_values_is_no_case(self):
        for traits in ({"window": [1, 2]}, {"window": ["1", "2"]}, {"head_dim": [64, 128]}):
            with self.subTest(traits=traits):
                self.refuse(
                    "InvalidArgument", "bad_trait", operation="attention/decode", traits=traits
                )

    def test_value_that_an_attribute_cannot_have_is_refused(self):
        for value in (2**53 + 1, -(2**60), "9007199254740994", 1e300, 1.5, True, "wide", []):
            with self.subTest(value=value):
                self.refuse(
                    "InvalidArgument",
                    "bad_trait",
                    operation="attention/decode",
                    traits={"window": value},
                )

    def test_family_alone_offers_its_operation(self):
        error = self.refuse("InvalidArgument", "bad_operation", operation="gemm")
        self.assertEqual(error["nearest"], "gemm/mm")
        error = self.refuse("InvalidArgument", "bad_operation", operation="elementwise")
        self.assertEqual(error["nearest"].split("/")[0], "elementwise")

    def test_unknown_format_is_refused(self):
        self.refuse("InvalidArgument", "bad_signature", signature="x=f31,y=f31")
        self.refuse("InvalidArgument", "format_not_allowed", signature="x=i64,y=i64")

    def test_operation_without_a_kernel_is_not_found(self):
        with Daemon() as daemon:
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Bench", operation=SQUARE)
            self.assertEqual(caught.exception.code, "no_such_kernel")

    def test_negative_seed_is_refused(self):
        self.refuse("InvalidArgument", "bad_seed", seed=-1)

    def test_too_many_shapes_are_refused(self):
        self.refuse("InvalidArgument", "too_many", shapes=[{"n": 1}] * 65)

    def test_shape_that_no_machine_holds_is_a_row(self):
        self.expect("right", "error", "memory", shapes=[{"n": 1 << 40}])


class Streams(Measuring):
    def test_every_row_comes_as_it_is_finished(self):
        replies = self.daemon.call(
            "Bench",
            more=True,
            operation=SQUARE,
            kernels=[FAULTS + "/right", FAULTS + "/crash"],
            shapes=[{"n": 10}],
            time_s=TIME_S,
        )
        runs = [reply["run"]["verdict"] for reply in replies if reply["run"]]
        steps = [reply["progress"] for reply in replies if reply["progress"]]
        self.assertEqual(runs, ["ok", "crashed"])
        self.assertEqual([(s["done"], s["total"]) for s in steps], [(0, 2), (1, 2)])
        self.assertEqual([run["verdict"] for run in replies[-1]["runs"]], runs)
        self.assertTrue(all(reply["format"] == "kplug-bench/1" for reply in replies))

    def test_reference_that_fails_for_one_shape_is_heard_of_the_next(self):
        runs = self.bench("right", shapes=[{"n": 1 << 40}, {"n": 10}])
        self.assertEqual([run["verdict"] for run in runs], ["error", "ok"])
        self.assertIsNone(runs[1]["message"])

    def test_kernel_that_is_disabled_meanwhile_is_not_run(self):
        self.addCleanup(self.daemon.call, "Enable", name=FAULTS)
        with self.daemon.client() as client:
            replies = client.call_more(
                "Bench",
                {
                    "operation": SQUARE,
                    "kernels": [FAULTS + "/hang", FAULTS + "/right"],
                    "shapes": [{"n": 10}, {"n": 11}],
                    "time_s": TIME_S,
                },
            )
            first = next(iter(replies))
            self.assertEqual(first["progress"]["done"], 0)
            self.daemon.call("Disable", name=FAULTS, reason="it hangs")
            runs = [reply["run"] for reply in replies if reply["run"]]
        # It may have been early enough even for the first.
        self.assertIn(runs[0]["verdict"], ("hung", "not_eligible"))
        self.assertEqual([run["verdict"] for run in runs[1:]], ["not_eligible"] * 3)
        self.assertIn("disabled", runs[1]["message"])

    def test_plugin_without_a_verdict_is_waited_for(self):
        with Daemon() as daemon:
            for name, source in (("reference", "plugins/reference.so"),):
                shutil.copy2(os.path.join(BUILD, source), daemon.library_path(name))
                os.utime(daemon.library_path(name))
                daemon.manifest(name)
            daemon.call("Reload")
            runs = daemon.call("Bench", operation=SQUARE, shapes=[{"n": 3}], time_s=TIME_S)["runs"]
            self.assertEqual([run["verdict"] for run in runs], ["ok"])

    def start_hanging(self):
        """A client whose benchmark hangs for a while; the client."""
        call = {
            "method": "org.kplug.Manager.Bench",
            "parameters": {
                "operation": SQUARE,
                "kernels": [FAULTS + "/hang"],
                "shapes": [{"n": 10}],
                "time_s": 10,
            },
        }
        other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        other.connect(self.daemon.socket)
        other.sendall(json.dumps(call).encode() + b"\0")
        wait_until(self.is_running, "the worker")
        return other

    def is_running(self):
        return self.daemon.call("Status")["workers"]["running"] > 0

    def test_second_benchmark_is_refused_while_one_runs(self):
        with self.start_hanging():
            with self.assertRaises(VarlinkError) as caught:
                self.daemon.call("Bench", operation=SQUARE)
            self.assertEqual(caught.exception.short, "Busy")
            self.assertEqual(caught.exception.code, "bench_busy")
        wait_until(lambda: not self.is_running(), "the end of the worker")

    def test_client_that_leaves_ends_its_benchmark(self):
        self.start_hanging().close()
        wait_until(lambda: not self.is_running(), "the end of the worker")
        self.assertEqual(self.row("right")["verdict"], "ok")

    def test_daemon_answers_others_meanwhile(self):
        with self.start_hanging():
            self.assertTrue(self.daemon.call("List")["plugins"])
            self.assertEqual(self.daemon.select(SQUARE)["selected"], FAULTS + "/right")
        wait_until(lambda: not self.is_running(), "the end of the worker")

    def test_daemon_ends_while_one_runs(self):
        with Daemon() as daemon:
            place(daemon)
            thread = threading.Thread(target=self.ask_and_lose, args=(daemon,))
            thread.start()
            wait_until(lambda: daemon.call("Status")["workers"]["running"], "the worker")
            left = children(daemon.pid)
            self.assertEqual(daemon.stop(), 0)
            thread.join()
            self.assertEqual([pid for pid in left if os.path.exists(f"/proc/{pid}")], [])

    def ask_and_lose(self, daemon):
        try:
            daemon.call("Bench", operation=SQUARE, kernels=[FAULTS + "/hang"], time_s=10)
        except (OSError, EOFError, AssertionError, VarlinkError):
            pass


class Document(Measuring):
    def test_document_follows_its_schema_whatever_the_verdicts(self):
        with open(os.path.join(BUILD, "schemas", "bench.json"), encoding="utf-8") as file:
            schema = json.load(file)
        names = ["right", "crash", "wrong", "behind", "status", "unsupported", "not_here"]
        kernels = [argument for name in names for argument in ("--kernel", f"{FAULTS}/{name}")]
        done = self.daemon.ctl(
            "bench", SQUARE, "--shape", "n=100", "--time", str(TIME_S), "--json", *kernels
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("NaN", done.stdout)
        document = json.loads(done.stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
        self.assertEqual(len(document["runs"]), len(names))

    def test_exit_status_is_0_when_all_are_right(self):
        done = self.daemon.ctl(
            "bench", SQUARE, "--shape", "n=100", "--time", str(TIME_S), "--kernel", FAULTS + "/right"
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Reference(unittest.TestCase):
    def run_one(self, prepare, **more):
        with Daemon() as daemon:
            place(daemon)
            prepare(daemon)
            daemon.settle()
            parameters = {"kernels": [FAULTS + "/right"], "shapes": [{"n": 100}], **more}
            return daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]

    def test_disabled_reference_still_checks_and_says_so(self):
        run = self.run_one(lambda daemon: daemon.call("Disable", name="reference"))[0]
        self.assertEqual(run["verdict"], "ok")
        self.assertIn("reference/elementwise_square, which is not in use", run["message"])

    def test_disabled_reference_is_no_row(self):
        runs = self.run_one(
            lambda daemon: daemon.call("Disable", name="reference"),
            kernels=["reference/elementwise_square"],
        )
        self.assertEqual(runs[0]["verdict"], "not_eligible")

    def test_without_a_reference_nothing_is_verified(self):
        def remove(daemon):
            daemon.remove("reference")
            daemon.call("Reload")

        run = self.run_one(remove)[0]
        self.assertEqual(run["verdict"], "unverified")
        self.assertIn("reference/elementwise_square is not here", run["message"])
        self.assertGreater(run["median_us"], 0)
        self.assertIsNone(run["max_error"])

    def test_without_a_reference_a_no_op_is_wrong_all_the_same(self):
        def remove(daemon):
            daemon.remove("reference")
            daemon.call("Reload")

        run = self.run_one(remove, kernels=[FAULTS + "/nothing"])[0]
        self.assertEqual(run["verdict"], "wrong")
        self.assertIn("nothing was written", run["message"])


class Starting(unittest.TestCase):
    """`start` is called for the first time when a kernel is measured."""

    def right(self, config):
        with Daemon() as daemon:
            place(daemon, config=config)
            parameters = {"kernels": [FAULTS + "/right"], "shapes": [{"n": 100}]}
            runs = daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]
        return runs[0]

    def test_a13_each_status_of_start_is_told(self):
        names = ["KP_INVALID", "KP_UNSUPPORTED", "KP_UNAVAILABLE", "KP_NO_MEMORY", "KP_RUNTIME"]
        verdicts = ["error", "unsupported", "unavailable", "error", "error"]
        with Daemon() as daemon:
            place(daemon)
            for status, (name, verdict) in enumerate(zip(names, verdicts), 1):
                with self.subTest(status=name):
                    config = {"status": status}
                    daemon.manifest(FAULTS, timeout_ms=1000, config=config)
                    daemon.call("Reload")
                    run = daemon.call(
                        "Bench",
                        operation=SQUARE,
                        kernels=[FAULTS + "/right"],
                        shapes=[{"n": 10}],
                        time_s=TIME_S,
                    )["runs"][0]
                    self.assertEqual(run["verdict"], verdict, run)
                    self.assertIn(f"start returned {name}", run["message"])
                    self.assertIn("as the configuration wants", run["message"])

    def test_a13_odd_status_of_start_keeps_its_number(self):
        run = self.right({"status": 1234})
        self.assertEqual(run["verdict"], "error")
        self.assertIn("KP_RUNTIME (1234)", run["message"])

    def test_a13_state_of_a_failed_start_is_not_used_and_nothing_stopped(self):
        run = self.right({"status": 5, "state": True})
        self.assertEqual(run["verdict"], "error", run)
        self.assertIn("start returned KP_RUNTIME", run["message"])

    def test_a13_state_of_a_good_start_is_stopped(self):
        run = self.right({"state": True})
        self.assertEqual(run["verdict"], "crashed", run)
        self.assertIn("stop", run["message"])


class Builtin(unittest.TestCase):
    """The kernels that come with kplug are right on the shapes of their families."""

    def test_every_builtin_kernel_is_right_on_its_familys_shapes(self):
        with Daemon(builtin=True) as daemon:
            daemon.settle()
            operations = {k["operation"] for k in daemon.call("Kernels")["kernels"]}
            self.assertEqual(len(operations), 6)
            for operation in sorted(operations):
                runs = daemon.call("Bench", operation=operation, time_s=TIME_S)["runs"]
                self.assertTrue(runs)
                for run in runs:
                    with self.subTest(kernel=run["kernel"], shape=run["shape"]):
                        self.assertEqual(run["verdict"], "ok", run)
                        for key in (*TIMES, "gflops", "gbytes_per_s"):
                            self.assertTrue(math.isfinite(run[key]) and run[key] > 0)


if __name__ == "__main__":
    unittest.main()
