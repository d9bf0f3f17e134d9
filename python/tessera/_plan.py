"""Plans: a matrix prepared for repeated products on a device."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _errors, _library
from ._arrays import arrays_of
from ._library import Context, Handle, Owner, c_text, constants, fast, lib, structs
from ._transpose import Products, Transposed, check_shape, in_parts, is_complex
from ._vector import Vector

if TYPE_CHECKING:
    from ._matrix import bsr_array

EFFORTS = ("measure", "estimate", "exhaustive")
REGROUPS = ("auto", "on", "off")
_empty = np.empty
_fast = fast
_ndarray = np.ndarray


class Device(Owner):
    """A device that is open: "cpu: 2 threads, neon"."""

    def __init__(self, context: Context, name: str, matrix: Handle | None) -> None:
        if _library.forked and name.startswith("cuda"):
            raise _errors.UnsupportedError(
                f"{name} cannot be used in a forked child: start it by multiprocessing's 'spawn'"
            )
        self.name = name
        self._handle = context.make(
            lib.tess_device_close,
            (),
            lib.tess_device_open_for,
            context.address,
            c_text(name),
            matrix.address if matrix is not None else None,
        )
        self.description: str = lib.tess_device_description(self._handle.address).decode()
        self.is_cuda = self.description.startswith("cuda")
        number = name.partition(":")[2]
        self.number = int(number) if self.is_cuda and number.isdigit() else 0

    def __repr__(self) -> str:
        return f"<tessera.Device {self.description}>"


def open_device(context: Context, name: str, matrix: Handle) -> Device:
    """The context's device of that name; "auto" depends on the matrix and is not kept."""
    device = context.devices.get(name)
    if device is None:
        device = Device(context, name, matrix)
        if name != "auto":
            context.devices[name] = device
    return device


