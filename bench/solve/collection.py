#!/usr/bin/env python3
"""Solves every symmetric positive definite matrix of a collection: cg with each preconditioner, and on some of the
matrices every other method too.

    bench/solve/collection.py TESSERA MATRICES && bench/report_solve.py
    bench/solve/collection.py TESSERA MATRICES --device cuda --name h200 --jobs 8

writes bench/results/solve-collection[-NAME].json, from which the page has its tables. MATRICES is a directory with index.csv
(file, ..., rows, ..., spd) and FILE.mtx.gz. Blocks are those that `--block auto` finds, 1 x 1 where these are not square and
have to be; b = A*1; domains=1. Iterations, or why there is no solution."""
import argparse
import concurrent.futures
import csv
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCS = ["none", "jacobi", "bjacobi", "ssor", "ilu0", "ic0"]
METHODS = ["cg_single", "bicg", "bicgstab", "gmres", "fgmres"]
# Solved by every method: small and larger ones, blocks of 1, 2 and 3, easy and hard.
OTHERS = ["nasa2146", "bcsstk16", "gr_30_30", "hypre_beam_hex_dof459", "teko_lsc_F_2", "muelu_wathenSmall", "pyamg_ldg", "bcsstm07",
          "nos3", "mhd3200b", "494_bus"]
SHORT = {"ITERATION_LIMIT": "limit", "STAGNATED": "stagnates", "INDEFINITE": "indefinite",
         "BREAKDOWN": "breakdown", "NOT_FINITE": "not finite", "DIVERGED": "diverges"}


def solve(options, path, method, pc, block="auto"):
    line = [options.tessera, "solve", path, "--block", block, "--device", options.device, "--method", method, "--pc", pc,
            "--options", "domains=1", "--max-iterations", "20000", "--json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return None, "%d s" % options.seconds
    if "needs square blocks" in done.stderr:
        return solve(options, path, method, pc, "1")
    if done.returncode not in (0, 1):
        return None, "no pivot" if "pivot" in done.stderr else done.stderr.strip()[:80] or "exit %d" % done.returncode
    result = json.loads(done.stdout)
    if result["solved"]:
        return result, str(result["iterations"])
    return result, "%s %.0e" % (SHORT.get(result["reason"], result["reason"]), result["true_residual"] or 0)


def solve_all(options, rows, method):
    """Matrices with the results of all preconditioners, several solves at a time."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        paths = [os.path.join(options.matrices, row["file"] + ".mtx.gz") for row in rows]
        futures = [{pc: pool.submit(solve, options, path, method, pc) for pc in PCS} for path in paths]
        for row, under_way in zip(rows, futures):
            results = {pc: future.result() for pc, future in under_way.items()}
            block = next((results[pc][0]["block"] for pc in reversed(PCS) if results[pc][0]), 0)
            print(method, row["file"], *(text for _, text in results.values()), sep=", ", flush=True)
            yield {"name": row["file"], "method": method, "rows": int(row["rows"]), "block": block,
                   "results": {pc: text for pc, (_, text) in results.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tessera")
    parser.add_argument("matrices")
    parser.add_argument("--device", default="cpu:1")
    parser.add_argument("--name", help="of the machine, for bench/results/solve-collection-NAME.json")
    parser.add_argument("--jobs", type=int, default=1, help="solves at a time")
    parser.add_argument("--seconds", type=int, default=20, help="for a solve")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"))
    options = parser.parse_args()
    with open(os.path.join(options.matrices, "index.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file)
                if row["spd"] in ("SPD", "1", "True") and int(row["rows"]) < 20000]
    some = [row for row in rows if row["file"] in OTHERS]
    document = {"device": options.device.split(":")[0], "pcs": PCS, "matrices": list(solve_all(options, rows, "cg")), "others": []}
    for method in METHODS:
        document["others"] += solve_all(options, some, method)
    name = "solve-collection%s.json" % ("-" + options.name if options.name else "")
    with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
