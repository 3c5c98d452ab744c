# SPDX-License-Identifier: MIT
"""The benchmark, from the call to the worker: every fault becomes a row, and only a row."""

import unittest

from measuring import FAULTS, SQUARE, Measuring


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
        row = self.row("reference/gemm_mm", operation="gemm/mm", shapes=[{"m": 3, "n": 5, "k": 0}])
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
        runs = self.bench(signature="x=f32,y=bf16")
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

    def test_more_than_half_of_the_memory_is_refused_before_anybody_writes_to_it(self):
        for kernel, name in (
            ("greedy_workspace", " bytes of workspace: "),
            ("greedy_plan", " bytes of plan: "),
            ("greedy_host_plan", " bytes of host_plan: "),
            ("greedy_halves", " bytes of plan: "),
        ):
            with self.subTest(kernel=kernel):
                said = ("need asks for", name, "more than half of this machine's memory")
                self.expect(kernel, "error", *said)
                parameters = {"operation": SQUARE, "kernels": [f"{FAULTS}/{kernel}"], "seeds": [1]}
                for row in self.daemon.call("Verify", parameters)["runs"]:
                    self.assertEqual(row["verdict"], "error")
                    self.assertIn(name, row["message"])

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


if __name__ == "__main__":
    unittest.main()
