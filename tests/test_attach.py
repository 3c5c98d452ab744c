# SPDX-License-Identifier: MIT
"""Applications that are attached: what operators see of them, and what hostile ones can do."""

import json
import os
import struct
import subprocess
import time
import unittest

from attached import SLOTS_BYTES, TOLD_BYTES, Application
from harness import SANITIZER, Daemon, kernel, wait_until
from varlink import VarlinkError

MANY = 1000


def two_kernels(daemon):
    daemon.add("a", [kernel("square", priority=12), kernel("cube", "elementwise/square")])
    daemon.call("Reload")
    return daemon


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(next(l for l in file if l.startswith("VmRSS")).split()[1])


class Attached(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.daemon.start()

    def application(self, **parameters):
        application = Application(self.daemon.socket, **parameters)
        self.addCleanup(application.close)
        return application

    def clients(self):
        return {c["name"]: c for c in self.daemon.call("Clients")["clients"]}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def descriptors_at_rest(self):
        """Once all is probed, and one has been here: the last view stays open."""
        two_kernels(self.daemon)
        with self.application() as application:
            application.leave()
        wait_until(lambda: not self.clients(), "the first to leave")
        return self.descriptors() + 1  # whoever asks has a connection

    # -- what operators see

    def test_clients_lists_name_pid_and_user(self):
        self.application(name="one")
        found = self.clients()["one"]
        self.assertEqual(found["pid"], os.getpid())
        self.assertEqual(found["uid"], os.getuid())
        self.assertEqual((found["state"], found["generation"]), ("pending", 0))
        text = self.daemon.ctl("clients").stdout
        self.assertRegex(text, rf"(?m)^one +{os.getpid()} +{os.getuid()} .* pending")

    def test_clients_of_nobody_is_a_remark_and_an_empty_list(self):
        done = self.daemon.ctl("clients")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no application is attached", done.stderr)
        self.assertEqual(json.loads(self.daemon.ctl("--json", "clients").stdout)["clients"], [])

    def test_disable_says_who_obeyed_and_who_has_yet_to(self):
        two_kernels(self.daemon)
        quick, idle = self.application(name="quick"), self.application(name="idle")
        quick.obey(1 << 40)
        idle.obey()
        reply = self.daemon.call("Disable", name="a/square")
        states = {c["name"]: c["state"] for c in reply["clients"]}
        self.assertEqual(states, {"quick": "obeyed", "idle": "pending"})
        done = self.daemon.ctl("disable", "a/cube")
        self.assertIn("1 application obeyed", done.stderr)
        self.assertIn("1 application will, with the next call", done.stderr)

    def test_table_is_the_one_that_calls_choose_from_and_not_what_they_obey(self):
        """Bits are obeyed at once: a better kernel is there when its table has come."""
        application = self.application(name="app")
        application.obey()

        def told(view):
            struct.pack_into("<Q", application.slots, SLOTS_BYTES + 8, view)
            (client,) = self.daemon.call("Clients")["clients"]
            self.assertEqual(client["generation"], application.generation)
            return client["table"]

        self.assertEqual(told(1), 1)
        self.assertEqual(told(application.generation), application.generation)
        self.assertEqual(told(1 << 40), application.generation)
        self.assertEqual(told(0), application.generation)

    def test_disable_names_who_holds_the_kernel_and_no_other(self):
        two_kernels(self.daemon)
        application = self.application(name="engine")
        application.hold(0, "a/square", "graph", 3)
        application.hold(1, "a/cube", "plan")
        reply = self.daemon.call("Disable", name="a/square")
        self.assertEqual(reply["clients"][0]["state"], "held")
        self.assertEqual(
            reply["clients"][0]["holds"],
            [{"kernel": "a/square", "what": "graph", "count": 3, "off": True}],
        )
        text = self.daemon.ctl("disable", "a/square").stdout
        self.assertIn(f"held by engine (pid {os.getpid()}): graph of a/square (3)", text)

    def test_disable_wait_exits_6_while_it_is_held(self):
        two_kernels(self.daemon)
        application = self.application(name="engine")
        application.hold(0, "a/square", "weight")
        done = self.daemon.ctl("--timeout", "0.2", "disable", "a/square", "--wait")
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr, r"still held by engine .*: weight of a/square")
        done = self.daemon.ctl("--json", "--timeout", "0.2", "disable", "a/square", "--wait")
        self.assertEqual(done.returncode, 6)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "still_held")

    def test_disable_wait_ends_when_the_last_hold_is_let_go(self):
        two_kernels(self.daemon)
        application = self.application(name="engine")
        application.hold(0, "a/square", "graph")
        application.hold(1, "a/cube", "graph")
        with subprocess.Popen(
            [os.path.join(os.environ.get("KPLUG_BUILD", "build"), "pluginctl")]
            + ["--json", "--socket", self.daemon.socket, "disable", "a/square", "--wait"],
            stdout=subprocess.PIPE,
        ) as process:
            wait_until(lambda: self.clients()["engine"]["state"] == "held", "the disable")
            self.assertIsNone(process.poll())
            application.release(0)
            out = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 0)
        self.assertNotIn("held", [c["state"] for c in json.loads(out)["clients"]])

    def test_a_solution_that_is_disabled_waits_for_holds_of_its_kernels(self):
        self.daemon.add("a", [kernel(solution="fast")])
        self.daemon.call("Reload")
        application = self.application(name="engine")
        application.hold(0, "a/square")
        arguments = ["disable", "elementwise/square", "--solution", "fast", "--wait"]
        self.assertEqual(self.daemon.ctl("--timeout", "0.2", *arguments).returncode, 6)
        application.release(0)
        self.assertEqual(self.daemon.ctl("--timeout", "9", *arguments).returncode, 0)

    # -- what is pushed

    def test_each_change_is_pushed_as_a_newer_view(self):
        two_kernels(self.daemon)
        application = self.application()
        seen = application.first["parameters"]["generation"]
        for method in ("Disable", "Enable", "Disable"):
            self.daemon.call(method, name="a")
            reply = application.receive()["parameters"]
            self.assertGreater(reply["generation"], seen)
            seen = reply["generation"]
            self.assertEqual(set(reply), {"boot", "generation", "view"})

    def test_a_plugin_that_comes_is_pushed_without_a_question(self):
        application = self.application()
        self.daemon.add("later")
        self.daemon.call("Reload")
        before = application.first["parameters"]["generation"]
        self.assertGreater(application.receive()["parameters"]["generation"], before)

    def test_many_changes_at_once_are_few_views_and_the_last_is_the_newest(self):
        two_kernels(self.daemon)
        application = self.application()
        with self.daemon.client() as client:
            for i in range(200):
                last = client.call("Disable" if i % 2 == 0 else "Enable", {"name": "a"})
        views = 0
        while True:
            views += 1
            if application.receive()["parameters"]["generation"] == last["generation"]:
                break
        self.assertLess(views, 200)

    def test_generations_of_the_next_plugind_are_higher_than_what_was_seen(self):
        for seen in (1, 1000, 1 << 40):
            application = self.application(boot="another", seen=seen)
            self.assertGreater(application.generation, seen)
            self.assertEqual(application.generation, application.first["parameters"]["generation"])

    # -- hostile ones

    def test_generations_cannot_be_raised_again_and_again(self):
        refused = 0
        for _ in range(40):
            application = self.application(seen=self.daemon.call("Clients")["generation"])
            refused += application.first.get("parameters", {}).get("code") == "busy"
        self.assertGreater(refused, 8)
        self.assertNotIn("error", self.application().first)

    def test_attach_without_more_is_refused(self):
        with self.assertRaises(VarlinkError) as caught:
            self.daemon.call("Attach")
        self.assertEqual(caught.exception.short, "ExpectedMore")

    def test_absurd_parameters_are_errors(self):
        for bad in ({"seen": -1}, {"seen": 1 << 60}, {"seen": "x"}, {"name": 3}, {"boot": []}):
            with self.subTest(bad=bad):
                self.assertIn("error", self.application(**bad).first)

    def test_a_name_of_control_bytes_is_shown_harmless_and_short(self):
        self.application(name="\x1b[31m" + "x" * 5000)
        (name,) = self.clients()
        self.assertLess(len(name), 64)
        self.assertNotIn("\x1b", name)
        self.assertNotIn("\x1b", self.daemon.ctl("clients").stdout)

    def test_garbage_behind_an_attach_harms_nobody(self):
        application = self.application(name="rude")
        application.socket.setblocking(False)
        try:
            for _ in range(64):
                application.socket.send(os.urandom(65536))
        except BlockingIOError:
            pass
        self.assertIn("rude", self.clients())

    def test_lies_in_the_slots_are_shown_as_text_and_no_more(self):
        application = self.application(name="liar")
        for _ in range(20):
            application.slots[SLOTS_BYTES:] = os.urandom(TOLD_BYTES)
            found = self.clients()["liar"]
            self.assertGreaterEqual(found["generation"], 0)
            self.assertEqual(self.daemon.ctl("clients").returncode, 0)

    def test_one_who_does_not_read_is_behind_and_costs_no_memory(self):
        two_kernels(self.daemon)
        application = self.application(name="deaf")
        before = resident_kib(self.daemon.pid)
        end = time.monotonic() + 1
        with self.daemon.client() as client:
            while time.monotonic() < end:
                client.call("Disable", {"name": "a"})
                client.call("Enable", {"name": "a"})
        self.assertEqual(self.clients()["deaf"]["state"], "behind")
        if not SANITIZER:  # which keeps what is freed
            self.assertLess(resident_kib(self.daemon.pid) - before, 4096)
        self.daemon.call("Disable", name="a")
        wanted = self.daemon.call("Clients")["generation"]
        seen = 0
        count = 0
        while seen < wanted:
            seen = application.receive()["parameters"]["generation"]
            count += 1
        self.assertLessEqual(count, 3)

    def test_a_thousand_attachments_leave_nothing_behind(self):
        before = self.descriptors_at_rest()
        for i in range(MANY):
            with Application(self.daemon.socket, name=f"n{i}") as application:
                application.leave()
        wait_until(lambda: self.descriptors() <= before, "all descriptors to be closed")
        self.assertEqual(self.clients(), {})

    def test_those_who_never_say_goodbye_are_forgotten_all_the_same(self):
        before = self.descriptors_at_rest()
        for i in range(100):
            Application(self.daemon.socket, name=f"n{i}").close()
        wait_until(lambda: self.descriptors() <= before, "all descriptors to be closed")

    def test_more_than_may_come_are_refused_and_the_daemon_answers(self):
        held = []
        try:
            for _ in range(400):
                try:
                    held.append(Application(self.daemon.socket, timeout=10))
                except OSError:
                    break
            refused = [a for a in held if not a.maps]
            self.assertGreater(len(held) - len(refused), 100)
        finally:
            for application in held:
                application.close()
        wait_until(self.answers, "plugind to answer")

    def answers(self):
        try:
            return self.daemon.call("Version")
        except (VarlinkError, OSError):
            return None


class Family(unittest.TestCase):
    def test_a_family_is_its_file_and_an_unknown_one_offers_the_nearest(self):
        with Daemon() as daemon:
            family = daemon.call("Family", operation="gemm/mm")["family"]
            path = os.path.join(daemon.families, "gemm.mm.json")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(family, json.load(file))
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Family", operation="gemm/mn")
            self.assertEqual(caught.exception.code, "unknown_operation")
            self.assertEqual(caught.exception.parameters["nearest"], "gemm/mm")


if __name__ == "__main__":
    unittest.main()
