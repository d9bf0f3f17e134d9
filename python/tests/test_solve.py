"""Solvers against SciPy, their results, callbacks and updates."""

import numpy as np
import pytest
import scipy.sparse.linalg as scipy_linalg
import tessera

SPD = ["cg", "cg_single", "bicg", "bicgstab", "gmres", "fgmres"]
GENERAL = ["bicg", "bicgstab", "gmres", "fgmres"]


@pytest.fixture(scope="module")
def system():
    return tessera.generate("elasticity", n=5, rhs=True)


@pytest.mark.parametrize("pc", ["none", "jacobi", "bjacobi", "ssor", "ilu0", "ic0"])
@pytest.mark.parametrize("method", SPD)
def test_methods_and_preconditioners(method, pc, system):
    A, b = system
    if pc == "ic0" and method not in ("cg", "cg_single"):
        pc = "ilu0"
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


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_several_right_hand_sides_and_guesses(dtype):
    A, b = tessera.generate("stencil7", n=6, rhs=True)
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


def test_time_steps(system):
    A, b = system
    solver = tessera.Solver(A.plan("cpu", "estimate"), "cg", pc="ic0")
    first, _ = solver.solve(b)
    solver.update(2 * A.data)
    second, info = solver.solve(b)
    assert info.converged and np.allclose(second, first / 2, atol=1e-6 * abs(first).max())
    solver.update(A.to_scipy())
    assert np.allclose(solver.solve(b)[0], first, atol=1e-6 * abs(first).max())


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
    with pytest.raises(TypeError, match="name of a preconditioner"):
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
