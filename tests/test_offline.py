# SPDX-License-Identifier: MIT
"""`pluginctl --offline`: answers with no plugind, and leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import BUILD, CRASH, HANG, PATIENCE_S, Daemon, children, is_alive, kernel, wait_until

PLUGINCTL = os.path.join(BUILD, "pluginctl")
SQUARE = "elementwise/square"


class Offline(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="kplug-off.", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.place)
        # Never started: it makes plugins, and names the directories.
        self.made = Daemon(start=False)
        self.addCleanup(self.made.close)
        self.temporary = os.path.join(self.place, "tmp")
        os.mkdir(self.temporary)
        self.env = {k: v for k, v in os.environ.items() if k != "KPLUG_SOCKET"}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            self.env[f"XDG_{name}_HOME"] = os.path.join(self.place, name.lower())
        self.env["TMPDIR"] = self.temporary

    def directories(self):
        made = self.made
        return ["--manifest-dir", made.manifest_dirs[0], "--plugin-dir", made.plugin_dir]

    def offline(self, *words, status=0):
        done = subprocess.run(
            [PLUGINCTL, "--offline", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.env,
            timeout=PATIENCE_S,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(os.listdir(self.temporary), [])
        return done

    def document(self, *words, status=0):
        return json.loads(self.offline("--json", *words, status=status).stdout)

    def test_it_answers_what_a_daemon_would(self):
        self.made.add("good", kernels=[kernel("vector")])
        self.made.add("better", kernels=[kernel("vector", priority=12)])
        self.made.add("broken", before=CRASH)
        where = self.directories()
        plugins = {p["name"]: p for p in self.document("list", *where)["plugins"]}
        self.assertEqual(
            {name: p["state"] for name, p in plugins.items()},
            {"good": "active", "better": "active", "broken": "failed"},
        )
        self.assertEqual(self.document("select", SQUARE, *where)["selected"], "better/vector")
        self.assertEqual(len(self.document("why", SQUARE, *where)["candidates"]), 3)
        info = self.document("info", "broken", *where)["plugin"]
        self.assertEqual(info["reason"]["code"], "killed_by_signal")
        self.assertEqual(len(self.document("kernels", *where)["kernels"]), 3)
        self.made.start()
        self.made.settle()
        for words in (["kernels"], ["select", SQUARE], ["why", SQUARE]):
            online = json.loads(self.made.ctl("--json", *words).stdout)
            self.assertEqual(self.document(*words, *where), online)

    def test_options_stand_before_or_behind_the_command(self):
        self.made.add("good")
        for words in (
            [*self.directories(), "list", "-q"],
            ["list", *self.directories(), "-q"],
            [f"--manifest-dir={self.made.manifest_dirs[0]}", "list", "-q"] + self.directories()[2:],
        ):
            self.assertEqual(self.offline(*words).stdout, "good\n")

    def test_a_daemon_that_runs_is_neither_asked_nor_in_the_way(self):
        self.made.add("good")
        self.made.start()
        self.made.settle()
        self.made.call("Disable", name="good")
        both = [*self.directories(), "--state-dir", self.made.state_dir]
        plugins = self.document("list", *self.directories())["plugins"]
        self.assertEqual([p["state"] for p in plugins], ["active"])
        self.assertEqual(self.document("list", *both)["plugins"][0]["state"], "disabled")
        self.assertEqual(self.made.call("Status")["clients"], 1)

    def test_decisions_that_may_be_read_hold(self):
        self.made.add("good")
        self.made.start()
        self.made.call("Disable", name="good", reason="too hot")
        self.made.stop()
        where = [*self.directories(), "--state-dir", self.made.state_dir]
        plugin = self.document("list", *where)["plugins"][0]
        self.assertEqual(plugin["state"], "disabled")
        self.assertIn("too hot", plugin["reason"]["message"])
        self.offline("select", SQUARE, *where, status=1)

    def test_decisions_that_may_not_be_read_are_said(self):
        self.made.add("good")
        state = os.path.join(self.place, "secret")
        os.mkdir(state)
        # Root may read everything: what is no file cannot be read by anybody.
        os.mkdir(os.path.join(state, "decisions.json"))
        where = [*self.directories(), "--state-dir", state]
        done = self.offline("--json", "list", *where)
        self.assertIn("warning: decisions are not applied", done.stderr)
        self.assertEqual(json.loads(done.stdout)["plugins"][0]["state"], "active")
        self.assertEqual(self.offline("list", "-q", *where).stderr, "")
        none = self.offline("list", *self.directories(), "--state-dir", self.place)
        self.assertNotIn("warning", none.stderr)

    def test_decisions_beyond_the_bound_are_said_to_be_where_they_are(self):
        state = os.path.join(self.place, "large")
        path = os.path.join(state, "decisions.json")
        os.mkdir(state)
        for mib in (5, 63, 65):
            with open(path, "w", encoding="utf-8") as file:
                file.write(" " * (mib << 20))
            done = self.offline("list", *self.directories(), "--state-dir", state)
            self.assertIn(f"not here): {path} is larger than 4194304 bytes", done.stderr)

    def test_a_newer_state_is_refused_and_says_why(self):
        os.mkdir(os.path.join(self.place, "newer"))
        path = os.path.join(self.place, "newer", "decisions.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "kplug-decisions/9"}, file)
        done = self.offline(
            "list", *self.directories(), "--state-dir", os.path.dirname(path), status=7
        )
        self.assertIn("kplug-decisions/9", done.stderr)

    def test_what_cannot_start_says_why(self):
        for words, status, text in (
            (["--families-dir", "/nonexistent"], 7, "/nonexistent"),
            (["--platform", "/nonexistent"], 7, "/nonexistent"),
        ):
            done = self.offline("list", *words, *self.directories(), status=status)
            self.assertIn(text, done.stderr)
            self.assertIn("did not start", done.stderr)

    def test_changes_are_not_for_it(self):
        for words in (["disable", "x"], ["reload"], ["mask", "x"], ["install", "x.so"]):
            self.assertIn("--offline", self.offline(*words, status=2).stderr)
        self.assertIn("--socket", self.offline("--socket", "/x", "list", status=2).stderr)
        done = subprocess.run(
            [PLUGINCTL, "list", "--manifest-dir", "/x"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("--offline", done.stderr)

    def test_nothing_outlives_a_killed_command(self):
        self.made.add("hung", before=HANG)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            command = subprocess.Popen(
                [PLUGINCTL, "--offline", "list", *self.directories()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.env,
            )
            try:
                family = wait_until(
                    lambda: [p for p in children(command.pid) if len(children(command.pid)) > 2],
                    "the private plugind and its workers",
                )
            finally:
                command.send_signal(number)
                command.wait(PATIENCE_S)
            wait_until(lambda: not any(is_alive(p) for p in family), "the end of all")
            wait_until(lambda: os.listdir(self.temporary) == [], "its directory to go")


class Transient(unittest.TestCase):
    def test_it_ends_with_its_last_client(self):
        with Daemon(options=["--transient"]) as daemon:
            process = daemon.process
            self.assertEqual(process.wait(PATIENCE_S), 0)
            self.assertIn("no client is left", daemon.log())
            self.assertFalse(os.path.exists(daemon.socket))

    def test_it_stays_for_those_that_are_there(self):
        with Daemon(options=["--transient"], start=False) as daemon:
            daemon.spawn()
            wait_until(lambda: os.path.exists(daemon.socket), "the socket")
            with daemon.client() as one:
                with daemon.client() as other:
                    other.call("Status", {})
                for _ in range(20):
                    one.call("Status", {"wait": True})
                self.assertIsNone(daemon.process.poll())
            self.assertEqual(daemon.process.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main()
