# SPDX-License-Identifier: MIT
"""A verification finds what a first look at a result does not."""

import unittest

from harness import SANITIZER, wait_until
from measuring import FAULTS as MEASURED, SQUARE, place
from varlink import VarlinkError
from verifying import FAULTS, Verifying


class Right(Verifying):
    def test_right_kernel_is_right_in_every_case(self):
        row = self.row("right")
        self.assertEqual(row["verdict"], "ok", row)
        self.assertEqual((row["cases"], row["passed"], row["unsupported"]), (12, 12, 0))
        self.assertIsNone(row["failed"])
        self.assertEqual(row["findings"], [])
        self.assertLessEqual(row["max_error"], row["tolerance"])

    def test_row_says_what_was_verified(self):
        row = self.row("right", seeds=[7, 9])
        self.assertEqual(row["operation"], SQUARE)
        self.assertEqual(row["kernel"], FAULTS + "/right")
        self.assertEqual(row["signature"], "x=f32,y=f32")
        self.assertEqual(row["shape"], {"n": 1000})
        self.assertEqual(row["seeds"], [7, 9])
        self.assertEqual(row["cases"], 8)
        info = self.daemon.call("Info", name=FAULTS)["plugin"]
        self.assertEqual(row["sha256"], info["sha256"])

    def test_seeds_are_three_where_none_is_given_and_are_told(self):
        self.assertEqual(self.row("right")["seeds"], [1, 2, 3])

    def test_default_and_edge_shapes_are_verified_where_none_is_given(self):
        shapes = [run["shape"]["n"] for run in self.verify("right", shapes=None, seeds=[1])]
        self.assertEqual(shapes, [1048576, 4096, 1, 2, 7, 33, 1001, 0])

    def test_layouts_are_those_that_were_asked_for(self):
        row = self.row("ignores_strides", layouts=["contiguous", "offset"])
        self.assertEqual((row["verdict"], row["cases"]), ("ok", 6))
        self.expect("ignores_strides", "wrong", layouts=["strided"], layout="strided")

    def test_progress_and_rows_come_one_by_one(self):
        replies = self.daemon.call(
            "Verify",
            {
                "operation": SQUARE,
                "kernels": [FAULTS + "/right"],
                "shapes": [{"n": 3}, {"n": 4}],
            },
            more=True,
        )
        progress = [r["progress"] for r in replies if r["progress"]]
        self.assertEqual([p["done"] for p in progress], [0, 1])
        self.assertEqual({p["total"] for p in progress}, {2})
        rows = [r["run"] for r in replies if r["run"]]
        self.assertEqual(rows, replies[-1]["runs"])

    def test_bf16_is_held_against_the_reference_of_bf16(self):
        runs = self.verify("reference/elementwise_square")
        self.assertEqual({run["signature"] for run in runs}, {"x=bf16,y=bf16", "x=f32,y=f32"})
        self.assertEqual({run["verdict"] for run in runs}, {"ok"})

    def test_one_signature_can_be_asked_for(self):
        runs = self.verify("reference/elementwise_square", signature="x=bf16,y=bf16")
        self.assertEqual([run["signature"] for run in runs], ["x=bf16,y=bf16"])

    def test_every_operation_of_the_reference_is_right_in_place_and_transposed(self):
        for operation, shape in (
            ("gemm/mm", {"m": 5, "n": 7, "k": 9}),
            ("norm/rms", {"rows": 3, "n": 17}),
            ("norm/softmax", {"rows": 3, "n": 17}),
            ("activation/silu_mul", {"rows": 3, "n": 17}),
            ("attention/decode", {"b": 2, "tokens": 50}),
        ):
            with self.subTest(operation=operation):
                runs = self.verify(
                    f"reference/{operation.replace('/', '_')}",
                    operation=operation,
                    shapes=[shape],
                    seeds=[4],
                )
                for run in runs:
                    self.assertEqual(run["verdict"], "ok", run)
                    self.assertEqual(run["unsupported"], 0)
                    self.assertGreaterEqual(run["cases"], 6)


