# SPDX-License-Identifier: MIT
"""`pluginctl check` and `info` of files: who has signed them, asked before plugind asks."""

import json
import os
import shutil
import tempfile
import unittest

import pluginctl
from harness import make_plugin
from signing import Signer


def call(*words, **more):
    return pluginctl.call(*words, text=True, **more)


CODES = {"unsigned", "unknown_signer", "wrong_signature", "signed", "bad_key_file"}


class Signed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="kplug-signed.")
        cls.addClassCleanup(shutil.rmtree, cls.made)
        make_plugin(os.path.join(cls.made, "p.so"), "p")

    def setUp(self):
        self.place = os.path.realpath(tempfile.mkdtemp(prefix="kplug-signed."))
        self.addCleanup(shutil.rmtree, self.place)
        self.keys = os.path.join(self.place, "keys")
        self.library = os.path.join(self.place, "dist", "p.so")
        os.mkdir(os.path.dirname(self.library))
        shutil.copy(os.path.join(self.made, "p.so"), self.library)
        self.signer = Signer(self.place)

    def check(self, *words, policy=(), keys=None, status=0):
        """code -> the finding, of those about signatures."""
        options = [f"--signatures={p}" for p in policy] + ["--trusted-keys", keys or self.keys]
        done = call("check", "--json", *options, *(words or [self.library]))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        found = json.loads(done.stdout)["findings"]
        return {f["code"]: f for f in found if f["code"] in CODES}

    def cut(self):
        with open(self.library + ".minisig", "r+", encoding="utf-8") as file:
            file.truncate(120)

    def change(self):
        with open(self.library, "ab") as file:
            file.write(b"\0")

    def test_what_is_not_signed_is_as_bad_as_the_policy_says(self):
        self.assertEqual(self.check(), {})
        for policy, severity, status in (("warn", "warning", 0), ("require", "error", 1)):
            with self.subTest(policy=policy):
                (found,) = self.check(policy=[policy], status=status).values()
                self.assertEqual((found["code"], found["severity"]), ("unsigned", severity))
                self.assertIn("minisign -Sm", found["message"])
                self.assertIn("minisign", found["remedy"])

    def test_who_has_signed_is_a_note(self):
        for legacy in (False, True):
            self.signer.sign(self.library, comment="built by us", legacy=legacy)
            self.signer.trust(self.keys)
            for policy in ((), ("warn",), ("require",)):
                found = self.check(policy=policy)
                self.assertEqual(list(found), ["signed"])
                self.assertEqual(found["signed"]["severity"], "note")
                for word in (self.signer.id, "built by us", "signer.pub"):
                    self.assertIn(word, found["signed"]["message"])

    def test_a_key_that_is_not_known_is_as_bad_as_the_policy_says(self):
        self.signer.sign(self.library)
        Signer(self.place, "other").trust(self.keys)
        for policy, severity, status in (
            ("off", "warning", 0),
            ("warn", "warning", 0),
            ("require", "error", 1),
        ):
            with self.subTest(policy=policy):
                found = self.check(policy=[policy], status=status)
                self.assertEqual(list(found), ["unknown_signer"])
                self.assertEqual(found["unknown_signer"]["severity"], severity)
                self.assertIn(self.signer.id, found["unknown_signer"]["message"])

    def test_a_wrong_signature_is_an_error_whatever_is_asked(self):
        self.signer.trust(self.keys)
        for damage in (self.cut, self.change):
            self.signer.sign(self.library)
            self.check()
            damage()
            for policy in ((), ("warn",), ("require",)):
                found = self.check(policy=policy, status=1)
                self.assertEqual(list(found), ["wrong_signature"])
                self.assertEqual(found["wrong_signature"]["severity"], "error")
        os.unlink(self.library + ".minisig")
        os.mkfifo(self.library + ".minisig")
        self.assertEqual(list(self.check(status=1)), ["wrong_signature"])

    def test_keys_that_are_none_or_open_to_others_are_told(self):
        self.signer.sign(self.library)
        path = self.signer.trust(self.keys)
        with open(os.path.join(self.keys, "none.pub"), "w", encoding="utf-8") as file:
            file.write("no key")
        self.assertEqual(sorted(self.check()), ["bad_key_file", "signed"])
        os.chmod(path, 0o666)
        done = call("check", "--trusted-keys", self.keys, self.library)
        self.assertIn("key_not_trusted", done.stdout)
        self.assertIn("chmod go-w", done.stdout)

    def test_a_directory_is_judged_by_the_policy_of_its_manifests(self):
        dist = os.path.dirname(self.library)
        with open(os.path.join(dist, "p.json"), "w", encoding="utf-8") as file:
            json.dump({"library": "p.so"}, file)
        rows = (
            ((f"{dist}=require",), ["unsigned"], 1),
            (("require", f"{dist}=off"), [], 0),
            (("off", f"{self.place}=require"), [], 0),
        )
        for policy, codes, status in rows:
            with self.subTest(policy=policy):
                self.assertEqual(list(self.check(dist, policy=policy, status=status)), codes)
        self.signer.sign(self.library)
        self.signer.trust(self.keys)
        self.assertEqual(list(self.check(dist, policy=rows[0][0])), ["signed"])

    def test_a_relative_directory_of_keys_is_below_the_working_directory(self):
        self.signer.sign(self.library)
        self.signer.trust(self.keys)
        done = call("check", "--trusted-keys", "keys", "dist/p.so", cwd=self.place)
        self.assertIn("note: signed", done.stdout)

    def test_sarif_has_the_same(self):
        done = call("check", "--sarif", "--signatures=require", self.library)
        self.assertEqual(done.returncode, 1)
        (run,) = json.loads(done.stdout)["runs"]
        found = [(r["ruleId"], r["level"]) for r in run["results"]]
        self.assertIn(("unsigned", "error"), found)

    def test_a_policy_that_is_none_is_refused(self):
        for wrong in ("on", "dist=require", "/x="):
            done = call("check", f"--signatures={wrong}", self.library)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("off, warn or require", done.stderr)

    def test_more_policies_than_are_kept_are_told_as_such(self):
        many = [f"--signatures=/d{i}=warn" for i in range(65)]
        done = call("check", *many, self.library)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("more than 64", done.stderr)


if __name__ == "__main__":
    unittest.main()
