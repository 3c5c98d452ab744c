# SPDX-License-Identifier: MIT
"""Thousands of tiny plugins, compiled once: those of kplug, and as tiny ones of GStreamer."""

import os
import shutil
import subprocess
import tempfile
import time

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = b"XXXXX"


def name_of(number):
    return f"tiny{number:05d}"


def make_ours(daemon, count, kernels=None):
    """Adds `count` plugins with their manifests to a daemon's directories."""
    daemon.add_many([name_of(i) for i in range(count)], kernels)


def kernels(count):
    """Kernels as a plugin of many has them: each its own priority, traits and solution."""
    return [
        harness.kernel(
            f"square{i:02d}",
            priority=i % 20,
            solution=f"s{i % 4}",
            traits={"n": {"multiple_of": 2 ** (i % 6)}},
        )
        for i in range(count)
    ]


def gstreamer_flags():
    """What a plugin of GStreamer is compiled with, or None where that is not installed."""
    if not shutil.which("gst-inspect-1.0"):
        return None
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "gstreamer-1.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.split() if found.returncode == 0 else None


def make_peers(directory, count):
    """`count` libraries of GStreamer in a new directory."""
    os.mkdir(directory)
    with tempfile.TemporaryDirectory(prefix="kplug-peer.") as place:
        first = os.path.join(place, "first.so")
        subprocess.run(
            ["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-o", first]
            + [os.path.join(HERE, "gstreamer", "tiny.c"), *gstreamer_flags()],
            check=True,
        )
        with open(first, "rb") as file:
            template = file.read()
    for i in range(count):
        path = os.path.join(directory, f"libgst{name_of(i)}.so")
        with open(path + ".new", "wb") as file:
            file.write(template.replace(MARK, f"{i:05d}".encode()))
        harness.install(path)


def grow_old():
    """Files younger than two seconds are trusted by nobody: waits until these are older."""
    time.sleep(2.5)
