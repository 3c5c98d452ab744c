# SPDX-License-Identifier: MIT
"""Store, identify, probe and cache with real workers: what is kept, and what is asked again."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import unconfined
from harness import (
    BUILD,
    CRASH,
    HANG,
    ROOT,
    SANITIZER,
    Daemon,
    kernel,
    make_plugin,
    wait_until,
    write,
)

OLD = 1_600_000_000


def age(path):
    """Nobody is writing this file."""
    os.utime(path, (OLD, OLD))


def bundled(place, name, value):
    """A library without a note, as a plugin brings it."""
    source = os.path.join(place, "bundled.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(f"int bundled(void) {{ return {value}; }}\n")
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", os.path.join(place, name), source],
        check=True,
    )
    os.unlink(source)
    age(os.path.join(place, name))


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Warm(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def add(self, name, **plugin):
        make_plugin(self.daemon.library_path(name), name, **plugin)
        age(self.daemon.library_path(name))
        self.daemon.manifest(name, timeout_ms=1000)

    def started(self):
        return self.daemon.settle()["workers"]["started"]

    def reload(self):
        self.daemon.call("Reload")
        return self.daemon.plugins()

    def test_warm_start_runs_no_worker(self):
        self.add("good")
        self.assertEqual(self.reload()["good"]["state"], "active")
        self.assertGreater(self.started(), 0)
        before = self.daemon.call("Info", name="good")["plugin"]
        self.daemon.restart()
        self.assertEqual(self.started(), 0)
        after = self.daemon.call("Info", name="good")["plugin"]
        for key in ("state", "stored", "sha256", "closure", "kernels", "elf", "version"):
            self.assertEqual(after[key], before[key], key)

    def test_killer_is_not_run_again_at_a_warm_start(self):
        for name, fault in (("crash", CRASH), ("hang", HANG)):
            self.add(name, before=fault)
        before = {n: p["reason"] for n, p in self.reload().items()}
        self.daemon.restart()
        self.assertEqual(self.started(), 0)
        after = {n: p["reason"] for n, p in self.daemon.plugins().items()}
        self.assertEqual(after, before)
        self.assertEqual(after["hang"]["code"], "probe_timeout")

    def test_retry_asks_again(self):
        self.add("crash", before=CRASH)
        self.reload()
        before = self.started()
        self.daemon.call("Retry", name="crash")
        self.assertGreater(self.started(), before)

    def test_changed_library_is_asked_again(self):
        self.add("good")
        self.reload()
        before = self.daemon.call("Info", name="good")["plugin"]["sha256"]
        self.add("good", version="2.0.0")
        self.daemon.restart()
        self.assertEqual(self.daemon.plugins()["good"]["version"], "2.0.0")
        after = self.daemon.call("Info", name="good")["plugin"]["sha256"]
        self.assertNotEqual(after, before)
        self.assertEqual(after, sha256(self.daemon.library_path("good")))

    def test_lost_cache_only_costs_time(self):
        self.add("good")
        self.reload()
        self.daemon.stop()
        shutil.rmtree(self.daemon.cache_dir)
        self.daemon.start()
        self.assertEqual(self.daemon.plugins()["good"]["state"], "active")

    def test_damaged_cache_is_set_aside_and_said(self):
        self.add("good")
        self.reload()
        self.daemon.stop()
        with open(os.path.join(self.daemon.cache_dir, "probe"), "w", encoding="utf-8") as file:
            file.write("what is this\n")
        self.daemon.start()
        self.assertEqual(self.daemon.plugins()["good"]["state"], "active")
        codes = [w["code"] for w in self.daemon.call("Status")["warnings"]]
        self.assertIn("cache_damaged", codes)
        self.assertTrue(os.path.exists(os.path.join(self.daemon.cache_dir, "probe.damaged")))

    def test_cache_directory_that_cannot_be_is_said_once_in_status_and_log(self):
        self.daemon.stop()
        shutil.rmtree(self.daemon.cache_dir, ignore_errors=True)
        write(self.daemon.cache_dir, "a file")
        self.daemon.start()
        self.add("good")
        self.assertEqual(self.reload()["good"]["state"], "active")

        def told():
            return [
                w["message"]
                for w in self.daemon.call("Status")["warnings"]
                if self.daemon.cache_dir in w["message"]
            ]

        self.assertEqual(len(told()), 1)
        self.add("other")
        self.reload()
        self.daemon.stop()
        lines = [line for line in self.daemon.log().splitlines() if self.daemon.cache_dir in line]
        self.assertEqual(len(lines), 1, lines)

    def test_warnings_of_a_note_are_told_once(self):
        self.add("good", colour="red", kernels=[kernel(revision=9)])
        self.reload()
        codes = [w["code"] for w in self.daemon.call("Info", name="good")["plugin"]["warnings"]]
        self.assertEqual(sorted(codes), ["newer_revision", "unknown_key"])

    def test_stored_copy_outlives_the_original(self):
        self.add("good")
        self.reload()
        info = self.daemon.call("Info", name="good")["plugin"]
        with open(self.daemon.library_path("good"), "r+b") as file:
            file.truncate(10)
        self.assertEqual(sha256(info["stored"]), info["sha256"])


class Beside(unittest.TestCase):
    """A plugin that brings a library: both are stored, and the stored pair is loaded."""

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def add(self, value=1, runpath="$ORIGIN/deps", place="deps"):
        """Linked by hand: make_plugin knows no libraries."""
        directory = self.daemon.plugin_dir
        deps = os.path.normpath(os.path.join(directory, place))
        os.makedirs(deps, exist_ok=True)
        bundled(deps, "libbundled.so.1", value)
        include = os.path.join(ROOT, "lib", "include")
        with tempfile.TemporaryDirectory(prefix="kplug-beside.") as work:
            note = {
                "name": "beside",
                "version": "1.0.0",
                "kernels": [kernel()],
            }
            with open(os.path.join(work, "note.json"), "w", encoding="utf-8") as file:
                json.dump(note, file)
            with open(os.path.join(work, "plugin.c"), "w", encoding="utf-8") as file:
                file.write(SOURCE)
            subprocess.run(
                ["cc", "-std=c11", "-w", "-fPIC", "-shared", f"-I{include}", f"-Wa,-I{work}"]
                + [f"-Wl,--version-script={include}/kplug/plugin.map", f"-Wl,-rpath,{runpath}"]
                + ["-Wl,--enable-new-dtags", "-o", self.daemon.library_path("beside")]
                + [os.path.join(work, "plugin.c"), os.path.join(deps, "libbundled.so.1")],
                check=True,
            )
        age(self.daemon.library_path("beside"))
        self.daemon.manifest("beside")
        self.daemon.call("Reload")
        return self.daemon.plugins()["beside"]

    def stored(self):
        return self.daemon.call("Info", name="beside")["plugin"]["stored"]

    def test_library_below_is_stored_and_loaded_from_there(self):
        plugin = self.add()
        self.assertEqual(plugin["state"], "active", plugin)
        copy = os.path.join(os.path.dirname(self.stored()), "deps", "libbundled.so.1")
        self.assertTrue(os.path.isfile(copy))

    def test_original_library_is_not_needed_any_more(self):
        self.assertEqual(self.add()["state"], "active")
        shutil.rmtree(os.path.join(self.daemon.plugin_dir, "deps"))
        stored = self.stored()
        subprocess.run(
            ["/usr/bin/python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", stored],
            check=True,
        )

    def test_library_of_a_sibling_directory_is_stored(self):
        plugin = self.add(runpath="$ORIGIN/../other", place="../other")
        self.assertEqual(plugin["state"], "active", plugin)
        directory = os.path.dirname(self.stored())
        self.assertTrue(os.path.isfile(os.path.join(directory, "../other/libbundled.so.1")))

    def test_cut_library_beside_rejects_the_plugin_and_is_named(self):
        self.assertEqual(self.add()["state"], "active")
        path = os.path.join(self.daemon.plugin_dir, "deps", "libbundled.so.1")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        age(path)
        self.daemon.call("Retry", name="beside")
        plugin = self.daemon.plugins()["beside"]
        self.assertEqual(plugin["state"], "rejected", plugin)
        self.assertIn("libbundled.so.1", plugin["reason"]["message"])


class System(unittest.TestCase):
    """A daemon that serves all users takes nothing that one of them may change."""

    def plugin(self, change):
        with Daemon(system=True) as daemon:
            make_plugin(daemon.library_path("good"), "good")
            change(daemon.library_path("good"))
            daemon.manifest("good")
            daemon.call("Reload")
            return daemon.plugins()["good"]

    def expect(self, plugin, code, *words):
        self.assertEqual(plugin["state"], "rejected", plugin)
        self.assertEqual(plugin["reason"]["code"], code)
        for word in words:
            self.assertIn(word, plugin["reason"]["message"])

    def test_t14_library_of_ours_is_taken(self):
        self.assertEqual(self.plugin(lambda path: None)["state"], "active")

    def test_t14_library_that_everybody_may_write_is_rejected(self):
        plugin = self.plugin(lambda path: os.chmod(path, 0o666))
        self.expect(plugin, "writable_by_others", "good.so", "0666")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file to another user")
    def test_t14_library_of_another_user_is_rejected(self):
        plugin = self.plugin(lambda path: os.chown(path, 12345, -1))
        self.expect(plugin, "untrusted_owner", "good.so", "12345")


class Forged(unittest.TestCase):
    """A plugin that writes what its worker would: it lies about itself, and gains nothing."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)
        cls.names = [
            "forges_note",
            "forges_elf",
            "forges_end",
            "forges_end_in_second_kernel",
            "forges_other_kernel",
            "forges_own_kernel",
            "forges_code",
        ]
        for name in cls.names:
            source = os.path.join(BUILD, "tests", "fixtures", name + ".so")
            target = cls.daemon.library_path(name)
            shutil.copy2(source, target)
            age(target)
            # Duplicates by the note's name are a matter of their own: one at a time.
        cls.plugins, cls.infos = {}, {}
        for name in cls.names:
            cls.daemon.manifest(name, timeout_ms=5000)
            cls.daemon.call("Reload")
            cls.plugins[name] = cls.daemon.plugins()[name]
            cls.infos[name] = cls.daemon.call("Info", name=name)["plugin"]
            cls.daemon.remove(name)
            cls.daemon.call("Reload")

    def expect(self, name, state, code):
        plugin = self.plugins[name]
        self.assertEqual(plugin["state"], state, plugin)
        said = plugin["reason"] and plugin["reason"]["code"]
        # Where AddressSanitizer lays out the stack a lie is not marked: refused all the same.
        if SANITIZER == "address" and name.startswith("forges_") and said == "garbled_report":
            return
        self.assertEqual(said, code)

    def test_what_the_library_is_stays_what_identify_saw(self):
        self.expect("forges_note", "failed", "garbled_report")
        self.assertEqual(self.plugins["forges_note"]["version"], "1.0.0")
        self.expect("forges_elf", "failed", "garbled_report")
        self.assertNotEqual(self.infos["forges_elf"]["elf"]["machine"], "forged")

    def test_end_mark_of_a_plugin_is_no_success(self):
        self.expect("forges_end", "failed", "incomplete_report")
        self.expect("forges_end_in_second_kernel", "failed", "incomplete_report")

    def test_answers_that_nobody_asked_for_are_no_success(self):
        self.expect("forges_other_kernel", "failed", "garbled_report")
        self.expect("forges_own_kernel", "failed", "garbled_report")

    def test_code_that_is_none_harms_nobody(self):
        self.expect("forges_code", "failed", "worker_failed")
        self.assertTrue(self.plugins["forges_code"]["reason"]["message"].isprintable())


