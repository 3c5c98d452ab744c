# SPDX-License-Identifier: MIT
"""What --compare says of kernels that were measured twice, and whom it asks what."""

import itertools
import json
import unittest

from fake_plugind import Fake, error
from pluginctl import call
from results import METHOD, replies, result, run
from test_pluginctl_compare import OLD, Files, schema


class Verdicts(Files):
    def one(self, old, new, *args, status=0):
        """The verdict on one kernel."""
        self.keep([old])
        return self.verdicts([new], *args, status=status)["x86/mm"]

    def test_a_change_above_the_threshold_counts(self):
        for median, verdict, status in (
            (10.0, "indistinguishable", 0),
            (10.4, "indistinguishable", 0),
            (10.6, "slower", 1),
            (20.0, "slower", 1),
            (9.6, "indistinguishable", 0),
            (9.4, "faster", 0),
            (1.0, "faster", 0),
        ):
            with self.subTest(median=median):
                new = run("x86/mm", median)
                self.assertEqual(self.one(run("x86/mm", 10.0), new, status=status), verdict)

    def test_the_threshold_can_be_given(self):
        for percent, median, verdict in (
            ("0", 10.3, "slower"),
            ("20", 11.9, "indistinguishable"),
            ("20", 12.1, "slower"),
            ("100", 19.9, "indistinguishable"),
        ):
            with self.subTest(percent=percent, median=median):
                args = ["--threshold", percent]
                new, status = run("x86/mm", median), int(verdict == "slower")
                got = self.one(run("x86/mm", 10.0), new, *args, status=status)
                self.assertEqual(got, verdict)

    def test_intervals_that_touch_are_no_change(self):
        for spread in (0.1, 0.15, 0.2):
            new = run("x86/mm", 11.0, spread)
            self.assertEqual(self.one(run("x86/mm", 10.0, spread), new), "indistinguishable")

    def test_bimodal_times_are_unstable_and_not_slower(self):
        # Half of the samples are as quick as they were.
        for p10, p90 in ((9.9, 20.2), (10.0, 40.0), (5.0, 20.1)):
            new = run("x86/mm", 20.0, p10_us=p10, p90_us=p90)
            self.assertEqual(self.one(run("x86/mm", 10.0), new), "unstable")
            old = run("x86/mm", 20.0, p10_us=p10, p90_us=p90)
            self.assertEqual(self.one(old, run("x86/mm", 10.0)), "unstable")

    def test_an_interval_of_a_quarter_says_nothing(self):
        wide = run("x86/mm", 10.0, low_us=8.5, high_us=11.1)
        for old, new in itertools.permutations([wide, run("x86/mm", 30.0)]):
            self.assertEqual(self.one(old, new), "unstable")

    def test_the_same_times_are_indistinguishable(self):
        for spread in (0.001, 0.05, 0.2):
            same = run("x86/mm", 10.0, spread)
            self.assertEqual(self.one(same, same, "--threshold", "0"), "indistinguishable")

    def test_a_kernel_that_is_not_right_now_is_wrong_and_exits_1(self):
        for verdict in ("wrong", "crashed", "hung", "out_of_bounds", "error"):
            new = run("x86/mm", None, verdict=verdict, message="it was")
            self.assertEqual(self.one(run("x86/mm", 10.0), new, status=1), "wrong")

    def test_kernels_of_one_side_only_are_missing_or_new(self):
        self.keep([run("x86/mm", 10.0), run("gone/mm", 5.0)])
        gone = run("off/mm", None, verdict="not_eligible", message="disabled")
        got = self.verdicts([run("x86/mm", 10.0), run("come/mm", 3.0), gone])
        wanted = {"x86/mm": "indistinguishable", "gone/mm": "missing"}
        self.assertEqual(got, {**wanted, "come/mm": "new", "off/mm": "missing"})

    def test_other_shapes_signatures_and_traits_are_other_rows(self):
        self.keep([run("x86/mm", 10.0)])
        for change in (
            {"shape": {"m": 1}},
            {"signature": "a=bf16,b=bf16,c=f32"},
            {"traits": {"causal": True}},
        ):
            rows = self.compare([run("x86/mm", 99.0, **change)])["rows"]
            self.assertEqual([row["verdict"] for row in rows], ["new", "missing"])

    def test_the_ratio_is_enclosed_by_those_of_the_intervals(self):
        self.keep([run("x86/mm", 10.0, 0.02)])
        row = self.compare([run("x86/mm", 15.0, 0.02)], status=1)["rows"][0]
        self.assertAlmostEqual(row["ratio"], 1.5)
        self.assertAlmostEqual(row["ratio_low"], 15 * 0.99 / (10 * 1.01))
        self.assertAlmostEqual(row["ratio_high"], 15 * 1.01 / (10 * 0.99))

    def test_extreme_numbers_and_names_stay_json(self):
        names = ["x/" + "n" * 64, "\u202e/\u00e9", "a/\x7f\x1b[31m", "<&>/\"'\\"]
        values = [1e-300, 1e-9, 1e12, 1e299]
        for name, (old, new) in itertools.product(names, itertools.permutations(values, 2)):
            with self.subTest(name=name, old=old, new=new):
                self.keep([run(name, old, 0, seed=2**62, low_us=old, high_us=old)])
                status = int(new > old)
                document = self.compare([run(name, new, 0, low_us=new, high_us=new)], status=status)
                self.assertEqual(document["rows"][0]["verdict"], "slower" if status else "faster")
                ratio = document["rows"][0]["ratio"]
                self.assertEqual(ratio is None, new / old in (0, float("inf")))


