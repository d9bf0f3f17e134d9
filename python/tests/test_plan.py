"""Plans: choices, products into given arrays, updates, operators, the cost of a call."""

import sys

import numpy as np
import pytest
import tessera
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator, eigsh


@pytest.fixture(scope="module")
def A():
    return tessera.generate("elasticity", n=5)


def test_devices_and_efforts_agree(A, rng):
    x = rng.standard_normal(A.shape[1])
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


def test_values_are_updated(A, rng):
    plan = A.plan("cpu", "estimate")
    x = rng.standard_normal(A.shape[1])
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
    largest = eigsh(aslinearoperator(A), k=1, return_eigenvectors=False)
    assert np.allclose(largest, eigsh(A.to_scipy().tocsr(), k=1, return_eigenvectors=False))


class FakeDeviceArray:
    """Says that it lies on a GPU. Nothing reads it: plans for other devices must refuse it."""

    def __init__(self, n):
        self.host = np.ones(n)
        self.shape, self.dtype = (n,), self.host.dtype

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": "<f8",
            "data": (self.host.ctypes.data, False),
            "version": 3,
        }


def test_arrays_on_a_gpu_are_refused_by_a_plan_for_the_cpu(A):
    with pytest.raises(ValueError, match=r"A\.plan\('cuda'\)"):
        A.plan("cpu", "estimate").multiply(
            FakeDeviceArray(A.shape[1]), out=FakeDeviceArray(A.shape[0])
        )


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


def test_jax(A):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.ones(A.shape[1])
    y = A @ x
    assert isinstance(y, jax.Array) and np.allclose(np.asarray(y), A @ np.ones(A.shape[1]))
