"""The papers' tables and figures as lists of cases for tessera_bench_papers (products.c).

A figure says what is measured (`cases`), which of the kernels make a line (`series`: name, what its kernels' names
begin with), what is drawn (`speed`) and what the paper's authors measured (`paper`). Most matrices
of the papers are not available: STAND_INS says what takes the place of each. Some of these are of
another size. entries.h says what a kernel's name may be.
"""
import argparse
import gzip
import os
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import fbcsr  # noqa: E402  its inputs are those of paper 001

MATRICES = os.path.abspath(os.environ.get(
    "TESSERA_MATRICES", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "matrices")))
LONG_ROWS = "gen:powerlaw:rows=39899,avg=4,b=1,long=16,length=3000"

# Paper 003, Table II: rows and entries of the matrix; and what stands for it in Figures 10 to 18.
# What stands for Figure 21's is in figures_003.
TABLE_II = {
    "airfoil_2d": (14214, 259688), "bauru5727": (40366, 145019), "cage10": (11397, 150645),
    "cavity21": (4562, 131735), "coater2": (9540, 207308), "hvdc1": (24842, 158426),
    "lhr07": (7337, 154660), "rajat22": (39899, 195429), "shermanACb": (18510, 145149),
    "spe5Ref_dpdp": (2058000, 113464400)}
STAND_INS_003 = {
    "airfoil_2d": "bcsstk25", "bauru5727": "ant16km_pat", "cage10": "bcsstk18", "cavity21": "cavity24_pat",
    "coater2": "gen:random:rows=9540,count=22", "hvdc1": "wang4", "lhr07": "gen:random:rows=7337,avg=21", "rajat22": LONG_ROWS, "shermanACb": "arrow"}
# Paper 002, Table IV: the matrix, its block size, and what stands for it.
STAND_INS_002 = {
    "GT01R": (5, "gen:stencil27:n=12,b=5"), "raefsky4": (3, "bcsstk16"), "bmw7st_1": (6, "promote:b=6:bcsstk25"),
    "pwtk": (6, "promote:b=6:stokes64s_pat"), "RM07R": (7, "gen:cdr:n=60,b=7"), "audikw_1": (3, "gen:elasticity:n=48")}
# Paper 004, Table 4: the matrix, what stands for it, and how often it stands on the diagonal. Rail has 4284 rows of up to 56 181
# entries; the linear programme that stands for it has rows of up to 17 613.
STAND_INS_004 = {
    "Dense": ("dense:n=2000,b=1", 1), "FEM/Cantilever": ("bcsstk16", 14), "FEM/Spheres": ("bcsstk28", 20),
    "Wind tunnel": ("gen:stencil27:n=48,b=2", 1), "Protein": ("raefsky1", 14), "FEM/Harbour": ("raefsky6_pat", 16), "FEM/Ship": ("bcsstk25", 24),
    "QCD": ("cavity24_pat", 14), "Economics": ("bayer10", 13), "Epidemology": ("ant16km_pat", 10),
    "FEM/Accelerator": ("delaunay_n15_pat", 13), "Circuit": ("wang4", 6), "Webbase": ("arrow", 20), "Rail": ("osa_07_A", 78)}
# Paper 004, Table 5: Id, name, and the matrix itself; of nasa4704 only the pattern is to be had, with values of ours.
TABLE_5 = {1: ("Trefethen_20", "gen:trefethen:n=20"), 3: ("Trefethen_150", "gen:trefethen:n=150"),
           4: ("Trefethen_200", "gen:trefethen:n=200"), 6: ("msc00726", "msc00726"), 8: ("plbuckle", "plbuckle"),
           9: ("msc01440", "msc01440"), 11: ("Trefethen_2000", "gen:trefethen:n=2000"), 12: ("nasa2146", "nasa2146"),
           16: ("nasa4704", "nasa4704_pat"), 17: ("crystm01", "crystm01"),
           36: ("Trefethen_20000b", "gen:trefethen:n=20000,skip=1"), 37: ("Trefethen_20000", "gen:trefethen:n=20000")}
SHAPES_001 = "shapes=32x32/row:32/column:32/diagonal:32/antidiagonal:32"  # section III


