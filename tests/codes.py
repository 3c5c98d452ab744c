# SPDX-License-Identifier: MIT
"""Finds the stable codes of errors, reasons, exclusions and warnings in the sources.

Codes are the literals where a code is set, and the rows of the table of errors. Literals
elsewhere that look like one are told, too: they are a code that is set in another way, or
a word of data, which the protocol, a schema or tests/words has.
"""

import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", os.path.join(ROOT, "build")))
# Which argument of what is a code.
SETTERS = {
    "kp_diag_set": 1,
    "kp_versioned_check": 2,
    "output_refuse": 1,
    "kp_exclude": 1,
    "kp_verdict_fail": 2,
    "kp_verdict_warn": 1,
    "stand": 2,
    "warn": 1,
    "add_warning": 1,
    "set_failure": 1,
    "say": 1,
    "said": 1,
    "unknown": 0,
    "add_fault": 1,
    "tell_absent": 1,
    "doctor_tell": 1,
    "differ": 1,
}
NO_CODES = ("code", "unknown")  # a key, a state of a device
CALL = re.compile(r"(?<![\w.>])(" + "|".join(SETTERS) + r")\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
CODE = re.compile(r"[a-z][a-z0-9_]*")
COMPOUND = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")
METRIC = re.compile(r"kplug_|process_")  # names of figures
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def sources():
    """path from the root -> text without comments, of what is not a test or a plugin."""
    found = {}
    for folder in ("lib", "daemon", "cmd"):
        for path in sorted(glob.glob(os.path.join(ROOT, folder, "**", "*.[ch]"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), file.read())
            found[os.path.relpath(path, ROOT)] = text
    return found


def arguments(text, start):
    """The arguments of a call whose bracket opens at text[start - 1]."""
    depth, at, first, found = 1, start, start, []
    while at < len(text) and depth:
        literal = LITERAL.match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        if (text[at] == "," and depth == 1) or not depth:
            found.append(text[first:at])
            first = at + 1
        at += 1
    return found


def place(path, text, at):
    return f"{path}:{text.count(chr(10), 0, at) + 1}"


def set_in(path, text):
    """code -> place, of the calls that set one."""
    found = {}
    for call in CALL.finditer(text):
        row = arguments(text, call.end())
        position = SETTERS[call.group(1)]
        for word in LITERAL.findall(row[position] if position < len(row) else ""):
            if CODE.fullmatch(word) and word not in NO_CODES:
                found.setdefault(word, place(path, text, call.start()))
    for pair in re.finditer(r'"code",\s*("[a-z0-9_]+"|[^",()]*\?[^;,]*)', text):
        for word in LITERAL.findall(pair.group(1)):
            if CODE.fullmatch(word) and word not in NO_CODES:
                found.setdefault(word, place(path, text, pair.start()))
    return found


def of_table():
    """Codes that have an error: the rows of the table."""
    (path,) = glob.glob(os.path.join(ROOT, "lib", "**", "message_error.c"), recursive=True)
    with open(path, encoding="utf-8") as file:
        text = COMMENT.sub("", file.read())
    rows = re.findall(r"static const char \*const \w+\[\] = \{(.*?)\}", text, re.DOTALL)
    return {word: os.path.relpath(path, ROOT) for row in rows for word in LITERAL.findall(row)}


def codes():
    """code -> where it is set."""
    found = {}
    for path, text in sources().items():
        for word, at in set_in(path, text).items():
            found.setdefault(word, at)
    return {**of_table(), **found}


def words_of(value):
    """Every name in a JSON schema."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from words_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from words_of(item)
    elif isinstance(value, str):
        yield from re.findall(r"[a-z][a-z0-9_]*", value)


def data():
    """Words that look like codes and are none: of protocol, schemas, tests/words."""
    found = set()
    with open(os.path.join(ROOT, "lib", "org.kplug.Manager.varlink"), encoding="utf-8") as file:
        text = "".join(line for line in file if not line.startswith("#"))
    found.update(re.findall(r"\b([a-z][a-z0-9_]*):", text))
    for path in glob.glob(os.path.join(ROOT, "lib", "schemas", "*.json")):
        with open(path, encoding="utf-8") as file:
            found.update(words_of(json.load(file)))
    # Names of system calls.
    with open(os.path.join(ROOT, "daemon", "worker", "calls.c"), encoding="utf-8") as file:
        found.update(LITERAL.findall(file.read()))
    with open(os.path.join(HERE, "words"), encoding="utf-8") as file:
        for line in file:
            found.update(line.partition("#")[0].split())
    return found


def suspects():
    """literal -> place, of what looks like a code and is set by nothing known here."""
    known, found = codes().keys() | data(), {}
    for path, text in sources().items():
        for literal in LITERAL.finditer(text):
            word = literal.group(1)
            if COMPOUND.fullmatch(word) and word not in known and not METRIC.match(word):
                found.setdefault(word, place(path, text, literal.start()))
    return found


def is_literal(word):
    return any(f'"{word}"' in text for text in sources().values())
