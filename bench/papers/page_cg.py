"""What papers.md says of paper 004's model: fitted curves (Tables 2 and 3), Figure 6, Table 6."""
import math
import os
import re

import draw
from figures import TABLE_5
from report_common import load, prose

HERE = os.path.dirname(os.path.abspath(__file__))
L2 = 50e6  # bytes, of an H200


def sigmoid(x, mu, sigma, nu):
    """Equation 3."""
    return nu / (1 + math.exp(-(math.log2(x) - mu) / sigma))


def sigmoid_fit(points):
    """Equation 3 of paper 004 by least squares on a grid: µ, σ, ν and the mean relative error."""
    best = None
    for mu in [14 + 0.1 * i for i in range(100)]:
        for sigma in [0.4 + 0.05 * i for i in range(50)]:
            shape = [sigmoid(x, mu, sigma, 1) for x, _ in points]
            nu = sum(s * y for s, (_, y) in zip(shape, points)) / sum(s * s for s in shape)
            error = sum((nu * s - y) ** 2 for s, (_, y) in zip(shape, points))
            if best is None or error < best[0]:
                best = (error, mu, sigma, nu, sum(abs(nu * s - y) / y for s, (_, y) in zip(shape, points)) / len(points))
    return best[1:]


TABLE_2 = {"cg1": (5, 19.2, 1.45, 94), "cg2": (1, 19, 1.45, 117), "cg3": (1, 19, 1.45, 120), "cg4": (6, 19.3, 1.45, 116),
           "cg5": (4, 19.2, 1.45, 106), "red": (1, 19.7, 1.4, 120)}  # of paper 004, a GTX280: flops an unknown, µ, σ, ν
TABLE_6 = {1: (0.18, 0.108), 2: (0.12, 0.037), 4: (0.07, 0.008), 8: (0.06, 0.004)}  # of paper 004, one GPU: mean error, variance


TABLE_3 = {1: ("19 / 1.2 / 85", "19.1 / 1.35 / 52"),  # of paper 004: µ / σ / ν, maximum and average
           2: ("19.6 / 1.4 / 135", "19.7 / 1.15 / 81"),
           4: ("19.9 / 1.4 / 140", "20.4 / 1.28 / 118"),
           8: ("20.1 / 1.5 / 145", "20.8 / 1.51 / 132")}


