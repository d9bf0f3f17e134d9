#!/usr/bin/env python3
"""MKL through PyTorch: sparse BSR and CSR tensors on the CPU, 32-bit indices (what MKL takes)."""
import warnings

import torch

import peer

warnings.filterwarnings("ignore")
torch.set_num_threads(peer.THREADS)


def product(a, m):
    x = torch.from_numpy(m.x)
    y = torch.zeros(m.rows, dtype=torch.float64)

    def multiply():
        torch.addmv(y, a, x, beta=0, out=y)
        return y.numpy()

    return multiply


def bsr(m):
    arrays = map(torch.from_numpy, (m.offsets, m.columns, m.values))
    return product(torch.sparse_bsr_tensor(*arrays, size=(m.rows, m.cols)), m)


def csr(m):
    arrays = map(torch.from_numpy, m.csr())
    return product(torch.sparse_csr_tensor(*arrays, size=(m.rows, m.cols)), m)


if not torch.backends.mkl.is_available():
    raise SystemExit("PyTorch is here, but without MKL")
peer.converse("mkl", f"torch-{torch.__version__}", torch.get_num_threads(), {"bsr": bsr, "csr": csr})
