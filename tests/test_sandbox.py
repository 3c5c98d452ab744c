# SPDX-License-Identifier: MIT
"""Workers are confined: what plugind makes of plugins that try to get out, and says of it."""

import glob
import os
import shutil
import signal
import unittest

import unconfined
from harness import BUILD, Daemon, as_another_user, install, make_plugin, wait_until


OTHER = 4711  # a user that nobody is
WITHOUT = {
    "seccomp filters are missing": (unconfined.SECCOMP,),
    "Landlock is missing": (unconfined.LANDLOCK,),
}


def put(daemon, fixture, **manifest):
    path = daemon.library_path(fixture)
    shutil.copy2(os.path.join(BUILD, "tests", "fixtures", f"{fixture}.so"), path + ".new")
    install(path)
    daemon.manifest(fixture, **manifest)


def hostile(daemon, fixture):
    """A fixture as the only plugin of the daemon; what is listed of it."""
    for name in daemon.plugins():
        daemon.remove(name)
    put(daemon, fixture)
    daemon.call("Reload")
    return daemon.plugins()[fixture]


def added(daemon):
    """A good plugin; what is listed of it."""
    daemon.add("good")
    daemon.call("Reload")
    return daemon.plugins()["good"]


class Confined(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def workers(self):
        return self.daemon.call("Status")["workers"]

    def test_status_says_by_what_workers_are_confined(self):
        workers = self.workers()
        self.assertIs(workers["confined"], True)
        for word in ("seccomp", "Landlock"):
            self.assertIn(word, workers["message"])
        self.assertRegex(self.daemon.ctl("status").stdout, r"confined +yes: ")

    def test_an_attack_is_the_plugins_failure_and_named(self):
        for fixture, word in (
            ("signal_to_its_parent", "send signals to others (kill)"),
            ("trace_of_its_parent", "look into other processes (ptrace)"),
            ("program_in_its_place", "run programs (execve)"),
        ):
            plugin = hostile(self.daemon, fixture)
            self.assertEqual(plugin["state"], "failed", plugin)
            self.assertEqual(plugin["reason"]["code"], "refused_by_sandbox")
            self.assertIn(word, plugin["reason"]["message"])
        self.assertEqual(self.workers()["lost"], 0)

    def test_what_is_refused_is_a_warning_that_info_shows(self):
        for fixture, word in (
            ("socket_to_the_daemon", "open sockets (socket)"),
            ("file_removed", "change files (unlink)"),
            ("process_forked", "start processes (clone)"),
        ):
            plugin = hostile(self.daemon, fixture)
            self.assertEqual(plugin["state"], "active", plugin)
            shown = self.daemon.ctl("info", fixture).stdout
            self.assertIn("sandbox_refused", shown)
            self.assertIn(word, " ".join(shown.split()))

    def test_t28_side_effects_of_loading_are_warnings_that_info_shows(self):
        for code in ("changes_locale", "changes_umask", "leaves_threads"):
            self.assertEqual(hostile(self.daemon, code)["state"], "active")
            self.assertIn(code, self.daemon.ctl("info", code).stdout)

    def test_files_of_the_store_are_what_they_were(self):
        for fixture in ("file_written", "file_removed", "file_opened_to_everybody"):
            plugin = hostile(self.daemon, fixture)
            self.assertEqual(plugin["state"], "active", plugin)
            store = os.path.join(self.daemon.state_dir, "store")
            (path,) = glob.glob(f"{store}/**/{fixture}.so", recursive=True)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o444)
            with open(path, "rb") as stored, open(self.daemon.library_path(fixture), "rb") as own:
                self.assertEqual(stored.read(), own.read())

    def test_the_verdict_of_an_earlier_start_tells_it_too(self):
        hostile(self.daemon, "socket_to_the_network")
        self.daemon.stop()
        self.daemon.start()
        self.daemon.settle()
        self.assertIn("sandbox_refused", self.daemon.ctl("info", "socket_to_the_network").stdout)


