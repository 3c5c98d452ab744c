# SPDX-License-Identifier: MIT
"""Whatever events say or leave out, plugind comes to know what lies in its directories."""

import json
import os
import platform
import shutil
import signal
import unittest

from harness import Daemon, make_plugin, wait_until, write

INOTIFY = {"x86_64": (253, 294), "aarch64": (26,)}[platform.machine()]
QUEUE = "/proc/sys/fs/inotify/max_queued_events"
# As often as it looks by itself.
POLLING = ["--rescan-s", "1"]
NEVER = ["--rescan-s", "86400"]


def swap(directory, target):
    """As a configuration volume does it: `..data` leads elsewhere, in one step."""
    link = os.path.join(directory, "..data_tmp")
    os.symlink(target, link)
    os.rename(link, os.path.join(directory, "..data"))


class Case(unittest.TestCase):
    def setUp(self):
        self.daemon = None

    def prepare(self, **more):
        self.daemon = Daemon(start=False, **more)
        self.addCleanup(self.daemon.close)
        return self.daemon

    def states(self):
        return {
            name: (plugin["state"], plugin["version"])
            for name, plugin in self.daemon.plugins().items()
        }

    def converges(self, expected):
        # Asked only: List starts no look.
        wait_until(lambda: self.states() == expected, f"{expected}, there is {self.states()}")


class Volumes(Case):
    """Files that lead through a link `..data`, which is swapped."""

    def volume(self, directory, files):
        """A volume of two versions of each file: {name: (of the first, of the second)}."""
        for index, version in enumerate(("..1", "..2")):
            os.mkdir(os.path.join(directory, version))
            for name, contents in files.items():
                place = os.path.join(directory, version, name)
                if contents[index] is not None:
                    contents[index](place)
        for name in files:
            os.symlink(os.path.join("..data", name), os.path.join(directory, name))
        swap(directory, "..1")

    def library(self, name, version):
        return lambda place: make_plugin(place, name, version=version)

    def manifest(self, library):
        return lambda place: write(place, f'{{"library": "{library}"}}')

    def swaps(self, **options):
        """Libraries, manifests, and a layer whole."""
        daemon = self.prepare(layers=2, **options)
        self.volume(
            daemon.plugin_dir, {"a.so": (self.library("a", "1.0.0"), self.library("a", "2.0.0"))}
        )
        for name, version in (("old", "1.0.0"), ("new", "2.0.0")):
            daemon.add(name, package="b", version=version)
            daemon.remove(name)
        self.volume(
            daemon.manifest_dirs[0], {"b.json": (self.manifest("old.so"), self.manifest("new.so"))}
        )
        daemon.manifest("a", layer=1)
        daemon.start()
        daemon.settle()
        self.converges({"a": ("active", "1.0.0"), "b": ("active", "1.0.0")})
        swap(daemon.plugin_dir, "..2")
        self.converges({"a": ("active", "2.0.0"), "b": ("active", "1.0.0")})
        swap(daemon.manifest_dirs[0], "..2")
        self.converges({"a": ("active", "2.0.0"), "b": ("active", "2.0.0")})
        # Back, both at once.
        swap(daemon.plugin_dir, "..1")
        swap(daemon.manifest_dirs[0], "..1")
        self.converges({"a": ("active", "1.0.0"), "b": ("active", "1.0.0")})

    def test_t15_a_swapped_link_is_noticed_by_its_event(self):
        self.swaps(options=NEVER)

    def test_t15_a_swapped_link_is_noticed_without_events(self):
        self.swaps(options=POLLING, without=INOTIFY)

    def test_t15_a_file_that_a_swap_brings_or_takes_away(self):
        for options, without in ((NEVER, ()), (POLLING, INOTIFY)):
            with self.subTest(options=options):
                daemon = self.prepare(options=options, without=without)
                daemon.add("a", version="1.0.0")
                daemon.add("c", version="1.0.0")
                daemon.remove("a")
                daemon.remove("c")
                self.volume(
                    daemon.manifest_dirs[0],
                    {
                        "a.json": (self.manifest("a.so"), None),
                        "c.json": (None, self.manifest("c.so")),
                    },
                )
                daemon.start()
                daemon.settle()
                for target, there, gone in (("..2", "c", "a"), ("..1", "a", "c")) * 2:
                    swap(daemon.manifest_dirs[0], target)
                    wait_until(
                        lambda t=there, g=gone: self.states().get(t) == ("active", "1.0.0")
                        and self.states().get(g, ("",))[0] != "active",
                        f"{there} instead of {gone}",
                    )


