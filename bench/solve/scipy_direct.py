#!/usr/bin/env python3
"""SciPy on one matrix: SuperLU (`splu`) with one step of refinement, or GMRES(50) with ILUTP (`spilu`).

    bench/solve/scipy_direct.py A.mtx.gz splu|gmres

b is A times ones. Prints JSON: seconds, reading not counted, and |b - Ax| / |b|; or the error that ended it."""
import json
import sys
import time

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg


def direct(A, b):
    factors = scipy.sparse.linalg.splu(A)
    x = factors.solve(b)
    return x + factors.solve(b - A @ x)


def iterative(A, b):
    factors = scipy.sparse.linalg.spilu(A, drop_tol=1e-4, fill_factor=10)
    M = scipy.sparse.linalg.LinearOperator(A.shape, factors.solve)
    return scipy.sparse.linalg.gmres(A, b, rtol=1e-8 / 1.06, restart=50, maxiter=100, M=M)[0]


def main():
    path, which = sys.argv[1:]
    A = scipy.sparse.csc_matrix(scipy.io.mmread(path)).astype(float)
    b = A @ numpy.ones(A.shape[1])
    started = time.monotonic()
    try:
        x = {"splu": direct, "gmres": iterative}[which](A, b)
    except (RuntimeError, MemoryError, ValueError) as error:
        print(json.dumps({"seconds": time.monotonic() - started, "error": str(error)}))
        return
    seconds, size = time.monotonic() - started, float(numpy.linalg.norm(b))
    residual = float(numpy.linalg.norm(b - A @ x)) / size if size > 0 else float(numpy.abs(x).max())
    print(json.dumps({"seconds": seconds, "residual": residual if numpy.isfinite(residual) else None}))


if __name__ == "__main__":
    main()
