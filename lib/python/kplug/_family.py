# SPDX-License-Identifier: MIT
"""The contract of an operation, as far as passing arrays needs it."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from kplug.errors import Invalid


class Role:
    __slots__ = ("name", "reads", "writes", "optional", "dims", "dtype")

    def __init__(self, said: Dict[str, Any]) -> None:
        self.name: str = said["name"]
        self.reads: bool = said["direction"] != "out"
        self.writes: bool = said["direction"] != "in"
        self.optional: bool = said.get("optional", False)
        self.dims: List[Union[str, int]] = said["dims"]
        self.dtype = dtype_of(said["formats"][0])


def dtype_of(text: str) -> str:
    """Of a format: [format:]dtype[/layout][@scale...]."""
    return text.partition("@")[0].partition("/")[0].rpartition(":")[2]


class Family:
    def __init__(self, text: str) -> None:
        said = json.loads(text)
        self.operation: str = said["operation"]
        self.dims: List[str] = said["dims"]
        self.roles = [Role(role) for role in said["roles"]]
        self.attributes: List[Tuple[str, str]] = [
            (a["name"], a["type"]) for a in said.get("attributes", ())
        ]
        self.signature: Optional[str] = said.get("signature")
        self.aliases: Dict[str, str] = said.get("aliases", {})

    def signature_with(self, dtype: str) -> str:
        """The family's own, with one dtype throughout."""
        if not self.signature:
            raise Invalid(f"{self.operation} has no default signature: dtype cannot vary it")
        names = [operand.partition("=")[0] for operand in self.signature.split(",")]
        return ",".join(f"{name}={dtype}" for name in names)

    def dtypes(self, signature: Optional[str]) -> List[str]:
        """Of each role."""
        said: Dict[str, str] = {}
        for operand in (signature or self.signature or "").split(","):
            name, _, form = operand.partition("=")
            said[name.strip()] = dtype_of(form.strip())
        return [said.get(role.name, role.dtype) for role in self.roles]

    def dim(self, name: str) -> int:
        """Its place; unknown names are refused."""
        try:
            return self.dims.index(self.aliases.get(name, name))
        except ValueError:
            raise Invalid(
                f"{self.operation} has no dim {name}; it has {', '.join(self.dims)}"
            ) from None


class Output:
    """How the array of a role is made: each extent is a number or an axis of an input."""

    __slots__ = ("role", "name", "dtype", "extents", "missing")

    def __init__(self, family: Family, role: int, dtype: str) -> None:
        self.role = role
        self.name = family.roles[role].name
        self.dtype = dtype
        self.missing: Optional[str] = None
        self.extents: List[Tuple[int, int]] = []
        for dim in family.roles[role].dims:
            self.extents.append((-1, dim) if isinstance(dim, int) else self._find(family, dim))

    def _find(self, family: Family, dim: str) -> Tuple[int, int]:
        for i, role in enumerate(family.roles):
            if role.reads and not role.optional and dim in role.dims:
                return i, role.dims.index(dim)
        self.missing = dim
        return -1, 0

    def shape(self, arrays: Sequence[Any]) -> Optional[Tuple[int, ...]]:
        """None where an input is not what it should be: the library says why."""
        if self.missing:
            raise Invalid(
                f"{self.name}: no input has the dim {self.missing}; give the array as `out`"
            )
        try:
            return tuple(
                [axis if role < 0 else arrays[role].shape[axis] for role, axis in self.extents]
            )
        except (AttributeError, IndexError):
            return None
