# SPDX-License-Identifier: MIT
"""Packages on a machine: installed, used, removed, purged, and what was there before."""

import json
import os
import unittest

from harness import wait_until
from machine import SOCKET
from packaging import Busy, Packaged, packages

UNITS = ("plugind.service", "plugind.socket")
STATE = "/var/lib/kplug/decisions.json"
# Where installing may leave something; what dpkg, systemd and man write for themselves.
LOOKED_AT = ("bin", "boot", "etc", "lib", "lib64", "opt", "run", "sbin", "srv", "usr", "var")
OTHERS = (
    "/var/lib/dpkg/", "/var/log/", "/var/cache/man/", "/var/cache/ldconfig/", "/var/lib/systemd/",
    "/run/systemd/", "/run/log/", "/run/user/", "/run/dbus/", "/run/lock", "/var/lib/private",
    "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock",
    "/var/cache/private", "/run/utmp", "/run/sshd", "/var/tmp/",
)  # fmt: skip

PROGRAM = """
#include <kplug/host.h>
#include <stdio.h>

int main(void)
{
	float x[2] = {3, 4}, y[2];
	void *data[] = {x, y};
	int64_t dims[] = {2};
	struct kp_error error = {KP_SIZED(struct kp_error)};
	struct kp_handle *kplug;
	struct kp_site *site;

	if (kp_open(NULL, &kplug, &error) != KP_OK ||
	    kp_site_new(kplug, &(struct kp_site_options){KP_SIZED(struct kp_site_options),
			.operation = "elementwise/square"}, &site, &error) != KP_OK ||
	    kp_run_dense(site, data, dims, NULL, &error) != KP_OK)
		return fprintf(stderr, "%s\\n", error.text), 1;
	printf("%g %g by %s, %d\\n", y[0], y[1], kp_site_kernel(site, dims),
		kp_is_attached(kplug));
	kp_close(kplug);
	return 0;
}
"""


