#!/usr/bin/env python3
"""Measures fbcsr and writes docs/performance/fbcsr.md. Standard library only.

    bench/fbcsr.py --matrices DIR                     on the CPU: every .mtx.gz of at least 10 000 non-zeros, the generated ones
    bench/fbcsr.py --device cuda --name h200          on a GPU: both forms, slices and splits
    bench/fbcsr.py --device profile:h200 --name h200 --describe --matrices DIR
                                                      no GPU: what both forms store, into the results that are there
    bench/fbcsr.py --device cuda --name h200 --limit 31 --matrices DIR
                                                      31 inputs, spread evenly over the list
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

import draw
from report_common import geometric_mean, load, save, table

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

Written by `bench/fbcsr.py` from `bench/results/fbcsr-*.json`. How blocks are found and shapes chosen is in
[formats.md](../formats.md). Every matrix is repeated along the diagonal until a product with CSR moves so much that it is
beyond every cache.

* *extracted*: share of the non-zeros in blocks; on a GPU, with `fbcsr`, in diagonals and in runs of two columns or more.
  *fill*: non-zeros over stored cells of these, the padding of slices included. *bytes*: of the arrays that the product's kernel
  reads, vectors not counted. All three are of the object that is timed.
* *fbcsr* is splits on a CPU. On a GPU it is slices, which know diagonals and runs only; *splits* are there a kernel of their own,
  paper 001's: a launch a shape, on SplitOnce's blocks (formats.md).
* *best BSR*: the aligned blocks with the fewest bytes, be that less than CSR's or not.
* *× our CSR*: speed of y = A x with fbcsr over our fastest kernel on 1 × 1 blocks, the same for the others. All run in turn in
  the same process, medians of 5 rounds.
* *planner*: the format of a plan that measures nothing (`ESTIMATE`). One that measures (`MEASURE`, the default) takes what it
  timed as the fastest.
* Shapes are those of `auto`, which has one list for splits and another for slices (formats.md). With *none*, a plan in the format
  is CSR's, or refused on a GPU, and there is nothing to time.

Speeds of the H200's table are of two runs. 19 rows are of one of 87669f0, those with speeds of splits among them. The
other rows are of an earlier one: the kernels and lists of 66f81ab, timed and planned by 08af4f0. What is stored of those was counted
(`--describe`) at 688a5f9e, where the same shapes are chosen; it is left empty where others are. On a GPU our CSR is the fastest of the kernels sliced and multi_row, in long
rows also warp_row and by_block. cuSPARSE's is CUSPARSE_SPMV_CSR_ALG1. The CPU's table is one run of 144b947, 80 MB moved.
"""

