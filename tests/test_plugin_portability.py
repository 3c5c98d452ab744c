# SPDX-License-Identifier: MIT
"""The plugins build for aarch64, where reference computes what it computes here and x86
says why it cannot."""

import glob
import json
import math
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"

# Prints the status, the product of two 2 x 2 matrices and the error's text.
RUNNER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <kplug/plugin.h>

static const struct kp_kernel *find(const struct kp_plugin *plugin, const char *name)
{
	for (uint32_t i = 0; i < plugin->n_entries; i++)
		if (strcmp(plugin->entries[i]->name, name) == 0)
			return plugin->entries[i]->vtable;
	return NULL;
}

int main(int argc, char **argv)
{
	float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4] = {0};
	int64_t shape[] = {2, 2}, strides[] = {2, 1};
	struct kp_place cpu = {KP_DEVICE_CPU, 0};
	struct kp_dtype f32 = {KP_CODE_FLOAT, 32, 1};
	struct kp_tensor roles[] = {{a, cpu, 2, f32, shape, strides, 0},
		{b, cpu, 2, f32, shape, strides, 0}, {c, cpu, 2, f32, shape, strides, 0}};
	const struct kp_tensor *tensors[] = {&roles[0], &roles[1], &roles[2]};
	struct kp_error error = {.size = sizeof(error)};
	struct kp_call call = {KP_SIZED(struct kp_call), .n_tensors = 3,
		.tensors = tensors, .error = &error};
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct kp_kernel *kernel;
	int status = KP_OK;

	if (!library)
		return 1;
	kernel = find(dlsym(library, "kplug_plugin"), "gemm_mm");
	if (kernel->available)
		status = kernel->available(NULL, &error);
	if (status == KP_OK)
		status = kernel->run(&call);
	printf("%d: %g %g %g %g: %s\n", status, c[0], c[1], c[2], c[3], error.text);
	return 0;
}
"""


# Type codes and bits of kplug/plugin.h.
TYPES = {"f32": (2, 32), "bf16": (4, 16), "i32": (0, 32)}


def encode(values, dtype):
    if dtype == "i32":
        return struct.pack(f"<{len(values)}i", *values)
    data = struct.pack(f"<{len(values)}f", *values)
    if dtype == "f32":
        return data
    return b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))


def decode(data, dtype):
    if dtype == "bf16":
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    return struct.unpack(f"<{len(data) // 4}f", data)


class Call:
    """A kernel of the reference in one signature, in one shape of its family."""

    def __init__(self, family, kernel, signature, shape):
        self.family, self.kernel, self.shape = family, kernel, dict(shape)
        self.types = dict(operand.split("=") for operand in signature.split(","))
        for name, terms in family.get("derived", {}).items():
            over = math.prod(self.value(d) for d in terms.get("over", []))
            times = math.prod(self.value(d) for d in terms["times"])
            self.shape[name] = times // over if over else 0
        self.what = f"{kernel}, {signature}, {shape}"

    def value(self, dim):
        return self.shape[dim] if isinstance(dim, str) else dim

    def dtype(self, role):
        return self.types.get(role["name"], role["formats"][0])

    def is_absent(self, role):
        return role.get("optional", False) and role["name"] not in self.types

    def fill(self, role, count, rng):
        fill = role.get("fill", {"kind": "zero"})
        if fill["kind"] == "normal":
            return [rng.gauss(0, fill.get("scale", 1)) for _ in range(count)]
        if fill["kind"] == "uniform":
            return [rng.uniform(fill["min"], fill["max"]) for _ in range(count)]
        if fill["kind"] == "pages":
            pages = list(range(self.value(fill["below"])))
            rng.shuffle(pages)
            return [pages[i % len(pages)] for i in range(count)]
        if fill["kind"] == "lens":
            most, left, lens = self.value(fill["max"]), self.value(fill["total"]), []
            for rest in range(count - 1, -1, -1):
                lens.append(rng.randint(max(0, left - rest * most), min(most, left)))
                left -= lens[-1]
            return lens
        return [0] * count

    def tensor(self, role, rng):
        if self.is_absent(role):
            return struct.pack("<7q", -1, 0, 0, 0, 0, 0, 0)
        dims = [self.value(dim) for dim in role["dims"]]
        dtype = self.dtype(role)
        head = struct.pack("<7q", *TYPES[dtype], len(dims), *dims, *[0] * (4 - len(dims)))
        return head + encode(self.fill(role, math.prod(dims), rng), dtype)

    def encode(self, rng):
        attributes = self.family.get("attributes", [])
        text = struct.pack("<64s", self.kernel.encode())
        text += struct.pack("<2q", len(self.family["roles"]), len(attributes))
        for attribute in attributes:
            kind = "<d" if attribute["type"] == "float" else "<q"
            text += struct.pack(kind, attribute["default"])
        return text + b"".join(self.tensor(role, rng) for role in self.family["roles"])

    def take(self, data):
        """The output at the start of these bytes, and the bytes after it."""
        role = self.family["roles"][-1]
        dtype = self.dtype(role)
        size = math.prod(self.value(dim) for dim in role["dims"]) * TYPES[dtype][1] // 8
        return decode(data[:size], dtype), data[size:]

    def tolerance(self):
        return self.family["check"]["tolerance"][self.dtype(self.family["roles"][-1])]


def calls_of_the_reference():
    """Every signature of the reference in every edge shape of its family."""
    with open(os.path.join(ROOT, "plugins/reference/plugin.json"), encoding="utf-8") as file:
        kernels = {kernel["operation"]: kernel for kernel in json.load(file)["kernels"]}
    for path in sorted(glob.glob(os.path.join(ROOT, "lib/families/*.json"))):
        with open(path, encoding="utf-8") as file:
            family = json.load(file)
        kernel = kernels[family["operation"]]
        for signature in kernel["signatures"]:
            for shape in family["shapes"]["edge"]:
                yield Call(family, kernel["name"], signature, shape)


class Aarch64(unittest.TestCase):
    def setUp(self):
        for tool in (COMPILER, EMULATOR):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not installed")
        place = tempfile.TemporaryDirectory(prefix="kplug-aarch64.")
        self.addCleanup(place.cleanup)
        self.place = place.name

    def compile(self, *words, compiler=COMPILER):
        include = os.path.join(ROOT, "lib", "include")
        command = [compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
        done = subprocess.run(
            [*command, f"-I{include}", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.place,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def build(self, name, compiler=COMPILER):
        folder = os.path.join(ROOT, "plugins", name)
        sources = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".c")]
        library = os.path.join(self.place, f"{name}-{compiler}.so")
        options = ["-shared", "-fPIC", f"-I{folder}", f"-Wa,-I{folder}", "-Wl,-z,defs"]
        self.compile(*options, "-o", library, *sources, "-lm", compiler=compiler)
        return library

    def build_calls(self, compiler):
        """The command that runs the file of calls with the reference, both built by this."""
        program = os.path.join(self.place, f"calls-{compiler}")
        source = os.path.join(HERE, "emulated", "calls.c")
        self.compile("-D_GNU_SOURCE", "-o", program, source, "-ldl", compiler=compiler)
        return [program, self.build("reference", compiler), "calls"]

    def run_calls(self, *command):
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=100,
            cwd=self.place,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def expect_alike(self, call, here, there):
        """As the family compares: by the norm of the difference."""
        error = math.dist(here, there)
        size = math.hypot(*here)
        self.assertLessEqual(error, call.tolerance() * (size or 1), call.what)

    def test_reference_computes_on_aarch64_what_it_computes_here(self):
        calls = list(calls_of_the_reference())
        native = self.build_calls("gcc")
        foreign = [EMULATOR, "-L", "/usr/aarch64-linux-gnu", *self.build_calls(COMPILER)]
        for seed in (1, 2, 3):
            rng = random.Random(seed)
            with open(os.path.join(self.place, "calls"), "wb") as file:
                file.write(struct.pack("<q", len(calls)))
                file.writelines(call.encode(rng) for call in calls)
            here, there = self.run_calls(*native), self.run_calls(*foreign)
            self.assertEqual(len(here), len(there))
            for call in calls:
                mine, here = call.take(here)
                other, there = call.take(there)
                with self.subTest(call.what, seed=seed):
                    self.assertFalse(any(math.isnan(value) for value in mine))
                    self.expect_alike(call, mine, other)
            self.assertEqual((here, there), (b"", b""))

    def test_calls_cover_every_family_in_both_types(self):
        seen = {
            (call.family["operation"], call.dtype(call.family["roles"][-1]))
            for call in calls_of_the_reference()
        }
        families = glob.glob(os.path.join(ROOT, "lib/families/*.json"))
        self.assertEqual(len(seen), 2 * len(families))

    def run_product(self, name):
        library, runner = self.build(name), os.path.join(self.place, "runner")
        source = runner + ".c"
        with open(source, "w", encoding="utf-8") as file:
            file.write(RUNNER)
        self.compile("-D_GNU_SOURCE", "-o", runner, source, "-ldl")
        done = subprocess.run(
            [EMULATOR, "-L", "/usr/aarch64-linux-gnu", runner, library],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_x86_is_unavailable_on_aarch64_and_says_why(self):
        shown = self.run_product("x86")
        self.assertTrue(shown.startswith("3: 0 0 0 0: "), shown)
        self.assertIn("another architecture", shown)

    def test_openblas_builds_for_aarch64(self):
        self.assertTrue(os.path.exists(self.build("openblas")))


if __name__ == "__main__":
    unittest.main()
