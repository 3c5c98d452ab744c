# SPDX-License-Identifier: MIT
"""Text of pluginctl on terminals of every width, in colour and without."""

import glob
import json
import os
import re
import unittest

import fake_plugind as fakes
from fake_plugind import Fake
from pluginctl import Case, call, on_terminal, plain


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Terminal(Case):
    SHOWING = [
        ["list"],
        ["info", "x86"],
        ["kernels"],
        ["select", "gemm/mm"],
        ["why", "gemm/mm"],
        ["bench", "gemm/mm"],
        ["status"],
        ["version"],
        ["reload"],
        ["help"],
        ["help", "select"],
    ]

    def test_no_line_is_longer_than_the_terminal(self):
        for columns in (40, 80, 200):
            for args in self.SHOWING:
                with self.subTest(columns=columns, args=args), Fake() as fake:
                    text, status = on_terminal(columns, *args, socket=fake.path)
                    self.assertEqual(status, 0)
                    self.assertTrue(text.strip())
                    for line in plain(text).splitlines():
                        self.assertLessEqual(len(line), columns, line)

    def test_kernels_of_the_plugins_here_are_a_table_on_80_columns(self):
        rows = []
        for path in sorted(glob.glob(os.path.join(ROOT, "plugins/*/plugin.json"))):
            with open(path, encoding="utf-8") as file:
                note = json.load(file)
            for kernel in note["kernels"]:
                name = note["name"] + "/" + kernel["name"]
                row = {"operation": kernel["operation"], "priority": 15, "band": "specialized"}
                rows.append(fakes.listed(name, len(rows) % 2 or None, **row))
        self.assertGreater(len(rows), 8)
        rows.sort(key=lambda row: row["operation"])
        with Fake(Kernels={"kernels": rows, "pending": []}) as fake:
            text = plain(on_terminal(80, "kernels", socket=fake.path)[0])
        operations = {row["operation"] for row in rows}
        self.assertEqual(
            len(re.findall(r"(?m)^  KERNEL +ORDER +PRIORITY +USABLE$", text)), len(operations)
        )
        for row in rows:
            self.assertRegex(text, rf"(?m)^  {re.escape(row['kernel'])} +[1-] +15 specialized  \w")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_wide_characters_count_as_two(self):
        row = fakes.plugin("x", "failed", reason={"code": "c", "message": "核" * 100})
        with Fake(List={"plugins": [row]}) as fake:
            text, _ = on_terminal(60, "list", socket=fake.path)
        for line in plain(text).splitlines():
            self.assertLessEqual(len(line) + line.count("核"), 60)
        self.assertEqual(text.count("核"), 100)

    def test_nothing_is_lost_on_a_narrow_terminal(self):
        words = "host_too_old: needs kplug 0.3.0, this is 0.1.0".split()
        for columns in (40, 60, 80):
            with self.subTest(columns=columns), Fake() as fake:
                text, _ = on_terminal(columns, "list", socket=fake.path)
                found = plain(text).split()
                for word in words:
                    self.assertEqual(found.count(word), 2, (word, text))

    def test_a_very_narrow_terminal_does_no_harm(self):
        for args in self.SHOWING:
            with self.subTest(args=args), Fake() as fake:
                text, status = on_terminal(1, *args, socket=fake.path)
                self.assertEqual(status, 0)
                self.assertTrue(text.strip())

    def test_without_a_terminal_nothing_is_cut_or_coloured(self):
        long = fakes.plugin("x", "failed", reason={"code": "c", "message": "word " * 100})
        with Fake(List={"plugins": [long]}) as fake:
            text = self.good(call("list", socket=fake.path))
        self.assertEqual(len(text.splitlines()), 2)
        self.assertEqual(text.count("word"), 100)
        self.assertNotIn("\x1b", text)

    def test_colour_is_for_a_terminal_without_no_color(self):
        with Fake() as fake:
            text, _ = on_terminal(80, "list", socket=fake.path)
            self.assertIn("\x1b[", text)
            for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
                with self.subTest(env=env):
                    text, _ = on_terminal(80, "list", socket=fake.path, **env)
                    self.assertNotIn("\x1b", text)
            text, _ = on_terminal(80, "list", socket=fake.path, NO_COLOR="")
            self.assertIn("\x1b[", text)

    def test_json_has_no_colour_on_a_terminal(self):
        with Fake() as fake:
            text, _ = on_terminal(40, "list", "--json", socket=fake.path)
            self.assertEqual(json.loads(text), fakes.REPLIES["List"])


if __name__ == "__main__":
    unittest.main()
