# SPDX-License-Identifier: MIT
"""Signatures, keys and policies that change: nothing comes back that is not taken any more."""

import base64
import os
import time
import unittest

from harness import make_plugin, wait_until
from signing import Signer
from test_signatures import Case

SQUARE = "elementwise/square"


class Rollback(Case):
    """An earlier generation is verified again, by the signature that was kept with it."""

    def versions(self, count=2, sign=True):
        """p in so many versions, signed by one key each where sign."""
        self.signers = [Signer(self.daemon.place, f"signer{i}") for i in range(count)]
        for i, signer in enumerate(self.signers):
            make_plugin(self.library(), "p", version=f"{i + 1}.0.0")
            if sign:
                signer.trust(self.keys)
                signer.sign(self.library())
            self.daemon.manifest("p")
            plugin = self.look()
            self.assertEqual((plugin["state"], plugin["version"]), ("active", f"{i + 1}.0.0"))

    def roll(self):
        self.daemon.call("Rollback", name="p")
        self.daemon.settle()
        return self.daemon.call("Info", name="p")["plugin"]

    def untrust(self, signer):
        os.unlink(os.path.join(self.keys, os.path.basename(signer.public)))

    def assert_nothing_runs(self, plugin, code):
        self.assertEqual((plugin["state"], plugin["reason"]["code"]), ("rejected", code))
        self.assertIsNone(self.daemon.select(SQUARE)["selected"])

    def test_one_that_was_signed_by_a_key_that_is_trusted_runs(self):
        self.versions()
        plugin = self.roll()
        self.assertEqual((plugin["state"], plugin["version"]), ("active", "1.0.0"))
        self.assertEqual(plugin["signature"]["key"], self.signers[0].id)
        self.daemon.restart()
        self.daemon.settle()
        plugin = self.daemon.call("Info", name="p")["plugin"]
        self.assertEqual((plugin["state"], plugin["version"]), ("active", "1.0.0"))

    def test_one_whose_key_is_not_trusted_any_more_does_not_run(self):
        self.versions()
        self.untrust(self.signers[0])
        self.assert_nothing_runs(self.roll(), "unknown_signer")
        self.signers[0].trust(self.keys)
        self.assertEqual(self.look()["state"], "active")

    def test_a_rollback_in_force_ends_with_its_key(self):
        self.versions()
        self.assertEqual(self.roll()["state"], "active")
        self.untrust(self.signers[0])
        self.assert_nothing_runs(self.look(), "unknown_signer")
        self.daemon.restart()
        self.daemon.settle()
        plugin = self.daemon.call("Info", name="p")["plugin"]
        self.assert_nothing_runs(plugin, "unknown_signer")

    def test_one_that_came_when_nothing_was_asked_does_not_run_under_require(self):
        for policy in ("off", "warn"):
            with self.subTest(policy=policy):
                self.policy(policy)
                self.versions(sign=False)
                self.assertEqual(self.roll()["state"], "active")
                self.daemon.stop()
                self.policy("require")
                plugin = self.look()
                self.assert_nothing_runs(plugin, "unsigned")
                self.assertIn("--release", plugin["reason"]["message"])
                self.daemon.call("Rollback", name="p", release=True)
                self.daemon.stop()

    def test_a_kept_signature_that_was_changed_does_not_help(self):
        changes = {
            "another's": lambda path, other: open(other, "rb").read(),
            "cut": lambda path, other: open(path, "rb").read()[:100],
            "empty": lambda path, other: b"",
        }
        self.versions()
        seals = os.path.join(self.daemon.state_dir, "store", ".seals")
        paths = {self.closure(1): None, self.closure(2): None}
        first, second = (os.path.join(seals, closure) for closure in paths)
        with open(first, "rb") as file:
            good = file.read()
        self.assertEqual(self.roll()["state"], "active")
        for what, change in changes.items():
            with self.subTest(what=what):
                content = change(first, second)
                with open(first, "wb") as file:
                    file.write(content)
                self.assert_nothing_runs(self.look(), "wrong_signature")
                with open(first, "wb") as file:
                    file.write(good)
                self.assertEqual(self.look()["state"], "active")

    def closure(self, number):
        generations = self.daemon.call("History", name="p")["generations"]
        return next(g["closure"] for g in generations if g["number"] == number)

    def test_a_signature_leaves_with_its_entry(self):
        self.daemon.options += ["--history", "1"]
        self.versions(3)
        seals = os.path.join(self.daemon.state_dir, "store", ".seals")
        wait_until(lambda: len(os.listdir(seals)) == 1, "earlier signatures to go")