class Overflow(Case):
    """More events than the kernel keeps: those of what changes last are lost."""

    def flood(self, directory):
        """Fills the queue with events of files that do not count."""
        with open(QUEUE, encoding="utf-8") as file:
            most = int(file.read())
        if most > 1 << 20:
            self.skipTest("the kernel keeps too many events")
        names = [os.path.join(directory, f".{i}.swp") for i in range(2)]
        for name in names:
            write(name, "rubbish")
        # Alike ones in a row would be one.
        for i in range(most + 64):
            os.utime(names[i % 2])

    def lose(self, change):
        """What `change` does is in no event that plugind gets."""
        daemon = self.daemon
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            self.flood(daemon.plugin_dir)
            change()
        finally:
            os.kill(daemon.pid, signal.SIGCONT)

    def test_t15_after_a_queue_that_ran_over_everything_is_looked_at(self):
        daemon = self.prepare(options=NEVER)
        daemon.add("stays", version="1.0.0")
        daemon.add("changes", version="1.0.0")
        daemon.add("goes", version="1.0.0")
        daemon.start()
        daemon.settle()
        expected = {name: ("active", "1.0.0") for name in ("stays", "changes", "goes")}
        self.converges(expected)
        self.lose(lambda: daemon.add("comes", version="1.0.0"))
        expected["comes"] = ("active", "1.0.0")
        self.converges(expected)
        self.lose(lambda: make_plugin(daemon.library_path("changes"), "changes", version="2.0.0"))
        expected["changes"] = ("active", "2.0.0")
        self.converges(expected)
        self.lose(lambda: daemon.remove("goes"))
        del expected["goes"]
        self.converges(expected)

    def test_t15_a_directory_that_was_replaced_meanwhile_is_watched_again(self):
        daemon = self.prepare(options=NEVER)
        daemon.add("x", version="1.0.0")
        daemon.start()
        daemon.settle()

        def replace():
            os.rename(daemon.manifest_dirs[0], daemon.manifest_dirs[0] + ".old")
            os.mkdir(daemon.manifest_dirs[0])
            daemon.manifest("x")

        self.lose(replace)
        self.converges({"x": ("active", "1.0.0")})
        daemon.remove("x")
        self.converges({})


class Polling(Case):
    """Where the kernel gives no inotify descriptor, files are looked at again and again."""

    def test_t15_without_inotify_all_changes_are_found_and_status_says_how(self):
        daemon = self.prepare(layers=2, options=POLLING, without=INOTIFY)
        daemon.start()
        self.assertIn("no_watch", [w["code"] for w in daemon.settle()["warnings"]])
        self.converges({})
        daemon.add("x", version="1.0.0")
        self.converges({"x": ("active", "1.0.0")})
        make_plugin(daemon.library_path("x"), "x", version="2.0.0")
        self.converges({"x": ("active", "2.0.0")})
        os.rename(daemon.library_path("x"), daemon.library_path("away"))
        wait_until(lambda: daemon.plugins()["x"]["state"] == "missing", "the library to be missed")
        os.rename(daemon.library_path("away"), daemon.library_path("x"))
        self.converges({"x": ("active", "2.0.0")})
        os.symlink("/dev/null", daemon.manifest_path("y"))
        daemon.manifest("y", library="x.so", layer=1)
        wait_until(lambda: daemon.plugins().get("y", {}).get("state") == "masked", "the mask")
        daemon.remove("y")
        daemon.remove("y", layer=1)
        daemon.remove("x")
        self.converges({})

    def test_t15_a_reload_names_what_its_manifest_alone_has_changed(self):
        daemon = self.prepare(without=INOTIFY)
        daemon.add("x")
        daemon.start()
        daemon.settle()
        path = daemon.manifest_path("x")
        with open(path, encoding="utf-8") as file:
            whole = file.read()

        def broken():
            write(path, "{")

        def off():
            write(path, json.dumps({**json.loads(whole), "enabled": False}))

        def masked():
            os.unlink(path)
            os.symlink("/dev/null", path)

        def open_to_all():
            os.chmod(path, 0o666)

        def mended():
            os.unlink(path)
            write(path, whole)

        becomes = [(broken, "rejected"), (off, "disabled"), (masked, "masked")]
        becomes += [(mended, "active"), (open_to_all, "rejected"), (mended, "active")]
        for change, state in becomes:
            with self.subTest(change=change.__name__):
                change()
                reply = daemon.call("Reload")
                self.assertEqual((reply["added"], reply["changed"]), ([], ["x"]))
                self.assertEqual([p["state"] for p in reply["plugins"]], [state])
        self.assertEqual(daemon.call("Reload")["changed"], [])

    def test_t15_without_inotify_directories_that_come_and_go_are_found(self):
        daemon = self.prepare(options=POLLING, without=INOTIFY)
        make_plugin(daemon.library_path("x"), "x", version="1.0.0")
        os.rmdir(daemon.manifest_dirs[0])
        daemon.start()
        daemon.settle()
        for _ in range(2):
            self.converges({})
            os.mkdir(daemon.manifest_dirs[0])
            daemon.manifest("x")
            self.converges({"x": ("active", "1.0.0")})
            shutil.rmtree(daemon.manifest_dirs[0])
        self.converges({})

    def test_t15_half_a_file_is_waited_for_without_events_too(self):
        daemon = self.prepare(options=POLLING, without=INOTIFY)
        make_plugin(daemon.library_path("built"), "x", version="1.0.0")
        with open(daemon.library_path("built"), "rb") as file:
            content = file.read()
        os.unlink(daemon.library_path("built"))
        daemon.manifest("x")
        daemon.start()
        daemon.settle()
        with open(daemon.library_path("x"), "wb") as file:
            for start in range(0, len(content), 4096):
                file.write(content[start : start + 4096])
                file.flush()
        # Whatever was seen of it meanwhile, in the end it is whole.
        self.converges({"x": ("active", "1.0.0")})


if __name__ == "__main__":
    unittest.main()
