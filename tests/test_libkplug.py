# SPDX-License-Identifier: MIT
"""libkplug.so: what it shows, what it needs, and how it is installed and found."""

import os
import re
import subprocess
import unittest

from harness import SANITIZER
from installed import Installed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ["KPLUG_BUILD"]
LIBRARY = os.path.join(BUILD, "libkplug.so")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def dynamic(tag):
    pattern = rf"\({tag}\).*\[(.*)\]"
    return re.findall(pattern, run("readelf", "-d", LIBRARY))


def header():
    with open(os.path.join(ROOT, "lib/include/kplug/host.h"), encoding="utf-8") as file:
        return file.read()


class Library(unittest.TestCase):
    def test_it_exports_the_functions_of_its_header_and_nothing_else(self):
        lines = run("nm", "-D", "--defined-only", LIBRARY).split("\n")
        found = {line.split()[2] for line in lines if line and " A " not in line}
        code = re.sub(r"/\*.*?\*/", "", header(), flags=re.S)
        wanted = set(re.findall(r"\b(kp_[a-z_]+)\(", code)) - {"kp_run"}
        wanted.add("kp_thread_slot")
        self.assertEqual(found, {f"{name}@@KPLUG_0" for name in wanted})

    @unittest.skipIf(os.environ.get("KPLUG_SANITIZER"), "a sanitizer needs its own library")
    def test_it_needs_libc_with_its_libm_and_libjansson_only(self):
        needed = {name.split(".so")[0] for name in dynamic("NEEDED")}
        self.assertEqual(needed - {"libm"}, {"libc", "libjansson"})

    def test_its_name_has_the_version_of_its_interface(self):
        self.assertEqual(dynamic("SONAME"), ["libkplug.so.0"])


PROGRAM = """
#include <kplug/host.h>
#include <stdio.h>
int main(void)
{
	struct kp_error error = {.size = sizeof(error)};
	struct kp_options options = {.size = sizeof(options), .socket = "/nonexistent/socket"};
	struct kp_handle *handle;
	int status = kp_open(&options, &handle, &error);
	printf("%d %s\\n", status, error.text);
	return 0;
}
"""


class AfterInstall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kplug = Installed()
        cls.addClassCleanup(cls.kplug.close)

    def build(self, compiler, source, *flags):
        program = os.path.join(self.kplug.place, "program")
        words = [compiler, *flags, "-x", "c", "-", "-o", program]
        words += ["-x", "none", *self.kplug.pkg_config()]
        words += [f"-fsanitize={SANITIZER}"] if SANITIZER else []
        subprocess.run(words, input=source, text=True, check=True)
        return program

    def test_a_program_is_built_by_pkg_config_and_told_why_it_cannot_open(self):
        for flags in (["-std=c99"], ["-std=c11", "-Wall", "-Werror"]):
            with self.subTest(flags=flags):
                program = self.build("gcc", PROGRAM, *flags)
                env = self.kplug.environment()
                said = subprocess.run(
                    [program], env=env, capture_output=True, text=True, check=True
                ).stdout
                self.assertTrue(said.startswith("3 "), said)
                self.assertIn("/nonexistent/socket", said)

    def test_the_header_is_c99_and_cxx(self):
        for words in (["gcc", "-std=c99", "-pedantic"], ["g++", "-std=c++11", "-pedantic"]):
            language = "c++" if words[0] == "g++" else "c"
            done = subprocess.run(
                [*words, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", language, "-"]
                + self.kplug.pkg_config("--cflags"),
                input="#include <kplug/host.h>\nint main(void) { return 0; }\n",
                text=True,
                capture_output=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
