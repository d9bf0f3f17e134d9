"""Preconditioners alone, against SciPy's and NumPy's, and in SciPy's solvers."""

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as scipy_linalg
import tessera

NAMES = [name for name in tessera.preconditioners() if name != "lu"]


def system(symmetric=True, **options):
    return tessera.generate("elasticity" if symmetric else "cdr", n=5, rhs=True, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solver", ["cg", "gmres", "bicg"])
def test_scipys_solvers_take_them(solver, name):
    A, b = system()
    M = tessera.preconditioner(A, name)
    counts = [0, 0]

    def count(which):
        def callback(_):
            counts[which] += 1

        return callback

    options = {"rtol": 1e-8, "atol": 0.0, "maxiter": 500}
    if solver == "gmres":
        options["callback_type"] = "pr_norm"
    solve = getattr(scipy_linalg, solver)
    x, failed = solve(A.to_scipy(), b, M=M, callback=count(0), **options)
    y, also = solve(A.to_scipy(), b, callback=count(1), **options)
    assert failed == also == 0 and np.linalg.norm(b - A @ x) <= 1e-6 * np.linalg.norm(b)
    assert name in ("none", "jacobi") or counts[0] < counts[1]


def test_the_diagonal_ones_are_numpys(rng):
    A, _ = system(symmetric=False)
    S = A.to_scipy().tocsr()
    r = rng.standard_normal(A.shape[0])
    assert np.allclose(tessera.preconditioner(A, "jacobi") @ r, r / S.diagonal())
    b = A.blocksize[0]
    D = sparse.block_diag([S[i : i + b, i : i + b].toarray() for i in range(0, len(r), b)])
    expected = scipy_linalg.spsolve(D.tocsc(), r)
    assert np.allclose(tessera.preconditioner(A, "bjacobi") @ r, expected)
    assert np.allclose(
        tessera.preconditioner(A, "bjacobi").T @ r, scipy_linalg.spsolve(D.T.tocsc(), r)
    )


def test_ilu0_is_exact_where_nothing_fills(rng):
    n = 50
    S = sparse.diags_array(
        [rng.random(n - 1), 4 + rng.random(n), rng.random(n - 1)], offsets=[-1, 0, 1]
    ).tocsc()
    r = rng.standard_normal((n, 3))
    M = tessera.preconditioner(tessera.bsr_array(S, blocksize=(1, 1)), "ilu0", domains=1)
    assert np.allclose(M @ r, scipy_linalg.spsolve(S, r))
    assert np.allclose(M.T @ r[:, 0], scipy_linalg.spsolve(S.T.tocsc(), r[:, 0]))
    assert np.allclose(M.rmatvec(r), M.T.matvec(r)) and np.allclose(M.T.rmatvec(r), M.matvec(r))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_updates_and_types(dtype, name, rng):
    A, _ = system()
    A = A.astype(dtype)
    r = rng.standard_normal(A.shape[0]).astype(dtype)
    M = tessera.preconditioner(A.plan("cpu", "estimate"), name)
    before = M @ r
    assert before.dtype == A.dtype and M.shape == A.shape and M.dtype == A.dtype
    M.update(2 * A.data)
    expected = before if name == "none" else before / 2
    size = abs(expected).max()
    assert np.allclose(M @ r, expected, rtol=0, atol=size * (1e-10 if dtype == "f8" else 1e-3))
    u = rng.standard_normal(len(r)).astype(dtype)
    one, other = u @ (M @ r), (M.T @ u) @ r
    assert abs(one - other) <= (1e-9 if dtype == "f8" else 1e-3) * np.abs(u).sum() * size


def test_operators_and_what_they_say():
    A, b = system()
    M = tessera.preconditioner(A, "iluk", levels=2)
    assert M.spec == "iluk:levels=2" and "iluk:levels=2" in repr(M)
    operator = scipy_linalg.aslinearoperator(M)
    assert operator.shape == A.shape and np.allclose(operator @ b, M @ b)
    assert np.allclose(M.aslinearoperator().H @ b, M.T @ b)
    B = np.stack([b, 2 * b], axis=1)
    assert np.allclose(M @ B, np.stack([M @ b, M @ (2 * b)], axis=1))
    amg = tessera.preconditioner(A, "amg", bottom=20, modes=np.eye(3)[np.arange(A.shape[0]) % 3])
    assert amg.describe() == ""
    amg @ b
    assert "3 modes" in amg.describe()


def test_what_is_wrong_is_named():
    A, b = system()
    with pytest.raises(tessera.OptionError, match="ilu7"):
        tessera.preconditioner(A, "ilu7")
    with pytest.raises(tessera.OptionError, match="solver's keys"):
        tessera.preconditioner(A, "ilu0", tol=1e-3)
    with pytest.raises(tessera.ArgumentError, match="square"):
        tessera.preconditioner(np.ones((3, 4)), "jacobi")
    with pytest.raises(tessera.UnsupportedError, match="modes"):
        tessera.preconditioner(A, "ilu0", modes=b)
    with pytest.raises(ValueError, match="shape"):
        tessera.preconditioner(A, "ilu0") @ b[1:]
    with pytest.raises(TypeError, match="float64"):
        tessera.preconditioner(A.astype("f4"), "ilu0") @ b


def test_it_keeps_what_it_needs():
    A, b = system()
    M = tessera.preconditioner(A, "ilu0")
    expected = M @ b
    del A
    assert np.array_equal(M @ b, expected)
