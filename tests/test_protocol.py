# SPDX-License-Identifier: MIT
"""The socket of plugind: framing, bounds, errors, and a check of every method's reply."""

import array
import json
import os
import socket
import struct
import subprocess
import unittest

from harness import Daemon, let_in, wait_until
from varlink import Client, VarlinkError

MANAGER = "org.kplug.Manager"
SERVICE = "org.varlink.service"


def call_bytes(method, parameters=None, **flags):
    return json.dumps({"method": method, "parameters": parameters or {}, **flags}).encode() + b"\0"


VERSION = call_bytes(f"{MANAGER}.Version")


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)

    def client(self):
        client = self.daemon.client()
        self.addCleanup(client.close)
        return client

    def assert_alive(self):
        self.assertEqual(self.daemon.call("Version")["protocol"], 1)

    # -- framing

    def test_t71_two_requests_in_one_packet_are_answered_in_order(self):
        client = self.client()
        client.send_bytes(VERSION + call_bytes(f"{MANAGER}.Layers") + VERSION)
        self.assertIn("protocol", client.receive()["parameters"])
        self.assertIn("mask_dir", client.receive()["parameters"])
        self.assertIn("protocol", client.receive()["parameters"])

    def test_t71_a_request_may_come_byte_by_byte(self):
        client = self.client()
        for i in range(len(VERSION)):
            client.send_bytes(VERSION[i : i + 1])
        self.assertIn("protocol", client.receive()["parameters"])

    def test_t71_every_split_of_two_requests_is_framed_right(self):
        data = VERSION + call_bytes(f"{MANAGER}.Layers")
        client = self.client()
        for cut in range(1, len(data)):
            client.send_bytes(data[:cut])
            client.send_bytes(data[cut:])
            self.assertIn("protocol", client.receive()["parameters"], cut)
            self.assertIn("mask_dir", client.receive()["parameters"], cut)

    def test_t71_a_thousand_pipelined_requests_keep_their_order(self):
        client = self.client()
        methods = ["Version", "Layers", "Status"] * 334
        data = b"".join(call_bytes(f"{MANAGER}.{m}") for m in methods)
        client.send_bytes(data)
        key = {"Version": "protocol", "Layers": "mask_dir", "Status": "pid"}
        for method in methods:
            self.assertIn(key[method], client.receive()["parameters"])

    # -- bounds

    def refused(self, data):
        """The error that a message gets; the connection must stay usable."""
        client = self.client()
        client.send_bytes(data + b"\0")
        reply = client.receive()
        self.assertIn("error", reply)
        client.send_bytes(VERSION)
        self.assertIn("protocol", client.receive()["parameters"])
        return reply

    def test_t71_malformed_json_is_refused_by_a_code_and_the_connection_goes_on(self):
        deep = b"[" * 200 + b"]" * 200
        cases = {
            b"": "json_syntax",
            b"{": "json_syntax",
            b"nonsense": "json_syntax",
            b"\xff\xfe{}": "json_not_utf8",
            b'{"method": "a.B", "method": "a.C"}': "json_duplicate_key",
            b'{"method": "a.B", "parameters": {"x": ' + deep + b"}}": "json_too_deep",
            b"[]": "wrong_type",
            b"7": "wrong_type",
            b"{}": "missing_key",
            b'{"method": 7}': "wrong_type",
            b'{"method": "a.B", "parameters": []}': "wrong_type",
            b'{"method": "a.B", "more": 1}': "wrong_type",
            b'{"method": "a.B\\u0000c"}': "json_nul",
        }
        for data, code in cases.items():
            with self.subTest(data=data[:40]):
                reply = self.refused(data)
                self.assertEqual(reply["error"], f"{MANAGER}.InvalidArgument")
                self.assertEqual(reply["parameters"]["code"], code)

    def test_t71_a_message_beyond_the_bound_is_refused_and_ends_the_connection(self):
        client = self.client()
        client.send_bytes(b'{"method": "' + b"x" * (2 << 20))
        reply = client.receive()
        self.assertEqual(reply["parameters"]["code"], "message_too_large")
        client.socket.shutdown(socket.SHUT_WR)
        self.assertIsNone(client.receive())
        self.assert_alive()

    def test_t71_a_message_just_within_the_bound_is_read(self):
        client = self.client()
        pad = "x" * ((1 << 20) - 200)
        client.send_bytes(call_bytes(f"{MANAGER}.Info", {"name": pad}))
        self.assertEqual(client.receive()["error"], f"{MANAGER}.NotFound")

    def test_a_client_that_does_not_read_does_not_hold_up_others(self):
        client = self.client()
        client.socket.setblocking(False)
        data = call_bytes(f"{SERVICE}.GetInterfaceDescription", {"interface": MANAGER}) * 100
        sent = 0
        try:
            while sent < 64 << 20:
                sent += client.socket.send(data)
        except BlockingIOError:
            pass
        self.assert_alive()

    def test_clients_beyond_the_bound_are_told_that_it_is_busy(self):
        clients = []
        try:
            for _ in range(256):
                clients.append(Client(self.daemon.socket))
            for client in clients[200:210]:
                client.send_bytes(VERSION)
                self.assertIn("protocol", client.receive()["parameters"])
            with self.assertRaises(VarlinkError) as caught:
                late = self.client()
                late.interface = clients[0].describe()
                late.call("Version")
            self.assertEqual(caught.exception.short, "Busy")
            self.assertEqual(caught.exception.code, "busy")
        finally:
            for client in clients:
                client.close()
        wait_until(lambda: self.daemon.call("Status")["clients"] <= 2, "clients to leave")

    CROWD = (
        "import os, socket, sys; os.setgroups([]); os.setgid({uid}); os.setuid({uid})\n"
        "all = []\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    one = socket.socket(socket.AF_UNIX)\n"
        "    one.connect(sys.argv[1])\n"
        "    all.append(one)\n"
        "print('here', flush=True)\n"
        "sys.stdin.read()\n"
    )

    def crowd(self, daemon, uid, count):
        """A process of this user that holds so many connections and says nothing."""
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", self.CROWD.format(uid=uid), daemon.socket, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), b"here\n")

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_another_user_with_hundreds_of_connections_locks_nobody_out(self):
        daemon = Daemon(system=True)
        self.addCleanup(daemon.close)
        let_in(daemon)
        daemon.add("a")
        daemon.settle()
        for uid in range(65500, 65506):
            self.crowd(daemon, uid, 300)
            # Root is served, however many there are.
            status = daemon.call("Status")
            self.assertLess(status["clients"], 256)
        self.assertGreaterEqual(daemon.call("Status")["clients"], 240)
        daemon.call("Reload")
        self.assertTrue(daemon.call("Disable", name="a")["changed"])
        self.assertEqual(daemon.ctl("status").returncode, 0)

    # -- descriptors

    def send_descriptors(self, client, count):
        fds = array.array("i", [os.open("/dev/null", os.O_RDONLY) for _ in range(count)])
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
        client.socket.sendmsg([VERSION], ancillary)
        for fd in fds:
            os.close(fd)

    def test_foreign_descriptors_are_closed_and_refused(self):
        for count in (1, 4, 253):
            with self.subTest(count=count):
                client = self.client()
                fd_dir = f"/proc/{self.daemon.pid}/fd"
                client.send_bytes(VERSION)
                client.receive()
                before = len(os.listdir(fd_dir))
                self.send_descriptors(client, count)
                reply = client.receive()
                self.assertEqual(reply["parameters"]["code"], "unexpected_descriptor")
                self.assertEqual(len(os.listdir(fd_dir)), before)
                client.send_bytes(VERSION)
                self.assertIn("protocol", client.receive()["parameters"])

    # -- leaving

    def test_a_client_that_only_stops_sending_gets_its_reply(self):
        client = self.client()
        client.send_bytes(VERSION * 3)
        client.socket.shutdown(socket.SHUT_WR)
        for _ in range(3):
            self.assertIn("protocol", client.receive()["parameters"])
        self.assertIsNone(client.receive())

    def test_a_client_that_leaves_in_the_middle_is_forgotten(self):
        for data in (VERSION[:10], VERSION, call_bytes(f"{MANAGER}.Reload"), b""):
            client = self.client()
            client.send_bytes(data)
            reset = struct.pack("ii", 1, 0)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            client.close()
        wait_until(lambda: self.daemon.call("Status")["clients"] == 1, "clients to leave")

    # -- org.varlink.service

    def service(self, method, parameters=None):
        client = self.client()
        client.send(method, parameters)
        return client.receive()

    def test_the_service_tells_of_itself(self):
        info = self.service(f"{SERVICE}.GetInfo")["parameters"]
        self.assertEqual(info["interfaces"], [SERVICE, MANAGER])
        self.assertEqual(info["product"], "plugind")
        for name in (SERVICE, MANAGER):
            self.assertEqual(self.client().describe(name).name, name)

    def test_what_nobody_has_is_named(self):
        cases = [
            (f"{MANAGER}.Nothing", {}, "MethodNotFound", "method", f"{MANAGER}.Nothing"),
            (f"{SERVICE}.Nothing", {}, "MethodNotFound", "method", f"{SERVICE}.Nothing"),
            ("a.b.C", {}, "InterfaceNotFound", "interface", "a.b"),
            ("List", {}, "InterfaceNotFound", "interface", ""),
            (
                f"{SERVICE}.GetInterfaceDescription",
                {"interface": "a.b"},
                "InterfaceNotFound",
                "interface",
                "a.b",
            ),
            (
                f"{SERVICE}.GetInterfaceDescription",
                {},
                "InvalidParameter",
                "parameter",
                "interface",
            ),
        ]
        for method, parameters, error, key, value in cases:
            with self.subTest(method=method):
                reply = self.service(method, parameters)
                self.assertEqual(reply["error"], f"{SERVICE}.{error}")
                self.assertEqual(reply["parameters"], {key: value})

    def test_wrong_parameters_are_named_by_their_path(self):
        cases = [
            ("List", {"state": 1}, "wrong_type", "state"),
            ("List", {"stat": "active"}, "unknown_key", "stat"),
            ("Info", {}, "missing_key", "name"),
            ("Version", {"x": None}, "unknown_key", "x"),
            (
                "Select",
                {"request": {"operation": "o", "shape": {"m": "1"}}},
                "wrong_type",
                "request.shape.m",
            ),
        ]
        for method, parameters, code, path in cases:
            with self.subTest(method=method, code=code):
                with self.assertRaises(VarlinkError) as caught:
                    self.daemon.call(method, parameters)
                self.assertEqual(caught.exception.short, "InvalidArgument")
                self.assertEqual(caught.exception.code, code)
                self.assertEqual(caught.exception.parameters["object"], path)

    def test_oneway_calls_get_no_reply(self):
        client = self.client()
        client.send_bytes(call_bytes(f"{MANAGER}.Layers", oneway=True) + VERSION)
        self.assertIn("protocol", client.receive()["parameters"])
        client.send_bytes(call_bytes("a.b.C", oneway=True) + VERSION)
        self.assertIn("protocol", client.receive()["parameters"])


if __name__ == "__main__":
    unittest.main()
