# SPDX-License-Identifier: MIT
"""Python functions as kernels of this process."""

from __future__ import annotations

import json
import threading
from ctypes import byref
from typing import Any, Callable, Dict, List, Optional

from kplug import _layout as layout
from kplug._core import Core, encode, in_callback
from kplug._family import Family
from kplug._library import Outcome, lib
from kplug._tensor import view
from kplug.errors import Error, Status

_TEXT = layout.kp_error.text.size - 1


class _Raised(threading.local):
    """What a kernel in Python raised in a call, for the site that made the call."""

    address = 0
    error: Optional[BaseException] = None

    def put(self, address: int, error: BaseException) -> None:
        self.address, self.error = address, error

    def take(self, address: int) -> Optional[BaseException]:
        error = self.error if self.address == address else None
        self.error = None
        return error


raised = _Raised()


def _say(call: layout.kp_call, status: int, error: BaseException) -> None:
    """In the words of the ABI, for whoever called."""
    if not call.error:
        return
    said = call.error.contents
    if said.size < layout.kp_error.text.offset + layout.kp_error.text.size:
        return
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    cut = text.encode(errors="backslashreplace")[:_TEXT].decode(errors="ignore")
    said.status = status
    said.text = cut.encode()


class Local:
    """A function that is ranked and explained as the kernel `name`, local/..."""

    def __init__(
        self,
        core: Core,
        function: Callable[..., None],
        note: Dict[str, Any],
        family: Optional[Family],
    ) -> None:
        self.function = function
        self.operation: str = note["operation"]
        self.name = f"local/{note['name']}"
        self._core = core
        self._family = family
        self._run = layout.RUN(self._enter)
        self._table = layout.sized(layout.kp_kernel)
        self._table.run = self._run
        outcome = Outcome()
        with core.use() as handle:
            core.kept.append((self._run, self._table))
            outcome.must(
                lib.kp_local_add(handle, json.dumps(note).encode(), byref(self._table), outcome.out)
            )

    def __call__(self, *arguments: Any, **named: Any) -> None:
        self.function(*arguments, **named)

    def remove(self) -> None:
        """Sites choose another kernel from their next call on."""
        outcome = Outcome()
        with self._core.use() as handle:
            outcome.must(lib.kp_local_remove(handle, encode(self.name, "name"), outcome.out))

    def _enter(self, address: int) -> int:
        """Called by the library, by any thread; nothing that is raised goes past."""
        with in_callback():
            call = layout.kp_call.from_address(address)
            try:
                self._call(call)
                return int(Status.OK)
            except BaseException as error:
                status = int(error.status if isinstance(error, Error) else Status.RUNTIME)
                raised.put(address, error)
                _say(call, status, error)
                return status

    def _call(self, call: layout.kp_call) -> None:
        roles = self._family.roles if self._family else []
        arrays: List[Any] = []
        for i in range(max(call.n_tensors, len(roles))):
            tensor = call.tensors[i] if i < call.n_tensors else None
            writes = i >= len(roles) or roles[i].writes
            arrays.append(view(tensor.contents, writes) if tensor else None)
        if self.function(*arrays, **self._attributes(call)) is not None:
            raise TypeError(
                f"{self.name} returned a value: a kernel writes its results into the arrays "
                "that it is given and returns None"
            )

    def _attributes(self, call: layout.kp_call) -> Dict[str, Any]:
        said = self._family.attributes if self._family else []
        values: Dict[str, Any] = {}
        for i, (name, kind) in enumerate(said[: call.n_attrs]):
            value = call.attrs[i]
            values[name] = value.f if kind == "float" else value.i
            if kind == "bool":
                values[name] = bool(value.i)
        return values

    def __repr__(self) -> str:
        return f"<kplug.Local {self.name} of {self.operation}>"
