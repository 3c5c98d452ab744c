# SPDX-License-Identifier: MIT
"""What the Python module says of structs, numbers and functions, held to the headers."""

import ctypes
import os
import re
import subprocess
import tempfile
import unittest

from harness import ROOT
from python_module import kplug

INCLUDE = os.path.join(ROOT, "lib", "include")


def compiler():
    return os.environ.get("CC", "cc").split()


def printed(lines):
    """What a C program says that has these lines in its main."""
    source = "#include <kplug/host.h>\n#include <stdio.h>\nint main(void)\n{\n%s\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory(prefix="kplug-layout.") as place:
        program = os.path.join(place, "layout")
        subprocess.run(
            [*compiler(), "-std=c11", "-w", f"-I{INCLUDE}", "-o", program, "-x", "c", "-"],
            input=source % "\n".join(lines),
            text=True,
            check=True,
        )
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def members(header):
    """struct -> names of its members, by the text of a header."""
    with open(os.path.join(INCLUDE, "kplug", header), encoding="utf-8") as file:
        code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = {}
    for name, body in re.findall(r"^struct (kp_\w+) \{\n(.*?)^\};", code, re.S | re.M):
        body = re.sub(r"union \{.*?\} (\w+);", r"int \1;", body, flags=re.S)
        body = re.sub(r"\(\*(\w+)\)\s*\([^;]*\);", r" \1;", body, flags=re.S)
        said = [part for line in body.split(";") for part in line.split(",")]
        names = [re.findall(r"\w+", part.split("[")[0]) for part in said]
        found[name] = [words[-1] for words in names if words]
    return found


class Layout(unittest.TestCase):
    def setUp(self):
        self.layout = kplug._layout

    def test_every_struct_is_laid_out_as_the_compiler_does(self):
        lines, ours = [], []
        for struct in self.layout.STRUCTS:
            name = struct.__name__
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            ours.append(f"{name} {ctypes.sizeof(struct)}")
            for field, *_ in struct._fields_:
                at = getattr(struct, field)
                lines.append(
                    f'printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {field}), '
                    f"sizeof(((struct {name} *)0)->{field}));"
                )
                ours.append(f"{name}.{field} {at.offset} {at.size}")
        self.assertGreater(len(ours), 80)
        self.assertEqual(ours, printed(lines).splitlines())

    def test_every_member_of_the_headers_is_there(self):
        said = {**members("plugin.h"), **members("host.h")}
        for struct in self.layout.STRUCTS:
            with self.subTest(struct=struct.__name__):
                self.assertEqual([f for f, *_ in struct._fields_], said[struct.__name__])

    def test_numbers_are_those_of_the_headers(self):
        names = [n for n in dir(self.layout) if re.fullmatch(r"KP_[A-Z0-9_]+", n)]
        self.assertGreater(len(names), 12)
        lines = [f'printf("%d\\n", (int){n});' for n in names]
        statuses = [s for s in kplug.Status]
        lines += [f'printf("%d\\n", (int)KP_{s.name});' for s in statuses]
        ours = [getattr(self.layout, n) for n in names] + [int(s) for s in statuses]
        self.assertEqual([str(n) for n in ours], printed(lines).splitlines())

    def test_functions_have_as_many_arguments_as_in_the_header(self):
        with open(os.path.join(INCLUDE, "kplug", "host.h"), encoding="utf-8") as file:
            code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for name, (result, arguments) in kplug._library._PROTOTYPES.items():
            with self.subTest(function=name):
                found = re.search(rf"([\w ]+[ *]){name}\(\s*([^;{{]*?)\);", code)
                self.assertEqual(len(found[2].split(",")), len(arguments))
                self.assertEqual("void" == found[1].strip(), result is None)
                for said, ours in zip(found[2].split(","), arguments):
                    number = ours in (ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64)
                    self.assertEqual("*" in said or "[" in said, not number, said)


if __name__ == "__main__":
    unittest.main()
