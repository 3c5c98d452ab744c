# SPDX-License-Identifier: MIT
"""Static truth of a library: what it needs of this machine, and of whom it expects it."""

import os
import subprocess
import unittest

from elf import PT_GNU_STACK, Elf
from harness import Daemon, kernel, make_plugin
from pluginctl import environment
from test_check import Checking
from test_check_elf import Static, compile_plugin
from test_identify import fixture, read, run

USES = (
    "extern int helper_value(void);"
    'int (*kept)(void) __attribute__((used, visibility("hidden"))) = helper_value;'
)


def helper(path, source="int helper_value(void) { return 1; }", *flags):
    subprocess.run(
        [
            "cc",
            "-shared",
            "-fPIC",
            "-w",
            "-x",
            "c",
            "-",
            "-x",
            "none",
            "-o",
            path,
            f"-Wl,-soname,{os.path.basename(path)}",
            *flags,
        ],
        input=source.encode(),
        check=True,
    )
    return path


class Symbols(Static):
    def test_t32_an_undefined_symbol_names_who_was_asked_and_where(self):
        for name in ("undefined_function", "undefined_data", "undefined_host_function"):
            with self.subTest(name):
                verdict = run(fixture(name))
                self.refused(verdict, "undefined_symbol", "fixture_", "libc.so.6 (/")

    def test_t32_a_library_without_the_symbol_that_was_expected_there(self):
        os.mkdir(self.path("build"))
        new = helper(self.path("build/libkplug_h.so.1"))
        compile_plugin(self.path(), USES, new, "-Wl,-rpath,$ORIGIN")
        helper(self.path("libkplug_h.so.1"), "int other;")
        verdict = run(self.path())
        self.refused(verdict, "undefined_symbol", "helper_value", self.path("libkplug_h.so.1"))
        helper(self.path("libkplug_h.so.1"))
        self.assertEqual(run(self.path())["state"], "active")

    def test_t32_an_old_library_that_shadows_the_bundled_one(self):
        for place in ("old", "older"):
            os.makedirs(self.path(place), exist_ok=True)
        new = helper(self.path("libkplug_h.so.1"))
        helper(self.path("old/libkplug_h.so.1"), "int other;")
        compile_plugin(self.path(), USES, new)
        verdict = run(self.path(), LD_LIBRARY_PATH=self.path("old"))
        self.refused(verdict, "undefined_symbol", "helper_value", self.path("old/libkplug_h.so.1"))
        (row,) = [row for row in verdict["warnings"] if row["code"] == "shadowed_library"]
        self.assertIn(f"{self.path('libkplug_h.so.1')} lies beside it", row["message"])

    def test_t32_a_version_that_the_library_here_does_not_have(self):
        script = self.path("map")
        for old, new in (("V_1", "V_2"), ("KP_1.0", "KP_1.1"), ("A_9", "A_10")):
            with self.subTest(new):
                for version, place in ((new, "build"), (old, ".")):
                    os.makedirs(self.path(place), exist_ok=True)
                    with open(script, "w", encoding="ascii") as file:
                        file.write(f"{version} {{ global: helper_value; }};\n")
                    helper(
                        self.path(f"{place}/libkplug_h.so.1"),
                        "int helper_value(void) { return 1; }",
                        f"-Wl,--version-script={script}",
                    )
                compile_plugin(
                    self.path(), USES, self.path("build/libkplug_h.so.1"), "-Wl,-rpath,$ORIGIN"
                )
                verdict = run(self.path())
                self.refused(
                    verdict,
                    "symbol_version_missing",
                    new,
                    self.path("libkplug_h.so.1"),
                    f"no more than {old}",
                )

    def test_t32_a_version_of_the_c_library_that_is_newer_than_here(self):
        image = read(fixture("noisy"))
        self.assertIn(b"GLIBC_2.2.5\0", image)
        verdict = self.verdict(image.replace(b"GLIBC_2.2.5\0", b"GLIBC_9.2.5\0"))
        self.refused(
            verdict, "symbol_version_missing", "GLIBC_9.2.5 of libc.so.6", "no more than GLIBC_2."
        )

    def test_t32_a_weak_symbol_may_be_missing(self):
        compile_plugin(self.path(), USES.replace("extern", "extern __attribute__((weak))"))
        self.assertEqual(run(self.path())["state"], "active")

    def test_symbols_of_a_library_that_is_not_needed_are_a_warning(self):
        source = (
            "double sin(double);"
            'double (*kept)(double) __attribute__((used, visibility("hidden"))) = sin;'
        )
        compile_plugin(self.path(), source)
        self.warned(run(self.path()), "undeclared_library", "sin", "libm.so.6")
        compile_plugin(self.path(), source, "-lm")
        self.assertEqual(run(self.path())["warnings"], [])

    def test_t32_what_the_worker_alone_has_is_missing(self):
        for name in ("elf_begin", "crypto_sign_open", "seccomp_init", "nettle_sha256_init"):
            compile_plugin(self.path(), USES.replace("helper_value", name))
            self.refused(run(self.path()), "undefined_symbol", name, "libc.so.6")


