# SPDX-License-Identifier: MIT
"""What is kept of a failure, and for how long."""

import json
import os
import shutil
import unittest

from harness import BUILD, CRASH, EXIT, SANITIZER, Daemon, install, kernel, make_plugin

SEGFAULT = """
#include <stdio.h>
__attribute__((noinline)) static void deep(volatile int *p) { *p = 1; }
__attribute__((constructor)) static void fall(void)
{
	fprintf(stderr, "about to fall\\n");
	deep(0);
}
"""
OVERFLOW = """
__attribute__((noinline)) static int down(volatile int n)
{
	volatile char b[4096];
	b[0] = (char)n;
	return down(n + 1) + b[0];
}
__attribute__((constructor)) static void fall(void) { down(0); }
"""
ABSENT = """
extern int of_nobody(void);
int (*volatile call_it)(void);
__attribute__((constructor)) static void need(void) { call_it = of_nobody; }
"""
# Says what a worker says that fell, of a library that is not to blame.
BLAMES = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((constructor)) static void blame(void)
{
	fprintf(stderr, "-- backtrace of the worker --\\n/usr/lib/libgood.so(mm+0x42)[0x7f1]\\n");
	%s;
}
"""
MEMBERS = {"stage", "exit", "signal", "loader", "output", "backtrace", "sha256", "at"}


class Case(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)

    def info(self, name):
        return self.daemon.call("Info", name=name)["plugin"]

    def failures(self, name):
        return self.daemon.call("Logs", name=name)["failures"]

    def start(self):
        self.daemon.start()
        self.daemon.settle()


class Kept(Case):
    def test_t22_a_failure_has_stage_end_output_time_and_digest(self):
        rows = {
            "aborts": (CRASH, "SIGABRT", None),
            "falls": (SEGFAULT, "SIGSEGV", None),
            "overflows": (OVERFLOW, "SIGSEGV", None),
            "leaves": (EXIT, None, 0),
        }
        for name, (before, _, _) in rows.items():
            self.daemon.add(name, before=before)
        self.start()
        for name, (_, number, status) in rows.items():
            with self.subTest(name=name):
                plugin = self.info(name)
                evidence = plugin["evidence"]
                self.assertEqual(plugin["state"], "failed")
                self.assertEqual(set(evidence), MEMBERS)
                self.assertEqual(evidence["stage"], "load")
                self.assertEqual(evidence["sha256"], plugin["sha256"])
                self.assertGreater(evidence["at"], 1700000000)
                if SANITIZER:
                    continue
                self.assertEqual((evidence["signal"], evidence["exit"]), (number, status))
                if number:
                    self.assertIn(f"/{name}.so", evidence["backtrace"])
                else:
                    self.assertIsNone(evidence["backtrace"])
        if not SANITIZER:
            self.assertEqual(self.info("falls")["evidence"]["output"], "about to fall")
            frames = self.info("falls")["evidence"]["backtrace"].split()
            for command in ("logs", "info"):
                lines = self.daemon.ctl(command, "falls").stdout.split("\n")
                self.assertEqual([n.split()[-1] for n in lines if "[0x" in n], frames)

    def test_t22_a_backtrace_is_the_workers_where_a_signal_ended_it(self):
        ends = {
            "leaves": "_exit(7)",
            "quits": "exit(0)",
            "is_missing": "extern int nobody_has_it(void); nobody_has_it()",
            "writes": 'for (int i = 3; i < 1024; i++) (void)!write(i, "x\\n", 2)',
        }
        for name, end in ends.items():
            self.daemon.add(name, before=BLAMES % end)
        self.start()
        for name in ends:
            with self.subTest(name=name):
                plugin = self.info(name)
                self.assertIn(plugin["state"], ("failed", "rejected"))
                evidence = plugin["evidence"]
                if name == "writes" and evidence["signal"]:
                    # Killed before it got so far: where it was then is the worker's word.
                    self.assertNotIn("libgood", evidence["backtrace"] or "")
                else:
                    self.assertIsNone(evidence["signal"])
                    self.assertIsNone(evidence["backtrace"])
                if name != "is_missing":
                    self.assertIn("libgood", evidence["output"])

    def test_t22_a_kernel_that_falls_is_named_by_its_stage(self):
        self.daemon.add("k", [kernel(), kernel("other")], available="abort();")
        self.start()
        evidence = self.info("k")["evidence"]
        self.assertEqual(evidence["stage"], "probe kernel square")

    @unittest.skipIf(SANITIZER, "a sanitizer has handlers of its own")
    def test_t24_what_falls_before_any_constructor_is_told_as_during_relocation(self):
        rows = {
            "crash_in_ifunc": ("SIGSEGV", None),
            "abort_in_ifunc": ("SIGABRT", None),
            "recursion_in_ifunc": ("SIGSEGV", None),
            "exit_0_in_ifunc": (None, 0),
            "hang_in_ifunc": ("SIGKILL", None),
        }
        for name in rows:
            path = os.path.join(BUILD, "tests", "fixtures", f"{name}.so")
            shutil.copy(path, self.daemon.library_path(name) + ".new")
            install(self.daemon.library_path(name))
            self.daemon.manifest(name, timeout_ms=3000)
        self.start()
        for name, (number, status) in rows.items():
            with self.subTest(name=name):
                plugin = self.info(name)
                evidence = plugin["evidence"]
                self.assertEqual(evidence["stage"], "relocation")
                self.assertEqual((evidence["signal"], evidence["exit"]), (number, status))
                self.assertIn("relocation", plugin["reason"]["message"])
                self.assertIn("relocation", self.daemon.ctl("info", name).stdout)
                self.assertIn("relocation", self.daemon.ctl("logs", name).stdout)
                if number:
                    self.assertIn(f"/{name}.so", evidence["backtrace"])

    def test_t22_the_end_of_what_was_printed_is_kept(self):
        rows = {
            "lines": 'for (int i = 0; i < 9999; i++) printf("line %d\\n", i);',
            "line": "for (int i = 0; i < 99999; i++) putchar('x');",
            "bytes": "for (int i = 0; i < 99999; i++) putchar(i % 256);",
        }
        for name, prints in rows.items():
            source = f"""#include <stdio.h>
            __attribute__((constructor)) static void fall(void)
            {{ {prints} fflush(stdout); fprintf(stderr, "\\nlast words\\n"); _exit(3); }}"""
            self.daemon.add(name, before=source)
        self.start()
        for name in rows:
            with self.subTest(name=name):
                evidence = self.info(name)["evidence"]
                self.assertEqual((evidence["stage"], evidence["exit"]), ("load", 3))
                output = evidence["output"].rstrip("\n")
                self.assertTrue(output.endswith("last words"), output[-40:])
                # 4 KiB, of which what is not shown takes up to four letters a byte.
                self.assertGreater(len(output), 2000)
                self.assertLessEqual(len(output), 4 * 4096)
                self.assertNotRegex(output, "[\x00-\x08\x0b-\x1f\x7f]")

    def test_t22_what_the_loader_said_is_kept(self):
        self.daemon.add("absent", before=ABSENT)
        self.start()
        plugin = self.info("absent")
        self.assertIn("of_nobody", json.dumps([plugin["evidence"], plugin["reason"]]))
        self.assertEqual(plugin["evidence"]["sha256"], plugin["sha256"])

    def test_t22_info_and_logs_show_the_same_after_a_restart(self):
        self.daemon.add("aborts", before=CRASH)
        self.start()
        before = self.info("aborts")["evidence"]
        self.assertEqual(self.failures("aborts")[-1]["evidence"], before)
        self.daemon.restart()
        self.daemon.settle()
        self.assertEqual(self.info("aborts")["evidence"], before)
        (failure,) = self.failures("aborts")
        self.assertEqual(failure["evidence"], before)
        self.assertEqual(failure["at"], before["at"])
        text = self.daemon.ctl("logs", "aborts").stdout
        self.assertIn(before["sha256"], text)
        self.assertIn("killed_by_signal" if not SANITIZER else "failed", text)

    def test_a_history_is_short_and_goes_with_its_plugin(self):
        self.daemon.add("aborts", before=CRASH)
        self.start()
        for _ in range(10):
            self.daemon.call("Retry", name="aborts")
        history = self.failures("aborts")
        self.assertLessEqual(len(history), 8)
        self.assertEqual(sorted(f["at"] for f in history), [f["at"] for f in history])
        self.daemon.add("aborts")
        self.daemon.call("Reload")
        self.assertEqual(self.info("aborts")["state"], "active")
        self.assertEqual(self.failures("aborts"), history)
        self.daemon.remove("aborts")
        self.daemon.call("Reload")
        self.daemon.manifest("aborts")
        self.daemon.call("Reload")
        self.assertEqual(self.failures("aborts"), [])

    def test_logs_of_what_is_not_there(self):
        self.daemon.add("fine")
        self.start()
        rows = [
            ("fine", 0, "nothing is known to have failed"),
            ("fnie", 5, "did you mean fine?"),
            ("fine/square", 2, "kernel"),
        ]
        for name, status, text in rows:
            done = self.daemon.ctl("logs", name)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stdout + done.stderr)


class Cleared(Case):
    def check_cleared(self, name):
        plugin = self.info(name)
        self.assertEqual((plugin["state"], plugin["reason"]), ("active", None))
        self.assertIsNone(plugin["evidence"])
        (listed,) = [p for p in self.daemon.call("List")["plugins"] if p["name"] == name]
        self.assertIsNone(listed["reason"])
        self.assertFalse(self.daemon.call("Status")["degraded"])
        self.daemon.restart()
        self.daemon.settle()
        self.assertEqual(self.info(name)["state"], "active")
        self.assertIsNone(self.info(name)["reason"])

    def test_t80_a_mended_library_has_no_error_any_more(self):
        self.daemon.add("p", before=CRASH)
        self.start()
        before = self.daemon.call("List")["generation"]
        self.assertEqual(self.info("p")["state"], "failed")
        make_plugin(self.daemon.library_path("p"), "p")
        self.daemon.call("Reload")
        self.assertGreater(self.daemon.call("List")["generation"], before)
        self.check_cleared("p")

    def test_t80_a_retry_that_works_clears_the_error(self):
        mark = os.path.join(self.daemon.place, "mark")
        fails = f'if (access("{mark}", F_OK) != 0) abort();'
        self.daemon.add("p", available=fails)
        self.start()
        self.assertEqual(self.info("p")["state"], "failed")
        with open(mark, "w", encoding="utf-8"):
            pass
        self.assertEqual(self.daemon.call("Retry", name="p")["plugin"]["state"], "active")
        self.check_cleared("p")

    def test_t80_a_mended_manifest_clears_the_error(self):
        self.daemon.add("p")
        for wrong in ({"priority_offset": "much"}, {"sha256": "0" * 64}, {"library": "no.so"}):
            with self.subTest(wrong=wrong):
                self.daemon.manifest("p", **wrong)
                if self.daemon.process is None:
                    self.start()
                self.daemon.call("Reload")
                self.assertIn(self.info("p")["state"], ("rejected", "missing"))
                self.daemon.manifest("p")
                self.daemon.call("Reload")
                self.check_cleared("p")

    def test_t80_a_library_that_came_clears_the_error(self):
        self.daemon.add("p")
        hidden = self.daemon.library_path("p") + ".hidden"
        shutil.move(self.daemon.library_path("p"), hidden)
        self.start()
        self.assertEqual(self.info("p")["state"], "missing")
        shutil.move(hidden, self.daemon.library_path("p"))
        self.daemon.call("Reload")
        self.check_cleared("p")


class Selecting(Case):
    """A change while a selection is asked for: each reply is of one generation."""

    def test_nx14_replies_between_registrations_are_of_one_generation(self):
        self.daemon.add("low", [kernel(priority=1)])
        self.start()
        operation = "elementwise/square"
        with self.daemon.client() as client:
            for i in range(30):
                # Registered and selected at once, on two connections.
                method = "Disable" if i % 2 else "Enable"
                client.start("Select", {"request": {"operation": operation}})
                done = self.daemon.call(method, name="low")
                first = client.finish("Select")["selected"]
                self.assertIn(first, ("low/square", None))
                reply = client.call("Select", {"request": {"operation": operation}})
                wanted = None if method == "Disable" else "low/square"
                self.assertEqual(reply["selected"], wanted)
                self.assertGreaterEqual(client.call("List")["generation"], done["generation"])

    def test_nx14_a_kernel_that_comes_is_selected_by_the_next_reply(self):
        self.daemon.add("low", [kernel(priority=1)])
        self.start()
        for name, priority in (("mid", 9), ("top", 17)):
            self.daemon.add(name, [kernel(priority=priority)])
            self.assertIn(
                self.daemon.select("elementwise/square")["selected"][:3], ("low", "mid", "top")
            )
            self.daemon.call("Reload")
            for _ in range(3):
                reply = self.daemon.select("elementwise/square")
                self.assertEqual(reply["selected"], f"{name}/square")

    def test_nx14_an_answer_of_before_is_never_given_again(self):
        self.daemon.add("a", [kernel(priority=1)])
        self.daemon.add("b", [kernel(priority=9)])
        self.start()
        request = {"operation": "elementwise/square"}
        with self.daemon.client() as client:
            for pin, wanted in (("a/square", "a/square"), (None, "b/square"), ("a/square",) * 2):
                self.daemon.call("Unpin", operation=request["operation"])
                if pin:
                    self.daemon.call("Pin", operation=request["operation"], choice=pin)
                for _ in range(5):
                    reply = client.call("Select", {"request": request})
                    self.assertEqual(reply["selected"], wanted)


if __name__ == "__main__":
    unittest.main()
