# SPDX-License-Identifier: MIT
"""The kernels that come with kplug, verified: those of the GPU on a fake one."""

import os
import shutil
import unittest

from harness import BUILD, Daemon
from test_verify_cuda import CPU, FAKE, GPU

# Small, with a tail in every dim: the fake GPU takes its time.
SHAPES = {
    "gemm/mm": [{"m": 17, "n": 33, "k": 40}, {"m": 3, "n": 5, "k": 0}],
    "norm/rms": [{"rows": 3, "n": 133}, {"rows": 0, "n": 16}],
    "norm/softmax": [{"rows": 3, "n": 133}],
    "activation/silu_mul": [{"rows": 3, "n": 133}],
    "elementwise/square": [{"n": 1001}, {"n": 0}],
    "attention/decode": [
        {"b": 3, "h": 6, "hkv": 2, "d": 64, "pages": 20, "page": 16, "max_pages": 6, "tokens": 41}
    ],
}


class Shipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        env = {"LD_LIBRARY_PATH": FAKE}
        platform = {"name": "test", "devices": [CPU, GPU]}
        cls.gpu = Daemon(platform=platform, env=env, start=False)
        cls.addClassCleanup(cls.gpu.close)
        for name, place in (("reference", "plugins"), ("cuda", "tests/fake/plugins")):
            shutil.copy2(os.path.join(BUILD, place, name + ".so"), cls.gpu.library_path(name))
            cls.gpu.manifest(name)
        cls.gpu.start()
        cls.gpu.settle()
        cls.cpu = Daemon(builtin=True)
        cls.addClassCleanup(cls.cpu.close)
        cls.cpu.settle()

    def verify(self, daemon, plugin, operation):
        parameters = {"kernels": [plugin], "shapes": SHAPES[operation], "seeds": [1, 5]}
        runs = daemon.call("Verify", {"operation": operation, **parameters})["runs"]
        self.assertTrue(runs)
        for run in runs:
            # What was never written for such a shape, or needs another library, says so.
            self.assertIn(run["verdict"], ("ok", "unsupported", "unavailable"), run)
        self.assertTrue(any(run["verdict"] == "ok" for run in runs), runs)

    def test_every_cuda_kernel_is_right_on_the_fake_gpu(self):
        for operation in SHAPES:
            with self.subTest(operation=operation):
                self.verify(self.gpu, "cuda", operation)

    def test_every_kernel_of_this_processor_is_right(self):
        for operation in SHAPES:
            with self.subTest(operation=operation):
                for plugin in {k.split("/")[0] for k in self.kernels(operation)}:
                    self.verify(self.cpu, plugin, operation)

    def kernels(self, operation):
        return [c["kernel"] for c in self.cpu.why(operation)["candidates"] if c["eligible"]]


if __name__ == "__main__":
    unittest.main()
