#!/usr/bin/env python3
"""Solves every symmetric positive definite matrix of a collection with cg and each preconditioner.

    bench/solve/collection.py TESSERA MATRICES && bench/report_solve.py

writes bench/results/solve-collection.json, from which the page has its table. MATRICES is a directory with index.csv (file, ..., rows, ..., spd) and FILE.mtx.gz. Blocks are those
that `--block auto` finds, 1 x 1 where these are not square and have to be; b = A*1; domains=1. Iterations, or why there is no solution."""
import csv
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCS = ["none", "jacobi", "bjacobi", "ssor", "ilu0", "ic0"]
SHORT = {"ITERATION_LIMIT": "limit", "STAGNATED": "stagnates", "INDEFINITE": "indefinite",
         "BREAKDOWN": "breakdown", "NOT_FINITE": "not finite", "DIVERGED": "diverges"}


def solve(tessera, path, pc, block="auto"):
    line = [tessera, "solve", path, "--block", block, "--device", "cpu:1", "--method", "cg", "--pc", pc,
            "--options", "domains=1", "--max-iterations", "20000", "--json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return None, "20 s"
    if "needs square blocks" in done.stderr:
        return solve(tessera, path, pc, "1")
    if done.returncode == 2:
        return None, "no pivot" if "pivot" in done.stderr else done.stderr.strip()
    result = json.loads(done.stdout)
    if result["solved"]:
        return result, str(result["iterations"])
    return result, "%s %.0e" % (SHORT.get(result["reason"], result["reason"]), result["true_residual"] or 0)


def main():
    tessera, folder = sys.argv[1:3]
    with open(os.path.join(folder, "index.csv")) as file:
        rows = [row for row in csv.DictReader(file)
                if row["spd"] in ("SPD", "1", "True") and int(row["rows"]) < 20000]
    matrices = []
    for row in rows:
        path = os.path.join(folder, row["file"] + ".mtx.gz")
        results = {pc: solve(tessera, path, pc) for pc in PCS}
        block = next(results[pc][0]["block"] for pc in reversed(PCS) if results[pc][0])
        matrices.append({"name": row["file"], "rows": int(row["rows"]), "block": block,
                         "results": {pc: text for pc, (_, text) in results.items()}})
        print(row["file"], *(text for _, text in results.values()), sep=", ", flush=True)
    with open(os.path.join(ROOT, "bench", "results", "solve-collection.json"), "w", encoding="utf-8") as file:
        json.dump({"pcs": PCS, "matrices": matrices}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
