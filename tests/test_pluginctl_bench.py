# SPDX-License-Identifier: MIT
"""The benchmark as pluginctl asks for it and shows it."""

import os
import re
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import Case, call, on_terminal


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def final(runs):
    return [{"parameters": {"format": "kplug-bench/1", "runs": runs}}]


class Measuring(Case):
    RUNS = [
        fakes.run("reference/mm", 400.0),
        fakes.run("x86/mm", 10.0),
        fakes.run("x86/mm", 0.5, {"m": 1}),
        fakes.run("bad/mm", None, verdict="wrong", message="max error 3 over 1e-05"),
        fakes.run("openblas/mm", 20.0),
    ]

    def test_nx29_rows_are_grouped_by_shape_and_sorted_by_median(self):
        with Fake(Bench=final(self.RUNS)) as fake:
            text = self.good(call("bench", "gemm/mm", socket=fake.path), 1)
        lines = [line for line in text.splitlines() if line]
        self.assertEqual(lines[0], "gemm/mm m 64, n 64, k 64 a=f32,b=f32,c=f32")
        titles = ["KERNEL", "MEDIAN", "+-", "GFLOP/S", "GB/S", "SHARE", "ERROR", "VERDICT"]
        self.assertEqual(lines[1].split(), titles)
        names = [line.split()[0] for line in lines[2:6]]
        self.assertEqual(names, ["x86/mm", "openblas/mm", "reference/mm", "bad/mm"])
        self.assertRegex(lines[2], r"x86/mm +10 us +5.0% +52.4 +4.92 +100% +1e-7/1e-5 +ok$")
        self.assertRegex(lines[4], r"reference/mm .* 2.5% +1e-7/1e-5 +ok$")
        self.assertRegex(lines[5], r"bad/mm +- +- +- +- +- +1e-7/1e-5 +FAIL wrong$")
        self.assertIn("bad/mm: wrong: max error 3 over 1e-05", lines[6])
        self.assertEqual(lines[7], "gemm/mm m 1 a=f32,b=f32,c=f32")
        self.assertRegex(lines[9], "500 ns")

    def test_nx29_operations_of_one_shape_are_groups_of_their_own(self):
        runs = [fakes.run("a/x", 1.0), fakes.run("b/y", 2.0, operation="gemm/other")]
        with Fake(Bench=final(runs)) as fake:
            text = self.good(call("bench", "gemm", socket=fake.path))
        self.assertEqual(text.count("KERNEL"), 2)
        self.assertEqual(text.count("100%"), 2)

    def test_nx28_values_of_mixed_types_in_a_shape_are_shown(self):
        shape = {"m": 1, "d": 0.5, "kind": "x", "causal": True, "page": [1, 2], "none": None}
        with Fake(Bench=final([fakes.run("a/x", 1.0, shape)])) as fake:
            text = self.good(call("bench", "x/y", socket=fake.path))
        self.assertIn("m 1, d 0.5, kind x, causal true, page {1, 2}", text)

    def test_the_share_is_of_the_fastest_that_is_right(self):
        runs = [fakes.run("a/x", 1.0, verdict="wrong"), fakes.run("b/x", 10.0)]
        with Fake(Bench=final(runs)) as fake:
            text = self.good(call("bench", "x/y", socket=fake.path), 1)
        self.assertRegex(text, r"(?m)^  b/x +10 us .* 100% .* ok$")

    def test_t73_any_verdict_but_ok_exits_1(self):
        for verdict in ("wrong", "crashed", "timed_out", "out_of_bounds", "unavailable"):
            runs = [fakes.run("a/mm", 1.0), fakes.run("b/mm", None, verdict=verdict)]
            with self.subTest(verdict=verdict), Fake(Bench=final(runs)) as fake:
                document = self.document(call("bench", "x/y", "--json", socket=fake.path), 1)
                self.assertEqual(document, {"format": "kplug-bench/1", "runs": runs})
                self.assertIn(verdict, self.good(call("bench", "x/y", socket=fake.path), 1))

    def test_nothing_measured_is_no_success(self):
        with Fake(Bench=final([])) as fake:
            self.document(call("bench", "x/y", "--json", socket=fake.path), 1)
            self.assertIn(b"nothing was measured", call("bench", "x/y", socket=fake.path).stderr)

    def test_nothing_measured_is_explained_like_nothing_selected(self):
        explained = dict(fakes.NOTHING, candidates=fakes.CANDIDATES[2:])
        with Fake(Bench=final([]), Explain=explained) as fake:
            args = ["bench", "gemm/mm", "--sig", "a=f32", "--trait", "d=1", "--shape", "m=3"]
            text = self.complaint(call(*args, socket=fake.path), 1)
            request = {"operation": "gemm/mm", "signature": "a=f32", "traits": {"d": 1}}
            self.assertEqual(fake.asked("Explain"), {"request": dict(request, shape={"m": 3})})
        for word in ("avx512/mm  arch: required", "`pluginctl why gemm/mm`", "1 still pending"):
            self.assertIn(word, text)

    def test_the_traits_of_a_run_are_in_its_heading(self):
        runs = [fakes.run("a/x", 1.0, traits={"causal": True}), fakes.run("b/x", 2.0, traits=None)]
        with Fake(Bench=final(runs)) as fake:
            text = self.good(call("bench", "x/y", socket=fake.path))
        self.assertIn("a=f32,b=f32,c=f32 with causal true\n", text)
        self.assertEqual(text.count("KERNEL"), 2)

    def test_quiet_has_kernel_shape_and_median_with_tabs(self):
        runs = [fakes.run("a/x", 10.5), fakes.run("b/x", None, {"m": 1}, verdict="hung")]
        with Fake(Bench=final(runs)) as fake:
            text = self.good(call("bench", "x/y", "-q", socket=fake.path), 1)
        self.assertEqual(text, "a/x\tm=64,n=64,k=64\t10.5\nb/x\tm=1\t-\n")

    def test_the_time_that_is_not_given_is_on_top_of_the_timeout_and_in_the_help(self):
        with open(os.path.join(ROOT, "daemon/bench/bench_plan.c"), encoding="utf-8") as file:
            preset = re.search(r"time_preset_s = ([0-9.]+);", file.read()).group(1)
        self.assertIn(f"(default {preset})", self.good(call("help", "bench")))
        with Fake(Bench=None) as fake:
            done = call("bench", "x/y", "--timeout", "0.05", socket=fake.path)
            self.assertIn(f"{float(preset) + 0.05:g} s", self.complaint(done, 6))

    def test_how_long_is_too_long_is_for_the_daemon_to_say(self):
        with Fake() as fake:
            self.good(call("bench", "gemm/mm", "--time", "1e9", socket=fake.path))
            self.assertEqual(fake.asked("Bench")["time_s"], 1e9)

    def test_the_json_has_format_and_runs(self):
        with Fake() as fake:
            document = self.document(call("bench", "gemm/mm", "--json", socket=fake.path))
            self.assertEqual(list(document), ["format", "runs"])
            self.assertEqual(document["runs"], fakes.REPLIES["Bench"][1]["parameters"]["runs"])
            self.assertIs(fake.calls[0][2], True)

    def test_runs_that_are_told_one_by_one_are_gathered(self):
        first, second = fakes.run("a/mm", 1.0), fakes.run("b/mm", 2.0)
        replies = [
            {"parameters": {"format": "kplug-bench/1", "run": first}, "continues": True},
            {"parameters": {"format": "kplug-bench/1", "run": second}, "continues": True},
            {"parameters": {"format": "kplug-bench/1"}},
        ]
        with Fake(Bench=replies) as fake:
            document = self.document(call("bench", "x/y", "--json", socket=fake.path))
            self.assertEqual(document["runs"], [first, second])

    def test_an_error_after_some_runs_is_the_commands(self):
        replies = fakes.REPLIES["Bench"][:1] + fakes.error("Failed", code="worker_lost")
        with Fake(Bench=replies) as fake:
            self.complaint(call("bench", "x/y", socket=fake.path), 7)
            self.error(call("bench", "x/y", "--json", socket=fake.path), 7, "worker_lost")

    def test_silence_after_some_runs_times_out(self):
        with Fake(Bench=fakes.REPLIES["Bench"][:1]) as fake:
            args = ["bench", "x/y", "--timeout", "0.05", "--time", "0.05"]
            self.assertIn("0.1 s", self.complaint(call(*args, socket=fake.path), 6))
            self.error(call(*args, "--json", socket=fake.path), 6, "timed_out")

    def test_every_option_becomes_its_parameter(self):
        rows = [
            ([], {}),
            (["--sig", "a=f32"], {"signature": "a=f32"}),
            (["--shape", "m=1,n=2", "--shape", "m=3"], {"shapes": [{"m": 1, "n": 2}, {"m": 3}]}),
            (["--kernel", "a/b", "--kernel", "c"], {"kernels": ["a/b", "c"]}),
            (["--time", "0.25"], {"time_s": 0.25}),
            (["--time", "2"], {"time_s": 2.0}),
            (["--seed", "7"], {"seed": 7}),
            (["--trait", "d=1|2"], {"traits": {"d": [1, 2]}}),
        ]
        for args, wanted in rows:
            with self.subTest(args=args), Fake() as fake:
                self.good(call("bench", "gemm/mm", *args, socket=fake.path))
                self.assertEqual(fake.asked("Bench"), dict(wanted, operation="gemm/mm"))

    def test_progress_is_for_a_terminal_only(self):
        with Fake() as fake:
            self.assertEqual(call("bench", "gemm/mm", socket=fake.path).stderr, b"")
            text, _ = on_terminal(40, "bench", "gemm/mm", socket=fake.path, errors=True)
            self.assertIn("1 of 2  x86/mm", text)
            self.assertTrue(text.endswith("\r\x1b[K"))
            for option in ("--json", "--quiet"):
                args = ["bench", "gemm/mm", option]
                text, _ = on_terminal(40, *args, socket=fake.path, errors=True)
                self.assertEqual(text, "")


if __name__ == "__main__":
    unittest.main()
