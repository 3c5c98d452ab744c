# SPDX-License-Identifier: MIT
"""A daemon with the reference and a fixture of many faults, to be measured."""

import os
import shutil
import unittest

from harness import BUILD, Daemon

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
