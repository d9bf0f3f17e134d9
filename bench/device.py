#!/usr/bin/env python3
"""Measures every page of docs/performance that has numbers of a GPU, in one run.

    bench/device.py --name h200 --build build --matrices DIR --seconds 1200
    bench/device.py --list
    bench/device.py --name h200 --only multigrid,parts

Each step is the program that measures one page. It gets the seconds that the list says, times --scale, and is stopped after
them: most steps then keep what they have measured. Steps run in the order of the list until --seconds are over. Steps that were left out
are named at the end, and the exit status is 1. The pages are written afterwards, on any machine:
`bench/device.py --pages`. Standard library only.
"""
import argparse
import os
import subprocess
import sys
import time

from report_common import revision

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# (name, seconds, programs beside the command, the words after `python3 bench/`); {name} etc. are filled in.
STEPS = [
    ("multigrid", 130, ["setup", "solve"], "multigrid.py --name {name} --bin {build}/bin --device {device} --revision {revision} --rounds 3"),
    ("parts", 70, ["parts"], "parts.py --cuda {name} --device {device}:0 --bin {build}/bin --revision {revision}"),
    ("figure20", 60, ["parts"], "papers/figure20.py --name {name} --device {device}:0 --matrices {matrices} --bin {build}/bin --revision {revision}"),
    ("spgemm", 40, [], "spgemm.py --name {name} --build {build} --revision {revision}"),
    ("products", 320, [], "suite.py --device {device} --name {name} --matrices {matrices} --seconds {seconds} --tessera {build}/bin/tessera "
                          "--revision {revision}"),
    ("choices", 200, [], "choices.py measure {build}/bin/tessera --results bench/results/choices-{name}-{revision}.json --device {device} "
                         "--matrices {matrices} --seconds {seconds} --blocks 1-64 --revision {revision}"),
    ("tuning", 200, [], "tuning.py measure {build}/bin/tessera --results bench/results/tuning-{name}.json --device {device} "
                        "--matrices {matrices} --seconds {seconds} --revision {revision}"),
    ("solvers", 120, ["solve", "solve_device", "cusparse_cg"], "solve/suite.py --cuda --name {name} --build {build} --revision {revision}"),
    ("regroup", 100, ["regroup"], "regroup.py --name {name} --bin {build}/bin --device {device} --rounds 20 --matrices {matrices}"),
    ("papers", 400, ["papers", "papers_cg", "papers_load"], "papers/run.py --device {device} --name {name} --quick --tune 0.3 --seconds {seconds} "
                                                            "--matrices {matrices} --revision {revision} "
                                                            "--program {build}/bin/tessera_bench_papers"),
    ("fbcsr", 120, ["fbcsr_speed"], "fbcsr.py --device {device} --name {name} --limit 31 --matrices {matrices} --seconds {seconds} "
                                    "--program {build}/bin/tessera_bench_fbcsr_speed"),
]
ANEW = {"tuning"}  # adds to the results that are there: they are removed first
PAGES = ["multigrid.py", "report_parts.py", "papers/figure20.py --page", "spgemm.py", "report.py", "report_solve.py", "regroup.py",
         "papers/page.py", "fbcsr.py --page"]  # choices.py and tuning.py print theirs


def build(directory, steps):
    """The programs of the steps and the shared library, which Python loads; cmake has configured the directory."""
    programs = sorted({f"tessera_bench_{p}" for _, _, more, _ in steps for p in more})
    subprocess.run(["cmake", "--build", directory, "--target", "tessera", "tessera_command", *programs], check=True, stdout=subprocess.DEVNULL)


def run_step(words, seconds, log):
    """Returns 0, or why the step failed."""
    with open(log, "w") as out:
        try:
            code = subprocess.run([sys.executable, "-u", *words], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT,
                                  timeout=1.1 * seconds + 10).returncode
        except subprocess.TimeoutExpired:
            return f"stopped after {1.1 * seconds + 10:.0f} s"
    return f"exit status {code}" if code else ""


def measure(args, steps):
    logs = os.path.join(args.build, "device-logs")
    os.makedirs(logs, exist_ok=True)
    build(args.build, steps)
    end, bad = time.time() + args.seconds, []
    for name, seconds, _, text in steps:
        seconds *= args.scale
        if time.time() + seconds > end:
            bad.append(f"{name}: no time left")
            continue
        values = {"name": args.name, "build": args.build, "device": args.device, "matrices": args.matrices, "seconds": round(seconds),
                  "revision": args.revision}
        words = [word.format(**values) for word in text.split()]
        words[0] = os.path.join(HERE, words[0])
        if name in ANEW and os.path.exists(words[words.index("--results") + 1]):
            os.remove(words[words.index("--results") + 1])
        started = time.time()
        why = run_step(words, seconds, os.path.join(logs, f"{name}.log"))
        print(f"{name:10} {time.time() - started:5.0f} s  {why or 'done'}", flush=True)
        if why:
            bad.append(f"{name}: {why}, see {logs}/{name}.log")
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the steps and their seconds")
    parser.add_argument("--pages", action="store_true", help="write the pages from the results that are there")
    parser.add_argument("--name", help="of the machine, for bench/results/...-NAME.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--build", default="build", help="a configured release build (default: build)")
    parser.add_argument("--matrices", default="", help="directory of Matrix Market files whose patterns are promoted")
    parser.add_argument("--only", help="these steps, separated by commas")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all steps together")
    parser.add_argument("--scale", type=float, default=1, help="times the seconds of every step")
    parser.add_argument("--revision", default=None, help="that was built (default: that of this checkout)")
    args = parser.parse_args()
    names = [step[0] for step in STEPS]
    wanted = args.only.split(",") if args.only else names
    for name in wanted:
        if name not in names:
            parser.error(f"no step is called '{name}': {', '.join(names)}")
    steps = [step for step in STEPS if step[0] in wanted]
    if args.list:
        for name, seconds, _, text in steps:
            print(f"{name:10} {seconds * args.scale:5.0f} s  {text.split()[0]}")
        return 0
    if args.pages:
        for page in PAGES:
            words = page.split()
            subprocess.run([sys.executable, os.path.join(HERE, words[0]), *words[1:]], check=True, cwd=ROOT)
        return 0
    if not args.name:
        parser.error("--name NAME says which machine this is")
    args.revision = args.revision or revision(ROOT)
    return measure(args, steps)


if __name__ == "__main__":
    sys.exit(main())
