# SPDX-License-Identifier: MIT
"""A later start believes what has not changed, and looks at everything else."""

import os
import shutil
import time
import unittest

from attached import Application
from harness import Daemon, wait_until, write

NAMES = ["a", "b", "c"]


class Index(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.daemon.add_many(NAMES)
        self.daemon.manifest("b", config={"depth": 3}, priority_offset=1)
        paths = [self.daemon.manifest_path(n) for n in NAMES]
        paths += [self.daemon.library_path(n) for n in NAMES]
        young = max(os.stat(p).st_ctime for p in paths) + 2.1
        wait_until(lambda: time.time() > young, "files that are old enough to be believed")
        self.daemon.start()
        self.daemon.settle()
        self.before = self.infos()
        self.daemon.stop()

    def infos(self):
        """What is told of each plugin, but for when and how long."""
        infos = {n: self.daemon.call("Info", name=n)["plugin"] for n in NAMES}
        for info in infos.values():
            del info["since"], info["probe_ms"]
        return infos

    def again(self):
        """Starts with no other memory than the index; the number of workers it takes."""
        shutil.rmtree(self.daemon.cache_dir)
        self.daemon.start()
        return self.daemon.settle()["workers"]["started"]

    def test_nothing_is_identified_or_probed_where_nothing_has_changed(self):
        for _ in range(3):
            self.assertEqual(self.again(), 0)
            self.assertEqual({p["state"] for p in self.daemon.plugins().values()}, {"active"})
            self.daemon.stop()

    def test_applications_attach_to_what_was_confirmed(self):
        for _ in range(3):
            self.assertEqual(self.again(), 0)
            with Application(self.daemon.socket) as application:
                self.assertNotIn("error", application.first)
                self.assertGreater(application.generation, 0)
            self.daemon.stop()

    def test_a_plugin_is_told_of_as_it_was(self):
        self.again()
        self.assertEqual(self.infos(), self.before)

    def test_what_is_selected_is_what_was(self):
        self.again()
        self.assertEqual(self.daemon.select("elementwise/square")["selected"], "b/square")

    def test_a_manifest_that_was_written_again_is_read(self):
        self.daemon.manifest("b", config={"depth": 4})
        self.assertGreater(self.again(), 0)
        infos = self.infos()
        self.assertEqual(infos["b"]["config"], {"depth": 4})
        self.assertEqual(infos["a"], self.before["a"])
        self.assertEqual(self.daemon.select("elementwise/square")["selected"], "a/square")

    def test_a_manifest_that_is_gone_takes_its_plugin_with_it(self):
        self.daemon.remove("a")
        self.assertEqual(self.again(), 0)
        self.assertEqual(sorted(self.daemon.plugins()), ["b", "c"])

    def test_a_manifest_that_is_masked_masks_its_plugin(self):
        self.daemon.remove("a")
        os.symlink("/dev/null", self.daemon.manifest_path("a"))
        self.again()
        self.assertEqual(self.daemon.plugins()["a"]["state"], "masked")

    def test_another_library_is_probed_though_it_has_the_same_size_and_time(self):
        path = self.daemon.library_path("a")
        then = os.stat(path)
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(data.index(b"square"))
            file.write(b"squore")
        os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
        self.assertGreater(self.again(), 0)
        self.assertNotEqual(
            self.daemon.call("Info", name="a")["plugin"]["sha256"], self.before["a"]["sha256"]
        )

    def test_a_library_that_is_gone_is_missing(self):
        os.unlink(self.daemon.library_path("a"))
        self.again()
        self.assertEqual(self.daemon.plugins()["a"]["state"], "missing")

    def test_a_copy_in_the_store_that_was_changed_is_made_again(self):
        stored = self.before["a"]["stored"]
        os.chmod(stored, 0o644)
        with open(stored, "r+b") as file:
            file.write(b"not")
        self.assertGreater(self.again(), 0)
        with open(stored, "rb") as file, open(self.daemon.library_path("a"), "rb") as library:
            self.assertEqual(file.read(), library.read())

    def test_a_file_that_was_added_to_the_store_is_noticed(self):
        place = os.path.dirname(self.before["a"]["stored"])
        write(os.path.join(place, "more"), "x")
        self.assertGreater(self.again(), 0)
        self.assertEqual(os.listdir(place), ["a.so"])

    def test_other_families_have_every_plugin_looked_at(self):
        families = os.path.join(self.daemon.place, "families")
        shutil.copytree(self.daemon.families, families)
        self.daemon.families = families
        self.assertGreater(self.again(), 0)
        self.assertEqual(self.infos(), self.before)

    def test_an_index_without_its_table_is_of_no_use(self):
        os.unlink(os.path.join(self.daemon.state_dir, "table"))
        self.assertGreater(self.again(), 0)
        self.assertEqual(self.infos(), self.before)

    def test_what_was_disabled_is_disabled(self):
        self.daemon.start()
        self.daemon.settle()
        self.daemon.call("Disable", name="a", reason="it hangs")
        self.daemon.stop()
        self.assertEqual(self.again(), 0)
        self.assertEqual(self.daemon.plugins()["a"]["state"], "disabled")
        self.daemon.call("Enable", name="a")
        self.assertEqual(self.daemon.plugins()["a"]["state"], "active")

    def test_a_change_while_it_runs_is_noticed(self):
        self.assertEqual(self.again(), 0)
        os.unlink(self.daemon.library_path("a"))
        wait_until(lambda: self.daemon.plugins()["a"]["state"] == "missing", "it to be missed")


if __name__ == "__main__":
    unittest.main()
