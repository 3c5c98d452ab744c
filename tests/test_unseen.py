# SPDX-License-Identifier: MIT
"""Texts of others that would read as what they are not: characters that put the rest in
another order, end a line, or are seen by nobody, in every place where a text comes in."""

import json
import os
import unicodedata
import unittest

from harness import Daemon, kernel, make_plugin, write

# To the left, isolated; a line of its own; of no width; a tag; five marks on a letter.
UNSEEN = "A\u202eevitca\u2066b\u2028state  active\u200b\ufeff\u00ad\U000e0041e" + "\u0301" * 30
SAYS = """
	static const char text[] = "printed %s\\n";
	(void)!write(1, text, sizeof(text) - 1);
	__builtin_strcpy(error->text, "refuses %s");
	return KP_UNAVAILABLE;
"""
ALLOWED = {"\n", "\u0301"}
UNSEEN_KINDS = {"Cc", "Cf", "Zl", "Zp"}


def escaped(text):
    """As a C literal has it."""
    return "".join(f'\\x{byte:02x}" "' for byte in text.encode())


class Unseen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon = Daemon(env={"LC_ALL": "C.UTF-8"})
        cls.addClassCleanup(daemon.close)
        texts = dict.fromkeys(("author", "license", "description"), UNSEEN)
        says = SAYS.replace("%s", escaped(UNSEEN))
        for name, faults in (
            ("noted", {}),
            ("refuses", {"available": says}),
            ("fails", {"available": says.replace("KP_UNAVAILABLE", "KP_RUNTIME")}),
            ("dies", {"available": says.replace("return KP_UNAVAILABLE", "__builtin_trap()")}),
        ):
            path = os.path.join(daemon.plugin_dir, f"{name}.so")
            make_plugin(path, name, [kernel("square")], **faults, **texts)
            manifest = {"library": path, "config": {UNSEEN: UNSEEN}}
            write(os.path.join(daemon.manifest_dirs[0], f"{name}.json"), json.dumps(manifest))
        write(os.path.join(daemon.manifest_dirs[0], f"{UNSEEN[:9]}.json"), "{}")
        write(os.path.join(daemon.manifest_dirs[0], "key.json"), json.dumps({UNSEEN: 1}))
        daemon.call("Reload")
        daemon.settle()

    def check(self, text, where):
        for at, character in enumerate(text):
            if character in ALLOWED or unicodedata.category(character) not in UNSEEN_KINDS:
                continue
            self.fail(f"{where}: U+{ord(character):04x} in {text[max(at - 40, 0):at + 9]!r}")

    def ask(self, *command):
        result = self.daemon.ctl(*command)
        self.check(result.stdout, command)
        self.check(result.stderr, command)
        return result.stdout

    def ask_text(self, *command):
        text = self.ask(*command)
        self.assertNotIn("\u0301" * 5, text, command)
        return text

    def test_t56_a_terminal_shows_each_text_in_its_order_and_place(self):
        for command in (
            ["list"],
            ["kernels"],
            ["why", "elementwise/square"],
            ["select", "elementwise/square"],
            ["cat", "noted"],
            *(
                [what, name]
                for what in ("info", "logs")
                for name in ("noted", "refuses", "fails", "dies")
            ),
            ["info", os.path.join(self.daemon.plugin_dir, "noted.so")],
            ["check", self.daemon.plugin_dir, self.daemon.manifest_dirs[0]],
        ):
            with self.subTest(command=command):
                self.ask_text(*command)
        self.assertIn("\\u202e", self.ask_text("info", "noted"))
        self.assertIn("\\u202e", self.ask_text("logs", "dies"))
        self.assertIn("\\u202e", self.ask_text("why", "elementwise/square"))

    def test_t56_an_operators_own_words_are_shown_likewise(self):
        self.daemon.ctl("disable", "noted", "--reason", UNSEEN)
        self.assertIn("\\u202e", self.ask_text("info", "noted"))
        self.ask_text("list")
        self.daemon.ctl("enable", "noted")

    def test_t56_json_is_the_same_text_and_shows_nothing_raw(self):
        reply = json.loads(self.ask("info", "noted", "--json"))
        self.assertEqual(reply["plugin"]["config"], {UNSEEN: UNSEEN})
        self.ask("list", "--json")

    def test_t56_nor_does_the_log(self):
        self.check(self.daemon.log(), "log")
        self.assertIn("\\u202e", self.daemon.log())


if __name__ == "__main__":
    unittest.main()