REASONS = """
## What wins where, and why

### CPU

* **What it can gain.** A non-zero of CSR takes 12 bytes, one of a full block 8 to 9, so at the same bandwidth fbcsr could gain
  1.35 to 1.5. It gains most where many blocks begin in the same row: squares of 4 x 4 and more, rows, and diagonals, which
  are cut at multiples of their height so that they begin together (the stencil 1.62, dw2048 and dwt_992 1.5). It gains more
  where CSR's rows are short (bert, Trec6: 1.7 to 2.3).
* **What splits cost.** Every split walks y once more, so lists of two or three small shapes with a remainder of a sixth of the
  non-zeros gain little. Of two lists the shorter one is taken where the longer saves less than 4 bytes a row (cavity05, three
  shapes 0.98, two 1.02 to 1.05). `auto` returns no list where its price says less than 11.5 %.
* **Small blocks.** The blocks of a run were added to one sum, one after the other: 14 cycles a 3 x 3 block. The two pieces of a
  thread now go on block by block in turn: 3 x 3 blocks at random places 5.5 -> 4.3 ms (CSR 5.1 to 5.8), 4 x 4 4.7 -> 4.2 ms. The
  remainder of 5 x 3 blocks, cut into 3 x 3 and 2 x 2, took 2.2 of 6.7 ms in four streams that waited for each other's rows and
  takes 1.4 in one. `auto` now has 5x3, 3x5, 4x3 and 3x4: 99.9 % in 5 x 3 blocks (0.69 -> 1.34).
* **Lists without diagonals.** nos3 and trilinos_stru2d had diagonals and a remainder of a sixth of the non-zeros (1.00 to 1.09).
  2 x 6 blocks alone leave less, 1.02. With 2 x 4 or 2 x 2, which save little themselves, nothing is left: 1.27 and 1.31. So
  `auto` also builds a list without diagonals, and may end a list with a shape that pays by what it leaves.
* **Short rows.** arrow has three non-zeros a row and one long row a copy: 1.00 to 1.04. Its long row was one stream of values, now
  its halves are two (1.13). Every split began its stream every 2048 rows, now 4096 (1.22 in a run of its own, 1.10 in the table).
* **Larger matrices.** Planted antidiagonals of 400 MB were at 0.92 of CSR's speed, diagonals at 1.05, and at 1.1 to 1.25 at 64 MB.
  The two streams of a thread were far apart and read two parts of x, 1.6 MB together, of which 1 MB fits a core's second-level
  cache. They are neighbours now: 20.8 -> 16.9 ms (CSR 19.0: 1.12) and 17.4 -> 15.8 ms (18.8: 1.19).

### H200

* **Runs.** The layout has diagonals and runs only (formats.md). Runs were slow by everything between the loads: values were packed
  without gaps, so that each step counted its lanes and no address was known before. Now it is sliced storage with one column for
  up to 8 values, and it runs at 3.4 to 4.1 TB/s of 4.2 where rows are alike (3 wide 1.26, 4 wide 1.27, 6 wide 1.14 to 1.27, 16 x
  16 1.44).
* **Lanes.** Long rows take several lanes, which also read x side by side: rows of 32 1.00 -> 1.5, 2 x 8 0.48 -> 1.32, 5 x 3 0.28 ->
  1.08. How many lanes matters much: bcsstk12 takes 44, 47, 59 and 84 us with 1, 2, 4 and 8, 5 x 3 76 us with 1 to 4 and 59 with 8.
* **Diagonals.** Slices are short: what counts is the chain of loads that wait for each other, and how many warps wait. Head and
  pieces come in one load, remainders as pieces of one row, heads of later slices are asked for ahead, with 40 registers instead of
  56: dw2048 90 -> 60 us, stencil 66 -> 56, arrow 121 -> 80. A sum of several slices a warp, each begun while the one before is
  summed up, took 95 registers and was slower (dw2048 144 us). Planted diagonals, columns and antidiagonals of 32 at random rows
  are at 94 us; the form that broadcast each descriptor took 80 on the diagonals.
* **Lists of its own.** A list is diagonals, if any, and rows of some lengths, priced by the size of the slices that a sample of the
  rows would make. nemspmm1 0.27 -> 1.20 (rows of 4 instead of columns, of which one warp summed up hundreds), trilinos_stru2d
  0.97 -> 1.24 (its diagonals left a remainder that took 1.07 of CSR's bytes with its padding), nos3 1.07 -> 1.24. rdb2048 0.96 ->
  1.14: its diagonals beside the main one are half full; as pieces they cost no more bytes than a column and a length each, and
  nothing waits for them. watt_2: one row of 60 other entries in a slice of diagonals made 32 x 60 places; such rows are cut (1.06
  -> 0.77 of CSR's bytes, 1.28). The bytes of runs, measured against CSR's, foretell the ratio of times within 10 % for 47 of 57
  lists.
* **Rows 16 apart.** mhd3200a and mhd4800a are matrices of 16 x 16 blocks, whose rows of equal length are 16 apart. 32 lanes read x
  at the same place of 32 cache lines, which a cache does one after the other. Pairs of neighbours that are sorted as one share
  their columns: 48.8 -> 35.9 us and 49.2 -> 35.6 us (0.94 -> 1.29, 0.92 -> 1.25). Two lanes a row with two scalars in flight do as
  well with runs of 6 (35.9 us) but not in other matrices. Groups of four rows are no better than pairs.
* **How many widths.** A third width takes 4 to 6 % longer than its bytes: hypre_beam_tet 35.8 us with 3 and 2, 33.9 with 3 alone,
  pyamg_bar 37.0 and 35.1, raefsky6 with two lanes 46.8 and 39.9.
* **Scalars in flight.** 8 scalars of narrow runs in flight instead of 4: hypre_beam_tet 33.9 -> 32.7 us, bcsstk12 32.3 -> 31.1,
  plbuckle 34.7 -> 33.1, muelu_meshtying3d 37.5 -> 33.5. Wider runs and rows of less than 13 non-zeros lose by that (stokes64s 32.4
  -> 35.7).
* **Without a list.** mhd3200b has 5.7 non-zeros a row, of which rows of 2 and 4 would hold 85 %. The best of 40 lists, orders and
  parameters took 40.8 us, CSR 38.8 in the same run. It moves the bytes at 3.5 TB/s, CSR at 4.1. bayer03 (54 % would be extracted)
  had 0.96 to 0.99. The planted matrix of four shapes (50 % extracted) has a list and is at 0.81, Si2 (41 %) at 1.00; no plan by
  estimate takes the format for them.
* **Against BSR.** 1.27 times the best BSR on the 82 matrices with shapes. BSR is faster by more than a percent on six, whose blocks are
  aligned and full: Trec6 0.79 and the two bert 0.94 (32 x 32), crystk01 0.92 (2 x 16), steam2 0.93 (4 x 4), msc01440 0.97 (5 x 5).
  A plan keeps the blocks of its matrix, and fbcsr is made from 1 x 1 only. With `--block auto` these matrices are stored in the
  blocks named here, and fbcsr is no candidate. `tessera tune --block auto` times both and takes the faster. With `--effort
  estimate` it compares predictions, those of fbcsr made 10 % longer, and takes BSR for crystk01, steam2 and msc01440 (sliced 34.5,
  30.8 and 35.7 us; the best on 1 x 1 35.8, 32.1 and 36.4).
* **Tried and not kept.** A group of lanes a block. All shapes in units of up to 32 lanes. Runs packed without gaps by ballots
  (bcsstk10 0.59, cavity05 0.49). The first values and x of all widths asked for at once (bcsstk10 33.3 -> 37.9 us, more registers).
  Fewer registers by force (teko_nsjac_1 34.9 -> 33.3, cavity05 36.2 -> 41.4). Several slices a warp (above). Values of later slices
  prefetched into L2 (bcsstk10 35.6 -> 45.1 us, wang4 39.6 -> 42.7, rdb2048 51.0 -> 49.2).
* **Checked:** all 59 variants of the kernel against ref, under memcheck and under racecheck, with the present layouts: clean.

### Plans

A plan by measurement takes the format only if it is the fastest. A plan by estimate takes it where the model puts it clearly
ahead: in none of these tables where it loses more than 3 %. c-29 (44 % extracted, 0.93 on the CPU) it leaves. On the H200 the
choices are of the measured revision and its profile.
"""


