# SPDX-License-Identifier: MIT
"""Loading a library from an open descriptor, until the daemon stops."""

import array
import fcntl
import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import unittest

from harness import CRASH, Daemon, kernel, make_plugin, wait_until
from pluginctl import as_nobody, call
from varlink import VarlinkError

SQUARE = "elementwise/square"


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        daemon.settle()
        return daemon

    def library(self, name="mine", **plugin):
        place = tempfile.mkdtemp(prefix="kplug-load.")
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o755)
        path = os.path.join(place, name + ".so")
        make_plugin(path, plugin.pop("package", name), **plugin)
        os.chmod(path, 0o644)
        return path

    def send(self, daemon, fds, method="Load", **parameters):
        """One call with descriptors; the checked reply."""
        client = daemon.client()
        self.addCleanup(client.close)
        client.interface = client.describe()
        message = {"method": f"org.kplug.Manager.{method}", "parameters": parameters}
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        client.socket.sendmsg([json.dumps(message).encode() + b"\0"], rights)
        return client.finish(method)

    def refused(self, code, daemon, fds, **parameters):
        with self.assertRaises(VarlinkError) as caught:
            self.send(daemon, fds, **{"file": 0, **parameters})
        self.assertEqual(caught.exception.code, code)

    def opened(self, path, flags=os.O_RDONLY):
        fd = os.open(path, flags)
        self.addCleanup(os.close, fd)
        return fd


