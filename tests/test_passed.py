# SPDX-License-Identifier: MIT
"""A socket that the service manager has made: served, and otherwise left alone."""

import os
import socket
import stat
import tempfile
import unittest

from harness import children, is_alive, wait_until
from manager import Managed, Manager, listening
from varlink import Client


def name_of(made):
    """What a descriptor of the socket is a link to."""
    return f"socket:[{os.fstat(made.fileno()).st_ino}]"


def open_by(pid):
    return [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]


class Passed(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="kplug-passed.")
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.path = os.path.join(self.place, "passed.sock")

    def listening(self, name="passed.sock", **more):
        made = listening(os.path.join(self.place, name), **more)
        self.addCleanup(made.close)
        return made

    def managed(self, *sockets, **more):
        daemon = Managed(sockets=sockets, start=False, **more)
        self.addCleanup(daemon.close)
        return daemon

    def ask(self, path=None):
        with Client(path or self.path) as client:
            return client.call("Status", {})

    # -- served

    def test_who_connected_before_the_start_is_answered(self):
        listener = self.listening()
        waiting = Client(self.path)
        self.addCleanup(waiting.close)
        self.managed(listener).spawn()
        self.assertEqual(waiting.call("Status", {})["socket"], self.path)

    def test_it_is_neither_bound_nor_locked_nor_removed(self):
        listener = self.listening()
        os.chmod(self.path, 0o640)
        before = os.stat(self.path)
        daemon = self.managed(listener)
        daemon.spawn()
        self.ask()
        self.assertEqual(os.listdir(self.place), ["passed.sock"])
        self.assertFalse(os.path.exists(daemon.socket))
        daemon.stop()
        after = os.stat(self.path)
        self.assertEqual(
            (before.st_ino, before.st_mode, before.st_ctime_ns),
            (after.st_ino, after.st_mode, after.st_ctime_ns),
        )
        self.assertEqual(os.listdir(self.place), ["passed.sock"])

    def test_a_client_of_between_two_daemons_waits_for_the_second(self):
        listener = self.listening()
        daemon = self.managed(listener)
        daemon.spawn()
        first = self.ask()["pid"]
        for end in (daemon.stop, daemon.kill):
            end()
            waiting = Client(self.path)
            self.addCleanup(waiting.close)
            daemon.spawn()
            self.assertNotEqual(waiting.call("Status", {})["pid"], first)

    def test_the_state_is_still_one_daemons_alone(self):
        daemon = self.managed(self.listening())
        daemon.spawn()
        self.ask()
        other = self.managed(self.listening("other.sock"))
        other.state_dir = daemon.state_dir
        other.spawn()
        self.assertEqual(wait_until(other.process.poll, "its end"), 1)
        other.process = None
        self.assertIn("a plugind is running already", other.log())

    def test_of_several_the_one_that_is_named_plugind_is_served(self):
        other, own = self.listening("other.sock"), self.listening()
        daemon = self.managed(other, own, env={"LISTEN_FDNAMES": "metrics:plugind"})
        daemon.spawn()
        self.assertEqual(self.ask()["socket"], self.path)
        self.assertNotIn(name_of(other), open_by(daemon.pid))

    def test_one_alone_may_have_any_name_or_none(self):
        for names in ("connection", "plugind.socket", "plugind", "", None):
            with self.subTest(names=names):
                listener = listening(self.path)
                env = {} if names is None else {"LISTEN_FDNAMES": names}
                daemon = self.managed(listener, env=env)
                daemon.spawn()
                self.ask()
                daemon.stop()
                listener.close()
                os.unlink(self.path)

    def test_what_is_for_another_process_is_not_ours(self):
        for pid in ("1", "", "x", str(os.getpid())):
            with self.subTest(pid=pid):
                name = f"for-{pid}.sock"
                daemon = self.managed(self.listening(name), env={"LISTEN_PID": pid})
                daemon.spawn()
                wait_until(lambda d=daemon: os.path.exists(d.socket), "its own socket")
                self.assertTrue(stat.S_ISSOCK(os.stat(daemon.socket).st_mode))
                daemon.stop()

    def test_workers_do_not_inherit_it(self):
        listener = self.listening()
        daemon = self.managed(listener)
        daemon.add("one")
        daemon.spawn()
        with Client(self.path) as client:
            client.call("Status", {"wait": True})
            launcher = children(daemon.pid)[0]
            self.assertIn(name_of(listener), open_by(daemon.pid))
            self.assertNotIn(name_of(listener), open_by(launcher))

    def test_another_socket_in_the_options_is_named_and_not_made(self):
        daemon = self.managed(self.listening())
        daemon.spawn()
        self.ask()
        self.assertIn(f"the socket of the options, {daemon.socket}, is not made", daemon.log())
        self.assertIn(self.path, daemon.log())

    # -- refused

    def refused(self, *sockets, **env):
        daemon = self.managed(*sockets, env=env)
        daemon.spawn()
        wait_until(lambda: daemon.process.poll() is not None, "its end")
        self.assertEqual(daemon.process.returncode, 1)
        daemon.process = None
        self.assertIn("plugind takes one Unix socket of streams", daemon.log())
        return daemon.log()

    def test_a_socket_that_cannot_be_ours_is_refused_in_words(self):
        tcp = socket.socket()
        self.addCleanup(tcp.close)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        with open("/dev/null", "rb") as null:
            self.assertIn("is something else", self.refused(null))
        self.assertIn("is something else", self.refused(tcp))
        datagrams = self.listening("d", kind=socket.SOCK_DGRAM, listen=False)
        self.assertIn("is something else", self.refused(datagrams))
        self.assertIn("does not listen", self.refused(self.listening("q", listen=False)))
        abstract = self.abstract()
        self.assertIn("no absolute path", self.refused(abstract))

    def abstract(self):
        made = socket.socket(socket.AF_UNIX)
        self.addCleanup(made.close)
        made.bind("\0kplug-passed-" + str(os.getpid()))
        made.listen()
        return made

    def test_several_without_one_name_are_refused_in_words(self):
        pair = self.listening("a"), self.listening("b")
        self.assertIn("none is named plugind", self.refused(*pair))
        self.assertIn("none is named plugind", self.refused(*pair, LISTEN_FDNAMES="a:b"))
        self.assertIn("none is named plugind", self.refused(*pair, LISTEN_FDNAMES="plugind2:"))
        both = self.refused(*pair, LISTEN_FDNAMES="plugind:plugind")
        self.assertIn("several sockets that are named plugind", both)

    def test_a_number_that_is_none_is_refused_in_words(self):
        for count in ("x", "-1", "65", "99999999999999999999", "1 "):
            with self.subTest(count=count):
                said = self.refused(self.listening("n" + count), LISTEN_FDS=count)
                self.assertIn("LISTEN_FDS is no number", said)

    def test_what_is_refused_is_left_as_it_is(self):
        listener = self.listening("b", listen=False)
        self.refused(listener)
        self.assertEqual(os.listdir(self.place), ["b"])

    # -- with a manager that listens for words, too

    def test_a_passed_socket_and_a_notice_go_together(self):
        with Manager() as manager:
            daemon = Managed(manager, sockets=[self.listening()], start=False)
            self.addCleanup(daemon.close)
            daemon.spawn()
            manager.await_word("READY")
            pid = self.ask()["pid"]
            self.assertTrue(is_alive(pid))
            daemon.stop()
            self.assertIn("STOPPING", manager.hear_all()[-1])


if __name__ == "__main__":
    unittest.main()
