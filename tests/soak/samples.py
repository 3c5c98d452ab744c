# SPDX-License-Identifier: MIT
"""What processes take, looked at again and again: memory, descriptors, children."""

import contextlib
import os
import statistics
import threading

import harness


def memory_kib(pid):
    """Memory that is no file's, whoever shares it."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Samples:
    """Rows of figures, by name, taken in a thread until the end of a `with`.

    applications: their process ids
    """

    def __init__(self, daemon, applications, period_s=1.0):
        self.pid, self.applications, self.period_s = daemon.pid, applications, period_s
        self.launcher = harness.children(daemon.pid)[0]
        self.rows = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        while not self.over.wait(self.period_s):
            # A process may have just ended: who misses it is told by other claims.
            with contextlib.suppress(OSError):
                self.take()

    def take(self):
        row = {
            "memory of plugind, KiB": memory_kib(self.pid),
            "memory of its launcher, KiB": memory_kib(self.launcher),
            "memory of applications, KiB": sum(map(memory_kib, self.applications)),
            "descriptors of plugind": descriptors(self.pid),
            "descriptors of applications": sum(map(descriptors, self.applications)),
        }
        for name, value in row.items():
            self.rows.setdefault(name, []).append(value)

    def take_at_rest(self):
        """What is there when no plugin is on its way: workers come and go."""
        count = len(harness.children(self.pid)) + 1
        self.rows.setdefault("processes of plugind at rest", []).append(count)

    def thirds(self):
        """{name: (median of the first third, of the last)}"""
        found = {}
        for name, values in self.rows.items():
            third = max(1, len(values) // 3)
            found[name] = statistics.median(values[:third]), statistics.median(values[-third:])
        return found
