# SPDX-License-Identifier: MIT
"""What pluginctl --json prints is what the published schemas say: read by another validator."""

import json
import os
import unittest

import jsonschema

from harness import BUILD, CRASH, Daemon, kernel

GEMM = "gemm/mm"
SIGNATURE = ["a=f32,b=f32,c=f32"]


def schema(name):
    with open(os.path.join(BUILD, "schemas", name), encoding="utf-8") as file:
        return json.load(file)


def no_number_that_is_none(text):
    raise AssertionError(f"{text} in a JSON document")


class Replies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(start=False)
        cls.daemon.add("good", kernels=[kernel("mm", GEMM, signatures=SIGNATURE)])
        cls.daemon.add("other", kernels=[kernel("mm", GEMM, 12, signatures=SIGNATURE)])
        cls.daemon.add("broken", before=CRASH)
        cls.daemon.start()
        cls.daemon.settle()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def check(self, reply, *words, status=0):
        done = self.daemon.ctl("--json", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        document = json.loads(done.stdout, parse_constant=no_number_that_is_none)
        jsonschema.validate(document, schema(f"{reply}.json"))
        return document

    def test_replies_about_plugins_are_as_published(self):
        for words in (["list"], ["list", "--all"], ["list", "--state", "failed"]):
            self.check("reply.List", *words)
        for name in ("good", "broken"):
            self.check("reply.Info", "info", name)
        self.check("reply.Kernels", "kernels")
        self.check("reply.Kernels", "kernels", "gemm")
        self.check("reply.Status", "status")

    def test_a_library_alone_is_described_as_a_plugin_is(self):
        library = os.path.join(self.daemon.plugin_dir, "good.so")
        self.check("reply.Info", "info", library)
        here = self.check("reply.Info", "info", "good")["plugin"]
        alone = self.check("reply.Info", "info", library)["plugin"]
        self.assertEqual(set(here), set(alone))
        self.assertEqual(here["sha256"], alone["sha256"])
        self.assertEqual([k["name"] for k in alone["kernels"]], ["mm"])

    def test_decisions_are_as_published(self):
        self.check("reply.Select", "select", GEMM)
        self.check("reply.Explain", "why", GEMM)
        self.check("reply.Explain", "select", "--explain", GEMM, "--on", "nvidia-9.0")
        self.check("reply.Select", "select", GEMM, "--solution", "none", status=1)

    def test_changes_are_as_published(self):
        self.check("reply.Disable", "disable", "other", "--reason", 'a "test"\n\x1b[31m')
        self.check("reply.IsEnabled", "is-enabled", "other", status=1)
        self.check("reply.Info", "info", "other")
        self.check("reply.Enable", "enable", "other")
        self.check("reply.IsEnabled", "is-enabled", "other")
        self.check("reply.Reload", "reload")
        self.check("reply.Retry", "retry", "good")
        self.check("reply.Pin", "pin", GEMM, "good/mm")
        self.check("reply.Pins", "pins")
        self.check("reply.Monitor", "monitor", "--since", "0", "--count", "1")
        self.check("reply.Unpin", "unpin", GEMM)
        library = os.path.join(self.daemon.plugin_dir, "good.so")
        self.check("reply.Load", "load", library, "--name", "zz", status=1)
        self.check("reply.Unload", "unload", "zz")
        self.check("reply.Logs", "logs", "broken")
        self.check("reply.Clients", "clients")
        self.check("reply.Incidents", "incidents")
        self.check("reply.Fingerprint", "fingerprint")

    def test_what_pluginctl_composes_itself_is_as_published(self):
        self.check("version", "version")
        socket, self.daemon.socket = self.daemon.socket, "/nowhere/socket"
        self.assertIsNone(self.check("version", "version")["daemon"])
        self.daemon.socket = socket
        for command in ("disable", "enable"):
            document = self.check("changes", command, "good", "other")
            self.assertEqual([c["changed"] for c in document["changes"]], [True, True])
        self.check("answers", "is-enabled", "good", "other")
        self.check("answers", "is-enabled", "good", "broken", status=1)

    def test_a_mask_is_as_published(self):
        with Daemon(layers=2) as daemon:
            daemon.add("good", layer=1)
            daemon.call("Reload")
            for command, where in (("mask", str), ("mask", str), ("unmask", type(None))):
                document = json.loads(daemon.ctl("--json", command, "good").stdout)
                jsonschema.validate(document, schema("mask.json"))
                self.assertIsInstance(document["masked_in"], where)

    def test_a_benchmark_is_as_published(self):
        document = self.check("reply.Bench", "bench", GEMM, "--time", "0.01", status=1)
        jsonschema.validate(document, schema("bench.json"))
        # They write nothing.
        self.assertEqual({run["verdict"] for run in document["runs"]}, {"wrong"})

    def test_failures_are_as_published(self):
        self.check("error", "info", "godo", status=5)
        self.check("error", "select", "gemm/nm", status=5)
        self.check("error", "select", GEMM, "--sig", "a=f32", status=2)
        self.check("error", "no-such-command", status=2)
        socket, self.daemon.socket = self.daemon.socket, "/nowhere/socket"
        self.check("error", "list", status=3)
        self.daemon.socket = socket


if __name__ == "__main__":
    unittest.main()