class Needed(Static):
    def test_t32_what_a_needed_library_needs_is_missed_too(self):
        inner = helper(self.path("libkplug_inner.so.1"), "int inner(void) { return 2; }")
        helper(
            self.path("libkplug_h.so.1"),
            "int inner(void); int helper_value(void) { return inner(); }",
            inner,
        )
        compile_plugin(
            self.path(),
            USES,
            self.path("libkplug_h.so.1"),
            "-Wl,-rpath,$ORIGIN",
            f"-Wl,-rpath-link,{self.dir}",
        )
        os.unlink(inner)
        verdict = run(self.path())
        self.refused(
            verdict,
            "missing_library",
            "libkplug_h.so.1 needs it",
            "libkplug_inner.so.1 is not found",
        )
        self.assertIn("libkplug_inner.so.1", [row["name"] for row in verdict["elf"]["libraries"]])

    def test_t32_the_old_search_path_of_the_first_holds_for_all(self):
        os.mkdir(self.path("deps"))
        inner = helper(self.path("deps/libkplug_inner.so.1"), "int inner(void) { return 2; }")
        helper(
            self.path("deps/libkplug_h.so.1"),
            "int inner(void); int helper_value(void) { return inner(); }",
            inner,
        )
        for kind, state in (("--disable-new-dtags", "active"), ("--enable-new-dtags", "rejected")):
            compile_plugin(
                self.path(),
                USES,
                self.path("deps/libkplug_h.so.1"),
                f"-Wl,{kind},-rpath,$ORIGIN/deps",
                f"-Wl,-rpath-link,{self.path('deps')}",
            )
            self.assertEqual(run(self.path())["state"], state, kind)

    def test_a_library_that_a_kernel_opens_may_be_absent(self):
        verdict = run(fixture("needs_absent_library"))
        self.assertEqual(verdict["state"], "active")
        self.assertIn("needs_absent_library", [row["code"] for row in verdict["warnings"]])


class Paths(Static):
    def with_path(self, path):
        return self.built("", f"-Wl,--enable-new-dtags,-rpath,{path}")

    def test_a_search_path_that_depends_on_the_current_directory_is_refused(self):
        for path in ("lib", ".", "../lib", "$LIBS", "/usr/lib:deps"):
            with self.subTest(path):
                self.refused(self.with_path(path), "relative_search_path", path.split(":")[-1])

    def test_a_search_path_where_everybody_may_write_is_refused(self):
        for mode in (0o777, 0o1777, 0o703):
            os.makedirs(self.path("open"), exist_ok=True)
            os.chmod(self.path("open"), mode)
            self.refused(
                self.with_path(self.path("open")), "writable_search_path", self.path("open")
            )

    def test_a_directory_of_the_builders_is_a_warning(self):
        for path in ("/home/somebody/build", "/build/x:/build/y", "/usrlocal/lib"):
            self.warned(self.with_path(path), "foreign_search_path", path.split(":", maxsplit=1)[0])

    def test_usual_search_paths_are_no_finding(self):
        for path in (
            "$ORIGIN",
            "${ORIGIN}/../lib",
            "/usr/lib/kplug",
            "/opt/x/lib",
            "/usr/local/lib",
        ):
            self.assertEqual(self.with_path(path)["warnings"], [])


