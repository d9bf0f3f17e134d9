"""Arrays of other libraries: through DLPack, and JAX's where it is installed."""

import numpy as np
import pytest
import tessera
from conftest import DTYPES, vector
from foreign_arrays import Foreign
from tessera._arrays import arrays_of


@pytest.fixture(scope="module")
def A():
    return tessera.generate("elasticity", n=4)


@pytest.mark.parametrize("kind", [*DTYPES, "i4"])
def test_an_array_is_seen_where_it_lies(kind, rng):
    base = rng.integers(0, 9, (6, 7)).astype(kind)
    for array in (base, base[1], base[:, 2], base[::2, 1:4], base.T, base[:0]):
        seen = arrays_of(Foreign(array)).view(Foreign(array))
        assert seen.address == array.ctypes.data or array.size == 0
        assert seen.shape == array.shape and seen.dtype == array.dtype and seen.device is None
        assert array.size == 0 or seen.strides == tuple(s // array.itemsize for s in array.strides)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype, rng):
    A = tessera.generate("cdr", n=4, type="c64" if "c" in dtype else "f64").astype(dtype)
    plan = A.plan("cpu", "estimate")
    x = vector(rng, A.shape[1], dtype)
    y = plan @ Foreign(x)
    assert type(y) is np.ndarray and np.array_equal(y, plan @ x)
    assert np.array_equal(plan.T @ Foreign(x), plan.T @ x)
    assert np.array_equal(plan.H @ Foreign(x), plan.H @ x)
    X = vector(rng, (A.shape[1], 3), dtype)
    assert np.array_equal(plan @ Foreign(X), plan @ X)
    assert np.array_equal(A @ Foreign(x), A @ x)
    if dtype != "c16":
        with pytest.raises(TypeError, match="complex128"):
            plan @ Foreign(x.astype(complex))
    with pytest.raises(ValueError, match="shape"):
        plan @ Foreign(x[1:])


class Older(Foreign):
    """An array of a library that is older than DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__()


def test_both_versions_of_capsules(A, rng):
    plan = A.plan("cpu", "estimate")
    x = rng.standard_normal(A.shape[1])
    y = np.zeros(A.shape[0])
    for kind in (Foreign, Older):
        assert plan.multiply(kind(x), out=kind(y)) is not None
        assert np.array_equal(y, plan @ x)
        assert np.array_equal(kind(x) @ A.T, plan @ x)
    x.flags.writeable = y.flags.writeable = False
    try:
        x.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):
        return  # a NumPy before 2.1, which exports no such arrays
    assert np.array_equal(A @ Foreign(x), y)
    with pytest.raises(ValueError, match="out is read-only"):
        plan.multiply(x, out=Foreign(y))


def test_matrices_from_dlpack(A):
    dense = A.toarray()
    assert np.array_equal(tessera.bsr_array(Foreign(dense)).toarray(), dense)
    parts = (Foreign(A.data.copy()), Foreign(A.indices.copy()), Foreign(A.indptr.copy()))
    assert np.array_equal(tessera.bsr_array(parts, A.shape).toarray(), dense)


def test_results_go_out_by_dlpack(A, rng):
    x = rng.standard_normal(A.shape[1])
    y = A.plan("cpu", "estimate") @ x
    assert np.from_dlpack(y).ctypes.data == y.ctypes.data
    data = A.data
    assert data.ctypes.data == A.data.ctypes.data


def test_jax_on_the_cpu(A, rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    plan = A.plan("cpu", "estimate")
    host = rng.standard_normal(A.shape[1])
    x = jax.numpy.asarray(host)
    assert arrays_of(x).view(x).address == x.unsafe_buffer_pointer()
    for y, expected in ((plan @ x, plan @ host), (A.T @ x, A.T @ host)):
        assert isinstance(y, jax.Array) and np.array_equal(np.asarray(y), expected)
    X = rng.standard_normal((A.shape[1], 3))
    assert np.allclose(np.asarray(plan @ jax.numpy.asarray(X)), plan @ X)
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda v: plan @ v)(x)
    with pytest.raises(TypeError, match="JAX's, which cannot be changed"):
        plan.multiply(host, out=x)


def test_jax_without_double_precision(A):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", False)
    try:
        x = jax.numpy.ones(A.shape[1])
        for attempt in (
            lambda: A @ x,
            lambda: A.T @ (1j * x),
            lambda: tessera.solve(A, x),
            lambda: tessera.preconditioner(A, "jacobi") @ x,
        ):
            with pytest.raises(TypeError, match="JAX has no .*: set jax_enable_x64"):
                attempt()
        single = A.astype("f4")
        y = single @ x
        assert isinstance(y, jax.Array) and np.array_equal(y, single @ np.ones(A.shape[1], "f4"))
    finally:
        jax.config.update("jax_enable_x64", True)
