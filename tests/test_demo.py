# SPDX-License-Identifier: MIT
"""The demo does what the README says and leaves nothing behind."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("KPLUG_BUILD", "build")


class Demo(unittest.TestCase):
    def setUp(self):
        # Not below $TMPDIR, which other users need not be able to enter.
        self.place = tempfile.TemporaryDirectory(prefix="kplug-demo-test.", dir="/tmp")
        self.addCleanup(self.place.cleanup)
        os.chmod(self.place.name, 0o777)

    def run_demo(self, **options):
        env = dict(os.environ, TMPDIR=self.place.name)
        return subprocess.run(
            ["sh", os.path.join(HERE, "demo"), BUILD],
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
            check=False,
            **options,
        )

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for command in ("list", "info", "select", "why", "bench", "disable", "enable"):
            self.assertIn(f"$ pluginctl {command}", done.stdout)
        last = done.stdout.rstrip().split("\n")[-1]
        match = re.match(r"# done: (\S+), then (\S+) while it was off, then \1 again", last)
        self.assertIsNotNone(match, last)
        self.assertNotEqual(match.group(1), match.group(2))
        self.assertEqual(os.listdir(self.place.name), [])
        self.assertEqual(self.leftovers(), [])

    def leftovers(self):
        """Processes that were started with this test's directory in their arguments."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    text = file.read()
            except OSError:
                continue
            if self.place.name.encode() in text:
                found.append(text)
        return found

    def test_demo_shows_the_main_job_and_leaves_nothing(self):
        self.check(self.run_demo())

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_demo_works_for_an_ordinary_user(self):
        # nobody cannot enter a private checkout: hand over a copy of the build.
        copy = os.path.join(self.place.name, "build")
        subprocess.run(["mkdir", "-m", "755", copy], check=True)
        for part in ("plugind", "pluginctl", "plugin-worker", "plugins", "families", "schemas"):
            subprocess.run(["cp", "-r", os.path.join(BUILD, part), copy], check=True)
        subprocess.run(["cp", os.path.join(HERE, "demo"), copy + "/demo"], check=True)
        subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
        scratch = os.path.join(self.place.name, "scratch")
        subprocess.run(["mkdir", "-m", "777", scratch], check=True)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            + ["sh", copy + "/demo", copy],
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            env=dict(os.environ, TMPDIR=scratch, HOME=scratch),
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(os.listdir(scratch), [])
        subprocess.run(["rm", "-rf", copy, scratch], check=True)
        self.assertEqual(self.leftovers(), [])


if __name__ == "__main__":
    unittest.main()
