# SPDX-License-Identifier: MIT
"""Who may do what: every method of the interface, asked by root, a member of the group,
the daemon's own user and anybody else, of a system daemon and of a private one."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, Daemon, let_in, wait_until
from varlink import Interface

MANAGER = "org.kplug.Manager"
SQUARE = "elementwise/square"
OBSERVER, OPERATOR, ADMIN = range(3)

# The least role, the parameters, and the error that the one who may call it gets (of a
# call without descriptors or `more`, say), or None. Several rows where parameters count.
MATRIX = {
    "Metrics": [(OBSERVER, {}, None)],
    "List": [(OBSERVER, {}, None)],
    "Info": [(OBSERVER, {"name": "a"}, None)],
    "Kernels": [(OBSERVER, {}, None)],
    "Select": [(OBSERVER, {"request": {"operation": SQUARE}}, None)],
    "Explain": [(OBSERVER, {"request": {"operation": SQUARE}}, None)],
    "Disable": [
        (OPERATOR, {"name": "a"}, None),
        (OPERATOR, {"name": "a/square", "runtime": True}, None),
        (OPERATOR, {"name": SQUARE, "solution": "fast"}, None),
    ],
    "Enable": [
        (OPERATOR, {"name": "a"}, None),
        (OPERATOR, {"name": "a/square"}, None),
        (OPERATOR, {"name": SQUARE, "solution": "fast"}, None),
    ],
    "IsEnabled": [(OBSERVER, {"name": "a"}, None)],
    "Pin": [
        (OPERATOR, {"operation": SQUARE, "choice": "a/square"}, None),
        (OPERATOR, {"operation": SQUARE, "choice": "fast", "force": False}, None),
        (ADMIN, {"operation": SQUARE, "choice": "a/square", "force": True}, None),
    ],
    "Unpin": [(OPERATOR, {"operation": SQUARE}, None)],
    "History": [(OBSERVER, {"name": "a"}, None)],
    "Rollback": [
        (OPERATOR, {"name": "a", "number": 1000}, "NotFound"),
        (OPERATOR, {"name": "a", "release": True}, None),
    ],
    "Pins": [(OBSERVER, {}, None)],
    "Guard": [(OPERATOR, {"operation": SQUARE, "every": 50}, None)],
    "Guards": [(OBSERVER, {}, None)],
    "Load": [(ADMIN, {"file": 0}, "InvalidArgument")],
    "Unload": [(ADMIN, {"name": "a"}, "InvalidArgument")],
    "Logs": [(OBSERVER, {"name": "a"}, None)],
    "Monitor": [(OBSERVER, {}, "ExpectedMore")],
    "Reload": [(OPERATOR, {}, None), (OPERATOR, {"name": "a"}, None)],
    # Others lift what is quarantined for them alone: here nothing is.
    "Retry": [(OPERATOR, {"name": "a"}, None), (OPERATOR, {"name": "a/square"}, None)],
    "Status": [(OBSERVER, {}, None)],
    "Devices": [(OBSERVER, {}, None), (OPERATOR, {"refresh": True}, None)],
    "Version": [(OBSERVER, {}, None)],
    "Layers": [(OBSERVER, {}, None)],
    "Bench": [(OPERATOR, {"operation": "no/such"}, "NotFound")],
    "Verify": [(OPERATOR, {"operation": "no/such"}, "NotFound")],
    "Attach": [(OBSERVER, {}, "ExpectedMore")],
    "Clients": [(OBSERVER, {}, None)],
    "Family": [(OBSERVER, {"operation": SQUARE}, None)],
    "Incidents": [(OBSERVER, {}, None)],
    "Report": [
        (OBSERVER, {"kind": "error", "kernel": "a/square", "text": "so"}, "InvalidArgument")
    ],
    "Fingerprint": [(OBSERVER, {}, None)],
}
# What changes something leaves an account, whoever asks.
ACCOUNTED = {
    *("Disable", "Enable", "Pin", "Unpin", "Guard", "Rollback"),
    *("Load", "Unload", "Reload", "Retry"),
}

OWN, MEMBER, OTHER, GROUP = 65501, 65502, 65503, 65504
CALLER = """
import json, os, socket, sys
path, uid, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([group] if group else [])
os.setgid(uid)
os.setuid(uid)
for line in sys.stdin:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(line.strip().encode() + bytes(1))
        reply = b""
        while not reply.endswith(bytes(1)):
            piece = client.recv(1 << 16)
            if not piece:
                break
            reply += piece
    print(reply.rstrip(bytes(1)).decode(), flush=True)
