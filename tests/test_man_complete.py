# SPDX-License-Identifier: MIT
"""The manual says everything that there is, and nothing that there is not."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import codes
import mdoc
from harness import BUILD, ROOT

PLUGINCTL = os.path.join(BUILD, "pluginctl")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def code_of(path):
    """A C file without its comments."""
    return codes.COMMENT.sub("", read(*path))


class Case(unittest.TestCase):
    maxDiff = None

    def both_ways(self, there, written, what, page):
        """Both are names; fails with a sentence for each that is on one side alone."""
        found = [f"{what} {n} has no paragraph in man/{page}" for n in sorted(there - written)]
        found += [
            f"man/{page} has a paragraph for {n}, and no {what} is called so"
            for n in sorted(written - there)
        ]
        if found:
            self.fail("\n".join(found))

    def heads(self, page, macro, section=None):
        """Names of the items of a page whose head begins with this macro."""
        page = mdoc.Page(page)
        items = page.items(section) if section else list(page.all_items())
        found = [i.words[1] for i in items if i.words[:1] == [macro] and len(i.words) > 1]
        twice = sorted({n for n in found if found.count(n) > 1})
        self.assertEqual(twice, [], f"man/{page.name} explains these more than once")
        return set(found)


class Commands(Case):
    PAGE = "pluginctl.1"

    @classmethod
    def setUpClass(cls):
        text = subprocess.run([PLUGINCTL, "help", "--json"], capture_output=True, check=True)
        cls.help = json.loads(text.stdout)
        cls.page = mdoc.Page(cls.PAGE)

    def options_of(self, items):
        return {i.named("Fl").lstrip("-"): "Ar" in i.words for i in items if i.named("Fl")}

    def same_options(self, options, items, whose):
        there = {o["name"]: o["value"] is not None for o in options}
        written = self.options_of(items)
        what = f"option of {whose}"
        self.both_ways(set(there), set(written), what, self.PAGE)
        for name, has_value in there.items():
            self.assertEqual(
                written[name], has_value, f"{self.PAGE}, {whose}: has --{name} a value?"
            )

    def test_every_command_has_its_paragraph_and_none_is_made_up(self):
        there = {c["name"] for c in self.help["commands"]}
        self.both_ways(there, self.heads(self.PAGE, "Cm", "COMMANDS"), "command", self.PAGE)

    def test_every_option_of_a_command_is_explained_there(self):
        rows = {i.words[1]: i for i in self.page.items("COMMANDS")}
        for command in self.help["commands"]:
            with self.subTest(command=command["name"]):
                item = rows.get(command["name"])
                self.assertIsNotNone(item, f"{command['name']} has no paragraph")
                like, _, without = item.notes.get("options as", "").partition(" without ")
                shared = rows[like].items if like else []
                shared = [i for i in shared if i.named("Fl") != "-" + without]
                self.same_options(
                    command["options"], item.items + shared, "pluginctl " + command["name"]
                )

    def test_the_arguments_of_a_command_are_those_of_its_usage(self):
        marks = {"Ar", "Ns", "Oo", "Oc", "Cm"}
        for item in self.page.items("COMMANDS"):
            words = [{"Oo": "[", "Oc": "]"}.get(w, "" if w in marks else w) for w in item.words[2:]]
            (command,) = [c for c in self.help["commands"] if c["name"] == item.words[1]]
            self.assertEqual(
                "".join(words), command["args"].replace(" ", ""), f"usage of {item.words[1]}"
            )

    def test_options_of_all_and_of_offline_commands_are_explained(self):
        for section, key in (("DESCRIPTION", "options"), ("WITHOUT A DAEMON", "offline_options")):
            with self.subTest(section=section):
                items = self.page.items(section)
                self.same_options(self.help[key], items, f"pluginctl ({section})")

    def test_commands_without_a_daemon_are_named(self):
        lines = [x for _, x in self.page.section("WITHOUT A DAEMON") if x.startswith(".Cm ")]
        named = {w for line in lines for w in mdoc.words(line)[1:] if w not in ",."}
        there = {c["name"] for c in self.help["commands"] if c["offline"]}
        self.both_ways(there, named, "command that works without plugind", self.PAGE)

    def test_t73_every_exit_status_is_in_the_page(self):
        written = {i.words[0] for i in self.page.items("EXIT STATUS")}
        self.both_ways(set(self.help["exit"]), written, "exit status", self.PAGE)


class Keys(Case):
    """Keys of files: an item whose head is `Ic KEY`."""

    def keys(self, value, found):
        """Names of properties, in objects of the schema's own and those nested in them."""
        if isinstance(value, dict):
            found.update(value["properties"] if isinstance(value.get("properties"), dict) else {})
            for item in value.values():
                self.keys(item, found)
        elif isinstance(value, list):
            for item in value:
                self.keys(item, found)
        return found - {"$schema"}

    def check(self, schema, page):
        there = self.keys(json.loads(read("lib", "schemas", schema)), set())
        self.both_ways(there, self.heads(page, "Ic"), f"key of {schema}", page)

    def test_keys_of_the_configuration(self):
        self.check("config.json", "plugind.json.5")

    def test_keys_of_a_manifest(self):
        self.check("manifest.json", "kplug-manifest.5")

    def test_keys_of_a_family(self):
        self.check("family.json", "kplug-family.5")

    def test_keys_of_a_note(self):
        self.check("note.json", "kplug-plugin.7")

    def options(self):
        told = subprocess.run(
            [os.path.join(BUILD, "plugind"), "--help"], capture_output=True, text=True, check=True
        )
        return set(re.findall(r"^  --([a-z-]+)", told.stdout, re.MULTILINE))

    def test_the_schema_has_what_the_file_may_say(self):
        schema = json.loads(read("lib", "schemas", "config.json"))["properties"]
        with tempfile.TemporaryDirectory(prefix="kplug-config.") as place:
            path = os.path.join(place, "plugind.json")
            for key in sorted({o.replace("-", "_") for o in self.options()} | set(schema)):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({key: None}, file)  # of a wrong type, if it is a key
                done = subprocess.run(
                    [os.path.join(BUILD, "plugind"), "--config", path, "--check-config"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                is_key = "unknown key" not in done.stderr
                self.assertEqual(is_key, key in schema, f"{key}: {done.stderr}")

    def test_options_of_plugind(self):
        there = self.options()
        items = mdoc.Page("plugind.8").all_items()
        written = {i.named("Fl").lstrip("-") for i in items if i.named("Fl")}
        self.both_ways(there, written, "option of plugind", "plugind.8")


class Protocol(Case):
    PAGE = "kplug-protocol.7"

    def declared(self, kind):
        text = read("lib", "org.kplug.Manager.varlink")
        return set(re.findall(rf"^{kind} (\w+)", text, re.MULTILINE))

    def test_every_method_has_its_paragraph(self):
        self.both_ways(self.declared("method"), self.heads(self.PAGE, "Fn"), "method", self.PAGE)

    def test_every_method_is_among_those_of_its_role(self):
        there = {}
        for text in codes.sources().values():
            there.update(re.findall(r'\{"(\w+)", ROLE_(\w+), \w+\}', text))
        self.assertEqual(set(there), self.declared("method"))
        title, written = "", {}
        for _, line in mdoc.Page(self.PAGE).section("DESCRIPTION"):
            title = line if line.startswith(".Ss ") else title
            name = re.match(r"\.It Fn (\w+)", line)
            role = re.match(r'\.\\" role: (\w+)', line)
            if name:
                last = name.group(1)
                written[last] = (re.findall(r"\((\w+)\)", title) or ["observer"])[0].upper()
            elif role:
                written[last] = role.group(1).upper()
        self.assertEqual(written, there)

    def test_every_error_has_its_paragraph(self):
        self.both_ways(self.declared("error"), self.heads(self.PAGE, "Er"), "error", self.PAGE)


class Metrics(Case):
    PAGE = "plugind.8"

    def test_every_metric_is_explained(self):
        there = set()
        for path, text in codes.sources().items():
            if "metrics" in path:
                there.update(re.findall(r'"((?:kplug|process)_[a-z_]+)"', text))
        self.both_ways(there, self.heads(self.PAGE, "Va"), "metric", self.PAGE)


class Headers(Case):
    def public_functions(self):
        text = code_of(("lib", "include", "kplug", "host.h"))
        return set(re.findall(r"\b(kp_[a-z_]+)\((?!\*)[^;{]*\)\s*[;{]", text)) & set(
            re.findall(r"^(?:static inline )?[a-z][\w \*]*?\b(kp_\w+)\(", text, re.MULTILINE)
        )

    def test_every_function_of_host_h_is_in_the_synopsis_and_explained(self):
        page = mdoc.Page("kplug-host.3")
        there = self.public_functions()
        self.assertGreater(len(there), 30)
        synopsis = set()
        for _, line in page.section("SYNOPSIS"):
            synopsis.update(re.findall(r"^\.F[no] (kp_\w+)", line))
        self.both_ways(there, synopsis, "function of kplug/host.h", page.name + ", SYNOPSIS")
        text = "\n".join(line for _, line in page.section("DESCRIPTION"))
        written = set(re.findall(r"^\.Fn (kp_\w+)", text, re.MULTILINE))
        self.both_ways(there, written, "function of kplug/host.h", page.name + ", DESCRIPTION")

    def test_the_synopsis_declares_what_the_header_does(self):
        text, inside = ["#include <kplug/host.h>"], []
        for _, line in mdoc.Page("kplug-host.3").section("SYNOPSIS"):
            row = mdoc.words(line)
            if row[:1] == [".Ft"]:
                kind = " ".join(row[1:])
            elif row[:1] == [".Fn"]:
                text.append(f"{kind} {row[1]}({', '.join(row[2:]) or 'void'});")
            elif row[:1] == [".Fo"]:
                name, inside = row[1], []
            elif row[:1] == [".Fa"]:
                inside.append(row[1])
            elif row[:1] == [".Fc"]:
                text.append(f"{kind} {name}({', '.join(inside)});")
        # A prototype that is not the header's is an error of the compiler.
        include = os.path.join(ROOT, "lib", "include")
        done = subprocess.run(
            ["cc", "-std=c11", "-fsyntax-only", "-I", include, "-xc", "-"],
            input="\n".join(text).replace("int kp_run(", "static inline int kp_run(") + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.stderr, "")
        self.assertGreater(len(text), 30)

    def test_the_names_that_libkplug_exports_are_in_the_page(self):
        script = read("lib", "libkplug.map")
        exported = set(re.findall(r"\b(kp_\w+);", script))
        text = read("man", "kplug-host.3")
        self.assertEqual([n for n in sorted(exported) if n not in text], [])

    def test_every_flag_option_and_member_of_host_h_is_in_the_page(self):
        text = code_of(("lib", "include", "kplug", "host.h"))
        names = set(re.findall(r"\b(KP_[A-Z_]+) = ", text))
        page = mdoc.Page("kplug-host.3")
        written = " ".join(page.lines)
        for name in sorted(names):
            self.assertRegex(written, rf"\b{name}\b", f"{name} of host.h is not in {page.name}")

    def test_every_name_of_plugin_h_is_in_the_page(self):
        text = code_of(("lib", "include", "kplug", "plugin.h"))
        names = set(re.findall(r"\b(KP_[A-Z0-9_]+) = \d", text))
        names |= set(re.findall(r"^struct (kp_\w+) \{", text, re.MULTILINE))
        names |= set(re.findall(r"\(\*(\w+)\)\(", text))
        names |= set(re.findall(r"^#define ((?:KP|KPLUG)_\w+)", text, re.MULTILINE))
        names -= {"KP_ASSERT", "KP_SEALED", "KPLUG_PLUGIN_H", "task"}  # the header's own
        written = read("man", "kplug-plugin.7")
        lost = [n for n in sorted(names) if not re.search(rf"\b{n}\b", written)]
        self.assertEqual(lost, [], "names of kplug/plugin.h that man/kplug-plugin.7 has not")


class Environment(Case):
    PAGE = "kplug-environment.7"
    READ = re.compile(
        r'getenv\(\s*"([A-Z_]+)"|"(KPLUG_[A-Z_]+)"|"((?:CUDA|XDG)_[A-Z_]+)"'
        r"|environ(?:\.get\(|\[)\s*['\"]([A-Z_]+)['\"]"
    )
    TABLES = re.compile(r'"([A-Z]+(?:_[A-Z]+)+)"')  # in a file that reads variables
    NO_VARIABLES = {"KPLUG_PLUGIN_NOTE", "KPLUG_OVERRIDE_"}

    def variables(self):
        found = {}
        places = [os.path.join(ROOT, d) for d in ("lib", "daemon", "cmd", "plugins")]
        for top in places:
            for folder, _, files in os.walk(top):
                for file_name in files:
                    if file_name.endswith((".c", ".h", ".hpp", ".py", ".cc")):
                        path = os.path.join(folder, file_name)
                        with open(path, encoding="utf-8") as file:
                            text = codes.COMMENT.sub("", file.read())
                        rows = ["".join(row) for row in self.READ.findall(text)]
                        rows += self.TABLES.findall(text) if "getenv(" in text else []
                        for name in rows:
                            found.setdefault(name, os.path.relpath(path, ROOT))
        return {n: p for n, p in found.items() if n not in self.NO_VARIABLES}

    def test_every_variable_that_the_sources_read_has_its_paragraph(self):
        there = set(self.variables())
        self.assertIn("KPLUG_SOCKET", there)
        # Of an override the name has the operation's.
        written = {n for n in self.heads(self.PAGE, "Ev") if not n.startswith("KPLUG_OVERRIDE_")}
        self.both_ways(there, written, "variable that is read", self.PAGE)

    def test_overrides_have_their_paragraph(self):
        self.assertTrue([n for n in self.heads(self.PAGE, "Ev") if n.startswith("KPLUG_OVERRIDE_")])


class Codes(Case):
    PAGE = "kplug-troubleshooting.7"

    def test_every_code_has_its_paragraph(self):
        there, written = codes.codes(), self.heads(self.PAGE, "Er")
        lost = [
            f"{at}: the code {code} has no paragraph in man/{self.PAGE}"
            for code, at in sorted(there.items())
            if code not in written
        ]
        self.assertEqual(lost, [], "\n" + "\n".join(lost))

    def test_what_looks_like_a_code_has_its_paragraph_or_is_a_word_of_data(self):
        written = self.heads(self.PAGE, "Er")
        lost = [
            f"{at}: {word} looks like a code: give it a paragraph in man/{self.PAGE}, or, "
            "if it is none, a place in tests/words"
            for word, at in sorted(codes.suspects().items())
            if word not in written
        ]
        self.assertEqual(lost, [], "\n" + "\n".join(lost))

    def test_no_paragraph_is_of_a_code_that_nothing_says(self):
        there = codes.codes().keys()
        gone = [
            c
            for c in sorted(self.heads(self.PAGE, "Er"))
            if c not in there and not codes.is_literal(c)
        ]
        self.assertEqual(gone, [], f"man/{self.PAGE} has paragraphs of codes that are no more")

    def test_a_paragraph_says_what_to_do(self):
        for item in mdoc.Page(self.PAGE).all_items():
            if item.words[:1] == ["Er"]:
                text = " ".join(t for t in item.text if not t.startswith(".Pp"))
                self.assertGreaterEqual(len(text.split()), 6, f"{item}: hardly a paragraph")


if __name__ == "__main__":
    unittest.main()
