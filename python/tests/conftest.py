"""Shared by the tests. TESSERA_MATRICES names the folder of real matrices; without it their tests
are skipped."""

import os
import pathlib

import numpy as np
import pytest
import tessera
from scipy import sparse
from tessera._library import constants, lib

os.environ.setdefault("TESSERA_WISDOM", "off")
ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = ["f8", "f4", "c16", "c8"]


@pytest.fixture
def rng(request):
    """Seeded by the test's name, so that a failure can be repeated."""
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.fixture
def matrices():
    folder = os.environ.get("TESSERA_MATRICES", "")
    if not folder or not os.path.isdir(folder):
        pytest.skip("TESSERA_MATRICES names no folder: real matrices are not tested")
    return pathlib.Path(folder)


def _having(trait, names, traits):
    bit = constants[f"TESS_SOLVE_{trait}"]
    return [name for i, name in enumerate(names) if traits(i) & bit]


def methods_having(trait):
    """The methods with a trait: COMPLEX, COMPLETE, SYMMETRIC, OWN_PC."""
    return _having(trait, tessera.methods(), lib.tess_solve_method_traits)


def preconditioners_having(trait):
    """The preconditioners with a trait: COMPLEX, COMPLETE, UNSYMMETRIC."""
    return _having(trait, tessera.preconditioners(), lib.tess_solve_pc_traits)


def without(names, others):
    return [name for name in names if name not in others]


# The other methods choose their preconditioner themselves, or have none.
METHODS = without(tessera.methods(), [*methods_having("OWN_PC"), "lsqr"])
SYMMETRIC = methods_having("SYMMETRIC")
GENERAL = without(METHODS, SYMMETRIC)
UNSYMMETRIC = preconditioners_having("UNSYMMETRIC")


def wide(x):
    """x in double precision, real or complex."""
    return x.astype(np.result_type(x.dtype, "f8"))


def vector(rng, shape, dtype):
    """Random numbers; complex ones have imaginary parts."""
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def turned_elasticity(n):
    """Elasticity with unknowns that are turned in the complex plane: Hermitian and positive
    definite."""
    S = tessera.generate("elasticity", n=n).to_scipy().tocsr()
    turn = sparse.diags_array(np.exp(1j * np.arange(S.shape[0])))
    S = turn.conj() @ S @ turn
    return tessera.bsr_array((S + S.conj().T) / 2, blocksize=(3, 3))


def close(y, expected, A, x):
    """Checks y up to the rounding of any order of summation: 2 (n + 2) eps |A| |x| in each row."""
    eps = np.finfo(y.dtype).eps
    longest = int(np.diff(A.tocsr().indptr).max(initial=0)) if A.shape[0] else 0
    bound = 2 * (longest + 2) * eps * (abs(wide(A)) @ abs(wide(x))) + np.finfo(y.dtype).tiny
    assert y.shape == expected.shape
    assert np.all(abs(wide(y) - expected) <= bound)