class Start(Case):
    """The last table serves at a start, unless other signatures are asked for by now."""

    def before(self):
        """p runs, and the next look at it takes a while."""
        plugin = self.look()
        self.assertEqual(plugin["state"], "active")
        self.daemon.stop()
        now = time.time()
        os.utime(self.library(), (now, now))

    def served(self):
        self.daemon.start()
        selected = self.daemon.select(SQUARE)["selected"]
        said = "no plugin is served before" in self.daemon.log()
        self.assertEqual(said, selected is None)
        self.daemon.settle()
        return selected is not None

    def test_it_serves_where_nothing_has_changed(self):
        self.add_signed()
        self.before()
        self.assertTrue(self.served())

    def test_it_does_not_where_more_is_asked(self):
        for first in ((), ("off",), ("warn",), ("require", f"{self.daemon.manifest_dirs[0]}=off")):
            with self.subTest(first=first):
                self.policy(*first)
                self.daemon.add("p")
                self.before()
                self.policy("require")
                self.assertFalse(self.served())
                self.assertEqual(self.look()["state"], "rejected")
                self.daemon.stop()

    def test_it_does_not_where_keys_have_changed(self):
        key = os.path.join(self.keys, "signer.pub")
        changes = {
            "gone": lambda: os.unlink(key),
            "others may write it": lambda: os.chmod(key, 0o666),
            "damaged": lambda: open(key, "w", encoding="utf-8").close(),
            "another's": lambda: Signer(self.daemon.place, "other").trust(self.keys, "signer.pub"),
        }
        for what, change in changes.items():
            with self.subTest(what=what):
                self.add_signed()
                self.before()
                change()
                self.assertFalse(self.served())
                self.assertEqual(self.look()["reason"]["code"], "unknown_signer")
                self.daemon.stop()

    def test_a_key_that_came_and_went_is_not_overlooked(self):
        self.add_signed()
        self.look()
        other = Signer(self.daemon.place, "other")
        path = other.trust(self.keys)
        other.sign(self.library())
        self.assertEqual(self.look()["signature"]["key"], other.id)
        self.before()
        os.unlink(path)
        self.assertFalse(self.served())
        self.assertEqual(self.look()["reason"]["code"], "unknown_signer")

    def test_a_run_that_asked_for_nothing_in_between_counts(self):
        self.add_signed()
        self.look()
        self.daemon.stop()
        self.policy("off")
        make_plugin(self.library(), "p", version="6.6.6")
        self.before()
        self.policy("require")
        self.assertFalse(self.served())
        self.assertEqual(self.look()["reason"]["code"], "wrong_signature")


class Noticed(Case):
    """Without anybody asking."""

    def state(self, wanted):
        def is_so():
            plugin = self.daemon.call("Info", name="p")["plugin"]
            return plugin["state"] == wanted

        wait_until(is_so, f"p to be {wanted}", timeout=20)

    def test_keys_and_signatures_that_come_change_and_go(self):
        beside = self.add_signed()
        self.look()
        key = os.path.join(self.keys, "signer.pub")
        for path in (key, beside):
            with self.subTest(path=path):
                os.rename(path, path + ".away")
                self.state("rejected")
                os.rename(path + ".away", path)
                self.state("active")
                with open(path, encoding="utf-8") as file:
                    good = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write("nothing")
                self.state("rejected")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(good)
                self.state("active")

    def test_a_directory_of_keys_that_comes_later(self):
        os.rmdir(self.keys)
        self.daemon.add("p")
        self.signer.sign(self.library())
        self.assert_refused(self.look(), "unknown_signer")
        self.signer.trust(self.keys)
        self.state("active")


class Quiet(Case):
    def test_a_key_that_does_not_count_is_no_reason_to_look_again_and_again(self):
        self.add_signed()
        other = Signer(self.daemon.place, "other").trust(self.keys)
        self.look()
        for path, mode in ((other, 0o666), (self.keys, 0o1777)):
            os.chmod(path, mode)
            self.look()
            before = self.workers()
            for _ in range(3):
                self.look()
            self.assertEqual(self.workers(), before)
        os.chmod(self.keys, 0o777)
        self.assert_refused(self.look(), "unknown_signer")
        before = self.workers()
        for _ in range(3):
            self.assert_refused(self.look(), "unknown_signer")
        self.assertEqual(self.workers(), before)
        os.chmod(self.keys, 0o755)
        self.assert_signed(self.look())

    def workers(self):
        return [m for m in self.daemon.call("Metrics")["metrics"] if "worker" in m["name"]]


