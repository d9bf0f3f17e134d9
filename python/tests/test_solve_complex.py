"""Solvers of complex systems against SciPy."""

import re

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
    methods_having,
    preconditioners_having,
    turned_elasticity,
    vector,
    without,
)
from tessera._operator import Operator

COMPLEX_METHODS = methods_having("COMPLEX")
COMPLEX_PRECONDITIONERS = preconditioners_having("COMPLEX")


@pytest.fixture(scope="module")
def hermitian():
    return turned_elasticity(4)


@pytest.fixture(scope="module")
def general():
    """Complex, neither Hermitian nor symmetric, with a diagonal that is not real."""
    S = tessera.generate("cdr", n=6, type="c64").to_scipy().tocsr()
    n = S.shape[0]
    return tessera.bsr_array(S + 2j * scipy_sparse.eye_array(n), blocksize=(2, 2))


@pytest.mark.parametrize("pc", COMPLEX_PRECONDITIONERS)
@pytest.mark.parametrize("method", without(COMPLEX_METHODS, ["lsqr"]))
def test_hermitian_systems(method, pc, hermitian, rng):
    A, x = hermitian, vector(rng, hermitian.shape[0], "c16")
    if pc in UNSYMMETRIC and method in SYMMETRIC:
        with pytest.raises(tessera.OptionError, match=pc):
            tessera.Solver(A, method, pc)
        return
    b = A.to_scipy() @ x
    found, info = tessera.solve(A, b, method=method, pc=pc, tol=1e-10)
    assert info.converged and found.dtype == np.complex128 and info.history.dtype == np.float64
    assert np.linalg.norm(b - A.to_scipy() @ found) <= 2e-10 * np.linalg.norm(b)
    assert np.allclose(found, x, atol=1e-5)


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("method", without(GENERAL, without(METHODS, COMPLEX_METHODS)))
@pytest.mark.parametrize("pc", ["none", "bjacobi", "spai0", "ssor", "ilu0", "ilut"])
def test_complex_systems_that_are_not_hermitian(pc, method, dtype, general, rng):
    A, x = general.astype(dtype), vector(rng, general.shape[0], dtype)
    b = A.to_scipy() @ x
    tol = 1e-10 if dtype == "c16" else 1e-4
    found, info = tessera.solve(A, b, method=method, pc=pc, tol=tol, max=2000)
    assert info.converged and found.dtype == A.dtype
    direct = scipy_linalg.spsolve(A.to_scipy().tocsc(), b)
    assert np.linalg.norm(found - direct) <= 1e3 * tol * np.linalg.norm(direct)


def test_complex_systems_are_solved_by_trying(hermitian, general, rng):
    for A in (hermitian, general):
        b = vector(rng, A.shape[0], "c16")
        solver = tessera.Solver(A, "auto", tol=1e-9)
        x, info = solver.solve(b)
        assert info.converged and solver.attempts
        assert np.linalg.norm(b - A.to_scipy() @ x) <= 2e-9 * np.linalg.norm(b)


def test_complex_least_squares(rng):
    dense, b = vector(rng, (30, 12), "c16"), vector(rng, 30, "c16")
    x, info = tessera.solve(tessera.bsr_array(dense), b, method="lsqr", tol=1e-12)
    assert info.reason == "LEAST_SQUARES"
    assert np.allclose(x, np.linalg.lstsq(dense, b, rcond=None)[0])


def test_what_complex_systems_have_not_is_named(hermitian, general, rng):
    b = vector(rng, hermitian.shape[0], "c16")
    refused = [{"method": name} for name in without(METHODS, COMPLEX_METHODS)]
    real_alone = without(tessera.preconditioners(), COMPLEX_PRECONDITIONERS)
    refused += [{"pc": name} for name in real_alone]
    for chosen in refused:
        with pytest.raises(tessera.Error, match=f"{next(iter(chosen.values()))} .*c64"):
            tessera.solve(hermitian, b, **{"method": "gmres", **chosen})
    for options in ({"scale": "match"}, {"order": "rcm"}, {"inner": "f32"}):
        with pytest.raises(tessera.UnsupportedError, match="c64"):
            tessera.solve(general, b, method="gmres", pc="ilu0", **options)
    real = tessera.generate("stencil7", n=4)
    with pytest.raises(TypeError, match=re.escape("A.astype('complex128')")):
        tessera.solve(real, vector(rng, real.shape[0], "c16"))
    with pytest.raises(TypeError, match=re.escape("A.astype('complex128')")):
        tessera.solve(real, real @ np.ones(real.shape[0]), vector(rng, real.shape[0], "c16"))


def test_complex_time_steps_and_callbacks(hermitian, rng):
    A, x = hermitian, vector(rng, hermitian.shape[0], "c16")
    b = A.to_scipy() @ x
    solver = tessera.Solver(A.plan("cpu", "estimate"), "cg", pc="ic0", tol=1e-10)
    assert np.allclose(solver.solve(b)[0], x, atol=1e-5)
    solver.update(2 * A.data)
    assert np.allclose(solver.solve(b)[0], x / 2, atol=1e-5)
    solver = tessera.Solver(A, "gmres", pc="ilu0", tol=1e-10)
    solver.update(1j * A.data)
    seen = []
    found, info = solver.solve(b, callback=lambda i, r: seen.append(r))
    assert np.allclose(found, -1j * x, atol=1e-5) and np.allclose(seen, info.history[1:])
    real = np.ones(A.shape[0])  # is converted
    assert solver.solve(real, real)[1].converged


def test_complex_operators_of_the_callers(general, rng):
    A, x = general, vector(rng, general.shape[0], "c16")
    S, d = A.to_scipy().tocsr(), A.to_scipy().diagonal()
    operator = scipy_linalg.aslinearoperator(S)
    for given in ({"A": operator}, {"A": A, "M": operator}, {"A": A.T}, {"A": A, "M": S}):
        with pytest.raises(tessera.UnsupportedError, match="tess_operator .*c64"):
            tessera.solve(b=x, method="bicg", **given)
    M = scipy_linalg.LinearOperator(S.shape, lambda r: r / d, lambda r: r / d.conj(), dtype="c16")
    for given in (M, np.diag(1 / d), scipy_sparse.diags_array(1 / d)):
        assert np.allclose(Operator(given, np.dtype("c16"))._backward(x), x / d.conj())
    real = tessera.generate("stencil7", n=4)
    turning = scipy_linalg.LinearOperator(real.shape, lambda r: 1j * r, dtype="f8")
    with pytest.raises(TypeError, match="complex128"):
        tessera.solve(real, np.ones(real.shape[0]), M=turning)


@pytest.mark.parametrize("name", ["cg", "bicg", "bicgstab", "gmres"])
def test_scipys_signature_with_complex_numbers(name, hermitian, general, rng):
    A = hermitian if name == "cg" else general
    b = vector(rng, A.shape[0], "c16")
    ours, theirs = getattr(tessera, name), getattr(scipy_linalg, name)
    options = {"rtol": 1e-9, "atol": 0.0, "maxiter": 500}
    x, failed = ours(A.to_scipy(), b, np.zeros(len(b)), M="bjacobi", **options)
    M = tessera.preconditioner(A, "bjacobi")
    y, also = theirs(A.to_scipy(), b, np.zeros(len(b)), M=M, **options)
    assert failed == also == 0 and np.allclose(x, y, atol=1e-6 * abs(y).max())
    operator = scipy_linalg.aslinearoperator(A)
    z, also = theirs(operator, b, M=M, **options)
    assert also == 0 and np.allclose(z, y, atol=1e-6 * abs(y).max())
