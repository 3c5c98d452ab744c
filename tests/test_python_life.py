# SPDX-License-Identifier: MIT
"""Threads, forks, garbage and ends of processes that use the Python module."""

import gc
import sys
import threading
import unittest
import weakref

import numpy

from harness import LONG, PATIENCE_S, SANITIZER, kernel
from python_module import Attached, kplug, python

X = numpy.arange(1, 65, dtype=numpy.float32)

BEGIN = """
import gc, os, sys, threading
import kplug, numpy
x = numpy.full(8, 3, numpy.float32)
k = kplug.open(sys.argv[1])
site = k.site("elementwise/square")
assert site(x)[0] == 9
"""

ENDS = {
    "everything left open": "",
    "closed, then used": """
k.close()
try:
    site(x)
except kplug.Invalid as error:
    assert "closed" in str(error), error
""",
    "closed twice": "k.close(); k.close()",
    "the handle dropped before its site": "del k; gc.collect(); assert site(x)[0] == 9",
    "all in a circle": "k.site_, site.self_ = site, site; del k, site; gc.collect()",
    "an exit inside of a with": "with k, site: sys.exit(0)",
    "an exit inside of a scope": "k.scope('elementwise/square', 'reference').__enter__()",
    "a daemon thread in calls": """
def spin():
    while True:
        site(x)
for _ in range(3):
    threading.Thread(target=spin, daemon=True).start()
""",
    "a daemon thread that sleeps in a kernel": """
import time
inside = threading.Event()
def sleep(x, y):
    inside.set()
    time.sleep(1000)
k.local("elementwise/square", sleep, priority=19)
threading.Thread(target=site, args=(x,), daemon=True).start()
inside.wait()
""",
    "kernels of its own": """
@k.local("elementwise/square", priority=19)
def mine(x, y):
    y[...] = 1
assert site(x)[0] == 1
""",
    "a hold, a plan and a weight": """
hold = site.hold()
plan = site.plan(x)
weight = site.weight("x", x)
assert site(weight, plan=plan)[0] == 9
""",
    "a log": "k2 = kplug.open(sys.argv[1], log=lambda level, text: gc.collect())",
    "two handles": "k2 = kplug.open(sys.argv[1]); s2 = k2.site('gemm/mm'); k.close()",
    "children that end without a word": """
for _ in range(3):
    if os.fork() == 0:
        sys.exit(0)
    assert os.wait()[1] == 0
""",
}

FORK = """
pid = os.fork()
if pid == 0:
    try:
        site(x)
    except kplug.Invalid as error:
        assert "forked" in str(error), error
    else:
        os._exit(3)
    assert site.kernel() is None
    with kplug.open(sys.argv[1]) as own:
        assert own.site("elementwise/square")(x)[0] == 9
    k.close()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert site(x)[0] == 9
"""


