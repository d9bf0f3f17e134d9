"""The package on a machine with an NVIDIA GPU, with CuPy, PyTorch and JAX as far as installed.

    cmake -S python -B build-python/cmake && cmake --build build-python/cmake --target tessera fast
    TESSERA_LIBRARY=$PWD/build-python/cmake/lib/libtessera.so PYTHONPATH=python \\
        python3 python/tests/on_gpu.py

Prints one line per check, and what a product costs over the C call. The exit status is 1 if a
check failed. Needs NumPy and nothing else that a plain machine lacks."""

import ctypes
import importlib
import inspect
import shutil
import sys
import time
import timeit
import traceback

import numpy as np
import tessera
from foreign_arrays import Cupy, Foreign, Jax, Torch
from overhead import c_loop
from tessera._library import lib

A = tessera.generate("elasticity", n=12)
N = A.shape[0]
RNG = np.random.default_rng(1)
X = RNG.standard_normal(N)
Y = A.plan("ref") @ X
YT = A.plan("ref").T @ X
PLAN = A.plan("cuda")


def complex_matrix():
    """Neither Hermitian nor symmetric."""
    made = tessera.generate("cdr", n=12, type="c64")
    phase = np.exp(1j * np.arange(made.data.size)).reshape(made.data.shape)
    return tessera.bsr_array((made.data * phase, made.indices, made.indptr), made.shape)


Z = complex_matrix()
ZX = RNG.standard_normal(Z.shape[0]) + 1j * RNG.standard_normal(Z.shape[0])


def close(y, expected):
    np.testing.assert_allclose(
        np.asarray(y), expected, rtol=1e-11, atol=1e-12 * abs(expected).max()
    )


def products_and_kinds(kind):
    x = kind.array(X)
    kept = kind.host(x).copy()
    for product, expected in ((PLAN @ x, Y), (A @ x, Y), (PLAN.T @ x, YT), (A.T @ x, YT)):
        assert type(product) is type(x), type(product)
        close(kind.host(product), expected)
    assert np.array_equal(kind.host(x), kept)


def several_vectors(kind):
    columns = np.stack([X, 2 * X, -X], axis=1)
    given = [kind.array(columns)]
    if not isinstance(kind, Jax):
        given.append(kind.array(columns.T.copy()).T)
    for block in given:
        close(kind.host(PLAN @ block), np.stack([Y, 2 * Y, -Y], axis=1))
        close(kind.host(PLAN.T @ block), np.stack([YT, 2 * YT, -YT], axis=1))


def no_copies(kind):
    """Checks that the library gets the array's own address, and that the pool grows by y alone."""
    if isinstance(kind, Jax):
        x = kind.array(X)
        from tessera._arrays import arrays_of

        assert arrays_of(x).view(x).address == kind.pointer(x)
        return
    x = kind.array(X)
    y = PLAN @ x
    pointer = kind.pointer(y)
    assert PLAN.multiply(x, out=y) is y and kind.pointer(y) == pointer
    del y
    before = kind.allocated()
    y = PLAN @ x
    grown = kind.allocated() - before
    assert 8 * N <= grown < 8 * N + 1024, (grown, y)


def in_the_current_stream(kind):
    """x is still being computed when the product is called. Only the stream's order, without a
    wait, makes the result right."""
    expected = A.plan("ref") @ np.ones(N)
    for _ in range(3):
        if isinstance(kind, Jax):
            close(kind.host(PLAN @ kind.slow_ones(N)), expected)
            continue
        with kind.other_stream():
            x = kind.slow_ones(N)
            begun = time.perf_counter()
            y = (PLAN @ x) * 1.0
            asked = time.perf_counter() - begun
            kind.finish()
            waited = time.perf_counter() - begun
            close(kind.host(y), expected)
        x = kind.slow_ones(N)
        close(kind.host((PLAN @ x) * 1.0), expected)
    if not isinstance(kind, Jax):
        print(f"    asked in {asked * 1e6:.0f} us, done after {waited * 1e6:.0f} us")


def solves(kind):
    b = A.plan("ref") @ np.ones(N)
    x, info = tessera.solve(PLAN, kind.array(b), pc="bjacobi", tol=1e-10)
    assert info.converged, info
    np.testing.assert_allclose(kind.host(x), 1, rtol=1e-5)
    x, info = tessera.solve(PLAN, kind.array(b), x0=x, pc="bjacobi", tol=1e-8)
    assert info.converged and info.iterations <= 1, info
    both, infos = tessera.solve(PLAN, kind.array(np.stack([b, 2 * b], axis=1)), pc="bjacobi")
    assert all(i.converged for i in infos)
    np.testing.assert_allclose(kind.host(both)[:, 1], 2, rtol=1e-4)


