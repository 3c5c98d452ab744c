# SPDX-License-Identifier: MIT
"""A daemon with the reference and a fixture of faults, to be verified."""

import unittest

from harness import Daemon
from measuring import SQUARE, place

FAULTS = "verified_faults"


class Verifying(unittest.TestCase):
    fixture = FAULTS

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon, cls.fixture)

    def verify(self, *kernels, operation=SQUARE, shapes=({"n": 1000},), **more):
        names = [name if "/" in name else f"{self.fixture}/{name}" for name in kernels]
        parameters = {"operation": operation, **more}
        if names:
            parameters["kernels"] = names
        if shapes is not None:
            parameters["shapes"] = list(shapes)
        return self.daemon.call("Verify", parameters)["runs"]

    def row(self, kernel, **more):
        runs = self.verify(kernel, **more)
        self.assertEqual(len(runs), 1, runs)
        return runs[0]

    def expect(self, kernel, verdict, *texts, layout=None, **more):
        """Its row has this verdict, and says this."""
        row = self.row(kernel, **more)
        self.assertEqual(row["verdict"], verdict, row)
        for text in texts:
            self.assertIn(text, row["message"])
        if layout:
            self.assertEqual(row["failed"]["layout"], layout, row)
        return row

    def finding(self, kernel, *texts, **more):
        """It is right, and one of its findings says all this."""
        row = self.expect(kernel, "finding", **more)
        self.assertEqual(row["passed"], row["cases"])
        self.assertTrue(
            any(all(text in finding for text in texts) for finding in row["findings"]),
            row["findings"],
        )
        return row
