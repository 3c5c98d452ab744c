# SPDX-License-Identifier: MIT
"""The command line of pluginctl: what it takes, refuses and explains."""

import os
import subprocess
import unittest

from fake_plugind import Fake
from pluginctl import LIMIT_S, PLUGINCTL, Case, call, environment

COMMANDS = (
    "list info kernels devices select why bench verify disable enable is-enabled mask unmask "
    "pin unpin pins guard history rollback reload retry cat new install uninstall schema check "
    "doctor logs load unload monitor clients incidents metrics fingerprint diff status version "
    "help complete"
).split()


class Program(Case):
    def test_it_links_libc_and_jansson_only(self):
        output = subprocess.run(
            ["ldd", PLUGINCTL], capture_output=True, text=True, check=True
        ).stdout
        names = {os.path.basename(line.split()[0]).split(".so")[0] for line in output.splitlines()}
        names = {name for name in names if not name.startswith("ld")}
        allowed = {"linux-vdso", "libjansson", "libc"}
        if os.environ.get("KPLUG_SANITIZER"):
            allowed |= {"libasan", "libubsan", "libtsan", "libstdc++", "libgcc_s", "libm"}
            allowed |= {"libpthread", "libdl", "librt"}
        self.assertLessEqual(names, allowed)
        self.assertIn("libjansson", names)

    def test_alone_it_tells_its_usage(self):
        self.assertIn("usage:", self.complaint(call(), 2))
        self.error(call("--json"), 2, "missing_command")

    def test_t74_a_full_disk_is_a_failure(self):
        for args in (["help"], ["help", "--json"], ["--version"]):
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [PLUGINCTL, *args],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    check=False,
                    timeout=LIMIT_S,
                )
                self.assertEqual(done.returncode, 7)
                self.assertIn(b"cannot write to standard output: No space left", done.stderr)
                self.assertNotIn(b"plugind", done.stderr)


