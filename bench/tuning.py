#!/usr/bin/env python3
"""docs/performance/tuning.md: what MEASURE and ESTIMATE lose against EXHAUSTIVE.

    bench/tuning.py TESSERA [--device cpu] [--out docs/performance/tuning.md]

For every case three runs of `tessera tune`: the exhaustive one times every kernel that applies and
gives the best; the choices of the other two efforts are priced by the exhaustive run's times.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess

SHAPES = {  # about 20 MB of values each: out of a small cache, quick to make
    "stencil7": lambda b: f"gen:stencil7:n={max(4, round((3e6 / (7 * b * b)) ** (1 / 3)))},b={b}",
    "stencil27": lambda b: f"gen:stencil27:n={max(4, round((3e6 / (27 * b * b)) ** (1 / 3)))},b={b}",
    "powerlaw": lambda b: f"gen:powerlaw:rows={max(2000, int(2.5e6 / (8 * b * b)))},avg=6,b={b},"
                          f"long=8,length={max(500, int(1e5 / (b * b)))}",
}
BLOCKS = [1, 2, 3, 4, 5, 7, 8, 11, 16, 32]


def tune(tessera, case, effort, device):
    environment = dict(os.environ, TESSERA_WISDOM="off")
    command = [tessera, "tune", case, "--effort", effort, "--device", device, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tessera")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default="docs/performance/tuning.md")
    args = parser.parse_args()
    lines, lost_measure, lost_estimate, products, device = [], [], [], [], ""
    for shape, make in SHAPES.items():
        for b in BLOCKS:
            full = tune(args.tessera, make(b), "exhaustive", args.device)
            quick = tune(args.tessera, make(b), "measure", args.device)
            device = full["device"]
            name = lambda c: (c["format"], c["kernel"], c["params"])
            times = {name(c): c["seconds"] for c in full["candidates"] if c["seconds"] > 0}
            best = min(times.values())
            chosen = times.get(name(quick), best)
            guess = times.get(name(full["candidates"][0]), best)
            lost_measure.append(chosen / best - 1)
            lost_estimate.append(guess / best - 1)
            products.append(quick["spmvs"])
            lines.append(f"| {shape} | {b} | {full['bytes'] / 1e6:.0f} | {len(times)} | "
                         f"{100 * full['bytes'] / best / 1e9 / full['read_GBps']:.0f} | "
                         f"{100 * lost_measure[-1]:.1f} | {100 * lost_estimate[-1]:.1f} | {quick['spmvs']} |")
            print(lines[-1], flush=True)
    row = lambda what, loss: (f"| {what} | {100 * statistics.median(loss):.1f} | {100 * max(loss):.1f} |")
    with open(args.out, "w") as out:
        out.write(f"""# What a search finds

Made by `bench/tuning.py TESSERA --device {args.device}` on {datetime.date.today()}, {device}. On a GPU: the same with
`--device cuda`; those columns are not filled in yet.

EXHAUSTIVE times every kernel that applies. MEASURE, the default, may run 60 products; ESTIMATE runs
none. Lost is how much longer the chosen kernel takes than EXHAUSTIVE's best, both as timed in the
exhaustive search, so a loss of one or two percent is within the spread of the times.

| effort | lost in the median, % | at worst, % |
|---|---|---|
{row("MEASURE", lost_measure)}
{row("ESTIMATE", lost_estimate)}

MEASURE ran {min(products)} to {max(products)} products.

| matrix | b | MB moved | kernels | best, % of read | MEASURE lost, % | ESTIMATE lost, % | products |
|---|---|---|---|---|---|---|---|
""")
        out.write("\n".join(lines) + "\n")


main()
