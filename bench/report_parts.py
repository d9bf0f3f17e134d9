#!/usr/bin/env python3
"""Writes docs/performance/parts.md and its picture from bench/results/parts-*.json."""
import glob
import os
import statistics
import sys

import draw
from report_common import load, table, write_or_check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "performance", "parts.md")
PLOT = os.path.join(ROOT, "docs", "performance", "plots", "parts.svg")
GOALS = {2: 1.10, 4: 1.20}  # goals: an iteration on this many parts of one GPU, to one part
# Paper 004, Table 6: mean relative error and variance by (block size, GPUs), measured on one and two GTX280.
PAPER = {(1, 1): (0.18, 0.108), (2, 1): (0.12, 0.037), (4, 1): (0.07, 0.008), (8, 1): (0.06, 0.004),
         (1, 2): (0.16, 0.042), (2, 2): (0.14, 0.023), (4, 2): (0.11, 0.012), (8, 2): (0.07, 0.006)}
WAYS = {"threads": "threads", "parts": "parts", "ranks": "ranks", "petsc": "PETSc"}

INTRO = """# Several parts of one machine

This page is written by `./run bench-parts` from `bench/results/parts-*.json`; do not edit it.
[parts.md](../parts.md) says what parts are.
"""


def median(way):
    return statistics.median(way["seconds"])


def ratio(value, goal):
    return f"{value:.2f}" if value is None or value >= goal else f"**{value:.2f}**"


# ---- Parts of one GPU ----

def gpu_section(log):
    rows = []
    for r in log["runs"]:
        parts = r["device"].count(",") + 1
        several = parts > 1
        rows.append([f"`{r['input']}`", f"`{r['device']}`", f"{r['spmv']:.1f}", f"{r['spmv_ratio']:.2f}" if several else "",
                     f"{r['iteration']:.1f}", f"{r['iteration_ratio']:.2f}" if several else "",
                     f"{GOALS[parts]:.2f}" if parts in GOALS and r["rows"] > 1e6 else "", str(r["iterations"])])
    return (f"\n## Parts of one GPU: {log['device']}\n\n"
            "Products, and CG without a preconditioner, f64. `cuda:0,0` are two parts on the same device, `cuda:0,0,0,0` four. The devices\n"
            f"take turns in {log['rounds']} rounds of one run of `tessera_bench_parts`; medians, in µs. Vectors are in the parts' memory. Every product was\n"
            f"compared with the reference backend's. Revision {log['revision']}.\n\n"
            + table(["matrix", "device", "a product", "to one part", "an iteration", "to one part", "goal, at most", "iterations"], rows) +
            "\nIterations of all parts are one CUDA graph. At 12 288 unknowns launches, and parts that wait for each other, take all of the\n"
            "time. A product outside a solver is no graph: the host makes its launches.\n")


# ---- Ranks, threads and PETSc ----

def contest_row(c, work):
    ways = {name: median(way) for name, way in work["ways"].items()}
    solve = not work["work"].startswith("spmv")
    counts = [str(work["ways"][w]["iterations"]) for w in WAYS if w in ways] if solve else []
    goal = 1.5 if work["work"].startswith("cg") else 1.0
    cells = [f"`{c['input']}`", f"{c['bytes'] / 1e6:.0f}", "SpMV" if not solve else f"`{work['work'].split(',')[0]}`",
             *(f"{1e3 * ways[w]:.3g}" if w in ways else "" for w in WAYS), "/".join(counts),
             ratio(ways["threads"] / ways["ranks"], 0.95), ratio(ways["threads"] / ways["parts"], 0.95),
             ratio(ways["petsc"] / ways["ranks"], goal) if solve else f"{ways['petsc'] / ways['ranks']:.2f}"]
    return cells


