# SPDX-License-Identifier: MIT
"""An account of every change: who, what, before, after, and how it ended; also of refusals."""

import os
import pwd
import re
import shlex
import unittest

from harness import Daemon, kernel
from varlink import VarlinkError

SQUARE = "elementwise/square"


def accounts(daemon):
    """The lines of the log, each as a dictionary, without uid, user and pid."""
    found = []
    for line in daemon.log().split("\n"):
        _, mark, rest = line.partition("audit: ")
        if mark:
            found.append(dict(word.split("=", 1) for word in shlex.split(rest)))
    return found


class Audit(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        daemon.add("a", [kernel(solution="fast"), kernel("cube")])
        daemon.call("Reload")
        daemon.settle()
        return daemon

    def last(self, daemon):
        return accounts(daemon)[-1]

    def test_each_change_tells_what_held_before_and_after(self):
        daemon = self.daemon()
        rows = [
            ("Disable", {"name": "a"}, "a", "-", "active", "disabled"),
            ("Disable", {"name": "a", "reason": "x"}, "a", "-", "disabled", "disabled"),
            ("Enable", {"name": "a"}, "a", "-", "disabled", "active"),
            ("Disable", {"name": "a/cube"}, "a/cube", "-", "enabled", "disabled"),
            ("Enable", {"name": "a/cube"}, "a/cube", "-", "disabled", "enabled"),
            (
                "Disable",
                {"name": SQUARE, "solution": "fast"},
                SQUARE,
                "fast",
                "enabled",
                "disabled",
            ),
            ("Enable", {"name": SQUARE, "solution": "fast"}, SQUARE, "fast", "disabled", "enabled"),
            ("Pin", {"operation": SQUARE, "choice": "fast"}, SQUARE, "fast", "none", "fast"),
            (
                "Pin",
                {"operation": SQUARE, "choice": "a/cube", "force": True},
                SQUARE,
                "a/cube",
                "fast",
                "a/cube by force",
            ),
            ("Unpin", {"operation": SQUARE}, SQUARE, "-", "a/cube by force", "none"),
            ("Guard", {"operation": SQUARE, "every": 9}, SQUARE, "-", "none", "1 in 9"),
            ("Guard", {"operation": SQUARE}, SQUARE, "-", "1 in 9", "none"),
            ("Retry", {"name": "a"}, "a", "-", "active", "active"),
            ("Reload", {"name": "a"}, "a", "-", "active", "active"),
        ]
        for method, parameters, name, thing, before, after in rows:
            with self.subTest(method=method, parameters=parameters):
                count = len(accounts(daemon))
                reply = daemon.call(method, parameters)
                told = accounts(daemon)
                self.assertEqual(len(told), count + 1)
                self.assertEqual(told[-1]["method"], method)
                self.assertEqual((told[-1]["name"], told[-1]["object"]), (name, thing))
                self.assertEqual((told[-1]["before"], told[-1]["after"]), (before, after))
                self.assertEqual(told[-1]["result"], "ok")
                self.assertEqual(int(told[-1]["generation"]), reply["generation"])

    def test_it_says_who_by_number_name_and_process(self):
        daemon = self.daemon()
        daemon.call("Disable", name="a")
        told = self.last(daemon)
        self.assertEqual(int(told["uid"]), os.geteuid())
        self.assertEqual(int(told["pid"]), os.getpid())
        self.assertEqual(told["user"], pwd.getpwuid(os.geteuid()).pw_name)

    def test_what_is_refused_is_told_with_its_code(self):
        daemon = self.daemon()
        rows = [
            ("Disable", {"name": "b"}, "no_such_plugin"),
            ("Pin", {"operation": SQUARE, "choice": "b"}, "no_such_kernel"),
            ("Guard", {"operation": "no/such", "every": 5}, "unknown_operation"),
            ("Disable", {"nam": "a"}, "unknown_key"),
            ("Unload", {"name": "a"}, "not_loaded"),
            ("Disable", {"name": "a", "reason": "x" * 600}, "reason_too_long"),
        ]
        for method, parameters, code in rows:
            with self.subTest(method=method, code=code):
                with self.assertRaises(VarlinkError):
                    daemon.call(method, parameters)
                told = self.last(daemon)
                self.assertEqual((told["method"], told["result"]), (method, code))
                self.assertEqual(told["before"], told["after"])

    def test_a_name_reads_like_nothing_else_of_the_line(self):
        daemon = self.daemon()
        for name in (
            'a" result=ok',
            "a result=ok",
            "a\nplugind: audit: uid=0",
            "\x1b[2J",
            "x" * 5000,
        ):
            with self.assertRaises(VarlinkError):
                daemon.call("Disable", name=name)
            line = daemon.log().rstrip("\n").split("\n")[-1]
            self.assertRegex(line, r"^plugind: audit: uid=\d+ user=.* result=no_such_plugin$")
            self.assertNotRegex(line, r"[\x00-\x1f]")
            self.assertLess(len(line), 1000)
            self.assertEqual(self.last(daemon)["result"], "no_such_plugin")

    def test_no_level_of_the_log_leaves_it_out(self):
        for level in ("error", "warning", "debug"):
            daemon = self.daemon(options=["--log-level", level])
            daemon.call("Disable", name="a")
            self.assertEqual(self.last(daemon)["after"], "disabled", level)

    def test_whoever_watches_gets_the_same(self):
        daemon = self.daemon()
        with daemon.client() as client:
            replies = client.call_more("Monitor", {})
            next(replies)
            daemon.call("Pin", operation=SQUARE, choice="fast")
            with self.assertRaises(VarlinkError):
                daemon.call("Disable", name="b")
            events = []
            while len(events) < 2:
                event = next(replies)["event"]
                events += [event] if event["kind"] == "audit" else []
        done, refused = events
        self.assertEqual((done["method"], done["name"], done["object"]), ("Pin", SQUARE, "fast"))
        self.assertEqual((done["from"], done["to"], done["code"]), ("none", "fast", None))
        self.assertEqual((done["uid"], done["pid"]), (os.geteuid(), os.getpid()))
        self.assertEqual(done["user"], pwd.getpwuid(os.geteuid()).pw_name)
        self.assertEqual((refused["method"], refused["name"]), ("Disable", "b"))
        self.assertEqual(refused["code"], "no_such_plugin")
        self.assertIn("there is no plugin b", refused["message"])

    def test_the_command_prints_it(self):
        daemon = self.daemon()
        daemon.call("Disable", name="a")
        with daemon.client() as client:
            last = next(client.call_more("Monitor", {}))["sequence"]
        printed = daemon.ctl("monitor", "--since", "0", "--count", str(last)).stdout
        who = re.escape(pwd.getpwuid(os.geteuid()).pw_name)
        expected = rf"audit a: Disable: active -> disabled \(uid {os.geteuid()}, {who}, pid \d+\)"
        self.assertRegex(printed, expected)


if __name__ == "__main__":
    unittest.main()
