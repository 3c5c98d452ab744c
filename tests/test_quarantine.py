# SPDX-License-Identifier: MIT
"""A kernel that crashes applications again and again is turned off, for those whom it struck."""

import json
import os
import subprocess
import unittest

from crashing import ABORT, GOOD, ILL, SEGV, add_kernels, crasher, incidents, run, start
from harness import BUILD, Daemon, as_another_user, let_in, open_way, wait_until
from varlink import VarlinkError

OPERATION = "elementwise/square"
NOBODY = 65534


class Quarantine(unittest.TestCase):
    def daemon(self, *options, **more):
        daemon = Daemon(options=options, **more)
        self.addCleanup(daemon.close)
        add_kernels(daemon)
        return daemon

    def crash(self, daemon, times, what=SEGV, **more):
        before = self.crashes(daemon)
        for _ in range(times):
            run(daemon, "call", what, **more)
        wait_until(lambda: self.crashes(daemon) >= before + times, "the crashes to be judged")

    def crashes(self, daemon):
        found = daemon.call("Incidents", kind="crash")["incidents"]
        return sum(i["count"] for i in found)

    def reasons(self, why, kernel="bad/square"):
        return [r for c in why["candidates"] if c["kernel"] == kernel for r in c["reasons"]]

    def quarantined(self, daemon):
        plugins = {p["name"]: p for p in daemon.call("List")["plugins"]}
        return plugins["bad"]["quarantined_kernels"] == ["square"]

    # -- when

    def test_after_so_many_crashes_the_next_in_rank_runs(self):
        for options, strikes in (((), 3), (("--strikes", "1"), 1), (("--strikes", "5"), 5)):
            with self.subTest(strikes=strikes):
                daemon = self.daemon(*options)
                self.crash(daemon, strikes - 1)
                self.assertFalse(self.quarantined(daemon))
                self.assertEqual(run(daemon, "call", GOOD), (0, ["101"]))
                self.crash(daemon, 1)
                self.assertTrue(self.quarantined(daemon))
                # What would crash it again gets the other one.
                self.assertEqual(run(daemon, "call", SEGV, "call", GOOD), (0, ["7", "7"]))

    def test_different_signals_are_strikes_alike_and_unattributed_ones_are_none(self):
        daemon = self.daemon()
        for _ in range(4):
            run(daemon, "outside")
        incidents(daemon)
        self.crash(daemon, 1, ABORT)
        self.crash(daemon, 1, ILL)
        self.assertFalse(self.quarantined(daemon))
        self.crash(daemon, 1)
        self.assertTrue(self.quarantined(daemon))

    def test_crashes_longer_ago_than_the_window_do_not_count(self):
        daemon = self.daemon("--strike-window-s", "60")
        self.crash(daemon, 2)
        path = os.path.join(daemon.state_dir, "incidents.json")
        wait_until(lambda: os.path.exists(path), "the file")
        daemon.stop()
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        kept["strikes"][0]["at"] = [t - 100 for t in kept["strikes"][0]["at"]]
        kept.pop("sum")
        daemon.start()
        self.assertEqual(self.crashes(daemon), 2)
        daemon.stop()
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        daemon.start()
        daemon.settle()
        self.crash(daemon, 2)
        self.assertFalse(self.quarantined(daemon))

    def test_strikes_are_counted_over_restarts(self):
        daemon = self.daemon()
        for end in ("stop", "restart"):
            self.crash(daemon, 1)
            wait_until(
                lambda: os.path.exists(os.path.join(daemon.state_dir, "incidents.json")), "the file"
            )
            if end == "stop":
                daemon.stop()
                daemon.start()
            else:
                daemon.restart()
            daemon.settle()
        self.assertFalse(self.quarantined(daemon))
        self.crash(daemon, 1)
        self.assertTrue(self.quarantined(daemon))

    def test_a_storm_is_counted_right_and_takes_little_room(self):
        daemon = self.daemon("--no-quarantine")
        size = 40
        processes = [start(daemon, "call", SEGV) for _ in range(size)]
        for process in processes:
            process.communicate(timeout=120)
        wait_until(lambda: self.crashes(daemon) == size, "all to be judged")
        found = daemon.call("Incidents")["incidents"]
        self.assertLess(len(found), 5)
        self.assertFalse(self.quarantined(daemon))

    # -- how it shows

    def test_everything_says_quarantined_with_code_and_incident(self):
        daemon = self.daemon("--strikes", "2")
        self.crash(daemon, 2)
        number = incidents(daemon)[0]["id"]
        why = daemon.why(OPERATION)
        self.assertEqual(why["selected"], "good/square")
        self.assertEqual(why["fallback_from"]["kernel"], "bad/square")
        (reason,) = self.reasons(why)
        self.assertEqual((reason["code"], reason["source"]), ("quarantined", "daemon"))
        self.assertIn(
            f"repeated_crashes: it crashed applications 2 times (incident {number})",
            reason["actual"],
        )
        (of_info,) = daemon.call("Info", name="bad")["plugin"]["kernels"]
        self.assertEqual(of_info["state"], "quarantined")
        self.assertEqual(of_info["reason"]["code"], "repeated_crashes")
        self.assertIn("quarantined: square", daemon.ctl("list").stdout)
        self.assertIn("quarantined", daemon.ctl("why", OPERATION).stdout)
        status = daemon.call("Status")
        self.assertTrue(status["degraded"])
        self.assertIn("repeated_crashes", [w["code"] for w in status["warnings"]])
        enabled = daemon.call("IsEnabled", name="bad/square")
        self.assertEqual((enabled["enabled"], enabled["state"]), (False, "quarantined"))

    def test_those_who_watch_are_told(self):
        daemon = self.daemon("--strikes", "1")
        told = {}
        with daemon.client() as client:
            events = client.call_more("Monitor", {})
            next(events)
            self.crash(daemon, 1)
            daemon.ctl("retry", "bad/square")
            while "retry" not in told:
                event = next(events)["event"]
                told[event["kind"]] = event
        self.assertEqual(told["incident"]["name"], "bad/square")
        self.assertEqual(told["incident"]["code"], "crash")
        self.assertEqual(told["quarantine"]["name"], "bad/square")
        self.assertIn("incident", told["quarantine"]["message"])

    def test_no_override_brings_it_back(self):
        daemon = self.daemon("--strikes", "1")
        self.crash(daemon, 1)
        for request in ({"override": "bad/square"}, {"override": "bad/square", "force": True}):
            with self.subTest(request=request), self.assertRaises(VarlinkError) as caught:
                daemon.select(OPERATION, **request)
            self.assertEqual(caught.exception.parameters["code"], "override_ineligible")

    def test_it_holds_after_a_kill(self):
        daemon = self.daemon("--strikes", "1")
        self.crash(daemon, 1)
        path = os.path.join(daemon.state_dir, "decisions.json")

        def is_kept():
            with open(path, encoding="utf-8") as file:
                return json.load(file).get("quarantined")

        wait_until(lambda: os.path.exists(path) and is_kept(), "the decision")
        daemon.kill()
        daemon.start()
        daemon.settle()
        self.assertTrue(self.quarantined(daemon))
        self.assertEqual(run(daemon, "call", SEGV), (0, ["7"]))

    # -- how it ends

    def test_retry_of_kernel_or_plugin_lets_it_run_again(self):
        daemon = self.daemon("--strikes", "2")
        for words in (["bad/square"], ["bad"]):
            with self.subTest(words=words):
                self.crash(daemon, 2)
                self.assertTrue(self.quarantined(daemon))
                done = daemon.ctl("retry", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertFalse(self.quarantined(daemon))
                self.assertEqual(run(daemon, "call", GOOD), (0, ["101"]))
                # Earlier strikes are forgotten.
                self.crash(daemon, 1)
                self.assertFalse(self.quarantined(daemon))
                daemon.ctl("retry", *words)
        done = daemon.ctl("retry", "bad/square")
        self.assertIn("was not quarantined", done.stdout)
        self.assertEqual(daemon.ctl("retry", "bad/none").returncode, 5)

    def test_another_library_gets_its_own_chance_the_same_one_does_not(self):
        daemon = self.daemon("--strikes", "1")
        self.crash(daemon, 1)
        os.rename(daemon.manifest_path("bad"), daemon.manifest_path("again"))
        daemon.call("Reload")
        daemon.settle()
        why = daemon.why(OPERATION)
        self.assertEqual([r["code"] for r in self.reasons(why, "again/square")], ["quarantined"])
        self.assertTrue(daemon.call("Status")["degraded"])
        daemon.remove("again")
        daemon.call("Reload")
        # What has gone concerns nobody, and nobody could retry it.
        self.assertFalse(daemon.settle()["degraded"])
        self.assertEqual(daemon.call("Status")["warnings"], [])
        daemon.add("bad", body="((float *)call->tensors[1]->data)[0] = 9;")
        daemon.call("Reload")
        daemon.settle()
        self.assertEqual(self.reasons(daemon.why(OPERATION)), [])
        self.assertFalse(daemon.call("Status")["degraded"])

    # -- whose

    def runs_until(self, daemon, end, **more):
        """One that runs meanwhile changes over with its next call."""
        with start(daemon, "while", GOOD, **more) as running:
            self.assertEqual(running.stdout.readline(), "calling\n")
            end()
            self.assertEqual(running.stdout.read(), "7\n")

    def test_applications_that_run_change_over_with_their_next_call(self):
        daemon = self.daemon("--strikes", "2")
        self.runs_until(daemon, lambda: self.crash(daemon, 2))
        self.assertTrue(self.quarantined(daemon))

    @as_another_user
    def test_another_users_crashes_count_for_that_user_alone(self):
        daemon = self.daemon("--strikes", "2", system=True)
        let_in(daemon)
        open_way(os.path.dirname(crasher()))
        self.runs_until(daemon, lambda: self.crash(daemon, 2, user=NOBODY), user=NOBODY)
        found = incidents(daemon)
        self.assertEqual({i["uid"] for i in found}, {NOBODY})
        self.assertFalse(self.quarantined(daemon))
        self.assertEqual(daemon.why(OPERATION)["selected"], "bad/square")
        self.assertEqual(run(daemon, "call", GOOD), (0, ["101"]))
        self.assertEqual(run(daemon, "call", SEGV, user=NOBODY), (0, ["7"]))

        def ctl(*words):
            return subprocess.run(
                [os.path.join(BUILD, "pluginctl"), "--socket", daemon.socket, *words],
                capture_output=True,
                text=True,
                check=False,
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
            )

        # That user sees it everywhere, nobody else does.
        for words in (["why", OPERATION], ["list"], ["info", "bad"], ["kernels"]):
            with self.subTest(words=words):
                self.assertIn("quarantined", ctl(*words).stdout)
                self.assertNotIn("quarantined", daemon.ctl(*words).stdout)
        self.assertEqual(ctl("retry", "good/square").returncode, 4)
        self.assertEqual(ctl("retry", "bad/square").returncode, 0)
        self.assertEqual(run(daemon, "call", GOOD, user=NOBODY), (0, ["101"]))
        # Crashes of operators are everybody's business, but not what they ran.
        self.crash(daemon, 1)
        seen = json.loads(ctl("--json", "incidents").stdout)["incidents"]
        self.assertEqual({i["uid"] for i in seen}, {0, NOBODY})
        self.assertEqual([i["application"] for i in seen if i["uid"] == 0], [None])


if __name__ == "__main__":
    unittest.main()
