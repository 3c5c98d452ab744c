# SPDX-License-Identifier: MIT
"""What a result says beside its times: where, when, how, and each sample."""

import glob
import json
import os
import platform
import shutil
import statistics
import tempfile
import unittest

from harness import ROOT, Daemon
from measuring import FAULTS, SQUARE, TIME_S, Measuring, place
from varlink import VarlinkError

REFERENCE = "reference/elementwise_square"


class Head(Measuring):
    def ask(self, **more):
        parameters = {"operation": SQUARE, "time_s": TIME_S, "kernels": [FAULTS + "/right"]}
        return self.daemon.call("Bench", {**parameters, "shapes": [{"n": 100}], **more})

    def test_head_says_with_what_and_how(self):
        reply = self.ask(rounds=3, threads=2)
        self.assertEqual(reply["version"], self.daemon.call("Version")["version"])
        self.assertEqual(reply["families"], {SQUARE: 1})
        self.assertEqual(reply["threads"], 2)
        self.assertEqual(reply["runs"][0]["threads"], 2)
        self.assertEqual(reply["method"]["rounds"], 3)
        self.assertEqual(reply["method"]["time_s"], TIME_S)
        self.assertEqual(reply["method"]["clock"], "CLOCK_MONOTONIC")
        self.assertEqual(reply["request"]["kernels"], [FAULTS + "/right"])
        self.assertGreater(reply["when"], 1_600_000_000)

    def test_machine_is_this_one_each_time(self):
        first, second = self.ask()["platform"], self.ask(seed=7)["platform"]
        self.assertEqual(first, second)
        self.assertEqual(first["kernel"], platform.release())
        self.assertEqual(first["cores"], os.sysconf("SC_NPROCESSORS_ONLN"))
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(first["memory"], pages)
        device = self.daemon.call("Status")["platform"]["devices"][0]
        self.assertEqual(first["cpu"], device["name"])

    def test_first_reply_of_a_stream_has_the_head_and_the_others_have_not(self):
        parameters = {"operation": SQUARE, "time_s": TIME_S, "kernels": [FAULTS + "/right"]}
        replies = self.daemon.call("Bench", more=True, **parameters)
        for key in ("platform", "families", "method", "when"):
            self.assertEqual(replies[0][key], replies[-1][key])
            self.assertIsNone(replies[1].get(key))


class Samples(Measuring):
    def test_statistics_are_those_of_the_samples(self):
        for rounds in (1, 2, 5):
            with self.subTest(rounds=rounds):
                row = self.row("right", rounds=rounds)
                samples = row["samples_us"]
                median = statistics.median(samples)
                self.assertAlmostEqual(row["median_us"], median, places=5)
                deviation = statistics.median(abs(s - median) for s in samples)
                self.assertAlmostEqual(row["mad_us"], deviation, places=4)
                self.assertLessEqual(len(samples), min(row["samples"], 1000))
                self.assertLessEqual(row["min_us"], min(samples) + 1e-6)
                self.assertGreaterEqual(row["max_us"], max(samples) - 1e-6)

    def test_interval_encloses_the_median_and_is_of_the_samples(self):
        for rounds in (1, 4):
            row = self.row("right", rounds=rounds, time_s=0.1)
            self.assertLessEqual(row["min_us"], row["low_us"])
            self.assertLessEqual(row["low_us"], row["median_us"])
            self.assertLessEqual(row["median_us"], row["high_us"])
            self.assertLessEqual(row["high_us"], row["max_us"])
            self.assertLessEqual(len(row["samples_us"]), 1000)

    def test_t62_rounds_alternate_and_all_are_told(self):
        runs = self.bench("right", REFERENCE, rounds=4)
        order = {run["kernel"]: run["order"] for run in runs}
        first, last = (run["kernel"] for run in runs)
        # Backwards, forwards, backwards, forwards.
        self.assertEqual(order[first], [1, 2, 5, 6])
        self.assertEqual(order[last], [0, 3, 4, 7])
        for run in runs:
            self.assertEqual((len(run["repeats"]), len(run["clocks"])), (4, 4))
            self.assertGreaterEqual(run["samples"], 30)

    def test_t62_both_sides_take_the_same_time(self):
        runs = self.bench("right", REFERENCE, rounds=2, time_s=0.2)
        for run in runs:
            took = statistics.fmean(run["samples_us"]) * run["samples"] * run["repeats"][0]
            self.assertGreater(took, 0.02e6)
            self.assertLess(took, 2e6)

    def test_clock_that_cannot_be_read_is_null(self):
        clocks = self.row("right", rounds=1)["clocks"]
        known = glob.glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq")
        self.assertEqual(clocks[0]["cpufreq_mhz"] is not None, bool(known))
        if platform.machine() in ("x86_64", "aarch64"):
            self.assertGreater(clocks[0]["chain_mhz"], 1)

    def test_t63_checks_are_told_by_when_they_were_made(self):
        rows = [
            ("right", ["before", "during", "after"], None),
            ("wrong", [], "before"),
            ("wrong_later", ["before"], "during"),
        ]
        for kernel, passed, failed in rows:
            with self.subTest(kernel=kernel):
                check = self.row(kernel)["check"]
                self.assertEqual((check["passed"], check["failed"]), (passed, failed))
                self.assertEqual((check["kind"], check["reference"]), ("norm", REFERENCE))
        self.assertIsNone(self.row("crash")["check"])

    def test_share_is_of_the_best_of_the_shape(self):
        runs = self.bench("right", "wrong", REFERENCE, shapes=[{"n": 100}, {"n": 5000}])
        for n in (100, 5000):
            rows = [run for run in runs if run["shape"]["n"] == n]
            best = min(run["median_us"] for run in rows if run["median_us"])
            for run in rows:
                if run["median_us"]:
                    self.assertAlmostEqual(run["share"], best / run["median_us"])
                else:
                    self.assertIsNone(run["share"])

    def test_work_is_told_by_role(self):
        row = self.row("right", shapes=[{"n": 1000}])
        self.assertEqual(row["work"], {"flops": 1000, "bytes": {"x": 4000, "y": 4000}})
        self.assertEqual(row["plugin"], FAULTS)
        info = self.daemon.call("Info", name=FAULTS)["plugin"]
        kernel = next(k for k in info["kernels"] if k["name"] == "right")
        self.assertEqual((row["priority"], row["solution"]), (kernel["priority"], None))
        self.assertEqual((row["version"], row["closure"]), (info["version"], info["closure"]))


