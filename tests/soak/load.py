# SPDX-License-Identifier: MIT
"""The programs of a soak: applications that call kernels, and a crowd of clients."""

import json
import os
import signal
import subprocess

import harness

PROGRAMS = os.path.join(harness.BUILD, "soak")


class Program:
    """A process whose last line is a JSON object."""

    def __init__(self, name, *words):
        self.name = name
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, name), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process.poll() is None

    def report(self):
        """What it says at its end, which somebody else has caused."""
        output, _ = self.process.communicate(timeout=harness.PATIENCE_S)
        if self.process.returncode != 0:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}")
        return json.loads(output)

    def wait(self, seconds):
        """The same, of one that ends by itself in so many seconds."""
        try:
            self.process.wait(seconds + harness.PATIENCE_S)
            return self.report()
        finally:
            self.kill()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.report()

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def put_first(pid):
    """Its threads run before all else that is there, the first one before the others; what
    they start does not. For root."""
    for task in map(int, os.listdir(f"/proc/{pid}/task")):
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(task, policy, os.sched_param(2 if task == pid else 1))


def applications(scene):
    return [
        Program("application", scene.daemon.socket, scene.page_path, i)
        for i in range(scene.scale.applications)
    ]


def clients(scene, seconds, first=False):
    socket, page = scene.daemon.socket, scene.page_path
    program = Program("clients", socket, page, scene.scale.clients, seconds)
    if first:
        put_first(program.pid)
    return program
