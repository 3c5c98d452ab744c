# SPDX-License-Identifier: MIT
"""What it costs that applications are attached, and how fast they obey."""

import contextlib
import os
import statistics

import harness
from attached import Application
from measures import Result, driver, run, smaps

APPLICATIONS = 64
SAMPLES = 200
CHANGES = 1000


@contextlib.contextmanager
def machine():
    """A plugind with the plugins of the build tree."""
    with harness.Daemon(builtin=True, options=["--log-level", "error"]) as daemon:
        daemon.settle()
        yield daemon


def opening(_):
    """Microseconds from nothing to an attached application."""
    with machine() as daemon:
        command = [driver("attach"), daemon.socket, str(SAMPLES)]
        return Result("us", [float(words[0]) for words in run(command)], commands=[command])


@contextlib.contextmanager
def apart(first=False):
    """One whose threads are on the first core: who calls kernels has another.

    first: where this user may, they run before all else that is there.
    """
    with machine() as daemon:
        for task in map(int, os.listdir(f"/proc/{daemon.pid}/task")):
            os.sched_setaffinity(task, {min(os.sched_getaffinity(0))})
            if first:
                with contextlib.suppress(PermissionError):
                    os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(2))
        yield daemon


def obeying(_):
    """The 99th percentile, from plugind's commit to the end of the first other call; of runs."""
    with apart(first=True) as daemon:
        command = [driver("changes"), "obey", str(CHANGES), daemon.socket]
        runs = [[float(words[0]) for words in run(command)[1:]] for _ in range(3)]
    worst = [statistics.quantiles(samples, n=100)[-1] for samples in runs]
    return Result("us", worst, commands=[command])


def storming(scenes):
    """Calls while another plugin goes and comes, against calls in peace."""
    with apart() as daemon:
        command = [driver("changes"), "storm", str(scenes.pairs), daemon.socket, "openblas"]
        (unit,), *lines = run(command)
    return Result(unit, *zip(*[(float(a), float(b)) for a, b in lines]), commands=[command])


def guarding(scenes):
    """Calls of which one in a thousand is compared with the reference, against none."""
    with machine() as daemon:
        command = [driver("guard"), str(scenes.pairs), daemon.socket, "1000"]
        (unit,), *lines = run(command)
    return Result(unit, *zip(*[(float(a), float(b)) for a, b in lines]), commands=[command])


def memory(_):
    """What each application adds to plugind's own memory."""
    with machine() as daemon:
        first = Application(daemon.socket)
        before = smaps(daemon.pid, "Pss")
        held = [Application(daemon.socket, name=f"n{i}") for i in range(APPLICATIONS)]
        each = (smaps(daemon.pid, "Pss") - before) / len(held)
        for application in [first, *held]:
            application.close()
    return Result("KiB", [each], commands=[["cat", "/proc/PID/smaps_rollup"]])
