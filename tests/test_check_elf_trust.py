# SPDX-License-Identifier: MIT
"""What a loader takes on trust of a library is refused before it gets there."""

import struct
import unittest

from elf import PT_GNU_RELRO, PT_LOAD, Elf
from test_check_elf import FAR, Static
from test_identify import fixture

RELA = struct.Struct("<QQq")
RELATIVE = {62: 8, 183: 1027}


class Trusted(Static):
    def setUp(self):
        super().setUp()
        self.noisy = Elf.read(fixture("noisy"))
        self.writable = self.loaded(2)

    def loaded(self, flag):
        """The first segment of it that may be written (2), or run (1)."""
        return next(s for s in self.noisy.segments() if s["type"] == PT_LOAD and s["flags"] & flag)

    def all_damaged(self, elves):
        for name, (elf, words) in elves.items():
            with self.subTest(name):
                self.refused(self.of(elf), "elf_damaged", words)

    def test_t03_entries_that_lack_each_other(self):
        noisy = self.noisy
        elves = {
            "length of relocations": (noisy.without_dynamic("RELASZ"), "no length"),
            "size of relocations": (noisy.without_dynamic("RELAENT"), "no size"),
            "relocations": (noisy.without_dynamic("RELA"), "relocations are not there"),
            "symbols": (noisy.without_dynamic("SYMTAB"), "no symbol table"),
            "versions of symbols": (noisy.without_dynamic("VERSYM"), "versions"),
            "versions needed": (noisy.without_dynamic("VERNEED"), "versions are not there"),
            "constructors": (noisy.without_dynamic("INIT_ARRAY"), "constructors are not there"),
        }
        if noisy.has("JMPREL"):
            elves.update(
                {
                    "functions": (noisy.without_dynamic("JMPREL"), "are not there"),
                    "kind of functions": (noisy.without_dynamic("PLTREL"), "are of no kind"),
                    "kind of none": (noisy.with_dynamic("PLTREL", 9), "an unknown kind"),
                    "length of functions": (noisy.without_dynamic("PLTRELSZ"), "no length"),
                }
            )
        self.all_damaged(elves)

    def test_t03_an_entry_of_which_the_loader_takes_another(self):
        noisy = self.noisy
        for tag in ("STRTAB", "SYMTAB", "INIT_ARRAY", "RELA"):
            with self.subTest(tag):
                twice = noisy.with_more_dynamic(tag, noisy.value(tag))
                self.refused(self.of(twice), "elf_damaged", "two entries of kind 0x")
        needed = noisy.with_more_dynamic("NEEDED", noisy.value("NEEDED"))
        self.assertEqual(self.of(needed)["state"], "active")

    def test_t03_names_and_code_that_lie_elsewhere(self):
        noisy = self.noisy
        data = self.writable["vaddr"]
        symbol = noisy.value("SYMTAB") + 24
        need = noisy.value("VERNEED")
        far = b"\xff\xff\xff"
        elves = {
            "needed": (noisy.with_dynamic("NEEDED", FAR), "string table"),
            "soname": (noisy.with_more_dynamic("SONAME", FAR), "string table"),
            "search path": (noisy.with_more_dynamic("RUNPATH", FAR), "string table"),
            "symbol": (noisy.with_bytes(symbol, b"\xff\xff\xff\x7f"), "name of a symbol"),
            "version": (noisy.with_bytes(need, b"\x09"), "versions needed"),
            "library of versions": (noisy.with_bytes(need + 4, far), "versions needed"),
            "first of its versions": (noisy.with_bytes(need + 8, far), "versions needed"),
            "next library": (noisy.with_bytes(need + 12, far), "versions needed"),
        }
        for tag in ("INIT", "FINI"):
            if noisy.has(tag):
                elves[tag] = (noisy.with_dynamic(tag, data), "is no code")
                elves[tag + " far"] = (noisy.with_dynamic(tag, FAR), "is no code")
        self.all_damaged(elves)

    def test_t03_relocations_of_what_is_not_its_own(self):
        noisy = self.noisy
        at = noisy.value("RELA")
        _, info, addend = RELA.unpack_from(noisy.data, at)
        last = at + noisy.value("RELASZ") - RELA.size
        to, own, _ = RELA.unpack_from(noisy.data, last)
        kind = own & 0xFFFFFFFF

        def first(offset, what=info):
            return noisy.with_bytes(at, RELA.pack(offset, what, addend))

        self.all_damaged(
            {
                "outside": (first(FAR), "memory outside of it"),
                "behind the last": (
                    first(self.writable["vaddr"] + self.writable["memsz"]),
                    "memory outside of it",
                ),
                "its headers": (first(16), "may only be read"),
                "its code": (first(self.loaded(1)["vaddr"]), "may only be read"),
                "symbol": (
                    noisy.with_bytes(last, RELA.pack(to, 0x7FFFFFFF << 32 | kind, 0)),
                    "a symbol that it does not have",
                ),
                "count": (noisy.with_dynamic("RELACOUNT", FAR), "fewer relocations"),
                "kind": (
                    noisy.with_dynamic("RELACOUNT", noisy.value("RELASZ") // RELA.size),
                    "not of the kind",
                ),
            }
        )

    def test_t03_more_is_made_read_only_than_is_loaded(self):
        noisy = self.noisy
        relro = noisy.find(PT_GNU_RELRO)
        self.all_damaged(
            {
                "more": (noisy.with_segment(relro, memsz=FAR), "more than is loaded"),
                "elsewhere": (noisy.with_segment(relro, vaddr=FAR), "is not loaded"),
                "a page more": (
                    noisy.with_segment(relro, memsz=self.writable["memsz"] + 8192),
                    "more than is loaded",
                ),
            }
        )

    def test_the_fixtures_themselves_are_sound(self):
        self.assertEqual(self.of(self.noisy)["state"], "active")
        head = self.noisy.header("machine")
        _, info, _ = RELA.unpack_from(self.noisy.data, self.noisy.value("RELA"))
        self.assertEqual(info, RELATIVE.get(head, info))


if __name__ == "__main__":
    unittest.main()
