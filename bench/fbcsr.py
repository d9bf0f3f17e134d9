#!/usr/bin/env python3
"""Measures fbcsr and writes docs/performance/fbcsr.md. Standard library only.

    bench/fbcsr.py --matrices DIR                     on the CPU: every .mtx.gz of at least 10 000 non-zeros, the generated ones
    bench/fbcsr.py --device cuda --name h200          on a GPU
    bench/fbcsr.py --page                             only the page, from bench/results/fbcsr-*.json

A matrix that is measured again replaces its earlier result, so that a file can be filled in pieces.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import time

from report_common import geometric_mean, table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PAGE = os.path.join(ROOT, "docs", "performance", "fbcsr.md")
GENERATED = [  # known diagonals, rows, columns and unaligned blocks
    "gen:stencil7:n=60,b=1",
    "gen:planted:rows=100000,blocks=160,shapes=diagonal:32",
    "gen:planted:rows=100000,blocks=160,shapes=antidiagonal:32",
    "gen:planted:rows=100000,blocks=160,shapes=row:32",
    "gen:planted:rows=100000,blocks=160,shapes=column:32",
    "gen:planted:rows=30000,blocks=400,shapes=4x4",
    "gen:planted:rows=30000,blocks=400,shapes=5x3",
    "gen:planted:rows=40000,blocks=100,shapes=8x8",
    "gen:planted:rows=40000,blocks=10,shapes=32x32",
    "gen:planted:rows=100000,blocks=160,shapes=32x32/row:32/column:32/diagonal:32",
    "gen:random:rows=100000,avg=16",
]

INTRO = """# fbcsr: blocks of several shapes

Written by `bench/fbcsr.py` from `bench/results/fbcsr-*.json`; how blocks are found and shapes chosen is in
[formats.md](../formats.md). Every matrix is repeated along the diagonal until its CSR arrays are beyond every
cache. *extracted*: share of the non-zeros in blocks; *fill*: non-zeros over stored cells of the blocks; *bytes*:
of the arrays, vectors not counted; *best BSR*: the aligned blocks with the fewest bytes, where that is less than
CSR's or not. *× our CSR*: speed of y = A x with fbcsr over our fastest kernel on 1 × 1 blocks, the same for the
others; all run in turn in the same process, medians of 7 rounds. *planner*: the format of a plan that measures
nothing (`ESTIMATE`) at the revision of these runs, in which it could take fbcsr; because of what it lost on the CPU
it no longer does, and only a plan that measures (`MEASURE`, the default) considers the format. Shapes are those of `auto`.
"""

REASONS = """
## What wins where, and why

* **CPU.** A non-zero of CSR takes 12 bytes, one of a full block 8 to 9, so at the same bandwidth fbcsr could gain
  1.35 to 1.5; it does where many blocks begin in the same row (squares of 4 x 4 and more, rows, columns of dense
  pieces), because a run of them is summed in registers. Diagonals whose blocks begin in different rows read and
  write y for each block: 0.6 ns a non-zero on one core of Neoverse V1, 0.3 ns where they begin together, and
  CSR takes 0.5. So long diagonals lose (stencil, dw8192, orsreg_1, crystm01) although they save most bytes.
  A remainder is walked row by row, at the price of two to four non-zeros a row even if it is nearly empty.
  Lists of small shapes that leave 20 to 40 % behind (ani4, Si2, bcsstk13, c-29) lose most.
* **H200.** Lines and rows win 1.24 to 1.42 times: 32 lanes read one block side by side. Squares and short
  blocks lose, since a group of as many lanes as a block has rows walks its blocks alone and few rows make few
  warps; so does a matrix with a very long row (arrow: one warp for 46 500 entries), and the stencil, whose five
  to seven blocks of 64 a band are too little work for the latencies of range, place, value and x.
* **Tried on the H200 and not kept:** all shapes cut at bands of 32 rows and packed into units of up to 32
  lanes without padding, one code for all (8.5 to 10.3 bytes a non-zero): 0.47 to 0.66 with one unit in flight
  after the other; through shared memory 0.55 (bcsstk10) to 0.89 (rows), the arrow 0.80, squares of 4 x 4 0.75.
  Fewer loads in flight and more warps were faster, so instructions limit it: about 75 issue slots a
  step of 32 values.
* **Plans.** One by measurement takes the format only if it is the fastest. One by estimate goes by bytes, and
  on the CPU that is not enough: it also takes it where diagonals or small shapes with a large remainder lose.
