# SPDX-License-Identifier: MIT
"""plugind is killed at any moment while twenty clients change things: nothing is lost.

KPLUG_SEED repeats a run that failed, as its message says.
"""

import os
import random
import shutil
import time
import unittest

from deciders import Disabler, Pinner, Roller
from harness import LONG, Daemon, kernel, make_plugin, wait_until

ROUNDS = 60 if LONG else 8
OFF = [f"off{i}" for i in range(10)]
BACK = [f"back{i}" for i in range(4)]
OPERATIONS = [f"odd/op{i}" for i in range(6)]
DAMAGE = {"damaged_state", "bad_decisions", "bad_history", "bad_incidents", "cache_damaged"}


class Killed(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("KPLUG_SEED") or random.SystemRandom().randrange(2**32))
        self.random = random.Random(self.seed)
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.prepare()

    def prepare(self):
        daemon = self.daemon
        kernels = [
            kernel(f"k{i}", operation, signatures=["x=f32"])
            for i, operation in enumerate(OPERATIONS)
        ]
        daemon.add_many(OFF, kernels)
        daemon.start()
        for version in (1, 2, 3):
            daemon.add_many(BACK, version=f"{version}.0.0")
            daemon.call("Reload")
        daemon.settle()
        # Two libraries that take turns: what is written without being asked for, too.
        self.turns = [os.path.join(daemon.place, f"turn{i}.so") for i in range(2)]
        for i, path in enumerate(self.turns):
            make_plugin(path, "turning", version=f"{i}.0.0")
        self.turn(0)
        daemon.manifest("turning")
        daemon.call("Reload")

    def turn(self, i):
        path = self.daemon.library_path("turning")
        shutil.copy2(self.turns[i % 2], path + ".new")
        os.rename(path + ".new", path)

    def deciders(self):
        """Twenty, each of its own seed."""
        seeds = iter(lambda: self.random.randrange(2**32), None)
        daemon = self.daemon
        return (
            [Disabler(daemon, next(seeds), name) for name in OFF]
            + [
                Pinner(daemon, next(seeds), operation, [f"{n}/k{i}" for n in OFF[:3]])
                for i, operation in enumerate(OPERATIONS)
            ]
            + [Roller(daemon, next(seeds), name, [1, 2, 3]) for name in BACK]
        )

    def work_until_killed(self, deciders):
        for decider in deciders:
            decider.start()
        enough = self.random.randrange(1, 200)
        turns = self.random.randrange(1, 8)
        with self.daemon.client() as client:
            for i in range(turns):
                self.turn(i)
                client.call("Reload", {})
        wait_until(lambda: sum(d.count for d in deciders) >= enough, "acknowledgements")
        time.sleep(self.random.random() * 0.02)
        self.daemon.kill()
        for decider in deciders:
            decider.join()

    def test_t57_what_was_acknowledged_holds_whenever_plugind_is_killed(self):
        deciders = self.deciders()
        for turn in range(ROUNDS):
            what = f"KPLUG_SEED={self.seed}, round {turn}"
            self.work_until_killed(deciders)
            self.daemon.start()
            status = self.daemon.settle()
            found = [w for w in status["warnings"] if w["code"] in DAMAGE]
            self.assertEqual(found, [], what)
            for decider in deciders:
                self.assertEqual(decider.failures, [], what)
                seen = decider.look(self.daemon)
                told = (decider.acknowledged, decider.asked, seen)
                self.assertTrue(decider.holds(seen), f"{what}: {decider.__dict__}: {told}")
            self.check_versions(what)
            deciders = self.renew(deciders)

    def check_versions(self, what):
        """What an operator went back to is what runs."""
        plugins = self.daemon.plugins()
        for name in BACK:
            rolled = plugins[name]["rolled_back"]
            number = rolled["number"] if rolled else 3
            self.assertEqual(plugins[name]["version"], f"{number}.0.0", f"{what}: {name}")
        history = self.daemon.call("History", name="turning")["generations"]
        (current,) = [g["closure"] for g in history if g["current"]]
        self.assertEqual(
            current, self.daemon.call("Info", name="turning")["plugin"]["closure"], what
        )

    def renew(self, before):
        """The same deciders for the next round: what is seen now is what they know."""
        after = self.deciders()
        for old, new in zip(before, after):
            new.acknowledged = old.look(self.daemon)
        return after


if __name__ == "__main__":
    unittest.main()
