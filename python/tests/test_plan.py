"""Plans: choices, products into given arrays, updates, operators, the cost of a call."""

import sys

import numpy as np
import pytest
import tessera
from conftest import vector
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator, eigsh
from tessera._arrays import arrays_of


@pytest.fixture(scope="module")
def A():
    return tessera.generate("elasticity", n=5)


@pytest.fixture(scope="module")
def Z():
    """Complex, and neither Hermitian nor symmetric."""
    made = tessera.generate("cdr", n=6, type="c64")
    phase = np.exp(1j * np.arange(made.data.size)).reshape(made.data.shape)
    return tessera.bsr_array((made.data * phase, made.indices, made.indptr), made.shape)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_devices_and_efforts_agree(kind, A, Z, rng):
    A = A if kind == "real" else Z
    x = vector(rng, A.shape[1], A.dtype)
    expected = A.plan("ref") @ x
    for device in ("cpu", "cpu:1", "auto"):
        for effort in ("estimate", "measure"):
            assert np.allclose(A.plan(device, effort) @ x, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="measure, estimate, exhaustive"):
        A.plan("cpu", "guess")
    with pytest.raises(tessera.Error):
        A.plan("abacus")
    with pytest.raises(tessera.Error):
        A.plan("cpu", kernel="no_such_kernel")


def test_regrouping_keeps_the_callers_numbering(A, rng):
    n = A.shape[0]
    order = rng.permutation(n)
    hidden = tessera.bsr_array(A.to_scipy().tocsr()[order][:, order].tobsr((1, 1)))
    plan = hidden.plan("cpu", "estimate", regroup="on")
    x = rng.standard_normal(n)
    assert "regroup" in plan.explain()
    assert np.allclose(plan @ x, hidden.plan("ref") @ x, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="auto, on, off"):
        hidden.plan("cpu", regroup="perhaps")
    with pytest.raises(tessera.UnsupportedError, match="regroup .*c64"):
        hidden.astype("c16").plan("cpu", regroup="on")


def test_a_plan_says_what_it_is(A):
    plan = A.plan("cpu:1", "estimate", format="bsr")
    assert "cpu" in repr(plan) and "cpu" in repr(plan.device)
    assert "bsr" in plan.explain()
    assert plan.shape == A.shape and plan.dtype == A.dtype and plan.T.shape == A.shape[::-1]


def test_multiply_into_given_arrays(A, rng):
    plan, n = A.plan("cpu", "estimate"), A.shape[0]
    x, y = rng.standard_normal(n), rng.standard_normal(n)
    expected = 2 * (plan @ x) + 0.5 * y
    assert plan.multiply(x, out=y, alpha=2.0, beta=0.5) is y
    assert np.allclose(y, expected)
    out = np.full(n, np.nan)
    plan.multiply(x, out=out)
    assert np.array_equal(out, plan @ x), "beta = 0 never reads out"
    X, Y = np.asfortranarray(rng.random((n, 3))), np.empty((n, 3), order="F")
    assert np.allclose(plan.multiply(X, out=Y), plan @ np.ascontiguousarray(X))
    Z = np.empty((n, 1))
    assert np.allclose(plan.multiply(X[:, :1], out=Z), (plan @ X)[:, :1])
    wrong = [
        np.empty(n + 1),
        np.empty(n, "f4"),
        np.empty(2 * n)[::2],
    ]
    for bad in wrong:
        with pytest.raises(ValueError, match="out"):
            plan.multiply(x, out=bad)
    with pytest.raises(ValueError, match="beta needs out"):
        plan.multiply(x, beta=1.0)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        plan.multiply(x, out=out)


