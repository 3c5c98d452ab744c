#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An application for tests: a process with a site of elementwise/square.

    with Application(daemon.socket) as app:
        app.ask("run")        # the first element of the result, given 3.0
        app.ask("kernel")     # "plugin/kernel"
        app.ask("why")        # an object
    app.ask("floats")     # how its thread computes
        app.ask("spin", 2.0)  # {"calls": ..., "results": [...]} of so many seconds

command: what runs this file, where it is not to run here

As a program it is that process: it reads requests and writes answers, JSON by line. It
needs the Python module kplug and no other file of the tests.
"""

import json
import os
import subprocess
import sys
import time

ADOPT_AT_STEP = 2


class Application:
    def __init__(self, socket, flags=0, override=None, env=None, command=None):
        from python_module import ENVIRONMENT

        words = [*(command or [sys.executable, os.path.abspath(__file__)]), socket, str(flags)]
        self.process = subprocess.Popen(
            words + ([override] if override else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ENVIRONMENT, **(env or {})},
        )

    def send(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the application ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


# -- the process


class Caller:
    def __init__(self, socket, flags, override):
        import kplug
        import numpy

        self.error = kplug.Error
        self.k = kplug.open(
            socket, name="application", adopt="step" if flags & ADOPT_AT_STEP else "now"
        )
        self.site = self.k.site("elementwise/square", override=override)
        self.x = numpy.full(4, 3, numpy.float32)
        self.y = numpy.empty_like(self.x)

    def run(self):
        self.y[0] = -1
        try:
            return float(self.site(self.x, out=self.y)[0])
        except self.error as error:
            return f"{int(error.status)}: {error}"

    def spin(self, seconds):
        end = time.monotonic() + seconds
        results = {}
        while time.monotonic() < end:
            for _ in range(100):
                got = self.run()
                results[got] = results.get(got, 0) + 1
        return {"calls": sum(results.values()), "results": sorted(results, key=str)}

    def kernel(self):
        return self.site.kernel(n=4)

    def why(self):
        return self.site.why(n=4).json

    def step(self):
        return self.k.step()

    def floats(self):
        """How this thread rounds, and what it makes of numbers that are next to nothing."""
        import ctypes

        tiny, third = ctypes.c_double(5e-324).value, ctypes.c_double(3).value
        return [ctypes.CDLL("libm.so.6").fegetround(), tiny * 1, 1e-308 / third, 1 / third]

    def map(self, path, everywhere):
        """A library of its own, as a program's other parts have."""
        import ctypes

        ctypes.CDLL(path, ctypes.RTLD_GLOBAL if everywhere else ctypes.RTLD_LOCAL)

    def warm(self):
        self.k.warm([self.site])


def main():
    override = sys.argv[3] if len(sys.argv) > 3 else None
    caller = Caller(sys.argv[1], int(sys.argv[2]), override)
    for line in sys.stdin:
        verb, *words = json.loads(line)
        print(json.dumps(getattr(caller, verb)(*words)), flush=True)
    caller.k.close()


if __name__ == "__main__":
    main()
