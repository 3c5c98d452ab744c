# SPDX-License-Identifier: MIT
"""Packages, tools and state of other versions: they work, or are refused in words."""

import json
import unittest

from harness import wait_until
from packaging import OLDER, Busy, Packaged, packages, version

STATE = "/var/lib/kplug/decisions.json"
SQUARE = "elementwise/square"
WORK = (
    ["list"], ["info", "x86"], ["kernels"], ["select", SQUARE], ["why", SQUARE], ["status"],
    ["devices"], ["is-enabled", "reference"], ["clients"], ["version"],
)  # fmt: skip


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.debs = {True: packages(older=True), False: packages()}

    def setUp(self):
        self.machine = Packaged()
        self.addCleanup(self.machine.close)

    def other_tool(self, older):
        """The pluginctl of a package that is not installed."""
        place = f"/srv/{version(older)}"
        self.machine.run("dpkg-deb", "-x", self.debs[older]["kplug"], place)
        return f"{place}/usr/bin/pluginctl"

    def names_both(self, text):
        self.assertIn(f"{OLDER} (protocol 0)", text)
        self.assertIn(f"{version()} (protocol 1)", text)

    def test_a_tool_of_the_other_version_works_or_names_both(self):
        for older in (True, False):
            self.machine.install_packages(self.debs[older])
            self.machine.plugins()
            tool = self.other_tool(not older)
            for args in WORK:
                with self.subTest(daemon_is_older=older, args=args):
                    self.machine.run(tool, *args)
            done = self.machine.run(tool, "metrics", check=False)
            if older:  # it has no such method yet
                self.assertEqual(done.returncode, 7)
                self.names_both(done.stderr)
            else:
                self.assertEqual(done.returncode, 0, done.stderr)
            text = self.machine.run(tool, "version").stdout
            self.assertIn(f"{OLDER}, protocol 0", text)
            self.assertIn(f"{version()}, protocol 1", text)

    def test_a_part_alone_is_not_upgraded(self):
        """The plugin of one version is not for the daemon of another."""
        self.machine.install_packages(self.debs[True])
        plugin = self.debs[False]["kplug-plugin-openblas"]
        done = self.machine.dpkg("--install", plugin, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"depends on kplug \(= [0-9.]+\)")
        # And all that runs goes on.
        self.assertEqual(self.version(), OLDER)

    def version(self):
        return json.loads(self.machine.ctl("--json", "version").stdout)["daemon"]["version"]

    def test_an_upgrade_that_is_given_up_leaves_the_older_one_at_work(self):
        machine = self.machine
        machine.install_packages(self.debs[True])
        machine.plugins()
        pid = machine.main_pid()
        machine.run("sh", "-c", f"head -c 300000 {self.debs[False]['kplug']} >/srv/short.deb")
        with machine.application() as app, Busy(app) as busy:
            wait_until(lambda: busy.calls, "its calls")
            self.assertNotEqual(
                machine.dpkg("--install", "/srv/short.deb", check=False).returncode, 0
            )
            # It was stopped for the upgrade, and runs again.
            self.assertEqual(self.version(), OLDER)
            self.assertNotEqual(machine.main_pid(), pid)
            done = machine.run("systemctl", "is-active", "kplug-upgrade.service", check=False)
            self.assertEqual(done.stdout, "inactive\n")
        self.assertEqual(busy.results, {9.0})


class State(unittest.TestCase):
    """Decisions that are there before the packages are."""

    @classmethod
    def setUpClass(cls):
        cls.debs = packages()

    def setUp(self):
        self.machine = Packaged()
        self.addCleanup(self.machine.close)

    def test_those_of_the_first_format_hold_and_are_written_anew(self):
        entry = {"name": "x86", "reason": "NaN on batch 7", "at": 1, "uid": 0}
        pin = {"operation": "gemm/mm", "choice": "reference/gemm_mm", "at": 1, "uid": 0}
        first = {"format": "kplug-decisions/1", "disabled": [entry], "pins": [pin], "enabled": []}
        self.machine.write(STATE, json.dumps(first))
        self.machine.install_packages(self.debs)
        plugins = self.machine.plugins()
        self.assertEqual(plugins["x86"]["state"], "disabled")
        self.assertIn("reference/gemm_mm", self.machine.ctl("select", "gemm/mm").stdout)
        self.machine.ctl("status", "--strict")
        self.machine.ctl("guard", "gemm/mm", "--every", "1000")
        with open(self.machine.path(STATE), encoding="utf-8") as file:
            now = json.load(file)
        self.assertEqual(now["disabled"][0]["reason"], "NaN on batch 7")
        self.assertEqual(now["pins"][0]["choice"], "reference/gemm_mm")
        self.assertIn("sum", now)
        self.assertEqual(now["guards"][0]["operation"], "gemm/mm")

    def test_those_of_a_newer_kplug_are_refused_in_words_and_stay(self):
        newer = json.dumps({"format": "kplug-decisions/2", "rules": ["x86 is off"]})
        self.machine.write(STATE, newer)
        # The packages are installed all the same: what is to be done is in the journal.
        self.machine.install_packages(self.debs)
        said = self.machine.await_journal("kplug-decisions/2")
        self.assertIn("kplug-decisions/1", said[0][1])
        self.assertEqual(said[0][0], 3)
        with open(self.machine.path(STATE), encoding="utf-8") as file:
            self.assertEqual(file.read(), newer)
        state = lambda: self.machine.show("ActiveState")
        wait_until(lambda: state() == "failed", "the end of trying")
        # Set aside, as the line says, it starts.
        self.machine.run("mv", STATE, STATE + ".newer")
        self.machine.run("systemctl", "reset-failed", "plugind.service")
        self.machine.start()
        self.assertEqual(self.machine.plugins()["x86"]["state"], "active")


if __name__ == "__main__":
    unittest.main()
