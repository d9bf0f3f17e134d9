#!/usr/bin/env python3
"""Our solvers and those of other libraries on the same systems, in turns; results in one file.

    bench/solve/suite.py                                   everything (about ten minutes with all peers)
    bench/solve/suite.py --only elasticity:40:cg:bjacobi   one line of the page
    bench/solve/suite.py --list                            the names of all of them
    bench/solve/suite.py --cuda                            CG on a GPU beside cuSPARSE and cuBLAS

A case is run by every program in turn, in --rounds rounds. In each, a program sets up and solves --reps times.
Medians are kept. A case that is run again replaces its earlier result. The programs are those of
build/bin and build/peers (solve-NAME); one that is not there is left out. The page is written by
bench/report_solve.py. Standard library only.
"""
import argparse
import datetime
import difflib
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from report_common import load, revision, save, slug  # noqa: E402  the path comes first

TOLERANCE = 1e-8
# Family: (input, block size, values of n, solvers compared, more of ours at the largest n).
FAMILIES = {
    "elasticity": ("gen:elasticity:n=%d", 3, [10, 20, 40], ["cg:bjacobi", "cg:ilu0"],
                   ["cg_single:pc=bjacobi", "cg:pc=ic0", "cg:pc=ilu0,pc_type=f32", "cg:pc=bjacobi,tol=1e-10",
                    "cg:pc=bjacobi,pc_type=f32,tol=1e-10", "cg:pc=bjacobi,inner=f32,tol=1e-10",
                    "cg:pc=ilu0,tol=1e-10", "cg:pc=ilu0,pc_type=f32,tol=1e-10", "cg:pc=ilu0,inner=f32,tol=1e-10"]),
    "cdr": ("gen:cdr:n=%d,b=4", 4, [12, 24, 48],
            ["bicgstab:ilu0", "gmres:ilu0", "bicgstab:bjacobi", "gmres:bjacobi"],
            ["gmres:pc=ilu0,side=left", "bicgstab:pc=ilu0,side=left", "bicgstab:pc=ilu0,pc_type=f32",
             "bicgstab:pc=ilu0,inner=f32"]),
    "multigrid": ("gen:elasticity:n=%d", 3, [24, 40, 64], ["cg:amg"], ["cg:pc=amg,pc_type=f32", "cg:pc=bjacobi"]),
    "poisson": ("gen:diffusion:n=%d", 1, [40, 80], ["cg:amg"], ["cg:pc=amg,pc_type=f32", "cg:pc=jacobi"]),
}
CUDA = ["gen:stencil27:n=%d,b=%d" % shape for shape in
        [(110, 3), (12, 3), (24, 3), (48, 3), (40, 4), (48, 7), (64, 5), (80, 3)]]


def case_names():
    for family, (_, _, sizes, solvers, more) in FAMILIES.items():
        for n in sizes:
            for solver in solvers:
                yield "%s:%d:%s" % (family, n, solver)
        for n in sizes[1:]:
            yield "%s:%d:more" % (family, n)


def unknown_case(only):
    """The message about names that no case begins with; None: all are known."""
    names = list(case_names())
    for word in only or []:
        if not any(name.startswith(word) for name in names):
            near = difflib.get_close_matches(word, names, n=1, cutoff=0.4)
            return f"no case '{word}' (" + (f"nearest: '{near[0]}'; " if near else "") + "--list names all)"
    return None