def preconditioners(kind):
    r = kind.array(X)
    for name, options in (("bjacobi", {}), ("ilu0", {"schedule": "levels"}), ("chebyshev", {})):
        expected = tessera.preconditioner(A, name, **options, domains=1 if options else None)
        M = tessera.preconditioner(PLAN, name, **options)
        z = M @ r
        assert type(z) is type(r)
        close(kind.host(z), expected @ X)
        close(kind.host(M.T @ r), expected.T @ X)
        M.update(A.data)
        close(M @ X, expected @ X)  # NumPy's too
    if type(kind) is Cupy:
        linalg = importlib.import_module("cupyx.scipy.sparse.linalg")
        there = importlib.import_module("cupyx.scipy.sparse").csr_matrix(A.to_scipy().tocsr())
        close(tessera.bsr_array(there) @ X, Y)
        b = there @ kind.array(np.ones(N))
        names = inspect.signature(linalg.cg).parameters  # tol until CuPy 13
        tight = {"rtol" if "rtol" in names else "tol": 1e-9}
        x, failed = linalg.cg(there, b, M=tessera.preconditioner(PLAN, "bjacobi"), **tight)
        assert failed == 0
        np.testing.assert_allclose(kind.host(x), 1, rtol=1e-4)


def complex_products(kind):
    for dtype, rtol in (("c16", 1e-11), ("c8", 1e-4)):
        M, host = Z.astype(dtype), ZX.astype(dtype)
        there, plan, x = M.plan("ref"), M.plan("cuda"), kind.array(host)
        for turned in (lambda P: P, lambda P: P.T, lambda P: P.H, lambda P: P.conj()):
            expected = turned(there) @ host
            for product in (turned(plan) @ x, turned(M) @ x):
                assert type(product) is type(x)
                check_complex(kind, product, expected, rtol)
            columns = np.stack([host, 1j * host, -host], axis=1)
            expected = np.stack([expected, turned(there) @ columns[:, 1], -expected], axis=1)
            given = [kind.array(columns)]
            if not isinstance(kind, Jax):
                given.append(kind.array(columns.T.copy()).T)
            for block in given:
                check_complex(kind, turned(plan) @ block, expected, rtol)
        check_complex(kind, plan @ kind.array(host.real), there @ host.real, rtol)
        if not isinstance(kind, Jax):
            out = kind.array(host)
            plan.multiply(x, out=out, alpha=2 - 1j, beta=1j)
            check_complex(kind, out, (2 - 1j) * (there @ host) + 1j * host, rtol)
            plan.multiply(Foreign(x), out=Foreign(out), transpose=True, conjugate=True)
            plan.own_stream()
            kind.finish()
            check_complex(kind, out, there.H @ host, rtol)


def check_complex(kind, product, expected, rtol):
    y = kind.host(product.resolve_conj() if type(kind) is Torch else product)
    assert y.dtype == expected.dtype, y.dtype
    np.testing.assert_allclose(y, expected, rtol=rtol, atol=rtol * abs(expected).max())


def complex_vectors_of_real_matrices(kind):
    host = X + 1j * X[::-1]
    columns = np.stack([host, 1j * host], axis=1)
    for plan, there in ((PLAN, A.plan("ref")), (PLAN.T, A.plan("ref").T)):
        for given in (host, columns):
            check_complex(kind, plan @ kind.array(given), there @ given, 1e-11)


def complex_solves(kind):
    """Solves with the library's solver, or checks its refusal."""
    b = kind.array(Z.plan("ref") @ ZX)
    try:
        x, info = tessera.solve(Z.plan("cuda"), b, method="bicgstab", pc="bjacobi", tol=1e-10)
    except tessera.UnsupportedError as refusal:
        assert "c64" in str(refusal), refusal
        print(f"    refused: {refusal}")
        return
    assert info.converged, info
    np.testing.assert_allclose(kind.host(x), ZX, atol=1e-5)


def refusals(kind):
    small = A.astype("f4").plan("cuda", "estimate")
    wrong = (
        (PLAN, X[1:], ValueError),
        (PLAN, X[1:].astype(complex), ValueError),
        (small, X, TypeError),
        (small, X.astype(complex), TypeError),
        (Z.astype("c8").plan("cuda", "estimate"), ZX, TypeError),
    )
    for plan, bad, error in wrong:
        try:
            plan @ kind.array(bad)
        except error:
            continue
        raise AssertionError("was not refused")
    try:
        A.plan("cpu", "estimate") @ kind.array(X)
    except ValueError as refusal:
        assert "cuda" in str(refusal)
    else:
        raise AssertionError("a plan for the CPU took an array on the GPU")


