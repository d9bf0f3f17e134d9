"""`tessera._fast.spmv_new` with arrays that have the attributes of CuPy's, in host memory."""

import ctypes
import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tessera
from conftest import DTYPES, vector
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


def product_of(plan, dtype, device=GPU):
    format = np.empty(0, dtype).data.format
    return fast.product(SPMV, plan, 12, 20, format, dtype.itemsize, dtype, device)


@pytest.fixture(params=DTYPES)
def case(request):
    random = np.random.default_rng(11)
    dtype = np.dtype(request.param)
    dense = vector(random, (12, 20), dtype)
    plan = tessera.bsr_array(dense, blocksize=(4, 4)).plan("cpu:1", "estimate")
    x = Array(20, dtype)
    x.host[:] = vector(random, 20, dtype)
    product = product_of(plan._plan, dtype)
    return SimpleNamespace(plan=plan, product=product, x=x, dense=dense, dtype=dtype)


def call(case, x=None, new=Array, current=STREAM, known=STREAM):
    return fast.spmv_new(case.product, case.x if x is None else x, new, stream(current), known)


def test_product(case):
    y = call(case)
    assert type(y) is Array and y.host.dtype == case.dtype
    np.testing.assert_allclose(y.host, case.dense @ case.x.host, rtol=1e-4)


def test_product_in_host_memory(case):
    x, y = case.x.host, np.empty(12, case.dtype)
    assert fast.spmv(case.product, x, y) == 0
    np.testing.assert_allclose(y, case.dense @ x, rtol=1e-4)
    for other in {"f4", "f8", "c8", "c16"} - {case.dtype.str[1:]}:
        assert fast.spmv(case.product, x.real.astype(other), y) == -1
        assert fast.spmv(case.product, x, y.real.astype(other)) == -1
    assert fast.spmv(case.product, x.astype(case.dtype.newbyteorder()), y) == -1
    assert fast.spmv(case.product, x[1:], y) == fast.spmv(case.product, x[::2], y) == -1


def test_default_stream_is_the_legacy_one(case):
    assert call(case, current=0, known=1) is not None
    assert call(case, current=0, known=STREAM) is None


def test_other_streams(case):
    assert call(case, current=STREAM + 1) is None
    assert call(case, known=None) is None  # the plan has a stream of its own


def test_arrays_that_do_not_fit(case):
    other = np.dtype("f4" if case.dtype == "c8" else "c8")
    strided = Array(20, case.dtype)
    strided.strides = (2 * case.dtype.itemsize,)
    matrix = Array(20, case.dtype)
    matrix.shape, matrix.strides = (20, 1), (case.dtype.itemsize,) * 2
    for x in (Array(19, case.dtype), Array(20, other), Elsewhere(20, case.dtype), strided, matrix):
        assert call(case, x=x) is None
    assert call(case, new=Elsewhere) is None  # another GPU is current


def test_a_plan_of_the_cpu_takes_no_such_array(case):
    product = product_of(case.plan._plan, case.dtype, -1)
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
    product = product_of(0, case.dtype)
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
