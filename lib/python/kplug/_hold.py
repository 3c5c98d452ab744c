# SPDX-License-Identifier: MIT
"""What holds a kernel: captured graphs, plans, prepared weights."""

from __future__ import annotations

import weakref
from typing import Any

from kplug._core import Core
from kplug._library import lib


class _Owned:
    """Something of libkplug's, given up once: by release, a `with`, or when it is lost."""

    def __init__(self, core: Core, token: int, what: str) -> None:
        self._core = core
        self._token = token
        self._what = what
        self._finalizer = weakref.finalize(self, core.bury_later, token)
        self._finalizer.atexit = False

    @property
    def _pointer(self) -> int:
        return self._core.pointer(self._token, self._what)

    def release(self) -> None:
        """Gives it up. Once is enough, more does no harm."""
        if self._finalizer.detach():
            self._core.release(self._token)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Hold(_Owned):
    """A kernel is in use beyond calls: `pluginctl disable` says by what."""

    def __init__(self, core: Core, handle: int, hold: int) -> None:
        def free(number: int) -> None:
            lib.kp_release(handle, number)

        super().__init__(core, core.adopt(hold, free), "the hold")


class Plan(_Owned):
    """Work that was planned once a step, for `site(..., plan=...)`; kplug.Stale once
    another kernel is in force."""

    def __init__(self, core: Core, plan: int) -> None:
        super().__init__(core, core.adopt(plan, lib.kp_plan_free), "the plan")


class Weight(_Owned):
    """A weight laid out for the site's kernel: an argument like the array it was of,
    which is kept where the kernel has no layout of its own."""

    def __init__(self, core: Core, weight: int, array: Any) -> None:
        super().__init__(core, core.adopt(weight, lib.kp_weight_free), "the weight")
        self.array = array
        self.shape = tuple(array.shape)
        self._tensor = lib.kp_weight_tensor(weight)

    @property
    def tensor(self) -> Any:
        """The struct kp_tensor."""
        return self._tensor if self._pointer else None
