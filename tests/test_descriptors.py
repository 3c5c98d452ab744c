# SPDX-License-Identifier: MIT
"""Descriptors that keep whoever closes them: another user sends some, in every way that
there is, and plugind never waits for them."""

import os
import signal
import subprocess
import unittest

from harness import PATIENCE_S, Daemon, children, let_in, wait_until

OTHER = 65507

# A connection whose other end reads nothing: to close it last takes an hour (SO_LINGER).
# What is sent of it, and what becomes of the connection to plugind, is HOW.
SENDER = """
import array, json, os, socket, struct, sys, threading
path, how, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
CALL = json.dumps({"method": "org.kplug.Manager.Version"}).encode() + b"\\0"

def trap():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    one = socket.create_connection(server.getsockname())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(65536))
    except BlockingIOError:
        return server, one

def connect():
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    return one

kept = []
for _ in range(count):
    server, one = trap()
    kept.append(server)
    client = connect()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno()]))]
    if how == "behind":
        client.sendall(CALL)
    parts = {"whole": [CALL], "half": [CALL[:9]], "halves": [CALL[:9], CALL[9:]]}
    try:
        for part in parts.get(how, [CALL]):
            client.sendmsg([part], rights)
    except BrokenPipeError:
        pass  # it has been sent away already
    # Ours is not the last one, as long as plugind has the other; else it is we who wait.
    closing = threading.Thread(target=one.close, daemon=True)
    closing.start()
    closing.join(1)
    if how == "leaves":
        client.close()
    else:
        kept.append(client)
print("sent", flush=True)
sys.stdin.readline()
if how in ("whole", "behind", "halves"):
    client.settimeout(60)
    text = b""
    while b"not_permitted" not in text:
        more = client.recv(65536)
        assert more, text
        text += more
    while client.recv(65536):
        pass
print("done", flush=True)
os._exit(0)
"""


@unittest.skipUnless(os.getuid() == 0, "only root can become another user")
class Descriptors(unittest.TestCase):
    def daemon(self):
        daemon = Daemon(system=True, start=False)
        self.addCleanup(daemon.close)
        let_in(daemon)
        return daemon.start()

    def sender(self, daemon, how, count=1):
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", SENDER, daemon.socket, how, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=OTHER,
            group=OTHER,
            extra_groups=[],
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "sent\n")
        return process

    def ends(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def is_quiet(self, daemon):
        """Nothing of them is left: no client, no descriptor, no process."""
        fd_dir = f"/proc/{daemon.pid}/fd"
        wait_until(lambda: daemon.call("Status")["clients"] == 1, "the clients to leave")
        wait_until(lambda: len(os.listdir(fd_dir)) <= self.before, "descriptors to be closed")
        wait_until(lambda: len(children(daemon.pid)) <= self.kin, "processes to end")

    def begin(self):
        daemon = self.daemon()
        daemon.settle()
        self.before = len(os.listdir(f"/proc/{daemon.pid}/fd")) + 1
        self.kin = len(children(daemon.pid))
        return daemon

    def test_what_keeps_its_closer_is_not_taken(self):
        daemon = self.begin()
        for how in ("whole", "halves", "half", "behind"):
            with self.subTest(how=how):
                process = self.sender(daemon, how)
                self.assertEqual(daemon.call("Version")["protocol"], 1)
                self.ends(process)
                process.kill()
                process.wait()
                self.is_quiet(daemon)

    def test_what_is_left_in_a_connection_is_closed_by_somebody_else(self):
        daemon = self.begin()
        for count in (1, 20, 100):
            with self.subTest(count=count):
                process = self.sender(daemon, "leaves", count)
                self.assertEqual(daemon.call("Version")["protocol"], 1)
                self.ends(process)
                self.is_quiet(daemon)

    def test_what_nobody_has_let_in_does_not_keep_it_from_ending(self):
        for how in ("whole", "leaves"):
            with self.subTest(how=how):
                daemon = self.begin()
                os.kill(daemon.pid, signal.SIGSTOP)
                self.sender(daemon, how, 3)
                os.kill(daemon.pid, signal.SIGTERM)
                os.kill(daemon.pid, signal.SIGCONT)
                self.assertEqual(daemon.process.wait(PATIENCE_S), 0)

    def test_what_roots_calls_bring_is_taken(self):
        daemon = self.begin()
        daemon.add("good")
        path = os.path.join(daemon.plugin_dir, "good.so")
        self.assertEqual(daemon.ctl("load", path, "--name", "by_hand").returncode, 0)


if __name__ == "__main__":
    unittest.main()