class Loaded(Case):
    def test_it_runs_until_it_is_unloaded(self):
        daemon = self.daemon()
        reply = self.send(daemon, [self.opened(self.library())], file=0)
        self.assertEqual((reply["plugin"]["name"], reply["plugin"]["state"]), ("mine", "active"))
        self.assertEqual(reply["plugin"]["origin"], "loaded")
        self.assertEqual(daemon.select(SQUARE)["selected"], "mine/square")
        self.assertEqual(daemon.call("Unload", name="mine")["name"], "mine")
        self.assertIsNone(daemon.select(SQUARE)["selected"])
        self.assertEqual(daemon.call("List")["plugins"], [])
        self.assertEqual(os.listdir(os.path.join(daemon.state_dir, "loaded")), [])

    def test_reload_and_retry_keep_it_and_a_restart_does_not(self):
        daemon = self.daemon()
        path = self.library()
        self.send(daemon, [self.opened(path)], file=0, name="mine")
        os.unlink(path)
        daemon.add("other")
        daemon.call("Reload")
        daemon.call("Reload", name="mine")
        self.assertEqual(daemon.call("Retry", name="mine")["plugin"]["state"], "active")
        self.assertEqual(
            {p["name"]: p["origin"] for p in daemon.call("List")["plugins"]},
            {"mine": "loaded", "other": "manifest"},
        )
        for again in (daemon.restart, lambda: (daemon.kill(), daemon.start())):
            again()
            self.assertEqual(list(daemon.plugins()), ["other"])

    def test_several_descriptors_are_told_apart_by_their_index(self):
        daemon = self.daemon()
        fds = [self.opened(self.library(n)) for n in ("one", "two", "three", "four")]
        self.assertEqual(self.send(daemon, fds, file=2)["plugin"]["name"], "three")
        self.refused("no_descriptor", daemon, fds[:2], file=2)
        self.refused("no_descriptor", daemon, fds[:2], file=-1)
        self.refused("no_descriptor", daemon, [], file=0)
        self.refused("unexpected_descriptor", daemon, fds + fds[:1], file=0)
        with self.assertRaises(VarlinkError) as caught:
            self.send(daemon, fds[:1], method="Version")
        self.assertEqual(caught.exception.code, "unexpected_descriptor")

    def test_nothing_that_came_stays_open(self):
        daemon = self.daemon()
        fd = self.opened(self.library())
        where = os.path.realpath(f"/proc/self/fd/{fd}")

        def held():
            """How often the daemon has the file open."""
            links = f"/proc/{daemon.pid}/fd"
            return sum(os.path.realpath(os.path.join(links, n)) == where for n in os.listdir(links))

        for _ in range(20):
            self.refused("no_descriptor", daemon, [fd, fd], file=7)
            self.refused("unexpected_descriptor", daemon, [fd] * 5)
        self.send(daemon, [fd] * 4, file=0)
        # They are closed behind the last reply.
        wait_until(lambda: held() == 0, "the end of all of them")

    def test_each_wrong_descriptor_is_named(self):
        daemon = self.daemon()
        path = self.library()
        read, write = os.pipe()
        left, right = socket.socketpair()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        self.addCleanup(left.close)
        self.addCleanup(right.close)
        memory = os.memfd_create("mine.so", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, memory)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        gone = self.library("gone")
        removed = self.opened(gone)
        os.unlink(gone)
        rows = [
            ("not_readable", self.opened(path, os.O_PATH)),
            ("not_readable", self.opened(path, os.O_WRONLY)),
            ("not_regular_file", self.opened(os.path.dirname(path), os.O_RDONLY)),
            ("not_regular_file", read),
            ("not_readable", write),
            ("not_regular_file", left.fileno()),
            ("not_regular_file", self.opened("/dev/null")),
            ("unlinked_file", memory),
            ("unlinked_file", removed),
        ]
        for code, fd in rows:
            with self.subTest(code=code, fd=fd):
                self.refused(code, daemon, [fd])
        self.assertEqual(daemon.call("List")["plugins"], [])

    def test_what_fails_is_a_plugin_that_failed(self):
        daemon = self.daemon()
        crash = self.send(daemon, [self.opened(self.library("bad", before=CRASH))], file=0)
        self.assertEqual(crash["plugin"]["state"], "failed")
        text = self.library("text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no library")
        reply = self.send(daemon, [self.opened(text)], file=0)
        self.assertEqual(reply["plugin"]["state"], "rejected")
        daemon.call("Unload", name="bad")
        daemon.call("Unload", name="text")

    def test_wherever_its_offset_is_all_of_a_file_is_copied_and_the_offset_stays(self):
        daemon = self.daemon()
        fd = self.opened(self.library())
        size = os.fstat(fd).st_size
        for at in (0, 1, size // 2, size, 2 * size):
            with self.subTest(at=at):
                os.lseek(fd, at, os.SEEK_SET)
                reply = self.send(daemon, [fd], file=0)
                self.assertEqual(reply["plugin"]["state"], "active")
                self.assertEqual(os.lseek(fd, 0, os.SEEK_CUR), at)
                daemon.call("Unload", name="mine")

    def test_one_open_file_in_several_calls_at_once_is_copied_whole_for_each(self):
        daemon = self.daemon()
        path = self.library()
        with open(path, "ab") as file:
            file.write(os.urandom(16 << 20))
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        fd = self.opened(path)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        names = ["one", "two", "three", "four"]
        clients = [daemon.client() for _ in names]
        for client, name in zip(clients, names):
            self.addCleanup(client.close)
            call = {"method": "org.kplug.Manager.Load", "parameters": {"file": 0, "name": name}}
            client.socket.sendmsg([json.dumps(call).encode() + b"\0"], rights)
        for client in clients:
            self.assertNotIn(b'"error"', client.receive_bytes())
        for name in names:
            with open(os.path.join(daemon.state_dir, "loaded", name + ".so"), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest, name)

    def test_names_that_are_there_are_refused(self):
        daemon = self.daemon()
        daemon.add("there", [kernel("other")])
        daemon.call("Reload")
        fd = self.opened(self.library("there"))
        self.refused("name_taken", daemon, [fd])
        self.refused("bad_name", daemon, [fd], name="a/b")
        self.refused("bad_name", daemon, [fd], name="x" * 200)
        self.refused("bad_name", daemon, [fd], name="")
        reply = self.send(daemon, [fd], file=0, name="again")
        self.assertEqual(reply["plugin"]["name"], "again")
        self.refused("name_taken", daemon, [fd], name="again")

    def test_duplicates_are_as_of_manifests(self):
        daemon = self.daemon()
        path = self.library("kept")
        self.send(daemon, [self.opened(path)], file=0)
        same = self.send(daemon, [self.opened(path)], file=0, name="zz")["plugin"]
        self.assertEqual((same["state"], same["reason"]["code"]), ("rejected", "duplicate_of"))
        other = self.library("other", package="kept", kernels=[kernel(priority=3)])
        named = self.send(daemon, [self.opened(other)], file=0)["plugin"]
        self.assertEqual((named["state"], named["reason"]["code"]), ("rejected", "duplicate_of"))
        daemon.call("Unload", name="kept")
        states = {p["name"]: p["state"] for p in daemon.call("List")["plugins"]}
        self.assertEqual(states["other"], "active")

    def test_t48_what_is_disabled_comes_back_by_no_load(self):
        daemon = self.daemon()
        daemon.add("off")
        daemon.call("Reload")
        daemon.call("Disable", name="off", reason="wrong sums")
        daemon.remove("off")
        daemon.call("Reload")
        fd = self.opened(daemon.library_path("off"))
        for name in ("off", "a", "z"):
            reply = self.send(daemon, [fd], file=0, name=name)
            self.assertEqual(reply["plugin"]["state"], "disabled")
            self.assertIsNone(daemon.select(SQUARE)["selected"])
            daemon.call("Unload", name=name)

    def test_only_what_was_loaded_is_unloaded(self):
        daemon = self.daemon()
        daemon.add("there")
        daemon.call("Reload")
        for name, code in (("there", "not_loaded"), ("nobody", "no_such_plugin")):
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("Unload", name=name)
            self.assertEqual(caught.exception.code, code)


class Commands(Case):
    def test_exit_statuses_are_as_documented(self):
        daemon = self.daemon()
        good, bad = self.library("good"), self.library("bad", before=CRASH)
        rows = [
            (["load", good], 0, "good: active"),
            (["load", good], 2, "--name, or, where it was loaded, `pluginctl unload good`"),
            (["load", good, "--name", "twice"], 1, "duplicate"),
            (["load", bad], 1, "bad: failed"),
            (["load", bad, "--name", "worse"], 1, "`pluginctl unload worse` takes it away"),
            (["load", "/no/such.so"], 2, "cannot open /no/such.so: No such file"),
            (["load", os.path.dirname(good)], 2, "a directory"),
            (["list"], 0, "loaded, until plugind ends"),
            (["unload", "good"], 0, "good: unloaded"),
            (["unload", "good"], 5, "good"),
            (["unload", "bad/square"], 2, "plugin"),
        ]
        for words, status, text in rows:
            done = daemon.ctl(*words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(text, done.stdout + done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_in_system_mode_admins_load_what_others_cannot_write(self):
        daemon = self.daemon(system=True)
        path = self.library("mine")
        with as_nobody(daemon.socket, path) as options:
            done = call("load", path, socket=daemon.socket, **options)
            self.assertEqual(done.returncode, 4, done.stderr)
        os.chmod(path, 0o666)
        self.refused("writable_by_others", daemon, [self.opened(path)])
        os.chmod(path, 0o600)
        self.refused("not_world_readable", daemon, [self.opened(path)])
        os.chmod(path, 0o644)
        os.chown(path, 65534, -1)
        self.refused("untrusted_owner", daemon, [self.opened(path)])
        os.chown(path, 0, -1)
        reply = self.send(daemon, [self.opened(path)], file=0)
        self.assertEqual(reply["plugin"]["state"], "active")
        mode = os.stat(os.path.join(daemon.state_dir, "loaded", "mine.so")).st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o644)


if __name__ == "__main__":
    unittest.main()
