# SPDX-License-Identifier: MIT
"""bench --save and --compare: what is kept, what is refused, what is called slower."""

import json
import os
import tempfile
import unittest

import jsonschema

from fake_plugind import Fake, error
from pluginctl import BUILD, Case, call, no_constant
from results import MACHINE, replies, result, run

OLD = [run("x86/mm", 10.0), run("reference/mm", 400.0)]


def schema(name):
    with open(os.path.join(BUILD, "schemas", name + ".json"), encoding="utf-8") as file:
        return jsonschema.Draft202012Validator(json.load(file))


class Files(Case):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-compare.")
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.path = os.path.join(place.name, "old.json")

    def keep(self, runs=None, text=None, **more):
        """A saved result of these runs, or a file with this text."""
        if text is None:
            document = result(OLD if runs is None else runs, **more)
            text = json.dumps(document)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.path

    def compare(self, now, *args, status=0, **head):
        """The document of a comparison with what is measured now."""
        with Fake(Bench=replies(now, **head)) as fake:
            done = call("bench", "--compare", self.path, "--json", *args, socket=fake.path)
            document = self.document(done, status)
        schema("compare").validate(document)
        return document

    def verdicts(self, now, *args, status=0, **head):
        rows = self.compare(now, *args, status=status, **head)["rows"]
        return {row["kernel"]: row["verdict"] for row in rows}


class Saving(Files):
    def save(self, path, *args, status=0, runs=OLD):
        with Fake(Bench=replies(runs)) as fake:
            return call("bench", "gemm/mm", "--save", path, *args, socket=fake.path)

    def test_bm06_what_is_saved_is_what_was_measured(self):
        for args in ([], ["--quiet"], ["--json"]):
            done = self.save(self.path, *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path, encoding="utf-8") as file:
                saved = json.load(file, parse_constant=no_constant)
            schema("bench").validate(saved)
            self.assertEqual(saved, result(OLD))
            if args == ["--json"]:
                self.assertEqual(json.loads(done.stdout), saved)
            self.assertEqual(os.listdir(self.place), ["old.json"])

    def test_bm06_what_is_loaded_is_what_was_saved(self):
        self.assertEqual(self.save(self.path).returncode, 0)
        rows = self.compare(OLD)["rows"]
        self.assertEqual([row["kernel"] for row in rows], [r["kernel"] for r in OLD])
        for row, old in zip(rows, OLD):
            self.assertEqual(row["shape"], old["shape"])
            for key in ("median_us", "verdict", "samples", "sha256"):
                self.assertEqual(row["old"][key], old[key])

    def test_a_result_is_saved_whatever_the_verdicts(self):
        bad = [run("x86/mm", None, verdict="crashed", message="SIGSEGV")]
        self.assertEqual(self.save(self.path, runs=bad).returncode, 1)
        self.assertTrue(os.path.exists(self.path))

    def test_what_was_there_is_replaced_and_that_is_said(self):
        self.assertIn(b"old.json is saved", self.save(self.path).stderr)
        os.chmod(self.path, 0o600)
        self.assertIn(b"old.json is replaced", self.save(self.path).stderr)

    def test_a_link_stays_a_link(self):
        link = os.path.join(self.place, "link.json")
        self.keep()
        os.symlink(self.path, link)
        self.assertEqual(self.save(link).returncode, 0)
        self.assertTrue(os.path.islink(link))
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), result(OLD))

    def test_minus_is_standard_output(self):
        done = self.save("-")
        self.assertEqual(self.document(done), result(OLD))

    def test_nothing_is_measured_where_nothing_can_be_saved(self):
        dangling, circle = (os.path.join(self.place, name) for name in ("dangling", "circle"))
        os.symlink(os.path.join(self.place, "nowhere.json"), dangling)
        os.symlink("circle", circle)
        for path, code in (
            (dangling, "write_failed"),
            (circle, "write_failed"),
            (os.path.join(self.place, "new.json/"), "write_failed"),
            (os.path.join(self.place, "n" * 251), "write_failed"),
            (os.path.join(self.place, "n" * 300), "write_failed"),
            ("/dev/null", "not_regular_file"),
            (self.place, "not_regular_file"),
            (os.path.join(self.place, "no/such/dir.json"), "write_failed"),
        ):
            with self.subTest(path=path), Fake(Bench=replies(OLD)) as fake:
                done = call("bench", "x/y", "--save", path, "--json", socket=fake.path)
                self.error(done, 2 if code == "not_regular_file" else 7, code)
                self.assertEqual(fake.calls, [])
        self.assertTrue(os.path.exists("/dev/null"))
        self.assertEqual(sorted(os.listdir(self.place)), ["circle", "dangling"])
        self.assertTrue(os.path.islink(dangling))

    def test_the_longest_name_is_saved(self):
        path = os.path.join(self.place, "n" * 250)
        self.assertEqual(self.save(path).returncode, 0)
        self.assertEqual(os.listdir(self.place), ["n" * 250])

    def test_a_failure_leaves_what_was_there(self):
        self.keep(text="precious")
        with Fake(Bench=error("Failed", code="worker_lost")) as fake:
            self.complaint(call("bench", "x/y", "--save", self.path, socket=fake.path), 7)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")


