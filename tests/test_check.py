# SPDX-License-Identifier: MIT
"""`pluginctl check` of manifests, notes and families: all that is wrong, and where."""

import json
import os
import re
import tempfile
import unittest

import jsonschema

import codes
from harness import ROOT, kernel, make_plugin
from pluginctl import BUILD, Case, call

# Where codes of findings are set, but for what belongs to calls and tensors.
TELLS = re.compile(
    r"lib/(lint|plugin|family)/|lib/base/(json|file|file_trust|version)[.]c"
    r"|cmd/(check|doctor|identify)"
    r"|daemon/worker/(identify|claim|note_elf|elf_|closure|provided|search)"
)
NEVER = re.compile(
    r"lib/family/(argument|compare|element|fill|placement|tensor)[.]"
    r"|lib/plugin/(abi|told|supervisor)[.]"
)
# Of a probe, of memory, of writing, of the command line.
ELSEWHERE = (
    "no_memory",
    "write_failed",
    "bad_job",
    "incomplete_report",
    "warning",
    "missing_argument",
    "usage",
)

MM = {"name": "mm", "operation": "gemm/mm", "priority": 10, "signatures": ["a=f32,b=f32,c=f32"]}


def load_schema():
    with open(os.path.join(ROOT, "lib/schemas/check.json"), encoding="utf-8") as file:
        return json.load(file)


