"""`tessera._fast.spmv_new` with arrays that have the attributes of CuPy's, in host memory."""

import ctypes
import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tessera
from tessera._library import fast, lib

if fast is None:
    pytest.skip("tessera._fast was not built: Python's headers were not there", True)

GPU, STREAM = 3, 77
SPMV = ctypes.cast(lib.tess_spmv, ctypes.c_void_p).value


class Array:
    """As cupy.ndarray(shape, dtype) is: a vector whose `data` has an address and a device."""

    device = GPU

    def __init__(self, rows, dtype):
        self.host = np.full(rows, np.nan, dtype)
        self.dtype, self.shape, self.strides = self.host.dtype, self.host.shape, self.host.strides
        self.data = SimpleNamespace(ptr=self.host.ctypes.data, device_id=type(self).device)


class Elsewhere(Array):
    device = GPU + 1


def stream(pointer):
    return lambda: SimpleNamespace(ptr=pointer)


@pytest.fixture(params=["f4", "f8"])
def case(request):
    random = np.random.default_rng(11)
    dtype = np.dtype(request.param)
    dense = random.standard_normal((12, 20)).astype(dtype)
    plan = tessera.bsr_array(dense, blocksize=(4, 4)).plan("cpu:1", "estimate")
    product = fast.product(SPMV, plan._plan, 12, 20, dtype.char, dtype, GPU)
    x = Array(20, dtype)
    x.host[:] = random.standard_normal(20)
    return SimpleNamespace(plan=plan, product=product, x=x, dense=dense, dtype=dtype)


def call(case, x=None, new=Array, current=STREAM, known=STREAM):
    return fast.spmv_new(case.product, case.x if x is None else x, new, stream(current), known)


def test_product(case):
    y = call(case)
    assert type(y) is Array and y.host.dtype == case.dtype
    np.testing.assert_allclose(y.host, case.dense @ case.x.host, rtol=1e-4)


def test_default_stream_is_the_legacy_one(case):
    assert call(case, current=0, known=1) is not None
    assert call(case, current=0, known=STREAM) is None


def test_other_streams(case):
    assert call(case, current=STREAM + 1) is None
    assert call(case, known=None) is None  # the plan has a stream of its own


def test_arrays_that_do_not_fit(case):
    other = np.dtype("f4" if case.dtype == "f8" else "f8")
    strided = Array(20, case.dtype)
    strided.strides = (2 * case.dtype.itemsize,)
    matrix = Array(20, case.dtype)
    matrix.shape, matrix.strides = (20, 1), (case.dtype.itemsize,) * 2
    for x in (Array(19, case.dtype), Array(20, other), Elsewhere(20, case.dtype), strided, matrix):
        assert call(case, x=x) is None
    assert call(case, new=Elsewhere) is None  # another GPU is current


def test_a_plan_of_the_cpu_takes_no_such_array(case):
    product = fast.product(SPMV, case.plan._plan, 12, 20, case.dtype.char, case.dtype, -1)
    assert fast.spmv_new(product, case.x, Array, stream(STREAM), STREAM) is None


def test_errors_of_others_are_theirs(case):
    def broken(*_):
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        call(case, new=broken)
    with pytest.raises(MemoryError, match="no room"):
        fast.spmv_new(case.product, case.x, Array, broken, STREAM)
    with pytest.raises(AttributeError):
        call(case, x=object())
    with pytest.raises(TypeError, match="arguments"):
        fast.spmv_new(case.product, case.x)
    case.x.data.ptr = "here"
    with pytest.raises(TypeError):
        call(case)


def test_status_of_the_library(case):
    product = fast.product(SPMV, 0, 12, 20, case.dtype.char, case.dtype, GPU)
    status = fast.spmv_new(product, case.x, Array, stream(STREAM), STREAM)
    assert type(status) is int and status > 0


def test_nothing_is_kept(case):
    made = []

    def new(rows, dtype):
        made.append(sys.getrefcount(dtype))
        return Array(rows, dtype)

    for _ in range(50):
        call(case, new=new)
        call(case, x=Array(19, case.dtype))
    gc.collect()
    assert made[-1] == made[1]
    y, plain = call(case), Array(12, case.dtype)
    assert sys.getrefcount(y) == sys.getrefcount(plain)
    before = sys.getrefcount(case.dtype)
    case.product = None
    after = sys.getrefcount(case.dtype)
    assert after == before - 1
