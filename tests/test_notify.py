# SPDX-License-Identifier: MIT
"""What plugind tells the service manager that has started it, and when."""

import os
import time
import unittest

from harness import HANG, children, wait_until
from manager import Managed, Manager

# A plugin whose library never finishes loading, and how long it is waited for.
HUNG_MS = 60000


def environ(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return file.read()


class Notify(unittest.TestCase):
    def managed(self, manager=None, **more):
        daemon = Managed(manager, start=False, **more)
        self.addCleanup(daemon.close)
        return daemon

    def manager(self, **more):
        manager = Manager(**more)
        self.addCleanup(manager.__exit__)
        return manager

    # -- ready

    def test_t76_ready_is_said_once_and_calls_are_answered_then(self):
        for abstract in (False, True):
            with self.subTest(abstract=abstract):
                manager = self.manager(abstract=abstract)
                daemon = self.managed(manager)
                daemon.spawn()
                manager.await_word("READY", "1")
                self.assertEqual(daemon.call("Version")["version"].count("."), 2)
                daemon.settle()
                daemon.stop()
                said = [w for w in manager.hear_all() if "READY" in w]
                self.assertEqual(len(said), 1)

    def test_t76_a_plugin_that_hangs_delays_neither_ready_nor_watchdog(self):
        manager = self.manager()
        env = {"WATCHDOG_USEC": "300000", "WATCHDOG_PID": "SELF"}
        daemon = self.managed(manager, env=env)
        daemon.add("hung", before=HANG, manifest={"timeout_ms": HUNG_MS})
        daemon.spawn()
        manager.await_word("READY")
        manager.await_word("STATUS", "trying plugins: 0 of 1 done")
        for _ in range(5):
            manager.await_word("WATCHDOG", "1")
        states = daemon.call("List")["plugins"]
        self.assertEqual([p["state"] for p in states], ["pending"])

    def test_t76_progress_is_told_until_all_have_their_verdict(self):
        manager = self.manager()
        daemon = self.managed(manager)
        daemon.add_many([f"p{i}" for i in range(3)])
        daemon.manifest("gone", library="gone.so")
        daemon.spawn()
        words = manager.await_word("STATUS", "plugins: ")
        self.assertEqual(words["STATUS"], "plugins: 3 active, 1 missing")
        daemon.call("Disable", name="p1")
        words = manager.await_word("STATUS", "disabled")
        self.assertEqual(words["STATUS"], "plugins: 2 active, 1 disabled, 1 missing")

    # -- the watchdog

    def beats(self, env):
        """Whether it beats: known once something else has been said later."""
        manager = self.manager()
        daemon = self.managed(manager, env=env)
        daemon.spawn()
        manager.await_word("READY")
        daemon.add("one")
        manager.await_word("STATUS", "1 active")
        daemon.stop()
        return any("WATCHDOG" in words for words in manager.hear_all())

    def test_watchdog_is_told_only_where_it_is_asked_of_this_process(self):
        for env, beats in (
            ({"WATCHDOG_USEC": "100000"}, True),
            ({"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "SELF"}, True),
            ({"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}, False),
            ({"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "x"}, False),
            ({"WATCHDOG_USEC": "0"}, False),
            ({"WATCHDOG_USEC": "-1"}, False),
            ({"WATCHDOG_USEC": "1s"}, False),
            ({}, False),
        ):
            with self.subTest(env=env):
                self.assertEqual(self.beats(env), beats)

    # -- reloads and the end

    def reload(self, do):
        manager = self.manager()
        daemon = self.managed(manager)
        daemon.spawn()
        manager.await_word("STATUS", "plugins: none")
        daemon.add("late")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        do(daemon)
        words = manager.await_word("RELOADING", "1")
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.assertLessEqual(before, int(words["MONOTONIC_USEC"]))
        self.assertLessEqual(int(words["MONOTONIC_USEC"]), after)
        self.assertGreater(int(words["EXTEND_TIMEOUT_USEC"]), 10**7)
        self.assertEqual(manager.await_word("READY")["STATUS"], "plugins: 1 active")
        return manager

    def test_a_reload_by_call_is_told_and_ends_with_ready(self):
        manager = self.reload(lambda daemon: daemon.call("Reload"))
        said = [word for words in manager.hear_all() for word in words]
        order = [word for word in said if word in ("RELOADING", "READY")]
        self.assertEqual(order, ["READY", "RELOADING", "READY"])

    def test_a_reload_by_signal_is_told_and_ends_with_ready(self):
        self.reload(lambda daemon: os.kill(daemon.pid, 1))

    def test_a_reload_is_not_over_while_a_plugin_is_tried(self):
        manager = self.manager()
        daemon = self.managed(manager)
        daemon.spawn()
        manager.await_word("STATUS", "plugins: none")
        daemon.add("hung", before=HANG, manifest={"timeout_ms": 1500})
        os.kill(daemon.pid, 1)
        manager.await_word("RELOADING")
        manager.await_word("STATUS", "trying plugins: 0 of 1 done")
        self.assertEqual(manager.await_word("READY")["STATUS"], "plugins: 1 failed")

    def test_the_end_is_told_before_anything_is_closed(self):
        manager = self.manager()
        daemon = self.managed(manager)
        daemon.start()
        daemon.stop()
        last = manager.hear_all()[-1]
        self.assertEqual(last, {"STOPPING": "1", "STATUS": "ending"})

    # -- who is told, and who is not

    def test_a_manager_that_does_not_read_costs_no_wait(self):
        manager = self.manager()
        daemon = self.managed(manager, env={"WATCHDOG_USEC": "1000"})
        daemon.start()
        # A beat each millisecond has filled its queue long before this is over.
        daemon.add("one")
        daemon.call("Reload")
        self.assertEqual(daemon.plugins()["one"]["state"], "active")
        manager.hear_all()
        words = manager.await_word("STATUS", "1 active")
        self.assertNotIn("STOPPING", words)

    def test_without_a_manager_nothing_is_told_and_nothing_said_of_it(self):
        daemon = self.managed()
        daemon.start()
        self.assertNotIn("NOTIFY", daemon.log())

    def test_an_address_that_is_none_is_named_and_no_reason_not_to_run(self):
        for name in ("relative", "@", "/nowhere/at/all", "@kplug-nobody", "/" + "x" * 200):
            with self.subTest(name=name):
                daemon = self.managed(env={"NOTIFY_SOCKET": name})
                daemon.start()
                text = f"NOTIFY_SOCKET={name[:100]}"
                wait_until(lambda d=daemon, t=text: t in d.log(), text)
                self.assertIn("[bad_environment]", daemon.log())
                daemon.stop()

    def test_a_transient_daemon_says_nothing_in_the_name_of_who_started_it(self):
        manager = self.manager()
        daemon = self.managed(manager, options=["--transient"], env={"WATCHDOG_USEC": "100000"})
        daemon.add("one")
        daemon.start()
        wait_until(lambda: daemon.process.poll() is not None, "its end")
        self.assertEqual(manager.hear_all(), [])

    def test_workers_inherit_nothing_of_the_manager(self):
        manager = self.manager()
        env = {"WATCHDOG_USEC": "1000000", "LISTEN_FDNAMES": "x"}
        daemon = self.managed(manager, env=env)
        daemon.add("hung", before=HANG, manifest={"timeout_ms": HUNG_MS})
        daemon.start()
        wait_until(lambda: len(children(daemon.pid)) > 1, "a worker")
        # The launcher, whose environment all of them have.
        inherited = environ(children(daemon.pid)[0])
        for name in (b"NOTIFY_SOCKET", b"WATCHDOG_", b"LISTEN_", b"JOURNAL_STREAM"):
            self.assertNotIn(name, inherited)


if __name__ == "__main__":
    unittest.main()
