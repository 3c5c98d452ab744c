# SPDX-License-Identifier: MIT
"""`check --sarif` is SARIF 2.1.0, and the workflow that uses it does what it says."""

import json
import os
import re
import subprocess
import unittest
import urllib.parse

import jsonschema

from harness import HERE, ROOT
from pluginctl import PLUGINCTL, call, environment
from test_check import MM, Checking

WORKFLOW = os.path.join(ROOT, "man/examples/plugin-ci.yml")
# Steps that need a network, or another's program.
ELSEWHERE = ("install", "tell")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


SCHEMA = load(os.path.join(HERE, "sarif-2.1.0.json"))


def sarif(text):
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    return document


class Sarif(Checking):
    def run_of(self, *words, status, **options):
        done = call("check", "--sarif", *words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        (run,) = sarif(done.stdout)["runs"]
        return run

    def test_a_clean_check_has_all_rules_and_no_result(self):
        self.note("plugin.json", MM)
        run = self.run_of(self.dir, status=0)
        self.assertEqual((run["results"], run["invocations"][0]["exitCode"]), ([], 0))
        codes = [row["code"] for row in self.document(call("check", "--codes", "--json"))["codes"]]
        self.assertEqual([rule["id"] for rule in run["tool"]["driver"]["rules"]], codes)

    def test_results_are_the_findings_of_json(self):
        self.note("plugin.json", {**MM, "priority": 99, "tags": ["fast"]}, colour="red")
        self.write("plugins.d/x.json", '{"library": "absent.so",\n "libarry": 1}')
        run = self.run_of(self.dir, status=1)
        rules = run["tool"]["driver"]["rules"]
        findings = self.check()["findings"]
        self.assertGreaterEqual(len(findings), 4)
        for result, finding in zip(run["results"], findings, strict=True):
            self.assertEqual(
                (result["ruleId"], result["level"]), (finding["code"], finding["severity"])
            )
            self.assertEqual(rules[result["ruleIndex"]]["id"], finding["code"])
            self.assertEqual(result["message"]["text"], f"{finding['message']} {finding['remedy']}")
            (location,) = result["locations"]
            place = location["physicalLocation"]
            path = urllib.parse.unquote(
                urllib.parse.urlparse(place["artifactLocation"]["uri"]).path
            )
            self.assertEqual(path, finding["file"])
            self.assertEqual(place.get("region", {}).get("startLine"), finding["line"])
            self.assertEqual(place.get("region", {}).get("startColumn"), finding["column"])

    def test_paths_are_addresses_relative_ones_stay_so(self):
        for name in ("a b%.json", "ä#?.json", "x.json"):
            self.write(name, "{")
            run = self.run_of(name, status=1, cwd=self.dir)
            uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            self.assertEqual(urllib.parse.unquote(uri), name)
            self.assertNotRegex(uri, r"[ #?\x80-\xff]|%(?![0-9A-F]{2})")
        uri = self.run_of(self.path("x.json"), status=1)["results"][0]["locations"][0]
        self.assertTrue(uri["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///"))

    def test_strict_changes_the_status_and_nothing_else(self):
        self.note("plugin.json", MM, colour="red")
        mild, strict = self.run_of(self.dir, status=0), self.run_of(self.dir, "--strict", status=1)
        self.assertEqual(mild["results"], strict["results"])
        self.assertEqual(strict["invocations"][0]["exitCode"], 1)

    def test_the_schema_of_this_test_refuses_what_is_wrong(self):
        self.write("x.json", "{")
        good = json.loads(call("check", "--sarif", self.path("x.json")).stdout)
        sarif(json.dumps(good))
        for change in ({"version": "2.0.0"}, {"runs": []}, {"more": 1}):
            with self.assertRaises(jsonschema.ValidationError):
                sarif(json.dumps({**good, **change}))
        good["runs"][0]["results"][0]["level"] = "bad"
        with self.assertRaises(jsonschema.ValidationError):
            sarif(json.dumps(good))


def steps():
    """name -> shell lines of the workflow, in its order."""
    with open(WORKFLOW, encoding="utf-8") as file:
        text = file.read()
    found = {}
    for step in re.split(r"^ {6}- ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"name: (\S+)\n", step)
        run = re.search(r"^ {8}run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", step, re.MULTILINE)
        if name and run:
            found[name.group(1)] = run.group(1) or run.group(2)
    return found


class Workflow(Checking):
    """Its shell lines, in a folder that `pluginctl new` made."""

    def setUp(self):
        super().setUp()
        self.steps = steps()
        done = call("new", "mine", "--operation", "elementwise/square", cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.folder = self.path("mine")

    def step(self, name):
        path = f"{os.path.dirname(PLUGINCTL)}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-e", "-c", self.steps[name]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=environment(PATH=path, XDG_RUNTIME_DIR=self.dir),
        )

    def test_a_good_plugin_passes_every_step(self):
        names = [name for name in self.steps if name not in ELSEWHERE]
        self.assertEqual(names, ["build", "check", "verify", "doctor"])
        for name in names:
            done = self.step(name)
            self.assertEqual(done.returncode, 0, (name, done.stdout, done.stderr))
        with open(os.path.join(self.folder, "findings.sarif"), encoding="utf-8") as file:
            self.assertEqual(
                [r for r in sarif(file.read())["runs"][0]["results"] if r["level"] != "note"], []
            )

    def test_a_slip_in_the_note_stops_at_the_check_and_has_its_line(self):
        path = os.path.join(self.folder, "plugin.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"priority"', '"priorty"', 1))
        self.assertEqual(self.step("build").returncode, 0)
        self.assertEqual(self.step("check").returncode, 1)
        with open(os.path.join(self.folder, "findings.sarif"), encoding="utf-8") as file:
            results = sarif(file.read())["runs"][0]["results"]
        (slip,) = [
            r for r in results if r["ruleId"] == "unknown_key" and "plugin.json" in json.dumps(r)
        ]
        place = slip["locations"][0]["physicalLocation"]
        line = text.split("\n")[place["region"]["startLine"] - 1]
        self.assertIn('"priority"', line)
        self.assertEqual(place["artifactLocation"]["uri"], "plugin.json")

    def test_a_library_that_another_machine_could_not_load_stops_at_the_check(self):
        self.assertEqual(self.step("build").returncode, 0)
        for flag, code in (
            ("-Wl,-z,execstack", "executable_stack"),
            ("-Wl,-rpath,lib", "relative_search_path"),
            ("-Wl,-rpath,/home/me", "foreign_search_path"),
        ):
            subprocess.run(
                ["make", "-s", "-B", "mine.so", f"CFLAGS=-O1 {flag}"], cwd=self.folder, check=True
            )
            self.assertEqual(self.step("check").returncode, 1)
            with open(os.path.join(self.folder, "findings.sarif"), encoding="utf-8") as file:
                codes = [r["ruleId"] for r in sarif(file.read())["runs"][0]["results"]]
            self.assertIn(code, codes)


if __name__ == "__main__":
    unittest.main()