class Cases(Measuring):
    def test_bm01_one_kernel_and_shape_has_rates_and_both_errors(self):
        for n in (1, 100, 1000):
            with self.subTest(n=n):
                row = self.row("right", shapes=[{"n": n}])
                self.assertEqual(row["verdict"], "ok")
                for key in ("gflops", "gbytes_per_s", "tolerance"):
                    self.assertGreater(row[key], 0)
                self.assertIsNotNone(row["max_error"])
                self.assertEqual(row["check"]["max_error"], row["max_error"])

    def test_bm02_wall_clock_times_are_in_order(self):
        for rounds in (1, 2, 3):
            row = self.row("right", rounds=rounds)
            self.assertGreaterEqual(row["median_us"], 0)
            self.assertGreaterEqual(row["max_us"], row["min_us"])
            self.assertEqual(row["verdict"], "ok")

    def test_bm03_without_a_check_there_are_no_errors(self):
        for kernel in ("right", "wrong", REFERENCE):
            with self.subTest(kernel=kernel):
                row = self.row(kernel, check=False)
                self.assertEqual(row["verdict"], "unverified")
                self.assertIn("asked for", row["message"])
                for key in ("check", "max_error", "tolerance"):
                    self.assertIsNone(row[key])
                self.assertGreater(row["median_us"], 0)

    def test_nx29_a_family_is_measured_by_operation(self):
        runs = self.daemon.call("Bench", operation="norm", time_s=TIME_S, shapes=[{"n": 8}])
        operations = [run["operation"] for run in runs["runs"]]
        self.assertEqual(operations, sorted(operations))
        self.assertEqual(set(operations), {"norm/rms", "norm/softmax"})
        self.assertEqual(set(runs["families"]), {"norm/rms", "norm/softmax"})

    def test_nx29_kernels_of_a_family_are_found_where_they_are(self):
        name = "reference/norm_softmax"
        runs = self.bench(operation="norm", kernels=[name], shapes=[{"n": 8}])
        self.assertEqual([run["kernel"] for run in runs], [name])
        runs = self.bench(operation="norm", kernels=["reference"], shapes=[{"n": 8}])
        self.assertEqual(len(runs), 2)

    def test_nx23_a_crash_is_a_row_and_the_rest_goes_on(self):
        for fault, verdict in (
            ("crash", "crashed"),
            ("crash_later", "crashed"),
            ("heap", "crashed"),
        ):
            with self.subTest(fault=fault):
                runs = self.bench(fault, "right", REFERENCE)
                verdicts = {run["kernel"]: run["verdict"] for run in runs}
                self.assertEqual(verdicts.pop(f"{FAULTS}/{fault}"), verdict)
                self.assertEqual(set(verdicts.values()), {"ok"})


class Names(unittest.TestCase):
    """A family whose dims have other names, and one that follows from another."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kplug-families.")
        cls.addClassCleanup(folder.cleanup)
        families = os.path.join(folder.name, "families")
        shutil.copytree(os.path.join(ROOT, "lib", "families"), families)
        path = os.path.join(families, "gemm.mm.json")
        with open(path, encoding="utf-8") as file:
            family = json.load(file)
        family.update(aliases={"rows": "m", "columns": "n"}, defaults={"n": "m", "k": 16})
        with open(path, "w", encoding="utf-8") as file:
            json.dump(family, file)
        cls.daemon = Daemon(families=families)
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon)

    def shape(self, asked):
        reply = self.daemon.call("Bench", operation="gemm/mm", shapes=[asked], time_s=TIME_S)
        return reply["runs"][0]["shape"]

    def test_bm10_other_names_of_dims_are_theirs(self):
        for asked, read in (
            ({"rows": 8}, {"m": 8, "n": 8, "k": 16}),
            ({"rows": 8, "columns": 4}, {"m": 8, "n": 4, "k": 16}),
            ({"m": 8, "k": 2}, {"m": 8, "n": 8, "k": 2}),
        ):
            self.assertEqual(self.shape(asked), read)

    def test_bm10_a_selection_knows_the_other_names_too(self):
        for shape in ({"rows": 8}, {"m": 8, "columns": 1}, {}):
            request = {"operation": "gemm/mm", "shape": shape}
            self.assertTrue(self.daemon.call("Select", request=request)["selected"])
        for shape, code in (({"rows": 1, "m": 1}, "repeated_dim"), ({"row": 1}, "unknown_dim")):
            with self.assertRaises(VarlinkError) as caught:
                request = {"operation": "gemm/mm", "shape": shape}
                self.daemon.call("Select", request=request)
            self.assertEqual(caught.exception.code, code)


if __name__ == "__main__":
    unittest.main()