def gradients(kind):
    if type(kind) is not Torch:
        return
    x = kind.array(X).requires_grad_()
    weights = kind.array(RNG.standard_normal(N))
    ((PLAN @ x) * weights).sum().backward()
    close(kind.host(x.grad), A.plan("ref").T @ kind.host(weights))
    small = tessera.bsr_array(RNG.standard_normal((6, 9)), blocksize=(2, 3)).plan("cuda")
    for shape in ((9,), (9, 2)):
        v = kind.lib.rand(shape, dtype=kind.lib.float64, device="cuda", requires_grad=True)
        assert kind.lib.autograd.gradcheck(lambda u: small @ u, v)
    dense = RNG.standard_normal((6, 9)) + 1j * RNG.standard_normal((6, 9))
    small = tessera.bsr_array(dense, blocksize=(2, 3)).plan("cuda")
    for product in (small, small.T, small.H):
        for shape in ((product.shape[1],), (product.shape[1], 2)):
            v = kind.lib.rand(shape, dtype=kind.lib.complex128, device="cuda", requires_grad=True)
            assert kind.lib.autograd.gradcheck(lambda u, P=product: P @ u, v)
    x = kind.array(ZX)  # its conjugate is the same memory with a flag
    check_complex(kind, Z.plan("cuda") @ x.conj(), Z.plan("ref") @ ZX.conj(), 1e-11)


def by_dlpack(kind):
    """An unknown array on the GPU, through its capsule: the same address, and a product into it."""
    from tessera._arrays import arrays_of

    x = kind.array(X)
    seen = arrays_of(Foreign(x)).view(Foreign(x))
    assert seen.address == kind.pointer(x) and seen.shape == (N,) and seen.device == 0
    z = kind.array(ZX)
    seen = arrays_of(Foreign(z)).view(Foreign(z))
    assert seen.address == kind.pointer(z) and seen.dtype == np.complex128
    if isinstance(kind, Jax):
        return  # JAX's arrays cannot be written to
    y = kind.array(np.full(N, np.nan))
    PLAN.multiply(Foreign(x), out=Foreign(y))
    PLAN.own_stream()
    kind.finish()
    close(kind.host(y), Y)


MOST_OVERHEAD = {"Cupy": 5e-6}  # seconds over the C call


def overhead(kind):
    """CPU time of `plan @ x` less that of the C call, while the GPU has nothing to do."""
    small = tessera.bsr_array(np.eye(8)).plan("cuda", "estimate")
    x = kind.array(np.ones(8))
    y = small @ x
    spmv = ctypes.cast(lib.tess_spmv, ctypes.c_void_p)
    arguments = (spmv, small._plan, kind.pointer(x), kind.pointer(y), 200)
    loop = c_loop() if shutil.which("cc") else None
    timer = timeit.Timer(lambda: small @ x, timer=time.thread_time)
    by_ctypes = timeit.Timer(lambda: lib.tess_spmv(*values), timer=time.thread_time)
    values = (small._plan, 1.0, kind.pointer(x), 0.0, kind.pointer(y))
    direct, ours = [], []
    for _ in range(401):  # seconds: a shared machine has slow ones
        kind.finish()
        direct.append(loop(*arguments) if loop else by_ctypes.timeit(200) / 200)
        kind.finish()
        ours.append(timer.timeit(200) / 200)
    c, python = min(direct), min(ours)
    way = "in C" if loop else "by ctypes, as there is no C compiler,"
    fast = "" if small._product is not None else ", without tessera._fast"
    over = f"{(python - c) * 1e6:.2f} us more{fast}"
    print(f"    call {way} {c * 1e6:.2f} us, plan @ x {python * 1e6:.2f} us: {over}")
    most = MOST_OVERHEAD.get(type(kind).__name__)
    assert most is None or small._product is None or python - c <= most, over


CHECKS = [
    products_and_kinds,
    several_vectors,
    no_copies,
    in_the_current_stream,
    solves,
    preconditioners,
    complex_products,
    complex_vectors_of_real_matrices,
    complex_solves,
    refusals,
    gradients,
    by_dlpack,
    overhead,
]


def main():
    print(PLAN, flush=True)
    close(PLAN @ X, Y)
    failed = 0
    for make in (Cupy, Torch, Jax):
        try:
            kind = make()
        except ImportError as missing:
            print(f"{make.__name__}: not here ({missing})")
            continue
        for check in CHECKS:
            try:
                check(kind)
                print(f"{make.__name__} {check.__name__}: passed", flush=True)
            except Exception:
                failed += 1
                print(f"{make.__name__} {check.__name__}: FAILED", flush=True)
                traceback.print_exc(file=sys.stdout)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
