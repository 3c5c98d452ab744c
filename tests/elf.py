# SPDX-License-Identifier: MIT
"""Edits the headers of a 64-bit little-endian ELF library, one field at a time."""

import struct

EHDR = "<16sHHIQQQIHHHHHH"
EHDR_FIELDS = (
    "ident type machine version entry phoff shoff flags ehsize phentsize phnum"
    " shentsize shnum shstrndx"
).split()
PHDR = struct.Struct("<IIQQQQQQ")
PHDR_FIELDS = "type flags offset vaddr paddr filesz memsz align".split()
DYN = struct.Struct("<QQ")

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_TLS, PT_GNU_STACK = 1, 2, 4, 7, 0x6474E551
PT_GNU_RELRO = 0x6474E552
TAGS = {
    "NULL": 0,
    "NEEDED": 1,
    "PLTRELSZ": 2,
    "HASH": 4,
    "STRTAB": 5,
    "SYMTAB": 6,
    "RELA": 7,
    "RELASZ": 8,
    "RELAENT": 9,
    "STRSZ": 10,
    "SYMENT": 11,
    "INIT": 12,
    "FINI": 13,
    "SONAME": 14,
    "PLTREL": 20,
    "TEXTREL": 22,
    "JMPREL": 23,
    "INIT_ARRAY": 25,
    "INIT_ARRAYSZ": 27,
    "RUNPATH": 29,
    "FLAGS": 30,
    "NOBODYS": 0x60000123,
    "GNU_HASH": 0x6FFFFEF5,
    "VERSYM": 0x6FFFFFF0,
    "RELACOUNT": 0x6FFFFFF9,
    "VERNEED": 0x6FFFFFFE,
}
DF_TEXTREL, DF_STATIC_TLS = 4, 16


class Elf:
    """A library's bytes; every change gives another one."""

    def __init__(self, data):
        self.data = bytes(data)

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    def header(self, field):
        return struct.unpack_from(EHDR, self.data)[EHDR_FIELDS.index(field)]

    def with_header(self, **fields):
        values = list(struct.unpack_from(EHDR, self.data))
        for field, value in fields.items():
            values[EHDR_FIELDS.index(field)] = value
        return Elf(struct.pack(EHDR, *values) + self.data[struct.calcsize(EHDR) :])

    def segments(self):
        """[{field: value}]"""
        return [
            dict(
                zip(PHDR_FIELDS, PHDR.unpack_from(self.data, self.header("phoff") + i * PHDR.size))
            )
            for i in range(self.header("phnum"))
        ]

    def find(self, kind, nth=0):
        return [i for i, segment in enumerate(self.segments()) if segment["type"] == kind][nth]

    def with_segment(self, index, **fields):
        segment = {**self.segments()[index], **fields}
        at = self.header("phoff") + index * PHDR.size
        packed = PHDR.pack(
            *(segment[field] & (1 << 64) - 1 for field in PHDR_FIELDS[:2]),
            *(segment[field] & (1 << 64) - 1 for field in PHDR_FIELDS[2:])
        )
        return Elf(self.data[:at] + packed + self.data[at + PHDR.size :])

    def dynamic(self):
        """[(offset in the file, tag, value)]"""
        segment = self.segments()[self.find(PT_DYNAMIC)]
        return [
            (segment["offset"] + i, *DYN.unpack_from(self.data, segment["offset"] + i))
            for i in range(0, segment["filesz"], DYN.size)
        ]

    def value(self, tag):
        return next(value for _, t, value in self.dynamic() if t == TAGS[tag])

    def has(self, tag):
        return any(t == TAGS[tag] for _, t, _ in self.dynamic())

    def with_dynamic(self, tag, value, new_tag=None):
        """The first entry of a tag, with another value (and tag)."""
        at = next(at for at, t, _ in self.dynamic() if t == TAGS[tag])
        entry = DYN.pack(TAGS[new_tag or tag], value & (1 << 64) - 1)
        return Elf(self.data[:at] + entry + self.data[at + DYN.size :])

    def with_more_dynamic(self, tag, value):
        """An entry in the place of the first NULL: the linker leaves some."""
        return self.with_dynamic("NULL", value, tag)

    def without_dynamic(self, tag):
        """Its entry is of a kind that nobody knows."""
        return self.with_dynamic(tag, 0, "NOBODYS")

    def with_bytes(self, at, packed):
        return Elf(self.data[:at] + packed + self.data[at + len(packed) :])
