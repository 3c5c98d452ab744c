# SPDX-License-Identifier: MIT
"""A worker, or pluginctl, whose memory is refused at one of its allocations: it says so. It is
never the plugin's fault, and nothing of it is remembered."""

import json
import os
import re
import subprocess
import unittest

from harness import BUILD, LONG, SANITIZER, Daemon, kernel, wait_until

SCARCE = os.path.join(BUILD, "tests", "scarce.so")
PLUGINCTL = os.path.join(BUILD, "pluginctl")
WORKER = os.path.join(BUILD, "plugin-worker")
REFERENCE = os.path.join(BUILD, "plugins", "reference.so")
# How many of the allocations are refused, one a run, and up to which one.
RUNS = 1000 if LONG else 24
MOST = 1000
# What may be said of a plugin that could not be looked at.
CODES = {"no_memory", "sandbox_failed", "worker_lost", "launcher_failed"}

WRAPPER = f"""#!/bin/sh
export LD_PRELOAD={SCARCE} SCARCE_PROGRAM=plugin-worker SCARCE_AT=%d
exec {WORKER} "$@"
"""


def scarce(program, at):
    """The environment in which its allocation `at` fails."""
    return {**os.environ, "LD_PRELOAD": SCARCE, "SCARCE_PROGRAM": program, "SCARCE_AT": str(at)}


def numbers(most):
    return sorted({1 + run * most // RUNS for run in range(RUNS)})


def run(command, env):
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def told(text):
    """A verdict without what differs from run to run."""
    verdict = json.loads(text)
    verdict.pop("probe_ms", None)
    return verdict


@unittest.skipIf(SANITIZER in ("address", "thread"), "a sanitizer has a heap of its own")
class Worker(unittest.TestCase):
    def test_what_it_says_of_a_file_is_right_or_that_memory_is_exhausted(self):
        command = [WORKER, "--identify", REFERENCE]
        right = told(run(command, dict(os.environ)).stdout)
        self.assertEqual(right["state"], "active")
        for at in numbers(MOST):
            with self.subTest(allocation=at):
                done = run(command, scarce("plugin-worker", at))
                if done.returncode != 0:
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertIn("plugin-worker: ", done.stderr)
                    continue
                verdict = told(done.stdout)
                if verdict["state"] == "active":
                    self.assertEqual(verdict, right)
                else:
                    self.assertEqual(verdict["state"], "failed")
                    self.assertIn(verdict["code"], CODES)

    def starve(self, daemon, at):
        """By workers that are refused this allocation it is active, or tried again with a reason
        that is not its own; by others, afterwards, it is active."""
        worker = os.path.join(daemon.place, "plugin-worker")
        with open(worker, "w", encoding="utf-8") as file:
            file.write(WRAPPER % at)
        os.chmod(worker, 0o755)
        daemon.options = ["--worker", worker]
        daemon.start()

        def state():
            plugins = daemon.call("List", all=True)["plugins"]
            return plugins[0]["state"] if plugins else "pending"

        def again():
            return re.findall(r"\[(\w+)\]; trying again", daemon.log())

        wait_until(lambda: state() == "active" or again(), "a verdict, or another try")
        self.assertLessEqual(set(again()), CODES)
        self.assertIn(state(), ("active", "pending"))
        daemon.stop()
        daemon.options = []
        daemon.start()
        self.assertEqual(daemon.plugins()["a"]["state"], "active")
        daemon.stop()

    def test_no_verdict_of_a_starved_worker_is_the_plugins_or_outlives_it(self):
        """The launcher makes some 1,200 before its workers go on counting."""
        for at in range(1200, 2000, 1 if LONG else 90):
            with self.subTest(allocation=at), Daemon(start=False) as daemon:
                daemon.add("a", [kernel()])
                self.starve(daemon, at)


@unittest.skipIf(SANITIZER in ("address", "thread"), "a sanitizer has a heap of its own")
class Tool(unittest.TestCase):
    def test_a_command_prints_all_or_says_in_a_sentence_why_not(self):
        with Daemon(start=False) as daemon:
            daemon.add("a", [kernel()])
            daemon.start()
            for words in (["list"], ["info", "a", "--json"], ["status"], ["why", "gemm/mm"]):
                command = [PLUGINCTL, "--socket", daemon.socket, *words]
                right = run(command, dict(os.environ))
                for at in numbers(400):
                    with self.subTest(command=words, allocation=at):
                        done = run(command, scarce("pluginctl", at))
                        self.assertGreaterEqual(done.returncode, 0, done.stderr)
                        if done.returncode == right.returncode:
                            continue
                        # With --json the error is the document.
                        said = done.stdout if "--json" in words else done.stderr
                        self.assertRegex(said, r"memory|ended the connection")


if __name__ == "__main__":
    unittest.main()
