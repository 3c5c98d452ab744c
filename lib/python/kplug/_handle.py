# SPDX-License-Identifier: MIT
"""The connection to plugind, and what is made through it."""

from __future__ import annotations

import json
import logging
import os
import sys
import weakref
from ctypes import byref, c_uint32, c_void_p, create_string_buffer
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

from kplug import _layout as layout
from kplug._core import Core, ask, encode, encode_or_null, in_callback, number
from kplug._decision import Decision, Why
from kplug._family import Family
from kplug._hold import Hold
from kplug._library import Outcome, lib
from kplug._local import Local
from kplug._scope import Scope
from kplug._site import Site
from kplug._values import Range, Value, bounds, named_structs, range_structs
from kplug.errors import Invalid

Log = Union[logging.Logger, Callable[[int, str], None]]

_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


class Warmth(NamedTuple):
    """What `Handle.warm` found; workspace is enough for every kernel of these sites."""

    workspace_bytes: int
    workspace_align: int
    rungs: int
    unsupported: int
    uncapturable: int


def _program_name() -> Optional[str]:
    """Of the script, where there is one; libkplug's own choice is the interpreter."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    return name[:60] if name.isprintable() and name not in ("", "-c", "-m") else None


def _log_callback(log: Log) -> Any:
    def call(_: object, level: int, text: bytes) -> None:
        with in_callback():
            said = text.decode(errors="backslashreplace")
            if isinstance(log, logging.Logger):  # levels are kp_host.log's
                log.log(_LEVELS[min(max(level, 0), 3)], "%s", said)
            else:
                log(level, said)

    return layout.LOG(call)


class Handle:
    """Attached to plugind; everything that is made through it ends with it.

    socket:  of plugind; None: $KPLUG_SOCKET, the system's, the user's, and where nobody
             listens a private plugind is started, which ends with its last client
    daemon:  False: start no private one; kplug.Unavailable
    name:    in `pluginctl clients`; None: the script's
    adopt:   "now": the next call runs what was decided; "step": the next `step()`
    threads: that a kernel may use, the caller's included
    log:     a logging.Logger, or a function of level (0 error to 3 debug) and text; called
             by any thread, must not use kplug. None: as $KPLUG_LOG says
    signals: False: leave the handlers of fatal signals alone
    """

    def __init__(
        self,
        socket: Optional[str] = None,
        *,
        daemon: bool = True,
        name: Optional[str] = None,
        adopt: str = "now",
        threads: int = 1,
        log: Optional[Log] = None,
        signals: bool = True,
    ) -> None:
        if adopt not in ("now", "step"):
            raise Invalid(f'adopt is "now" or "step", not {adopt!r}')
        callback = None if log is None else _log_callback(log)
        options, outcome, handle = layout.sized(layout.kp_options), Outcome(), c_void_p()
        options.flags = (
            (0 if daemon else layout.KP_NO_DAEMON)
            | (layout.KP_ADOPT_AT_STEP if adopt == "step" else 0)
            | (0 if signals else layout.KP_NO_SIGNALS)
        )
        options.socket = encode_or_null(socket and os.fspath(socket), "socket")
        options.name = encode_or_null(name if name is not None else _program_name(), "name")
        options.threads = number(threads, "threads", 32)
        if callback is not None:
            options.log = callback
        outcome.must(lib.kp_open(byref(options), byref(handle), outcome.out))
        self._core = Core(handle.value or 0, callback)
        self._families: Dict[str, Optional[Family]] = {}
        self._finalizer = weakref.finalize(self, self._core.finish)

    # -- life

    def close(self) -> None:
        """Ends it and what was made through it, once; waits for calls of other threads."""
        self._core.close()
        self._finalizer.detach()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether it was ended."""
        return self._core.closed

    @property
    def generation(self) -> int:
        """Of the decisions that this process has seen."""
        with self._core.use() as handle:
            return int(lib.kp_generation(handle))

    @property
    def attached(self) -> bool:
        """Is plugind there now? Everything works while it is not."""
        with self._core.use() as handle:
            return bool(lib.kp_is_attached(handle))

    def step(self) -> int:
        """Adopts what has changed (adopt="step"); how many sites run another kernel."""
        outcome, changed = Outcome(), c_uint32()
        with self._core.use() as handle:
            outcome.must(lib.kp_step(handle, byref(changed), outcome.out))
        return changed.value

    def fingerprint(self, device: Optional[str] = None) -> str:
        """A digest of all decisions for a device: equal where machines decide alike."""
        outcome, digest = Outcome(), create_string_buffer(65)
        with self._core.use() as handle:
            outcome.must(
                lib.kp_fingerprint(handle, encode_or_null(device, "device"), digest, outcome.out)
            )
        return digest.value.decode()

    # -- sites

    def _family(self, operation: str) -> Optional[Family]:
        """None where no family describes it."""
        if operation not in self._families:
            with self._core.use() as handle:
                text = ask(lib.kp_describe, handle, encode(operation, "operation"))
            said = json.loads(text)
            self._families[operation] = Family(text) if said else None
        return self._families[operation]

    def _signature(
        self, operation: str, signature: Optional[str], dtype: Optional[str]
    ) -> Optional[str]:
        if dtype is None:
            return signature
        if signature is not None:
            raise Invalid("signature and dtype exclude each other")
        family = self._family(operation)
        if family is None:
            raise Invalid(f"no family describes {operation}: give a signature, not a dtype")
        return family.signature_with(dtype)

    def site(
        self,
        operation: str,
        *,
        signature: Optional[str] = None,
        dtype: Optional[str] = None,
        label: str = "",
        attributes: Optional[Mapping[str, Value]] = None,
        traits: Optional[Mapping[str, Value]] = None,
        ranges: Optional[Mapping[str, Range]] = None,
        solution: Optional[str] = None,
        override: Optional[str] = None,
        stable: bool = False,
        captured: bool = False,
        guard_every: int = 0,
    ) -> Site:
        """A place that calls the operation, FAMILY/MODE.

        signature:  formats by role, "a=f32,b=f32,c=f32"; or dtype, one for all of them;
                    without both the family's
        label:      its name in `pluginctl clients`, incidents and logs
        ranges:     (least, most) that a dim may have here, or one extent
        solution:   only kernels of this one
        override:   this kernel or solution, whatever the rank
        stable:     one kernel over the whole range, or none
        captured:   only kernels whose calls can be captured into graphs
        guard_every: one call in so many is repeated by the reference and compared
        """
        family = self._family(operation)
        said = self._signature(operation, signature, dtype)
        limits = {name: bounds(name, each) for name, each in (ranges or {}).items()}
        values = named_structs({**(traits or {}), **(attributes or {})})
        extents = range_structs(limits)
        options = layout.sized(layout.kp_site_options)
        options.flags = (layout.KP_SITE_STABLE if stable else 0) | (
            layout.KP_SITE_CAPTURED if captured else 0
        )
        options.operation = encode(operation, "operation")
        options.signature = encode_or_null(said, "signature")
        options.label = encode(label, "label")
        options.solution = encode_or_null(solution, "solution")
        options.override_with = encode_or_null(override, "override")
        options.values, options.n_values = values, len(values)
        options.ranges, options.n_ranges = extents, len(extents)
        options.guard_every = number(guard_every, "guard_every", 32)
        outcome, site = Outcome(), c_void_p()
        with self._core.use() as handle:
            outcome.must(lib.kp_site_new(handle, byref(options), byref(site), outcome.out))
            return Site(self, site.value or 0, operation, label, family, said, limits)

    def warm(self, sites: Iterable[Site]) -> Warmth:
        """Decides for every extent of their ranges and loads the code, so that no call
        does."""
        outcome, warmth = Outcome(), layout.sized(layout.kp_warmth)
        with self._core.use():
            pointers = [site._pointer for site in sites]
            outcome.must(
                lib.kp_warm(
                    (c_void_p * len(pointers))(*pointers),
                    len(pointers),
                    byref(warmth),
                    outcome.out,
                )
            )
        return Warmth(
            warmth.workspace_bytes,
            warmth.workspace_align,
            warmth.n_rungs,
            warmth.n_unsupported,
            warmth.n_uncapturable,
        )

    def hold(self, site: Site, what: str = "graph") -> Hold:
        """As site.hold."""
        return site.hold(what)

    def scope(self, operation: str, choice: str, *, thread: bool = False) -> Scope:
        """In a `with`: a kernel or solution for all sites of the operation, of this handle
        or only for calls of this thread."""
        return Scope(self._core, operation, choice, thread)

    # -- kernels of this process

    def local(
        self,
        operation: str,
        function: Optional[Callable[..., None]] = None,
        *,
        name: Optional[str] = None,
        priority: int = 10,
        signatures: Optional[Sequence[str]] = None,
        dtype: Optional[str] = None,
        flags: Sequence[str] = ("reentrant",),
        **note: Any,
    ) -> Any:
        """A function as a kernel of this process alone, local/NAME; also a decorator.

        It is called with the arrays of all roles in the family's order (None: absent),
        the attributes by name, and writes its results into the arrays, which are valid
        until it returns; bf16 and f8 are kplug.Tensor. What it raises is the __cause__ of
        the kplug.Failed where the site was called.

            @k.local("norm/rms", priority=19)
            def rms(x, weight, y, *, eps):
                y[...] = ...
        """

        def add(function: Callable[..., None]) -> Local:
            family = self._family(operation)
            said = list(signatures or ())
            if not said:
                one = self._signature(operation, None, dtype)
                said = [one or (family.signature if family else None) or ""]
            kernel = {
                "name": name or function.__name__,
                "operation": operation,
                "priority": priority,
                "signatures": said,
                "flags": list(flags),
                **note,
            }
            return Local(self._core, function, kernel, family)

        return add(function) if function is not None else add

    # -- deciding

    def _request(
        self,
        operation: str,
        signature: Optional[str],
        dtype: Optional[str],
        rest: Dict[str, Any],
    ) -> bytes:
        said = {
            "operation": operation,
            "signature": self._signature(operation, signature, dtype),
            **rest,
        }
        return json.dumps({k: v for k, v in said.items() if v is not None}).encode()

    def select(
        self,
        operation: str,
        *,
        signature: Optional[str] = None,
        dtype: Optional[str] = None,
        **request: Any,
    ) -> Decision:
        """What would run, decided in this process. Further words are those of the
        protocol's Request: shape={"m": 1}, traits, features, solution, objective, device,
        on, without, override, force, label."""
        text = self._request(operation, signature, dtype, request)
        with self._core.use() as handle:
            return Decision(ask(lib.kp_decide, handle, text))

    def why(
        self,
        operation: str,
        *,
        signature: Optional[str] = None,
        dtype: Optional[str] = None,
        **request: Any,
    ) -> Why:
        """The same with every kernel of the operation."""
        text = self._request(operation, signature, dtype, request)
        with self._core.use() as handle:
            return Why(ask(lib.kp_why, handle, text))

    def __repr__(self) -> str:
        return f"<kplug.Handle {'closed' if self.closed else 'open'}>"


open = Handle
