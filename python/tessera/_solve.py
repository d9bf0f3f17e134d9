"""Krylov solvers: `solve` for one system, `Solver` for many, and SciPy's names for drop-in use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import arrays_of
from ._checks import host_array
from ._errors import ArgumentError
from ._library import Owner, _Interruption, constants, header, lib, structs
from ._operator import Operator, OperatorPlan, is_operator
from ._plan import Plan
from ._precondition import plan_of, set_modes, spec_of, wait
from ._transpose import check_shape

Callback = Callable[[int, float], Any]


class SolveInfo:
    """What a solve came to. Not to converge is a result, not an error: look at `converged`.

    reason          "CONVERGED", "ITERATION_LIMIT", "BREAKDOWN", ...
    text            one sentence: which quantity, its value, the iteration
    iterations      that were done
    residual        |r| / |b| of the recurrence at the end
    true_residual   |b - A x| / |b| of the x that is returned
    normal_residual |A^T r| / (|A| |r|) where least squares ended without a solution
    history         |r| / |b| before each iteration and at the end
    seconds         in all; seconds_spmv, seconds_pc, seconds_dots, seconds_vectors of these
    """

    def __init__(self, result: Any) -> None:
        self.reason: str = lib.tess_reason_name(result.reason).decode()
        self.converged: bool = result.reason in (
            constants["TESS_REASON_CONVERGED"],
            constants["TESS_REASON_ZERO_RHS"],
        )
        self.text: str = result.text.decode()
        self.iterations: int = result.iterations
        self.residual: float = result.residual
        self.true_residual: float = result.true_residual
        self.rhs_norm: float = result.rhs_norm
        self.seconds: float = result.seconds
        self.seconds_spmv: float = result.seconds_spmv
        self.seconds_pc: float = result.seconds_pc
        self.seconds_dots: float = result.seconds_dots
        self.seconds_vectors: float = result.seconds_vectors
        self.bytes: float = result.bytes
        self.normal_residual: float = result.normal_residual
        self.history: np.ndarray[Any, Any] = np.empty(0)
        if result.history and result.history_count:
            values = (ctypes.c_double * result.history_count).from_address(result.history)
            self.history = np.array(values)

    def __repr__(self) -> str:
        return f"<tessera.SolveInfo {self.reason}: {self.text}>"

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """The history on a logarithmic axis of matplotlib's; returns the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure().gca()
        ax.semilogy(self.history, **options)
        ax.set_xlabel("iteration")
        ax.set_ylabel("|r| / |b|")
        return ax


