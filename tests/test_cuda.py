# SPDX-License-Identifier: MIT
"""The cuda plugin and plugind: without a driver, with one that fails, with a fake one."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, Daemon

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
FAKE = os.path.join(BUILD, "tests", "fake")
H100 = {
    "name": "h100",
    "devices": [
        {"id": "gpu-0000:01:00.0", "kind": "gpu", "vendor": "nvidia", "arch": "9.0"},
    ],
}
KERNELS = [
    "activation_silu_mul",
    "attention_decode",
    "elementwise_square",
    "gemm_mm_cublaslt",
    "gemm_mm_mma",
    "gemm_mm_tiled",
    "norm_rms",
    "norm_softmax",
]
GEMM = [name for name in KERNELS if name.startswith("gemm")]


def nvcc():
    """The compiler that the build found, or None."""
    try:
        with open(os.path.join(BUILD, "gen", "cuda.flags"), encoding="utf-8") as file:
            first = file.read().split()[0]
    except (FileNotFoundError, IndexError):
        return None
    return first if os.access(first, os.X_OK) else None


class Plugin(unittest.TestCase):
    """A daemon with the host half and images without code; `env` of its workers."""

    def daemon(self, source=None, **env):
        daemon = Daemon(platform=H100, env={"LD_LIBRARY_PATH": "/nowhere", **env})
        self.addCleanup(daemon.close)
        source = source or os.path.join(FAKE, "plugins", "cuda.so")
        shutil.copy2(source, daemon.library_path("cuda"))
        daemon.manifest("cuda")
        daemon.call("Reload")
        daemon.settle()
        return daemon

    def fake(self, **env):
        return self.daemon(
            LD_LIBRARY_PATH=FAKE,
            KPLUG_CUBLASLT=os.path.join(FAKE, "libcublasLt.so.13"),
            **env,
        )

    def kernels(self, daemon):
        return {k["name"]: k for k in daemon.call("Info", name="cuda")["plugin"]["kernels"]}

    def enable(self, daemon):
        """Until then all that is said of a kernel is that it is unproven."""
        for name in KERNELS:
            daemon.call("Enable", name=f"cuda/{name}")

    def whole_text(self, daemon, *arguments):
        done = daemon.ctl(*arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return re.sub(r"\s+", " ", done.stdout)


class WithoutDriver(Plugin):
    TEXT = "libcuda.so.1 cannot be opened: libcuda.so.1: cannot open shared object file"

    def test_plugin_is_active_and_lists_all_kernels(self):
        daemon = self.daemon()
        self.assertEqual(daemon.plugins()["cuda"]["state"], "active")
        self.assertEqual(sorted(self.kernels(daemon)), KERNELS)

    def test_info_names_the_library_of_every_kernel(self):
        daemon = self.daemon()
        self.enable(daemon)
        for name, kernel in self.kernels(daemon).items():
            self.assertNotEqual(kernel["state"], "active", name)
            self.assertIn(self.TEXT, json.dumps(kernel), name)

    def test_why_names_the_library(self):
        daemon = self.daemon()
        self.enable(daemon)
        text = self.whole_text(daemon, "why", "gemm/mm")
        self.assertIn(self.TEXT, text)
        self.assertIn("is an NVIDIA driver installed?", text)

    def test_nothing_is_selected(self):
        done = self.daemon().ctl("select", "gemm/mm")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


class WithFakeDriver(Plugin):
    def test_kernels_are_available_and_unproven(self):
        for name, kernel in self.kernels(self.fake()).items():
            self.assertIn("unproven", json.dumps(kernel["reason"]), name)

    def test_an_enabled_kernel_is_selected(self):
        daemon = self.fake()
        daemon.call("Enable", name="cuda/norm_rms")
        self.assertEqual(daemon.select("norm/rms")["selected"], "cuda/norm_rms")

    def test_the_ranks_are_cublaslt_mma_tiled(self):
        daemon = self.fake()
        self.enable(daemon)
        for name in ("gemm_mm_cublaslt", "gemm_mm_mma", "gemm_mm_tiled"):
            reply = daemon.select("gemm/mm", signature="a=bf16,b=bf16,c=bf16")
            self.assertEqual(reply["selected"], f"cuda/{name}")
            daemon.call("Disable", name=f"cuda/{name}")

    def test_f32_is_never_given_to_the_matrix_instructions(self):
        daemon = self.fake()
        daemon.call("Enable", name="cuda/gemm_mm_mma")
        done = daemon.ctl("select", "gemm/mm")
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_an_older_gpu_is_excluded_by_its_arch(self):
        daemon = self.fake()
        daemon.call("Enable", name="cuda/norm_rms")
        text = self.whole_text(daemon, "why", "norm/rms", "--on", "nvidia-8.0")
        self.assertIn("min_arch", text)

    def test_a_wide_head_is_excluded_by_its_trait(self):
        daemon = self.fake()
        daemon.call("Enable", name="cuda/attention_decode")
        done = daemon.ctl("select", "attention/decode", "--trait", "head_dim=512")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


class DriverThatFails(Plugin):
    def expect(self, text, **env):
        daemon = self.fake(**env)
        self.enable(daemon)
        for name, kernel in self.kernels(daemon).items():
            self.assertIn(text, json.dumps(kernel), name)

    def test_no_device(self):
        self.expect("cuInit: CUDA_ERROR_NO_DEVICE (100)", CUDA_FAKE_DEVICES="0")

    def test_driver_and_library_of_different_versions(self):
        self.expect(
            "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
            CUDA_FAKE_FAIL="cuInit:0:803",
        )

    def test_a_driver_that_is_too_old(self):
        self.expect(
            "the driver is for CUDA 11.4; this plugin needs one for CUDA 12.4 or later",
            CUDA_FAKE_VERSION="11040",
        )

    def test_a_library_that_is_no_driver(self):
        place = tempfile.mkdtemp(prefix="kplug-nodriver.")
        self.addCleanup(shutil.rmtree, place)
        compiler = os.environ.get("CC", "cc")
        done = subprocess.run(
            [
                compiler,
                "-shared",
                "-x",
                "c",
                "-o",
                os.path.join(place, "libcuda.so.1"),
                "/dev/null",
            ],
            check=False,
        )
        self.assertEqual(done.returncode, 0)
        daemon = self.daemon(LD_LIBRARY_PATH=place)
        self.enable(daemon)
        for name, kernel in self.kernels(daemon).items():
            text = "libcuda.so.1 has no function cuInit: the driver is too old"
            self.assertIn(text, json.dumps(kernel), name)


@unittest.skipUnless(nvcc(), "nvcc is not installed")
class Built(Plugin):
    """The plugin as it is shipped."""

    PATH = os.path.join(BUILD, "plugins", "cuda.so")

    def test_it_is_identified_and_listed(self):
        daemon = self.daemon(self.PATH)
        self.assertEqual(daemon.plugins()["cuda"]["state"], "active")
        self.assertEqual(sorted(self.kernels(daemon)), KERNELS)

    def test_its_code_is_what_its_note_claims(self):
        done = subprocess.run(
            [os.path.join(BUILD, "pluginctl"), "--json", "info", self.PATH],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertNotIn("gpu_arch_missing", done.stdout)
        self.assertIn('"9.0"', done.stdout)

    def test_it_links_no_library_of_cuda(self):
        done = subprocess.run(
            ["readelf", "-d", self.PATH], capture_output=True, text=True, check=True
        )
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", done.stdout)
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6"} | sanitizers(needed))

    def test_its_code_is_in_the_section_where_tools_look(self):
        done = subprocess.run(
            ["readelf", "-SW", self.PATH], capture_output=True, text=True, check=True
        )
        self.assertRegex(done.stdout, r"\.nv_fatbin +PROGBITS")


def sanitizers(needed):
    return {name for name in needed if re.match(r"lib(a|ub|t)san\.", name)}


if __name__ == "__main__":
    unittest.main()
