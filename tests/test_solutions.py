# SPDX-License-Identifier: MIT
"""A solution of an operation turned off as a whole, for kernels that come later, too."""

import json
import os
import unittest

from harness import Daemon, kernel
from varlink import VarlinkError

SQUARE = "elementwise/square"


class Case(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.daemon.add("a", [kernel(priority=1)])
        self.daemon.add("b", [kernel(priority=12, solution="fast"), kernel("k", priority=11)])
        self.daemon.add("c", [kernel(priority=15, solution="fast")])
        self.daemon.start()
        self.daemon.settle()

    def disable(self, solution="fast", **more):
        return self.daemon.call("Disable", name=SQUARE, solution=solution, **more)

    def enable(self, solution="fast"):
        return self.daemon.call("Enable", name=SQUARE, solution=solution)

    def selected(self, **request):
        return self.daemon.select(SQUARE, settle_ms=60000, **request)["selected"]

    def refused(self, code, method, **parameters):
        with self.assertRaises(VarlinkError) as caught:
            self.daemon.call(method, **parameters)
        self.assertEqual(caught.exception.code, code)
        return caught.exception.parameters


class Solutions(Case):
    def test_t48_all_its_kernels_are_off_and_those_that_come_later(self):
        self.assertEqual(self.selected(), "c/square")
        self.assertTrue(self.disable(reason="NaN on batch 7")["changed"])
        self.assertEqual(self.selected(), "b/k")
        self.daemon.add("d", [kernel(priority=19, solution="fast")])
        self.daemon.call("Reload")
        self.assertEqual(self.selected(), "b/k")
        for override in ("fast", "d/square", "c/square"):
            for force in (False, True):
                self.refused(
                    "override_ineligible",
                    "Select",
                    request={"operation": SQUARE, "override": override, "force": force},
                )
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.selected(), "b/k")
        self.assertTrue(self.enable()["changed"])
        self.assertFalse(self.enable()["changed"])
        self.assertEqual(self.selected(), "d/square")

    def test_who_and_why_is_told_everywhere(self):
        self.disable(reason="NaN on batch 7")
        why = "disabled by an operator (uid %d): NaN on batch 7" % os.geteuid()
        candidates = {c["kernel"]: c for c in self.daemon.why(SQUARE)["candidates"]}
        self.assertIn(why, candidates["c/square"]["reasons"][0]["actual"])
        kernels = {k["kernel"]: k for k in self.daemon.call("Kernels")["kernels"]}
        self.assertIn(why, kernels["b/square"]["reasons"][0]["actual"])
        self.assertEqual(kernels["b/square"]["state"], "disabled")
        self.assertEqual(kernels["b/k"]["state"], "active")
        plugins = {p["name"]: p for p in self.daemon.call("List")["plugins"]}
        self.assertEqual(plugins["b"]["disabled_kernels"], ["square"])
        self.assertEqual(plugins["c"]["disabled_kernels"], ["square"])
        (found,) = self.daemon.call("Info", name="c")["plugin"]["kernels"]
        self.assertEqual(found["reason"]["code"], "solution_disabled")
        self.assertIn(why, found["reason"]["message"])
        reply = self.daemon.select(SQUARE)
        self.assertEqual(reply["fallback_from"]["kernel"], "c/square")
        self.assertIn(why, reply["fallback_from"]["message"])

    def test_enabling_a_kernel_says_that_its_solution_is_off(self):
        self.disable()
        reply = self.daemon.call("Enable", name="c/square")
        self.assertEqual((reply["enabled"], reply["state"]), (False, "disabled"))
        self.assertEqual(reply["reason"]["code"], "solution_disabled")
        done = self.daemon.ctl("enable", "c/square")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"pluginctl enable {SQUARE} --solution fast", done.stdout)
        self.assertFalse(self.daemon.call("IsEnabled", name="c/square")["enabled"])

    def test_enabling_a_plugin_names_the_command_for_its_solution(self):
        self.disable()
        done = self.daemon.ctl("enable", "c")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(
            f"square is still disabled; pluginctl enable {SQUARE} --solution fast", done.stderr
        )
        self.assertNotIn("enable c/square", done.stderr)

    def test_monitor_does_not_show_the_solution_as_a_reason(self):
        with self.daemon.client() as client:
            since = next(client.call_more("Monitor", {}))["sequence"]
        self.disable(reason="NaN on batch 7")
        self.enable()
        # Each with the generation that it makes, and the account of it.
        text = self.daemon.ctl("monitor", "--since", str(since), "--count", "6").stdout
        self.assertIn(f" disable {SQUARE}: solution fast: NaN on batch 7 (uid", text)
        self.assertIn(f" enable {SQUARE}: solution fast (uid", text)

    def test_until_the_next_start_only_where_that_was_asked_for(self):
        self.disable(runtime=True)
        state = self.daemon.call("IsEnabled", name=SQUARE, solution="fast")
        self.assertEqual((state["enabled"], state["state"]), (False, "disabled-runtime"))
        self.daemon.restart()
        self.assertEqual(self.selected(), "c/square")
        self.disable()
        self.assertFalse(self.disable(runtime=True)["changed"])
        self.daemon.restart()
        self.assertEqual(self.selected(), "b/k")

    def test_what_nobody_has_is_refused_and_what_has_left_is_not(self):
        why = self.refused("no_such_solution", "Disable", name=SQUARE, solution="fsat")
        self.assertEqual(why["nearest"], "fast")
        self.refused("no_such_solution", "Enable", name=SQUARE, solution="none")
        self.refused("no_such_solution", "IsEnabled", name="gemm/mm", solution="fast")
        self.refused("unknown_operation", "Disable", name="no/such", solution="fast")
        self.disable()
        self.daemon.remove("b")
        self.daemon.remove("c")
        self.daemon.call("Reload")
        self.assertFalse(self.disable()["changed"])
        self.assertFalse(self.daemon.call("IsEnabled", name=SQUARE, solution="fast")["enabled"])
        self.assertTrue(self.enable()["changed"])
        self.refused("no_such_solution", "Enable", name=SQUARE, solution="fast")

    def test_another_operation_and_another_solution_stay_as_they_are(self):
        self.daemon.add(
            "e", [kernel("mm", "gemm/mm", signatures=["a=f32,b=f32,c=f32"], solution="fast")]
        )
        self.daemon.add("f", [kernel(priority=18, solution="faster")])
        self.daemon.call("Reload")
        self.disable()
        self.assertEqual(self.selected(), "f/square")
        self.assertEqual(self.daemon.select("gemm/mm")["selected"], "e/mm")
        state = self.daemon.call("IsEnabled", name=SQUARE, solution="faster")
        self.assertTrue(state["enabled"])

    def test_the_commands_say_what_they_did(self):
        rows = [
            (["disable", SQUARE, "--solution", "fast"], 0, "solution fast: disabled"),
            (["disable", SQUARE, "--solution", "fast"], 0, "already disabled"),
            (["is-enabled", SQUARE, "--solution", "fast"], 1, "disabled"),
            (["enable", SQUARE, "--solution", "fast"], 0, "solution fast: enabled"),
            (["enable", SQUARE, "--solution", "fast"], 0, "already enabled"),
            (["is-enabled", SQUARE, "--solution", "fast"], 0, "enabled"),
            (["disable", SQUARE, "--solution", "fsat"], 5, "did you mean fast?"),
            (["disable", SQUARE, "b", "--solution", "fast"], 2, "one operation"),
        ]
        for words, status, text in rows:
            done = self.daemon.ctl(*words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(text, done.stdout + done.stderr)
        done = self.daemon.ctl("--json", "disable", SQUARE, "--solution", "fast")
        self.assertEqual(json.loads(done.stdout)["solution"], "fast")

    def test_the_file_of_decisions_without_rules_is_as_it_was(self):
        path = os.path.join(self.daemon.state_dir, "decisions.json")
        self.daemon.call("Disable", name="a")
        with open(path, encoding="utf-8") as file:
            self.assertNotIn("solutions", json.load(file))
        self.disable()
        with open(path, encoding="utf-8") as file:
            (rule,) = json.load(file)["solutions"]
        self.assertEqual((rule["operation"], rule["solution"]), (SQUARE, "fast"))


if __name__ == "__main__":
    unittest.main()