class Plan(Products, Owner):
    """A matrix prepared for products on a device. `plan @ x` is A x, `plan.T @ x` its transpose's
    and `plan.H @ x` its conjugate transpose's product.

    x may be a NumPy array or, on a GPU, an array of CuPy, PyTorch or JAX; the result is of the same
    kind, and no array is copied on the way."""

    def __init__(
        self,
        matrix: bsr_array,
        device: str = "cpu",
        effort: str = "measure",
        *,
        format: str | None = None,
        kernel: str | None = None,
        params: str | None = None,
        reproducible: bool = False,
        regroup: str = "auto",
    ) -> None:
        if effort not in EFFORTS:
            raise ValueError(f"effort {effort!r} is none of {', '.join(EFFORTS)}")
        if regroup not in REGROUPS:
            raise ValueError(f"regroup {regroup!r} is none of {', '.join(REGROUPS)}")
        context, source = matrix._handle.context, matrix._handle
        self.device = open_device(context, device, source)
        options = structs["tess_plan_options"](
            effort=constants["TESS_EFFORT_" + effort.upper()],
            format=c_text(format) if format else None,
            kernel=c_text(kernel) if kernel else None,
            params=c_text(params) if params else None,
            reproducible=int(bool(reproducible)),
            regroup=constants["TESS_REGROUP_" + regroup.upper()],
        )
        self._handle = context.make(
            lib.tess_plan_destroy,
            (source, self.device._handle),
            lib.tess_plan_create,
            context.address,
            source.address,
            self.device._handle.address,
            ctypes.byref(options),
            keep={},
        )
        self.matrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self._context = context
        self._plan = self._handle.address
        self._product = _product_of(self._plan, self.shape, self.dtype, self.device)
        self._x_shape = (self.shape[1],)
        self._rows = self.shape[0]
        self._stream: int | None = None

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<tessera.Plan of {rows} x {cols} {self.dtype} on {self.device.description}>"

    def explain(self) -> str:
        """What was chosen, and why, with numbers."""
        with self._context.lock:
            return str(lib.tess_plan_explain(self._plan).decode())

    def _turned(self, transpose: bool, conjugate: bool) -> TransposedPlan:
        return TransposedPlan(self, transpose, conjugate)

    def __matmul__(self, x: Any) -> Any:
        # The fast path for the most common case: a NumPy vector in the library's layout.
        if type(x) is _ndarray:
            if self._product is None:
                return self.multiply(x)
            y = _empty(self._rows, self.dtype)
            context = self._context
            with context.lock:
                status = _fast.spmv(self._product, x, y)
                if status > 0:
                    context.check(status)
            if status:  # x has another type or shape, or is strided
                return self.multiply(x)
            if context.dead:
                context.sweep()
            return y
        kind = arrays_of(x)
        if kind.new is not None and self._product is not None:
            context = self._context
            with context.lock:
                y = _fast.spmv_new(self._product, x, kind.new, kind.current_stream, self._stream)
                if type(y) is int:
                    context.check(y)
            if y is not None:  # otherwise x has another layout, or the stream differs
                if context.dead:
                    context.sweep()
                return y
        found = kind.fast(x, self.dtype, self._x_shape, self._rows, self.device.number)
        if found is None or not self.device.is_cuda:
            return self.multiply(x)
        source, target, y, stream, keep = found
        if stream != self._stream:
            self._use_stream(stream, keep)
        if self._product is None:
            self._context.quick(_spmv, self._plan, 1.0, source, 0.0, target)
        else:
            self._context.quick(_fast.spmv_at, self._product, source, target)
        return y

    def transposed_product(self, x: Any) -> Any:
        """A^T x."""
        return self.multiply(x, transpose=True)

    def rmatvec(self, x: Any) -> Any:
        """A^H x, the conjugate transpose's product."""
        return self.multiply(x, transpose=True, conjugate=True)

    def multiply(
        self,
        x: Any,
        out: Any = None,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        transpose: bool = False,
        conjugate: bool = False,
    ) -> Any:
        """alpha A x + beta out, in `out` if it is given: an array of the same kind as x, of the
        matrix's type. x has one or two dimensions. beta = 0 never reads out. With `transpose` A^T
        takes the place of A, with `conjugate` as well A^H."""
        if conjugate and not transpose:
            raise ValueError("conjugate needs transpose: A^H is both")
        alpha, beta = _factor(alpha), _factor(beta)
        if beta != 0.0 and out is None:
            raise ValueError("beta needs out")
        kind = arrays_of(x)
        if not is_complex(self):
            conjugate = False
            if complex in (type(alpha), type(beta)):
                raise TypeError("alpha and beta of a real matrix are real: A.astype(complex)")
            if kind.is_complex(x):
                return self._multiply_parts(kind, x, out, alpha, transpose)
        x = kind.asarray(x, self.dtype)
        if getattr(x, "requires_grad", False) and out is None and alpha == 1.0:
            from ._torch import differentiable

            return differentiable(self, x, transpose, conjugate)
        rows, cols = self.shape[::-1] if transpose else self.shape
        check_shape(x, cols, "x")
        source = kind.view(x)
        if not source.contiguous():
            source = kind.view(kind.contiguous(x))
        self._check_place(source)
        shape = (rows, *source.shape[1:])
        turned = transpose and len(shape) == 2 and out is None  # y is made by columns
        if turned:
            y = kind.empty(x, shape[::-1], self.dtype, True)
            target = kind.view(y).turned()
        elif out is None:
            by_rows = len(shape) == 1 or source.leading(True) is not None
            y = kind.empty(x, shape, self.dtype, by_rows)
            target = kind.view(y)
        else:
            y, target = out, arrays_of(out).target(out)
        self._check_out(target, source, shape)
        stream, keep = kind.stream(x)
        if source.device is not None and stream != self._stream:
            self._use_stream(stream, keep)
        operation = _OPERATIONS[transpose, conjugate]
        if len(shape) == 1:
            self._product_at(operation, alpha, source.address, beta, target.address)
        elif transpose:
            self._transpose_columns(operation, alpha, kind, x, source, beta, target)
        else:
            self._columns(alpha, source, beta, target)
        if target.device is not None and stream is None:
            self._context.quick(lib.tess_device_synchronize, self.device._handle.address)
        if out is None:
            y = kind.done(y)
        return y.T if turned else y

    def _multiply_parts(
        self, kind: _arrays.Arrays, x: Any, out: Any, alpha: complex, transpose: bool
    ) -> Any:
        """A real matrix and complex x."""
        if out is not None:
            raise TypeError("x is complex and the matrix real: their product has no out")

        def product(parts: Any) -> Any:
            return self.multiply(parts, alpha=alpha, transpose=transpose)

        return in_parts(kind, x, self.dtype, self.shape[0 if transpose else 1], product)

    def _product_at(self, operation: int, alpha: complex, x: int, beta: complex, y: int) -> None:
        """y = alpha op(A) x + beta y for the vectors at two addresses."""
        if complex in (type(alpha), type(beta)):
            arguments = (_struct(alpha), x, _struct(beta), y)
            self._context.quick(lib.tess_spmv_complex, self._plan, operation, *arguments)
        else:
            self._context.quick(_PRODUCTS[operation], self._plan, alpha, x, beta, y)

    def _columns(self, alpha: complex, source: Vector, beta: complex, target: Vector) -> None:
        count = source.shape[1]
        if count == 0 or target.shape[0] == 0:
            return
        for order in ("TESS_ORDER_ROW_MAJOR", "TESS_ORDER_COLUMN_MAJOR"):
            by_rows = order == "TESS_ORDER_ROW_MAJOR"
            ldx, ldy = source.leading(by_rows), target.leading(by_rows)
            if ldx is not None and ldy is not None:
                product: Any = lib.tess_spmm
                factors: tuple[Any, Any] = (alpha, beta)
                if complex in (type(alpha), type(beta)):
                    product, factors = lib.tess_spmm_complex, (_struct(alpha), _struct(beta))
                arguments = (factors[0], source.address, ldx, factors[1], target.address, ldy)
                self._context.quick(product, self._plan, count, constants[order], *arguments)
                return
        raise ValueError("x and out must both be stored by rows or both by columns")

    def _transpose_columns(
        self,
        operation: int,
        alpha: complex,
        kind: _arrays.Arrays,
        x: Any,
        source: Vector,
        beta: complex,
        target: Vector,
    ) -> None:
        """The library has no product of the transpose with several vectors. They are multiplied
        one after the other, from columns and to columns."""
        count = source.shape[1]
        if count == 0:
            return
        if source.strides[0] != 1 and source.shape[0] > 1:
            copy = kind.contiguous(x.T)
            source = kind.view(copy)
            step = source.strides[0]
        else:
            step = source.strides[1]
        if target.strides[0] != 1 and target.shape[0] > 1:
            raise ValueError("out must be stored by columns for a product with the transpose")
        size = self.dtype.itemsize
        for j in range(count):
            x_address = source.address + j * step * size
            y_address = target.address + j * target.strides[1] * size
            self._product_at(operation, alpha, x_address, beta, y_address)

    def _check_place(self, vector: Vector) -> None:
        if vector.device is None:
            return
        if not self.device.is_cuda:
            raise ValueError(
                f"x lies on a GPU and the plan is for {self.device.name}: A.plan('cuda')"
            )
        if vector.device != self.device.number:
            raise ValueError(
                f"x lies on GPU {vector.device} and the plan is for {self.device.name}"
            )

    def _check_out(self, target: Vector, source: Vector, shape: tuple[int, ...]) -> None:
        if target.shape != shape or target.dtype != self.dtype:
            raise ValueError(f"out is {target.shape} {target.dtype}, not {shape} {self.dtype}")
        if target.device != source.device:
            raise ValueError("x and out must both lie in host memory or on the same GPU")
        if not target.contiguous():
            raise ValueError("out is not contiguous: neither its rows nor its columns are")
        flags = getattr(target.keep, "flags", None)
        if isinstance(target.keep, _ndarray) and flags is not None and not flags.writeable:
            raise ValueError("out is read-only")

    def _use_stream(self, stream: int | None, keep: Any) -> None:
        """Changes the stream. The library waits for the old one, which must be alive until then."""
        self._context.quick(lib.tess_plan_set_stream, self._plan, stream)
        self._stream = stream
        self._handle.keep["stream"] = keep

    def own_stream(self) -> None:
        """The library's own stream again, as a solver needs it."""
        if self._stream is not None:
            self._use_stream(None, None)

    def update(self, values: Any) -> None:
        """New numbers in the same pattern, without planning again: an array like `A.data`, or a
        matrix whose entries lie inside A's blocks. `A` itself keeps its numbers."""
        data = self.matrix._values_of(values)
        self._context.call(lib.tess_plan_update_values, self._plan, data.ctypes.data)
        self._handle.keep["values"] = data  # may be used in place


