# SPDX-License-Identifier: MIT
"""What plugind finds in its directories, keeps apart, and notices when it changes."""

import mmap
import os
import random
import shutil
import signal
import socket
import unittest

from harness import BUILD, CRASH, EXIT, HANG, LONG, Daemon, kernel, make_plugin, wait_until, write
from varlink import VarlinkError

SQUARE = "elementwise/square"


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        return daemon

    def stopped(self, **keywords):
        return self.daemon(start=False, **keywords)

    def assert_state(self, plugin, state, code):
        self.assertEqual(plugin["state"], state, plugin)
        self.assertEqual(plugin["reason"] and plugin["reason"]["code"], code, plugin)


class Found(Case):
    def test_t01_what_is_not_a_regular_file_is_rejected_and_holds_nobody_up(self):
        daemon = self.stopped()
        os.mkfifo(daemon.library_path("fifo"))
        os.mkdir(daemon.library_path("directory"))
        os.symlink("/dev/zero", daemon.library_path("device"))
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(daemon.library_path("socket"))
            bad = ["fifo", "directory", "device", "socket"]
            for name in bad:
                daemon.manifest(name)
            daemon.add("good")
            daemon.start()
            plugins = daemon.plugins()
        for name in bad:
            self.assert_state(plugins[name], "rejected", "not_regular_file")
            self.assertIn(name, plugins[name]["reason"]["message"])
        self.assertEqual(plugins["good"]["state"], "active")

    def test_t01_a_manifest_that_is_not_a_regular_file_is_an_item_with_an_error(self):
        daemon = self.stopped()
        os.mkfifo(daemon.manifest_path("fifo"))
        os.mkdir(daemon.manifest_path("directory"))
        os.symlink("loop.json", daemon.manifest_path("loop"))
        daemon.add("good")
        daemon.start()
        plugins = daemon.plugins()
        for name in ("fifo", "directory", "loop"):
            self.assertEqual(plugins[name]["state"], "rejected")
            self.assertIn(name + ".json", plugins[name]["reason"]["message"])
        self.assertEqual(plugins["good"]["state"], "active")

    def test_t08_one_bad_plugin_leaves_three_usable(self):
        bad = {
            "crash": {"before": CRASH},
            "exit": {"before": EXIT},
            "range": {"host": {"min": "9.0.0", "max": "10.0.0"}},
        }
        for name, plugin in bad.items():
            with self.subTest(bad=name):
                daemon = self.stopped()
                daemon.add_many(["good1", "good2", "good3"])
                daemon.add(name, **plugin)
                daemon.start()
                plugins = daemon.plugins()
                self.assertEqual(len(plugins), 4)
                self.assertEqual(
                    [p for p in plugins if plugins[p]["state"] == "active"],
                    ["good1", "good2", "good3"],
                )
                self.assertTrue(daemon.call("Status")["degraded"])
                self.assertEqual(daemon.ctl("status").returncode, 0)
                self.assertEqual(daemon.ctl("status", "--strict").returncode, 1)
                self.assertEqual(daemon.ctl("list").returncode, 0)

    def test_t09_stale_manifests_are_listed_as_missing_and_change_no_selection(self):
        daemon = self.stopped()
        daemon.add("good")
        stale = [f"stale{i}" for i in range(7)]
        for name in stale:
            daemon.manifest(name)
        os.symlink("/nowhere/at/all.so", daemon.library_path("stale0"))
        daemon.start()
        plugins = daemon.plugins()
        for name in stale[1:]:
            self.assert_state(plugins[name], "missing", "missing_file")
            self.assertEqual(plugins[name]["kernels"], [])
        self.assertEqual(plugins["stale0"]["state"], "missing")
        self.assertEqual(daemon.select(SQUARE)["selected"], "good/square")
        self.assertEqual(daemon.select(SQUARE)["pending"], [])

    def test_t10_two_names_of_one_plugin_are_duplicates_and_the_first_keeps_it(self):
        daemon = self.stopped()
        daemon.add("b")
        shutil.copy(daemon.library_path("b"), daemon.library_path("copy"))
        daemon.manifest("c", library="copy.so")  # the same digest
        daemon.manifest("d", library="b.so")  # the same file
        os.link(daemon.library_path("b"), daemon.library_path("f"))
        daemon.manifest("f")  # another name of it
        os.symlink("b.so", daemon.library_path("g"))
        daemon.manifest("g")  # a link to it
        os.symlink("b.json", daemon.manifest_path("h"))  # the same manifest
        make_plugin(daemon.library_path("e"), "b", [kernel("other")])  # the same note name
        daemon.manifest("e")
        daemon.start()
        plugins = daemon.plugins()
        self.assertEqual(plugins["b"]["state"], "active")
        others = ("c", "d", "e", "f", "g", "h")
        for name in others:
            self.assert_state(plugins[name], "rejected", "duplicate_of")
            self.assertIn("b", plugins[name]["reason"]["message"])
        # Also while it is disabled: nobody else takes its place.
        daemon.call("Disable", name="b")
        plugins = daemon.plugins()
        self.assertEqual(plugins["b"]["state"], "disabled")
        for name in others:
            self.assert_state(plugins[name], "rejected", "duplicate_of")
        self.assertIsNone(daemon.select(SQUARE)["selected"])
        # Once the first has left, the next one has it.
        daemon.call("Enable", name="b")
        daemon.remove("h")
        daemon.remove("b")
        daemon.call("Reload")
        plugins = daemon.plugins()
        self.assertEqual(plugins["c"]["state"], "active")
        for name in others[1:-1]:
            self.assert_state(plugins[name], "rejected", "duplicate_of")

    def test_t11_the_order_of_files_changes_nothing(self):
        names = ["mu", "alpha", "zeta", "beta", "omega"]
        orders = set()
        maker = self.stopped()
        maker.add_many(names)
        for seed in range(20 if LONG else 4):
            daemon = self.stopped()
            order = list(names)
            random.Random(seed).shuffle(order)
            for name in order:
                shutil.copy2(maker.library_path(name), daemon.library_path(name))
                daemon.manifest(name)
            daemon.start()
            daemon.settle()
            reply = daemon.why(SQUARE)
            orders.add(str([c["kernel"] for c in reply["candidates"]]))
            self.assertEqual(list(daemon.plugins()), sorted(names))
            self.assertEqual(reply["selected"], "alpha/square")
        self.assertEqual(len(orders), 1)

    def test_t77_any_content_lets_the_daemon_start_and_is_one_line_of_log(self):
        daemon = self.stopped()
        contents = {
            "empty": b"",
            "text": b"#!/bin/sh\n",
            "cut": open(os.path.join(BUILD, "plugins", "reference.so"), "rb").read(3000),
            "zeros": bytes(5000),
            "elf": b"\x7fELF" + os.urandom(500),
        }
        for name, content in contents.items():
            with open(daemon.library_path(name), "wb") as file:
                file.write(content)
            os.utime(daemon.library_path(name), (1, 1))
            daemon.manifest(name)
        manifests = {"syntax": "{", "key": '{"librery": "x.so"}', "type": '{"library": 7}'}
        for name, text in manifests.items():
            write(daemon.manifest_path(name), text)
        daemon.start()
        plugins = daemon.plugins()
        for name in [*contents, *manifests]:
            self.assertEqual(plugins[name]["state"], "rejected", plugins[name])
            code = plugins[name]["reason"]["code"]
            lines = [l for l in daemon.log().split("\n") if l.startswith(f"plugind: {name}: ")]
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(f"rejected [{code}]", lines[0])

    def test_t07_a_wrong_manifest_is_reported_with_its_place(self):
        daemon = self.stopped()
        cases = {
            "syntax": ('{\n "library": "x.so",\n}', "syntax.json:3:1: "),
            "key": ('{\n  "librery": "x.so"}', "key.json:2:3: "),
            "type": ('{"library": 7}', "type.json:1:2: "),
        }
        for name, (text, _) in cases.items():
            write(daemon.manifest_path(name), text)
        daemon.start()
        plugins = daemon.plugins()
        for name, (_, place) in cases.items():
            self.assertEqual(plugins[name]["state"], "rejected")
            self.assertIn(place, plugins[name]["reason"]["message"])


