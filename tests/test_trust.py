# SPDX-License-Identifier: MIT
"""On whose word an application loads code: whose plugind it is, and whose environment."""

import os
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, SANITIZER, Daemon, kernel

OWNER, OTHER, PRIVILEGED = 65501, 65502, 65503

PROGRAM = r"""
#include <kplug/host.h>
#include <stdio.h>
#include <string.h>

/* Nobody traces a program that has more rights, not even to find its leaks. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(int argc, char **argv)
{
	struct kp_options options = {KP_SIZED(struct kp_options), .flags = KP_NO_DAEMON};
	const struct kp_site_options square = {
		KP_SIZED(struct kp_site_options), .operation = "elementwise/square"};
	struct kp_error error = {KP_SIZED(struct kp_error)};
	const int64_t dims[] = {4};
	struct kp_handle *handle;
	struct kp_site *site;

	if (argc > 1)
		options.socket = argv[1];
	if (kp_open(&options, &handle, &error) != KP_OK ||
		kp_site_new(handle, &square, &site, &error) != KP_OK) {
		puts(error.text);
		return 1;
	}
	puts(kp_site_kernel(site, dims));
	kp_close(handle);
	return 0;
}
"""


@unittest.skipUnless(os.getuid() == 0, "only root can become another user")
class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="kplug-trust.")
        cls.addClassCleanup(place.cleanup)
        os.chmod(place.name, 0o755)
        cls.program = os.path.join(place.name, "program")
        words = ["cc", "-std=c11", "-w", f"-I{ROOT}/lib/include", "-x", "c", "-"]
        words += ["-x", "none", os.path.join(BUILD, "libkplug.so"), f"-Wl,-rpath,{BUILD}"]
        words += [f"-fsanitize={SANITIZER}"] if SANITIZER else []
        subprocess.run([*words, "-o", cls.program], input=PROGRAM.encode(), check=True)

    def daemon(self, **more):
        daemon = Daemon(start=False, **more)
        self.addCleanup(daemon.close)
        for name, priority in (("high", 15), ("low", 5)):
            daemon.add(name, [kernel(priority=priority, flags=["reentrant"])])
        daemon.start()
        daemon.settle()
        # Whoever gets in: it is not the socket that keeps them out here.
        os.chmod(daemon.socket, 0o666)
        return daemon

    def run_as(self, uid, *words, **env):
        """What it printed."""
        return subprocess.run(
            [self.program, *words],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            user=uid,
            group=uid,
            extra_groups=[],
            env={**os.environ, **env},
        ).stdout.strip()


class Daemons(Case):
    """Whose plugind it is."""

    def test_roots_is_believed_by_everybody(self):
        daemon = self.daemon(system=True)
        for uid in (0, OWNER, OTHER):
            with self.subTest(uid=uid):
                self.assertEqual(self.run_as(uid, daemon.socket), "high/square")

    def test_a_users_is_believed_by_that_user_alone(self):
        for system in (False, True):
            daemon = self.daemon(system=system, user=OWNER)
            self.assertEqual(self.run_as(OWNER, daemon.socket), "high/square")
            for uid in (0, OTHER):
                for words, env in (
                    ([daemon.socket], {}),
                    ([], {"KPLUG_SOCKET": daemon.socket}),
                ):
                    with self.subTest(system=system, uid=uid, env=env):
                        said = self.run_as(uid, *words, **env)
                        self.assertIn(f"uid {OWNER} listens at {daemon.socket}", said)
                        self.assertIn(f"(uid {uid})", said)


class Environment(Case):
    """A program that has more rights than who starts it does not ask that user's words."""

    def setUp(self):
        os.chown(self.program, 0, 0)
        os.chmod(self.program, 0o755)
        self.served = self.daemon(system=True)
        self.variables = {
            "socket": ([], {"KPLUG_SOCKET": self.served.socket}),
            "override": ([self.served.socket], {"KPLUG_OVERRIDE_ELEMENTWISE_SQUARE": "low/square"}),
            "disable": ([self.served.socket], {"KPLUG_DISABLE": "high"}),
        }

    def said(self, variable):
        words, env = self.variables[variable]
        return self.run_as(OTHER, *words, **env)

    def test_an_ordinary_program_does(self):
        self.assertEqual(self.said("socket"), "high/square")
        self.assertEqual(self.said("override"), "low/square")
        self.assertEqual(self.said("disable"), "low/square")

    def test_a_program_of_another_user_or_group_does_not(self):
        if os.statvfs(self.program).f_flag & os.ST_NOSUID:
            self.skipTest("programs of other users are not permitted here")
        for mode in (0o4755, 0o2755, 0o6755):
            os.chown(self.program, PRIVILEGED, PRIVILEGED)
            os.chmod(self.program, mode)
            with self.subTest(mode=oct(mode)):
                self.assertNotIn(self.served.socket, self.said("socket"))
                self.assertNotIn("square", self.said("socket"))
                self.assertEqual(self.said("override"), "high/square")
                self.assertEqual(self.said("disable"), "high/square")


if __name__ == "__main__":
    unittest.main()
