# SPDX-License-Identifier: MIT
"""Generations of a plugin: what ran is kept, and runs again when an operator says so."""

import os
import re
import time
import unittest

from application import Application
from harness import Daemon, kernel, wait_until
from varlink import VarlinkError

SQUARE = "elementwise/square"
BODY = """
	const float *x = call->tensors[0]->data;
	float *y = call->tensors[1]->data;
	int64_t n = call->tensors[0]->shape[0];
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] + %d;
"""


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(start=False, **keywords)
        self.addCleanup(daemon.close)
        return daemon

    def put(self, daemon, version, name="a", manifest=None):
        """Version N of the plugin: adds N to 3."""
        daemon.add(
            name,
            [kernel(flags=["reentrant"])],
            body=BODY % version,
            version=f"{version}.0.0",
            manifest=manifest,
        )

    def with_versions(self, count, **keywords):
        daemon = self.daemon(**keywords)
        self.put(daemon, 1)
        daemon.start()
        daemon.settle()
        for version in range(2, count + 1):
            self.put(daemon, version)
            daemon.call("Reload")
        return daemon

    def version(self, daemon, name="a"):
        plugin = daemon.plugins()[name]
        self.assertEqual(plugin["state"], "active", plugin)
        return plugin["version"]

    def numbers(self, daemon, name="a"):
        generations = daemon.call("History", name=name)["generations"]
        return [(g["number"], g["version"]) for g in generations]

    def current(self, daemon, name="a"):
        generations = daemon.call("History", name=name)["generations"]
        (number,) = [g["number"] for g in generations if g["current"]]
        return number

    def workers(self, daemon, job):
        (metric,) = [
            m for m in daemon.call("Metrics")["metrics"] if m["name"] == "kplug_worker_seconds"
        ]
        return sum(
            s["value"]
            for s in metric["samples"]
            if s["suffix"] == "_count" and s["labels"] == {"job": job}
        )

    def entry(self, daemon, number, name="a"):
        """The library of a generation, in the store."""
        generations = daemon.call("History", name=name)["generations"]
        (closure,) = [g["closure"] for g in generations if g["number"] == number]
        return os.path.join(daemon.state_dir, "store", closure, name + ".so")


class Kept(Case):
    def test_each_library_that_ran_is_a_generation(self):
        daemon = self.with_versions(3)
        self.assertEqual(self.numbers(daemon), [(3, "3.0.0"), (2, "2.0.0"), (1, "1.0.0")])
        newest, middle, _ = daemon.call("History", name="a")["generations"]
        info = daemon.call("Info", name="a")["plugin"]
        self.assertTrue(newest["current"])
        self.assertIsNone(newest["until"])
        for key in ("sha256", "closure", "size"):
            self.assertEqual(newest[key], info[key])
        self.assertFalse(middle["current"])
        self.assertGreaterEqual(middle["until"], middle["at"])
        self.assertEqual((middle["verdict"], middle["reason"]), ("active", None))

    def test_neither_a_restart_nor_what_never_ran_makes_a_generation(self):
        daemon = self.with_versions(2)
        daemon.restart()
        daemon.kill()
        daemon.start()
        daemon.add("a", before="__attribute__((constructor)) static void f(void) { abort(); }")
        daemon.call("Reload")
        self.assertEqual(daemon.plugins()["a"]["state"], "failed")
        self.assertEqual(self.numbers(daemon), [(2, "2.0.0"), (1, "1.0.0")])

    def test_as_many_as_were_asked_for_are_kept(self):
        daemon = self.with_versions(4, options=["--history", "2"])
        self.assertEqual(self.numbers(daemon), [(4, "4.0.0"), (3, "3.0.0")])

    def test_one_that_is_installed_again_is_the_newest_once(self):
        daemon = self.with_versions(2)
        self.put(daemon, 1)
        daemon.call("Reload")
        self.assertEqual(self.numbers(daemon), [(3, "1.0.0"), (2, "2.0.0")])

    def test_a_plugin_that_has_left_is_known(self):
        daemon = self.with_versions(2)
        daemon.remove("a")
        daemon.call("Reload")
        self.assertEqual(self.numbers(daemon), [(2, "2.0.0"), (1, "1.0.0")])
        self.assertFalse(any(g["current"] for g in daemon.call("History", name="a")["generations"]))
        daemon.restart()
        daemon.settle()
        self.assertEqual(self.numbers(daemon), [(2, "2.0.0"), (1, "1.0.0")])
        done = daemon.ctl("rollback", "a")
        self.assertEqual(done.returncode, 5)
        self.assertIn("no_such_plugin", daemon.ctl("rollback", "a", "--json").stdout)

    def test_what_was_loaded_by_a_call_has_none(self):
        daemon = self.with_versions(1)
        place = os.path.join(daemon.place, "b.so")
        self.put(daemon, 2, "b")
        os.rename(daemon.library_path("b"), place)
        daemon.remove("b")
        self.assertEqual(daemon.ctl("load", place).returncode, 0)
        self.assertEqual(self.numbers(daemon, "b"), [])
        done = daemon.ctl("rollback", "b")
        self.assertEqual(done.returncode, 5)
        self.assertIn("was loaded by a call", done.stderr)


