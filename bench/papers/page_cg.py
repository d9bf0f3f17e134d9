"""What papers.md says of paper 004's model: fitted curves, Table 2, Figure 6, Table 6."""
import math
import os
import re

import draw
from report_common import load

HERE = os.path.dirname(os.path.abspath(__file__))


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


TABLE_2 = {"cg1": (5, 19.2, 1.45, 94), "cg2": (1, 19, 1.45, 117), "cg3": (1, 19, 1.45, 120), "cg4": (6, 19.3, 1.45, 116),
           "cg5": (4, 19.2, 1.45, 106), "red": (1, 19.7, 1.4, 120)}  # of paper 004, a GTX280: flops an unknown, µ, σ, ν
TABLE_6 = {1: (0.18, 0.108), 2: (0.12, 0.037), 4: (0.07, 0.008), 8: (0.06, 0.004)}  # of paper 004, one GPU: mean error, variance


def table_2(cases, machine):
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


def kernels_picture(cases):
    """Figure 6: what each vector kernel reaches, over the unknowns."""
    sizes = {case["rows"]: case["kernels"] for case in sorted(cases, key=lambda case: case["rows"])}
    names = list(cases[0]["kernels"])
    panel = {"title": "Vector kernels of CG", "sizes": [f"2^{math.log2(rows):.1f}" for rows in sizes],
             "series": {name: [kernels[name]["GBps"] for kernels in sizes.values()] for name in names}}
    few = max(1, len(sizes) // 6)  # labels that fit below a picture
    panel["sizes"] = [size if i % few == 0 else "" for i, size in enumerate(panel["sizes"])]
    return draw.speeds("Throughput of the vector kernels of CG (paper 004, Figure 6)", [panel], "unknowns", "GB/s")


def table_6(cases, table_5):
    """Table 6 from the estimates of Figure 10."""
    lines = ["\nTable 6, one GPU, of the matrices of Table 5 that are to be had:\n",
             "| block size | matrices | average relative error | variance | paper's average | variance |", "|---|---|---|---|---|---|"]
    for b, paper in TABLE_6.items():
        runs = [{run["name"]: run["seconds"] for run in case["runs"] if run.get("right")} for case in cases if case["block"] == b]
        errors = [r["estimate"] / r["iteration"] - 1 for r in runs if "estimate" in r and "iteration" in r]
        if errors:
            mean = sum(map(abs, errors)) / len(errors)
            variance = sum((abs(e) - mean) ** 2 for e in errors) / len(errors)
            lines.append(f"| {b} × {b} | {len(errors)} | {mean:.3f} | {variance:.4f} | {paper[0]:g} | {paper[1]:g} |")
    ids = dict.fromkeys(int(case["label"].split("\t")[1]) for case in cases)
    ends = sorted({case["end"] for case in cases})
    return "\n".join(lines) + "\n\nId: " + ", ".join(f"{i} {table_5[i][0]}" for i in ids) + f". Solves ended with {', '.join(ends)}.\n"
