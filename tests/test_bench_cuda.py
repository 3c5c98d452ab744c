# SPDX-License-Identifier: MIT
"""Kernels for a GPU are timed on one that is here: a fake one that runs on the CPU."""

import json
import os
import shutil
import tempfile
import time
import unittest

import unconfined
from harness import BUILD, PATIENCE_S
from measuring import SQUARE
from test_verify_cuda import daemon_with

TIME_S = 0.05


def families_of_ones(place):
    """The built families, where the inputs of a square are 1 throughout: a copy is right."""
    path = os.path.join(place, "families")
    shutil.copytree(os.path.join(BUILD, "families"), path)
    name = os.path.join(path, "elementwise.square.json")
    with open(name, encoding="utf-8") as file:
        family = json.load(file)
    family["roles"][0]["fill"] = {"kind": "constant", "value": 1}
    with open(name, "w", encoding="utf-8") as file:
        json.dump(family, file)
    return path


class OnOnes(unittest.TestCase):
    without = ()

    @classmethod
    def setUpClass(cls):
        place = tempfile.mkdtemp(prefix="kplug-ones.")
        cls.addClassCleanup(shutil.rmtree, place)
        cls.log = os.path.join(place, "calls")
        cls.daemon = daemon_with(
            families=families_of_ones(place),
            without=cls.without,
            CUDA_FAKE_LOG=cls.log,
            CUDA_FAKE_MEMORY="64",
        )
        cls.addClassCleanup(cls.daemon.close)

    def row(self, kernel, n=1000, **more):
        parameters = {"operation": SQUARE, "shapes": [{"n": n}], "time_s": TIME_S, **more}
        parameters["kernels"] = ["on_cuda/" + kernel]
        (row,) = self.daemon.call("Bench", parameters)["runs"]
        return row


class Told(OnOnes):
    """What was asked of the driver, by its log: which a confined worker could not write."""

    without = unconfined.ALL

    def calls(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read().split("\n")

    def test_short_kernel_that_is_capturable_runs_as_graphs_of_ten(self):
        # The fake's clock is this machine's: 50 us may be too short for a busy one.
        deadline = time.monotonic() + PATIENCE_S
        row = self.row("copies", n=64)
        self.assertEqual(row["verdict"], "ok", str(row))
        while not row["gpu"]["graph"] and time.monotonic() < deadline:
            row = self.row("copies", n=64)
        self.assertTrue(row["gpu"]["graph"], row)
        self.assertEqual(row["repeats"][-1:], [10])
        self.assertTrue(any(call.startswith("cuGraphLaunch") for call in self.calls()))

    def test_no_clock_is_changed_and_no_cache_is_pinned(self):
        self.row("right")
        names = {call.split(" ")[0] for call in self.calls()}
        self.assertFalse(names & {"cuCtxResetPersistingL2Cache", "cuCtxSetLimit"}, names)


class Timed(OnOnes):
    def test_right_kernel_has_times_in_order_and_says_how_they_came(self):
        row = self.row("right")
        self.assertEqual(row["verdict"], "ok", str(row))
        order = [row[key] for key in ("min_us", "p10_us", "median_us", "p90_us", "max_us")]
        self.assertEqual(order, sorted(order))
        self.assertGreater(order[0], 0)
        self.assertEqual(row["gpu"]["device"], "gpu-0000:01:00.0")
        self.assertGreater(row["gpu"]["sets"], 1)
        self.assertGreater(row["gpu"]["copy_gbytes_per_s"], 0)
        self.assertEqual(row["gpu"]["clock_mhz"], 1980)
        self.assertEqual(row["check"]["passed"], ["before", "during", "after"])

    def test_caches_of_60_mib_are_not_cold_in_a_memory_of_64(self):
        self.assertFalse(self.row("right")["gpu"]["cold"])

    def test_cpu_kernel_beside_it_says_nothing_of_a_gpu(self):
        parameters = {"kernels": ["reference/elementwise_square"], "shapes": [{"n": 10}]}
        (row,) = self.daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]
        self.assertEqual(row["verdict"], "ok")
        self.assertIsNone(row["gpu"])

    def test_nothing_is_captured_that_does_not_say_it_can_be(self):
        self.assertFalse(self.row("right", n=64)["gpu"]["graph"])

    def test_t63_no_op_later_is_wrong(self):
        row = self.row("nothing_later")
        self.assertEqual(row["verdict"], "wrong", row)
        self.assertIn("right at first", row["message"])
        self.assertIsNone(row["median_us"])

    def test_write_behind_an_output_is_a_row(self):
        self.assertEqual(self.row("behind")["verdict"], "out_of_bounds")

    def test_each_function_of_the_driver_that_fails_is_a_row_with_its_name(self):
        for fail, text in (
            ("cuEventCreate:1:2", "cuEventCreate"),
            ("cuEventRecord:3:1", "cuEventRecord"),
            ("cuMemGetInfo_v2:1:1", "cuMemGetInfo"),
            ("cuMemcpyDtoDAsync_v2:1:1", "cuMemcpyDtoD"),
            ("cuEventElapsedTime:9:1", "cuEventElapsedTime"),
        ):
            with self.subTest(fail=fail), daemon_with(CUDA_FAKE_FAIL=fail) as daemon:
                parameters = {"kernels": ["on_cuda/right"], "shapes": [{"n": 10}]}
                (row,) = daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]
                self.assertEqual(row["verdict"], "error", row)
                self.assertIn(text, row["message"])


if __name__ == "__main__":
    unittest.main()
