"""Solvers against SciPy, their results, callbacks and updates."""

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
import scipy.sparse.linalg as scipy_linalg
import tessera
from conftest import (
    GENERAL,
    METHODS,
    SYMMETRIC,
    UNSYMMETRIC,
    preconditioners_having,
    without,
)

PRECONDITIONERS = without(tessera.preconditioners(), preconditioners_having("COMPLETE"))


@pytest.fixture(scope="module")
def system():
    return tessera.generate("elasticity", n=5, rhs=True)


@pytest.mark.parametrize("pc", PRECONDITIONERS)
@pytest.mark.parametrize("method", METHODS)
def test_methods_and_preconditioners(method, pc, system):
    A, b = system
    if pc in UNSYMMETRIC and method in SYMMETRIC:
        with pytest.raises(tessera.OptionError, match=pc):
            tessera.Solver(A, method, pc)
        return
    x, info = tessera.solve(A, b, method=method, pc=pc, tol=1e-9)
    assert info.converged and info.reason == "CONVERGED" and info.true_residual <= 1e-9
    assert np.linalg.norm(b - A @ x) <= 2e-9 * np.linalg.norm(b)
    assert info.history.shape == (info.iterations + 1,) and info.history[0] == 1
    assert info.seconds >= info.seconds_spmv > 0 and info.bytes > 0 and info.rhs_norm > 0


@pytest.mark.parametrize("method", GENERAL)
def test_what_is_not_symmetric(method):
    A, b = tessera.generate("cdr", n=8, rhs=True)
    x, info = tessera.solve(A, b, method=method, pc="ilu0")
    direct = scipy_linalg.spsolve(A.to_scipy().tocsc(), b)
    assert info.converged and np.allclose(x, direct, atol=1e-5 * abs(direct).max())


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_several_right_hand_sides_and_guesses(dtype):
    A, b = tessera.generate("stencil7", n=6, rhs=True, type="c64" if "c" in dtype else "f64")
    A, b = A.astype(dtype), b.astype(dtype)
    B = np.stack([b, 2 * b, 0 * b], axis=1)
    solver = tessera.Solver(A, "cg", pc="bjacobi", tol=1e-5)
    X, infos = solver.solve(B)
    assert [i.converged for i in infos] == [True] * 3 and infos[2].reason == "ZERO_RHS"
    assert np.allclose(X[:, 0], 1, atol=1e-3) and np.allclose(X[:, 1], 2, atol=1e-3)
    X, infos = solver.solve(B, x0=X)
    assert infos[0].iterations <= 1
    x, info = solver.solve(b, x0=np.ones(len(b), dtype))
    assert info.iterations <= 1 and np.allclose(x, 1, atol=1e-3)
    X, infos = solver.solve(B[:, :1])
    assert X.shape == (len(b), 1) and len(infos) == 1
    X, infos = solver.solve(B[:, :0])
    assert X.shape == (len(b), 0) and infos == []
    for bad in (b[1:], np.ones((3, 3))):
        with pytest.raises(ValueError, match="b has the shape"):
            solver.solve(bad.astype(dtype))
    with pytest.raises(ValueError, match="x0"):
        solver.solve(b, x0=b[1:])


def test_not_to_converge_is_a_result(system):
    A, b = system
    x, info = tessera.solve(A, b, max=3)
    assert not info.converged and info.reason == "ITERATION_LIMIT" and info.iterations == 3
    assert "3" in info.text and "ITERATION_LIMIT" in repr(info)
    negative = tessera.bsr_array(-np.eye(4))
    assert tessera.solve(negative, np.ones(4))[1].reason == "INDEFINITE"


def test_callbacks_watch_and_stop(system):
    A, b = system
    seen = []
    x, info = tessera.solve(A, b, callback=lambda i, r: seen.append((i, r)))
    assert [i for i, _ in seen] == list(range(1, info.iterations + 1))
    assert np.allclose([r for _, r in seen], info.history[1:])
    x, info = tessera.solve(A, b, callback=lambda i, r: i >= 4)
    assert info.reason == "CANCELLED"

    def broken(iteration, residual):
        raise ZeroDivisionError("mine")

    solver = tessera.Solver(A)
    with pytest.raises(ZeroDivisionError, match="mine"):
        solver.solve(b, callback=broken)
    assert solver.solve(b)[1].converged


