# SPDX-License-Identifier: MIT
"""What pluginctl changes: in the daemon, and by itself in a manifest directory."""

import os
import tempfile
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import Case, as_nobody, call


class Deciding(Case):
    def test_disable_passes_reason_and_runtime_on(self):
        rows = [
            (["x86"], {"name": "x86"}),
            (["x86/mm", "--reason", "is wrong"], {"name": "x86/mm", "reason": "is wrong"}),
            (["--runtime", "x86"], {"name": "x86", "runtime": True}),
        ]
        for args, wanted in rows:
            with self.subTest(args=args), Fake() as fake:
                done = call("disable", *args, socket=fake.path)
                self.assertEqual(self.good(done), "x86: disabled\n")
                self.assertEqual(fake.asked("Disable"), wanted)

    def test_what_was_so_before_is_told_and_exits_0(self):
        same = {"name": "x86", "changed": False, "generation": 4}
        with Fake(Disable=same, Enable=same) as fake:
            for command, word in (("disable", "disabled"), ("enable", "enabled")):
                done = call(command, "x86", socket=fake.path)
                self.assertEqual(self.good(done), f"x86: already {word}\n")

    def test_several_names_are_asked_for_in_turn(self):
        def reply(parameters):
            return {"name": parameters["name"], "changed": True, "generation": 1}

        with Fake(Disable=reply) as fake:
            done = call("disable", "a", "b", "c", socket=fake.path)
            self.assertEqual(self.good(done), "a: disabled\nb: disabled\nc: disabled\n")
            document = self.document(call("disable", "a", "b", "--json", socket=fake.path))
            self.assertEqual([row["name"] for row in document["changes"]], ["a", "b"])

    def test_the_first_of_several_names_that_fails_ends_it(self):
        def reply(parameters):
            if parameters["name"] == "b":
                return fakes.error("NotFound", message="no plugin b")
            return {"name": parameters["name"], "changed": True, "generation": 1}

        with Fake(Enable=reply) as fake:
            done = call("enable", "a", "b", "c", socket=fake.path)
            self.assertEqual(self.good(done, 5), "a: enabled\n")
            self.assertIn(b"no plugin b", done.stderr)
            self.assertEqual([c[1]["name"] for c in fake.calls], ["a", "b"])
            self.error(call("enable", "a", "b", "--json", socket=fake.path), 5)

    def test_is_enabled_prints_a_word_and_sets_the_status(self):
        rows = [(True, "enabled", 0), (False, "disabled", 1), (False, "masked", 1)]
        for enabled, state, status in rows:
            reply = {"name": "x", "enabled": enabled, "state": state}
            with self.subTest(state=state), Fake(IsEnabled=reply) as fake:
                done = call("is-enabled", "x", socket=fake.path)
                self.assertEqual(self.good(done, status), state + "\n")

    def test_reload_tells_what_changed(self):
        with Fake() as fake:
            text = self.good(call("reload", "new", socket=fake.path))
            self.assertEqual(fake.asked("Reload"), {"name": "new"})
        self.assertRegex(text, r"(?m)^added +new$")
        self.assertRegex(text, r"(?m)^removed +old$")
        nothing = {"added": [], "changed": [], "removed": [], "generation": 1}
        with Fake(Reload=nothing) as fake:
            self.assertEqual(self.good(call("reload", socket=fake.path)), "nothing changed\n")
            self.assertEqual(fake.asked("Reload"), {})

    def test_retry_exits_1_only_where_the_plugin_is_bad_again(self):
        rows = [("active", 0), ("disabled", 0), ("failed", 1), ("rejected", 1), ("missing", 1)]
        for state, status in rows:
            reply = {"plugin": fakes.plugin("x86", state), "generation": 1}
            with self.subTest(state=state), Fake(Retry=reply) as fake:
                text = self.good(call("retry", "x86", socket=fake.path), status)
                self.assertTrue(text.startswith(f"x86: {state}"))

    def test_status_waits_when_asked(self):
        for args, wanted in [([], {}), (["--wait"], {"wait": True})]:
            with self.subTest(args=args), Fake() as fake:
                text = self.good(call("status", *args, socket=fake.path))
                self.assertEqual(fake.asked("Status"), wanted)
                for word in ("1 d 2 h", "2 active, 1 failed", "not confined", "A Processor"):
                    self.assertIn(word, text)

    def test_version_tells_both_apart(self):
        with Fake(Version=dict(fakes.REPLIES["Version"], version="9.8.7")) as fake:
            text = self.good(call("version", socket=fake.path))
            self.assertRegex(text, r"(?m)^pluginctl +\d+\.\d+\.\d+, protocol 1$")
            self.assertRegex(text, r"(?m)^plugind +9\.8\.7, protocol 1, plugin ABI 0\.0")
            document = self.document(call("version", "--json", socket=fake.path))
            self.assertEqual(document["daemon"]["version"], "9.8.7")
            self.assertIn("version", document["client"])

    def test_version_answers_without_a_daemon(self):
        text = self.good(call("version", socket="/nowhere/plugind.sock"))
        self.assertIn("no plugind listens at /nowhere/plugind.sock", text)
        document = self.document(call("version", "--json", socket="/nowhere/plugind.sock"))
        self.assertIsNone(document["daemon"])