class Trusted(Case):
    """What a daemon that serves all users believes."""

    def test_t14_a_system_daemon_takes_no_manifest_that_others_may_write(self):
        for change in (
            lambda d: os.chmod(d.manifest_path("a"), 0o666),
            lambda d: os.chmod(d.manifest_path("a"), 0o664),
            lambda d: os.chmod(d.manifest_dirs[0], 0o777),
        ):
            daemon = self.stopped(system=True)
            daemon.add("a")
            change(daemon)
            daemon.start()
            plugin = daemon.plugins()["a"]
            self.assert_state(plugin, "rejected", "writable_by_others")
            self.assertIn(f"uid {os.getuid()}", plugin["reason"]["message"])
            self.assertRegex(plugin["reason"]["message"], "mode 0(666|664|777)")
            self.assertIsNone(daemon.select(SQUARE)["selected"])
            # Noticed without anybody asking, both ways.
            os.chmod(daemon.manifest_path("a"), 0o644)
            os.chmod(daemon.manifest_dirs[0], 0o755)
            wait_until(lambda d=daemon: d.plugins()["a"]["state"] == "active", "a to be active")
            change(daemon)
            wait_until(lambda d=daemon: d.plugins()["a"]["state"] == "rejected", "a to be rejected")


class Listed(Case):
    def test_pl04_pl14_empty_directories_are_an_empty_list_and_no_error(self):
        for layers in (1, 2, 3):
            daemon = self.daemon(layers=layers)
            self.assertEqual(daemon.plugins(), {})
            self.assertEqual(daemon.call("Kernels")["kernels"], [])
            done = daemon.ctl("list")
            self.assertEqual(done.returncode, 0)
            self.assertFalse(daemon.call("Status")["degraded"])

    def test_pl05_one_plugin_is_one_record(self):
        for package, version, names in [
            ("alpha-plugin", "1.2.3", ["one"]),
            ("beta", "0.0.1-rc.1", ["b", "a"]),
            ("gamma", "2.0.0", []),
        ]:
            daemon = self.stopped()
            kernels = [kernel(n) for n in names]
            daemon.add("x", kernels, package=package, version=version)
            daemon.start()
            plugins = daemon.plugins()
            self.assertEqual(list(plugins), ["x"])
            self.assertEqual(plugins["x"]["package"], package)
            self.assertEqual(plugins["x"]["version"], version)
            self.assertEqual(sorted(plugins["x"]["kernels"]), sorted(names))
            info = daemon.call("Info", name="x")["plugin"]
            self.assertEqual(sorted(k["name"] for k in info["kernels"]), sorted(names))

    def test_pl06_plugins_are_listed_and_ranked_in_byte_order(self):
        for names in (["zeta", "alpha", "mu"], ["b", "B", "a.b", "a-b"], ["p10", "p9", "p1"]):
            daemon = self.stopped()
            daemon.add_many(names)
            daemon.start()
            self.assertEqual(list(daemon.plugins()), sorted(names))
            why = daemon.why(SQUARE)
            self.assertEqual(
                [c["kernel"] for c in why["candidates"]], [n + "/square" for n in sorted(names)]
            )

    def test_pl07_a_second_scan_finds_nothing_new_and_probes_nothing(self):
        daemon = self.stopped()
        daemon.add_many(["a", "b", "c"])
        daemon.start()
        started = daemon.settle()["workers"]["started"]
        for _ in range(3):
            reply = daemon.call("Reload")
            self.assertEqual((reply["added"], reply["changed"], reply["removed"]), ([], [], []))
        os.kill(daemon.pid, signal.SIGHUP)
        daemon.call("Reload")
        self.assertEqual(daemon.call("Status")["workers"]["started"], started)

    def test_reload_tells_what_has_become_of_what_came_or_changed(self):
        daemon = self.stopped()
        daemon.add_many(["a", "b", "c"])
        daemon.start()
        daemon.settle()

        def outcome(**named):
            return [(p["name"], p["state"]) for p in daemon.call("Reload", **named)["plugins"]]

        self.assertEqual(outcome(), [])
        self.assertEqual(outcome(name="b"), [("b", "active")])
        daemon.remove("c")
        self.assertEqual(outcome(name="c"), [])
        daemon.manifest("zeta")
        self.assertEqual(outcome(name="zeta"), [("zeta", "missing")])
        for name in ("a", "b", "zeta"):
            listed = {p["name"]: p for p in daemon.call("List")["plugins"]}
            self.assertEqual(daemon.call("Reload", name=name)["plugins"], [listed[name]])
        # Those that came, in order of name whatever came first.
        for name in ("y", "m", "x"):
            shutil.copy2(daemon.library_path("a"), daemon.library_path(name))
            daemon.manifest(name)
        os.kill(daemon.pid, signal.SIGHUP)
        daemon.call("Reload", name="a")
        daemon.manifest("b", priority_offset=1)
        reply = daemon.call("Reload")
        self.assertEqual(
            [p["name"] for p in reply["plugins"]], sorted(reply["added"] + reply["changed"])
        )
        self.assertIn("b", reply["changed"])
        self.assertEqual({p["name"]: p["state"] for p in reply["plugins"]}["b"], "active")

    def test_pl08_retry_probes_again_and_the_kernels_are_back(self):
        daemon = self.stopped()
        daemon.add_many(["a", "b", "c"])
        daemon.start()
        before = daemon.settle()["workers"]["started"]
        for name in ("a", "b", "c"):
            reply = daemon.call("Retry", name=name)
            self.assertEqual(reply["plugin"]["state"], "active")
            self.assertEqual(reply["plugin"]["kernels"], ["square"])
            after = daemon.call("Status")["workers"]["started"]
            self.assertGreater(after, before)
            before = after

    def test_pl10_nothing_is_registered_of_a_plugin_that_fails(self):
        for name, plugin, state in [
            ("crash", {"before": CRASH}, "failed"),
            ("exit", {"before": EXIT}, "failed"),
            ("later", {"available": "abort();"}, "failed"),
        ]:
            daemon = self.stopped()
            daemon.add(name, [kernel(priority=15)], **plugin)
            daemon.add("good")
            daemon.start()
            plugins = daemon.plugins()
            self.assertEqual(plugins[name]["state"], state)
            self.assertEqual(plugins[name]["kernels"], [])
            self.assertIn(name, daemon.log())
            self.assertEqual(daemon.select(SQUARE)["selected"], "good/square")

    def test_pl11_a_plugin_disabled_before_it_was_found_again_stays_out(self):
        daemon = self.stopped()
        daemon.add_many(["a", "b"])
        daemon.start()
        daemon.settle()
        daemon.call("Disable", name="a")
        for _ in range(3):
            daemon.remove("a")
            daemon.call("Reload")
            daemon.manifest("a")
            daemon.call("Reload")
            plugins = daemon.plugins()
            self.assertEqual(plugins["a"]["state"], "disabled")
            self.assertEqual(daemon.select(SQUARE)["selected"], "b/square")

    def test_pl16_info_of_an_unknown_plugin_offers_the_nearest(self):
        daemon = self.stopped()
        daemon.add_many(["alpha", "beta"])
        daemon.start()
        daemon.settle()
        for wrong, nearest in (("alhpa", "alpha"), ("bet", "beta"), ("qqqqqqqq", None)):
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Info", name=wrong)
            self.assertEqual(caught.exception.parameters["nearest"], nearest)
            self.assertEqual(daemon.ctl("info", wrong).returncode, 5)

    def test_nx07_a_disabled_or_failed_plugin_is_listed_with_state_and_reason(self):
        daemon = self.stopped()
        daemon.add("off")
        daemon.add("crash", before=CRASH)
        daemon.add("quiet", manifest={"enabled": False})
        daemon.manifest("absent")
        os.symlink("/dev/null", daemon.manifest_path("masked"))
        daemon.start()
        daemon.settle()
        daemon.call("Disable", name="off", reason="it hurts")
        plugins = daemon.plugins()
        states = {name: plugins[name]["state"] for name in plugins}
        self.assertEqual(
            states,
            {
                "off": "disabled",
                "crash": "failed",
                "quiet": "disabled",
                "absent": "missing",
                "masked": "masked",
            },
        )
        for name, plugin in plugins.items():
            self.assertTrue(plugin["reason"]["message"], name)
            self.assertTrue(plugin["since"], name)
        self.assertIn("it hurts", plugins["off"]["reason"]["message"])

    def test_kernels_of_active_plugins_are_counted(self):
        daemon = self.stopped()
        daemon.add("a", [kernel("one"), kernel("two")])
        daemon.add("b", [kernel("three")])
        daemon.add("crash", [kernel("four")], before=CRASH)
        daemon.start()
        self.assertEqual(daemon.settle()["kernels"], 3)
        daemon.call("Disable", name="a/one")
        self.assertEqual(daemon.call("Status")["kernels"], 3)
        self.assertEqual(daemon.plugins()["a"]["disabled_kernels"], ["one"])
        self.assertEqual(daemon.plugins()["b"]["disabled_kernels"], [])
        daemon.call("Disable", name="a")
        self.assertEqual(daemon.call("Status")["kernels"], 1)
        daemon.call("Disable", name="b")
        self.assertEqual(daemon.call("Status")["kernels"], 0)

    def test_families_and_operations_are_offered_whatever_their_case(self):
        daemon = self.stopped()
        daemon.add("a", [kernel("mm", "gemm/mm", signatures=["a=f32,b=f32,c=f32"]), kernel()])
        daemon.start()
        daemon.settle()
        for wrong, nearest in [
            ("GEM", "gemm"),
            ("gem", "gemm"),
            ("GEMM", "gemm"),
            ("gemm/mn", "gemm/mm"),
            ("elementwise/SQUARES", "elementwise/square"),
            ("elementwize", "elementwise"),
            ("zzzzzzzzzzzzz", None),
        ]:
            with self.subTest(wrong=wrong), self.assertRaises(VarlinkError) as caught:
                daemon.call("Kernels", operation=wrong)
            self.assertEqual(caught.exception.code, "unknown_operation")
            self.assertEqual(caught.exception.parameters["nearest"], nearest)
            words = nearest or "the families are "
            self.assertIn(words, caught.exception.parameters["message"])

    def test_a_warning_is_logged_when_it_is_new_and_not_at_every_look(self):
        daemon = self.stopped(layers=2)
        os.rmdir(daemon.manifest_dirs[0])
        write(daemon.manifest_dirs[0], "no directory")
        daemon.start()
        daemon.settle()
        for _ in range(3):
            daemon.call("Reload")
        self.assertEqual(daemon.log().count("[unreadable_directory]"), 1)
        self.assertIn("unreadable_directory", [w["code"] for w in daemon.settle()["warnings"]])
        os.unlink(daemon.manifest_dirs[0])
        os.mkdir(daemon.manifest_dirs[0])
        daemon.call("Reload")
        self.assertEqual(daemon.settle()["warnings"], [])
        os.rmdir(daemon.manifest_dirs[0])
        write(daemon.manifest_dirs[0], "no directory")
        daemon.call("Reload")
        self.assertEqual(daemon.log().count("[unreadable_directory]"), 2)

    def test_list_filters_by_state_and_family_and_shows_the_unclaimed(self):
        daemon = self.stopped()
        daemon.add("a")
        daemon.add("b", [kernel("mm", "gemm/mm", signatures=["a=f32,b=f32,c=f32"])])
        daemon.manifest("gone")
        make_plugin(daemon.library_path("nobody"), "nobody")
        daemon.start()
        daemon.settle()

        def names(**filters):
            return [p["name"] for p in daemon.call("List", **filters)["plugins"]]

        self.assertEqual(names(), ["a", "b", "gone"])
        self.assertEqual(names(state="missing"), ["gone"])
        self.assertEqual(names(family="gemm"), ["b"])
        self.assertEqual(names(family="gemm/mm"), ["b"])
        self.assertEqual(names(family="gem"), [])
        self.assertEqual(names(state="active", family="elementwise"), ["a"])
        self.assertEqual(names(all=True), ["a", "b", "gone", "nobody.so"])
        self.assertEqual(names(all=True, state="unclaimed"), ["nobody.so"])
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("List", state="actve")
        self.assertEqual(caught.exception.parameters["nearest"], "active")


