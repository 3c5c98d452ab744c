# SPDX-License-Identifier: MIT
"""The structs of kplug/plugin.h and host.h, by their names there; a test compares them."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)
from typing import Type, TypeVar

# Calls without the interpreter's lock; callbacks take it.
LOG = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
RUN = CFUNCTYPE(c_int, c_void_p)


class kp_place(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class kp_dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class kp_tensor(Structure):
    """Also DLPack's DLTensor, with which its DLManagedTensor begins."""

    _fields_ = [
        ("data", c_void_p),
        ("device", kp_place),
        ("ndim", c_int32),
        ("dtype", kp_dtype),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


class kp_value(Union):
    _fields_ = [("i", c_int64), ("f", c_double), ("p", c_void_p)]


class kp_error(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("status", c_int32),
        ("reserved", c_uint32),
        ("native_code", c_int64),
        ("text", c_char * 488),
    ]


class kp_call(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("n_tensors", c_uint32),
        ("n_attrs", c_uint32),
        ("tensors", POINTER(POINTER(kp_tensor))),
        ("attrs", POINTER(kp_value)),
        ("error", POINTER(kp_error)),
        ("host", c_void_p),
        ("device", c_void_p),
        ("state", c_void_p),
        ("device_state", c_void_p),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("plan", c_void_p),
        ("host_plan", c_void_p),
        ("workspace_bytes", c_uint64),
        ("plan_bytes", c_uint64),
        ("host_plan_bytes", c_uint64),
        ("generation", c_uint64),
    ]


class kp_kernel(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("run", RUN),
        ("available", c_void_p),
        ("load", c_void_p),
        ("unload", c_void_p),
        ("need", c_void_p),
        ("plan", c_void_p),
        ("prepared", c_void_p),
        ("prepare", c_void_p),
        ("backward", c_void_p),
    ]


class kp_options(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("socket", c_char_p),
        ("name", c_char_p),
        ("log", LOG),
        ("log_context", c_void_p),
        ("threads", c_uint32),
        ("reserved", c_uint32),
    ]


class kp_range(Structure):
    _fields_ = [("dim", c_char_p), ("least", c_int64), ("most", c_int64)]


class kp_named_value(Union):
    _fields_ = [("i", c_int64), ("f", c_double), ("s", c_char_p)]


class kp_named(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_char),
        ("reserved", c_char * 7),
        ("value", kp_named_value),
    ]


class kp_site_options(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("operation", c_char_p),
        ("signature", c_char_p),
        ("label", c_char_p),
        ("solution", c_char_p),
        ("override_with", c_char_p),
        ("values", POINTER(kp_named)),
        ("ranges", POINTER(kp_range)),
        ("n_values", c_uint32),
        ("n_ranges", c_uint32),
        ("device", c_uint32),
        ("guard_every", c_uint32),
    ]


class kp_warmth(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("flags", c_uint32),
        ("workspace_bytes", c_uint64),
        ("workspace_align", c_uint64),
        ("n_rungs", c_uint32),
        ("n_unsupported", c_uint32),
        ("n_uncapturable", c_uint32),
        ("reserved", c_uint32),
    ]


STRUCTS = (
    kp_place,
    kp_dtype,
    kp_tensor,
    kp_error,
    kp_call,
    kp_kernel,
    kp_options,
    kp_range,
    kp_named,
    kp_site_options,
    kp_warmth,
)

# enum kp_open_flag, kp_site_flag, kp_device_type, kp_dtype_code; tests compare them, too.
KP_NO_DAEMON = 1
KP_ADOPT_AT_STEP = 2
KP_NO_SIGNALS = 4
KP_SITE_STABLE = 1
KP_SITE_CHECKED = 2
KP_SITE_CAPTURED = 4
KP_DEVICE_CPU = 1
KP_CODE_INT = 0
KP_CODE_UINT = 1
KP_CODE_FLOAT = 2
KP_CODE_BFLOAT = 4
KP_CODE_BOOL = 6
KP_CODE_F8_E4M3FN = 10
KP_CODE_F8_E5M2 = 12

T = TypeVar("T", bound=Structure)


def sized(kind: Type[T]) -> T:
    """One of zeroes that says how large it is."""
    made = kind()
    made.size = sizeof(kind)
    return made
