# SPDX-License-Identifier: MIT
"""Who listens at the usual place without being asked to is not believed: what it says is
not shown, what is decided is not told to it."""

import os
import unittest

from harness import Daemon
from pluginctl import Case, call, environment

OTHER = 65509


@unittest.skipUnless(os.getuid() == 0, "only root can become another user")
class Impostor(Case):
    """A runtime directory as su(1) and sudo(8) may leave it: another user's."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon = Daemon(user=OTHER, start=False)
        cls.addClassCleanup(daemon.close)
        below = os.path.join(daemon.place, "kplug")
        os.mkdir(below)
        os.chown(below, OTHER, OTHER)
        daemon.socket = os.path.join(below, "plugind.sock")
        daemon.start()
        daemon.add("fake")
        daemon.call("Reload")
        daemon.settle()

    def ctl(self, *arguments, **more):
        env = {"XDG_RUNTIME_DIR": self.daemon.place, **more}
        return call(*arguments, env=environment(**env))

    def test_nothing_that_it_says_is_shown(self):
        for command in (["list"], ["status"], ["info", "fake"], ["why", "elementwise/square"]):
            with self.subTest(command=command):
                result = self.ctl(*command)
                self.assertEqual((result.returncode, result.stdout), (4, b""))
                self.assertIn(
                    f"uid {OTHER} listens at {self.daemon.socket}".encode(), result.stderr
                )
                self.error(self.ctl(*command, "--json"), 4, "untrusted_daemon")

    def test_nothing_is_told_to_it(self):
        for command in (
            ["disable", "fake"],
            ["pin", "elementwise/square", "fake/square"],
            ["reload"],
        ):
            with self.subTest(command=command):
                self.error(self.ctl(*command, "--json"), 4, "untrusted_daemon")
        self.assertEqual(self.daemon.call("IsEnabled", name="fake")["state"], "enabled")

    def test_a_place_that_somebody_names_is_asked(self):
        self.good(self.ctl("list", "--socket", self.daemon.socket))
        self.good(self.ctl("list", KPLUG_SOCKET=self.daemon.socket))

    def test_ones_own_is_believed(self):
        with Daemon(start=False) as own:
            below = os.path.join(own.place, "kplug")
            os.mkdir(below)
            own.socket = os.path.join(below, "plugind.sock")
            own.start()
            self.good(call("list", env=environment(XDG_RUNTIME_DIR=own.place)))


if __name__ == "__main__":
    unittest.main()
