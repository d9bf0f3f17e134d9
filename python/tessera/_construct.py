"""Matrices from what users have: SciPy's and CuPy's sparse arrays, dense arrays, block arrays.

Every function makes a handle. Arrays are used in place where their layout is the library's: 32-bit
columns, increasing in every row, and blocks that are stored by columns (all blocks of one row or
one column are). Row offsets are converted to 64 bits.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np

from . import _errors
from ._checks import host_array, index_array, is_sparse
from ._library import Context, Handle, constants, lib, structs

# The types of values: NumPy's, and the library's name. All tables of types are made from this one.
NAMES: dict[np.dtype[Any], str] = {
    np.dtype("f8"): "f64",
    np.dtype("f4"): "f32",
    np.dtype("c16"): "c64",
    np.dtype("c8"): "c32",
}
TYPES: dict[np.dtype[Any], int] = {
    dtype: constants[f"TESS_{name.upper()}"] for dtype, name in NAMES.items()
}
DTYPES: dict[int, np.dtype[Any]] = {number: dtype for dtype, number in TYPES.items()}
_Array: TypeAlias = np.ndarray[Any, Any]


def value_type(dtype: Any) -> np.dtype[Any]:
    """The type that values of `dtype` are stored in: those of `NAMES` as they are, halves as
    float32, integers as float64."""
    given: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    if given in NAMES:
        return given
    if given.kind == "f" and given.itemsize <= 4:
        return np.dtype("f4")
    if given.kind in "biu":
        return np.dtype("f8")
    *others, last = map(str, NAMES)
    raise TypeError(f"values are {given}: matrices are {', '.join(others)} or {last}")


def as_values(x: Any, dtype: Any = None) -> _Array:
    """x as an array of values, of the type that holds `dtype` or x's own. An imaginary part is
    never dropped, unless it is 0."""
    x = host_array(x, "values")
    dtype = value_type(x.dtype if dtype is None else dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        if np.any(x.imag):
            raise _errors.MatrixError(
                f"values have imaginary parts that are not 0, and {dtype} has none: x.real"
            )
        x = x.real
    with np.errstate(over="ignore"):
        values = np.asarray(x, dtype=dtype)
    if values.dtype.itemsize < x.dtype.itemsize and not np.array_equal(
        np.isfinite(values), np.isfinite(x)
    ):
        raise _errors.SizeError(f"values are outside the range of {dtype}")
    return values


def adopt(context: Context, function: Any, *arguments: Any, keep: Any = None) -> Handle:
    """A new matrix from a call of the library."""
    return context.make(lib.tess_matrix_destroy, (), function, *arguments, keep=keep)


def from_blocks(
    context: Context,
    data: Any,
    indices: Any,
    indptr: Any,
    shape: tuple[int, int] | None,
    dtype: Any,
    copy: bool,
) -> Handle:
    """`data` has the shape (blocks, r, c), or (entries,) for CSR."""
    data = as_values(data, dtype)
    if data.ndim == 1:
        data = data.reshape(-1, 1, 1)
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise ValueError(f"data has the shape {data.shape}, not (blocks, r, c)")
    count, height, width = data.shape
    columns = index_array(indices, np.int32, 2**31 - 1, "indices")
    offsets = index_array(indptr, np.int64, 2**63 - 1, "indptr")
    if offsets.size == 0 or offsets[-1] != count or columns.size != count:
        last = offsets[-1] if offsets.size else "missing"
        raise ValueError(
            f"{count} blocks, {columns.size} indices and the last of indptr {last}: not equal"
        )
    if shape is None:
        shape = ((offsets.size - 1) * height, (int(columns.max(initial=-1)) + 1) * width)
    if (offsets.size - 1) != -(-shape[0] // height):
        raise ValueError(
            f"indptr has {offsets.size} entries for {shape[0]} rows in blocks of {height}"
        )
    by_columns = data.transpose(0, 2, 1)
    in_place = by_columns.flags.c_contiguous and not copy
    stored = by_columns if by_columns.flags.c_contiguous else np.ascontiguousarray(data)
    order = "TESS_ORDER_COLUMN_MAJOR" if stored is by_columns else "TESS_ORDER_ROW_MAJOR"
    view = structs["tess_matrix_view"](
        type=TYPES[data.dtype],
        rows=shape[0],
        cols=shape[1],
        block_height=height,
        block_width=width,
        row_offsets=offsets.ctypes.data,
        columns=columns.ctypes.data,
        values=stored.ctypes.data,
    )
    arguments = (context.address, ctypes.byref(view), constants[order])
    if in_place:
        try:
            kept = (offsets, columns, stored)
            return adopt(
                context,
                lib.tess_matrix_from_bsr,
                *arguments,
                constants["TESS_OWNERSHIP_BORROW"],
                keep=kept,
            )
        except _errors.MatrixError:
            pass  # unsorted or duplicate columns: the copy is sorted, or the call names the fault
    return adopt(context, lib.tess_matrix_from_bsr, *arguments, constants["TESS_OWNERSHIP_COPY"])


def from_coordinates(
    context: Context, rows: Any, cols: Any, values: Any, shape: tuple[int, int] | None, dtype: Any
) -> Handle:
    values = np.ascontiguousarray(as_values(values, dtype))
    row = index_array(rows, np.int64, 2**63 - 1, "rows")
    col = index_array(cols, np.int64, 2**63 - 1, "columns")
    if not row.size == col.size == values.size:
        raise ValueError(f"{row.size} rows, {col.size} columns and {values.size} values: not equal")
    if shape is None:
        shape = (int(row.max(initial=-1)) + 1, int(col.max(initial=-1)) + 1)
    arrays = (row.ctypes.data, col.ctypes.data, values.ctypes.data)
    arguments = (context.address, TYPES[values.dtype], *shape, row.size, *arrays)
    return adopt(context, lib.tess_matrix_from_coo, *arguments)


def from_sparse(context: Context, x: Any, dtype: Any, copy: bool) -> Handle:
    """A sparse array of SciPy's, or of CuPy's, which is copied to the host."""
    if type(x).__module__.partition(".")[0] == "cupyx":
        x = x.get()
    if x.ndim != 2:
        raise ValueError(f"the array has {x.ndim} dimensions: a matrix has 2")
    value_type(x.dtype if dtype is None else dtype)
    if x.format not in ("bsr", "csr"):
        x, copy = x.tocsr(), False  # made here, used by nobody else
    return from_blocks(context, x.data, x.indices, x.indptr, x.shape, dtype, copy)


def from_dense(context: Context, x: Any, dtype: Any) -> Handle:
    if is_sparse(x):
        kind = type(x)
        raise TypeError(f"x is a {kind.__module__}.{kind.__name__}: make a SciPy array of it")
    x = np.atleast_2d(host_array(x, "x"))
    if x.ndim != 2:
        raise ValueError(f"the array has {x.ndim} dimensions: a matrix has 2")
    rows, cols = np.nonzero(x)
    return from_coordinates(context, rows, cols, x[rows, cols], x.shape, dtype)


def reblocked(context: Context, source: Handle, blocksize: tuple[int, int] | None) -> Handle:
    """The matrix in blocks of another size; None: detected."""
    blocking = structs["tess_blocking"](*blocksize) if blocksize else None
    return adopt(
        context,
        lib.tess_matrix_to_blocks,
        context.address,
        source.address,
        ctypes.byref(blocking) if blocking else None,
    )
