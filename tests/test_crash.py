# SPDX-License-Identifier: MIT
"""Who crashed us: a kernel is blamed for what it did, and for nothing else."""

import os
import signal
import subprocess
import sys
import unittest

from crashing import (
    ABORT,
    BUS,
    EXIT,
    FPE,
    GOOD,
    ILL,
    KILL,
    NAMES,
    OVERFLOW,
    POOL,
    RAISE,
    SEGV,
    TERM,
    add_kernels,
    incidents,
    no_core,
    run,
    start,
)
from harness import HERE, SANITIZER, Daemon
from python_module import ENVIRONMENT

NO_SIGNALS = 4


class Blame(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(options=["--no-quarantine"])
        self.addCleanup(self.daemon.close)
        add_kernels(self.daemon)
        self.seen = 0

    def next(self):
        """The incident that comes next."""
        found = incidents(self.daemon, self.seen + 1)
        self.seen = len(found)
        return found[0]

    def blamed(self, status, number):
        self.assertEqual(status, -number)
        found = self.next()
        self.assertEqual((found["kind"], found["kernel"]), ("crash", "bad/square"))
        self.assertEqual(found["signal"], NAMES[number])
        self.assertEqual(found["application"], "crasher")
        return found

    def unattributed(self):
        found = self.next()
        self.assertEqual((found["kind"], found["kernel"]), ("unattributed", None))
        return found

    def incidents_of_crashes(self):
        return self.daemon.call("Incidents", kind="crash")["incidents"]

    def restart(self):
        """No incident is taken for the one before."""
        self.daemon.stop()
        path = os.path.join(self.daemon.state_dir, "incidents.json")
        if os.path.exists(path):
            os.unlink(path)
        self.daemon.start()
        self.daemon.settle()
        self.seen = 0

    def test_each_way_to_crash_in_a_call_is_blamed_on_the_kernel(self):
        for what, number in (
            (SEGV, signal.SIGSEGV),
            (ABORT, signal.SIGABRT),
            (FPE, signal.SIGFPE),
            (ILL, signal.SIGILL),
            (BUS, signal.SIGBUS),
            (RAISE, signal.SIGSEGV),
        ):
            for way in ("call", "whole"):
                with self.subTest(signal=NAMES[number], what=what, way=way):
                    status, lines = run(self.daemon, way, GOOD, way, GOOD, way, what)
                    self.assertEqual(lines, ["101", "101"])
                    found = self.blamed(status, number)
                    self.assertEqual(found["evidence"]["seen by"], "handlers")
                    self.restart()

    def test_the_site_that_called_is_named(self):
        for way, label in (("call", "ffn.up"), ("whole", "a label that is longer than a s")):
            with self.subTest(way=way):
                status, _ = run(self.daemon, way, GOOD, way, SEGV)
                self.assertEqual(self.blamed(status, signal.SIGSEGV)["label"], label)

    def test_a_stack_that_overflows_in_a_call_is_blamed_on_the_kernel(self):
        for steps in (("call", OVERFLOW), ("whole", OVERFLOW), ("thread", OVERFLOW)):
            with self.subTest(steps=steps):
                status, _ = run(self.daemon, *steps)
                self.blamed(status, signal.SIGSEGV)
                self.restart()

    def test_a_crash_in_a_thread_that_helps_is_blamed_on_the_kernel(self):
        for way in ("call", "whole", "thread"):
            with self.subTest(way=way):
                status, _ = run(self.daemon, way, POOL)
                self.blamed(status, signal.SIGSEGV)
                self.restart()

    def test_of_nested_calls_the_inner_one_is_blamed(self):
        for what, number in ((SEGV, signal.SIGSEGV), (ABORT, signal.SIGABRT), (ILL, signal.SIGILL)):
            with self.subTest(what=what):
                status, _ = run(self.daemon, "nest", GOOD, "nest", what)
                self.assertEqual(self.blamed(status, number)["label"], "ffn.up")

    def test_while_others_wait_in_kernels_the_one_that_crashed_is_blamed(self):
        for waiting in (1, 2, 3):
            with self.subTest(waiting=waiting):
                status, _ = run(self.daemon, *["wait"] * waiting, "call", SEGV)
                found = self.blamed(status, signal.SIGSEGV)
                self.assertEqual(found["evidence"]["threads inside"], waiting + 1)
                self.restart()

    # -- nobody's fault, as far as anybody can tell

    def test_a_crash_outside_of_kernels_blames_none(self):
        for steps in (
            ("outside",),
            ("call", GOOD, "call", GOOD, "outside"),
            ("wait", "outside"),
            ("wait", "wait", "abort"),
            ("thread", GOOD, "abort"),
        ):
            with self.subTest(steps=steps):
                status, _ = run(self.daemon, *steps)
                self.assertIn(-status, (signal.SIGSEGV, signal.SIGABRT))
                found = self.unattributed()
                self.assertRegex(found["text"], "SIG(SEGV|ABRT) outside of every kernel")
                self.restart()

    def test_a_signal_that_somebody_sent_blames_no_kernel(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
            with self.subTest(signal=number.name):
                status, _ = run(self.daemon, "send", int(number))
                self.assertEqual(status, -number)
                found = self.unattributed()
                self.assertIn("another thread or process sent", found["text"])
                self.assertEqual(found["signal"], number.name)

    def test_kills_are_no_crashes(self):
        for what, text in ((KILL, "SIGKILL while a kernel ran"), (EXIT, "exit(3) was called")):
            with self.subTest(what=what):
                run(self.daemon, "call", GOOD, "call", what)
                found = self.unattributed()
                self.assertIn(text, found["text"])
                self.assertEqual(found["evidence"]["inside"], ["bad/square"])

    def test_what_ends_as_it_should_is_no_incident(self):
        for steps in (
            ("call", GOOD),
            ("call", GOOD, "exit", 0),
            ("call", GOOD, "exit", 1),
            ("wait", "exit", 0),
            ("call", TERM),
        ):
            run(self.daemon, *steps)
        run(self.daemon, "outside")
        self.unattributed()
        self.assertEqual(self.seen, 1)

    # -- handlers of others

    def test_one_who_recovers_has_not_crashed(self):
        ours = {"CRASHER_JUMPS": "1"}  # that handler was there before: ours is called, too
        for env, steps in (
            (None, ("recover", SEGV, "exit", 0)),
            (None, ("recover", ABORT, "call", GOOD)),
            (None, ("recover", SEGV, "call", GOOD, "exit", 5)),
            (None, ("recover", SEGV, "call", GOOD, "outside")),
            (None, ("recover", FPE, "whole", GOOD, "abort")),
            (ours, ("recover", SEGV, "exit", 0)),
            (ours, ("recover", ABORT, "call", GOOD)),
            (ours, ("recover", FPE, "recover", ILL, "whole", GOOD, "exit", 5)),
        ):
            with self.subTest(steps=steps, env=env):
                status, _ = run(self.daemon, *steps, env=env)
                if status >= 0:
                    run(self.daemon, "outside")
                found = self.incidents_of_crashes()
                self.assertEqual(found, [])
                self.assertIn("outside of every kernel", self.unattributed()["text"])
                self.restart()

    def test_a_handler_that_was_there_before_is_called(self):
        for what in (SEGV, ILL, FPE):
            with self.subTest(what=what):
                # It jumps back into the step that follows, and the program goes on.
                status, lines = run(
                    self.daemon, "recover", what, "call", GOOD, env={"CRASHER_JUMPS": "1"}
                )
                self.assertEqual((status, lines), (0, ["101"]))

    def test_a_handler_that_was_there_before_runs_on_the_stack_that_it_asked_for(self):
        for what in (SEGV, ABORT, FPE):
            with self.subTest(what=what):
                status, lines = run(self.daemon, "call", what, env={"CRASHER_DEEP": "1"})
                self.assertEqual((status, lines), (9, ["deep"]))
                self.assertEqual(self.next()["kernel"], "bad/square")
                self.restart()

    def test_a_signal_that_no_instruction_raised_ends_the_process_as_ever(self):
        for steps in (("bad memory",), ("call", GOOD, "bad memory")):
            with self.subTest(steps=steps):
                status, _ = run(self.daemon, *steps, "ready")
                self.assertEqual(status, -signal.SIGBUS)
                self.unattributed()
                self.restart()

    @unittest.skipIf(SANITIZER, "a sanitizer has its own handlers in Python")
    def test_pythons_faulthandler_works_on_before_and_after_us(self):
        before = [sys.executable, "-X", "faulthandler", os.path.join(HERE, "application.py")]
        after = [
            sys.executable,
            "-c",
            "import sys, faulthandler; sys.path.insert(0, sys.argv[1]); del sys.argv[1]\n"
            "import application\n"
            "class Caller(application.Caller):\n"
            "    def __init__(self, *words):\n"
            "        super().__init__(*words)\n"
            "        faulthandler.enable()\n"
            "application.Caller = Caller\n"
            "application.main()",
            HERE,
        ]
        for command in (before, after):
            with self.subTest(command=command[1]):
                # With its three in x the kernel aborts.
                done = subprocess.run(
                    [*command, self.daemon.socket, "0"],
                    input='["run"]\n',
                    capture_output=True,
                    text=True,
                    check=False,
                    preexec_fn=no_core,
                    env={**os.environ, **ENVIRONMENT},
                )
                self.assertEqual(done.returncode, -signal.SIGABRT)
                self.assertIn("Fatal Python error: Aborted", done.stderr)
                found = self.next()
                self.assertEqual((found["kind"], found["kernel"]), ("crash", "bad/square"))
                self.assertEqual(found["application"], "application")
                self.restart()

    def test_a_handler_that_came_later_is_called_first_and_may_pass_on(self):
        status, lines = run(self.daemon, "chain", "call", GOOD, "call", SEGV)
        self.assertEqual(lines, ["101", "theirs"])
        self.assertEqual(self.blamed(status, signal.SIGSEGV)["evidence"]["seen by"], "handlers")

    def test_where_no_handler_of_ours_is_called_one_thread_inside_is_blamed(self):
        for steps, flags in (
            (("default", "call", SEGV), 0),
            (("call", SEGV), NO_SIGNALS),
            (("thread", ILL), NO_SIGNALS),
        ):
            with self.subTest(steps=steps, flags=flags):
                status, _ = run(self.daemon, *steps, flags=flags)
                found = self.blamed(status, -status)
                self.assertEqual(found["evidence"]["seen by"], "kernel")
                self.restart()

    def test_where_no_handler_of_ours_is_called_several_threads_are_not_told_apart(self):
        for waiting in (1, 2):
            with self.subTest(waiting=waiting):
                run(self.daemon, *["wait"] * waiting, "call", SEGV, flags=NO_SIGNALS)
                self.assertIn("several threads", self.unattributed()["text"])
                self.restart()

    def test_a_handler_that_ends_the_process_hides_no_crash(self):
        # Ours was not called: it had been installed before.
        status, _ = run(self.daemon, "leave", "call", SEGV)
        self.assertEqual(status, 9)
        self.assertIn("it ended with status 9", self.unattributed()["text"])

    def test_an_application_whose_parent_does_not_wait_is_judged_all_the_same(self):
        process = start(self.daemon, "call", GOOD, "call", SEGV)
        found = self.next()
        self.assertEqual((found["kind"], found["kernel"]), ("crash", "bad/square"))
        process.communicate()


if __name__ == "__main__":
    unittest.main()