class Solver(Owner):
    """A method and a preconditioner, prepared for one matrix or plan and used for many right-hand
    sides. Options are those of the library: tol, atol, max, restart, side, omega, schedule,
    domains, pc_type, inner, stagnation, scale, order, levels ... `pc` names a preconditioner of the
    library's; `M` is the caller's own in its place, anything with matvec or @ that approximates the
    inverse. A may also be a LinearOperator, on the CPU."""

    def __init__(
        self,
        A: Any,
        method: str = "cg",
        pc: str | None = None,
        M: Any = None,
        *,
        modes: Any = None,
        coordinates: Any = None,
        **options: Any,
    ) -> None:
        self.plan: Plan | OperatorPlan = OperatorPlan(A) if is_operator(A) else plan_of(A)
        if M is not None and pc is not None:
            raise TypeError("pc is a preconditioner of the library's, M the caller's: give one")
        if modes is not None and coordinates is not None:
            raise TypeError("modes take the place of those of the coordinates: give one")
        self._solving = False
        spec = spec_of(method, {"pc": pc, **options})
        self.spec = spec.decode()
        context = self._context = self.plan._handle.context
        self._operators = []
        if isinstance(self.plan, OperatorPlan):
            self._operators.append(self.plan.operator)
        function = lib.tess_solver_create
        more: tuple[Any, ...] = ()
        if M is not None:
            operator = Operator(M, self.plan.dtype)
            self._operators.append(operator)
            function, more = lib.tess_solver_create_with, (ctypes.byref(operator.struct),)
        self.plan.own_stream()
        self._handle = context.make(
            lib.tess_solver_destroy,
            (self.plan._handle,),
            function,
            self.plan._handle.address,
            spec,
            *more,
            keep=self._operators,
        )
        if modes is not None:
            self.set_modes(modes)
        if coordinates is not None:
            self.set_coordinates(coordinates)

    def __repr__(self) -> str:
        return f"<tessera.Solver {self.spec} on {self.plan.device.description}>"

    def set_modes(self, modes: Any) -> None:
        """pc="amg": what the smoother cannot reduce, one mode a column."""
        address = self._handle.address
        set_modes(self._context, lib.tess_solver_set_modes, address, self.plan.shape[0], modes)

    def set_coordinates(self, coordinates: Any) -> None:
        """pc="amg": where the block rows lie, of the shape (block rows, 2 or 3). The modes are then
        the rigid motions, which elasticity needs."""
        places = np.ascontiguousarray(host_array(coordinates, "coordinates"), "f8")
        rows = self.plan.shape[0]
        if places.ndim != 2 or places.size != rows:
            raise ValueError(f"coordinates have the shape {places.shape}, for {rows} rows")
        arguments = (self._handle.address, places.shape[1], places.ctypes.data)
        self._context.call(lib.tess_solver_set_coordinates, *arguments)

    def describe(self) -> str:
        """What the preconditioner was made of: the levels of amg. "" where it says nothing."""
        with self._context.lock:
            return str(lib.tess_solver_describe(self._handle.address).decode())

    @property
    def attempts(self) -> list[str]:
        """method="auto": what the last solve has tried, a line an attempt."""
        lines: list[str] = []
        with self._context.lock:
            while line := lib.tess_solver_attempt(self._handle.address, len(lines)):
                lines.append(line.decode())
        return lines

    @property
    def found(self) -> str | None:
        """method="auto": what the last solve ended with, to go straight there; None before."""
        with self._context.lock:
            spec = lib.tess_solver_spec(self._handle.address)
        return None if spec is None else str(spec.decode())

    def update(self, values: Any) -> None:
        """The next time step: new numbers in the same pattern, as Plan.update takes them. The
        preconditioner is computed again."""
        if isinstance(self.plan, OperatorPlan):
            raise TypeError("a LinearOperator has no values: change what it computes")
        self._need_idle()
        self.plan.update(values)
        self._context.call(lib.tess_solver_update, self._handle.address, None)

    def solve(self, b: Any, x0: Any = None, callback: Callback | None = None) -> tuple[Any, Any]:
        """(x, info) of A x = b. For b with k columns, x has as many and info is a list.
        callback(iteration, residual) is called after every iteration; a true value stops. On a GPU
        it is called for some iterations at a time, and arrays of CuPy, PyTorch and JAX are solved
        where they lie."""
        kind = arrays_of(b)
        b = kind.asarray(b, self.plan.dtype)
        rows = self.plan.shape[0]
        check_shape(b, rows, "b")
        several = len(b.shape) == 2
        source = kind.view(kind.contiguous(b.T if several else b))
        self.plan._check_place(source)
        count = source.shape[0] if several else 1
        cols = self.plan.shape[1]
        shape = (count, cols) if several else (cols,)
        x = kind.empty(b, shape, self.plan.dtype, True)
        target = kind.view(x)
        self._guess(kind, x0, several, shape, target)
        results = (structs["tess_result"] * max(count, 1))()
        wait(kind, b)
        self.plan.own_stream()
        infos = self._run(source, target, count, results, callback)
        x = kind.done(x)
        return (x.T, infos) if several else (x, infos[0])

    def _need_idle(self) -> None:
        """Refuses what a callback asks of the solver that called it, before anything changes."""
        with self._context.lock:
            if self._solving:
                raise ArgumentError(
                    "the solver is in the middle of a solve, whose callback may not use it: make "
                    "another one for that"
                )

    def _guess(
        self, kind: Any, x0: Any, several: bool, shape: tuple[int, ...], target: Any
    ) -> None:
        """Copies the guess, or zeros without one, to the solution's memory."""
        dtype = self.plan.dtype
        guess: Any = np.zeros(shape, dtype)
        if x0 is not None:
            x0 = kind.asarray(x0, dtype)
            if tuple(x0.shape) != (shape[::-1] if several else shape):
                raise ValueError(f"x0 has the shape {tuple(x0.shape)}: not that of the solution")
            guess = np.ascontiguousarray(_to_host(x0.T if several else x0))
        if target.device is None:
            ctypes.memmove(target.address, guess.ctypes.data, guess.nbytes)
        else:
            device = self.plan.device._handle.address
            addresses = (target.address, guess.ctypes.data, guess.nbytes)
            self._context.quick(lib.tess_device_copy_to, device, *addresses)

    def _run(
        self, source: Any, target: Any, count: int, results: Any, callback: Callback | None
    ) -> list[SolveInfo]:
        """Solves. An exception of the callback, or Ctrl-C, stops the solve and is raised."""
        context, failure = self._context, []

        def watch(_user: Any, iteration: int, residual: float) -> int:
            try:
                return int(
                    context.interrupted is not None
                    or bool(callback is not None and callback(iteration, residual))
                )
            except BaseException as error:  # cannot pass through the library
                failure.append(error)
                return 1

        vectors: tuple[int, ...]
        watcher = header.callbacks["tess_solve_fn"](watch)
        with context.lock, _Interruption(context):
            self._need_idle()
            self._solving = True
            lib.tess_solver_set_callback(self._handle.address, watcher, None)
            try:
                if count == 1:
                    vectors = (source.address, target.address)
                    status = lib.tess_solver_solve(
                        self._handle.address, *vectors, ctypes.byref(results)
                    )
                elif count > 1:
                    rows, cols = self.plan.shape
                    vectors = (source.address, rows, target.address, cols)
                    status = lib.tess_solver_solve_many(
                        self._handle.address, count, *vectors, ctypes.byref(results)
                    )
                else:
                    status = 0
            finally:
                self._solving = False
                lib.tess_solver_set_callback(
                    self._handle.address, header.callbacks["tess_solve_fn"](), None
                )
            if failure:
                raise failure[0]
            for operator in self._operators:
                operator.raise_failure()
            if context.interrupted is not None:
                raise context.interrupted
            context.check(status)
            infos = [SolveInfo(results[j]) for j in range(count)]
        context.sweep()
        return infos


