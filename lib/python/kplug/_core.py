# SPDX-License-Identifier: MIT
"""The life of a struct kp_handle: who is inside, what belongs to it, the end of both.

libkplug asks that freeing never meets a use. Here a use says so first, and closing
waits for it; what the garbage collector finds is freed later, by somebody who is in no
callback, since a callback may run while the library holds a lock.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import operator
import os
import threading
import weakref
from ctypes import byref, c_void_p
from typing import Callable, Deque, Dict, Iterator, List, Optional, SupportsIndex, Tuple, Union

from kplug._library import Outcome, lib, take_text
from kplug.errors import Invalid


class _Thread(threading.local):
    callbacks = 0


_thread = _Thread()


@contextlib.contextmanager
def in_callback() -> Iterator[None]:
    """Around Python code that libkplug calls."""
    _thread.callbacks += 1
    try:
        yield
    finally:
        _thread.callbacks -= 1


def encode(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    if "\0" in text:
        raise Invalid(f"{what} has a NUL inside")
    return text.encode(errors="surrogateescape")


def encode_or_null(text: Optional[str], what: str) -> Optional[bytes]:
    return None if text is None else encode(text, what)


def number(value: SupportsIndex, what: str, bits: int = 64) -> int:
    """What fits into a signed number of 64 bits, or an unsigned one of 32: ctypes would
    wrap it."""
    least, most = (0, (1 << 32) - 1) if bits == 32 else (-(1 << 63), (1 << 63) - 1)
    said = operator.index(value)
    if not least <= said <= most:
        raise Invalid(f"{what} is {said}, [{least}, {most}] is possible")
    return said


class User:
    """What a thread uses for calls of a site: busy while it is in one."""

    __slots__ = ("busy", "token", "__weakref__")

    def __init__(self, token: int) -> None:
        self.busy = False
        self.token = token


class Core:
    def __init__(self, handle: int, kept: object) -> None:
        self.closed = False
        self._handle = handle
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._inside = 0
        self._users: weakref.WeakSet[User] = weakref.WeakSet()
        self._tokens = itertools.count(1)
        self._things: Dict[int, Tuple[int, Callable[[int], None]]] = {}
        self._dead: Deque[int] = collections.deque()
        # Callbacks and their structs: the library may be in them until it is closed.
        self.kept: List[object] = [kept]

    # -- using

    def refuse(self) -> None:
        raise Invalid("closed: the handle was closed; kplug.open makes another one")

    @contextlib.contextmanager
    def use(self) -> Iterator[int]:
        """The handle, which stays until the end of the `with`."""
        with self._lock:
            if self.closed:
                self.refuse()
            self._inside += 1
        try:
            self._bury()
            yield self._handle
        finally:
            with self._lock:
                self._inside -= 1
                self._idle.notify_all()

    def add_user(self, user: User) -> None:
        with self._lock:
            self._users.add(user)

    def wake(self) -> None:
        """A user is busy no more, and somebody may wait for that."""
        with self._lock:
            self._idle.notify_all()

    def _is_idle(self, token: Optional[int] = None) -> bool:
        busy = any(u.busy for u in self._users if token is None or u.token == token)
        return not busy and (token is not None or self._inside == 0)

    # -- what belongs to it

    def adopt(self, pointer: Optional[int], free: Callable[[int], None]) -> int:
        """A token for something that is freed by release, or at the end."""
        token = next(self._tokens)
        self._things[token] = (pointer or 0, free)
        return token

    def pointer(self, token: int, what: str) -> int:
        thing = self._things.get(token)
        if thing is None:
            raise Invalid(f"{what} was given up, or its handle was closed")
        return thing[0]

    def release(self, token: int) -> None:
        """Frees it, once; waits for calls that other threads are in."""
        if _thread.callbacks:
            self.bury_later(token)
            return
        with self._lock:
            if os.getpid() == self._process:
                self._idle.wait_for(lambda: self._is_idle(token))
            self._free(token)

    def bury_later(self, token: int) -> None:
        self._dead.append(token)

    def _free(self, token: int) -> None:
        thing = self._things.pop(token, None)
        if thing is not None:
            thing[1](thing[0])

    def _bury(self) -> None:
        while True:
            try:
                token = self._dead.popleft()
            except IndexError:
                return
            self._free(token)

    # -- the end

    def close(self, wait: bool = True) -> None:
        """Once. Without wait nothing happens where a thread is inside."""
        if _thread.callbacks:
            raise Invalid("close: this thread is inside of a call; close after it")
        if os.getpid() != self._process:
            # The locks, and threads that may have held them, are the parent's.
            if not self.closed:
                self.closed = True
                lib.kp_close(self._handle)
            return
        with self._lock:
            if self.closed:
                return
            self.closed = True
            if not self._is_idle() and not self._wait(wait):
                return
            for token in sorted(self._things, reverse=True):
                self._free(token)
            lib.kp_close(self._handle)
            self.kept.clear()

    def _wait(self, wait: bool) -> bool:
        try:
            return wait and self._idle.wait_for(self._is_idle)
        except BaseException:
            self.closed = False
            raise

    def finish(self) -> None:
        """For the garbage collector and the end of the interpreter: never waits."""
        if _thread.callbacks:
            threading.Thread(target=self.close, args=(False,)).start()
        else:
            self.close(False)


def ask(function: Callable[..., int], handle: int, *words: Union[bytes, None]) -> str:
    """The text that a function of the library hands out."""
    outcome = Outcome()
    text = c_void_p()
    outcome.must(function(handle, *words, byref(text), outcome.out))
    return take_text(text)
