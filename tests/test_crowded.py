# SPDX-License-Identifier: MIT
"""Who may only look asks what costs much, over many connections at a time: who decides is
served in the next round all the same, and the others one after the other."""

import json
import os
import subprocess
import unittest

from harness import Daemon, kernel, let_in

OTHER, SECOND = 65510, 65511
SQUARE = "elementwise/square"
# Sixty connections, each with distinct calls that are never all answered; tells at a line
# of its input how many replies have come.
FLOOD = """
import json, socket, sys, threading
path, method = sys.argv[1], sys.argv[2]
lock, count = threading.Lock(), [0]

def read(one):
    while True:
        data = one.recv(1 << 20)
        if not data:
            return
        with lock:
            count[0] += data.count(b"\\0")

def write(one, k):
    for i in range(1 << 30):
        request = {"operation": "elementwise/square", "shape": {"n": k << 30 | i}}
        call = {"method": "org.kplug.Manager." + method, "parameters": {"request": request}}
        one.sendall(json.dumps(call).encode() + b"\\0")

for k in range(60):
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    threading.Thread(target=read, args=(one,), daemon=True).start()
    threading.Thread(target=write, args=(one, k), daemon=True).start()
for _ in sys.stdin:
    with lock:
        print(count[0], flush=True)
"""


@unittest.skipUnless(os.getuid() == 0, "only root can become another user")
class Crowded(unittest.TestCase):
    CALLS = 10

    @classmethod
    def setUpClass(cls):
        cls.daemon = daemon = Daemon(system=True, start=False)
        cls.addClassCleanup(daemon.close)
        let_in(daemon)
        daemon.start()
        kernels = [kernel(f"k{i}") for i in range(20)]
        daemon.add_many([f"p{i:02}" for i in range(30)], kernels)
        daemon.call("Reload")
        daemon.settle()

    def flood(self, method, user=OTHER):
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", FLOOD, self.daemon.socket, method],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            user=user,
            group=user,
            extra_groups=[],
            text=True,
        )

        def end():
            process.stdin.close()
            process.kill()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        while self.served(process) < 100:
            pass
        return process

    def served(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def decides(self, process):
        """How many of the others were served while somebody decided so many times."""
        with self.daemon.client() as client:
            client.call("Version")
            before = self.served(process)
            for i in range(self.CALLS):
                self.assertTrue(client.call(("Enable", "Disable")[i % 2 == 0], {"name": "p00"}))
            return self.served(process) - before

    def test_who_decides_waits_for_few_of_those_who_ask(self):
        process = self.flood("Explain")
        self.assertLess(self.decides(process), self.CALLS * 60 / 2)

    def test_nor_for_two_users_of_them(self):
        process = self.flood("Explain")
        self.flood("Explain", SECOND)
        self.assertLess(self.decides(process), self.CALLS * 60 / 2)

    def test_others_who_look_are_served_in_their_turn(self):
        self.flood("Explain")
        script = (
            "import socket, sys; one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1])\n"
            "one.sendall(sys.argv[2].encode() + b'\\0'); data = b''\n"
            "while not data.endswith(b'\\0'): data += one.recv(65536)\n"
        )
        call = json.dumps({"method": "org.kplug.Manager.Status"})
        subprocess.run(
            ["/usr/bin/python3", "-c", script, self.daemon.socket, call],
            user=SECOND,
            group=SECOND,
            extra_groups=[],
            timeout=60,
            check=True,
        )


if __name__ == "__main__":
    unittest.main()
