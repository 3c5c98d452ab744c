# SPDX-License-Identifier: MIT
"""What libkplug's statuses are in Python."""

from __future__ import annotations

import enum
from typing import Dict, NoReturn, Optional, Type


class Status(enum.IntEnum):
    """enum kp_status of kplug/plugin.h."""

    OK = 0
    INVALID = 1
    UNSUPPORTED = 2
    UNAVAILABLE = 3
    NO_MEMORY = 4
    RUNTIME = 5
    DEVICE_LOST = 6
    STALE = 7
    CANCELLED = 8


class Error(Exception):
    """A sentence: what is wrong with what, and what to do.

    status: which kind of error
    code:   of the library that failed below (errno, ...), or 0
    """

    status: Status = Status.RUNTIME
    code: int = 0

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class Invalid(Error, ValueError):
    """An argument is wrong."""

    status = Status.INVALID


class Unsupported(Error):
    """The arguments are right, and no kernel handles them."""

    status = Status.UNSUPPORTED


class Unavailable(Error):
    """plugind, a library or a feature is not here."""

    status = Status.UNAVAILABLE


class NoMemory(Error, MemoryError):
    """Memory is exhausted."""

    status = Status.NO_MEMORY


class Failed(Error, RuntimeError):
    """A kernel failed. __cause__ is what a kernel in Python raised."""

    status = Status.RUNTIME


class DeviceLost(Error):
    """The device is unusable for this process from now on."""

    status = Status.DEVICE_LOST


class Stale(Error):
    """The plan belongs to another kernel or generation."""

    status = Status.STALE


class Cancelled(Error):
    """A call was asked to stop."""

    status = Status.CANCELLED


_KINDS: Dict[int, Type[Error]] = {
    int(kind.status): kind
    for kind in (
        Invalid,
        Unsupported,
        Unavailable,
        NoMemory,
        Failed,
        DeviceLost,
        Stale,
        Cancelled,
    )
}


def fail(
    status: int, text: bytes, code: int = 0, cause: Optional[BaseException] = None
) -> NoReturn:
    """Raises what the status is; a number that is not listed is Failed."""
    said = text.decode(errors="backslashreplace") or f"status {status}, without a reason"
    raise _KINDS.get(status, Failed)(said, code) from cause
