# SPDX-License-Identifier: MIT
"""The life of plugind: options, socket, locks, signals, what it keeps and what it starts with."""

import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import unittest

from harness import HANG, PATIENCE_S, Daemon, children, is_alive, kernel, let_in, wait_until, write
from varlink import VarlinkError

PLUGIND = 0  # index of the program in Daemon.command()


class Case(unittest.TestCase):
    def daemon(self, **keywords):
        daemon = Daemon(**keywords)
        self.addCleanup(daemon.close)
        return daemon

    def stopped(self, **keywords):
        return self.daemon(start=False, **keywords)


class Options(Case):
    def config(self, daemon, text):
        path = os.path.join(daemon.place, "plugind.json")
        write(path, text)
        return path

    def test_a_wrong_file_ends_with_2_and_starts_nothing(self):
        cases = [
            ('{\n "sockte": "x"\n}', ":2:2: ", "sockte"),
            ('{"socket": 7}', ":1:2: ", "socket"),
            ('{"socket": "x",\n}', ":2:1: ", ""),
            ('{"manifest_dir": "/x"}', ":1:2: ", "manifest_dir"),
            ('{"platform": "/x", "platform": "/y"}', ":1:", "platform"),
        ]
        for text, place, word in cases:
            with self.subTest(text=text):
                daemon = self.stopped()
                path = self.config(daemon, text)
                command = [daemon.command()[PLUGIND], "--config", path]
                done = daemon.run(command + ["--socket", daemon.socket])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"plugind: {path}{place}", done.stderr)
                self.assertIn(word, done.stderr)
                self.assertFalse(os.path.exists(daemon.socket))
                self.assertFalse(os.path.exists(daemon.state_dir))

    def test_the_file_says_the_same_as_the_command_line(self):
        daemon = self.stopped()
        content = {
            "manifest_dir": daemon.manifest_dirs,
            "plugin_dir": daemon.plugin_dir,
            "families_dir": daemon.families,
            "state_dir": "state",
            "cache_dir": "cache",
            "socket": "plugind.sock",
            "log_level": "debug",
        }
        path = self.config(daemon, json.dumps(content))
        daemon.add("a")
        daemon.spawn([daemon.command()[PLUGIND], "--config", path])
        wait_until(daemon.is_ready, "plugind's socket")
        self.assertEqual(daemon.plugins()["a"]["state"], "active")
        self.assertTrue(os.path.exists(os.path.join(daemon.state_dir, "store")))

    def test_check_config_says_ok_or_what_is_wrong(self):
        daemon = self.stopped()
        base = daemon.command()
        done = daemon.run(base + ["--check-config"])
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)
        bad_family = os.path.join(daemon.place, "families")
        os.mkdir(bad_family)
        write(os.path.join(bad_family, "a.b.json"), "{")
        write(os.path.join(daemon.place, "platform"), '{"devices": 7}')
        nowhere = os.path.join(daemon.place, "nowhere")
        for option, value, word in [
            ("--families-dir", nowhere, nowhere),
            ("--families-dir", bad_family, "a.b.json:1:"),
            ("--worker", nowhere + "/worker", nowhere),
            ("--worker", daemon.place, "regular file"),
            ("--platform", nowhere + "/platform", nowhere),
            ("--platform", os.path.join(daemon.place, "platform"), "devices"),
            ("--config", nowhere + "/c.json", nowhere),
        ]:
            with self.subTest(option=option, value=value):
                done = daemon.run(base + [option, value, "--check-config"])
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(daemon.state_dir))

    def test_check_config_tells_of_directories_that_are_not_there_yet(self):
        daemon = self.stopped(layers=2)
        os.rmdir(daemon.manifest_dirs[1])
        for option, path in [
            (None, daemon.manifest_dirs[1]),
            ("--manifest-dir", os.path.join(daemon.place, "mistyped")),
            ("--plugin-dir", os.path.join(daemon.place, "plugens")),
        ]:
            with self.subTest(option=option):
                more = [option, path] if option else []
                done = daemon.run(daemon.command() + more + ["--check-config"])
                self.assertEqual((done.returncode, done.stdout), (0, "ok\n"))
                self.assertIn(path + ": No such file or directory", done.stderr)
                self.assertFalse(os.path.exists(path))
        # What nobody named may be missing without a word.
        base = [daemon.command()[PLUGIND], "--socket", daemon.socket, "--check-config"]
        self.assertEqual(daemon.run(base).stderr, "")

    def test_a_small_pool_of_threads_does_not_hold_up_decisions(self):
        for size in ("1", "0", "nonsense"):
            daemon = self.stopped(env={"UV_THREADPOOL_SIZE": size})
            daemon.add("a")
            daemon.start()
            daemon.settle()
            self.assertGreaterEqual(len(os.listdir(f"/proc/{daemon.pid}/task")), 5)

    def test_t73_each_exit_status_is_what_the_table_says(self):
        daemon = self.stopped()
        base = daemon.command()
        self.assertEqual(daemon.run([base[PLUGIND], "--help"]).returncode, 0)
        self.assertEqual(daemon.run([base[PLUGIND], "--version"]).returncode, 0)
        self.assertEqual(daemon.run([base[PLUGIND], "--wrong"]).returncode, 2)
        self.assertEqual(
            daemon.run(base + ["--families-dir", daemon.place + "/none"]).returncode, 2
        )
        self.assertEqual(daemon.run(base + ["--state-dir", "/proc/none"]).returncode, 1)
        self.assertEqual(daemon.run(base + ["--socket", "/proc/none"]).returncode, 1)
        table = daemon.run([base[PLUGIND], "--help"]).stdout
        self.assertIn("Exit status: 0", table)
        daemon.start()
        self.assertEqual(daemon.stop(signal.SIGTERM), 0)
        daemon.start()
        self.assertEqual(daemon.stop(signal.SIGINT), 0)

    def test_t73_a_degraded_registry_is_no_failure_of_the_daemon(self):
        for content in ("{", '{"library": "absent.so"}', '{"librery": "x.so"}'):
            daemon = self.stopped()
            write(daemon.manifest_path("bad"), content)
            daemon.start()
            self.assertTrue(daemon.settle()["degraded"])
            self.assertEqual(daemon.stop(), 0)


