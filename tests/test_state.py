# SPDX-License-Identifier: MIT
"""Decisions on the disk: whatever happens to the file, what can be known of it still holds."""

import json
import os
import time
import unittest

from harness import Daemon, wait_until, write
from varlink import VarlinkError


class Decisions(unittest.TestCase):
    def stopped(self):
        daemon = Daemon(start=False)
        self.addCleanup(daemon.close)
        return daemon

    def decided(self, *disabled):
        """The text of a file that has these names disabled."""
        entries = [{"name": n, "reason": "", "at": 1, "uid": 0} for n in disabled]
        return {"format": "kplug-decisions/1", "disabled": entries, "pins": [], "enabled": []}

    def with_decisions(self, document, *plugins):
        """A daemon that is not running yet, with these decisions on its disk."""
        daemon = self.stopped()
        for name in plugins:
            daemon.add(name)
        os.mkdir(daemon.state_dir)
        write(os.path.join(daemon.state_dir, "decisions.json"), json.dumps(document))
        return daemon

    def test_a_wrong_entry_takes_no_other_decision_with_it(self):
        document = self.decided("a", "b")
        document["disabled"][1]["at"] = "yesterday"
        daemon = self.with_decisions(document, "a", "b")
        daemon.start()
        status = daemon.settle()
        self.assertTrue(status["degraded"])
        said = [w["message"] for w in status["warnings"] if w["code"] == "bad_decisions"]
        self.assertEqual(len(said), 1, said)
        self.assertIn("disabled[1].at", said[0])
        states = {n: p["state"] for n, p in daemon.plugins().items()}
        self.assertEqual(states, {"a": "disabled", "b": "active"})
        self.assertIn("decisions.json.damaged", os.listdir(daemon.state_dir))

    def test_decisions_of_a_newer_kplug_stop_the_start_and_stay(self):
        for version in (2, 9, 99):
            document = {"format": f"kplug-decisions/{version}", "rules": []}
            daemon = self.with_decisions(document)
            done = daemon.run()
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"kplug-decisions/{version}", done.stderr)
            self.assertIn("kplug-decisions/1", done.stderr)
            with open(os.path.join(daemon.state_dir, "decisions.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), document)

    def test_a_decision_is_as_old_after_a_restart_as_before_and_said_once(self):
        with Daemon() as daemon:
            daemon.add("a")
            daemon.call("Reload")
            daemon.call("Disable", name="a")
            before = daemon.plugins()["a"]
            wait_until(lambda: time.time() > before["since"] + 1, "another second")
            said = daemon.log().count("a: disabled")
            daemon.restart()
            self.assertEqual(daemon.plugins()["a"]["since"], before["since"])
            self.assertEqual(daemon.log().count("a: disabled"), said + 1)

    def test_the_decisions_before_hold_when_the_last_ones_are_damaged(self):
        daemon = self.stopped()
        daemon.add("a")
        daemon.start()
        daemon.settle()
        daemon.call("Disable", name="a", reason="it crashes")
        daemon.call("Disable", name="a", reason="it crashes, too")
        daemon.stop()
        write(os.path.join(daemon.state_dir, "decisions.json"), "{")
        for _ in range(2):
            daemon.start()
            self.assertEqual(daemon.plugins()["a"]["state"], "disabled")
            self.assertTrue(daemon.call("Status")["degraded"])
            daemon.stop()

    def test_a_decision_that_could_not_be_read_back_is_not_acknowledged(self):
        document = self.decided(*[f"gone{i:05}" for i in range(9000)])
        for entry in document["disabled"]:
            entry["reason"] = "x" * 150
        daemon = self.with_decisions(document, "a")
        daemon.start()
        daemon.settle()
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("Disable", name="a", reason="it corrupts")
        self.assertEqual(caught.exception.code, "decisions_full")
        self.assertIn("4194304", str(caught.exception))
        self.assertTrue(daemon.call("IsEnabled", name="a")["enabled"])
        # Taking back is possible, and nothing that was there is lost.
        daemon.call("Enable", name="gone00000")
        daemon.restart()
        daemon.settle()
        self.assertFalse(daemon.call("IsEnabled", name="gone08999")["enabled"])


if __name__ == "__main__":
    unittest.main()
