# SPDX-License-Identifier: MIT
"""One worker identifies many libraries: what one of them does to it is its own alone."""

import os
import unittest

import harness

WORKER = os.path.join(harness.BUILD, "tests", "frail-worker")
GOOD = [f"good{i:02d}" for i in range(24)]


class Batches(unittest.TestCase):
    def daemon(self, bad, timeout_ms=10000):
        """Plugins that differ in their names alone, those that are bad among the others."""
        daemon = harness.Daemon(start=False, options=["--worker", WORKER])
        self.addCleanup(daemon.close)
        daemon.add_many(GOOD + list(bad))
        for name in bad:
            daemon.manifest(name, timeout_ms=timeout_ms)
        return daemon.start()

    def expect_others(self, plugins):
        for name in GOOD:
            self.assertEqual(plugins[name]["state"], "active", plugins[name])

    def expect_each(self, told):
        """Each is judged by its code, with evidence of its own, and no other is."""
        daemon = self.daemon(told)
        plugins = daemon.plugins()
        self.expect_others(plugins)
        for name, (code, words) in told.items():
            plugin = plugins[name]
            self.assertEqual((plugin["state"], plugin["reason"]["code"]), ("failed", code), name)
            self.assertIn(words, plugin["reason"]["message"])
            (failure,) = daemon.call("Logs", name=name)["failures"]
            self.assertEqual(failure["evidence"]["stage"], "identify")
            info = daemon.call("Info", name=name)["plugin"]
            self.assertEqual(failure["evidence"]["sha256"], info["sha256"])

    def test_who_kills_the_worker_is_blamed_alone(self):
        self.expect_each(
            {
                "aaa-segv": ("killed_by_signal", "SIGSEGV"),
                "good12-exit": ("exited_during_identify", "status 3"),
                "good18-leave": ("exited_during_identify", "without finishing"),
                "zzz-attack": ("refused_by_sandbox", "send signals"),
            }
        )

    def test_who_garbles_the_report_is_blamed_alone(self):
        self.expect_each(
            {
                "aaa-garble": ("garbled_report", "not the worker's own"),
                "good12-early": ("garbled_report", "not the worker's own"),
                "zzz-noise": ("garbled_report", "not the worker's own"),
            }
        )

    def test_who_hangs_the_worker_holds_up_nobody_for_long(self):
        hanging = ["aaa-hang", "good12-hang", "zzz-hang"]
        daemon = self.daemon(hanging)

        def others_are_there():
            plugins = {p["name"]: p for p in daemon.call("List")["plugins"]}
            return all(plugins.get(n, {}).get("state") == "active" for n in GOOD) and plugins

        plugins = harness.wait_until(others_are_there, "all others to be active")
        plugins = plugins or {p["name"]: p for p in daemon.call("List")["plugins"]}
        self.assertEqual([plugins[n]["state"] for n in hanging], ["pending"] * 3)
        plugins = daemon.plugins()
        for name in hanging:
            self.assertEqual(plugins[name]["reason"]["code"], "identify_timeout")
        self.expect_others(plugins)

    def test_who_prints_or_asks_too_much_gets_a_worker_of_its_own_and_is_heard(self):
        daemon = self.daemon(["aaa-print", "good12-fork", "zzz-print"])
        plugins = daemon.plugins()
        self.expect_others(plugins)
        warnings = {}
        for name in ["aaa-print", "good12-fork", "zzz-print"]:
            self.assertEqual(plugins[name]["state"], "active", plugins[name])
            told = daemon.call("Info", name=name)["plugin"]["warnings"]
            warnings[name] = [w["code"] for w in told]
        self.assertEqual(warnings["aaa-print"], [])
        self.assertEqual(warnings["good12-fork"], ["sandbox_refused"])


if __name__ == "__main__":
    unittest.main()