class Back(Case):
    def test_the_generation_before_runs_at_once_and_is_not_probed_again(self):
        daemon = self.with_versions(3)
        probes = self.workers(daemon, "probe")
        reply = daemon.call("Rollback", name="a", reason="it crashes")
        self.assertEqual((reply["number"], reply["changed"]), (2, True))
        self.assertEqual(
            (reply["plugin"]["version"], reply["plugin"]["state"]), ("2.0.0", "active")
        )
        self.assertEqual(reply["plugin"]["rolled_back"]["reason"], "it crashes")
        self.assertEqual(self.workers(daemon, "probe"), probes)
        self.assertEqual(self.current(daemon), 2)
        self.assertEqual(daemon.call("Rollback", name="a")["number"], 1)
        self.assertEqual(self.version(daemon), "1.0.0")
        # Nothing is before that, and a number leads forward, too.
        with self.assertRaises(VarlinkError) as caught:
            daemon.call("Rollback", name="a")
        self.assertEqual(caught.exception.code, "no_earlier_generation")
        self.assertEqual(daemon.call("Rollback", name="a", number=3)["plugin"]["version"], "3.0.0")
        self.assertEqual(self.workers(daemon, "probe"), probes)

    def test_nothing_that_is_installed_replaces_it_until_it_is_released(self):
        daemon = self.with_versions(2)
        daemon.call("Rollback", name="a")
        self.put(daemon, 3)
        self.assertEqual(daemon.call("Reload")["changed"], [])
        for end in (daemon.stop, daemon.kill):
            self.assertEqual(self.version(daemon), "1.0.0")
            end()
            self.put(daemon, 4)
            daemon.start()
        self.assertEqual(self.version(daemon), "1.0.0")
        reply = daemon.call("Rollback", name="a", release=True)
        self.assertEqual((reply["changed"], reply["number"]), (True, None))
        self.assertEqual(reply["plugin"]["version"], "4.0.0")
        self.assertIsNone(reply["plugin"]["rolled_back"])
        self.assertEqual(self.current(daemon), 3)
        self.assertFalse(daemon.call("Rollback", name="a", release=True)["changed"])
        daemon.restart()
        self.assertEqual(self.version(daemon), "4.0.0")

    def test_a_manifest_that_asks_for_another_library_does_not_stop_it(self):
        daemon = self.with_versions(1)
        self.put(daemon, 2)
        digest = daemon.call("Reload") and daemon.call("Info", name="a")["plugin"]["sha256"]
        daemon.manifest("a", sha256=digest)
        daemon.call("Reload")
        self.assertEqual(daemon.call("Rollback", name="a")["plugin"]["version"], "1.0.0")
        daemon.manifest("a", priority_offset=-3, sha256=digest)
        daemon.call("Reload")
        self.assertEqual(self.version(daemon), "1.0.0")
        (only,) = daemon.call("Kernels", operation=SQUARE)["kernels"]
        self.assertEqual(only["priority"], 7)

    def test_disabled_is_disabled_also_of_an_earlier_generation(self):
        daemon = self.with_versions(2)
        daemon.call("Disable", name="a")
        self.assertEqual(daemon.call("Rollback", name="a")["plugin"]["state"], "disabled")
        self.assertIsNone(daemon.select(SQUARE)["selected"])
        daemon.call("Enable", name="a")
        self.assertEqual(self.version(daemon), "1.0.0")

    def test_applications_that_run_follow_both_ways(self):
        daemon = self.with_versions(2)
        with Application(daemon.socket) as app:
            self.assertEqual(app.ask("run"), 5)
            daemon.call("Rollback", name="a")
            self.assertEqual(app.ask("run"), 4)
            daemon.call("Rollback", name="a", number=2)
            self.assertEqual(app.ask("run"), 5)
            daemon.call("Rollback", name="a", number=1)
            self.put(daemon, 3)
            daemon.call("Reload")
            self.assertEqual(app.ask("run"), 4)
            daemon.call("Rollback", name="a", release=True)
            self.assertEqual(app.ask("run"), 6)

    def test_one_that_needs_something_else_now_is_probed_again(self):
        daemon = self.with_versions(2)
        generation = self.entry(daemon, 1)
        daemon.stop()
        os.unlink(os.path.join(daemon.cache_dir, "probe"))
        daemon.start()
        daemon.settle()
        probes = self.workers(daemon, "probe")
        reply = daemon.call("Rollback", name="a")
        self.assertEqual(reply["plugin"]["state"], "active")
        self.assertEqual(daemon.call("Info", name="a")["plugin"]["stored"], generation)
        self.assertEqual(self.workers(daemon, "probe"), probes + 1)


