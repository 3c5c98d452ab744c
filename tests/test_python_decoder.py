# SPDX-License-Identifier: MIT
"""tests/examples/decoder.py: the tokens of decoder.c, whatever happens to kernels."""

import os
import select
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE_S, ROOT, Daemon
from python_module import ENVIRONMENT

EXAMPLES = os.path.join(ROOT, "tests", "examples")
PYTHON = ["/usr/bin/python3", os.path.join(EXAMPLES, "decoder.py")]


class Decoder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-decoder.")
        cls.addClassCleanup(place.cleanup)
        cls.c = [os.path.join(place.name, "decoder")]
        subprocess.run(
            ["cc", "-std=c99", "-w", "-O1", f"-I{ROOT}/lib/include", "-o", cls.c[0]]
            + [os.path.join(EXAMPLES, "decoder.c")]
            + [f"-L{BUILD}", "-lkplug", f"-Wl,-rpath,{BUILD}"],
            check=True,
        )

    def setUp(self):
        self.daemon = Daemon(builtin=True)
        self.addCleanup(self.daemon.close)
        self.daemon.settle()

    def environment(self, **more):
        return {**os.environ, **ENVIRONMENT, "KPLUG_SOCKET": self.daemon.socket, **more}

    def generate(self, program, *words, **env):
        done = subprocess.run(
            [*program, *words],
            capture_output=True,
            text=True,
            env=self.environment(**env),
            timeout=PATIENCE_S,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_python_generates_what_c_generates_to_the_last_bit(self):
        for seed in ("1", "2", "18446744073709551615"):
            words = ["--seed", seed, "--tokens", "40", "--logits"]
            with self.subTest(seed=seed):
                self.assertEqual(self.generate(PYTHON, *words), self.generate(self.c, *words))

    def test_tokens_are_the_same_with_whatever_kernels_are_left(self):
        wanted = self.generate(self.c, "--tokens", "24")
        for off in ("x86", "openblas", "x86, openblas"):
            with self.subTest(off=off):
                tokens = self.generate(PYTHON, "--tokens", "24", KPLUG_DISABLE=off)
                self.assertEqual(tokens, wanted)

    def start(self, program, **streams):
        process = subprocess.Popen(
            [*program, "--forever"],
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment(),
            **streams,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def test_it_goes_on_while_kernels_change_and_plugind_is_killed(self):
        wanted = self.start(self.c, stderr=subprocess.DEVNULL)
        process = self.start(PYTHON, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)

        def go_on(is_enough):
            lines = 0
            while not is_enough(lines):
                line = process.stdout.readline()
                self.assertRegex(line, "^[0-9 ]+\n$")
                self.assertEqual(line, wanted.stdout.readline())
                lines += 1

        def has_changed(_):
            return select.select([process.stderr], [], [], 0)[0]

        def decide(method, name):
            self.daemon.call(method, {"name": name})
            go_on(has_changed)
            self.assertIn("sites changed", process.stderr.readline())
            go_on(lambda lines: lines >= 20)

        # It is attached once it has generated something.
        go_on(lambda lines: lines >= 20)
        decide("Disable", "openblas")
        decide("Disable", "x86")
        self.daemon.kill()
        go_on(lambda lines: lines >= 20)
        self.daemon.start()
        self.daemon.settle()
        decide("Enable", "x86")


if __name__ == "__main__":
    unittest.main()
