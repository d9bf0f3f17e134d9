"""Arrays as the library sees them: an address, sizes and strides, in host or device memory."""

from __future__ import annotations

from typing import Any

import numpy as np


class Vector:
    """An array seen through its address. `strides` are in scalars; `device` is None in host memory
    and the number of the GPU otherwise."""

    __slots__ = ("address", "shape", "strides", "dtype", "device", "keep")

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        device: int | None,
        keep: Any,
    ) -> None:
        self.address, self.shape, self.strides = address, shape, strides
        self.dtype, self.device, self.keep = dtype, device, keep

    def leading(self, by_rows: bool) -> int | None:
        """The scalars from one row (or column) of a matrix to the next; None where its rows (or
        columns) are not contiguous."""
        (n, k), (step, inner) = self.shape, self.strides
        if not by_rows:
            n, k, step, inner = k, n, inner, step
        if (inner != 1 and k > 1) or (step < k and n > 1):
            return None
        return max(step if n > 1 else k, 1)

    def turned(self) -> Vector:
        """The transpose."""
        sizes = (self.shape[::-1], self.strides[::-1])
        return Vector(self.address, *sizes, self.dtype, self.device, self.keep)

    def contiguous(self) -> bool:
        """Whether a vector is, or the rows or the columns of a matrix."""
        if len(self.shape) == 1:
            return self.strides[0] == 1 or self.shape[0] <= 1
        return self.leading(True) is not None or self.leading(False) is not None


def in_scalars(strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Strides in bytes as those of a Vector. The distance of fields of
    records may be a fraction of a scalar: that stride becomes -1, which is never contiguous."""
    return tuple(-1 if s % size else s // size for s in strides)


def of_numpy(x: np.ndarray[Any, Any]) -> Vector:
    if not isinstance(x, np.ndarray):  # x itself was made an array: this is out
        raise TypeError(f"out is a {type(x).__name__}, not an array")
    strides = in_scalars(x.strides, x.itemsize)
    return Vector(x.ctypes.data, x.shape, strides, x.dtype, None, x)


def of_cuda_interface(x: Any, device: int) -> Vector:
    """The CUDA array interface: CuPy, JAX, Numba and others have it."""
    fields = x.__cuda_array_interface__
    dtype, shape = np.dtype(fields["typestr"]), tuple(fields["shape"])
    strides = fields.get("strides")
    if strides is None:
        strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    else:
        strides = in_scalars(strides, dtype.itemsize)
    return Vector(int(fields["data"][0] or 0), shape, strides, dtype, device, x)
