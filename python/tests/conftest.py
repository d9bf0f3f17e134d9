"""What the tests share. TESSERA_MATRICES names the folder of real matrices; without it their tests
are skipped."""

import os
import pathlib

import numpy as np
import pytest

os.environ.setdefault("TESSERA_WISDOM", "off")
ROOT = pathlib.Path(__file__).resolve().parents[2]


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


def close(y, expected, A, x):
    """y within the rounding of any order of summation: 2 (n + 2) eps |A| |x| in each row."""
    eps = np.finfo(y.dtype).eps
    dense = abs(A.astype("f8"))
    longest = int(np.diff(A.tocsr().indptr).max(initial=0)) if A.shape[0] else 0
    bound = 2 * (longest + 2) * eps * (dense @ abs(np.asarray(x, "f8"))) + np.finfo(y.dtype).tiny
    assert y.shape == expected.shape
    assert np.all(abs(np.asarray(y, "f8") - expected) <= bound)
