# SPDX-License-Identifier: MIT
"""A plugind that answers what a test wrote down, and remembers what it was asked."""

import json
import os
import shutil
import socket
import tempfile
import threading

REASON = {"code": "host_too_old", "message": "needs kplug 0.3.0, this is 0.1.0"}
RANK = {"policy": 10, "objective": 0, "priority": 10}
EXCLUDED = [
    {"code": "arch", "required": ">= 4.0", "actual": "3.0", "source": "kernel"},
    {"code": "trait", "required": "n multiple of 16", "actual": "17", "source": "kernel"},
]


def plugin(name, state="active", **more):
    row = {
        "name": name,
        "package": name,
        "version": "1.2.3",
        "state": state,
        "reason": None if state == "active" else REASON,
        "since": 1700000000,
        "kernels": ["mm", "rms"] if state == "active" else [],
    }
    row.update(more)
    return row


KERNEL = {
    "name": "mm",
    "id": "x86/mm",
    "operation": "gemm/mm",
    "revision": 1,
    "solution": "avx2",
    "priority": 10,
    "band": "performant",
    "signatures": ["a=f32,b=f32,c=f32", "a=bf16,b=bf16,c=f32"],
    "capability": {
        "device": "cpu",
        "vendors": ["x86-64"],
        "min_arch": "3.0",
        "max_arch": None,
        "features": ["avx2", "fma"],
    },
    "traits": {"head_dim": {"in": [64, 128]}, "n": {"multiple_of": 16}},
    "tags": ["latency"],
    "features": ["paged"],
    "flags": ["reentrant"],
    "needs": ["libopenblas.so.0"],
    "layouts": [],
    "state": "active",
    "reason": None,
}
INFO = {
    "name": "x86",
    "package": "x86",
    "version": "0.1.0",
    "author": "somebody",
    "license": "MIT",
    "description": "Matrix products with AVX2 and FMA for processors that have both of them.",
    "state": "active",
    "reason": None,
    "since": 1700000000,
    "source": "probe",
    "manifest": "/usr/lib/kplug/plugins.d/x86.json",
    "library": "/usr/lib/kplug/plugins/x86.so",
    "stored": "/var/lib/kplug/store/" + "a" * 64 + "/x86.so",
    "sha256": "b" * 64,
    "closure": "a" * 64,
    "size": 40960,
    "abi": {"major": 0, "built": 0, "needed": 0},
    "host": {"min": "0.1.0", "max": "0.2.0"},
    "elf": {"machine": "x86-64", "needed": ["libc.so.6", "libm.so.6"]},
    "config": {"threads": 2},
    "probe_ms": 12.5,
    "evidence": None,
    "warnings": [{"code": "unknown_key", "message": "unknown key colour"}],
    "kernels": [KERNEL],
}
DECISION = {
    "operation": "gemm/mm",
    "signature": "a=f32,b=f32,c=f32",
    "device": "cpu",
    "selected": "x86/mm",
    "rank": RANK,
    "override": None,
    "fallback_from": {
        "kernel": "openblas/mm",
        "code": "disabled_by_operator",
        "message": "disabled by uid 0: wrong results since Tuesday",
    },
    "pending": ["slow"],
    "warnings": [{"code": "equal_rank", "message": "x86/mm2 has the same rank"}],
}
NOTHING = dict(DECISION, selected=None, rank=None, fallback_from=None)
CANDIDATES = [
    {"kernel": "x86/mm", "eligible": True, "position": 1, "rank": RANK, "reasons": []},
    {
        "kernel": "reference/mm",
        "eligible": True,
        "position": 2,
        "rank": dict(RANK, priority=0),
        "reasons": [],
    },
    {
        "kernel": "avx512/mm",
        "eligible": False,
        "position": None,
        "rank": dict(RANK, priority=13),
        "reasons": EXCLUDED,
    },
]
STATUS = {
    "version": "0.1.0",
    "pid": 4242,
    "uptime_s": 93784,
    "mode": "private",
    "socket": "/tmp/x/plugind.sock",
    "state": "ready",
    "degraded": False,
    "generation": 7,
    "plugins": {"pending": 0, "active": 2, "failed": 1},
    "kernels": 9,
    "clients": 1,
    "pending": [],
    "workers": {
        "confined": False,
        "message": "workers are not confined on this machine",
        "running": 0,
        "started": 3,
        "lost": 0,
    },
    "manifest_dirs": ["/etc/kplug/plugins.d", "/usr/lib/kplug/plugins.d"],
    "plugin_dir": "/usr/lib/kplug/plugins",
    "platform": {
        "name": "x86-64-v3",
        "devices": [
            {
                "id": "cpu",
                "kind": "cpu",
                "vendor": "x86-64",
                "name": "A Processor",
                "arch": "3.0",
                "features": ["avx2"],
            }
        ],
    },
    "warnings": [],
}


