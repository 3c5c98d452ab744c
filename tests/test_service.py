# SPDX-License-Identifier: MIT
"""The life of plugind under a real systemd: installed, started, used, reloaded, stopped."""

import json
import os
import re
import stat
import unittest

from harness import CRASH, HANG, ROOT, wait_until
from machine import LIBRARIES, PREFIX, SOCKET, Machine

UNITS = ["plugind.service", "plugind.socket"]
# A plugin that hangs is waited for so long, in a test that is not about its end.
HUNG = {"timeout_ms": 60000}


def block(title):
    """The first indented lines below a heading of README, without what they explain."""
    with open(os.path.join(ROOT, "README"), encoding="utf-8") as file:
        text = file.read()
    body = text.split(f"\n{title}\n{'-' * len(title)}\n", 1)[1]
    lines = re.search(r"(?:^\t.*\n)+", body, re.M).group().splitlines()
    return "".join(re.split(r"\s{2,}", line.strip())[0] + "\n" for line in lines)


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.close)
        cls.machine.add_user("alice")

    def setUp(self):
        self.machine.reset()

    def state(self, unit="plugind.service"):
        return self.machine.show("ActiveState", unit)

    # -- the units

    def verify(self, *units):
        command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=yes", *units]
        return self.machine.run(*command, check=False)

    def test_systemd_knows_every_key_of_the_units(self):
        done = self.verify(*UNITS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # And would say so.
        self.machine.drop_in("unknown", "[Service]\nProtectEverything=yes\n")
        self.assertNotEqual(self.verify(*UNITS).returncode, 0)

    def exposure(self, threshold):
        command = ["systemd-analyze", "security", "--no-pager", "--offline=true"]
        command += [f"--threshold={threshold}", "plugind.service"]
        return self.machine.run(*command, check=False).returncode

    def test_what_a_plugin_could_reach_is_little(self):
        self.assertEqual(self.exposure(10), 0)
        self.assertNotEqual(self.exposure(1), 0)

    def test_with_a_gpu_it_is_little_more_and_it_runs(self):
        drop_in = self.machine.run("cat", f"{PREFIX}/share/kplug/units/gpu.conf").stdout
        self.machine.drop_in("gpu", drop_in)
        done = self.verify(*UNITS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.exposure(15), 0)
        self.machine.start()
        self.assertEqual(self.machine.plugins()["reference"]["state"], "active")

    def test_enabled_it_comes_with_its_socket(self):
        self.machine.run("systemctl", "enable", "plugind.service")
        for unit in UNITS:
            self.assertEqual(self.machine.run("systemctl", "is-enabled", unit).stdout, "enabled\n")
        self.machine.run("systemctl", "disable", "plugind.service")
        for unit in UNITS:
            done = self.machine.run("systemctl", "is-enabled", unit, check=False)
            self.assertEqual(done.stdout, "disabled\n")

    def test_the_block_of_the_readme_makes_it_a_service(self):
        commands = block("As a service")
        self.assertIn("systemd-sysusers\n", commands)
        self.machine.run("sh", "-e", "-c", commands)
        told = json.loads(self.machine.ctl("--json", "status", "--wait").stdout)
        self.assertEqual((told["mode"], told["socket"]), ("system", SOCKET))
        self.machine.run("systemctl", "disable", "plugind.service")

    # -- start

    def test_every_plugin_of_the_installation_is_tried_within_the_sandbox(self):
        self.machine.start()
        states = {n: p["state"] for n, p in self.machine.plugins().items()}
        self.assertEqual(states.pop("cuda", "active"), "active")
        self.assertEqual(states, {"openblas": "active", "reference": "active", "x86": "active"})
        count = len(self.machine.plugins())
        text = f"plugins: {count} active"
        wait_until(lambda: self.machine.show("StatusText") == text, text)

    def test_kernels_are_measured_and_verified_within_the_sandbox(self):
        self.machine.start()
        shape = ["--shape", "m=8,n=8,k=8"]
        self.machine.ctl("bench", "gemm/mm", *shape, "--time", "0.02", "--kernel", "x86/gemm_mm")
        how = ["--seed", "1", "--layout", "contiguous", "--kernel", "reference"]
        self.machine.ctl("verify", "elementwise/square", *how)

    def test_it_runs_as_kplug_with_no_right_of_roots(self):
        self.machine.start()
        pid = self.machine.main_pid()
        told = self.machine.run("cat", f"/proc/{pid}/status").stdout
        status = dict(line.split(":\t", 1) for line in told.splitlines() if ":\t" in line)
        kplug = self.machine.run("id", "-u", "kplug").stdout.strip()
        self.assertEqual(status["Uid"].split(), [kplug] * 4)
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_t76_a_plugin_that_hangs_delays_neither_the_start_nor_the_watchdog(self):
        self.machine.drop_in("quick", "[Service]\nWatchdogSec=1s\n")
        self.machine.add("hung", before=HANG, manifest=HUNG)
        self.machine.start()
        self.assertEqual(self.state(), "active")
        seen = set()
        wait_until(
            lambda: seen.add(self.machine.show("WatchdogTimestampMonotonic")) or len(seen) > 4,
            "four beats of the watchdog",
        )
        wait_until(lambda: "trying plugins" in self.machine.show("StatusText"), "progress")
        listed = json.loads(self.machine.ctl("--json", "list").stdout)["plugins"]
        self.assertEqual({p["name"]: p["state"] for p in listed}["hung"], "pending")
        self.assertEqual(self.machine.show("NRestarts"), "0")

    # -- activation

    def test_a_client_starts_the_service_and_is_answered(self):
        self.machine.start("plugind.socket")
        self.assertEqual(self.state(), "inactive")
        told = self.machine.ctl("--json", "status", "--wait", user="alice").stdout
        self.assertEqual(json.loads(told)["socket"], SOCKET)
        self.assertEqual(self.state(), "active")
        self.assertEqual(json.loads(told)["pid"], self.machine.main_pid())

    def test_many_clients_at_once_start_one_service(self):
        self.machine.start("plugind.socket")
        clients = [self.machine.begin("pluginctl", "--json", "status") for _ in range(8)]
        pids = set()
        for client in clients:
            out, err = client.communicate()
            self.assertEqual(client.returncode, 0, err)
            pids.add(json.loads(out)["pid"])
        self.assertEqual(pids, {self.machine.main_pid()})

    def test_without_its_socket_there_is_no_daemon_to_be_found(self):
        done = self.machine.ctl("list", check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(SOCKET, done.stderr)

    # -- changes while it runs

    def state_of(self, name):
        listed = json.loads(self.machine.ctl("--json", "list").stdout)["plugins"]
        return {p["name"]: p["state"] for p in listed}.get(name)

    def test_a_plugin_comes_and_goes_while_it_runs(self):
        self.machine.start()
        self.machine.plugins()
        self.machine.add("late")
        wait_until(lambda: self.state_of("late") == "active", "late")
        self.machine.remove("late")
        wait_until(lambda: self.state_of("late") is None, "its end")
        self.assertEqual(self.machine.show("NRestarts"), "0")

    def test_reload_ends_when_the_result_is_there(self):
        self.machine.start()
        self.machine.add("slow", before=HANG, manifest={"timeout_ms": 1500})
        self.machine.run("systemctl", "reload", "plugind.service")
        self.assertEqual((self.state_of("slow"), self.state()), ("failed", "active"))

    def test_a_reload_may_take_longer_than_a_start(self):
        self.machine.drop_in("hasty", "[Service]\nTimeoutStartSec=1s\n")
        self.machine.start()
        self.machine.add("slow", before=HANG, manifest={"timeout_ms": 1800})
        self.machine.run("systemctl", "reload", "plugind.service")
        self.assertEqual((self.state_of("slow"), self.state()), ("failed", "active"))
        self.assertEqual(self.machine.show("ReloadResult"), "success")

    def test_systemd_sees_a_reload_that_it_has_not_asked_for(self):
        self.machine.start()
        self.machine.plugins()
        self.machine.add("hung", before=HANG, manifest=HUNG)
        reload = self.machine.begin("pluginctl", "reload")
        wait_until(lambda: self.state() == "reloading", "the reload")
        self.machine.remove("hung")
        reload.communicate()
        wait_until(lambda: self.state() == "active", "its end")

    def test_a_decision_survives_the_service(self):
        self.machine.start()
        self.machine.plugins()
        self.machine.ctl("disable", "x86", "--reason", "NaN on batch 7")
        for verb in (["restart"], ["kill", "--signal=KILL", "--wait"], ["stop"]):
            with self.subTest(verb=verb):
                before = self.machine.main_pid()
                self.machine.run("systemctl", verb[0], *verb[1:], "plugind.service", check=False)
                plugin = self.machine.plugins()["x86"]
                self.assertNotEqual(self.machine.main_pid(), before)
                self.assertEqual(plugin["state"], "disabled")
                self.assertIn("NaN on batch 7", json.dumps(plugin))
        # Once when it was decided, then once a start.
        said = [text for _, text in self.machine.journal() if text.startswith("x86: disabled")]
        self.assertEqual(len(said), 4)

    def test_the_example_for_the_node_exporter_writes_the_figures(self):
        names = ["kplug-metrics.service", "kplug-metrics.timer"]
        for name in names:
            with open(os.path.join(ROOT, "man", "examples", name), encoding="utf-8") as file:
                self.machine.write(f"/etc/systemd/system/{name}", file.read())
        self.machine.run("mkdir", "-p", "/var/lib/prometheus/node-exporter")
        self.machine.run("systemctl", "daemon-reload")
        done = self.verify(*names)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The first client of the socket, too.
        self.machine.start("plugind.socket", "kplug-metrics.service")
        figures = "/var/lib/prometheus/node-exporter/kplug.prom"
        with open(self.machine.path(figures), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("kplug_generation ", text)
        self.assertTrue(text.endswith("# EOF\n"))

    # -- the end

    def test_stop_is_orderly_and_leaves_the_socket(self):
        self.machine.start()
        self.machine.plugins()
        socket = os.stat(self.machine.path(SOCKET))
        self.machine.run("systemctl", "stop", "plugind.service")
        self.assertEqual(self.machine.show("Result"), "success")
        self.assertEqual(self.machine.show("ExecMainStatus"), "0")
        self.assertEqual(self.state("plugind.socket"), "active")
        after = os.stat(self.machine.path(SOCKET))
        self.assertEqual((socket.st_ino, socket.st_mode), (after.st_ino, after.st_mode))
        self.assertEqual(self.machine.run("pgrep", "plugin", check=False).stdout, "")
        self.assertTrue(self.machine.plugins())

    def test_stop_does_not_wait_for_a_plugin_that_hangs(self):
        self.machine.drop_in("patient", "[Service]\nTimeoutStopSec=infinity\n")
        self.machine.add("hung", before=HANG, manifest=HUNG)
        self.machine.start()
        wait_until(lambda: self.state_of("x86") == "active", "the others")
        self.machine.run("systemctl", "stop", "plugind.service")
        self.assertEqual(self.machine.show("Result"), "success")
        self.assertEqual(self.machine.run("pgrep", "plugin", check=False).stdout, "")

    # -- what it keeps

    def modes(self, directory):
        found = {}
        for parent, directories, files in os.walk(self.machine.path(directory)):
            for name in [*directories, *files]:
                path = os.path.join(parent, name)
                short = os.path.relpath(path, self.machine.path(directory))
                found[short] = stat.S_IMODE(os.lstat(path).st_mode)
        return found

    def test_others_read_the_store_and_the_table_and_nothing_else(self):
        self.machine.start()
        self.machine.plugins()
        self.machine.ctl("disable", "x86")
        self.machine.ctl("pin", "gemm/mm", "reference")
        self.machine.run("systemctl", "stop", "plugind.service")
        for path, mode in (("run", 0o755), ("var/lib", 0o711), ("var/cache", 0o700)):
            found = os.stat(self.machine.path(f"/{path}/kplug"))
            self.assertEqual(stat.S_IMODE(found.st_mode), mode, path)
            self.assertEqual(found.st_uid == 0, path == "run")
        modes = self.modes("/var/lib/kplug")
        self.assertEqual(modes.pop("table"), 0o644)
        self.assertEqual((modes.pop("store"), modes.pop("loaded")), (0o755, 0o700))
        for name, mode in modes.items():
            if name.startswith("store/"):
                self.assertEqual(mode & 0o444, 0o444, name)
                self.assertEqual(mode & 0o022, 0, name)
            else:
                self.assertEqual(mode, 0o600, name)
        self.assertIn("decisions.json", modes)

    def test_what_a_daemon_of_roots_has_kept_is_the_services(self):
        by_hand = ["systemd-run", "--unit=by-hand", f"{PREFIX}/sbin/plugind", "--system"]
        self.machine.run(*by_hand)
        self.machine.ctl("status", "--wait")
        self.machine.ctl("disable", "x86")
        self.machine.run("systemctl", "stop", "by-hand.service")
        self.machine.start()
        self.assertEqual(self.machine.plugins()["x86"]["state"], "disabled")
        self.machine.ctl("enable", "x86")
        owners = {
            os.stat(os.path.join(parent, name)).st_uid
            for parent, _, names in os.walk(self.machine.path("/var/lib/kplug"))
            for name in names
        }
        self.assertEqual(owners, {int(self.machine.run("id", "-u", "kplug").stdout)})

    # -- the journal

    def test_each_change_is_one_line_of_its_weight(self):
        self.machine.start()
        self.machine.plugins()
        self.machine.add("good")
        self.machine.add("crash", before=CRASH, manifest={"timeout_ms": 20000})
        self.machine.write("/etc/kplug/plugins.d/gone.json", '{"library": "gone.so"}')
        self.machine.write(f"{LIBRARIES}/text.so", "no library")
        self.machine.write("/etc/kplug/plugins.d/text.json", '{"library": "text.so"}')
        self.machine.ctl("reload")
        self.machine.ctl("disable", "good")
        self.machine.ctl("enable", "good")
        self.machine.remove("good")
        self.machine.await_journal("good: gone")
        said = self.machine.journal()
        for name, wanted in {
            "good": [(6, "active"), (6, "disabled"), (6, "active"), (6, "gone")],
            "crash": [(4, "failed")],
            "gone": [(4, "missing")],
            "text": [(4, "rejected")],
            "x86": [(6, "active")],
        }.items():
            own = [(p, text.split()[1]) for p, text in said if text.startswith(f"{name}: ")]
            self.assertEqual(own, wanted, name)
        # The journal has the name itself.
        self.assertFalse([text for _, text in said if text.startswith("plugind")])


if __name__ == "__main__":
    unittest.main()
