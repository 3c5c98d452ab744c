# SPDX-License-Identifier: MIT
"""`pluginctl info FILE.so`: a library looked at without a daemon."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from pluginctl import BUILD, PLUGINCTL, Case, call, environment

REFERENCE = os.path.abspath(os.path.join(BUILD, "plugins", "reference.so"))

# Stands beside pluginctl as its plugin-worker: $ANSWER is a file that it prints.
WORKER = """#!/bin/sh
[ "$1" = --identify ] || exit 9
echo "$2" >>"$ASKED"
cat "$ANSWER"
[ -z "$HANG" ] || read line <"$HANG"
exit "${STATUS:-0}"
"""


class Files(Case):
    """With a worker that says what the test wrote down."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="files.")
        self.program = shutil.copy(PLUGINCTL, self.path("pluginctl"))
        self.library = self.path("some.so")
        for name, text in (("plugin-worker", WORKER), ("some.so", "ELF"), ("answer", "")):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(self.path("plugin-worker"), 0o755)

    def tearDown(self):
        self.place.cleanup()

    def path(self, name):
        return os.path.join(self.place.name, name)

    def info(self, answer, *args, **env):
        with open(self.path("answer"), "wb") as file:
            file.write(answer)
        env = environment(
            ANSWER=self.path("answer"),
            ASKED=self.path("asked"),
            KPLUG_SOCKET="/nowhere/plugind.sock",
            **env,
        )
        return call("info", self.library, *args, program=self.program, env=env)

    def test_a_worker_that_says_nothing_exits_7(self):
        self.assertIn("exited with 3", self.complaint(self.info(b"", STATUS="3"), 7))
        self.error(self.info(b"", "--json", STATUS="3"), 7, "worker_failed")
        with open(self.path("asked"), encoding="utf-8") as file:
            self.assertEqual(set(file.read().split()), {self.library})

    def test_garbage_of_a_worker_exits_7(self):
        for answer in (b"garbage", b"{", b"[]", b"{}", b"\xff", b'{"state": 5}'):
            with self.subTest(answer=answer):
                self.complaint(self.info(answer), 7)
                self.error(self.info(answer, "--json"), 7)

    def test_more_than_the_bound_of_a_worker_exits_7(self):
        self.error(self.info(b" " * (17 << 20), "--json"), 7, "json_too_large")

    def test_a_note_as_large_as_notes_may_be_does_not_make_the_answer_too_large(self):
        done = subprocess.run(
            [os.path.join(BUILD, "plugin-worker"), "--identify", REFERENCE],
            capture_output=True,
            check=True,
            timeout=60,
        )
        verdict = json.loads(done.stdout)
        verdict["note"]["description"] = "x" * (4 << 20)
        document = self.document(self.info(json.dumps(verdict).encode(), "--json"))
        self.assertEqual(len(document["plugin"]["description"]), 4 << 20)

    def test_a_file_is_not_called_unclaimed_nor_probed(self):
        text = self.good(call("info", REFERENCE))
        self.assertRegex(text, r"(?m)^state +not probed \(a file\)$")
        self.assertNotRegex(text, r"(?m)^probe ")

    def test_a_worker_that_hangs_is_killed_and_exits_6(self):
        os.mkfifo(self.path("hang"))
        done = self.info(b"", "--json", "--timeout", "0.1", HANG=self.path("hang"))
        self.error(done, 6, "timed_out")

    def test_without_a_worker_it_exits_7_and_names_where_it_should_be(self):
        os.unlink(self.path("plugin-worker"))
        error = self.error(self.info(b"", "--json"), 7, "no_worker")
        self.assertIn("plugin-worker", error["object"])

    def test_a_file_that_is_not_there_exits_5(self):
        self.complaint(call("info", "/nowhere/x.so"), 5)
        self.error(call("info", "./x.so", "--json"), 5, "no_such_plugin")


if __name__ == "__main__":
    unittest.main()
