# SPDX-License-Identifier: MIT
"""What an application says that it has seen brings generations to their end for nobody."""

import json
import os
import subprocess
import unittest

from attached import Application
from harness import HERE, Daemon, let_in

OTHER = 65508
LEAP = 1 << 24
MOST = 1 << 53
# Attaches as somebody who may only look; prints the code of the refusal or "attached".
ATTACH = """
import sys; sys.path.insert(0, sys.argv[1])
from attached import Application
with Application(sys.argv[2], seen=int(sys.argv[3]), boot="another") as application:
    print(application.first["parameters"].get("code", "attached"))
"""


class Leaps(unittest.TestCase):
    def daemon(self, **options):
        daemon = Daemon(start=False, **options)
        self.addCleanup(daemon.close)
        let_in(daemon)
        daemon.start()
        daemon.add("good")
        daemon.call("Reload")
        daemon.settle()
        return daemon

    def generation(self, daemon):
        return daemon.call("Clients")["generation"]

    def attach(self, daemon, seen):
        done = subprocess.run(
            ["/usr/bin/python3", "-c", ATTACH, HERE, daemon.socket, str(seen)],
            user=OTHER,
            group=OTHER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_who_may_only_look_raises_them_by_little(self):
        daemon = self.daemon(system=True)
        for seen in (MOST - 1, MOST, 1 << 40, self.generation(daemon) + LEAP + 1000):
            with self.subTest(seen=seen):
                before = self.generation(daemon)
                self.assertEqual(self.attach(daemon, seen), "bad_generation")
                self.assertEqual(self.generation(daemon), before)
        for more in (0, 1, 1000, LEAP - 1000):
            with self.subTest(more=more):
                before = self.generation(daemon)
                self.assertEqual(self.attach(daemon, before + more), "attached")
                self.assertEqual(self.generation(daemon), before + more + 1)

    def test_the_last_one_is_no_end(self):
        daemon = self.daemon()
        with Application(daemon.socket, seen=MOST - 1, boot="another") as application:
            self.assertEqual(application.generation, MOST)
        for _ in range(3):
            last = self.generation(daemon)
            with Application(daemon.socket, seen=last, boot="another") as application:
                self.assertNotIn("error", json.dumps(application.first))
                self.assertGreater(application.generation, last)
            daemon.ctl("disable", "good")
            daemon.ctl("enable", "good")


if __name__ == "__main__":
    unittest.main()
