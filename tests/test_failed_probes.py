# SPDX-License-Identifier: MIT
"""Probes that fail leave nothing in plugind: no mapping, no descriptor, no process."""

import concurrent.futures
import os
import re
import unittest

from harness import BUILD, LONG, SANITIZER, Daemon, children, install, wait_until

# A sanitizer makes each of them ten times as long.
TIMES = 500 if not SANITIZER or LONG else 100
UNDEFINED = """
extern int of_nobody(void);
int (*volatile call_it)(void);
__attribute__((constructor)) static void need(void) { call_it = of_nobody; }
"""
ABORT = "__attribute__((constructor)) static void fall(void) { abort(); }"
EXIT = "__attribute__((constructor)) static void leave(void) { exit(0); }"
# kind -> (arguments of Daemon.add, or a fixture; codes that it may fail with)
KINDS = {
    "undefined": ({"before": UNDEFINED}, {"undefined_symbol"}),
    "aborts": ({"before": ABORT}, {"killed_by_signal", "exited_during_load"}),
    "exits": ({"before": EXIT}, {"exited_during_load"}),
    "floods": ("floods_report", {"garbled_report"}),
    "differs": ("entry_misspelt", {"entries_differ"}),
    "fails": ({"available": "abort();"}, {"killed_by_signal", "exited_during_probe"}),
    "resolves": ("crash_in_ifunc", {"killed_by_signal", "exited_during_load"}),
    "cut": (None, {"elf_truncated"}),
}
# The others are refused for what they are, before any probe.
PROBED = len(KINDS) - 2


class Held:
    """What a process has: mapped files, descriptors, children, memory of its own."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            self.maps = sorted(line.split(maxsplit=5)[5] for line in file if "/" in line)
        self.descriptors = sorted(
            re.sub(r"\d+", "N", os.readlink(f"/proc/{pid}/fd/{fd}"))
            for fd in os.listdir(f"/proc/{pid}/fd")
        )
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = file.read()
        self.anonymous_kib = int(re.search(r"RssAnon:\s+(\d+)", status).group(1))


class FailedProbes(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(start=False)
        self.addCleanup(self.daemon.close)

    def add(self, name, how):
        daemon = self.daemon
        if isinstance(how, dict):
            daemon.add(name, **how)
            return
        path = os.path.join(BUILD, "tests", "fixtures", f"{how or 'plain'}.so")
        with open(path, "rb") as file:
            content = file.read()
        with open(daemon.library_path(name) + ".new", "wb") as file:
            file.write(content if how else content[: len(content) // 2])
        install(daemon.library_path(name))
        daemon.manifest(name)

    def retry(self, times):
        """Each is asked `times` again, several at once."""

        def again(name):
            with self.daemon.client() as client:
                for _ in range(times):
                    plugin = client.call("Retry", {"name": name})["plugin"]
                    self.assertIn(plugin["reason"]["code"], KINDS[name][1])

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(again, KINDS))

    def held(self):
        """Once all is quiet: workers that nobody needs have ended, other clients have gone."""
        wait_until(lambda: len(children(self.daemon.pid)) <= 1, "the workers to end")
        wait_until(lambda: self.client.call("Status")["clients"] <= 1, "the clients to go")
        return Held(self.daemon.pid)

    def test_t41_500_failed_probes_leave_the_daemon_as_it_was(self):
        for name, (how, _) in KINDS.items():
            self.add(name, how)
        self.daemon.add("good")
        self.daemon.start()
        self.daemon.settle()
        self.client = self.daemon.client()
        self.addCleanup(self.client.close)
        # Threads and what they keep have been made by then.
        self.retry(6)
        before = self.held()
        started = self.client.call("Status")["workers"]["started"]
        self.retry(-(-TIMES // PROBED))
        workers = self.client.call("Status")["workers"]
        after = self.held()
        self.assertGreaterEqual(workers["started"] - started, TIMES)
        self.assertEqual(after.maps, before.maps)
        self.assertEqual(after.descriptors, before.descriptors)
        if not SANITIZER:
            self.assertLess(after.anonymous_kib - before.anonymous_kib, 1024)
        self.assertEqual([m for m in after.maps if self.daemon.place in m], [])
        plugins = self.daemon.plugins()
        self.assertEqual(len(children(self.daemon.pid)), 1)
        self.assertEqual(plugins["good"]["state"], "active")
        self.assertEqual(self.daemon.select("elementwise/square")["selected"], "good/square")


if __name__ == "__main__":
    unittest.main()
