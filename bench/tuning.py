#!/usr/bin/env python3
"""docs/performance/tuning.md: what MEASURE and ESTIMATE lose against EXHAUSTIVE.

    bench/tuning.py TESSERA [--device cpu] [--out docs/performance/tuning.md]

For every case `tessera tune` chooses once with each effort, and one run of `tessera bench`, which
times all kernels in turn and in several rounds, prices the three choices.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess

SHAPES = {  # about 80 MB of values each: well out of a cache of 32 MB
    "stencil7": lambda b: f"gen:stencil7:n={max(4, round((1e7 / (7 * b * b)) ** (1 / 3)))},b={b}",
    "stencil27": lambda b: f"gen:stencil27:n={max(4, round((1e7 / (27 * b * b)) ** (1 / 3)))},b={b}",
    "powerlaw": lambda b: f"gen:powerlaw:rows={max(2000, int(8e6 / (8 * b * b)))},avg=6,b={b},"
                          f"long=8,length={max(500, int(1e5 / (b * b)))}",
}
BLOCKS = [1, 2, 3, 4, 5, 7, 8, 11, 16, 32]


def run(*command):
    environment = dict(os.environ, TESSERA_WISDOM="off")
    return json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)


def tune(tessera, case, effort, device):
    return run(tessera, "tune", case, "--effort", effort, "--device", device, "--json")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tessera")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default="docs/performance/tuning.md")
    args = parser.parse_args()
    lines, lost_full, lost_measure, lost_estimate, products, device = [], [], [], [], [], ""
    for shape, make in SHAPES.items():
        for b in BLOCKS:
            full = tune(args.tessera, make(b), "exhaustive", args.device)
            quick = tune(args.tessera, make(b), "measure", args.device)
            device = full["device"]
            name = lambda c: (c["format"], c["kernel"], c["params"])
            priced = run(args.tessera, "bench", make(b), "--device", args.device, "--reps", "12", "--json")
            times = {name(c): c["seconds"] for c in priced["results"] if c["outcome"] == "good"}
            best = min(times.values())
            lost_full.append(times[name(full)] / best - 1)
            lost_measure.append(times[name(quick)] / best - 1)
            lost_estimate.append(times[name(full["candidates"][0])] / best - 1)
            products.append(quick["spmvs"])
            lines.append(f"| {shape} | {b} | {full['bytes'] / 1e6:.0f} | {len(times)} | "
                         f"{100 * full['bytes'] / best / 1e9 / full['read_GBps']:.0f} | {100 * lost_full[-1]:.1f} | "
                         f"{100 * lost_measure[-1]:.1f} | {100 * lost_estimate[-1]:.1f} | {quick['spmvs']} |")
            print(lines[-1], flush=True)
    row = lambda what, loss: (f"| {what} | {100 * statistics.median(loss):.1f} | {100 * max(loss):.1f} |")
    with open(args.out, "w") as out:
        out.write(f"""# What a search finds

Made by `bench/tuning.py TESSERA --device {args.device}` on {datetime.date.today()}, {device}. On a GPU: the same with
`--device cuda`; those columns are not filled in yet.

EXHAUSTIVE times every kernel that applies. MEASURE, the default, may run 60 products; ESTIMATE runs
none. Lost is how much longer the chosen kernel takes than the fastest one, both as `tessera bench`
times them afterwards; what EXHAUSTIVE loses is the spread of the machine's speed between two runs.

| effort | lost in the median, % | at worst, % |
|---|---|---|
{row("EXHAUSTIVE", lost_full)}
{row("MEASURE", lost_measure)}
{row("ESTIMATE", lost_estimate)}

MEASURE ran {min(products)} to {max(products)} products. Bytes are those of the bsr format: the symmetric one moves fewer, hence more than 100 % of read. Matrices
near the size of a cache are left out: their speed depends on what ran just before.

| matrix | b | MB moved | kernels | best, % of read | EXHAUSTIVE lost, % | MEASURE lost, % | ESTIMATE lost, % | products |
|---|---|---|---|---|---|---|---|---|
""")
        out.write("\n".join(lines) + "\n")


main()