class Help(Case):
    def commands(self):
        return self.document(call("help", "--json"))["commands"]

    def test_nx09_help_of_everything_contacts_nobody(self):
        with Fake() as fake:
            for args in [["--help"], ["help"], ["-h"], ["--version"]]:
                self.assertTrue(self.good(call(*args, socket=fake.path)))
            for command in COMMANDS:
                for args in (["help", command], [command, "--help"]):
                    self.assertIn(command, self.good(call(*args, socket=fake.path)))
            self.assertEqual(fake.connections, 0)

    def test_nx09_help_needs_no_daemon_and_no_arguments(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                done = call(command, "-h", socket="/nowhere/plugind.sock")
                self.assertIn("usage: pluginctl", self.good(done))

    def test_nx09_help_loads_no_code(self):
        # A worker beside it would be the only way to look into a library.
        for args in (["info", "--help", "./x.so"], ["info", "./x.so", "--help"]):
            self.assertIn("usage: pluginctl info", self.good(call(*args)))

    def test_every_command_is_explained_by_the_table(self):
        self.assertEqual([command["name"] for command in self.commands()], COMMANDS)
        text = self.good(call("help"))
        for command in self.commands():
            self.assertRegex(text, rf"(?m)^  {command['name']} ")
            self.assertTrue(command["summary"] and command["help"])

    def test_every_option_is_explained(self):
        for command in self.commands():
            text = self.good(call("help", command["name"]))
            for option in command["options"]:
                self.assertIn("--" + option["name"], text)
                self.assertTrue(option["help"])
        for option in self.document(call("--help", "--json"))["options"]:
            self.assertIn("--" + option["name"], self.good(call("--help")))

    def test_t73_every_exit_status_is_explained(self):
        self.assertEqual(
            list(self.document(call("help", "--json"))["exit"]), [str(n) for n in range(8)]
        )

    def test_help_is_no_wider_than_a_page(self):
        for args in [["help"], *(["help", command] for command in COMMANDS)]:
            for line in self.good(call(*args)).splitlines():
                self.assertLessEqual(len(line), 80)

    def test_an_unknown_command_of_help_is_offered_the_nearest(self):
        self.assertIn("select", self.complaint(call("help", "selekt"), 2))
        self.error(call("help", "selekt", "--json"), 2, "unknown_command")

    def test_version_as_an_option(self):
        for args in (["--version"], ["list", "--version"], ["--version", "disable", "x"]):
            with self.subTest(args=args):
                self.assertRegex(self.good(call(*args)), r"^pluginctl \d+\.\d+\.\d+\n$")


class Usage(Case):
    WRONG = [
        (["lst"], "unknown_command", "list"),
        (["slect", "gemm/mm"], "unknown_command", "select"),
        (["zzzzzzzz"], "unknown_command", "help"),
        (["rm", "x86"], "unknown_command", "did you mean uninstall?"),
        (["delete", "x86"], "unknown_command", "did you mean uninstall?"),
        (["LS"], "unknown_command", "did you mean list?"),
        (["explain", "a/b"], "unknown_command", "did you mean why?"),
        (["search", "x"], "unknown_command", "see `pluginctl help`"),
        (["list", "--al"], "unknown_option", "--all"),
        (["list", "--reason", "x"], "unknown_option", "--reason"),
        (["--shape", "m=1", "select", "gemm/mm"], "unknown_option", "before a command"),
        (["select", "gemm/mm", "--forse"], "unknown_option", "--force"),
        (["list", "-x"], "unknown_option", "-x"),
        (["enable", "x86", "--reason", "a"], "unknown_option", "; it belongs to disable"),
        (["list", "--on", "x"], "unknown_option", "; it belongs to select, why"),
        (["list", "--mason", "x"], "unknown_option", "see `pluginctl help list`"),
        (["--timeout", "list"], "bad_timeout", "needs a number of seconds, not list"),
        (["list", "--state"], "missing_value", "--state"),
        (["list", "--all=yes"], "unexpected_value", "--all"),
        (["--quiet=1", "list"], "unexpected_value", "--quiet"),
        (["list", "x"], "unexpected_argument", "x; usage: pluginctl list"),
        (["info"], "missing_argument", "NAME"),
        (["info", "a", "b"], "unexpected_argument", "b; usage: pluginctl info NAME"),
        (["select"], "missing_argument", "FAMILY/MODE"),
        (["why", "a/b", "c/d"], "unexpected_argument", "c/d"),
        (["bench"], "missing_argument", "FAMILY/MODE"),
        (["verify"], "missing_argument", "FAMILY/MODE"),
        (["disable"], "missing_argument", "NAME"),
        (["retry"], "missing_argument", "NAME"),
        (["status", "now"], "unexpected_argument", "now"),
        (["list", "--settle", "-1"], "bad_settle", "-1"),
        (["why", "gemm/mm", "--settle", "601"], "bad_settle", "601"),
        (["kernels", "--settle", "nan"], "bad_settle", "nan"),
        (["list", "--timeout", "soon"], "bad_timeout", "soon"),
        (["list", "--timeout", "-1"], "bad_timeout", "-1"),
        (["list", "--timeout", "nan"], "bad_timeout", "nan"),
        (["list", "--timeout", "1e9"], "bad_timeout", "1e9"),
        (["list", "--timeout", "0"], "bad_timeout", "above 0"),
        (["list", "--socket", ""], "empty_value", "--socket has an empty value"),
        (["select", "gemm/mm", "--feature", ""], "empty_value", "--feature"),
        (["select", "gemm/mm", "--solution="], "empty_value", "--solution"),
        (["why", "gemm/mm", "--without", ""], "empty_value", "--without"),
        (["why", "gemm/mm", "--override", ""], "empty_value", "--override"),
        (["info", ""], "empty_value", "NAME[/KERNEL]|FILE.so has an empty value"),
        (["disable", "x86", ""], "empty_value", "empty value"),
        (["select", "gemm/mm", "--sig", "a", "--sig", "b"], "repeated_option", "--sig"),
        (["list", "--state", "active", "--state=failed"], "repeated_option", "--state"),
        (["disable", "x", "--reason", "a", "--reason", "b"], "repeated_option", "twice"),
        (["--timeout", "1", "list", "--timeout", "1"], "repeated_option", "--timeout"),
        (["select", "gemm/mm", "--force"], "needs_override", "--override"),
        (["why", "gemm/mm", "--force"], "needs_override", "--override"),
        (["mask", "..x"], "bad_name", "..x"),
        (["mask", "a/b"], "not_a_plugin", "a/b is a kernel"),
        (["unmask", "a/b"], "not_a_plugin", "pluginctl unmask a"),
        (["reload", "a/b"], "not_a_plugin", "pluginctl reload a"),
        (["disable", "/k"], "empty_value", "the plugin has an empty value"),
        (["enable", "x86/"], "empty_value", "the kernel has an empty value"),
        (["is-enabled", "/k"], "empty_value", "empty value"),
        (["select", "gemm/mm", "--shape", "m"], "bad_shape", "--shape m"),
        (["select", "gemm/mm", "--shape", ""], "empty_value", "--shape"),
        (["select", "gemm/mm", "--shape", "n=1,,k=2"], "bad_shape", "--shape n=1,,k=2: there"),
        (["bench", "gemm/mm", "--shape", ",k=2"], "bad_shape", "--shape ,k=2: there is"),
        (["select", "gemm/mm", "--shape", "m=1,"], "bad_shape", "DIM=EXTENT"),
        (["select", "gemm/mm", "--shape", "m=-1"], "bad_extent", "m=-1"),
        (["select", "gemm/mm", "--shape", "m=1.5"], "bad_extent", "m=1.5"),
        (["select", "gemm/mm", "--shape", "m= 1"], "bad_extent", "m= 1"),
        (["select", "gemm/mm", "--shape", "m=1099511627777"], "bad_extent", "1099511627776"),
        (["select", "gemm/mm", "--shape", "m=99999999999999999999"], "bad_extent", "m=9"),
        (["select", "gemm/mm", "--shape", "m=1,m=2"], "bad_shape", "as 1 and as 2"),
        (["why", "gemm/mm", "--trait", "causal"], "bad_trait", "NAME=VALUE"),
        (["why", "gemm/mm", "--trait", "=1"], "bad_trait", "NAME=VALUE"),
        (["why", "gemm/mm", "--trait", "d="], "bad_trait", "empty"),
        (["why", "gemm/mm", "--trait", "d=1||2"], "bad_trait", "empty"),
        (["why", "gemm/mm", "--trait", "d=1", "--trait", "d=2"], "bad_trait", "twice"),
        (["why", "gemm/mm", "--trait", "d=" + "x" * 300], "bad_trait", "too long"),
        (["why", "gemm/mm", "--trait", "w=" + "9" * 20], "bad_trait", "too large"),
        (["why", "gemm/mm", "--trait", "w=1|-" + "9" * 20], "bad_trait", "too large"),
        (["why", "gemm/mm", "--trait", "w=1e999"], "bad_trait", "too large"),
        (["why", "gemm/mm", "--on", "./none.json"], "missing_file", "none.json"),
        (["why", "gemm/mm", "--on", "/"], "not_regular_file", "directory"),
        (["bench", "gemm/mm", "--time", "0"], "bad_time", "--time 0"),
        (["bench", "gemm/mm", "--time", "x"], "bad_time", "--time x"),
        (["bench", "gemm/mm", "--seed", "-4"], "bad_seed", "--seed -4"),
        (["verify", "gemm/mm", "--seed", "x"], "bad_seed", "--seed x"),
        (["verify", "gemm/mm", "--shape", "m=?"], "bad_extent", "m=?"),
        (["bench", "gemm/mm", "--shape", "m=?"], "bad_extent", "m=?"),
        (["bench", "gemm/mm", "--trait", "x"], "bad_trait", "--trait x"),
    ]

    def test_t74_wrong_command_lines_exit_2_and_name_what_is_wrong(self):
        with Fake() as fake:
            for args, _, word in self.WRONG:
                with self.subTest(args=args):
                    env = environment(KPLUG_SOCKET=fake.path)
                    self.assertIn(word, self.complaint(call(*args, env=env), 2))
            self.assertEqual(fake.connections, 0)

    def test_t74_wrong_command_lines_are_error_objects_wherever_json_stands(self):
        for args, code, word in self.WRONG:
            for place in (0, len(args)):
                # Behind an option that lacks its value --json would be that.
                if place and code == "missing_value":
                    continue
                with self.subTest(args=args, place=place):
                    whole = args[:place] + ["--json"] + args[place:]
                    error = self.error(call(*whole), 2, code)
                    self.assertIn(word, error["message"])

    def test_options_may_stand_anywhere_and_a_double_dash_ends_them(self):
        with Fake() as fake:
            at = ["--socket", fake.path]
            for args in [
                [*at, "--quiet", "info", "x86"],
                ["info", *at, "x86", "--quiet"],
                ["info", "x86", "--quiet", f"--socket={fake.path}"],
                ["info", "--quiet", f"--socket={fake.path}", "--", "x86"],
            ]:
                with self.subTest(args=args):
                    self.assertEqual(self.good(call(*args)), "mm\n")
            self.assertIn("disabled", self.good(call("disable", "--", "--json", socket=fake.path)))
            self.assertEqual(fake.asked("Disable")["name"], "--json")

    def test_a_flag_may_be_said_twice_and_has_its_letter(self):
        with Fake() as fake:
            for args in (["-q", "info", "x86"], ["info", "x86", "-q", "--quiet"]):
                with self.subTest(args=args):
                    self.assertEqual(self.good(call(*args, socket=fake.path)), "mm\n")
        for word in ("-q", "-h"):
            self.assertIn(word, self.good(call("help")))

    def test_posixly_correct_changes_nothing(self):
        with Fake() as fake:
            env = environment(POSIXLY_CORRECT="1", KPLUG_SOCKET=fake.path)
            self.assertEqual(self.good(call("info", "x86", "--quiet", env=env)), "mm\n")

    def test_an_argument_that_is_not_utf8_is_refused(self):
        self.complaint(call("info", b"\xff\xfe"), 2)
        self.error(call("--json", "info", b"x\xff"), 2, "not_utf8")
        self.error(call("--json", "disable", "x", "--reason", b"\xc3("), 2, "not_utf8")


if __name__ == "__main__":
    unittest.main()
