# SPDX-License-Identifier: MIT
"""What pluginctl tells of work that it waits for: what came of it, or that it goes on."""

import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from harness import CRASH, Daemon, kernel
from pluginctl import Case, call


class Waiting(Case):
    def test_reload_tells_what_the_plugins_have_become(self):
        reason = {"code": "entries_differ", "message": "mm has no entry"}
        rows = [fakes.plugin("new"), fakes.plugin("bad", "rejected", reason=reason)]
        rows.append(fakes.plugin("off", "disabled", reason=None))
        reply = {"added": ["new"], "changed": ["bad"], "removed": ["old"], "generation": 9}
        reply["plugins"] = rows
        with Fake(Reload=reply) as fake:
            text = self.good(call("reload", socket=fake.path))
            self.assertRegex(text, r"(?m)^added +new  active$")
            self.assertRegex(text, r"(?m)^changed +bad  rejected: entries_differ: mm has no entry$")
            self.assertRegex(text, r"(?m)^unchanged +off  disabled$")
            self.assertRegex(text, r"(?m)^removed +old$")
            self.assertEqual(self.good(call("reload", "-q", socket=fake.path)), "")
            self.assertEqual(self.document(call("reload", "--json", socket=fake.path)), reply)

    def test_work_that_takes_too_long_is_still_waited_for(self):
        for args, method in ((["reload"], "Reload"), (["retry", "x86"], "Retry")):
            with self.subTest(args=args), Fake(**{method: None}) as fake:
                done = call(*args, "--timeout", "0.05", socket=fake.path)
                self.assertIn("still waiting after 0.05 s", self.complaint(done, 6))

    def test_status_that_waits_too_long_names_what_is_pending(self):
        def reply(pending):
            status = dict(fakes.STATUS, pending=pending)
            return lambda parameters: None if parameters.get("wait") else status

        many = [f"p{i}" for i in range(10)]
        rows = [
            (["slow"], "still pending after 0.05 s: slow\n"),
            ([], "still waiting after 0.05 s"),
        ]
        rows.append((many, ": p0, p1, p2, p3, p4, p5, p6, p7 and 2 more\n"))
        for pending, words in rows:
            with self.subTest(pending=pending), Fake(Status=reply(pending)) as fake:
                done = call("status", "--wait", "--timeout", "0.05", socket=fake.path)
                self.assertIn(words, self.complaint(done, 6))
        with Fake(Status=None) as fake:
            done = call("status", "--wait", "--timeout", "0.05", socket=fake.path)
            self.assertIn("did not answer within 0.05 s", self.complaint(done, 6))


class Together(Case):
    """With the real plugind."""

    def setUp(self):
        self.daemon = self.enterContext(Daemon())
        self.daemon.add("fine", [kernel()])
        self.daemon.add("bad", before=CRASH)

    def ctl(self, *args, status=0):
        return self.good(call(*args, socket=self.daemon.socket), status)

    def test_reload_tells_of_good_and_bad_ones_by_name(self):
        for name, state in (("fine", "active\\n$"), ("bad", "failed: killed_by_signal: ")):
            # Whoever watches the directory may have found it before.
            text = self.ctl("reload", name)
            self.assertRegex(text, rf"^(added|unchanged) +{name}  {state}")
        self.assertRegex(self.ctl("reload", "fine"), r"^unchanged +fine  active\n$")

    def test_retry_of_a_disabled_plugin_fails_only_where_it_is_broken(self):
        self.ctl("reload")
        self.ctl("disable", "fine", "bad")
        self.assertRegex(self.ctl("retry", "fine"), "^fine: disabled: ")
        self.assertRegex(self.ctl("retry", "bad", status=1), "^bad: failed: ")
        self.assertEqual(self.ctl("is-enabled", "fine", status=1), "disabled\n")


if __name__ == "__main__":
    unittest.main()