class Checking(Case):
    """A directory of files, and the findings of it."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-check.")
        self.addCleanup(place.cleanup)
        self.dir = place.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text, indent=1))
        return self.path(name)

    def note(self, name, *kernels, **more):
        return self.write(
            name, {"name": name.split("/")[0], "version": "1.0.0", "kernels": kernels, **more}
        )

    def check(self, *words, status=None, **options):
        """The JSON document of a check of the words, else of the directory."""
        result = call("check", "--json", *(words or [self.dir]), **options)
        self.assertIn(result.returncode, (0, 1), result.stdout + result.stderr)
        document = self.document(result, result.returncode)
        jsonschema.validate(document, load_schema())
        if status is not None:
            self.assertEqual(result.returncode, status, document["findings"])
        return document

    def findings(self, *words, **options):
        """[(file below the directory, line, code, message)]"""
        return [
            (
                os.path.relpath(row["file"], self.dir) if row["file"] else None,
                row["line"],
                row["code"],
                row["message"],
            )
            for row in self.check(*words, **options)["findings"]
        ]

    def codes(self, *words, **options):
        return [code for _, _, code, _ in self.findings(*words, **options)]


class Manifests(Checking):
    def test_all_faults_of_a_manifest_are_told_each_with_its_place(self):
        self.write(
            "plugins.d/x.json",
            '{\n  "libary": "x.so",\n  "timeout_ms": 0,\n  "enabled": "yes",\n'
            '  "priority_offset": 99,\n  "sha256": "abc"\n}\n',
        )
        found = self.findings(status=1)
        self.assertEqual(
            sorted((line, code) for _, line, code, _ in found),
            [
                (1, "missing_key"),
                (2, "unknown_key"),
                (3, "bad_timeout"),
                (4, "wrong_type"),
                (5, "bad_priority_offset"),
                (6, "bad_digest"),
            ],
        )
        (typo,) = [m for _, _, code, m in found if code == "unknown_key"]
        self.assertIn("library", typo)

    def test_t06_a_manifest_without_its_library_is_an_error_that_names_the_key(self):
        for text in ("{}", '{"config": {}}', '{"enabled": true, "timeout_ms": 5}'):
            with self.subTest(text):
                self.write("plugins.d/x.json", text)
                ((_, _, code, message),) = self.findings(status=1)
                self.assertEqual(code, "missing_key")
                self.assertIn("library", message)

    def test_t07_bad_json_has_file_line_and_column(self):
        for text, line, column in (('{\n "library": }', 2, 13), ("{", 1, 1), ('{"a": 1,\n}', 2, 1)):
            with self.subTest(text):
                path = self.write("x.json", text)
                (row,) = self.check(status=1)["findings"]
                self.assertEqual(
                    (row["file"], row["line"], row["code"]), (path, line, "json_syntax")
                )
                self.assertEqual(row["column"], column)

    def test_a_library_that_is_not_there_is_a_warning(self):
        for library in ("absent.so", "/nonexistent/absent.so", "sub/absent.so"):
            with self.subTest(library):
                self.write("x.json", {"library": library})
                ((_, line, code, message),) = self.findings(status=0)
                self.assertEqual((line, code), (2, "library_not_found"))
                self.assertIn(library, message)
                self.assertEqual(self.codes(self.dir, "--strict", status=1), [code])

    def test_places_of_libraries_and_families_can_be_named(self):
        make_plugin(self.path("elsewhere.so"), "x", [kernel()])
        os.makedirs(self.path("a/b"))
        os.rename(self.path("elsewhere.so"), self.path("a/b/x.so"))
        path = self.write("m/x.json", {"library": "x.so"})
        self.assertEqual(self.codes(path), ["library_not_found"])
        self.assertEqual(
            self.codes(path, "--plugin-dir", self.path("a"), "--plugin-dir", self.path("a/b")), []
        )
        os.mkdir(self.path("empty"))
        families = self.codes(
            path, "--plugin-dir", self.path("a/b"), "--families-dir", self.path("empty")
        )
        self.assertEqual(families, ["unknown_family"])

    def test_masks_are_nothing_to_check(self):
        os.mkdir(self.path("plugins.d"))
        os.symlink("/dev/null", self.path("plugins.d/x.json"))
        self.write("plugins.d/y.json", "")
        self.assertEqual(self.codes(status=0), ["nothing_to_check"])

    def test_a_name_that_no_plugin_may_have(self):
        for name in ("a b", "-x", "x" * 65):
            path = self.write(f"plugins.d/{name}.json", {"library": "/nonexistent.so"})
            self.assertIn("bad_name", self.codes(path, status=1))


class Notes(Checking):
    def test_one_fault_of_each_kernel_and_all_members_of_a_kernel_are_told(self):
        self.note(
            "plugin.json",
            {**MM, "priority": 25, "flags": ["deterministik"], "revision": 0},
            {**MM, "signatures": ["a=f33,b=f32,c=f32"]},
            {**MM, "name": "other", "traits": {"colour": 1}},
            {**MM, "name": "mm"},
        )
        found = self.findings(status=1)
        for code in ("bad_priority", "unknown_flag", "bad_revision", "unknown_trait"):
            self.assertIn(code, [row[2] for row in found], found)
        self.assertTrue(all(line for _, line, _, _ in found), found)

    def test_unknown_names_offer_the_nearest(self):
        cases = (
            ({"operation": "gemm/mn"}, "unknown_family", "gemm/mm"),
            ({"traits": {"kk": {"min": 1}}}, "unknown_trait", "mean k?"),
            (
                {"capability": {"device": "cpu", "features": ["avx52f"]}},
                "unknown_feature",
                "avx512f",
            ),
            ({"capability": {"device": "gpu", "vendors": ["nvidea"]}}, "unknown_vendor", "nvidia"),
            ({"tags": ["latancy"]}, "unknown_tag", "latency"),
            ({"flags": ["syncz"]}, "unknown_flag", "syncs"),
            ({"priorty": 3}, "unknown_key", "priority"),
            ({"signatures": ["a=f32,b=f32,d=f32"]}, "unknown_role", "it has"),
        )
        for more, code, offered in cases:
            with self.subTest(code):
                self.note("plugin.json", {**MM, **more})
                rows = [row for row in self.findings() if row[2] == code]
                self.assertEqual(len(rows), 1, self.findings())
                self.assertIn(offered, rows[0][3])
                self.assertTrue(rows[0][1], rows)

    def test_a_note_for_another_abi_or_host(self):
        for more, code in (
            ({"abi": {"major": 9, "built": 0, "needed": 0}}, "abi_major"),
            ({"host": {"min": "9.0.0"}}, "host_too_old"),
            ({"host": {"min": "0.0.1", "max": "0.0.2"}}, "host_too_new"),
        ):
            self.note("plugin.json", MM, **more)
            self.assertEqual(self.codes(status=1), [code])

    def test_an_unknown_key_of_a_note_is_a_warning_that_counts_when_strict(self):
        self.note("plugin.json", MM, colour="red")
        self.assertEqual(self.codes(status=0), ["unknown_key"])
        self.check(self.dir, "--strict", status=1)

    def test_a_note_without_kernels_is_a_warning(self):
        for text in (
            {"name": "x", "version": "1.0.0"},
            {"name": "x", "version": "1.0.0", "kernels": []},
        ):
            self.write("plugin.json", text)
            self.assertEqual(self.codes(status=0), ["no_kernels"])

    def test_a_family_that_lies_beside_describes_its_operation(self):
        with open(
            os.path.join(ROOT, "lib/families/elementwise.square.json"), encoding="utf-8"
        ) as file:
            family = json.load(file)
        self.note("plugin.json", {**MM, "operation": "mine/square", "signatures": ["x=f32,y=f32"]})
        self.assertEqual(self.codes(), ["unknown_family"])
        self.write("mine.square.json", {**family, "operation": "mine/square"})
        self.assertEqual(self.codes(status=0), [])
        self.write("mine.square.json", {**family, "operation": "mine/square", "dims": ["q"]})
        self.assertNotEqual(self.codes(status=1), [])

    def test_other_peoples_json_is_nobodys_business(self):
        self.write("sub/package.json", {"name": "x", "version": "1.0.0", "config": {}})
        self.write("sub/tsconfig.json", "{ // a comment\n}")
        self.write("sub/list.json", "[1, 2]")
        self.assertEqual(self.codes(status=0), ["nothing_to_check"])
        named = self.path("sub/list.json")
        self.assertEqual(self.codes(named, status=1), ["unknown_kind"])


class Ties(Checking):
    def tie(self, first, second, **more):
        """Do kernels with these members tie?"""
        self.note("one/plugin.json", {**MM, **first}, **more)
        self.note("two/plugin.json", {**MM, "name": "zz", **second}, **more)
        codes = self.codes()
        self.assertLessEqual(set(codes), {"equal_rank"})
        return bool(codes)

    def test_equal_priority_and_overlapping_conditions_are_a_tie(self):
        for first, second in (
            ({}, {}),
            ({"traits": {"m": {"min": 4, "max": 64}}}, {"traits": {"m": {"min": 64}}}),
            ({"traits": {"m": {"multiple_of": 8}}}, {"traits": {"m": {"in": [3, 16]}}}),
            (
                {"traits": {"m": {"multiple_of": 6}}},
                {"traits": {"m": {"multiple_of": 4, "min": 7, "max": 12}}},
            ),
            ({"capability": {"device": "cpu"}}, {}),
            ({"signatures": ["a=f32,b=f32,c=f32", "a=bf16,b=bf16,c=bf16"]}, {}),
            (
                {"capability": {"min_arch": "8.0", "max_arch": "9.0"}},
                {"capability": {"min_arch": "9.0"}},
            ),
        ):
            with self.subTest(first=first, second=second):
                self.assertTrue(self.tie(first, second))

    def test_what_cannot_meet_is_no_tie(self):
        for first, second in (
            ({"priority": 9}, {}),
            ({"operation": "elementwise/square", "signatures": ["x=f32,y=f32"]}, {}),
            ({"signatures": ["a=bf16,b=bf16,c=bf16"]}, {}),
            ({"traits": {"m": {"max": 63}}}, {"traits": {"m": {"min": 64}}}),
            ({"traits": {"m": {"multiple_of": 8}}}, {"traits": {"m": {"in": [3, 17]}}}),
            (
                {"traits": {"m": {"multiple_of": 6}}},
                {"traits": {"m": {"multiple_of": 4, "min": 7, "max": 11}}},
            ),
            ({"capability": {"device": "cpu"}}, {"capability": {"device": "gpu"}}),
            ({"capability": {"vendors": ["x86-64"]}}, {"capability": {"vendors": ["aarch64"]}}),
            ({"capability": {"max_arch": "8.9"}}, {"capability": {"min_arch": "9.0"}}),
        ):
            with self.subTest(first=first, second=second):
                self.assertFalse(self.tie(first, second))

    def test_the_loser_is_told_at_its_priority(self):
        self.tie({}, {})
        ((file, line, _, message),) = self.findings()
        self.assertEqual(file, "two/plugin.json")
        with open(self.path(file), encoding="utf-8") as text:
            self.assertIn('"priority"', text.read().split("\n")[line - 1])
        self.assertIn("two/zz has priority 10 for gemm/mm, as one/mm", message)

    def test_an_offset_of_the_manifest_makes_and_ends_ties(self):
        for name in ("one", "two"):
            make_plugin(self.path(f"{name}.so"), name, [kernel()])
        for offset, expected in ((0, ["equal_rank"]), (1, []), (-1, [])):
            self.write("plugins.d/one.json", {"library": "one.so"})
            self.write("plugins.d/two.json", {"library": "two.so", "priority_offset": offset})
            codes = [code for code in self.codes() if code != "runs_at_load"]
            self.assertEqual(codes, expected)


class Command(Checking):
    def test_text_is_one_line_a_finding_and_one_for_the_remedy(self):
        path = self.write("x.json", '{"library": "x.so",\n "timeut_ms": 5}')
        text = self.good(call("check", path), 1).split("\n")
        self.assertRegex(text[0], rf"^{path}:2:2: error: unknown_key: .*timeout_ms")
        self.assertRegex(text[1], r"^    [A-Z]")

    def test_usage(self):
        for words, code in (
            (["check"], "missing_argument"),
            (["check", "/nonexistent"], "missing_file"),
            (["check", "--sarif", "/"], "usage"),
            (["check", "--stric", "/"], "unknown_option"),
        ):
            self.error(call("--json", *words), 2, code)

    def test_what_is_shipped_is_clean_even_when_strict(self):
        # A build with sanitizers brings what they need.
        words = [os.path.join(BUILD, "plugins", "plugins.d"), os.path.join(ROOT, "lib/families")]
        words += [
            os.path.join(ROOT, "plugins", name, "plugin.json")
            for name in ("x86", "reference", "openblas")
        ]
        document = self.check(*words, "--strict")
        serious = [row for row in document["findings"] if row["severity"] != "note"]
        self.assertEqual([r for r in serious if r["file"].endswith(".json")], [])

    def test_codes_are_listed_with_a_remedy_each(self):
        document = self.document(call("check", "--codes", "--json"))
        codes = [row["code"] for row in document["codes"]]
        self.assertEqual(len(codes), len(set(codes)))
        self.assertGreater(len(codes), 100)
        for row in document["codes"]:
            self.assertRegex(row["about"], r"^\S.*[.]$")
            self.assertRegex(row["remedy"], r"^\S.*[.]$")
            self.assertIn(row["severity"], ("error", "warning", "note"))

    def test_every_code_that_it_can_tell_has_a_row_with_a_remedy(self):
        rows = {row["code"] for row in self.document(call("check", "--codes", "--json"))["codes"]}
        lacking = {}
        for path, text in codes.sources().items():
            if TELLS.match(path) and not NEVER.match(path):
                for code, place in codes.set_in(path, text).items():
                    if code not in rows:
                        lacking[code] = place
        self.assertEqual({c: p for c, p in lacking.items() if c not in ELSEWHERE}, {})

    def test_neither_daemon_nor_home_is_needed(self):
        path = self.write("x.json", {"library": "absent.so"})
        self.assertEqual(self.codes(path, env={"PATH": "/nonexistent"}), ["library_not_found"])


if __name__ == "__main__":
    unittest.main()
