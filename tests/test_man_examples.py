# SPDX-License-Identifier: MIT
"""Every command in a manual page is run, and its output compared.

`tests/write-examples [PAGE]...` puts what was printed into the pages.
"""

import unittest

import manual
import mdoc
import transcript


class Examples(manual.Case):
    pass


def add(name):
    def test(self):
        self.check(name)

    setattr(Examples, "test_examples_of_" + name.replace(".", "_").replace("-", "_"), test)


for page in mdoc.names():
    add(page)


class Comparison(unittest.TestCase):
    """The comparison itself: what it must not let pass."""

    def step(self, expected, actual, command="x", status=0):
        step = transcript.Step(command, 1)
        step.expected, step.actual, step.status = expected, actual, status
        return step

    def faults(self, *steps):
        return transcript.faults(list(steps), transcript.masks())

    def test_another_word_a_missing_line_and_one_too_many_are_faults(self):
        for actual in (["reference", "x87"], ["reference"], ["reference", "x86", "y"], []):
            with self.subTest(actual=actual):
                self.assertEqual(len(self.faults(self.step(["reference", "x86"], actual))), 1)

    def test_another_digest_is_none_but_a_digest_that_is_missing_is(self):
        shown = ["sha256  " + "0a" * 32 + "  x"]
        self.assertEqual(self.faults(self.step(shown, ["sha256 " + "1b" * 32 + " x"])), [])
        self.assertEqual(len(self.faults(self.step(shown, ["sha256  x"]))), 1)

    def test_blanks_count_where_nothing_is_masked(self):
        self.assertEqual(len(self.faults(self.step(["a  b"], ["a b"]))), 1)

    def test_a_status_counts_unless_the_page_asks_for_it(self):
        bad, ask = self.step([], [], status=1), self.step(["1"], ["1"], "echo $?")
        self.assertEqual(len(self.faults(bad)), 1)
        self.assertEqual(self.faults(bad, ask), [])

    def test_commands_share_a_shell_and_their_errors_are_shown(self):
        lines = ["$ a=1; false", "$ echo $? $a", "1 1", "$ cat <<.", "> x", "> .", "x"]
        lines += ["$ sleep 1000 &", "$ echo no >&2; printf 'no end'", "no end", "no"]
        steps = transcript.parse(lines, 1)
        self.assertEqual([s.line for s in steps], [1, 2, 4, 8, 9])
        transcript.run(steps, "/", {"PATH": "/usr/bin:/bin"})
        self.assertEqual([s.actual for s in steps[:3]], [[], ["1 1"], ["x"]])
        self.assertEqual(steps[3].actual, [])
        self.assertEqual(steps[4].actual, ["no endno"])


if __name__ == "__main__":
    unittest.main()
