"""DLPack: arrays of any library through the capsule that their `__dlpack__` returns. Nothing is
copied. The capsule keeps the array alive: a caller that uses the address keeps the capsule."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # kinds of devices
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


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def place(x: Any) -> tuple[int, int]:
    """The kind of device that x lies on, and its number."""
    kind, number = x.__dlpack_device__()
    return int(kind), int(number)


def export(x: Any, stream: int | None) -> tuple[int, tuple[int, ...], tuple[int, ...], Any, Any]:
    """Address, shape, strides in scalars, type, and the capsule. On a GPU the array's library sees
    to it that `stream` finds the numbers there."""
    capsule = x.__dlpack__() if stream is None else x.__dlpack__(stream=stream)
    tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.type_kind)
    if kind is None or tensor.type_lanes != 1:
        raise TypeError("x has a type that NumPy does not have: convert it")
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
    else:
        strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    dtype = np.dtype(f"{kind}{tensor.type_bits // 8}")
    return int(tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, capsule