"""


def interface():
    with open(os.path.join(ROOT, "lib", MANAGER + ".varlink"), encoding="utf-8") as file:
        return Interface(file.read())


def rows():
    return [(method, *row) for method in sorted(MATRIX) for row in MATRIX[method]]


class Group(unittest.TestCase):
    """The group kplug has a member, seen by plugind alone."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can become another user")
        cls.place = tempfile.mkdtemp(prefix="kplug-group.")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.groups = os.path.join(cls.place, "group")
        with open("/etc/group", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("kplug:")]
        with open(cls.groups, "w", encoding="utf-8") as file:
            file.write("".join(lines) + f"kplug:x:{GROUP}:\n")
        if subprocess.run(cls.mounted("true"), capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest("only root can mount a file system")

    @classmethod
    def mounted(cls, *command):
        script = 'mount --bind "$1" /etc/group && shift && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", cls.groups, *command]

    def daemon(self, system):
        daemon = Daemon(system=system, start=False)
        self.addCleanup(daemon.close)
        daemon.add("a", [{**KERNEL, "solution": "fast"}])
        # It runs as a user of its own, who owns what it works with.
        for place, names, files in os.walk(daemon.place):
            for name in [*names, *files]:
                os.chown(os.path.join(place, name), OWN, OWN)
        os.chown(daemon.place, OWN, OWN)
        let_in(daemon)
        as_own = ["setpriv", f"--reuid={OWN}", f"--regid={OWN}", "--clear-groups"]
        daemon.spawn(self.mounted(*as_own, *daemon.command()))
        wait_until(daemon.is_ready, "plugind's socket")
        daemon.settle()
        return daemon

    @contextlib.contextmanager
    def caller(self, daemon, uid, group=0):
        """A function that calls as this user; what it returns is the reply."""
        with subprocess.Popen(
            ["/usr/bin/python3", "-c", CALLER, daemon.socket, str(uid), str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:

            def call(method, parameters):
                text = {"method": f"{MANAGER}.{method}", "parameters": parameters}
                process.stdin.write(json.dumps(text) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            yield call
            process.stdin.close()


KERNEL = {
    "name": "square",
    "operation": SQUARE,
    "priority": 10,
    "signatures": ["x=f32,y=f32"],
}


class Matrix(Group):
    def decided(self, daemon):
        """All that a role is needed for."""
        status = daemon.call("Status")
        pins = daemon.call("Pins")["pins"]
        guards = daemon.call("Guards")["guards"]
        kept = os.path.exists(os.path.join(daemon.state_dir, "decisions.json"))
        return status["generation"], pins, guards, daemon.plugins()["a"]["state"], kept

    def hold(self, daemon, role, call):
        """Every row, as one of this role: None is nobody's."""
        before = self.decided(daemon)
        if role is None or role == OBSERVER:
            for method, least, parameters, _ in rows():
                if role is None or least > role:
                    self.assert_refused(call(method, parameters), method, parameters)
            self.assertEqual(self.decided(daemon), before)
        for method, least, parameters, error in rows():
            reply = call(method, parameters)
            if role is None or least > role:
                self.assert_refused(reply, method, parameters)
            else:
                self.assert_done(reply, method, parameters, error)

    def assert_refused(self, reply, method, parameters):
        self.assertEqual(reply.get("error"), f"{MANAGER}.NotPermitted", (method, parameters))
        self.assertEqual(reply["parameters"]["code"], "not_permitted", method)

    def assert_done(self, reply, method, parameters, error):
        told = reply.get("error", "").rsplit(".", 1)[-1] or None
        self.assertEqual(told, error, (method, parameters, reply))

    def test_t79_every_method_has_its_rows(self):
        self.assertEqual(set(MATRIX), set(interface().methods))

    def test_t79_in_a_system_daemon_each_role_does_its_own_and_no_more(self):
        daemon = self.daemon(system=True)
        roles = [
            ("anybody", OTHER, 0, OBSERVER),
            ("the daemon's own user", OWN, 0, OBSERVER),
            ("the daemon's own user in the group", OWN, GROUP, OBSERVER),
            ("a member of the group", MEMBER, GROUP, OPERATOR),
            ("root", 0, 0, ADMIN),
        ]
        for who, uid, group, role in roles:
            with self.subTest(who=who), self.caller(daemon, uid, group) as call:
                self.hold(daemon, role, call)

    def test_t79_in_a_private_daemon_its_owner_and_root_do_all_and_nobody_else(self):
        daemon = self.daemon(system=False)
        # Its directory lets nobody in; whoever is let in has no role.
        os.chmod(daemon.socket, 0o666)
        roles = [
            ("anybody", OTHER, 0, None),
            ("a member of the group", MEMBER, GROUP, None),
            ("its owner", OWN, 0, ADMIN),
            ("root", 0, 0, ADMIN),
        ]
        for who, uid, group, role in roles:
            with self.subTest(who=who), self.caller(daemon, uid, group) as call:
                self.hold(daemon, role, call)

    def test_t79_what_was_refused_and_what_was_done_is_accounted_for(self):
        daemon = self.daemon(system=True)
        before = len(daemon.log().split("\n"))
        with self.caller(daemon, OTHER) as call:
            for method, least, parameters, _ in rows():
                if least > OBSERVER:
                    call(method, parameters)
        with self.caller(daemon, 0) as call:
            for method, _, parameters, _ in rows():
                call(method, parameters)
        lines = [l for l in daemon.log().split("\n")[before:] if " audit: " in l]
        for uid in (OTHER, 0):
            told = [l for l in lines if f"uid={uid} " in l]
            methods = {l.split("method=")[1].split(" ")[0] for l in told}
            self.assertEqual(methods, ACCOUNTED)
        refused = [l for l in lines if f"uid={OTHER} " in l]
        self.assertTrue(all(l.endswith("result=not_permitted") for l in refused), refused)


if __name__ == "__main__":
    unittest.main()