def cpu_section(log):
    n = log["ranks"]
    rows = [contest_row(c, work) for c in log["contests"] for work in c["works"]]
    setup = []
    for c in log["contests"]:
        for work in c["works"]:
            if "setup_seconds" in work["ways"]["ranks"]:
                times = {w: statistics.median(way["setup_seconds"]) for w, way in work["ways"].items() if "setup_seconds" in way}
                setup.append(f"`{c['input']}` {1e3 * times['ranks']:.3g} ms by ranks, {1e3 * times.get('petsc', 0):.3g} by PETSc")
    return (f"\n## Ranks, threads and PETSc: {log['processor']}, {n} cores\n\n"
            f"Revision {log['revision']}, {log['date']}; load of the machine at the start {log['load']:.1f}. f64; medians of {log['rounds']} rounds, of solves {(log['rounds'] + 1) // 2}, in\n"
            f"which the ways take turns in one MPI program. **threads**: one process, `cpu:{n}`. **parts**: one process, `cpu:1{',1' * (n - 1)}`.\n"
            f"**ranks**: {n} MPI ranks of one thread. **PETSc** {log['contests'][0]['petsc']}: MPIBAIJ on the same ranks and rows. Products are in ms;\n"
            "solves from 0 to |b − Ax| ≤ 1e-8 |b| too, without set-up. Every y is compared with the reference backend's, and every x's residual\n"
            "is computed again.\n\n"
            + table(["matrix", "MB", "work", *(f"{t}, ms" for t in WAYS.values()), "iterations", "threads / ranks", "threads / parts",
                     "PETSc / ranks"], rows) +
            "\nGoals: ranks and parts at least 0.95 times as fast as threads; CG with block-Jacobi at least 1.5 times as fast as PETSc's;\n"
            "BiCGSTAB with ILU(0) not slower. Ratios below their goal are bold. ILU(0) acts on each rank's own rows, for ranks, parts and PETSc.\n"
            "Set-up of the preconditioner: " + "; ".join(setup) + ".\n")


# ---- The model ----

def paper_cells(block, devices):
    return [f"{PAPER[block, devices][0]:.2f}", f"{PAPER[block, devices][1]:.3f}"] if (block, devices) in PAPER else ["", ""]


def model_rows(log):
    """(case, block, way, devices, predicted, measured) of one device, of parts of a process and of MPI ranks."""
    found = []
    for c in log.get("model", []):
        predicted = {p["devices"]: p["iteration"] for p in c["predicted"]}
        if "works" in c:
            ways = {name: median(way) for name, way in c["works"][0]["ways"].items() if way["seconds"]}
            parts = c["ranks"]
            names = {"threads": f"`cpu:{parts}`", "parts": f"`cpu:1{',1' * (parts - 1)}`", "ranks": f"{parts} MPI ranks"}
            for way, devices in (("threads", 1), ("parts", parts), ("ranks", parts)):
                if ways.get(way, 0) > 0 and devices in predicted:
                    found.append((c["input"], c["block"], names[way], devices, predicted[devices], ways[way]))
        else:
            for way, devices, measured in (("`cuda:0`", 1, c["measured"][0]), ("`cuda:0,0`", 2, c["measured"][1])):
                if measured and measured > 0 and devices in predicted:
                    found.append((c["input"], c["block"], way, devices, predicted[devices], measured))
    return found


def error_cells(errors):
    return [f"{statistics.mean(errors):.2f}", f"{statistics.pvariance(errors):.3f}"] if errors else ["", ""]


