# SPDX-License-Identifier: MIT
"""What plugins change of the process that loads them: each thing, at each moment.

At load by a constructor, before that by the resolver of a function (IFUNC), which the
loader calls while it relocates, and when kernels are asked whether they are available.
"""

import os
import re
import tempfile
import unittest

from harness import SANITIZER, Daemon, install, make_plugins
from pluginctl import Case, call, environment

# code -> what brings it about, and what is told of it
CHANGES = {
    "changes_affinity": (
        "cpu_set_t one; CPU_ZERO(&one); CPU_SET(sched_getcpu(), &one);"
        "sched_setaffinity(0, sizeof(one), &one);",
        "changes the processors",
    ),
    "changes_directory": ('chdir("/usr");', "from / to /usr"),
    "changes_environment": ('setenv("OMP_NUM_THREADS", "1", 1);', "variables of the environment"),
    "changes_fp_state": ("fesetround(FE_UPWARD);", "rounds numbers"),
    "changes_limits": (
        "struct rlimit few = {32, 32}; setrlimit(RLIMIT_NOFILE, &few);",
        "changes a limit",
    ),
    "changes_locale": ('setlocale(LC_NUMERIC, "C.UTF-8");', "changes the locale from C to"),
    "changes_signal_handler": ("signal(SIGPIPE, SIG_IGN);", "the signal SIGPIPE"),
    "changes_signal_mask": (
        "sigset_t one; sigemptyset(&one); sigaddset(&one, SIGUSR1);"
        "sigprocmask(SIG_BLOCK, &one, 0);",
        "which signals the thread blocks",
    ),
    "changes_umask": ("umask(077);", "from 022 to 077"),
    "closes_descriptors": ("close(0);", "not its own: 1"),
    "leaves_descriptors": ('open("/dev/null", O_RDONLY);', "open: 1"),
    "leaves_exit_handlers": ("atexit(nothing);", "1 by atexit"),
    "leaves_threads": (
        "pthread_t thread; pthread_create(&thread, 0, stay, 0);",
        "threads running: 1",
    ),
}
MOMENTS = {
    "constructor": (
        "__attribute__((constructor)) static void at_load(void) { change(); }",
        "",
        "loading it ",
    ),
    "resolver": (
        "static int (*resolve(void))(void) { change(); return 0; }\n"
        'static int chosen(void) __attribute__((ifunc("resolve")));\n'
        "static int (*const kept)(void) __attribute__((used)) = chosen;",
        "",
        "loading it ",
    ),
    "available": ("", "change();", "asking its kernels "),
}
# Of two plugins here, and of no effect.
BESIDE = ("equal_rank",)
# One library for all: which of them it does is a letter in it.
BEFORE = """
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
static const volatile char which[] = "which=?";
static void nothing(void) {}
static void *stay(void *p) { for (;;) pause(); return p; }
__attribute__((noinline)) static void change(void) { switch (which[6]) { %s } }
"""
# What resolvers call has its address by then, but for entries that would come later.
FLAGS = ["-D_GNU_SOURCE", "-fno-plt", "-lm", "-lpthread"]
# Static objects of C++: one, whose destructor every library of C++ has, and an array.
OBJECT = """
extern int __cxa_atexit(void (*)(void *), void *, void *);
extern void *__dso_handle;
static int object;
static void destroy(void *p) { (void)p; }
__attribute__((constructor)) static void make(void) { __cxa_atexit(destroy, %s, &__dso_handle); }
"""


def is_possible(code):
    return code != "changes_affinity" or len(os.sched_getaffinity(0)) > 1


def libraries(directory):
    """Makes a library for each change and moment: {name: (code, when, words)}."""
    codes = [code for code in CHANGES if is_possible(code)]
    letter = dict(zip(codes, "abcdefghijklmnopqrstuvwxyz"))
    cases = "".join(f"case '{letter[c]}': {{ {CHANGES[c][0]} break; }}" for c in codes)
    found = {}
    for moment, (before, available, when) in MOMENTS.items():
        # A sanitizer's functions do not work yet while a library is relocated.
        if SANITIZER and moment == "resolver":
            continue
        paths = {os.path.join(directory, f"{code}_by_{moment}.so"): code for code in codes}
        make_plugins(list(paths), before=BEFORE % cases + before, available=available, flags=FLAGS)
        for path, code in paths.items():
            with open(path, "rb") as file:
                text = file.read()
            with open(path + ".new", "wb") as file:
                file.write(text.replace(b"which=?", b"which=" + letter[code].encode()))
            install(path)
            found[os.path.basename(path)[:-3]] = (code, when, CHANGES[code][1])
    return found


