# SPDX-License-Identifier: MIT
"""plugins/README is complete: what it prints is built, loaded and run as it stands."""

import ctypes
import json
import os
import signal
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))
PART = re.compile(r"^---- (\S+)\n(.*?)^----$", re.MULTILINE | re.DOTALL)


class Place(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Dtype(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Place),
        ("ndim", ctypes.c_int32),
        ("dtype", Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("n_tensors", ctypes.c_uint32),
        ("n_attrs", ctypes.c_uint32),
        ("tensors", ctypes.POINTER(ctypes.POINTER(Tensor))),
        ("attrs", ctypes.c_void_p),
        ("pointers", ctypes.c_void_p * 9),
        ("numbers", ctypes.c_uint64 * 4),
    ]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call))),
    ]


class Entry(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("vtable", ctypes.POINTER(Kernel)),
    ]


class Plugin(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("abi_major", ctypes.c_uint32),
        ("abi_minor", ctypes.c_uint32),
        ("abi_needed", ctypes.c_uint32),
        ("n_entries", ctypes.c_uint32),
        ("entries", ctypes.POINTER(ctypes.POINTER(Entry))),
    ]


def tensor(array, count, step):
    shape, strides = (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * 1)(step)
    return Tensor(ctypes.addressof(array), Place(1, 0), 1, Dtype(2, 32, 1), shape, strides, 0)


class PluginPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-page.")
        cls.addClassCleanup(place.cleanup)
        # The page says $KPLUG/lib and $KPLUG/build; this build may lie elsewhere.
        tree = os.path.join(place.name, "tree")
        os.mkdir(tree)
        os.symlink(os.path.join(ROOT, "lib"), os.path.join(tree, "lib"))
        os.symlink(BUILD, os.path.join(tree, "build"))
        cls.folder = os.path.join(place.name, "square")
        os.mkdir(cls.folder)
        cls.env = dict(os.environ, KPLUG=tree)
        with open(os.path.join(ROOT, "plugins", "README"), encoding="utf-8") as page:
            cls.parts = dict(PART.findall(page.read()))
        for name, text in cls.parts.items():
            if "." in name:
                with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
        cls.built = cls.shell("build")

    @classmethod
    def shell(cls, part):
        return subprocess.run(
            ["sh", "-e", "-c", cls.parts[part]],
            cwd=cls.folder,
            env=cls.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def succeed(self, part):
        done = self.shell(part)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def library(self):
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        return os.path.join(self.folder, "square.so")

    def test_page_has_every_part(self):
        names = ["square.c", "plugin.json", "manifest.json", "build", "info", "daemon"]
        others = ["square.cpp", "build-cpp", "square.rs", "build-rust", "check"]
        self.assertEqual(list(self.parts), names + ["try"] + others)

    def test_what_c_needs_fits_a_page(self):
        with open(os.path.join(ROOT, "plugins", "README"), encoding="utf-8") as page:
            lines = page.read().split("\n")
        self.assertLess(lines.index("In C++ and in Rust"), 120)
        self.assertLessEqual(max(len(line.expandtabs(8)) for line in lines), 90)

    def test_command_builds_without_a_word(self):
        self.library()
        self.assertEqual(self.built.stdout + self.built.stderr, "")

    def test_library_exports_one_symbol(self):
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=just-symbols", self.library()],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(symbols.stdout.split(), ["kplug_plugin"])

    def test_note_in_the_library_is_the_file(self):
        with open(self.library(), "rb") as file:
            self.assertIn(self.parts["plugin.json"].encode(), file.read())

    def test_note_fits_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        with open(os.path.join(ROOT, "lib/schemas/note.json"), encoding="utf-8") as file:
            schema = json.load(file)
        validator = jsonschema.Draft202012Validator(schema)
        validator.validate(json.loads(self.parts["plugin.json"]))

    def test_kernel_computes_squares(self):
        plugin = Plugin.in_dll(ctypes.CDLL(self.library()), "kplug_plugin")
        self.assertEqual((plugin.abi_major, plugin.n_entries), (0, 1))
        entry = plugin.entries[0].contents
        self.assertEqual(entry.name, b"vector")
        for count, step in ((0, 1), (1, 1), (7, 1), (5, 3)):
            with self.subTest(count=count, step=step):
                values = [i * 0.5 - 1 for i in range(count * step + 1)]
                x = (ctypes.c_float * len(values))(*values)
                y = (ctypes.c_float * len(values))(*([-1] * len(values)))
                roles = [tensor(x, count, step), tensor(y, count, step)]
                pointers = (ctypes.POINTER(Tensor) * 2)(*map(ctypes.pointer, roles))
                call = Call(ctypes.sizeof(Call), 0, 2, 0, pointers)
                self.assertEqual(entry.vtable.contents.run(ctypes.byref(call)), 0)
                expected = [
                    v * v if i % step == 0 and i < count * step else -1
                    for i, v in enumerate(values)
                ]
                self.assertEqual(list(y), expected)

    def test_info_of_the_file_names_its_kernel(self):
        self.library()
        shown = self.succeed("info")
        for word in ("square", "1.0.0", "vector", "elementwise/square", "x=f32,y=f32"):
            self.assertIn(word, shown)

    def test_check_of_its_files_finds_nothing(self):
        self.assertEqual(self.succeed("check"), "")

    def test_private_daemon_selects_and_benches_it(self):
        self.library()
        subprocess.run(
            ["sh", "-e", "-c", self.parts["daemon"] + '\necho "$!" >pid'],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        try:
            shown = self.succeed("try")
        finally:
            with open(os.path.join(self.folder, "pid"), encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGTERM)
        self.assertIn("square/vector", shown)
        self.assertIn("reference/elementwise_square", shown)


if __name__ == "__main__":
    unittest.main()
