# SPDX-License-Identifier: MIT
"""A kernel that keeps failing is left out of the process for a while, and tried again."""

import unittest

from crashing import FAILS, GOOD, LOST, add_kernels, incidents, run
from harness import Daemon

FAILED = "status 5"
GONE = "status 6"


class Breaker(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        add_kernels(self.daemon)

    def run_steps(self, *steps, **more):
        status, lines = run(self.daemon, *steps, **more)
        self.assertEqual(status, 0)
        return lines

    def test_t50_after_five_failures_in_a_row_the_next_in_rank_runs(self):
        for way in ("call", "whole"):
            with self.subTest(way=way):
                lines = self.run_steps(way, GOOD, *[way, FAILS] * 5, way, FAILS, way, GOOD, "why")
                self.assertEqual(lines, ["101", *[FAILED] * 5, "7", "7", "circuit_open"])

    def test_t50_one_success_between_starts_the_count_again(self):
        for way in ("call", "whole"):
            with self.subTest(way=way):
                steps = [way, FAILS] * 4 + [way, GOOD] + [way, FAILS] * 4 + [way, GOOD, "why"]
                self.assertEqual(
                    self.run_steps(*steps),
                    [*[FAILED] * 4, "101", *[FAILED] * 4, "101", "closed"],
                )

    def test_t50_it_is_tried_again_and_runs_when_it_works(self):
        for way in ("call", "whole"):
            with self.subTest(way=way):
                steps = [way, FAILS] * 5 + [way, GOOD, "until", GOOD, way, GOOD, "why"]
                self.assertEqual(
                    self.run_steps(*steps), [*[FAILED] * 5, "7", "101", "101", "closed"]
                )

    def test_t50_while_it_fails_only_a_call_now_and_then_tries_it(self):
        (line,) = self.run_steps("count", FAILS)
        failures = int(line.split()[0])
        self.assertGreaterEqual(failures, 5)
        self.assertLessEqual(failures, 8)

    def test_t50_it_is_one_incident_with_the_status(self):
        for flags in (0, 2):  # adopt now, adopt at steps
            with self.subTest(flags=flags):
                self.run_steps("call", GOOD, "count", FAILS, flags=flags)
                found = incidents(self.daemon, kind="error")[0]
                self.assertEqual((found["kernel"], found["label"]), ("bad/square", "ffn.up"))
                self.assertEqual(found["count"], 1 + (flags > 0))
                self.assertEqual(found["evidence"]["status"], 5)
                warnings = self.daemon.call("Status")["warnings"]
                self.assertIn("circuit_open", [w["code"] for w in warnings])
                # It says nothing about crashes: nobody is quarantined.
                self.assertEqual(self.daemon.select("elementwise/square")["selected"], "bad/square")

    def test_t50_another_process_is_not_concerned(self):
        self.run_steps(*["call", FAILS] * 6)
        self.assertEqual(self.run_steps("call", GOOD), ["101"])

    def test_t50_a_lost_device_is_closed_and_nothing_takes_its_place(self):
        for way in ("call", "whole"):
            with self.subTest(way=way):
                steps = [way, GOOD, way, LOST, "call", GOOD, "whole", GOOD]
                self.assertEqual(self.run_steps(*steps), ["101", GONE, GONE, GONE])
        self.assertEqual(self.run_steps("call", LOST, "call", GOOD, flags=2), [GONE, GONE])
        # Another process has not lost it.
        self.assertEqual(self.run_steps("call", GOOD), ["101"])

    def test_t50_a_lost_device_is_told_and_blamed_on_nobody(self):
        for way in ("call", "whole", "call"):
            self.run_steps(way, GOOD, way, LOST, way, GOOD)
        found = incidents(self.daemon, 2, kind="error")
        self.assertEqual(sorted(f["count"] for f in found), [1, 2])
        for incident in found:
            self.assertEqual(incident["kernel"], "bad/square")
            self.assertEqual(incident["evidence"], {"status": 6, "device": "cpu"})
            self.assertIn("whichever kernel has broken it", incident["text"])
        self.assertIn("device_lost", self.daemon.ctl("status").stdout)
        codes = [w["code"] for w in self.daemon.call("Status")["warnings"]]
        self.assertEqual(codes, ["device_lost", "device_lost"])
        self.assertIn('kplug_incidents_total{kind="error"} 3', self.daemon.ctl("metrics").stdout)
        self.assertEqual(self.daemon.select("elementwise/square")["selected"], "bad/square")


if __name__ == "__main__":
    unittest.main()