PICTURE = "\n![Speed of fbcsr over other storage](plots/fbcsr.svg)\n\n"


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
    chosen = [i for i in chosen if not options.only or re.search(options.only, label(i))]
    if options.limit and options.limit < len(chosen):  # evenly, so that every kind of input has its share
        chosen = [chosen[k * len(chosen) // options.limit] for k in range(options.limit)]
    return chosen


def label(text):
    return re.sub(r"\.mtx(\.gz)?$", "", os.path.basename(text)) if not text.startswith("gen:") else text


def describe(path, case):
    """What is stored, into the case of the same input, if its matrix is as large and the timed form had these shapes. How long
    a conversion takes is left as it was measured, maybe on another machine."""
    document = load(path, {"cases": []})
    for known in document["cases"]:
        if known["input"] != case["input"] or known["nonzeros"] != case["nonzeros"] or shapes(known) != shapes(case):
            continue
        seconds = {"fbcsr": known.pop("convert_seconds", None)}
        for form in ("fbcsr", "splits"):
            if form in case:
                measured = known.get(form, {}).get("convert_seconds", seconds.get(form))
                known[form] = {key: value for key, value in case[form].items() if key != "convert_seconds"}
                known[form].update({"convert_seconds": measured} if measured is not None else {})
    save(path, document)


def store(path, case):
    document = load(path, {"cases": []})
    document["cases"] = [c for c in document["cases"] if c["input"] != case["input"]] + [case]
    document["cases"].sort(key=lambda c: (c["input"].startswith("gen:"), c["input"].lower()))
    save(path, document)


def measure(options):
    name = options.name or options.device.replace(":", "-")
    path = os.path.join(options.out, f"fbcsr-{name}.json")
    start = time.monotonic()
    command = [options.program] + (["--describe"] if options.describe else []) + [options.device, str(options.megabytes)] + inputs(options)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:  # one line per matrix, as they are done
        case = json.loads(line)
        case.update(input=label(case["input"]), device=options.device, date=time.strftime("%Y-%m-%d"),
                    megabytes=options.megabytes)
        if case["nonzeros"] / case["copies"] >= 10000:
            (describe if options.describe else store)(path, case)
            print(summary(case), flush=True)
        if options.seconds and time.monotonic() - start > options.seconds:
            print("no time left", flush=True)
            process.terminate()
            return False
    return process.wait() != 0


def speedup(case, over, of="fbcsr"):
    runs = case["runs"]
    return runs[over]["seconds"] / runs[of]["seconds"] if over in runs and of in runs else None


def number(value, form="{:.2f}"):
    return form.format(value) if value is not None else "–"


def summary(case):
    f = case["fbcsr"]
    over = ", ".join(f"{number(speedup(case, k))}x {k}" for k in ("csr", "bsr", "cusparse_csr") if speedup(case, k))
    if speedup(case, "csr", "splits"):
        over += f", splits {number(speedup(case, 'csr', 'splits'))}x csr"
    wrong = [k for k, r in case["runs"].items() if not r["right"]]
    return (f"{case['input'][:44]:44} {100 * f['share']:5.1f} % at {f['fill']:.3f}, bytes {f['bytes'] / case['csr_bytes']:.3f}: {over}"
            + (f"  WRONG: {wrong}" if wrong else ""))


def of_the_timed(case, form):
    """Returns whether the results describe the form that is timed: older results of a GPU do not."""
    return form in case and ("format" in case[form] or not case["device"].startswith("cuda"))


def shapes(case, form="fbcsr"):
    f = case[form]
    return ", ".join(f.get("shapes") or [s["shape"] for s in f["splits"]]) or "none"


def claimed(cases):
    """The cases that the format is for, and their name. All cases with shapes, if it is not known what is stored."""
    if not any(of_the_timed(c, "fbcsr") for c in cases):
        return [c for c in cases if speedup(c, "csr")], "With shapes"
    return [c for c in cases if of_the_timed(c, "fbcsr") and c["fbcsr"]["share"] >= 0.6 and c["fbcsr"]["fill"] >= 0.75
            and speedup(c, "csr")], "At least 60 % extracted at a fill of at least 0.75"


def stored(case, form):
    """Shapes, extracted, fill, and bytes over those of CSR."""
    if not of_the_timed(case, form):
        return [shapes(case, form) if form in case else "–", "–", "–", "–"]
    f = case[form]
    return [shapes(case, form), f"{100 * f['share']:.0f} %", f"{f['fill']:.2f}" if f["splits"] else "–",
            f"{f['bytes'] / case['csr_bytes']:.2f}"]


def rows_of(cases, gpu):
    for c in cases:
        row = [f"`{c['input']}`"] + stored(c, "fbcsr")
        if not gpu:
            row.append(f"{c['fbcsr']['bytes'] / min(c['bsr_bytes'], c['csr_bytes']):.2f}")
        row += [number(speedup(c, "csr")), "{}×{}".format(*c["blocks"]), number(speedup(c, "bsr"))]
        if gpu:
            row.append(number(speedup(c, "cusparse_csr")))
            row += stored(c, "splits") + [number(speedup(c, "csr", "splits"))]
        yield row + [c["planner"]]


def of_splits(cases):
    """The ratios of paper 001's form: to CSR, and to slices on the same matrix."""
    timed = [c for c in cases if speedup(c, "csr", "splits")]
    if not timed:
        return "Splits, a kernel a shape, have not been timed yet.\n"
    gains = [speedup(c, "csr", "splits") for c in timed]
    beside = [c["runs"]["fbcsr"]["seconds"] / c["runs"]["splits"]["seconds"] for c in timed if "fbcsr" in c["runs"]]
    text = (f"Splits, a kernel a shape: {len(timed)} matrices have shapes, {min(gains):.2f} to {max(gains):.2f} times our CSR, "
            f"geometric mean {geometric_mean(gains):.2f}×, faster on {sum(g > 1 for g in gains)}.\n")
    if beside:
        text += (f"Against slices of the same matrix: {geometric_mean(beside):.2f}×, faster on {sum(g > 1 for g in beside)} "
                 f"of {len(beside)}.\n")
    return text


def section(name, document):
    cases = document["cases"]
    gpu = any(c["device"].startswith("cuda") for c in cases)
    head = ["matrix", "shapes", "extracted", "fill", "bytes / CSR"] + ([] if gpu else ["bytes / best of CSR, BSR"])
    head += ["× our CSR", "best BSR", "× best BSR"]
    if gpu:
        head += ["× cuSPARSE CSR", "splits: shapes", "extracted", "fill", "bytes / CSR", "× our CSR"]
    head += ["planner"]
    dates = sorted({c["date"] for c in cases})
    sizes = sorted({c["megabytes"] for c in cases})
    text = f"## {name}\n\n{len(cases)} matrices, tiled to {', '.join(f'{s:g}' for s in sizes)} MB, f64, {dates[-1]}; "
    reads = [c["read_GBps"] for c in cases if c["read_GBps"] > 0]
    if reads:
        text += f"read ceiling in the same runs {min(reads):.1f} to {max(reads):.1f} GB/s.\n\n"
    claim, called = claimed(cases)
    lost = [c for c in claim if speedup(c, "csr") < 1]
    text += (f"{called}: {len(claim)} matrices; faster than our CSR on "
             f"{len(claim) - len(lost)} of them, geometric mean {geometric_mean([speedup(c, 'csr') for c in claim]):.2f}×.\n")
    if lost:
        text += "Slower: " + ", ".join(f"`{c['input']}` {speedup(c, 'csr'):.2f}×" for c in lost) + ".\n"
    if gpu:
        over = [speedup(c, "cusparse_csr") for c in claim if speedup(c, "cusparse_csr")]
        if over:
            text += f"Against cuSPARSE's CSR on the same matrices: {geometric_mean(over):.2f}×.\n"
        text += of_splits(cases)
    picked = [c for c in cases if c["planner"] == "fbcsr" and speedup(c, "csr")]
    losing = [c for c in picked if speedup(c, "csr") < 0.97]
    text += f"A plan that measures nothing takes fbcsr for {len(picked)} matrices"
    text += (f"; it loses more than 3 % to our CSR on {len(losing)}: " + ", ".join(f"`{c['input']}`" for c in losing) if losing else "")
    convert = [1e7 * c["fbcsr"].get("convert_seconds", c.get("convert_seconds")) / c["nonzeros"] for c in cases if of_the_timed(c, "fbcsr")]
    text += f".\nConversion, shapes chosen by auto: {min(convert):.2f} to {max(convert):.2f} s for 10⁷ non-zeros" if convert else ""
    wrong = [c["input"] for c in cases if not all(r["right"] for r in c["runs"].values())]
    text += ".\n" + (f"Wrong results: {wrong}.\n" if wrong else "All results verified against ref.\n")
    return text + "\n" + table(head, rows_of(cases, gpu))


def picture(documents):
    """One panel per machine, from the matrix that gains least to the one that gains most."""
    names = {"csr": "over our CSR", "bsr": "over the best BSR", "cusparse_csr": "over cuSPARSE's CSR"}
    panels = []
    for machine, document in documents.items():
        claim = claimed(document["cases"])[0]
        gains = {names[k]: [speedup(c, k) for c in claim if speedup(c, k)] for k in names}
        panels.append({"title": f"{machine}: {len(claim)} matrices", "sizes": [f"{10 * i}" for i in range(11)],
                       "series": {name: draw.quantiles(values) for name, values in gains.items() if values}})
    return draw.speeds("Speed of fbcsr over other storage", panels, "% of the matrices, those that gain least first", "times as fast")


def page():
    parts, documents = [], {}
    for path in sorted(glob.glob(os.path.join(RESULTS, "fbcsr-*.json"))):
        with open(path, encoding="utf-8") as file:
            documents[os.path.basename(path)[6:-5]] = json.load(file)
    for name, document in documents.items():
        parts.append(section(name, document))
    with open(os.path.join(os.path.dirname(PAGE), "plots", "fbcsr.svg"), "w", encoding="utf-8") as file:
        file.write(picture(documents))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(INTRO + PICTURE + "\n".join(parts) + REASONS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--megabytes", type=float, default=400, help="that a product with the tiled CSR matrix moves (default 400)")
    parser.add_argument("--matrices", help="directory of Matrix Market files")
    parser.add_argument("--only", help="inputs that match this expression")
    parser.add_argument("--limit", type=int, help="at most as many inputs, spread evenly over the list")
    parser.add_argument("--describe", action="store_true", help="time nothing: what is stored, into the results that are there")
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
