# SPDX-License-Identifier: MIT
"""Packages over others, while the daemon runs and applications call: nothing is lost."""

import json
import unittest

from harness import wait_until
from machine import SOCKET
from packaging import Busy, Packaged, packages, version

SQUARE = "elementwise/square"


# Somebody who asks without a pause, until the file is there. Whose call the daemon has in
# hand when it is told to end is told so, by status 7; nobody is refused.
ASKING = "until [ -e /srv/enough ]; do pluginctl list >/dev/null || [ $? = 7 ] || exit; done"


class Upgrade(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.debs = {True: packages(older=True), False: packages()}

    def setUp(self):
        self.machine = Packaged()
        self.addCleanup(self.machine.close)

    def install(self, older):
        self.machine.install_packages(self.debs[older])

    def version(self):
        told = json.loads(self.machine.ctl("--json", "version").stdout)
        return told["daemon"]["version"]

    def clients(self):
        told = self.machine.ctl("--json", "clients").stdout
        return sorted(c["name"] for c in json.loads(told)["clients"])

    def decide(self):
        self.machine.plugins()
        self.machine.ctl("disable", "x86", "--reason", "NaN on batch 7")
        self.machine.ctl("pin", "gemm/mm", "reference/gemm_mm")
        self.machine.ctl("guard", SQUARE, "--every", "1000")

    def assert_decided(self):
        plugin = self.machine.plugins()["x86"]
        self.assertEqual(plugin["state"], "disabled")
        self.assertIn("NaN on batch 7", json.dumps(plugin))
        self.assertIn("reference/gemm_mm", self.machine.ctl("select", "gemm/mm").stdout)
        self.assertEqual(
            json.loads(self.machine.ctl("--json", "pins").stdout)["pins"][0]["choice"],
            "reference/gemm_mm",
        )

    def replaced(self, before, after):
        """From one version to another under two applications, one of root's."""
        machine = self.machine
        self.install(before)
        self.assertEqual(self.version(), version(before))
        self.decide()
        socket = machine.run("stat", "-c", "%i", SOCKET).stdout
        pid = machine.main_pid()
        with machine.application() as first, machine.application(user=None) as second:
            with Busy(first) as busy, Busy(second) as other:
                wait_until(lambda: self.clients() == ["application"] * 2, "the applications")
                kernel = "reference/elementwise_square"
                asking = machine.begin("sh", "-c", ASKING, user="alice")
                self.install(after)
                # The daemon is the other one, without a word of systemctl.
                self.assertNotEqual(machine.main_pid(), pid)
                self.assertEqual(self.version(), version(after))
                wait_until(lambda: self.clients() == ["application"] * 2, "them, again")
                self.assert_decided()
                machine.write("/srv/enough", "")
                told = asking.communicate()[1]
                self.assertEqual(asking.returncode, 0, told)
            self.assertEqual(first.ask("kernel"), kernel)
            # What is decided now reaches them by the other daemon.
            machine.ctl("enable", "x86")
            for app in (first, second):
                wait_until(lambda a=app: a.ask("kernel") == "x86/elementwise_square", "x86")
        self.assertEqual((busy.results, other.results), ({9.0}, {9.0}))
        self.assertGreater(min(busy.calls, other.calls), 100)
        # It has listened all the time.
        self.assertEqual(machine.run("stat", "-c", "%i", SOCKET).stdout, socket)
        self.assertEqual(machine.show("NRestarts"), "0")
        self.assertEqual(machine.show("Result"), "success")

    def test_an_older_one_is_upgraded_under_applications(self):
        self.replaced(before=True, after=False)

    def test_a_newer_one_is_downgraded_under_applications(self):
        self.replaced(before=False, after=True)

    def test_the_same_again_is_no_loss_either(self):
        self.replaced(before=False, after=False)


if __name__ == "__main__":
    unittest.main()
