"""What is checked before the library reads a caller's arrays and numbers: that nothing is masked,
that no digits are lost, and that a number fits the C type that takes it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import _errors


def host_array(x: Any, name: str) -> np.ndarray[Any, Any]:
    """x as one of NumPy's arrays, from what np.asarray takes or from DLPack in host memory. NumPy
    would drop a mask, and read the numbers below it."""
    if is_masked(x):
        raise ValueError(
            f"{name}: masked values have no number, fill them (x.filled(0)) or cut them"
        )
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def is_masked(x: Any) -> bool:
    return isinstance(x, np.ma.MaskedArray) and bool(np.ma.is_masked(x))


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse array, of SciPy or of another library."""
    return hasattr(x, "tocsr") or hasattr(x, "todense")


def check_type(have: np.dtype[Any], want: np.dtype[Any]) -> None:
    """Refuses a type of numbers with more digits, or with imaginary parts. Integers may be too
    large, which check_integers finds out."""
    if have.kind in "biu" or np.can_cast(have, want):
        return
    both = np.result_type(have, want) if have.kind in "fc" else have
    other = f", or the matrix: A.astype('{both}')" if both.char in "fdFD" else ""
    raise TypeError(f"x is {have}, which {want} does not hold: convert x{other}")


def check_integers(x: Any, have: np.dtype[Any], converted: Any, back: Any) -> None:
    """Refuses integers x of type `have` that `converted` holds rounded. `back` makes the integers
    of floating point again; numbers beyond their range would become anything."""
    if have.kind not in "iu":
        return
    limit = 2.0 ** (8 * have.itemsize - (have.kind == "i"))
    real = converted.real
    inside = (real < limit) & (real >= -limit)
    with np.errstate(invalid="ignore"):
        same = back(real) == x
    if not bool((inside & same).all()):
        raise TypeError(f"x has integers that {converted.dtype} does not hold: convert x")


def integer(given: Any, bits: int, what: str) -> int:
    """An integer of any kind that a C type of so many bits holds: ctypes drops higher bits."""
    number = operator.index(given)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _errors.SizeError(f"{what} = {number} does not fit {bits} bits")
    return number


def pair(given: Any, bits: int, what: str) -> tuple[int, int] | None:
    """Exactly two integers, of any kind. None stays."""
    if given is None:
        return None
    try:
        rows, cols = map(operator.index, given)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {given!r}, not two integers") from None
    return integer(rows, bits, what), integer(cols, bits, what)


def is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and all(isinstance(n, int | np.integer) for n in x)


def shape_of(given: Any) -> tuple[int, int] | None:
    return pair(given, 64, "shape")


def block_of(given: Any) -> tuple[int, int] | None:
    return pair(given, 32, "blocksize")


def index_array(array: Any, kind: type, most: int, what: str) -> np.ndarray[Any, Any]:
    array = host_array(array, what)
    if array.shape == (0,):
        return np.empty(0, kind)  # NumPy makes an empty list one of floats
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{what} is {array.ndim}-dimensional {array.dtype}, not a list of integers")
    if array.dtype != kind and array.size and (array.max() > most or array.min() < -most):
        raise _errors.SizeError(f"{what} holds {array.max()}: the largest index is {most}")
    return np.ascontiguousarray(array, dtype=kind)
