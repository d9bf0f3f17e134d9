"""bsr_array against SciPy: every constructor, type, order and shape."""

import pickle
import re

import numpy as np
import pytest
import tessera
from conftest import DTYPES, close, vector, wide
from scipy import sparse

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (37, 37), (60, 24), (24, 60)]
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


def random(rng, shape, dtype="f8", density=0.15, format="csr"):
    S = sparse.random_array(shape, density=density, rng=rng, dtype="f8", format="csr")
    S = S.astype(dtype)
    if S.dtype.kind == "c":
        S.data *= np.exp(2j * np.pi * rng.random(S.nnz))
    return S.asformat(format)


def check_products(A, S, rng, of_vectors=None):
    """Products of A, whose numbers are those of S, with vectors of A's type or another one."""
    rows, cols = S.shape
    of_vectors = of_vectors or A.dtype
    exact, turned = wide(S), wide(S).T
    adjoint = turned.conj()
    x, z = vector(rng, cols, of_vectors), vector(rng, rows, of_vectors)
    assert (A @ x).dtype == np.result_type(S.dtype, of_vectors)
    close(A @ x, exact @ wide(x), S, x)
    close(A.T @ z, turned @ wide(z), S.T, z)
    close(z @ A, turned @ wide(z), S.T, z)
    close(A.conj() @ x, exact.conj() @ wide(x), S, x)
    close(z @ A.conj(), adjoint @ wide(z), S.T, z)
    for product in (A.H @ z, A.rmatvec(z), A.T.conj() @ z, A.conj().T @ z, A.H.T.H.conj() @ z):
        close(product, adjoint @ wide(z), S.T, z)
    for product in (A.T.rmatvec(x), A.H.T @ x):
        close(product, exact.conj() @ wide(x), S, x)
    close(A.H.rmatvec(x), exact @ wide(x), S, x)
    for k in (0, 1, 3):
        X, Z = vector(rng, (cols, k), of_vectors), vector(rng, (rows, k), of_vectors)
        padded = np.zeros((cols, 2 * k + 1), of_vectors)
        padded[:, :k] = X
        for given in (X, np.asfortranarray(X), padded[:, :k]):
            close(A @ given, exact @ wide(X), S, X)
        for given in (Z, np.asfortranarray(Z)):
            close(A.T @ given, turned @ wide(Z), S.T, Z)
            close(A.H @ given, adjoint @ wide(Z), S.T, Z)
            close(A.rmatmat(given), adjoint @ wide(Z), S.T, Z)
        strided = np.zeros((2 * cols, k), of_vectors)
        strided[::2] = X
        close(A @ strided[::2], exact @ wide(X), S, X)
        close((Z.T @ A).T, turned @ wide(Z), S.T, Z)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", SHAPES)
def test_real_matrices_and_complex_vectors(shape, dtype, rng):
    S = random(rng, shape, dtype)
    for blocksize in ((1, 1), (3, 2)):
        A = tessera.bsr_array(S, blocksize=blocksize)
        for of_vectors in ("c8", "c16") if dtype == "f8" else ("c8",):
            check_products(A, S, rng, of_vectors)
            check_products(A.plan("ref"), S, rng, of_vectors)