class Together(Checking):
    """Libraries and manifests of one directory."""

    def bundle(self, name, source):
        os.makedirs(self.path(name), exist_ok=True)
        library = helper(self.path(f"{name}/libkplug_h.so.1"), source)
        make_plugin(
            self.path(f"{name}/{name}.so"),
            name,
            [kernel(priority=len(name))],
            before=USES,
            flags=[library, "-Wl,-rpath,$ORIGIN"],
        )
        self.write(f"{name}/{name}.json", {"library": f"{name}.so"})

    def test_t38_different_libraries_of_one_soname_are_told(self):
        self.bundle("one", "int helper_value(void) { return 1; }")
        self.bundle("three", "int helper_value(void) { return 1; }")
        self.assertEqual(self.codes(), [])
        self.bundle("three", "int helper_value(void) { return 3; }")
        ((file, _, code, message),) = self.findings()
        self.assertEqual((file, code), ("three/three.so", "soname_conflict"))
        for name in ("one", "three"):
            self.assertIn(self.path(f"{name}/libkplug_h.so.1"), message)

    def test_t10_two_manifests_of_one_library_or_package(self):
        make_plugin(self.path("x.so"), "x", [kernel()])
        make_plugin(self.path("y.so"), "x", [kernel()], body="(void)1;")
        for other in ("x.so", "y.so"):
            self.write("plugins.d/a.json", {"library": "x.so"})
            self.write("plugins.d/b.json", {"library": other})
            rows = [row for row in self.findings(status=1) if row[2] == "duplicate_of"]
            self.assertEqual([row[0] for row in rows], ["plugins.d/b.json"], other)

    def test_t04_helpers_and_plugins_without_a_manifest(self):
        helper(self.path("libhelper.so"))
        self.assertEqual(self.codes(status=0), ["nothing_to_check"])
        make_plugin(self.path("x.so"), "x", [kernel()])
        self.assertEqual(self.codes(status=0), [])
        make_plugin(self.path("y.so"), "y", [kernel(priority=3)])
        self.write("plugins.d/y.json", {"library": "y.so"})
        self.assertEqual(self.findings(status=0)[0][:3], ("x.so", None, "unclaimed"))
        self.assertEqual(self.codes(self.path("libhelper.so"), status=1), ["no_note"])

    def test_all_faults_of_a_library_are_told_not_the_first_alone(self):
        elf = Elf.read(fixture("exports_function"))
        elf = elf.with_segment(elf.find(PT_GNU_STACK), flags=7).with_more_dynamic("TEXTREL", 0)
        with open(self.path("x.so"), "wb") as file:
            file.write(elf.data)
        codes = self.codes(self.path("x.so"), status=1)
        self.assertEqual(codes[:3], ["exports_more", "executable_stack", "text_relocations"])

    def test_a_digest_of_another_library(self):
        make_plugin(self.path("x.so"), "x", [kernel()])
        path = self.write("x.json", {"library": "x.so", "sha256": "0" * 64})
        ((file, line, code, _),) = self.findings(path, status=1)
        self.assertEqual((file, line, code), ("x.json", 3, "digest_mismatch"))

    def test_t02_t03_broken_files_are_errors_with_their_codes(self):
        good = Elf.read(fixture("plain")).data
        for name, data, code in (
            ("cut", good[:-100], "elf_truncated"),
            ("empty", b"", "empty_file"),
            ("text", b"#!/bin/sh\n", "not_elf"),
        ):
            with open(self.path(f"{name}.so"), "wb") as file:
                file.write(data)
            self.assertEqual(self.codes(self.path(f"{name}.so"), status=1), [code])
        os.mkfifo(self.path("pipe.so"))
        self.assertEqual(self.codes(self.path("pipe.so"), status=1), ["not_regular_file"])


class Probed(Checking):
    """--probe, which --strict implies: only then code of a plugin runs."""

    def test_what_a_plugin_does_when_it_is_loaded_is_told_when_it_is_asked_for(self):
        for name, code in (
            ("abort_in_constructor", "killed_by_signal"),
            ("exit_7_in_constructor", None),
            ("entry_missing", "entries_differ"),
            ("plugin_of_size_0", "bad_struct_size"),
        ):
            path = fixture(name)
            before = [c for c in self.codes(path) if c not in ("runs_at_load", "equal_rank")]
            self.assertEqual(before, [], name)
            rows = [
                row
                for row in self.check(path, "--probe", status=1)["findings"]
                if row["severity"] == "error"
            ]
            self.assertEqual(len(rows), 1, name)
            self.assertEqual(rows[0]["file"], path)
            if code:
                self.assertEqual(rows[0]["code"], code)

    def test_a_good_plugin_passes_and_nothing_is_left(self):
        make_plugin(self.path("x.so"), "x", [kernel()])
        self.write("plugins.d/x.json", {"library": "x.so"})
        os.mkdir(self.path("tmp"))
        document = self.check(
            self.dir, "--probe", "--strict", status=0, env=environment(TMPDIR=self.path("tmp"))
        )
        self.assertEqual(document["findings"], [])
        self.assertEqual(os.listdir(self.path("tmp")), [])

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file to another user")
    def test_whose_a_checkout_is_matters_to_who_runs_it_not_to_who_checks_it(self):
        make_plugin(self.path("x.so"), "x", [kernel()])
        for uid, mode in ((4711, 0o755), (4711, 0o775), (0, 0o777)):
            with self.subTest(uid=uid, mode=mode):
                os.chown(self.path("x.so"), uid, uid)
                os.chown(self.dir, uid, uid)
                os.chmod(self.dir, mode)
                self.check(self.path("x.so"), "--strict", status=0)

    def test_a_kernel_that_is_not_available_here_is_a_note(self):
        make_plugin(self.path("x.so"), "x", [kernel()], available="return KP_UNSUPPORTED;")
        (row,) = self.check(self.path("x.so"), "--probe", status=0)["findings"]
        self.assertEqual((row["severity"], row["object"]), ("note", "square"))


