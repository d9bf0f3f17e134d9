"""Arrays of other libraries: where their values lie, how to make another one of the same kind, and
which stream their library is using.

Nothing here imports an array library: an array's own module is looked up when one is met. Vectors
are read and written where they lie, in host or device memory.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from . import _dlpack
from ._checks import check_integers, check_type, host_array, is_masked, is_sparse
from ._vector import Vector, in_scalars, of_cuda_interface, of_numpy

LEGACY_STREAM = 1  # CUDA's handle for the default stream, which the libraries call 0


class Arrays:
    """NumPy's arrays, and everything that np.asarray takes."""

    # For `_fast.spmv_new`: what makes an array of a length and a type, and what says the current
    # stream. None where the arrays are not like CuPy's.
    new: Any = None
    current_stream: Any = None

    def view(self, x: Any) -> Vector:
        return of_numpy(x)

    def target(self, out: Any) -> Vector:
        """An array that is to be written."""
        if is_masked(out):
            raise ValueError("out has masked values, which would hide the result: out.data")
        return self.view(out)

    def device(self, x: Any) -> int | None:
        """Where x lies, as in a Vector."""
        return self.view(x).device

    def is_complex(self, x: Any) -> bool:
        """Whether x is complex and can be taken apart by `reals`."""
        return np.iscomplexobj(x)

    def reals(self, x: Any) -> Any:
        """A complex array (n,) or (n, k) as a real one (n, 2 k): each column's real parts, then its
        imaginary parts."""
        real = np.dtype(x.dtype.char.lower())
        return self.contiguous(x).view(real).reshape(x.shape[0], 2 * math.prod(x.shape[1:]))

    def complexes(self, x: Any, dtype: np.dtype[Any], several: bool) -> Any:
        """The way back: (n, 2 k) becomes (n, k), or (n,)."""
        x = self.contiguous(x).view(dtype)
        return x if several else x.reshape(-1)

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """x as an array of a type that holds its numbers; lists and numbers of smaller types are
        converted, those that would lose digits refused."""
        x = host_array(x, "x")
        if x.dtype == dtype and x.flags.aligned and x.dtype.isnative:
            return x
        return _converted(x, dtype)

    def contiguous(self, x: Any) -> Any:
        return np.ascontiguousarray(x)

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        return np.empty(shape, dtype, "C" if by_rows else "F")

    def stream(self, x: Any) -> tuple[int | None, Any]:
        """The current stream of the array's library, and what keeps it alive."""
        return None, None

    def done(self, y: Any) -> Any:
        """y after it was written, as the caller gets it."""
        return y

    def fast(
        self, x: Any, dtype: np.dtype[Any], shape: tuple[int, ...], rows: int, device: int
    ) -> tuple[int, int, Any, int, Any] | None:
        """For a vector on the current GPU that can be used as it is: its address, the address of
        a new array for the result, that array, the stream and what keeps it. Else None."""
        return None


def _converted(x: Any, dtype: np.dtype[Any]) -> Any:
    """An array of NumPy's, or of a library that has NumPy's names, in a type that holds it."""
    check_type(np.dtype(x.dtype), dtype)
    y = x.astype(dtype)
    check_integers(x, np.dtype(x.dtype), y, lambda y: y.astype(x.dtype))
    return y


