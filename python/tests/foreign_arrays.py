"""Arrays that are not NumPy's: of three libraries on a GPU, and one that has DLPack alone."""

import importlib

import numpy as np


class Cupy:
    def __init__(self):
        self.lib = importlib.import_module("cupy")

    def array(self, x):
        return self.lib.asarray(x)

    def host(self, x):
        return x.get()

    def pointer(self, x):
        return x.data.ptr

    def other_stream(self):
        return self.lib.cuda.Stream(non_blocking=True)

    def allocated(self):
        return self.lib.get_default_memory_pool().used_bytes()

    def slow_ones(self, count):
        """Ones that the current stream computes only after some milliseconds."""
        big = self.lib.ones((4096, 4096))
        for _ in range(6):
            big = big @ big / 4096
        return self.lib.ones(count) * big[0, 0]

    def finish(self):
        self.lib.cuda.get_current_stream().synchronize()


class Torch(Cupy):
    def __init__(self):
        self.lib = importlib.import_module("torch")

    def array(self, x):
        return self.lib.as_tensor(np.array(x), device="cuda")

    def host(self, x):
        return x.detach().cpu().numpy()

    def pointer(self, x):
        return x.data_ptr()

    def other_stream(self):
        return self.lib.cuda.stream(self.lib.cuda.Stream())

    def allocated(self):
        return self.lib.cuda.memory_allocated()

    def slow_ones(self, count):
        big = self.lib.ones((4096, 4096), dtype=self.lib.float64, device="cuda")
        for _ in range(6):
            big = big @ big / 4096
        return self.lib.ones(count, dtype=self.lib.float64, device="cuda") * big[0, 0]

    def finish(self):
        self.lib.cuda.current_stream().synchronize()


class Jax(Cupy):
    def __init__(self):
        self.lib = importlib.import_module("jax")
        self.lib.config.update("jax_enable_x64", True)

    def array(self, x):
        return self.lib.numpy.asarray(x)

    def host(self, x):
        return np.asarray(x)

    def pointer(self, x):
        return x.unsafe_buffer_pointer()

    def slow_ones(self, count):
        big = self.lib.numpy.ones((4096, 4096))
        for _ in range(6):
            big = big @ big / 4096
        return self.lib.numpy.ones(count) * big[0, 0]

    def finish(self):
        pass


class Foreign:
    """An array that has DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()
