#!/usr/bin/env python3
"""SciPy's solvers with block-Jacobi (the inverted diagonal blocks as a LinearOperator), and with PyAMG's smoothed
aggregation (amg) where it is installed: sequential.

    scipy_solve.py FILE BLOCK TOL REPS METHOD:PC ...

The command line and the lines printed are those of peer_solve.h. SciPy has no ILU(0): spilu is another
factorisation, with fill and thresholds. Its gmres preconditions from the left."""
import json
import sys
import time

import numpy
import scipy
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, gmres

try:
    import pyamg
except ImportError:
    pyamg = None


def read(path, block):
    with open(path, "rb") as file:
        _, rows, _, entries = numpy.fromfile(file, ">i4", 4)
        lengths = numpy.fromfile(file, ">i4", rows)
        columns = numpy.fromfile(file, ">i4", entries).astype("i4")
        values = numpy.fromfile(file, ">f8", entries).astype("f8")
        numpy.fromfile(file, ">i4", 2)
        b = numpy.fromfile(file, ">f8", rows).astype("f8")
        more = numpy.fromfile(file, ">i4", 2)
        places = numpy.fromfile(file, ">f8", rows).astype("f8") if more.size == 2 else None
    offsets = numpy.concatenate(([0], numpy.cumsum(lengths))).astype("i4")
    A = csr_matrix((values, columns, offsets), shape=(rows, rows))
    return A.tobsr((block, block)), b, places


def block_jacobi(A):
    size = A.blocksize[0]
    rows = numpy.repeat(numpy.arange(A.indptr.size - 1), numpy.diff(A.indptr))
    inverse = numpy.linalg.inv(A.data[A.indices == rows])
    return LinearOperator(A.shape, lambda r: (inverse @ r.reshape(-1, size, 1)).ravel())


def rigid_motions(places):
    """Three translations and three rotations of points in space, one column each."""
    x, y, z = places.reshape(-1, 3).T
    zero, one = numpy.zeros_like(x), numpy.ones_like(x)
    modes = [(one, zero, zero), (zero, one, zero), (zero, zero, one), (zero, -z, y), (z, zero, -x), (-y, x, zero)]
    return numpy.column_stack([numpy.column_stack(mode).ravel() for mode in modes])


def multigrid(A, places):
    smoother = ("chebyshev", {"degree": 2})
    B = rigid_motions(places) if places is not None else None
    return pyamg.smoothed_aggregation_solver(A, B=B, presmoother=smoother, postsmoother=smoother,
                                             max_coarse=500).aspreconditioner()


def solve(method, A, b, tol, M):
    iterations = [0]

    def count(_):
        iterations[0] += 1

    if method == "gmres":
        x, _ = gmres(A, b, rtol=tol, atol=0, restart=30, maxiter=10000, M=M, callback=count,
                     callback_type="pr_norm")
    else:
        x, _ = {"cg": cg, "bicgstab": bicgstab}[method](A, b, rtol=tol, atol=0, maxiter=10000, M=M,
                                                        callback=count)
    return x, iterations[0]


def main():
    path, block, tol, reps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    A, b, places = read(path, block)
    for pair in sys.argv[5:]:
        method, pc = pair.split(":")
        if pc != "bjacobi" and not (pc == "amg" and pyamg):
            continue
        setup, solved = [], []
        for _ in range(reps):
            start = time.perf_counter()
            M = multigrid(A, places) if pc == "amg" else block_jacobi(A)
            ready = time.perf_counter()
            x, iterations = solve(method, A, b, tol, M)
            setup.append(ready - start)
            solved.append(time.perf_counter() - ready)
        residual = numpy.linalg.norm(b - A @ x) / numpy.linalg.norm(b)
        peer, version = ("PyAMG", pyamg.__version__) if pc == "amg" else ("SciPy", scipy.__version__)
        print(json.dumps({"peer": peer, "version": version, "method": method, "pc": pc, "threads": 1,
                          "iterations": iterations, "setup_seconds": setup, "solve_seconds": solved,
                          "true_residual": residual}), flush=True)


if __name__ == "__main__":
    main()