class Later(Verifying):
    def test_t63_first_result_kept_for_ever_is_wrong(self):
        self.expect("caches_first", "wrong", layout="contiguous")

    def test_t63_replay_for_an_address_is_wrong(self):
        row = self.expect("replays", "wrong", layout="contiguous")
        self.assertEqual(row["failed"]["seed"], 2)

    def test_t63_every_second_call_is_wrong(self):
        self.expect("every_second", "wrong", "not in a second", layout="contiguous")

    def test_t63_no_op_after_a_few_calls_is_wrong(self):
        self.expect("nothing_later", "wrong")

    def test_t63_no_op_after_all_cases_is_wrong(self):
        self.expect("nothing_much_later", "wrong", "right at first, not any more")

    def test_t63_right_for_one_seed_alone_is_wrong(self):
        row = self.expect("wrong_for_another_seed", "wrong")
        self.assertEqual(row["failed"]["seed"], 2)

    def test_t63_no_op_is_wrong(self):
        place(self.daemon, MEASURED)
        self.expect(MEASURED + "/nothing", "wrong")
        self.expect(MEASURED + "/behind", "out_of_bounds", "behind y", layout="contiguous")

    def test_t65_workspace_that_is_trusted_to_be_zero_is_wrong(self):
        self.expect("dirty_workspace", "wrong", layout="contiguous")

    def test_t65_heap_that_is_trusted_to_be_zero_is_wrong(self):
        self.expect("dirty_heap", "wrong", layout="contiguous")

    def test_t65_scratch_that_is_trusted_to_be_zero_is_wrong(self):
        self.expect("dirty_scratch", "wrong", layout="contiguous")

    def test_t65_start_load_and_need_come_before_run(self):
        self.expect("in_order", "ok")


class Layouts(Verifying):
    def test_k03_strides_that_are_ignored_are_wrong(self):
        row = self.expect("ignores_strides", "wrong", layout="strided")
        self.assertEqual(row["failed"]["strides"], {"x": [2], "y": [2]})
        self.assertEqual((row["cases"], row["passed"]), (12, 9))

    def test_k03_strides_that_are_refused_are_unsupported_and_not_wrong(self):
        row = self.expect("refuses_steps", "ok", "KP_UNSUPPORTED")
        self.assertEqual((row["cases"], row["passed"], row["unsupported"]), (12, 9, 3))

    def test_k03_kernel_that_refuses_everything_is_not_ok(self):
        row = self.expect("refuses_all", "unsupported", "KP_UNSUPPORTED")
        self.assertEqual(row["passed"], 0)

    def test_what_lies_between_elements_is_not_written(self):
        self.expect("writes_gaps", "out_of_bounds", "between the elements of y")

    def test_what_lies_between_elements_is_not_read(self):
        self.expect("reads_gaps", "wrong", layout="strided")

    def test_output_in_place_is_an_input(self):
        self.expect("wrong_in_place", "wrong", layout="in_place")

    def test_loop_that_works_on_one_thread_alone_is_wrong(self):
        self.expect("right_by_one_thread", "wrong", "not in a second by several")

    def test_shape_that_a_kernel_does_not_declare_is_unsupported(self):
        runs = self.verify("only_even", shapes=[{"n": 16}, {"n": 17}])
        self.assertEqual([run["verdict"] for run in runs], ["ok", "unsupported"])
        self.assertIn("required", runs[1]["message"])


class Rules(Verifying):
    def test_k07_need_that_never_falls_is_no_finding(self):
        self.expect("need_right", "ok")

    def test_k07_workspace_that_falls_is_a_finding(self):
        self.finding("need_falls", "need falls as n grows", "4096 bytes", "64")

    def test_k07_alignment_that_falls_is_a_finding(self):
        self.finding("need_shrinks_alignment", "host_plan's alignment")

    def test_k07_need_is_asked_without_data(self):
        self.expect("reads_in_need", "crashed", "SIGSEGV", "need")

    def test_k08_plan_of_another_kernel_or_generation_is_stale(self):
        self.expect("plan_right", "ok")

    def test_k08_kernel_that_takes_any_plan_has_a_finding(self):
        row = self.finding("plan_trusting", "generation before", "KP_OK, not KP_STALE")
        self.assertTrue(any("a plan of plan_right" in text for text in row["findings"]))
        self.assertTrue(any("never made" in text for text in row["findings"]))

    def test_k08_kernel_that_takes_plans_of_others_has_a_finding(self):
        row = self.finding("plan_of_any_kernel", "a plan of plan_right")
        self.assertFalse(any("generation before" in text for text in row["findings"]))

    def test_k08_kernel_that_takes_older_plans_has_a_finding(self):
        row = self.finding("plan_of_any_generation", "generation before")
        self.assertFalse(any("plan_right" in text for text in row["findings"]))

    def test_thread_left_behind_by_each_call_is_a_finding(self):
        row = self.finding("leaves_threads", "threads that stay", "8 more 8 calls later")
        self.assertFalse(any("memory" in text for text in row["findings"]), row["findings"])

    @unittest.skipIf(SANITIZER, "a sanitizer keeps the heap's accounts")
    def test_memory_left_behind_by_each_call_is_a_finding(self):
        self.finding("leaks", "never gives back", "8 calls later")

    def test_rounding_left_behind_is_a_finding(self):
        self.finding("rounds_up", "floating-point control")

    def test_flushing_left_behind_is_a_finding(self):
        self.finding("flushes", "floating-point control")


