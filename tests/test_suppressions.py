# SPDX-License-Identifier: MIT
"""A checker that is told to be silent is told why, and CONTRIBUTING knows how often."""

import os
import subprocess
import tempfile
import unittest

from harness import ROOT

PROGRAM = os.path.join(ROOT, "tests", "suppressions")
# Put together here, so that this file has none.
NO_LINT = "NO" + "LINT"
DISABLE = "shellcheck " + "disable=SC2086"
OFF = "-Wno" + "-shadow"


class Suppressions(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = place.name
        self.write("CONTRIBUTING", "Suppressions: 1\n")

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def look(self, root=None):
        return subprocess.run(
            ["/usr/bin/python3", PROGRAM, "--root", root or self.root],
            capture_output=True,
            text=True,
            check=False,
        )

    def refused(self, said):
        done = self.look()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(said, done.stderr)

    def test_each_of_this_tree_has_a_reason_and_contributing_their_number(self):
        done = self.look(ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertGreater(len(done.stdout.splitlines()), 10)

    def test_one_with_a_reason_is_listed_with_it(self):
        for name, text in (
            ("a.c", f"int x; /* {NO_LINT}(bugprone-x): the test wants it */\n"),
            ("a.sh", f"# {DISABLE} # the test wants it\n"),
            ("Makefile", f"# {OFF}: the test wants it\nall: ; cc {OFF}\n"),
        ):
            with self.subTest(name):
                self.write(name, text)
                done = self.look()
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("the test wants it", done.stdout)
                os.unlink(os.path.join(self.root, name))

    def test_one_without_a_reason_is_refused(self):
        for name, text in (
            ("a.c", f"int x; // {NO_LINT}\n"),
            ("a.h", f"int x; /* {NO_LINT}(bugprone-x) */\n"),
            ("a.sh", f"# {DISABLE}\n"),
            ("b", f"#!/bin/sh\n# {DISABLE}\n"),
            ("Makefile", f"all: ; cc {OFF}\n"),
        ):
            with self.subTest(name + text):
                self.write(name, text)
                self.refused("no reason is given")
                os.unlink(os.path.join(self.root, name))

    def test_another_number_is_refused(self):
        self.refused("CONTRIBUTING tells of 1, there are 0")
        self.write("a.sh", f"# {DISABLE} # why\n" * 2)
        self.refused("CONTRIBUTING tells of 1, there are 2")
        self.write("CONTRIBUTING", "")
        self.refused("CONTRIBUTING tells of no number, there are 2")


if __name__ == "__main__":
    unittest.main()
