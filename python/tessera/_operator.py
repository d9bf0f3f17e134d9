"""The caller's operators: SciPy's LinearOperators, or any object with matvec or @, for the
library's solvers. They get a copy of x, which they may keep: the library's own memory lasts as long
as the solver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _library
from ._checks import host_array
from ._construct import TYPES
from ._library import Handle, Owner, constants, header, lib, structs
from ._plan import Device
from ._transpose import conjugated


def is_operator(A: Any) -> bool:
    """Whether A says how it is applied, and has no entries."""
    return hasattr(A, "matvec") and not hasattr(A, "tocsr") and not isinstance(A, Owner)


class Operator:
    """A tess_operator that calls `A`. It must live as long as what was made of it."""

    def __init__(self, A: Any, dtype: np.dtype[Any]) -> None:
        rows, cols = A.shape
        if rows != cols:
            raise ValueError(f"an operator must be square, not {rows} x {cols}")
        self.failure: BaseException | None = None
        self._dtype, self._rows = dtype, rows
        self._forward = A.matvec if hasattr(A, "matvec") else lambda x: A @ x
        self._backward: Callable[[Any], Any] = (
            A.rmatvec if hasattr(A, "rmatvec") else lambda x: conjugated(lambda v: A.T @ v, x)
        )
        self._function = header.callbacks["tess_apply_fn"](self._apply)
        self.struct = structs["tess_operator"](
            size=ctypes.sizeof(structs["tess_operator"]),
            type=TYPES[dtype],
            rows=rows,
            apply=self._function,
        )

    def _vector(self, address: int) -> np.ndarray[Any, Any]:
        memory = (ctypes.c_char * (self._rows * self._dtype.itemsize)).from_address(address)
        return np.frombuffer(memory, self._dtype)

    def _apply(self, _user: Any, transpose: int, x: int, y: int, _stream: Any) -> int:
        try:
            result = (self._backward if transpose else self._forward)(self._vector(x).copy())
            result = host_array(result, "the operator's result").reshape(-1)
            if result.size != self._rows:
                raise ValueError(f"the operator returned {result.size} numbers, not {self._rows}")
            np.copyto(self._vector(y), result, casting="same_kind")  # no imaginary part is lost
        except BaseException as error:  # cannot pass through the library
            self.failure = error
            return constants["TESS_ERR_CANCELLED"]
        return constants["TESS_OK"]

    def raise_failure(self) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure


class OperatorPlan(Owner):
    """What a solver needs of a plan, for an operator of the caller's on the CPU."""

    def __init__(self, A: Any) -> None:
        dtype = np.dtype(getattr(A, "dtype", None) or "f8")
        self.dtype = dtype if dtype in TYPES else np.dtype("c16" if dtype.kind == "c" else "f8")
        self.shape: tuple[int, int] = (A.shape[0], A.shape[1])
        self.operator = Operator(A, self.dtype)
        context = _library.context()
        self.device = Device(context, "cpu", None)
        parents: tuple[Handle, ...] = (self.device._handle,)
        self._handle = context.make(
            lib.tess_plan_destroy,
            parents,
            lib.tess_plan_from_operator,
            context.address,
            self.device._handle.address,
            ctypes.byref(self.operator.struct),
            keep={"operator": self.operator},
        )

    def own_stream(self) -> None: ...

    def _check_place(self, vector: Any) -> None:
        if vector.device is not None:
            raise ValueError("b lies on a GPU, and an operator of the caller's works on the CPU")
