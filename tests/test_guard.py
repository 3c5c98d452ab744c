# SPDX-License-Identifier: MIT
"""The guard that operators ask for: decided, kept, in force, and what it finds."""

import json
import os
import unittest

from application import Application
from harness import BUILD, Daemon, kernel, wait_until
from pluginctl import as_nobody, call
from varlink import VarlinkError

SQUARE = "elementwise/square"
REFERENCE = "reference/elementwise_square"

# Right but for `more` in the last element.
BODY = """
	const float *x = call->tensors[0]->data;
	float *y = call->tensors[1]->data;
	int64_t n = call->tensors[0]->shape[0];
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * x[i];
	y[n - 1] += %s;
"""


class Case(unittest.TestCase):
    def daemon(self, reference=True, more=1, **keywords):
        daemon = Daemon(start=False, **keywords)
        self.addCleanup(daemon.close)
        kernels = [kernel(priority=12, flags=["reentrant"])]
        daemon.add("fast", kernels, body=BODY % more)
        daemon.add("odd", [kernel("do", "odd/operation", signatures=["x=f32"])])
        if reference:
            daemon.manifest("reference", os.path.join(BUILD, "plugins", "reference.so"))
        daemon.start()
        daemon.settle()
        return daemon

    def application(self, daemon):
        app = Application(daemon.socket)
        self.addCleanup(app.__exit__)
        return app

    def guards(self, daemon):
        return {g["operation"]: g["every"] for g in daemon.call("Guards")["guards"]}

    def compared(self, app):
        return app.ask("why")["guarding"]["compared"]


class Found(Case):
    def found(self, daemon):
        def numeric():
            return daemon.call("Incidents", kind="numeric")["incidents"]

        return wait_until(numeric, "an incident")

    def test_a_wrong_kernel_is_an_incident_with_all_that_reproduces_it(self):
        daemon = self.daemon()
        app = self.application(daemon)
        self.assertEqual(app.ask("run"), 9)
        daemon.call("Guard", operation=SQUARE, every=1)
        for _ in range(5):
            self.assertEqual(app.ask("run"), 9)
        (incident,) = self.found(daemon)
        self.assertEqual((incident["kernel"], incident["plugin"]), ("fast/square", "fast"))
        self.assertEqual(incident["application"], "application")
        self.assertIn(REFERENCE, incident["text"])
        evidence = incident["evidence"]
        (plugin,) = [p for p in daemon.call("List")["plugins"] if p["name"] == "fast"]
        self.assertEqual(len(evidence["digest"]), 64)
        self.assertEqual(evidence["digest"], daemon.call("Info", name="fast")["plugin"]["sha256"])
        self.assertEqual(plugin["state"], "active")
        self.assertEqual(evidence["operation"], SQUARE)
        self.assertEqual(evidence["shape"], {"n": 4})
        self.assertEqual(evidence["dtypes"], {"x": "f32", "y": "f32"})
        self.assertEqual((evidence["role"], evidence["element"]), ("y", [3]))
        self.assertEqual((evidence["result"], evidence["reference"]), (10, 9))
        self.assertEqual(evidence["difference"], 1)
        self.assertGreater(evidence["error"], evidence["tolerance"])
        self.assertLess(evidence["seed"], 2**53)
        text = daemon.ctl("incidents").stdout
        self.assertIn("numeric", text)
        self.assertIn("fast/square", text)

    def test_what_is_no_number_is_told_as_none(self):
        daemon = self.daemon(more="0.0f / 0.0f")
        daemon.call("Guard", operation=SQUARE, every=1)
        self.application(daemon).ask("run")
        (incident,) = self.found(daemon)
        self.assertIsNone(incident["evidence"]["result"])
        self.assertIsNone(incident["evidence"]["difference"])
        self.assertEqual(incident["evidence"]["reference"], 9)

    def test_what_comes_within_a_minute_is_told_at_the_end_with_its_number(self):
        daemon = self.daemon()
        daemon.call("Guard", operation=SQUARE, every=1)
        app = self.application(daemon)
        for _ in range(8):
            app.ask("run")
        self.found(daemon)
        app.__exit__()
        (incident,) = self.found(daemon)
        self.assertEqual((incident["count"], incident["evidence"]["count"]), (2, 7))

    def test_a_right_kernel_is_none(self):
        daemon = self.daemon(more=0)
        daemon.call("Guard", operation=SQUARE, every=2)
        app = self.application(daemon)
        for _ in range(20):
            app.ask("run")
        self.assertEqual(self.compared(app), 10)
        app.__exit__()
        self.assertEqual(daemon.call("Incidents")["incidents"], [])


