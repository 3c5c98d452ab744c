# SPDX-License-Identifier: MIT
"""What nothing refers to leaves the store; everything else stays."""

import os
import unittest

from application import Application
from harness import SANITIZER, Daemon, kernel, wait_until
from injecting import Traced

SQUARE = "elementwise/square"
BODY = """
	const float *x = call->tensors[0]->data;
	float *y = call->tensors[1]->data;
	for (int64_t i = 0; i < call->tensors[0]->shape[0]; i++)
		y[i] = x[i] + %d;
"""


class Case(unittest.TestCase):
    def daemon(self, *options):
        daemon = Daemon(start=False, options=options)
        self.addCleanup(daemon.close)
        return daemon

    def put(self, daemon, version, name="a", **more):
        daemon.add(
            name,
            [kernel(flags=["reentrant"])],
            body=BODY % version,
            version=f"{version}.0.0",
            **more,
        )

    def run_through(self, daemon, versions, name="a"):
        """Each of them runs, one after the other; their closures."""
        closures = []
        for version in versions:
            self.put(daemon, version, name)
            if daemon.process is None:
                daemon.start()
            daemon.call("Reload")
            plugin = daemon.call("Info", name=name)["plugin"]
            self.assertEqual(plugin["state"], "active", plugin["reason"])
            closures.append(plugin["closure"])
        return closures

    def entries(self, daemon):
        names = os.listdir(os.path.join(daemon.state_dir, "store"))
        return {n for n in names if not n.startswith(".")}

    def until(self, daemon, closures):
        wait_until(lambda: self.entries(daemon) == set(closures), f"{closures} alone")


class Collected(Case):
    def test_three_generations_stay_and_the_one_before_goes(self):
        daemon = self.daemon()
        closures = self.run_through(daemon, range(1, 6))
        self.until(daemon, closures[2:])
        store = wait_until(lambda: daemon.call("Status")["store"], "a look")
        wait_until(lambda: daemon.call("Status")["store"]["removed"] == 2, "the count")
        store = daemon.call("Status")["store"]
        self.assertEqual((store["entries"], store["keeps_all"]), (3, False))
        sizes = sum(
            os.lstat(os.path.join(top, n)).st_blocks * 512
            for top, dirs, names in os.walk(os.path.join(daemon.state_dir, "store"))
            for n in dirs + names
        )
        self.assertEqual(store["bytes"], sizes)
        self.assertIn("in 3 entries", daemon.ctl("status").stdout)
        metrics = {m["name"]: m["samples"] for m in daemon.call("Metrics")["metrics"]}
        self.assertEqual(metrics["kplug_store_bytes"][0]["value"], store["bytes"])
        self.assertEqual(metrics["kplug_store_entries"][0]["value"], 3)
        # What stayed runs.
        for number, version in ((3, "3.0.0"), (4, "4.0.0")):
            reply = daemon.call("Rollback", name="a", number=number)
            self.assertEqual(reply["plugin"]["version"], version)

    def test_what_a_rollback_needs_stays_whatever_comes(self):
        daemon = self.daemon("--history", "1")
        first, second = self.run_through(daemon, [1, 2])
        del second
        self.put(daemon, 1)
        daemon.call("Reload")
        daemon.call("Rollback", name="a", number=3)
        for version in (3, 4):
            self.put(daemon, version)
            daemon.call("Reload")
        self.until(daemon, [first])
        daemon.restart()
        self.assertEqual(daemon.plugins()["a"]["version"], "1.0.0")
        plugin = daemon.call("Rollback", name="a", release=True)["plugin"]
        self.assertEqual(plugin["version"], "4.0.0")

    def test_the_history_keeps_to_its_bytes_and_says_what_gives_way(self):
        daemon = self.daemon("--history", "8", "--history-mib", "1")
        blob = os.path.join(daemon.place, "blob")
        with open(blob, "wb") as file:
            file.write(os.urandom(400 << 10))
        asm = f'__asm__(".section .rodata\\n.incbin \\"{blob}\\"\\n.previous");'
        closures = []
        for version in range(1, 6):
            self.put(daemon, version, before=asm)
            if daemon.process is None:
                daemon.start()
            daemon.call("Reload")
            closures.append(daemon.call("Info", name="a")["plugin"]["closure"])
        # Two of 400 KiB have room, and the one that runs.
        self.until(daemon, closures[2:])
        numbers = [g["number"] for g in daemon.call("History", name="a")["generations"]]
        self.assertEqual(numbers, [5, 4, 3])
        self.assertIn("generation 1 is not kept any more", daemon.log())

    def test_plugins_that_are_off_failed_or_pending_keep_theirs(self):
        daemon = self.daemon("--history", "1")
        daemon.add("off", version="1.0.0")
        daemon.add("bad", before="__attribute__((constructor)) static void f(void) { abort(); }")
        closures = self.run_through(daemon, [1, 2])
        daemon.call("Disable", name="off")
        kept = [daemon.call("Info", name=n)["plugin"]["closure"] for n in ("off", "bad")]
        self.until(daemon, [closures[1], *kept])
        daemon.call("Enable", name="off")
        self.assertEqual(daemon.plugins()["off"]["state"], "active")