def test_a_callback_may_not_use_its_own_solver(system):
    A, b = system
    for method in ("cg", "auto"):
        solver, seen = tessera.Solver(A, method), []

        def use(iteration, residual, solver=solver, seen=seen):
            seen.append(iteration)
            for attempt in (
                lambda: solver.solve(2 * b),
                lambda: solver.update(2 * A.data),
                lambda: solver.set_modes(np.ones(len(b))),
            ):
                with pytest.raises(tessera.ArgumentError, match="in the middle of a solve"):
                    attempt()
            assert np.array_equal(A @ b, A.plan("cpu", "estimate") @ b)

        x, info = solver.solve(b, callback=use)
        assert info.converged and seen
        assert np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b)


def test_time_steps(system):
    A, b = system
    solver = tessera.Solver(A.plan("cpu", "estimate"), "cg", pc="ic0")
    first, _ = solver.solve(b)
    solver.update(2 * A.data)
    second, info = solver.solve(b)
    assert info.converged and np.allclose(second, first / 2, atol=1e-6 * abs(first).max())
    solver.update(A.to_scipy())
    assert np.allclose(solver.solve(b)[0], first, atol=1e-6 * abs(first).max())


def test_what_auto_found_goes_straight_there(system):
    A, b = system
    solver = tessera.Solver(A, "auto", tol=1e-6)
    assert solver.solve(b)[1].converged and "tol=1e-06" in solver.found
    x, info = tessera.solve(A, b, method=solver.found)
    assert info.converged and info.true_residual <= 1e-6
    with pytest.raises(tessera.OptionError, match="'tol' is given twice"):
        tessera.solve(A, b, method=solver.found, tol=1e-9)
    named = tessera.Solver(A, "cg:pc=ick", levels=2, max=1)
    assert named.spec == "cg:pc=ick,levels=2,max=1" and named.solve(b)[1].iterations == 1
    assert tessera.preconditioner(A, "iluk:levels=2", fill=5).spec == "iluk:levels=2,fill=5"


