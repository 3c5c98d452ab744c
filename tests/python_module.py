# SPDX-License-Identifier: MIT
"""The Python module of the source tree with the library of the build: import kplug here.

    from python_module import Attached, kplug

    class Something(Attached):     # self.daemon, self.k
        ...
"""

import os
import subprocess
import sys
import unittest

from harness import BUILD, PATIENCE_S, ROOT, SANITIZER, Daemon

PACKAGE = os.path.join(ROOT, "lib", "python")
LIBRARY = os.path.join(BUILD, "libkplug.so.0")

# For a process of its own.
ENVIRONMENT = {"PYTHONPATH": PACKAGE, "KPLUG_LIBRARY": LIBRARY}

# The runtime of these has to be there before the interpreter, whose memory is not freed.
RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so"}
if SANITIZER in RUNTIMES:
    told = subprocess.run(
        ["gcc", f"-print-file-name={RUNTIMES[SANITIZER]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    ENVIRONMENT["LD_PRELOAD"] = told.stdout.strip()
    ENVIRONMENT["PYTHONMALLOC"] = "malloc"
    ENVIRONMENT["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if "LD_PRELOAD" not in os.environ:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ENVIRONMENT})

sys.path.insert(0, PACKAGE)
os.environ["KPLUG_LIBRARY"] = LIBRARY

import kplug


def python(program, *arguments, env=None, flags=(), timeout=PATIENCE_S):
    """Runs a program, text, that may import kplug."""
    return subprocess.run(
        ["/usr/bin/python3", *flags, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **ENVIRONMENT, **(env or {})},
        timeout=timeout,
        check=False,
    )


class Attached(unittest.TestCase):
    """A class with one plugind, and a handle a test."""

    builtin = True

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(builtin=cls.builtin)
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.settle()

    def open(self, **options):
        k = kplug.open(self.daemon.socket, **options)
        self.addCleanup(k.close)
        return k

    def setUp(self):
        self.k = self.open()
