# SPDX-License-Identifier: MIT
"""Whose files a daemon takes: a library, a manifest, and every directory above them."""

import os
import pwd
import re
import shlex
import struct
import subprocess
import unittest

from harness import Daemon, make_plugin

STRANGER = 12345
ROOT_ONLY = unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")

# Places of a plugin "p", from a daemon.
LIBRARY = ("library", lambda d: d.library_path("p"))
MANIFEST = ("manifest", lambda d: d.manifest_path("p"))
PLUGINS = ("plugin directory", lambda d: d.plugin_dir)
LAYER = ("layer", lambda d: d.manifest_dirs[0])
ABOVE = ("directory above", lambda d: d.place)
PLACES = [LIBRARY, MANIFEST, PLUGINS, LAYER, ABOVE]


def list_of_access(path, perm):
    """user:12345:PERM beside the owner's rights, as setfacl would write it."""
    rows = [(1, 6 | perm & 1, -1), (2, perm, STRANGER), (4, 5, -1), (16, perm | 4, -1), (32, 5, -1)]
    text = struct.pack("<I", 2)
    for tag, bits, ident in rows:
        text += struct.pack("<HHI", tag, bits, ident & 0xFFFFFFFF)
    os.setxattr(path, "system.posix_acl_access", text)


class Case(unittest.TestCase):
    SYSTEM = False

    def daemon(self, **more):
        daemon = Daemon(start=False, system=self.SYSTEM, **more)
        self.addCleanup(daemon.close)
        daemon.add("p")
        return daemon

    def look(self, daemon):
        """The plugin, once the daemon has looked (again)."""
        if daemon.process is None:
            daemon.start()
        else:
            daemon.call("Reload")
        return daemon.plugins()["p"]

    def assert_taken(self, daemon):
        plugin = self.look(daemon)
        self.assertEqual((plugin["state"], plugin["reason"]), ("active", None))

    def assert_refused(self, daemon, code, path, *words):
        plugin = self.look(daemon)
        self.assertEqual(plugin["state"], "rejected", plugin)
        reason = plugin["reason"]
        self.assertEqual(reason["code"], code, reason)
        for word in (path, *words):
            self.assertIn(word, reason["message"])
        return reason["message"]

    def remedy(self, message):
        """Runs the command that the message has."""
        command = re.search("`([^`]*)`", message).group(1)
        subprocess.run(shlex.split(command), check=True)


class Private(Case):
    def test_t14_what_others_may_write_is_refused_until_it_is_mended(self):
        for name, place in PLACES:
            for mode in (0o775, 0o777, 0o757):
                with self.subTest(place=name, mode=oct(mode)):
                    daemon = self.daemon()
                    path = place(daemon)
                    os.chmod(path, mode)
                    message = self.assert_refused(
                        daemon, "writable_by_others", path, f"uid {os.geteuid()}", f"{mode:04o}"
                    )
                    self.remedy(message)
                    self.assert_taken(daemon)
                    daemon.close()

    @ROOT_ONLY
    def test_t14_what_belongs_to_somebody_else_is_refused_until_it_is_given_back(self):
        for name, place in PLACES:
            with self.subTest(place=name):
                daemon = self.daemon()
                path = place(daemon)
                os.chown(path, STRANGER, -1)
                message = self.assert_refused(daemon, "untrusted_owner", path, f"uid {STRANGER}")
                self.remedy(message)
                self.assert_taken(daemon)
                daemon.close()

    def test_t14_who_may_write_by_a_list_of_access_counts(self):
        for name, place in PLACES:
            with self.subTest(place=name):
                daemon = self.daemon()
                path = place(daemon)
                try:
                    list_of_access(path, 5)
                except OSError as error:
                    self.skipTest(f"no lists of access here: {error}")
                self.assert_taken(daemon)
                list_of_access(path, 7)
                message = self.assert_refused(daemon, "writable_by_others", path, "getfacl")
                self.remedy(message)
                self.assert_taken(daemon)
                daemon.close()

    def test_t14_a_sticky_directory_of_all_is_no_obstacle_above_a_plugin(self):
        daemon = self.daemon()
        os.chmod(daemon.place, 0o1777)
        self.assert_taken(daemon)
        os.chmod(daemon.plugin_dir, 0o1777)
        self.assert_taken(daemon)
        # Manifests are another matter: everybody could add one.
        os.chmod(daemon.manifest_dirs[0], 0o1777)
        self.assert_refused(daemon, "writable_by_others", daemon.manifest_dirs[0], "1777")

    def test_t14_where_links_lead_counts(self):
        for which in ("library", "manifest", "plugin directory"):
            with self.subTest(link=which):
                daemon = self.daemon()
                loose = os.path.join(daemon.place, "loose")
                os.mkdir(loose)
                path = dict(PLACES)[which](daemon)
                moved = os.path.join(loose, os.path.basename(path))
                os.rename(path, moved)
                os.symlink(moved, path)
                self.assert_taken(daemon)
                os.chmod(loose, 0o777)
                self.assert_refused(daemon, "writable_by_others", loose, "0777")
                daemon.close()

    @ROOT_ONLY
    def test_t14_a_link_of_somebody_else_is_refused(self):
        daemon = self.daemon()
        os.chmod(daemon.plugin_dir, 0o1777)
        path = daemon.library_path("p")
        os.rename(path, daemon.library_path("other"))
        os.symlink("other.so", path)
        self.assert_taken(daemon)
        os.chown(path, STRANGER, -1, follow_symlinks=False)
        self.assert_refused(daemon, "untrusted_owner", path, f"uid {STRANGER}")

    def test_a_library_that_it_needs_counts_as_well(self):
        for mode in (0o666, 0o777, 0o664):
            with self.subTest(mode=oct(mode)):
                daemon = self.daemon()
                elsewhere = os.path.join(daemon.place, "elsewhere")
                os.mkdir(elsewhere)
                helper = os.path.join(elsewhere, "libhelper.so")
                empty = ["-x", "c", "/dev/null"]
                subprocess.run(["cc", "-shared", "-o", helper, *empty], check=True)
                os.chmod(helper, 0o755)
                flags = ["-Wl,--no-as-needed", helper, f"-Wl,-rpath,{elsewhere}"]
                make_plugin(daemon.library_path("p"), "p", flags=flags)
                self.assert_taken(daemon)
                os.chmod(helper, mode)
                self.assert_refused(daemon, "writable_by_others", helper, f"{mode:04o}")
                daemon.close()


