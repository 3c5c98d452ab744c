# SPDX-License-Identifier: MIT
"""Each target of fuzzing takes its seeds, and what was found with it, without libFuzzer."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE_S, ROOT

FUZZ = os.path.join(ROOT, "tests", "fuzz")
TARGETS = sorted(
    os.path.basename(path)[:-2] for path in glob.glob(os.path.join(FUZZ, "targets", "*.c"))
)


def replay(target, *paths):
    return subprocess.run(
        [os.path.join(BUILD, "tests", "fuzz", target), *paths],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=2 * PATIENCE_S,
        check=False,
    )


class Fuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="kplug-fuzz.")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        maker = os.path.join(FUZZ, "make-seeds")
        subprocess.run(["/usr/bin/python3", maker, BUILD, cls.place], check=True)

    def seeds(self, target):
        made = glob.glob(os.path.join(self.place, target, "*"))
        return sorted(made + glob.glob(os.path.join(FUZZ, "seeds", target, "*")))

    def take_all(self, target):
        seeds = self.seeds(target)
        self.assertTrue(seeds, f"{target} has no seed")
        result = replay(target, *seeds)
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        self.assertEqual(result.stderr.strip().split("\n"), seeds)

    def test_seeds_are_of_targets(self):
        places = os.listdir(self.place) + os.listdir(os.path.join(FUZZ, "seeds"))
        self.assertLessEqual(set(places), set(TARGETS))

    def test_a_file_that_is_not_there_is_no_success(self):
        self.assertNotEqual(replay(TARGETS[0], os.path.join(self.place, "nothing")).returncode, 0)
        self.assertNotEqual(replay(TARGETS[0]).returncode, 0)


def add_test(target):
    def test(self):
        self.take_all(target)

    setattr(Fuzz, f"test_{target}_takes_every_seed_whole_and_cut", test)


for name in TARGETS:
    add_test(name)

if __name__ == "__main__":
    unittest.main()
