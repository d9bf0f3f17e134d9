#!/usr/bin/env python3
"""tess_matrix_multiply beside SciPy, MKL and cuSPARSE, in one process; writes docs/performance/spgemm.md.

    bench/spgemm.py --name MACHINE [--build DIR] [--rounds N] [--mkl libmkl_rt.so.3]     measures, then writes the page
    bench/spgemm.py                                        only the page, from bench/results/spgemm-*.json
    bench/spgemm.py --check                              checks that the page is made from the results

Measuring needs NumPy and SciPy; MKL is measured where its library is found (`pip install mkl`), cuSPARSE where CuPy finds a GPU. All libraries get the same arrays and take
turns. Every product is compared: C x with A (B x) for a random x, and the number of stored blocks. The page needs the standard library only.
"""
import argparse
import ctypes
import datetime
import glob
import os
import statistics
import sys
import time

from report_common import load, processor, revision, save, table, write_or_check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PAGE = os.path.join(ROOT, "docs", "performance", "spgemm.md")
CASES = [  # A and B; without B the square of A
    ("gen:diffusion:n=60", None),
    ("gen:random:rows=60000,avg=8", None),
    ("gen:stencil7:n=24,b=2", None),
    ("gen:elasticity:n=20", None),
    ("gen:cdr:n=24,b=4", None),
    ("gen:stencil7:n=20,b=6", None),
    ("gen:elasticity:n=24", "gen:random:rows=15000,cols=1500,count=4,r=3,c=6"),
]
TOLERANCE = 1e-12

INTRO = """# Products of matrices

This page is written by `bench/spgemm.py` from `bench/results/spgemm-*.json`; do not edit it.

`tess_matrix_multiply` computes C = A B of block matrices (SpGEMM). The libraries get the same arrays in one process and take turns; medians
in ms, of the call that makes C from A and B. Every product was compared: C x with A (B x) for a random x, to a relative 1e-12, and the stored
blocks of C. *terms*: products of a block of A with one of B, in millions.

* **SciPy**: `A @ B` of `bsr_matrix`, of `csr_matrix` where blocks are 1 × 1. It has one thread, and its columns are not sorted.
  *sorted* adds `sort_indices`.
* **MKL**: `mkl_sparse_spmm`, in BSR where blocks are square and in CSR elsewhere. Its columns are not sorted. *sorted* adds `mkl_sparse_order`.
* **Tessera**: columns are sorted, and the bits do not depend on the number of threads.

* **cuSPARSE**: `cusparseSpGEMM` through CuPy, on the machine's GPU. It has no product of blocks, so it gets CSR. A, B and C are in the
  GPU's memory, and no copy is counted. Its columns are not sorted.

`tess_matrix_multiply` computes on the host. A GPU multiplies inside the set-up of `pc=amg` alone ([multigrid.md](multigrid.md) has the times of
its phases), so cuSPARSE's column compares a GPU with a CPU.
"""


# ---- Tessera, through its public functions ----

class View(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64), ("block_height", ctypes.c_int32),
                ("block_width", ctypes.c_int32), ("block_rows", ctypes.c_int64), ("block_cols", ctypes.c_int64),
                ("blocks", ctypes.c_int64), ("row_offsets", ctypes.POINTER(ctypes.c_int64)),
                ("columns", ctypes.POINTER(ctypes.c_int32)), ("values", ctypes.POINTER(ctypes.c_double))]


