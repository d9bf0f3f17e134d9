"""Shared by products of a matrix, a plan and a preconditioner: transposes and conjugates that are
not stored, complex vectors of real matrices, and SciPy's LinearOperator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import Arrays
from ._checks import host_array


class Products:
    """Base of what is multiplied with vectors: it has `@`, `transposed_product` (A^T x) and
    `rmatvec` (A^H x), and gets the rest from here. The conjugate of a real one is itself."""

    __array_ufunc__ = None  # so that x @ A calls our __rmatmul__
    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    rmatvec: Any

    def _turned(self, transpose: bool, conjugate: bool) -> Any:
        raise NotImplementedError

    @property
    def T(self) -> Any:
        """The transpose, for products; it is not made."""
        return self._turned(True, False)

    @property
    def H(self) -> Any:
        """The conjugate transpose, for products; it is not made."""
        return self._turned(True, is_complex(self))

    def transpose(self) -> Any:
        return self.T

    def conj(self) -> Any:
        """The conjugate, for products; it is not made."""
        return self._turned(False, True) if is_complex(self) else self

    def __matmul__(self, x: Any) -> Any:
        raise NotImplementedError

    def __rmatmul__(self, x: Any) -> Any:
        """x A, by the transpose: (A^T x^T)^T."""
        if not hasattr(x, "shape"):
            x = host_array(x, "x")
        return self.T @ x if len(x.shape) == 1 else (self.T @ x.T).T

    def matvec(self, x: Any) -> Any:
        """A x, as SciPy's LinearOperator has it."""
        return self @ x

    matmat = dot = matvec

    def rmatmat(self, x: Any) -> Any:
        """A^H x, as SciPy's LinearOperator has it."""
        return self.rmatvec(x)

    def aslinearoperator(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator."""
        from scipy.sparse import linalg

        make: Any = linalg.LinearOperator
        products = (self.matvec, self.rmatvec, self.matmat)
        return make(self.shape, *products, self.dtype, rmatmat=self.rmatmat)


class Transposed(Products):
    """The transpose of `of`, its conjugate transpose or its conjugate, for products."""

    def __init__(self, of: Any, transposed: bool, conjugated: bool) -> None:
        self._of, self._transposed, self._conjugated = of, transposed, conjugated
        self.shape = of.shape[::-1] if transposed else of.shape
        self.dtype = of.dtype

    def __repr__(self) -> str:
        words = ["conjugate"] * self._conjugated + ["transpose"] * self._transposed
        return f"<{' '.join(words)} of {self._of!r}>"

    def _turned(self, transpose: bool, conjugate: bool) -> Any:
        transposed, conjugated = self._transposed != transpose, self._conjugated != conjugate
        if not transposed and not conjugated:
            return self._of
        return type(self)(self._of, transposed, conjugated)

    def __matmul__(self, x: Any) -> Any:
        if not self._conjugated:
            return self._of.transposed_product(x)
        return self._of.rmatvec(x) if self._transposed else conjugated(self._of.__matmul__, x)

    def rmatvec(self, x: Any) -> Any:
        """The product of the conjugate transpose of this one."""
        return self.H @ x


def is_complex(operator: Any) -> bool:
    return bool(operator.dtype.kind == "c")


def conjugated(product: Callable[[Any], Any], x: Any) -> Any:
    """The product of the conjugate: conj(A) x = conj(A conj(x))."""
    if not hasattr(x, "conj"):
        x = host_array(x, "x")
    return product(x.conj()).conj()


def check_shape(x: Any, length: int, name: str) -> None:
    if len(x.shape) not in (1, 2) or x.shape[0] != length:
        shape = tuple(x.shape)
        raise ValueError(f"{name} has the shape {shape}, not ({length},) or ({length}, k)")


def in_parts(
    kind: Arrays, x: Any, dtype: np.dtype[Any], length: int, product: Callable[[Any], Any]
) -> Any:
    """The product of a real operator with complex x: one product with the real and the imaginary
    parts as vectors of their own."""
    both = np.result_type(dtype, np.complex64)
    x = kind.asarray(x, both)
    check_shape(x, length, "x")
    return kind.complexes(product(kind.reals(x)), both, len(x.shape) == 2)
