# SPDX-License-Identifier: MIT
"""How kernels for GPUs are compiled: no spills, several archs, and without nvcc."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

from harness import BUILD
from test_cuda import ROOT, nvcc

SOURCES = sorted(glob.glob(os.path.join(ROOT, "plugins", "cuda", "*.cu")))

# More live numbers than the registers that 1,024 threads leave for each.
SPILLS = """
extern "C" __global__ void __launch_bounds__(1024, 2) greedy(float *p, int n)
{
	float held[96];

#pragma unroll
	for (int i = 0; i < 96; i++)
		held[i] = p[i * n + threadIdx.x];
#pragma unroll
	for (int i = 0; i < 96; i++)
		p[i * n + threadIdx.x] = held[i * 37 % 96] * held[95 - i];
}
"""

# An array with an index that is known at run time only.
LOCAL = """
extern "C" __global__ void indexed(float *p, int n)
{
	float held[64];

	for (int i = 0; i < 64; i++)
		held[(i * n) & 63] = p[i];
	p[threadIdx.x] = held[threadIdx.x & 63];
}
"""


def make(*arguments):
    """What make would do or say, with another build directory."""
    return subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MAKEFLAGS": ""},
    )


class WithoutNvcc(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-nonvcc.")
        self.addCleanup(place.cleanup)
        self.build = place.name

    def test_the_build_says_that_it_leaves_the_plugin_out(self):
        done = make(f"BUILD={self.build}", "NVCC=", "left-out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertIn("cuda is left out: nvcc is not found", done.stdout)

    def test_all_and_install_go_without_it(self):
        for target in ("all", "install"):
            done = make(f"BUILD={self.build}", "NVCC=", "-n", target)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("plugins/cuda.so", done.stdout)
            self.assertIn("plugins/reference.so", done.stdout)

    def test_the_tests_own_plugin_needs_none(self):
        done = make(f"BUILD={self.build}", "NVCC=", f"{self.build}/tests/fake/plugins/cuda.so")
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(nvcc(), "nvcc is not installed")
class WithNvcc(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-nvcc.")
        self.addCleanup(place.cleanup)
        self.place = place.name

    def flags(self):
        """Those of the build, but for the archs."""
        with open(os.path.join(BUILD, "gen", "cuda.flags"), encoding="utf-8") as file:
            words = file.read().split()[1:]
        return [w for i, w in enumerate(words) if w != "-gencode" and words[i - 1] != "-gencode"]

    def compile(self, source, *archs):
        options = [o for a in archs for o in ("-gencode", f"arch=compute_{a},code=sm_{a}")]
        return subprocess.run(
            [nvcc(), *self.flags(), *options, "-Xptxas", "-v", "-fatbin"]
            + ["-o", os.path.join(self.place, "out.fatbin"), source],
            capture_output=True,
            text=True,
            check=False,
        )

    def compile_text(self, text):
        path = os.path.join(self.place, "kernel.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.compile(path, "90")

    def test_a_kernel_that_spills_fails_the_build(self):
        done = self.compile_text(SPILLS)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Registers are spilled", done.stdout + done.stderr)

    def test_an_array_in_local_memory_fails_the_build(self):
        done = self.compile_text(LOCAL)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ocal memory", done.stdout + done.stderr)

    def test_a_kernel_with_a_warning_fails_the_build(self):
        done = self.compile_text(
            'extern "C" __global__ void k(float *p)\n{\n\tint unused;\n\n\tp[0] = 1;\n}\n'
        )
        self.assertNotEqual(done.returncode, 0)

    def test_every_kernel_keeps_to_its_registers_on_every_arch(self):
        """The build itself does the one that it is for; all, and the long file, take long."""
        all_of_them = bool(os.environ.get("KPLUG_LONG"))
        for source in SOURCES:
            if not all_of_them and "attention" in source:
                continue
            archs = ("80", "89", "100", "120") if all_of_them else ("80",)
            done = self.compile(source, *archs)
            text = done.stdout + done.stderr
            self.assertEqual(done.returncode, 0, text[-2000:])
            rows = re.findall(
                r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", text
            )
            self.assertGreaterEqual(len(rows), len(archs) * 4, source)
            self.assertEqual({n for row in rows for n in row}, {"0"}, source)

    def test_the_note_says_the_oldest_arch_that_is_built(self):
        for archs, least in (("80 90", "8.0"), ("90a", "9.0"), ("100 120", "10.0")):
            path = os.path.join(self.place, "gen", "cuda", "plugin.json")
            done = make(f"BUILD={self.place}", f"CUDA_ARCHS={archs}", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                found = set(re.findall(r'"min_arch": "(.*?)"', file.read()))
            self.assertEqual(found, {least})


if __name__ == "__main__":
    unittest.main()
