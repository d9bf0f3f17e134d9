"""DLPack: arrays of any library through the capsule that their `__dlpack__` returns. Nothing is
copied. The capsule keeps the array alive: a caller that uses the address keeps the capsule."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # kinds of devices
ON_GPU = (CUDA, CUDA_MANAGED)
_READ_ONLY = 1  # a flag
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_kind", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, since DLPack 1.0; before, the capsule has a tensor alone."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Exported(NamedTuple):
    """An array through its capsule; strides are in scalars."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    read_only: bool
    capsule: Any


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype = ctypes.c_char_p
_name_of.argtypes = [ctypes.py_object]


def place(x: Any) -> tuple[int, int]:
    """The kind of device that x lies on, and its number."""
    kind, number = x.__dlpack_device__()
    return int(kind), int(number)


def _capsule_of(x: Any, stream: int | None) -> Any:
    options = {} if stream is None else {"stream": stream}
    try:
        return x.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # the library is older than DLPack 1.0
        return x.__dlpack__(**options)


def export(x: Any, stream: int | None) -> Exported:
    """On a GPU the array's library sees to it that `stream` finds the numbers there."""
    capsule = _capsule_of(x, stream)
    name, read_only = _name_of(capsule), False
    pointer = _pointer_of(capsule, name)
    if name == b"dltensor_versioned":
        versioned = _Versioned.from_address(pointer)
        tensor, read_only = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(pointer)
    kind = _KINDS.get(tensor.type_kind)
    if kind is None or tensor.type_lanes != 1:
        raise TypeError("x has a type that NumPy does not have: convert it")
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
    else:
        strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    dtype = np.dtype(f"{kind}{tensor.type_bits // 8}")
    address = int(tensor.data or 0) + tensor.byte_offset
    return Exported(address, shape, strides, dtype, read_only, capsule)
