# SPDX-License-Identifier: MIT
"""T57: a daemon whose own files were cut, changed or zeroed starts, rebuilds them, says why."""

import os
import unittest

from harness import Daemon, make_plugin, wait_until

SQUARE = "elementwise/square"


def cut(data, at):
    return data[:at]


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]


def zero(data, at):
    return data[:at] + bytes(len(data) - at)


KINDS = (cut, flip, zero)


def offsets(data):
    """From the first byte to the last, and some between."""
    return sorted({0, 1, len(data) // 3, len(data) // 2, len(data) - 2, len(data) - 1})


class Damage(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)
        self.daemon.add_many(["a", "b", "off"])
        self.daemon.start()
        self.daemon.settle()
        self.daemon.call("Disable", name="off", reason="it hangs")
        self.daemon.call("Disable", name="off", reason="it hangs, too")
        self.daemon.stop()

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def warnings(self):
        """What is not needed may be looked at a moment after the start."""
        return wait_until(lambda: self.daemon.call("Status")["warnings"], "a warning")

    def starts(self, path):
        """With each damage: the same plugins as ever. Yields what is said of it."""
        sound = self.read(path)
        for kind in KINDS:
            for at in offsets(sound):
                data = kind(sound, at)
                if data == sound:
                    continue
                with open(path, "wb") as file:
                    file.write(data)
                self.daemon.start()
                states = {n: p["state"] for n, p in self.daemon.plugins().items()}
                self.assertEqual(states, {"a": "active", "b": "active", "off": "disabled"})
                self.assertIn(self.daemon.select(SQUARE)["selected"], ("a/square", "b/square"))
                warnings = self.warnings()
                self.assertEqual(self.daemon.stop(), 0)
                yield f"{kind.__name__} at {at}", warnings
                with open(path, "wb") as file:
                    file.write(sound)

    def test_t57_the_probe_cache(self):
        path = os.path.join(self.daemon.cache_dir, "probe")
        for what, warnings in self.starts(path):
            self.assertEqual([w["code"] for w in warnings], ["cache_damaged"], what)
            self.assertIn("probed again", warnings[0]["message"])
            # Written anew at the end, and sound.
            self.daemon.start()
            self.assertEqual(self.daemon.settle()["warnings"], [], what)
            self.daemon.stop()

    def test_t57_the_table(self):
        path = os.path.join(self.daemon.state_dir, "table")
        for what, warnings in self.starts(path):
            self.assertEqual([w["code"] for w in warnings], ["damaged_state"], what)
            self.assertIn("table", warnings[0]["message"])

    def test_t57_the_index(self):
        path = os.path.join(self.daemon.state_dir, "index")
        for what, warnings in self.starts(path):
            self.assertEqual([w["code"] for w in warnings], ["damaged_state"], what)
            self.assertIn("made anew", warnings[0]["message"])
            self.daemon.start()
            self.assertEqual(self.daemon.settle()["warnings"], [], what)
            self.daemon.stop()

    def test_t57_the_decisions(self):
        path = os.path.join(self.daemon.state_dir, "decisions.json")
        for what, warnings in self.starts(path):
            self.assertTrue(warnings, what)
            for warning in warnings:
                self.assertIn(warning["code"], ("damaged_state", "bad_decisions"), what)
            # What was set aside is missed until something is decided: nothing is left here.
            self.forget_copies()

    def forget_copies(self):
        for name in os.listdir(self.daemon.state_dir):
            if ".damaged" in name:
                os.unlink(os.path.join(self.daemon.state_dir, name))

    def test_t57_the_history(self):
        path = os.path.join(self.daemon.state_dir, "history.json")
        for what, warnings in self.starts(path):
            self.assertEqual([w["code"] for w in warnings], ["damaged_state"], what)
            self.assertIn("history.json", warnings[0]["message"])
            self.assertIn("the store keeps everything", warnings[0]["message"])
            # What runs is known again, and written.
            self.daemon.start()
            self.assertEqual(self.daemon.settle()["warnings"], [], what)
            for name in "ab":
                (only,) = self.daemon.call("History", name=name)["generations"]
                self.assertTrue(only["current"], what)
            self.daemon.stop()
            self.forget_copies()

    def test_t57_the_decisions_before_the_last_change(self):
        """Nobody reads them as long as those after it are sound."""
        path = os.path.join(self.daemon.state_dir, "decisions.json.old")
        sound = self.read(path)
        for kind in KINDS:
            for at in offsets(sound):
                with open(path, "wb") as file:
                    file.write(kind(sound, at))
                self.daemon.start()
                self.assertEqual(self.daemon.settle()["warnings"], [])
                self.assertEqual(self.daemon.plugins()["off"]["state"], "disabled")
                self.daemon.stop()

    def test_t57_marks_of_this_boot(self):
        """Without one an entry is hashed again; it is no worse for it."""
        marks = os.path.join(self.daemon.state_dir, "store", ".boot")
        (boot,) = os.listdir(marks)
        for kind in KINDS:
            for name in os.listdir(os.path.join(marks, boot)):
                path = os.path.join(marks, boot, name)
                data = self.read(path)
                with open(path, "wb") as file:
                    file.write(kind(data, len(data) // 2))
            os.unlink(os.path.join(self.daemon.state_dir, "index"))
            self.daemon.start()
            self.assertEqual(self.daemon.settle()["warnings"], [], kind.__name__)
            self.assertEqual(self.daemon.plugins()["a"]["state"], "active", kind.__name__)
            self.daemon.stop()

    def test_t57_copies_of_what_was_loaded_do_not_outlive_their_daemon(self):
        for kind in KINDS:
            self.daemon.start()
            self.daemon.settle()
            path = os.path.join(self.daemon.place, "late.so")
            make_plugin(path, "late")
            self.assertEqual(self.daemon.ctl("load", path).returncode, 0)
            self.daemon.kill()
            loaded = os.path.join(self.daemon.state_dir, "loaded")
            for name in os.listdir(loaded):
                data = self.read(os.path.join(loaded, name))
                with open(os.path.join(loaded, name), "wb") as file:
                    file.write(kind(data, len(data) // 2))
            self.daemon.start()
            self.assertEqual(self.daemon.settle()["warnings"], [], kind.__name__)
            self.assertEqual(sorted(self.daemon.plugins()), ["a", "b", "off"])
            self.assertEqual(os.listdir(loaded), [])
            self.daemon.stop()

    def test_t57_everything_at_once(self):
        places = [
            os.path.join(self.daemon.cache_dir, "probe"),
            os.path.join(self.daemon.state_dir, "table"),
            os.path.join(self.daemon.state_dir, "index"),
            os.path.join(self.daemon.state_dir, "history.json"),
            os.path.join(self.daemon.state_dir, "decisions.json"),
        ]
        for kind in KINDS:
            for path in places:
                data = self.read(path)
                with open(path, "wb") as file:
                    file.write(kind(data, len(data) // 2))
            self.daemon.start()
            states = {n: p["state"] for n, p in self.daemon.plugins().items()}
            self.assertEqual(states, {"a": "active", "b": "active", "off": "disabled"})
            self.assertGreaterEqual(len(self.daemon.call("Status")["warnings"]), 2)
            self.daemon.call("Disable", name="off", reason="still")
            self.daemon.call("Disable", name="off", reason="and on")
            self.daemon.stop()

    def test_t57_a_store_whose_entry_was_cut_is_made_again(self):
        store = os.path.join(self.daemon.state_dir, "store")
        for kind in KINDS:
            for top, _, names in os.walk(store):
                for name in names:
                    path = os.path.join(top, name)
                    os.chmod(path, 0o644)
                    data = self.read(path)
                    with open(path, "wb") as file:
                        file.write(kind(data, len(data) // 2))
            self.daemon.start()
            self.assertEqual(self.daemon.plugins()["a"]["state"], "active", kind.__name__)
            stored = self.daemon.call("Info", name="a")["plugin"]["stored"]
            self.assertEqual(self.read(stored), self.read(self.daemon.library_path("a")))
            self.daemon.stop()


if __name__ == "__main__":
    unittest.main()
