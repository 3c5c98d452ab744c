# SPDX-License-Identifier: MIT
"""Who may do what with the machine's plugind, and applications that are not root's."""

import json
import os
import unittest

from application import Application
from harness import ROOT, kernel, wait_until
from machine import PREFIX, SOCKET, Machine
from python_module import ENVIRONMENT

# alice is anybody; bob is a member of kplug.
SCRIPT = "/usr/local/share/application.py"
# Of a sanitizer, where there is one: it has to be there before the interpreter.
RUNTIME = [f"{k}={v}" for k, v in ENVIRONMENT.items() if k in ("LD_PRELOAD", "PYTHONMALLOC")]
RUNTIME.append("ASAN_OPTIONS=detect_leaks=0")


def giving(value):
    return f"((float *)call->tensors[1]->data)[0] = {value};"


class Users(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.close)
        cls.machine.add_user("alice")
        cls.machine.add_user("bob", "kplug")
        with open(os.path.join(ROOT, "tests", "application.py"), encoding="utf-8") as file:
            cls.machine.write(SCRIPT, file.read())

    def setUp(self):
        self.machine.reset()

    def start(self):
        self.machine.start()
        return self.machine.plugins()

    def status(self, user, *words):
        return self.machine.ctl(*words, user=user, check=False).returncode

    # -- roles

    def test_everybody_looks(self):
        self.start()
        for user in ("alice", "bob", "kplug", None):
            for words in (["list"], ["status"], ["why", "gemm/mm"], ["info", "x86"], ["clients"]):
                with self.subTest(user=user, words=words):
                    self.assertEqual(self.status(user, *words), 0)

    def test_others_are_refused_with_status_4_and_the_remedy(self):
        self.start()
        for words in (
            ["disable", "x86"],
            ["enable", "x86"],
            ["pin", "gemm/mm", "reference"],
            ["reload"],
            ["retry", "x86"],
            ["load", f"{PREFIX}/lib/kplug/plugins/x86.so"],
        ):
            with self.subTest(words=words):
                done = self.machine.ctl(*words, user="alice", check=False)
                self.assertEqual(done.returncode, 4, done.stderr)
                who = "root has" if words[0] == "load" else "group kplug"
                self.assertIn(who, done.stderr)
        self.assertEqual(self.machine.plugins()["x86"]["state"], "active")

    def test_members_of_kplug_decide_and_load_nothing(self):
        self.start()
        for words in (
            ["disable", "x86"],
            ["enable", "x86"],
            ["pin", "gemm/mm", "reference"],
            ["unpin", "gemm/mm"],
            ["reload"],
            ["retry", "x86"],
        ):
            with self.subTest(words=words):
                self.assertEqual(self.status("bob", *words), 0)
        library = f"{PREFIX}/lib/kplug/plugins/x86.so"
        self.assertEqual(self.status("bob", "load", library), 4)

    def test_who_becomes_a_member_decides_from_then_on(self):
        self.start()
        self.machine.add_user("carol")
        self.assertEqual(self.status("carol", "disable", "x86"), 4)
        self.machine.run("usermod", "-aG", "kplug", "carol")
        self.assertEqual(self.status("carol", "disable", "x86"), 0)
        self.assertEqual(self.machine.plugins()["x86"]["state"], "disabled")

    def test_the_daemons_own_user_decides_nothing(self):
        """What a plugin does in a worker it does as this user."""
        self.start()
        self.assertEqual(self.status("kplug", "disable", "x86"), 4)
        self.assertEqual(self.status("kplug", "reload"), 4)

    def test_root_decides_and_loads(self):
        self.start()
        self.assertEqual(self.status(None, "disable", "x86"), 0)
        self.machine.add("mine")
        self.machine.remove("mine")
        self.assertEqual(self.status(None, "load", f"{PREFIX}/lib/kplug/plugins/mine.so"), 0)

    # -- applications

    def application(self, user="alice"):
        command = self.machine.words("env", *RUNTIME, "/usr/bin/python3", SCRIPT, user=user)
        app = Application(SOCKET, command=command)
        self.addCleanup(app.__exit__)
        return app

    def clients(self):
        return json.loads(self.machine.ctl("--json", "clients").stdout)["clients"]

    def two_plugins(self):
        flags = {"flags": ["reentrant"]}
        self.machine.add("high", [kernel(priority=19, **flags)], body=giving(19))
        self.machine.add("low", [kernel(priority=18, **flags)], body=giving(18))

    def test_another_users_application_runs_the_stored_kernel(self):
        self.two_plugins()
        self.start()
        app = self.application()
        self.assertEqual(app.ask("run"), 19)
        self.assertEqual(app.ask("kernel"), "high/square")
        client = self.clients()[0]
        with open(self.machine.path(f"/proc/{client['pid']}/maps"), encoding="utf-8") as file:
            maps = file.read()
        self.assertIn("/var/lib/kplug/store/", maps)
        self.assertNotIn("/kplug/plugins/high.so", maps)
        self.assertEqual(str(client["uid"]), self.machine.run("id", "-u", "alice").stdout.strip())

    def test_an_application_starts_the_service_by_its_connection(self):
        self.two_plugins()
        self.machine.start("plugind.socket")
        app = self.application()
        wait_until(lambda: app.ask("run") == 19, "the kernel")
        self.assertEqual(self.machine.show("ActiveState"), "active")

    def test_a_decision_reaches_it_whatever_becomes_of_the_service(self):
        self.two_plugins()
        self.start()
        app = self.application()
        self.assertEqual(app.ask("run"), 19)
        self.machine.ctl("disable", "high", user="bob")
        self.assertEqual(app.ask("run"), 18)
        for harm in (["restart"], ["kill", "--signal=KILL"]):
            with self.subTest(harm=harm):
                self.machine.run("systemctl", *harm, "plugind.service")
                self.assertEqual(app.ask("run"), 18)
                self.machine.ctl("enable", "high")
                wait_until(lambda: app.ask("run") == 19, "the decision")
                self.machine.ctl("disable", "high")
                wait_until(lambda: app.ask("run") == 18, "the other one")

    def test_it_keeps_running_without_the_service(self):
        self.two_plugins()
        self.start()
        app = self.application()
        self.assertEqual(app.ask("run"), 19)
        self.machine.run("systemctl", "stop", "plugind.socket", "plugind.service")
        self.assertEqual(app.ask("run"), 19)
        self.machine.start()
        self.machine.plugins()
        self.machine.ctl("disable", "high")
        wait_until(lambda: app.ask("run") == 18, "the decision")

    def test_it_believes_the_table_of_kplug_while_nobody_listens(self):
        """The socket is root's, who listens for the service; the table is not."""
        self.two_plugins()
        self.start()
        app = self.application()
        self.assertEqual(app.ask("run"), 19)
        self.machine.run("systemctl", "stop", "plugind.socket", "plugind.service")
        socket = "/var/lib/kplug/other.sock"
        daemon = [f"{PREFIX}/sbin/plugind", "--system", "--socket", socket]
        self.machine.run("systemd-run", "--unit=other", "--property=User=kplug", *daemon)
        self.addCleanup(self.machine.run, "systemctl", "stop", "other.service")
        asking = ["--socket", socket]
        self.machine.ctl(*asking, "status", "--wait")
        self.machine.ctl(*asking, "disable", "high")
        wait_until(lambda: app.ask("run") == 18, "the table on disk")

    def test_a_load_of_roots_is_run_by_anybody(self):
        self.start()
        self.machine.add("mine", [kernel(priority=19, flags=["reentrant"])], body=giving(7))
        self.machine.remove("mine")
        self.machine.ctl("load", f"{PREFIX}/lib/kplug/plugins/mine.so")
        self.assertEqual(self.application().ask("run"), 7)


if __name__ == "__main__":
    unittest.main()
