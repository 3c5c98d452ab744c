# SPDX-License-Identifier: MIT
"""The Python module as it is installed, found, typed and documented."""

import ast
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, Daemon
from python_module import LIBRARY, PACKAGE, kplug, python

SAY = "import kplug; print(kplug._library.lib._name)"
CALL = """
import sys, kplug, numpy
with kplug.open(sys.argv[1]) as k:
    print(k.site("gemm/mm")(numpy.ones((2, 3), "f4"), numpy.ones((3, 4), "f4")).sum())
"""


class Place(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-python.")
        self.addCleanup(place.cleanup)
        self.place = place.name

    def copy(self, *below):
        """The package, without what a build leaves."""
        target = os.path.join(self.place, *below)
        leave = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", ".mypy_cache")
        shutil.copytree(PACKAGE, target, ignore=leave)
        return target


class Installed(Place):
    def pip(self, *words):
        done = subprocess.run(
            ["/usr/bin/python3", "-m", "pip", "--no-cache-dir", "--disable-pip-version-check"]
            + ["install", "--no-index", "--no-build-isolation", "--no-deps", "-q", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_pip_installs_it_without_a_network_or_a_compiler(self):
        target = os.path.join(self.place, "target")
        self.pip("--target", target, self.copy("source"))
        names = {n for n in os.listdir(os.path.join(target, "kplug")) if n != "__pycache__"}
        sources = {n for n in os.listdir(os.path.join(PACKAGE, "kplug")) if n != "__pycache__"}
        self.assertEqual(names, sources)
        info = os.path.join(target, f"kplug-{kplug.__version__}.dist-info")
        with open(os.path.join(info, "METADATA"), encoding="utf-8") as file:
            said = file.read()
        self.assertIn("Requires-Python: >=3.9", said)
        with open(os.path.join(info, "WHEEL"), encoding="utf-8") as file:
            self.assertIn("Root-Is-Purelib: true", file.read())
        with Daemon(builtin=True) as daemon:
            daemon.settle()
            done = python(CALL, daemon.socket, env={"PYTHONPATH": target})
        self.assertEqual((done.stdout, done.stderr), ("24.0\n", ""))

    def test_it_finds_the_library_of_its_prefix(self):
        for below in ("lib/python3/dist-packages", "lib/python3.11/site-packages", "lib64/p"):
            with self.subTest(below):
                top = os.path.join(self.place, below.split("/", maxsplit=1)[0])
                os.makedirs(top, exist_ok=True)
                shutil.copy(LIBRARY, os.path.join(top, "libkplug.so.0"))
                path = os.path.join(self.place, below)
                shutil.copytree(os.path.join(PACKAGE, "kplug"), os.path.join(path, "kplug"))
                done = python(SAY, env={"PYTHONPATH": path, "KPLUG_LIBRARY": ""})
                self.assertEqual(done.stdout, os.path.join(top, "libkplug.so.0") + "\n")

    def test_it_finds_the_library_by_the_loader(self):
        path = self.copy("source")
        done = python(
            SAY,
            env={
                "PYTHONPATH": path,
                "KPLUG_LIBRARY": "",
                "LD_LIBRARY_PATH": os.path.dirname(LIBRARY),
            },
        )
        self.assertEqual((done.stdout, done.stderr), ("libkplug.so.0\n", ""))

    def test_the_environment_names_a_library_first(self):
        done = python(SAY, env={"KPLUG_LIBRARY": LIBRARY})
        self.assertEqual(done.stdout, LIBRARY + "\n")

    def test_without_a_library_an_import_error_says_what_to_do(self):
        broken = os.path.join(self.place, "broken.so")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no library")
        other = "/lib/x86_64-linux-gnu/libm.so.6"
        for said, words in (
            ("/nonexistent/lib.so", "/nonexistent/lib.so.*KPLUG_LIBRARY"),
            (broken, "broken.so.*KPLUG_LIBRARY"),
            (other if os.path.exists(other) else "libm.so.6", "has no kp_open"),
        ):
            done = python("import kplug", env={"KPLUG_LIBRARY": said})
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.splitlines()[-1], f"^ImportError: .*{words}")

    def test_it_is_imported_without_numpy_which_arrays_ask_for(self):
        program = """
import sys
sys.modules["numpy"] = None
import kplug
with kplug.open(sys.argv[1]) as k:
    site = k.site("gemm/mm")
    print(site.kernel() is not None, len(k.why("gemm/mm").candidates) > 3)
    try:
        site([1], [2])
    except TypeError as error:
        print(error)
    try:
        kplug.Tensor.from_float32([1])
    except ImportError as error:
        print(error)
"""
        with Daemon(builtin=True) as daemon:
            daemon.settle()
            done = python(program, daemon.socket)
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "True True",
                "a: list is no array for kplug: has no __dlpack__",
                "kplug makes arrays with NumPy, which is not installed",
            ],
            done.stderr,
        )


class Source(Place):
    @unittest.skipIf(shutil.which("mypy") is None, "mypy is not installed")
    def test_its_types_are_strict(self):
        source = self.copy("source")
        with open(os.path.join(source, "use.py"), "w", encoding="utf-8") as file:
            file.write(
                "import kplug\n"
                "with kplug.open(name='x') as k:\n"
                "    site: kplug.Site = k.site('gemm/mm', ranges={'m': (1, 8), 'n': 3})\n"
                "    text: str = k.fingerprint() + str(site.why(m=1).selected)\n"
                "    count: int = k.step() + k.warm([site]).rungs\n"
                "    k.site(3)\n"
            )
        done = subprocess.run(
            ["/usr/bin/mypy", "--cache-dir", os.path.join(self.place, "cache")]
            + ["--config-file", "pyproject.toml", "kplug", "use.py"],
            cwd=source,
            capture_output=True,
            text=True,
            check=False,
        )
        wrong = [line for line in done.stdout.splitlines() if ": error:" in line]
        self.assertEqual(len(wrong), 1, done.stdout + done.stderr)
        self.assertRegex(wrong[0], "use.py:6: .*incompatible type")

    def test_its_version_is_that_of_kplug(self):
        with open(os.path.join(PACKAGE, "kplug", "version.py"), encoding="utf-8") as file:
            ours = re.search('^__version__ = "(.*)"$', file.read(), re.M)[1]
        with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
            wanted = re.search(r"^VERSION\s*:= (\S+)$", file.read(), re.M)[1]
        self.assertEqual(ours, wanted)

    def test_it_is_written_for_python_3_9(self):
        for name in sorted(os.listdir(os.path.join(PACKAGE, "kplug"))):
            if name.endswith(".py"):
                with open(os.path.join(PACKAGE, "kplug", name), encoding="utf-8") as file:
                    ast.parse(file.read(), name, feature_version=(3, 9))

    def test_whatever_it_shows_has_a_sentence(self):
        for name in kplug.__all__:
            thing = getattr(kplug, name)
            if not callable(thing):
                continue
            self.assertTrue(thing.__doc__, name)
            for member, what in vars(thing).items():
                if callable(what) or isinstance(what, (property, classmethod)):
                    if not member.startswith("_"):
                        self.assertTrue(what.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
