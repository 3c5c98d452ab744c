# SPDX-License-Identifier: MIT
"""Each call that writes state is made to fail once: what was acknowledged holds all the same.

strace counts the calls of a run on plugind's own files; then there is a run for each of
them in which that one fails. That it did is read from the trace.
"""

import os
import unittest

from harness import LONG, PATIENCE_S, SANITIZER, wait_until
from injecting import Place, Traced
from varlink import VarlinkError

CALLS = [
    "write",
    "fsync",
    "renameat",
    "linkat",
    "unlinkat",
    "ftruncate",
    "fchmod",
    "flock",
    "mkdir",
    "openat",
]
ERRORS = ["ENOSPC", "EIO"]
NAMES = ["a", "b"]


@unittest.skipIf(SANITIZER, "a sanitizer needs its own library")
class Inject(unittest.TestCase):
    def setUp(self):
        self.daemon = Traced()
        self.addCleanup(self.daemon.close)
        self.daemon.add_many(NAMES, version="1.0.0")
        self.daemon.start()
        self.daemon.add_many(NAMES, version="2.0.0")
        self.daemon.call("Reload")
        self.daemon.settle()
        self.daemon.call("Disable", name="a", reason="before")
        self.daemon.call("Enable", name="a")
        self.daemon.stop()
        # As after a kill: there is something to write at the next start.
        os.unlink(os.path.join(self.daemon.cache_dir, "probe"))
        self.place = Place(self.daemon)

    def change(self):
        """Changes, one after the other: what each was acknowledged as, or the error."""
        asked = [
            ("Disable", {"name": "a", "reason": "it crashes"}),
            ("Rollback", {"name": "b", "number": 1, "reason": "slow"}),
            ("Pin", {"operation": "elementwise/square", "choice": "b/square"}),
        ]
        outcomes = {}
        for method, parameters in asked:
            try:
                outcomes[method] = self.daemon.call(method, parameters)
            except VarlinkError as error:
                outcomes[method] = error
        return outcomes

    def run_once(self):
        """A whole life: None where it did not start, and that was said."""
        self.daemon.spawn()
        process = self.daemon.process

        def ready():
            return process.poll() is not None or self.daemon.is_ready()

        wait_until(ready, "a start or an end")
        try:
            self.daemon.settle()
        except OSError:
            # It listens before all that it needs is there.
            self.assertEqual(process.wait(PATIENCE_S), 1, self.daemon.log())
            self.daemon.process = None
            return None
        outcomes = self.change()
        self.assertEqual(self.daemon.stop(), 0)
        return outcomes

    def look(self, what):
        """What holds after a start that nothing disturbs."""
        daemon = self.daemon.untraced().start()
        daemon.settle()
        rolled = daemon.call("History", name="b")["rolled_back"]
        pins = daemon.call("Pins")["pins"]
        held = {
            "Disable": daemon.call("IsEnabled", name="a")["state"] == "disabled",
            "Rollback": bool(rolled) and rolled["number"] == 1,
            "Pin": [p["choice"] for p in pins] == ["b/square"],
        }
        held["version"] = daemon.plugins()["b"]["version"]
        self.assertEqual(daemon.stop(), 0)
        return held

    def check(self, what, outcomes, held):
        if outcomes is None:
            # Nothing was promised; why it did not start is in the log.
            self.assertRegex(self.daemon.log(), r"plugind: .*(state|lock|loaded)", what)
            return
        for method, outcome in outcomes.items():
            if isinstance(outcome, VarlinkError) and outcome.code == "no_such_kernel":
                # Its manifest could not be opened either.
                self.assertIn("openat", what)
            elif isinstance(outcome, VarlinkError):
                self.assertEqual(outcome.code, "write_failed", what)
                self.assertRegex(str(outcome), "lost at the next start", what)
            else:
                self.assertTrue(held[method], f"{what}: {method} was acknowledged")
        rolled = outcomes["Rollback"]
        # Without a version its manifest could not be opened: the decision holds.
        if not isinstance(rolled, VarlinkError) and rolled["plugin"]["version"]:
            self.assertEqual(held["version"], rolled["plugin"]["version"], what)

    def count(self, call):
        """Of the thread that makes the most of them."""
        self.place.restore()
        self.run_traced(call)
        threads, injected = self.daemon.told()
        self.assertEqual(injected, [])
        return max(threads.values(), default=0)

    def run_traced(self, call, rule=None):
        with open(self.daemon.log_path, "w", encoding="utf-8"):
            pass
        self.daemon.trace(call, rule)
        return self.run_once()

    def inject(self, call):
        """Fails each of them; how many there were, and in how many runs one did."""
        count, hit = self.count(call), 0
        for n in range(1, count + 1):
            for error in ERRORS if LONG else [ERRORS[n % 2]]:
                what = f"{call} {n} of {count}: {error}"
                self.place.restore()
                outcomes = self.run_traced(call, f"error={error}:when={n}")
                threads, injected = self.daemon.told()
                # The n-th of each thread that came to it.
                came = sum(calls >= n for calls in threads.values())
                self.assertEqual(len(injected), came, what)
                self.assertTrue(all(error in line for line in injected), what)
                hit += came > 0
                self.check(what, outcomes, self.look(what))
        return count, hit

    def test_t57_a_disk_that_can_only_be_read_from_some_moment_on(self):
        """What would change it is refused, and said; everything else goes on."""
        calls = "openat,renameat,linkat,unlinkat,mkdir"
        refused = 0
        for n in range(4, 40, 1 if LONG else 5):
            what = f"from call {n} on of {calls}"
            self.place.restore()
            outcomes = self.run_traced(calls, f"error=EROFS:when={n}+")
            refused += sum(isinstance(o, VarlinkError) for o in (outcomes or {}).values())
            self.check(what, outcomes, self.look(what))
        self.assertGreater(refused, 0)


def test_of(call):
    def test(self):
        count, hit = self.inject(call)
        runs = count * (len(ERRORS) if LONG else 1)
        self.assertGreater(count, 0, f"{call} is never called")
        # How often state is written depends on how many trials end together.
        least = runs - 1 - runs // 8
        self.assertGreaterEqual(hit, least, f"{call}: {hit} of {runs} runs had a failure")

    return test


for _call in CALLS:
    setattr(Inject, f"test_t57_each_{_call}_may_fail_once", test_of(_call))


if __name__ == "__main__":
    unittest.main()
