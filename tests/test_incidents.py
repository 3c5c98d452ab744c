# SPDX-License-Identifier: MIT
"""Incidents: what is kept of them, for how long, and who sees which."""

import json
import os
import unittest

from attached import Application
from harness import Daemon, kernel, wait_until
from varlink import VarlinkError


class Incidents(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.add("a", [kernel("square"), kernel("cube")])
        self.daemon.add("b")
        self.daemon.call("Reload")
        self.daemon.settle()
        self.path = os.path.join(self.daemon.state_dir, "incidents.json")

    def attach(self, name="app"):
        application = Application(self.daemon.socket, name=name)
        self.addCleanup(application.close)
        return application

    def report(self, kind="numeric", kernel="a/square", text="off by 3", **more):
        return self.daemon.call("Report", kind=kind, kernel=kernel, text=text, **more)["id"]

    def incidents(self, **question):
        return self.daemon.call("Incidents", **question)["incidents"]

    def kept(self):
        """What is on the disk, once it is."""
        count = len(self.incidents())

        def read():
            try:
                with open(self.path, encoding="utf-8") as file:
                    return json.load(file)
            except FileNotFoundError:
                return None

        return wait_until(
            lambda: (read() or {"incidents": []})["incidents"][count - 1 :] and read(), "the file"
        )

    # -- what is told

    def test_a_report_becomes_an_incident_with_all_that_was_said(self):
        self.attach("decoder")
        for kind in ("numeric", "error"):
            with self.subTest(kind=kind):
                shape = {"shape": {"n": 64}, "seed": 7}
                number = self.report(kind, "a/cube", label="ffn.up", evidence=shape)
                found = self.incidents()[0]
                self.assertEqual(found["id"], number)
                self.assertEqual(found["kind"], kind)
                self.assertEqual((found["kernel"], found["plugin"]), ("a/cube", "a"))
                self.assertEqual(found["application"], "decoder")
                self.assertEqual((found["pid"], found["uid"]), (os.getpid(), os.getuid()))
                self.assertEqual((found["label"], found["evidence"]), ("ffn.up", shape))
                self.assertEqual((found["text"], found["count"]), ("off by 3", 1))
                info = self.daemon.call("Info", name="a")["plugin"]
                self.assertEqual(found["sha256"], info["sha256"])

    def test_alike_ones_within_a_minute_are_one(self):
        self.attach()
        first = [self.report() for _ in range(5)]
        self.assertEqual(len(set(first)), 1)
        other = self.report(text="off by 4")
        self.assertEqual([i["count"] for i in self.incidents()], [1, 5])
        self.assertEqual(self.report(), first[0])
        self.assertEqual([i["id"] for i in self.incidents()], [first[0], other])

    def test_filters_by_name_kind_time_number_and_limit(self):
        self.attach()
        one = self.report()
        two = self.report("error", "a/cube")
        three = self.report(kernel="b/square")
        for question, expected in (
            ({}, [three, two, one]),
            ({"name": "a"}, [two, one]),
            ({"name": "a/cube"}, [two]),
            ({"name": "nobody"}, []),
            ({"kind": "numeric"}, [three, one]),
            ({"id": two}, [two]),
            ({"limit": 2}, [three, two]),
            ({"since": self.incidents()[0]["at"] + 100}, []),
        ):
            with self.subTest(question=question):
                reply = self.daemon.call("Incidents", **question)
                self.assertEqual([i["id"] for i in reply["incidents"]], expected)
        self.assertEqual(self.daemon.call("Incidents", limit=1)["total"], 3)

    # -- what is refused

    def test_only_an_attached_application_reports(self):
        with self.assertRaises(VarlinkError) as caught:
            self.report()
        self.assertEqual(caught.exception.parameters["code"], "bad_report")
        with self.attach():
            self.report()

    def test_a_report_of_nonsense_is_refused_by_name(self):
        self.attach()
        for more, code in (
            ({"kind": "crash"}, "bad_report"),
            ({"kind": "unattributed"}, "bad_report"),
            ({"kernel": "a"}, "no_such_kernel"),
            ({"kernel": "a/none"}, "no_such_kernel"),
            ({"kernel": "none/square"}, "no_such_plugin"),
            ({"evidence": {"x": "y" * 5000}}, "bad_report"),
        ):
            with self.subTest(more=more), self.assertRaises(VarlinkError) as caught:
                self.report(**more)
            self.assertEqual(caught.exception.parameters["code"], code)
        self.assertEqual(self.incidents(), [])

    def test_texts_are_cleaned_and_cut(self):
        self.attach()
        self.report(text="a\x1b[31m" + "x" * 5000, label="y" * 500)
        found = self.incidents()[0]
        self.assertNotIn("\x1b", found["text"])
        self.assertLess(len(found["text"]), 1100)
        self.assertEqual(len(found["label"]), 64)

    def test_a_user_who_reports_without_end_is_held_back(self):
        self.attach()
        for i in range(60):
            self.report(text=f"off by {i}")
        with self.assertRaises(VarlinkError) as caught:
            self.report(text="one more")
        self.assertEqual(caught.exception.parameters["code"], "busy")
        self.assertEqual(self.daemon.call("Incidents", limit=1)["total"], 60)

    # -- what is kept

    def test_incidents_survive_a_restart_and_a_kill(self):
        self.attach()
        self.report(evidence={"seed": 1})
        self.report("error", "b/square")
        for end in ("stop", "kill"):
            with self.subTest(end=end):
                before = self.incidents()
                self.kept()
                getattr(self.daemon, end)()
                self.daemon.start()
                self.assertEqual(self.incidents(), before)
        self.attach()
        self.assertGreater(self.report(text="later"), before[0]["id"])

    def test_a_damaged_file_is_set_aside_and_said(self):
        self.attach()
        self.report()
        text = json.dumps(self.kept())
        for name, damaged in (
            ("cut", text[: len(text) // 2]),
            ("another letter", text.replace("off by 3", "off by 4")),
            ("another format", text.replace("kplug-incidents/1", "kplug-incidents/2")),
            ("no object", "[]"),
            ("no text", "\0" * 100),
        ):
            with self.subTest(damage=name):
                self.daemon.stop()
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(damaged)
                self.daemon.start()
                self.assertEqual(self.incidents(), [])
                warnings = self.daemon.call("Status")["warnings"]
                self.assertIn("damaged_state", [w["code"] for w in warnings])
                self.assertTrue(
                    any(
                        n.startswith("incidents.json.damaged")
                        for n in os.listdir(self.daemon.state_dir)
                    )
                )

    # -- pluginctl

    def test_pluginctl_shows_a_table_one_and_json(self):
        self.attach("decoder")
        number = self.report(label="ffn.up", evidence={"seed": 7})
        table = self.daemon.ctl("incidents").stdout
        self.assertRegex(table, rf"(?m)^ *{number} .* numeric +a/square +decoder .*off by 3$")
        one = self.daemon.ctl("incidents", str(number)).stdout
        for line in (r"site +ffn.up", r"seed +7", r"kernel +a/square", r"pid +\d+"):
            self.assertRegex(one, rf"(?m)^{line}$")
        self.assertEqual(self.daemon.ctl("incidents", "--details").stdout, one)
        reply = json.loads(self.daemon.ctl("--json", "incidents", "a").stdout)
        self.assertEqual(reply, self.daemon.call("Incidents", name="a"))

    def test_pluginctl_says_that_there_are_none_and_refuses_nonsense(self):
        done = self.daemon.ctl("incidents")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no incident is known", done.stderr)
        self.assertEqual(self.daemon.ctl("incidents", "7").returncode, 5)
        for words in (["--since", "tomorrow"], ["--since", "h"], ["--limit", "-1"]):
            with self.subTest(words=words):
                self.assertEqual(self.daemon.ctl("incidents", *words).returncode, 2)
        for ago in ("90s", "15m", "24h", "7d", "60"):
            with self.subTest(ago=ago):
                self.assertEqual(self.daemon.ctl("incidents", "--since", ago).returncode, 0)


if __name__ == "__main__":
    unittest.main()
