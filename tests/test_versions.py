# SPDX-License-Identifier: MIT
"""pluginctl and plugind of different versions: it works, or both versions are named.

Peers are built from the same objects with another interface and number (tests/peers).
"""

import json
import os
import subprocess
import unittest

from fake_plugind import Fake
from harness import BUILD, Daemon, kernel
from pluginctl import Case, call

STEPS = ("-2", "-1", "+1", "+2")
NAMES = {"-2": "m2", "-1": "m1", "+1": "p1", "+2": "p2"}
SQUARE = "elementwise/square"
WORK = (
    ["list"],
    ["info", "fast"],
    ["kernels"],
    ["select", SQUARE],
    ["why", SQUARE],
    ["status"],
    ["devices"],
    ["is-enabled", "fast"],
    ["disable", "fast"],
    ["enable", "fast"],
    ["reload"],
    ["clients"],
)


def peer(step, program):
    return os.path.join(BUILD, "tests/peers", step, program)


class Peers(Case):
    def daemon_of(self, step):
        daemon = self.enterContext(Daemon(program=peer(step, "plugind")))
        daemon.add("fast", [kernel(priority=10)])
        daemon.call("Reload")
        daemon.settle()
        return daemon

    def ctl_of(self, step, *args, daemon):
        return subprocess.run(
            [peer(step, "pluginctl"), *args],
            capture_output=True,
            check=False,
            env=dict(os.environ, KPLUG_SOCKET=daemon.socket),
        )

    def names_both(self, text, step):
        self.assertRegex(text, r"pluginctl is \S+ \(protocol 1\)")
        self.assertIn(f"plugind is 0.1.0+peer.{NAMES[step]} (protocol {1 + int(step)})", text)

    def test_t75_what_every_version_has_works_with_each_daemon(self):
        for step in STEPS:
            daemon = self.daemon_of(step)
            for args in WORK:
                with self.subTest(plugind=step, args=args):
                    done = call(*args, socket=daemon.socket)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_t75_what_every_version_has_works_with_each_tool(self):
        daemon = self.enterContext(Daemon())
        daemon.add("fast", [kernel(priority=10)])
        daemon.call("Reload")
        daemon.settle()
        for step in STEPS:
            for args in WORK:
                with self.subTest(pluginctl=step, args=args):
                    done = self.ctl_of(step, *args, daemon=daemon)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_t75_a_method_that_an_older_daemon_lacks_names_both_versions(self):
        for step, args in (
            ("-1", ["metrics"]),
            ("-2", ["metrics"]),
            ("-1", ["incidents"]),
            ("-2", ["pins"]),
            ("-2", ["fingerprint"]),
        ):
            daemon = self.daemon_of(step)
            with self.subTest(plugind=step, args=args):
                done = call(*args, socket=daemon.socket)
                self.assertEqual(done.returncode, 7)
                self.names_both(done.stderr.decode(), step)
                done = call("--json", *args, socket=daemon.socket)
                self.names_both(json.loads(done.stdout)["error"]["message"], step)

    def test_t75_a_parameter_that_an_older_daemon_lacks_names_both_versions(self):
        for step, args in (
            ("-1", ["list", "--all"]),
            ("-2", ["list", "--all"]),
            ("-2", ["disable", "fast", "--runtime"]),
        ):
            daemon = self.daemon_of(step)
            with self.subTest(plugind=step, args=args):
                done = call(*args, socket=daemon.socket)
                self.assertNotEqual(done.returncode, 0)
                self.names_both(done.stderr.decode(), step)
                if args[0] == "disable":
                    self.assertEqual(call("is-enabled", "fast", socket=daemon.socket).returncode, 0)

    def test_t75_version_answers_whatever_the_other_end_is(self):
        for step in STEPS:
            daemon = self.daemon_of(step)
            with self.subTest(step=step):
                text = self.good(call("version", socket=daemon.socket))
                self.assertIn("0.1.0, protocol 1\n", text)
                self.assertIn(f"0.1.0+peer.{NAMES[step]}, protocol {1 + int(step)}", text)
                other = self.ctl_of(step, "version", "--json", daemon=daemon)
                document = json.loads(other.stdout)
                self.assertEqual(document["client"]["protocol"], 1 + int(step))

    def test_t75_a_reply_that_lacks_what_is_needed_names_both_versions(self):
        with Fake(List={"generation": 1}) as fake:
            done = call("list", socket=fake.path)
            self.assertEqual(done.returncode, 7)
            self.assertRegex(done.stderr.decode(), r"pluginctl is .* \(protocol 1\), plugind is ")

    def test_t75_members_that_a_newer_daemon_adds_are_passed_on(self):
        with Fake(
            List={"plugins": [], "pending": [], "generation": 1, "newer": {"a": [1]}}
        ) as fake:
            self.good(call("list", socket=fake.path))
            document = self.document(call("--json", "list", socket=fake.path), 0)
            self.assertEqual(document["newer"], {"a": [1]})


if __name__ == "__main__":
    unittest.main()
