# SPDX-License-Identifier: MIT
"""Every row of the case tables has a test, or a reason why not yet."""

import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Cases(unittest.TestCase):
    def test_no_row_is_forgotten(self):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(HERE, "list-cases")],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
