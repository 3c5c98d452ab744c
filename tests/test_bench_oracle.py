# SPDX-License-Identifier: MIT
"""What is measured by what: references, starts, and the kernels that come with kplug."""

import json
import math
import os
import unittest

from harness import Daemon, kernel, make_plugin
from measuring import FAULTS, SQUARE, TIME_S, TIMES, place

HERE = os.path.dirname(os.path.abspath(__file__))


class Reference(unittest.TestCase):
    def run_one(self, prepare, **more):
        with Daemon() as daemon:
            place(daemon)
            prepare(daemon)
            daemon.settle()
            parameters = {"kernels": [FAULTS + "/right"], "shapes": [{"n": 100}], **more}
            return daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]

    def test_disabled_reference_still_checks_and_says_so(self):
        run = self.run_one(lambda daemon: daemon.call("Disable", name="reference"))[0]
        self.assertEqual(run["verdict"], "ok")
        self.assertIn("reference/elementwise_square, which is not in use", run["message"])

    def test_disabled_reference_is_no_row(self):
        runs = self.run_one(
            lambda daemon: daemon.call("Disable", name="reference"),
            kernels=["reference/elementwise_square"],
        )
        self.assertEqual(runs[0]["verdict"], "not_eligible")

    def test_without_a_reference_nothing_is_verified(self):
        def remove(daemon):
            daemon.remove("reference")
            daemon.call("Reload")

        run = self.run_one(remove)[0]
        self.assertEqual(run["verdict"], "unverified")
        self.assertIn("reference/elementwise_square is not here", run["message"])
        self.assertGreater(run["median_us"], 0)
        self.assertIsNone(run["max_error"])

    def test_without_a_reference_a_no_op_is_wrong_all_the_same(self):
        def remove(daemon):
            daemon.remove("reference")
            daemon.call("Reload")

        run = self.run_one(remove, kernels=[FAULTS + "/nothing"])[0]
        self.assertEqual(run["verdict"], "wrong")
        self.assertIn("nothing was written", run["message"])


def text(words):
    """JSON as a text of C."""
    return json.dumps(json.dumps(words))


def forging(statements):
    """`before` of a plugin whose `run` says what only its worker should."""
    with open(os.path.join(HERE, "fixtures", "forges.h"), encoding="utf-8") as file:
        return (
            f"{file.read()}\nstatic int forging(void) {{ {statements} return 0; }}\n"
            "#define KP_OK forging()\n"
        )


class ForgedTimes(unittest.TestCase):
    """A kernel that tells its own times, and ends its worker as if it were done."""

    def test_times_that_nobody_can_have_taken_are_no_result(self):
        times = dict.fromkeys(("median_us", "p10_us", "p90_us", "min_us", "max_us"), 0.001)
        words = {"bench": {"verdict": "ok", "samples": 1000, "warmup": 9, **times}}
        with Daemon() as daemon:
            before = forging(f"forge({text(words)}); forge({text({'end': True})}); _exit(0);")
            daemon.add("fast", before=before, available="return 0;")
            daemon.call("Reload")
            parameters = {"kernels": ["fast/square"], "shapes": [{"n": 10}]}
            # Longer than it takes to start a worker.
            (row,) = daemon.call("Bench", operation=SQUARE, time_s=5, **parameters)["runs"]
        self.assertEqual(row["verdict"], "error", row)
        self.assertIn("implausible", row["message"])
        self.assertIsNone(row["median_us"])


class ForgedReference(unittest.TestCase):
    """What the reference's worker tells is in the hands of its plugin, like any other."""

    def row(self, words):
        """In a benchmark only: a probe would be garbled by such words."""
        with Daemon() as daemon:
            place(daemon)
            make_plugin(
                daemon.library_path("reference"),
                "reference",
                [kernel(name="elementwise_square")],
                before=forging(f"forge({text(words)});"),
                available="return 0;",
            )
            daemon.call("Reload")
            self.assertEqual(daemon.plugins()["reference"]["state"], "active")
            parameters = {"kernels": [FAULTS + "/right"], "shapes": [{"n": 10}]}
            return daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"][0]

    def test_time_that_it_cannot_have_taken_bounds_no_other(self):
        for call_ms in (1e300, -1e300, 1e12):
            with self.subTest(call_ms=call_ms):
                row = self.row({"bench": {"verdict": "ok", "call_ms": call_ms}})
                # Its results are not there: the row tells that, and has had its time.
                self.assertEqual(row["verdict"], "error", row)
                self.assertIn("reference's results", row["message"])


class Starting(unittest.TestCase):
    """`start` is called for the first time when a kernel is measured."""

    def right(self, config):
        with Daemon() as daemon:
            place(daemon, config=config)
            parameters = {"kernels": [FAULTS + "/right"], "shapes": [{"n": 100}]}
            runs = daemon.call("Bench", operation=SQUARE, time_s=TIME_S, **parameters)["runs"]
        return runs[0]

    def test_a13_each_status_of_start_is_told(self):
        names = ["KP_INVALID", "KP_UNSUPPORTED", "KP_UNAVAILABLE", "KP_NO_MEMORY", "KP_RUNTIME"]
        verdicts = ["error", "unsupported", "unavailable", "error", "error"]
        with Daemon() as daemon:
            place(daemon)
            for status, (name, verdict) in enumerate(zip(names, verdicts), 1):
                with self.subTest(status=name):
                    config = {"status": status}
                    daemon.manifest(FAULTS, timeout_ms=1000, config=config)
                    daemon.call("Reload")
                    run = daemon.call(
                        "Bench",
                        operation=SQUARE,
                        kernels=[FAULTS + "/right"],
                        shapes=[{"n": 10}],
                        time_s=TIME_S,
                    )["runs"][0]
                    self.assertEqual(run["verdict"], verdict, run)
                    self.assertIn(f"start returned {name}", run["message"])
                    self.assertIn("as the configuration wants", run["message"])

    def test_a13_odd_status_of_start_keeps_its_number(self):
        run = self.right({"status": 1234})
        self.assertEqual(run["verdict"], "error")
        self.assertIn("KP_RUNTIME (1234)", run["message"])

    def test_a13_state_of_a_failed_start_is_not_used_and_nothing_stopped(self):
        run = self.right({"status": 5, "state": True})
        self.assertEqual(run["verdict"], "error", run)
        self.assertIn("start returned KP_RUNTIME", run["message"])

    def test_a13_state_of_a_good_start_is_stopped(self):
        run = self.right({"state": True})
        self.assertEqual(run["verdict"], "crashed", run)
        self.assertIn("stop", run["message"])


class Builtin(unittest.TestCase):
    """The kernels that come with kplug are right on the shapes of their families."""

    def test_every_builtin_kernel_is_right_on_its_familys_shapes(self):
        with Daemon(builtin=True) as daemon:
            daemon.settle()
            operations = {k["operation"] for k in daemon.call("Kernels")["kernels"]}
            self.assertEqual(len(operations), 6)
            for operation in sorted(operations):
                runs = daemon.call("Bench", operation=operation, time_s=TIME_S)["runs"]
                self.assertTrue(runs)
                for run in runs:
                    with self.subTest(kernel=run["kernel"], shape=run["shape"]):
                        self.assertEqual(run["verdict"], "ok", run)
                        for key in (*TIMES, "gflops", "gbytes_per_s"):
                            self.assertTrue(math.isfinite(run[key]) and run[key] > 0)


if __name__ == "__main__":
    unittest.main()
