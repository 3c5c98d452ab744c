# SPDX-License-Identifier: MIT
"""Plugins that live only where they are started are looked at all the same."""

import json
import os
import socket
import tempfile
import unittest

from harness import CRASH, EXIT, HANG, Daemon, make_plugin, write

START = """
#include <signal.h>
static int start(const struct kp_host *host, const char *config, void **state,
    struct kp_error *error) { %s; return KP_OK; }
"""
# What start does; each would be noticed if it was called.
STARTS = {
    "aborts": "abort()",
    "hangs": "for (;;) pause()",
    "leaves": "exit(0)",
    "needs a host": "*state = host->context; raise(SIGSEGV)",
}
CONSTRUCTORS = {"crash": CRASH, "exit": EXIT, "hang": HANG}


class Started(unittest.TestCase):
    """Where start would do harm: no command and no probe calls it."""

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def library(self, name, start):
        path = os.path.join(self.daemon.place, name + ".so")
        make_plugin(path, name, before=START % start, start="start")
        return path

    def test_t30_no_command_calls_it(self):
        for number, (does, start) in enumerate(STARTS.items()):
            name = f"p{number}"
            path = self.library(name, start)
            manifest = os.path.join(self.daemon.place, name + ".json")
            write(manifest, json.dumps({"library": path}))
            for words in (
                ["info", path],
                ["check", "--strict", path],
                ["check", "--probe", manifest, path],
                ["load", path],
                ["info", name],
                ["why", "elementwise/square"],
                ["retry", name],
            ):
                with self.subTest(start=does, words=words):
                    done = self.daemon.ctl(*words)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(self.daemon.plugins()[name]["state"], "active")
            self.assertEqual(self.daemon.ctl("unload", name).returncode, 0)

    def test_t30_the_probe_at_a_start_and_after_it_does_not(self):
        for number, (does, start) in enumerate(STARTS.items()):
            with self.subTest(start=does):
                self.daemon.manifest(f"q{number}", library=self.library(f"q{number}", start))
        self.daemon.call("Reload")
        states = {n: p["state"] for n, p in self.daemon.plugins().items()}
        self.assertEqual(states, dict.fromkeys(states, "active"))
        self.assertEqual(len(states), len(STARTS))


class Inspected(unittest.TestCase):
    """Where loading it would do harm: who only looks does not load it."""

    def test_t30_who_only_looks_loads_nothing(self):
        for name, before in CONSTRUCTORS.items():
            with tempfile.TemporaryDirectory() as place, Daemon() as daemon:
                path = os.path.join(place, name + ".so")
                make_plugin(path, name, before=before)
                for words in (["info", path], ["check", path]):
                    with self.subTest(constructor=name, words=words):
                        done = daemon.ctl(*words)
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                        self.assertNotIn("failed", done.stdout)


class Named(unittest.TestCase):
    """What is named on a command line and is no file holds nobody up."""

    def made(self, place, kind):
        path = os.path.join(place, kind)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "directory":
            os.mkdir(path)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path)
        else:
            targets = {"device": "/dev/zero", "loop": "loop", "dangling": "/nowhere/at/all"}
            os.symlink(targets[kind], path)
        return path

    def test_t01_t74_it_is_refused_with_2(self):
        with Daemon() as daemon:
            for kind in ("fifo", "directory", "socket", "device", "loop", "dangling"):
                path = self.made(daemon.place, kind)
                for words in (
                    ["diff", path],
                    ["load", path],
                    ["bench", "elementwise/square", "--compare", path],
                ):
                    with self.subTest(kind=kind, words=words):
                        done = daemon.ctl(*words)
                        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                        self.assertTrue(done.stderr.startswith(f"pluginctl: {words[0]}: "))


if __name__ == "__main__":
    unittest.main()
