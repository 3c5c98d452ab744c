# SPDX-License-Identifier: MIT
"""What it costs that applications are attached, and how fast they obey."""

import contextlib
import statistics

import harness
from attached import Application
from measures import Result, driver, run, smaps

APPLICATIONS = 64
SAMPLES = 200


@contextlib.contextmanager
def machine():
    """A plugind with the plugins of the build tree."""
    with harness.Daemon(builtin=True, options=["--log-level", "error"]) as daemon:
        daemon.settle()
        yield daemon


def opening(_):
    """Microseconds from nothing to an attached application."""
    with machine() as daemon:
        command = [driver("attach"), "open", daemon.socket, str(SAMPLES)]
        return Result("us", [float(words[0]) for words in run(command)], commands=[command])


def obeying(_):
    """The 99th percentile, from plugind's commit until a thread sees the bit; three runs."""
    with machine() as daemon:
        command = [driver("attach"), "obey", daemon.socket, str(SAMPLES), "reference/gemm_mm"]
        runs = [sorted(float(words[0]) for words in run(command)) for _ in range(3)]
    worst = [statistics.quantiles(samples, n=100)[-1] for samples in runs]
    return Result("us", worst, commands=[command])


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