LAUNCHER_KILLER = """
#include <signal.h>
#include <stdio.h>
__attribute__((constructor)) static void strike(void)
{
	char path[64];
	int launcher = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	FILE *file = fopen(path, "r");
	if (file && fscanf(file, "%*d %*s %*c %d", &launcher) == 1)
		kill(launcher, SIGKILL);
	for (;;)
		pause();
}
"""


class Parents(unittest.TestCase):
    """A plugin that kills the processes that watch over it, where workers are not confined
    (else it does not come to that: tests/test_sandbox.py): it alone is to blame."""

    def test_launcher_that_is_killed_costs_the_killer_only(self):
        with Daemon(without=unconfined.ALL) as daemon:
            names = [f"innocent{i}" for i in range(6)]
            daemon.add_many(names)
            daemon.add("killer", before=LAUNCHER_KILLER)
            daemon.call("Reload")
            daemon.settle()
            plugins = daemon.plugins()
            for name in names:
                self.assertEqual(plugins[name]["state"], "active", plugins[name])
            self.assertEqual(plugins["killer"]["state"], "failed")
            self.assertEqual(plugins["killer"]["reason"]["code"], "killed_the_launcher")

    def test_keeper_that_is_killed_is_its_workers_deed(self):
        with Daemon(without=unconfined.ALL) as daemon:
            shutil.copy2(
                os.path.join(BUILD, "tests", "fixtures", "kills_its_keeper.so"),
                daemon.library_path("killer"),
            )
            age(daemon.library_path("killer"))
            daemon.manifest("killer")
            daemon.call("Reload")
            daemon.settle()
            plugin = daemon.plugins()["killer"]
            self.assertEqual(plugin["state"], "failed")
            self.assertEqual(plugin["reason"]["code"], "killed_its_keeper")
            # Identify and one probe: it is not asked again.
            self.assertEqual(daemon.call("Status")["workers"]["started"], 2)


