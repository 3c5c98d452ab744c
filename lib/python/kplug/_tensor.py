# SPDX-License-Identifier: MIT
"""Arrays as struct kp_tensor and back, without a copy; knows no operation."""

from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import POINTER, addressof, c_int64, pointer
from typing import Any, Dict, List, Optional, Sequence, Tuple

from kplug import _layout as layout
from kplug.errors import Invalid, Unsupported

MOST_DIMS = 64

# dtype -> code, bits, NumPy's name (or of what has as many bits) and ml_dtypes' name.
_DTYPES: Dict[str, Tuple[int, int, str, str]] = {
    "f64": (layout.KP_CODE_FLOAT, 64, "float64", ""),
    "f32": (layout.KP_CODE_FLOAT, 32, "float32", ""),
    "f16": (layout.KP_CODE_FLOAT, 16, "float16", ""),
    "bf16": (layout.KP_CODE_BFLOAT, 16, "uint16", "bfloat16"),
    "f8_e4m3fn": (layout.KP_CODE_F8_E4M3FN, 8, "uint8", "float8_e4m3fn"),
    "f8_e5m2": (layout.KP_CODE_F8_E5M2, 8, "uint8", "float8_e5m2"),
    "i64": (layout.KP_CODE_INT, 64, "int64", ""),
    "i32": (layout.KP_CODE_INT, 32, "int32", ""),
    "i16": (layout.KP_CODE_INT, 16, "int16", ""),
    "i8": (layout.KP_CODE_INT, 8, "int8", ""),
    "u64": (layout.KP_CODE_UINT, 64, "uint64", ""),
    "u32": (layout.KP_CODE_UINT, 32, "uint32", ""),
    "u16": (layout.KP_CODE_UINT, 16, "uint16", ""),
    "u8": (layout.KP_CODE_UINT, 8, "uint8", ""),
    "bool": (layout.KP_CODE_BOOL, 8, "bool", ""),
}
_BY_NUMPY = {(other or name): dtype for dtype, (_, _, name, other) in _DTYPES.items()}
_BY_CODE = {(code, bits): dtype for dtype, (code, bits, _, _) in _DTYPES.items()}

_from_buffer = ctypes.c_char.from_buffer
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = POINTER(layout.kp_tensor)
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError("kplug makes arrays with NumPy, which is not installed") from None
    return numpy


@functools.lru_cache(maxsize=None)
def _numpy_dtype(name: str) -> Any:
    return _numpy().dtype(name)


def _row(dtype: str) -> Tuple[int, int, str, str]:
    try:
        return _DTYPES[dtype]
    except KeyError:
        raise Invalid(f"there is no dtype {dtype}; there are {', '.join(_DTYPES)}") from None


