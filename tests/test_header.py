# SPDX-License-Identifier: MIT
"""kplug/plugin.h in every language that it promises, and against DLPack's header."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(os.path.dirname(HERE), "lib", "include")
HEADER = os.path.join(INCLUDE, "kplug", "plugin.h")
STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
# The suffix of the source, its standard and the compilers of its language.
C99, C11 = ("c", "c99", ("gcc", "clang")), ("c", "c11", ("gcc", "clang"))
CXX17 = ("cc", "c++17", ("g++", "clang++"))
LANGUAGES = (C99, C11, CXX17)

PLUGIN = """
#include <kplug/plugin.h>
KPLUG_PLUGIN_NOTE("plugin.json");
static int run(const struct kp_call *call)
{
	return KP_COVERS(call, generation) ? KP_OK : KP_INVALID;
}
static const struct kp_kernel kernel = {KP_SIZED(struct kp_kernel), run,
	0, 0, 0, 0, 0, 0, 0, 0};
static const struct kp_entry entry = {KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0,
	"one", &kernel};
static const struct kp_entry *const entries[] = {&entry};
KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {KP_SIZED(struct kp_plugin),
	KP_ABI_MAJOR, KP_ABI_MINOR, 0, 1, entries, 0, 0};
"""

DLPACK = """
#include <dlpack/dlpack.h>
#include <kplug/plugin.h>
#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #theirs)
#define FIELD(field) \\
	SAME(offsetof(struct kp_tensor, field), offsetof(DLTensor, field)); \\
	SAME(sizeof(((struct kp_tensor *)0)->field), sizeof(((DLTensor *)0)->field))
