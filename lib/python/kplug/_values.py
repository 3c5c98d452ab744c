# SPDX-License-Identifier: MIT
"""What Python gives a site, as the structs of kplug/host.h."""

from __future__ import annotations

from typing import Any, Mapping, SupportsFloat, SupportsIndex, Tuple, Union

from kplug import _layout as layout
from kplug._core import encode, number

Value = Union[bool, str, SupportsIndex, SupportsFloat]
Range = Union[SupportsIndex, Tuple[int, int]]


def named_structs(values: Mapping[str, Value]) -> Any:
    made = (layout.kp_named * len(values))()
    for item, (name, value) in zip(made, values.items()):
        item.name = encode(name, "a name")
        if isinstance(value, bool):
            item.kind, item.value.i = b"b", int(value)
        elif isinstance(value, str):
            item.kind, item.value.s = b"s", encode(value, name)
        elif isinstance(value, SupportsIndex):
            item.kind, item.value.i = b"i", number(value, name)
        elif isinstance(value, SupportsFloat):
            item.kind, item.value.f = b"f", float(value)
        else:
            raise TypeError(f"{name} is a bool, int, float or str, not {type(value).__name__}")
    return made


def bounds(name: str, said: Range) -> Tuple[int, int]:
    least, most = said if isinstance(said, tuple) else (said, said)
    return number(least, name), number(most, name)


def range_structs(ranges: Mapping[str, Tuple[int, int]]) -> Any:
    made = (layout.kp_range * len(ranges))()
    for item, (name, (least, most)) in zip(made, ranges.items()):
        item.dim, item.least, item.most = encode(name, "a dim"), least, most
    return made
