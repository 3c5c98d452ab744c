# SPDX-License-Identifier: MIT
"""The texts whose examples are run: pages in mdoc, and READMEs with indented blocks."""

import os
import subprocess
import time
import unittest

import mdoc
import transcript
from sandbox import BUILD, ROOT, Sandbox

PATIENCE_S = 60
# What README asks of the whole machine is there already.
PRELUDE = """sudo() { "$@"; }
ldconfig() { :; }
make() { case $1 in all|install) :;; *) command make "$@";; esac; }
"""


class Text:
    """path: of the file; blocks: literal text; notes: what the page asks of a test."""

    def __init__(self, name):
        self.is_page = not name.endswith("README")
        if self.is_page:
            page = mdoc.Page(name)
            self.path, self.lines, self.blocks = page.path, page.lines, page.blocks
            self.notes = page.notes
        else:
            self.path = os.path.join(ROOT, name)
            with open(self.path, encoding="utf-8") as file:
                self.lines = file.read().split("\n")
            self.blocks, self.notes = list(self._indented()), {"plugind": "none"}

    def _indented(self):
        block = None
        for i, line in enumerate([*self.lines, "end"]):
            if line.startswith("\t"):
                block = block or mdoc.Block(i, None)
                block.lines.append(line[1:])
            elif line and block:
                while block.lines[-1] == "":
                    block.lines.pop()
                yield block
                block = None
            elif block:
                block.lines.append("")

    def files(self):
        """name -> text of the files that the page prints."""
        return {b.file: "\n".join(b.lines) + "\n" for b in self.blocks if b.file}

    def steps(self):
        found = []
        for block in self.blocks:
            if not block.file:
                found += transcript.parse(block.lines, block.first + 1)
        return found

    def shown(self, line):
        """A line of output as the file has it."""
        return mdoc.escaped(line) if self.is_page else ("\t" + line if line else "")

    def rewrite(self, steps, rows):
        """Puts the real output where it differs from the text's. How many differed."""
        wrong = [s for s in steps if not transcript.is_same(s, rows)]
        for step in sorted(wrong, key=lambda s: -s.first):
            self.lines[step.first - 1 : step.last - 1] = [self.shown(x) for x in step.actual]
        if wrong:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.lines))
        return len(wrong)


def start(sandbox):
    """A plugind of the sandbox's user, ready."""
    env = sandbox.environment()
    log = sandbox.path("/run/plugind.log")
    with open(log, "wb") as file:
        process = subprocess.Popen(
            ["plugind"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=env,
            cwd=sandbox.path("/home/you"),
            start_new_session=True,
        )
    done = subprocess.run(
        ["pluginctl", "--timeout", str(PATIENCE_S), "status", "--wait", "--quiet"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    if done.returncode != 0:
        transcript.end(process)
        with open(log, encoding="utf-8", errors="replace") as file:
            raise AssertionError(done.stdout + done.stderr + file.read())
    return process


def play(text, sandbox):
    """Runs the examples of a text for a user who has nothing yet; its steps, filled in."""
    sandbox.renew()
    home = sandbox.path("/home/you")
    for name, content in text.files().items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(sandbox.inside(content))
        age(path)
    if not text.is_page:
        os.symlink(BUILD, os.path.join(home, "build"))
    steps = text.steps()
    for step in steps:
        step.shown, step.command = step.command, sandbox.inside(step.command)
    daemon = None if text.notes.get("plugind") == "none" else start(sandbox)
    try:
        transcript.run(steps, home, sandbox.environment(), "" if text.is_page else PRELUDE)
    finally:
        if daemon:
            transcript.end(daemon)
    for step in steps:
        step.command = step.shown
        text = "\n".join(step.actual)
        shown = sandbox.outside(text)
        step.is_moved = shown != text
        step.actual = shown.split("\n") if text else []
    return steps


def age(path):
    """As old as if it had been there before: a young file is waited for."""
    then = time.time() - 3600
    os.utime(path, (then, then))


def is_usual():
    """Are the kernels in the examples those that run here?"""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        features = file.read().split()
    return "avx2" in features and "fma" in features


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("KPLUG_SANITIZER"):
            raise unittest.SkipTest("examples are of a build without a sanitizer")
        if not is_usual():
            raise unittest.SkipTest("examples are of an x86-64 with AVX2")
        cls.sandbox = Sandbox()
        cls.addClassCleanup(cls.sandbox.close)
        cls.masks = transcript.masks()

    def check(self, name):
        found = transcript.faults(play(Text(name), self.sandbox), self.masks)
        if found:
            self.fail(
                f"{name}: {len(found)} examples are not as shown; if the program is right, "
                f"run tests/write-examples {name}\n" + "\n\n".join(found)
            )
