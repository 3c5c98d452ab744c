# SPDX-License-Identifier: MIT
"""Who has signed a library, and what becomes of one that nobody has, or another."""

import base64
import os
import shutil
import unittest

from harness import Daemon, install, make_plugin
from signing import Signer


class Case(unittest.TestCase):
    POLICY = "require"

    def setUp(self):
        self.daemon = Daemon(start=False, layers=2)
        self.addCleanup(self.daemon.close)
        self.keys = os.path.join(self.daemon.place, "trusted-keys.d")
        os.mkdir(self.keys, 0o755)
        self.signer = Signer(self.daemon.place)
        self.policy(self.POLICY)

    def policy(self, *policies):
        self.daemon.options = ["--trusted-keys", self.keys]
        for policy in policies:
            self.daemon.options += ["--signatures", policy]

    def library(self, name="p"):
        return self.daemon.library_path(name)

    def add_signed(self, name="p", **how):
        self.signer.trust(self.keys)
        self.daemon.add(name)
        return self.signer.sign(self.library(name), **how)

    def look(self, name="p"):
        """What it is, once the daemon has looked (again)."""
        if self.daemon.process is None:
            self.daemon.start()
        else:
            self.daemon.call("Reload")
        self.daemon.settle()
        return self.daemon.call("Info", name=name)["plugin"]

    def assert_signed(self, plugin):
        self.assertEqual((plugin["state"], plugin["reason"]), ("active", None))
        self.assertEqual(plugin["signature"]["key"], self.signer.id)

    def assert_refused(self, plugin, code):
        self.assertEqual(plugin["state"], "rejected")
        self.assertEqual(plugin["reason"]["code"], code)
        self.assertIsNone(plugin["signature"])
        self.assertIsNone(plugin["stored"])

    @staticmethod
    def edit(path, change):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        change(lines)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


class Right(Case):
    def test_a_signed_library_is_taken_and_info_says_by_whom(self):
        for legacy in (False, True):
            with self.subTest(legacy=legacy):
                self.add_signed(comment="from the tests, with love", legacy=legacy)
                plugin = self.look()
                self.assert_signed(plugin)
                self.assertEqual(plugin["signature"]["comment"], "from the tests, with love")
                self.assertEqual(plugin["signature"]["file"], os.path.join(self.keys, "signer.pub"))
                text = self.daemon.ctl("info", "p").stdout
                self.assertRegex(text, f"signed by +{self.signer.id} ")
                self.assertIn("with love", text)

    def test_it_is_known_after_a_restart(self):
        self.add_signed()
        before = self.look()
        for _ in range(2):
            self.daemon.restart()
            self.daemon.settle()
            after = self.daemon.call("Info", name="p")["plugin"]
            self.assertEqual(after["signature"], before["signature"])
            self.assert_signed(after)

    def test_who_signs_later_is_taken_then(self):
        self.signer.trust(self.keys)
        self.daemon.add("p")
        self.assert_refused(self.look(), "unsigned")
        self.signer.sign(self.library())
        self.assert_signed(self.look())

    def test_a_key_that_comes_later_counts_then(self):
        self.daemon.add("p")
        self.signer.sign(self.library())
        self.assert_refused(self.look(), "unknown_signer")
        self.signer.trust(self.keys)
        self.assert_signed(self.look())

    def test_one_of_several_keys_is_enough(self):
        for i in range(3):
            Signer(self.daemon.place, f"other{i}").trust(self.keys)
        self.add_signed()
        self.assert_signed(self.look())


