# SPDX-License-Identifier: MIT
"""plugind under strace, which counts system calls on files of the state, and fails one."""

import os
import re
import shutil
import subprocess

from harness import Daemon

LINE = re.compile(r"^(\d+) +\w+\(")


def files_of(daemon):
    """What is written to in the state directory, with the names that files have till then."""
    state = daemon.state_dir
    names = ["decisions.json", "table", "index", "incidents.json", "history.json"]
    loaded = [os.path.join(state, "loaded")]
    cache = [daemon.cache_dir, os.path.join(daemon.cache_dir, ".probe.new")]
    return [state, *[os.path.join(state, f".{n}.new") for n in names], *loaded, *cache]


class Traced(Daemon):
    """A daemon of which strace tells the calls `calls` on its files; `rule` is an injection."""

    def __init__(self, **keywords):
        super().__init__(start=False, **keywords)
        self.env.update(UV_THREADPOOL_SIZE="1", LD_PRELOAD=self.one_thread())
        self.trace_path = os.path.join(self.place, "trace")
        self.calls = None
        self.rule = None
        self.paths = None  # others than files_of

    def one_thread(self):
        """A library with which plugind takes one thread for an answer, so that its calls come
        in one order: strace counts those of each thread."""
        path = os.path.join(self.place, "one_thread.so")
        source = "int setenv(const char *n, const char *v, int o) { return 0; }"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-xc", "-", "-o", path],
            input=source,
            text=True,
            check=True,
        )
        return path

    def command(self):
        command = super().command()
        if not self.calls:
            return command
        # Detached: the process that was started is plugind itself.
        trace = ["strace", "-D", "-f", "-qq", "-o", self.trace_path, "-e", f"trace={self.calls}"]
        for path in self.paths or files_of(self):
            trace += ["-P", path]
        if self.rule:
            trace += ["-e", f"inject={self.calls}:{self.rule}"]
        return trace + command

    def trace(self, calls, rule=None):
        self.calls, self.rule = calls, rule
        if os.path.exists(self.trace_path):
            os.unlink(self.trace_path)
        return self

    def untraced(self):
        self.calls = self.rule = None
        return self

    def told(self):
        """How many calls there were, by thread (strace counts so); those that were failed."""
        threads, injected = {}, []
        if os.path.exists(self.trace_path):
            with open(self.trace_path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    match = LINE.match(line)
                    if match:
                        threads[match.group(1)] = threads.get(match.group(1), 0) + 1
                    if "(INJECTED)" in line:
                        injected.append(line)
        return threads, injected


class Place:
    """State and cache of a daemon as they were, again and again."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.kept = os.path.join(daemon.place, "kept")
        os.mkdir(self.kept)
        for path in (daemon.state_dir, daemon.cache_dir):
            shutil.copytree(path, os.path.join(self.kept, os.path.basename(path)))

    def restore(self):
        for path in (self.daemon.state_dir, self.daemon.cache_dir):
            shutil.rmtree(path)
            shutil.copytree(os.path.join(self.kept, os.path.basename(path)), path)