* cuSPARSE's CSR against ours is in [h200.md](h200.md); it was not measured on these matrices.
"""


def nonzeros(path):
    """Entries of a Matrix Market file, mirrored ones included, by its header alone."""
    import gzip
    with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
        banner = file.readline().lower()
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
    sizes = [int(word) for word in line.split()]
    entries = sizes[2] if len(sizes) > 2 else sizes[0] * sizes[1]
    return entries * (2 if "symmetric" in banner else 1)


def inputs(options):
    files = sorted(glob.glob(os.path.join(options.matrices, "*.mtx.gz"))) if options.matrices else []
    chosen = GENERATED + [f for f in files if nonzeros(f) >= 10000]
    return [i for i in chosen if not options.only or re.search(options.only, label(i))]


def label(text):
    return re.sub(r"\.mtx(\.gz)?$", "", os.path.basename(text)) if not text.startswith("gen:") else text


def store(path, case):
    document = {"cases": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    document["cases"] = [c for c in document["cases"] if c["input"] != case["input"]] + [case]
    document["cases"].sort(key=lambda c: (c["input"].startswith("gen:"), c["input"].lower()))
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def measure(options):
    name = options.name or options.device.replace(":", "-")
    path = os.path.join(options.out, f"fbcsr-{name}.json")
    start = time.monotonic()
    command = [options.program, options.device, str(options.megabytes)] + inputs(options)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:  # one a matrix, as they are done
        case = json.loads(line)
        case.update(input=label(case["input"]), device=options.device, date=time.strftime("%Y-%m-%d"),
                    megabytes=options.megabytes)
        if case["nonzeros"] / case["copies"] >= 10000:
            store(path, case)
            print(summary(case), flush=True)
        if options.seconds and time.monotonic() - start > options.seconds:
            print("no time left", flush=True)
            process.terminate()
            return False
    return process.wait() != 0


def speedup(case, over):
    runs = case["runs"]
    return runs[over]["seconds"] / runs["fbcsr"]["seconds"] if over in runs and "fbcsr" in runs else None


def number(value, form="{:.2f}"):
    return form.format(value) if value is not None else "–"


def summary(case):
    f = case["fbcsr"]
    over = ", ".join(f"{number(speedup(case, k))}x {k}" for k in ("csr", "bsr", "cusparse_csr") if speedup(case, k))
    wrong = [k for k, r in case["runs"].items() if not r["right"]]
    return (f"{case['input'][:44]:44} {100 * f['share']:5.1f} % at {f['fill']:.3f}, bytes {f['bytes'] / case['csr_bytes']:.3f}: {over}"
            + (f"  WRONG: {wrong}" if wrong else ""))


def shapes(case):
    return ", ".join(s["shape"] for s in case["fbcsr"]["splits"]) or "none"


def claimed(case):
    return case["fbcsr"]["share"] >= 0.6 and case["fbcsr"]["fill"] >= 0.75


def rows_of(cases, gpu):
    for c in cases:
        f, bsr = c["fbcsr"], min(c["bsr_bytes"], c["csr_bytes"])
        row = [f"`{c['input']}`", f"{100 * f['share']:.0f} %", f"{f['fill']:.2f}" if f["splits"] else "–", shapes(c),
               f"{f['bytes'] / c['csr_bytes']:.2f}", f"{f['bytes'] / bsr:.2f}", "{}×{}".format(*c["blocks"]),
               number(speedup(c, "csr")), number(speedup(c, "bsr"))]
        if gpu:
            row.append(number(speedup(c, "cusparse_csr")))
        yield row + [c["planner"]]


def section(name, document):
    cases = document["cases"]
    gpu = any(c["device"].startswith("cuda") for c in cases)
    head = ["matrix", "extracted", "fill", "shapes", "bytes / CSR", "bytes / best of CSR, BSR", "best BSR", "× our CSR", "× best BSR"]
    head += (["× cuSPARSE CSR"] if gpu else []) + ["planner"]
    dates = sorted({c["date"] for c in cases})
    sizes = sorted({c["megabytes"] for c in cases})
    text = f"## {name}\n\n{len(cases)} matrices, tiled to {', '.join(f'{s:g}' for s in sizes)} MB of CSR, f64, {dates[-1]}; "
    reads = [c["read_GBps"] for c in cases if c["read_GBps"] > 0]
    if reads:
        text += f"read ceiling in the same runs {min(reads):.1f} to {max(reads):.1f} GB/s.\n\n"
    claim = [c for c in cases if claimed(c) and speedup(c, "csr")]
    lost = [c for c in claim if speedup(c, "csr") < 1]
    text += (f"At least 60 % extracted at a fill of at least 0.75: {len(claim)} matrices; faster than our CSR on "
             f"{len(claim) - len(lost)} of them, geometric mean {geometric_mean([speedup(c, 'csr') for c in claim]):.2f}×.\n")
    if lost:
        text += "Slower: " + ", ".join(f"`{c['input']}` {speedup(c, 'csr'):.2f}×" for c in lost) + ".\n"
    if gpu:
        over = [speedup(c, "cusparse_csr") for c in claim if speedup(c, "cusparse_csr")]
        if over:
            text += f"Against cuSPARSE's CSR on the same matrices: {geometric_mean(over):.2f}×.\n"
    picked = [c for c in cases if c["planner"] == "fbcsr" and speedup(c, "csr")]
    losing = [c for c in picked if speedup(c, "csr") < 0.97]
    text += f"A plan that measures nothing takes fbcsr for {len(picked)} matrices"
    text += (f"; it loses more than 3 % to our CSR on {len(losing)}: " + ", ".join(f"`{c['input']}`" for c in losing) if losing else "")
    convert = [1e7 * c["convert_seconds"] / c["nonzeros"] for c in cases]
    text += f".\nConversion, shapes chosen by auto: {min(convert):.2f} to {max(convert):.2f} s for 10⁷ non-zeros"
    wrong = [c["input"] for c in cases if not all(r["right"] for r in c["runs"].values())]
    text += ".\n" + (f"Wrong results: {wrong}.\n" if wrong else "All results verified against ref.\n")
    return text + "\n" + table(head, rows_of(cases, gpu))


def page():
    parts = []
    for path in sorted(glob.glob(os.path.join(RESULTS, "fbcsr-*.json"))):
        with open(path, encoding="utf-8") as file:
            parts.append(section(os.path.basename(path)[6:-5], json.load(file)))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(INTRO + "\n" + "\n".join(parts) + REASONS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--megabytes", type=float, default=400, help="of the tiled CSR matrix (default 400)")
    parser.add_argument("--matrices", help="directory of Matrix Market files")
    parser.add_argument("--only", help="inputs that match this expression")
    parser.add_argument("--seconds", type=float, help="start no matrix after this time")
    parser.add_argument("--name", help="of the machine in the results")
    parser.add_argument("--out", default=RESULTS)
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bin", "tessera_bench_fbcsr_speed"))
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args()
    failed = False if options.page else measure(options)
    if options.out == RESULTS:
        page()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