class Told(Case):
    def test_list_info_status_and_history_say_so(self):
        daemon = self.with_versions(2)
        done = daemon.ctl("rollback", "a", "1", "--reason", "wrong sums")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "a: rolled back to 1, version 1.0.0\na: active\n")
        sentence = "rolled back to generation 1: wrong sums"
        for words in (["list"], ["info", "a"], ["status"], ["history", "a"]):
            self.assertIn(sentence, daemon.ctl(*words).stdout, words)
        self.assertEqual(daemon.ctl("history", "a", "--quiet").stdout, "2\n1\n")
        (rolled,) = daemon.call("Status")["rolled_back"]
        self.assertEqual((rolled["plugin"], rolled["number"]), ("a", 1))
        self.assertEqual((rolled["uid"], rolled["reason"]), (os.getuid(), "wrong sums"))
        self.assertLess(abs(rolled["at"] - time.time()), 300)
        self.assertIn("a generation 1: rolled back by uid", daemon.log())
        done = daemon.ctl("rollback", "a", "--release")
        self.assertEqual(done.stdout, "a: released, its manifest's library runs\na: active\n")
        for words in (["list"], ["info", "a"], ["status"], ["history", "a"]):
            self.assertNotIn(sentence, daemon.ctl(*words).stdout, words)

    def test_those_who_watch_learn_it(self):
        daemon = self.with_versions(2)
        with daemon.client() as watcher:
            replies = watcher.call_more("Monitor", {})
            next(replies)
            daemon.call("Rollback", name="a", reason="slow")
            seen = {}
            while "rollback" not in seen or "active" not in seen:
                event = next(replies)["event"]
                seen[event["to"] if event["kind"] == "state" else event["kind"]] = event
            self.assertEqual(seen["rollback"]["object"], "generation 1")
            self.assertEqual(seen["rollback"]["message"], "slow")
            self.assertEqual(seen["rollback"]["uid"], os.getuid())
            daemon.call("Rollback", name="a", release=True)
            while "release" not in seen:
                event = next(replies)["event"]
                seen[event["kind"]] = event
            self.assertEqual(seen["release"]["name"], "a")

    def test_wrong_words_are_refused_and_change_nothing(self):
        daemon = self.with_versions(2)
        cases = [
            (["rollback", "a", "7"], 5, "has no generation 7"),
            (["rollback", "a", "0"], 2, "no number of a generation"),
            (["rollback", "a", "two"], 2, "no number of a generation"),
            (["rollback", "b"], 5, "b"),
            (["rollback", "a/square"], 2, ""),
            (["rollback", "a", "1", "--release"], 2, "--release"),
            (["rollback", "a", "--release", "--reason", "x"], 2, "--release"),
            (["history", "nobody"], 5, "nobody"),
            (["history"], 2, ""),
        ]
        for words, status, text in cases:
            with self.subTest(words=words):
                done = daemon.ctl(*words)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)
        self.assertEqual(self.version(daemon), "2.0.0")
        self.assertEqual(daemon.call("Status")["rolled_back"], [])

    def test_a_number_is_offered_to_shells(self):
        daemon = self.with_versions(2)
        done = daemon.ctl("complete", "--", "rollback", "a", "")
        self.assertEqual(done.stdout, "2 -- 2.0.0\n1 -- 1.0.0\n")


class Lost(Case):
    def test_a_copy_that_is_damaged_or_gone_is_named_and_another_runs(self):
        def damage(path):
            with open(path, "rb") as file:
                data = bytearray(file.read())
            data[len(data) // 2] ^= 1
            os.chmod(path, 0o644)
            with open(path, "wb") as file:
                file.write(data)

        for harm in (damage, os.unlink, lambda path: os.truncate(path, 100)):
            with self.subTest(harm=harm):
                daemon = self.with_versions(3)
                os.chmod(os.path.dirname(self.entry(daemon, 1)), 0o755)
                os.chmod(self.entry(daemon, 1), 0o644)
                harm(self.entry(daemon, 1))
                done = daemon.ctl("rollback", "a", "1")
                self.assertEqual(done.returncode, 1, done.stdout)
                plugin = daemon.plugins()["a"]
                self.assertEqual(plugin["state"], "missing")
                self.assertEqual(plugin["reason"]["code"], "generation_lost")
                self.assertRegex(plugin["reason"]["message"], "--release")
                self.assertIsNone(daemon.select(SQUARE)["selected"])
                self.assertEqual(daemon.ctl("rollback", "a", "2").returncode, 0)
                self.assertEqual(self.version(daemon), "2.0.0")
                daemon.close()

    def test_a_copy_that_is_damaged_while_it_runs_does_not_come_back_as_another(self):
        daemon = self.with_versions(2)
        daemon.call("Rollback", name="a")
        path = self.entry(daemon, 1)
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            file.write(b"\xff\x00\xff")

        def is_lost():
            daemon.call("Reload")
            plugin = daemon.plugins()["a"]
            return plugin["reason"] and plugin["reason"]["code"] == "generation_lost"

        wait_until(is_lost, "the loss to be noticed")
        self.assertEqual(len(daemon.call("History", name="a")["generations"]), 2)
        names = os.listdir(os.path.join(daemon.state_dir, "store"))
        self.assertTrue([n for n in names if re.match(r"\.damaged-[0-9a-f]{64}$", n)], names)
        daemon.call("Rollback", name="a", release=True)
        self.assertEqual(self.version(daemon), "2.0.0")


if __name__ == "__main__":
    unittest.main()
