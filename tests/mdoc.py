# SPDX-License-Identifier: MIT
"""Reads a manual page in mdoc as far as tests need it: blocks, items, references.

    page = Page("man/pluginctl.1")
    page.blocks                      # literal displays: transcripts and files
    page.items("COMMANDS")           # .It of a section, with those nested in each
"""

import os
import re

MAN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "man")
ESCAPES = {r"\e": "\\", r"\&": "", r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\(ba": "|"}
ESCAPE = re.compile("|".join(re.escape(e) for e in ESCAPES))


def names():
    """The pages, as files below man/."""
    return sorted(n for n in os.listdir(MAN) if re.fullmatch(r"[\w.-]+\.[1-9]", n))


def plain(text):
    """What a line of text shows."""
    return ESCAPE.sub(lambda m: ESCAPES[m.group()], text)


def escaped(line):
    """A line that shows this text."""
    line = line.replace("\\", r"\e")
    return r"\&" + line if line[:1] in (".", "'") else line


def words(line):
    """The words of a macro line; one in quotes is one word."""
    return [plain(a or b) for a, b in re.findall(r'"([^"]*)"|(\S+)', line)]


class Block:
    """A literal display: its lines as they show, where it is, the file that it is."""

    def __init__(self, first, file):
        self.first = first  # index in page.lines of its first line
        self.file = file
        self.lines = []


class Item:
    """.It: its words, the text below it, the items nested in it."""

    def __init__(self, line, number, depth):
        self.words = words(line)[1:]
        self.number = number
        self.depth = depth
        self.text = []
        self.items = []
        self.notes = {}

    def __str__(self):
        return " ".join(self.words)

    def named(self, macro):
        """The word behind a macro of its head: named("Fl") of `.It Fl -all` is -all."""
        return self.words[self.words.index(macro) + 1] if macro in self.words[:-1] else None


class Page:
    def __init__(self, path):
        self.path = os.path.join(MAN, path)
        self.name = os.path.basename(path)
        with open(self.path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.blocks = list(self._blocks())
        self.notes = dict(
            m.groups() for m in (re.match(r'\.\\" (plugind): (.*)', x) for x in self.lines) if m
        )

    def _blocks(self):
        block, file = None, None
        for i, line in enumerate(self.lines):
            if line.startswith(".Bd -literal"):
                block = Block(i + 1, file)
            elif line == ".Ed" and block is not None:
                yield block
                block, file = None, None
            elif block is not None:
                block.lines.append(plain(line))
            elif line.startswith('.\\" file: '):
                file = line.split(": ", 1)[1]

    def section(self, title):
        """The lines of a section with their numbers, counted from 1."""
        inside = False
        for number, line in enumerate(self.lines, 1):
            if line.startswith(".Sh "):
                inside = " ".join(words(line)[1:]) == title
            elif inside:
                yield number, line

    def items(self, title):
        """The outermost items of a section."""
        found, open_items, depth = [], [], 0
        for number, line in self.section(title):
            if line.startswith(".Bl "):
                depth += 1
            elif line.startswith(".El"):
                depth -= 1
                open_items = [i for i in open_items if i.depth <= depth]
            elif line.startswith(".It "):
                item = Item(line, number, depth)
                open_items = [i for i in open_items if i.depth < depth]
                (open_items[-1].items if open_items else found).append(item)
                open_items.append(item)
            elif open_items and line.startswith('.\\" '):
                key, _, value = line[4:].partition(": ")
                open_items[-1].notes[key] = value
            elif open_items:
                open_items[-1].text.append(plain(line))
        return found

    def all_items(self):
        """Every item of every section, nested ones too."""
        titles = [" ".join(words(x)[1:]) for x in self.lines if x.startswith(".Sh ")]
        rest = [item for title in titles for item in self.items(title)]
        while rest:
            item = rest.pop(0)
            yield item
            rest.extend(item.items)

    def macro(self, name):
        """Words of each line of this macro, and of each where it stands behind others."""
        for line in self.lines:
            if line.startswith("."):
                row = words(line[1:])
                for i, word in enumerate(row):
                    if word == name:
                        yield row[i + 1 :]
