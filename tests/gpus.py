# SPDX-License-Identifier: MIT
"""Machines with GPUs for tests: their sysfs and /proc, and a management library that plays.

    with machine(2) as root, gpu_daemon(root, "h200 2") as daemon:
        daemon.call("Devices")

See tests/fake/nvml.c for what the library plays.
"""

import contextlib
import os
import shutil
import tempfile

from harness import BUILD, Daemon, kernel

NVML = os.path.join(BUILD, "tests", "fake", "nvml", "libnvidia-ml.so.1")
FIRST_BUS = 0x18
VERSION = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root)\n"
    "GCC version:  gcc version 12.3.0\n"
)
HOPPER = {"device": "gpu", "vendors": ["nvidia"], "min_arch": "9.0"}


def address(number):
    return f"0000:{FIRST_BUS + number:02x}:00.0"


def gpu_id(number):
    return "gpu-" + address(number)


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def add_gpu(root, number, vendor="0x10de", bound="nvidia"):
    """One more on the bus, with the kernel driver that has it."""
    place = f"sys/bus/pci/devices/{address(number)}"
    for name, text in (("class", "0x030200"), ("vendor", vendor), ("device", "0x2335")):
        put(root, f"{place}/{name}", text + "\n")
    if bound:
        os.symlink(f"../../../../bus/pci/drivers/{bound}", os.path.join(root, place, "driver"))


def remove_gpu(root, number):
    shutil.rmtree(os.path.join(root, "sys/bus/pci/devices", address(number)))


def add_cpus(root, cores=2, siblings=2):
    """CPUs 0 to cores * siblings - 1; a core's threads are neighbours."""
    count = cores * siblings
    put(root, "sys/devices/system/cpu/online", f"0-{count - 1}\n")
    for cpu in range(count):
        first = cpu - cpu % siblings
        own = f"{first}-{first + siblings - 1}" if siblings > 1 else str(cpu)
        place = f"sys/devices/system/cpu/cpu{cpu}"
        put(root, f"{place}/topology/thread_siblings_list", own + "\n")
        caches = [(1, "Data", "32K", own), (1, "Instruction", "32K", own)]
        caches += [(2, "Unified", "1024K", own), (3, "Unified", "96M", f"0-{count - 1}")]
        for index, (level, kind, size, shared) in enumerate(caches):
            at = f"{place}/cache/index{index}"
            put(root, f"{at}/level", f"{level}\n")
            put(root, f"{at}/type", kind + "\n")
            put(root, f"{at}/size", size + "\n")
            put(root, f"{at}/shared_cpu_list", shared + "\n")


@contextlib.contextmanager
def machine(gpus=2, driver=True):
    """The directory that --devices-root takes; with `driver` the kernel has NVIDIA's."""
    root = tempfile.mkdtemp(prefix="kplug-machine.")
    try:
        os.makedirs(os.path.join(root, "sys/bus/pci/devices"))
        add_cpus(root)
        for number in range(gpus):
            add_gpu(root, number)
        if driver:
            put(root, "proc/driver/nvidia/version", VERSION)
        yield root
    finally:
        shutil.rmtree(root)


def gpu_daemon(root, play="", library=NVML, timeout_ms=60000, **more):
    """A daemon of that machine, whose management library plays."""
    options = ["--devices-root", root, "--nvml", library]
    options += ["--driver-timeout-ms", str(timeout_ms), *more.pop("options", ())]
    return Daemon(options=options, env={"NVIDIA_FAKE": play}, **more)


def hopper_kernel(name="fast", priority=15, **more):
    """A kernel for GPUs of compute capability 9.0 and up."""
    return kernel(name, priority=priority, capability={**HOPPER, **more})
