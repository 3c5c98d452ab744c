# SPDX-License-Identifier: MIT
"""The Python module of the source tree with the library of the build: import kplug here.

    from python_module import Attached, kplug, needs_library

    @needs_library
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

# The runtime of these two has to be there before the interpreter is.
ALONE = SANITIZER in ("address", "thread")
needs_library = unittest.skipIf(ALONE, "a sanitizer's library needs its own interpreter")

# For a process of its own.
ENVIRONMENT = {"PYTHONPATH": PACKAGE, "KPLUG_LIBRARY": LIBRARY}

sys.path.insert(0, PACKAGE)
os.environ["KPLUG_LIBRARY"] = LIBRARY
kplug = None
if not ALONE:
    import kplug  # pylint: disable=wrong-import-position


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