class Damaged(unittest.TestCase):
    """A stored copy that is not what it was is made again, and no plugin is blamed."""

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.add("good")
        self.daemon.call("Reload")
        self.stored = self.info()["stored"]
        self.whole = sha256(self.stored)
        os.chmod(self.stored, 0o644)
        with open(self.stored, "r+b") as file:
            file.truncate(100)

    def info(self):
        return self.daemon.call("Info", name="good")["plugin"]

    def expect_healed(self):
        plugin = self.daemon.plugins()["good"]
        self.assertEqual(plugin["state"], "active", plugin)
        self.assertEqual(sha256(self.stored), self.whole)
        codes = [warning["code"] for warning in self.info()["warnings"]]
        self.assertIn("store_damaged", codes)

    def test_restart_within_one_boot_heals_it(self):
        self.daemon.restart()
        self.daemon.settle()
        self.expect_healed()

    def test_retry_heals_it(self):
        self.daemon.call("Retry", name="good")
        self.daemon.settle()
        self.expect_healed()


SOURCE = """
#include <kplug/plugin.h>
KPLUG_PLUGIN_NOTE("note.json");
extern int bundled(void);
static int run(const struct kp_call *call)
{
	return bundled() < 0 ? KP_RUNTIME : KP_OK;
}
static const struct kp_kernel square = {KP_SIZED(struct kp_kernel), .run = run};
static const struct kp_entry entry = {
	KP_SIZED(struct kp_entry), KP_ENTRY_KERNEL, 0, "square", &square};
static const struct kp_entry *const entries[] = {&entry};
KPLUG_PLUGIN_EXPORT const struct kp_plugin kplug_plugin = {
	KP_SIZED(struct kp_plugin), KP_ABI_MAJOR, KP_ABI_MINOR, 0, 1, entries, 0, 0};
"""