class _Torch(Arrays):
    def view(self, x: Any) -> Vector:
        x = x.detach()
        dtype = np.dtype(str(x.dtype).partition(".")[2])
        device = x.device.index if x.is_cuda else None
        return Vector(x.data_ptr(), tuple(x.shape), tuple(x.stride()), dtype, device, x)

    def target(self, out: Any) -> Vector:
        if out.is_conj() or out.is_neg():
            raise ValueError("out is a view of another tensor's conjugate: out.resolve_conj()")
        return self.view(out)

    def is_complex(self, x: Any) -> bool:
        return bool(x.is_complex())

    def reals(self, x: Any) -> Any:
        parts = sys.modules["torch"].view_as_real(x.contiguous())
        return parts.reshape(x.shape[0], 2 * math.prod(x.shape[1:]))

    def complexes(self, x: Any, dtype: np.dtype[Any], several: bool) -> Any:
        pairs = x.contiguous().reshape(x.shape[0], x.shape[1] // 2, 2)
        y = sys.modules["torch"].view_as_complex(pairs)
        return y if several else y.reshape(-1)

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"x lies on {x.device}: only host memory and CUDA devices can be read")
        x = x.resolve_conj().resolve_neg()  # a conjugate may be the same memory with a flag
        if str(x.dtype) != f"torch.{dtype}":
            have = (
                np.dtype(str(x.dtype).partition(".")[2])
                if "bfloat" not in str(x.dtype)
                else np.dtype("f2")
            )
            check_type(have, dtype)
            y = x.to(getattr(sys.modules["torch"], str(dtype)))
            check_integers(x, have, y, lambda y: y.to(x.dtype))
            return y
        return x

    def contiguous(self, x: Any) -> Any:
        return x.contiguous()

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        kind = getattr(sys.modules["torch"], str(dtype))
        if by_rows:
            return like.new_empty(shape, dtype=kind, requires_grad=False)
        return like.new_empty(shape[::-1], dtype=kind, requires_grad=False).T

    def fast(
        self, x: Any, dtype: np.dtype[Any], shape: tuple[int, ...], rows: int, device: int
    ) -> tuple[int, int, Any, int, Any] | None:
        if not x.is_cuda or x.requires_grad or x.shape != shape or not x.is_contiguous():
            return None
        torch = sys.modules["torch"]
        if x.dtype is not getattr(torch, dtype.name) or x.get_device() != device:
            return None
        if x.is_conj() or x.is_neg():
            return None
        y = x.new_empty(rows)
        stream = torch.cuda.current_stream(device)
        return x.data_ptr(), y.data_ptr(), y, stream.cuda_stream or LEGACY_STREAM, stream

    def stream(self, x: Any) -> tuple[int | None, Any]:
        if not x.is_cuda:
            return None, None
        stream = sys.modules["torch"].cuda.current_stream(x.device)
        return stream.cuda_stream or LEGACY_STREAM, stream


class _Cupy(Arrays):
    def __init__(self) -> None:
        cupy = sys.modules["cupy"]
        self.new, self.current_stream = cupy.ndarray, cupy.cuda.get_current_stream

    def view(self, x: Any) -> Vector:
        strides = in_scalars(x.strides, x.itemsize)
        return Vector(x.data.ptr, x.shape, strides, x.dtype, x.device.id, x)

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return x if x.dtype == dtype else _converted(x, dtype)

    def contiguous(self, x: Any) -> Any:
        return sys.modules["cupy"].ascontiguousarray(x)

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        with like.device:
            return sys.modules["cupy"].empty(shape, dtype, "C" if by_rows else "F")

    def fast(
        self, x: Any, dtype: np.dtype[Any], shape: tuple[int, ...], rows: int, device: int
    ) -> tuple[int, int, Any, int, Any] | None:
        source = x.data
        if x.dtype != dtype or x.shape != shape or source.device_id != device:
            return None
        if x.strides != (dtype.itemsize,):
            return None
        y = self.new(rows, dtype)
        target = y.data
        if target.device_id != device:  # another GPU is current
            return None
        stream = self.current_stream()
        return source.ptr, target.ptr, y, stream.ptr or LEGACY_STREAM, stream

    def stream(self, x: Any) -> tuple[int | None, Any]:
        stream = sys.modules["cupy"].cuda.get_current_stream()
        return stream.ptr or LEGACY_STREAM, stream


class _Jax(Arrays):
    """JAX has no current stream to run in, so that calls wait for x and for y. JAX's arrays cannot
    be changed: y is a new one, written before it is returned."""

    def view(self, x: Any) -> Vector:
        if isinstance(x, np.ndarray):  # a result that JAX will own
            return of_numpy(x)
        x = x.block_until_ready()
        device = next(iter(x.devices()))
        if device.platform == "cpu":
            host = of_numpy(np.asarray(x))
            host.keep = (x, host.keep)
            return host
        return of_cuda_interface(x, getattr(device, "local_hardware_id", None) or 0)

    def target(self, out: Any) -> Vector:
        raise TypeError("out is an array of JAX's, which cannot be changed: leave it out")

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        jax = sys.modules["jax"]
        if isinstance(x, jax.core.Tracer):
            raise TypeError("products cannot be traced by jax.jit or jax.grad: call them outside")
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:  # JAX would round x and the result
            raise TypeError(
                f"JAX has no {dtype}: set jax_enable_x64, or use a matrix of single precision"
            )
        return x if x.dtype == dtype else _converted(x, dtype)

    def contiguous(self, x: Any) -> Any:
        return x

    def reals(self, x: Any) -> Any:
        parts = sys.modules["jax"].numpy.stack((x.real, x.imag), -1)
        return parts.reshape(x.shape[0], 2 * math.prod(x.shape[1:]))

    def complexes(self, x: Any, dtype: np.dtype[Any], several: bool) -> Any:
        y = sys.modules["jax"].lax.complex(x[:, 0::2], x[:, 1::2])
        return y if several else y.reshape(-1)

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        device = next(iter(like.devices()))
        if device.platform == "cpu":
            return np.empty(shape, dtype)
        return sys.modules["jax"].numpy.empty(shape, dtype, device=device)

    def done(self, y: Any) -> Any:
        return sys.modules["jax"].numpy.asarray(y)