SAME(sizeof(struct kp_tensor), sizeof(DLTensor));
SAME(_Alignof(struct kp_tensor), _Alignof(DLTensor));
FIELD(data);
FIELD(ndim);
FIELD(dtype);
FIELD(shape);
FIELD(strides);
FIELD(byte_offset);
"""

PLACES = """
SAME(sizeof(struct kp_dtype), sizeof(DLDataType));
SAME(offsetof(struct kp_dtype, code), offsetof(DLDataType, code));
SAME(offsetof(struct kp_dtype, bits), offsetof(DLDataType, bits));
SAME(offsetof(struct kp_dtype, lanes), offsetof(DLDataType, lanes));
SAME(offsetof(struct kp_place, type), offsetof(DLDevice, device_type));
SAME(offsetof(struct kp_place, id), offsetof(DLDevice, device_id));
SAME(sizeof(struct kp_place), sizeof(DLDevice));
SAME(offsetof(struct kp_tensor, device), offsetof(DLTensor, device));
"""

CODES = """
SAME(KP_CODE_INT, kDLInt);
SAME(KP_CODE_UINT, kDLUInt);
SAME(KP_CODE_FLOAT, kDLFloat);
SAME(KP_CODE_BFLOAT, kDLBfloat);
SAME(KP_DEVICE_CPU, kDLCPU);
SAME(KP_DEVICE_CUDA, kDLCUDA);
SAME(KP_DEVICE_ROCM, kDLROCM);
"""


def structs():
    """{name: [fields]} as the header has them, in its order."""
    with open(HEADER, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        members = [m for m in body.split(";") if m.strip()]
        found[name] = [
            (re.search(r"\(\*(\w+)\)", m) or re.search(r"(\w+)(\[\d+\])?\s*$", m)).group(1)
            for m in members
        ]
    return found


class Header(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="kplug-header.")
        self.addCleanup(self.place.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.place.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def compile(self, compiler, language, text, *more):
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        suffix, standard, _ = language
        source = self.path(f"source.{suffix}", text)
        command = [compiler, f"-std={standard}", *STRICT, f"-I{INCLUDE}", source, *more]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.place.name
        )

    def accepted(self, compiler, language, text, *more):
        done = self.compile(compiler, language, text, *more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def in_every_compiler(self, language, text, *more):
        for compiler in language[2]:
            with self.subTest(compiler=compiler):
                self.accepted(compiler, language, text, *more)

    def test_a11_header_is_clean_c99(self):
        self.in_every_compiler(C99, "#include <kplug/plugin.h>\nint unused;\n", "-c")

    def test_a11_header_is_clean_c11(self):
        self.in_every_compiler(C11, "#include <kplug/plugin.h>\nint unused;\n", "-c")

    def test_a11_header_is_clean_cxx17(self):
        self.in_every_compiler(CXX17, "#include <kplug/plugin.h>\nint unused;\n", "-c")

    def test_a11_plugin_builds_in_every_language(self):
        self.path("plugin.json", '{"name": "one", "version": "1.0.0"}')
        library, script = self.path("one.so"), f"{INCLUDE}/kplug/plugin.map"
        shared = ["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs", "-o", library]
        shared.append(f"-Wl,--version-script={script}")
        for language in LANGUAGES:
            for compiler in language[2]:
                with self.subTest(compiler=compiler, standard=language[1]):
                    self.accepted(compiler, language, PLUGIN, *shared)
                    self.assertEqual(self.symbols(library), ["kplug_plugin"])

    def symbols(self, library):
        command = ["nm", "-D", "--defined-only", "--format=just-symbols", library]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def layout(self, compiler, language):
        lines = []
        for name, fields in structs().items():
            lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
            for field in fields:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof(struct {name}, {field}));')
        text = "#include <stdio.h>\n#include <kplug/plugin.h>\nint main(void)\n{\n"
        text += "\n".join(lines) + "\nreturn 0;\n}\n"
        program = self.path("layout")
        self.accepted(compiler, language, text, "-o", program)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        return done.stdout

    def test_a11_layouts_are_equal_in_every_language(self):
        first = self.layout("gcc", C11)
        self.assertIn("kp_call.generation 128\n", first)
        for language in LANGUAGES:
            for compiler in language[2]:
                with self.subTest(compiler=compiler, standard=language[1]):
                    self.assertEqual(self.layout(compiler, language), first)

    def test_a11_every_struct_is_sealed_at_its_last_member(self):
        with open(HEADER, encoding="utf-8") as file:
            sealed = dict(re.findall(r"^KP_SEALED\((\w+), (\w+)\);", file.read(), re.M))
        found = structs()
        self.assertGreater(len(found), 9)
        # Parts of a tensor, which is sealed as a whole.
        for name in set(found) - {"kp_place", "kp_dtype"}:
            with self.subTest(struct=name):
                self.assertEqual(sealed.get(name), found[name][-1])

    def test_a11_seal_refuses_tail_padding(self):
        loose = "struct kp_loose { void *a; uint32_t b; };\nKP_SEALED(kp_loose, b);\n"
        tight = loose.replace("uint32_t", "uint64_t")
        for language in LANGUAGES:
            for compiler in language[2]:
                with self.subTest(compiler=compiler, standard=language[1]):
                    start = "#include <kplug/plugin.h>\n"
                    self.accepted(compiler, language, start + tight, "-c")
                    done = self.compile(compiler, language, start + loose, "-c")
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("kp_loose_has_no_tail_padding", done.stderr)

    def dlpack(self, text):
        if not os.path.exists("/usr/include/dlpack/dlpack.h"):
            self.skipTest("libdlpack-dev is not installed")
        self.in_every_compiler(C11, DLPACK + text, "-c")

    def test_a12_tensor_is_that_of_dlpack(self):
        self.dlpack("")

    def test_a12_places_and_types_are_those_of_dlpack(self):
        self.dlpack(PLACES)

    def test_a12_numbers_are_those_of_dlpack(self):
        self.dlpack(CODES)

    def test_a12_another_layout_would_be_noticed(self):
        if not os.path.exists("/usr/include/dlpack/dlpack.h"):
            self.skipTest("libdlpack-dev is not installed")
        wrong = DLPACK + "SAME(offsetof(struct kp_tensor, ndim), offsetof(DLTensor, dtype));\n"
        self.assertNotEqual(self.compile("gcc", C11, wrong, "-c").returncode, 0)


if __name__ == "__main__":
    unittest.main()