class Text(Files):
    def text(self, now, *args, status=0):
        with Fake(Bench=replies(now)) as fake:
            return self.good(call("bench", "--compare", self.path, *args, socket=fake.path), status)

    def test_old_new_ratio_and_verdict_are_in_the_table(self):
        self.keep()
        text = self.text([run("x86/mm", 12.0), run("reference/mm", 401.0)], status=1)
        self.assertIn("gemm/mm m 64, n 64, k 64 a=f32,b=f32,c=f32", text)
        self.assertRegex(text, r"x86/mm +10 us +12 us +1.200 +1\.\d+ to 1\.\d+ +slower\n")
        self.assertRegex(text, r"reference/mm +400 us +401 us +1.002 .* indistinguishable\n")
        self.assertIn("1 slower, 1 indistinguishable; a change counts above 5 %", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_what_went_wrong_is_said_below(self):
        self.keep()
        now = [run("x86/mm", None, verdict="wrong", message="c: element 3 is 1, not 2")]
        text = self.text(now, status=1)
        self.assertRegex(text, r"x86/mm +10 us +- +- +- +FAIL wrong\n")
        self.assertIn("x86/mm: wrong: c: element 3 is 1, not 2", text)
        self.assertIn("reference/mm: missing: it was not measured again", text)

    def test_quiet_has_kernel_shape_ratio_and_verdict_with_tabs(self):
        self.keep()
        text = self.text([run("x86/mm", 12.0)], "-q", status=1)
        self.assertEqual(
            text,
            "x86/mm\tm=64,n=64,k=64\t1.2000\tslower\nreference/mm\tm=64,n=64,k=64\t-\tmissing\n",
        )


class Asking(Files):
    def asked(self, *args, now=OLD):
        """Parameters of each call of Bench."""
        with Fake(Bench=replies(now)) as fake:
            done = call("bench", *args, "--compare", self.path, "--json", socket=fake.path)
            self.document(done, done.returncode)
            self.assertIn(done.returncode, (0, 1))
            return [parameters for method, parameters, _ in fake.calls if "Bench" in method]

    def test_what_the_file_has_is_asked_again(self):
        method = {**METHOD, "time_s": 0.25, "rounds": 6}
        request = {"operation": "gemm/mm", "kernels": ["x86/mm"]}
        runs = [
            run("x86/mm", 10.0, seed=7),
            run("y/mm", 10.0, seed=7),
            run("x86/mm", 1.0, seed=7, shape={"m": 1}),
        ]
        self.keep(runs, method=method, request=request, threads=2)
        wanted = {
            "operation": "gemm/mm",
            "signature": "a=f32,b=f32,c=f32",
            "shapes": [{"m": 64, "n": 64, "k": 64}, {"m": 1}],
            "seed": 7,
            "threads": 2,
            "time_s": 0.25,
            "rounds": 6,
            "kernels": ["x86/mm"],
        }
        self.assertEqual(self.asked(), [wanted])
        self.assertEqual(self.asked("gemm"), [wanted])

    def test_each_operation_signature_and_set_of_traits_is_a_question(self):
        runs = [
            run("x86/mm", 1.0),
            run("x86/mm", 1.0, signature="a=bf16,b=bf16,c=f32"),
            run("x86/rms", 1.0, operation="norm/rms"),
            run("x86/mm", 1.0, traits={"causal": True}),
            run("x86/mm", 1.0, traits={}),
        ]
        self.keep(runs, families={"gemm/mm": 1, "norm/rms": 1})
        asked = self.asked()
        self.assertEqual(len(asked), 4)
        self.assertEqual([a["operation"] for a in asked].count("gemm/mm"), 3)
        self.assertEqual([a.get("traits") for a in asked].count({"causal": True}), 1)
        self.assertEqual(len(self.asked("norm")), 1)

    def test_what_is_said_goes_before_the_file(self):
        self.keep()
        args = ["--shape", "m=2", "--seed", "9", "--threads", "4", "--time", "0.1"]
        args += ["--kernel", "x86/mm", "--rounds", "2", "--sig", "a=f32", "--no-check"]
        self.assertEqual(
            self.asked(*args),
            [
                {
                    "operation": "gemm/mm",
                    "signature": "a=f32",
                    "shapes": [{"m": 2}],
                    "seed": 9,
                    "threads": 4,
                    "time_s": 0.1,
                    "rounds": 2,
                    "kernels": ["x86/mm"],
                    "check": False,
                }
            ],
        )

    def test_kernels_that_were_not_asked_for_are_not_missing(self):
        self.keep()
        rows = self.compare([OLD[0]], "--kernel", "x86/mm")["rows"]
        self.assertEqual([row["kernel"] for row in rows], ["x86/mm"])

    def test_a_kernel_that_is_gone_is_missing_and_the_others_are_measured(self):
        self.keep(request={"operation": "gemm/mm", "kernels": ["gone/mm", "x86/mm"]})

        def answer(parameters):
            if "gone/mm" in parameters["kernels"]:
                return error("NotFound", code="no_such_kernel", object="gone/mm")
            return replies([OLD[0]])

        with Fake(Bench=answer) as fake:
            done = call("bench", "--compare", self.path, "--json", socket=fake.path)
            document = self.document(done)
            self.assertEqual(fake.calls[-1][1]["kernels"], ["x86/mm"])
        schema("compare").validate(document)
        self.assertEqual(document["counts"]["missing"], 1)

    def test_what_was_measured_now_can_be_saved_beside_it(self):
        self.keep()
        new = self.path + ".new"
        now = [run("x86/mm", 10.1), run("reference/mm", 400.0)]
        with Fake(Bench=replies(now)) as fake:
            done = call("bench", "--compare", self.path, "--save", new, "-q", socket=fake.path)
        self.good(done)
        with open(new, encoding="utf-8") as file:
            document = json.load(file)
        schema("bench").validate(document)
        self.assertEqual(document, result(now))


if __name__ == "__main__":
    unittest.main()
