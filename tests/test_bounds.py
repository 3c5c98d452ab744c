# SPDX-License-Identifier: MIT
"""Clients that are slow, silent, half gone or too many cost themselves alone: each bound of
the socket by its name (those of single messages are in test_protocol.py)."""

import contextlib
import json
import os
import socket
import threading
import unittest

from harness import Daemon, wait_until
from varlink import Client

MANAGER = "org.kplug.Manager"
DESCRIPTION = (
    b'{"method": "org.varlink.service.GetInterfaceDescription",'
    b' "parameters": {"interface": "org.kplug.Manager"}}\0'
)
UNSENT_HIGH = 1 << 20


def call_bytes(method):
    return json.dumps({"method": f"{MANAGER}.{method}"}).encode() + b"\0"


class Bounds(unittest.TestCase):
    def daemon(self, prefix=()):
        daemon = Daemon(start=False)
        self.addCleanup(daemon.close)
        daemon.spawn([*prefix, *daemon.command()])
        wait_until(daemon.is_ready, "plugind's socket")
        return daemon

    def client(self, daemon):
        client = daemon.client()
        self.addCleanup(client.close)
        return client

    def answers(self, daemon, times=20):
        """Somebody else is served meanwhile."""
        with daemon.client() as other:
            for _ in range(times):
                self.assertEqual(other.call("Version")["protocol"], 1)

    def test_unsent_bytes_who_reads_no_replies_is_not_listened_to_any_more(self):
        daemon = self.daemon()
        client = self.client(daemon)
        client.socket.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 64 * UNSENT_HIGH:
                sent += client.socket.send(DESCRIPTION * 100)
        # Calls wait in the socket and in the buffer of one message: no reply is made for
        # them, each hundreds of times as long.
        self.assertLess(sent, 4 * UNSENT_HIGH)
        self.answers(daemon)

    def test_turns_a_flood_of_calls_lets_others_through(self):
        daemon = self.daemon()
        flood = self.client(daemon)
        count, got = 30000, []

        def read():
            for _ in range(count):
                flood.receive_bytes()
                got.append(None)

        reader = threading.Thread(target=read)
        writer = threading.Thread(target=flood.send_bytes, args=(call_bytes("Status") * count,))
        reader.start()
        writer.start()
        wait_until(lambda: got, "the flood to begin")
        self.answers(daemon, 5)
        self.assertLess(len(got), count)
        writer.join()
        reader.join()
        self.assertEqual(len(got), count)

    def test_silence_and_halves_of_messages_hold_up_nobody(self):
        daemon = self.daemon()
        for i in range(100):
            client = self.client(daemon)
            client.send_bytes(call_bytes("Status")[: i % 30])
            if i % 3 == 0:
                client.socket.shutdown(socket.SHUT_WR)
        self.answers(daemon)
        # Half a message and no more to come: such a one is gone.
        wait_until(lambda: daemon.call("Status")["clients"] <= 67, "the halves to leave")

    def test_descriptors_when_there_are_none_left_it_waits_and_goes_on(self):
        daemon = self.daemon(["prlimit", "--nofile=96"])
        crowd = []
        for _ in range(120):
            one = socket.socket(socket.AF_UNIX)
            self.addCleanup(one.close)
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(daemon.socket)
            crowd.append(one)
        wait_until(lambda: "cannot accept" in daemon.log(), "descriptors to be exhausted")
        used = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        self.assertLessEqual(used, 96)
        for one in crowd:
            one.close()
        self.answers(daemon)
        wait_until(lambda: daemon.call("Status")["clients"] == 1, "the crowd to leave")

    def test_time_the_refused_are_sent_away(self):
        daemon = self.daemon()
        # The owner of a private daemon has all places: 256, and 32 who get their refusal.
        crowd = [Client(daemon.socket) for _ in range(256)]
        for one in crowd:
            self.addCleanup(one.close)
        late = [Client(daemon.socket) for _ in range(32)]
        for one in late:
            self.addCleanup(one.close)
        # They ask nothing; after 5 seconds they are cut off.
        for one in late:
            self.assertIsNone(one.receive())
        crowd[0].close()
        self.answers(daemon, 1)


if __name__ == "__main__":
    unittest.main()