class Noticed(Case):
    """Changes of files, without anybody asking for a scan."""

    def wait_for(self, daemon, name, state):
        def look():
            plugins = {p["name"]: p for p in daemon.call("List")["plugins"]}
            found = plugins[name]["state"] if name in plugins else None
            return found == state

        wait_until(look, f"{name} to be {state}")

    def test_manifests_and_libraries_come_and_go(self):
        daemon = self.daemon(layers=2)
        daemon.add("a")
        self.wait_for(daemon, "a", "active")
        os.rename(daemon.library_path("a"), daemon.library_path("moved"))
        self.wait_for(daemon, "a", "missing")
        os.rename(daemon.library_path("moved"), daemon.library_path("a"))
        self.wait_for(daemon, "a", "active")
        daemon.remove("a")
        self.wait_for(daemon, "a", None)
        daemon.manifest("a", layer=1)
        self.wait_for(daemon, "a", "active")
        os.symlink("/dev/null", daemon.manifest_path("a"))
        self.wait_for(daemon, "a", "masked")
        daemon.remove("a")
        self.wait_for(daemon, "a", "active")

    def test_layers_that_come_later_are_noticed(self):
        daemon = self.stopped(layers=3)
        make_plugin(daemon.library_path("a"), "a")
        os.rmdir(daemon.manifest_dirs[0])
        daemon.manifest_dirs[1] = os.path.join(daemon.place, "deep", "er", "layer")
        daemon.start()
        daemon.settle()
        for layer in (0, 1):
            os.makedirs(daemon.manifest_dirs[layer])
            daemon.manifest("a", layer=layer)
            self.wait_for(daemon, "a", "active")
            daemon.remove("a", layer=layer)
            self.wait_for(daemon, "a", None)
        shutil.rmtree(daemon.manifest_dirs[0])
        os.makedirs(daemon.manifest_dirs[0])
        daemon.manifest("a")
        self.wait_for(daemon, "a", "active")

    def test_a_library_elsewhere_is_watched_too(self):
        daemon = self.daemon()
        elsewhere = os.path.join(daemon.place, "elsewhere")
        os.mkdir(elsewhere)
        library = os.path.join(elsewhere, "x.so")
        daemon.manifest("x", library=library)
        self.wait_for(daemon, "x", "missing")
        make_plugin(library, "x")
        self.wait_for(daemon, "x", "active")
        make_plugin(library, "x", version="2.0.0")
        wait_until(lambda: daemon.plugins()["x"]["version"] == "2.0.0", "the new version")

    def test_a_swapped_link_swaps_all_at_once(self):
        daemon = self.stopped()
        for version in ("1.0.0", "2.0.0"):
            place = os.path.join(daemon.place, version)
            os.mkdir(place)
            make_plugin(os.path.join(place, "x.so"), "x", version=version)
        os.symlink(os.path.join(daemon.place, "1.0.0"), os.path.join(daemon.plugin_dir, "..data"))
        os.symlink("..data/x.so", daemon.library_path("x"))
        daemon.manifest("x")
        daemon.start()
        self.assertEqual(daemon.plugins()["x"]["version"], "1.0.0")
        for version in ("2.0.0", "1.0.0", "2.0.0"):
            link = os.path.join(daemon.plugin_dir, "..new")
            os.symlink(os.path.join(daemon.place, version), link)
            os.rename(link, os.path.join(daemon.plugin_dir, "..data"))
            wait_until(lambda v=version: daemon.plugins()["x"]["version"] == v, version)

    def test_t16_a_file_written_in_steps_is_probed_once_when_it_is_whole(self):
        daemon = self.stopped()
        make_plugin(daemon.library_path("built"), "x")
        with open(daemon.library_path("built"), "rb") as file:
            content = file.read()
        os.unlink(daemon.library_path("built"))
        daemon.manifest("x")
        daemon.start()
        self.assertEqual(daemon.plugins()["x"]["state"], "missing")
        before = daemon.call("Status")["workers"]["started"]
        step = len(content) // 4
        with open(daemon.library_path("x"), "wb") as file:
            for start in range(0, len(content), step):
                file.write(content[start : start + step])
                file.flush()
                # Whoever looks meanwhile, and has looked, finds nothing to probe.
                daemon.manifest(f"mark{start}")
                self.wait_for(daemon, f"mark{start}", "missing")
                self.assertEqual(daemon.call("Status")["workers"]["started"], before)
        self.wait_for(daemon, "x", "active")
        once = daemon.call("Status")["workers"]["started"] - before
        self.assertLessEqual(once, 2)  # identify and probe
        daemon.call("Reload")
        self.assertEqual(daemon.call("Status")["workers"]["started"] - before, once)

    def test_t16_editors_files_start_nothing(self):
        daemon = self.stopped()
        daemon.add("x")
        daemon.start()
        before = daemon.settle()["workers"]["started"]
        for name in (".x.so.swp", "x.so~", ".x.json.swx"):
            for directory in (daemon.plugin_dir, daemon.manifest_dirs[0]):
                write(os.path.join(directory, name), "rubbish")
        daemon.call("Reload")
        status = daemon.call("Status")
        self.assertEqual(status["workers"]["started"], before)
        self.assertEqual(status["plugins"]["active"], 1)
        self.assertEqual(sum(status["plugins"].values()), 1)

    def test_what_no_event_tells_is_noticed_within_the_period(self):
        daemon = self.stopped()
        daemon.options = ["--rescan-s", "1"]
        daemon.add("x", version="1.0.0")
        daemon.start()
        self.assertEqual(daemon.plugins()["x"]["version"], "1.0.0")
        # A write through a mapping changes the file and is no event; closing it would be.
        with open(daemon.library_path("x"), "r+b") as file:
            with mmap.mmap(file.fileno(), 0) as view:
                at = view.find(b'"version": "1.0.0"')
                view[at : at + 18] = b'"version": "2.0.0"'
                view.flush()
            wait_until(lambda: daemon.plugins()["x"]["version"] == "2.0.0", "2.0.0")

    def test_sighup_and_reload_find_what_has_changed(self):
        daemon = self.stopped()
        daemon.add_many(["a", "b", "c"])
        daemon.start()
        daemon.settle()
        make_plugin(daemon.library_path("b"), "b", version="2.0.0")
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: daemon.plugins()["b"]["version"] == "2.0.0", "the new version")

    def test_reload_waits_also_for_a_plugin_that_hangs(self):
        daemon = self.daemon()
        daemon.settle()
        daemon.add("h", before=HANG, manifest={"timeout_ms": 500})
        daemon.call("Reload")
        plugin = {p["name"]: p for p in daemon.call("List")["plugins"]}["h"]
        self.assert_state(plugin, "failed", "probe_timeout")


if __name__ == "__main__":
    unittest.main()
