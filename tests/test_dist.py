# SPDX-License-Identifier: MIT
"""`make dist`: the same bytes wherever it is made, and all that is needed to build."""

import os
import re
import subprocess
import tempfile
import unittest

from harness import ROOT
from test_install import files_below


class Dist(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-dist.")
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith("MAKE") and k not in ("BUILD", "CFLAGS", "SANITIZE")
        }
        # A clone asks a git of its own, which no -c reaches, whose the checkout is.
        self.env["GIT_CONFIG_GLOBAL"] = os.path.join(self.place, "gitconfig")
        with open(self.env["GIT_CONFIG_GLOBAL"], "w", encoding="utf-8") as file:
            file.write("[safe]\n\tdirectory = *\n")

    def run_in(self, tree, *command, umask=-1, check=True):
        done = subprocess.run(
            command, cwd=tree, env=self.env, umask=umask, capture_output=True, check=False
        )
        if check:
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        return done

    def git(self, *words, **keywords):
        return self.run_in(ROOT, "git", *words, **keywords)

    def dist(self, tree, umask=-1):
        """The bytes of its archive."""
        path = os.path.join(self.place, "made.tar.gz")
        self.run_in(tree, "make", "-s", "dist", f"DIST={path}", umask=umask)
        with open(path, "rb") as file:
            return file.read()

    def unpacked(self):
        self.dist(ROOT)
        self.run_in(self.place, "tar", "-xf", "made.tar.gz")
        (name,) = [n for n in os.listdir(self.place) if re.fullmatch(r"kplug-[0-9.]+", n)]
        return os.path.join(self.place, name)

    def test_two_clones_make_the_same_bytes(self):
        if self.git("rev-parse", "HEAD", check=False).returncode != 0:
            self.skipTest("this is no clone of a repository")
        archives = set()
        for name, umask in (("one", 0o022), ("another", 0o077), ("a third/of them", 0o002)):
            tree = os.path.join(self.place, name)
            os.makedirs(os.path.dirname(tree), exist_ok=True)
            self.git("clone", "-q", "--no-hardlinks", ROOT, tree, umask=umask)
            archives.add(self.dist(tree, umask))
        self.assertEqual(len(archives), 1)

    def test_it_has_every_file_and_makes_itself_again(self):
        tree = self.unpacked()
        found = files_below(tree)
        told = self.git("ls-files", check=False)
        if told.returncode == 0:
            self.assertEqual(found, sorted(told.stdout.decode().splitlines()))
        for name in ("README", "lib/base/build.c", "daemon/debian/rules", ".clang-format"):
            self.assertIn(name, found)
        with open(os.path.join(self.place, "made.tar.gz"), "rb") as file:
            first = file.read()
        self.assertEqual(self.dist(tree), first)

    def test_what_is_unpacked_builds(self):
        tree = self.unpacked()
        # All that is built has its sources there, and one part of each kind is built.
        self.run_in(tree, "make", "-n", "all", "tests")
        parts = [f"build/{name}" for name in ("plugins/openblas.so", "kplug.pc", "man/plugind.8")]
        self.run_in(tree, "make", "-s", *parts)
        for part in parts:
            self.assertTrue(os.path.exists(f"{tree}/{part}"), part)


if __name__ == "__main__":
    unittest.main()
