#!/usr/bin/env python3
"""Reading a Matrix Market file of about 200 MB: Tessera against scipy.io.mmread.

Needs SciPy >= 1.12 (its mmread is fast_matrix_market) and the release build in build/. Both read
the same files with the same number of threads, in turns, in one run; the file is in the page cache.
SciPy's result is COO, ours CSR: our time includes sorting. Exits with 1 when ours is slower in any
order of the entries.

    bench/read_mtx.py [--mb 200] [--threads N] [--repeat 7] [--folder DIR] [--make-only]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import scipy
import scipy.io
from scipy.io import _fast_matrix_market

ORDERS = ("rows", "columns", "random")
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def make_file(path, megabytes, order, seed=1):
    """Entries of a band around the diagonal, 17 significant digits, no duplicates."""
    per_row, line = 20, 36.5
    rows = int(megabytes * 1e6 / line / per_row)
    generator = numpy.random.default_rng(seed)
    offsets = numpy.arange(per_row) * 3 - 30
    row = numpy.repeat(numpy.arange(rows), per_row)
    col = (row + numpy.tile(offsets, rows)) % rows
    if order == "rows":
        place = numpy.lexsort((col, row))
    elif order == "columns":
        place = numpy.lexsort((row, col))
    else:
        place = generator.permutation(row.size)
    values = generator.standard_normal(row.size)
    matrix = scipy.sparse.coo_array((values, (row[place], col[place])), shape=(rows, rows))
    scipy.io.mmwrite(path, matrix, precision=17, symmetry="general")


def build_reader(folder):
    library = os.path.join(TOP, "build", "lib")
    program = os.path.join(folder, "read_mtx")
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(TOP, "bench", "read_mtx.c"),
                    "-I" + os.path.join(TOP, "include"), "-L" + library, "-ltessera",
                    "-Wl,-rpath," + library], check=True)
    return program


def ours(program, path, threads):
    out = subprocess.run([program, path, str(threads)], check=True, capture_output=True, text=True)
    taken, entries, resident = out.stdout.split()
    return float(taken), int(entries), int(resident)


def theirs(path):
    begin = time.perf_counter()
    matrix = scipy.io.mmread(path)
    return time.perf_counter() - begin, matrix.nnz


def compare(program, path, threads, repeat):
    _fast_matrix_market.PARALLELISM = threads
    theirs(path)  # the file enters the page cache, both programs memory
    our_times, their_times = [], []
    for _ in range(repeat):
        taken, entries, resident = ours(program, path, threads)
        our_times.append(taken)
        taken, nnz = theirs(path)
        their_times.append(taken)
        assert nnz == entries, (nnz, entries)
    a, b = statistics.median(our_times), statistics.median(their_times)
    megabytes = os.path.getsize(path) / 1e6
    print(f"{os.path.basename(path):16s} {megabytes:5.0f} MB {entries:9d} entries  "
          f"tessera {a:.3f} s ({megabytes / a:4.0f} MB/s, {resident} MiB resident)  "
          f"scipy {b:.3f} s ({megabytes / b:4.0f} MB/s)  ratio {a / b:.2f}", flush=True)
    return a / b


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=200)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--folder", help="keep the files here and use them again")
    parser.add_argument("--make-only", action="store_true", help="make the files, measure nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        program = build_reader(temporary)
        worst = 0.0
        for order in ORDERS:
            path = os.path.join(folder, order + ".mtx")
            if not os.path.exists(path):
                make_file(path, arguments.mb, order)
            if not arguments.make_only:
                worst = max(worst, compare(program, path, arguments.threads, arguments.repeat))
    if not arguments.make_only:
        print(f"scipy {scipy.__version__}, {arguments.threads} threads, median of "
              f"{arguments.repeat}; worst ratio {worst:.2f}: "
              f"{'not slower' if worst <= 1 else 'SLOWER'} than scipy")
    return 0 if worst <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
