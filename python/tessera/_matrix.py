"""Block-sparse matrices, as SciPy's users know sparse arrays."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from . import _construct, _library, _report
from ._arrays import NUMPY, arrays_of
from ._checks import block_of, index_array, is_shape, shape_of
from ._construct import DTYPES, TYPES, adopt
from ._library import Context, Handle, Owner, c_text, constants, lib, structs
from ._plan import Plan
from ._transpose import Products, Transposed

_SHORT = "bsr_array does not do this: use A.to_scipy()"


class bsr_array(Products, Owner):
    """A block-sparse matrix from

    - a sparse array or matrix of SciPy's of any kind, or of CuPy's;
    - (data, indices, indptr): data of the shape (blocks, r, c), or (entries,) for CSR;
    - (values, (rows, cols)): coordinates, summed where they are equal;
    - a dense array, or another bsr_array or its transpose;
    - (rows, cols): a shape, of a matrix without entries.

    Values are float64, float32, complex128 or complex64: `dtype`, or the type that x has. Integers
    become float64.

    `blocksize` (r, c) cuts it into such blocks. Without it BSR keeps its own, and the block size of
    anything else is detected. Arrays are used in place where the layout allows; they must then stay
    as they are. `copy=True` copies them."""

    def __init__(
        self,
        x: Any,
        shape: tuple[int, int] | None = None,
        dtype: Any = None,
        *,
        blocksize: tuple[int, int] | None = None,
        copy: bool = False,
    ) -> None:
        context = _library.context()
        found = None
        shape, blocksize = shape_of(shape), block_of(blocksize)
        if isinstance(x, transposed_array):
            x = x.copy()
        if isinstance(x, bsr_array):
            source = x._converted(dtype)
            context, made = x._handle.context, source._handle.share()
            found = x.blocksize
        elif isinstance(x, Handle):
            context, made = x.context, x
            found = (0, 0) if blocksize is None else None  # unchanged
        elif isinstance(x, tuple) and len(x) == 3:
            made = _construct.from_blocks(context, *x, shape, dtype, copy)
            found = np.shape(x[0])[1:] or None
        elif is_shape(x):
            made = _construct.from_coordinates(context, [], [], [], shape_of(x), dtype)
        elif isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], tuple | list):
            values, (rows, cols) = x
            made = _construct.from_coordinates(context, rows, cols, values, shape, dtype)
        elif hasattr(x, "tocsr"):
            made = _construct.from_sparse(context, x, dtype, copy)
            found = getattr(x, "blocksize", None)
        else:
            made = _construct.from_dense(context, x, dtype)
        self._take(made)
        if shape is not None and shape != self.shape:
            raise ValueError(f"shape {shape} was asked for, and x has {self.shape}")
        if blocksize is None and found is None:
            blocksize = _report.recommended(self._handle)
        if blocksize is not None and blocksize != self.blocksize:
            plain = self._handle
            self._take(_construct.reblocked(context, plain, blocksize))
            context.bury(plain)

    def _take(self, handle: Handle) -> None:
        view = structs["tess_matrix_view"]()
        lib.tess_matrix_get_view(handle.address, ctypes.byref(view))
        self._handle, self._view = handle, view
        self.shape = (view.rows, view.cols)
        self.blocksize: tuple[int, int] = (view.block_height, view.block_width)
        self.dtype = DTYPES[view.type]
        self._plans: dict[str, Plan] = {}
        self._nnz: int | None = None

    def __reduce__(self) -> Any:
        arrays = (
            np.array(self.data.transpose(0, 2, 1)),
            np.array(self.indices),
            np.array(self.indptr),
        )
        return _unpickle, (*arrays, self.shape)

    def _array(self, address: int | None, count: int, kind: Any) -> np.ndarray[Any, Any]:
        """An array of the library as a read-only NumPy array, which keeps the matrix alive."""
        if not count or not address:
            return np.empty(0, kind)
        memory: Any = (ctypes.c_char * (count * np.dtype(kind).itemsize)).from_address(address)
        memory._owner = self
        array: np.ndarray[Any, Any] = np.frombuffer(memory, kind)
        array.flags.writeable = False
        return array

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The blocks, (blocks, r, c), as they lie in the matrix: by columns."""
        (r, c), count = self.blocksize, self._view.blocks
        stored = self._array(self._view.values, count * r * c, self.dtype).reshape(count, c, r)
        return np.swapaxes(stored, 1, 2)

    @property
    def indices(self) -> np.ndarray[Any, Any]:
        """The block column of each block."""
        return self._array(self._view.columns, self._view.blocks, np.int32)

    @property
    def indptr(self) -> np.ndarray[Any, Any]:
        """Where the blocks of each block row begin."""
        return self._array(self._view.row_offsets, self._view.block_rows + 1, np.int64)

    @property
    def nnz(self) -> int:
        """Stored entries, zeros inside blocks included."""
        if self._nnz is None:
            self._nnz = int(_report.statistics(self._handle).stored)
        return self._nnz

    @property
    def nbytes(self) -> int:
        """Of the three arrays."""
        (r, c), view = self.blocksize, self._view
        return int(view.blocks * (r * c * self.dtype.itemsize + 4) + (view.block_rows + 1) * 8)

    size = nnz

    def __repr__(self) -> str:
        (rows, cols), (r, c) = self.shape, self.blocksize
        blocks = self._view.blocks
        return f"<tessera.bsr_array {rows} x {cols} {self.dtype}, {blocks} blocks of {r} x {c}>"

    def _repr_html_(self) -> str:
        return _report.html(self)

    def detect(self, ignore_zeros: bool = False) -> _report.Detection:
        """What blocks the matrix has; prints as `tessera info` does."""
        return _report.Detection(self, ignore_zeros)

    # Products

    def plan(self, device: str = "auto", effort: str = "measure", **options: Any) -> Plan:
        """Prepares the matrix for repeated products on "cpu", "cpu:4", "cuda", "cuda:1", "ref" or
        "auto". effort: "measure" times the most promising kernels, "estimate" asks the performance
        model alone, "exhaustive" times everything. Options: format, kernel, params,
        reproducible, and regroup: "auto", "on" or "off", whether the plan may permute inside so
        that blocks appear which the numbering hides."""
        return Plan(self, device, effort, **options)

    def _plan_for(self, x: Any) -> Plan:
        """A plan on x's device, chosen without measuring; made once."""
        device = "cpu"
        if not isinstance(x, np.ndarray):
            kind = arrays_of(x)
            number = None if kind is NUMPY else kind.device(x)
            device = "cpu" if number is None else f"cuda:{number}"
        plan = self._plans.get(device)
        if plan is None:
            plan = self._plans[device] = Plan(_alias(self), device, "estimate")
        return plan

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, bsr_array) or hasattr(x, "tocsr"):
            raise TypeError("products of two sparse matrices are SciPy's: use A.to_scipy()")
        return self._plan_for(x) @ x

    def transposed_product(self, x: Any) -> Any:
        """A^T x."""
        return self._plan_for(x).transposed_product(x)

    def rmatvec(self, x: Any) -> Any:
        """A^H x, the conjugate transpose's product."""
        return self._plan_for(x).rmatvec(x)

    def aslinearoperator(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator."""
        return self._plan_for(np.empty(0)).aslinearoperator()

    def _turned(self, transpose: bool, conjugate: bool) -> transposed_array:
        return transposed_array(self, transpose, conjugate)

    # Other matrices from this one

    def _make(self, function: Any, *arguments: Any) -> bsr_array:
        context = self._handle.context
        return bsr_array(
            adopt(context, function, context.address, self._handle.address, *arguments)
        )

    def _converted(self, dtype: Any) -> bsr_array:
        if dtype is None or _construct.value_type(dtype) == self.dtype:
            return self
        return self._make(lib.tess_matrix_to_type, TYPES[_construct.value_type(dtype)])

    def astype(self, dtype: Any) -> bsr_array:
        """The matrix in float32, float64, complex64 or complex128; itself where it is that already.
        A complex matrix becomes a real one where all of its imaginary parts are 0."""
        return self._converted(dtype)

    @property
    def real(self) -> bsr_array:
        """The real parts as a real matrix of the same pattern."""
        return self._make(lib.tess_matrix_real_part)

    def to_blocks(self, blocksize: tuple[int, int] | None = None) -> bsr_array:
        """The matrix in blocks of another size; None: detected."""
        given, context = block_of(blocksize), self._handle.context
        return bsr_array(_construct.reblocked(context, self._handle, given))

    def copy(self) -> bsr_array:
        """The same matrix in arrays of its own."""
        return self.to_blocks(self.blocksize)

    def permute(self, order: Any) -> bsr_array:
        """Block rows and columns renumbered alike: `order` lists the old numbers in their new
        order."""
        order = index_array(order, np.int64, 2**63 - 1, "order")
        if order.shape != (self._view.block_rows,):
            raise ValueError(f"order has the shape {order.shape}, not ({self._view.block_rows},)")
        return self._make(lib.tess_matrix_permute, order.ctypes.data)

    def to_scipy(self) -> Any:
        """A scipy.sparse.bsr_array; a csr_array for 1 x 1 blocks, and where the block size does
        not divide the matrix, which SciPy's BSR needs."""
        from scipy import sparse

        (r, c), (rows, cols) = self.blocksize, self.shape
        if rows % r or cols % c:
            return self._make(lib.tess_matrix_to_csr, constants["TESS_ZEROS_KEEP"]).to_scipy()
        indices, indptr = np.array(self.indices), np.array(self.indptr)
        if self._view.blocks < 2**31:
            indptr = indptr.astype(np.int32)
        if (r, c) == (1, 1):
            return sparse.csr_array(
                (np.array(self.data.reshape(-1)), indices, indptr), shape=self.shape
            )
        blocks = np.ascontiguousarray(self.data)
        return sparse.bsr_array((blocks, indices, indptr), shape=self.shape)

    def toarray(self) -> np.ndarray[Any, Any]:
        """The dense matrix."""
        dense: np.ndarray[Any, Any] = self.to_scipy().toarray()
        return dense

    def diagonal_blocks(self) -> np.ndarray[Any, Any]:
        """The blocks on the diagonal, zeros for those that are not stored."""
        r = self.blocksize[0]
        count = min(self._view.block_rows, self._view.block_cols)
        blocks = np.zeros((count, r, r), self.dtype)
        address = self._handle.context.address
        self._handle.context.call(
            lib.tess_matrix_diagonal_blocks, address, self._handle.address, blocks.ctypes.data, None
        )
        return np.swapaxes(blocks, 1, 2)

    def write(self, path: str | os.PathLike[str]) -> None:
        """To a file: .mtx, .mtx.gz or .tess, by its name."""
        context = self._handle.context
        context.call(lib.tess_matrix_write, context.address, self._handle.address, c_text(path))

    def _values_of(self, values: Any) -> np.ndarray[Any, Any]:
        """New values in the order of this matrix's arrays, for an update."""
        if isinstance(values, bsr_array) or hasattr(values, "tocsr"):
            new = values if isinstance(values, bsr_array) else bsr_array(values, blocksize=(1, 1))
            new = new._converted(self.dtype)
            taker, context = self.copy(), self._handle.context
            addresses = (taker._handle.address, new._handle.address)
            context.call(lib.tess_matrix_update, context.address, *addresses)
            data = taker.data
        else:
            data = _construct.as_values(values, self.dtype)
            if data.shape != self.data.shape:
                raise ValueError(f"values have the shape {data.shape}, not {self.data.shape}")
        return np.ascontiguousarray(data.transpose(0, 2, 1))

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(f"{_SHORT} for slices, elementwise arithmetic and comparisons")

    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __pow__ = __neg__ = __abs__ = _refuse
    __getitem__ = __setitem__ = __lt__ = __le__ = __gt__ = __ge__ = __len__ = __iter__ = (
        __bool__
    ) = _refuse

    def __mul__(self, other: Any) -> Any:
        raise TypeError(f"{_SHORT} for elementwise products and A @ x for A's product with x")

    __rmul__ = __mul__


def _alias(A: bsr_array) -> bsr_array:
    """The same matrix as another object: A's own plans must not keep A itself."""
    return bsr_array(A._handle.share())


class transposed_array(Transposed):
    """`A.T`, `A.H` and `A.conj()`: products with the transpose of a matrix, its conjugate transpose
    or its conjugate, which is not made. `.copy()` makes a matrix of it."""

    def copy(self) -> bsr_array:
        """A matrix of its own."""
        of: bsr_array = self._of
        if self._conjugated:
            made = of._make(lib.tess_matrix_conjugate_transpose)
            return made if self._transposed else made.T.copy()
        return of._make(lib.tess_matrix_transpose)

    def to_scipy(self) -> Any:
        S = self._of.to_scipy()
        S = S.conj() if self._conjugated else S
        return S.T if self._transposed else S


def _unpickle(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> bsr_array:
    return bsr_array((data.transpose(0, 2, 1), indices, indptr), shape)


def read(path: str | os.PathLike[str], blocksize: tuple[int, int] | None = None) -> bsr_array:
    """A matrix from a Matrix Market file, plain or gzip, or a .tess file. The block size of a
    Matrix Market file is detected unless it is given; (1, 1) leaves it as it is."""
    context = _library.context()
    blocksize = block_of(blocksize)
    made = bsr_array(adopt(context, lib.tess_matrix_read, context.address, c_text(path)))
    if blocksize is None and made.blocksize == (1, 1):
        blocksize = _report.recommended(made._handle)
    return made if blocksize in (None, made.blocksize) else made.to_blocks(blocksize)


def generate(problem: str, *, rhs: bool = False, **keys: Any) -> Any:
    """A test problem: generate("stencil27", n=48, b=3), or in one text "stencil27:n=48,b=3". With
    rhs=True a pair of the matrix and its right-hand side."""
    text = problem
    if keys:
        text += (":" if ":" not in problem.removeprefix("gen:") else ",") + ",".join(
            f"{k}={v}" for k, v in keys.items()
        )
    context = _library.context()
    vector = ctypes.c_void_p()
    wanted = ctypes.byref(vector) if rhs else None
    A = bsr_array(
        adopt(
            context,
            lambda out: lib.tess_matrix_generate(context.address, c_text(text), out, wanted),
        )
    )
    if not rhs:
        return A
    return A, _take_vector(context, vector.value, A.shape[0], A.dtype)


def _take_vector(
    context: Context, address: int | None, count: int, dtype: Any
) -> np.ndarray[Any, Any]:
    """Copies an array of the library and releases it."""
    values = np.empty(count, dtype)
    if address and count:
        ctypes.memmove(values.ctypes.data, address, values.nbytes)
    context.release(address)
    return values


def read_vector(path: str | os.PathLike[str], dtype: Any = "f8") -> np.ndarray[Any, Any]:
    """A dense vector from a Matrix Market file, one of NumPy's (.npy), or a text with one number a
    line. A file of complex numbers needs a complex dtype."""
    context = _library.context()
    count, values = ctypes.c_int64(), ctypes.c_void_p()
    out = (ctypes.byref(count), ctypes.byref(values))
    kind = _construct.value_type(dtype)
    context.call(lib.tess_vector_read, context.address, c_text(path), TYPES[kind], *out)
    return _take_vector(context, values.value, count.value, kind)
