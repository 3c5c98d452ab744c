# SPDX-License-Identifier: MIT
"""What `make bench` says of its samples: no time is measured here."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import harness

HERE = os.path.join(harness.HERE, "bench")
sys.path.insert(0, HERE)
import measures


def load_run():
    """tests/bench/run as a module: its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("bench_run", os.path.join(HERE, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    loader.exec_module(module)
    return module


RUN = load_run()


def bench(bar, measure):
    return RUN.Bench("name", "ours", "theirs", bar, measure, ())


def row(bar, ours, peer=()):
    return RUN.judge(bench(bar, None), measures.Result("ms", ours, peer))


class Verdicts(unittest.TestCase):
    def test_a_time_must_not_pass_its_bar(self):
        self.assertEqual(row("<= 2", [2, 4, 6], [1, 2, 3])["verdict"], "ok")
        self.assertEqual(row("<= 1.9", [2, 4, 6], [1, 2, 3])["verdict"], "SHORT")

    def test_a_rate_must_reach_its_bar(self):
        self.assertEqual(row(">= 0.5", [1, 1, 1], [2, 2, 2])["verdict"], "ok")
        self.assertEqual(row(">= 0.51", [1, 1, 1], [2, 2, 2])["verdict"], "SHORT")

    def test_the_ratio_is_the_median_over_pairs(self):
        self.assertEqual(row("<= 9", [1, 10, 100], [1, 2, 4])["ratio"], 5)

    def test_without_a_peer_the_number_itself_is_held_to_the_bar(self):
        self.assertEqual(row("<= 5", [4, 5, 6])["verdict"], "ok")
        self.assertEqual(row("<= 5", [5.1])["verdict"], "SHORT")
        self.assertIsNone(row("<= 5", [4])["ratio"])

    def test_a_peer_that_is_missing_is_a_skip_in_words(self):
        def absent(_scenes):
            measures.needs("no-such-tool", "no-package")

        told = RUN.measure(bench("<= 1", absent), None, measures.Skip)
        self.assertEqual(told["verdict"], "SKIP")
        self.assertIn("no-package", told["reason"])

    def test_a_bench_that_breaks_is_failed_and_named(self):
        def broken(_scenes):
            raise RuntimeError("it broke")

        told = RUN.measure(bench("<= 1", broken), None, measures.Skip)
        self.assertEqual((told["verdict"], told["reason"]), ("FAILED", "RuntimeError: it broke"))


class Drivers(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="kplug-driver.")
        self.addCleanup(self.place.cleanup)
        before = measures.DRIVERS
        measures.DRIVERS = self.place.name
        self.addCleanup(setattr, measures, "DRIVERS", before)

    def write(self, text):
        path = os.path.join(self.place.name, "driver")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def pairs(self, count):
        with measures.Scenes(count) as scenes:
            return measures.pairs_of(scenes, "driver", "{pairs}")

    def test_a_driver_prints_its_unit_and_pairs(self):
        self.write('echo ns\nfor i in $(seq "$1"); do echo "$i 2"; done\n')
        result = self.pairs(3)
        self.assertEqual((result.unit, result.ours, result.peer), ("ns", [1, 2, 3], [2, 2, 2]))

    def test_a_driver_that_prints_too_few_pairs_is_refused(self):
        self.write("echo ns\necho 1 2\n")
        with self.assertRaises(RuntimeError):
            self.pairs(2)

    def test_a_driver_that_cannot_run_here_says_why(self):
        self.write("echo there is no such library\nexit 77\n")
        with self.assertRaisesRegex(measures.Skip, "no such library"):
            self.pairs(1)

    def test_a_driver_that_fails_is_no_skip(self):
        self.write("exit 3\n")
        with self.assertRaises(RuntimeError):
            self.pairs(1)

    def test_a_driver_that_is_not_there_is_a_skip(self):
        with self.assertRaises(measures.Skip):
            self.pairs(1)


class Table(unittest.TestCase):
    def test_every_bench_has_a_name_of_its_own_and_a_bar(self):
        benches = RUN.table(measures)
        self.assertEqual(len({b.name for b in benches}), len(benches))
        for each in benches:
            direction, number = each.bar.split()
            self.assertIn(direction, ["<=", ">="])
            self.assertGreater(float(number), 0)

    def test_a_pattern_that_no_bench_has_is_said(self):
        told = subprocess.run(
            [sys.executable, os.path.join(HERE, "run"), "no-such-*"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(told.returncode, 2)
        self.assertIn("no-such-*", told.stderr)

    def test_a_row_is_strict_json(self):
        text = json.dumps(row("<= 2", [2, 4, 6], [1, 2, 3]), allow_nan=False)
        self.assertEqual(json.loads(text)["bar"], "<= 2")


if __name__ == "__main__":
    unittest.main()