def model_section(log, title):
    found = model_rows(log)
    if not found:
        return ""
    one = {c: (p, m) for c, _, _, devices, p, m in found if devices == 1}
    ways = list(dict.fromkeys(f[2] for f in found))
    by_block, by_matrix = [], []
    for way in ways:
        for b in sorted({f[1] for f in found}):
            errors = [abs(p / m - 1) for _, block, w, _, p, m in found if w == way and block == b]
            devices = next(f[3] for f in found if f[2] == way)
            given = [abs(p / m * one[c][1] / one[c][0] - 1) for c, block, w, n, p, m in found if w == way and block == b and n > 1 and c in one]
            if errors:
                by_block.append([f"{b} × {b}", str(devices), way, str(len(errors)), *error_cells(errors), *error_cells(given), *paper_cells(b, devices)])
    for case in dict.fromkeys(f[0] for f in found):
        cells = [f"`{case}`"]
        for way in ways:
            times = [(p, m) for c, _, w, _, p, m in found if c == case and w == way]
            cells += [f"{1e6 * p:.0f}|{1e6 * m:.0f}|{100 * (p / m - 1):+.0f} %" for p, m in times][0].split("|") if times else ["", "", ""]
        by_matrix.append(cells)
    stand_in = any(c.get("stand_in") for c in log["model"])
    return (f"\n## The model for two parts: {title}\n\n"
            "`tessera predict --devices 2 --shared` beside the measured iteration of CG with a diagonal preconditioner, in the form of paper 004's\n"
            f"Table 6. The model is of {log['model'][0]['model']}{', a stand-in that was measured elsewhere' if stand_in else ''}. Parts of one machine share its memory: together they\n"
            "compute as fast as one device, and the halo and the sums come on top. The relative error is |predicted / measured − 1|. **Given one**: the error\n"
            "of the prediction scaled by measured / predicted of one device, which leaves the error of the parts alone. **Paper**: the\n"
            "errors of the authors' model, on one and two GTX280 and other matrices.\n\n"
            + table(["block size", "devices", "way", "matrices", "mean rel. error", "variance", "given one: error", "variance", "paper: error", "variance"], by_block) + "\nBy matrix, in µs per iteration:\n\n"
            + table(["matrix", *(f"{way}: {word}" for way in ways for word in ("predicted", "measured", "error"))], by_matrix))


# ---- Scaling ----

def scaling_section(log):
    text, panels = "", []
    for title, s in log.get("scaling", {}).items():
        rows = [[str(a["devices"]), f"{1e6 * a['cg_seconds']:.1f}", f"{a['speedup']:.1f}", f"{1e6 * a['halo_seconds']:.1f}",
                 f"{1e6 * a['sum_seconds']:.1f}", f"{1e6 * a['direct_seconds']:.0f}" if a["devices"] > 1 else "",
                 f"{1e6 * a['through_host_seconds']:.0f}" if a["devices"] > 1 else "", f"{1e6 * w['cg_seconds']:.1f}", f"{w['speedup']:.2f}"]
                for a, w in zip(s["strong"], s["weak"])]
        text += (f"\n## Predicted: up to 1 024 devices, {title}\n\nNothing here was measured on several devices. `tessera predict {s['input']} --device profile:h200 "
                 f"--devices 1024\n--link {s['link']} --latency {s['latency']}`: an iteration of CG in µs, the matrix in contiguous parts with their real halos, "
                 f"{s['link']} GB/s between two devices and\n{s['latency']} µs per message. Density d_N of eq. 10 (paper 004): {s['density']:.2f}. In eq. 11 all of p goes to every device in place of "
                 "the halo: its scalars once\nif sent directly between devices, once per device by way of the host. Weak scaling: a matrix of this size on every device.\n\n"
                 "![Predicted speed-up and efficiency](plots/parts.svg)\n\n"
                 + table(["devices", "strong", "speed-up", "halo", "sums", "eq. 11, direct", "eq. 11, by the host", "weak", "efficiency"], rows))
        sizes = [a["devices"] for a in s["strong"]]
        panels += [{"title": "predicted: speed-up, strong", "sizes": sizes, "series": {title: [a["speedup"] for a in s["strong"]]}},
                   {"title": "predicted: efficiency, %, weak", "sizes": sizes, "series": {title: [100 * w["speedup"] for w in s["weak"]]}}]
    return text, draw.speeds("Predicted scaling of CG", panels, "devices", "over one device; %") if panels else None


def pages():
    logs = [load(path) for path in sorted(glob.glob(os.path.join(ROOT, "bench", "results", "parts-*.json")))]
    text, made, scaling = INTRO, {}, ("", None)
    for log in logs:
        text += gpu_section(log) if "runs" in log else cpu_section(log)
    for log in logs:
        text += model_section(log, log.get("processor") or log["device"])
        if "scaling" in log:
            scaling = scaling_section(log)
    text += scaling[0]
    made[PAGE] = text
    if scaling[1]:
        made[PLOT] = scaling[1]
    return made


def write():
    return write_or_check(ROOT, pages())


if __name__ == "__main__":
    sys.exit(write())