class Several(Case):
    """Keys that are alike, too many, or not to be read."""

    def codes(self, plugin):
        return sorted({w["code"] for w in plugin["warnings"]})

    def lookalike(self, name):
        """A key of somebody else's under the id of ours."""
        stranger = Signer(self.daemon.place, "stranger")
        with open(self.signer.public, encoding="utf-8") as file:
            ident = base64.b64decode(file.read().split("\n")[1])[2:10]
        path = stranger.trust(self.keys, name)

        def rename(lines):
            data = bytearray(base64.b64decode(lines[1]))
            data[2:10] = ident
            lines[1] = base64.b64encode(data).decode()

        self.edit(path, rename)
        return path

    def test_the_same_key_twice_is_told_and_both_must_go(self):
        self.add_signed()
        for name in ("a.pub", "z.pub"):
            path = self.signer.trust(self.keys, name)
            plugin = self.look()
            self.assert_signed(plugin)
            self.assertEqual(self.codes(plugin), ["duplicate_key"])
            self.assertIn("signer.pub", plugin["warnings"][0]["message"])
            os.unlink(os.path.join(self.keys, "signer.pub"))
            self.assert_signed(self.look())
            os.unlink(path)
            self.assert_refused(self.look(), "unknown_signer")
            self.signer.trust(self.keys)

    def test_a_key_that_looks_like_ours_neither_helps_nor_hides_ours(self):
        self.add_signed()
        for name in ("a.pub", "z.pub"):
            with self.subTest(name=name):
                path = self.lookalike(name)
                plugin = self.look()
                self.assert_signed(plugin)
                self.assertEqual(plugin["signature"]["file"], os.path.join(self.keys, "signer.pub"))
                self.assertEqual(self.codes(plugin), ["key_id_collision"])
                self.assertIn(self.signer.id, plugin["warnings"][0]["message"])
                os.rename(os.path.join(self.keys, "signer.pub"), self.keys + "/signer")
                self.assert_refused(self.look(), "wrong_signature")
                os.rename(self.keys + "/signer", os.path.join(self.keys, "signer.pub"))
                os.unlink(path)

    def test_more_keys_than_are_read_are_told(self):
        self.add_signed()
        with open(self.signer.public, encoding="utf-8") as file:
            text = file.read()
        for i in range(256):
            with open(os.path.join(self.keys, f"a{i:03}.pub"), "w", encoding="utf-8") as file:
                file.write(text)
        plugin = self.look()
        self.assert_signed(plugin)
        self.assertIn("too_many_keys", self.codes(plugin))
        (told,) = [w for w in plugin["warnings"] if w["code"] == "too_many_keys"]
        self.assertIn("257 files", told["message"])
        self.assertIn("signer.pub", told["message"])

    def test_a_directory_of_keys_that_cannot_be_read_is_told(self):
        self.daemon.add("p")
        self.signer.sign(self.library())
        self.assert_refused(self.look(), "unknown_signer")
        os.rmdir(self.keys)
        with open(self.keys, "w", encoding="utf-8"):
            pass
        plugin = self.look()
        self.assert_refused(plugin, "unknown_signer")
        self.assertEqual(self.codes(plugin), ["bad_key_file"])
        os.unlink(self.keys)
        os.symlink(self.keys, self.keys)
        plugin = self.look()
        self.assertEqual(self.codes(plugin), ["bad_key_file"])


class Load(Case):
    def test_what_is_loaded_by_a_call_must_be_signed_where_that_is_required(self):
        path = os.path.join(self.daemon.place, "mine.so")
        make_plugin(path, "mine")
        self.daemon.start()
        done = self.daemon.ctl("load", path)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("unsigned", done.stdout)
        self.assertIn("pluginctl install", done.stdout)
        self.daemon.stop()
        for policy in (("warn",), ("off",), ("require", f"{self.daemon.state_dir}/loaded=off")):
            self.policy(*policy)
            self.daemon.start()
            done = self.daemon.ctl("load", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.daemon.stop()


if __name__ == "__main__":
    unittest.main()


class Nowhere(Case):
    """A policy or keys that a wrong letter takes from their directory are told."""

    def test_a_policy_of_no_directory_of_manifests_is_a_warning_and_wrong_for_a_check(self):
        layer = self.daemon.manifest_dirs[0]
        for path in (layer + "x", layer[:-1], os.path.join(layer, "..", "layer0"), "/"):
            with self.subTest(path=path):
                self.policy(f"{path}=require")
                done = self.daemon.run([*self.daemon.command(), "--check-config"])
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("holds for no plugin", done.stderr)
                self.daemon.start()
                warnings = self.daemon.call("Status")["warnings"]
                self.assertEqual([w["code"] for w in warnings], ["policy_of_no_layer"])
                self.assertIn(path.rstrip("/") + "=require", warnings[0]["message"])
                self.assertIn("[policy_of_no_layer]", self.daemon.log())
                self.daemon.stop()

    def test_a_policy_of_each_directory_of_manifests_is_none(self):
        layers = self.daemon.manifest_dirs
        self.policy("warn", f"{layers[0]}=require", f"{layers[1]}//=off")
        done = self.daemon.run([*self.daemon.command(), "--check-config"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ok\n", ""))
        self.daemon.start()
        self.assertEqual(self.daemon.call("Status")["warnings"], [])

    def test_a_check_tells_that_the_directory_of_keys_is_not_there(self):
        os.rmdir(self.keys)
        for policy, said in (("require", True), ("warn", True), ("off", False)):
            with self.subTest(policy=policy):
                self.policy(policy)
                done = self.daemon.run([*self.daemon.command(), "--check-config"])
                self.assertEqual((done.returncode, done.stdout), (0, "ok\n"))
                self.assertEqual(f"{self.keys}: No such file" in done.stderr, said)
