# SPDX-License-Identifier: MIT
"""What a benchmark may be asked for, and how its rows come."""

import json
import os
import shutil
import socket
import threading
import unittest

import jsonschema

from harness import BUILD, Daemon, children, wait_until
from measuring import FAULTS, SQUARE, TIME_S, Measuring, place
from varlink import VarlinkError


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

    def test_the_plugin_or_kernel_that_was_meant_is_offered(self):
        for meant in (FAULTS, "other_operation", "zzzzzzzzzz"):
            error = self.refuse("NotFound", "no_such_kernel", kernels=[meant[:-1]])
            self.assertEqual(error["nearest"], FAULTS if meant == FAULTS else None)

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

    def test_name_without_a_mode_that_is_no_family_offers_the_nearest(self):
        error = self.refuse("InvalidArgument", "bad_operation", operation="elementwis")
        self.assertEqual(error["nearest"], SQUARE)

    def test_rounds_and_threads_are_counted_from_1(self):
        for key, most in (("rounds", 16), ("threads", 1024)):
            for value in (0, -1, most + 1):
                with self.subTest(key=key, value=value):
                    error = self.refuse("InvalidArgument", "bad_" + key, **{key: value})
                    self.assertIn(str(most), error["message"])

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
            rounds=2,
        )
        runs = [reply["run"]["verdict"] for reply in replies if reply["run"]]
        steps = [reply["progress"] for reply in replies if reply["progress"]]
        self.assertEqual(runs, ["ok", "crashed"])
        # Two rounds, the first backwards; who crashed is not tried again.
        names = [step["kernel"].split("/")[1] for step in steps]
        self.assertEqual(names, ["crash", "right", "right"])
        self.assertEqual([(s["done"], s["total"]) for s in steps], [(0, 4), (1, 4), (2, 4)])
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

    def test_benchmark_that_comes_while_one_is_cancelled_waits_for_its_end(self):
        for _ in range(3):
            self.start_hanging().close()
            wait_until(lambda: not self.daemon.call("Status")["clients"] > 1, "its leaving")
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
            "bench",
            SQUARE,
            "--shape",
            "n=100",
            "--time",
            str(TIME_S),
            "--kernel",
            FAULTS + "/right",
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