class System(Private):
    SYSTEM = True


class OwnGroup(Case):
    """With a umask of 0002 the user's own group may write all that he makes."""

    @ROOT_ONLY
    def test_t14_what_the_own_group_may_write_is_taken_from_a_private_daemon_alone(self):
        user = pwd.getpwnam("bin")  # of base-passwd: a group of its name, without members
        for system, modes in ((False, (0o664, 0o775)), (True, (0o664, 0o775))):
            with self.subTest(system=system):
                daemon = Daemon(start=False, system=system, user=user.pw_uid)
                self.addCleanup(daemon.close)
                daemon.add("p")
                for _, place in PLACES:
                    path = place(daemon)
                    os.chown(path, user.pw_uid, user.pw_gid)
                    os.chmod(path, modes[os.path.isdir(path)])
                if system:
                    plugin = self.look(daemon)
                    self.assertEqual(plugin["reason"]["code"], "writable_by_others")
                    continue
                self.assert_taken(daemon)
                # Not what another group may write, nor all others.
                os.chown(daemon.library_path("p"), user.pw_uid, 100)
                self.assert_refused(daemon, "writable_by_others", daemon.library_path("p"))
                os.chown(daemon.library_path("p"), user.pw_uid, user.pw_gid)
                os.chmod(daemon.library_path("p"), 0o666)
                self.assert_refused(daemon, "writable_by_others", daemon.library_path("p"))

    @ROOT_ONLY
    def test_t14_a_group_that_others_share_is_not_ones_own(self):
        for name in ("nobody", "sync", "games"):
            user = pwd.getpwnam(name)
            with self.subTest(user=name):
                daemon = Daemon(start=False, user=user.pw_uid)
                self.addCleanup(daemon.close)
                daemon.add("p")
                group = 65534 if name == "games" else user.pw_gid
                os.chown(daemon.library_path("p"), user.pw_uid, group)
                os.chmod(daemon.library_path("p"), 0o664)
                self.assert_refused(daemon, "writable_by_others", daemon.library_path("p"))
                daemon.close()


class AnyFiles(Case):
    """Who wants to take the risk says so; the daemon says so, too."""

    def test_anybodys_files_are_taken_and_status_warns_of_it(self):
        for name, place in PLACES:
            with self.subTest(place=name):
                daemon = self.daemon(options=["--any-files"])
                os.chmod(place(daemon), 0o777)
                self.assert_taken(daemon)
                codes = [w["code"] for w in daemon.call("Status")["warnings"]]
                self.assertEqual(codes, ["any_files"])
                self.assertIn("[any_files]", daemon.log())
                # Neither index nor cache nor table lets it pass without.
                daemon.stop()
                daemon.options = []
                self.assert_refused(daemon, "writable_by_others", place(daemon))
                self.assertEqual(daemon.call("Status")["warnings"], [])
                daemon.close()

    def test_a_daemon_of_all_users_refuses_to_start_with_it(self):
        daemon = Daemon(start=False, system=True, options=["--any-files"])
        self.addCleanup(daemon.close)
        done = daemon.run()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("any-files", done.stderr)


class Configuration(Case):
    """It says which programs run, and whose files count."""

    def start(self, system, change):
        daemon = Daemon(start=False, system=system)
        self.addCleanup(daemon.close)
        place = os.path.join(daemon.place, "etc")
        os.mkdir(place)
        path = os.path.join(place, "plugind.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{}")
        daemon.options = ["--config", path]
        change(place, path)
        return daemon.run([*daemon.command(), "--check-config"])

    def test_one_that_others_may_write_is_refused(self):
        for system in (False, True):
            for mode in (0o666, 0o664, 0o646):
                with self.subTest(system=system, mode=oct(mode)):
                    done = self.start(system, lambda place, path, m=mode: os.chmod(path, m))
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"{mode:04o}", done.stderr)
                    self.assertIn("chmod go-w", done.stderr)

    @ROOT_ONLY
    def test_one_of_somebody_else_is_refused(self):
        for system in (False, True):
            done = self.start(system, lambda place, path: os.chown(path, STRANGER, -1))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"uid {STRANGER}", done.stderr)

    def test_of_a_daemon_of_all_users_the_way_to_it_counts(self):
        for system, status in ((False, 0), (True, 2)):
            done = self.start(system, lambda place, path: os.chmod(place, 0o777))
            self.assertEqual(done.returncode, status, done.stderr)


class Loaded(Case):
    def test_load_asks_whose_file_it_is_too(self):
        daemon = Daemon()
        self.addCleanup(daemon.close)
        path = os.path.join(daemon.place, "mine.so")
        make_plugin(path, "mine")
        for mode in (0o666, 0o775, 0o702):
            os.chmod(path, mode)
            done = daemon.ctl("load", path)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(f"{mode:04o}", done.stderr)
            self.assertIn("chmod go-w", done.stderr)
        os.chmod(path, 0o600)
        done = daemon.ctl("load", path)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