class Outliving(unittest.TestCase):
    """Whatever a plugin does to outlive the daemon: nothing of it is left."""

    def test_no_worker_outlives_a_daemon_that_is_killed(self):
        for fixture in ("outlives_by_deafness", "outlives_by_its_parent", "outlives_in_a_thread"):
            with Daemon(start=False) as daemon:
                put(daemon, fixture, timeout_ms=60000)
                mark = os.path.realpath(daemon.state_dir).encode()
                daemon.start()
                wait_until(lambda: mapped(mark), "the worker has loaded it")
                daemon.process.send_signal(signal.SIGKILL)
                wait_until(lambda: not mapped(mark), "nothing of it is left")

    def test_no_worker_outlives_who_watches_over_it(self):
        for fixture in ("outlives_by_deafness", "outlives_by_its_parent", "hang_in_constructor"):
            with Daemon(start=False) as daemon:
                put(daemon, fixture, timeout_ms=60000)
                mark = os.path.realpath(daemon.state_dir).encode()
                daemon.start()
                path = wait_until(lambda: mapped(mark), "the worker has loaded it")[0]
                keeper = parent_of(path.split("/")[2])
                launcher = parent_of(keeper)
                # It would end whatever it inherits.
                os.kill(launcher, signal.SIGSTOP)
                os.kill(keeper, signal.SIGKILL)
                wait_until(lambda: not mapped(mark), "nothing of it is left")
                os.kill(launcher, signal.SIGCONT)
                plugin = daemon.plugins()[fixture]
                self.assertEqual(plugin["state"], "failed", plugin)


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def mapped(mark):
    """Threads that run code of a file below a directory: the first one may have ended."""
    found = []
    for path in glob.glob("/proc/[0-9]*/task/*/maps"):
        try:
            with open(path, "rb") as file:
                if any(mark in line and b" r-xp " in line for line in file):
                    found.append(path)
        except OSError:
            continue
    return found


class Unconfined(unittest.TestCase):
    """Where the kernel does not offer it: said, and only what is root's is probed."""

    def daemon(self, calls, **more):
        daemon = Daemon(without=calls, **more)
        self.addCleanup(daemon.close)
        return daemon

    def test_status_names_what_is_missing(self):
        for words, calls in WITHOUT.items():
            workers = self.daemon(calls).call("Status")["workers"]
            self.assertIs(workers["confined"], False)
            self.assertIn(words, workers["message"])

    def test_a_private_daemon_probes_its_users_plugins(self):
        for calls in WITHOUT.values():
            daemon = self.daemon(calls)
            self.assertEqual(added(daemon)["state"], "active")

    def test_a_systems_daemon_probes_what_is_roots(self):
        for calls in WITHOUT.values():
            daemon = self.daemon(calls, system=True)
            self.assertEqual(added(daemon)["state"], "active")

    @as_another_user
    def test_a_systems_daemon_does_not_probe_what_is_another_users(self):
        for words, calls in WITHOUT.items():
            daemon = self.daemon(calls, system=True, user=OTHER)
            make_plugin(daemon.library_path("good"), "good")
            os.chown(daemon.library_path("good"), OTHER, OTHER)
            daemon.manifest("good")
            daemon.call("Reload")
            plugin = daemon.plugins()["good"]
            self.assertEqual(plugin["state"], "rejected", plugin)
            self.assertEqual(plugin["reason"]["code"], "not_confined")
            self.assertIn(words, plugin["reason"]["message"])
            self.assertIn("only plugins that belong to root", daemon.ctl("status").stdout)

    @as_another_user
    def test_where_it_is_confined_it_probes_it(self):
        daemon = self.daemon((), system=True, user=OTHER)
        make_plugin(daemon.library_path("good"), "good")
        os.chown(daemon.library_path("good"), OTHER, OTHER)
        daemon.manifest("good")
        daemon.call("Reload")
        self.assertEqual(daemon.plugins()["good"]["state"], "active")
        self.assertEqual(hostile(daemon, "signal_to_its_parent")["state"], "failed")
