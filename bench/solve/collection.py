#!/usr/bin/env python3
"""Solves every symmetric positive definite matrix of a collection by each method with each preconditioner.

    bench/solve/collection.py MATRICES --name neoverse-v1 && bench/report_solve.py
    bench/solve/collection.py MATRICES --device cuda --name h200 --jobs 4
    bench/solve/collection.py MATRICES --name neoverse-v1 --only gmres --only fgmres
    bench/solve/collection.py --name neoverse-v1 --device cpu          the generated problems instead

writes bench/results/solve-collection-NAME.json, from which the page has its tables; methods that are not asked for keep their
results. MATRICES is a directory with index.csv (file, ..., rows, ..., spd) and FILE.mtx.gz. tessera_bench_solve_collection says
which blocks and right-hand side; domains=1. Iterations, or why there is no solution."""
import argparse
import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATED = ["gen:elasticity:n=12", "gen:cdr:n=16,b=4"]
SHORT = {"ITERATION_LIMIT": "limit", "STAGNATED": "stagnates", "INDEFINITE": "indefinite", "BREAKDOWN": "breakdown",
         "NOT_FINITE": "not finite", "DIVERGED": "diverges", "NO_PIVOT": "no pivot", "CANCELLED": "too slow"}


def told(result):
    if result["solved"]:
        return str(result["iterations"])
    text = SHORT.get(result["reason"], result["reason"])
    return "%s %.0e" % (text, result["true_residual"]) if "true_residual" in result else text


def run(options, method, names):
    """One method with all preconditioners on these matrices, in one process."""
    specs = ["%s:pc=%s%s,max=20000" % (method, pc, ",domains=1" if pc in options.domains else "") for pc in options.pcs]
    files = [os.path.join(options.matrices, name + ".mtx.gz") for name in names]
    command = [options.program, options.device, str(options.seconds)] + specs + ["--"] + files
    with tempfile.TemporaryFile("w+") as lines:
        try:
            done = subprocess.run(command, stdout=lines, timeout=options.limit, check=False)
            if done.returncode != 0:
                print("%s: exit status %d" % (options.program, done.returncode), file=sys.stderr)
        except subprocess.TimeoutExpired:
            print("%s: the rest after %d s is left out" % (method, options.limit), file=sys.stderr)
        lines.seek(0)
        return [json.loads(line) for line in lines if line.endswith("}\n")]


def entries_of(lines, names, method, pcs):
    """One entry per matrix, in the order of the names."""
    entries = {}
    for line in lines:
        pc = line["spec"].split(",")[0].split(":pc=")[1]
        name = os.path.basename(line["file"])[:-len(".mtx.gz")]
        entry = entries.setdefault(name, {"name": name, "rows": line["rows"], "block": line["block"], "results": {}})
        entry["results"][pc] = told(line)
    gathered = [entries[name] for name in names if name in entries]
    for entry in gathered:
        entry["results"] = {pc: entry["results"].get(pc, "–") for pc in pcs}
        print(method, entry["name"], *entry["results"].values(), sep=", ", flush=True)
    return gathered


def store(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def generated(options):
    """By input and method: the result of `tessera solve` with each preconditioner."""
    def entry(given, method, pc):
        command = [options.command, "solve", given, "--method", method, "--pc", pc, "--device", options.device,
                   "--max-iterations", "5000", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # 1: not solved
        return told(json.loads(done.stdout)) if done.stdout else "error"
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        told_of = {(given, method, pc): pool.submit(entry, given, method, pc)
                   for given in GENERATED for method in options.only for pc in options.pcs}
    return {given: {method: {pc: told_of[given, method, pc].result() for pc in options.pcs} for method in options.only}
            for given in GENERATED}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("matrices", nargs="?")
    parser.add_argument("--command", default=os.path.join(ROOT, "build", "bin", "tessera"))
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bin", "tessera_bench_solve_collection"))
    parser.add_argument("--device", default="cpu:1")
    parser.add_argument("--name", required=True, help="of the machine, for bench/results/solve-collection-NAME.json")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--seconds", type=int, default=20, help="for a solve")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for a method on a process's share of the matrices")
    parser.add_argument("--only", action="append", metavar="METHOD")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"))
    options = parser.parse_args()
    there = json.loads(subprocess.run([options.program, "--names"], stdout=subprocess.PIPE, check=True).stdout)
    options.pcs, options.domains = there["pcs"], there["domains"]
    options.only = options.only or there["methods"]
    for method in options.only:
        if method not in there["methods"]:
            parser.error("unknown method '%s'; there are: %s" % (method, ", ".join(there["methods"])))
    path = os.path.join(options.out, "solve-collection-%s.json" % options.name)
    document = {"methods": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    if not options.matrices:
        document.setdefault("generated", {})[options.device] = generated(options)
        store(path, document)
        return
    with open(os.path.join(options.matrices, "index.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file)
                if row["spd"] in ("SPD", "1", "True") and int(row["rows"]) < 20000]
    names = [row["file"] for row in rows]
    document.update(device=options.device.split(":")[0], seconds=options.seconds, pcs=options.pcs)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        shares = {method: [pool.submit(run, options, method, names[first::options.jobs]) for first in range(options.jobs)]
                  for method in options.only}
        for method, parts in shares.items():
            document["methods"][method] = entries_of(sum((part.result() for part in parts), []), names, method, options.pcs)
            store(path, document)


if __name__ == "__main__":
    main()
