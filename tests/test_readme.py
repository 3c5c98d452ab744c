# SPDX-License-Identifier: MIT
"""Every command in README is run, as a new user would from top to bottom."""

import re
import unittest

import manual


class Readme(manual.Case):
    # How a line begins that somebody would paste.
    PROGRAM = re.compile(r"(?:pluginctl|plugind|build/|cp|echo|export|kill|pip|sudo|make|cc)\b")

    def test_its_commands_print_what_it_says(self):
        self.check("README")

    def test_a_command_has_its_prompt_or_its_explanation(self):
        for block in manual.Text("README").blocks:
            if not any(line.startswith("$ ") for line in block.lines):
                for line in block.lines:
                    if self.PROGRAM.match(line):
                        self.assertRegex(line, r"\S  +\S", f"README: {line}: nobody runs this")

    def test_lines_fit_a_page(self):
        for line in manual.Text("README").lines:
            self.assertLessEqual(len(line.expandtabs(8)), 100, line)


if __name__ == "__main__":
    unittest.main()
