# SPDX-License-Identifier: MIT
"""Slots are the application's to write: whatever is there, plugind goes on, and blames within
bounds."""

import os
import random
import signal
import struct
import unittest

from attached import SLOTS_BYTES, Application
from harness import Daemon, kernel, let_in, wait_until

NUMBER_AT = 1  # KP_SLOT_NUMBER_AT of lib/host/control.h
BOOT = 8  # offset in the control page
FATAL = SLOTS_BYTES + 32
INSIDE, SENT = 0x400, 0x100


class Forged(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(options=["--strikes", "2"])
        self.addCleanup(self.daemon.close)
        self.daemon.add("a", [kernel("square"), kernel("cube")])
        self.daemon.call("Reload")
        self.daemon.settle()

    def die(self, forge, number=signal.SIGSEGV):
        """A process that attaches, writes what it likes into its slots, and dies."""
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            application = Application(self.daemon.socket, name="forger")
            forge(application)
            os.kill(os.getpid(), number)
            signal.pause()
        os.waitpid(pid, 0)
        return pid

    def judged(self, pid):
        def of_it():
            found = self.daemon.call("Incidents")["incidents"]
            return [i for i in found if i["pid"] == pid]

        return wait_until(of_it, "its incident")[0]

    def slot(self, application, place, number, signal_number=0, thread=77, label=b"", boot=None):
        boot = struct.unpack_from("<Q", application.control, BOOT)[0] if boot is None else boot
        kernel_word = (boot & 0xFFFFFFFF) << 32 | (number + 1) << NUMBER_AT
        struct.pack_into(
            "<QQQQ32s", application.slots, place * 64, kernel_word, signal_number, thread, 0, label
        )

    def test_what_it_says_of_itself_is_believed_where_it_fits_together(self):
        def forge(application):
            self.slot(application, 3, 0, signal.SIGSEGV, label=b"mine\x1b[2J")
            struct.pack_into("<Q", application.slots, FATAL, 77 << 32 | INSIDE | signal.SIGSEGV)

        found = self.judged(self.die(forge))
        self.assertEqual(found["kind"], "crash")
        self.assertIn(found["kernel"], ("a/square", "a/cube"))
        self.assertNotIn("\x1b", found["label"])

    def test_numbers_that_nobody_has_blame_nobody(self):
        for name, forge in (
            ("a number beyond", lambda a: self.slot(a, 0, 500000, signal.SIGSEGV)),
            ("another plugind's", lambda a: self.slot(a, 0, 0, signal.SIGSEGV, boot=5)),
            ("no signal of ours", lambda a: self.slot(a, 0, 500000, 1 << 60)),
            ("no thread", lambda a: self.slot(a, 0, 0, signal.SIGSEGV, thread=0)),
        ):
            with self.subTest(case=name):
                self.assertEqual(self.judged(self.die(forge))["kind"], "unattributed")

    def test_stamps_that_contradict_each_other_blame_nobody(self):
        def both(application):
            for place in (0, 1):
                self.slot(application, place, place, signal.SIGSEGV, thread=70 + place)
            struct.pack_into("<Q", application.slots, FATAL, 70 << 32 | INSIDE | signal.SIGSEGV)

        def other_thread(application):
            self.slot(application, 0, 0, signal.SIGSEGV, thread=70)
            struct.pack_into("<Q", application.slots, FATAL, 99 << 32 | INSIDE | signal.SIGSEGV)

        def sent(application):
            self.slot(application, 0, 0, signal.SIGSEGV, thread=70)
            fatal = 70 << 32 | INSIDE | SENT | signal.SIGSEGV
            struct.pack_into("<Q", application.slots, FATAL, fatal)

        for forge in (both, other_thread, sent):
            with self.subTest(forge=forge.__name__):
                self.assertEqual(self.judged(self.die(forge))["kind"], "unattributed")

    def test_kills_never_count_whatever_the_slots_say(self):
        def forge(application):
            self.slot(application, 0, 0, signal.SIGSEGV)
            struct.pack_into("<Q", application.slots, FATAL, 77 << 32 | INSIDE | signal.SIGSEGV)

        for _ in range(3):
            found = self.judged(self.die(forge, signal.SIGKILL))
            self.assertEqual((found["kind"], found["signal"]), ("unattributed", "SIGKILL"))

    def test_random_bytes_harm_nobody(self):
        source = random.Random(7)
        for _ in range(20):
            noise = source.randbytes(SLOTS_BYTES)

            def forge(application, noise=noise):
                application.slots[:SLOTS_BYTES] = noise
                application.slots[FATAL : FATAL + 8] = noise[:8]

            self.judged(self.die(forge))
        self.assertEqual(self.daemon.call("Status")["state"], "ready")


@unittest.skipUnless(os.getuid() == 0, "only root can become another user")
class Crowd(unittest.TestCase):
    """Users who can give themselves many numbers, and make incidents under each."""

    USERS, EACH = range(100000, 100006), 100

    def die(self, daemon, uid, name):
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            with Application(daemon.socket, name=name):
                os.kill(os.getpid(), signal.SIGSEGV)
            signal.pause()
        os.waitpid(pid, 0)

    def test_the_machines_incidents_and_those_of_who_has_few_stay(self):
        daemon = Daemon(system=True, start=False)
        self.addCleanup(daemon.close)
        let_in(daemon)
        daemon.start()
        self.die(daemon, 0, "the machine's")
        self.die(daemon, 1234, "his only one")
        for uid in self.USERS:
            for i in range(self.EACH):
                self.die(daemon, uid, f"noise {i}")

        def incidents():
            return daemon.call("Incidents", limit=10000)["incidents"]

        last = (self.USERS[-1], f"noise {self.EACH - 1}")
        wait_until(lambda: last in {(i["uid"], i["application"]) for i in incidents()}, "the last")
        found = [(i["uid"], i["application"]) for i in incidents()]
        self.assertEqual(len(found), 512)
        self.assertIn((0, "the machine's"), found)
        self.assertIn((1234, "his only one"), found)
        for uid in self.USERS:
            self.assertIn((uid, f"noise {self.EACH - 1}"), found)


if __name__ == "__main__":
    unittest.main()
