#!/usr/bin/env python3
"""Runs petsc_bench on generated matrices and writes bench/results/petsc-NAME.json and
docs/performance/petsc.md. Standard library only.

usage: suite.py [--device cpu] [--rounds 45] [--processes 1,2] [--name MACHINE]
                [--note SENTENCE] PROGRAM LAUNCHER...

PROGRAM is petsc_bench. LAUNCHER starts it on several processes; the number is appended."""

import argparse
import datetime
import glob
import json
import os
import platform
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import draw  # noqa: E402
from report_common import table  # noqa: E402

RESULTS = os.path.join(ROOT, "bench", "results")
CASES = [*(f"gen:stencil7:n={n},b={b}" for b, n in ((1, 48), (2, 36), (3, 28), (4, 24), (8, 14)))]
CASES += ["gen:elasticity:n=8", "gen:elasticity:n=20"]
TYPES = ("aij", "baij", "tessera")

INTRO = """# PETSc's own matrices and Tessera's

This page is written by `./run bench-petsc` from `bench/results/petsc-*.json`; do not edit it.

`MatMult` and CG with PETSc's `pbjacobi`, to a relative residual of 1e-8, with `-mat_type aij`, `baij`
and `tessera` in one program. The types take turns in every round; the least times of all rounds are
shown: of CPU time for one process on the CPU, otherwise of the clock. Each process has one thread.
**ratio** is BAIJ's time over Tessera's.

![Rows a second of MatMult with PETSc's matrices and Tessera's](plots/petsc.svg)
"""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def run(options, case, processes):
    launch = [*options.launcher, str(processes)] if processes > 1 else []
    words = ["-input", case, "-rounds", str(options.rounds), "-mat_tessera_device", options.device]
    if processes == 1 and options.device == "cpu":
        words += ["-cpu_time"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TESSERA_WISDOM": "off"}
    done = subprocess.run(
        [*launch, options.program, *words], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    result = json.loads(done.stdout.splitlines()[-1])
    print(case, processes, ratio(result, "product"), ratio(result, "solve"), flush=True)
    return result


def ratio(result, what):
    return f"{result['baij'][what] / result['tessera'][what]:.2f}"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def picture(documents):
    """MatMult with the stencils on one process, one panel per machine."""
    panels = []
    for data in documents:
        found = [r for r in data["results"] if r["processes"] == 1 and "stencil7" in r["input"]]
        series = {t: [1e-6 * r["rows"] / r[t]["product"] for r in found] for t in reversed(TYPES)}
        panels.append({"title": f"{data['name']}, {data['device']}", "series": series,
                       "sizes": [r["input"].rpartition("b=")[2] for r in found]})
    return draw.speeds("MatMult in PETSc, by block size", panels, up="million rows a second, one process")


def page(files):
    lines, documents = [INTRO], []
    for path in sorted(files):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        documents.append(data)
        about = [f"{data['processor']}, {data['cores']} cores", f"device {data['device']}", data["date"]]
        lines += [f"## {data['name']}", "", ", ".join(about) + f". {data['note']}".rstrip(), ""]
        for what, scale, unit in (("product", 1e6, "µs"), ("solve", 1e3, "ms")):
            title = "MatMult" if what == "product" else "CG with pbjacobi"
            head = ["matrix", "rows", "processes", *(f"{t} {unit}" for t in TYPES), "ratio"]
            rows = []
            for r in data["results"]:
                times = [number(scale * r[t][what]) for t in TYPES]
                input_name = r["input"].removeprefix("gen:")
                rows.append([input_name, str(r["rows"]), str(r["processes"]), *times, ratio(r, what)])
            lines += [f"### {title}", "", table(head, rows), ""]
    with open(os.path.join(ROOT, "docs/performance/petsc.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    with open(os.path.join(ROOT, "docs/performance/plots/petsc.svg"), "w", encoding="utf-8") as file:
        file.write(picture(documents))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=45)
    parser.add_argument("--name", default=platform.machine())
    parser.add_argument("--note", default="", help="a sentence for the page")
    parser.add_argument("--processes", default="1,2", help="numbers of processes")
    parser.add_argument("program")
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    processes = [int(p) for p in options.processes.split(",")]
    results = [run(options, case, p) for case in CASES for p in processes]
    data = {
        "name": options.name,
        "processor": processor(),
        "cores": os.cpu_count(),
        "device": options.device,
        "date": datetime.date.today().isoformat(),
        "note": options.note,
        "results": results,
    }
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, f"petsc-{options.name}.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    page(glob.glob(os.path.join(RESULTS, "petsc-*.json")))


if __name__ == "__main__":
    main()