class Used(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        debs = packages()
        cls.machine = Packaged()
        cls.addClassCleanup(cls.machine.close)
        cls.machine.install_packages(debs)

    def test_the_service_runs_and_comes_with_the_next_boot(self):
        for unit in UNITS:
            self.assertEqual(self.machine.run("systemctl", "is-active", unit).stdout, "active\n")
            self.assertEqual(self.machine.run("systemctl", "is-enabled", unit).stdout, "enabled\n")
        pid = self.machine.main_pid()
        self.assertEqual(self.machine.run("stat", "-c", "%U", f"/proc/{pid}").stdout, "kplug\n")
        program = os.readlink(self.machine.path(f"/proc/{pid}/exe"))
        self.assertEqual(program, "/usr/sbin/plugind")

    def test_all_plugins_of_the_packages_are_listed(self):
        self.machine.ctl("status", "--wait", user="alice")
        told = self.machine.ctl("--json", "list", user="alice").stdout
        states = {p["name"]: p["state"] for p in json.loads(told)["plugins"]}
        states.pop("cuda", None)  # without a GPU
        self.assertEqual(states, dict.fromkeys(("openblas", "reference", "x86"), "active"))
        status = json.loads(self.machine.ctl("--json", "status").stdout)
        self.assertEqual((status["socket"], status["mode"]), (SOCKET, "system"))

    def test_systemd_has_no_fault_to_find_with_the_units(self):
        command = ["systemd-analyze", "verify", "--man=yes", "--recursive-errors=yes", *UNITS]
        done = self.machine.run(*command, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_program_built_with_the_headers_runs(self):
        self.machine.plugins()
        self.machine.write("/srv/twice.c", PROGRAM)
        build = "cc -Wall -Werror /srv/twice.c -o /srv/twice $(pkg-config --cflags --libs kplug)"
        self.machine.run("sh", "-c", build)
        ran = self.machine.run("/srv/twice", user="alice").stdout
        self.assertRegex(ran, r"^9 16 by [a-z0-9]+/\w+, 1$")

    def test_the_examples_build_and_run(self):
        self.machine.plugins()
        place = "/usr/share/doc/libkplug-dev/examples"
        for name, compiler in (("decoder.c", "cc"), ("decoder.cc", "c++ -std=c++17")):
            with self.subTest(name=name):
                build = f"{compiler} {place}/{name} -o /srv/decoder"
                build += " $(pkg-config --cflags --libs kplug)"
                self.machine.run("sh", "-c", build)
                told = self.machine.run("/srv/decoder", "--tokens", "3", user="alice").stdout
                self.assertEqual(len(told.splitlines()), 3, told)

    def test_the_python_module_is_there_and_attached(self):
        self.machine.plugins()
        with self.machine.application() as app:
            self.assertEqual(app.ask("run"), 9)
            told = self.machine.ctl("--json", "clients").stdout
            self.assertEqual([c["name"] for c in json.loads(told)["clients"]], ["application"])

    def test_a_plugin_of_ones_own_begins_with_the_templates(self):
        self.machine.plugins()
        script = """
            cd /srv
            pluginctl new mine --operation elementwise/square
            make -s -C mine
            pluginctl install mine/mine.so
        """
        self.machine.run("sh", "-ec", script)
        self.assertEqual(self.machine.plugins()["mine"]["state"], "active")
        self.machine.ctl("uninstall", "mine")
        self.assertNotIn("mine", self.machine.plugins())

    def test_dpkg_finds_every_file_as_it_was_packaged(self):
        for name in packages():
            self.assertEqual(self.machine.dpkg("--verify", name).stdout, "")


class Gone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.debs = packages()
        cls.names = sorted(cls.debs)

    def setUp(self):
        self.machine = Packaged()
        self.addCleanup(self.machine.close)

    def files(self):
        command = ["find", *LOOKED_AT, "-xdev", "-printf", "/%p\n"]
        done = self.machine.run("sh", "-c", 'cd / && exec "$@"', "sh", *command, check=False)
        return {p for p in done.stdout.splitlines() if not (p + "/").startswith(OTHERS)}

    def clients(self):
        told = self.machine.ctl("--json", "clients", check=False)
        return json.loads(told.stdout)["clients"] if told.returncode == 0 else []

    def test_an_application_outlives_removal_purge_and_comes_back(self):
        machine = self.machine
        before = self.files()
        machine.install_packages(self.debs)
        machine.plugins()
        machine.ctl("disable", "x86", "--reason", "NaN on batch 7")
        with machine.application() as app, Busy(app) as busy:
            wait_until(self.clients, "the application")
            daemon = [n for n in self.names if n.startswith("kplug")]
            machine.dpkg("--remove", *daemon)
            self.assertFalse(os.path.exists(machine.path("/usr/sbin/plugind")))
            self.assertEqual(machine.run("pgrep", "plugin", check=False).stdout, "")
            self.assertTrue(os.path.exists(machine.path(STATE)))
            done = busy.calls
            wait_until(lambda: busy.calls > done, "calls without a daemon")

            machine.dpkg("--install", *(self.debs[name] for name in daemon))
            wait_until(self.clients, "the application, again")
            self.assertEqual(machine.plugins()["x86"]["state"], "disabled")
            self.assertIn("NaN on batch 7", machine.ctl("info", "x86").stdout)

            machine.dpkg("--purge", *self.names)
            done = busy.calls
            wait_until(lambda: busy.calls > done, "calls without kplug")
            with self.subTest("nothing is left"):
                left = self.files() - before
                self.assertEqual(left, set())
            machine.install_packages(self.debs)
            wait_until(self.clients, "the application, after all")
            self.assertEqual(machine.plugins()["x86"]["state"], "active")
        self.assertEqual(busy.results, {9.0})

    def test_purged_it_leaves_what_is_an_administrators_and_its_user(self):
        machine = self.machine
        before = self.files()
        machine.install_packages(self.debs)
        machine.plugins()
        machine.write("/etc/kplug/plugins.d/x86.json", '{"library": "x86.so", "disabled": true}')
        machine.dpkg("--purge", *self.names)
        left = self.files() - before
        wanted = {"/etc/kplug", "/etc/kplug/plugins.d", "/etc/kplug/plugins.d/x86.json"}
        self.assertEqual(left, wanted)
        self.assertEqual(machine.run("id", "-un", "kplug").stdout, "kplug\n")
        for unit in UNITS:
            done = machine.run("systemctl", "is-active", unit, check=False)
            self.assertEqual(done.stdout, "inactive\n")

    def test_one_who_has_turned_it_off_is_asked_by_no_package_to_have_it_on(self):
        machine = self.machine
        machine.install_packages(self.debs)
        machine.run("systemctl", "disable", "--now", *UNITS)
        machine.install_packages(self.debs)
        for unit in UNITS:
            done = machine.run("systemctl", "is-enabled", unit, check=False)
            self.assertEqual(done.stdout, "disabled\n")
            done = machine.run("systemctl", "is-active", unit, check=False)
            self.assertEqual(done.stdout, "inactive\n")


if __name__ == "__main__":
    unittest.main()
