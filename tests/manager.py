# SPDX-License-Identifier: MIT
"""A service manager for tests, without systemd: it passes sockets, and hears words.

    with Manager() as manager:
        with Managed(manager) as daemon:
            manager.await_word("READY=1")
"""

import os
import select
import socket
import sys
import tempfile
import time

from harness import PATIENCE_S, Daemon

# Puts descriptors at 3 and up and becomes the program, of the same pid. Where a value of
# the environment is "SELF", that pid is meant.
BECOME = """
import fcntl, os, sys
high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",") if fd]
for place, fd in enumerate(high, 3):
    os.dup2(fd, place)
os.closerange(3 + len(high), 256)
own = str(os.getpid())
env = {k: own if v == "SELF" else v for k, v in os.environ.items()}
os.execve(sys.argv[2], sys.argv[2:], env)
"""


def listening(path, kind=socket.SOCK_STREAM, listen=True):
    """A Unix socket at the path."""
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(path)
    if listen:
        made.listen(64)
    return made


class Manager:
    """Hears what is said to NOTIFY_SOCKET: one datagram after the other."""

    def __init__(self, abstract=False):
        self.place = tempfile.TemporaryDirectory(prefix="kplug-manager.")
        path = os.path.join(self.place.name, "notify")
        self.name = "@" + path if abstract else path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path if abstract else path)
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.place.cleanup()

    def hear(self, timeout=PATIENCE_S):
        """The next datagram as {variable: value}; None when there is none in time."""
        if not select.select([self.socket], [], [], timeout)[0]:
            return None
        text = self.socket.recv(4096).decode()
        words = dict(line.split("=", 1) for line in text.splitlines())
        self.heard.append(words)
        return words

    def hear_all(self):
        """What has been said by now."""
        while self.hear(0):
            pass
        return self.heard

    def await_word(self, variable, value=None):
        """The first datagram from now on that has it (with this in its value)."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            words = self.hear(end - time.monotonic()) or {}
            if variable in words and (value is None or value in words[variable]):
                return words
        raise AssertionError(f"{variable} ({value}) was not said, but {self.heard}")


class Managed(Daemon):
    """A plugind that a manager starts.

    sockets: those that are passed
    env:     SELF stands for its pid
    """

    def __init__(self, manager=None, sockets=(), env=None, **more):
        self.sockets = list(sockets)
        told = {"NOTIFY_SOCKET": manager.name} if manager else {}
        if self.sockets:
            told.update(LISTEN_FDS=str(len(self.sockets)), LISTEN_PID="SELF")
        super().__init__(env={**told, **(env or {})}, **more)

    def command(self):
        fds = ",".join(str(s.fileno()) for s in self.sockets)
        return [sys.executable, "-c", BECOME, fds, *super().command()]

    def spawn(self, command=None):
        return super().spawn(command, pass_fds=[s.fileno() for s in self.sockets])
