# SPDX-License-Identifier: MIT
"""The CUDA driver and cuBLASLt called directly, by ctypes: what there is, and how fast."""

import ctypes
import glob
import os
import random
import statistics
import struct

F32, BF16 = 0, 14
COMPUTE_F32, WORKSPACE = 68, 32 << 20
CALLS, ROUNDS, SETS = 10, 9, 24
L2_CACHE = 38  # of CUdevice_attribute


class Missing(Exception):
    """Something that is not on this machine, in words."""


def check(what, result):
    if result != 0:
        raise Missing(f"{what} fails with {result}")


class Gpu:
    """The first device, with its primary context current."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Missing(f"there is no NVIDIA driver: {error}") from error
        check("cuInit (there is no GPU that works)", self.cuda.cuInit(0))
        name = ctypes.create_string_buffer(128)
        version = ctypes.c_int()
        self.context = ctypes.c_void_p()
        self.call("cuDeviceGetName", name, 128, 0)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name = name.value.decode("utf-8", "replace")
        self.version = version.value

    def call(self, function, *arguments):
        check(function, getattr(self.cuda, function)(*arguments))

    def enter(self):
        if not self.context:
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def cache(self):
        """Bytes of the L2 cache."""
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), L2_CACHE, 0)
        return value.value

    def allocate(self, size, content=b""):
        """With the content again and again: power, and so speed, depends on the numbers."""
        pointer = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        for at in range(0, size if content else 0, len(content) or 1):
            self.call(
                "cuMemcpyHtoD_v2",
                ctypes.c_ulonglong(pointer.value + at),
                content,
                ctypes.c_size_t(min(len(content), size - at)),
            )
        return pointer

    def time_us(self, enqueue):
        """The median of rounds of calls, by events of one stream."""
        stream, events = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), 0)
        times = []
        for turn in range(ROUNDS + 1):
            self.call("cuEventRecord", events[0], stream)
            for call in range(CALLS):
                enqueue(stream, turn * CALLS + call)
            self.call("cuEventRecord", events[1], stream)
            self.call("cuStreamSynchronize", stream)
            took = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(took), *events)
            if turn > 0:
                times.append(took.value * 1000 / CALLS)
        for event in events:
            self.call("cuEventDestroy_v2", event)
        self.call("cuStreamDestroy_v2", stream)
        return statistics.median(times)


def numbers(dtype):
    """Normal ones, a MiB or two of them, always the same."""
    source = random.Random(1)
    values = [source.gauss(0, 1) for _ in range(1 << 19)]
    data = struct.pack(f"<{len(values)}f", *values)
    if dtype == "f32":
        return data
    return b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))


def candidates():
    named = os.environ.get("KPLUG_CUBLASLT")
    if named:
        return [named]
    found = []
    for soname in ("libcublasLt.so.13", "libcublasLt.so.12"):
        found += [soname, *glob.glob(f"/usr/local/cuda/lib64/{soname}")]
        found += glob.glob(f"/usr/local/lib/python3*/*-packages/nvidia/*/lib/{soname}")
    return found


class Cublaslt:
    def __init__(self, gpu):
        self.gpu = gpu
        self.library = None
        self.numbers = {}
        for path in candidates():
            try:
                self.library = ctypes.CDLL(path)
                break
            except OSError:
                continue
        if not self.library:
            raise Missing("cuBLASLt is not found")
        gpu.enter()
        self.handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def call(self, function, *arguments):
        check(function, getattr(self.library, function)(*arguments))

    def layout(self, dtype, rows, columns):
        layout = (ctypes.c_uint64 * 8)()
        self.call(
            "cublasLtMatrixLayoutInit_internal",
            layout,
            ctypes.c_size_t(64),
            dtype,
            ctypes.c_uint64(rows),
            ctypes.c_uint64(columns),
            ctypes.c_int64(rows),
        )
        return layout

    def choose(self, layouts):
        operation, preference = (ctypes.c_uint64 * 32)(), (ctypes.c_uint64 * 8)()
        most, found = ctypes.c_uint64(WORKSPACE), ctypes.c_int()
        choice = (ctypes.c_uint64 * 16)()
        self.call(
            "cublasLtMatmulDescInit_internal",
            operation,
            ctypes.c_size_t(256),
            COMPUTE_F32,
            F32,
        )
        self.call("cublasLtMatmulPreferenceInit_internal", preference, ctypes.c_size_t(64))
        self.call(
            "cublasLtMatmulPreferenceSetAttribute",
            preference,
            1,
            ctypes.byref(most),
            ctypes.c_size_t(8),
        )
        b, a, c = layouts
        self.call(
            "cublasLtMatmulAlgoGetHeuristic",
            self.handle,
            operation,
            b,
            a,
            c,
            c,
            preference,
            1,
            choice,
            ctypes.byref(found),
        )
        return (operation, choice) if found.value else (operation, None)

    def time_us(self, dtype, m, n, k):
        """Of c = a b with rows that lie one after the other; None where it cannot."""
        kind, size = (BF16, 2) if dtype == "bf16" else (F32, 4)
        self.gpu.enter()
        layouts = [self.layout(kind, n, k), self.layout(kind, k, m), self.layout(kind, n, m)]
        operation, choice = self.choose(layouts)
        if not choice:
            return None
        sizes = [k * n * size, m * k * size, m * n * size]
        # As pluginctl bench does: other inputs for each call, so that caches are cold.
        sets = min(SETS, 5 * self.gpu.cache() // sum(sizes) + 2)
        content = self.numbers.setdefault(dtype, numbers(dtype))
        memory = [
            [
                self.gpu.allocate(sizes[0], content),
                self.gpu.allocate(sizes[1], content),
                self.gpu.allocate(sizes[2]),
            ]
            for _ in range(sets)
        ]
        memory.append([self.gpu.allocate(WORKSPACE)])
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        workspace = ctypes.c_void_p(memory[-1][0].value)

        def enqueue(stream, turn):
            b, a, c = (ctypes.c_void_p(pointer.value) for pointer in memory[turn % sets])
            self.call(
                "cublasLtMatmul",
                self.handle,
                operation,
                ctypes.byref(one),
                b,
                layouts[0],
                a,
                layouts[1],
                ctypes.byref(zero),
                c,
                layouts[2],
                c,
                layouts[2],
                choice,
                workspace,
                ctypes.c_size_t(WORKSPACE),
                stream,
            )

        try:
            return self.gpu.time_us(enqueue)
        finally:
            for pointer in [p for group in memory for p in group]:
                self.gpu.call("cuMemFree_v2", pointer)
