# SPDX-License-Identifier: MIT
"""`pluginctl install` beside others of its kind, after killed ones, and among traps."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, CRASH, Daemon, make_plugin

NAME = "fast"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="kplug-harm.")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.first, cls.second, cls.bad = (
            os.path.join(cls.place, name + ".so") for name in ("first", "second", "bad")
        )
        make_plugin(cls.first, NAME)
        make_plugin(cls.second, NAME, version="2.0.0")
        make_plugin(cls.bad, NAME, before=CRASH)

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.library = self.daemon.library_path(NAME)
        self.manifest = self.daemon.manifest_path(NAME)

    def install(self, path, status=0):
        done = self.daemon.ctl("install", "--force", path)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def whole(self, path=None):
        """Both files are there, belong together and work; nothing lies beside them."""
        with open(self.manifest, encoding="utf-8") as file:
            said = json.load(file)["sha256"]
        self.assertEqual(said, digest(self.library))
        if path:
            self.assertEqual(said, digest(path))
        self.assertEqual(os.listdir(self.daemon.plugin_dir), [f"{NAME}.so"])
        self.assertEqual(os.listdir(self.daemon.manifest_dirs[0]), [f"{NAME}.json"])
        self.assertEqual(self.daemon.plugins()[NAME]["state"], "active")

    def beside(self, path, suffix):
        return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}{suffix}")


class Others(Case):
    def start(self, *words):
        command = [os.path.join(BUILD, "pluginctl"), "--socket", self.daemon.socket, *words]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.daemon.environment(),
        )

    def finish(self, runs):
        """Their statuses."""
        said = [run.communicate()[1] for run in runs]
        return [run.returncode for run in runs], said

    def test_several_at_once_follow_one_another(self):
        paths = [self.first, self.second] * 2
        statuses, said = self.finish([self.start("install", "--force", p) for p in paths])
        self.assertEqual(statuses, [0] * len(paths), said)
        self.whole()

    def test_of_several_first_ones_one_is_first(self):
        runs = [self.start("install", p) for p in (self.first, self.second, self.first)]
        self.assertEqual(sorted(self.finish(runs)[0]), [0, 2, 2])
        self.whole()

    def test_one_that_is_refused_takes_nothing_of_another(self):
        self.install(self.first)
        runs = [self.start("install", "--force", p) for p in (self.bad, self.second, self.bad)]
        statuses, said = self.finish(runs)
        self.assertEqual(statuses, [7, 0, 7], said)
        self.whole(self.second)

    def test_uninstall_beside_it_leaves_both_files_or_none(self):
        self.install(self.first)
        runs = [self.start("uninstall", NAME), self.start("install", "--force", self.second)]
        self.finish(runs)
        if os.path.exists(self.manifest):
            self.whole(self.second)
        else:
            self.assertEqual(os.listdir(self.daemon.plugin_dir), [])


class Killed(Case):
    """As a run leaves it that is killed there; the next is refused, and mends it."""

    def keep(self, path):
        os.link(path, self.beside(path, ".old"))

    def test_before_anything_is_replaced(self):
        self.install(self.first)
        self.keep(self.library)
        self.install(self.bad, 7)
        self.whole(self.first)

    def test_with_the_library_replaced_and_the_manifest_not(self):
        self.install(self.first)
        self.keep(self.library)
        self.keep(self.manifest)
        shutil.copy2(self.second, self.library + ".new")
        os.rename(self.library + ".new", self.library)
        self.install(self.bad, 7)
        self.whole(self.first)

    def test_with_both_replaced(self):
        self.install(self.second)
        for path, old in ((self.library, self.first), (self.manifest, self.manifest)):
            shutil.copy2(old, self.beside(path, ".old"))
        self.install(self.bad, 7)
        self.whole(self.second)

    def test_while_it_writes(self):
        self.install(self.first)
        self.keep(self.library)
        self.keep(self.manifest)
        for path in (self.library, self.manifest):
            with open(self.beside(path, ".new"), "w", encoding="utf-8") as file:
                file.write("half")
        with open(os.path.join(self.daemon.manifest_dirs[0], f".{NAME}.lock"), "wb"):
            pass
        self.install(self.second)
        self.whole(self.second)


class Traps(Case):
    def traps(self, victim):
        return {
            "link": lambda at: os.symlink(victim, at),
            "dangling": lambda at: os.symlink(victim + ".none", at),
            "name": lambda at: os.link(victim, at),
            "pipe": os.mkfifo,
        }

    def test_what_lies_in_the_place_of_its_files_gives_way(self):
        victim = os.path.join(self.daemon.place, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("needed")
        lock = os.path.join(self.daemon.manifest_dirs[0], f".{NAME}.lock")
        places = [self.beside(self.library, ".new"), self.beside(self.manifest, ".new"), lock]
        places += [self.library, self.manifest]
        self.install(self.first)
        for kind, trap in self.traps(victim).items():
            with self.subTest(kind=kind):
                for place in places:
                    if os.path.lexists(place):
                        os.unlink(place)
                    trap(place)
                self.install(self.second)
                self.whole(self.second)
                with open(victim, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "needed")
                self.assertFalse(os.path.exists(victim + ".none"))

    def test_where_there_is_no_room_all_is_as_it_was(self):
        self.install(self.first)
        large = os.path.join(self.place, "large.so")
        shutil.copy(self.second, large)
        with open(large, "ab") as file:
            file.write(bytes(1 << 20))
        program = os.path.join(BUILD, "pluginctl")
        # A limit of 256 KiB a file stands for a full disk.
        script = 'trap "" XFSZ; ulimit -f 256; exec "$@"'
        words = [program, "--socket", self.daemon.socket, "install", "--force", large]
        done = subprocess.run(
            ["bash", "-c", script, "bash", *words],
            capture_output=True,
            text=True,
            env=self.daemon.environment(),
            check=False,
        )
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("File too large", done.stderr)
        self.whole(self.first)


if __name__ == "__main__":
    unittest.main()