class BeforeTheProbe(unittest.TestCase):
    """plugind refuses by the same truth, and runs nothing of what it refuses."""

    SAYS = (
        '#include <stdio.h>\n__attribute__((constructor)) static void ran(void) { puts("ran"); }\n'
    )

    def refused(self, daemon, code):
        daemon.call("Reload")
        plugin = daemon.plugins()["x"]
        self.assertEqual((plugin["state"], plugin["reason"]["code"]), ("rejected", code))
        evidence = daemon.call("Info", name="x")["plugin"]["evidence"]
        self.assertEqual((evidence["stage"], evidence["output"]), ("identify", None))

    def runs(self, daemon):
        daemon.call("Reload")
        plugin = daemon.plugins()["x"]
        self.assertEqual(plugin["state"], "active", plugin)

    def build(self, daemon, library):
        make_plugin(
            daemon.library_path("x"),
            "x",
            before=self.SAYS + USES,
            flags=[library, "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath-link,{daemon.plugin_dir}"],
        )
        daemon.manifest("x")

    def test_t23_a_missing_library_is_refused_until_it_comes(self):
        with Daemon() as daemon:
            library = helper(os.path.join(daemon.plugin_dir, "libkplug_h.so.1"))
            self.build(daemon, library)
            os.rename(library, library + ".away")
            self.refused(daemon, "missing_library")
            os.rename(library + ".away", library)
            self.runs(daemon)

    def test_t23_a_library_that_another_one_needs(self):
        with Daemon() as daemon:
            inner = helper(
                os.path.join(daemon.plugin_dir, "libkplug_i.so.1"), "int inner(void) { return 2; }"
            )
            library = helper(
                os.path.join(daemon.plugin_dir, "libkplug_h.so.1"),
                "int inner(void); int helper_value(void) { return inner(); }",
                inner,
                "-Wl,-rpath,$ORIGIN",
            )
            self.build(daemon, library)
            os.rename(inner, inner + ".away")
            self.refused(daemon, "missing_library")
            os.rename(inner + ".away", inner)
            self.runs(daemon)

    def test_t23_a_library_that_lacked_a_symbol(self):
        with Daemon() as daemon:
            library = helper(os.path.join(daemon.plugin_dir, "libkplug_h.so.1"))
            self.build(daemon, library)
            os.rename(library, library + ".good")
            helper(library, "int other;")
            self.refused(daemon, "undefined_symbol")
            os.rename(library + ".good", library)
            self.runs(daemon)

    def test_t34_t33_file_faults_are_refused_before_the_probe(self):
        tls = (
            'static __thread char b[4096] __attribute__((tls_model("initial-exec"), used));'
            '__attribute__((visibility("hidden"))) char *at(void) { return b; }'
        )
        with Daemon() as daemon:
            daemon.add("stack", flags=["-Wl,-z,execstack"])
            daemon.add("storage", before=tls)
            daemon.add("path", flags=["-Wl,-rpath,lib"])
            daemon.add("fine")
            daemon.call("Reload")
            plugins = daemon.plugins()
            self.assertEqual(
                {name: (p["reason"] or {}).get("code") for name, p in plugins.items()},
                {
                    "stack": "executable_stack",
                    "storage": "static_tls",
                    "path": "relative_search_path",
                    "fine": None,
                },
            )


if __name__ == "__main__":
    unittest.main()
