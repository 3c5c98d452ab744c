# SPDX-License-Identifier: MIT
"""Libraries that somebody writes to in place: applications go on, and it is told."""

import os
import shutil
import time
import unittest

from application import Application
from harness import LONG, Daemon, kernel, wait_until

SPIN_S = 60 if LONG else 1.5
KIND = "modified_in_place"


def truncate(path):
    os.truncate(path, 100)


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(b"\0" * os.path.getsize(path))


def empty(path):
    os.truncate(path, 0)


def append(path):
    with open(path, "ab") as file:
        file.write(b"more")


def replace(path):
    """By rename, as it should be."""
    shutil.copy(path, path + ".new")
    append(path + ".new")
    os.rename(path + ".new", path)


class Modified(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def add(self, name):
        body = "((float *)call->tensors[1]->data)[0] = 7;"
        self.daemon.add(name, [kernel(flags=["reentrant"])], body=body)
        path = self.daemon.library_path(name)
        # Of another time, so that what is done to it shows.
        then = time.time() - 3600
        os.utime(path, (then, then))
        self.daemon.call("Reload")
        self.daemon.settle()
        return path

    def events(self, since):
        """Those after `since`, of our kind."""
        found = []
        with self.daemon.client() as client:
            replies = client.call_more("Monitor", {"boot": self.boot, "since": since})
            last = next(replies)["sequence"]
            at = since
            while at < last:
                event = next(replies)["event"]
                at = event["sequence"]
                if event["kind"] == KIND:
                    found.append(event)
        return found

    def now(self):
        with self.daemon.client() as client:
            reply = next(client.call_more("Monitor", {}))
        self.boot = reply["boot"]
        return reply["sequence"]

    def looked_at(self):
        self.daemon.call("Reload")
        self.daemon.settle()

    def logged(self):
        return self.daemon.log().count(f"[{KIND}]")

    def test_t37_applications_go_on_and_each_change_in_place_is_told_once(self):
        for change in (truncate, overwrite, empty, append):
            with self.subTest(change=change.__name__):
                name = f"p-{change.__name__}"
                path = self.add(name)
                app = Application(self.daemon.socket, 0, f"{name}/square")
                self.addCleanup(app.__exit__)
                self.assertEqual(app.ask("run"), 7)
                since, before = self.now(), self.logged()
                app.send("spin", SPIN_S / 4)
                change(path)
                self.assertEqual(app.receive()["results"], [7])
                wait_until(lambda since=since: self.events(since), "the event")
                self.looked_at()
                (event,) = self.events(since)
                self.assertEqual(event["name"], name)
                self.assertIn(path, event["message"])
                self.assertEqual(self.logged(), before + 1)
                # Nobody looks at it twice.
                self.looked_at()
                self.assertEqual(len(self.events(since)), 1)
                self.daemon.remove(name)
                self.looked_at()

    def test_t37_each_further_change_is_told_again(self):
        path = self.add("p")
        for change in (append, append, truncate):
            since = self.now()
            time_of = os.stat(path).st_mtime_ns
            change(path)
            self.assertNotEqual(os.stat(path).st_mtime_ns, time_of)
            wait_until(lambda since=since: self.events(since), "the event")
            self.looked_at()
            self.assertEqual(len(self.events(since)), 1)

    def test_t37_what_is_replaced_or_only_touched_is_not_told(self):
        for change in (replace, os.utime, lambda path: os.chmod(path, 0o755)):
            path = self.add("p")
            since = self.now()
            change(path)
            self.looked_at()
            self.looked_at()
            self.assertEqual(self.events(since), [])
        self.assertEqual(self.logged(), 0)

    def test_t37_monitor_shows_it(self):
        path = self.add("p")
        since = self.now()
        append(path)
        wait_until(lambda: self.events(since), "the event")
        (event,) = self.events(since)
        start = f"{self.boot}:{event['sequence'] - 1}"
        done = self.daemon.ctl("monitor", "--since", start, "--count", "1")
        self.assertIn(f"{KIND} p", done.stdout)
        self.assertIn(path, done.stdout)


if __name__ == "__main__":
    unittest.main()