class Tensor:
    """An array whose elements are of a dtype that its own library has no name for.

    >>> Tensor(uint16_array, "bf16")
    >>> Tensor.from_float32(array).float32()
    """

    __slots__ = ("array", "dtype")

    def __init__(self, array: Any, dtype: str) -> None:
        bits = _row(dtype)[1]
        if array.dtype.itemsize * 8 != bits:
            raise Invalid(
                f"elements of {array.dtype} have {array.dtype.itemsize * 8} bits, "
                f"those of {dtype} have {bits}"
            )
        self.array = array
        self.dtype = dtype

    @property
    def shape(self) -> Tuple[int, ...]:
        """Of the array."""
        return tuple(self.array.shape)

    @classmethod
    def from_float32(cls, array: Any) -> Tensor:
        """bf16, rounded to the nearest, halves to even; not a number stays that."""
        numpy = _numpy()
        bits = numpy.ascontiguousarray(array, numpy.float32).view(numpy.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
        quiet = ((bits >> 16) | 0x40).astype(numpy.uint16)
        return cls(numpy.where(bits & 0x7FFFFFFF > 0x7F800000, quiet, rounded), "bf16")

    def float32(self) -> Any:
        """The values of a bf16 one as NumPy's array."""
        numpy = _numpy()
        if self.dtype != "bf16":
            raise Unsupported(f"{self.dtype} is not made float32 here; ml_dtypes can")
        return (numpy.asarray(self.array).astype(numpy.uint32) << 16).view(numpy.float32)

    def __repr__(self) -> str:
        return f"Tensor({self.array!r}, {self.dtype!r})"


def empty(shape: Tuple[int, ...], dtype: str, others: Sequence[Any] = ()) -> Any:
    """A new array of NumPy's; of a dtype that it lacks a Tensor, or where one of the
    others is ml_dtypes' such an array."""
    _, _, name, other = _row(dtype)
    numpy, kind = _numpy(), _numpy_dtype(name)
    if not other:
        return numpy.empty(shape, kind)
    for array in others:
        own = getattr(array, "dtype", None)
        if getattr(own, "name", None) == other:
            return numpy.empty(shape, own)
    return Tensor(numpy.empty(shape, kind), dtype)


class _Memory:
    """What NumPy asks of memory that is not its own."""

    def __init__(self, address: int, tensor: layout.kp_tensor, name: str, writes: bool) -> None:
        bytes_each = tensor.dtype.bits // 8
        count = tensor.ndim
        strides = (c_int64 * count).from_address(tensor.strides) if count else ()
        self.__array_interface__ = {
            "version": 3,
            "data": (address, not writes),
            "shape": _shape(tensor),
            "strides": tuple(step * bytes_each for step in strides),
            "typestr": _numpy().dtype(name).str,
        }


def _shape(tensor: layout.kp_tensor) -> Tuple[int, ...]:
    count = tensor.ndim
    return tuple((c_int64 * count).from_address(tensor.shape)) if count else ()


def view(tensor: layout.kp_tensor, writes: bool) -> Any:
    """The memory of a tensor as an array; valid as long as that memory is."""
    numpy = _numpy()
    dtype = _BY_CODE.get((tensor.dtype.code, tensor.dtype.bits))
    if dtype is None:
        raise Unsupported(f"NumPy has no type of code {tensor.dtype.code}")
    _, _, name, other = _DTYPES[dtype]
    shape = _shape(tensor)
    if 0 in shape:
        return empty(shape, dtype)
    array = numpy.asarray(_Memory(tensor.data + tensor.byte_offset, tensor, name, writes))
    return Tensor(array, dtype) if other else array


class Tensors:
    """A list of struct kp_tensor for one thread, filled from arrays call after call."""

    def __init__(self, count: int) -> None:
        self.list = (POINTER(layout.kp_tensor) * count)()
        self.kept: List[Any] = [None] * count
        self._memory = (layout.kp_tensor * count)()
        self._slots = [self._memory[i] for i in range(count)]
        self._pointers = [pointer(slot) for slot in self._slots]
        self._dims = [(c_int64 * (2 * MOST_DIMS))() for _ in range(count)]
        # The shape that its row of dims has strides for, and the whole type it was seen as.
        self._dense: List[Optional[Tuple[int, ...]]] = [None] * count
        self._seen: List[Any] = [(None, None, None)] * count
        self._nothing: List[Any] = [None] * count

    def put(self, i: int, array: Any, name: str, writes: bool) -> None:
        """Role number i is the array, which must stay until `clear`."""
        kind, dtype, shape = self._seen[i]
        if array.__class__ is kind and array.dtype is dtype and array.shape == shape:
            # As in the last call but for where it is: whole, writable memory of NumPy's.
            try:
                memory = _from_buffer(array)
            except (TypeError, ValueError, BufferError):
                pass
            else:
                self.kept[i] = memory
                self._slots[i].data = addressof(memory)
                return
        self._put_new(i, array, name, writes)

    def _put_new(self, i: int, array: Any, name: str, writes: bool) -> None:
        self._seen[i] = (None, None, None)
        try:
            capsule = array.__dlpack__()
        except (AttributeError, BufferError, TypeError, RuntimeError) as error:
            self._put_other(i, array, name, writes, error)
            return
        self.kept[i] = capsule
        place = _get_pointer(capsule, b"dltensor")
        tensor = place.contents
        if tensor.strides and not tensor.byte_offset:
            self.list[i] = place
        else:
            self._complete(i, tensor, array, name)
        self._remember(i, tensor, array, name)

    def put_tensor(self, i: int, tensor: Any) -> None:
        """A pointer to one that is complete; None: the role is absent."""
        self._seen[i] = (None, None, None)
        self.list[i] = tensor

    def _remember(self, i: int, tensor: layout.kp_tensor, array: Any, name: str) -> None:
        """NumPy's whole arrays: another one of this shape differs in where it is only."""
        numpy = sys.modules.get("numpy")
        if numpy is None or array.__class__ is not numpy.ndarray:
            return
        if array.size == 0 or not array.flags.c_contiguous:
            return
        shape, slot, dims = array.shape, self._slots[i], self._dims[i]
        self._complete(i, tensor, array, name)
        if shape != self._dense[i]:
            self._lay_out(i, shape, name)
        dims[MOST_DIMS : MOST_DIMS + len(shape)] = shape
        slot.strides = addressof(dims)
        slot.shape = addressof(dims) + 8 * MOST_DIMS
        self._seen[i] = (array.__class__, array.dtype, shape)

    def clear(self) -> None:
        """Lets go of the arrays."""
        self.kept[:] = self._nothing

    # -- what DLPack leaves open, or cannot say

    def _complete(self, i: int, tensor: layout.kp_tensor, array: Any, name: str) -> None:
        slot = self._slots[i]
        self._memory[i] = tensor
        if tensor.byte_offset:
            slot.data = (tensor.data or 0) + tensor.byte_offset
            slot.byte_offset = 0
        if not tensor.strides:
            shape = getattr(array, "shape", None) or _shape(tensor)
            if shape != self._dense[i]:
                self._lay_out(i, shape, name)
            slot.strides = addressof(self._dims[i])
        self.list[i] = self._pointers[i]

    def _lay_out(self, i: int, shape: Tuple[int, ...], name: str) -> None:
        """Row after row, the last dim next to itself."""
        strides, step = self._dims[i], 1
        if len(shape) > MOST_DIMS:
            raise Invalid(f"{name}: {len(shape)} dims, at most {MOST_DIMS} are possible")
        for d in range(len(shape) - 1, -1, -1):
            strides[d] = step
            step *= shape[d] or 1
        self._dense[i] = shape

    def _put_other(self, i: int, array: Any, name: str, writes: bool, error: Exception) -> None:
        if isinstance(array, Tensor):
            self.put(i, array.array, name, writes)
            self._complete(i, self.list[i].contents, array, name)
            code, bits, _, _ = _DTYPES[array.dtype]
            self._slots[i].dtype = layout.kp_dtype(code, bits, 1)
            self._seen[i] = (None, None, None)
            return
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(array, numpy.ndarray):
            why = "has no __dlpack__" if isinstance(error, AttributeError) else str(error)
            raise TypeError(f"{name}: {type(array).__name__} is no array for kplug: {why}")
        self._put_numpy(i, array, name, writes)

    def _put_numpy(self, i: int, array: Any, name: str, writes: bool) -> None:
        """What NumPy does not hand to DLPack: read-only arrays, bool, ml_dtypes'."""
        dtype = _BY_NUMPY.get(array.dtype.name) if array.dtype.isnative else None
        if dtype is None:
            raise TypeError(f"{name}: kplug has no dtype for NumPy's {array.dtype.str}")
        if writes and not array.flags.writeable:
            raise Invalid(f"{name}: the array is read-only, and the kernel writes to it")
        if any(step % array.itemsize for step in array.strides):
            raise Invalid(f"{name}: strides are no whole elements; copy the array")
        code, bits, _, _ = _DTYPES[dtype]
        count, dims, slot = array.ndim, self._dims[i], self._slots[i]
        dims[:count] = [step // array.itemsize for step in array.strides]
        dims[MOST_DIMS : MOST_DIMS + count] = array.shape
        self._dense[i] = None
        slot.data = array.ctypes.data
        slot.device = layout.kp_place(layout.KP_DEVICE_CPU, 0)
        slot.ndim = count
        slot.dtype = layout.kp_dtype(code, bits, 1)
        slot.strides = addressof(dims)
        slot.shape = addressof(dims) + 8 * MOST_DIMS
        slot.byte_offset = 0
        self.list[i] = self._pointers[i]
        self.kept[i] = array
