"""bsr_array against SciPy: every constructor, type, order and shape."""

import pickle

import numpy as np
import pytest
import tessera
from conftest import close
from scipy import sparse

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (37, 37), (60, 24), (24, 60)]
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


def random(rng, shape, dtype="f8", density=0.15, format="csr"):
    S = sparse.random_array(shape, density=density, rng=rng, dtype="f8", format="csr")
    return S.astype(dtype).asformat(format)


def check_products(A, S, rng):
    rows, cols = S.shape
    exact = S.astype("f8")
    x, z = rng.standard_normal(cols).astype(A.dtype), rng.standard_normal(rows).astype(A.dtype)
    close(A @ x, exact @ x.astype("f8"), S, x)
    close(A.T @ z, exact.T @ z.astype("f8"), S.T, z)
    close(z @ A, exact.T @ z.astype("f8"), S.T, z)
    close(A.rmatvec(z), exact.T @ z.astype("f8"), S.T, z)
    for k in (0, 1, 3):
        X = rng.standard_normal((cols, k)).astype(A.dtype)
        Z = rng.standard_normal((rows, k)).astype(A.dtype)
        wide = np.zeros((cols, 2 * k + 1), A.dtype)
        wide[:, :k] = X
        for given in (X, np.asfortranarray(X), wide[:, :k]):
            close(A @ given, exact @ X.astype("f8"), S, X)
        for given in (Z, np.asfortranarray(Z)):
            close(A.T @ given, exact.T @ Z.astype("f8"), S.T, Z)
        strided = np.zeros((2 * cols, k), A.dtype)
        strided[::2] = X
        close(A @ strided[::2], exact @ X.astype("f8"), S, X)
        close((Z.T @ A).T, exact.T @ Z.astype("f8"), S.T, Z)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_equal_scipys(shape, dtype, rng):
    S = random(rng, shape, dtype)
    for blocksize in (None, (1, 1), (3, 3), (2, 4)):
        A = tessera.bsr_array(S, blocksize=blocksize)
        assert A.shape == S.shape and A.dtype == S.dtype and A.ndim == 2
        check_products(A, S, rng)
        assert abs(A.to_scipy() - S).sum() == 0


@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_kind_of_scipys(format, container, rng):
    S = random(rng, (36, 24), format=format)
    if container == "matrix":
        S = getattr(sparse, f"{format}_matrix")(S)
    A = tessera.bsr_array(S)
    assert abs(A.to_scipy() - S).sum() == 0
    if format == "bsr":
        assert A.blocksize == S.blocksize and A.nnz == S.nnz


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "?", "f2", "f4", "f8"])
def test_every_type(dtype, rng):
    dense = (10 * random(rng, (20, 30)).toarray()).astype(dtype)
    A = tessera.bsr_array(dense)
    assert A.dtype == ("f4" if dtype in ("f2", "f4") else "f8")
    assert np.array_equal(A.toarray(), dense.astype(A.dtype))
    assert tessera.bsr_array(dense, dtype="f4").dtype == np.float32
    for other in ("c8", "c16", "g"):
        with pytest.raises(TypeError, match="float64 or float32"):
            tessera.bsr_array(dense.astype(other))


