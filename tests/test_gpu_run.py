# SPDX-License-Identifier: MIT
"""tests/gpu/run: what it says without a GPU, and all of it on a fake one."""

import json
import os
import subprocess
import tempfile
import unittest

from harness import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(HERE, "gpu", "run")
FAKE = os.path.join(BUILD, "tests", "fake")


def run(*arguments, library=FAKE, **env):
    clean = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    clean.update(
        LD_LIBRARY_PATH=library,
        KPLUG_CUBLASLT=os.path.join(FAKE, "libcublasLt.so.13"),
        **env,
    )
    return subprocess.run(
        ["/usr/bin/python3", RUN, "--build", BUILD, *arguments],
        capture_output=True,
        text=True,
        env=clean,
        timeout=160,
        check=False,
    )


class WithoutGpu(unittest.TestCase):
    def expect(self, text, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("tests/gpu/run: skipped: " + text, done.stdout)

    def test_no_driver_is_a_skip_in_words(self):
        self.expect("there is no NVIDIA driver: libcuda.so.1", library="/nowhere")

    def test_no_device_is_a_skip_in_words(self):
        self.expect("cuInit (there is no GPU that works) fails with 100", CUDA_FAKE_DEVICES="0")

    def test_driver_that_does_not_fit_is_a_skip_in_words(self):
        self.expect(
            "cuInit (there is no GPU that works) fails with 803", CUDA_FAKE_FAIL="cuInit:0:803"
        )

    def test_plugin_that_is_not_built_is_a_skip_in_words(self):
        self.expect("/nowhere/cuda.so is not built", "--plugin", "/nowhere/cuda.so")


class OnFakeGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-gpurun.")
        cls.addClassCleanup(place.cleanup)
        devices = os.path.join(place.name, "platform.json")
        with open(devices, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "name": "fake",
                    "devices": [
                        {"id": "cpu", "kind": "cpu", "vendor": "x86-64"},
                        {
                            "id": "gpu-0000:01:00.0",
                            "kind": "gpu",
                            "vendor": "nvidia",
                            "arch": "9.0",
                        },
                    ],
                },
                file,
            )
        plugin = os.path.join(FAKE, "plugins", "cuda.so")
        cls.done = run(
            "--small",
            "--time",
            "0.02",
            "--limit",
            "150",
            "--platform",
            devices,
            "--plugin",
            plugin,
        )

    def test_every_kernel_is_right(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        for name in (
            "activation_silu_mul",
            "attention_decode",
            "elementwise_square",
            "gemm_mm_cublaslt",
            "gemm_mm_mma",
            "gemm_mm_tiled",
            "norm_rms",
            "norm_softmax",
        ):
            self.assertRegex(self.done.stdout, rf"verify {name} +[1-9]\d* of \d+ shapes right")

    def test_every_kernel_is_timed_and_the_references_are_not(self):
        for name in (
            "activation_silu_mul",
            "attention_decode",
            "elementwise_square",
            "gemm_mm_cublaslt",
            "gemm_mm_mma",
            "gemm_mm_tiled",
            "norm_rms",
            "norm_softmax",
        ):
            self.assertRegex(self.done.stdout, rf"(?m)^{name} +bf16 .* us .*/s +[\d.]+%")
        self.assertNotIn("reference", self.done.stdout)

    def test_the_last_line_counts(self):
        self.assertRegex(
            self.done.stdout.strip().split("\n")[-1],
            r"^\d+ verified, 8 measured, 0 wrong, \d+ below target$",
        )


if __name__ == "__main__":
    unittest.main()
