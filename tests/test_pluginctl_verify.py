# SPDX-License-Identifier: MIT
"""pluginctl verify: a line a kernel and signature, and how to repeat what failed."""

import json
import os
import shlex
import unittest

import jsonschema

import fake_plugind as fakes
from fake_plugind import Fake
from harness import BUILD, Daemon
from measuring import FAULTS as MEASURED, SQUARE, place
from pluginctl import Case, call
from test_strict_json import strict
from verifying import FAULTS

SHAPE = ["--shape", "n=100"]
QUICK = ["--layout", "contiguous", "--seed", "1"]


class Verify(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        place(cls.daemon, FAULTS)
        place(cls.daemon, MEASURED)
        with open(os.path.join(BUILD, "schemas", "verify.json"), encoding="utf-8") as file:
            cls.schema = json.load(file)

    def verify(self, *kernels, plugin=FAULTS, more=SHAPE):
        names = [word for k in kernels for word in ("--kernel", f"{plugin}/{k}")]
        return self.daemon.ctl("verify", SQUARE, *names, *more)

    def test_right_kernel_is_a_line_and_exits_0(self):
        done = self.verify("right")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("seeds {1, 2, 3}", done.stdout)
        row = [line for line in done.stdout.splitlines() if "/right" in line]
        self.assertEqual(len(row), 1)
        self.assertIn("12 of 12", row[0])
        self.assertIn("x=f32,y=f32", row[0])

    def test_what_failed_can_be_repeated_as_a_command_line(self):
        done = self.verify("ignores_strides", "right")
        self.assertEqual(done.returncode, 1)
        self.assertIn("strided, seed 1, strides x {2}, y {2}", " ".join(done.stdout.split()))
        line = [line for line in done.stdout.splitlines() if "pluginctl verify" in line][0]
        words = shlex.split(line)
        self.assertEqual(words[0], "pluginctl")
        again = self.daemon.ctl(*words[1:])
        self.assertEqual(again.returncode, 1)
        self.assertIn("0 of 1", again.stdout)

    def test_findings_exit_1_and_are_told_once(self):
        done = self.verify("plan_trusting", more=["--shape", "n=8", "--shape", "n=9"])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("generation before"), 1)

    def test_what_is_unsupported_somewhere_exits_0_and_everywhere_1(self):
        self.assertEqual(self.verify("refuses_steps").returncode, 0)
        self.assertEqual(self.verify("refuses_all").returncode, 1)
        even = self.verify("only_even", more=["--shape", "n=8", "--shape", "n=9", *QUICK])
        self.assertEqual(even.returncode, 0, even.stdout)
        self.assertIn("unsupported in some shapes", even.stdout)

    def test_json_is_the_reply_and_as_published(self):
        done = self.daemon.ctl(
            "--json", "verify", SQUARE, *SHAPE, *QUICK, "--kernel", FAULTS + "/writes_gaps"
        )
        document = strict(done.stdout)
        jsonschema.Draft202012Validator(self.schema).validate(document)
        self.assertEqual(document["format"], "kplug-verify/1")
        with open(os.path.join(BUILD, "schemas", "reply.Verify.json"), encoding="utf-8") as f:
            jsonschema.validate(document, json.load(f))

    def test_every_verdict_conforms_to_the_published_schema(self):
        names = ["right", "replays", "rounds_up", "crashes_on_gaps", "refuses_all", "writes_gaps"]
        words = [word for name in names for word in ("--kernel", f"{FAULTS}/{name}")]
        words += ["--kernel", MEASURED + "/not_here", "--kernel", MEASURED + "/unavailable"]
        done = self.daemon.ctl("--json", "verify", SQUARE, *SHAPE, *words)
        document = strict(done.stdout)
        jsonschema.Draft202012Validator(self.schema).validate(document)
        self.assertLessEqual(
            {
                "ok",
                "wrong",
                "finding",
                "crashed",
                "unsupported",
                "out_of_bounds",
                "not_eligible",
                "unavailable",
            },
            {run["verdict"] for run in document["runs"]},
        )

    def test_quiet_is_kernel_signature_and_verdict(self):
        done = self.verify("right", "refuses_all", more=[*SHAPE, *QUICK, "--quiet"])
        self.assertEqual(
            done.stdout.splitlines(),
            [
                f"{FAULTS}/refuses_all\tx=f32,y=f32\tunsupported",
                f"{FAULTS}/right\tx=f32,y=f32\tok",
            ],
        )

    def test_nx23_crash_is_a_row_and_the_rest_continues(self):
        for name in ("crash", "abort", "exit"):
            with self.subTest(name=name):
                done = self.verify(name, "right", plugin=MEASURED, more=[*SHAPE, *QUICK])
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stdout, rf"/{name} .*crashed")
                self.assertRegex(done.stdout, r"/right .* ok ")

    def test_nx24_error_in_one_of_all_is_a_row_and_exits_1(self):
        for name, text in (
            ("status", "KP_INVALID"),
            ("odd_status", "999"),
            ("greedy", "workspace"),
        ):
            with self.subTest(name=name):
                done = self.verify(name, "right", plugin=MEASURED, more=[*SHAPE, *QUICK])
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stdout, rf"/{name} .*error")
                self.assertIn(text, done.stdout)
                self.assertRegex(done.stdout, r"/right .* ok ")

    def test_nx25_wrong_numbers_are_a_verdict_and_exit_1(self):
        for name in ("wrong", "half", "not_a_number"):
            with self.subTest(name=name):
                done = self.verify(name, plugin=MEASURED, more=[*SHAPE, *QUICK])
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stdout, rf"/{name} .*wrong")

    def test_what_is_misspelt_is_offered(self):
        done = self.daemon.ctl("verify", SQUARE, "--layout", "stridden")
        self.assertEqual(done.returncode, 2)
        self.assertIn("strided", done.stderr)
        done = self.daemon.ctl("verify", SQUARE, "--seed", "-1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--seed -1", done.stderr)


class Shown(Case):
    """What any daemon could answer."""

    def test_rows_of_other_types_are_shown_as_unknown(self):
        rows = [None, 5, "x", [], {}, {"kernel": 5, "failed": 7, "findings": [5, None, {}]}]
        with Fake(Verify={"format": "x", "runs": rows, "remarks": [5]}) as fake:
            self.assertTrue(self.good(call("verify", "x/y", socket=fake.path), 1))

    def test_control_bytes_and_quotes_come_out_as_words(self):
        evil = "a\x1b[31m'; rm -rf /; '\nb"
        row = dict(fakes.VERIFIED, kernel=evil, message=evil, verdict="wrong", traits={evil: evil})
        row["failed"] = {"layout": evil, "seed": 1, "strides": {evil: [1]}}
        with Fake(Verify={"format": "x", "runs": [row]}) as fake:
            done = call("verify", "x/y", socket=fake.path)
        text = self.good(done, 1)
        self.assertNotIn("\x1b", text)
        line = [line for line in text.splitlines() if "pluginctl verify" in line][0]
        self.assertIn("--kernel 'a", line)
        self.assertIn("'\\''; rm", line)

    def test_extreme_numbers_are_one_strict_document(self):
        row = dict(fakes.VERIFIED, max_error=1.7976931348623157e308, tolerance=5e-324)
        row.update(cases=2**62, seeds=[2**62, 0], shape={"n": 2**62})
        with Fake(Verify={"format": "x", "runs": [row]}) as fake:
            done = call("--json", "verify", "x/y", socket=fake.path)
        self.assertEqual(strict(done.stdout)["runs"][0]["max_error"], row["max_error"])


if __name__ == "__main__":
    unittest.main()
