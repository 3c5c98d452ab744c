# SPDX-License-Identifier: MIT
"""A soak from its beginning to its end: the same clients without trouble, then with it."""

import contextlib
import sys
import time

import load
from churn import BREAKS_AT_FIRST, Churn
from samples import Samples


BEHIND_S = 90  # before samples are taken: until slow readers are behind


class Outcome:
    """What was seen: reports of clients (quiet, loud) and of applications, the rounds of
    changes, what is listed at the end, medians of thirds, and whether plugind survived."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def enable_all(scene):
    churn = Churn(scene)
    with contextlib.closing(churn):
        churn.finish()


def quiet(scene, outcome, seconds, first):
    """Good plugins, applications and clients; nothing is reloaded."""
    say(f"soak: {seconds} s of {scene.scale.clients} clients without trouble")
    outcome.quiet = load.clients(scene, seconds, first).wait(seconds)
    enable_all(scene)


def loud(scene, outcome, seconds, first):
    """The same with all that is broken, reloads and upgrades. Before anything is sampled,
    those who read slowly have fallen behind as far as they will."""
    scene.break_all()
    scene.daemon.call("Reload")
    scene.daemon.settle()
    outcome.churn = churn = Churn(scene)
    behind_s = min(BEHIND_S, seconds)
    say(f"soak: {behind_s} s until slow readers are behind, with {scene.scale.broken} broken")
    say(f"      plugins, reloads and upgrades, and then {seconds} s")
    crowd = load.clients(scene, behind_s + seconds, first)
    sampled = time.monotonic() + behind_s
    pids = [a.pid for a in outcome.running]
    try:
        with contextlib.closing(churn):
            churn.warm()
            churn.run(
                lambda: time.monotonic() >= sampled or not crowd.is_running(),
                breaks=BREAKS_AT_FIRST,
            )
            with Samples(scene.daemon, pids) as samples:
                churn.run(lambda: not crowd.is_running(), samples.take_at_rest)
                outcome.thirds = samples.thirds()
            churn.finish()
        outcome.loud = crowd.report()
    finally:
        crowd.kill()


def look(scene, outcome):
    """What there is at the end."""
    daemon = scene.daemon
    outcome.listed = daemon.plugins()
    outcome.applications = [a.end() for a in outcome.running]
    now = daemon.call("Status")["pid"]
    outcome.survived = daemon.process.poll() is None and now == outcome.pid


def run(scene, quiet_s, loud_s, first=False):
    """The outcome of a soak of so many seconds.

    first: plugind and its clients run before all else that this machine does
    """
    outcome = Outcome()
    outcome.running = []
    scene.daemon.start()
    scene.daemon.settle()
    outcome.pid = scene.daemon.pid
    if first:
        load.put_first(outcome.pid)
    try:
        outcome.running = load.applications(scene)
        quiet(scene, outcome, quiet_s, first)
        loud(scene, outcome, loud_s, first)
        look(scene, outcome)
    finally:
        for application in outcome.running:
            application.kill()
    return outcome
