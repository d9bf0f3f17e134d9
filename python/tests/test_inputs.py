"""What callers hand over that is not quite what NumPy and SciPy make themselves."""

import numpy as np
import pytest
import tessera
from scipy import sparse


@pytest.fixture
def S():
    return sparse.csr_array(np.kron(np.eye(4) + np.eye(4, k=1), np.ones((3, 3))))


def test_sizes_are_integers_of_any_kind(S):
    A = tessera.bsr_array(S, blocksize=(np.int64(3), np.int32(3)))
    assert A.blocksize == (3, 3)
    assert tessera.bsr_array(S, tuple(np.array(S.shape))).shape == S.shape
    assert A.to_blocks(np.array([2, 2])).blocksize == (2, 2)
    at = (np.ones(2), ([0, 1], [1, 0]))
    assert tessera.bsr_array(at, (np.int64(3), np.uint8(4))).shape == (3, 4)
    parts = (S.data, S.indices, S.indptr)
    assert np.array_equal(tessera.bsr_array(parts, np.array(S.shape)).toarray(), S.toarray())
    for wrong in (3, (3,), (3, 3, 3), (3.0, 3.0), "33"):
        with pytest.raises(TypeError, match="blocksize is .*, not two integers"):
            tessera.bsr_array(S, blocksize=wrong)
        with pytest.raises(TypeError, match="not two integers"):
            A.to_blocks(wrong)


def test_lists_of_coordinates_may_be_empty():
    assert tessera.bsr_array(([], ([], [])), (3, 4)).shape == (3, 4)
    assert np.array_equal(
        tessera.bsr_array(([], [], [0, 0, 0]), (2, 5)).toarray(), np.zeros((2, 5))
    )


def test_sparse_matrices_are_no_vectors(S):
    A = tessera.bsr_array(S)
    for attempt in (lambda: S @ A, lambda: A.T @ S, lambda: A @ S, lambda: A.plan("cpu") @ S):
        with pytest.raises(TypeError, match=r"two sparse matrices are SciPy's"):
            attempt()


def test_an_order_is_of_integers(S):
    A = tessera.bsr_array(S, blocksize=(3, 3))
    assert A.permute([3, 2, 1, 0]).shape == A.shape
    with pytest.raises(TypeError, match="order is .*float64"):
        A.permute([0.5, 1.5, 2.5, 3.5])


