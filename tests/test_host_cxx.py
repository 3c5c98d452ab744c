# SPDX-License-Identifier: MIT
"""kplug/host.hpp: tests/cxx/host.cc holds, with both compilers and in both standards."""

import os
import subprocess
import tempfile
import unittest

from harness import BUILD, HERE, PATIENCE_S, ROOT, SANITIZER, Daemon

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
HEADERS = os.path.join(ROOT, "lib", "include")


def build(compiler, standard, program):
    words = [compiler, f"-std=c++{standard}", "-O1", *STRICT, f"-I{HEADERS}"]
    words += [os.path.join(HERE, "cxx", "host.cc"), "-o", program]
    words += [f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lkplug"]
    words += [f"-fsanitize={SANITIZER}"] if SANITIZER else []
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Header(unittest.TestCase):
    def look_at(self, part, compiler, standard):
        words = [compiler, f"-std=c++{standard}", *STRICT, f"-I{HEADERS}"]
        done = subprocess.run(
            [*words, "-fsyntax-only", "-x", "c++", "-"],
            input=f"#include <kplug/{part}>\n",
            capture_output=True,
            text=True,
            check=False,
        )
        with self.subTest(part=part, compiler=compiler, standard=standard):
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_part_compiles_alone(self):
        parts = os.listdir(os.path.join(HEADERS, "kplug", "cxx"))
        self.assertGreater(len(parts), 5)
        for part in parts:
            self.look_at(f"cxx/{part}", "g++", 17)

    def test_the_whole_compiles_in_both_standards_with_both_compilers(self):
        for compiler in ("g++", "clang++"):
            for standard in (17, 20):
                self.look_at("host.hpp", compiler, standard)

    @unittest.skipIf(SANITIZER, "a sanitizer needs its own library")
    def test_the_program_compiles_strictly_with_clang(self):
        with tempfile.TemporaryDirectory(prefix="kplug-cxx.") as place:
            done = build("clang++", 20, os.path.join(place, "host"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Claims(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-cxx.")
        cls.addClassCleanup(place.cleanup)
        cls.program = os.path.join(place.name, "host")
        done = build("g++", 17, cls.program)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.daemon = Daemon(builtin=True)
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.settle()

    def environment(self):
        return dict(os.environ, KPLUG_SOCKET=self.daemon.socket)

    def hold(self, claim):
        done = subprocess.run(
            [self.program, claim],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_errors_have_status_and_sentence(self):
        self.hold("errors_have_status_and_sentence")

    def test_what_is_left_out_is_an_error(self):
        self.hold("what_is_left_out_is_an_error")

    def test_tensors_are_views(self):
        self.hold("tensors_are_views")

    def test_owners_move(self):
        self.hold("owners_move")

    @unittest.skipUnless(os.uname().machine == "x86_64", "levels are those of x86-64")
    def test_scopes_end_with_their_block(self):
        self.hold("scopes_end_with_their_block")

    def test_local_kernels_are_there_while_they_live(self):
        self.hold("local_kernels_are_there_while_they_live")

    def test_an_absent_role_is_absent(self):
        self.hold("an_absent_role_is_absent")

    def test_plans_and_weights(self):
        self.hold("plans_and_weights")

    def test_what_is_asked_is_json(self):
        self.hold("what_is_asked_is_json")

    def test_a_hold_is_told_and_ends_with_its_block(self):
        def held():
            (client,) = self.daemon.call("Clients")["clients"]
            self.assertEqual(client["name"], "holder")
            return [(h["kernel"], h["what"], h["count"]) for h in client["holds"]]

        with subprocess.Popen(
            [self.program, "holds_until_told"],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            kernel = process.stdout.readline().strip()
            self.assertEqual(held(), [(kernel, "graph", 1)])
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "released\n")
            self.assertEqual(held(), [])
            process.communicate("\n", timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