class Wrong(Case):
    def test_an_unsigned_library_is_refused_with_what_to_do(self):
        self.daemon.add("p")
        plugin = self.look()
        self.assert_refused(plugin, "unsigned")
        self.assertIn("minisign -Sm", plugin["reason"]["message"])

    def test_a_library_that_was_changed_is_refused(self):
        self.add_signed()
        with open(self.library(), "rb") as file:
            data = bytearray(file.read())
        for at in (0x40, len(data) // 2, len(data) - 1):
            with self.subTest(at=at):
                changed = bytearray(data)
                changed[at] ^= 1
                with open(self.library() + ".new", "wb") as file:
                    file.write(changed)
                install(self.library())
                self.assert_refused(self.look(), "wrong_signature")
        with open(self.library() + ".new", "wb") as file:
            file.write(data + b"\0")
        install(self.library())
        self.assert_refused(self.look(), "wrong_signature")

    def test_a_signature_that_was_changed_is_refused(self):
        beside = self.add_signed()
        self.assert_signed(self.look())
        shutil.copy(beside, beside + ".good")

        def flip(line, at):
            def change(lines):
                data = bytearray(base64.b64decode(lines[line]))
                data[at] ^= 4
                lines[line] = base64.b64encode(data).decode()

            return change

        def comment(lines):
            lines[2] = "trusted comment: of somebody else"

        def cut(lines):
            del lines[3:]

        changes = {
            "its last byte": flip(1, 73),
            "its first byte": flip(1, 10),
            "that of the comment": flip(3, 5),
            "the trusted comment": comment,
            "half of it": cut,
            "no base64": lambda lines: lines.__setitem__(1, "*" * 100),
            "more behind it": lambda lines: lines.append("more"),
            "no comment": lambda lines: lines.__setitem__(0, "comment"),
            "another algorithm": flip(1, 1),
        }
        for what, change in changes.items():
            with self.subTest(what=what):
                shutil.copy(beside + ".good", beside)
                self.edit(beside, change)
                self.assert_refused(self.look(), "wrong_signature")
        os.rename(beside + ".good", beside)
        self.assert_signed(self.look())

    def test_another_files_signature_is_refused(self):
        self.add_signed("p")
        self.add_signed("q")
        shutil.copy(self.library("q") + ".minisig", self.library("p") + ".minisig")
        self.assert_refused(self.look("p"), "wrong_signature")

    def test_another_signatures_comment_is_refused(self):
        beside = self.add_signed("p", comment="version 1")
        other = self.add_signed("q", comment="version 2")
        with open(other, encoding="utf-8") as file:
            tail = file.read().split("\n")[2:]

        def swap(lines):
            lines[2:] = tail

        self.edit(beside, swap)
        self.assert_refused(self.look("p"), "wrong_signature")

    def test_another_ones_key_is_named(self):
        self.add_signed()
        stranger = Signer(self.daemon.place, "stranger")
        stranger.sign(self.library())
        plugin = self.look()
        self.assert_refused(plugin, "unknown_signer")
        self.assertIn(stranger.id, plugin["reason"]["message"])
        self.assertIn(self.keys, plugin["reason"]["message"])

    def test_a_key_under_the_id_of_another_does_not_help(self):
        stranger = Signer(self.daemon.place, "stranger")
        path = self.signer.trust(self.keys)
        with open(stranger.public, encoding="utf-8") as file:
            ident = base64.b64decode(file.read().split("\n")[1])[2:10]

        def rename(lines):
            data = bytearray(base64.b64decode(lines[1]))
            data[2:10] = ident
            lines[1] = base64.b64encode(data).decode()

        self.edit(path, rename)
        self.daemon.add("p")
        stranger.sign(self.library())
        self.assert_refused(self.look(), "wrong_signature")

    def test_a_key_that_is_taken_away_counts_no_more(self):
        self.add_signed()
        self.assert_signed(self.look())
        os.unlink(os.path.join(self.keys, "signer.pub"))
        self.assert_refused(self.look(), "unknown_signer")
        self.daemon.restart()
        self.daemon.settle()
        self.assert_refused(self.daemon.call("Info", name="p")["plugin"], "unknown_signer")

    def test_a_signature_that_is_taken_away_while_plugind_is_away(self):
        beside = self.add_signed()
        self.assert_signed(self.look())
        self.daemon.stop()
        os.unlink(beside)
        self.assert_refused(self.look(), "unsigned")


class Keys(Case):
    """Files of keys are looked at as closely as libraries are."""

    def assert_unused(self, code, words):
        plugin = self.look()
        self.assert_refused(plugin, "unknown_signer")
        (warning,) = [w for w in plugin["warnings"] if w["code"] == code]
        self.assertIn(words, warning["message"])

    def test_a_key_that_others_may_write_is_not_used(self):
        self.add_signed()
        for mode in (0o666, 0o664, 0o646):
            with self.subTest(mode=oct(mode)):
                os.chmod(os.path.join(self.keys, "signer.pub"), mode)
                self.assert_unused("key_not_trusted", f"{mode:04o}")

    def test_a_directory_of_keys_that_others_may_write_is_not_used(self):
        self.add_signed()
        os.chmod(self.keys, 0o777)
        self.assert_unused("key_not_trusted", "0777")
        os.chmod(self.keys, 0o755)
        self.assert_signed(self.look())

    def test_a_link_through_a_directory_of_others_is_not_used(self):
        self.add_signed()
        path = os.path.join(self.keys, "signer.pub")
        loose = os.path.join(self.daemon.place, "loose")
        os.mkdir(loose)
        os.rename(path, os.path.join(loose, "signer.pub"))
        os.chmod(loose, 0o777)
        os.symlink(os.path.join(loose, "signer.pub"), path)
        self.assert_unused("key_not_trusted", "0777")

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_a_key_of_somebody_else_is_not_used(self):
        self.add_signed()
        os.chown(os.path.join(self.keys, "signer.pub"), 12345, -1)
        self.assert_unused("key_not_trusted", "12345")

    def test_what_is_no_key_is_said_and_harms_no_other(self):
        rows = ["", "no key\n", "untrusted comment: x\nUldRUA==\n", "\0\1\2", "x" * 5000]
        for i, text in enumerate(rows):
            with open(os.path.join(self.keys, f"wrong{i}.pub"), "w", encoding="utf-8") as file:
                file.write(text)
        os.mkfifo(os.path.join(self.keys, "pipe.pub"))
        os.symlink("nowhere", os.path.join(self.keys, "link.pub"))
        self.add_signed()
        plugin = self.look()
        self.assert_signed(plugin)
        codes = [w["code"] for w in plugin["warnings"]]
        self.assertEqual(codes, ["bad_key_file"] * (len(rows) + 2))


class Policies(Case):
    POLICY = "warn"

    def test_warn_says_it_and_takes_it(self):
        self.signer.trust(self.keys)
        self.daemon.add("p")
        plugin = self.look()
        self.assertEqual(plugin["state"], "active")
        self.assertEqual([w["code"] for w in plugin["warnings"]], ["unsigned"])
        beside = self.signer.sign(self.library())
        self.assertEqual(self.look()["warnings"], [])
        self.edit(beside, lambda lines: lines.__setitem__(2, "trusted comment: other"))
        plugin = self.look()
        self.assertEqual(plugin["state"], "active")
        self.assertEqual([w["code"] for w in plugin["warnings"]], ["wrong_signature"])
        self.assertIsNone(plugin["signature"])

    def test_off_asks_for_nothing(self):
        for options in ((), ("off",)):
            self.policy(*options)
            self.daemon.add("p")
            plugin = self.look()
            self.assertEqual((plugin["state"], plugin["warnings"]), ("active", []))
            self.daemon.stop()

    def test_each_directory_has_its_own(self):
        high, low = self.daemon.manifest_dirs
        self.policy("require", f"{low}/=off")
        for i, name in enumerate(("high", "low")):
            make_plugin(self.library(name), name)
            self.daemon.manifest(name, layer=i)
        self.assert_refused(self.look("high"), "unsigned")
        self.assertEqual(self.daemon.call("Info", name="low")["plugin"]["state"], "active")
        self.daemon.stop()
        self.policy(f"{high}=warn", f"{low}=require")
        self.assertEqual(self.look("high")["state"], "active")
        self.assert_refused(self.daemon.call("Info", name="low")["plugin"], "unsigned")

    def test_what_was_found_under_another_policy_does_not_hold(self):
        self.daemon.add("p")
        for policy, state in (
            ("off", "active"),
            ("require", "rejected"),
            ("warn", "active"),
            ("require", "rejected"),
            ("off", "active"),
        ):
            self.policy(policy)
            self.assertEqual(self.look()["state"], state, policy)
            self.daemon.stop()

    def test_a_policy_that_is_none_is_refused_by_its_name(self):
        for wrong in ("on", "layer0=require", "/etc=", ""):
            self.policy(wrong)
            done = self.daemon.run()
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("signatures: off, warn or require expected", done.stderr)


class Installed(Case):
    def install(self, place, *options):
        return self.daemon.ctl("install", *options, os.path.join(place, "p.so"))

    def test_install_takes_the_signature_along_and_uninstall_takes_both_away(self):
        self.signer.trust(self.keys)
        place = os.path.join(self.daemon.place, "new")
        os.mkdir(place)
        make_plugin(os.path.join(place, "p.so"), "p")
        self.daemon.start()
        done = self.install(place)
        self.assertEqual(done.returncode, 7, done.stdout)
        self.assertIn("unsigned", done.stderr)
        self.assertFalse(os.path.exists(self.library()))
        self.signer.sign(os.path.join(place, "p.so"))
        done = self.install(place)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_signed(self.look())
        first = set(os.listdir(self.daemon.plugin_dir))
        self.assertEqual(first, {"p.so", "p.so.minisig"})
        # One that is refused leaves the one before, with its signature.
        os.unlink(os.path.join(place, "p.so.minisig"))
        make_plugin(os.path.join(place, "p.so"), "p", version="2.0.0")
        done = self.install(place, "--force")
        self.assertEqual(done.returncode, 7, done.stdout)
        self.assert_signed(self.look())
        self.assertEqual(set(os.listdir(self.daemon.plugin_dir)), first)
        self.assertEqual(self.daemon.ctl("uninstall", "p").returncode, 0)
        self.assertEqual(os.listdir(self.daemon.plugin_dir), [])


class Races(Case):
    def test_whatever_is_exchanged_meanwhile_what_runs_is_what_was_signed(self):
        self.add_signed()
        with open(self.library(), "rb") as file:
            good = file.read()
        make_plugin(self.library("evil"), "p", version="6.6.6")
        with open(self.library("evil"), "rb") as file:
            evil = file.read()
        self.daemon.start()
        with self.daemon.client() as client:
            for i in range(24):
                client.start("Reload", {})
                for content in (evil, good) if i % 2 else (good, evil):
                    with open(self.library() + ".new", "wb") as file:
                        file.write(content)
                    install(self.library())
                client.finish("Reload")
                plugin = self.daemon.call("Info", name="p")["plugin"]
                if plugin["state"] == "active":
                    with open(plugin["stored"], "rb") as file:
                        self.assertEqual(file.read(), good)
                    self.assertEqual(plugin["version"], "1.0.0")


if __name__ == "__main__":
    unittest.main()
