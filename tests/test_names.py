# SPDX-License-Identifier: MIT
"""T53: a name that nobody has is never taken in silence: on a command line, in a list, in a
file."""

import json
import os
import unittest

from harness import Daemon, kernel, write

SQUARE = "elementwise/square"

# words, exit status, code, what is offered
TYPOS = [
    (["disable", "squar"], 5, "no_such_plugin", "square"),
    (["enable", "sqare"], 5, "no_such_plugin", "square"),
    (["is-enabled", "Square1"], 5, "no_such_plugin", "square"),
    (["info", "othr"], 5, "no_such_plugin", "other"),
    (["retry", "othr"], 5, "no_such_plugin", "other"),
    (["reload", "oter"], 5, "no_such_plugin", "other"),
    (["mask", "sqare"], 5, "no_such_plugin", "square"),
    (["disable", "square/sqare"], 5, "no_such_kernel", "square/square"),
    (["select", "elementwise/sqare"], 5, "unknown_operation", SQUARE),
    (["why", "elementwise/sqare"], 5, "unknown_operation", SQUARE),
    (["kernels", "elementwis"], 5, "unknown_operation", "elementwise"),
    (["list", "--state", "actve"], 2, "unknown_state", "active"),
    (["select", SQUARE, "--override", "squar/square"], 5, "no_such_kernel", "square/square"),
    (["select", SQUARE, "--objective", "thruput"], 2, "unknown_objective", "throughput"),
    (["select", SQUARE, "--on", "nvida-9.0"], 2, "unknown_platform", "nvidia-9.0"),
    (["devices", "cpus"], 5, "no_such_device", "cpu"),
]


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.daemon.add("square")
        cls.daemon.add("other", [kernel("fast")])
        cls.daemon.call("Reload")
        cls.daemon.settle()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def test_t53_a_name_that_nobody_has_is_refused_and_the_nearest_offered(self):
        before = self.daemon.call("Status")["generation"]
        for words, status, code, offered in TYPOS:
            done = self.daemon.ctl("--json", *words)
            self.assertEqual(done.returncode, status, f"{words}: {done.stdout}")
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["code"], code, words)
            self.assertIn(f"did you mean {offered}?", error["message"], words)
        self.assertEqual(self.daemon.call("Status")["generation"], before)

    def test_t53_names_of_a_list_that_nobody_has_are_warned_of(self):
        for name, offered in (("sqare", "square"), ("othr/fast", "other/fast")):
            for command in ("select", "why"):
                done = self.daemon.ctl("--json", command, SQUARE, "--without", name)
                self.assertEqual(done.returncode, 0, done.stdout)
                warnings = json.loads(done.stdout)["warnings"]
                said = [w["message"] for w in warnings if w["code"] == "unknown_without"]
                self.assertEqual(len(said), 1, warnings)
                self.assertIn(name, said[0])
                self.assertIn(offered, said[0])

    def test_t53_each_of_several_names_is_warned_of(self):
        names = ["--without", "sqare", "--without", "nobody-at-all", "--without", "other/fsat"]
        done = self.daemon.ctl("--json", "select", SQUARE, *names)
        said = [
            w["message"]
            for w in json.loads(done.stdout)["warnings"]
            if w["code"] == "unknown_without"
        ]
        self.assertEqual(len(said), 3, said)
        self.assertIn("did you mean square?", said[0])
        self.assertNotIn("did you mean", said[1])
        self.assertIn("did you mean other/fast?", said[2])

    def test_t53_a_name_in_the_decisions_that_nobody_has_is_warned_of(self):
        with Daemon(start=False) as daemon:
            daemon.add("square")
            entries = [
                {"name": name, "reason": "", "at": 1, "uid": 0}
                for name in ("sqare", "square/squar")
            ]
            document = {"format": "kplug-decisions/1", "pins": [], "enabled": []}
            os.mkdir(daemon.state_dir)
            write(
                os.path.join(daemon.state_dir, "decisions.json"),
                json.dumps({**document, "disabled": entries}),
            )
            daemon.start()
            said = [w for w in daemon.settle()["warnings"] if w["code"] == "unknown_name"]
            self.assertEqual(len(said), 2, said)
            for warning, name, offered in zip(
                said, ("sqare", "square/squar"), ("square", "square/square")
            ):
                self.assertIn(f"{name} is disabled", warning["message"])
                self.assertIn(f"did you mean {offered}?", warning["message"])


class Files(unittest.TestCase):
    def test_t53_a_key_of_the_configuration_that_nobody_knows_stops_the_start(self):
        with Daemon(start=False) as daemon:
            path = os.path.join(daemon.place, "plugind.json")
            for key, offered in (
                ("manifest_dirs", "manifest_dir"),
                ("log_lvel", "log_level"),
                ("driver_timeout", "driver_timeout_ms"),
            ):
                write(path, json.dumps({key: "x"}))
                for words in (["--config", path], ["--config", path, "--check-config"]):
                    done = daemon.run(daemon.command() + words)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(key, done.stderr)
                    self.assertIn(f"did you mean {offered}?", done.stderr)

    def test_t53_a_key_of_a_manifest_that_nobody_knows_rejects_it(self):
        with Daemon(start=False) as daemon:
            daemon.add("square")
            for key, offered in (
                ("enabeld", "enabled"),
                ("libary", "library"),
                ("time_out_ms", "timeout_ms"),
            ):
                daemon.manifest(f"typo-{offered}", library="square.so", **{key: True})
            daemon.start()
            for name, plugin in daemon.plugins().items():
                if name == "square":
                    continue
                self.assertEqual(plugin["state"], "rejected")
                self.assertEqual(plugin["reason"]["code"], "unknown_key")
                self.assertIn(name[len("typo-") :], plugin["reason"]["message"])


if __name__ == "__main__":
    unittest.main()
