# SPDX-License-Identifier: MIT
"""An application as plugind sees it: attaches, maps what it gets, tells what it likes.

It knows lib/host/control.h and shares no code with libkplug.
"""

import json
import mmap
import os
import socket
import struct

CONTROL_BYTES = 64 << 10
SLOTS_BYTES = 16 << 10
TOLD_BYTES = 12 << 10
GENERATION, VIEW, BITS = 16, 24, 64  # offsets in the control page
HELD, HELD_BYTES, WHAT, KERNEL = 64, 192, 8, 32  # offsets in what is told, and a hold's


class Application:
    """One connection that is attached. Use it with `with`.

    wait: for the first reply; otherwise `take` does.
    """

    def __init__(self, path, timeout=30, wait=True, **parameters):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.buffer = b""
        self.fds = []
        self.maps = []
        try:
            self.socket.connect(path)
            self.socket.settimeout(timeout)
            self.send(parameters)
            if wait:
                self.take()
        except BaseException:
            self.close()
            raise

    def take(self):
        self.first = self.receive()
        if "error" not in self.first:
            self.map()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, parameters):
        call = {"method": "org.kplug.Manager.Attach", "parameters": parameters, "more": True}
        self.socket.sendall(json.dumps(call).encode() + b"\0")

    def receive(self):
        """The next reply; its descriptors go to self.fds. None at the end."""
        while b"\0" not in self.buffer:
            data, fds, _, _ = socket.recv_fds(self.socket, 65536, 16)
            self.fds += fds
            if not data:
                return None
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def map(self):
        parameters = self.first["parameters"]
        control, slots = self.fds[parameters["control"]], self.fds[parameters["slots"]]
        self.control = mmap.mmap(control, CONTROL_BYTES, prot=mmap.PROT_READ)
        self.slots = mmap.mmap(slots, SLOTS_BYTES + TOLD_BYTES)
        self.maps = [self.control, self.slots]

    @property
    def generation(self):
        return struct.unpack_from("<Q", self.control, GENERATION)[0]

    def obey(self, generation=None):
        struct.pack_into("<Q", self.slots, SLOTS_BYTES, generation or self.generation)

    def leave(self):
        """Says that the end of the connection is no death."""
        struct.pack_into("<Q", self.slots, SLOTS_BYTES + 24, 1)

    def hold(self, place, kernel, what="graph", count=1):
        at = SLOTS_BYTES + HELD + place * HELD_BYTES
        self.slots[at + WHAT : at + KERNEL] = what.encode().ljust(KERNEL - WHAT, b"\0")
        self.slots[at + KERNEL : at + HELD_BYTES] = kernel.encode().ljust(
            HELD_BYTES - KERNEL, b"\0"
        )
        struct.pack_into("<Q", self.slots, at, count)

    def release(self, place):
        struct.pack_into("<Q", self.slots, SLOTS_BYTES + HELD + place * HELD_BYTES, 0)

    def close(self):
        self.socket.close()
        for each in self.maps:
            each.close()
        while self.fds:
            os.close(self.fds.pop())
        self.maps = []
