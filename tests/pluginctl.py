# SPDX-License-Identifier: MIT
"""Runs pluginctl, on a terminal or not, and judges how it ends."""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest

BUILD = os.environ.get("KPLUG_BUILD", "build")
PLUGINCTL = os.path.abspath(os.path.join(BUILD, "pluginctl"))
LIMIT_S = 60
NOBODY = 65534

# What must never reach a reader: C0 but the line end, DEL, C1.
RAW = "[\x00-\x09\x0b-\x1f\x7f-\x9f]"

# Every command that asks the daemon, with a method whose failure is the command's.
ASKING = [
    (["list"], "List"),
    (["info", "x86"], "Info"),
    (["kernels"], "Kernels"),
    (["kernels", "gemm/mm"], "Kernels"),
    (["select", "gemm/mm"], "Select"),
    (["select", "--explain", "gemm/mm"], "Explain"),
    (["why", "gemm/mm"], "Explain"),
    (["bench", "gemm/mm"], "Bench"),
    (["verify", "gemm/mm"], "Verify"),
    (["disable", "x86"], "Disable"),
    (["enable", "x86"], "Enable"),
    (["is-enabled", "x86"], "IsEnabled"),
    (["mask", "x86"], "Info"),
    (["mask", "x86"], "Layers"),
    (["unmask", "x86"], "Layers"),
    (["disable", "gemm/mm", "--solution", "fast"], "Disable"),
    (["enable", "gemm/mm", "--solution", "fast"], "Enable"),
    (["is-enabled", "gemm/mm", "--solution", "fast"], "IsEnabled"),
    (["pin", "gemm/mm", "x86/mm"], "Pin"),
    (["unpin", "gemm/mm"], "Unpin"),
    (["pins"], "Pins"),
    (["guard", "gemm/mm", "--every", "100"], "Guard"),
    (["guard", "gemm/mm", "--off"], "Guard"),
    (["guard"], "Guards"),
    (["history", "x86"], "History"),
    (["rollback", "x86"], "Rollback"),
    (["monitor"], "Monitor"),
    (["load", "/bin/sh"], "Load"),
    (["unload", "x86"], "Unload"),
    (["logs", "x86"], "Logs"),
    (["reload"], "Reload"),
    (["retry", "x86"], "Retry"),
    (["status"], "Status"),
    (["status", "--wait", "--strict"], "Status"),
    (["version"], "Version"),
]
ERRORS = [
    ("NotFound", 5),
    ("InvalidArgument", 2),
    ("NotPermitted", 4),
    ("OverrideIneligible", 1),
    ("TimedOut", 6),
    ("Busy", 7),
    ("Failed", 7),
    ("org.varlink.service.MethodNotFound", 7),
]


def environment(**more):
    """Ours, without what changes pluginctl; a variable that is None is taken away."""
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "KPLUG_SOCKET")}
    env.update({"TERM": "xterm", "XDG_RUNTIME_DIR": "/nowhere", "TZ": "UTC"})
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def call(*args, socket=None, program=PLUGINCTL, env=None, **options):
    """Runs it to its end, without a terminal."""
    return subprocess.run(
        [program, *(["--socket", socket] if socket else []), *args],
        capture_output=True,
        check=False,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        env=env or environment(),
        **options,
    )


def on_terminal(columns, *args, socket=None, errors=False, **env):
    """What it prints on a terminal of so many columns (with `errors`: on stderr); its status."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    with subprocess.Popen(
        [PLUGINCTL, *(["--socket", socket] if socket else []), *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if errors else side,
        stderr=side if errors else subprocess.DEVNULL,
        env=environment(**env),
    ) as process:
        os.close(side)
        output = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:  # the last writer has gone
                break
            if not data:
                break
            output += data
        os.close(main)
        return output.decode().replace("\r\n", "\n"), process.wait(LIMIT_S)


def plain(text):
    """Without colour."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@contextlib.contextmanager
def as_nobody(*paths):
    """Options of call() for a user who is not root, and who reaches these paths' directories."""
    place = tempfile.mkdtemp(prefix="kplug-nobody.", dir="/tmp")
    try:
        os.chmod(place, 0o755)
        program = shutil.copy(PLUGINCTL, place)
        os.chmod(program, 0o755)
        for path in paths:
            while path.count("/") > 1:
                path = os.path.dirname(path)
                if os.stat(path).st_uid == os.geteuid():
                    os.chmod(path, os.stat(path).st_mode | 0o111)
        options = {"program": program}
        if os.geteuid() == 0:
            options.update(user=NOBODY, group=NOBODY, extra_groups=[])
        yield options
    finally:
        shutil.rmtree(place)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


class Case(unittest.TestCase):
    maxDiff = None

    def good(self, result, status=0):
        """stdout of what ended as it should."""
        self.assertEqual(result.returncode, status, result.stderr.decode("utf-8", "replace"))
        return result.stdout.decode()

    def document(self, result, status=0):
        """stdout as the one JSON document, with nothing raw in it."""
        text = self.good(result, status)
        self.assertEqual(result.stderr, b"")
        self.assertNotRegex(text, RAW)
        return json.loads(text, parse_constant=no_constant)

    def error(self, result, status, code=None):
        """The error object of a failure in JSON."""
        document = self.document(result, status)
        self.assertEqual(list(document), ["error"])
        for key in ("code", "message", "object"):
            self.assertIsInstance(document["error"][key], str)
        self.assertTrue(document["error"]["code"])
        self.assertTrue(document["error"]["message"])
        if code:
            self.assertEqual(document["error"]["code"], code)
        return document["error"]

    def complaint(self, result, status):
        """stderr of a failure in text."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, b"")
        text = result.stderr.decode()
        self.assertRegex(text, r"^pluginctl: ")
        return text