def lines_of(command, environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                          check=False)
    if done.returncode != 0:
        print("  %s: exit status %d: %s" % (os.path.basename(command[0]), done.returncode, done.stderr.strip()[:300]),
              file=sys.stderr, flush=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def environment(threads):
    return dict(os.environ, OMP_NUM_THREADS=str(threads), TESSERA_PEER_THREADS=str(threads), TESSERA_WISDOM="off")


class Gathered:
    """The results of one solver over the rounds."""

    def __init__(self):
        self.lines = []

    def add(self, line):
        self.lines.append(line)

    def result(self):
        last = dict(self.lines[-1])
        for key in ("setup_seconds", "solve_seconds"):
            last[key] = statistics.median(seconds for line in self.lines for seconds in line[key])
        if "ideal_seconds" in last:
            last["ideal_seconds"] = statistics.median(line["ideal_seconds"] for line in self.lines)
        last["runs"] = sum(len(line["solve_seconds"]) for line in self.lines)
        return last


def run_case(options, name, peers):
    family, n, what = name.split(":", 2)
    pattern, block, _, _, more = FAMILIES[family]
    specs = more if what == "more" else [what.replace(":", ":pc=")]
    ours = [options.bench, "--json", "--reps", str(options.reps)]
    gathered, systems = {}, []
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "system")
        programs = [ours + [pattern % int(n)] + specs]
        if what != "more" and peers:
            programs[0][1:1] = ["--dump", dump]
            asked = [what, what + "_other"] if what.endswith(":amg") else [what]
            programs += [[peer, dump, str(block), str(TOLERANCE), str(options.reps)] + asked for peer in peers]
        for _ in range(options.rounds):
            for program in programs:
                for line in lines_of(program, environment(options.threads)):
                    if "input" in line:
                        systems.append(line)
                    else:
                        key = line["peer"] or line["spec"]
                        gathered.setdefault(key, Gathered()).add(line)
    case = dict(systems[-1], name=name, revision=options.revision, date=datetime.date.today().isoformat())
    for key in ("read_GBps", "spmv_seconds"):
        case[key] = statistics.median(system[key] for system in systems)
    case["results"] = [g.result() for g in gathered.values()]
    for result in case["results"]:
        print("  %-38s %5d iterations, set-up %8.2f ms, solve %9.2f ms, true residual %.1e" %
              (result["peer"] or result["spec"], result["iterations"], 1e3 * result["setup_seconds"],
               1e3 * result["solve_seconds"], result["true_residual"]), flush=True)
    return case


def machine(options):
    """As `tessera bench` describes it."""
    done = subprocess.run([options.tessera, "bench", "gen:stencil7:n=4,b=3", "--json"], stdout=subprocess.PIPE, text=True,
                          check=True)
    described = json.loads(done.stdout)["machine"]
    described["date"] = datetime.date.today().isoformat()
    return described


def store(path, described, cases):
    document = load(path, {"cases": []})
    document["machine"] = described
    key = "name" if "name" in cases[0] else "input"
    replaced = {case[key] for case in cases}
    document["cases"] = [c for c in document["cases"] if c[key] not in replaced] + cases
    save(path, document)


def main():
    build = os.path.join(ROOT, "build")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", action="append", metavar="CASE", help="a case, or the beginning of its name")
    parser.add_argument("--list", action="store_true", help="print the cases' names")
    parser.add_argument("--check", action="store_true", help="only say whether the cases of --only exist")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=2, help="set-ups and solves a round")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every program that has threads")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--cuda", action="store_true", help="the GPU's cases instead")
    parser.add_argument("--name", help="of the machine, for bench/results/solve-NAME.json")
    parser.add_argument("--build", default=build, help="where bin and peers are")
    parser.add_argument("--revision", default=revision(ROOT), help="that was built (default: that of this checkout)")
    options = parser.parse_args()
    if options.list:
        print("\n".join(case_names()))
        return 0
    unknown = unknown_case(options.only)
    if unknown:
        parser.error(unknown)
    if options.check:
        return 0
    options.tessera = os.path.join(options.build, "bin", "tessera")
    options.bench = os.path.join(options.build, "bin", "tessera_bench_solve")
    described = machine(options)
    path = os.path.join(ROOT, "bench", "results", "solve-%s.json" % (options.name or slug(described)))
    if options.cuda:
        program = os.path.join(options.build, "bin", "tessera_bench_cusparse_cg")
        for given in CUDA:
            for case in lines_of([program, given], os.environ):
                print(json.dumps(case), flush=True)
                store(path, described, [case])
        return 0
    peers = [] if options.no_peers else sorted(glob.glob(os.path.join(options.build, "peers", "solve-*")))
    for name in case_names():
        if options.only and not any(name.startswith(only) for only in options.only):
            continue
        print(name, flush=True)
        store(path, described, [run_case(options, name, peers)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
