# SPDX-License-Identifier: MIT
"""Static truth of a library: headers that contradict each other, stacks, storage, code."""

import os
import subprocess

from elf import DF_STATIC_TLS, DF_TEXTREL, PT_DYNAMIC, PT_GNU_STACK, PT_LOAD, PT_NOTE, PT_TLS, Elf
from harness import HERE, ROOT
from test_identify import Case, fixture, run

FAR = 1 << 40
INCLUDE = [f"-I{ROOT}/lib/include", f"-I{HERE}/fixtures", f"-Wa,-I{HERE}/fixtures"]
SCRIPT = f"-Wl,--version-script={ROOT}/lib/include/kplug/plugin.map"


def compile_plugin(path, source, *flags):
    """The plain fixture with more code in it."""
    subprocess.run(
        [
            "cc",
            "-shared",
            "-fPIC",
            "-w",
            "-O1",
            *INCLUDE,
            SCRIPT,
            "-x",
            "c",
            "-",
            "-x",
            "none",
            "-o",
            path,
            *flags,
        ],
        input=('#include "plain.h"\n' + source).encode(),
        check=True,
    )


class Static(Case):
    def setUp(self):
        super().setUp()
        self.plain = Elf.read(fixture("plain"))

    def of(self, elf):
        return self.verdict(elf.data)

    def built(self, source, *flags):
        compile_plugin(self.path(), source, *flags)
        return run(self.path())

    def warned(self, verdict, code, *words):
        self.assertEqual(verdict["state"], "active", verdict["message"])
        (row,) = [row for row in verdict["warnings"] if row["code"] == code]
        for word in words:
            self.assertIn(word, row["message"])


class Headers(Static):
    def all_damaged(self, elves):
        for name, elf in elves.items():
            with self.subTest(name):
                verdict = self.of(elf)
                self.assertIn(verdict["code"], ("elf_damaged", "elf_truncated"), verdict)
                self.assertEqual(verdict["state"], "rejected")

    def test_a_file_header_that_is_wrong(self):
        plain = self.plain
        ident = bytearray(plain.header("ident"))
        ident[6] = 2
        self.all_damaged(
            {
                "version of ident": plain.with_header(ident=bytes(ident)),
                "version": plain.with_header(version=2),
                "ehsize": plain.with_header(ehsize=65),
                "phentsize": plain.with_header(phentsize=32),
                "phentsize 0": plain.with_header(phentsize=0),
                "shentsize": plain.with_header(shentsize=48),
                "shstrndx": plain.with_header(shstrndx=plain.header("shnum")),
                "phoff": plain.with_header(phoff=FAR),
                "phoff wraps": plain.with_header(phoff=(1 << 64) - 8),
                "shoff": plain.with_header(shoff=FAR),
                "phnum 0": plain.with_header(phnum=0),
                "phnum": plain.with_header(phnum=0xFFFF),
            }
        )

    def test_segments_that_contradict_each_other(self):
        plain = self.plain
        first, second = plain.find(PT_LOAD), plain.find(PT_LOAD, 1)
        note, loads = plain.find(PT_NOTE), plain.segments()
        swapped = plain.with_segment(first, **loads[second]).with_segment(second, **loads[first])
        self.all_damaged(
            {
                "more in the file": plain.with_segment(first, memsz=loads[first]["filesz"] - 1),
                "behind the file": plain.with_segment(first, filesz=FAR, memsz=FAR),
                "wraps": plain.with_segment(second, vaddr=(1 << 64) - 4096, memsz=8192),
                "alignment": plain.with_segment(first, align=3),
                "alignment of a note": plain.with_segment(note, align=12),
                "offset": plain.with_segment(second, vaddr=loads[second]["vaddr"] + 1),
                "overlap": plain.with_segment(first, memsz=loads[second]["vaddr"] + 1),
                "order": swapped,
                "no load": Elf(plain.data) if not loads else self.without_loads(),
                "two dynamic": plain.with_segment(note, type=PT_DYNAMIC),
                "two stacks": plain.with_segment(note, type=PT_GNU_STACK),
            }
        )

    def without_loads(self):
        elf = self.plain
        for i, segment in enumerate(elf.segments()):
            if segment["type"] == PT_LOAD:
                elf = elf.with_segment(i, type=PT_NOTE, filesz=0)
        return elf

    def test_a_dynamic_section_that_leads_astray(self):
        plain = self.plain
        dynamic = plain.find(PT_DYNAMIC)
        segment = plain.segments()[dynamic]
        used = next(at for at, tag, _ in plain.dynamic() if tag == 0) - segment["offset"]
        self.all_damaged(
            {
                "elsewhere": plain.with_segment(dynamic, vaddr=segment["vaddr"] + 16),
                "without an end": plain.with_segment(dynamic, filesz=used, memsz=used),
                "empty": plain.with_segment(dynamic, filesz=0, memsz=0),
                "strings": plain.with_dynamic("STRTAB", FAR),
                "strings too long": plain.with_dynamic("STRSZ", FAR),
                "symbols": plain.with_dynamic("SYMTAB", FAR),
                "size of a symbol": plain.with_dynamic("SYMENT", 25),
                "relocations": plain.with_dynamic("RELA", FAR),
                "length of relocations": plain.with_dynamic("RELASZ", FAR * 24),
                "half a relocation": plain.with_dynamic("RELASZ", plain.value("RELASZ") - 1),
                "size of a relocation": plain.with_dynamic("RELAENT", 23),
                "hash table": plain.with_dynamic("GNU_HASH", FAR),
                "constructors": plain.with_dynamic("INIT_ARRAY", FAR),
                "length of constructors": plain.with_dynamic("INIT_ARRAYSZ", 4),
            }
        )

    def test_the_fixture_itself_is_sound(self):
        self.assertEqual(self.of(self.plain)["state"], "active")


