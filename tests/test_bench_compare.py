# SPDX-License-Identifier: MIT
"""A result that a daemon measured, kept and compared; documents held against schemas."""

import json
import os
import tempfile
import unittest

import jsonschema

from harness import BUILD, Daemon
from measuring import FAULTS, SQUARE, TIME_S, place

PLATFORM = {
    "name": "other",
    "devices": [{"id": "cpu", "kind": "cpu", "vendor": "x86-64", "name": "Other CPU"}],
}
REFERENCE = "reference/elementwise_square"


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class Compared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon)
        folder = tempfile.TemporaryDirectory(prefix="kplug-compare.")
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "result.json")

    def ctl(self, *args, daemon=None, statuses=(0, 1)):
        done = (daemon or self.daemon).ctl("bench", *args)
        self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
        return done

    def valid(self, text, name):
        """The document, which follows the schema of this name."""
        with open(os.path.join(BUILD, "schemas", name + ".json"), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        document = json.loads(text, parse_constant=no_constant)
        jsonschema.Draft202012Validator(schema).validate(document)
        return document

    def save(self, *args, kernels=("right", REFERENCE)):
        names = [name if "/" in name else f"{FAULTS}/{name}" for name in kernels]
        options = [option for name in names for option in ("--kernel", name)]
        self.ctl(SQUARE, "--time", str(TIME_S), "--save", self.path, *options, *args)
        with open(self.path, encoding="utf-8") as file:
            return self.valid(file.read(), "bench")

    def test_bm04_a_whole_operation_has_reference_and_fast_kernel(self):
        for shape in ("n=10", "n=1000", "n=5000"):
            document = self.save("--shape", shape)
            kernels = {run["kernel"]: run["verdict"] for run in document["runs"]}
            self.assertEqual(kernels, {REFERENCE: "ok", FAULTS + "/right": "ok"})

    def test_bm06_a_result_comes_back_row_by_row(self):
        saved = self.save("--shape", "n=10", "--shape", "n=2000")
        for args in ([], ["--threshold", "50"], ["elementwise"]):
            document = self.valid(
                self.ctl("--compare", self.path, "--json", *args).stdout, "compare"
            )
            seen = [(row["kernel"], row["shape"]["n"]) for row in document["rows"]]
            self.assertEqual(seen, [(run["kernel"], run["shape"]["n"]) for run in saved["runs"]])
            for row, run in zip(document["rows"], saved["runs"]):
                self.assertEqual(row["old"]["median_us"], run["median_us"])
                self.assertEqual(row["old"]["verdict"], run["verdict"])
                self.assertEqual(row["new"]["verdict"], "ok")
                self.assertGreater(row["ratio"], 0)

    def test_t56_a_result_of_another_platform_is_shown_as_foreign(self):
        self.save("--shape", "n=10")
        for name, change in (("a", {}), ("b", {"features": ["avx2"]}), ("c", {"name": "Third"})):
            device = {**PLATFORM["devices"][0], **change}
            with Daemon(platform={"name": name, "devices": [device]}) as daemon:
                place(daemon)
                done = self.ctl("--compare", self.path, daemon=daemon, statuses=(2,))
                self.assertIn("foreign", done.stderr)
                self.assertIn(device["name"], done.stderr)
                self.assertEqual(done.stdout, "")
                # It goes no further: nobody is busy with it.
                again = self.ctl(SQUARE, "--shape", "n=3", "--time", "0.01", "-q", daemon=daemon)
                self.assertIn("reference", again.stdout)

    def test_t56_a_foreign_result_is_never_judged_and_decides_nothing(self):
        self.save("--shape", "n=10")
        for change in (
            {"name": "Third"},
            {"features": ["avx2"]},
            {"name": "", "vendor": "aarch64"},
        ):
            device = {**PLATFORM["devices"][0], **change}
            with Daemon(platform={"name": "a", "devices": [device]}) as daemon:
                place(daemon)

                def decided(daemon=daemon):
                    return daemon.call("List")["generation"], daemon.select(SQUARE)["selected"]

                before = decided()
                for words in ([], ["--threshold", "99"]):
                    done = self.ctl(
                        "--compare", self.path, "--json", *words, daemon=daemon, statuses=(2,)
                    )
                    document = json.loads(done.stdout)
                    self.assertEqual(list(document), ["error"])
                    self.assertEqual(document["error"]["code"], "foreign_result")
                self.assertEqual(decided(), before)
                self.assertFalse(os.path.exists(os.path.join(daemon.state_dir, "decisions.json")))

    def test_every_verdict_makes_a_document_that_follows_its_schema(self):
        names = ["right", "crash", "wrong", "behind", "status", "unsupported", "not_here"]
        names += ["unavailable", "wrong_later", "not_a_number", "nothing", "abort"]
        document = self.save("--shape", "n=100", kernels=names)
        self.assertEqual(len({run["verdict"] for run in document["runs"]}), 8)
        compared = self.ctl("--compare", self.path, "--json", statuses=(1,))
        rows = self.valid(compared.stdout, "compare")["rows"]
        verdicts = {row["kernel"].split("/")[1]: row["verdict"] for row in rows}
        self.assertEqual(verdicts["crash"], "wrong")
        self.assertEqual(verdicts["not_here"], "missing")

    def test_documents_of_the_edge_shapes_follow_their_schema(self):
        for shape in ("n=0", "n=1", "n=1099511627776"):
            document = self.save("--shape", shape)
            self.assertEqual(document["runs"][0]["shape"], {"n": int(shape[2:])})

    def test_nx24_a_kernel_that_fails_among_all_is_a_row_and_the_exit_is_1(self):
        for fault in ("status", "odd_status", "status_later"):
            options = ["--kernel", f"{FAULTS}/{fault}", "--kernel", REFERENCE, "--shape", "n=50"]
            done = self.ctl(SQUARE, "--time", str(TIME_S), *options, statuses=(1,))
            self.assertRegex(done.stdout, rf"(?m)^  {FAULTS}/{fault} .*FAIL error$")
            self.assertRegex(done.stdout, rf"(?m)^  {REFERENCE} .* ok$")

    def test_nx25_wrong_numbers_are_marked_come_last_and_exit_1(self):
        for fault in ("wrong", "half", "nothing"):
            options = ["--kernel", f"{FAULTS}/{fault}", "--kernel", REFERENCE, "--shape", "n=50"]
            done = self.ctl(SQUARE, "--time", str(TIME_S), *options, statuses=(1,))
            rows = [line for line in done.stdout.splitlines() if "/" in line and "  " in line]
            self.assertIn("VERDICT", done.stdout)
            self.assertLess(done.stdout.index(REFERENCE), done.stdout.index(FAULTS))
            self.assertRegex(rows[-1] if "FAIL" in rows[-1] else done.stdout, "FAIL wrong")

    def test_bm05_the_report_has_kernel_median_rate_and_numbers_of_the_check(self):
        for n in (10, 1000, 100000):
            done = self.ctl(
                SQUARE, "--kernel", REFERENCE, "--shape", f"n={n}", "--time", str(TIME_S)
            )
            for word in ("KERNEL", "MEDIAN", "GFLOP/S", "ERROR", "VERDICT", REFERENCE):
                self.assertIn(word, done.stdout)
            self.assertRegex(done.stdout, r"0/1e-6 +ok\n")

    def test_bm03_without_a_check_is_no_failure_when_it_was_asked_for(self):
        for kernel in ("right", "wrong", REFERENCE):
            name = kernel if "/" in kernel else f"{FAULTS}/{kernel}"
            args = ["--kernel", name, "--shape", "n=50", "--time", str(TIME_S)]
            done = self.ctl(SQUARE, *args, "--no-check", statuses=(0,))
            self.assertRegex(done.stdout, " - +unverified\n")


if __name__ == "__main__":
    unittest.main()
