#!/usr/bin/env python3
"""Runs the papers' experiments: one command a table or figure.

    bench/papers/run.py --list
    bench/papers/run.py 003-21 --device cuda --name h200            one figure
    bench/papers/run.py --device cuda --name h200 --quick --seconds 200     all of them, fewer sizes
    bench/papers/run.py 002-6 002-10 --device cpu --name xeon-2

Results go to bench/results/papers-NAME.json, whole after every figure; a figure that is run again replaces its earlier
results. page.py writes docs/performance/papers.md and its plots from all such files. Kernels are timed by
tessera_bench_papers (build/bin, or --program), in one process a figure, so that a variant is compiled once.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from figures import all_figures  # noqa: E402
from report_common import load, save  # noqa: E402

RESULTS = os.path.join(HERE, "..", "results")


def machine(device, cases):
    if device.startswith("cuda"):
        return next((case["device"] for case in cases if "device" in case), None)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def for_device(figure, device):
    """The cases, without what the device has not."""
    kinds = ("plan",) if device.startswith("cpu") else None
    return [(*case[:5], [k for k in case[5] if not kinds or k in kinds]) for case in figure.cases]


def run_program(options, lines, seconds, threads=None):
    environment = dict(os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {}))
    command = [options.program, options.device] + ([f"{seconds:.1f}"] if seconds else [])
    done = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, text=True, check=False, env=environment)
    return [json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")], done.returncode


def prepare(options, figures):
    """Compiles the kernels of all cases for the disk cache, on small matrices and in several processes: a GPU's kernels are
    compiled when they are first used, which takes longer than timing them."""
    wanted = set()
    for figure in figures:
        for _, _, real, block, source, kernels in figure.cases:
            b = block or int((re.search(r"\bb=(\d+)", source) or [0, 1])[1])
            wanted.update((real, b, kernel) for kernel in kernels if not kernel.startswith("cu"))
    lines = [f"prepare\t{real}\t0\tgen:powerlaw:rows=400,avg=20,long=2,length=300,b={b}\t{kernel}\n"
             for real, b, kernel in sorted(wanted, key=str) if b <= 64]
    jobs = max(1, (os.cpu_count() or 1) - 2)
    running = [subprocess.Popen([options.program, options.device], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
               for _ in range(min(jobs, len(lines)))]
    for number, process in enumerate(running):
        process.stdin.write("".join(lines[number::len(running)]))
        process.stdin.close()
    for process in running:
        process.wait()
    return len(lines)


def run_solves(options, figure):
    """Cases of conjugate gradients: an iteration has 2 e + 15 x operations (equation 8)."""
    labels = {source: f"{panel}\t{x}" for panel, x, _, _, source, _ in figure.cases}
    command = [options.program + "_cg", options.device, "1e-12", figure.cases[0][5][0], *labels]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    made = []
    for r in (json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")):
        made.append({"label": labels[r["input"]], "input": r["input"], "type": "f64", "block": r["block"], "rows": r["rows"],
                     "stored": r["stored"], "nonzeros": r["stored"] + 7.5 * r["rows"], "blocks": r["stored"] // r["block"] ** 2,
                     "kernels": r["kernels"], "end": r["our_end"],
                     "runs": [{"name": who, "right": True, "seconds": r[f"{key}_seconds"] / max(1, r[f"{key}_iterations"]),
                               "iterations": r[f"{key}_iterations"]} for who, key in (("ours", "our"), ("paper", "paper"))]})
    return made, done.returncode, 0


def run_loads(options, figure):
    """Vectors loaded: `stored` elements of four bytes."""
    sizes = list(dict.fromkeys(case[4] for case in figure.cases))
    done = subprocess.run([options.program + "_load", options.device, *sizes], stdout=subprocess.PIPE, text=True, check=False)
    labels = {(case[0].split()[0], case[4]): f"{case[0]}\t{case[1]}" for case in figure.cases}
    made = {}
    for r in (json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")):
        label = labels[(str(r["vectors"]), str(r["elements"]))]
        case = made.setdefault(label, {"label": label, "input": f"{r['elements']} elements", "type": "f32", "block": 1, "rows": r["elements"],
                                       "blocks": 0, "nonzeros": r["elements"], "stored": r["elements"], "runs": []})
        case["runs"].append({"name": "fixed" if r["fixed"] else "variable", "seconds": r["seconds"], "right": True})
    return list(made.values()), done.returncode, 0


def time_numpy(figure, quick):
    """NumPy's matrix-vector product: whatever BLAS it was built with."""
    try:
        import numpy
    except ImportError:
        return []
    made = []
    for panel, n, real in sorted({case[:3] for case in figure.cases}):
        if n > (4096 if quick else 16384):
            continue
        kind = numpy.float32 if real == "f32" else numpy.float64
        A, x, times = numpy.ones((n, n), kind, order="F"), numpy.ones(n, kind), []
        for _ in range(12):
            start = time.perf_counter()
            A @ x
            times.append(time.perf_counter() - start)
        made.append({"label": f"{panel}\t{n}", "type": real, "block": 1, "rows": n, "blocks": n * n, "nonzeros": n * n, "stored": n * n,
                     "bytes": (n * n + 2 * n) * A.itemsize, "runs": [{"name": "numpy", "seconds": sorted(times)[6], "right": True}]})
    return made