class Told(unittest.TestCase):
    def test_t28_t27_each_side_effect_at_each_moment_is_a_warning_of_its_code(self):
        with Daemon(start=False) as daemon:
            expected = libraries(daemon.plugin_dir)
            for name in expected:
                daemon.manifest(name)
            daemon.start()
            daemon.settle()
            for name, (code, when, words) in expected.items():
                with self.subTest(name):
                    plugin = daemon.call("Info", name=name)["plugin"]
                    self.assertEqual(plugin["state"], "active", plugin["reason"])
                    (warning,) = [w for w in plugin["warnings"] if w["code"] not in BESIDE]
                    self.assertEqual(warning["code"], code)
                    self.assertTrue(warning["message"].startswith(when), warning)
                    self.assertIn(words, warning["message"])
            for name in list(expected)[::6]:
                self.assertIn(expected[name][0], daemon.ctl("info", name).stdout)
            # Workers are forks of what is never changed: the next one finds all as it was.
            for name in ("after", "after_that", "and_that"):
                daemon.add(name)
                daemon.call("Reload")
                self.assertEqual(daemon.call("Info", name=name)["plugin"]["warnings"], [])

    def test_handlers_for_the_end_are_told_by_their_kind_but_for_destructors_of_objects(self):
        rows = {
            "atexit": ("atexit(nothing);", ["atexit"]),
            "on_exit": ("on_exit((void *)nothing, 0);", ["on_exit"]),
            "quick": ("at_quick_exit(nothing);", ["at_quick_exit"]),
            "both": (
                "atexit(nothing); atexit(nothing); on_exit((void *)nothing, 0);",
                ["atexit", "on_exit"],
            ),
        }
        with Daemon() as daemon:
            for name, (change, _) in rows.items():
                change = BEFORE % f"default: {change}"
                daemon.add(name, before=change + MOMENTS["constructor"][0], flags=FLAGS)
            daemon.add("object", before=OBJECT % "&object")
            daemon.add("array", before=OBJECT % "0")
            daemon.call("Reload")

            def told(name):
                warnings = daemon.call("Info", name=name)["plugin"]["warnings"]
                self.assertLessEqual({w["code"] for w in warnings}, {"leaves_exit_handlers"})
                return warnings

            def kind(warning):
                return re.search(r"\d by (\w+), the last", warning["message"]).group(1)

            for name, (_, kinds) in rows.items():
                self.assertEqual([kind(w) for w in told(name)], kinds, name)
                self.assertIn(f"{name}.so", told(name)[0]["message"])
            self.assertIn("2 by atexit", told("both")[0]["message"])
            self.assertEqual(told("object"), [])
            self.assertEqual([kind(w) for w in told("array")], ["atexit"])


class Strict(Case):
    """`check --strict` loads libraries, and what they change counts."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-check.")
        cls.addClassCleanup(place.cleanup)
        cls.dir = place.name
        cls.expected = libraries(cls.dir)

    def path(self, name):
        return os.path.join(self.dir, f"{name}.so")

    def row(self, name):
        return (self.path(name), self.expected[name][0], "warning")

    def check(self, *words, status):
        document = self.document(call("check", "--json", *words), status)
        return {
            (row["file"], row["code"], row["severity"])
            for row in document["findings"]
            if row["severity"] != "note" and row["code"] not in BESIDE
        }

    def test_t28_each_side_effect_at_each_moment_fails_a_strict_check(self):
        found = self.check(self.dir, "--strict", status=1)
        self.assertEqual(found, {self.row(name) for name in self.expected})

    def test_t28_one_of_them_is_enough_and_nothing_is_run_unless_it_is_strict(self):
        for name in list(self.expected)[::9]:
            with self.subTest(name):
                path = self.path(name)
                self.assertEqual(self.check(path, "--strict", status=1), {self.row(name)})
                self.assertEqual(self.check(path, "--probe", status=0), {self.row(name)})
                for words in ([], ["--no-probe"], ["--strict", "--no-probe"]):
                    self.assertEqual(self.check(path, *words, status=0), set())

    def test_quiet_shows_what_the_status_comes_from(self):
        name = "changes_umask_by_constructor"
        for words, status, shown in (
            ([], 0, False),
            (["--strict"], 1, True),
            (["--probe"], 0, False),
        ):
            text = self.good(call("check", "--quiet", *words, self.path(name)), status)
            self.assertEqual("changes_umask" in text, shown, words)

    def test_where_there_is_no_library_nothing_is_started(self):
        path = os.path.join(self.dir, "x.json")
        self.addCleanup(os.unlink, path)
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"library": "/nonexistent/x.so"}')
        done = call("check", "--strict", path, env=environment(PATH="/nonexistent"))
        self.assertIn("library_not_found", self.good(done, 1))

    def test_probe_and_no_probe_contradict_each_other(self):
        self.error(call("--json", "check", "--probe", "--no-probe", self.dir), 2, "usage")


if __name__ == "__main__":
    unittest.main()
