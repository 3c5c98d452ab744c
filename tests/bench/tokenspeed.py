#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Selection in tokenspeed-kernel's registry, for the same kernels and request as ours.

usage: tokenspeed.py MODE KERNELS TIMES SAMPLES: prints microseconds, one sample a line.

first:  select_kernel where nothing is cached
again:  select_kernel of what was selected before, which every call of its operators does

Its registry, selection and signatures alone are loaded, not the package's kernels, which
want a GPU and gigabytes of libraries. Of torch the registry uses nothing but the identity
of a dtype; where torch is not installed a module with that name has one.
"""

import importlib.util
import sys
import time
import types

SKIPPED = 77
PACKAGE = "tokenspeed_kernel"


def load():
    """The modules selection, registry, signature and platform, without the package's own."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        spec = None
    if not spec or not spec.submodule_search_locations:
        print(
            "tokenspeed-kernel is not installed for this Python; in a directory of its own,"
            " without what it depends on, it is enough: pip install --no-deps --target DIR"
            " tokenspeed-kernel, and PYTHONPATH=DIR"
        )
        raise SystemExit(SKIPPED)
    bare = types.ModuleType(PACKAGE)
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules[PACKAGE] = bare
    if not importlib.util.find_spec("torch"):
        torch = types.ModuleType("torch")
        torch.float32 = "torch.float32"
        torch.Tensor = torch.dtype = object
        sys.modules["torch"] = torch
    names = ("selection", "registry", "signature", "platform")
    return [importlib.import_module(f"{PACKAGE}.{name}") for name in names]


def main():
    mode, kernels, times, samples = sys.argv[1], *map(int, sys.argv[2:5])
    selection, registry, signature, platform = load()
    torch = sys.modules.get("torch") or importlib.import_module("torch")
    roles = signature.format_signatures(("x", "y"), "dense", {torch.float32})
    machine = platform.PlatformInfo(
        vendor="nvidia",
        arch_version=platform.ArchVersion(9, 0),
        device_name="none",
        device_count=1,
        total_memory=0,
        memory_bandwidth=0.0,
        sm_count=1,
        max_threads_per_sm=1,
        max_shared_memory_per_sm=1,
    )
    for i in range(kernels):  # as tests/bench/tiny.py makes ours
        registry.register_kernel(
            "elementwise",
            "square",
            name=f"square{i:02d}",
            solution=f"s{i % 4}",
            signatures=roles,
            traits={"n_align": frozenset({2 ** (i % 6)})},
            priority=i % 20,
        )(lambda: None)
    (wanted,) = roles
    known = registry.KernelRegistry.get()

    def select():
        return selection.select_kernel(
            "elementwise", "square", wanted, platform=machine, traits={"n": 4096}
        )

    if not select().name.startswith("square"):
        raise SystemExit("tokenspeed-kernel selected nothing")
    for _ in range(samples):
        start = time.thread_time_ns()
        for _ in range(times):
            if mode == "first":
                known.clear_cache()
            select()
        print((time.thread_time_ns() - start) / times / 1e3)


if __name__ == "__main__":
    main()
