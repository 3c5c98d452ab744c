# SPDX-License-Identifier: MIT
"""Turning plugins and kernels off and on: at once, for everybody, and as long as was said."""

import os
import shutil
import threading
import unittest

from harness import HANG, Daemon, kernel, wait_until
from varlink import VarlinkError

SQUARE = "elementwise/square"


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        return daemon

    def ranked(self):
        """c before b before a, in rank; b has two kernels."""
        daemon = self.daemon(start=False)
        daemon.add("a", [kernel(priority=1)])
        daemon.add("b", [kernel(priority=12, solution="fast"), kernel("again", priority=11)])
        daemon.add("c", [kernel(priority=15, solution="best")])
        daemon.start()
        daemon.settle()
        return daemon

    def selected(self, daemon, **request):
        return daemon.select(SQUARE, **request)["selected"]

    def reasons(self, daemon, name, **request):
        found = {c["kernel"]: c for c in daemon.why(SQUARE, **request)["candidates"]}
        return [r["code"] for r in found[name]["reasons"]]


class Disabled(Case):
    def test_nx06_every_later_reply_obeys_at_once(self):
        daemon = self.ranked()
        with daemon.client() as other:
            self.assertEqual(other.call("List")["plugins"][2]["state"], "active")
            kernels = other.call("Kernels")["kernels"]
            self.assertTrue(all(k["eligible"] for k in kernels))
            done = daemon.call("Disable", name="c", reason="too hot")
            self.assertTrue(done["changed"])
            reply = other.call("List")
            self.assertGreaterEqual(reply["generation"], done["generation"])
            self.assertEqual(reply["plugins"][2]["state"], "disabled")
            kernels = {k["kernel"]: k for k in other.call("Kernels")["kernels"]}
            self.assertFalse(kernels["c/square"]["eligible"])
            self.assertIn("too hot", str(kernels["c/square"]["reasons"]))
        self.assertEqual(self.selected(daemon), "b/square")
        daemon.call("Disable", name="b/square")
        self.assertEqual(self.selected(daemon), "b/again")
        daemon.call("Disable", name="b")
        self.assertEqual(self.selected(daemon), "a/square")
        daemon.call("Disable", name="a")
        self.assertIsNone(self.selected(daemon))
        for name in ("a", "b", "c"):
            daemon.call("Enable", name=name)
        self.assertEqual(self.selected(daemon), "c/square")
        self.assertIn("kernel_disabled", self.reasons(daemon, "b/square"))
        daemon.call("Enable", name="b/square")
        self.assertEqual(self.reasons(daemon, "b/square"), [])

    def test_t48_what_is_disabled_is_selected_by_no_name(self):
        daemon = self.ranked()
        daemon.call("Disable", name="c")
        daemon.call("Disable", name="b/square")
        for kernel_id, names in [
            ("c/square", ["c/square", "best"]),
            ("b/square", ["b/square", "fast"]),
        ]:
            for name in names:
                for force in (False, True):
                    with self.subTest(override=name, force=force):
                        with self.assertRaises(VarlinkError) as caught:
                            daemon.select(SQUARE, override=name, force=force)
                        self.assertEqual(caught.exception.code, "override_ineligible")
            for solution in ("best", "fast"):
                self.assertIsNone(self.selected(daemon, solution=solution))
            self.assertNotEqual(self.selected(daemon), kernel_id)
            self.assertNotEqual(self.selected(daemon, force=True), kernel_id)
            self.assertNotEqual(self.selected(daemon, without=["a"]), kernel_id)

    def test_t48_what_is_disabled_comes_back_by_no_file(self):
        daemon = self.ranked()
        daemon.call("Disable", name="c")
        changes = [
            lambda: shutil.copy2(daemon.library_path("c"), daemon.library_path("d")),
            lambda: daemon.manifest("d"),
            lambda: daemon.manifest("c", priority_offset=2),
            lambda: daemon.manifest("c", enabled=True),
            lambda: daemon.add("c", [kernel(priority=17)], version="2.0.0", package="c"),
            lambda: (daemon.remove("c"), daemon.call("Reload"), daemon.manifest("c")),
        ]
        for change in changes:
            change()
            daemon.call("Reload")
            daemon.settle()
            self.assertEqual(self.selected(daemon), "b/square")
            self.assertFalse(daemon.call("IsEnabled", name="c")["enabled"])
        daemon.call("Retry", name="c")
        self.assertEqual(self.selected(daemon), "b/square")

    def test_t48_a_copy_stays_off_when_the_disabled_one_leaves(self):
        for name, kernel_id in (("c", None), ("c/square", "z/square")):
            daemon = self.ranked()
            shutil.copy2(daemon.library_path("c"), daemon.library_path("z"))
            daemon.manifest("z")
            daemon.call("Disable", name=name, reason="wrong sums")
            daemon.remove("c")
            for again in (lambda d=daemon: d.call("Reload"), daemon.restart):
                again()
                daemon.settle()
                reply = daemon.select(SQUARE)
                self.assertEqual(reply["selected"], "b/square")
                self.assertIn("wrong sums", reply["fallback_from"]["message"])
                self.assertFalse(daemon.call("IsEnabled", name="z/square")["enabled"])
                with self.assertRaises(VarlinkError) as caught:
                    daemon.call("Enable", name=kernel_id or "z")
                self.assertEqual(caught.exception.code, "disabled_as_other")
            self.assertTrue(daemon.call("Enable", name=name)["changed"])
            self.assertEqual(self.selected(daemon), "z/square")

    def test_t48_what_is_disabled_names_itself_as_what_was_fallen_back_from(self):
        daemon = self.ranked()
        for name, kernel_id in (("c", "c/square"), ("c/square", "c/square")):
            daemon.call("Disable", name=name, reason="why not")
            reply = daemon.select(SQUARE)
            self.assertEqual(reply["selected"], "b/square")
            self.assertEqual(reply["fallback_from"]["kernel"], kernel_id)
            self.assertIn("why not", reply["fallback_from"]["message"])
            daemon.call("Enable", name=name)
        self.assertIsNone(daemon.select(SQUARE)["fallback_from"])

    def test_a_pending_plugin_can_be_disabled(self):
        for then in ("Reload", "restart", "wait"):
            daemon = self.daemon()
            daemon.settle()
            # It hangs until its time is over, then fails.
            daemon.add("h", before=HANG, manifest={"timeout_ms": 1500})
            wait_until(lambda d=daemon: "h" in d.call("List")["pending"], "h to be pending")
            self.assertTrue(daemon.call("Disable", name="h")["changed"])
            self.assertFalse(daemon.call("IsEnabled", name="h")["enabled"])
            if then == "Reload":
                daemon.call("Reload")
            elif then == "restart":
                daemon.restart()
            daemon.settle()
            self.assertEqual(daemon.call("IsEnabled", name="h")["state"], "disabled")
            listed = daemon.plugins()["h"]
            self.assertEqual(listed["state"], "failed")
            self.assertIsNotNone(listed["reason"])
            reply = daemon.call("Enable", name="h")
            self.assertEqual((reply["state"], reply["reason"]), ("failed", listed["reason"]))

    def test_words_and_changes_are_told(self):
        daemon = self.ranked()

        def word(name):
            return daemon.call("IsEnabled", name=name)["state"]

        self.assertEqual(word("c"), "enabled")
        self.assertEqual(word("b/again"), "enabled")
        self.assertTrue(daemon.call("Disable", name="c", runtime=True)["changed"])
        self.assertEqual(word("c"), "disabled-runtime")
        self.assertEqual(word("c/square"), "disabled-runtime")
        self.assertTrue(daemon.call("Disable", name="c")["changed"])
        self.assertEqual(word("c"), "disabled")
        self.assertFalse(daemon.call("Disable", name="c")["changed"])
        # Only for now does not weaken what is kept.
        daemon.call("Disable", name="c", runtime=True)
        daemon.restart()
        self.assertEqual(word("c"), "disabled")
        self.assertTrue(daemon.call("Enable", name="c")["changed"])
        self.assertFalse(daemon.call("Enable", name="c")["changed"])
        daemon.manifest("absent")
        daemon.call("Reload")
        self.assertEqual(word("absent"), "missing")

    def test_enable_tells_what_holds_now(self):
        daemon = self.ranked()
        for name in ("c", "c/square", "b"):
            self.assertNotIn("enabled", daemon.call("Disable", name=name))
        daemon.manifest("absent")
        daemon.manifest("off", enabled=False)
        shutil.copy2(daemon.library_path("a"), daemon.library_path("off"))
        daemon.call("Reload")
        for name, enabled, state, code in [
            ("b", True, "enabled", None),
            ("b", True, "enabled", None),
            ("c/square", False, "disabled", "disabled_by_operator"),
            ("c", True, "enabled", None),
            ("absent", False, "missing", "missing_file"),
            ("off", False, "disabled", "disabled_by_manifest"),
        ]:
            with self.subTest(name=name):
                reply = daemon.call("Enable", name=name)
                self.assertEqual((reply["enabled"], reply["state"]), (enabled, state))
                self.assertEqual(reply["reason"] and reply["reason"]["code"], code)
                self.assertEqual(
                    daemon.call("IsEnabled", name=name),
                    {k: reply[k] for k in ("name", "enabled", "state")},
                )

    def test_enable_of_what_has_left_tells_nothing_of_it(self):
        daemon = self.ranked()
        daemon.call("Disable", name="c")
        daemon.remove("c")
        daemon.call("Reload")
        reply = daemon.call("Enable", name="c")
        self.assertTrue(reply["changed"])
        self.assertNotIn("state", reply)

    def test_wrong_names_and_reasons_are_refused(self):
        daemon = self.ranked()
        for name, code in [
            ("d", "no_such_plugin"),
            ("c/sqaure", "no_such_kernel"),
            ("c/", "no_such_kernel"),
            ("", "no_such_plugin"),
            ("../c", "no_such_plugin"),
        ]:
            with self.subTest(name=name):
                with self.assertRaises(VarlinkError) as caught:
                    daemon.call("Disable", name=name)
                self.assertEqual(caught.exception.code, code)
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("Disable", name="c", reason="x" * 5000)
        self.assertEqual(caught.exception.code, "reason_too_long")
        self.assertEqual(self.selected(daemon), "c/square")

    def test_an_offer_of_the_message_is_a_member_of_the_reply(self):
        daemon = self.ranked()
        daemon.add("x86", [kernel("gemm", priority=2)])
        daemon.call("Reload")
        for method, parameters, nearest in [
            ("Disable", {"name": "x86/gem"}, "x86/gemm"),
            ("IsEnabled", {"name": "b/agian"}, "b/again"),
            ("Enable", {"name": "x68"}, "x86"),
            ("Enable", {"name": "zzzzzz/square"}, None),
            ("Select", {"request": {"operation": SQUARE, "objective": "latensy"}}, "latency"),
            ("Select", {"request": {"operation": SQUARE, "on": "x86-64-v33"}}, "x86-64-v3"),
            ("Select", {"request": {"operation": SQUARE, "override": "squre"}}, "a/square"),
            ("Select", {"request": {"operation": SQUARE, "override": "bets"}}, "best"),
            ("Select", {"request": {"operation": SQUARE, "override": "c/bets"}}, None),
            ("Explain", {"request": {"operation": "elementwise/sqare"}}, SQUARE),
            ("Explain", {"request": {"operation": "Square"}}, SQUARE),
            ("Select", {"request": {"operation": "squares"}}, None),
        ]:
            with self.subTest(method=method, parameters=parameters):
                with self.assertRaises(VarlinkError) as caught:
                    daemon.call(method, **parameters)
                self.assertEqual(caught.exception.parameters["nearest"], nearest)

    def test_many_at_once_are_all_kept(self):
        daemon = self.daemon(start=False)
        names = [f"p{i:02}" for i in range(24)]
        daemon.add_many(names)
        daemon.start()
        daemon.settle()
        failures = []

        def disable(name):
            try:
                daemon.call("Disable", name=name)
            except Exception as error:  # a thread's failure is the test's
                failures.append(error)

        threads = [threading.Thread(target=disable, args=(n,)) for n in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        daemon.kill()
        daemon.start()
        self.assertEqual({p["state"] for p in daemon.plugins().values()}, {"disabled"})

    def test_what_cannot_be_kept_is_said_and_in_force(self):
        daemon = self.ranked()
        os.mkdir(os.path.join(daemon.state_dir, "decisions.json"))
        for name in ("c", "b", "a"):
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Disable", name=name)
            self.assertEqual(caught.exception.short, "Failed")
            self.assertIn("next start", caught.exception.parameters["message"])
            self.assertFalse(daemon.call("IsEnabled", name=name)["enabled"])
        self.assertIsNone(self.selected(daemon))
        self.assertTrue(daemon.call("Disable", name="c", runtime=True) is not None)


class Unproven(Case):
    def test_an_unproven_kernel_is_off_until_somebody_enables_it(self):
        for name in ("u", "u/square", "u"):
            daemon = self.daemon(start=False)
            daemon.add("u", [kernel(flags=["unproven"]), kernel("sure", priority=2)])
            daemon.start()
            daemon.settle()
            self.assertEqual(self.selected(daemon), "u/sure")
            self.assertEqual(daemon.call("IsEnabled", name="u/square")["state"], "disabled")
            self.assertTrue(daemon.call("Enable", name=name)["changed"])
            self.assertEqual(self.selected(daemon), "u/square")
            daemon.kill()
            daemon.start()
            daemon.settle()
            self.assertEqual(self.selected(daemon), "u/square")
            daemon.call("Disable", name="u/square")
            self.assertEqual(self.selected(daemon), "u/sure")


class Progress(Case):
    def test_status_with_more_tells_progress_until_nothing_is_pending(self):
        daemon = self.daemon(start=False)
        # One ends while the other is still pending, whatever came before the question.
        daemon.add("g", before=HANG, manifest={"timeout_ms": 2500})
        daemon.add("h", before=HANG, manifest={"timeout_ms": 4500})
        daemon.add_many(["a", "b", "c"])
        daemon.start()
        replies = daemon.call("Status", wait=True, more=True)
        self.assertGreater(len(replies), 1)
        self.assertEqual(replies[-1]["pending"], [])
        self.assertEqual(replies[-1]["plugins"]["active"], 3)
        generations = [r["generation"] for r in replies]
        self.assertEqual(generations, sorted(generations))

    def test_settle_ms_waits_for_the_first_scan_and_no_longer_than_said(self):
        daemon = self.daemon(start=False)
        daemon.add("a")
        daemon.add("h", before=HANG, manifest={"timeout_ms": 20000})
        daemon.start()
        for method, parameters in [
            ("List", {"settle_ms": 300}),
            ("Info", {"name": "h", "settle_ms": 100}),
            ("Kernels", {"settle_ms": 100}),
            ("Select", {"request": {"operation": SQUARE, "settle_ms": 100}}),
        ]:
            reply = daemon.call(method, parameters)
            if "pending" in reply:
                self.assertEqual(reply["pending"], ["h"])
        daemon.stop()
        daemon.manifest("h", timeout_ms=400)
        daemon.start()
        reply = daemon.select(SQUARE, settle_ms=60000)
        self.assertEqual(reply["pending"], [])
        self.assertEqual(reply["selected"], "a/square")


if __name__ == "__main__":
    unittest.main()
