# SPDX-License-Identifier: MIT
"""tests/examples: a decoder in C and in C++ that generates tokens through kplug.

Built from what is installed, by pkg-config alone. The tokens are held against a decoder
in plain Python; of the seeds here the greatest logit is ahead by much more than kernels
differ, which is tested, too.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from decoder_oracle import Decoder, margin
from harness import PATIENCE_S, SANITIZER, Daemon, wait_until
from installed import Installed

SEEDS = (1, 2, 3)
STEPS = 48
CYCLE = 3  # the seed of sequences that go round in a circle, with a wide margin throughout
TOLERANCE = 1e-4  # of logits, which are about 1
OTHERS = ("x86", "openblas")
STANDARDS = {
    "decoder.c": [("gcc", "-std=c99"), ("clang", "-std=c99"), ("gcc", "-std=c11")],
    "decoder.cc": [(c, f"-std=c++{n}") for c in ("g++", "clang++") for n in (17, 20)],
}

kplug = None
programs = {}


def setUpModule():
    global kplug
    kplug = Installed()
    for name, compilers in STANDARDS.items():
        programs[name] = kplug.build(name, *compilers[0])


def tearDownModule():
    kplug.close()


def run(name, *words, **environment):
    return subprocess.run(
        [programs[name], *words],
        env=kplug.environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def parse(text):
    """[([token], [logits])] of what --logits prints."""
    lines, steps = text.splitlines(), []
    while lines:
        tokens = [int(word) for word in lines.pop(0).split()]
        steps.append((tokens, [[float(w) for w in lines.pop(0).split()] for _ in tokens]))
    return steps


class Generating:
    """A decoder that goes on forever; each line is held against what must come."""

    def __init__(self, name, course, **environment):
        self.course = course
        self.count = 0
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [programs[name], "--seed", str(CYCLE), "--forever"],
            env=kplug.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def read(self, count=1000):
        for _ in range(count):
            line = self.process.stdout.readline()
            if line != self.course(self.count):
                raise AssertionError(
                    f"line {self.count} is {line!r}, not {self.course(self.count)!r}; "
                    f"{self.said()}"
                )
            self.count += 1

    def read_until(self, condition, what):
        def read_and_look():
            self.read(100)
            return condition()

        return wait_until(read_and_look, what)


def course_of(text):
    """line number -> line, without an end: from some line on the lines repeat."""
    lines = text.splitlines(keepends=True)
    last = lines[len(lines) // 2 :]
    period = next(p for p in range(1, len(last) // 3) if last[p:] == last[:-p])
    again = len(lines) - period
    return lambda i: lines[i if i < again else again + (i - again) % period]


class Built(unittest.TestCase):
    def test_they_compile_strictly_in_every_standard_with_gcc_and_clang(self):
        for name, compilers in STANDARDS.items():
            for words in compilers:
                if SANITIZER and "clang" in words[0]:
                    continue  # whose sanitizer is not that of the library
                with self.subTest(name=name, words=words):
                    kplug.build(name, *words)

    def test_the_one_in_c_has_at_most_250_lines_and_knows_one_header_of_kplug(self):
        with open(os.path.join(os.path.dirname(__file__), "examples/decoder.c")) as file:
            lines = file.readlines()
        self.assertLessEqual(len(lines), 250)
        included = re.findall(r"#include (\S+)", "".join(lines))
        self.assertEqual(included, ["<kplug/host.h>", "<stdio.h>", "<stdlib.h>", "<string.h>"])


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.oracle = {seed: list(Decoder(seed).steps(STEPS)) for seed in SEEDS}

    def setUp(self):
        self.daemon = kplug.daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.settle()

    def generate(self, name, seed, *words):
        words = ("--seed", str(seed), "--tokens", str(STEPS), *words)
        done = run(name, *words, KPLUG_SOCKET=self.daemon.socket)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def hold_against_the_oracle(self, name, seed):
        steps = parse(self.generate(name, seed, "--logits"))
        self.assertEqual(len(steps), STEPS)
        for (tokens, logits), wanted in zip(steps, self.oracle[seed]):
            self.assertEqual(tokens, [token for token, _ in wanted])
            for ours, (_, theirs) in zip(logits, wanted):
                apart = max(abs(a - b) for a, b in zip(ours, theirs))
                self.assertLess(apart, TOLERANCE)
                # Or the token might be another by chance.
                self.assertLess(2 * apart, margin(theirs))

    def kernels(self):
        text = run("decoder.c", "--why", "--tokens", "0", KPLUG_SOCKET=self.daemon.socket)
        return dict(line.split(" ")[:2] for line in text.stdout.splitlines())

    def test_they_are_those_of_plain_python(self):
        for name in programs:
            for seed in SEEDS:
                with self.subTest(name=name, seed=seed):
                    self.hold_against_the_oracle(name, seed)

    def test_c_and_cxx_print_the_same(self):
        for seed in (*SEEDS, 17, 1 << 63):
            with self.subTest(seed=seed):
                one, other = (self.generate(name, seed, "--logits") for name in programs)
                self.assertEqual(one, other)

    def test_they_are_the_same_with_every_combination_of_plugins(self):
        for off in ([], ["x86"], ["openblas"], ["x86", "openblas"]):
            with self.subTest(off=off):
                for name in OTHERS:
                    self.daemon.call("Disable" if name in off else "Enable", name=name)
                used = {kernel.split("/")[0] for kernel in self.kernels().values()}
                self.assertEqual(used & set(off), set())
                if len(off) == len(OTHERS):
                    self.assertEqual(used, {"reference"})
                for seed in SEEDS:
                    self.hold_against_the_oracle("decoder.c", seed)

    def test_why_names_each_site_its_kernel_and_the_reasons(self):
        for name in programs:
            with self.subTest(name=name):
                lines = self.generate(name, 1, "--why").splitlines()[:-STEPS]
                self.assertEqual(len(lines), 9)
                for line in lines:
                    label, selected, why = line.split(" ", 2)
                    why = json.loads(why)
                    self.assertEqual(why["selected"], selected)
                    self.assertIn(label.split(".")[0], ("norm", "attention", "ffn", "head"))

    def test_no_kernel_is_an_error_that_names_the_site(self):
        for name in ("x86", "reference"):
            self.daemon.call("Disable", name=name)
        for name in programs:
            with self.subTest(name=name):
                done = run(name, KPLUG_SOCKET=self.daemon.socket)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("norm/rms", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with kplug.daemon() as daemon:
            daemon.settle()
            words = ("--seed", str(CYCLE), "--tokens", "1200")
            socket = {"KPLUG_SOCKET": daemon.socket}
            cls.text = run("decoder.c", *words, **socket).stdout
            steps = parse(run("decoder.c", *words, "--logits", **socket).stdout)
        cls.course = staticmethod(course_of(cls.text))
        cls.margin = min(margin(row) for _, logits in steps for row in logits)

    def clients(self, daemon):
        return daemon.call("Clients")["clients"]

    def obeyed(self, daemon):
        return [c["state"] for c in self.clients(daemon)] == ["obeyed"]

    def test_the_sequences_that_go_on_forever_leave_kernels_no_choice(self):
        self.assertGreater(self.margin, TOLERANCE)

    def change(self, daemon, program, *words):
        done = daemon.ctl(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        program.read_until(lambda: self.obeyed(daemon), f"{words} to be obeyed")
        program.read()

    def test_its_kernels_change_while_it_generates(self):
        for name in programs:
            with self.subTest(name=name), kplug.daemon() as daemon:
                daemon.settle()
                with Generating(name, self.course, KPLUG_SOCKET=daemon.socket) as program:
                    program.read()
                    for _ in range(3):
                        for verb in ("disable", "enable"):
                            for plugin in OTHERS:
                                self.change(daemon, program, verb, plugin)
                    self.change(daemon, program, "pin", "gemm/mm", "reference/gemm_mm")
                    self.change(daemon, program, "unpin", "gemm/mm")
                    self.assertGreater(program.said().count("sites changed"), 2)

    def test_it_does_not_notice_that_plugind_is_killed_and_comes_back(self):
        for name in programs:
            with self.subTest(name=name), kplug.daemon() as daemon:
                daemon.settle()
                with Generating(name, self.course, KPLUG_SOCKET=daemon.socket) as program:
                    for _ in range(3):
                        program.read()
                        daemon.kill()
                        program.read(5000)
                        daemon.start()
                        program.read_until(lambda: self.clients(daemon), "it to attach again")
                        (client,) = self.clients(daemon)
                        self.assertEqual(client["pid"], program.process.pid)
                        self.assertIn(str(client["pid"]), daemon.ctl("clients").stdout)
                        self.change(daemon, program, "disable", "x86")
                        self.change(daemon, program, "enable", "x86")

    def test_a_plugin_is_removed_while_it_runs(self):
        with Daemon() as daemon:
            library = os.path.join(kplug.root, "lib/kplug/plugins/%s.so")
            for plugin in ("reference", *OTHERS):
                daemon.manifest(plugin, library=library % plugin)
            daemon.call("Reload")
            daemon.settle()
            with Generating("decoder.c", self.course, KPLUG_SOCKET=daemon.socket) as program:
                program.read()
                for plugin in OTHERS:
                    daemon.remove(plugin)
                    self.change(daemon, program, "reload")
                self.assertEqual(list(daemon.plugins()), ["reference"])
                for plugin in OTHERS:
                    daemon.manifest(plugin, library=library % plugin)
                    self.change(daemon, program, "reload")


class Alone(unittest.TestCase):
    def test_without_a_daemon_it_starts_a_private_one_that_is_gone_after_it(self):
        for name in programs:
            with self.subTest(name=name):
                home = kplug.private()
                # The first start of all has nothing that it could remember.
                for _ in range(3):
                    done = run(name, "--tokens", "5", **home)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(len(done.stdout.splitlines()), 5)
                socket = os.path.join(home["XDG_RUNTIME_DIR"], "kplug/plugind.sock")
                wait_until(lambda: not os.path.exists(socket), "the private plugind to end")

    def test_two_share_one_and_survive_its_death(self):
        home = kplug.private()
        lines = run("decoder.c", "--seed", str(CYCLE), "--tokens", "1200", **home).stdout
        tool = [os.path.join(kplug.root, "bin/pluginctl"), "--json"]

        def ask(command):
            done = subprocess.run(
                [*tool, command], env=kplug.environment(**home), capture_output=True, check=False
            )
            return json.loads(done.stdout) if done.returncode == 0 else {}

        with Generating("decoder.c", course_of(lines), **home) as one:
            one.read()
            with Generating("decoder.cc", course_of(lines), **home) as other:
                other.read()
                pids = {c["pid"] for c in ask("clients")["clients"]}
                self.assertEqual(pids, {one.process.pid, other.process.pid})
                killed = ask("status")["pid"]
                os.kill(killed, signal.SIGKILL)

                def both_are_back():
                    one.read(100)
                    return {c["pid"] for c in ask("clients").get("clients", [])} == pids

                other.read_until(both_are_back, "both to attach to another")
                self.assertNotEqual(ask("status")["pid"], killed)

    def test_no_daemon_is_a_clear_error_and_exit_status(self):
        for name in programs:
            with self.subTest(name=name):
                home = kplug.private()
                done = run(name, "--no-daemon", **home)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertRegex(done.stderr, r"^decoder: no plugind listens at .*plugind")
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertEqual(os.listdir(home["XDG_RUNTIME_DIR"]), [])

    def test_a_reader_that_has_gone_ends_it(self):
        for name in programs:
            with self.subTest(name=name):
                with Generating(name, lambda i: None, **kplug.private()) as program:
                    program.process.stdout.readline()
                    program.process.stdout.close()
                    self.assertNotEqual(program.process.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main()
