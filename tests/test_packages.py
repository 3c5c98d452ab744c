# SPDX-License-Identifier: MIT
"""Debian packages: what is in each, and what lintian says."""

import os
import re
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT
from packaging import MADE, packages
from test_install import files_below

PACKAGES = {"kplug", "libkplug0", "libkplug-dev", "kplug-plugin-openblas", "python3-kplug"}
LIBRARIES = "usr/lib/[a-z0-9_-]+"
# What is where, as patterns.
PLACES = {
    "kplug": [
        "usr/bin/pluginctl",
        "usr/sbin/plugind",
        "usr/libexec/kplug/plugin-worker",
        "lib/systemd/system/plugind.service",
        "lib/systemd/system/plugind.socket",
        "usr/lib/sysusers.d/kplug.conf",
        "usr/lib/tmpfiles.d/kplug.conf",
        "usr/lib/kplug/plugins/reference.so",
        "usr/lib/kplug/plugins.d/reference.json",
        "usr/share/kplug/families/gemm.mm.json",
        "usr/share/kplug/units/gpu.conf",
        "usr/share/man/man8/plugind.8.gz",
        "usr/share/bash-completion/completions/pluginctl",
        "usr/share/doc/kplug/README.gz",
        "usr/share/doc/kplug/NEWS.gz",
        "usr/share/doc/kplug/examples/kplug-metrics.timer",
    ],
    "libkplug0": [f"{LIBRARIES}/libkplug.so.0", rf"{LIBRARIES}/libkplug.so.0\.[0-9.]+"],
    "libkplug-dev": [
        "usr/include/kplug/host.h",
        "usr/include/kplug/plugin.h",
        "usr/include/kplug/cxx/site.hpp",
        f"{LIBRARIES}/libkplug.so",
        f"{LIBRARIES}/pkgconfig/kplug.pc",
        "usr/share/man/man3/kplug-host.3.gz",
        "usr/share/doc/libkplug-dev/examples/decoder.c",
    ],
    "kplug-plugin-openblas": [
        "usr/lib/kplug/plugins/openblas.so",
        "usr/lib/kplug/plugins.d/openblas.json",
    ],
    "kplug-plugin-cuda": [
        "usr/lib/kplug/plugins/cuda.so",
        "usr/lib/kplug/plugins.d/cuda.json",
    ],
    "python3-kplug": ["usr/lib/python3/dist-packages/kplug/__init__.py"],
}


def output(*command, **keywords):
    return subprocess.run(command, capture_output=True, text=True, check=True, **keywords).stdout


def source(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def variable(name):
    """The words of a variable of the Makefile."""
    text = source("Makefile").replace("\\\n", " ")
    return re.search(rf"^{name} *:?= *(.*)$", text, re.M).group(1).split()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = packages()
        place = tempfile.TemporaryDirectory(prefix="kplug-unpacked.")
        cls.addClassCleanup(place.cleanup)
        cls.files, cls.roots = {}, {}
        for name, path in cls.packages.items():
            cls.roots[name] = root = os.path.join(place.name, name)
            subprocess.run(["dpkg-deb", "-x", path, root], check=True)
            cls.files[name] = files_below(root)

    def field(self, package, name):
        return output("dpkg-deb", "-f", self.packages[package], name).strip()

    def test_there_are_those_that_are_promised(self):
        with_cuda = {"kplug-plugin-cuda"} if os.path.exists(f"{BUILD}/plugins/cuda.so") else set()
        self.assertEqual(set(self.packages), PACKAGES | with_cuda)

    def test_each_has_its_part(self):
        for package, files in self.files.items():
            for pattern in PLACES[package]:
                found = [path for path in files if re.fullmatch(pattern, path)]
                self.assertEqual(len(found), 1, (package, pattern))

    def test_all_that_is_installed_is_in_one_of_them(self):
        everything = [path for files in self.files.values() for path in files]
        self.assertEqual(len(everything), len(set(everything)))
        # debhelper ends where `make install` made more than packages have.
        count = sum(path.startswith("usr/share/kplug/schemas/") for path in everything)
        self.assertEqual(count, len(os.listdir(f"{BUILD}/schemas")))
        pages = {re.sub(r".*/|\.gz$", "", p) for p in everything if "/man/" in p}
        pages = {page for page in pages if not page.startswith("kp_")}
        self.assertEqual(pages, set(os.listdir(f"{BUILD}/man")))
        plugins = {os.path.basename(p) for p in everything if "/kplug/plugins/" in p}
        self.assertEqual(plugins, {n for n in os.listdir(f"{BUILD}/plugins") if n.endswith(".so")})

    def test_lintian_finds_no_error_and_no_warning(self):
        changes = [n for n in os.listdir(f"{MADE}/current") if n.endswith(".changes")]
        command = ["lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", *changes]
        done = subprocess.run(
            command, cwd=f"{MADE}/current", capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_they_have_the_version_of_the_makefile(self):
        version = variable("VERSION")[0]
        for package in self.packages:
            self.assertEqual(self.field(package, "Version"), version)
        self.assertRegex(source("daemon/debian/changelog"), rf"^kplug \({re.escape(version)}\) ")

    def test_what_is_needed_to_build_is_what_make_installs(self):
        control = source("daemon/debian/control").replace("\n ", " ")
        needed = re.search(r"^Build-Depends: (.*)$", control, re.M).group(1).split(", ")
        for name in variable("BUILD_PACKAGES"):
            if name not in ("gcc", "libc6-dev", "make"):  # of build-essential
                self.assertIn(name, needed)

    def test_only_the_plugin_of_openblas_needs_openblas_and_none_needs_cuda(self):
        for package in self.packages:
            needed = self.field(package, "Depends")
            self.assertEqual("openblas" in needed, package == "kplug-plugin-openblas", needed)
            self.assertNotRegex(needed, "cuda|nvidia")

    def test_pages_and_units_name_the_places_of_the_packages(self):
        pages = [p for p in self.files["kplug"] if "/man/" in p]
        self.assertGreater(len(pages), 8)
        for page in pages:
            text = output("zcat", os.path.join(self.roots["kplug"], page))
            self.assertNotIn("/usr/local", text, page)
        page = output("zcat", f"{self.roots['kplug']}/usr/share/man/man8/plugind.8.gz")
        self.assertIn("\n.Pa /lib/systemd/system .\n", page)
        self.assertIn("/usr/lib/kplug/plugins.d", page)
        with open(f"{self.roots['kplug']}/lib/systemd/system/plugind.service") as file:
            self.assertIn("\nExecStart=/usr/sbin/plugind --system\n", file.read())

    def test_what_is_below_etc_is_the_administrators(self):
        """A file there would be theirs to change: it had to be among the conffiles."""
        for package, files in self.files.items():
            told = output("dpkg-deb", "-I", self.packages[package])
            conffiles = (
                output("dpkg-deb", "-I", self.packages[package], "conffiles").split()
                if re.search(r"\bconffiles\b", told)
                else []
            )
            configuration = ["/" + path for path in files if path.startswith("etc/")]
            self.assertEqual(configuration, conffiles, package)
        self.assertTrue(os.path.isdir(f"{self.roots['kplug']}/etc/kplug/plugins.d"))


if __name__ == "__main__":
    unittest.main()