class Refusing(Files):
    def refuse(self, code, *words, now=None, args=(), measured=False, status=2, **head):
        with Fake(Bench=replies(OLD if now is None else now, **head)) as fake:
            done = call("bench", *args, "--compare", self.path, "--json", socket=fake.path)
            told = self.error(done, status, code)
            self.assertEqual(bool(fake.calls), measured)
            text = self.complaint(
                call("bench", *args, "--compare", self.path, socket=fake.path), status
            )
        for word in words:
            self.assertIn(word, text)
            self.assertIn(word, told["message"])

    def test_t56_a_result_of_other_hardware_is_foreign_and_not_used(self):
        self.keep()
        for change in (
            {"fingerprint": "f" * 16},
            {"fingerprint": "1" * 16, "cpu": "Other CPU", "cores": 64},
            {"fingerprint": "2" * 16, "memory": 1 << 30},
        ):
            machine = {**MACHINE, **change}
            with self.subTest(change=change):
                self.refuse(
                    "foreign_result",
                    "foreign",
                    machine["cpu"],
                    "Test CPU",
                    machine["fingerprint"],
                    MACHINE["fingerprint"],
                    measured=True,
                    platform=machine,
                )

    def test_another_kernel_release_is_the_same_hardware(self):
        self.keep()
        machine = {**MACHINE, "kernel": "7.0", "memory": (8 << 30) - 4096}
        self.assertEqual(set(self.verdicts(OLD, platform=machine).values()), {"indistinguishable"})

    def test_another_revision_of_the_family_is_refused(self):
        self.keep()
        for revision in (2, 3, 99):
            self.refuse(
                "other_revision",
                "revision 1 of gemm/mm",
                f"revision {revision}",
                measured=True,
                families={"gemm/mm": revision},
            )

    def test_files_that_are_no_result_are_refused(self):
        whole = json.dumps(result(OLD))
        rows = [
            ("", "json_syntax"),
            ("{}", "wrong_format"),
            ("[]", "wrong_format"),
            ("17", "wrong_format"),
            (whole[: len(whole) // 2], "json_syntax"),
            (whole[:-1], "json_syntax"),
            (whole + "}", "json_syntax"),
            (whole.replace("kplug-bench/1", "kplug-bench/2"), "wrong_format"),
            (whole.replace("kplug-bench/1", "kplug-compare/1"), "wrong_format"),
            (whole.replace('"platform"', '"plaftorm"'), "missing_key"),
            (whole.replace('"verdict": "ok"', '"verdict": 7'), "wrong_type"),
            (whole.replace('"median_us": 10.0', '"median_us": NaN'), "json_syntax"),
            (whole.replace('"median_us": 10.0', '"median_us": 1e999'), "json_syntax"),
            (whole.replace('"median_us": 10.0', '"median_us": -10.0'), "bad_result"),
            (whole.replace('"median_us": 10.0', '"median_us": 0'), "bad_result"),
            (whole.replace('"median_us": 10.0', '"median_us": 1e300'), "bad_result"),
            (json.dumps(result([])), "bad_result"),
        ]
        for text, code in rows:
            with self.subTest(text=text[:60], code=code):
                self.keep(text=text)
                self.refuse(code, "old.json")

    def test_a_file_of_more_than_64_mib_is_refused(self):
        with open(self.path, "wb") as file:
            file.truncate((64 << 20) + 1)
        self.refuse("file_too_large", "old.json")

    def test_a_file_that_is_not_there_or_is_no_file_is_refused(self):
        self.refuse("missing_file", "old.json")
        os.mkdir(self.path)
        self.refuse("not_regular_file", "old.json")

    def test_another_operation_is_refused_by_name(self):
        self.keep()
        for asked in ("norm/rms", "norm", "gemm/m", "gem"):
            self.refuse("other_operation", "gemm/mm", asked, args=[asked])

    def test_options_that_do_not_go_together_are_refused(self):
        self.keep()
        for args, code in (
            (["--compare", self.path, "--save", "-"], "usage"),
            (["gemm/mm", "--threshold", "5"], "usage"),
            (["--compare", self.path, "--threshold", "-1"], "bad_threshold"),
            (["--compare", self.path, "--threshold", "nan"], "bad_threshold"),
            (["--compare", self.path, "--threshold", "1e9"], "bad_threshold"),
            ([], "missing_argument"),
        ):
            with self.subTest(args=args), Fake() as fake:
                self.error(call("bench", *args, "--json", socket=fake.path), 2, code)
                self.assertEqual(fake.calls, [])


if __name__ == "__main__":
    unittest.main()
