# SPDX-License-Identifier: MIT
"""The plugins build for aarch64, where reference computes and x86 says why it cannot."""

import os
import shutil
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


class Aarch64(unittest.TestCase):
    def setUp(self):
        for tool in (COMPILER, EMULATOR):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not installed")
        place = tempfile.TemporaryDirectory(prefix="kplug-aarch64.")
        self.addCleanup(place.cleanup)
        self.place = place.name

    def compile(self, *words):
        include = os.path.join(ROOT, "lib", "include")
        command = [COMPILER, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
        done = subprocess.run(
            [*command, f"-I{include}", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.place,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def build(self, name):
        folder = os.path.join(ROOT, "plugins", name)
        sources = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".c")]
        library = os.path.join(self.place, f"{name}.so")
        options = ["-shared", "-fPIC", f"-I{folder}", f"-Wa,-I{folder}", "-Wl,-z,defs"]
        self.compile(*options, "-o", library, *sources, "-lm")
        return library

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

    def test_reference_computes_on_aarch64(self):
        self.assertEqual(self.run_product("reference"), "0: 19 22 43 50: \n")

    def test_x86_is_unavailable_on_aarch64_and_says_why(self):
        shown = self.run_product("x86")
        self.assertTrue(shown.startswith("3: 0 0 0 0: "), shown)
        self.assertIn("another architecture", shown)

    def test_openblas_builds_for_aarch64(self):
        self.assertTrue(os.path.exists(self.build("openblas")))


if __name__ == "__main__":
    unittest.main()