class Stacks(Static):
    def test_t34_an_executable_or_unmarked_stack_is_refused_on_every_c_library(self):
        stack = self.plain.find(PT_GNU_STACK)
        for code, elf in (
            ("executable_stack", self.plain.with_segment(stack, flags=7)),
            ("executable_stack", self.plain.with_segment(stack, flags=1)),
            ("unmarked_stack", self.plain.with_segment(stack, type=0)),
        ):
            with self.subTest(code):
                self.refused(self.of(elf), code, "2.41")

    def test_t34_libraries_that_were_linked_so(self):
        self.refused(self.built("", "-Wl,-z,execstack"), "executable_stack")
        nested = (
            "int outer(int (**p)(void), int x) { int f(void) { return x; } *p = f; return (*p)(); }"
        )
        verdict = self.built(
            "static " + nested + '\nvoid *kept __attribute__((visibility("hidden"))) = outer;'
        )
        self.refused(verdict, "executable_stack")
        self.refused(
            self.built('__asm__(".section .note.GNU-stack,\\"x\\",@progbits\\n.text");'),
            "executable_stack",
        )


class Storage(Static):
    SOURCE = (
        'static __thread char block[%d] __attribute__((tls_model("initial-exec"), used));'
        "char *at(void) { return block; }"
    )

    def test_t33_much_static_storage_is_refused_with_its_bytes(self):
        for size in (4096, 1032, 1 << 20):
            with self.subTest(size):
                verdict = self.built(self.SOURCE % size, "-fvisibility=hidden")
                self.refused(verdict, "static_tls", str(size))
                self.assertTrue(verdict["elf"]["static_tls"])
                self.assertEqual(verdict["elf"]["tls_bytes"], size)

    def test_t33_little_static_storage_is_a_warning_with_its_bytes(self):
        for size in (8, 512, 1024):
            self.warned(
                self.built(self.SOURCE % size, "-fvisibility=hidden"), "static_tls", str(size)
            )

    def test_t33_storage_that_is_not_static_is_no_finding(self):
        source = self.SOURCE.replace("initial-exec", "global-dynamic") % 4096
        verdict = self.built(source, "-fvisibility=hidden")
        self.assertEqual((verdict["state"], verdict["elf"]["tls_bytes"]), ("active", 4096))
        self.assertEqual([w for w in verdict["warnings"] if w["code"] == "static_tls"], [])

    def test_t33_the_flag_of_the_dynamic_section_counts(self):
        elf = Elf.read(self.tls_library())
        self.assertEqual(self.of(elf)["state"], "active")
        self.refused(self.of(elf.with_more_dynamic("FLAGS", DF_STATIC_TLS)), "static_tls", "4096")

    def tls_library(self):
        compile_plugin(
            self.path("tls.so"),
            self.SOURCE.replace("initial-exec", "global-dynamic") % 4096,
            "-fvisibility=hidden",
        )
        elf = Elf.read(self.path("tls.so"))
        self.assertFalse(elf.has("FLAGS"))
        self.assertEqual(len([s for s in elf.segments() if s["type"] == PT_TLS]), 1)
        return self.path("tls.so")


