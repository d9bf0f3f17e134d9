#!/usr/bin/env python3
"""Solves every square real matrix of a collection with `tessera solve FILE`, no options, with and without SuiteSparse.

    bench/solve/auto.py MATRICES [--bin build/bin] [--threads 2] [--solvable solvable.csv] [--only NAME ...]

writes docs/performance/solvers-auto.md. MATRICES is a directory of NAME.mtx.gz; b is A times ones. What the command
calls solved is checked: x is read back and |b - Ax| / |b| computed here. solvable.csv (matrix, direct, gmres_ilutp) adds the
residuals of SuperLU and of SciPy's GMRES + ILUTP. Standard library only."""
import argparse
import csv
import gzip
import json
import math
import os
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "performance", "solvers-auto.md")
INTRO = """# Solvers: `tessera solve FILE` over a collection

This page is written by `bench/solve/auto.py`; do not edit it.

{count} square real matrices, no options, {threads} threads, b = A·1, |b − Ax| ≤ 1e-8 |b| with x read back from the file that was
written and the residual computed by plain loops. "tried" counts the rungs ([solving](../solving.md)), seconds are those of the solve
without reading the file. The last columns are the residuals of SciPy's SuperLU and GMRES(50) + ILUTP.

| | solved | said to be solved but not | median seconds | longest seconds |
|---|---|---|---|---|
"""


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")


def read_entries(path):
    """Rows, and (row, column, value) of a Matrix Market file; patterns count as ones."""
    with open_text(path) as file:
        header = file.readline().lower().split()
        sign = {"symmetric": 1, "skew-symmetric": -1}.get(header[4])
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        rows = int(line.split()[0])
        entries = []
        for line in file:
            word = line.split()
            if word:
                i, j, value = int(word[0]) - 1, int(word[1]) - 1, float(word[2]) if len(word) > 2 else 1.0
                entries.append((i, j, value))
                if sign and i != j:
                    entries.append((j, i, sign * value))
    return rows, entries


def true_residual(path, solution):
    """|b - Ax| / |b| by plain loops, b = A times ones."""
    rows, entries = read_entries(path)
    with open_text(solution) as file:
        x = [float(line) for line in file if not line.startswith("%") and len(line.split()) == 1]
    b, r = [0.0] * rows, [0.0] * rows
    for i, j, value in entries:
        b[i] += value
        r[i] += value * (1 - x[j])
    norm = math.sqrt(math.fsum(v * v for v in b))
    return math.sqrt(math.fsum(v * v for v in r)) / norm if norm > 0 else max(map(abs, x))


def solve(options, path, suitesparse):
    """None: not a square real matrix."""
    with tempfile.TemporaryDirectory() as folder:
        solution = os.path.join(folder, "x.mtx")
        environment = dict(os.environ, TESSERA_WISDOM="off", **({} if suitesparse else {"TESSERA_SUITESPARSE": "off"}))
        command = [os.path.join(options.bin, "tessera"), "solve", path, "--threads", str(options.threads), "--json", "--out", solution]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not done.stdout:
            if "square" in done.stderr or "complex" in done.stderr:
                return None
            return {"solved": False, "reason": done.stderr.strip(), "rows": 0, "seconds": 0, "tried": 0, "true": float("nan")}
        result = json.loads(done.stdout)
        return {"solved": result["solved"], "reason": result["reason"], "rows": result["rows"], "solver": result["solver"],
                "seconds": result["seconds"] + result["setup_seconds"], "tried": len(result.get("tried", [1])),
                "true": true_residual(path, solution) if os.path.exists(solution) else float("nan")}


def told(result):
    if result["solved"]:
        return f"`{result['solver']}`"
    return f"{result['reason']}, {result['true']:.0e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrices")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--solvable")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    others = {}
    if options.solvable:
        with open(options.solvable, encoding="utf-8") as file:
            others = {row["matrix"]: row for row in csv.DictReader(file)}
    names = sorted(name[:-len(".mtx.gz")] for name in os.listdir(options.matrices) if name.endswith(".mtx.gz"))
    results = {}
    for name in names:
        if options.only and name not in options.only:
            continue
        path = os.path.join(options.matrices, name + ".mtx.gz")
        pair = [solve(options, path, suitesparse) for suitesparse in (False, True)]
        if None not in pair:
            results[name] = pair
            print(name, *("%s %.1e %.2f s" % (told(r), r["true"], r["seconds"]) for r in pair), sep=" | ", flush=True)
    text = INTRO.format(count=len(results), threads=options.threads)
    for i, title in enumerate(["without SuiteSparse", "with SuiteSparse"]):
        all_of = [pair[i] for pair in results.values()]
        false = sum(r["solved"] and not r["true"] <= 1.0000001e-8 for r in all_of)
        text += (f"| {title} | {sum(r['solved'] for r in all_of)} of {len(all_of)} | {false} | "
                 f"{statistics.median(r['seconds'] for r in all_of):.3f} | {max(r['seconds'] for r in all_of):.1f} |\n")
    text += ("\n| matrix | rows | without: tried | solved by | s | with: tried | solved by | s | SuperLU | GMRES + ILUTP |\n"
             "|---|---|---|---|---|---|---|---|---|---|\n")
    for name, (off, on) in results.items():
        row = others.get(name, {})
        text += (f"| {name} | {on['rows']} | {off['tried']} | {told(off)} | {off['seconds']:.2f} | {on['tried']} | {told(on)} | "
                 f"{on['seconds']:.2f} | {row.get('direct', '')} | {row.get('gmres_ilutp', '')} |\n")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    print(os.path.relpath(PAGE, ROOT))


if __name__ == "__main__":
    main()