class Ends(Attached):
    def ends(self, program, **options):
        done = python(BEGIN + program, self.daemon.socket, flags=["-X", "dev"], **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_interpreter_ends_in_peace_whatever_is_left(self):
        for name, program in ENDS.items():
            with self.subTest(name):
                self.ends(program)

    @unittest.skipIf(SANITIZER == "thread", "ThreadSanitizer knows no threads of a child")
    def test_a_child_gets_an_error_and_can_open_its_own(self):
        self.ends(FORK)

    def test_what_a_log_is_told_reaches_functions_and_loggers(self):
        program = """
import logging
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
said = []
for log in (lambda *words: said.append(words), logging.getLogger("kplug")):
    kplug.open(sys.argv[1], log=log).close()
print(said)
"""
        done = python(BEGIN + program, self.daemon.socket, env={"KPLUG_DISABLE": "refrence"})
        self.assertEqual(done.returncode, 0, done.stderr)
        logged, said = done.stdout.splitlines()
        self.assertRegex(logged, "^WARNING .*refrence.*reference")
        self.assertRegex(said, r"^\[\(1, .*refrence")


class Threads(Attached):
    def test_threads_share_a_site_while_its_kernels_change(self):
        site = self.k.site("elementwise/square")
        stop, wrong, calls = threading.Event(), [], []

        def call():
            count = 0
            x = X * (1 + threading.get_ident() % 7)
            while not stop.is_set():
                count += 1
                if not (site(x) == x * x).all():
                    wrong.append(site.kernel())
            calls.append(count)

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(300 if LONG else 20):
            for method in ("Disable", "Enable"):
                self.daemon.call(method, {"name": "x86"})
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual((wrong, len(calls)), ([], 8))
        self.assertGreater(min(calls), 0)

    def test_closing_waits_for_calls_and_refuses_later_ones(self):
        for _ in range(5):
            k = kplug.open(self.daemon.socket)
            site = k.site("elementwise/square")
            ready = threading.Barrier(5, timeout=PATIENCE_S)
            ended = []

            def call(site=site, ready=ready, ended=ended):
                ready.wait()
                try:
                    while True:
                        site(X)
                except kplug.Invalid as error:
                    ended.append(str(error))

            threads = [threading.Thread(target=call) for _ in range(4)]
            for thread in threads:
                thread.start()
            ready.wait()
            k.close()
            for thread in threads:
                thread.join(PATIENCE_S)
            self.assertEqual(len(ended), 4)
            self.assertTrue(all("closed" in text for text in ended), ended)

    def test_releasing_a_site_waits_for_its_calls_only(self):
        inside, leave = threading.Event(), threading.Event()

        def wait(x, y):
            inside.set()
            leave.wait(PATIENCE_S)
            y[...] = 5

        self.k.local("elementwise/square", wait, name="wait", priority=19)
        site = self.k.site("elementwise/square")
        other = self.k.site("gemm/mm")
        results = []
        caller = threading.Thread(target=lambda: results.append(site(X)[0]))
        caller.start()
        inside.wait(PATIENCE_S)
        other.release()
        releasing = threading.Thread(target=site.release)
        releasing.start()
        leave.set()
        caller.join(PATIENCE_S)
        releasing.join(PATIENCE_S)
        self.assertEqual(results, [5])
        for site in (site, other):
            with self.assertRaisesRegex(kplug.Invalid, "was given up"):
                site(X)

    def test_other_threads_run_while_a_kernel_does(self):
        spin = "while (!((volatile float *)call->tensors[0]->data)[0]) ;"
        self.daemon.add("spin", body=spin, kernels=[kernel(flags=["reentrant"], priority=5)])
        self.addCleanup(self.daemon.remove, "spin")
        self.daemon.call("Reload")
        self.daemon.settle()
        site = self.k.site("elementwise/square", override="spin/square")
        x = numpy.zeros(4, numpy.float32)
        caller = threading.Thread(target=site, args=(x,))
        caller.start()
        # With the interpreter's lock held by the call this line would not be reached.
        x[0] = 1
        caller.join(PATIENCE_S)
        self.assertFalse(caller.is_alive())


class Garbage(Attached):
    def test_arrays_are_let_go_after_a_call_and_after_an_error(self):
        site = self.k.site("elementwise/square")
        for kind, right in (("f4", True), ("f8", False)):
            x, y = numpy.ones(4, kind), numpy.ones(4, "f4")
            before = sys.getrefcount(x), sys.getrefcount(y)
            try:
                site(x, out=y)
                self.assertTrue(right)
            except kplug.Invalid:
                self.assertFalse(right)
            self.assertEqual((sys.getrefcount(x), sys.getrefcount(y)), before)
            gone = weakref.ref(x)
            del x
            self.assertIsNone(gone())

    def test_an_array_cannot_be_resized_below_a_kernel(self):
        said = []

        def resize(x, y):
            for array in (self.x, self.y):
                try:
                    array.resize(1000, refcheck=True)
                except ValueError as error:
                    said.append(error)

        self.k.local("elementwise/square", resize, priority=19)
        site = self.k.site("elementwise/square")
        for _ in range(2):
            self.x, self.y = numpy.ones(4, "f4"), numpy.ones(4, "f4")
            site(self.x, out=self.y)
        self.assertEqual(len(said), 4)

    def test_sites_and_holds_that_are_lost_are_freed(self):
        core = self.k._core
        for _ in range(100):
            site = self.k.site("elementwise/square")
            site(X)
            site.hold()
        del site
        gc.collect()
        self.k.site("gemm/mm")
        self.assertLess(len(core._things), 5)
        held = [c["holds"] for c in self.daemon.call("Clients")["clients"]]
        self.assertEqual([h for h in held if h], [])

    def test_a_handle_that_is_lost_is_closed(self):
        for _ in range(3):
            k = kplug.open(self.daemon.socket, name="lost")
            k.site("gemm/mm")
            del k
        gc.collect()
        names = [c["name"] for c in self.daemon.call("Clients")["clients"]]
        self.assertNotIn("lost", names)

    def test_garbage_found_inside_a_kernel_is_freed_later(self):
        def collect(x, y):
            lost = self.k.site("gemm/mm")
            other = kplug.open(self.daemon.socket)
            other.me = other
            del lost, other
            gc.collect()

        self.k.local("elementwise/square", collect, priority=19)
        self.k.site("elementwise/square")(X)
        self.k.site("gemm/mm")
        self.assertLess(len(self.k._core._things), 5)


class Holding(Attached):
    def test_a_weight_is_an_argument_and_holds_its_kernel(self):
        site = self.k.site("gemm/mm")
        a, b = numpy.ones((2, 8), "f4"), numpy.arange(24, dtype="f4").reshape(8, 3)
        for array in (b, numpy.asfortranarray(b), b.copy()):
            with site.weight("b", array) as weight:
                numpy.testing.assert_array_equal(site(a, weight), a @ b)
                told = self.daemon.call("Clients")["clients"]
                self.assertIn("weight", str(told))
            with self.assertRaisesRegex(kplug.Invalid, "the weight was given up"):
                site(a, weight)
        with self.assertRaises(kplug.Invalid):
            site.weight("d", b)

    def test_a_plan_serves_calls_like_the_one_it_was_made_for(self):
        site = self.k.site("elementwise/square")
        plan = site.plan(X)
        for _ in range(3):
            numpy.testing.assert_array_equal(site(X, plan=plan), X * X)
        plan.release()
        with self.assertRaisesRegex(kplug.Invalid, "the plan was given up"):
            site(X, plan=plan)
        numpy.testing.assert_array_equal(site(X), X * X)


if __name__ == "__main__":
    unittest.main()