@dataclass
class Figure:
    name: str
    title: str
    paper: str  # what the authors measured
    cases: list  # of (panel, x, type, block, input, kernels)
    series: list  # of (name, beginnings)
    speed: str = "GFlop/s"
    across: str = "block size b, for b × b blocks"
    devices: tuple = ("cuda",)
    threads: list = field(default_factory=list)  # cases are repeated with so many
    program: str = "products"  # or "cg" (cg_speed.c), "load" (load_speed.c)
    weight: float = 1  # share of the time that all have together
    baseline: tuple = ()  # the table says how much faster the others are than the first of these that was measured
    cpu_cases: list = field(default_factory=list)  # in place of `cases` on a CPU
    quick: str = ""  # a sentence: what --quick takes, and what a full run has
    never: str = ""  # the cells that it does not ask for


def source(name):
    """What `tessera` takes: a generator as it is, a file by its path, a pattern with values."""
    if ":" in name and not name.startswith("promote:"):
        return name
    if name.startswith("promote:"):
        head, name = name.rsplit(":", 1)
        return f"{head}:{os.path.join(MATRICES, name)}.mtx.gz"
    path = os.path.join(MATRICES, name) + ".mtx.gz"
    return f"promote:b=1:{path}" if name.endswith("_pat") else path


def promoted(name, b):
    return f"promote:b={b}:{source(name).replace('promote:b=1:', '')}"


def ksparse(b):
    """The papers' K1, K2 and K3 where they reach, plain and balanced; at 32 K3 beside K2, from where on a search measures it."""
    names = [n for n, least, most in (("small", 2, 5), ("medium", 5, 45), ("large", 45, 999)) if least <= b <= most or (n, b) == ("large", 32)]
    return [f"ksparse_{n}" for n in names] + [f"ksparse_{n}_balanced:lambda=16" for n in names]


def figures_003(quick):
    sizes = (2, 3, 5, 8, 16, 32, 48, 64) if quick else (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32, 48, 64)
    few = ("cage10", "hvdc1", "rajat22")  # where b is large a matrix has gigabytes
    series = [("tessera", ["plan"]), ("KSPARSE", ["ksparse_small", "ksparse_medium", "ksparse_large"]),
              ("balanced KSPARSE", ["ksparse_small_balanced", "ksparse_medium_balanced", "ksparse_large_balanced"]),
              ("of these K3", ["ksparse_large", "ksparse_large_balanced"]), ("cuSPARSE BSR", ["cusparse_bsr"]), ("cuSPARSE CSR", ["cusparse_csr"]), ("cuSPARSE SELL", ["cusparse_sell"])]
    cases = [(name, b, "f64", 0, promoted(stand_in, b),
              ["plan", *ksparse(b), "cusparse_bsr"] + (["cusparse_csr", "cusparse_sell"] if b <= 5 or (b <= 32 and not quick) else []))
             for b in sizes for name, stand_in in STAND_INS_003.items() if b < 32 or not quick or name in few]
    yield Figure(
        "003-10..18", "K1, K2 and K3 on promoted patterns (paper 003, Figures 10 to 18 and Table III)",
        "On a K40c KSPARSE is 3.09 to 3.54 times faster than cuSPARSE's BSR where rows are even, and up to 8.86 (rajat22) and 30.25 times "
        "(shermanACb) faster when balanced; balancing gains up to 6.18 and 15 times there.",
        cases, series, weight=4, baseline=("cuSPARSE BSR",),
        quick="`--quick` takes b = 2, 3, 5, 8 and 16, and b = 32, 48 and 64 for cage10, hvdc1 and "
              "rajat22 alone. A full run has 16 block sizes for all nine patterns.",
        never="K3 below b = 32, cuSPARSE's CSR and sliced ELL above b = 5 (in a full run above 32)")
    yield Figure(
        "003-21", "A reservoir's matrix of 7 × 7 blocks (paper 003, Figure 21)",
        "KSPARSE is 2.4 times faster than cuSPARSE's BSR, 1.13 times than its HYB, and balancing gains nothing.",
        [("spe5Ref_dpdp", 7, "f64", 0, f"gen:stencil7:n={40 if quick else 66},b=7", ["plan", *ksparse(7), "cusparse"])], series,
        baseline=("cuSPARSE BSR",),
        quick="`--quick` takes a grid of 40³ cells, a full run one of 66³: 2 012 472 rows and 97.3 "
              "million entries.")


def is_real(path):
    if path.startswith("gen:"):
        return True
    with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
        return "complex" not in file.readline()