class Series:
    """A vector of a library of its own: np.asarray takes it, and it has a shape."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


def test_vectors_are_what_numpy_takes_for_arrays(S):
    A = tessera.bsr_array(S)
    x = np.arange(12.0)
    for given in (Series(x), list(x), tuple(x)):
        assert np.array_equal(A @ given, S @ x)
        assert np.array_equal(A.T @ given, S.T @ x)
    for number in (2.0, np.float64(2), np.array(2.0), 2j):
        for attempt in (lambda v: A @ v, lambda v: v @ A, lambda v: A.T @ v):
            with pytest.raises(ValueError, match="shape"):
                attempt(number)


def test_what_is_not_made_says_what_it_is(S):
    A = tessera.bsr_array(S + 1j * S, blocksize=(3, 3))
    whole = "of <tessera.bsr_array 12 x 12 complex128, 7 blocks of 3 x 3>>"
    turned = {"transpose": A.T, "conjugate transpose": A.H, "conjugate": A.conj()}
    for name, of in turned.items():
        assert repr(of) == f"<{name} {whole}"
    plan, x = A.plan("cpu", "estimate"), np.ones(12)
    assert repr(plan.T) == f"<transpose of {plan!r}>"
    for product in (A, A.T, A.H, plan, plan.T):
        assert np.array_equal(product.dot(x), product @ x)


def test_out_is_an_array_at_any_address(S):
    plan, x = tessera.bsr_array(S).plan("cpu", "estimate"), np.ones(12)
    with pytest.raises(TypeError, match="out is a list, not an array"):
        plan.multiply(x, out=[0.0] * 12)
    unaligned = np.frombuffer(bytearray(8 * 12 + 1), np.uint8)[1:].view(np.float64)
    assert not unaligned.flags.aligned
    assert np.array_equal(plan.multiply(x, out=unaligned), plan @ x)


def test_integers_that_the_type_does_not_hold_are_refused(S):
    single = tessera.bsr_array(S, dtype="f4")
    x = np.full(12, 2**24)
    assert np.array_equal(single @ x, S @ x)
    with pytest.raises(TypeError, match="x has integers that float32 does not hold"):
        single @ (x + 1)


def test_integers_of_other_libraries_are_checked_too(S):
    jax = pytest.importorskip("jax")
    single = tessera.bsr_array(S, dtype="f4")
    x = jax.numpy.full(12, 2**24, "i4")
    assert np.array_equal(single @ x, S @ np.full(12, 2.0**24))
    with pytest.raises(TypeError, match="x has integers that float32 does not hold"):
        single @ (x + 1)


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_integers_beyond_double_precision_are_refused(kind, S):
    A = tessera.bsr_array(S)
    largest = np.iinfo(kind).max
    for held in (2**53, 2**53 + 2, 2**62, largest // 2 + 1, np.iinfo(kind).min):
        x = np.full(12, held, kind)
        assert np.array_equal(A @ x, A @ x.astype(float)), held
    for lost in (2**53 + 1, largest):
        with pytest.raises(TypeError, match="x has integers that float64 does not hold"):
            A @ np.full(12, lost, kind)


def test_types_without_digits_are_refused_with_our_sentence(S):
    A = tessera.bsr_array(S)
    for kind in ("M8[s]", "m8[s]", "V8", "O", "U1", "g"):
        with pytest.raises(TypeError, match="x is .*, which float64 does not hold"):
            A @ np.zeros(12, kind)


def test_masked_values_are_refused(S):
    A = tessera.bsr_array(S, blocksize=(3, 3))
    plan = A.plan("cpu", "estimate")
    x = np.ma.array(np.arange(12.0), mask=[True] + [False] * 11)
    data = np.ma.array(A.data, mask=A.data > 0)
    at = (np.arange(12), np.arange(12))
    attempts = (
        lambda: A @ x,
        lambda: A.T @ x,
        lambda: x @ A,
        lambda: plan @ x,
        lambda: tessera.bsr_array(np.ma.array(S.toarray(), mask=S.toarray() > 0)),
        lambda: tessera.bsr_array((data, A.indices, A.indptr)),
        lambda: tessera.bsr_array((x, at), (12, 12)),
        lambda: tessera.bsr_array((np.ones(12), (x.astype(int), np.arange(12))), (12, 12)),
        lambda: plan.update(data),
        lambda: tessera.solve(A, x),
        lambda: tessera.solve(A, np.ones(12), x),
        lambda: tessera.preconditioner(A, "jacobi") @ x,
        lambda: plan.multiply(np.ones(12), out=x),
    )
    for attempt in attempts:
        with pytest.raises(ValueError, match="masked values"):
            attempt()
    nothing_masked = np.ma.array(np.arange(12.0))
    assert np.array_equal(A @ nothing_masked, S @ np.arange(12.0))


def test_a_shape_alone_is_a_matrix_without_entries():
    for dtype in (None, "f4", "c16"):
        A = tessera.bsr_array((3, np.int64(4)), dtype=dtype)
        assert A.shape == (3, 4) and A.nnz == 0 and A.dtype == np.dtype(dtype or "f8")
    assert tessera.bsr_array((3.0, 4.0)).shape == (1, 2)  # a dense row


def test_transposes_become_matrices(S):
    Z = tessera.bsr_array(S + 2j * S, blocksize=(3, 3))
    for turned in (Z.T, Z.H, Z.conj()):
        made = tessera.bsr_array(turned)
        assert isinstance(made, tessera.bsr_array) and made.blocksize == (3, 3)
        assert np.array_equal(made.toarray(), turned.to_scipy().toarray())


@pytest.mark.parametrize("kind", ["u1", "u4", "u8", "i2"])
def test_coordinates_may_be_integers_without_a_sign(kind):
    at = (np.array([0, 2], kind), np.array([3, 1], kind))
    A = tessera.bsr_array((np.ones(2), at))
    assert A.shape == (3, 4) and A.toarray()[2, 1] == 1


def test_numbers_that_c_cannot_hold_are_refused(S):
    A = tessera.bsr_array(S)
    for attempt in (
        lambda: tessera.bsr_array(S, blocksize=(2**32 + 3, 3)),
        lambda: A.to_blocks((3, 2**32 + 3)),
        lambda: tessera.bsr_array(([1.0], ([0], [0])), (2**64 + 3, 3)),
        lambda: tessera.set_threads(2**40),
    ):
        with pytest.raises(tessera.SizeError, match="does not fit (32|64) bits"):
            attempt()
    for large in (S * 1e300, (S * 1e300).toarray(), ([1e300], ([0], [0]))):
        with pytest.raises(tessera.SizeError, match="outside the range of float32"):
            tessera.bsr_array(large, dtype="f4")


def test_text_with_a_null_character_is_refused(S, tmp_path):
    A = tessera.bsr_array(S)
    A.write(tmp_path / "A.tess")
    for attempt in (
        lambda: A.write(f"{tmp_path}/A.tess\0.mtx"),
        lambda: tessera.read(f"{tmp_path}/A.tess\0.mtx"),
        lambda: tessera.read_vector(f"{tmp_path}/A.tess\0.mtx"),
        lambda: tessera.generate("stencil7:n=3\0,b=2"),
        lambda: A.plan("cpu\0:2"),
        lambda: A.plan("cpu", params="\0a"),
        lambda: tessera.Solver(A, "cg\0"),
    ):
        with pytest.raises(ValueError, match="has a null character"):
            attempt()


def test_sparse_arrays_of_other_libraries_are_named(S):
    class Other:
        shape, ndim, dtype = (12, 12), 2, np.dtype("f8")

        def todense(self):
            return S.toarray()

    with pytest.raises(TypeError, match=r"Other: make a SciPy array of it"):
        tessera.bsr_array(Other())
    with pytest.raises(TypeError, match="two sparse matrices"):
        tessera.bsr_array(S) @ Other()
