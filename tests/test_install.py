# SPDX-License-Identifier: MIT
"""`make install` puts down something that works, `make uninstall` takes all of it."""

import os
import shutil
import subprocess
import tempfile
import unittest

import mdoc

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("KPLUG_BUILD", "build")


def make(build, *words):
    """make with the compiler and flags that made the build."""
    with open(os.path.join(build, "flags"), encoding="utf-8") as file:
        flags = file.read().splitlines()
    command = ["make", "-s", "-C", os.path.dirname(HERE), f"BUILD={build}", *flags, *words]
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def files_below(directory):
    return sorted(
        os.path.relpath(os.path.join(parent, name), directory)
        for parent, _, names in os.walk(directory)
        for name in names
    )


def own_directories(root):
    """Those that no other program has, too."""
    return [parent for parent, _, _ in os.walk(root) if "/kplug" in parent.removeprefix(root)]


class Install(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="kplug-install.")
        self.addCleanup(self.place.cleanup)
        self.root = os.path.join(self.place.name, "root")
        # A copy: places are compiled in, and others use the build meanwhile.
        self.build = os.path.join(self.place.name, "build")
        leave = shutil.ignore_patterns("tests", "*.a.tmp")
        shutil.copytree(BUILD, self.build, symlinks=True, ignore=leave)

    def install(self, *words):
        done = make(self.build, "install", f"DESTDIR={self.root}", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_a_first_build_lacks_is_named_with_what_installs_it(self):
        with tempfile.TemporaryDirectory() as tools:
            for tool in ("make", "sh", "mkdir", "cmp", "mv", "rm", "cat", "find", "echo"):
                os.symlink(shutil.which(tool), os.path.join(tools, tool))
            build = os.path.join(self.place.name, "first")
            done = subprocess.run(
                [
                    "make",
                    "-s",
                    "-C",
                    os.path.dirname(HERE),
                    f"BUILD={build}",
                    os.path.join(build, "obj/daemon/main.o"),
                ],
                capture_output=True,
                text=True,
                env={"PATH": tools},
                check=False,
            )
        self.assertEqual(done.returncode, 2)
        self.assertIn("kplug: not found: cc pkg-config python3 libuv jansson", done.stderr)
        self.assertIn("`make setup` installs", done.stderr)
        self.assertIn("libjansson-dev", done.stderr)
        self.assertNotIn("No such file", done.stderr)

    def test_every_part_is_where_the_readme_says(self):
        self.install("prefix=/opt/kplug", "sysconfdir=/opt/etc")
        found = set(files_below(self.root))
        for path in (
            "opt/kplug/bin/pluginctl",
            "opt/kplug/sbin/plugind",
            "opt/kplug/libexec/kplug/plugin-worker",
            "opt/kplug/lib/kplug/plugins/reference.so",
            "opt/kplug/lib/kplug/plugins.d/reference.json",
            "opt/kplug/share/kplug/families/gemm.mm.json",
            "opt/kplug/share/kplug/schemas/note.json",
            "opt/kplug/share/kplug/schemas/reply.List.json",
            "opt/kplug/include/kplug/plugin.h",
            "opt/kplug/include/kplug/host.h",
            "opt/kplug/include/kplug/host.hpp",
            "opt/kplug/include/kplug/cxx/site.hpp",
            "opt/kplug/lib/libkplug.so",
            "opt/kplug/lib/libkplug.so.0",
            "opt/kplug/lib/pkgconfig/kplug.pc",
            "opt/kplug/lib/systemd/system/plugind.service",
            "opt/kplug/lib/systemd/system/plugind.socket",
            "opt/kplug/lib/sysusers.d/kplug.conf",
            "opt/kplug/lib/tmpfiles.d/kplug.conf",
            "opt/kplug/share/kplug/units/gpu.conf",
        ):
            self.assertIn(path, found)
        self.assertTrue(os.path.isdir(os.path.join(self.root, "opt/etc/kplug/plugins.d")))
        # And the program knows.
        plugind = os.path.join(self.root, "opt/kplug/sbin/plugind")
        told = subprocess.run([plugind, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("/opt/etc/kplug/plugind.json", told.stdout)
        unit = os.path.join(self.root, "opt/kplug/lib/systemd/system/plugind.service")
        with open(unit, encoding="utf-8") as file:
            self.assertIn("\nExecStart=/opt/kplug/sbin/plugind --system\n", file.read())

    def test_every_manual_page_is_where_man_looks(self):
        self.install()
        below = os.path.join(self.root, "usr/local/share/man")
        pages = {f"man{name[-1]}/{name}" for name in mdoc.names()}
        found = set(files_below(below))
        self.assertEqual(pages - found, set())
        # The others are functions, which lead to the page of all.
        self.assertIn("man3/kp_open.3", found)
        for name in found - pages:
            self.assertRegex(name, r"^man3/kp_\w+\.3$")
            with open(os.path.join(below, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), ".so man3/kplug-host.3\n")

    def test_uninstall_leaves_no_file(self):
        for words in (
            [],
            ["prefix=/usr"],
            ["prefix=/opt/x", "sysconfdir=/opt/x/etc"],
            ["prefix=/usr", "libdir=/usr/lib/here", "unitdir=/lib/systemd/system"],
        ):
            with self.subTest(words=words):
                self.install(*words)
                done = make(self.build, "uninstall", f"DESTDIR={self.root}", *words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(files_below(self.root), [])
                self.assertEqual(own_directories(self.root), [])

    def test_the_python_module_goes_where_python_looks(self):
        with os.scandir(os.path.join(os.path.dirname(HERE), "lib/python/kplug")) as entries:
            module = {entry.name for entry in entries if entry.is_file()}
        for words, below in (
            ([], "usr/local/lib/python3\\.[0-9]+/dist-packages"),
            (["prefix=/usr"], "usr/lib/python3/dist-packages"),
            (["pythondir=/opt/python"], "opt/python"),
        ):
            with self.subTest(words=words):
                self.install(*words)
                found = [p for p in files_below(self.root) if p.endswith("/kplug/py.typed")]
                self.assertEqual(len(found), 1)
                self.assertRegex(found[0], f"^{below}/kplug/py.typed$")
                there = os.listdir(os.path.join(self.root, os.path.dirname(found[0])))
                self.assertEqual(set(there), module)
                done = make(self.build, "uninstall", f"DESTDIR={self.root}", *words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(files_below(self.root), [])

    def test_uninstall_keeps_what_others_put_there(self):
        self.install()
        own = os.path.join(self.root, "usr/local/lib/kplug/plugins/own.so")
        with open(own, "w", encoding="utf-8") as file:
            file.write("not ours")
        done = make(self.build, "uninstall", f"DESTDIR={self.root}")
        self.assertIn("usr/local/lib/kplug/plugins stays", done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(files_below(self.root), ["usr/local/lib/kplug/plugins/own.so"])

    def test_what_is_installed_finds_its_parts(self):
        self.install("prefix=/usr")
        tool = os.path.join(self.root, "usr/bin/pluginctl")
        library = os.path.join(self.root, "usr/lib/kplug/plugins/reference.so")
        done = subprocess.run(
            [tool, "--json", "info", library], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('"package"', done.stdout)


if __name__ == "__main__":
    unittest.main()
