# SPDX-License-Identifier: MIT
"""Kernels for a GPU are run on one that is here, and held against the reference on the CPU."""

import os
import unittest

from harness import BUILD, Daemon
from measuring import SQUARE, place
from verifying import Verifying

FAKE = os.path.join(BUILD, "tests", "fake")
CPU = {"id": "cpu", "kind": "cpu", "vendor": "x86-64"}
GPU = {"id": "gpu-0000:01:00.0", "kind": "gpu", "vendor": "nvidia", "arch": "9.0"}


def daemon_with(gpu=GPU, library=FAKE, families=None, without=(), **env):
    path = ":".join(filter(None, [library, os.environ.get("LD_LIBRARY_PATH")]))
    platform = {"name": "test", "devices": [CPU, gpu]}
    daemon = Daemon(
        platform=platform,
        families=families,
        without=without,
        env={"LD_LIBRARY_PATH": path, **env},
    )
    place(daemon, "on_cuda")
    return daemon


class OnGpu(Verifying):
    fixture = "on_cuda"

    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon_with()
        cls.addClassCleanup(cls.daemon.close)

    def test_right_kernel_is_right_and_refuses_what_it_refuses(self):
        row = self.expect("right", "ok")
        self.assertEqual((row["cases"], row["passed"], row["unsupported"]), (12, 9, 3))
        self.assertLessEqual(row["max_error"], row["tolerance"])

    def test_every_shape_of_the_family_and_its_edges(self):
        runs = self.verify("right", shapes=None, seeds=[1], layouts=["contiguous", "offset"])
        self.assertEqual({run["verdict"] for run in runs}, {"ok"}, runs)
        self.assertEqual(len(runs), 8)

    def test_all_that_can_run_here_is_verified_where_no_kernel_is_named(self):
        runs = self.verify(seeds=[1], layouts=["contiguous"])
        names = {run["kernel"] for run in runs}
        self.assertIn("on_cuda/right", names)
        self.assertIn("reference/elementwise_square", names)
        self.assertNotIn("on_cuda/of_blackwell", names)

    def test_write_behind_an_output_is_out_of_bounds(self):
        self.expect("behind", "out_of_bounds", "behind y", "8 bytes")

    def test_write_before_an_output_is_out_of_bounds(self):
        self.expect("before", "out_of_bounds", "before y")

    def test_write_behind_the_workspace_is_out_of_bounds(self):
        self.expect("behind_workspace", "out_of_bounds", "behind workspace")

    def test_write_to_an_input_is_out_of_bounds(self):
        self.expect("writes_input", "out_of_bounds", "wrote to the input x", "byte 4")

    def test_t63_no_op_is_wrong_also_later(self):
        self.expect("nothing", "wrong")
        self.expect("nothing_later", "wrong")
        self.expect("copies", "wrong")

    def test_t65_workspace_that_is_trusted_to_be_zero_is_wrong(self):
        self.expect("dirty_workspace", "wrong")

    def test_context_of_the_application_stays_current(self):
        self.expect("leaves_context", "error", "another CUDA context")

    def test_newer_device_than_here_is_not_eligible(self):
        self.expect("of_blackwell", "not_eligible", "min_arch")

    def test_daemon_itself_maps_no_driver(self):
        self.row("right", seeds=[1], layouts=["contiguous"])
        with open(f"/proc/{self.daemon.pid}/maps", encoding="utf-8") as file:
            self.assertNotIn("libcuda", file.read())


class Trouble(unittest.TestCase):
    def row(self, **options):
        with daemon_with(**options) as daemon:
            parameters = {"kernels": ["on_cuda/right"], "shapes": [{"n": 100}], "seeds": [1]}
            (row,) = daemon.call("Verify", {"operation": SQUARE, **parameters})["runs"]
        self.assertEqual(row["passed"], 0)
        return row

    def test_errors_of_the_driver_are_verdicts_that_name_the_call(self):
        for fail, verdict, *texts in (
            ("cuInit:1:100", "unavailable", "NO_DEVICE"),
            ("cuInit:1:803", "unavailable", "803"),
            ("cuDeviceGetCount:1:999", "error", "cuDeviceGetCount"),
            ("cuDevicePrimaryCtxRetain:1:2", "error", "cuDevicePrimaryCtxRetain", "OUT_OF_MEMORY"),
            ("cuStreamCreate:1:2", "error", "cuStreamCreate"),
            ("cuMemAlloc_v2:0:2", "error", "cuMemAlloc", "OUT_OF_MEMORY"),
            ("cuMemcpyHtoD_v2:0:1", "error", "cuMemcpyHtoD"),
            ("cuMemsetD8_v2:0:1", "error", "cuMemsetD8"),
        ):
            with self.subTest(fail=fail):
                row = self.row(CUDA_FAKE_FAIL=fail)
                self.assertEqual(row["verdict"], verdict, row)
                for text in texts:
                    self.assertIn(text, row["message"])

    def test_illegal_address_is_out_of_bounds(self):
        row = self.row(CUDA_FAKE_FAIL="cuStreamSynchronize:2:700")
        self.assertEqual(row["verdict"], "out_of_bounds", row)
        self.assertIn("700", row["message"])

    def test_driver_that_is_not_there_is_unavailable(self):
        row = self.row(library="")
        if row["verdict"] == "unavailable":
            self.assertIn("libcuda.so.1", row["message"])
        else:
            self.skipTest("this machine has a CUDA driver of its own")

    def test_device_that_the_driver_does_not_have_is_unavailable(self):
        row = self.row(gpu=dict(GPU, id="gpu-0000:77:00.0"))
        self.assertEqual(row["verdict"], "unavailable")
        self.assertIn("gpu-0000:77:00.0 is none of them", row["message"])


if __name__ == "__main__":
    unittest.main()
