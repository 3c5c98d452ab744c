# SPDX-License-Identifier: MIT
"""kplug: the compute kernel that the registry selected, called with arrays.

    import kplug

    with kplug.open() as k:
        mm = k.site("gemm/mm", label="ffn.up", ranges={"m": (1, 4096)})
        c = mm(a, b)            # allocated, or mm(a, b, out=c)
        mm.kernel(m=1)          # "x86/gemm_mm"
        mm.why()                # every kernel: its rank, or what excluded it

A site is a place in the program that calls an operation. When an operator disables its
kernel, pins another or installs a better one, the next call runs the new choice.

Arrays are NumPy's, or whatever has __dlpack__ and lies on the CPU (of PyTorch, JAX, ...).
They may have any strides, and stay theirs: nothing is copied. What is allocated is
NumPy's. bfloat16 is ml_dtypes', or `Tensor(uint16_array, "bf16")`, and so is the result.

Threads: everything may be used by any number of threads; calls run without the
interpreter's lock. After fork the child opens a handle of its own.

Errors are `kplug.Error`, a subclass for each status. This is libkplug by ctypes:
kplug/host.h says more of what each thing means.
"""

from kplug._decision import Decision, Why
from kplug._handle import Handle, Warmth, open
from kplug._hold import Hold, Plan, Weight
from kplug._local import Local
from kplug._scope import Scope
from kplug._site import Site
from kplug._tensor import Tensor
from kplug.errors import (
    Cancelled,
    DeviceLost,
    Error,
    Failed,
    Invalid,
    NoMemory,
    Stale,
    Status,
    Unavailable,
    Unsupported,
)
from kplug.version import __version__

__all__ = [
    "Cancelled",
    "Decision",
    "DeviceLost",
    "Error",
    "Failed",
    "Handle",
    "Hold",
    "Invalid",
    "Local",
    "NoMemory",
    "Plan",
    "Scope",
    "Site",
    "Stale",
    "Status",
    "Tensor",
    "Unavailable",
    "Unsupported",
    "Warmth",
    "Weight",
    "Why",
    "__version__",
    "open",
]
