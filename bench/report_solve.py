#!/usr/bin/env python3
"""Writes docs/performance/solvers.md (CPUs, GPUs), its pictures and solvers-definite.md from bench/results/solve-*.json.
With --check nothing is written: the exit status is 1 if a page differs from what the results give.

Standard library only. The pages hold nothing that is not in the JSON files.
"""
import glob
import os
import sys

import draw
from report_common import load, table, write_or_check

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = os.path.join(ROOT, "docs", "performance")
RESULTS = os.path.join(ROOT, "bench", "results")

INTRO = """# Solvers

This page is written by `./run bench-solve` from `bench/results/solve-*.json`; do not edit it.

Time to a relative residual of 1e-8 from x = 0. The set-up of the preconditioner is given by itself and counts in the
ratio. Every program takes its turn in every round and sets up and solves twice in it. Medians are shown.

* **true** is |b − Ax| / |b| recomputed from x.
* **× ideal** is the time of an iteration over its ideal: its products, measured alone in the same run, plus the vectors
  and the preconditioner moved once at the read ceiling.
* **ratio** is the other library's time over ours, set-up and solve together.

bjacobi is the inverted diagonal blocks. ilu0 is block ILU(0), one a thread (Tessera) or a rank (PETSc). AMGCL and
DUNE-ISTL factor the whole matrix and therefore need fewer iterations. gmres restarts after 30. All use blocks (BAIJ,
static_matrix, FieldMatrix, bsr_array) but GAMG and hypre, which take AIJ. Multigrid on elasticity has rigid motions here,
in GAMG and in PyAMG; AMGCL's block form and hypre take none. AMGCL smooths with SPAI(0) or ILU(0). DUNE-ISTL and SciPy have no threads. SciPy has no ILU(0).
"""

TITLES = {"elasticity": "Elasticity, 3 × 3 blocks", "cdr": "Convection, diffusion, reaction, 4 × 4 blocks",
          "multigrid": "Elasticity by multigrid", "poisson": "Diffusion, scalars"}
NAMES = {"cg": "CG", "bicgstab": "BiCGSTAB", "gmres": "GMRES(30)", "bjacobi": "block-Jacobi", "ilu0": "block ILU(0)",
         "amg": "multigrid"}


def milliseconds(seconds):
    value = 1e3 * seconds
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def total(result):
    return result["setup_seconds"] + result["solve_seconds"]


def per_iteration(result):
    return result["solve_seconds"] / max(result["iterations"], 1)


def times_ideal(result):
    return f"{per_iteration(result) / result['ideal_seconds']:.2f}" if result.get("ideal_seconds") else ""


def solver_table(cases):
    """All programs on all sizes of one family with one solver."""
    rows = []
    for case in sorted(cases, key=lambda c: c["rows"]):
        ours = next(r for r in case["results"] if not r["peer"])
        for result in [ours] + sorted((r for r in case["results"] if r["peer"]), key=total):
            rows.append([f"{case['rows']:,}".replace(",", " "), result["peer"] or "**Tessera**", str(result["threads"]),
                         str(result["iterations"]), milliseconds(result["setup_seconds"]),
                         milliseconds(result["solve_seconds"]), milliseconds(per_iteration(result)), times_ideal(result),
                         f"{total(result) / total(ours):.2f}", f"{result['true_residual']:.1e}"])
    head = ["unknowns", "", "threads", "iterations", "set-up ms", "solve ms", "ms an iteration", "× ideal", "ratio", "true"]
    return table(head, rows)


def more_table(case):
    rows = [[f"`{r['spec']}`", str(r["iterations"]), milliseconds(r["setup_seconds"]), milliseconds(r["solve_seconds"]),
             milliseconds(per_iteration(r)), "" if "inner" in r["spec"] else times_ideal(r), f"{r['true_residual']:.1e}"]
            for r in case["results"]]
    return table(["solver", "iterations", "set-up ms", "solve ms", "ms an iteration", "× ideal", "true"], rows)


def facts(document):
    machine = document["machine"]
    versions = sorted({(r["peer"], r["version"]) for c in document["cases"] for r in c["results"] if r["peer"]})
    ceilings = [c["read_GBps"] for c in document["cases"] if c["matrix_bytes"] > 64e6]
    rows = [["processor", f"{machine['processor']}, {machine['processors']} cores"],
            ["Tessera", f"{machine['tessera']}, {machine['device']}"],
            ["system", machine["system"]], ["compiler", machine["compiler"]], ["date", machine["date"]],
            ["command", "`./run bench-solve`"]]
    if ceilings:
        rows.append(["read ceiling", f"{min(ceilings):.1f}–{max(ceilings):.1f} GB/s (matrices beyond 64 MB)"])
    rows.append(["others", ", ".join(f"{name} {version}" for name, version in versions) or "none"])
    return table(["", ""], rows)


