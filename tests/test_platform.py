# SPDX-License-Identifier: MIT
"""What a CPU can do is read from the CPU: other ones than this are played by qemu-user."""

import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

PRINTER = """
#include <stdio.h>
#include "lib/platform/cpu.h"
int main(void)
{
	struct kp_cpu cpu;
	kp_cpu_detect(&cpu);
	printf("%s %u", cpu.vendor, cpu.level);
	for (size_t i = 0; i < cpu.n_features; i++)
		printf(" %s", cpu.features[i]);
	printf("\\n");
	return 0;
}
"""


# What of lib tells of a CPU: it is built for machines that no jansson is here for.
PARTS = ("platform/cpu.c", "platform/cpu_detect.c", "base/text.c")


class Emulated(unittest.TestCase):
    """One printer a compiler, run on the CPU models of one emulator."""

    compiler = emulator = None

    @classmethod
    def setUpClass(cls):
        for tool in (cls.compiler, cls.emulator):
            if not shutil.which(tool):
                raise unittest.SkipTest(f"{tool} is not installed")
        cls.place = tempfile.TemporaryDirectory(prefix="kplug-platform.")
        source = os.path.join(cls.place.name, "printer.c")
        cls.program = os.path.join(cls.place.name, "printer")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PRINTER)
        command = [cls.compiler, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", "-static"]
        command += [f"-I{ROOT}", "-o", cls.program, source]
        command += [os.path.join(ROOT, "lib", name) for name in PARTS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            cls.place.cleanup()
            raise AssertionError(done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def cpu(self, model):
        done = subprocess.run(
            [self.emulator, "-cpu", model, self.program],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        vendor, level, *features = done.stdout.split()
        self.assertEqual(features, sorted(features))
        return vendor, int(level), set(features)

    def expect(self, model, vendor, level, has, lacks):
        found = self.cpu(model)
        self.assertEqual(found[:2], (vendor, level), model)
        self.assertLessEqual(set(has.split()), found[2], model)
        self.assertFalse(set(lacks.split()) & found[2], model)


class X86(Emulated):
    compiler, emulator = "gcc", "qemu-x86_64"

    def test_a_core2_is_below_level_2(self):
        self.expect("core2duo", "x86-64", 1, "sse2 ssse3 cx16", "sse4_2 popcnt avx")

    def test_a_nehalem_is_level_2_without_avx(self):
        self.expect("Nehalem", "x86-64", 2, "sse4_2 popcnt ssse3", "avx avx2 fma movbe")

    def test_a_haswell_is_level_3(self):
        self.expect("Haswell", "x86-64", 3, "avx avx2 fma f16c bmi1 bmi2 movbe", "avx512f")

    def test_an_epyc_has_what_intel_has_not(self):
        self.expect("EPYC", "x86-64", 3, "avx2 lzcnt sse4a", "avx512f amx_tile")


class Aarch64(Emulated):
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"

    def test_a_cortex_a57_has_the_least(self):
        self.expect("cortex-a57", "aarch64", 0, "fp asimd crc32", "fphp dotprod sve bf16")

    def test_a_neoverse_n1_has_half_precision_and_dot_products(self):
        has = "asimd fphp asimdhp dotprod asimddp atomics"
        self.expect("neoverse-n1", "aarch64", 0, has, "sve bf16 i8mm")

    def test_an_a64fx_has_sve_only(self):
        self.expect("a64fx", "aarch64", 0, "sve fphp", "sve2 bf16")

    def test_the_largest_model_has_matrices(self):
        self.expect("max", "aarch64", 0, "sve sve2 bf16 i8mm dotprod", "avx2")


del Emulated  # it has no test of its own

if __name__ == "__main__":
    unittest.main()
