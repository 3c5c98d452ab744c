# SPDX-License-Identifier: MIT
"""The pages themselves: they are right mdoc, agree with each other, and are installed."""

import os
import re
import shutil
import subprocess
import unittest

import mdoc

ORDER = [
    "NAME",
    "LIBRARY",
    "SYNOPSIS",
    "DESCRIPTION",
    "RETURN VALUES",
    "ENVIRONMENT",
    "FILES",
    "EXIT STATUS",
    "EXAMPLES",
    "DIAGNOSTICS",
    "ERRORS",
    "SEE ALSO",
    "STANDARDS",
    "HISTORY",
    "AUTHORS",
    "CAVEATS",
    "BUGS",
    "SECURITY CONSIDERATIONS",
]
# Pages of the system that ours refer to.
OTHERS = {
    "cc(1)",
    "dlopen(3)",
    "elf(5)",
    "environ(7)",
    "getauxval(3)",
    "groups(1)",
    "ldconfig(8)",
    "pkg-config(1)",
    "secure_getenv(3)",
    "signal(7)",
    "systemctl(1)",
    "systemd.exec(5)",
    "systemd.socket(5)",
    "systemd.unit(5)",
    "journalctl(1)",
    "unix(7)",
    "units(7)",
    "sd_listen_fds(3)",
    "sd_notify(3)",
    "systemd(1)",
    "setuid(2)",
    "sigaction(2)",
    "fork(2)",
    "python3(1)",
    "bash(1)",
    "zsh(1)",
    "fish(1)",
    "abort(3)",
    "getfacl(1)",
}


class Pages(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.pages = [mdoc.Page(name) for name in mdoc.names()]
        self.assertGreaterEqual(len(self.pages), 12)

    def references(self, page):
        """name(section) of each .Xr, with the line."""
        for number, line in enumerate(page.lines, 1):
            for name, section in re.findall(r"(?:^\.| )Xr (\S+) (\d)", line):
                if line.startswith("."):
                    yield f"{name}({section})", number

    def test_mandoc_finds_nothing(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        done = subprocess.run(
            ["mandoc", "-Tlint", "-Wstyle", *[p.path for p in self.pages]],
            capture_output=True,
            text=True,
            check=False,
        )
        # Whether other pages are installed is not a matter of this one.
        # What programs print may be long.
        literal = {
            f"{p.path}:{n}:"
            for p in self.pages
            for b in p.blocks
            for n in range(b.first + 1, b.first + 1 + len(b.lines))
        }
        rows = [
            r
            for r in done.stdout.splitlines()
            if "referenced manual not found" not in r
            and not ("longer than 80 bytes" in r and any(at in r for at in literal))
        ]
        self.assertEqual(rows, [], "\n".join(rows))

    def test_a_literal_block_is_a_file_or_commands_that_are_run(self):
        for page in self.pages:
            for block in page.blocks:
                self.assertTrue(
                    block.file or any(line.startswith("$ ") for line in block.lines),
                    f"man/{page.name}:{block.first}: nothing looks at this block: let it be "
                    'commands, or say .\\" file: NAME before it and use that file',
                )

    def test_every_reference_leads_to_a_page(self):
        ours = {re.sub(r"^(.*)\.(\d)$", r"\1(\2)", p.name) for p in self.pages}
        lost = [
            f"man/{p.name}:{n}: {ref} is no page of ours, nor in OTHERS of this test"
            for p in self.pages
            for ref, n in self.references(p)
            if ref not in ours | OTHERS
        ]
        self.assertEqual(lost, [])

    def test_every_page_is_referred_to_and_refers_to_the_command(self):
        for page in self.pages:
            own = re.sub(r"^(.*)\.(\d)$", r"\1(\2)", page.name)
            others = {r for p in self.pages if p is not page for r, _ in self.references(p)}
            self.assertIn(own, others, f"no page refers to {own}")
            see = " ".join(line for _, line in page.section("SEE ALSO"))
            self.assertIn("Xr ", see, page.name)

    def test_pages_are_called_as_they_are_named(self):
        for page in self.pages:
            name, section = page.name.rsplit(".", 1)
            text = "\n".join(page.lines)
            self.assertRegex(text, rf"(?m)^\.Dt {re.escape(name.upper())} {section}$")
            self.assertRegex(text, r"(?m)^\.Dd [A-Z][a-z]+ \d+, \d{4}$")
            self.assertIn(f".Nm {name}", text)
            self.assertRegex(text, r'(?m)^\.\\" SPDX-License-Identifier: MIT$')

    def test_standard_sections_are_in_their_order(self):
        for page in self.pages:
            titles = [line[4:] for line in page.lines if line.startswith(".Sh ")]
            known = [ORDER.index(t) for t in titles if t in ORDER]
            self.assertEqual(known, sorted(known), f"{page.name}: {titles}")
            self.assertEqual(titles[0], "NAME")
            self.assertIn("SEE ALSO", titles)

    def test_pages_of_programs_have_what_is_looked_for(self):
        for name in ("pluginctl.1", "plugind.8"):
            titles = [x[4:] for x in mdoc.Page(name).lines if x.startswith(".Sh ")]
            for title in ("ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
                self.assertIn(title, titles, name)

    def test_pages_show_as_text_without_a_word_of_markup(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        for page in self.pages:
            shown = subprocess.run(
                ["mandoc", "-Tascii", page.path], capture_output=True, text=True, check=True
            ).stdout
            shown = re.sub(".\b", "", shown)
            self.assertNotRegex(shown, r"(?m)(^|\s)\.?(Ns|Oo|Oc|Xr|Fl|Ar|Pa|Cm|Bd|Ed|Bl|El)\s")


class Help(unittest.TestCase):
    def test_help_points_to_the_pages(self):
        build = os.environ.get("KPLUG_BUILD", "build")
        for command, page in (("pluginctl", "pluginctl(1)"), ("plugind", "plugind(8)")):
            done = subprocess.run(
                [os.path.join(build, command), "--help"],
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertIn(page, done.stdout)


if __name__ == "__main__":
    unittest.main()
