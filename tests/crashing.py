# SPDX-License-Identifier: MIT
"""A kernel that does harm when it is asked to, and the application that asks."""

import os
import signal
import subprocess
import tempfile

from harness import BUILD, HERE, ROOT, SANITIZER, kernel, wait_until

# What the kernel does when x begins with this.
GOOD, SEGV, ABORT, FPE, ILL, BUS, OVERFLOW, EXIT, KILL, WAITS = range(1, 11)
RAISE, POOL, FAILS, TERM, LOST = range(11, 16)

BEFORE = """
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
static int deep(volatile char *above)
{
	volatile char here[4096];
	here[0] = above ? above[0] : 1;
	return deep(here) + here[0];
}
static int harm(void *arg, uint64_t i)
{
	(void)arg;
	if (i == 3)
		*(volatile int *)8 = 1;
	return 0;
}
static int wait_for_ever(void)
{
	const char *end = getenv("CRASHING_SAYS");
	if (end && write(atoi(end), "", 1) < 0)
		return 1;
	for (;;)
		pause();
}
static volatile int zero;
"""
BODY = """
	const float *x = call->tensors[0]->data;
	switch ((int)x[0]) {
	case 2: *(volatile int *)0 = 1; break;
	case 3: abort();
	case 4: zero = 1 / zero; raise(SIGFPE); break;
	case 5: __builtin_trap();
	case 6: {
		volatile char *map = mmap(0, 1 << 16, PROT_READ, MAP_SHARED,
			memfd_create("empty", 0), 0);
		zero = map[0];
		break;
	}
	case 7: zero = deep(0); break;
	case 8: exit(3);
	case 9: kill(getpid(), SIGKILL); pause(); break;
	case 10: wait_for_ever(); break;
	case 11: raise(SIGSEGV); break;
	case 12: return call->host->parallel_for(call->host->context, 16, harm, 0);
	case 13: return KP_RUNTIME;
	case 14: kill(getpid(), SIGTERM); pause(); break;
	case 15: return KP_DEVICE_LOST;
	}
	((float *)call->tensors[1]->data)[0] = 100 + x[0];
"""


# Crashes are not for sanitizers to tell of.
UNSEEN = {
    key: f"{os.environ.get(key, '')}:detect_leaks=0:use_sigaltstack=0"
    + "".join(f":handle_{s}=0" for s in ("segv", "sigbus", "abort", "sigill", "sigfpe"))
    for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
    if SANITIZER
}


def crasher():
    """The program, compiled once a process; its path."""
    if not hasattr(crasher, "place"):
        crasher.place = tempfile.TemporaryDirectory(prefix="kplug-crasher.")
        path = os.path.join(crasher.place.name, "crasher")
        compiled = [os.path.join(HERE, "crasher.c"), f"-I{ROOT}/lib/include"]
        linked = [os.path.join(BUILD, "libkplug.so"), f"-Wl,-rpath,{BUILD}", "-lpthread"]
        # What it does on purpose is no finding; the library wants its runtime all the same.
        linked += [f"-fsanitize={SANITIZER}"] if SANITIZER else []
        for words in (
            ["-c", "-std=gnu11", "-w", "-O1", *compiled, "-o", path + ".o"],
            [path + ".o", *linked, "-o", path],
        ):
            subprocess.run(["cc", *words], check=True)
        crasher.path = path
    return crasher.path


def add_kernels(daemon, name="bad"):
    """Two of elementwise/square: NAME/square, which does harm, and good/square below it."""
    flags = ["reentrant"]
    daemon.add(
        name,
        [kernel("square", priority=15, flags=flags)],
        before="#define _GNU_SOURCE\n" + BEFORE,
        body=BODY,
    )
    daemon.add(
        "good",
        [kernel("square", priority=5, flags=flags)],
        body="((float *)call->tensors[1]->data)[0] = 7;",
    )
    daemon.call("Reload")
    daemon.settle()


def start(daemon, *steps, flags=0, env=None, user=None):
    """The application with these steps, as a process."""
    return subprocess.Popen(
        [crasher(), daemon.socket, *map(str, steps)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **UNSEEN, "CRASHER_FLAGS": str(flags), **(env or {})},
        user=user,
        preexec_fn=no_core,
    )


def no_core():
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(daemon, *steps, **more):
    """The same until its end; (status, lines that it printed)."""
    process = start(daemon, *steps, **more)
    out, err = process.communicate(timeout=120)
    assert process.returncode not in (70, 71, 72), err
    return process.returncode, out.split("\n")[:-1]


def incidents(daemon, count=1, **question):
    """As soon as there are so many, the latest first."""
    return wait_until(
        lambda: (daemon.call("Incidents", **question)["incidents"])[count - 1 :]
        and daemon.call("Incidents", **question)["incidents"],
        f"{count} incidents",
    )


def settle_deaths(daemon):
    """Whoever has died by now is judged: one that crashes outside is told after them."""
    before = daemon.call("Incidents")["total"]
    run(daemon, "outside")
    found = wait_until(
        lambda: [
            i
            for i in daemon.call("Incidents")["incidents"]
            if i["text"].endswith("outside of every kernel")
        ],
        "the one that crashed last",
    )
    assert daemon.call("Incidents")["total"] <= before + 1
    return found[0]


NAMES = {s.value: s.name for s in signal.Signals}
