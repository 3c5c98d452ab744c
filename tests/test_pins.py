# SPDX-License-Identifier: MIT
"""Pins: kept, published, skipped where they cannot apply, and always told."""

import json
import os
import unittest

from harness import Daemon, kernel, wait_until
from pluginctl import as_nobody, call
from varlink import VarlinkError

SQUARE = "elementwise/square"
GEMM = "gemm/mm"


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        return daemon

    def ranked(self, **keywords):
        """c before b before a, in rank; b has two kernels, one more name is there twice."""
        daemon = self.daemon(start=False, **keywords)
        daemon.add("a", [kernel(priority=1), kernel("mm", GEMM, signatures=["a=f32,b=f32,c=f32"])])
        daemon.add("b", [kernel(priority=12, solution="fast"), kernel("again", priority=11)])
        daemon.add("c", [kernel(priority=15, solution="best")])
        daemon.start()
        daemon.settle()
        return daemon

    def selected(self, daemon, **request):
        return daemon.select(SQUARE, **request)["selected"]

    def refused(self, code, daemon, method, **parameters):
        with self.assertRaises(VarlinkError) as caught:
            daemon.call(method, **parameters)
        self.assertEqual(caught.exception.code, code)
        return caught.exception.parameters


class Pinned(Case):
    def test_a_pin_goes_before_rank_at_once_and_after_a_restart(self):
        daemon = self.ranked()
        for choice, wanted in (
            ("a/square", "a/square"),
            ("fast", "b/square"),
            ("again", "b/again"),
            ("b/again", "b/again"),
        ):
            with self.subTest(choice=choice):
                reply = daemon.call("Pin", operation=SQUARE, choice=choice)
                self.assertTrue(reply["applies"])
                self.assertEqual(reply["selected"], wanted)
                self.assertEqual(reply["reasons"], [])
                self.assertEqual(self.selected(daemon), wanted)
                override = daemon.select(SQUARE)["override"]
                self.assertEqual(override["source"], "pin")
                self.assertEqual(override["value"], reply["choice"])
        self.assertFalse(reply["changed"])
        daemon.kill()
        daemon.start()
        self.assertEqual(self.selected(daemon, settle_ms=60000), "b/again")
        self.assertTrue(daemon.call("Unpin", operation=SQUARE)["changed"])
        self.assertFalse(daemon.call("Unpin", operation=SQUARE)["changed"])
        self.assertEqual(self.selected(daemon), "c/square")
        daemon.restart()
        self.assertEqual(self.selected(daemon, settle_ms=60000), "c/square")

    def test_the_reply_has_what_was_pinned_before(self):
        daemon = self.ranked()
        before = None
        for choice in ("fast", "best", "a/square"):
            reply = daemon.call("Pin", operation=SQUARE, choice=choice)
            self.assertEqual((reply["previous"], reply["choice"]), (before, choice))
            before = choice
        self.assertEqual(daemon.call("Unpin", operation=SQUARE)["previous"], before)

    def test_a_name_is_kept_as_an_id_and_never_becomes_ambiguous(self):
        daemon = self.ranked()
        self.assertEqual(daemon.call("Pin", operation=SQUARE, choice="again")["choice"], "b/again")
        daemon.add("d", [kernel("again", priority=19)])
        daemon.call("Reload")
        self.assertEqual(self.selected(daemon), "b/again")
        why = self.refused("ambiguous_name", daemon, "Pin", operation=SQUARE, choice="again")
        self.assertIn("b/again, d/again", why["message"])

    def test_one_that_is_not_eligible_is_skipped_and_told(self):
        daemon = self.ranked()
        daemon.call("Pin", operation=SQUARE, choice="b/square")
        faults = [
            (lambda: daemon.call("Disable", name="b", reason="hot"), "plugin_disabled"),
            (lambda: daemon.call("Disable", name="b/square"), "kernel_disabled"),
            (lambda: daemon.call("Disable", name=SQUARE, solution="fast"), "kernel_disabled"),
        ]
        for fault, code in faults:
            fault()
            (pin,) = daemon.call("Pins")["pins"]
            self.assertFalse(pin["applies"])
            self.assertEqual(pin["selected"], "c/square")
            self.assertEqual(pin["reasons"][0]["code"], code)
            reply = daemon.select(SQUARE)
            self.assertEqual(reply["selected"], "c/square")
            (ignored,) = reply["override"]["ignored"]
            self.assertEqual((ignored["source"], ignored["value"]), ("pin", "b/square"))
            text = daemon.ctl("select", SQUARE).stdout
            self.assertRegex(text, "ignored +b/square, by pin")
            self.assertNotRegex(text, "(?m)^ +override")
            again = daemon.call("Pin", operation=SQUARE, choice="b/square")
            self.assertEqual((again["changed"], again["applies"]), (False, False))
            for undo in ({"name": "b"}, {"name": "b/square"}, {"name": SQUARE, "solution": "fast"}):
                daemon.call("Enable", undo)
            self.assertTrue(daemon.call("Pins")["pins"][0]["applies"])

    def test_one_whose_plugin_has_left_is_kept_and_applies_when_it_is_back(self):
        daemon = self.ranked()
        daemon.call("Pin", operation=SQUARE, choice="b/square")
        daemon.remove("b")
        daemon.call("Reload")
        (pin,) = daemon.call("Pins")["pins"]
        self.assertEqual((pin["applies"], pin["reasons"][0]["code"]), (False, "no_such_kernel"))
        self.assertEqual(self.selected(daemon), "c/square")
        daemon.manifest("b")
        daemon.call("Reload")
        self.assertEqual(self.selected(daemon), "b/square")

    def test_what_nobody_has_is_refused_with_the_nearest_name(self):
        daemon = self.ranked()
        for choice, nearest in (("fsat", "fast"), ("agian", "again"), ("b/sqare", "b/square")):
            why = self.refused("no_such_kernel", daemon, "Pin", operation=SQUARE, choice=choice)
            self.assertEqual(why["nearest"], nearest)
        for method in ("Pin", "Unpin"):
            more = {"choice": "fast"} if method == "Pin" else {}
            name = "elementwise/sqaure"
            why = self.refused("unknown_operation", daemon, method, operation=name, **more)
            self.assertEqual(why["nearest"], SQUARE)
        self.assertEqual(daemon.call("Pins")["pins"], [])

    def test_nx10_a_kernel_of_another_operation_is_refused(self):
        daemon = self.ranked()
        for operation, choice in ((GEMM, "c/square"), (GEMM, "b/again"), (SQUARE, "a/mm")):
            why = self.refused("no_such_kernel", daemon, "Pin", operation=operation, choice=choice)
            self.assertIn("another operation", why["message"])
        for operation, choice in ((GEMM, "best"), (GEMM, "again"), (SQUARE, "mm")):
            self.refused("no_such_kernel", daemon, "Pin", operation=operation, choice=choice)

    def test_force_goes_beyond_what_a_kernel_declares_and_says_so(self):
        daemon = self.daemon(start=False)
        daemon.add("any", [kernel(priority=3)])
        daemon.add("gpu", [kernel(capability={"device": "gpu"}, solution="gpu")])
        daemon.start()
        daemon.settle()
        reply = daemon.call("Pin", operation=SQUARE, choice="gpu")
        self.assertEqual((reply["applies"], reply["selected"]), (False, "any/square"))
        self.assertEqual(reply["reasons"][0]["code"], "device_kind")
        reply = daemon.call("Pin", operation=SQUARE, choice="gpu", force=True)
        self.assertTrue(reply["changed"] and reply["applies"])
        for again in (lambda: None, daemon.restart):
            again()
            reply = daemon.select(SQUARE, settle_ms=60000)
            self.assertEqual(reply["selected"], "gpu/square")
            self.assertEqual([w["code"] for w in reply["warnings"]], ["forced"])
        daemon.call("Disable", name="gpu")
        self.assertEqual(self.selected(daemon), "any/square")

    def test_damage_to_one_pin_leaves_the_others(self):
        daemon = self.ranked()
        daemon.call("Pin", operation=SQUARE, choice="fast")
        daemon.call("Pin", operation=GEMM, choice="a/mm")
        daemon.stop()
        path = os.path.join(daemon.state_dir, "decisions.json")
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        content["pins"][1].pop("choice")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        daemon.start()
        (pin,) = daemon.call("Pins", settle_ms=60000)["pins"]
        self.assertEqual(pin["operation"], content["pins"][0]["operation"])
        self.assertIn("bad_decisions", [w["code"] for w in daemon.call("Status")["warnings"]])


