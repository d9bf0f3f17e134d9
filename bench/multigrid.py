#!/usr/bin/env python3
"""CG with multigrid on one device, and beside other libraries; writes docs/performance/multigrid.md.

    bench/multigrid.py --name MACHINE [--bin DIR] [--device cuda] [--sizes 24,40,64,100] [--rounds N]     measures, then writes the page
    bench/multigrid.py              only the page, from bench/results/multigrid-*.json and solve-*.json
    bench/multigrid.py --check      checks that the page is made from the results

Solvers of one size take turns: each is run once to compile its kernels and to find its plans, then --rounds times. All runs but
the first are kept, in bench/results/multigrid-MACHINE.json, which is written after every size. Standard library only.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

from multigrid_page import OTHER, RESULTS, ROOT, SINGLE, SOLVER, edge, pages, phases
from report_common import revision, save, write_or_check

SMOOTH, JUMPS = "gen:diffusion:n=%d", ["jump=1e6", "aniso=1e3", "aniso=1e-3"]
GPU_PEER, PEER_SIZES = "cuda-solve-amgcl", (24, 40, 64)  # its set-up of n = 100 takes half a minute
FEW, MANY = 4, 14  # iterations of the solves whose difference is the time of an iteration
OF_SYSTEM = ("device", "rhs", "type", "rows", "block", "blocks")  # the same in all runs of a case


# ---- Measuring ----

def say(given, who, iterations, set_up, solve, counted):
    print(f"{given:34} {who:22} {iterations:5} iterations, set-up {1e3 * set_up:9.1f} ms, solve {1e3 * solve:9.2f} ms"
          + ("" if counted else ", not counted"), flush=True)


class Bench:
    """The programs of a build, with one file of wisdom for all of their runs."""

    def __init__(self, options, folder):
        self.options = options
        self.failed = []  # inputs and solvers without a report
        self.environment = dict(os.environ, TESSERA_WISDOM=os.path.join(folder, "wisdom.json"))

    def output(self, program, *words, folder=None):
        """The output of a program; "" and a message if there is no such program or it fails."""
        folder = folder or self.options.bin
        command = [os.path.join(folder, program), *words]
        if not os.path.exists(command[0]):
            print(f"skipped: no {program} in {folder}", file=sys.stderr)
            return ""
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, check=False)
        if done.returncode != 0:
            print(f"{program} {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[:300]}", file=sys.stderr, flush=True)
        return done.stdout

    def machine(self):
        """As `tessera bench` describes it."""
        few = ["--few", "--reps", "1", "--rounds", "1"]
        return json.loads(self.output("tessera", "bench", "gen:stencil7:n=4,b=3", "--device", self.options.device, "--json", *few))["machine"]

    def solve(self, given, solver, *words):
        """The report of a solve, converged or not; None if there is none."""
        method, pc = solver.split(":pc=")
        text = self.output("tessera", "solve", given, "--device", self.options.device, "--method", method, "--pc", pc, "--json", *words)
        if text.startswith("{"):
            return json.loads(text)
        if f"{given} {solver}" not in self.failed:
            self.failed.append(f"{given} {solver}")
        return None

    def turns(self, pairs, peer=None):
        """A case for every (input, solver), with the runs of all rounds; `peer` runs once a round too."""
        cases = {}
        for number in range(self.options.rounds + 1):
            for given, solver in pairs:
                run = self.solve(given, solver)
                if not run:
                    continue
                say(given, solver, run["iterations"], run["setup_seconds"], run["seconds"], number > 0)
                case = cases.setdefault((given, solver), {"input": given, "solver": solver, **{key: run[key] for key in OF_SYSTEM}, "runs": []})
                if number > 0:
                    case["runs"].append({key: run[key] for key in run if key not in OF_SYSTEM and key != "solver"})
            if peer:
                peer.run(number > 0)
        return [case for case in cases.values() if case["runs"]]

    def iteration_seconds(self, given, solver):
        """The time of an iteration in every round, without the solve's start."""
        found = []
        for _ in range(self.options.rounds):
            runs = [self.solve(given, solver, "--options", f"max={most},tol=1e-30") for most in (FEW, MANY)]
            if all(runs) and [run["iterations"] for run in runs] == [FEW, MANY]:
                found.append((runs[1]["seconds"] - runs[0]["seconds"]) / (MANY - FEW))
        return found

    def set_ups(self, given):
        """Set-ups and new values in one process; None without the program."""
        text = self.output("tessera_bench_setup", "--device", self.options.device, given, SOLVER)
        return {"input": given, "solver": SOLVER, **parsed_set_ups(text)} if "set-up ms" in text else None


