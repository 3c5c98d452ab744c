# SPDX-License-Identifier: MIT
"""What `plugin-worker --identify` says of libraries that are cut, odd or foreign."""

import hashlib
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))
WORKER = os.path.join(BUILD, "plugin-worker")

PHDR = struct.Struct("<IIQQQQQQ")
PT_LOAD, PT_NOTE = 1, 4
NOTE_HEAD = b"\x01\0\0\0kplug\0\0\0"


def fixture(name):
    return os.path.join(BUILD, "tests", "fixtures", name + ".so")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def run(path, **environment):
    """The verdict of a file. Anything but a verdict fails the test."""
    done = subprocess.run(
        [WORKER, "--identify", path],
        capture_output=True,
        check=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def segments(image):
    (offset,) = struct.unpack_from("<Q", image, 32)
    (count,) = struct.unpack_from("<H", image, 56)
    return [
        (offset + i * PHDR.size, *PHDR.unpack_from(image, offset + i * PHDR.size))
        for i in range(count)
    ]


def with_note(text):
    """The plain fixture with another text in its note, padded by blanks."""
    image = bytearray(read(fixture("plain")))
    at = image.index(NOTE_HEAD) + len(NOTE_HEAD)
    (size,) = struct.unpack_from("<I", image, at - len(NOTE_HEAD) - 4)
    assert len(text) <= size, (len(text), size)
    image[at : at + size] = text.ljust(size)
    return image


class Case(unittest.TestCase):
    """A directory for files, and the verdict of bytes."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-identify.")
        self.addCleanup(place.cleanup)
        self.dir = place.name

    def path(self, name="x.so"):
        return os.path.join(self.dir, name)

    def verdict(self, image, name="x.so", **environment):
        with open(self.path(name), "wb") as file:
            file.write(image)
        return run(self.path(name), **environment)

    def refused(self, verdict, code, *words, state="rejected"):
        self.assertEqual((verdict["state"], verdict["code"]), (state, code), verdict["message"])
        for word in words:
            self.assertIn(word, verdict["message"])


class Sound(Case):
    def test_a_sound_plugin_is_active_with_its_note_and_digest(self):
        verdict = run(fixture("plain"))
        image = read(fixture("plain"))
        self.assertEqual(verdict["state"], "active", verdict["message"])
        self.assertEqual(verdict["note"]["kernels"][0]["name"], "mm")
        self.assertEqual(verdict["digest"], hashlib.sha256(image).hexdigest())
        self.assertEqual(verdict["bytes"], len(image))

    def test_facts_of_the_elf_file_are_shown(self):
        elf = run(fixture("noisy"))["elf"]
        self.assertEqual((elf["class"], elf["stack"], elf["textrel"]), (64, "rw", False))
        self.assertIn("libc.so.6", elf["needed"])
        self.assertRegex(elf["versions"]["libc.so.6"], r"^GLIBC_2\.\d+(\.\d+)?$")
        self.assertTrue(all(row["path"] for row in elf["libraries"]), elf["libraries"])

    def test_no_code_of_the_plugin_runs(self):
        for name in ("crash_in_constructor", "hang_in_constructor", "crash_in_ifunc"):
            with self.subTest(name):
                self.assertEqual(run(fixture(name))["state"], "active")


class Cut(Case):
    def test_t02_a_file_cut_at_a_share_of_its_length_is_truncated(self):
        libraries = [fixture("plain"), fixture("two_notes")]
        libraries += [os.path.join(BUILD, "plugins", name + ".so") for name in ("reference", "x86")]
        for library in filter(os.path.exists, libraries):
            image = read(library)
            for share in (25, 50, 90, 99):
                with self.subTest(library=library, share=share):
                    size = len(image) * share // 100
                    self.refused(self.verdict(image[:size]), "elf_truncated", str(size))

    def test_t02_a_file_cut_anywhere_is_refused_and_kills_nothing(self):
        image = read(fixture("plain"))
        for size in [*range(0, 70), *range(70, len(image), 479), len(image) - 1]:
            with self.subTest(size=size):
                verdict = self.verdict(image[:size])
                code = "empty_file" if size == 0 else "not_elf" if size < 4 else "elf_truncated"
                self.refused(verdict, code)

    def test_t02_sections_stripped_and_cut_is_still_truncated(self):
        image = without_sections(read(fixture("plain")))
        for share in (25, 50, 90, 99):
            self.refused(self.verdict(image[: len(image) * share // 100]), "elf_truncated")

    def test_t02_damaged_bytes_give_a_verdict_and_kill_nothing(self):
        image = read(fixture("plain"))
        chance = random.Random(7)
        for _ in range(150):
            damaged = bytearray(image)
            for _ in range(chance.randint(1, 8)):
                damaged[chance.randrange(1024)] = chance.randrange(256)
            self.assertIn(self.verdict(damaged)["state"], ("active", "rejected"))


def without_sections(image):
    """As `objcopy --strip-section-headers` leaves it."""
    image = bytearray(image)
    end = max(offset + size for _, _, _, offset, _, _, size, *_ in segments(image))
    struct.pack_into("<Q", image, 40, 0)
    struct.pack_into("<HHH", image, 58, 0, 0, 0)
    return image[:end]


class Foreign(Case):
    def test_t01_a_fifo_is_refused_without_waiting_for_a_writer(self):
        os.mkfifo(self.path())
        self.refused(run(self.path()), "not_regular_file", "FIFO")

    def test_t01_a_socket_and_a_device_are_refused(self):
        self.refused(run("/dev/null"), "not_regular_file", "a device")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path())
            self.refused(run(self.path()), "not_regular_file")

    def test_t03_an_empty_file(self):
        self.refused(self.verdict(b""), "empty_file")

    def test_t03_a_text_named_so(self):
        for text in (b"#!/bin/sh\n", b"MZ\x90\0", b"\x7fEL"):
            self.refused(self.verdict(text), "not_elf")

    def test_t03_a_directory(self):
        os.mkdir(self.path())
        self.refused(run(self.path()), "not_regular_file", "a directory")

    def test_t03_a_dangling_link(self):
        os.symlink("nowhere.so", self.path())
        self.refused(run(self.path()), "missing_file", state="missing")

    def test_t03_a_link_loop(self):
        os.symlink("x.so", self.path())
        self.refused(run(self.path()), "link_loop")

    def test_t03_another_machine_names_both(self):
        host = os.uname().machine
        for number, name in (
            (183, "aarch64"),
            (62, "x86_64"),
            (243, "riscv"),
            (999, "machine 999"),
        ):
            if name == host:
                continue
            image = bytearray(read(fixture("plain")))
            struct.pack_into("<H", image, 18, number)
            self.refused(self.verdict(image), "wrong_machine", f"file is {name}, host is {host}")

    def test_t03_a_library_built_for_another_machine(self):
        compiler, name = ("aarch64-linux-gnu-gcc", "aarch64")
        if os.uname().machine == "aarch64" or not shutil.which(compiler):
            self.skipTest("there is no compiler for another machine")
        subprocess.run(
            [compiler, "-shared", "-nostdlib", "-o", self.path(), "-x", "c", "-"],
            input=b"int f(void) { return 0; }",
            check=True,
        )
        self.refused(run(self.path()), "wrong_machine", f"file is {name}, host is ")

    def test_t03_another_class(self):
        image = bytearray(read(fixture("plain")))
        image[4] = 1
        self.refused(self.verdict(image), "wrong_class", "file is 32-bit, host is 64-bit")

    def test_t03_another_byte_order(self):
        image = bytearray(read(fixture("plain")))
        image[5] = 2
        self.refused(self.verdict(image), "wrong_endian", "big-endian", "little-endian")

    def test_t03_an_executable_and_an_object_file(self):
        self.refused(run(WORKER), "not_shared_object", "an executable")
        for kind, words in ((1, "an object file"), (2, "an executable"), (4, "a core dump")):
            image = bytearray(read(fixture("plain")))
            struct.pack_into("<H", image, 16, kind)
            self.refused(self.verdict(image), "not_shared_object", words)


class Note(Case):
    def test_n01_no_note(self):
        for name in ("no_note",):
            self.refused(run(fixture(name)), "no_note", "KPLUG_PLUGIN_NOTE")
        for library in ("libm.so.6", "libc.so.6"):
            path = f"/lib/{os.uname().machine}-linux-gnu/{library}"
            if os.path.exists(path):
                self.refused(run(path), "no_note")

    def test_n01_a_note_that_goes_on_behind_its_segment(self):
        image = bytearray(read(fixture("plain")))
        at = image.index(NOTE_HEAD) - 4
        for size in (5 << 20, 0xFFFFFFFF, struct.unpack_from("<I", image, at)[0] + 4096):
            struct.pack_into("<I", image, at, size)
            self.refused(self.verdict(image), "note_truncated")

    def test_n01_two_notes(self):
        self.refused(run(fixture("two_notes")), "several_notes")

    def test_n01_another_owner(self):
        self.refused(run(fixture("note_of_other_owner")), "note_wrong_owner", '"plugk"', '"kplug"')
        for owner in (b"KPLUG\0", b"kplux\0", b"kplug2"):
            image = read(fixture("plain")).replace(NOTE_HEAD[4:10], owner, 1)
            self.refused(self.verdict(image), "note_wrong_owner")

    def test_n01_another_type(self):
        self.refused(run(fixture("note_of_other_type")), "note_wrong_type", "type 2")
        image = read(fixture("plain"))
        for kind in (0, 0xFFFFFFFF):
            head = struct.pack("<I", kind) + NOTE_HEAD[4:]
            self.refused(self.verdict(image.replace(NOTE_HEAD, head, 1)), "note_wrong_type")

    def test_n01_a_note_of_5_mib(self):
        self.refused(run(fixture("note_of_5_mib")), "note_too_large", "5242880", "4194304")

    def test_n01_a_note_of_many_values(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.dir, delete=False) as file:
            file.write('{"name":"x","version":"1.0.0","description":[' + "{}," * 400000 + "1]}")
        source = f'#define NOTE "{file.name}"\n#include "plain.h"\n'.encode()
        subprocess.run(
            [
                "cc",
                "-shared",
                "-fPIC",
                "-w",
                f"-I{ROOT}/lib/include",
                f"-I{HERE}/fixtures",
                f"-Wl,--version-script={ROOT}/lib/include/kplug/plugin.map",
                "-x",
                "c",
                "-",
                "-o",
                self.path(),
            ],
            input=source,
            check=True,
        )
        self.refused(run(self.path()), "too_many_values", "262144")

    def test_n01_texts_that_are_no_note(self):
        texts = {
            "json_syntax": (b"{", b"not json", b'{"name": "x",}'),
            "json_not_utf8": (b'{"name": "\xff"}', b'{"\xc0\x80": 1}'),
            "json_nul": (b'{"name": "a\\u0000b"}', b'{"name": "a\0b"}'),
            "json_too_deep": (b"[" * 100 + b"]" * 100, b'{"a":' * 40 + b"1" + b"}" * 40),
            "json_duplicate_key": (b'{"name": "a", "name": "b"}',),
            "missing_key": (b'{"name": "a"}', b"{}"),
            "wrong_type": (b'{"name": 1, "version": "1.0.0"}',),
            "bad_version": (b'{"name": "a", "version": "1"}',),
        }
        for code, list_of in texts.items():
            for text in list_of:
                with self.subTest(code=code, text=text):
                    self.refused(self.verdict(with_note(text)), code)

    def test_v02_a_host_outside_the_range_of_the_note(self):
        for words, code in (
            (b'"min": "9.0.0"', "host_too_old"),
            (b'"min": "0.0.1", "max": "0.1.0"', "host_too_new"),
            (b'"max": "0.0.9"', "host_too_new"),
        ):
            text = b'{"name": "a", "version": "1.0.0", "host": {%s}}' % words
            verdict = self.verdict(with_note(text))
            self.refused(verdict, code, "0.1.0")
            self.assertEqual(verdict["note"]["name"], "a")

    def test_v05_an_abi_of_another_major_version(self):
        text = b'{"name": "a", "version": "1.0.0", "abi": {"major": 1, "built": 0, "needed": 0}}'
        self.refused(self.verdict(with_note(text)), "abi_major")

    def info(self, image):
        """The PluginInfo of a file, as pluginctl tells it."""
        with open(self.path(), "wb") as file:
            file.write(image)
        done = subprocess.run(
            [os.path.join(BUILD, "pluginctl"), "info", self.path(), "--json"],
            capture_output=True,
            timeout=60,
            check=False,
        )
        return json.loads(done.stdout)["plugin"]

    def test_an_unknown_key_is_a_warning_told_once(self):
        text = b'{"name": "a", "version": "1.0.0", "colour": "red"}'
        info = self.info(with_note(text))
        self.assertIsNone(info["reason"])
        self.assertEqual([row["code"] for row in info["warnings"]], ["unknown_key"])

    def kernel(self, **more):
        kernel = {
            "name": "mm",
            "operation": "gemm/mm",
            "priority": 5,
            "signatures": ["a=f32,b=f32,c=f32"],
            **more,
        }
        note = {"name": "a", "version": "1.0.0", "kernels": [kernel]}
        return with_note(json.dumps(note, separators=(",", ":")).encode())

    def test_what_the_registry_would_refuse_is_refused(self):
        for more, code in (
            ({"signatures": ["a=f32,b=f32,c=f32,q=f32"]}, "unknown_role"),
            ({"signatures": ["a=f32,b=f32"]}, "missing_role"),
            ({"signatures": ["a=i64,b=f32,c=f32"]}, "format_not_allowed"),
            ({"traits": {"colour": {"in": ["red"]}}}, "unknown_trait"),
            ({"traits": {"m": {"in": ["red"]}}}, "bad_trait"),
        ):
            with self.subTest(code=code):
                verdict = self.verdict(self.kernel(**more))
                self.refused(verdict, code, "kernel mm")
                self.assertEqual(verdict["note"]["name"], "a")

    def test_what_the_registry_would_warn_of_is_warned_of_once(self):
        for more, code in (
            ({"revision": 9}, "newer_revision"),
            ({"operation": "gemm/mn"}, "unknown_family"),
        ):
            with self.subTest(code=code):
                verdict = self.verdict(self.kernel(**more))
                self.assertEqual(verdict["state"], "active", verdict["message"])
                self.assertEqual([row["code"] for row in verdict["warnings"]], [code])
                info = self.info(self.kernel(**more))
                self.assertEqual([row["code"] for row in info["warnings"]], [code])

    def test_the_operation_that_was_meant_is_offered(self):
        for operation, meant in (
            ("gemm/mn", "did you mean gemm/mm?"),
            ("elementwise/sqare", "did you mean elementwise/square?"),
            ("elementwize/square", "did you mean elementwise/square?"),
            ("acoustics/reverberate", "only a request with the exact signature"),
        ):
            with self.subTest(operation=operation):
                warnings = self.info(self.kernel(operation=operation))["warnings"]
                self.assertEqual([row["code"] for row in warnings], ["unknown_family"])
                self.assertIn(meant, warnings[0]["message"])

    def test_n03_a_stripped_library_keeps_its_note(self):
        for options in (["-d"], [], ["--strip-all"]):
            subprocess.run(["strip", *options, "-o", self.path(), fixture("plain")], check=True)
            self.assertEqual(run(self.path())["state"], "active", options)

    def test_n03_a_library_without_sections_keeps_its_note(self):
        verdict = self.verdict(without_sections(read(fixture("plain"))))
        self.assertEqual(verdict["state"], "active", verdict["message"])
        self.assertEqual(verdict["note"]["name"], "plain")

    def test_n03_the_alignment_of_the_segment_does_not_matter(self):
        for align in (0, 1, 4):
            image = bytearray(read(fixture("plain")))
            for at, kind, *rest in segments(image):
                if kind == PT_NOTE and rest[-1] != 8:
                    struct.pack_into("<Q", image, at + 48, align)
            self.assertEqual(self.verdict(image)["state"], "active")


class Exports(Case):
    def test_a17_whatever_else_is_exported_is_named(self):
        for name, words in (
            ("exports_function", ["fixture_helper", "fixture_other", "more than kplug_plugin"]),
            ("exports_data", ["fixture_variable"]),
            ("exports_weak_symbol", ["fixture_weak"]),
        ):
            self.refused(run(fixture(name)), "exports_more", *words)

    def test_a17_it_is_seen_without_sections(self):
        verdict = self.verdict(without_sections(read(fixture("exports_function"))))
        self.refused(verdict, "exports_more", "fixture_helper")

    def test_without_the_plugin_symbol_it_is_no_plugin(self):
        self.refused(run(fixture("exports_nothing")), "no_plugin_symbol", "does not export")
        self.refused(run(fixture("plugin_is_a_function")), "no_plugin_symbol", "not as an object")


class Libraries(Case):
    """Where the loader would look, with a library of our own."""

    def build(self, *flags):
        helper = self.path("libkplug_helper.so")
        cc = ["cc", "-shared", "-fPIC", "-x", "c", "-"]
        subprocess.run([*cc, "-o", helper], input=b"int h;", check=True)
        source = b'#include "plain.h"\nextern int h; int *kept __attribute__((used)) = &h;\n'
        include = [f"-I{ROOT}/lib/include", f"-I{HERE}/fixtures", f"-Wa,-I{HERE}/fixtures"]
        script = f"-Wl,--version-script={ROOT}/lib/include/kplug/plugin.map"
        subprocess.run(
            [*cc, *include, "-w", script, "-o", self.path(), "-x", "none", helper, *flags],
            input=source,
            check=True,
        )
        os.rename(helper, self.path("libkplug_kept.so"))

    def found(self, verdict):
        """The row of the helper; without it the library cannot be loaded here."""
        (row,) = [row for row in verdict["elf"]["libraries"] if "kplug_helper" in row["name"]]
        return row

    def build_named(self, *flags):
        """Linked by soname, so that it is searched."""
        self.build(*flags)
        image = read(self.path())
        return image.replace(
            self.path("libkplug_helper.so").encode(),
            b"libkplug_helper.so".ljust(len(self.path("libkplug_helper.so")), b"\0"),
        )

    def test_the_runpath_of_the_library_is_followed_from_its_directory(self):
        image = self.build_named("-Wl,--enable-new-dtags,-rpath,$ORIGIN/deps")
        os.mkdir(self.path("deps"))
        place = self.path("deps/libkplug_helper.so")
        self.assertIsNone(self.found(self.verdict(image))["path"])
        os.rename(self.path("libkplug_kept.so"), place)
        row = self.found(self.verdict(image))
        self.assertEqual((row["path"], row["searched"]), (place, [self.path("deps")]))

    def test_the_library_path_of_the_environment_is_followed(self):
        image = self.build_named()
        os.rename(self.path("libkplug_kept.so"), self.path("libkplug_helper.so"))
        row = self.found(self.verdict(image, LD_LIBRARY_PATH=f"/nonexistent:{self.dir}"))
        self.assertEqual(row["path"], self.path("libkplug_helper.so"))
        self.assertEqual(row["searched"], ["/nonexistent", self.dir])

    def test_t32_a_missing_library_is_refused_with_the_places_searched(self):
        verdict = self.verdict(self.build_named())
        row = self.found(verdict)
        self.assertIsNone(row["path"])
        self.assertIn("/etc/ld.so.cache", row["searched"])
        self.refused(
            verdict,
            "missing_library",
            "libkplug_helper.so is not found (searched",
            row["searched"][0],
        )

    def build_needing(self, name, *flags):
        """Needs a library by this name, whatever it is."""
        self.build(*flags)
        mine = self.path("libkplug_helper.so").encode()
        return read(self.path()).replace(mine, name.encode().ljust(len(mine), b"\0"))

    def test_a_needed_name_with_a_path_that_depends_on_the_loader_is_refused(self):
        for name in (
            "../liby.so",
            "sub/liby.so",
            "./liby.so",
            "$ORIGIN/liby.so",
            "..",
            "/l/../y.so",
        ):
            with self.subTest(name=name):
                verdict = self.verdict(self.build_needing(name))
                self.refused(verdict, "needed_with_path", self.path(), f"needs {name}:")
                self.assertIn(name, verdict["elf"]["needed"])

    def test_a_library_that_the_loader_opens_in_front_of_it_is_refused(self):
        for flag, tag in (("-f", "DT_AUXILIARY"), ("-F", "DT_FILTER")):
            for name in ("/tmp/anybodys.so", "liby.so", "$ORIGIN/beside.so"):
                with self.subTest(flag=flag, name=name):
                    self.build(f"-Wl,{flag},{name}")
                    verdict = self.verdict(read(self.path()))
                    self.refused(verdict, "filter_library", name, tag)

    def test_an_absolute_needed_name_is_the_same_for_everybody(self):
        verdict = self.verdict(self.build_needing("/lib/y.so"))
        self.refused(verdict, "missing_library", "/lib/y.so")
        verdict = self.verdict(self.build_needing(self.path("libkplug_kept.so")))
        self.assertEqual(verdict["state"], "active", verdict["message"])

    def test_more_than_256_search_paths_are_refused_and_not_searched(self):
        for count in (257, 60000):
            with self.subTest(count=count):
                flags = self.path("flags")
                with open(flags, "w", encoding="ascii") as file:
                    file.write("-Wl,-rpath," + ":".join(f"/{i:x}" for i in range(count)))
                verdict = self.verdict(self.build_named("@" + flags))
                self.refused(verdict, "too_many_search_paths", "256")
                self.assertEqual(len(verdict["elf"]["runpath"]), 257)

    def test_256_search_paths_are_searched(self):
        paths = ":".join(f"/{i:x}" for i in range(256))
        row = self.found(self.verdict(self.build_named(f"-Wl,-rpath,{paths}")))
        self.assertGreater(len(row["searched"]), 256)

    def test_search_paths_of_more_than_32_kib_are_refused(self):
        paths = ":".join(f"/{i:0400d}" for i in range(100))
        self.refused(
            self.verdict(self.build_named(f"-Wl,-rpath,{paths}")), "too_many_search_paths", "32 KiB"
        )

    def test_a_library_of_another_machine_is_passed_over(self):
        image = self.build_named()
        other = bytearray(read(self.path("libkplug_kept.so")))
        struct.pack_into("<H", other, 18, 999)
        with open(self.path("libkplug_helper.so"), "wb") as file:
            file.write(other)
        row = self.found(self.verdict(image, LD_LIBRARY_PATH=self.dir))
        self.assertIsNone(row["path"])


if __name__ == "__main__":
    unittest.main()
