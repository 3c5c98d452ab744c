# SPDX-License-Identifier: MIT
"""The same request in a registry that people have in Python, where it is installed."""

import os
import sys

from measures import HERE, Result, driver, run

KERNELS = 100
TIMES = {"first": 20, "again": 2000}


def pairs(scenes, mode, ours):
    """Microseconds of tests/bench/site.c and of tokenspeed.py, a process each in turn."""
    peer = [sys.executable, os.path.join(HERE, "tokenspeed.py"), mode]
    peer += [str(KERNELS), str(TIMES[mode]), "1"]
    run(peer)  # is it there?
    daemon = scenes.running(1, KERNELS) if mode == "first" else scenes.builtin()
    command = [driver("site"), ours, "1", daemon.socket]
    samples = []
    for _ in range(scenes.pairs):
        (unit,), (took, _) = run(command)
        microseconds = float(took) / {"us": 1, "ns": 1000}[unit]
        samples.append((microseconds, float(run(peer)[0][0])))
    return Result("us", *zip(*samples), commands=[command, peer])