def figures_001(quick):
    files = [f for f in fbcsr.inputs(argparse.Namespace(matrices=MATRICES, only=None, limit=14 if quick else 33)) if is_real(f)]

    def cases(kernels, megabytes):
        return [(real, fbcsr.label(path), real, 0, f"filled={megabytes}:{path}", kernels) for path in files for real in ("f64", "f32")]
    yield Figure(
        "001", "Blocks of five shapes over CSR (paper 001, section III)",
        "Of 31 matrices 13 have blocks of the five shapes; up to 1.85 times CSR's speed on a K20c and 1.42 times on a GTX 980.",
        cases(["sliced", f"splits:{SHAPES_001}", "cusparse_csr"], 150 if quick else 400),
        [("five shapes", ["splits", "fbcsr/"]), ("CSR", ["sliced", "csr"]), ("cuSPARSE CSR", ["cusparse_csr"])], "GFlop/s", "matrix",
        devices=("cuda", "cpu"), weight=2, baseline=("CSR",),
        cpu_cases=cases(["csr", f"fbcsr/:{SHAPES_001}"], 60 if quick else 400),
        quick="`--quick` takes 14 of 33 matrices, repeated to 150 MB, on a CPU to 60. A full run "
              "repeats them to 400 MB.")


def gpu_002(b):
    names = ["plan", "cusparse_bsr"] + (["by_block"] if b <= 5 else []) + (["by_column"] if b <= 32 else [])
    return names + ["row_per_thread:shared=0", "row_per_thread:shared=1"]


SAME = "`--quick` leaves nothing out."
BY_BLOCK = "Algorithm 2 above b = 5, its own limit"


def figures_002(quick):
    series = [("tessera", ["plan"]), ("by block (Algorithm 2)", ["by_block"]), ("by column (Algorithm 3)", ["by_column"]),
              ("row per thread (4)", ["row_per_thread:shared=0"]), ("row per thread (5)", ["row_per_thread:shared=1"]),
              ("cuSPARSE BSR", ["cusparse_bsr"])]
    cpu = ["plan", "bsr/", "naive", "csr"]  # a plan may take half storage of a symmetric matrix, which Algorithm 1 does not have
    cpu_series = [("tessera", ["plan"]), ("BSR", ["bsr/"]), ("BSR, plain kernel (Algorithm 1)", ["naive"]), ("CSR", ["csr"]),
                  ("MKL BSR", ["mkl_bsr"]), ("MKL CSR", ["mkl_csr"])]
    matrices = [(name, b, source(spec)) for name, (b, spec) in STAND_INS_002.items()]
    yield Figure(
        "002-8", "Algorithms 2 to 5 at each matrix's own block size (paper 002, Figure 8)",
        "On a K80 up to 4 times faster than cusparseDbsrmv; 60 to 120 GB/s of 240.",
        [("each at its own b", name, "f64", b, spec, gpu_002(b)) for name, b, spec in matrices],
        series, "GB/s", "matrix", quick=SAME, never=BY_BLOCK)
    sizes = (2, 3, 4, 5, 8, 16, 24, 32) if quick else tuple(range(2, 33))
    spec = STAND_INS_002["GT01R"][1]
    yield Figure(
        "002-9", "One matrix cut into blocks of every size (paper 002, Figure 9)",
        "By block is the fastest below 5, by column from 6 to 16, row per thread above 16; cuSPARSE is fast at powers of two only.",
        [("GT01R", b, "f64", b, spec, gpu_002(b)) for b in sizes], series + [s for s in cpu_series if s not in series], "GB/s",
        devices=("cuda", "cpu"), baseline=("CSR",),
        cpu_cases=[("GT01R", b, "f64", b, spec, cpu) for b in sizes],
        quick="`--quick` takes 8 block sizes; a full run has all 31 from 2 to 32.", never=BY_BLOCK)
    yield Figure(
        "002-6", "BCSR on a CPU at each matrix's own block size (paper 002, Figure 6)",
        "On 16 Sandy Bridge cores 80 GB/s, 78 % of the memory's; up to 147 times faster than mkl_dbsrmv on one thread and 3 times than mkl_dcsrmv.",
        [], cpu_series, "GB/s", "matrix", devices=("cpu",), baseline=("CSR",),
        cpu_cases=[("each at its own b", name, "f64", b, spec, cpu) for name, b, spec in matrices],
        quick=SAME)
    yield Figure(
        "002-10", "Threads (paper 002, Figure 10)", "Speed grows almost linearly up to 16 cores, hyperthreads add a little.",
        [], cpu_series, "GB/s", "threads", devices=("cpu",), threads=[1, 2, 4, 8, 16, 32],
        cpu_cases=[(name, 0, "f64", b, spec, cpu) for name, b, spec in matrices
                   if name == "GT01R" or (name == "RM07R" and not quick)],
        quick="`--quick` leaves out RM07R.")