def run_figure(options, figure, seconds):
    if figure.program != "products":
        return {"cg": run_solves, "load": run_loads}[figure.program](options, figure)
    results, failed = [], 0
    cases = for_device(figure, options.device)
    processors = os.cpu_count() or 1
    for threads in [t for t in figure.threads if t <= processors] or [None]:
        lines = [f"{panel}|{threads or x}\t{real}\t{block}\t{source}\t{'|'.join(kernels)}\n"
                 for panel, x, real, block, source, kernels in cases]
        made, status = run_program(options, lines, seconds, threads)
        failed |= status
        results += made
    for r in results:
        r["label"] = r["label"].replace("|", "\t")
        r["input"] = r["input"].replace(os.path.dirname(r["input"].rsplit(":", 1)[-1]) + "/", "") if "/" in r["input"] else r["input"]
    if "dense" in figure.name and options.device.startswith("cpu"):
        results += time_numpy(figure, options.quick)
    wrong = sum(not run.get("right", True) for r in results for run in r["runs"])
    return results, failed, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", help="names of --list; none: all that the device has")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--name", default="here", help="of the machine, in the results' file name")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and matrices")
    parser.add_argument("--seconds", type=float, default=0, help="for all figures together; cases without time are left out")
    parser.add_argument("--program", default=os.path.join(HERE, "..", "..", "build", "bin", "tessera_bench_papers"))
    parser.add_argument("--out", default=RESULTS)
    options = parser.parse_args()
    table = all_figures(options.quick)
    if options.list:
        print("\n".join(f"{f.name:16} {'/'.join(f.devices):9} {f.title}" for f in table.values()))
        return 0
    unknown = [name for name in options.figures if name not in table]
    if unknown:
        parser.error(f"no figure {unknown[0]}: one of {', '.join(table)}")
    wanted = options.figures or [n for n, f in table.items() if options.device.split(":")[0] in f.devices]
    path = os.path.join(options.out, f"papers-{options.name}.json")
    document = load(path, {"figures": {}})
    start, failures = time.monotonic(), 0
    if options.device.startswith("cuda"):
        print(f"{prepare(options, [table[name] for name in wanted])} kernels compiled in {time.monotonic() - start:.0f} s", flush=True)
    for number, name in enumerate(wanted):
        left = options.seconds - (time.monotonic() - start) if options.seconds else 0
        if options.seconds and left <= 0:
            print(f"{name}: no time left")
            continue
        began = time.monotonic()
        waiting = sum(table[n].weight for n in wanted[number:])
        results, failed, wrong = run_figure(options, table[name], left * table[name].weight / waiting)
        failures += failed or wrong
        document["machine"] = machine(options.device, results) or document.get("machine", options.device)
        document["figures"][name] = {"quick": options.quick, "device": options.device, "cases": results,
                                     "asked": len(table[name].cases)}
        save(path, document)
        print(f"{name}: {len(results)} of {len(table[name].cases)} cases, {wrong} wrong, {time.monotonic() - began:.1f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