class Socket(Case):
    def test_t66_paths_up_to_the_limit_work_and_longer_ones_are_refused(self):
        for length in (107, 108, 109, 300):
            with self.subTest(length=length):
                daemon = self.stopped()
                daemon.socket = (daemon.place + "/" + "x" * 300)[:length]
                if length <= 107:
                    daemon.start()
                    self.assertEqual(daemon.call("Version")["protocol"], 1)
                    continue
                done = daemon.run()
                self.assertEqual(done.returncode, 2)
                self.assertIn(f" {length} bytes", done.stderr)
                self.assertIn("107", done.stderr)
                self.assertFalse(os.path.exists(daemon.state_dir))
                self.assertEqual([n for n in os.listdir(daemon.place) if "xxx" in n], [])

    def test_only_the_last_directory_of_a_named_socket_is_made(self):
        daemon = self.stopped()
        for path, made in [("run/plugind.sock", True), ("no/where/plugind.sock", False)]:
            daemon.socket = os.path.join(daemon.place, path)
            if made:
                daemon.start()
                self.assertEqual(daemon.stop(), 0)
                continue
            done = daemon.run()
            self.assertEqual(done.returncode, 1)
            self.assertIn(os.path.dirname(daemon.socket), done.stderr)
            self.assertIn("for the socket", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(daemon.place, "no")))

    def test_the_usual_socket_has_its_directories_made_or_says_what_to_set(self):
        daemon = self.stopped()
        command = daemon.command()
        at = command.index("--socket")
        del command[at : at + 2]
        daemon.env["XDG_RUNTIME_DIR"] = os.path.join(daemon.place, "run", "user")
        daemon.socket = os.path.join(daemon.place, "run", "user", "kplug", "plugind.sock")
        daemon.spawn(command)
        wait_until(daemon.is_ready, "plugind's socket")
        self.assertEqual(daemon.stop(), 0)
        daemon.env["XDG_RUNTIME_DIR"] = "/proc/nobody"
        done = daemon.run(command)
        self.assertEqual(done.returncode, 1)
        self.assertIn("set XDG_RUNTIME_DIR or give --socket", done.stderr)
        self.assertIn("for the socket", done.stderr)

    def test_without_a_home_to_write_in_decisions_are_kept_until_the_next_boot_and_it_is_said(self):
        daemon = self.stopped()
        command = daemon.command()
        for option in ("--state-dir", "--cache-dir"):
            at = command.index(option)
            del command[at : at + 2]
        daemon.env.update(HOME="/dev/null", XDG_RUNTIME_DIR=os.path.join(daemon.place, "run"))
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            daemon.env.pop(name, None)
        daemon.spawn(command)
        state = os.path.join(daemon.place, "run", "kplug", "state")
        told = f"decisions are kept in {state}, until the next boot"
        wait_until(lambda: told in daemon.log(), told)
        self.assertTrue(os.path.isfile(os.path.join(state, "lock")))

    def test_the_layer_of_a_user_that_a_mask_until_logout_goes_to_is_theirs(self):
        daemon = self.stopped()
        base = daemon.command()
        while "--manifest-dir" in base:
            at = base.index("--manifest-dir")
            del base[at : at + 2]
        runtime = os.path.join(daemon.place, "run")
        daemon.env.update(XDG_RUNTIME_DIR=runtime)
        layer = os.path.join(runtime, "kplug", "plugins.d")
        for more, told in [
            ([], layer),
            (["--manifest-dir", daemon.manifest_dirs[0]], None),
            (["--manifest-dir", daemon.manifest_dirs[0], "--manifest-dir", layer], layer),
            # That of the machine is none of theirs, even where it is read.
            (["--manifest-dir", "/run/kplug/plugins.d"], None),
        ]:
            with self.subTest(more=more):
                daemon.spawn(base + more)
                wait_until(daemon.is_ready, "plugind's socket")
                self.assertEqual(daemon.call("Layers")["runtime_dir"], told)
                self.assertEqual(daemon.stop(), 0)

    def test_paths_need_not_be_utf8(self):
        daemon = self.stopped()
        odd = os.path.join(daemon.place, os.fsdecode(b"od\xffd"))
        os.mkdir(odd)
        daemon.manifest_dirs = [odd]
        daemon.plugin_dir = odd
        daemon.socket = os.path.join(odd, "plugind.sock")
        daemon.start()
        status = daemon.settle()
        shown = daemon.place + "/od\\xffd"
        self.assertEqual(status["manifest_dirs"], [shown])
        self.assertEqual(status["plugin_dir"], shown)
        self.assertEqual(status["socket"], shown + "/plugind.sock")
        self.assertEqual(daemon.call("Layers")["mask_dir"], shown)
        daemon.add("a")
        wait_until(lambda: daemon.plugins().get("a"), "a to be found")
        self.assertEqual(daemon.call("Info", name="a")["plugin"]["manifest"], shown + "/a.json")

    def test_t67_a_second_daemon_says_who_is_running(self):
        daemon = self.daemon()
        other = os.path.join(daemon.place, "other")
        for more in (
            ["--state-dir", other],
            ["--socket", other + ".sock"],
            [],
        ):
            with self.subTest(more=more):
                done = daemon.run(daemon.command() + more)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"process {daemon.pid} ", done.stderr)
        self.assertEqual(daemon.call("Version")["protocol"], 1)

    def test_t67_a_stopped_daemon_is_not_replaced(self):
        daemon = self.daemon()
        inode = os.lstat(daemon.socket).st_ino
        os.kill(daemon.pid, signal.SIGSTOP)
        for _ in range(3):
            self.assertEqual(daemon.run().returncode, 1)
        os.unlink(daemon.socket + ".lock")
        self.assertEqual(daemon.run().returncode, 1)
        self.assertEqual(os.lstat(daemon.socket).st_ino, inode)
        os.kill(daemon.pid, signal.SIGCONT)
        self.assertEqual(daemon.call("Version")["protocol"], 1)

    def test_t67_somebody_elses_listening_socket_is_not_taken(self):
        daemon = self.stopped()
        with socket.socket(socket.AF_UNIX) as foreign:
            foreign.bind(daemon.socket)
            foreign.listen(1)
            inode = os.lstat(daemon.socket).st_ino
            done = daemon.run()
            self.assertEqual(done.returncode, 1)
            self.assertIn("listens", done.stderr)
            self.assertEqual(os.lstat(daemon.socket).st_ino, inode)

    def test_t67_on_exit_only_our_own_socket_is_removed(self):
        daemon = self.daemon()
        os.unlink(daemon.socket)
        with socket.socket(socket.AF_UNIX) as foreign:
            foreign.bind(daemon.socket)
            inode = os.lstat(daemon.socket).st_ino
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual(os.lstat(daemon.socket).st_ino, inode)

    def test_after_the_end_neither_socket_nor_lock_is_left(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.daemon()
            daemon.stop(number)
            for name in (daemon.socket, daemon.socket + ".lock"):
                self.assertFalse(os.path.lexists(name))
            self.assertFalse(os.path.lexists(os.path.join(daemon.state_dir, "lock")))

    def test_t68_a_stale_socket_is_replaced(self):
        daemon = self.daemon()
        for _ in range(3):
            daemon.kill()
            self.assertTrue(os.path.exists(daemon.socket))
            daemon.start()
            self.assertEqual(daemon.call("Version")["protocol"], 1)

    def test_t68_what_is_not_a_socket_is_left_alone(self):
        for make, kind in [
            (lambda p: write(p, "precious"), stat.S_ISREG),
            (lambda p: os.symlink("/etc/passwd", p), stat.S_ISLNK),
            (lambda p: os.symlink("/nowhere", p), stat.S_ISLNK),
            (os.mkdir, stat.S_ISDIR),
            (os.mkfifo, stat.S_ISFIFO),
        ]:
            daemon = self.stopped()
            make(daemon.socket)
            before = os.lstat(daemon.socket)
            done = daemon.run()
            self.assertEqual(done.returncode, 1)
            self.assertIn("left alone", done.stderr)
            after = os.lstat(daemon.socket)
            self.assertTrue(kind(after.st_mode))
            self.assertEqual((before.st_ino, before.st_size), (after.st_ino, after.st_size))

    def test_modes_are_those_of_a_private_and_of_a_system_daemon(self):
        for system, mode, state_mode in ((False, 0o600, 0o700), (True, 0o666, 0o711)):
            daemon = self.daemon(system=system)
            daemon.settle()
            self.assertEqual(stat.S_IMODE(os.lstat(daemon.socket).st_mode), mode)
            self.assertEqual(stat.S_IMODE(os.stat(daemon.state_dir).st_mode), state_mode)

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_another_user_observes_a_system_daemon_and_no_private_one(self):
        script = (
            "import sys, os; os.setgroups([]); os.setgid(65534); os.setuid(65534);"
            "os.execv(sys.argv[1], sys.argv[1:])"
        )
        daemon = self.stopped()
        program = os.path.join(os.path.dirname(daemon.command()[PLUGIND]), "pluginctl")
        let_in(daemon)
        for system, arguments, status in [
            (True, ["list"], 0),
            (True, ["disable", "a"], 4),
            (True, ["reload"], 4),
            (False, ["list"], None),
        ]:
            daemon = self.daemon(system=system)
            # The build may be where others cannot look.
            own = shutil.copy(program, daemon.place)
            done = subprocess.run(
                ["/usr/bin/python3", "-c", script, own, "--socket", daemon.socket, *arguments],
                capture_output=True,
                text=True,
                check=False,
            )
            if status is None:
                self.assertNotEqual(done.returncode, 0)
            else:
                self.assertEqual(done.returncode, status, done.stderr)


class End(Case):
    def hanging(self, count):
        daemon = self.stopped()
        names = [f"hang{i:02}" for i in range(count)]
        daemon.add_many(names, before=HANG)
        daemon.start()
        return daemon

    def test_it_ends_while_twenty_plugins_hang_and_leaves_no_process(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.hanging(20)
            wait_until(
                lambda d=daemon: d.call("Status")["workers"]["running"] > 0, "a worker to hang"
            )
            # The launcher and at least one worker.
            wait_until(lambda d=daemon: len(children(d.pid)) > 1, "a worker")
            family = children(daemon.pid)
            self.assertEqual(daemon.stop(number), 0)
            wait_until(lambda f=family: not any(is_alive(p) for p in f), "workers to end")

    def test_asking_twice_ends_it_as_well_as_asking_once(self):
        for second in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            daemon = self.stopped()
            daemon.add("a")
            daemon.start()
            daemon.settle()
            wait_until(lambda d=daemon: len(children(d.pid)) == 1, "only the launcher to be left")
            # A launcher that does not end keeps the end waiting.
            os.kill(children(daemon.pid)[0], signal.SIGSTOP)
            daemon.process.send_signal(signal.SIGTERM)
            wait_until(lambda d=daemon: not os.path.exists(d.socket), "the end to begin")
            daemon.process.send_signal(second)
            self.assertEqual(daemon.process.wait(PATIENCE_S), 0)

    def test_nobody_gets_the_state_while_its_launcher_lives(self):
        for _ in range(2):
            daemon = self.stopped()
            daemon.add("a")
            daemon.start()
            daemon.settle()
            wait_until(lambda d=daemon: len(children(d.pid)) == 1, "only the launcher to be left")
            launcher = children(daemon.pid)[0]
            os.kill(launcher, signal.SIGSTOP)
            lock = os.path.join(daemon.state_dir, "lock")

            def is_free():
                try:
                    with open(lock, encoding="utf-8") as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except FileNotFoundError:
                    return True
                except BlockingIOError:
                    return False
                return True

            self.assertFalse(is_free())
            daemon.process.send_signal(signal.SIGTERM)
            wait_until(is_free, "the lock")
            self.assertFalse(is_alive(launcher))
            self.assertEqual(daemon.process.wait(PATIENCE_S), 0)

    def test_it_answers_while_twenty_plugins_hang(self):
        daemon = self.hanging(20)
        reply = daemon.call("List")
        wait_until(lambda: len(daemon.call("List")["plugins"]) == 20, "the manifests to be read")
        reply = daemon.call("List")
        self.assertEqual(len(reply["pending"]), 20)
        self.assertEqual({p["state"] for p in reply["plugins"]}, {"pending"})
        status = daemon.call("Status")
        self.assertEqual(status["state"], "starting")
        self.assertEqual(status["plugins"]["pending"], 20)

    def test_killed_workers_leave_with_a_killed_daemon(self):
        daemon = self.hanging(3)
        wait_until(lambda: daemon.call("Status")["workers"]["running"] > 0, "a worker to hang")
        family = children(daemon.pid)
        daemon.kill()
        wait_until(lambda: not any(is_alive(p) for p in family), "workers to end")

    def test_calls_that_wait_do_not_hold_up_the_end(self):
        daemon = self.hanging(2)
        waiting = []
        for method, parameters in [
            ("Status", {"wait": True}),
            ("List", {"settle_ms": 600000}),
            ("Reload", {}),
        ]:
            client = daemon.client()
            self.addCleanup(client.close)
            client.start(method, parameters)
            waiting.append(client)
        wait_until(lambda: daemon.call("Status")["clients"] >= 4, "all to be connected")
        self.assertEqual(daemon.stop(), 0)
        for client in waiting:
            try:
                self.assertIsNone(client.receive())
            except ConnectionResetError:
                pass


class Kept(Case):
    """What outlives the daemon."""

    def test_a_disabled_plugin_stays_disabled_over_restarts_and_kills(self):
        daemon = self.stopped()
        daemon.add("a")
        daemon.add("b", [kernel(priority=9)])
        daemon.start()
        daemon.settle()
        self.assertEqual(daemon.select("elementwise/square")["selected"], "a/square")
        daemon.call("Disable", name="a", reason="wrong")
        daemon.call("Disable", name="b", runtime=True)
        self.assertIsNone(daemon.select("elementwise/square")["selected"])
        for end in (daemon.stop, daemon.kill):
            end()
            daemon.start()
            # At once: the decisions hold before the first scan has ended.
            self.assertNotEqual(daemon.select("elementwise/square")["selected"], "a/square")
            plugins = daemon.plugins()
            self.assertEqual(plugins["a"]["state"], "disabled")
            self.assertIn("wrong", plugins["a"]["reason"]["message"])
            self.assertEqual(plugins["b"]["state"], "active")
            self.assertEqual(daemon.select("elementwise/square")["selected"], "b/square")
        daemon.call("Enable", name="a")
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.plugins()["a"]["state"], "active")

    def test_a_warm_start_runs_no_worker(self):
        daemon = self.stopped()
        daemon.add_many([f"p{i}" for i in range(5)])
        daemon.start()
        self.assertGreater(daemon.settle()["workers"]["started"], 0)
        for _ in range(2):
            daemon.restart()
            status = daemon.settle()
            self.assertEqual(status["workers"]["started"], 0)
            self.assertEqual(status["plugins"]["active"], 5)

    def test_the_last_table_serves_until_the_scan_has_ended(self):
        daemon = self.stopped()
        daemon.add("a")
        daemon.start()
        daemon.settle()
        wait_until(lambda: os.path.exists(os.path.join(daemon.state_dir, "table")), "the table")
        daemon.stop()
        with open(os.path.join(daemon.state_dir, "table"), "rb") as file:
            self.assertEqual(file.read(8), b"KPLUGTB1")
        daemon.add("hang", before=HANG)
        # What the cache knows is forgotten: the plugin has to be probed again.
        for root, _, files in os.walk(daemon.cache_dir):
            for name in files:
                os.unlink(os.path.join(root, name))
        daemon.start()
        self.assertEqual(daemon.select("elementwise/square")["selected"], "a/square")

    def test_damage_never_stops_a_start(self):
        for name, content in [
            ("decisions.json", "{"),
            ("decisions.json", '{"format": "kplug-table/1"}'),
            ("table", "KPLUGTB1 but not really"),
            ("table", ""),
        ]:
            with self.subTest(name=name, content=content):
                daemon = self.stopped()
                daemon.add("a")
                os.mkdir(daemon.state_dir)
                write(os.path.join(daemon.state_dir, name), content)
                daemon.start()
                self.assertEqual(daemon.plugins()["a"]["state"], "active")
                codes = [w["code"] for w in daemon.call("Status")["warnings"]]
                self.assertIn("damaged_state", codes)
                self.assertIn(name, daemon.log())
                self.assertTrue(os.path.exists(os.path.join(daemon.state_dir, name + ".damaged")))

    def test_lost_decisions_degrade_until_somebody_decides_again(self):
        for content in ("{", "[]", '{"format": "kplug-decisions/1", "disabled": 7}'):
            daemon = self.stopped()
            daemon.add("a")
            os.mkdir(daemon.state_dir)
            write(os.path.join(daemon.state_dir, "decisions.json"), content)
            daemon.start()
            for _ in range(2):
                status = daemon.settle()
                self.assertTrue(status["degraded"])
                found = [w["message"] for w in status["warnings"] if w["code"] == "damaged_state"]
                self.assertEqual(len(found), 1, found)
                self.assertIn("decisions.json.damaged", found[0])
                self.assertEqual(daemon.ctl("status", "--strict").returncode, 1)
                # A restart alone mends nothing.
                daemon.restart()
            daemon.call("Disable", name="a")
            self.assertFalse(daemon.settle()["degraded"])
            self.assertEqual(daemon.ctl("status", "--strict").returncode, 0)
            daemon.restart()
            self.assertFalse(daemon.settle()["degraded"])

    def test_a_state_that_cannot_be_read_stops_the_start_and_stays(self):
        for name in ("decisions.json", "table"):
            for make in (os.mkdir, os.mkfifo, lambda p: os.symlink(p, p)):
                daemon = self.stopped()
                os.mkdir(daemon.state_dir)
                path = os.path.join(daemon.state_dir, name)
                make(path)
                done = daemon.run()
                self.assertEqual(done.returncode, 1)
                self.assertIn(path, done.stderr)
                self.assertEqual(os.listdir(daemon.state_dir), [name])

    def test_generations_go_on_where_the_last_table_ended(self):
        daemon = self.stopped()
        daemon.add("a")
        daemon.start()
        last = daemon.settle()["generation"]
        for _ in range(3):
            daemon.restart()
            generation = daemon.settle()["generation"]
            self.assertGreater(generation, last)
            last = generation

    def test_what_has_left_can_still_be_asked_about_and_enabled(self):
        for name, runtime, word in [
            ("a", False, "disabled"),
            ("a/square", False, "disabled"),
            ("a", True, "disabled-runtime"),
        ]:
            daemon = self.stopped()
            daemon.add("a")
            daemon.start()
            daemon.settle()
            daemon.call("Disable", name=name, runtime=runtime)
            daemon.remove("a")
            daemon.call("Reload")
            self.assertEqual(daemon.call("List")["plugins"], [])
            reply = daemon.call("IsEnabled", name=name)
            self.assertEqual((reply["enabled"], reply["state"]), (False, word))
            self.assertTrue(daemon.call("Enable", name=name)["changed"])
            with self.assertRaises(VarlinkError) as caught:
                daemon.call("IsEnabled", name=name)
            self.assertEqual(caught.exception.code, "no_such_plugin")
            daemon.manifest("a")
            daemon.call("Reload")
            self.assertTrue(daemon.call("IsEnabled", name=name)["enabled"])

    def test_nx08_a_disabled_name_that_nobody_has_is_a_warning(self):
        for name in ("ab", "a/squar", "zzz"):
            daemon = self.stopped()
            daemon.add("a")
            os.mkdir(daemon.state_dir)
            entry = {"name": name, "reason": "", "at": 1, "uid": 0}
            content = {
                "format": "kplug-decisions/1",
                "disabled": [entry],
                "pins": [],
                "enabled": [],
            }
            write(os.path.join(daemon.state_dir, "decisions.json"), json.dumps(content))
            daemon.start()
            warnings = [w for w in daemon.settle()["warnings"] if w["code"] == "unknown_name"]
            self.assertEqual(len(warnings), 1)
            self.assertIn(name, warnings[0]["message"])
            self.assertEqual(daemon.plugins()["a"]["state"], "active")

    def test_what_is_odd_about_a_plugin_is_logged_when_it_becomes_active(self):
        daemon = self.daemon(start=False, options=["--log-level=warning"])
        daemon.add("typo", [kernel("k", "elementwise/sqare")])
        daemon.add("right", [kernel("k")])
        daemon.start()
        daemon.settle()
        odd = [row for row in daemon.log().splitlines() if "unknown_family" in row]
        self.assertEqual(len(odd), 1, daemon.log())
        self.assertIn("did you mean elementwise/square?", odd[0])
        self.assertEqual(daemon.plugins()["typo"]["state"], "active")

    def test_names_that_do_not_exist_are_refused_with_the_nearest(self):
        daemon = self.stopped()
        daemon.add("alpha")
        daemon.start()
        daemon.settle()
        for method in ("Disable", "Enable", "IsEnabled", "Info", "Retry", "Reload"):
            with self.subTest(method=method):
                with self.assertRaises(VarlinkError) as caught:
                    daemon.call(method, name="alhpa")
                self.assertEqual(caught.exception.short, "NotFound")
                self.assertEqual(caught.exception.code, "no_such_plugin")
                self.assertEqual(caught.exception.parameters["nearest"], "alpha")


if __name__ == "__main__":
    unittest.main()