def by_family(document):
    """{family: {solver: [case]}}"""
    families = {}
    for case in document["cases"]:
        family, _, what = case["name"].split(":", 2)
        families.setdefault(family, {}).setdefault(what, []).append(case)
    return families


def picture(name, document):
    """Unknowns over the time of set-up and solve, one panel per family and solver."""
    panels = []
    for family, solvers in by_family(document).items():
        for what, cases in solvers.items():
            if what == "more":
                continue
            cases = sorted(cases, key=lambda c: c["rows"])
            names = [""] + sorted({r["peer"] for c in cases for r in c["results"] if r["peer"]})
            series = {}
            for peer in names:
                found = [next((r for r in c["results"] if r["peer"] == peer), None) for c in cases]
                series[peer or "Tessera"] = [1e-6 * c["rows"] / total(r) if r else None for c, r in zip(cases, found)]
            method, pc = what.split(":")
            panels.append({"title": f"{family}: {NAMES[method]}, {NAMES[pc]}", "series": series,
                           "sizes": [f"{c['rows']:,}".replace(",", " ") for c in cases]})
    return draw.speeds(f"Solves on {name}, by size", panels, "unknowns", "million unknowns a second, set-up and solve")


def cpu_section(name, document):
    text = f"\n## {name}\n\n{facts(document)}"
    text += f"\n![Unknowns a second of Tessera and of other libraries on {name}](plots/solve-{name}.svg)\n"
    families = by_family(document)
    for family, solvers in families.items():
        for what, cases in sorted(solvers.items(), key=lambda item: item[0] == "more"):
            for case in sorted(cases, key=lambda c: c["rows"]) if what == "more" else []:
                text += (f"\n### {TITLES[family]}: more of ours, `{case['input']}`\n\nSpMV {milliseconds(case['spmv_seconds'])} ms "
                         f"({1e-9 * case['matrix_bytes'] / case['spmv_seconds']:.1f} GB/s), read ceiling "
                         f"{case['read_GBps']:.1f} GB/s.\n\n{more_table(case)}")
            if what == "more":
                continue
            method, pc = what.split(":")
            text += f"\n### {TITLES[family]}: {NAMES[method]}, {NAMES[pc]}\n\n{solver_table(cases)}"
    return text + remarks(document)


def remarks(document):
    return "".join(f"\n{remark}\n" for remark in document.get("remarks", []))


CUDA_INTRO = """
CG, 27-point stencil, f64, microseconds an iteration. The other side is CG with the same Jacobi preconditioner as a
user writes it with cuSPARSE and cuBLAS, scalars in device memory. It runs call by call with r.z read back in every
iteration ("plain"), and as a CUDA graph of ten iterations ("graph"). Its product is legacy bsrmv on column-major blocks,
or the fastest of cuSPARSE's block products.

All take turns in four rounds. A time is that of the iterations between the fastest run of 510 (from 500 000 unknowns on
210) iterations and the fastest of 10. |b − Ax| after ten iterations is verified against the CPU. "ideal" is the matrix
once and 13 vectors at the read ceiling, for block-Jacobi too, which reads its blocks besides. "ratio" is the graph with
bsrmv, and the fastest of all graphs, over ours with Jacobi.
"""


def cuda_section(name, document):
    rows = []
    for case in sorted(document["cases"], key=lambda c: (c["block"], c["unknowns"])):
        legacy, best = case["peers"][0], min(case["peers"], key=lambda p: p["graph_us"])
        ours, block = case.get("ours_jacobi_us"), case.get("ours_bjacobi_us")
        rows.append([str(case["block"]), f"{case['unknowns']:,}".replace(",", " "), f"{1e-6 * case['matrix_bytes']:.0f}",
                     f"{case['ideal_us']:.1f}", f"{ours:.1f}" if ours else "–", f"{ours / case['ideal_us']:.2f}" if ours else "–",
                     f"{block:.1f}" if block else "–", f"{block / case['ideal_us']:.2f}" if block else "–", f"{legacy['plain_us']:.1f}", f"{legacy['graph_us']:.1f}",
                     f"{best['graph_us']:.1f} ({best['name'].replace('cusparse_', '')})",
                     f"{legacy['graph_us'] / ours:.2f}, {best['graph_us'] / ours:.2f}" if ours else "–"])
    head = ["b", "unknowns", "MB", "ideal", "Jacobi", "× ideal", "block-Jacobi", "× ideal", "bsrmv plain", "bsrmv graph",
            "fastest graph", "ratio"]
    first = document["cases"][0]
    return (f"\n## {name}\n{CUDA_INTRO}\n{first['device']}; read ceiling {first['read_GBps']:.0f} GB/s; "
            f"{document['machine']['date']}; `bench/solve/suite.py --cuda --name {name}`.\n\n{table(head, rows)}{remarks(document)}")