def tiled(name):
    spec, copies = STAND_INS_004[name]
    made = source(spec)
    return made if copies == 1 else f"tile:copies={copies}:{made}"


def has_memory(n, real):
    """Whether three times a dense matrix fits: a case holds it twice."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return memory >= 3 * n * n * (4 if real == "f32" else 8)


STAGES = [("block row", "block_row:reorder=0"), ("warp", "warp_row:reorder=0,sort=0"), ("multiple rows", "multi_row:reorder=0,sort=0"),
          ("+ reordering", "multi_row:reorder=1,sort=0"), ("+ sorting", "multi_row:reorder=1,sort=1")]


def figures_004(quick):
    names = [n for n in STAND_INS_004 if not quick or n in ("Dense", "FEM/Cantilever", "Protein", "FEM/Ship", "Economics", "Webbase")]
    sizes = (1, 2, 4, 8)
    stages = [(text, [kernel]) for text, kernel in STAGES]
    six = "`--quick` takes 6 of the 14 matrices of Table 4."
    yield Figure(
        "004-2", "The stages of the mapping, raw speed in single precision (paper 004, Figure 2)",
        "Warp beats block row but for Dense; multiple rows lose for N = 1 and 2 until blocks are reordered; sorting gains most where rows differ.",
        [(name, n, "f32", n, tiled(name), [kernel for _, kernel in STAGES])
         for name in names for n in sizes],
        stages, "raw GFlop/s", quick=six)
    best = [f"multi_row:Bx={bx}" for bx in (1, 2, 4, 8)]
    for real in ("f32", "f64"):
        yield Figure(
            f"004-9-{real}", f"SpMV in {'single' if real == 'f32' else 'double'} precision (paper 004, Figure 9)",
            "On a GTX570 the best block size of multiple rows is faster than CUSP's hybrid and cuSPARSE's CSR but where rows are short or uneven.",
            [(name, n, real, n, tiled(name), ["plan", *best] + (["cusparse_csr"] if n == 1 else [])) for name in names for n in sizes],
            [("tessera", ["plan"]), ("multiple rows, B_x = 1", ["multi_row:Bx=1"]), ("multiple rows, best B_x", ["multi_row"]),
             ("cuSPARSE CSR", ["cusparse_csr"])], "GFlop/s", quick=six,
            never="cuSPARSE's CSR above b = 1, since it has no blocks")
    edges = (4, 8, 16, 24, 32, 48, 64) if quick else (4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96)
    yield Figure(
        "004-7", "Raw throughput of multiple rows and the sigmoid of equation 3 (paper 004, Figure 7 and Table 3)",
        "GTX280, best: ν = 85, 135, 140 and 145 GB/s for N = 1, 2, 4 and 8, µ about 20, σ about 1.4.",
        [(f"N = {n}", e, "f32", n, f"gen:stencil27:n={e},b={n}", ["multi_row", "plan"]) for n in sizes for e in edges
         if e**3 * 27 * n * n < 6e7],
        [("tessera", ["plan"]), ("multiple rows", ["multi_row"])],
        "transactions", "edge of the box",
        quick="`--quick` takes 7 edges of 4 to 64 cells, a full run 11 of 4 to 96. Both take "
              "matrices of fewer than 60 million entries.")
    yield Figure(
        "004-5", "Loading vectors, fixed and variable grids (paper 004, Figure 5)",
        "GTX280: ν = 119 GB/s with a fixed grid and 109 with a variable one, µ = 17.9, σ = 1.5.",
        [(f"{v} vectors" if v > 1 else "1 vector", f"2^{e}", "f32", 0, str(2**e), []) for v in (1, 2, 4, 8) for e in range(14, 28, 1 if not quick else 2)],
        [("fixed grid", ["fixed"]), ("variable grid", ["variable"])],
        "GB/s of vectors", "elements loaded", program="load", weight=0.2,
        quick="`--quick` takes every second power of two.")
    boxes = (8, 16, 32, 48, 64) if quick else (6, 8, 12, 16, 24, 32, 48, 64, 80)
    # For Table 2 alone: a vector of 17, 57 and 134 MB.
    long_vectors = [] if quick else [
        ("7 points, N = 1", e, "f64", 0, f"gen:stencil7:n={e},b=1", ["multi_row"])
        for e in (128, 192, 256)]
    yield Figure(
        "004-cg", "Conjugate gradients, an iteration (paper 004, Figures 6 and 10, Table 2)",
        "GTX280: 20 GFlop/s and more from some million elements on; ν of the five kernels 94 to 120 GB/s.",
        [(f"N = {n}", e, "f64", 0, f"gen:stencil27:n={e},b={n}", ["multi_row"]) for n in sizes for e in boxes
         if e**3 * 27 * n * n < 3e7] + long_vectors,
        [("tessera", ["ours"]), ("the paper's five kernels", ["paper"])],
        "GFlop/s", "edge of the box", program="cg", baseline=("the paper's five kernels",),
        quick="`--quick` takes edges of 8, 16, 32, 48 and 64 cells, a full run nine of 6 to 80. "
              "Both take boxes of fewer than 30 million entries. A full run has three grids of "
              "7 points too, whose vectors do not fit the L2.")
    yield Figure(
        "004-10", "Conjugate gradients and the model's estimate on matrices of Table 5 (paper 004, Figure 10 and Table 6)",
        "Estimated and measured come closer as blocks grow: average relative errors 0.18, 0.12, 0.07 and 0.06 for N = 1, 2, 4 and 8.",
        [(f"N = {n}", number, "f64", 0, f"blocks={n}:{source(name)}", ["multi_row"]) for n in sizes for number, (_, name) in TABLE_5.items()],
        [("tessera on multiple rows, an iteration", ["iteration"]), ("estimate", ["estimate"])], "GFlop/s", "Id in Table 5", program="cg",
        weight=0.7, quick=SAME)
    dense = (128, 256, 512, 1024, 2048, 4096, 8192, 16384) if quick else (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
    blocks = (4, 8, 16) if quick else (1, 2, 4, 8, 16, 32, 64)

    def kernels(n, b):
        some = ["plan"] + ([] if b == 1 else ["by_column" if b <= 32 else "row_per_thread"])
        some += [] if n > (4096 if quick else 8192) else ["block_row", "block_row:T=256", "block_row:T=512", "multi_row"]
        return some + (["cublas"] if b == 8 else [])
    for real in ("f32", "f64"):
        yield Figure(
            f"004-dense-{real}", f"Dense matrices through block formats, {real} (paper 004, section 6.1)",
            "All mappings but 1 × 1 blocks are as fast as cublasSgemv or up to 15 % faster; single block row with 8 × 8 blocks reaches its peak at "
            "sizes 10 times smaller than cuBLAS.",
            [("dense", n, real, 0, f"dense:n={n},b={b}", kernels(n, b)) for n in dense for b in blocks if b <= n],
            [("best kernel and b", ["plan", "bsr/", "block_row", "multi_row", "by_column", "row_per_thread"]), ("tessera's plan, best b", ["plan"]),
             ("block row", ["block_row"]), ("multiple rows", ["multi_row"]), ("by column", ["by_column", "row_per_thread"]),
             ("cuBLAS gemv", ["cublas"]), ("OpenBLAS gemv", ["cblas"])],
            "GB/s of the matrix", "n", devices=("cuda", "cpu"), weight=1.5, baseline=("cuBLAS gemv", "OpenBLAS gemv"),
            cpu_cases=[("dense", n, real, 0, f"dense:n={n},b={b}", ["plan", "bsr/"] + (["cblas"] if b == 8 else []))
                       for n in dense for b in blocks if b <= n and (n <= 8192 or not quick and has_memory(n, real))],
            quick="`--quick` takes n = 128 to 16384, on a CPU to 8192, and b = 4, 8 and 16. A full run has n = 16 to "
                  "16384 and b = 1 to 64; on a CPU n = 16384 only where three times the matrix "
                  "fits its memory, 6.4 GB in f64.",
            never="block row and multiple rows above n = 4096 (in a full run above 8192)")


def all_figures(quick):
    return {f.name: f for made in (figures_001, figures_002, figures_003, figures_004) for f in made(quick)}