def run(kernel, median, shape=None, verdict="ok", **more):
    row = {
        "operation": "gemm/mm",
        "kernel": kernel,
        "sha256": "b" * 64,
        "signature": "a=f32,b=f32,c=f32",
        "shape": shape or {"m": 64, "n": 64, "k": 64},
        "seed": 1,
        "verdict": verdict,
        "message": None,
        "samples": 30,
        "warmup": 3,
        "median_us": median,
        "p10_us": median and round(median * 0.9, 3),
        "p90_us": median and round(median * 1.1, 3),
        "min_us": median and round(median * 0.8, 3),
        "max_us": median and round(median * 1.3, 3),
        "low_us": median and round(median * 0.95, 3),
        "high_us": median and round(median * 1.05, 3),
        "gflops": median and round(524.288 / median, 6),
        "gbytes_per_s": median and round(49.152 / median, 6),
        "max_error": 1e-7,
        "tolerance": 1e-5,
    }
    row.update(more)
    return row


def listed(kernel, position, **more):
    row = {
        "operation": "gemm/mm",
        "kernel": kernel,
        "priority": 10,
        "band": "performant",
        "state": "active",
        "eligible": position is not None,
        "position": position,
        "reasons": [] if position else EXCLUDED,
    }
    row.update(more)
    return row


# What each method answers where a test says nothing else: parameters of one
# reply, or a list of whole messages.
VERIFIED = {
    "operation": "gemm/mm",
    "kernel": "x86/mm",
    "sha256": None,
    "signature": "a=f32,b=f32,c=f32",
    "shape": {"m": 64, "n": 64, "k": 64},
    "traits": {},
    "seeds": [1, 2, 3],
    "verdict": "ok",
    "message": None,
    "cases": 18,
    "passed": 18,
    "unsupported": 0,
    "failed": None,
    "findings": [],
    "max_error": 1e-7,
    "tolerance": 1e-5,
}

FAILURE = {
    "at": 1700000000,
    "state": "failed",
    "code": "killed_by_signal",
    "message": "it was killed",
    "evidence": None,
}
GUARDED = {
    "operation": "gemm/mm",
    "every": 100,
    "at": 1700000000,
    "uid": 0,
    "reference": "reference/gemm_mm",
    "problem": None,
}

ROLLED = {
    "plugin": "x86",
    "number": 2,
    "sha256": "ab" * 32,
    "at": 1700000000,
    "uid": 0,
    "reason": "it crashes",
}

GENERATION = {
    "number": 2,
    "at": 1600000000,
    "until": 1700000000,
    "version": "1.2.3",
    "sha256": "ab" * 32,
    "closure": "cd" * 32,
    "size": 15440,
    "verdict": "active",
    "reason": None,
    "current": False,
    "rolled_back": True,
}