class Peer:
    """AMGCL on the same GPU, which reads a system from a file."""

    def __init__(self, bench, given, folder):
        self.bench, self.given, self.runs = bench, given, []
        self.dump = os.path.join(folder, given.replace(":", "-"))
        if os.path.exists(os.path.join(bench.options.peers, GPU_PEER)):
            bench.output("tessera_bench_solve", "--dump", self.dump, given, "cg:pc=jacobi,max=1")

    def run(self, counted):
        if not os.path.exists(self.dump):
            return
        for line in self.bench.output(GPU_PEER, self.dump, "3", "1e-8", "1", "cg:amg", folder=self.bench.options.peers).splitlines():
            run = json.loads(line)
            say(self.given, run["peer"], run["iterations"], run["setup_seconds"][0], run["solve_seconds"][0], counted)
            self.runs += [run] if counted else []

    def reports(self):
        """AMGCL's report with the times of every round, in a list; an empty list without AMGCL."""
        seconds = {key: [run[key][0] for run in self.runs] for key in ("setup_seconds", "solve_seconds")}
        return [{**self.runs[-1], "input": self.given, **seconds}] if self.runs else []


def parsed_set_ups(text):
    """The numbers that tessera_bench_setup prints, in ms."""
    found = {"rows": int(re.search(r": (\d+) rows", text)[1]), "plan_ms": float(re.search(r"plan ms +([\d.]+)", text)[1])}
    for key, line in (("setup_ms", "set-up ms"), ("host_ms", "update, host"), ("device_ms", "update, device")):
        numbers = re.search(line + r" +([\d. ]+)\n", text)
        if numbers:
            found[key] = [float(number) for number in numbers[1].split()]
    described = [phases(line) for line in text.splitlines() if re.match(r"set-up \d", line)]
    return {**found, "setup_phases_ms": described[0], "update_phases_ms": described[-1]}


def measure(options):
    sizes = [int(n) for n in options.sizes.split(",")]
    document = {"revision": options.revision or revision(ROOT), "date": datetime.date.today().isoformat(), "rounds": options.rounds,
                "device": options.device, "note": options.note or "", "cases": [], "peers": [], "set_ups": []}
    path = os.path.join(RESULTS, f"multigrid-{options.name}.json")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        document.update(machine=bench.machine(), failed=bench.failed)
        for n in sizes:
            solvers = [SOLVER, SINGLE] + ([OTHER] if n in sizes[-2:] else [])
            given = f"gen:elasticity:n={n}"
            peer = Peer(bench, given, folder) if options.device == "cuda" and n in PEER_SIZES else None
            document["cases"] += bench.turns([(given, solver) for solver in solvers], peer)
            document["peers"] += peer.reports() if peer else []
            save(path, document)
        for case in document["cases"]:
            if options.device == "cuda" and case["solver"] != OTHER and edge(case["input"]) in sizes[-2:]:
                case["iteration_seconds"] = bench.iteration_seconds(case["input"], case["solver"])
        for n in sizes[-2:]:
            document["set_ups"] += filter(None, [bench.set_ups(f"gen:elasticity:n={n}")])
            save(path, document)
        for n in sizes[-2:]:
            document["cases"] += bench.turns([(given, SOLVER) for given in [SMOOTH % n] + [f"{SMOOTH % n},{key}" for key in JUMPS]])
            save(path, document)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--name", help="of the machine: measures for bench/results/multigrid-NAME.json")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="directory of tessera and tessera_bench_setup")
    parser.add_argument("--peers", default=os.path.join(ROOT, "build", "peers"), help=f"directory of {GPU_PEER}")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sizes", default="24,40,64,100", help="values of n; the last two are measured in more ways")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--revision", help="that was built (default: that of this checkout)")
    parser.add_argument("--note", help="sentences about this run, for the page")
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    options = parser.parse_args()
    if options.name:
        measure(options)
    made = pages()
    if not made:
        print("docs/performance/multigrid.md is left as it is: no bench/results/multigrid-*.json has cases; measure with --name")
    return 1 if write_or_check(ROOT, made) else 0


if __name__ == "__main__":
    sys.exit(main())
