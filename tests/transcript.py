# SPDX-License-Identifier: MIT
"""Commands of a manual page and what they print, run again and compared.

    $ pluginctl list --quiet         a command; further lines of it begin with `> `
    reference                        what it prints, on a terminal of COLUMNS columns
    x86

All commands of a page run in one shell, so that what they set and make lasts. A command
ends with status 0, unless the next one is `echo $?`. Of one that goes on in the
background nothing is shown.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import time
import tty

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = 80
LIMIT_S = 150
MARK = "--8<--"


class Step:
    """A command, the output that the page shows, and what there really was."""

    def __init__(self, command, line):
        self.command = command
        self.line = line  # of the page, counted from 1
        self.first = self.last = line  # where its output is in the page: [first, last)
        self.expected = []
        self.actual = None
        self.status = None
        self.is_moved = False  # it had paths of here; where lines are wrapped is another matter


def parse(lines, first, prompts=("$ ",)):
    """Steps of a block whose first line is number `first` of its page."""
    steps = []
    for number, line in enumerate(lines, first):
        if line.startswith(prompts):
            steps.append(Step(line[2:], number))
        elif not steps:
            continue
        elif (line + " ").startswith("> ") and not steps[-1].expected:
            steps[-1].command += "\n" + line[2:]
        else:
            steps[-1].expected.append(line.rstrip())
            steps[-1].last = number + 1
            continue
        steps[-1].first = steps[-1].last = number + 1
    return steps


def script(steps):
    """One shell script; each command's errors come behind its output."""
    text = []
    for i, step in enumerate(steps):
        if step.command.rstrip().endswith("&"):
            text.append(f'{{ {step.command}\n}} >/dev/null 2>&1; : >"$KP_ERRORS"')
        else:
            text.append(f'{{ {step.command}\n}} 2>"$KP_ERRORS"')
        text.append(
            f"kp_status=$?; cat \"$KP_ERRORS\"; printf '\\n{MARK} {i} %d\\n' $kp_status; "
            "(exit $kp_status)"
        )
    return "\n".join(text) + "\n"


def end(process):
    """Ends the shell and what it left in the background."""
    for number, limit in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        stop = time.monotonic() + limit
        while time.monotonic() < stop:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
    process.wait()


def read_all(side):
    """What comes out of a terminal until the last writer has gone, or the last mark."""
    output = b""
    while True:
        try:
            data = os.read(side, 65536)
        except OSError:
            return output
        if not data:
            return output
        output += data


def run(steps, cwd, env, prelude=""):
    """Runs them and fills in what there was. prelude: shell text that comes before."""
    side, terminal = pty.openpty()
    tty.setraw(terminal)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory(prefix="kplug-errors.") as place:
        path = os.path.join(place, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(prelude + "\n" + script(steps))
        with subprocess.Popen(
            ["timeout", "--foreground", str(LIMIT_S), "sh", path],
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**env, "KP_ERRORS": os.path.join(place, "errors")},
            start_new_session=True,
        ) as process:
            os.close(terminal)
            output = read_all(side)
            os.close(side)
            end(process)
    fill(steps, output.decode("utf-8", "replace"))


def fill(steps, output):
    parts = re.split(rf"\n{MARK} (\d+) (\d+)\n", output)
    for text, number, status in zip(parts[0::3], parts[1::3], parts[2::3]):
        step = steps[int(number)]
        step.status = int(status)
        step.actual = [line.rstrip() for line in text.split("\n")]
        if step.actual and not step.actual[-1]:
            step.actual.pop()
    for step in steps:
        if step.actual is None:
            raise AssertionError(f"$ {step.command}: never ended; before it:\n{output[-2000:]}")


def masks():
    """The rows of tests/masks."""
    with open(os.path.join(HERE, "masks"), encoding="utf-8") as file:
        rows = [line.split(None, 1) for line in file.read().splitlines()]
    return [(r[0], re.compile(r[1])) for r in rows if r and not r[0].startswith("#")]


def masked(lines, rows):
    """The lines with each mask as <name>; then blanks and line ends count as one blank."""
    text = "\n".join(line.rstrip() for line in lines)
    hits = 0
    for name, pattern in rows:
        text, count = pattern.subn(f"<{name}>", text)
        hits += count
    return " ".join(text.split()) if hits else text


def is_same(step, rows):
    """Is the output that of the page, but for masks, and for wraps behind a path?"""
    expected, actual = masked(step.expected, rows), masked(step.actual, rows)
    if step.is_moved:
        expected, actual = "".join(expected.split()), "".join(actual.split())
    return expected == actual


def faults(steps, rows):
    """What differs from the page, in words."""
    found = []
    for i, step in enumerate(steps):
        follow = steps[i + 1].command if i + 1 < len(steps) else ""
        if step.status != 0 and follow != "echo $?":
            found.append(
                f"line {step.line}: $ {step.command}\nended with {step.status}:\n"
                + "\n".join(step.actual)
            )
        elif not is_same(step, rows):
            found.append(
                f"line {step.line}: $ {step.command}\nthe page says:\n"
                + "\n".join(step.expected)
                + "\nit printed:\n"
                + "\n".join(step.actual)
            )
    return found
