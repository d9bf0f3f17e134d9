#!/usr/bin/env python3
"""SciPy: bsr_matrix and csr_matrix, one thread, y = A @ x (which allocates y)."""
import scipy
import scipy.sparse

import peer


def bsr(m):
    a = scipy.sparse.bsr_matrix((m.values, m.columns, m.offsets), shape=(m.rows, m.cols))
    return lambda: a @ m.x


def csr(m):
    offsets, columns, values = m.csr()
    a = scipy.sparse.csr_matrix((values, columns, offsets), shape=(m.rows, m.cols))
    return lambda: a @ m.x


peer.converse("scipy", scipy.__version__, 1, {"bsr": bsr, "csr": csr})
