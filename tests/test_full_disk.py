# SPDX-License-Identifier: MIT
"""A disk that is full, or that can only be read: said, and nothing that was kept is lost."""

import os
import subprocess
import time
import unittest

from harness import Daemon, wait_until
from varlink import VarlinkError

ROOM = "3m"


class Disk:
    """A small disk for a daemon's state, in a mount namespace that outlives the daemon."""

    def __init__(self, daemon):
        self.daemon = daemon
        script = f'mount -t tmpfs -o size={ROOM} tmpfs "$1" && echo ready && exec cat'
        self.process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", script, "sh", daemon.state_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.is_there = self.process.stdout.readline() == "ready\n"

    def close(self):
        _, errors = self.process.communicate()
        return errors

    def enter(self, *words):
        return ["nsenter", "-t", str(self.process.pid), "-m", *words]

    def path(self, *names):
        return os.path.join(f"/proc/{self.process.pid}/root{self.daemon.state_dir}", *names)

    def fill(self):
        """Not one more byte."""
        for size in (1 << 16, 4096, 1):
            try:
                with open(self.path("filler"), "ab", buffering=0) as file:
                    while True:
                        file.write(b"x" * size)
            except OSError:
                pass

    def empty(self):
        os.unlink(self.path("filler"))

    def remount(self, how):
        subprocess.run(
            self.enter("mount", "-o", f"remount,{how}", self.daemon.state_dir), check=True
        )


class Inside(Daemon):
    disk = None

    def command(self):
        command = super().command()
        return self.disk.enter(*command) if self.disk else command


@unittest.skipIf(os.geteuid() != 0, "only root can mount a file system")
class Case(unittest.TestCase):
    def setUp(self):
        self.daemon = Inside(start=False)
        self.addCleanup(self.daemon.close)
        os.mkdir(self.daemon.state_dir)
        self.disk = Disk(self.daemon)
        self.addCleanup(self.disk.close)
        if not self.disk.is_there:
            self.skipTest("a mount namespace is not permitted here")
        self.daemon.disk = self.disk
        for version in (1, 2):
            self.daemon.add_many(["a", "b", "c"], version=f"{version}.0.0")
            if version == 1:
                self.daemon.start()
            self.daemon.call("Reload")
        self.daemon.settle()
        self.daemon.call("Disable", name="a", reason="before")
        self.daemon.call("Rollback", name="b", number=1)

    def refused(self, method, **parameters):
        """With no byte left, also none of a file that gives way."""
        for name in ("decisions.json", "decisions.json.old"):
            file = open(self.disk.path(name), "rb")
            self.addCleanup(file.close)
        self.disk.fill()
        with self.assertRaises(VarlinkError) as caught:
            self.daemon.call(method, **parameters)
        self.assertEqual(caught.exception.code, "write_failed")
        text = str(caught.exception)
        self.assertRegex(text, "decisions.json")
        self.assertRegex(text, "lost at the next start")
        return text

    def holds(self, states, versions):
        self.daemon.settle()
        plugins = self.daemon.plugins()
        self.assertEqual({n: p["state"] for n, p in plugins.items()}, states)
        found = {n: plugins[n]["version"] for n in versions}
        self.assertEqual(found, versions)


class Full(Case):
    KEPT = {"a": "disabled", "b": "active", "c": "active"}

    def test_t57_a_full_disk_costs_only_what_was_refused(self):
        # What was just installed is looked at again by the next start: until it is old.
        newest = max(os.stat(self.daemon.library_path(n)).st_ctime for n in "abc")
        wait_until(lambda: time.time() > newest + 2, "libraries to be old")
        for _ in range(2):
            self.daemon.restart()
            self.daemon.settle()
        text = self.refused("Disable", name="c", reason="now")
        self.assertRegex(text, "No space left")
        # In force all the same, as it says; and so is what is taken back.
        self.assertEqual(self.daemon.plugins()["c"]["state"], "disabled")
        self.refused("Enable", name="c")
        self.refused("Rollback", name="c", number=1)
        for end in (self.daemon.kill, self.daemon.stop):
            end()
            self.daemon.start()
            self.holds(self.KEPT, {"b": "1.0.0", "c": "2.0.0"})
        self.assertEqual(self.daemon.settle()["warnings"], [])

    def test_t57_without_a_cache_plugins_wait_for_room_and_come_by_themselves(self):
        self.daemon.stop()
        os.unlink(os.path.join(self.daemon.cache_dir, "probe"))
        self.disk.fill()
        self.daemon.start()
        self.assertEqual({p["state"] for p in self.daemon.plugins().values()}, {"failed"})
        self.assertTrue(self.daemon.call("Status")["degraded"])
        self.assertFalse(self.daemon.call("IsEnabled", name="a")["enabled"])
        self.disk.empty()
        self.daemon.call("Reload")
        self.holds(self.KEPT, {"b": "1.0.0"})

    def test_t57_with_room_again_everything_is_written(self):
        self.refused("Disable", name="c", reason="now")
        self.disk.empty()
        # Asked again it is on the disk, although nothing changes any more.
        self.assertFalse(self.daemon.call("Disable", name="c", reason="now")["changed"])
        self.daemon.kill()
        self.daemon.start()
        self.holds({**self.KEPT, "c": "disabled"}, {"b": "1.0.0"})

    def test_t57_what_nobody_waits_for_is_written_when_there_is_room(self):
        self.disk.fill()
        self.daemon.add_many(["c"], version="1.0.0", kernels=[])
        self.daemon.add_many(["c"], version="2.0.0")
        self.daemon.remove("b")
        self.daemon.call("Reload")
        wait_until(lambda: "cannot write history.json" in self.daemon.log(), "the failure")
        self.disk.empty()

        def is_written():
            with open(self.disk.path("history.json"), encoding="utf-8") as file:
                return '"plugin":"b"' in file.read()

        wait_until(is_written, "the history")
        self.daemon.kill()
        self.daemon.start()
        self.daemon.settle()
        history = self.daemon.call("History", name="b")["generations"]
        self.assertEqual([g["current"] for g in history], [False, False])

    def test_t57_a_library_that_finds_no_room_fails_alone_and_works_with_room(self):
        self.disk.fill()
        self.daemon.add("d", version="1.0.0")
        self.daemon.call("Reload")
        plugins = self.daemon.plugins()
        self.assertEqual(plugins["d"]["state"], "failed")
        self.assertEqual(plugins["d"]["reason"]["code"], "write_failed")
        self.assertRegex(plugins["d"]["reason"]["message"], "No space left")
        self.holds({**self.KEPT, "d": "failed"}, {"b": "1.0.0"})
        self.disk.empty()
        self.assertEqual(self.daemon.call("Retry", name="d")["plugin"]["state"], "active")


class ReadOnly(Case):
    def test_t57_a_disk_that_can_only_be_read_is_said(self):
        self.daemon.stop()
        self.disk.remount("ro")
        done = self.daemon.run()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "Read-only file system")
        self.assertIn(self.daemon.state_dir, done.stderr)
        self.disk.remount("rw")
        self.daemon.start()
        self.holds({"a": "disabled", "b": "active", "c": "active"}, {"b": "1.0.0"})


if __name__ == "__main__":
    unittest.main()