class Masking(Case):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="mask.")
        self.dir = os.path.join(self.place.name, "etc", "plugins.d")
        self.runtime = os.path.join(self.place.name, "run")
        self.link = os.path.join(self.dir, "x86.json")
        self.layers = {"manifest_dirs": [self.dir], "mask_dir": self.dir}
        self.layers["runtime_dir"] = self.runtime

    def tearDown(self):
        self.place.cleanup()

    def fake(self, **replies):
        return Fake(**{"Layers": self.layers, **replies})

    def test_mask_links_to_dev_null_and_reloads(self):
        with self.fake() as fake:
            text = self.good(call("mask", "x86", socket=fake.path))
            self.assertEqual(text, f"x86: masked in {self.dir}\n")
            self.assertEqual(fake.asked("Reload"), {"name": "x86"})
            self.assertEqual([c[0] for c in fake.calls], ["Info", "Layers", "Reload"])
        self.assertEqual(os.readlink(self.link), "/dev/null")

    def test_masking_again_is_told_and_exits_0(self):
        with self.fake() as fake:
            self.good(call("mask", "x86", socket=fake.path))
            document = self.document(call("mask", "x86", "--json", socket=fake.path))
            self.assertIs(document["changed"], False)
            self.assertEqual(document["directory"], self.dir)
            self.assertEqual(document["generation"], 9)
            self.assertIn("already", self.good(call("mask", "x86", socket=fake.path)))

    def test_with_runtime_the_layer_below_run_is_used(self):
        with self.fake() as fake:
            self.good(call("mask", "x86", "--runtime", socket=fake.path))
            self.assertEqual(os.readlink(os.path.join(self.runtime, "x86.json")), "/dev/null")
            self.assertFalse(os.path.lexists(self.link))
            self.good(call("unmask", "x86", "--runtime", socket=fake.path))
            self.assertEqual(os.listdir(self.runtime), [])

    def test_without_a_runtime_layer_it_is_refused(self):
        self.layers["runtime_dir"] = None
        with self.fake() as fake:
            done = call("mask", "x86", "--runtime", "--json", socket=fake.path)
            self.error(done, 2, "no_runtime_layer")

    def left_alone(self):
        before = os.lstat(self.link)
        for command in ("mask", "unmask"):
            with self.subTest(command=command), self.fake() as fake:
                text = self.complaint(call(command, "x86", socket=fake.path), 2)
                self.assertIn(self.link, text)
                done = call(command, "x86", "--json", socket=fake.path)
                self.error(done, 2, "file_exists")
                self.assertTrue(os.path.samestat(os.lstat(self.link), before))
        os.unlink(self.link)

    def test_a_manifest_that_is_a_file_or_another_link_is_left_alone(self):
        os.makedirs(self.dir)
        with open(self.link, "w", encoding="utf-8") as file:
            file.write("{}")
        self.left_alone()
        os.symlink("/dev/zero", self.link)
        self.left_alone()
        os.symlink("/dev/null/or/longer", self.link)
        self.left_alone()

    def test_unmask_takes_the_link_away_and_reloads(self):
        os.makedirs(self.dir)
        os.symlink("/dev/null", self.link)
        with self.fake() as fake:
            text = self.good(call("unmask", "x86", socket=fake.path))
            self.assertEqual(text, f"x86: unmasked in {self.dir}\n")
            self.assertEqual(fake.asked("Reload"), {"name": "x86"})
            self.assertFalse(os.path.lexists(self.link))
            self.assertIn("already", self.good(call("unmask", "x86", socket=fake.path)))

    def test_an_unknown_name_exits_5_and_makes_nothing(self):
        unknown = fakes.error("NotFound", code="no_such_plugin", nearest="x86")
        with self.fake(Info=unknown) as fake:
            self.assertIn("x86", self.complaint(call("mask", "x8", socket=fake.path), 5))
            self.error(call("mask", "x8", "--json", socket=fake.path), 5, "no_such_plugin")
            self.error(call("unmask", "x8", "--json", socket=fake.path), 5, "no_such_plugin")
        self.assertFalse(os.path.lexists(self.dir))

    def test_without_permission_it_exits_4_and_names_the_directory(self):
        os.makedirs(self.dir)
        os.symlink("/dev/null", os.path.join(self.dir, "masked.json"))
        os.chmod(self.dir, 0o555)
        with self.fake() as fake, as_nobody(fake.path, self.link) as options:
            os.chmod(fake.path, 0o777)
            for args in (["mask", "x86"], ["unmask", "masked"]):
                with self.subTest(args=args):
                    done = call(*args, socket=fake.path, **options)
                    self.assertIn(self.dir, self.complaint(done, 4))
                    done = call(*args, "--json", socket=fake.path, **options)
                    self.error(done, 4, "not_permitted")
            self.assertEqual(os.listdir(self.dir), ["masked.json"])
        os.chmod(self.dir, 0o755)

    def test_a_directory_that_cannot_be_made_exits_4_and_is_named(self):
        with self.fake() as fake, as_nobody(fake.path) as options:
            os.chmod(fake.path, 0o777)
            os.makedirs(os.path.dirname(self.dir), 0o555)
            os.chmod(self.place.name, 0o555)
            done = call("mask", "x86", "--json", socket=fake.path, **options)
            self.assertIn(self.dir, self.error(done, 4, "not_permitted")["message"])
            os.chmod(self.place.name, 0o755)
            os.chmod(os.path.dirname(self.dir), 0o755)

    def test_a_layer_that_is_no_absolute_path_is_a_failure(self):
        self.layers["mask_dir"] = "etc/plugins.d"
        with self.fake() as fake:
            self.error(call("mask", "x86", "--json", socket=fake.path), 7, "bad_reply")


if __name__ == "__main__":
    unittest.main()