def test_complex_matrices_and_real_vectors(rng):
    S = random(rng, (30, 24), "c16")
    for of_vectors in ("f8", "f4", "i4", "c8"):
        check_products(tessera.bsr_array(S), S, rng, of_vectors)
    check_products(tessera.bsr_array(S.astype("c8")), S.astype("c8"), rng, "f4")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_equal_scipys(shape, dtype, rng):
    S = random(rng, shape, dtype)
    for blocksize in (None, (1, 1), (3, 3), (2, 4)):
        A = tessera.bsr_array(S, blocksize=blocksize)
        assert A.shape == S.shape and A.dtype == S.dtype and A.ndim == 2
        check_products(A, S, rng)
        assert abs(A.to_scipy() - S).sum() == 0


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_kind_of_scipys(format, container, dtype, rng):
    S = random(rng, (36, 24), dtype, format=format)
    if container == "matrix":
        S = getattr(sparse, f"{format}_matrix")(S)
    A = tessera.bsr_array(S)
    assert abs(A.to_scipy() - S).sum() == 0
    if format == "bsr":
        assert A.blocksize == S.blocksize and A.nnz == S.nnz


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "?", "f2", ">f8", ">c8", *DTYPES])
def test_every_type(dtype, rng):
    dense = 10 * random(rng, (20, 30), "c16" if "c" in dtype else "f8").toarray()
    dense = dense.astype(dtype)
    A = tessera.bsr_array(dense)
    stored = {"f2": "f4", ">f8": "f8", ">c8": "c8"}.get(dtype, dtype if dtype in DTYPES else "f8")
    assert A.dtype == stored
    assert np.array_equal(A.toarray(), dense.astype(A.dtype))
    assert tessera.bsr_array(dense, dtype="c8").dtype == np.complex64
    if "c" not in dtype:
        assert tessera.bsr_array(dense, dtype="f4").dtype == np.float32
    refusal = "matrices are float64, float32, complex128 or complex64"
    with pytest.raises(TypeError, match=refusal):
        tessera.bsr_array(dense.astype("G" if "c" in dtype else "g"))


@pytest.mark.parametrize("dtype", ["f8", "c8", "c16"])
def test_scipys_bits_are_kept(dtype, rng):
    S = random(rng, (40, 40), dtype)
    odd = [complex(-0.0, np.nan), complex(0.0, -0.0), complex(np.inf, -0.0), complex(1e-40, 1)]
    S.data[:4] = odd if S.dtype.kind == "c" else np.real(odd)
    for given in (S, S.tobsr((4, 4)), S.tobsr((2, 5))):
        given.sort_indices()
        back = tessera.bsr_array(given, blocksize=getattr(given, "blocksize", (1, 1))).to_scipy()
        assert back.format == given.format and back.dtype == given.dtype
        assert back.data.tobytes() == given.data.tobytes()
        assert np.array_equal(back.indices, given.indices)


def test_imaginary_parts_are_not_lost(rng):
    dense = vector(rng, (6, 6), "c16")
    A = tessera.bsr_array(dense, blocksize=(2, 2))
    parts = (np.array([1j]), np.array([0]), np.array([0, 1]))
    with pytest.raises(tessera.MatrixError, match=r"x\.real"):
        tessera.bsr_array(dense, dtype="f8")
    with pytest.raises(tessera.MatrixError, match=r"x\.real"):
        tessera.bsr_array(parts, (1, 1), "f4")
    with pytest.raises(tessera.MatrixError, match=r"x\.real"):
        tessera.bsr_array(dense.real).plan("cpu", "estimate").update(A.data)
    with pytest.raises(tessera.MatrixError):
        A.astype("f8")
    assert np.array_equal(tessera.bsr_array(dense.real + 0j, dtype="f8").toarray(), dense.real)
    assert np.array_equal(A.real.toarray(), dense.real) and A.real.dtype == np.float64
    assert A.real.blocksize == (2, 2) and A.real.astype("c8").dtype == np.complex64


