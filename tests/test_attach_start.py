# SPDX-License-Identifier: MIT
"""Attaching to a plugind that has just started: never to half a scan."""

import os
import select
import unittest

from attached import Application
from harness import Daemon, wait_until

# A probe that goes on when somebody opens the other end.
WAITS = """
#include <fcntl.h>
__attribute__((constructor)) static void wait_for_it(void)
{
	close(open("%s", O_RDONLY));
}
"""


def names_in(application):
    """The kernels' names in the view that came with the first reply."""
    view = application.fds[application.first["parameters"]["view"]]
    return os.pread(view, os.fstat(view).st_size, 0)


class Start(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.gate = os.path.join(self.daemon.place, "gate")
        os.mkfifo(self.gate)

    def await_the_probe(self):
        wait_until(lambda: "b" in self.daemon.call("Status")["pending"], "the probe of b")

    def attach(self, **parameters):
        application = Application(self.daemon.socket, **parameters)
        self.addCleanup(application.close)
        return application

    def start_with_a_probe_that_waits(self):
        self.daemon.add("a")
        self.daemon.add("b", before=WAITS % self.gate)
        self.daemon.start()

    def open_the_gate(self):
        os.close(os.open(self.gate, os.O_WRONLY))

    def test_the_first_scan_is_waited_for(self):
        self.start_with_a_probe_that_waits()
        application = self.attach(wait=False, settle_ms=60000)
        self.await_the_probe()
        self.assertEqual(select.select([application.socket], [], [], 0)[0], [])
        self.open_the_gate()
        application.take()
        self.assertIn(b"square", names_in(application))
        self.assertEqual(self.daemon.call("Status")["pending"], [])

    def test_no_longer_than_is_asked_for(self):
        self.start_with_a_probe_that_waits()
        for parameters in ({}, {"settle_ms": 0}, {"settle_ms": 1}):
            with self.subTest(parameters=parameters):
                self.assertNotIn("error", self.attach(**parameters).first)
        self.await_the_probe()
        self.open_the_gate()

    def test_the_table_of_the_last_run_is_enough(self):
        self.daemon.add("a")
        self.daemon.start()
        self.daemon.settle()
        self.daemon.stop()
        self.start_with_a_probe_that_waits()
        application = self.attach(settle_ms=60000)
        self.assertIn(b"square", names_in(application))
        self.await_the_probe()
        self.open_the_gate()

    def test_a_table_that_is_older_than_what_was_seen_is_not(self):
        """plugind was killed before it had kept a later one."""
        self.daemon.add("a")
        self.daemon.start()
        self.daemon.settle()
        self.daemon.stop()
        self.daemon.start()
        self.daemon.settle()
        with self.attach(settle_ms=60000) as application:
            kept = application.generation
        self.daemon.stop()
        self.start_with_a_probe_that_waits()
        self.await_the_probe()
        ahead = self.attach(wait=False, settle_ms=60000, boot="0" * 32, seen=kept + 2)
        same = self.attach(settle_ms=60000, boot="0" * 32, seen=kept)
        self.assertIn(b"square", names_in(same))
        self.assertEqual(select.select([ahead.socket], [], [], 0)[0], [])
        self.open_the_gate()
        ahead.take()
        self.assertEqual(self.daemon.call("Status")["pending"], [])
        self.assertGreater(ahead.generation, kept + 2)


if __name__ == "__main__":
    unittest.main()
