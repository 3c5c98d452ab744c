# SPDX-License-Identifier: MIT
"""plugind whose memory is refused once, at one of all its allocations: it goes on, or ends
with a reason; what it has acknowledged holds."""

import os
import signal
import unittest

from harness import BUILD, LONG, SANITIZER, Daemon, kernel, wait_until
from varlink import VarlinkError

SCARCE = os.path.join(BUILD, "tests", "scarce.so")
# How many of the allocations are refused, one a run, and up to which one.
RUNS = 2000 if LONG else 24
MOST = 6000


class Talk:
    """What was acknowledged, by calls that may fail for want of memory."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.disabled, self.pinned = None, None

    def try_to(self, method, **parameters):
        """The reply, or None: it failed, and said so, or nobody was there."""
        try:
            return self.daemon.call(method, parameters)
        except (VarlinkError, OSError):
            return None

    def say(self):
        self.try_to("Reload")
        self.try_to("Status", wait=True)
        self.try_to("List", all=True)
        if self.try_to("Disable", name="a", reason="hot"):
            self.disabled = True
        if self.try_to("Pin", operation="elementwise/square", choice="b/square"):
            self.pinned = True
        self.try_to("Explain", request={"operation": "elementwise/square"})
        self.try_to("Info", name="b")
        self.try_to("Metrics")


@unittest.skipIf(SANITIZER in ("address", "thread"), "a sanitizer has a heap of its own")
class NoMemory(unittest.TestCase):
    def plugins(self, daemon):
        daemon.add("a", [kernel(priority=12)])
        daemon.add("b", [kernel(priority=11)])

    def start(self, daemon, at):
        """False: it did not, and said why."""
        daemon.env.update(LD_PRELOAD=SCARCE, SCARCE_PROGRAM="plugind", SCARCE_AT=str(at))
        daemon.spawn()

        def is_there():
            if daemon.process.poll() is not None:
                return True
            try:
                daemon.client().close()
                return True
            except OSError:
                return False

        wait_until(is_there, "plugind, or its end")
        return daemon.process.poll() is None

    def end(self, daemon):
        """Its status: an orderly one, whatever was refused."""
        process, daemon.process = daemon.process, None
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        self.assertIn(status, (0, 1, 2), daemon.log())
        for key in ("LD_PRELOAD", "SCARCE_AT", "SCARCE_PROGRAM"):
            del daemon.env[key]
        return status

    def refuse(self, at):
        with Daemon(start=False) as daemon:
            self.plugins(daemon)
            talk = Talk(daemon)
            if self.start(daemon, at):
                talk.say()
            else:
                self.assertIn("memory is exhausted", daemon.log())
            self.end(daemon)
            daemon.start()
            state = daemon.plugins()["a"]["state"]
            pins = [pin["choice"] for pin in daemon.call("Pins")["pins"]]
            # More may hold than was acknowledged, never less.
            if talk.disabled:
                self.assertEqual(state, "disabled")
            if talk.pinned:
                self.assertEqual(pins, ["b/square"])

    def test_whatever_is_refused_it_does_not_crash_and_keeps_its_word(self):
        for run in range(RUNS):
            at = 1 + run * MOST // RUNS
            with self.subTest(allocation=at):
                self.refuse(at)


if __name__ == "__main__":
    unittest.main()