PINNED = {
    "operation": "gemm/mm",
    "choice": "x86/mm",
    "at": 1700000000,
    "uid": 0,
    "force": False,
    "applies": False,
    "selected": "reference/mm",
    "reasons": [
        {"code": "kernel_disabled", "required": "active", "actual": "off", "source": "operator"}
    ],
}
PIN = {
    "operation": "gemm/mm",
    "choice": "x86/mm",
    "force": False,
    "changed": True,
    "previous": None,
    "generation": 9,
    "applies": True,
    "selected": "x86/mm",
    "reasons": [],
}
MONITOR = {
    "boot": "0123456789abcdef0123456789abcdef",
    "sequence": 1,
    "event": {
        "sequence": 1,
        "at": 1700000000,
        "kind": "state",
        "name": "x86",
        "object": None,
        "from": "active",
        "to": "failed",
        "code": "killed_by_signal",
        "message": "it was killed by SIGSEGV",
        "uid": None,
        "generation": 9,
    },
    "gap": False,
    "unknown": 0,
    "present": None,
}
REPLIES = {
    "List": {
        "plugins": [
            plugin("openblas", "disabled"),
            plugin("reference"),
            plugin("very-long-name-of-a-plugin-that-goes-on", "rejected"),
        ],
        "pending": [],
        "generation": 7,
    },
    "Info": {"plugin": INFO},
    "Kernels": {
        "kernels": [
            listed("x86/mm", 1),
            listed("reference/mm", 2, priority=0, band="reference"),
            listed("avx512/mm", None),
        ],
        "pending": [],
    },
    "Select": DECISION,
    "Explain": dict(DECISION, candidates=CANDIDATES),
    "Disable": {"name": "x86", "changed": True, "generation": 8},
    "Enable": {"name": "x86", "changed": True, "generation": 9},
    "IsEnabled": {"name": "x86", "enabled": True, "state": "enabled"},
    "Pin": PIN,
    "Load": {"plugin": plugin("x86"), "generation": 9},
    "Unload": {"name": "x86", "generation": 9},
    "Logs": {"name": "x86", "state": "failed", "failures": [FAILURE]},
    "Unpin": {"operation": "gemm/mm", "changed": True, "previous": "fast", "generation": 9},
    "Pins": {"pins": [dict(PINNED)], "pending": []},
    "Guard": {
        "operation": "gemm/mm",
        "every": 100,
        "changed": True,
        "previous": None,
        "generation": 9,
        "reference": "reference/gemm_mm",
        "problem": None,
    },
    "Guards": {"guards": [dict(GUARDED)], "pending": []},
    "History": {"name": "x86", "rolled_back": dict(ROLLED), "generations": [dict(GENERATION)]},
    "Rollback": {
        "name": "x86",
        "changed": True,
        "generation": 9,
        "number": 2,
        "plugin": plugin("x86"),
    },
    "Monitor": [
        {"parameters": dict(MONITOR, event=None), "continues": True},
        {"parameters": dict(MONITOR)},
    ],
    "Reload": {"added": ["new"], "changed": [], "removed": ["old"], "generation": 9},
    "Retry": {"plugin": plugin("x86"), "generation": 9},
    "Status": STATUS,
    "Version": {"version": "0.1.0", "protocol": 1, "abi": "0.0", "build": "release"},
    "Verify": {"format": "kplug-verify/1", "runs": [VERIFIED], "remarks": []},
    "Bench": [
        {
            "parameters": {
                "format": "kplug-bench/1",
                "run": run("x86/mm", 10.5),
                "progress": {"done": 1, "total": 2, "kernel": "x86/mm"},
            },
            "continues": True,
        },
        {
            "parameters": {
                "format": "kplug-bench/1",
                "runs": [run("reference/mm", 105.0), run("x86/mm", 10.5)],
            }
        },
    ],
}


def error(name, code="some_code", message="a sentence about it", **more):
    parameters = {"code": code, "message": message, "object": "thing", **more}
    return [
        {"error": name if "." in name else f"org.kplug.Manager.{name}", "parameters": parameters}
    ]


class Fake:
    """Use as a context. `replies` replaces those of REPLIES; bytes are sent as they are."""

    def __init__(self, **replies):
        self.replies = {**REPLIES, **replies}
        self.calls = []
        self.connections = 0
        self.dir = tempfile.mkdtemp(prefix="fake.")
        self.path = os.path.join(self.dir, "plugind.sock")
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.clients = []
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def __enter__(self):
        self.listening.bind(self.path)
        self.listening.listen(8)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        # shutdown wakes accept(2); close alone does not.
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for client in self.clients:
            client.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        pending = b""
        try:
            while True:
                data = client.recv(65536)
                if not data:
                    return
                pending += data
                *whole, pending = pending.split(b"\0")
                for text in whole:
                    if not self.answer(client, json.loads(text)):
                        client.shutdown(socket.SHUT_RDWR)
                        return
        except OSError:
            return

    def answer(self, client, call):
        name = call["method"].rsplit(".", maxsplit=1)[-1]
        self.calls.append((name, call.get("parameters", {}), call.get("more", False)))
        reply = self.replies[name]
        if callable(reply):
            reply = reply(call.get("parameters", {}))
        if reply is None:  # stay silent
            return True
        if isinstance(reply, bytes):
            client.sendall(reply)
            return False
        messages = reply if isinstance(reply, list) else [{"parameters": reply}]
        for message in messages:
            client.sendall(json.dumps(message).encode() + b"\0")
        return True

    def asked(self, method):
        """Parameters of the one call of this method."""
        found = [parameters for name, parameters, _ in self.calls if name == method]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} calls of {method} in {self.calls}")
        return found[0]
