# SPDX-License-Identifier: MIT
"""The plugins of plugins/README in C, C++ and Rust are one and the same to kplug."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, PATIENCE_S, ROOT

PART = re.compile(r"^---- (\S+)\n(.*?)^----$", re.MULTILINE | re.DOTALL)
LANGUAGES = {
    "c": ("square.c", "build", "cc"),
    "cpp": ("square.cpp", "build-cpp", "c++"),
    "rust": ("square.rs", "build-rust", "rustc"),
}


def parts():
    with open(os.path.join(ROOT, "plugins", "README"), encoding="utf-8") as page:
        return dict(PART.findall(page.read()))


class Languages(unittest.TestCase):
    """Each is built by the page's own command."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="kplug-languages.")
        self.addCleanup(shutil.rmtree, self.place)
        self.parts = parts()
        tree = os.path.join(self.place, "tree")
        os.mkdir(tree)
        os.symlink(os.path.join(ROOT, "lib"), os.path.join(tree, "lib"))
        os.symlink(BUILD, os.path.join(tree, "build"))
        self.env = dict(os.environ, KPLUG=tree, TMPDIR=self.place)

    def run_words(self, *words, status=0):
        done = subprocess.run(
            words,
            cwd=self.place,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 2,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def build(self, language):
        source, command, compiler = LANGUAGES[language]
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        for name in (source, "plugin.json"):
            with open(os.path.join(self.place, name), "w", encoding="utf-8") as file:
                file.write(self.parts[name])
        done = self.run_words("sh", "-e", "-c", self.parts[command])
        self.assertEqual(done.stdout + done.stderr, "")
        return os.path.join(self.place, "square.so")

    def offline(self, *words):
        manifests = os.path.join(self.place, "plugins.d")
        os.makedirs(manifests, exist_ok=True)
        with open(os.path.join(manifests, "square.json"), "w", encoding="utf-8") as file:
            json.dump({"library": os.path.join(self.place, "square.so")}, file)
        builtin = os.path.join(BUILD, "plugins", "plugins.d")
        done = self.run_words(
            os.path.join(BUILD, "pluginctl"),
            *["--offline", "--json", "--manifest-dir", manifests, "--manifest-dir", builtin],
            *words,
        )
        return json.loads(done.stdout)

    def holds(self, language):
        library = self.build(language)
        symbols = self.run_words("nm", "-D", "--defined-only", "--format=just-symbols", library)
        self.assertEqual(symbols.stdout.split(), ["kplug_plugin"])
        plugins = {p["name"]: p for p in self.offline("list")["plugins"]}
        self.assertEqual(plugins["square"]["state"], "active", plugins["square"]["reason"])
        self.assertEqual(self.offline("select", "elementwise/square")["selected"], "square/vector")
        runs = self.offline("bench", "elementwise/square", "--time", "0.01")["runs"]
        verdicts = {run["verdict"] for run in runs if run["kernel"] == "square/vector"}
        self.assertEqual(verdicts, {"ok"})

    def test_a20_c_works(self):
        self.holds("c")

    def test_a20_cpp_works_like_the_c_one(self):
        self.holds("cpp")

    def test_a20_rust_works_like_the_c_one(self):
        self.holds("rust")


if __name__ == "__main__":
    unittest.main()