def test_scipys_names_take_lists_and_small_systems():
    A, b = [[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
    exact = np.linalg.solve(A, b)
    for method in (tessera.cg, tessera.bicg, tessera.bicgstab, tessera.gmres):
        for rhs in (b, [[1.0], [2.0]]):
            x, failed = method(A, rhs, x0=[0.0, 0.0], rtol=1e-10)
            assert failed == 0 and np.allclose(x, exact)
        x, failed = method([[2.0]], [3.0])
        assert failed == 0 and np.allclose(x, [1.5])
    with pytest.raises(tessera.OptionError, match="restart=1 is outside"):
        tessera.gmres(A, b, restart=1)


def test_wrong_options_are_named(system):
    A, b = system
    with pytest.raises(tessera.OptionError, match="cgg"):
        tessera.solve(A, b, method="cgg")
    with pytest.raises(tessera.OptionError, match="tool"):
        tessera.solve(A, b, tool=1)
    with pytest.raises(ValueError):
        tessera.solve(A, b, tol=-1.0)
    with pytest.raises(tessera.Error):
        tessera.solve(tessera.bsr_array(np.ones((3, 4))), np.ones(3))
    with pytest.raises(tessera.MatrixError, match="row"):
        tessera.solve(tessera.bsr_array(np.array([[0.0, 1], [1, 0]])), np.ones(2), pc="jacobi")


def test_the_solver_is_found():
    A, b = tessera.generate("cdr", n=8, rhs=True)
    solver = tessera.Solver(A, "auto", tol=1e-9)
    x, info = solver.solve(b)
    assert info.converged and info.true_residual <= 1e-9
    assert solver.attempts and solver.found.partition(":")[0] in tessera.methods()
    again = tessera.Solver(A.plan("cpu", "estimate"), solver.found.partition(":")[0], pc="ilu0")
    assert again.attempts == [] and again.found is None


def test_least_squares(rng):
    dense = rng.standard_normal((30, 12))
    b = rng.standard_normal(30)
    x, info = tessera.solve(tessera.bsr_array(dense), b, method="lsqr", tol=1e-12)
    assert info.reason == "LEAST_SQUARES" and 0 < info.normal_residual <= 1e-12
    assert np.allclose(x, np.linalg.lstsq(dense, b, rcond=None)[0])


def test_multigrid_takes_coordinates_and_modes():
    n = 6
    A, b = tessera.generate("elasticity", n=n, rhs=True)
    A = tessera.bsr_array(A.to_scipy())  # which does not know where its nodes are
    places = nodes_of(n)
    plain = tessera.Solver(A, "cg", pc="amg", bottom=50)
    moved = tessera.Solver(A, "cg", pc="amg", bottom=50, coordinates=places)
    modes = rigid_motions(places)
    same = tessera.Solver(A, "cg", pc="amg", bottom=50, modes=modes)
    few, fewer, equal = (s.solve(b)[1] for s in (plain, moved, same))
    assert few.converged and fewer.converged and fewer.iterations < few.iterations
    assert equal.iterations == fewer.iterations and "6 modes" in same.describe()
    with pytest.raises(ValueError, match="coordinates"):
        tessera.Solver(A, "cg", pc="amg", coordinates=places[1:])
    with pytest.raises(TypeError, match="give one"):
        tessera.Solver(A, "cg", pc="amg", coordinates=places, modes=np.ones(A.shape[0]))
    with pytest.raises(ValueError, match="modes"):
        tessera.Solver(A, "cg", pc="amg", modes=modes[1:])
    with pytest.raises(tessera.UnsupportedError, match="modes"):
        tessera.Solver(A, "cg", pc="ilu0", modes=modes)


def nodes_of(n):
    """The points of gen:elasticity in the order of its rows: the face x = 0 is held."""
    axis = np.arange(n + 1.0)
    z, y, x = np.meshgrid(axis, axis, axis[1:], indexing="ij")
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def rigid_motions(places):
    """Three translations and three rotations of points in space."""
    x, y, z = places.T
    o, one = 0 * x, 1 + 0 * x
    columns = [(one, o, o), (o, one, o), (o, o, one), (-y, x, o), (o, -z, y), (z, o, -x)]
    return np.stack([np.stack(c, axis=1).reshape(-1) for c in columns], axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_operators_of_the_callers(method, system):
    A, b = system
    S, d = A.to_scipy(), A.to_scipy().diagonal()
    operator = scipy_linalg.LinearOperator(S.shape, S.dot, S.T.dot, dtype="f8")
    M = scipy_linalg.LinearOperator(S.shape, lambda r: r / d, lambda r: r / d, dtype="f8")
    x, info = tessera.solve(operator, b, method=method, M=M, tol=1e-9)
    expected, also = tessera.solve(A, b, method=method, pc="jacobi", tol=1e-9)
    assert info.converged and np.allclose(x, expected, atol=1e-6 * abs(expected).max())
    if method in SYMMETRIC:  # the others amplify the rounding of another order of sums
        assert abs(info.iterations - also.iterations) <= 2


def test_operators_that_call_the_library_or_fail(system):
    A, b = system
    M = tessera.preconditioner(A, "ilu0")
    x, info = tessera.solve(A, b, M=M, tol=1e-9)  # a call inside a call
    assert (
        info.converged and info.iterations == tessera.solve(A, b, pc="ilu0", tol=1e-9)[1].iterations
    )
    x, info = tessera.solve(A.plan().aslinearoperator(), b, M=M.aslinearoperator(), tol=1e-9)
    assert info.converged

    def broken(r):
        raise ZeroDivisionError("mine")

    bad = scipy_linalg.LinearOperator(A.shape, broken, dtype="f8")
    with pytest.raises(ZeroDivisionError, match="mine"):
        tessera.solve(A, b, M=bad)
    with pytest.raises(ZeroDivisionError, match="mine"):
        tessera.solve(bad, b)
    with pytest.raises(TypeError, match="give one"):
        tessera.solve(A, b, pc="ilu0", M=M)
    with pytest.raises(tessera.UnsupportedError, match="caller"):
        tessera.solve(A.plan().aslinearoperator(), b, pc="ilu0")
    with pytest.raises(TypeError, match="values"):
        tessera.Solver(A.plan().aslinearoperator()).update(A.data)


def test_operators_may_keep_their_vectors_and_return_as_many_numbers():
    kept = []

    class Twice:
        shape, dtype = (100_000, 100_000), np.dtype("f8")

        def matvec(self, x):
            kept.append(x)
            return 2.0 * x

    class Number(Twice):
        def matvec(self, x):
            return 2.0

    b = np.ones(100_000)
    x, info = tessera.solve(Twice(), b)
    assert info.converged and np.allclose(x, 0.5)
    assert all(np.isfinite(v).all() for v in kept)  # the solver and its memory are gone
    with pytest.raises(ValueError, match="returned 1 numbers, not 100000"):
        tessera.solve(Number(), b)


def test_a_callback_may_multiply(system):
    A, b = system
    seen = []
    tessera.solve(A, b, callback=lambda i, r: seen.append(np.linalg.norm(A @ b)) and None)
    assert np.allclose(seen, np.linalg.norm(A @ b))


@pytest.mark.parametrize("name", ["cg", "bicg", "bicgstab", "gmres"])
def test_scipys_signature(name, system):
    A, b = system
    ours, theirs = getattr(tessera, name), getattr(scipy_linalg, name)
    options = {"rtol": 1e-7, "atol": 0.0, "maxiter": 500}
    x, failed = ours(A.to_scipy(), b, np.zeros(len(b)), **options)
    y, also = theirs(A.to_scipy(), b, np.zeros(len(b)), **options)
    assert failed == also == 0 and np.allclose(x, y, atol=1e-4 * abs(y).max())
    assert ours(A, b[:, None], rtol=1e-7)[0].shape in ((len(b),), (len(b), 1))
    assert ours(A, b, maxiter=1, rtol=1e-12)[1] > 0
    D = scipy_linalg.LinearOperator(A.shape, lambda r: r / d, lambda r: r / d, dtype="f8")
    d = A.to_scipy().diagonal()
    for M in ("jacobi", D, np.diag(1 / d), scipy_sparse.diags_array(1 / d)):
        x, failed = ours(A, b, M=M, **options)
        assert failed == 0 and np.allclose(x, y, atol=1e-4 * abs(y).max())
    x, failed = ours(scipy_linalg.aslinearoperator(A.to_scipy()), b, M=D, **options)
    assert failed == 0 and np.allclose(x, y, atol=1e-4 * abs(y).max())
    with pytest.raises(ValueError):
        ours(A, b, M=np.eye(3))
    if name != "gmres":
        with pytest.raises(TypeError, match="not at hand"):
            ours(A, b, callback=print)


def test_gmres_calls_back_with_the_residual(system):
    A, b = system
    seen = []
    x, failed = tessera.gmres(A, b, callback=seen.append, callback_type="pr_norm", restart=30)
    assert failed == 0 and len(seen) > 0 and seen[-1] < 1e-4


def test_history_is_drawn(system):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A, b = system
    info = tessera.solve(A, b)[1]
    axes = info.plot(label="cg")
    assert len(axes.lines[0].get_ydata()) == info.iterations + 1


def test_multigrid_alone():
    A = tessera.generate("diffusion", n=12)
    b = A @ np.ones(A.shape[1])
    x, info = tessera.solve(A, b, method="amg", tol=1e-10)
    assert info.reason == "CONVERGED"
    np.testing.assert_allclose(x, 1, atol=1e-6)
    with pytest.raises(tessera.OptionError, match="pc=amg alone"):
        tessera.solve(A, b, method="amg", pc="ilu0")