class Decided(Case):
    def test_a_guard_holds_at_once_and_after_a_restart(self):
        daemon = self.daemon(more=0)
        app = self.application(daemon)
        app.ask("run")
        self.assertIsNone(app.ask("why")["guard"])
        for end in (daemon.stop, daemon.kill):
            with self.subTest(end=end.__name__):
                daemon.call("Guard", operation=SQUARE, every=1)
                app.ask("run")
                before = self.compared(app)
                self.assertGreater(before, 0)
                end()
                # While plugind is away everything goes on as it was.
                app.ask("run")
                self.assertEqual(self.compared(app), before + 1)
                daemon.start()
                daemon.settle()
                self.assertEqual(self.guards(daemon), {SQUARE: 1})
                wait_until(lambda: daemon.call("Clients")["clients"], "the application")
                app.ask("run")
                self.assertEqual(self.compared(app), before + 2)
                self.assertEqual(daemon.call("Guard", operation=SQUARE)["previous"], 1)
                app.ask("run")
                self.assertIsNone(app.ask("why")["guard"])
        daemon.restart()
        self.assertEqual(self.guards(daemon), {})

    def test_the_reply_has_what_was_before_and_what_compares(self):
        daemon = self.daemon()
        before = None
        for every in (10, 10, 1, 2**32 - 1):
            reply = daemon.call("Guard", operation=SQUARE, every=every)
            self.assertEqual((reply["every"], reply["previous"]), (every, before))
            self.assertEqual(reply["changed"], every != before)
            self.assertEqual((reply["reference"], reply["problem"]), (REFERENCE, None))
            before = every
        (guard,) = daemon.call("Status")["guards"]
        self.assertEqual((guard["operation"], guard["every"]), (SQUARE, before))
        self.assertEqual(daemon.why(SQUARE)["guard"], before)
        self.assertIsNone(daemon.why("gemm/mm")["guard"])

    def test_a_reference_that_cannot_run_is_told(self):
        daemon = self.daemon(reference=False)
        reply = daemon.call("Guard", operation=SQUARE, every=1)
        self.assertIn("reference", reply["problem"])
        daemon.manifest("reference", os.path.join(BUILD, "plugins", "reference.so"))
        daemon.call("Reload")
        self.assertIsNone(daemon.call("Guards")["guards"][0]["problem"])
        for name in ("reference", REFERENCE):
            daemon.call("Disable", name=name)
            self.assertIn("disabled", daemon.call("Guards")["guards"][0]["problem"])
            self.assertIn("nothing is compared", daemon.ctl("status").stdout)
            daemon.call("Enable", name=name)

    def test_what_cannot_be_guarded_is_refused(self):
        daemon = self.daemon()
        rows = [
            ({"operation": "elementwise/sqare", "every": 1}, "unknown_operation"),
            ({"operation": "elementwise/sqare"}, "unknown_operation"),
            ({"operation": "odd/operation", "every": 1}, "undescribed"),
            ({"operation": SQUARE, "every": 0}, "bad_every"),
            ({"operation": SQUARE, "every": -5}, "bad_every"),
            ({"operation": SQUARE, "every": 2**32}, "bad_every"),
        ]
        for parameters, code in rows:
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Guard", parameters)
            self.assertEqual(caught.exception.code, code, parameters)
            if code == "unknown_operation":
                self.assertEqual(caught.exception.parameters["nearest"], SQUARE)
        self.assertEqual(self.guards(daemon), {})

    def test_others_are_told_by_an_event(self):
        daemon = self.daemon()
        with daemon.client() as watcher:
            events = watcher.call_more("Monitor", {})
            next(events)
            daemon.call("Guard", operation=SQUARE, every=50)
            daemon.call("Guard", operation=SQUARE)
            seen = []
            while len(seen) < 2:
                event = next(events)["event"]
                if "guard" in event["kind"]:
                    seen.append((event["kind"], event["name"], event["object"]))
        self.assertEqual(seen, [("guard", SQUARE, "1 in 50"), ("unguard", SQUARE, None)])

    def test_damage_to_one_guard_leaves_the_others(self):
        daemon = self.daemon()
        daemon.call("Guard", operation=SQUARE, every=5)
        daemon.call("Guard", operation="gemm/mm", every=6)
        daemon.stop()
        path = os.path.join(daemon.state_dir, "decisions.json")
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(len(content["guards"]), 2)
        content["guards"][0]["every"] = "often"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        daemon.start()
        daemon.settle()
        kept = content["guards"][1]
        self.assertEqual(self.guards(daemon), {kept["operation"]: kept["every"]})
        codes = [w["code"] for w in daemon.call("Status")["warnings"]]
        self.assertIn("bad_decisions", codes)