def _array_of(x: Any) -> Any:
    """x itself if it is an array; a list as one of NumPy's."""
    return x if hasattr(x, "reshape") else host_array(x, "x")


def _to_host(x: Any) -> Any:
    """CuPy's arrays have get(), PyTorch's cpu(); NumPy reads the others."""
    if hasattr(x, "get"):
        return x.get()
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


def solve(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    method: str = "cg",
    pc: str | None = None,
    M: Any = None,
    tol: float | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """(x, info) of A x = b for a matrix, anything that bsr_array takes, a plan, which says on which
    device, or a LinearOperator. `tessera.methods()` and `tessera.preconditioners()` list what there
    is; method="auto" finds both. tol is 1e-8 unless it is given. Other options as in Solver."""
    return Solver(A, method, pc, M, tol=tol, **options).solve(b, x0, callback)


def _like_scipy(name: str) -> Callable[..., tuple[Any, int]]:
    def method(
        A: Any,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        restart: int | None = None,
        maxiter: int | None = None,
        M: Any = None,
        callback: Any = None,
        callback_type: str | None = None,
    ) -> tuple[Any, int]:
        gmres = name == "gmres"
        if (restart is not None or callback_type is not None) and not gmres:
            raise TypeError(f"{name} has no restart and no callback_type")
        if callback is not None and (not gmres or callback_type == "x"):
            raise TypeError(
                "the solution is not at hand during a solve: use tessera.solve, whose callback "
                "gets the iteration and the residual, or gmres with callback_type='pr_norm'"
            )
        A = A if is_operator(A) else plan_of(A)
        rows = A.shape[0]
        most = maxiter if maxiter is not None else 10 * rows or 1
        options: dict[str, Any] = {"tol": rtol, "atol": atol}
        if gmres:
            options["restart"] = min(20 if restart is None else restart, max(rows, 2))
            most *= options["restart"]
        watch = (
            None if callback is None else lambda _iteration, residual: callback(residual) and None
        )
        b, x0 = _array_of(b), x0 if x0 is None else _array_of(x0)
        flat = b.reshape(-1) if len(b.shape) == 2 and b.shape[1] == 1 else b
        start = x0.reshape(-1) if x0 is not None and len(x0.shape) == 2 else x0
        ours = M if isinstance(M, str) else None
        given = None if isinstance(M, str) else M
        x, info = Solver(A, name, ours, given, max=most, **options).solve(flat, start, watch)
        if info.converged:
            return x, 0
        return (
            x,
            info.iterations if info.reason == "ITERATION_LIMIT" and info.iterations > 0 else -1,
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""scipy.sparse.linalg.{name} with Tessera's kernels: (x, info), info = 0 for
    success, the number of iterations where they did not suffice, and -1 for a breakdown. M may
    also be the name of a preconditioner of the library's."""
    return method


cg = _like_scipy("cg")
bicg = _like_scipy("bicg")
bicgstab = _like_scipy("bicgstab")
gmres = _like_scipy("gmres")