class Tessera:
    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.tess_ctx_error.restype = ctypes.c_char_p
        self.ctx = ctypes.c_void_p()
        self.check(self.calls.tess_ctx_create(None, ctypes.byref(self.ctx)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.calls.tess_ctx_error(self.ctx).decode() if self.ctx else f"status {status}")

    def set_threads(self, count):
        self.check(self.calls.tess_ctx_set_threads(self.ctx, count))

    def generate(self, spec):
        matrix = ctypes.c_void_p()
        self.check(self.calls.tess_matrix_generate(self.ctx, spec.encode(), ctypes.byref(matrix), None))
        return matrix

    def multiply(self, a, b):
        matrix = ctypes.c_void_p()
        self.check(self.calls.tess_matrix_multiply(self.ctx, a, b, ctypes.byref(matrix)))
        return matrix

    def view(self, matrix):
        view = View()
        self.calls.tess_matrix_get_view(matrix, ctypes.byref(view))
        return view

    def destroy(self, matrix):
        self.calls.tess_matrix_destroy(matrix)


def to_scipy(view):
    """A copy as SciPy's matrix: BSR, or CSR where blocks are 1 x 1."""
    import numpy
    import scipy.sparse
    r, c = view.block_height, view.block_width
    offsets = numpy.ctypeslib.as_array(view.row_offsets, (view.block_rows + 1,)).astype(numpy.int32)
    columns = numpy.ctypeslib.as_array(view.columns, (view.blocks,)).copy()
    values = numpy.ctypeslib.as_array(view.values, (view.blocks * r * c,))
    if r * c == 1:
        return scipy.sparse.csr_matrix((values.copy(), columns, offsets), shape=(view.rows, view.cols))
    blocks = numpy.ascontiguousarray(values.reshape(view.blocks, c, r).transpose(0, 2, 1))
    return scipy.sparse.bsr_matrix((blocks, columns, offsets), shape=(view.rows, view.cols))


# ---- MKL ----

class Mkl:
    """Sparse BLAS of MKL: handles of matrices whose arrays SciPy's matrices own."""

    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        text = ctypes.create_string_buffer(200)
        self.calls.MKL_Get_Version_String(text, 200)
        self.version = text.value.decode().strip()

    def set_threads(self, count):
        self.calls.MKL_Set_Num_Threads(count)

    def handle(self, matrix):
        handle, pointer = ctypes.c_void_p(), lambda array: ctypes.c_void_p(array.ctypes.data)
        starts, ends = pointer(matrix.indptr), ctypes.c_void_p(matrix.indptr.ctypes.data + 4)
        rest = (starts, ends, pointer(matrix.indices), pointer(matrix.data))
        if matrix.format == "csr":
            status = self.calls.mkl_sparse_d_create_csr(ctypes.byref(handle), 0, *matrix.shape, *rest)
        else:
            b = matrix.blocksize[0]
            status = self.calls.mkl_sparse_d_create_bsr(ctypes.byref(handle), 0, 101, matrix.shape[0] // b, matrix.shape[1] // b, b, *rest)
        self.check(status)
        return handle

    @staticmethod
    def check(status):
        if status != 0:
            raise RuntimeError(f"MKL: status {status}")

    def multiply(self, a, b, order):
        product = ctypes.c_void_p()
        self.check(self.calls.mkl_sparse_spmm(10, a, b, ctypes.byref(product)))
        if order:
            self.check(self.calls.mkl_sparse_order(product))
        return product

    def blocks(self, product, block):
        index, rows, cols, layout, size = (ctypes.c_int() for _ in range(5))
        starts, ends, columns = (ctypes.POINTER(ctypes.c_int32)() for _ in range(3))
        values, given = ctypes.c_void_p(), ctypes.byref
        if block == 1:
            self.check(self.calls.mkl_sparse_d_export_csr(product, given(index), given(rows), given(cols), given(starts), given(ends),
                                                            given(columns), given(values)))
        else:
            self.check(self.calls.mkl_sparse_d_export_bsr(product, given(index), given(layout), given(rows), given(cols), given(size),
                                                            given(starts), given(ends), given(columns), given(values)))
        return ends[rows.value - 1]

    def times(self, product, x):
        import numpy

        class Description(ctypes.Structure):
            _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]
        y = numpy.zeros(self.rows)
        self.check(self.calls.mkl_sparse_d_mv(10, ctypes.c_double(1), product, Description(20, 40, 50), ctypes.c_void_p(x.ctypes.data),
                                                ctypes.c_double(0), ctypes.c_void_p(y.ctypes.data)))
        return y

    def destroy(self, handle):
        self.check(self.calls.mkl_sparse_destroy(handle))


# ---- Measuring ----

class Contest:
    """One case: the same A and B for all libraries, and the product to compare with."""

    def __init__(self, options, tessera, mkl, cupy, case):
        import numpy
        self.numpy, self.tessera, self.mkl, self.cupy = numpy, tessera, mkl, cupy
        self.a = tessera.generate(case[0])
        self.b = tessera.generate(case[1]) if case[1] else self.a
        view_a, view_b = tessera.view(self.a), tessera.view(self.b)
        self.A, self.B = to_scipy(view_a), to_scipy(view_b)
        self.x = numpy.random.default_rng(1).standard_normal(view_b.cols)
        self.expected = self.A @ (self.B @ self.x)
        lengths = numpy.diff(self.B.indptr)
        self.about = {"a": case[0], "b": case[1] or "", "rows": view_a.rows, "shape": [view_a.block_height, view_a.block_width,
                                                                                      view_b.block_width],
                      "blocks": [view_a.blocks, view_b.blocks], "terms": int(lengths[self.A.indices].sum())}
        self.options, self.blocks = options, None

    def compare(self, name, product, blocks):
        error = self.numpy.abs(product - self.expected).max() / self.numpy.abs(self.expected).max()
        if not error <= TOLERANCE:
            raise RuntimeError(f"{name}, {self.about['a']}: C x differs from A (B x) by {error:.1e}")
        if blocks is not None and self.blocks is not None and blocks != self.blocks:
            raise RuntimeError(f"{name}, {self.about['a']}: {blocks} blocks, not {self.blocks}")
        self.blocks = self.blocks or blocks

    def ours(self, threads):
        def run(compared):
            self.tessera.set_threads(threads)
            start = time.perf_counter()
            c = self.tessera.multiply(self.a, self.b)
            seconds = time.perf_counter() - start
            if compared:
                view = self.tessera.view(c)
                self.compare("Tessera", to_scipy(view) @ self.x, view.blocks)
            self.tessera.destroy(c)
            return seconds
        return run

    def scipy(self, order):
        def run(compared):
            start = time.perf_counter()
            c = self.A @ self.B
            if order:
                c.sort_indices()
            seconds = time.perf_counter() - start
            if compared:
                self.compare("SciPy", c @ self.x, len(c.indices))
            return seconds
        return run

    def mkls(self, threads, order):
        shape, mkl = self.about["shape"], self.mkl
        square = shape[0] == shape[1] == shape[2]
        A, B = (self.A, self.B) if square else (self.A.tocsr(), self.B.tocsr())
        kept = (A, B, mkl.handle(A), mkl.handle(B))

        def run(compared):
            mkl.set_threads(threads)
            start = time.perf_counter()
            c = mkl.multiply(kept[2], kept[3], order)
            seconds = time.perf_counter() - start
            if compared:
                mkl.rows = A.shape[0]
                self.compare("MKL", mkl.times(c, self.x), mkl.blocks(c, shape[0]) if square else None)
            mkl.destroy(c)
            return seconds
        return run

    def cusparse(self):
        from cupyx.scipy.sparse import csr_matrix
        wait = self.cupy.cuda.get_current_stream().synchronize
        A, B = csr_matrix(self.A.tocsr()), csr_matrix(self.B.tocsr())

        def run(compared):
            wait()
            start = time.perf_counter()
            c = A @ B
            wait()
            seconds = time.perf_counter() - start
            if compared:
                self.compare("cuSPARSE", (c @ self.cupy.asarray(self.x)).get(), None)
            return seconds
        return run

    def run(self):
        most = self.options.threads
        ways = {"Tessera": (self.ours(most), most), "Tessera, 1 thread": (self.ours(1), 1), "SciPy": (self.scipy(False), 1),
                "SciPy, sorted": (self.scipy(True), 1)}
        if self.mkl:
            ways.update({"MKL": (self.mkls(most, False), most), "MKL, sorted": (self.mkls(most, True), most)})
        if self.cupy:
            ways["cuSPARSE"] = (self.cusparse(), 0)
        seconds = {name: [] for name in ways}
        for run, _ in ways.values():
            run(True)
        for _ in range(self.options.rounds):
            for name, (run, _) in ways.items():
                seconds[name].append(run(False))
        self.tessera.destroy(self.a)
        if self.about["b"]:
            self.tessera.destroy(self.b)
        return dict(self.about, product_blocks=int(self.blocks), results=[
            {"name": name, "threads": threads, "seconds": statistics.median(seconds[name])} for name, (_, threads) in ways.items()])


def find_mkl(given):
    places = [given] if given else glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
    return Mkl(places[0]) if places else None


def find_cupy():
    try:
        import cupy
        cupy.zeros(1)
        return cupy
    except Exception as error:  # pylint: disable=broad-except # of CuPy, the driver, or no GPU
        print(f"no cuSPARSE: {str(error).splitlines()[0]}", file=sys.stderr)
        return None


def cusparse_version(cupy):
    from cupy_backends.cuda.libs import cusparse
    version = cusparse.getVersion(cupy.cuda.device.get_cusparse_handle())
    return f"{version // 1000}.{version // 100 % 10} on {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}"


def measure(options):
    import scipy
    tessera, mkl, cupy = Tessera(os.path.join(options.build, "lib", "libtessera.so")), find_mkl(options.mkl), find_cupy()
    path = os.path.join(RESULTS, f"spgemm-{options.name}.json")
    document = {"machine": {"processor": processor(), "threads": options.threads, "date": datetime.date.today().isoformat(),
                            "load": os.getloadavg()[0]},
                "revision": options.revision or revision(ROOT), "rounds": options.rounds,
                "versions": {"SciPy": scipy.__version__, **({"MKL": mkl.version} if mkl else {}),
                                                                  **({"cuSPARSE": cusparse_version(cupy)} if cupy else {})}, "cases": []}
    for case in CASES:
        done = Contest(options, tessera, mkl, cupy, case).run()
        document["cases"].append(done)
        print(done["a"], done["b"], *(f"{r['name']} {1e3 * r['seconds']:.1f}" for r in done["results"]), sep="  ", flush=True)
    save(path, document)


# ---- The page ----

def row(case):
    times = {r["name"]: r["seconds"] for r in case["results"]}
    r, c, k = case["shape"]
    fastest = min(times[name] for name in times if name.endswith("sorted"))
    name = f"`{case['a']}`" + (f" times `{case['b']}`" if case["b"] else ", squared")
    ways = ["Tessera", "Tessera, 1 thread", "SciPy", "SciPy, sorted", "MKL", "MKL, sorted", "cuSPARSE"]
    return [name, f"{r} × {c}, {c} × {k}", f"{case['terms'] / 1e6:.1f}", *(f"{1e3 * times[w]:.1f}" if w in times else "–" for w in ways),
            f"{times['Tessera'] / fastest:.2f}", f"{times['Tessera, 1 thread'] / times['SciPy, sorted']:.2f}"]


def section(document):
    m, versions = document["machine"], document["versions"]
    head = ["product", "blocks", "terms", "Tessera", "1 thread", "SciPy", "sorted", "MKL", "sorted", "cuSPARSE", "to the fastest sorted of the CPU", "1 thread to SciPy, sorted"]
    return (f"\n## {m['processor']}, {m['threads']} threads\n\n"
            f"Revision {document['revision']}, {m['date']}; load of the machine at the start {m['load']:.1f}. {document['rounds']} rounds. "
            + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
            + (" Other work ran beside this: times of several threads are too long, those of one thread compare.\n\n"
               if m["load"] > m["threads"] / 2 else "\n\n")
            + table(head, [row(case) for case in document["cases"]]))


def page():
    return INTRO + "".join(section(load(path)) for path in sorted(glob.glob(os.path.join(RESULTS, "spgemm-*.json"))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--name", help="of the machine: measures for bench/results/spgemm-NAME.json")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--revision", help="that was built (default: that of this checkout)")
    parser.add_argument("--mkl", help="the path of libmkl_rt.so")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    options = parser.parse_args()
    if options.name:
        measure(options)
    return 1 if write_or_check(ROOT, {PAGE: page()}) else 0


if __name__ == "__main__":
    sys.exit(main())