@unittest.skipIf(os.geteuid() != 0, "only root can become another user")
class Roles(Case):
    def test_an_observer_looks_and_guards_nothing(self):
        daemon = self.daemon(reference=False, system=True)
        daemon.call("Guard", operation=SQUARE, every=3)
        with as_nobody(daemon.socket) as options:
            for words in (["guard", SQUARE, "--every", "1"], ["guard", SQUARE, "--off"]):
                done = call(*words, socket=daemon.socket, **options)
                self.assertEqual(done.returncode, 4, done.stderr)
            done = call("--json", "guard", socket=daemon.socket, **options)
            self.assertEqual(json.loads(done.stdout)["guards"][0]["every"], 3)


class Commands(Case):
    def test_exit_statuses_and_words_are_as_documented(self):
        daemon = self.daemon()
        rows = [
            (["guard"], 0, "nothing is guarded"),
            (["guard", SQUARE, "--every", "100"], 0, f"in 100 is compared with {REFERENCE}"),
            (["guard", SQUARE, "--every", "100"], 0, "already, one call in 100"),
            (["guard"], 0, REFERENCE),
            (["-q", "guard"], 0, SQUARE),
            (["status"], 0, f"{SQUARE}, one call in 100"),
            (["why", SQUARE], 0, "one call in 100 on a CPU"),
            (["guard", SQUARE, "--off"], 0, "not guarded any more, before 1 in 100"),
            (["guard", SQUARE, "--off"], 0, "was not guarded"),
            (["guard", "elementwise/sqare", "--every", "5"], 5, f"did you mean {SQUARE}?"),
            (["guard", "odd/operation", "--every", "5"], 2, "no family describes odd/operation"),
            (["guard", SQUARE, "--every", "0"], 2, "--every 0"),
            (["guard", SQUARE, "--every", "often"], 2, "--every often"),
            (["guard", SQUARE, "--every", "4294967296"], 2, "1 is each of them"),
            (["guard", SQUARE], 2, "--every N or --off is missing"),
            (["guard", SQUARE, "--every", "1", "--off"], 2, "either --every N or --off"),
            (["guard", "--every", "1"], 2, "say which"),
            (["guard", "--off"], 2, "say which"),
            (["guard", SQUARE, "gemm/mm", "--off"], 2, ""),
        ]
        for words, status, text in rows:
            done = daemon.ctl(*words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(text, done.stdout + done.stderr, words)
        done = daemon.ctl("--json", "guard", SQUARE, "--every", "7")
        self.assertEqual(json.loads(done.stdout)["every"], 7)


if __name__ == "__main__":
    unittest.main()
