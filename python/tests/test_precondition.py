"""Preconditioners alone, against SciPy's and NumPy's, and in SciPy's solvers."""

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as scipy_linalg
import tessera
from conftest import DTYPES, turned_elasticity, vector

NAMES = [name for name in tessera.preconditioners() if name != "lu"]
NOT_COMPLEX = ["amg", "fsai", "lu"]


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


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_the_diagonal_ones_are_numpys(dtype, rng):
    A, _ = system(symmetric=False)
    if dtype == "c16":
        A = tessera.bsr_array((A.data * vector(rng, (), "c16"), A.indices, A.indptr), A.shape)
    S = A.to_scipy().tocsr()
    r = vector(rng, A.shape[0], dtype)
    assert np.allclose(tessera.preconditioner(A, "jacobi") @ r, r / S.diagonal())
    b = A.blocksize[0]
    D = sparse.block_diag([S[i : i + b, i : i + b].toarray() for i in range(0, len(r), b)])
    expected = scipy_linalg.spsolve(D.tocsc(), r)
    assert np.allclose(tessera.preconditioner(A, "bjacobi") @ r, expected)
    M = tessera.preconditioner(A, "bjacobi")
    assert np.allclose(M.T @ r, scipy_linalg.spsolve(D.T.tocsc(), r))
    assert np.allclose(M.H @ r, scipy_linalg.spsolve(D.conj().T.tocsc(), r))


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_ilu0_is_exact_where_nothing_fills(dtype, rng):
    n = 50
    diagonals = [vector(rng, n - 1, dtype), 9 + vector(rng, n, dtype), vector(rng, n - 1, dtype)]
    S = sparse.diags_array(diagonals, offsets=[-1, 0, 1]).tocsc()
    r = vector(rng, (n, 3), dtype)
    M = tessera.preconditioner(tessera.bsr_array(S, blocksize=(1, 1)), "ilu0", domains=1)
    assert np.allclose(M @ r, scipy_linalg.spsolve(S, r))
    assert np.allclose(M.T @ r[:, 0], scipy_linalg.spsolve(S.T.tocsc(), r[:, 0]))
    assert np.allclose(M.T @ r, scipy_linalg.spsolve(S.T.tocsc(), r))
    for product in (M.H @ r, M.rmatvec(r), M.conj().T @ r, M.aslinearoperator().H @ r):
        assert np.allclose(product, scipy_linalg.spsolve(S.conj().T.tocsc(), r))
    assert np.allclose(M.conj() @ r, scipy_linalg.spsolve(S.conj().tocsc(), r))
    assert np.allclose(M.H.rmatvec(r), M.matvec(r)) and M.T.T is M and M.H.H is M


def test_real_ones_take_complex_vectors(rng):
    A, _ = system(symmetric=False)
    M = tessera.preconditioner(A, "ilu0")
    r = vector(rng, (A.shape[0], 2), "c16")
    for given in (r, r[:, 0]):
        for N in (M, M.T, M.H):
            assert np.allclose(N @ given, N @ given.real + 1j * (N @ given.imag), rtol=1e-13)
    with pytest.raises(TypeError, match="complex128"):
        tessera.preconditioner(A.astype("f4"), "ilu0") @ r


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_updates_and_types(dtype, name, rng):
    A = turned_elasticity(5) if "c" in dtype else system()[0]
    A = A.astype(dtype)
    if "c" in dtype and name in NOT_COMPLEX:
        with pytest.raises(tessera.UnsupportedError, match=f"{name} takes matrices of f64 and f32"):
            tessera.preconditioner(A, name)
        return
    r = vector(rng, A.shape[0], dtype)
    M = tessera.preconditioner(A.plan("cpu", "estimate"), name)
    before = M @ r
    assert before.dtype == A.dtype and M.shape == A.shape and M.dtype == A.dtype
    M.update(2 * A.data)
    expected = before if name == "none" else before / 2
    size = abs(expected).max()
    double = dtype in ("f8", "c16")
    assert np.allclose(M @ r, expected, rtol=0, atol=size * (1e-10 if double else 1e-3))
    u = vector(rng, len(r), dtype)
    for one, other in ((u @ (M @ r), (M.T @ u) @ r), (np.vdot(u, M @ r), np.vdot(M.H @ u, r))):
        assert abs(one - other) <= (1e-9 if double else 1e-3) * np.abs(u).sum() * size


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