class Code(Static):
    def test_text_relocations_are_a_warning(self):
        for elf in (
            self.plain.with_more_dynamic("TEXTREL", 0),
            self.plain.with_more_dynamic("FLAGS", DF_TEXTREL),
        ):
            self.warned(self.of(elf), "text_relocations", "-fPIC")

    def test_code_that_can_be_written_is_a_warning(self):
        for nth in (0, 1, 2):
            index = self.plain.find(PT_LOAD, nth)
            self.warned(self.of(self.plain.with_segment(index, flags=7)), "writable_code")

    def test_constructors_and_resolvers_are_counted(self):
        constructor = '__attribute__((constructor)) static void c%d(void) { __asm__ volatile(""); }'
        for count in (0, 1, 3):
            verdict = self.built("\n".join(constructor % i for i in range(count)))
            self.assertEqual(verdict["elf"]["constructors"], count)
        self.assertGreaterEqual(run(fixture("crash_in_ifunc"))["elf"]["ifuncs"], 1)
        self.assertEqual(run(fixture("plain"))["elf"]["ifuncs"], 0)


class Floats(Static):
    """Start-up code of -ffast-math: it flushes small numbers of the loading thread."""

    HAND = """
    __attribute__((constructor)) static void flush(void)
    {
        unsigned int word;
        __asm__ volatile("stmxcsr %0" : "=m"(word));
        word |= 0x8040;
        __asm__ volatile("ldmxcsr %0" : : "m"(word));
    }
    """

    def setUp(self):
        super().setUp()
        if os.uname().machine != "x86_64":
            self.skipTest("levels are those of x86-64")

    def crt(self):
        done = subprocess.run(
            ["cc", "-print-file-name=crtfastmath.o"], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def test_the_start_up_file_of_the_compiler(self):
        self.warned(self.built("", self.crt()), "float_startup_code", "-ffast-math")

    def test_start_up_code_stripped_of_names_and_sections(self):
        compile_plugin(self.path("y.so"), "", self.crt(), "-s", "-Wl,-z,pack-relative-relocs")
        self.warned(run(self.path("y.so")), "float_startup_code")
        subprocess.run(["objcopy", "--strip-unneeded", self.path("y.so"), self.path()], check=True)
        self.warned(run(self.path()), "float_startup_code")

    def test_start_up_code_written_by_hand(self):
        self.warned(self.built(self.HAND, "-O2"), "float_startup_code")
        self.warned(self.built(self.HAND, "-mavx", "-O0"), "float_startup_code")

    def test_start_up_code_other_constructors_are_none(self):
        for source in (
            self.HAND.replace("0x8040", "0x1f80"),
            "__attribute__((constructor)) static void c(void) { volatile int x = 0x8040; }",
            self.HAND.replace(
                "__attribute__((constructor)) static", "static __attribute__((used))"
            ),
        ):
            verdict = self.built(source)
            self.assertEqual([w["code"] for w in verdict["warnings"]], [])


if __name__ == "__main__":
    import unittest

    unittest.main()
