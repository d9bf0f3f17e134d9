#!/usr/bin/env python3
"""Writes docs/performance/papers.md and its plots from bench/results/papers-*.json; --check says whether it is what they say."""
import glob
import math
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, ".."))
import draw  # noqa: E402
from figures import all_figures  # noqa: E402
from report_common import load  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "performance", "papers.md")
PLOTS = os.path.join(ROOT, "docs", "performance", "plots")


def unique_bytes(case):
    """What paper 002 counts: x, values, columns and offsets of 32 bits."""
    real = 4 if case["type"] == "f32" else 8
    return case["stored"] * real + case["blocks"] * 4 + case["rows"] * real + (case["rows"] // case["block"] + 1) * 4


def speed_of(figure, case, seconds):
    work = {"GFlop/s": 2 * case["nonzeros"], "raw GFlop/s": 2 * case["stored"], "GB/s": unique_bytes(case), "GB/s of vectors": 4 * case["stored"],
            "transactions": 2 * case["stored"] * (4 if case["type"] == "f32" else 8)}[figure.speed]
    return 1e-9 * work / seconds


def runs_of(figure, case, beginnings):
    """Right runs whose name is one of the beginnings, parameters aside; K1 is not its balanced form."""
    return [run for run in case["runs"] if "seconds" in run and run["right"] and any(
        run["name"] == b or run["name"].startswith(b + ":") or (run["name"].startswith(b) and b.startswith("cusparse"))
        for b in beginnings)]


def speeds(figure, cases):
    """{panel: {x: {series: speed}}}, the best of what has one label."""
    table = {}
    for case in cases:
        panel, x = case["label"].split("\t")
        cell = table.setdefault(panel, {}).setdefault(x, {})
        for name, beginnings in figure.series:
            found = [speed_of(figure, case, run["seconds"]) for run in runs_of(figure, case, beginnings)]
            cell[name] = max([s for s in found + [cell.get(name)] if s], default=None)
    return table


def panels_of(figure, table):
    names = [name for name, _ in figure.series if any(cell.get(name) for column in table.values() for cell in column.values())]
    return [{"title": panel, "sizes": list(column), "series": {name: [cell.get(name) for cell in column.values()] for name in names}}
            for panel, column in table.items() if any(cell.get(name) for cell in column.values() for name in names)]


def text_of(value):
    return "–" if not value else f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table_text(figure, table):
    names = [name for name, _ in figure.series if any(cell.get(name) for column in table.values() for cell in column.values())]
    lines = [f"| | {figure.across.split(',')[0]} | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for panel, column in table.items():
        for x, cell in column.items():
            lines.append(f"| {panel} | {x} | " + " | ".join(text_of(cell.get(name)) for name in names) + " |")
    return "\n".join(lines)


def baseline_of(figure, table):
    """What the others are compared with: on a CPU there is no cuBLAS, but NumPy's BLAS."""
    measured = {name for column in table.values() for cell in column.values() for name, speed in cell.items() if speed}
    return next((name for name in (figure.baseline, "NumPy's BLAS") if name in measured), None)


def factors_text(figure, table):
    """How much faster than the baseline, at best, as Table III of 003 has it."""
    baseline = baseline_of(figure, table)
    names = [name for name, _ in figure.series if name != baseline]
    lines = []
    for panel, column in table.items() if baseline else ():
        best = []
        for name in names:
            ratios = [cell[name] / cell[baseline] for cell in column.values() if cell.get(name) and cell.get(baseline)]
            best.append(f"{min(ratios):.2f} … {max(ratios):.2f}" if ratios else "–")
        if any(b != "–" for b in best):
            lines.append(f"| {panel} | " + " | ".join(best) + " |")
    if not lines:
        return ""
    head = f"Times the speed of {baseline}, smallest and largest over the sizes:\n\n| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names)
    return head + "\n" + "\n".join(lines) + "\n"


def sigmoid_fit(points):
    """Equation 3 of paper 004 by least squares on a grid: µ, σ, ν and the mean relative error."""
    best = None
    for mu in [14 + 0.1 * i for i in range(100)]:
        for sigma in [0.4 + 0.05 * i for i in range(50)]:
            shape = [1 / (1 + math.exp(-(math.log2(x) - mu) / sigma)) for x, _ in points]
            nu = sum(s * y for s, (_, y) in zip(shape, points)) / sum(s * s for s in shape)
            error = sum((nu * s - y) ** 2 for s, (_, y) in zip(shape, points))
            if best is None or error < best[0]:
                best = (error, mu, sigma, nu, sum(abs(nu * s - y) / y for s, (_, y) in zip(shape, points)) / len(points))
    return best[1:]


def sigmoid_text(figure, cases):
    lines = ["Equation 3 fitted to multiple rows (paper's Table 3 is of a GTX280):\n", "| | µ | σ | ν, GB/s | mean relative error |", "|---|---|---|---|---|"]
    for panel in dict.fromkeys(case["label"].split("\t")[0] for case in cases):
        points = [(2 * case["stored"], speed_of(figure, case, run["seconds"])) for case in cases if case["label"].startswith(panel + "\t")
                  for run in runs_of(figure, case, ["multi_row"])]
        if len(points) > 3:
            mu, sigma, nu, error = sigmoid_fit(points)
            lines.append(f"| {panel} | {mu:.1f} | {sigma:.2f} | {nu:.0f} | {error:.2f} |")
    return "\n".join(lines) + "\n"


TABLE_2 = {"cg1": (5, 19.2, 1.45, 94), "cg2": (1, 19, 1.45, 117), "cg3": (1, 19, 1.45, 120), "cg4": (6, 19.3, 1.45, 116),
           "cg5": (4, 19.2, 1.45, 106), "red": (1, 19.7, 1.4, 120)}  # of paper 004, a GTX280: flops an unknown, µ, σ, ν
TABLE_6 = {1: (0.18, 0.108), 2: (0.12, 0.037), 4: (0.07, 0.008), 8: (0.06, 0.004)}  # of paper 004, one GPU: mean error, variance


def cg_text(cases, machine):
    """Table 2 of paper 004: a curve for each vector kernel of CG."""
    lines = ["Table 2: equation 3 fitted to each vector kernel, over the elements it moves (8 bytes here, 4 in the paper, whose GPU is a GTX280):\n",
             "| kernel | transactions | flops | µ | σ | ν, GB/s | mean relative error | paper's µ | σ | ν, GB/s |", "|---|---|---|---|---|---|---|---|---|---|"]
    for name, kernel in cases[0]["kernels"].items():
        points = sorted((case["rows"] * kernel["vectors"], case["kernels"][name]["GBps"]) for case in cases)
        if len(points) > 3:
            mu, sigma, nu, error = sigmoid_fit(points)
            flops, *paper = TABLE_2[name]
            lines.append(f"| {name} | x × {kernel['vectors']} | x × {flops} | {mu:.1f} | {sigma:.2f} | {nu:.0f} | {error:.2f} | "
                         + " | ".join(f"{p:g}" for p in paper) + " |")
    return "\n".join(lines) + "\n" + derived_text(machine)


def derived_text(machine):
    """Equations 4 and 5 for the GPU that was measured."""
    threads = {"sm_90": 2048}.get(next((word.strip() for word in machine.split(",") if "sm_" in word), None))
    counted = re.search(r"(\d+) SMs", machine)
    if not threads or not counted:
        return ""
    mu = math.log2(int(counted[1]) * threads * 8)
    return (f"\nEquation 4 gives µ = {mu:.1f} for {counted[1]} multiprocessors of {threads} threads, equation 5 σ = 1.5. ν is that of the L2: the longest "
            "vectors here fit it.\n")


def model_errors(name):
    """Table 6 of paper 004: how far off the model is of iterations of CG, by block size, from the cases of tuning.py."""
    path = os.path.join(HERE, "..", "results", f"tuning-{name}.json")
    if not os.path.exists(path):
        return ""
    cases = [case for case in load(path)["cases"].values() if case.get("check")]
    lines = ["\nTable 6: the relative error of the library's own model (`bench/results/tuning-%s.json`: generated matrices of other sizes and shapes than "
             "the calibrated ones, and promoted patterns), one GPU:\n" % name,
             "| block size | matrices | CG: average relative error | variance | SpMV: average | variance | paper's CG: average | variance |",
             "|---|---|---|---|---|---|---|---|"]
    for b, paper in TABLE_6.items():
        columns = []
        for key in ("cg", "spmv"):
            errors = [case["check"][key][0] / case["check"][key][1] - 1 for case in cases if case["b"] == b and case["check"].get(key)]
            mean = sum(map(abs, errors)) / max(1, len(errors))
            columns += [len(errors), mean, sum((abs(e) - mean) ** 2 for e in errors) / max(1, len(errors))]
        if columns[0]:
            lines.append(f"| {b} × {b} | {columns[0]} | {columns[1]:.3f} | {columns[2]:.4f} | {columns[4]:.3f} | {columns[5]:.4f} | "
                         f"{paper[0]:g} | {paper[1]:g} |")
    return "\n".join(lines) + "\n"


def section(figure, name, document, files):
    measured = document["figures"][figure.name]
    table = speeds(figure, measured["cases"])
    if not panels_of(figure, table):
        return ""
    slug = re.sub(r"[^a-z0-9]+", "-", f"papers-{figure.name}-{name}".lower())
    unit = {"transactions": "GB/s, 2 transactions an element"}.get(figure.speed, figure.speed)
    files[os.path.join(PLOTS, f"{slug}.svg")] = draw.speeds(figure.title, panels_of(figure, table), figure.across, unit)
    quick = " --quick" if measured["quick"] else ""
    missing = measured["asked"] - len([c for c in measured["cases"] if "numpy" not in c["runs"][0]["name"]]) if not figure.threads else 0
    text = f"### {document['machine']}\n\n`bench/papers/run.py {figure.name} --device {measured['device']}{quick}`, {unit}."
    text += f" {missing} of {measured['asked']} cases found no time." if missing > 0 else ""
    text += f"\n\n![{figure.title}](plots/{slug}.svg)\n\n" + factors_text(figure, table)
    text += ("\n" + sigmoid_text(figure, measured["cases"])) if figure.speed == "transactions" else ""
    text += ("\n" + cg_text(measured["cases"], document["machine"]) + model_errors(name)) if figure.program == "cg" else ""
    return text + f"\n<details><summary>all numbers</summary>\n\n{table_text(figure, table)}\n\n</details>\n"


def page(files):
    documents = {os.path.basename(path)[len("papers-"):-len(".json")]: load(path)
                 for path in sorted(glob.glob(os.path.join(HERE, "..", "results", "papers-*.json")))}
    out = ["# The papers' experiments, run again\n",
           "Written by `bench/papers/page.py` from `bench/results/papers-*.json`. [papers.md](../papers.md) says what is implemented where, which "
           "matrices stand for those of the papers, and what is missing. Every speed is from one run in which all kernels of a case took turns, "
           "each compared with the reference.\n"]
    for figure in all_figures(False).values():
        sections = [section(figure, name, d, files) for name, d in documents.items() if figure.name in d["figures"]]
        out.append(f"## {figure.title}\n\nThe paper: {figure.paper}\n")
        out += [s for s in sections if s] or [f"Not measured yet: `bench/papers/run.py {figure.name} --device {figure.devices[0]}`.\n"]
    return "\n".join(out)


def main():
    files = {}
    files[PAGE] = page(files)
    old = []
    for path, made in files.items():
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != made:
            old.append(os.path.relpath(path, ROOT))
    if old:
        print(f"{', '.join(old)}: not what the results say; run bench/papers/page.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