class TransposedPlan(Transposed):
    """`plan.T` and `plan.H`: products with the transpose or the conjugate transpose of the plan's
    matrix, which is not made."""


def _factor(value: Any) -> complex:
    """A float if the factor is real."""
    value = complex(value)
    return value if value.imag else float(value.real)


def _struct(factor: complex) -> Any:
    return structs["tess_complex"](factor.real, factor.imag)


def _product_of(plan: int, shape: tuple[int, int], dtype: np.dtype[Any], device: Device) -> Any:
    """The product object of `_fast` for a plan; None if there is no such module."""
    if _fast is None:
        return None
    address = ctypes.cast(_spmv, ctypes.c_void_p).value
    number = device.number if device.is_cuda else -1
    format = np.empty(0, dtype).data.format
    return _fast.product(address, plan, *shape, format, dtype.itemsize, dtype, number)


_spmv = lib.tess_spmv
_OPERATIONS = {  # by transpose and conjugate
    (False, False): constants["TESS_OPERATION_NONE"],
    (True, False): constants["TESS_OPERATION_TRANSPOSE"],
    (True, True): constants["TESS_OPERATION_CONJUGATE_TRANSPOSE"],
}
_PRODUCTS = {
    _OPERATIONS[False, False]: _spmv,
    _OPERATIONS[True, False]: lib.tess_spmv_transpose,
    _OPERATIONS[True, True]: lib.tess_spmv_conjugate_transpose,
}