COLLECTION_INTRO = """# Solvers: symmetric positive definite matrices

This page is written by `bench/report_solve.py` from `bench/results/solve-collection-*.json`; do not edit it.

Every method with every preconditioner on every symmetric positive definite matrix of the collection with fewer than 20 000
rows. Each solves to 1e-8 with b = A·1, in at most 20 000 iterations, with `domains=1`. gmres and fgmres restart after 30.
Blocks are as `--block auto` chooses, or 1 × 1 where these are not square and have to be. With blocks of 1, bjacobi is
jacobi. The tables show the iterations, or why there was no solution and the true residual that was left.

* IC(0), and ILU(0) in methods for symmetric A, are made with a heavier diagonal where a pivot would not be positive: see
  [preconditioners.md](preconditioners.md). ILU(0) in the other methods is not, and may be a bad one.
* "indefinite": cg_single with ILU(0). Its p.Ap is a recurrence and turns negative by rounding where cg goes on.
* "stagnates": the residual has not become smaller for long (60 iterations of gmres; as many as rows, at least 1 000, of the
  others), or rounding allows no better. A restarted gmres forgets the directions that an ill-conditioned matrix needs; a
  larger `restart=` helps.
* "limit": 20 000 iterations; "too slow": {seconds} s. The system is too ill-conditioned for that method and preconditioner.
* "breakdown", "diverges": bicg and bicgstab, whose residuals are not bounded by anything.

Generated problems are shown beside (`tessera solve`, at most 5 000 iterations, their own right-hand side, a domain a
thread). Elasticity is symmetric positive definite. Convection–diffusion–reaction (cdr) is not symmetric, which cg,
cg_single and ic0 are not made for.
"""


SCHEDULES = """Triangular factors are solved by colours, in another order of the rows: their iterations differ from the CPU's.
"""


def collection_summary(document):
    pcs = document["pcs"]
    rows = []
    for method, matrices in document["methods"].items():
        counts = [sum(m["results"][pc].isdigit() for m in matrices) for pc in pcs]
        solved = sum(any(m["results"][pc].isdigit() for pc in pcs) for m in matrices)
        rows.append([method, str(len(matrices))] + [str(count) for count in counts] + [str(solved)])
    return table(["solved by", "of"] + pcs + ["any of them"], rows)


def generated_tables(document):
    """The generated problems by device, the methods' names on the left."""
    text = ""
    for device, inputs in document.get("generated", {}).items():
        for given, methods in inputs.items():
            rows = [[method] + [results[pc] for pc in document["pcs"]] for method, results in methods.items()]
            text += f"\n`{given}`, `--device {device}`:\n\n{table(['method'] + document['pcs'], rows)}"
    return text


def collection_page(documents):
    """One summary per machine, then the generated problems, then one table per method."""
    text = COLLECTION_INTRO.format(seconds=", ".join(f"{d['seconds']} ({name})" for name, d in sorted(documents.items())))
    for name, document in sorted(documents.items()):
        text += f"\n## {name}, `--device {document['device']}`\n\n{SCHEDULES if document['device'] == 'cuda' else ''}\n"
        text += collection_summary(document) + generated_tables(document)
        for method, matrices in document["methods"].items():
            rows = [[m["name"], str(m["rows"]), str(m["block"])] + [m["results"][pc] for pc in document["pcs"]] for m in matrices]
            text += f"\n### {name}: {method}\n\n{table(['matrix', 'rows', 'b'] + document['pcs'], rows)}"
    return text


def pages():
    """{path: text} of all files to write."""
    text, made = INTRO, {}
    documents = {os.path.basename(path)[len("solve-"):-len(".json")]: load(path)
                 for path in sorted(glob.glob(os.path.join(RESULTS, "solve-*.json")))}
    collections = {name[len("collection-"):]: document for name, document in documents.items() if name.startswith("collection-")}
    documents = {name: document for name, document in documents.items() if document.get("cases")}  # others: not ours
    for name, document in sorted(documents.items(), key=lambda item: "name" not in item[1]["cases"][0]):  # CPUs first
        if "name" in document["cases"][0]:
            text += cpu_section(name, document)
            made[os.path.join(PAGES, "plots", f"solve-{name}.svg")] = picture(name, document)
        else:
            text += cuda_section(name, document)
    made[os.path.join(PAGES, "solvers.md")] = text
    if collections:
        made[os.path.join(PAGES, "solvers-definite.md")] = collection_page(collections)
    return made


if __name__ == "__main__":
    sys.exit(write_or_check(ROOT, pages()))
