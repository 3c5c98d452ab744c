# SPDX-License-Identifier: MIT
"""Results of benchmarks as plugind tells them and files keep them, for tests to bend."""

import fake_plugind as fakes

MACHINE = {
    "fingerprint": "0123456789abcdef",
    "cpu": "Test CPU",
    "vendor": "x86-64",
    "cores": 2,
    "features": "fedcba9876543210",
    "memory": 8 << 30,
    "kernel": "6.1.0",
}
METHOD = {
    "clock": "CLOCK_MONOTONIC",
    "caches": "warm",
    "time_s": 0.5,
    "rounds": 4,
    "sample": "a mean",
    "order": "in turn",
    "statistics": "quantiles",
    "core_clock": "a chain",
}


def run(kernel, median, spread=0.01, **more):
    """A whole run whose samples scatter by so much on either side."""

    def at(factor):
        return median and float(f"{median * factor:.12g}")

    times = {
        "low_us": at(1 - spread / 2),
        "high_us": at(1 + spread / 2),
        "p10_us": at(1 - spread),
        "p90_us": at(1 + spread),
        "min_us": at(1 - 2 * spread),
        "max_us": at(1 + 2 * spread),
        "mad_us": at(spread / 2),
        "samples_us": [median] * 3 if median else [],
        "plugin": kernel.split("/")[0],
        "version": "1.0.0",
        "closure": "c" * 64,
        "solution": None,
        "priority": 10,
        "revision": 1,
        "threads": 1,
        "order": [0, 3, 4, 7],
        "repeats": [2, 2, 2, 2],
        "clocks": [{"cpufreq_mhz": None, "chain_mhz": 3000.5}],
        "work": {"flops": 524288, "bytes": {"a": 16384, "b": 16384, "c": 16384}},
        "check": None,
        "share": None,
    }
    return fakes.run(kernel, median, **{**times, **more})


def result(runs, **more):
    """The whole document; also the parameters of the last reply."""
    document = {
        "format": "kplug-bench/1",
        "version": "0.1.0",
        "when": 1700000000,
        "families": {"gemm/mm": 1},
        "platform": MACHINE,
        "method": METHOD,
        "threads": 1,
        "request": {"operation": "gemm/mm"},
        "runs": runs,
    }
    return {**document, **more}


def replies(runs, **more):
    """What plugind streams: the head with the first progress, each run, all of it."""
    whole = result(runs, **more)
    first = {key: value for key, value in whole.items() if key != "runs"}
    progress = {"done": 0, "total": len(runs), "kernel": "x/y"}
    each = [
        {"parameters": {"format": whole["format"], "run": one}, "continues": True} for one in runs
    ]
    return [
        {"parameters": {**first, "progress": progress}, "continues": True},
        *each,
        {"parameters": whole},
    ]
