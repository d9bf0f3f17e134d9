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
