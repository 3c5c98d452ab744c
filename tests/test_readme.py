# SPDX-License-Identifier: MIT
"""README's block for the build tree can be pasted as it stands."""

import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("KPLUG_BUILD", "build"))


def block(title):
    """The indented lines below a heading."""
    with open(os.path.join(os.path.dirname(HERE), "README"), encoding="utf-8") as file:
        text = file.read()
    body = text.split(f"\n{title}\n{'-' * len(title)}\n", 1)[1]
    lines = re.match(r"(?:\t.*\n|\n)+", body).group()
    return "\n".join(line.strip() for line in lines.split("\n"))


class Readme(unittest.TestCase):
    def test_the_block_for_the_build_tree_can_be_pasted(self):
        commands = block("Run it from the build tree")
        self.assertIn("build/plugind", commands)
        with tempfile.TemporaryDirectory(prefix="kplug-readme.") as place:
            build = os.path.join(place, "build")
            os.mkdir(build)
            for part in ("plugind", "pluginctl"):
                os.symlink(os.path.join(BUILD, part), os.path.join(build, part))
            xdg = {f"XDG_{n}_HOME": os.path.join(place, n) for n in ("STATE", "CACHE", "CONFIG")}
            for shell in ("sh", "bash"):
                with self.subTest(shell=shell):
                    done = subprocess.run(
                        # What is built already is not built again.
                        [shell, "-e", "-c", "make() { :; }\n" + commands + "wait $! || :\n"],
                        cwd=place,
                        env=dict(os.environ, **xdg),
                        stdin=subprocess.DEVNULL,
                        capture_output=True,
                        text=True,
                        timeout=60,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertRegex(done.stdout, r"(?m)^reference +\S+ +active +6$")
            self.assertNotIn("plugind.sock", os.listdir(build))


if __name__ == "__main__":
    unittest.main()