class Waits(Case):
    def test_an_application_that_has_not_followed_keeps_what_it_may_map(self):
        daemon = self.daemon("--history", "1")
        (first,) = self.run_through(daemon, [1])
        with Application(daemon.socket, flags=2) as app:
            self.assertEqual(app.ask("run"), 4)
            # It adopts at its next step, which does not come.
            second, third = self.run_through(daemon, [2, 3])
            wait_until(
                lambda: "removed from the store" in daemon.log()
                or (daemon.call("Status")["store"] or {}).get("entries") == 3,
                "a look",
            )
            self.assertEqual(self.entries(daemon), {first, second, third})
            app.ask("step")
            self.assertEqual(app.ask("run"), 6)
            self.until(daemon, [third])
            self.assertEqual(app.ask("run"), 6)

    def test_nothing_goes_while_a_worker_runs(self):
        daemon = self.daemon("--history", "1")
        daemon.add("slow", [kernel("slow", SQUARE)], body="usleep(3000);")
        first, second = self.run_through(daemon, [1, 2])
        slow = daemon.call("Info", name="slow")["plugin"]["closure"]
        with daemon.client() as client:
            parameters = {"operation": SQUARE, "time_s": 4.0, "check": False}
            replies = client.call_more("Bench", parameters)
            next(replies)
            wait_until(lambda: daemon.call("Status")["store"], "a look")
            self.assertIn(first, self.entries(daemon))
            progress = list(replies)
            self.assertTrue(progress)
        self.until(daemon, [second, slow])


class Harm(Case):
    def test_with_a_damaged_history_nothing_is_removed_until_it_is_gone(self):
        daemon = self.daemon("--history", "2")
        closures = self.run_through(daemon, [1, 2])
        daemon.stop()
        path = os.path.join(daemon.state_dir, "history.json")
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            file.write(b"\0\0")
        closures += self.run_through(daemon, [3, 4])
        for _ in range(2):
            self.assertTrue(
                wait_until(lambda: daemon.call("Status")["store"], "a look")["keeps_all"]
            )
            self.assertIn("none is removed", daemon.ctl("status").stdout)
            self.assertEqual(self.entries(daemon), set(closures))
            daemon.restart()
            daemon.settle()
        os.unlink(path + ".damaged")
        daemon.call("Reload")
        daemon.call("Disable", name="a")
        self.until(daemon, closures[2:])

    @unittest.skipIf(SANITIZER, "a sanitizer needs its own library")
    def test_a_disk_that_refuses_loses_nothing_and_is_tried_again(self):
        for error, text in (
            ("EROFS", "Read-only"),
            ("ENOSPC", "No space"),
            ("EIO", "Input/output"),
        ):
            with self.subTest(error=error):
                daemon = Traced()
                self.addCleanup(daemon.close)
                closures = self.run_through(daemon, [1, 2, 3])
                daemon.stop()
                daemon.options = ["--history", "1"]
                daemon.paths = [os.path.join(daemon.state_dir, "store")]
                daemon.trace("renameat", f"error={error}").start()
                self.assertEqual(daemon.plugins()["a"]["state"], "active")
                wait_until(lambda: "cannot be removed" in daemon.log(), "the refusal")
                self.assertIn(text, daemon.log())
                self.assertEqual(self.entries(daemon), set(closures))
                self.assertEqual(daemon.call("Status")["store"]["removed"], 0)
                daemon.untraced().restart()
                self.until(daemon, closures[2:])
                daemon.close()

    def test_what_was_half_removed_by_a_daemon_that_was_killed_is_gone_after_the_start(self):
        daemon = self.daemon()
        closures = self.run_through(daemon, [1])
        daemon.kill()
        store = os.path.join(daemon.state_dir, "store")
        for i in range(3):
            os.makedirs(os.path.join(store, f".gone-{i:064x}", "deep"))
        daemon.start()
        daemon.settle()
        self.assertEqual([n for n in os.listdir(store) if n.startswith(".gone")], [])
        self.assertEqual(self.entries(daemon), set(closures))


if __name__ == "__main__":
    unittest.main()