def test_multiply_with_complex_factors(Z, rng):
    S, n = Z.to_scipy().tocsr(), Z.shape[0]
    x, y = vector(rng, n, "c16"), vector(rng, n, "c16")
    X, Y = vector(rng, (n, 3), "c16"), vector(rng, (n, 3), "c16")
    operations = (
        (S, {}),
        (S.T, {"transpose": True}),
        (S.conj().T, {"transpose": True, "conjugate": True}),
    )
    for device in ("cpu", "ref"):
        plan = Z.plan(device, "estimate")
        for exact, options in operations:
            for alpha, beta in ((2 - 1j, 0.5 + 3j), (1j, 0), (np.complex64(1j), -1.5), (-2, 1j)):
                expected = alpha * (exact @ x) + beta * y
                out = plan.multiply(x, out=y.copy(), alpha=alpha, beta=beta, **options)
                assert np.allclose(out, expected)
                out = np.asfortranarray(Y)
                plan.multiply(np.asfortranarray(X), out=out, alpha=alpha, beta=beta, **options)
                assert np.allclose(out, alpha * (exact @ X) + beta * Y)
            assert np.allclose(plan.multiply(x, alpha=1j, **options), 1j * (exact @ x))
    with pytest.raises(ValueError, match="transpose"):
        plan.multiply(x, conjugate=True)
    with pytest.raises(ValueError, match="out is"):
        plan.multiply(x, out=np.empty(n))


def test_real_matrices_have_real_factors(A, rng):
    plan, x = A.plan("cpu", "estimate"), vector(rng, A.shape[1], "c16")
    assert np.allclose(plan.multiply(x, alpha=2 + 0j), 2 * (A.to_scipy() @ x))
    for options in ({"alpha": 1j}, {"beta": 1j, "out": np.empty(len(x))}):
        with pytest.raises(TypeError, match="alpha and beta of a real matrix"):
            plan.multiply(x.real, **options)
    with pytest.raises(TypeError, match="no out"):
        plan.multiply(x, out=np.empty_like(x))
    with pytest.raises(ValueError, match="beta needs out"):
        plan.multiply(x, beta=1.0)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_values_are_updated(kind, A, Z, rng):
    A = A if kind == "real" else Z
    plan = A.plan("cpu", "estimate")
    x = vector(rng, A.shape[1], A.dtype)
    before = plan @ x
    plan.update(3 * A.data)
    assert np.allclose(plan @ x, 3 * before)
    plan.update(A.to_scipy() * 2)
    assert np.allclose(plan @ x, 2 * before)
    plan.update(A)
    assert np.allclose(plan @ x, before)
    with pytest.raises(ValueError, match="shape"):
        plan.update(np.ones(3))
    with pytest.raises(tessera.PatternError):
        plan.update(sparse.csr_array(np.ones(A.shape)))


def test_operators_of_scipys(A, rng):
    x = rng.standard_normal(A.shape[0])
    for source in (A, A.plan("cpu", "estimate")):
        for operator in (aslinearoperator(source), source.aslinearoperator()):
            assert np.allclose(operator @ x, A @ x)
            assert np.allclose(operator.T @ x, A.T @ x)
            assert np.allclose(operator @ np.stack([x, x], axis=1), A @ np.stack([x, x], axis=1))
    for M in (A, A.astype("c16"), tessera.generate("elasticity", n=4, type="c64")):
        largest = eigsh(aslinearoperator(M), k=1, return_eigenvectors=False)
        assert np.allclose(largest, eigsh(M.to_scipy().tocsr(), k=1, return_eigenvectors=False))


def test_complex_operators_of_scipys(Z, rng):
    S = Z.to_scipy().tocsr()
    X = vector(rng, (Z.shape[0], 3), "c16")
    sources = [(Z, S), (Z.T, S.T), (Z.H, S.conj().T), (Z.conj(), S.conj())]
    sources += [(Z.plan("cpu", "estimate"), S), (Z.plan("cpu", "estimate").H, S.conj().T)]
    for source, exact in sources:
        for operator in (aslinearoperator(source), source.aslinearoperator()):
            assert operator.dtype == np.complex128
            for x in (X[:, 0], X):
                assert np.allclose(operator @ x, exact @ x)
                assert np.allclose(operator.H @ x, exact.conj().T @ x)
                assert np.allclose(operator.T @ x, exact.T @ x)
            assert np.allclose(operator.rmatvec(X[:, 0]), exact.conj().T @ X[:, 0])


class FakeDeviceArray:
    """Says that it lies on a GPU. Nothing reads it: plans for other devices must refuse it."""

    def __init__(self, n, typestr="<f8", strides=None):
        self.host = np.ones(n, typestr)
        self.shape, self.dtype, self.typestr, self.strides = (n,), self.host.dtype, typestr, strides

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "strides": self.strides,
            "data": (self.host.ctypes.data, False),
            "version": 3,
        }


