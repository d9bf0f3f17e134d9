#!/usr/bin/env python3
"""Solves every symmetric positive definite matrix of a collection: cg with each preconditioner, and on some of the
matrices every other method too.

    bench/solve/collection.py MATRICES && bench/report_solve.py
    bench/solve/collection.py MATRICES --device cuda --name h200 --jobs 4

writes bench/results/solve-collection[-NAME].json, from which the page has its tables. MATRICES is a directory with index.csv
(file, ..., rows, ..., spd) and FILE.mtx.gz. tessera_bench_solve_collection says which blocks and right-hand side; domains=1.
Iterations, or why there is no solution."""
import argparse
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PCS = ["none", "jacobi", "bjacobi", "ssor", "ilu0", "ic0"]
METHODS = ["cg_single", "bicg", "bicgstab", "gmres", "fgmres"]
# Solved by every method: small and larger ones, blocks of 1, 2 and 3, easy and hard.
OTHERS = ["nasa2146", "bcsstk16", "gr_30_30", "hypre_beam_hex_dof459", "muelu_wathenSmall", "pyamg_ldg", "bcsstm07", "nos3",
          "mhd3200b", "494_bus"]
SHORT = {"ITERATION_LIMIT": "limit", "STAGNATED": "stagnates", "INDEFINITE": "indefinite", "BREAKDOWN": "breakdown",
         "NOT_FINITE": "not finite", "DIVERGED": "diverges", "NO_PIVOT": "no pivot", "CANCELLED": "too slow"}


def told(result):
    if result["solved"]:
        return str(result["iterations"])
    text = SHORT.get(result["reason"], result["reason"])
    return "%s %.0e" % (text, result["true_residual"]) if "true_residual" in result else text


def run(options, methods, names):
    """All methods with all preconditioners on these matrices, in one process."""
    specs = ["%s:pc=%s,domains=1,max=20000" % (method, pc) for method in methods for pc in PCS]
    files = [os.path.join(options.matrices, name + ".mtx.gz") for name in names]
    command = [options.program, options.device, str(options.seconds)] + specs + ["--"] + files
    with tempfile.TemporaryFile("w+") as lines:
        try:
            done = subprocess.run(command, stdout=lines, timeout=options.limit, check=False)
            if done.returncode != 0:
                print("%s: exit status %d" % (options.program, done.returncode), file=sys.stderr)
        except subprocess.TimeoutExpired:
            print("%s: the rest after %d s is left out" % (", ".join(methods), options.limit), file=sys.stderr)
        lines.seek(0)
        return [json.loads(line) for line in lines if line.endswith("}\n")]


def gather(options, methods, rows):
    """One entry a method and matrix, in the order of the rows."""
    names = [row["file"] for row in rows]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        lines = sum(pool.map(lambda first: run(options, methods, names[first::options.jobs]), range(options.jobs)), [])
    entries = {}
    for line in lines:
        method, pc = line["spec"].split(",")[0].split(":pc=")
        name = os.path.basename(line["file"])[:-len(".mtx.gz")]
        entry = entries.setdefault((method, name), {"name": name, "method": method, "rows": line["rows"], "results": {}})
        entry["block"] = line["block"]
        entry["results"][pc] = told(line)
    gathered = [entries[method, name] for method in methods for name in names if (method, name) in entries]
    for entry in gathered:
        entry["results"] = {pc: entry["results"].get(pc, "–") for pc in PCS}
        print(entry["method"], entry["name"], *entry["results"].values(), sep=", ", flush=True)
    return gathered


def store(options, document):
    name = "solve-collection%s.json" % ("-" + options.name if options.name else "")
    with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("matrices")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bin", "tessera_bench_solve_collection"))
    parser.add_argument("--device", default="cpu:1")
    parser.add_argument("--name", help="of the machine, for bench/results/solve-collection-NAME.json")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--seconds", type=int, default=20, help="for a solve")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for cg, and again for the other methods")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"))
    options = parser.parse_args()
    with open(os.path.join(options.matrices, "index.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file)
                if row["spd"] in ("SPD", "1", "True") and int(row["rows"]) < 20000]
    document = {"device": options.device.split(":")[0], "pcs": PCS, "matrices": gather(options, ["cg"], rows)}
    store(options, document)
    document["others"] = gather(options, METHODS, [row for row in rows if row["file"] in OTHERS])
    store(options, document)


if __name__ == "__main__":
    main()