@unittest.skipIf(os.geteuid() != 0, "only root can become another user")
class Roles(Case):
    def test_an_observer_looks_and_pins_nothing(self):
        daemon = self.ranked(system=True)
        daemon.call("Pin", operation=SQUARE, choice="fast")
        with as_nobody(daemon.socket) as options:
            for words in (["pin", SQUARE, "best"], ["pin", SQUARE, "best", "--force"]):
                done = call(*words, socket=daemon.socket, **options)
                self.assertEqual(done.returncode, 4, done.stderr)
            done = call("unpin", SQUARE, socket=daemon.socket, **options)
            self.assertEqual(done.returncode, 4)
            done = call("--json", "pins", socket=daemon.socket, **options)
            self.assertEqual(json.loads(done.stdout)["pins"][0]["choice"], "fast")


class Commands(Case):
    def test_exit_statuses_are_as_documented(self):
        daemon = self.ranked()
        rows = [
            (["pin", SQUARE, "fast"], 0, "pinned to fast"),
            (["pin", SQUARE, "fast"], 0, "already pinned"),
            (["pin", SQUARE, "best"], 0, "before to fast"),
            (["pin", SQUARE, "square"], 2, "a/square, b/square, c/square"),
            (["pin", SQUARE, "bets"], 5, "did you mean best?"),
            (["pin", SQUARE], 2, "pin"),
            (["disable", "c"], 0, ""),
            (["pin", SQUARE, "best"], 1, "does not apply now: plugin_disabled"),
            (["pins"], 0, "plugin_disabled"),
            (["unpin", SQUARE], 0, "unpinned from best"),
            (["unpin", SQUARE], 0, "was not pinned"),
            (["unpin", "no/such"], 5, "no/such"),
            (["pins"], 0, "nothing is pinned"),
        ]
        for words, status, text in rows:
            done = daemon.ctl(*words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(text, done.stdout + done.stderr)
        done = daemon.ctl("-q", "pins")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_reader_sees_a_pin_at_the_same_generation(self):
        daemon = self.ranked()
        with daemon.client() as other:
            before = other.call("List")["generation"]
            done = daemon.call("Pin", operation=SQUARE, choice="a/square")
            self.assertGreater(done["generation"], before)
            self.assertGreaterEqual(other.call("List")["generation"], done["generation"])
            reply = other.call("Select", {"request": {"operation": SQUARE}})
            self.assertEqual(reply["selected"], "a/square")
        wait_until(lambda: os.path.exists(os.path.join(daemon.state_dir, "table")), "the table")


if __name__ == "__main__":
    unittest.main()