def table_3(cases, found):
    """Table 3 of paper 004: a curve a block size. found: (case, GB/s) with the guess, and tuned."""
    lines = ["Table 3: equation 3 fitted to multiple rows. The paper's columns are µ / σ / ν of a "
             "GTX280:\n",
             "| | parameters | µ | σ | ν, GB/s | mean relative error | from x = 2^(µ−3) on | "
             "fastest, GB/s | of the matrix alone | paper's maximum | paper's average |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for n, paper in TABLE_3.items():
        for tuned in (False, True):
            points = [(2 * case["stored"], speed) for case, speed in found[tuned]
                      if case["block"] == n and speed]
            if len(points) <= 3:
                continue
            mu, sigma, nu, error = sigmoid_fit(points)
            later = [abs(sigmoid(x, mu, sigma, nu) - y) / y for x, y in points
                     if math.log2(x) >= mu - 3]
            most = max(y for _, y in points)
            lines.append(f"| N = {n} | {'tuned' if tuned else 'guess'} | {mu:.1f} | {sigma:.2f} | "
                         f"{nu:.0f} | {error:.2f} | {sum(later) / len(later):.2f} | {most:.0f} | "
                         f"{most / 2:.0f} | {' | '.join(('', '') if tuned else paper)} |")
    real = 4  # bytes: the boxes are in single precision, like the paper's
    sizes = ", ".join(f"{1e-6 * real * max(c['stored'] for c in cases if c['block'] == n):.0f}"
                      for n in TABLE_3)
    return "\n".join(lines) + "\n\n" + "\n\n".join(map(prose, (
        """The paper fits two curves a block size: an average, of matrices with rows of many
        lengths, and a maximum, their envelope. In a box all rows but those at its surface have 27
        blocks. So the two curves here are others: of the library's guess of the parameters, and of
        the fastest ones.""",
        f"""As in the paper two transactions are counted an element: its value, and the x that it is
        multiplied with. Most of x comes from the L1 and L2, so that ν may be above the speed of the
        memory, 4600 GB/s. The matrix's values are half of it. The largest matrices have {sizes} MB
        of values for N = 1, 2, 4 and 8; an H200's L2 holds {1e-6 * L2:.0f} MB.""",
        """Products with the smallest boxes take the time of a launch. Least squares in GB/s see
        little of them, and most of the mean error is theirs. The next column leaves them out: by
        equation 4 every thread has a transaction from x = 2^(µ−3) on."""))) + "\n"


def table_2(cases, machine):
    """Table 2 of paper 004: a curve for each vector kernel of CG. µ and ν are left out where all
    vectors are too short to say what they are."""
    lines = ["Table 2: equation 3 fitted to each vector kernel, over the elements it moves (8 bytes here, 4 in the paper, whose GPU is a GTX280):\n",
             "| kernel | transactions | flops | fastest, GB/s | µ | σ | ν, GB/s | mean relative "
             "error | paper's µ | σ | ν, GB/s |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for name, kernel in cases[0]["kernels"].items():
        points = sorted((case["rows"] * kernel["vectors"], case["kernels"][name]["GBps"]) for case in cases)
        if len(points) > 3:
            mu, sigma, nu, error = sigmoid_fit(points)
            flops, *paper = TABLE_2[name]
            most = max(y for _, y in points)
            height = (f"{mu:.1f}", f"{nu:.0f}") if math.log2(points[-1][0]) >= mu else ("–", "–")
            lines.append(f"| {name} | x × {kernel['vectors']} | x × {flops} | {most:.0f} | "
                         f"{height[0]} | {sigma:.2f} | {height[1]} | {error:.2f} | "
                         + " | ".join(f"{p:g}" for p in paper) + " |")
    longest = max(case["rows"] for case in cases)
    memory = 8 * 8 * longest  # bytes of cg1's vectors: it reads r and writes it
    return "\n".join(lines) + "\n\n" + prose(
        f"""The longest vectors have {longest} elements. A dash says that these reach less than half
        of the fitted ν: they determine neither ν nor µ. """ + (f"""cg1 needs most memory, 8 vectors
        or {1e-6 * memory:.0f} MB. An H200's L2 holds {1e-6 * L2:.0f} MB: all vectors stay in it,
        and no curve is of the memory. """ if memory < L2 else "") + """`red` is the first of a
        reduction's two launches; the paper's curve is of both.""") + "\n" + derived_text(machine)


def derived_text(machine):
    """Equations 4 and 5 for the GPU that was measured."""
    threads = {"sm_90": 2048}.get(next((word.strip() for word in machine.split(",") if "sm_" in word), None))
    counted = re.search(r"(\d+) SMs", machine)
    if not threads or not counted:
        return ""
    mu = math.log2(int(counted[1]) * threads * 8)
    return "\n" + prose(f"""Equation 4 gives µ = {mu:.1f} for {counted[1]} multiprocessors of
        {threads} threads. Equation 5 gives σ = 1.5 for every GPU.""") + "\n"


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


def table_6(cases):
    """Table 6 from the estimates of Figure 10."""
    lines = ["\nTable 6, one GPU, of the matrices of Table 5 that are to be had:\n",
             "| block size | matrices | average relative error | variance | average error, µs | "
             "iterations, µs | paper's average | variance |", "|---|---|---|---|---|---|---|---|"]
    for b, paper in TABLE_6.items():
        runs = [{run["name"]: run["seconds"] for run in case["runs"] if run.get("right")} for case in cases if case["block"] == b]
        runs = [r for r in runs if "estimate" in r and "iteration" in r]
        errors = [r["estimate"] / r["iteration"] - 1 for r in runs]
        if errors:
            mean = sum(map(abs, errors)) / len(errors)
            variance = sum((abs(e) - mean) ** 2 for e in errors) / len(errors)
            spans = [1e6 * r["iteration"] for r in runs]
            off = sum(abs(e) * span for e, span in zip(errors, spans)) / len(errors)
            lines.append(f"| {b} × {b} | {len(errors)} | {mean:.3f} | {variance:.4f} | {off:.1f} | "
                         f"{min(spans):.1f} to {max(spans):.1f} | {paper[0]:g} | {paper[1]:g} |")
    ids = dict.fromkeys(int(case["label"].split("\t")[1]) for case in cases)
    ends = sorted({case["end"] for case in cases})
    rows = [case["rows"] for case in cases]
    least = [1e6 * case["iteration"] for case in cases if case["rows"] == min(rows)]
    return "\n".join(lines) + "\n\n" + prose(
        f"""The paper has 67 matrices, with up to 1.6 million rows. The {len(ids)} here have at most
        {max(rows)}. Much of their iterations is launches: with {min(rows)} rows one takes
        {min(least):.1f} to {max(least):.1f} µs. The table in the section above is of larger
        matrices.""") + "\n\n" + prose(f"""Id: {', '.join(f'{i} {TABLE_5[i][0]}' for i in ids)}.
        Solves ended with {', '.join(ends)}.""") + "\n"
