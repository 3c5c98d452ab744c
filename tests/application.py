#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An application for tests: a process with a site of elementwise/square.

    with Application(daemon.socket) as app:
        app.ask("run")        # the first element of the result, given 3.0
        app.ask("kernel")     # "plugin/kernel"
        app.ask("why")        # an object
        app.ask("spin", 2.0)  # {"calls": ..., "results": [...]} of so many seconds

As a program it is that process: it reads requests and writes answers, JSON by line.
"""

import ctypes
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("KPLUG_BUILD", os.path.join(os.path.dirname(HERE), "build"))
ADOPT_AT_STEP = 2


class Application:
    def __init__(self, socket, flags=0, override=None, env=None):
        words = [sys.executable, os.path.abspath(__file__), socket, str(flags)]
        self.process = subprocess.Popen(
            words + ([override] if override else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
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


class Error(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("status", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("native_code", ctypes.c_int64),
        ("text", ctypes.c_char * 488),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("socket", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("log", ctypes.c_void_p),
        ("log_context", ctypes.c_void_p),
        ("threads", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class SiteOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("operation", ctypes.c_char_p),
        ("signature", ctypes.c_char_p),
        ("label", ctypes.c_char_p),
        ("solution", ctypes.c_char_p),
        ("override_with", ctypes.c_char_p),
        ("values", ctypes.c_void_p),
        ("ranges", ctypes.c_void_p),
        ("n_values", ctypes.c_uint32),
        ("n_ranges", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("guard_every", ctypes.c_uint32),
    ]


class Caller:
    def __init__(self, socket, flags, override):
        self.kplug = ctypes.CDLL(os.path.join(BUILD, "libkplug.so"))
        self.kplug.kp_site_kernel.restype = ctypes.c_char_p
        self.kplug.kp_site_why.restype = ctypes.c_void_p
        self.error = Error(ctypes.sizeof(Error))
        self.handle = ctypes.c_void_p()
        self.site = ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), flags, socket.encode(), b"application")
        self.must(self.kplug.kp_open(ctypes.byref(options), ctypes.byref(self.handle), self.out()))
        said = SiteOptions(ctypes.sizeof(SiteOptions), operation=b"elementwise/square")
        said.override_with = override.encode() if override else None
        self.must(
            self.kplug.kp_site_new(
                self.handle, ctypes.byref(said), ctypes.byref(self.site), self.out()
            )
        )
        self.x = (ctypes.c_float * 4)(3, 3, 3, 3)
        self.y = (ctypes.c_float * 4)()
        self.data = (ctypes.c_void_p * 2)(
            ctypes.addressof(self.x), ctypes.addressof(self.y)
        )
        self.dims = (ctypes.c_int64 * 1)(4)

    def out(self):
        return ctypes.byref(self.error)

    def must(self, status):
        if status != 0:
            raise SystemExit(f"{status}: {self.error.text.decode()}")

    def run(self):
        self.y[0] = -1
        status = self.kplug.kp_run_dense(self.site, self.data, self.dims, None, self.out())
        return self.y[0] if status == 0 else f"{status}: {self.error.text.decode()}"

    def spin(self, seconds):
        end = time.monotonic() + seconds
        results = {}
        while time.monotonic() < end:
            for _ in range(100):
                got = self.run()
                results[got] = results.get(got, 0) + 1
        return {"calls": sum(results.values()), "results": sorted(results, key=str)}

    def kernel(self):
        name = self.kplug.kp_site_kernel(self.site, self.dims)
        return name.decode() if name else None

    def why(self):
        text = self.kplug.kp_site_why(self.site, self.dims, self.out())
        if not text:
            return self.error.text.decode()
        why = json.loads(ctypes.string_at(text))
        self.kplug.kp_free(ctypes.c_void_p(text))
        return why

    def step(self):
        changed = ctypes.c_uint32()
        self.must(self.kplug.kp_step(self.handle, ctypes.byref(changed), self.out()))
        return changed.value

    def warm(self):
        sites = (ctypes.c_void_p * 1)(self.site)
        self.must(self.kplug.kp_warm(sites, 1, None, self.out()))


def main():
    override = sys.argv[3] if len(sys.argv) > 3 else None
    caller = Caller(sys.argv[1], int(sys.argv[2]), override)
    for line in sys.stdin:
        verb, *words = json.loads(line)
        print(json.dumps(getattr(caller, verb)(*words)), flush=True)
    caller.kplug.kp_close(caller.handle)


if __name__ == "__main__":
    main()