class HalfWritten(unittest.TestCase):
    """A library that is being written is probed once, when it is whole."""

    def write_in_steps(self, daemon, name, step):
        whole = os.path.join(daemon.place, "whole.so")
        make_plugin(whole, name)
        with open(whole, "rb") as file:
            data = file.read()
        daemon.manifest(name)
        with open(daemon.library_path(name), "wb") as out:
            for at in range(0, len(data), step):
                out.write(data[at : at + step])
                out.flush()
                daemon.call("Status")
        return data

    def expect_one_probe(self, daemon, name, data):
        wait_until(lambda: daemon.plugins().get(name, {}).get("state") == "active", "the plugin")
        info = daemon.call("Info", name=name)["plugin"]
        self.assertEqual(info["sha256"], hashlib.sha256(data).hexdigest())
        # One identify and one probe: each is a worker.
        self.assertEqual(daemon.settle()["workers"]["started"], 2)

    def test_t16_library_written_in_steps_is_probed_once(self):
        with Daemon() as daemon:
            data = self.write_in_steps(daemon, "steps", 1024)
            self.expect_one_probe(daemon, "steps", data)

    def test_t16_library_written_at_once_is_probed_once(self):
        with Daemon() as daemon:
            data = self.write_in_steps(daemon, "once", 1 << 20)
            self.expect_one_probe(daemon, "once", data)

    def test_t16_swap_file_of_an_editor_starts_nothing(self):
        with Daemon() as daemon:
            data = self.write_in_steps(daemon, "swap", 4096)
            with open(os.path.join(daemon.plugin_dir, ".swap.so.swp"), "wb") as file:
                file.write(b"b0VIM 9.0")
            self.expect_one_probe(daemon, "swap", data)


if __name__ == "__main__":
    unittest.main()