class _Cuda(Arrays):
    """Arrays of unknown libraries that have the CUDA array interface."""

    def view(self, x: Any) -> Vector:
        return of_cuda_interface(x, 0)

    def is_complex(self, x: Any) -> bool:
        return False  # its parts cannot be arrays of their own

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        have = np.dtype(x.__cuda_array_interface__["typestr"])
        if have != dtype:
            raise TypeError(f"x is {have} and the matrix {dtype}: convert x")
        return x

    def contiguous(self, x: Any) -> Any:
        raise TypeError("x is not contiguous: make a contiguous copy of it")

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        raise TypeError(f"an array of {type(like).__module__} cannot be made here: pass out=")

    def stream(self, x: Any) -> tuple[int | None, Any]:
        stream = x.__cuda_array_interface__.get("stream")
        return stream or LEGACY_STREAM, None


class _Dlpack(Arrays):
    """Arrays of unknown libraries that have DLPack. In host memory NumPy reads them without a
    copy, and the result is NumPy's. On a GPU a Vector takes their place."""

    def view(self, x: Any) -> Vector:
        if isinstance(x, Vector):
            return x
        if isinstance(x, np.ndarray):
            return of_numpy(x)
        kind, number = _dlpack.place(x)
        if kind not in (_dlpack.CPU, _dlpack.CUDA, _dlpack.CUDA_HOST, _dlpack.CUDA_MANAGED):
            raise TypeError("x lies on a device that is neither the host nor CUDA's")
        on_gpu = kind in _dlpack.ON_GPU
        found = _dlpack.export(x, LEGACY_STREAM if on_gpu else None)
        keep = (x, found.capsule)
        sizes = (found.shape, found.strides)
        return Vector(found.address, *sizes, found.dtype, number if on_gpu else None, keep)

    def target(self, out: Any) -> Vector:
        if _dlpack.export(out, None).read_only:
            raise ValueError("out is read-only")
        return self.view(out)

    def device(self, x: Any) -> int | None:
        kind, number = _dlpack.place(x)
        return number if kind in _dlpack.ON_GPU else None

    def is_complex(self, x: Any) -> bool:
        return False  # as in _Cuda

    def asarray(self, x: Any, dtype: np.dtype[Any]) -> Any:
        if _dlpack.place(x)[0] == _dlpack.CPU:
            return NUMPY.asarray(np.from_dlpack(x), dtype)
        seen = self.view(x)
        if seen.dtype != dtype:
            raise TypeError(f"x is {seen.dtype} and the matrix {dtype}: convert x")
        return seen

    def contiguous(self, x: Any) -> Any:
        return _CUDA.contiguous(x) if not isinstance(x, np.ndarray) else NUMPY.contiguous(x)

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any], by_rows: bool) -> Any:
        kind = NUMPY if isinstance(like, np.ndarray) else _CUDA
        return kind.empty(like, shape, dtype, by_rows)

    def stream(self, x: Any) -> tuple[int | None, Any]:
        on_gpu = isinstance(x, Vector) and x.device is not None
        return (LEGACY_STREAM if on_gpu else None), None


NUMPY = Arrays()
_KINDS: dict[str, type[Arrays]] = {"torch": _Torch, "cupy": _Cupy, "jaxlib": _Jax, "jax": _Jax}
_CUDA = _Cuda()
_DLPACK = _Dlpack()
_seen: dict[type, Arrays] = {}  # types of arrays so far


def arrays_of(x: Any) -> Arrays:
    found = _seen.get(type(x))
    if found is not None:
        return found
    if isinstance(x, np.ndarray):
        return NUMPY
    if is_sparse(x):
        raise TypeError("products of two sparse matrices are SciPy's: use A.to_scipy()")
    kind = _KINDS.get(type(x).__module__.partition(".")[0])
    if kind is not None and hasattr(x, "dtype"):
        return _seen.setdefault(type(x), kind())
    if hasattr(x, "__cuda_array_interface__"):
        return _CUDA
    return _DLPACK if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") else NUMPY
