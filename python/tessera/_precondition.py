"""Preconditioners alone, for SciPy's solvers and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import arrays_of
from ._checks import host_array
from ._library import Context, Owner, c_text, lib
from ._matrix import bsr_array
from ._plan import Plan
from ._transpose import Products, Transposed, check_shape, conjugated, in_parts, is_complex


def plan_of(A: Any) -> Plan:
    """A itself, or a plan for the CPU of the matrix that it is."""
    if isinstance(A, Plan):
        return A
    return (A if isinstance(A, bsr_array) else bsr_array(A)).plan("cpu", "estimate")


def spec_of(name: str, options: dict[str, Any]) -> bytes:
    """ "name:key=value,key=value" without what is None. The name may have keys already."""
    given = {key: value for key, value in options.items() if value is not None}
    text = ",".join(f"{key}={_text(value)}" for key, value in given.items())
    return c_text(f"{name}{',' if ':' in name else ':'}{text}" if text else name)


def _text(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def wait(kind: Any, x: Any) -> None:
    """Until x has been computed: solvers run in the library's own stream."""
    stream = kind.stream(x)[1]
    if stream is not None:
        stream.synchronize()


def set_modes(context: Context, function: Any, address: int, rows: int, modes: Any) -> None:
    """Gives modes, one a column, to a solver or a preconditioner."""
    columns = np.asfortranarray(host_array(modes, "modes"), "f8")
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != rows:
        raise ValueError(f"modes have the shape {columns.shape}, not ({rows}, k)")
    context.call(function, address, columns.shape[1], columns.ctypes.data, max(rows, 1))


class Preconditioner(Products, Owner):
    """M^-1 for a matrix or a plan: `M @ r`, `M.T @ r`, `M.H @ r`, and a LinearOperator for SciPy's
    `M=`. r may be a NumPy array or, for a plan on a GPU, an array of CuPy, PyTorch or JAX."""

    def __init__(self, A: Any, name: str = "ilu0", *, modes: Any = None, **options: Any) -> None:
        self.plan = plan_of(A)
        self.shape, self.dtype = self.plan.shape, self.plan.dtype
        context = self._context = self.plan._handle.context
        spec = spec_of(name, options)
        self.spec = spec.decode()
        self.plan.own_stream()
        self._handle = context.make(
            lib.tess_pc_destroy,
            (self.plan._handle,),
            lib.tess_pc_create,
            self.plan._handle.address,
            spec,
        )
        if modes is not None:
            self.set_modes(modes)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<tessera.Preconditioner {self.spec} of {rows} x {cols} {self.dtype}>"

    def set_modes(self, modes: Any) -> None:
        """amg: what the smoother cannot reduce, one mode a column."""
        address = self._handle.address
        set_modes(self._context, lib.tess_pc_set_modes, address, self.shape[0], modes)

    def describe(self) -> str:
        """What it was made of: the levels of amg. "" where there is nothing to say."""
        with self._context.lock:
            return str(lib.tess_pc_describe(self._handle.address).decode())

    def update(self, values: Any = None) -> None:
        """The next time step: new numbers in the same pattern, as Plan.update takes them."""
        if values is not None:
            self.plan.update(values)
        self.plan.own_stream()
        self._context.call(lib.tess_pc_update, self._handle.address, None)

    def _turned(self, transpose: bool, conjugate: bool) -> Transposed:
        return Transposed(self, transpose, conjugate)

    def __matmul__(self, r: Any) -> Any:
        return self._apply(lib.tess_pc_apply, r)

    def transposed_product(self, r: Any) -> Any:
        """M^-T r."""
        return conjugated(self.rmatvec, r) if is_complex(self) else self.rmatvec(r)

    def rmatvec(self, r: Any) -> Any:
        """M^-H r."""
        return self._apply(lib.tess_pc_apply_transpose, r)

    def _apply(self, function: Any, r: Any) -> Any:
        kind, rows = arrays_of(r), self.shape[0]
        if not is_complex(self) and kind.is_complex(r):
            return in_parts(kind, r, self.dtype, rows, lambda parts: self._apply(function, parts))
        r = kind.asarray(r, self.dtype)
        check_shape(r, rows, "r")
        several = len(r.shape) == 2
        source = kind.view(kind.contiguous(r.T if several else r))
        self.plan._check_place(source)
        z = kind.empty(r, tuple(source.shape), self.dtype, True)
        target = kind.view(z)
        wait(kind, r)
        self.plan.own_stream()
        step = rows * self.dtype.itemsize
        for j in range(source.shape[0] if several else 1):
            addresses = (source.address + j * step, target.address + j * step)
            self._context.call(function, self._handle.address, *addresses)
        z = kind.done(z)
        return z.T if several else z


def preconditioner(
    A: Any, name: str = "ilu0", *, modes: Any = None, **options: Any
) -> Preconditioner:
    """One of the library's preconditioners of a matrix, anything that bsr_array takes, or a plan,
    which says on which device. Names are those of `tessera.preconditioners()`. Options are their
    keys: levels, fill, drop, omega, schedule, domains, pc_type, strength, degree, bottom."""
    return Preconditioner(A, name, modes=modes, **options)


def _listed(name: Any, summary: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    while name(len(found)) is not None:
        number = len(found)
        found[name(number).decode()] = summary(number).decode()
    return found


def methods() -> dict[str, str]:
    """The methods of `solve`, each with a line about it."""
    return _listed(lib.tess_solve_method_name, lib.tess_solve_method_summary)


def preconditioners() -> dict[str, str]:
    """The preconditioners, each with a line about it."""
    return _listed(lib.tess_solve_pc_name, lib.tess_solve_pc_summary)
