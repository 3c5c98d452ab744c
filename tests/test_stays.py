# SPDX-License-Identifier: MIT
"""Libraries that could not be unloaded in peace are not: a host maps each once, for good.

Static destructors, unique symbols of C++ and thread-local storage tie a library to its
process. What is disabled, replaced or removed is only not resolved any more, and nobody
says that it was unloaded.
"""

import os
import re
import subprocess
import time
import unittest

from application import Application
from harness import Daemon, kernel

FALLBACK = 7
COUNTS = "((float *)call->tensors[1]->data)[0] = 100 * VERSION + %s;"
# Who counts after it was destroyed does not go on where it was.
DESTRUCTOR = """
extern int __cxa_atexit(void (*)(void *), void *, void *);
extern void *__dso_handle;
static int calls;
static void destroy(void *object) { *(int *)object = 50; }
__attribute__((constructor)) static void make(void)
{
	__cxa_atexit(destroy, &calls, &__dso_handle);
}
"""
# Every thread that called has a destructor of the library to run when it ends.
THREAD_LOCAL = """
#include <pthread.h>
static __thread struct { int calls; char more[512]; } mine;
static pthread_key_t key;
static void ends(void *value) { *(int *)value = 0; }
__attribute__((constructor)) static void make(void) { pthread_key_create(&key, ends); }
static int count(void)
{
	pthread_setspecific(key, &mine.calls);
	return ++mine.calls;
}
"""
# A static member of a template is a unique symbol (STB_GNU_UNIQUE): never unloaded.
UNIQUE = """
template <int N> struct counter { static int calls; };
template <int N> int counter<N>::calls;
extern "C" __attribute__((visibility("default"))) int count_unique()
{
	return ++counter<VERSION>::calls;
}
"""


class Stays(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.add(
            "low",
            [kernel(flags=["reentrant"], priority=5)],
            body=f"((float *)call->tensors[1]->data)[0] = {FALLBACK};",
        )

    def destructor(self, version):
        return {"before": DESTRUCTOR, "body": COUNTS % "++calls"}

    def thread_local(self, version):
        return {"before": THREAD_LOCAL, "body": COUNTS % "count()", "flags": ["-lpthread"]}

    def unique(self, version):
        """In a library of C++ that the plugin brings along."""
        place = os.path.join(self.daemon.plugin_dir, f"v{version}")
        os.makedirs(place, exist_ok=True)
        path = os.path.join(place, f"libunique{version}.so")
        subprocess.run(
            ["g++", "-shared", "-fPIC", f"-DVERSION={version}", "-x", "c++", "-", "-o", path]
            + [f"-Wl,-soname,{os.path.basename(path)}"],
            input=UNIQUE,
            text=True,
            check=True,
        )
        symbols = subprocess.run(
            ["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True, check=True
        ).stdout
        self.assertRegex(symbols, r"UNIQUE +DEFAULT .*counter")
        then = time.time() - 3600
        os.utime(path, (then, then))
        return {
            "before": "extern int count_unique(void);",
            "body": COUNTS % "count_unique()",
            "flags": [path, f"-Wl,-rpath,$ORIGIN/v{version}"],
        }

    def add(self, variant, version):
        more = getattr(self, variant)(version)
        more["flags"] = [*more.get("flags", ()), f"-DVERSION={version}"]
        self.daemon.add(
            "tied",
            [kernel(flags=["reentrant"], priority=15)],
            version=f"{version}.0.0",
            **more,
        )
        self.daemon.call("Reload")
        self.assertEqual(self.daemon.settle()["plugins"]["failed"], 0)

    def info(self):
        return self.daemon.call("Info", name="tied")["plugin"]

    def pretends(self, *commands):
        """Does anybody say that it was unloaded?"""
        told = "".join(self.daemon.ctl(*words).stdout for words in commands)
        self.assertIn("tied", told)
        return re.findall(r"(?i)\b(?:unload|unmap)\w*|\bloaded\b", told)

    def mapped(self, app):
        """Stored files that the application has mapped."""
        with open(f"/proc/{app.process.pid}/maps", encoding="utf-8") as file:
            return {line.split()[-1] for line in file if "/store/" in line}

    def stays(self, variant):
        self.add(variant, 1)
        with Application(self.daemon.socket) as app:
            self.assertEqual([app.ask("run"), app.ask("run")], [101, 102])
            first = self.info()["stored"]
            before = self.mapped(app)
            self.assertIn(first, before)
            # Disabled: not resolved, and still there.
            said = self.daemon.ctl("disable", "tied").stdout
            self.assertNotRegex(said, "(?i)unload")
            self.assertEqual(app.ask("run"), FALLBACK)
            self.assertGreaterEqual(self.mapped(app), before)
            self.assertEqual(self.info()["state"], "disabled")
            self.assertEqual(self.info()["stored"], first)
            self.assertEqual(
                self.pretends(["info", "tied"], ["list"], ["--json", "info", "tied"]), []
            )
            # Enabled: the same one goes on where it was, and was not started anew.
            self.daemon.ctl("enable", "tied")
            self.assertEqual(app.ask("run"), 103)
            # Replaced: both are there, each with its own state.
            self.add(variant, 2)
            self.assertEqual(app.ask("run"), 201)
            second = self.info()["stored"]
            self.assertNotEqual(first, second)
            self.assertGreaterEqual(self.mapped(app), before | {second})
            self.assertEqual(self.pretends(["info", "tied"], ["history", "tied"]), [])
            # What comes back is what was never away.
            self.daemon.ctl("rollback", "tied")
            self.assertEqual(app.ask("run"), 104)
            # Removed: nobody lists it, and its code is still there.
            self.daemon.remove("tied")
            self.daemon.call("Reload")
            self.assertEqual(app.ask("run"), FALLBACK)
            self.assertGreaterEqual(self.mapped(app), before | {second})
            self.assertNotIn("tied", self.daemon.plugins())
        self.assertEqual(app.process.returncode, 0)

    def test_t46_a_library_with_static_destructors(self):
        self.stays("destructor")

    def test_t46_a_library_with_unique_symbols(self):
        self.stays("unique")

    def test_t46_a_library_with_thread_local_storage(self):
        self.stays("thread_local")


if __name__ == "__main__":
    unittest.main()
