# SPDX-License-Identifier: MIT
"""One digest of all that decides: equal where machines decide alike, and only there."""

import hashlib
import json
import os
import shutil
import unittest

import jsonschema
from harness import BUILD, Daemon, kernel
from varlink import VarlinkError


class Fingerprint(unittest.TestCase):
    def machine(self, **options):
        daemon = Daemon(**options)
        self.addCleanup(daemon.close)
        daemon.add("a", [kernel("one", priority=12, traits={"n": {"min": 4}})])
        daemon.add("b", [kernel("two", priority=8, solution="fast")])
        daemon.call("Reload")
        return daemon

    def twin(self, daemon):
        """Another plugind with the same plugins."""
        other = Daemon()
        self.addCleanup(other.close)
        for name in ("a", "b"):
            shutil.copy2(daemon.library_path(name), other.library_path(name))
            other.manifest(name)
        other.call("Reload")
        return other

    def digest(self, daemon, **parameters):
        return daemon.call("Fingerprint", **parameters)["digest"]

    def save(self, daemon, *arguments):
        path = os.path.join(daemon.place, "fingerprint.json")
        done = daemon.ctl("--json", "fingerprint", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        return path

    def test_machines_with_the_same_plugins_and_decisions_are_equal(self):
        daemon = self.machine()
        other = self.twin(daemon)
        self.assertEqual(self.digest(daemon), self.digest(other))
        self.assertNotEqual(
            daemon.call("Status")["socket"], other.call("Status")["socket"], "they are two"
        )

    def test_the_order_of_decisions_and_their_reasons_do_not_matter(self):
        daemon = self.machine()
        other = self.twin(daemon)
        for machine, names in ((daemon, ("a", "b")), (other, ("b", "a"))):
            for name in names:
                machine.call("Disable", name=name, reason=f"{names}")
        self.assertEqual(self.digest(daemon), self.digest(other))

    def test_what_is_decided_changes_it_and_taking_it_back_restores_it(self):
        daemon = self.machine()
        before = self.digest(daemon)
        steps = (
            ("Disable", {"name": "a/one"}, "Enable", {"name": "a/one"}),
            ("Disable", {"name": "b"}, "Enable", {"name": "b"}),
            (
                "Pin",
                {"operation": "elementwise/square", "choice": "b/two"},
                "Unpin",
                {"operation": "elementwise/square"},
            ),
            (
                "Disable",
                {"name": "elementwise/square", "solution": "fast"},
                "Enable",
                {"name": "elementwise/square", "solution": "fast"},
            ),
        )
        seen = {before}
        for do, what, undo, back in steps:
            with self.subTest(do=do, what=what):
                daemon.call(do, what)
                self.assertNotIn(self.digest(daemon), seen)
                seen.add(self.digest(daemon))
                daemon.call(undo, back)
                self.assertEqual(self.digest(daemon), before)

    def test_another_library_under_the_same_names_changes_it(self):
        daemon = self.machine()
        before = self.digest(daemon)
        daemon.add("b", [kernel("two", priority=8, solution="fast")], author="another")
        daemon.call("Reload")
        self.assertNotEqual(self.digest(daemon), before)

    def test_it_survives_a_restart(self):
        daemon = self.machine()
        daemon.call("Disable", name="a")
        before = self.digest(daemon, settle_ms=60000)
        daemon.restart()
        self.assertEqual(self.digest(daemon, settle_ms=60000), before)

    def test_the_digest_is_that_of_the_lines(self):
        daemon = self.machine()
        reply = daemon.call("Fingerprint", lines=True)
        text = "".join(line + "\n" for line in reply["lines"])
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), reply["digest"])
        self.assertEqual(reply["lines"], sorted(reply["lines"]))
        (line,) = [l for l in reply["lines"] if " a/one " in l]
        self.assertTrue(line.startswith("elementwise/square x=f32,y=f32 a/one sha256:"), line)
        self.assertIn("[n >= 4]", line)
        self.assertNotIn("lines", daemon.call("Fingerprint"))

    def test_a_device_has_its_own_and_an_unknown_one_is_an_error(self):
        gpu = {"id": "gpu0", "kind": "gpu", "vendor": "nvidia", "arch": "9.0"}
        cpu = {"id": "cpu", "kind": "cpu", "vendor": "x86-64"}
        daemon = Daemon(platform={"name": "both", "devices": [cpu, gpu]})
        self.addCleanup(daemon.close)
        daemon.add("c", [kernel("one", capability={"device": "cpu"})])
        daemon.add("g", [kernel("two", capability={"device": "gpu"})])
        daemon.call("Reload")
        lines = {
            device: daemon.call("Fingerprint", device=device, lines=True)["lines"]
            for device in ("cpu", "gpu0")
        }
        self.assertTrue(any(" c/one " in l for l in lines["cpu"]))
        self.assertFalse(any(" g/two " in l for l in lines["cpu"]))
        self.assertTrue(any(" g/two " in l for l in lines["gpu0"]))
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("Fingerprint", device="gpu7")
        self.assertEqual(caught.exception.code, "unknown_device")

    # -- the commands

    def test_fingerprint_prints_the_digest_alone(self):
        daemon = self.machine()
        done = daemon.ctl("fingerprint")
        self.assertEqual(done.stdout, self.digest(daemon) + "\n")

    def test_diff_of_a_machine_that_decides_alike_says_nothing_and_exits_0(self):
        daemon = self.machine()
        other = self.twin(daemon)
        done = other.ctl("diff", self.save(daemon))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("nothing differs", done.stderr)

    def test_diff_names_what_is_decided_differently_and_exits_1(self):
        daemon = self.machine()
        path = self.save(daemon)
        daemon.call("Disable", name="a")
        done = daemon.ctl("diff", path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^- elementwise/square x=f32,y=f32 a/one ")
        self.assertRegex(done.stdout, r"(?m)^\+ disabled a$")
        self.assertEqual(len(done.stdout.splitlines()), 2)
        document = json.loads(daemon.ctl("--json", "diff", path).stdout)
        with open(os.path.join(BUILD, "schemas", "diff.json"), encoding="utf-8") as file:
            jsonschema.validate(document, json.load(file))
        self.assertEqual(document["equal"], False)
        self.assertEqual(document["added"], ["disabled a"])
        self.assertEqual(len(document["missing"]), 1)

    def test_diff_compares_the_device_that_the_file_is_of(self):
        daemon = self.machine()
        path = self.save(daemon, "--device", "cpu")
        done = daemon.ctl("--json", "diff", path)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(json.loads(done.stdout)["device"], "cpu")

    def test_diff_of_a_file_that_is_no_fingerprint_is_an_error_that_names_it(self):
        daemon = self.machine()
        path = os.path.join(daemon.place, "bad.json")
        for text in ("", "[]", "{}", '{"digest": "x", "lines": [1]}', '{"lines": []}'):
            with self.subTest(text=text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                done = daemon.ctl("diff", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(path, done.stderr)
        done = daemon.ctl("diff", path + ".absent")
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