@pytest.mark.parametrize("index", ["i4", "i8", "u4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block", [(1, 1), (3, 3), (1, 4), (4, 1), (2, 3)])
def test_blocks_indices_and_indptr(block, order, index, rng):
    data = rng.standard_normal((5, *block))
    indices, indptr = np.array([0, 2, 1, 0, 3]), np.array([0, 2, 3, 3, 5])
    S = sparse.bsr_array((data, indices, indptr), shape=(4 * block[0], 4 * block[1]))
    if order == "F":
        data = np.ascontiguousarray(data.transpose(0, 2, 1)).transpose(0, 2, 1)
    A = tessera.bsr_array((data, indices.astype(index), indptr.astype(index)), S.shape)
    assert A.blocksize == block
    assert np.array_equal(A.toarray(), S.toarray())
    assert np.array_equal(A.data, S.data)
    check_products(A, S, rng)


def test_arrays_are_used_in_place_where_the_layout_allows(rng):
    S = random(rng, (50, 50))
    S.sort_indices()
    A = tessera.bsr_array(S, blocksize=(1, 1))
    assert np.shares_memory(A.data, S.data) and np.shares_memory(A.indices, S.indices)
    copied = tessera.bsr_array(S, blocksize=(1, 1), copy=True)
    assert not np.shares_memory(copied.data, S.data)
    by_columns = rng.standard_normal((4, 3, 3)).transpose(0, 2, 1)
    B = tessera.bsr_array((by_columns, np.arange(4), np.arange(5)), (12, 12))
    assert np.shares_memory(B.data, by_columns)
    del by_columns
    assert np.isfinite(B @ np.ones(12)).all()


def test_unsorted_and_duplicate_columns_are_put_in_order():
    parts = (np.array([1.0, 2, 4, 8]), np.array([2, 0, 2, 1]), np.array([0, 3, 4]))
    A = tessera.bsr_array(parts, (2, 3))
    assert np.array_equal(A.toarray(), [[2, 0, 5], [0, 8, 0]])


def test_coordinates_and_dense(rng):
    values, rows, cols = rng.random(9), rng.integers(0, 5, 9), rng.integers(0, 7, 9)
    S = sparse.coo_array((values, (rows, cols)), shape=(5, 7))
    A = tessera.bsr_array((values, (rows, cols)), shape=(5, 7))
    assert np.allclose(A.toarray(), S.toarray(), rtol=1e-15)
    assert np.array_equal(tessera.bsr_array(S.toarray()).toarray(), S.toarray())
    assert tessera.bsr_array(A).blocksize == A.blocksize
    assert tessera.bsr_array(A, blocksize=(2, 2)).blocksize == (2, 2)
    assert tessera.bsr_array(A, dtype="f4").dtype == np.float32


def test_blocks_are_detected(rng):
    S = sparse.kron(random(rng, (40, 40)), np.ones((4, 4)), format="csr")
    assert tessera.bsr_array(S).blocksize == (4, 4)
    assert tessera.bsr_array(random(rng, (40, 40), density=0.02)).blocksize == (1, 1)


def test_wrong_arrays_are_refused_with_a_sentence():
    ones = np.ones(2)
    with pytest.raises(tessera.MatrixError, match="9"):
        tessera.bsr_array((ones, np.array([0, 9]), np.array([0, 1, 2])), (2, 2))
    with pytest.raises(ValueError, match="not equal"):
        tessera.bsr_array((ones, np.array([0]), np.array([0, 1, 2])), (2, 2))
    with pytest.raises(ValueError, match="indptr has 3 entries for 7 rows"):
        tessera.bsr_array((ones, np.array([0, 1]), np.array([0, 1, 2])), (7, 2))
    with pytest.raises(OverflowError, match="largest index"):
        tessera.bsr_array((ones, np.array([0, 2**40]), np.array([0, 1, 2])), (2, 2**41))
    with pytest.raises(TypeError, match="integers"):
        tessera.bsr_array((ones, np.array([0.0, 1]), np.array([0, 1, 2])), (2, 2))
    with pytest.raises(ValueError, match="shape"):
        tessera.bsr_array(np.eye(3), (4, 4))
    with pytest.raises(ValueError, match="dimensions"):
        tessera.bsr_array(np.ones((2, 2, 2)))


def test_what_is_scipys_is_refused_by_name(rng):
    A = tessera.bsr_array(np.eye(4))
    refused = [
        lambda: A + A,
        lambda: A - 1,
        lambda: 1 + A,
        lambda: A * 2,
        lambda: 2 * A,
        lambda: A / 2,
        lambda: A**2,
        lambda: -A,
        lambda: abs(A),
        lambda: A[0],
        lambda: A[1:2, 0],
        lambda: A.__setitem__(0, 1),
        lambda: A < 1,
        lambda: len(A),
        lambda: list(A),
        lambda: bool(A),
        lambda: A @ A,
        lambda: A @ A.to_scipy(),
        lambda: np.ones((4, 4)) + A,
    ]
    for attempt in refused:
        with pytest.raises(TypeError):
            attempt()
    with pytest.raises(TypeError, match=r"use A\.to_scipy\(\)"):
        A + A
    with pytest.raises(TypeError, match="A @ x"):
        A * 2


def test_complex_matrices_are_refused(tmp_path):
    path = tmp_path / "A.mtx"
    path.write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n")
    with pytest.raises(TypeError, match="the matrix is complex"):
        tessera.read(str(path))
    with pytest.raises(TypeError, match="complex128: matrices are float64 or float32"):
        tessera.bsr_array(np.eye(4, dtype=complex))


def test_wrong_vectors_are_refused():
    A = tessera.bsr_array(np.eye(4), dtype="f4")
    with pytest.raises(ValueError, match=r"\(3,\), not \(4,\)"):
        A @ np.ones(3, "f4")
    with pytest.raises(ValueError, match="shape"):
        A @ np.ones((4, 1, 1), "f4")
    with pytest.raises(TypeError, match="astype"):
        A @ np.ones(4)
    with pytest.raises(TypeError, match="complex"):
        A @ np.ones(4, complex)
    assert (A @ [1, 2, 3, 4]).dtype == np.float32
    assert (A @ np.ones(4, "f2")).dtype == np.float32


def test_read_only_and_swapped_vectors():
    A = tessera.bsr_array(np.diag([1.0, 2, 3]))
    x = np.ones(3)
    x.flags.writeable = False
    assert np.array_equal(A @ x, [1, 2, 3])
    assert np.array_equal(A @ np.ones(3, ">f8"), [1, 2, 3])
    assert np.array_equal(A @ np.ones(6)[::2], [1, 2, 3])


def test_other_matrices_from_one(rng):
    S = random(rng, (30, 45))
    A = tessera.bsr_array(S, blocksize=(3, 5))
    assert np.array_equal(A.T.copy().toarray(), S.toarray().T)
    assert A.T.shape == (45, 30) and A.T.T is A and A.T.copy().blocksize == (5, 3)
    assert np.array_equal(A.T.to_scipy().toarray(), S.toarray().T)
    assert A.to_blocks((2, 2)).blocksize == (2, 2)
    assert np.array_equal(A.copy().toarray(), S.toarray())
    assert A.astype("f4").dtype == np.float32 and A.astype("f8") is A
    assert np.array_equal(pickle.loads(pickle.dumps(A)).toarray(), S.toarray())
    square = tessera.bsr_array(sparse.block_diag([np.full((2, 2), i) for i in (1.0, 2, 3)]))
    assert square.permute([2, 0, 1]).toarray()[0, 0] == 3
    assert np.array_equal(square.diagonal_blocks()[2], np.full((2, 2), 3.0))
    with pytest.raises(ValueError, match="order"):
        square.permute([0])


def test_arrays_of_a_matrix_outlive_it_and_cannot_be_written():
    data = tessera.generate("stencil7", n=4).data
    assert np.isfinite(data).all()
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 1


def test_files(tmp_path, rng):
    S = random(rng, (30, 30))
    A = tessera.bsr_array(S, blocksize=(3, 3))
    for name in ("A.mtx", "A.mtx.gz", "A.tess"):
        A.write(tmp_path / name)
        assert np.array_equal(tessera.read(tmp_path / name).toarray(), S.toarray())
    assert tessera.read(tmp_path / "A.tess").blocksize == (3, 3)
    assert tessera.read(tmp_path / "A.mtx", blocksize=(2, 2)).blocksize == (2, 2)
    with pytest.raises(OSError, match="No such file"):
        tessera.read(tmp_path / "absent.mtx")
    (tmp_path / "bad.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n9 9 1\n"
    )
    with pytest.raises(tessera.FormatError, match="bad.mtx:3"):
        tessera.read(tmp_path / "bad.mtx")
    np.savetxt(tmp_path / "b.txt", np.arange(5.0))
    assert np.array_equal(tessera.read_vector(tmp_path / "b.txt"), np.arange(5.0))


def test_generators():
    A, b = tessera.generate("stencil27:n=4,b=2", rhs=True)
    assert A.shape == (128, 128) and np.allclose(A @ np.ones(128), b)
    assert tessera.generate("gen:random", rows=20, cols=30, r=2, c=3).blocksize == (2, 3)
    assert tessera.generate("stencil7", n=3, type="f32").dtype == np.float32
    with pytest.raises(tessera.OptionError):
        tessera.generate("stencil7", nn=3)


@pytest.mark.parametrize("name", ["bcsstk13", "add32", "DK01R", "1138_bus", "bayer10", "Si2"])
def test_real_matrices(name, matrices, rng):
    path = matrices / f"{name}.mtx.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    A = tessera.read(path)
    S = tessera.read(path, blocksize=(1, 1)).to_scipy()
    check_products(A, S, rng)
    check_products(tessera.bsr_array(S), S, rng)
