# SPDX-License-Identifier: MIT
"""A place in the program that calls an operation."""

from __future__ import annotations

import threading
from ctypes import addressof, byref, c_int64, c_uint64, c_void_p
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from kplug import _layout as layout
from kplug._core import Core, User, encode, number
from kplug._decision import Why
from kplug._family import Family, Output
from kplug._hold import Hold, Plan, Weight, _Owned
from kplug._library import Outcome, lib, take_text
from kplug._local import raised
from kplug._tensor import Tensors, empty
from kplug.errors import Invalid, fail

if TYPE_CHECKING:
    from kplug._handle import Handle

Dims = Union[Mapping[str, int], Sequence[int], None]


class _State(User):
    """The structs of a call, made once a site and thread."""

    __slots__ = ("tensors", "outcome", "call", "reference", "address")

    def __init__(self, token: int, count: int) -> None:
        super().__init__(token)
        self.tensors = Tensors(count)
        self.outcome = Outcome()
        # Filled by the library at its first run.
        self.call = layout.kp_call()
        self.call.tensors = self.tensors.list
        self.call.n_tensors = count
        self.call.error = self.outcome.out
        self.address = addressof(self.call)


class Site(_Owned):
    """Call it with the arrays of the operation's roles, in the family's order or by name.

    The roles that are written come last, as `out`: an array, or a tuple of them where
    there are several; what is not given is allocated. They are what is returned.
    """

    def __init__(
        self,
        handle: Handle,
        site: int,
        operation: str,
        label: str,
        family: Optional[Family],
        signature: Optional[str],
        ranges: Mapping[str, Tuple[int, int]],
    ) -> None:
        core: Core = handle._core
        super().__init__(core, core.adopt(site, lib.kp_site_free), "the site")
        self._handle = handle  # lives as long
        self._site = site
        self._family = family
        self._thread = threading.local()
        self._ranges = ranges
        self.operation = operation
        self.label = label
        self._inputs: List[int] = []
        self._outputs: List[Output] = []
        self._roles: Dict[str, int] = {}
        if family:
            dtypes = family.dtypes(signature)
            self._roles = {role.name: i for i, role in enumerate(family.roles)}
            self._inputs = [i for i, r in enumerate(family.roles) if r.reads]
            self._outputs = [
                Output(family, i, dtypes[i]) for i, r in enumerate(family.roles) if not r.reads
            ]
            self._names = [role.name for role in family.roles]
            self._writes = [role.writes for role in family.roles]
            # What most have: inputs, then one output.
            self._reads = len(self._inputs)
            self._is_plain = self._writes == [False] * self._reads + [True]

    # -- calling

    def __call__(
        self, *arrays: Any, out: Any = None, plan: Optional[Plan] = None, **named: Any
    ) -> Any:
        """Runs the selected kernel; the array that it wrote, or a tuple of several."""
        if self._family is None:
            return self._call_whole(arrays, out, named)
        if self._is_plain and len(arrays) == self._reads and not named and type(out) is not tuple:
            if out is None:
                out = self._new(self._outputs[0], arrays)
            self._run((*arrays, out), self._names, self._writes, plan)
            return out
        roles = self._arrange(arrays, named, out)
        self._allocate(roles)
        self._run(roles, self._names, self._writes, plan)
        written = [role for role, writes in zip(roles, self._writes) if writes]
        return written[0] if len(written) == 1 else tuple(written)

    def _call_whole(self, arrays: Sequence[Any], out: Any, named: Mapping[str, Any]) -> None:
        """No family says what is what: all tensors, in the order of the kernel."""
        if out is not None or named:
            raise Invalid(f"no family describes {self.operation}: give all arrays in order")
        names = [f"tensor {i}" for i in range(len(arrays))]
        self._run(arrays, names, [True] * len(arrays), None)

    def _arrange(self, arrays: Sequence[Any], named: Mapping[str, Any], out: Any) -> List[Any]:
        """By role."""
        roles: List[Any] = [None] * len(self._roles)
        inputs = self._inputs
        if len(arrays) > len(inputs):
            raise TypeError(
                f"{self.operation} reads {len(inputs)} arrays "
                f"({', '.join(self._names[i] for i in inputs)}), {len(arrays)} are given; "
                "what is written is `out`"
            )
        for i, array in zip(inputs, arrays):
            roles[i] = array
        for name, array in named.items():
            place = self._roles.get(name)
            if place is None:
                raise TypeError(
                    f"{self.operation} has no role {name}; it has {', '.join(self._names)}"
                )
            if roles[place] is not None:
                raise TypeError(f"{self.operation}: {name} is given twice")
            roles[place] = array
        if out is not None:
            self._place_out(roles, out)
        return roles

    def _place_out(self, roles: List[Any], out: Any) -> None:
        outs = out if isinstance(out, tuple) else (out,)
        if len(outs) != len(self._outputs):
            raise TypeError(
                f"{self.operation} has {len(self._outputs)} outputs, `out` has {len(outs)}"
            )
        for output, array in zip(self._outputs, outs):
            roles[output.role] = array

    def _allocate(self, roles: List[Any]) -> None:
        for output in self._outputs:
            if roles[output.role] is None:
                roles[output.role] = self._new(output, roles)

    @staticmethod
    def _new(output: Output, roles: Sequence[Any]) -> Any:
        """None where an input is not what it should be, which the library will say."""
        shape = output.shape(roles)
        return None if shape is None else empty(shape, output.dtype, roles)

    def _state(self, count: int) -> _State:
        """This thread's; another one inside of a call of the same site."""
        state: Optional[_State] = self._thread.__dict__.get("state")
        if state is None or state.busy or state.call.n_tensors != count:
            nested = state is not None and state.busy
            state = _State(self._token, count)
            self._core.add_user(state)
            if not nested:
                self._thread.state = state
        return state

    def _run(
        self,
        arrays: Sequence[Any],
        names: Sequence[str],
        writes: Sequence[bool],
        plan: Optional[Plan],
    ) -> None:
        state, core = self._state(len(arrays)), self._core
        tensors = state.tensors
        try:
            state.busy = True
            if core.closed or not self._finalizer.alive:
                core.pointer(self._token, self._what)
                core.refuse()
            for i, array in enumerate(arrays):
                if array is None:
                    tensors.put_tensor(i, None)
                elif array.__class__ is Weight:
                    tensors.put_tensor(i, array.tensor)
                else:
                    tensors.put(i, array, names[i], writes[i])
            if plan is not None:
                lib.kp_plan_use(plan._pointer, byref(state.call))
            status = lib.kp_run_slow(self._site, state.address)
            if status:
                self._fail(state, status)
        finally:
            tensors.clear()
            if plan is not None:
                state.call.plan = state.call.host_plan = None
                state.call.plan_bytes = state.call.host_plan_bytes = 0
            state.busy = False
            if core.closed or not self._finalizer.alive:
                core.wake()

    def _fail(self, state: _State, status: int) -> None:
        cause = raised.take(state.address)
        if cause is not None and not isinstance(cause, Exception):
            raise cause
        error = state.outcome.error
        fail(status, error.text, error.native_code, cause)

    # -- asking

    def _dims(self, dims: Dims, named: Mapping[str, int]) -> Any:
        """In the family's order; NULL for the least of the ranges."""
        if dims is None and not named:
            return None
        if self._family is None:
            raise Invalid(f"no family describes {self.operation}: it has no dims")
        count = len(self._family.dims)
        if dims is not None and not isinstance(dims, Mapping):
            if len(dims) != count:
                raise Invalid(f"{self.operation} has the dims {', '.join(self._family.dims)}")
            return (c_int64 * count)(*[number(extent, "an extent") for extent in dims])
        extents = (c_int64 * count)(*([-1] * count))
        said = {**{name: least for name, (least, _) in self._ranges.items()}}
        for name, extent in {**said, **(dims or {}), **named}.items():
            extents[self._family.dim(name)] = number(extent, name)
        return extents

    def kernel(self, dims: Dims = None, **named: int) -> Optional[str]:
        """The "plugin/kernel" that a call with these extents would run; None: none."""
        extents = self._dims(dims, named)
        with self._core.use():
            name = lib.kp_site_kernel(self._pointer, extents)
        return name.decode() if name else None

    def why(self, dims: Dims = None, **named: int) -> Why:
        """How that is decided: every kernel with its rank, or what excluded it."""
        extents, outcome = self._dims(dims, named), Outcome()
        with self._core.use():
            text = lib.kp_site_why(self._pointer, extents, outcome.out)
            if not text:
                outcome.fail()
            return Why(take_text(c_void_p(text)))

    # -- what holds its kernel

    def hold(self, what: str = "graph") -> Hold:
        """Says that its kernel is in use beyond calls, until the hold's release."""
        outcome, hold = Outcome(), c_uint64()
        with self._core.use() as handle:
            outcome.must(lib.kp_hold(self._pointer, encode(what, "what"), byref(hold), outcome.out))
            return Hold(self._core, handle, hold.value)

    def plan(self, *arrays: Any, **named: Any) -> Plan:
        """For calls with arrays like these."""
        if self._family is None:
            raise Invalid(f"no family describes {self.operation}: plans need its roles")
        roles = self._arrange(arrays, named, None)
        self._allocate(roles)
        state, outcome, plan = _State(self._token, len(roles)), Outcome(), c_void_p()
        with self._core.use():
            for i, array in enumerate(roles):
                if array is not None:
                    state.tensors.put(i, array, self._names[i], self._writes[i])
            outcome.must(lib.kp_plan_new(self._pointer, state.call, byref(plan), outcome.out))
            return Plan(self._core, plan.value or 0)

    def weight(self, role: str, array: Any) -> Weight:
        """The array laid out for the kernel that is selected now, which it holds."""
        tensors, outcome, weight = Tensors(1), Outcome(), c_void_p()
        with self._core.use():
            tensors.put(0, array, role, False)
            outcome.must(
                lib.kp_weight_new(
                    self._pointer,
                    encode(role, "role"),
                    tensors.list[0],
                    byref(weight),
                    outcome.out,
                )
            )
            return Weight(self._core, weight.value or 0, array)

    def __repr__(self) -> str:
        label = f" {self.label!r}" if self.label else ""
        return f"<kplug.Site {self.operation}{label}>"
