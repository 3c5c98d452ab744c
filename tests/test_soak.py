# SPDX-License-Identifier: MIT
"""Everything at once, small and short: what `make soak` holds, but for times and growth."""

import os
import sys
import unittest

from harness import HERE, LONG, Daemon

sys.path.append(os.path.join(HERE, "soak"))

import broken
import claims
import soak
from scene import Scale, Scene

SMALL = Scale(28, 24, 24, 4)
# Of each sort some: libraries, headers, files, manifests, and what happens in a worker.
KINDS = (
    "crash_in_constructor",
    "exit_0_in_constructor",
    "grandchild_daemonizes",
    "hang_in_constructor",
    "kills_the_launcher",
    "process_forked",
    "undefined_function",
    "writes_to_report",
    "cut at 50 %",
    "an executable stack",
    "of aarch64",
    "of another ABI",
    "a fifo",
    "a device",
    "missing",
    "manifest: no JSON",
    "manifest: a fifo",
)
MOST_ACTIVE = 2  # of these: both only try something


class Soaked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = Scene(SMALL, KINDS)
        cls.addClassCleanup(cls.scene.close)
        cls.outcome = soak.run(cls.scene, 1, 30 if LONG else 3)

    def test_each_claim_that_is_not_of_times_holds(self):
        for claim in claims.correctness(self.scene, self.outcome):
            with self.subTest(claim.name):
                self.assertTrue(claim.holds, [claim, *claims.first_wrong(self.outcome)])

    def test_broken_plugins_are_broken_alone_too(self):
        active = [kind for kind, code in self.scene.codes.items() if code is None]
        self.assertLessEqual(len(active), MOST_ACTIVE, active)

    def test_all_took_part(self):
        outcome = self.outcome
        self.assertGreater(outcome.churn.rounds, 0)
        self.assertGreater(outcome.loud["changes"], 0)
        self.assertGreater(outcome.loud["list"]["count"], 0)
        self.assertGreater(outcome.loud["cut"], 0)
        self.assertEqual(len(outcome.applications), SMALL.applications)
        self.assertTrue(all(a["calls"] > 0 for a in outcome.applications))

    def test_what_is_wrong_makes_a_claim_short(self):
        outcome = self.outcome
        listed = {**outcome.listed}
        listed["good0003"] = {**listed["good0003"], "version": "1.0.9"}
        (good,) = claims.good_ones(self.scene, listed)
        self.assertFalse(good.holds)
        name = next(n for n, kind in self.scene.put.items() if self.scene.codes[kind])
        listed[name] = {**listed[name], "state": "active"}
        (told,) = claims.broken_ones(self.scene, listed)
        self.assertFalse(told.holds)
        self.assertFalse(claims.none_wrong("x", 1, 10).holds)
        self.assertFalse(claims.none_wrong("x", 0, 0).holds)
        self.assertEqual(
            [c.holds for c in claims.growth({"x": (100, 105), "y": (100, 106)})], [True, False]
        )


class Kinds(unittest.TestCase):
    def test_no_two_serials_give_the_same_library(self):
        kinds = broken.kinds()
        with Daemon(start=False) as daemon:
            for kind in ("kernel_user", "of another version", "of a later host"):
                texts = set()
                for serial in range(3):
                    kinds[kind](daemon, "x", serial)
                    with open(daemon.library_path("x"), "rb") as file:
                        texts.add(file.read())
                self.assertEqual(len(texts), 3)


if __name__ == "__main__":
    unittest.main()