class Deaths(Verifying):
    def test_t64_crash_loop_and_spoiled_heap_are_rows_and_the_others_are_verified(self):
        place(self.daemon, MEASURED)
        names = [f"{MEASURED}/{name}" for name in ("crash", "hang", "heap", "right")]
        runs = self.verify(*names, seeds=[1], layouts=["contiguous"])
        verdicts = {run["kernel"].split("/")[1]: run["verdict"] for run in runs}
        self.assertEqual(
            verdicts, {"crash": "crashed", "hang": "hung", "heap": "crashed", "right": "ok"}
        )

    def test_t64_crash_in_one_layout_names_it_and_the_next_shape_is_verified(self):
        runs = self.verify("crashes_on_gaps", shapes=[{"n": 5}, {"n": 6}], seeds=[3])
        self.assertEqual([run["verdict"] for run in runs], ["crashed", "crashed"])
        for run in runs:
            self.assertEqual(run["failed"]["layout"], "strided")
            self.assertEqual(run["failed"]["seed"], 3)
            if not SANITIZER:
                self.assertIn("during verify run", run["message"])

    def test_t64_what_hangs_is_not_waited_for_in_every_shape(self):
        runs = self.verify("endless", shapes=[{"n": n} for n in range(1, 9)], seeds=[1])
        self.assertEqual({run["verdict"] for run in runs}, {"hung"})
        self.assertTrue(all("not run" in run["message"] for run in runs[1:]))

    def test_write_to_an_input_is_out_of_bounds(self):
        place(self.daemon, MEASURED)
        self.expect(MEASURED + "/writes_input", "out_of_bounds", "input x")

    def test_registry_is_as_it_was(self):
        before = self.daemon.call("List")
        self.verify("endless", "crashes_on_gaps", "writes_gaps", seeds=[1])
        self.assertEqual(self.daemon.call("List"), before)


class Asking(Verifying):
    def error(self, code, **parameters):
        with self.assertRaises(VarlinkError) as caught:
            self.daemon.call("Verify", {"operation": SQUARE, **parameters})
        self.assertEqual(caught.exception.parameters["code"], code)
        return caught.exception.parameters

    def test_unproven_kernel_runs_where_it_is_named_and_is_left_out_elsewhere(self):
        self.expect("unproven", "ok")
        runs = self.verify(shapes=[{"n": 0}], seeds=[1], layouts=["contiguous"])
        names = {run["kernel"].split("/")[1] for run in runs}
        self.assertIn("right", names)
        self.assertNotIn("unproven", names)

    def test_what_is_not_there_is_an_error_that_offers_a_name(self):
        self.assertIn("right", self.error("no_such_kernel", kernels=["rigth"])["message"])
        self.error("unknown_operation", operation="elementwise/squrae")
        message = self.error("bad_operation", operation="elementwise")["message"]
        self.assertIn("FAMILY/MODE is expected", message)
        self.assertNotIn("benchmark", message)
        self.assertIn("strided", self.error("unknown_layout", layouts=["stridden"])["message"])
        message = self.error("unknown_layout", layouts=["zzz"])["message"]
        self.assertIn("it is one of contiguous, offset, transposed", message)
        self.error("bad_seed", seeds=[-1])
        self.error("bad_seed", seeds=list(range(17)))
        self.error("unknown_dim", shapes=[{"q": 1}])
        self.error("bad_signature", signature="x=f33,y=f32")


class Disabled(Verifying):
    def test_disabled_kernel_runs_where_it_is_named(self):
        self.daemon.call("Disable", name=FAULTS)
        self.addCleanup(self.daemon.call, "Enable", name=FAULTS)
        self.expect("right", "ok")


class Busy(Verifying):
    def test_one_at_a_time_beside_no_benchmark(self):
        with self.daemon.client() as client:
            replies = client.call_more(
                "Bench",
                {"operation": SQUARE, "kernels": [FAULTS + "/endless"], "time_s": 1},
            )
            next(replies)
            with self.assertRaises(VarlinkError) as caught:
                self.daemon.call("Verify", {"operation": SQUARE})
            self.assertEqual(caught.exception.parameters["code"], "bench_busy")

    def test_what_comes_while_a_verification_is_cancelled_waits_for_its_end(self):
        endless = {"operation": SQUARE, "kernels": [FAULTS + "/endless"], "shapes": [{"n": 5}]}
        for method in ("Verify", "Bench", "Verify"):
            with self.daemon.client() as client:
                next(client.call_more("Verify", endless))
                running = lambda: self.daemon.call("Status")["workers"]["running"] > 0
                wait_until(running, "the worker")
            right = {**endless, "kernels": [FAULTS + "/right"]}
            (run,) = self.daemon.call(method, right)["runs"]
            self.assertEqual(run["verdict"], "ok")


if __name__ == "__main__":
    unittest.main()
