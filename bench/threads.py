#!/usr/bin/env python3
"""The library's own threads: the cost of a parallel call beside OpenMP's, products and solves on an
idle machine and beside a busy process. Writes docs/performance/threads.md.

    bench/threads.py --build build [--before BUILD] [--threads 2] [--rounds 7] [--matrices DIR]

BUILD is a build directory of another version, for ratios: both commands run in turns. Every figure
is the median of the rounds.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TOP, "docs", "performance", "threads.md")
CASES = (  # what, INPUT: in cache, and beyond it
    ("spmv", "gen:stencil7:n=16,b=3"),
    ("spmv", "gen:stencil27:n=64,b=3"),
    ("solve", "gen:stencil7:n=16,b=3"),
    ("solve", "gen:stencil27:n=40,b=3"),
)


def seconds(command, what, source, threads):
    """Seconds of a product, or of an iteration of CG."""
    arguments = [command, what, source, "--block", "3", "--threads", str(threads), "--json"]
    if what == "solve":
        arguments += ["--method", "cg", "--pc", "bjacobi"]
    out = subprocess.run(arguments, capture_output=True, text=True, check=True,
                         env=dict(os.environ, TESSERA_WISDOM="off"))
    found = json.loads(out.stdout)
    if what == "spmv":
        return found["seconds"]
    return found["seconds"] / found["iterations"]


def in_turns(ways, rounds):
    """The median of each way's times; ways take turns."""
    times = {name: [] for name in ways}
    for i in range(rounds):
        for name in sorted(ways, reverse=i % 2 == 1):
            times[name].append(ways[name]())
    return {name: statistics.median(taken) for name, taken in times.items()}


def microseconds(value):
    return f"{1e6 * value:.4g}"


def idle_rows(commands, threads, rounds):
    for what, source in CASES:
        taken = in_turns({name: lambda c=c: seconds(c, what, source, threads)
                          for name, c in commands.items()}, rounds)
        unit = "product" if what == "spmv" else "iteration"
        row = [f"{unit} `{source}`", microseconds(taken["now"])]
        if "before" in taken:
            row += [microseconds(taken["before"]), f"{taken['now'] / taken['before']:.2f}"]
        yield row


def busy_rows(commands, threads, rounds, source):
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for name, command in commands.items():
            taken = in_turns({n: lambda n=n: seconds(command, "solve", source, n)
                              for n in (1, threads)}, rounds)
            yield [name, microseconds(taken[1]), microseconds(taken[threads]),
                   f"{taken[threads] / taken[1]:.2f}"]
    finally:
        busy.kill()


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--before")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--matrices", default=os.path.join(TOP, "..", "shared", "matrices"))
    options = parser.parse_args()
    commands = {"now": os.path.join(options.build, "bin", "tessera")}
    if options.before:
        commands["before"] = os.path.join(options.before, "bin", "tessera")
    load = os.getloadavg()[0]
    calls = subprocess.run([os.path.join(options.build, "bin", "tessera_bench_threads"),
                            str(options.threads)], capture_output=True, text=True, check=True)
    calls = [line.split() for line in calls.stdout.splitlines()[2:]]
    real = os.path.join(options.matrices, "bcsstk16.mtx.gz")
    source = real if os.path.exists(real) else "gen:stencil27:n=12,b=3"
    before = ["before, µs", "ratio"] if options.before else []
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(f"""# Threads

How [the library's own threads](../design.md#threads) do. {options.threads} threads; medians of
{options.rounds} rounds in turns.

## A parallel call

Microseconds of a call whose shares take the time of the first column, after the caller alone
computed for the time of the second. Both sides run in one process, in turns.

{table(["share, µs", "pause, µs", "Tessera, µs", "OpenMP, µs", "ratio"], calls)}

## Products and solves

{table(["what", "now, µs"] + before, idle_rows(commands, options.threads, options.rounds))}

## Beside a busy process

An iteration of CG on `{os.path.basename(source)}` while another process
computes without end. A team is worth its threads where the ratio is below 1; where threads wait by
spinning it may be 18.

{table(["version", "1 thread, µs", f"{options.threads} threads, µs", "ratio"],
       busy_rows(commands, options.threads, options.rounds, source))}

Machine: {os.cpu_count()} processors, {processor()}, {platform.system()} {platform.release()}; load
average before the run {load:.1f}. Date: {datetime.date.today().isoformat()}. Command:
`bench/threads.py --threads {options.threads}{' --before BUILD' if options.before else ''}`
""")


if __name__ == "__main__":
    main()
