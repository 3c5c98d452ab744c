# SPDX-License-Identifier: MIT
"""Completion of pluginctl: what it offers, and that real shells take it."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, Daemon, kernel
from pluginctl import Case, call

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPTS = os.path.join(ROOT, "cmd/completion")
SQUARE = "elementwise/square"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][A-Z0-9]?|[\x00-\x09\x0b-\x1f]")


class Scene(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.add("fast", [kernel(priority=10)])
        cls.daemon.add("faster", [kernel(priority=12)])
        cls.daemon.add("slow", [kernel(priority=4)])
        cls.daemon.call("Reload")
        cls.daemon.settle()


class Offers(Scene):
    """`pluginctl complete` itself."""

    def offers(self, *words):
        text = self.good(call("complete", "--", *words, socket=self.daemon.socket))
        return [line.split(" -- ")[0] for line in text.splitlines()]

    def test_commands(self):
        self.assertEqual(self.offers("is-"), ["is-enabled"])
        self.assertIn("list", self.offers(""))
        self.assertEqual(self.offers("help", "unm"), ["unmask"])

    def test_commands_behind_global_options_and_their_values(self):
        self.assertEqual(self.offers("--timeout", "3", "--json", "is-"), ["is-enabled"])
        self.assertEqual(self.offers("--timeout", ""), [])

    def test_options_of_the_command_and_global_ones(self):
        self.assertIn("--state", self.offers("list", "--"))
        self.assertIn("--json", self.offers("list", "--"))
        self.assertIn("--manifest-dir", self.offers("list", "--"))
        self.assertNotIn("--manifest-dir", self.offers("disable", "--"))
        self.assertEqual(self.offers("disable", "--rea"), ["--reason"])

    def test_plugins_and_behind_a_slash_kernels(self):
        self.assertEqual(self.offers("disable", "fa"), ["fast", "faster"])
        self.assertEqual(self.offers("disable", "slow", "fas"), ["fast", "faster"])
        self.assertEqual(self.offers("info", "fast/"), [":files", "fast/square"])
        self.assertEqual(self.offers("logs", "s"), ["slow"])
        self.assertEqual(self.offers("logs", "slow", ""), [])

    def test_families_and_operations(self):
        self.assertEqual(self.offers("select", ""), [SQUARE])
        self.assertEqual(self.offers("kernels", "el"), ["elementwise", SQUARE])
        self.assertEqual(self.offers("list", "--family", ""), ["elementwise"])
        self.assertEqual(self.offers("pin", SQUARE, "slow/"), ["slow/square"])

    def test_kernels_are_those_of_the_operation_that_the_line_has_named(self):
        other = "norm/softmax"
        self.daemon.add("soft", [kernel("k", other, signatures=["x=f32,y=f32"])])
        self.daemon.call("Reload")
        self.daemon.settle()
        self.addCleanup(self.daemon.call, "Reload")
        self.addCleanup(self.daemon.remove, "soft")
        self.assertEqual(self.offers("pin", other, ""), ["soft/k"])
        self.assertNotIn("soft/k", self.offers("verify", SQUARE, "--kernel", ""))
        self.assertIn("soft/k", self.offers("pin", "no/operation", ""))

    def test_states_also_behind_an_equals_sign(self):
        self.assertEqual(self.offers("list", "--state", "m"), ["masked", "missing"])
        self.assertEqual(self.offers("list", "--state=dis"), ["--state=disabled"])

    def test_policies_of_signatures(self):
        self.assertEqual(self.offers("check", "--signatures", ""), ["off", "warn", "require"])
        self.assertEqual(self.offers("check", "--signatures", "r"), ["require"])

    def test_files_are_the_shells(self):
        self.assertEqual(self.offers("install", ""), [":files"])
        self.assertEqual(self.offers("list", "--manifest-dir", ""), [":directories"])

    def test_behind_two_dashes_there_are_no_options(self):
        self.assertEqual(self.offers("disable", "--", "-"), [])
        self.assertEqual(self.offers("disable", "--", "sl"), ["slow"])

    def test_the_socket_of_the_line_is_asked(self):
        done = subprocess.run(
            [
                os.path.join(BUILD, "pluginctl"),
                "complete",
                "--",
                "--socket",
                self.daemon.socket,
                "logs",
                "sl",
            ],
            env=dict(os.environ, KPLUG_SOCKET="/nowhere"),
            capture_output=True,
            check=False,
        )
        self.assertEqual(self.good(done), "slow -- active\n")

    def test_without_plugind_nothing_is_offered_but_what_is_known(self):
        self.assertEqual(call("complete", "--", "logs", "", socket="/nowhere").returncode, 3)
        text = self.good(call("complete", "--", "list", "--state", "fa", socket="/nowhere"))
        self.assertEqual(text, "failed\n")

    def test_every_placeholder_of_the_help_has_a_source_or_none_on_purpose(self):
        with open(os.path.join(ROOT, "cmd/complete_source.c"), encoding="utf-8") as file:
            known = set(re.findall(r'^\t\{(?:NULL|"[^"]*"), "([^"]+)"', file.read(), re.M))
        free = {
            "",
            "[WORD]...",
            "S",
            "N",
            "TEXT",
            "SIGNATURE",
            "DIM=N[,DIM=N]",
            "NAME=VALUE",
            "PERCENT",
            "AGO",
            "[BOOT:]N",
            "KiB",
        }
        for name in self.offers(""):
            usage = self.good(call("help", name))
            first = re.search(rf"pluginctl {name} ?(.*)", usage)[1]
            words = first.replace("[OPTION]...", "").split()
            words += re.findall(r"^  --[a-z-]+ ([^ a-z]\S*)", usage, re.M)
            for word in words:
                with self.subTest(command=name, word=word):
                    self.assertIn(word, known | free)


class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command, socket):
        self.home = tempfile.mkdtemp()
        environment = {
            "PATH": f"{BUILD}:/usr/bin:/bin",
            "TERM": "vt100",
            "HOME": self.home,
            "KPLUG_SOCKET": socket,
            "PS1": "ready> ",
            "LANG": "C.UTF-8",
            "INPUTRC": "/dev/null",
            "HISTFILE": "/dev/null",
        }
        self.seen = ""
        leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environment,
            cwd=self.home,
            start_new_session=True,
        )
        os.close(follower)
        self.leader = leader

    def send(self, text):
        self.seen = ""
        os.write(self.leader, text.encode())

    def expect(self, pattern):
        end = time.monotonic() + 30
        while not re.search(pattern, self.seen, re.S):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.leader], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            self.seen += CONTROL.sub("", os.read(self.leader, 4096).decode(errors="replace"))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.leader)
        shutil.rmtree(self.home)


class Typing:
    """Keys pressed in a shell; subclasses start one."""

    def start(self, *command):
        terminal = Terminal(command, self.daemon.socket)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_command_a_plugin_and_a_kernel_are_completed_and_run(self):
        shell = self.shell()
        shell.send("pluginctl is-ena\tslow/sq\t; echo ended\n")
        shell.expect(r"enabled\n.*ended")

    def test_a_tab_shows_what_is_possible(self):
        shell = self.shell()
        shell.send("pluginctl disable fas\t\t\t")
        shell.expect(r"fast\b.*faster\b")

    def test_the_value_of_an_option(self):
        shell = self.shell()
        shell.send("pluginctl list --quiet --state=disa\t; echo ended\n")
        shell.expect(r"--state=disabled.*ended.*ended")
        shell.send("pluginctl list --quiet --state act\t; echo ended\n")
        shell.expect(r"--state active.*faster.*slow.*ended")

    def test_files(self):
        shell = self.shell()
        with open(os.path.join(shell.home, "nothing-there.so"), "w", encoding="utf-8"):
            pass
        shell.send("pluginctl install noth\t; echo ended\n")
        shell.expect(r"nothing-there\.so.*ended.*ended")


class Bash(Typing, Scene):
    def shell(self):
        shell = self.start("bash", "--norc", "--noprofile", "-i")
        shell.send(f"source {SCRIPTS}/pluginctl.bash; echo read''y\n")
        shell.expect("ready\n")
        return shell


class Zsh(Typing, Scene):
    def shell(self):
        shell = self.start("zsh", "-f", "-i")
        shell.send(
            f"fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D; "
            "unsetopt list_beep; echo read''y\n"
        )
        shell.expect("ready\n")
        return shell


class Fish(Scene):
    def complete(self, line):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [
                    "fish",
                    "--no-config",
                    "-c",
                    f"source {SCRIPTS}/pluginctl.fish; complete -C '{line}'",
                ],
                env={
                    "PATH": f"{BUILD}:/usr/bin:/bin",
                    "HOME": home,
                    "TERM": "dumb",
                    "KPLUG_SOCKET": self.daemon.socket,
                    "LANG": "C.UTF-8",
                },
                cwd=home,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict((line + "\t").split("\t")[:2] for line in done.stdout.splitlines())

    def test_commands_come_with_what_they_do(self):
        self.assertEqual(
            self.complete("pluginctl is-"),
            {"is-enabled": "Say whether plugins or kernels are enabled"},
        )

    def test_plugins_come_with_their_state(self):
        self.assertEqual(
            self.complete("pluginctl disable fa"), {"fast": "active", "faster": "active"}
        )

    def test_values_of_options(self):
        self.assertEqual(
            set(self.complete("pluginctl list --state=m")), {"--state=masked", "--state=missing"}
        )
        self.assertEqual(set(self.complete("pluginctl select e")), {SQUARE})


if __name__ == "__main__":
    unittest.main()
