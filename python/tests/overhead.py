"""The cost of `plan @ x` over the C call, for a matrix of 8 x 8 on one thread.

The C call is timed through the same library by a loop in C; batches of both take turns.
usage: python overhead.py"""

import ctypes
import pathlib
import subprocess
import tempfile
import time
import timeit

import numpy as np
import tessera
from tessera._library import lib

LOOP = """
#include <time.h>
double loop(int (*spmv)(void *, double, const void *, double, void *), void *plan, const void *x,
            void *y, int n)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < n; i++)
        spmv(plan, 1.0, x, 0.0, y);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / n;
}
"""


def c_loop():
    """loop(spmv, plan, x, y, n): the seconds of CPU time of one of n calls, from a loop in C."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder) / "loop.c", pathlib.Path(folder) / "loop.so"
        source.write_text(LOOP)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, source], check=True)
        loop = ctypes.CDLL(str(made)).loop
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
    return loop


def overhead(batches=41, count=2000):
    """Seconds of the C call and of plan @ x, one of each a batch: CPU time, as other processes do
    not count."""
    plan = tessera.bsr_array(np.eye(8)).plan("cpu:1", "estimate")
    x, y = np.ones(8), np.empty(8)
    loop = c_loop()
    arguments = (
        ctypes.cast(lib.tess_spmv, ctypes.c_void_p),
        plan._plan,
        x.ctypes.data,
        y.ctypes.data,
    )
    direct, ours = [], []
    timer = timeit.Timer(lambda: plan @ x, timer=time.thread_time)
    for _ in range(batches):
        direct.append(loop(*arguments, count))
        ours.append(timer.timeit(count) / count)
    return np.array(direct), np.array(ours)


if __name__ == "__main__":
    direct, ours = overhead()
    for name, value in (("median", np.median), ("least", np.min)):
        c, python = value(direct) * 1e6, value(ours) * 1e6
        print(f"{name}: C call {c:.2f} us, plan @ x {python:.2f} us: {python - c:.2f} us more")