@pytest.mark.parametrize("index", ["i4", "i8", "u4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block", [(1, 1), (3, 3), (1, 4), (4, 1), (2, 3)])
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_blocks_indices_and_indptr(dtype, block, order, index, rng):
    data = vector(rng, (5, *block), dtype)
    indices, indptr = np.array([0, 2, 1, 0, 3]), np.array([0, 2, 3, 3, 5])
    S = sparse.bsr_array((data, indices, indptr), shape=(4 * block[0], 4 * block[1]))
    if order == "F":
        data = np.ascontiguousarray(data.transpose(0, 2, 1)).transpose(0, 2, 1)
    A = tessera.bsr_array((data, indices.astype(index), indptr.astype(index)), S.shape)
    assert A.blocksize == block
    assert np.array_equal(A.toarray(), S.toarray())
    assert np.array_equal(A.data, S.data)
    check_products(A, S, rng)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_arrays_are_used_in_place_where_the_layout_allows(dtype, rng):
    S = random(rng, (50, 50), dtype)
    S.sort_indices()
    A = tessera.bsr_array(S, blocksize=(1, 1))
    assert np.shares_memory(A.data, S.data) and np.shares_memory(A.indices, S.indices)
    copied = tessera.bsr_array(S, blocksize=(1, 1), copy=True)
    assert not np.shares_memory(copied.data, S.data)
    by_columns = vector(rng, (4, 3, 3), dtype).transpose(0, 2, 1)
    B = tessera.bsr_array((by_columns, np.arange(4), np.arange(5)), (12, 12))
    assert np.shares_memory(B.data, by_columns)
    del by_columns
    assert np.isfinite(B @ np.ones(12)).all()


def test_unsorted_and_duplicate_columns_are_put_in_order():
    parts = (np.array([1.0, 2, 4, 8]), np.array([2, 0, 2, 1]), np.array([0, 3, 4]))
    A = tessera.bsr_array(parts, (2, 3))
    assert np.array_equal(A.toarray(), [[2, 0, 5], [0, 8, 0]])


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_coordinates_and_dense(dtype, rng):
    values, rows, cols = vector(rng, 9, dtype), rng.integers(0, 5, 9), rng.integers(0, 7, 9)
    S = sparse.coo_array((values, (rows, cols)), shape=(5, 7))
    A = tessera.bsr_array((values, (rows, cols)), shape=(5, 7))
    assert np.allclose(A.toarray(), S.toarray(), rtol=1e-15)
    assert np.array_equal(tessera.bsr_array(S.toarray()).toarray(), S.toarray())
    assert tessera.bsr_array(A).blocksize == A.blocksize
    assert tessera.bsr_array(A, blocksize=(2, 2)).blocksize == (2, 2)
    small = "f4" if dtype == "f8" else "c8"
    assert tessera.bsr_array(A, dtype=small).dtype == small


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_blocks_are_detected(dtype, rng):
    S = sparse.kron(random(rng, (40, 40), dtype), np.ones((4, 4)), format="csr")
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


def test_wrong_vectors_are_refused():
    A = tessera.bsr_array(np.eye(4), dtype="f4")
    with pytest.raises(ValueError, match=r"\(3,\), not \(4,\)"):
        A @ np.ones(3, "f4")
    with pytest.raises(ValueError, match="shape"):
        A @ np.ones((4, 1, 1), "f4")
    with pytest.raises(TypeError, match="astype"):
        A @ np.ones(4)
    with pytest.raises(TypeError, match=r"complex128.*astype\('complex128'\)"):
        A @ np.ones(4, complex)
    with pytest.raises(TypeError, match=r"float64.*complex64.*astype\('complex128'\)"):
        A.astype("c8") @ np.ones(4)
    with pytest.raises(TypeError, match="convert x$"):
        A @ np.ones(4, "G")
    for bad in (np.ones(3, "c8"), np.ones((4, 1, 1), "c8")):
        with pytest.raises(ValueError, match=re.escape(f"{bad.shape}, not (4,) or (4, k)")):
            A @ bad
    assert (A @ [1, 2, 3, 4]).dtype == np.float32
    assert (A @ np.ones(4, "f2")).dtype == np.float32


def test_read_only_and_swapped_vectors():
    A = tessera.bsr_array(np.diag([1.0, 2, 3]))
    x = np.ones(3)
    x.flags.writeable = False
    assert np.array_equal(A @ x, [1, 2, 3])
    assert np.array_equal(A @ np.ones(3, ">f8"), [1, 2, 3])
    assert np.array_equal(A @ np.ones(6)[::2], [1, 2, 3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_fields_of_records(dtype, rng):
    """A complex field may lie one scalar and a half from the next one."""
    real = np.dtype(dtype).char.lower()
    S = random(rng, (7, 5), dtype)
    A = tessera.bsr_array(S, blocksize=(1, 1))
    for shape in [(5,), (5, 3)]:
        records = np.zeros(shape, [("x", dtype), ("beside", real)])
        records["x"] = vector(rng, shape, dtype)
        close(A @ records["x"], S @ records["x"], S, records["x"])
        x = np.ascontiguousarray(records["x"])
        records = np.zeros((7, *shape[1:]), [("y", dtype), ("beside", real)])
        with pytest.raises(ValueError, match="out is not contiguous"):
            A.plan("cpu", "estimate").multiply(x, out=records["y"])
        assert not records["beside"].any()


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_other_matrices_from_one(dtype, rng):
    S = random(rng, (30, 45), dtype)
    A = tessera.bsr_array(S, blocksize=(3, 5))
    for turned in (lambda M: M.T, lambda M: M.conj().T, lambda M: M.conj()):
        made = turned(A).copy()
        assert np.array_equal(made.toarray(), turned(S.toarray())) and made.dtype == dtype
        assert np.array_equal(turned(A).to_scipy().toarray(), turned(S.toarray()))
    assert np.array_equal(A.H.copy().toarray(), S.toarray().conj().T) and A.H.H is A
    assert np.array_equal(A.T.copy().toarray(), S.toarray().T)
    assert A.T.shape == (45, 30) and A.T.T is A and A.T.copy().blocksize == (5, 3)
    assert np.array_equal(A.T.to_scipy().toarray(), S.toarray().T)
    assert A.to_blocks((2, 2)).blocksize == (2, 2)
    assert np.array_equal(A.copy().toarray(), S.toarray())
    assert A.astype("c8").dtype == np.complex64 and A.astype(dtype) is A
    assert np.array_equal(pickle.loads(pickle.dumps(A)).toarray(), S.toarray())
    last = np.array([[3, 4], [5, 6]]) * (1 + 2j if dtype == "c16" else 1.0)
    square = tessera.bsr_array(sparse.block_diag([np.ones((2, 2)), np.ones((2, 2)), last]))
    assert square.permute([2, 0, 1]).toarray()[0, 0] == last[0, 0]
    assert np.array_equal(square.diagonal_blocks()[2], last)
    with pytest.raises(ValueError, match="order"):
        square.permute([0])


def test_arrays_of_a_matrix_outlive_it_and_cannot_be_written():
    data = tessera.generate("stencil7", n=4).data
    assert np.isfinite(data).all()
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 1


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_files(dtype, tmp_path, rng):
    S = random(rng, (30, 30), dtype)
    A = tessera.bsr_array(S, blocksize=(3, 3))
    for name in ("A.mtx", "A.mtx.gz", "A.tess"):
        A.write(tmp_path / name)
        back = tessera.read(tmp_path / name)
        assert back.dtype == dtype and np.array_equal(back.toarray(), S.toarray())
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


def test_files_of_complex_numbers(tmp_path, rng):
    head = "%%MatrixMarket matrix coordinate complex"
    (tmp_path / "A.mtx").write_text(f"{head} hermitian\n2 2 3\n1 1 1 0\n2 1 2 3\n2 2 4 0\n")
    A = tessera.read(tmp_path / "A.mtx")
    assert A.dtype == np.complex128
    assert np.array_equal(A.toarray(), [[1, 2 - 3j], [2 + 3j, 4]])
    tessera.bsr_array(A, dtype="c8").write(tmp_path / "A.tess")
    assert tessera.read(tmp_path / "A.tess").dtype == np.complex64
    b = vector(rng, 5, "c16")
    np.save(tmp_path / "b.npy", b)
    assert np.array_equal(tessera.read_vector(tmp_path / "b.npy", complex), b)
    assert np.array_equal(tessera.read_vector(tmp_path / "b.npy", "c8"), b.astype("c8"))
    with pytest.raises(tessera.Error, match="complex"):
        tessera.read_vector(tmp_path / "b.npy")
    np.savetxt(tmp_path / "b.txt", np.arange(5.0))
    real = tessera.read_vector(tmp_path / "b.txt", "c16")
    assert real.dtype == np.complex128 and np.array_equal(real, np.arange(5.0))


def test_generators():
    A, b = tessera.generate("stencil27:n=4,b=2", rhs=True)
    assert A.shape == (128, 128) and np.allclose(A @ np.ones(128), b)
    assert tessera.generate("gen:random", rows=20, cols=30, r=2, c=3).blocksize == (2, 3)
    assert tessera.generate("stencil7", n=3, type="f32").dtype == np.float32
    Z, b = tessera.generate("stencil7", n=3, type="c64", rhs=True)
    assert Z.dtype == b.dtype == np.complex128 and np.allclose(Z @ np.ones(len(b)), b)
    assert Z.detect().hermitian and not Z.detect().symmetry.symmetric
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
