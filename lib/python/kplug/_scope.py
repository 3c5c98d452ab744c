# SPDX-License-Identifier: MIT
"""Overrides for a while."""

from __future__ import annotations

from ctypes import byref, c_uint64
from typing import List

from kplug._core import Core, encode
from kplug._library import Outcome, lib


class Scope:
    """An override that holds inside of a `with`."""

    def __init__(self, core: Core, operation: str, choice: str, thread: bool) -> None:
        self._core = core
        self._said = encode(operation, "operation"), encode(choice, "choice")
        self._thread = thread
        self._begun: List[int] = []

    def __enter__(self) -> Scope:
        outcome, scope = Outcome(), c_uint64()
        with self._core.use() as handle:
            outcome.must(
                lib.kp_scope_begin(handle, *self._said, self._thread, byref(scope), outcome.out)
            )
        self._begun.append(scope.value)
        return self

    def __exit__(self, *_: object) -> None:
        scope = self._begun.pop()
        if not self._core.closed:
            with self._core.use() as handle:
                lib.kp_scope_end(handle, scope)
