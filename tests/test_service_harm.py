# SPDX-License-Identifier: MIT
"""What goes wrong under a real systemd: workers, memory, a loop that stands still."""

import json
import unittest

from harness import HANG, wait_until
from machine import SOCKET, Machine

# What a plugin takes until the kernel ends it; a machine without bounds survives it.
GLUTTON = """
#include <string.h>
__attribute__((constructor)) static void eat(void)
{
	for (int i = 0; i < 1024; i++) {
		char *more = malloc(1 << 20);
		if (more)
			memset(more, 1, 1 << 20);
	}
}
"""
MEMORY = "[Service]\nMemoryMax=192M\nMemorySwapMax=0\n"
CONTROLLER = "test -d /sys/fs/cgroup/memory || grep -q memory /sys/fs/cgroup/cgroup.controllers"


class Harm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.close)

    def setUp(self):
        self.machine.reset()

    def reason(self, name):
        plugin = self.machine.plugins()[name]
        return plugin["state"], plugin["reason"]["code"]

    def lives(self, pid):
        self.assertEqual(self.machine.main_pid(), pid)
        self.assertEqual(self.machine.show("NRestarts"), "0")
        self.assertEqual(self.machine.plugins()["reference"]["state"], "active")

    def start(self):
        self.machine.start()
        return self.machine.main_pid()

    # -- workers

    def test_a_hung_worker_is_its_plugins_failure_alone(self):
        self.machine.add("hung", before=HANG, manifest={"timeout_ms": 500})
        pid = self.start()
        self.assertEqual(self.reason("hung"), ("failed", "probe_timeout"))
        self.lives(pid)
        # Neither it nor what it may have started is left in the service's group.
        wait_until(lambda: self.workers() <= 2, "the end of the workers")

    def workers(self):
        listed = self.machine.run("pgrep", "-c", "plugin-worker", check=False).stdout
        return int(listed)

    def test_a_worker_that_takes_all_memory_is_its_plugins_failure_alone(self):
        if self.machine.run("sh", "-c", CONTROLLER, check=False).returncode != 0:
            self.skipTest("no control group bounds memory here")
        # What systemd does of a group it knows only where there is one hierarchy.
        self.assertEqual(self.machine.show("OOMPolicy"), "continue")
        self.machine.drop_in("memory", MEMORY)
        self.machine.add("glutton", before=GLUTTON)
        pid = self.start()
        self.assertEqual(self.reason("glutton")[0], "failed")
        told = json.loads(self.machine.ctl("--json", "logs", "glutton").stdout)
        self.assertIn("signal 9", json.dumps(told).replace("SIGKILL", "signal 9"))
        self.lives(pid)
        self.assertEqual(self.machine.show("ActiveState"), "active")
        self.assertIn("glutton: failed", self.machine.await_journal("glutton: ")[0][1])

    def test_workers_go_before_the_daemon_where_memory_is_short(self):
        self.machine.add("hung", before=HANG, manifest={"timeout_ms": 60000})
        pid = self.start()
        wait_until(lambda: self.scores() and max(self.scores()) == 1000, "a worker")
        with open(self.machine.path(f"/proc/{pid}/oom_score_adj"), encoding="utf-8") as file:
            self.assertEqual(int(file.read()), 0)

    def scores(self):
        command = "for p in $(pgrep plugin-worker); do cat /proc/$p/oom_score_adj; done"
        text = self.machine.run("sh", "-c", command, check=False).stdout
        return [int(word) for word in text.split()]

    def test_a_launcher_that_is_killed_is_started_again(self):
        pid = self.start()
        self.machine.plugins()
        self.machine.run("pkill", "-KILL", "plugin-worker")
        self.machine.add("late")
        self.machine.ctl("reload")
        self.assertEqual(self.machine.plugins()["late"]["state"], "active")
        self.lives(pid)

    # -- the daemon

    def answered_after(self, harm, result):
        """A client that connects while the daemon is gone gets its answer of the next."""
        pid = self.start()
        self.machine.plugins()
        self.machine.run("kill", "-STOP", str(pid))
        waiting = self.machine.begin("pluginctl", "--timeout", "60", "--json", "status")
        harm(pid)
        out, err = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 0, err)
        self.assertEqual(json.loads(out)["socket"], SOCKET)
        self.assertNotEqual(json.loads(out)["pid"], pid)
        self.assertEqual(self.machine.show("NRestarts"), "1")
        said = self.machine.journal("systemd")
        self.assertTrue(any(result in text for _, text in said), said)
        self.assertEqual(self.machine.plugins()["reference"]["state"], "active")

    def test_t76_a_loop_that_stands_still_is_ended_and_clients_are_answered_by_the_next(self):
        self.machine.drop_in("quick", "[Service]\nWatchdogSec=1s\n")
        self.answered_after(lambda pid: None, "Watchdog timeout")

    def test_after_a_crash_clients_are_answered_by_the_next(self):
        def crash(pid):
            self.machine.run("kill", "-KILL", str(pid))

        self.answered_after(crash, "status=9/KILL")

    def test_a_wrong_configuration_is_said_once_and_not_tried_again(self):
        self.machine.write("/etc/kplug/plugind.json", '{"log_levle": "info"}')
        done = self.machine.run("systemctl", "start", "plugind.service", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.machine.show("ExecMainStatus"), "2")
        self.assertEqual(self.machine.show("NRestarts"), "0")
        said = self.machine.journal()
        self.assertEqual([priority for priority, _ in said], [3])
        self.assertIn("/etc/kplug/plugind.json:1:", said[0][1])
        self.machine.write("/etc/kplug/plugind.json", '{"log_level": "debug"}')
        self.start()
        pending = "reference: pending [pending]: it has not been probed yet"
        self.assertEqual(self.machine.await_journal("reference: pending"), [(7, pending)])

    def test_damaged_decisions_are_said_as_an_error_and_it_runs(self):
        self.start()
        self.machine.plugins()
        self.machine.ctl("disable", "x86")
        self.machine.run("systemctl", "stop", "plugind.service")
        self.machine.run("sh", "-c", "echo damage >/var/lib/kplug/decisions.json")
        self.start()
        self.assertTrue([t for p, t in self.machine.journal() if p == 4 and "decisions" in t])

    def test_a_second_daemon_of_roots_finds_the_state_taken(self):
        pid = self.start()
        done = self.machine.run(
            "plugind", "--system", "--socket", "/run/kplug/second.sock", check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"process {pid} holds /var/lib/kplug/lock", done.stderr)
        self.lives(pid)


if __name__ == "__main__":
    unittest.main()