@pytest.mark.parametrize("typestr", ["<f8", "<c8", "<c16"])
def test_arrays_on_a_gpu_are_refused_by_a_plan_for_the_cpu(typestr, A):
    A = A.astype(typestr)
    with pytest.raises(ValueError, match=r"A\.plan\('cuda'\)"):
        A.plan("cpu", "estimate").multiply(
            FakeDeviceArray(A.shape[1], typestr), out=FakeDeviceArray(A.shape[0], typestr)
        )
    other = "<c16" if typestr != "<c16" else "<f8"
    with pytest.raises(TypeError, match=f"x is {np.dtype(other)} and the matrix {A.dtype}"):
        A.plan("cpu", "estimate").multiply(FakeDeviceArray(A.shape[1], other))


@pytest.mark.parametrize("typestr", ["<f4", "<f8", "<c8", "<c16"])
def test_arrays_on_a_gpu_are_seen_where_they_lie(typestr):
    for strides in (None, (2 * np.dtype(typestr).itemsize,)):
        x = FakeDeviceArray(6, typestr, strides)
        seen = arrays_of(x).view(x)
        assert seen.address == x.host.ctypes.data and seen.dtype == np.dtype(typestr)
        assert seen.shape == (6,) and seen.strides == (1 if strides is None else 2,)


def test_the_package_imports_no_array_library():
    import subprocess

    names = "scipy torch cupy jax matplotlib"
    code = f"import sys, tessera; print([n for n in '{names}'.split() if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_torch(A):
    torch = pytest.importorskip("torch")
    x = torch.rand(A.shape[1], dtype=torch.float64, requires_grad=True)
    y = A @ x
    assert isinstance(y, torch.Tensor) and np.allclose(y.detach().numpy(), A @ x.detach().numpy())
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), A.T @ np.ones(A.shape[0]))
    X = torch.rand(A.shape[1], 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda v: tessera.bsr_array(np.eye(4, 3)) @ v, X[:3, :2].detach().requires_grad_()
    )


def test_torch_with_complex_numbers(Z, rng):
    torch = pytest.importorskip("torch")
    S, x = Z.to_scipy().tocsr(), torch.as_tensor(vector(rng, Z.shape[0], "c16"))
    for product, exact in ((Z, S), (Z.T, S.T), (Z.H, S.conj().T)):
        assert np.allclose((product @ x).resolve_conj().numpy(), exact @ x.numpy())
        lazy = (product @ x.conj()).resolve_conj()  # the same memory with a flag
        assert np.allclose(lazy.numpy(), exact @ x.numpy().conj())
    imaginary = x.conj().imag  # another flag
    real = Z.real.plan("cpu", "estimate")
    assert np.allclose((real @ imaginary).numpy(), real @ -x.numpy().imag)
    with pytest.raises(ValueError, match="resolve_conj"):
        Z.plan("cpu", "estimate").multiply(x, out=x.clone().conj())
    assert np.allclose((real @ x).numpy(), real @ x.numpy())
    assert (Z.plan("cpu", "estimate") @ x.real).dtype == torch.complex128
    small = tessera.bsr_array(vector(rng, (4, 3), "c16"), blocksize=(2, 3))
    for product in (small, small.T, small.H, small.conj(), small.real, small.real.T):
        for shape in ((product.shape[1],), (product.shape[1], 2)):
            for dtype in (torch.complex128, torch.float64):
                v = torch.rand(shape, dtype=dtype, requires_grad=True)
                assert torch.autograd.gradcheck(lambda u, P=product: P @ u, v)


def test_jax(A):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.ones(A.shape[1])
    y = A @ x
    assert isinstance(y, jax.Array) and np.allclose(np.asarray(y), A @ np.ones(A.shape[1]))


def test_jax_with_complex_numbers(Z, rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    X = vector(rng, (Z.shape[1], 3), "c16")
    for product in (Z, Z.T, Z.H, Z.conj(), Z.real, Z.real.T):
        for host in (X[:, 0], X):
            y = product @ jax.numpy.asarray(host)
            assert isinstance(y, jax.Array) and np.allclose(np.asarray(y), product @ host)
