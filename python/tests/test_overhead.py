"""What `plan @ x` costs over the C call."""

import shutil

import pytest
from overhead import overhead
from tessera._library import fast


def test_at_most_three_microseconds_over_the_c_call():
    if fast is None:
        pytest.skip("tessera._fast was not built: Python's headers were not there")
    if not shutil.which("cc"):
        pytest.skip("no C compiler for the loop in C")
    direct, ours = overhead()
    over = ours.min() - direct.min()  # the least of the batches: a busy machine only adds time
    assert over <= 3e-6, f"{over * 1e6:.2f} us"
