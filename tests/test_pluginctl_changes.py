# SPDX-License-Identifier: MIT
"""What pluginctl changes: in the daemon, and by itself in a manifest directory."""

import os
import tempfile
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import NOBODY, Case, as_nobody, call


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

    def test_runtime_takes_nothing_of_a_disable_for_good(self):
        same = {"name": "x86", "changed": False, "generation": 4}
        rows = [
            ("disabled", ["--runtime"], "already disabled for good, which stays so with --runtime"),
            ("disabled-runtime", ["--runtime"], "already disabled"),
            ("disabled", [], "already disabled"),
        ]
        for state, more, words in rows:
            before = {"name": "x86", "enabled": False, "state": state}
            with self.subTest(state=state, more=more), Fake(Disable=same, IsEnabled=before) as fake:
                text = self.good(call("disable", "x86", *more, socket=fake.path))
                self.assertEqual(text, f"x86: {words}\n")

    @staticmethod
    def echo(parameters):
        return {"name": parameters["name"], "changed": True, "generation": 1}

    @staticmethod
    def known(*names):
        """IsEnabled of a registry that has these names."""

        def reply(parameters):
            if parameters["name"] not in names:
                return fakes.error("NotFound", message="no plugin " + parameters["name"])
            return {"name": parameters["name"], "enabled": True, "state": "enabled"}

        return reply

    def test_several_names_are_asked_for_in_turn(self):
        with Fake(Disable=self.echo) as fake:
            done = call("disable", "a", "b", "c", socket=fake.path)
            self.assertEqual(self.good(done), "a: disabled\nb: disabled\nc: disabled\n")
            document = self.document(call("disable", "a", "b", "--json", socket=fake.path))
            self.assertEqual([row["name"] for row in document["changes"]], ["a", "b"])

    def test_nothing_is_changed_where_one_of_several_names_is_unknown(self):
        for command, method in (("disable", "Disable"), ("enable", "Enable")):
            replies = {method: self.echo, "IsEnabled": self.known("a", "c")}
            for more in ([], ["--json"]):
                with self.subTest(command=command, more=more), Fake(**replies) as fake:
                    done = call(command, "a", "b", "c", *more, socket=fake.path)
                    self.assertEqual(done.returncode, 5)
                    self.assertIn(b"no plugin b", done.stdout + done.stderr)
                    self.assertNotIn(method, [name for name, _, _ in fake.calls])

    def test_what_was_changed_before_a_failure_is_in_the_error(self):
        def reply(parameters):
            if parameters["name"] == "b":
                return fakes.error("Failed", code="write_failed", message="disk is full")
            return self.echo(parameters)

        for command, method in (("disable", "Disable"), ("enable", "Enable")):
            with self.subTest(command=command), Fake(**{method: reply}) as fake:
                done = call(command, "a", "b", "c", socket=fake.path)
                self.assertEqual(self.good(done, 7), f"a: {command}d\n")
                self.assertIn(b"disk is full", done.stderr)
                done = call(command, "a", "b", "c", "--json", socket=fake.path)
                error = self.error(done, 7, "write_failed")
                self.assertEqual(error["changes"], [self.echo({"name": "a"})])
                done = call(command, "b", "--json", socket=fake.path)
                self.assertNotIn("changes", self.error(done, 7))

    def test_silence_after_a_change_tells_the_change_too(self):
        def reply(parameters):
            return None if parameters["name"] == "b" else self.echo(parameters)

        with Fake(Disable=reply) as fake:
            done = call("disable", "a", "b", "--json", "--timeout", "0.2", socket=fake.path)
            self.assertEqual(len(self.error(done, 6, "timed_out")["changes"]), 1)

    def test_enable_of_what_something_else_keeps_off_exits_1_with_the_remedy(self):
        manifest = {"code": "disabled_by_manifest", "message": "its manifest says so"}
        operator = {"code": "disabled_by_operator", "message": "disabled by uid 0"}
        masked = {"code": "masked", "message": "a link to /dev/null"}
        crashed = {"code": "killed_by_signal", "message": "SIGSEGV in load"}
        rows = [
            ("x86", "masked", masked, "x86 is masked (a link to /dev/null): pluginctl unmask x86"),
            ("x86", "failed", crashed, ": SIGSEGV in load): pluginctl retry x86"),
            ("x86", "disabled", manifest, 'take "enabled": false out of /usr/lib/kplug'),
            ("x86/mm", "disabled", operator, "disabled by uid 0): pluginctl enable x86"),
        ]
        for name, state, reason, words in rows:
            for changed in (True, False):
                replies = {
                    "Enable": {"name": name, "changed": changed, "generation": 2},
                    "IsEnabled": {"name": name, "enabled": False, "state": state},
                    "Info": {"plugin": dict(fakes.INFO, state=state, reason=reason)},
                }
                with self.subTest(state=state, changed=changed), Fake(**replies) as fake:
                    text = self.good(call("enable", name, socket=fake.path), 1)
                    self.assertTrue(text.startswith(f"{name}: not enabled: x86 is {state} ("))
                    self.assertIn(words, text)
                    self.assertNotIn("already", text)
                    document = self.document(call("enable", name, "--json", socket=fake.path), 1)
                    self.assertEqual(document, replies["Enable"])

    def test_enable_tells_of_kernels_that_stay_disabled(self):
        off = dict(fakes.KERNEL, name="rms", state="disabled")
        info = {"plugin": dict(fakes.INFO, kernels=[fakes.KERNEL, off])}
        with Fake(Info=info) as fake:
            done = call("enable", "x86", socket=fake.path)
            self.assertEqual(self.good(done), "x86: enabled\n")
            self.assertIn(
                b"its kernel rms is still disabled; pluginctl enable x86/rms", done.stderr
            )
            self.assertNotIn(b"mm", done.stderr)
            for names in (["x86/mm"], ["x86", "x86/rms"]):
                self.assertEqual(call("enable", *names, socket=fake.path).stderr, b"")

    def test_is_enabled_prints_a_word_and_sets_the_status(self):
        rows = [(True, "enabled", 0), (False, "disabled", 1), (False, "masked", 1)]
        for enabled, state, status in rows:
            reply = {"name": "x", "enabled": enabled, "state": state}
            with self.subTest(state=state), Fake(IsEnabled=reply) as fake:
                done = call("is-enabled", "x", socket=fake.path)
                self.assertEqual(self.good(done, status), state + "\n")

    def test_is_enabled_of_several_exits_0_only_if_all_are(self):
        def reply(parameters):
            off = parameters["name"] == "b"
            state = "disabled" if off else "enabled"
            return {"name": parameters["name"], "enabled": not off, "state": state}

        with Fake(IsEnabled=reply) as fake:
            text = self.good(call("is-enabled", "a", "b", "c", socket=fake.path), 1)
            self.assertEqual(text, "a: enabled\nb: disabled\nc: enabled\n")
            self.good(call("is-enabled", "a", "c", "-q", socket=fake.path))
            document = self.document(call("is-enabled", "a", "b", "--json", socket=fake.path), 1)
            self.assertEqual([row["state"] for row in document["answers"]], ["enabled", "disabled"])

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

    def test_enable_in_json_tells_what_holds_now(self):
        told = {"name": "x86", "changed": True, "generation": 9}
        for enabled, state, status in ((True, "enabled", 0), (False, "masked", 1)):
            reply = dict(told, enabled=enabled, state=state, reason=None)
            with self.subTest(state=state), Fake(Enable=reply) as fake:
                done = call("enable", "x86", "--json", socket=fake.path)
                self.assertEqual(self.document(done, status), reply)
                self.assertEqual([name for name, _, _ in fake.calls], ["Enable"])

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

    def test_version_quietly_is_the_version_alone(self):
        for socket in ("/nowhere/plugind.sock", None):
            with Fake() as fake:
                text = self.good(call("version", "-q", socket=socket or fake.path))
                self.assertRegex(text, r"^\d+\.\d+\.\d+\n$")

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

        with self.fake() as fake:
            text = self.complaint(call("unmask", "x86", "--runtime", socket=fake.path), 2)
            self.assertIn("this plugind was given its own manifest directories", text)

    def test_unmask_tells_of_the_mask_that_still_hides_it(self):
        self.layers["manifest_dirs"] = [self.dir, self.runtime, self.place.name]
        rows = [
            ([], self.runtime, "use --runtime"),
            (["--runtime"], self.dir, "leave out --runtime"),
            ([], self.place.name, "remove it there"),
        ]
        for args, dir_, remedy in rows:
            os.makedirs(dir_, exist_ok=True)
            os.symlink("/dev/null", os.path.join(dir_, "x86.json"))
            with self.subTest(remedy=remedy), self.fake() as fake:
                text = self.good(call("unmask", "x86", *args, socket=fake.path), 1)
                self.assertEqual(text, f"x86: still masked by {dir_}/x86.json; {remedy}\n")
                done = call("unmask", "x86", *args, "--json", socket=fake.path)
                document = self.document(done, 1)
                self.assertEqual((document["changed"], document["masked_in"]), (False, dir_))
            os.unlink(os.path.join(dir_, "x86.json"))

    def test_a_manifest_above_a_mask_is_what_counts(self):
        self.layers["manifest_dirs"] = [self.dir, self.runtime, self.place.name]
        os.makedirs(self.runtime)
        os.symlink("/dev/null", os.path.join(self.place.name, "x86.json"))
        with open(os.path.join(self.runtime, "x86.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        with self.fake() as fake:
            self.assertIn("already unmasked", self.good(call("unmask", "x86", socket=fake.path)))

    @unittest.skipIf(os.geteuid(), "only root can become another user")
    def test_another_user_s_daemon_is_not_told_where_to_write(self):
        with self.fake() as fake:
            # The kernel remembers who called listen(2) last.
            os.seteuid(NOBODY)
            try:
                fake.listening.listen(8)
            finally:
                os.seteuid(0)
            for command in ("mask", "unmask"):
                text = self.complaint(call(command, "x86", socket=fake.path), 4)
                self.assertIn(f"runs as uid {NOBODY}", text)
                done = call(command, "x86", "--json", socket=fake.path)
                self.error(done, 4, "untrusted_layer")
            self.assertNotIn("Layers", [name for name, _, _ in fake.calls])
        self.assertFalse(os.path.lexists(self.link))

    def left_alone(self):
        before = os.lstat(self.link)
        with self.fake() as fake:
            text = self.complaint(call("mask", "x86", socket=fake.path), 2)
            self.assertIn(self.link, text)
            done = call("mask", "x86", "--json", socket=fake.path)
            self.error(done, 2, "file_exists")
            self.assertIn("already unmasked", self.good(call("unmask", "x86", socket=fake.path)))
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
