# SPDX-License-Identifier: MIT
"""libkplug.so.0: where it is, and the prototypes of kplug/host.h."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Iterator, List, NoReturn, Tuple

from kplug import _layout as layout
from kplug.errors import fail

NAME = "libkplug.so.0"

_error = POINTER(layout.kp_error)
_PROTOTYPES: Dict[str, Tuple[Any, List[Any]]] = {
    "kp_open": (c_int, [POINTER(layout.kp_options), POINTER(c_void_p), _error]),
    "kp_close": (None, [c_void_p]),
    "kp_step": (c_int, [c_void_p, POINTER(c_uint32), _error]),
    "kp_generation": (c_uint64, [c_void_p]),
    "kp_is_attached": (c_int, [c_void_p]),
    "kp_fingerprint": (c_int, [c_void_p, c_char_p, c_char_p, _error]),
    "kp_describe": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _error]),
    "kp_site_new": (
        c_int,
        [c_void_p, POINTER(layout.kp_site_options), POINTER(c_void_p), _error],
    ),
    "kp_site_free": (None, [c_void_p]),
    "kp_warm": (c_int, [POINTER(c_void_p), c_uint32, POINTER(layout.kp_warmth), _error]),
    "kp_site_kernel": (c_char_p, [c_void_p, POINTER(c_int64)]),
    "kp_site_why": (c_void_p, [c_void_p, POINTER(c_int64), _error]),
    # The inline kp_run of the header without its short cut, which is for compilers.
    "kp_run_slow": (c_int, [c_void_p, c_void_p]),
    "kp_hold": (c_int, [c_void_p, c_char_p, POINTER(c_uint64), _error]),
    "kp_release": (c_int, [c_void_p, c_uint64]),
    "kp_plan_new": (c_int, [c_void_p, POINTER(layout.kp_call), POINTER(c_void_p), _error]),
    "kp_plan_use": (c_int, [c_void_p, POINTER(layout.kp_call)]),
    "kp_plan_free": (None, [c_void_p]),
    "kp_weight_new": (
        c_int,
        [c_void_p, c_char_p, POINTER(layout.kp_tensor), POINTER(c_void_p), _error],
    ),
    "kp_weight_tensor": (POINTER(layout.kp_tensor), [c_void_p]),
    "kp_weight_free": (None, [c_void_p]),
    "kp_decide": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _error]),
    "kp_why": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), _error]),
    "kp_free": (None, [c_void_p]),
    "kp_scope_begin": (c_int, [c_void_p, c_char_p, c_char_p, c_int, POINTER(c_uint64), _error]),
    "kp_scope_end": (c_int, [c_void_p, c_uint64]),
    "kp_local_add": (c_int, [c_void_p, c_char_p, POINTER(layout.kp_kernel), _error]),
    "kp_local_remove": (c_int, [c_void_p, c_char_p, _error]),
}


def _may_trust_environment() -> bool:
    """As secure_getenv: not in a process that runs with more rights than its caller's."""
    return os.getuid() == os.geteuid() and os.getgid() == os.getegid()


def _beside() -> Iterator[str]:
    """Below the prefix that this package was installed to."""
    place = os.path.dirname(os.path.abspath(__file__))
    while place != os.path.dirname(place):
        place = os.path.dirname(place)
        if os.path.basename(place) in ("lib", "lib64"):
            path = os.path.join(place, NAME)
            if os.path.exists(path):
                yield path


def _find() -> ctypes.CDLL:
    said = os.environ.get("KPLUG_LIBRARY") if _may_trust_environment() else None
    tried = []
    for path in [said] if said else [*_beside(), NAME]:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        f"kplug needs {NAME}, which could not be loaded ({'; '.join(tried)}): install kplug, "
        "or set KPLUG_LIBRARY to the file",
        name="kplug",
        path=said or NAME,
    )


def _load() -> ctypes.CDLL:
    found = _find()
    for name, (result, arguments) in _PROTOTYPES.items():
        try:
            function = getattr(found, name)
        except AttributeError:
            raise ImportError(
                f"{found._name} has no {name}: it is older than this Python package",
                name="kplug",
                path=found._name,
            ) from None
        function.restype = result
        function.argtypes = arguments
    return found


lib = _load()


class Outcome:
    """A struct kp_error, and what it means: must(lib.f(..., outcome.out)) raises it."""

    __slots__ = ("error", "out")

    def __init__(self) -> None:
        self.error = layout.sized(layout.kp_error)
        self.out = ctypes.pointer(self.error)

    def must(self, status: int) -> None:
        if status != 0:
            self.fail(status)

    def fail(self, status: int = 0) -> NoReturn:
        fail(status or self.error.status, self.error.text, self.error.native_code)


def take_text(pointer: c_void_p) -> str:
    """Text that was handed out, which is freed."""
    try:
        return ctypes.string_at(pointer.value or 0).decode()
    finally:
        lib.kp_free(pointer)
