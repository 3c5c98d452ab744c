# SPDX-License-Identifier: MIT
"""What a daemon takes of memory and descriptors does not grow with what is done to it."""

import os
import shutil
import unittest

from application import Application
from harness import LONG, SANITIZER, Daemon, install, kernel, make_plugin, wait_until

# More than the events that are kept: from then on each new one takes the place of an old.
WARM = 300
CYCLES = 1000 if LONG else 200
GROWTH_KIB = 200
FLAGS = ["reentrant"]


def dirty_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty:"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Flat(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.add("a", [kernel(priority=15, flags=FLAGS)])
        self.daemon.add("b", [kernel(priority=5, flags=FLAGS)])
        self.daemon.call("Reload")
        self.daemon.settle()
        self.app = Application(self.daemon.socket)
        self.addCleanup(self.app.__exit__)

    def assert_flat(self, cycle, warm=WARM, cycles=CYCLES):
        with self.daemon.client() as client:
            for _ in range(warm):
                cycle(client.call)
            memory, files = self.settled()
            for _ in range(cycles):
                cycle(client.call)
            after, _ = self.settled()
        wait_until(lambda: descriptors(self.daemon.pid) <= files, f"{files} descriptors again")
        if not SANITIZER:
            self.assertLessEqual(after - memory, GROWTH_KIB, f"{cycles} cycles")

    def settled(self):
        """As soon as the application obeys, and nothing is on its way to it or the disk."""
        generation = self.daemon.call("Status")["generation"]
        self.app.ask("run")
        wait_until(
            lambda: [c["generation"] for c in self.daemon.call("Clients")["clients"]]
            == [generation],
            "the application to obey",
        )
        return dirty_kib(self.daemon.pid), descriptors(self.daemon.pid)

    def test_t47_over_disable_and_enable(self):
        def cycle(call):
            call("Disable", {"name": "a"})
            call("Enable", {"name": "a"})

        self.assert_flat(cycle)
        self.assertEqual(self.daemon.plugins()["a"]["state"], "active")

    def test_t47_over_a_pin_and_its_end(self):
        def cycle(call):
            call("Pin", {"operation": "elementwise/square", "choice": "b/square"})
            call("Unpin", {"operation": "elementwise/square"})

        self.assert_flat(cycle)

    def test_t47_over_versions_that_come_and_go(self):
        versions = [os.path.join(self.daemon.place, f"{i}.so") for i in range(2)]
        for i, path in enumerate(versions):
            make_plugin(path, "a", [kernel(priority=15, flags=FLAGS)], version=f"1.0.{i}")
        turn = [0]

        def cycle(call):
            turn[0] ^= 1
            path = self.daemon.library_path("a")
            shutil.copy2(versions[turn[0]], path + ".new")
            install(path)
            call("Reload", {"name": "a"})

        self.assert_flat(cycle, warm=60, cycles=CYCLES // 5)


if __name__ == "__main__":
    unittest.main()
