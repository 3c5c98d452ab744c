# SPDX-License-Identifier: MIT
"""What a soak must show, as rows: claim, measured, bar, and whether it holds."""

from collections import namedtuple

import plugins

GROWTH_MOST = 1.05
SLOWER_MOST = 5

Claim = namedtuple("Claim", "name measured bar holds")


def count(number):
    return f"{number:,}"


def growth(thirds):
    """Medians of the last third of the run over the first."""
    for name, (first, last) in thirds.items():
        ratio = last / first
        yield Claim(
            name,
            f"{count(round(first))}, then {count(round(last))}: {ratio:.3f}",
            f"<= {GROWTH_MOST}",
            ratio <= GROWTH_MOST,
        )


def latency(quiet, loud):
    """Of the same clients, before there was anything broken and any reload."""
    before, after = quiet["list"], loud["list"]
    ratio = after["p99_ms"] / before["p99_ms"]
    yield Claim(
        "list, 99th percentile, ms",
        f"{before['p99_ms']:.1f}, then {after['p99_ms']:.1f} "
        f"({count(after['count'])}): {ratio:.2f}",
        f"<= {SLOWER_MOST}",
        ratio <= SLOWER_MOST,
    )


def good_ones(scene, listed):
    """Active, and the library that was installed last."""
    found = [
        number
        for number in range(scene.scale.good)
        if listed[plugins.good_name(number)]["state"] == "active"
        and scene.is_new(number, listed[plugins.good_name(number)])
    ]
    yield Claim(
        "good plugins that are active and new",
        count(len(found)),
        f"= {scene.scale.good}",
        len(found) == scene.scale.good,
    )


def broken_ones(scene, listed):
    """Those that fail alone fail here, and say why."""
    fail = {name: kind for name, kind in scene.put.items() if scene.codes[kind]}
    told = [
        name
        for name in fail
        if listed[name]["state"] != "active" and listed[name]["reason"]["code"]
    ]
    same = sum(listed[n]["reason"]["code"] == scene.codes[fail[n]] for n in told)
    yield Claim(
        "broken plugins that are told",
        f"{count(len(told))}, {count(same)} for the same reason as alone",
        f"= {len(fail)}",
        len(told) == len(fail),
    )


def none_wrong(name, wrong, of):
    """Nothing of so many was wrong; something was looked at."""
    return Claim(name, f"{count(wrong)} of {count(of)}", "= 0", wrong == 0 and of > 0)


def correctness(scene, outcome):
    """What holds however long and busy it was: those of tests/test_soak.py."""
    yield from good_ones(scene, outcome.listed)
    yield from broken_ones(scene, outcome.listed)
    runs = outcome.applications
    yield none_wrong(
        "wrong results in applications",
        sum(a["wrong"] for a in runs),
        sum(a["calls"] for a in runs),
    )
    crowds = (outcome.quiet, outcome.loud)
    yield none_wrong(
        "wrong replies to clients",
        sum(c["wrong"] for c in crowds),
        sum(c["messages"] for c in crowds),
    )
    churn = outcome.churn
    yield none_wrong("upgrades that were lost", len(churn.wrong), churn.upgrades)
    yield Claim(
        "plugind is the same process",
        f"pid {outcome.pid}" if outcome.survived else "another one, or none",
        "one pid",
        outcome.survived,
    )


def all_of(scene, outcome):
    yield from growth(outcome.thirds)
    yield from latency(outcome.quiet, outcome.loud)
    yield from correctness(scene, outcome)


def first_wrong(outcome):
    """A line for each part of the soak that saw something wrong."""
    for report in [*outcome.applications, outcome.quiet, outcome.loud]:
        if report["first"]:
            yield report["first"]
    yield from outcome.churn.wrong[:3]
