# SPDX-License-Identifier: MIT
"""Applications and the stored copies that they load: versions, damage, conflicts."""

import os
import subprocess
import time
import unittest

from application import ADOPT_AT_STEP, Application
from harness import Daemon, kernel


def giving(value):
    return f"((float *)call->tensors[1]->data)[0] = {value};"


def library(place, soname, value):
    """A library with a function y that gives the value."""
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, soname)
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", path, "-x", "c", "-"],
        input=f"int y(void) {{ return {value}; }}\n",
        text=True,
        check=True,
    )
    then = time.time() - 3600
    os.utime(path, (then, then))
    return path


class Stored(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def add(self, name, value, **more):
        more.setdefault("kernels", [kernel(flags=["reentrant"])])
        self.daemon.add(name, body=giving(value), **more)
        self.daemon.call("Reload")
        self.daemon.settle()

    def application(self, *words, **keys):
        app = Application(self.daemon.socket, *words, **keys)
        self.addCleanup(app.__exit__)
        return app

    def test_t36_after_a_rename_over_new_resolutions_get_the_new_code(self):
        self.add("p", 1)
        now, later = self.application(), self.application(ADOPT_AT_STEP)
        self.assertEqual([now.ask("run"), later.ask("run")], [1, 1])
        for version in (2, 3, 4):
            with self.subTest(version=version):
                self.add("p", version)
                self.assertEqual(now.ask("run"), version)
                # What runs until the next step is what ran.
                self.assertEqual(later.ask("run"), version - 1)
                later.ask("step")
                self.assertEqual(later.ask("run"), version)
                self.assertEqual(self.application().ask("run"), version)

    def conflict(self, soname, first=14):
        """Two plugins that bring another library of one name, and one that brings none."""
        for name, value, priority in (("a", 1, first), ("b", 2, 12)):
            deps = os.path.join(self.daemon.plugin_dir, f"deps-{name}")
            path = library(deps, soname, value)
            self.add(
                name,
                "(float)y()",
                kernels=[kernel(flags=["reentrant"], priority=priority)],
                before="extern int y(void);",
                flags=[path, f"-Wl,-rpath,$ORIGIN/deps-{name}"],
            )
        self.add("c", 3, kernels=[kernel(flags=["reentrant"], priority=8)])

    def test_t38_of_two_libraries_of_one_soname_the_second_is_refused(self):
        for soname in ("liby.so.1", "libother.so", "libz-2.so.0"):
            with self.subTest(soname=soname):
                self.conflict(soname)
                app = self.application()
                self.assertEqual(app.ask("run"), 1)
                self.daemon.call("Disable", {"name": "a"})
                self.assertEqual(app.ask("run"), 3)
                self.assertEqual(app.ask("kernel"), "c/square")
                why = app.ask("why")
                reasons = [
                    r for c in why["candidates"] if c["kernel"] == "b/square" for r in c["reasons"]
                ]
                self.assertEqual([r["code"] for r in reasons], ["soname_conflict"])
                self.assertEqual(why["fallback_from"]["code"], "disabled_by_operator")
                # Another process is free to take the other one.
                self.assertEqual(self.application().ask("run"), 2)
                self.daemon.call("Enable", {"name": "a"})

    def test_t38_a_library_of_the_application_is_not_taken_for_the_plugins(self):
        self.conflict("liby.so.1")
        other = library(os.path.join(self.daemon.place, "theirs"), "liby.so.1", 9)
        for everywhere in (False, True):
            with self.subTest(everywhere=everywhere):
                app = self.application()
                app.ask("map", other, everywhere)
                self.assertEqual([app.ask("run"), app.ask("kernel")], [3, "c/square"])
                for name in ("a/square", "b/square"):
                    (reasons,) = [
                        c["reasons"] for c in app.ask("why")["candidates"] if c["kernel"] == name
                    ]
                    self.assertEqual([r["code"] for r in reasons], ["soname_conflict"])
                    self.assertIn(other, reasons[0]["actual"])
                    self.assertIn("/store/", reasons[0]["actual"])
        # Whoever was first keeps its own, and so does the other.
        app = self.application()
        self.assertEqual(app.ask("run"), 1)
        app.ask("map", other, True)
        self.assertEqual([app.ask("run"), app.ask("kernel")], [1, "a/square"])

    def test_a_plugin_that_does_not_start_here_leaves_the_next_in_rank(self):
        self.add("low", 1, kernels=[kernel(flags=["reentrant"], priority=5)])
        for name, failure in (("one", "KP_RUNTIME"), ("two", "KP_UNAVAILABLE"), ("three", "999")):
            with self.subTest(failure=failure):
                before = """static int start(const struct kp_host *host, const char *config,
                    void **state, struct kp_error *error) { return %s; }"""
                self.add(
                    name,
                    2,
                    kernels=[kernel(flags=["reentrant"], priority=15)],
                    before=before % failure,
                    start="start",
                )
                app = self.application()
                self.assertEqual(app.ask("run"), 1)
                why = app.ask("why")
                reasons = {c["kernel"]: c["reasons"] for c in why["candidates"]}
                self.assertEqual(reasons[f"{name}/square"][0]["code"], "start_failed")
                self.assertEqual(reasons[f"{name}/square"][0]["source"], "process")
                self.assertEqual(why["selected"], "low/square")

    CHANGES = """
    #include <fenv.h>
    static int changed;
    static void change(void)
    {
        fesetround(FE_UPWARD);
    #ifdef __x86_64__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
    #endif
        changed = 1;
    }
    """
    LOAD = """
    static int load(void *state, const struct kp_device *device, void **out,
        struct kp_error *error) { change(); *out = 0; return KP_OK; }
    """
    START = """
    static int start(const struct kp_host *host, const char *config, void **state,
        struct kp_error *error) { change(); *state = 0; return KP_OK; }
    """
    CONSTRUCTOR = "__attribute__((constructor)) static void at_load(void) { change(); }"

    def test_t27_how_the_application_computes_is_what_it_was(self):
        for name, way in {
            "constructor": {"before": self.CHANGES + self.CONSTRUCTOR},
            "start": {"before": self.CHANGES + self.START, "start": "start"},
            "load": {"before": self.CHANGES + self.LOAD, "vtable": ", .load = load"},
        }.items():
            with self.subTest(way=name):
                self.add(name, "1 + changed", **way)
                app = self.application()
                before = app.ask("floats")
                self.assertEqual(before[1], 5e-324)
                self.assertEqual(app.ask("run"), 2)
                self.assertEqual(app.ask("kernel"), f"{name}/square")
                self.assertEqual(app.ask("floats"), before)
                self.daemon.call("Disable", {"name": name})


if __name__ == "__main__":
    unittest.main()
