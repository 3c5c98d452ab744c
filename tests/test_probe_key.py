# SPDX-License-Identifier: MIT
"""A verdict of an earlier start holds while nothing that it depends on has changed."""

import copy
import json
import os
import subprocess
import time
import unittest

import unconfined
from harness import BUILD, Daemon, make_plugin, write

PLATFORM = {
    "name": "x",
    "devices": [
        {
            "id": "cpu",
            "kind": "cpu",
            "vendor": "x86-64",
            "arch": "2.0",
            "features": ["sse4_1", "sse4_2"],
        },
        {"id": "gpu0", "kind": "gpu", "vendor": "nvidia", "arch": "8.0", "driver": "550.1"},
    ],
}


def library(path, value):
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-Wl,-soname,{os.path.basename(path)}"]
        + ["-x", "c", "-", "-o", path + ".new"],
        input=f"int helper(void) {{ return {value}; }}",
        text=True,
        check=True,
    )
    then = time.time() - 3600
    os.utime(path + ".new", (then, then))
    os.rename(path + ".new", path)


class Key(unittest.TestCase):
    """Each change on its own: workers are asked; and not again when nothing changes."""

    def setUp(self):
        self.daemon = Daemon(start=False, platform=PLATFORM)
        self.addCleanup(self.daemon.close)
        self.helper = os.path.join(self.daemon.plugin_dir, "libhelper.so.1")
        library(self.helper, 1)
        self.make("1.0.0")
        self.daemon.manifest("x")
        self.assertGreater(self.started(), 0)
        self.assertEqual(self.started(), 0)

    def make(self, version):
        make_plugin(
            self.daemon.library_path("x"),
            "x",
            version=version,
            before="extern int helper(void);",
            body="(void)helper();",
            flags=[self.helper, "-Wl,-rpath,$ORIGIN"],
        )

    def started(self):
        """Starts plugind and ends it; how many workers that took."""
        self.daemon.start()
        status = self.daemon.settle()
        self.assertEqual(status["plugins"]["active"], 1, self.daemon.log())
        self.daemon.stop()
        return status["workers"]["started"]

    def asks_again(self, what):
        self.assertGreater(self.started(), 0, what)
        self.assertEqual(self.started(), 0, what)

    def platform(self, change):
        value = copy.deepcopy(PLATFORM)
        change(value["devices"])
        write(self.daemon.platform, json.dumps(value))

    def test_t55_each_fact_of_the_platform(self):
        for what, change in (
            ("a feature more", lambda d: d[0]["features"].append("ssse3")),
            ("a feature less", lambda d: d[0]["features"].pop()),
            ("another level", lambda d: d[0].update(arch="3.0")),
            ("another driver", lambda d: d[1].update(driver="550.2")),
            ("another GPU", lambda d: d[1].update(arch="9.0")),
            ("no GPU", lambda d: d.pop()),
        ):
            self.platform(change)
            self.asks_again(what)

    def test_t55_the_library_and_what_it_needs(self):
        self.make("2.0.0")
        self.asks_again("another library")
        library(self.helper, 2)
        self.asks_again("another dependency")

    def test_t55_this_kplug(self):
        self.daemon.program = os.path.join(BUILD, "tests", "peers", "+1", "plugind")
        self.asks_again("a later version")
        # What each of them found out is kept.
        self.daemon.program = os.path.join(BUILD, "plugind")
        self.assertEqual(self.started(), 0)

    def test_t55_by_what_workers_are_confined(self):
        for calls in ((unconfined.LANDLOCK,), unconfined.ALL):
            self.daemon.without = calls
            self.asks_again(calls)
        self.daemon.without = ()
        self.assertEqual(self.started(), 0)

    def test_t55_what_is_asked_of_signatures(self):
        self.daemon.options = ["--signatures", "warn"]
        self.asks_again("a policy")
        self.daemon.options = []
        self.assertEqual(self.started(), 0)

    def test_t55_what_no_verdict_depends_on(self):
        for options in (["--log-level", "debug"], ["--strikes", "5"], ["--rescan-s", "60"]):
            self.daemon.options = options
            self.assertEqual(self.started(), 0, options)
        self.daemon.manifest("x", priority_offset=1)
        self.assertEqual(self.started(), 0)


if __name__ == "__main__":
    unittest.main()
