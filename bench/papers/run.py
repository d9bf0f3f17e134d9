#!/usr/bin/env python3
"""Runs the papers' experiments: one command a table or figure.

    bench/papers/run.py --list                           the figures, and which results of them there are
    bench/papers/run.py 003-21 --device cuda --name h200            one figure
    bench/papers/run.py --device cuda --name h200 --quick --seconds 200     all of them, fewer sizes
    bench/papers/run.py --device cuda --name h200 --tune 0.5        every set of the papers' kernels' parameters beside the guess
    bench/papers/run.py 002-6 002-10 --device cpu --name xeon-2

Results go to bench/results/papers-NAME.json, whole after every figure; a figure that is run again replaces its earlier
results. page.py writes docs/performance/papers.md and its plots from all such files. Kernels are timed by
tessera_bench_papers (build/bin, or --program), in one process a figure, so that a variant is compiled once.
"""
import argparse
import datetime
import glob
import json
import os
import platform
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import figures as lists  # noqa: E402
from report_common import load, revision, save  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
RESULTS = os.path.join(HERE, "..", "results")
# Kernels that the papers' authors tuned by brute force, and the parameters that make another kernel of one in a figure.
TUNED = ("ksparse_", "by_block", "by_column", "row_per_thread", "multi_row", "warp_row", "block_row")
KEPT = ("shared=", "reorder=", "sort=")


def machine(device, cases):
    if device.startswith("cuda"):
        return next((case["device"] for case in cases if "device" in case), None)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def tuned(kernels, seconds):
    """The same with every set of parameters of each of the papers' kernels, for at most so many seconds."""
    more = {}
    for name, _, params in (kernel.partition(":") for kernel in kernels):
        if name.startswith(TUNED):
            fixed = [word for word in params.split(",") if word.startswith(KEPT)]
            more[f"{name}:{','.join([*fixed, f'tune={seconds:g}'])}"] = None
    return [*kernels, *more]


def for_device(figure, options):
    """The cases that the device has, with the runs that the options ask for beside."""
    if not options.device.startswith("cpu"):
        return [(*case[:5], tuned(case[5], options.tune) if options.tune else case[5]) for case in figure.cases]
    series = [b for _, beginnings in figure.series for b in beginnings]
    peers = [f"peers:{options.peers}"] if options.peers and "mkl_bsr" in series else []
    return [(*case[:5], case[5] + peers) for case in figure.cpu_cases]


def thread_counts(figure):
    return [t for t in figure.threads if t <= (os.cpu_count() or 1)] or [None]


def run_program(options, lines, seconds, threads=None):
    environment = dict(os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {}))
    command = [options.program, options.device] + ([f"{seconds:.1f}"] if seconds else [])
    done = subprocess.run(command, input="".join(lines), stdout=subprocess.PIPE, text=True, check=False, env=environment)
    return [json.loads(line) for line in done.stdout.split("\n") if line.startswith("{")], done.returncode


def prepare(options, figures):
    """Compiles the kernels of all cases for the disk cache, on small matrices and in several processes: a GPU's kernels are
    compiled when they are first used, which takes longer than timing them."""
    wanted = set()
    for figure in (f for f in figures if f.program == "products"):
        for _, _, real, block, source, kernels in for_device(figure, options):
            b = block or int((re.search(r"\bb=(\d+)", source) or [0, 1])[1])
            wanted.update((real, b, kernel) for kernel in kernels if not kernel.startswith("cu") and "shapes=" not in kernel)
    lines = [f"prepare\t{real}\t0\tgen:powerlaw:rows=400,avg=20,long=2,length=300,b={b}\t{kernel}\n"
             for real, b, kernel in sorted(wanted, key=str) if b <= 64]
    jobs = max(1, (os.cpu_count() or 1) - 2)
    seconds = [f"{options.seconds / 5:.0f}"] if options.seconds else []
    running = [subprocess.Popen([options.program, options.device, *seconds], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
               for _ in range(min(jobs, len(lines)))]
    for number, process in enumerate(running):
        process.stdin.write("".join(lines[number::len(running)]))
        process.stdin.close()
    for process in running:
        process.wait()
    return len(lines)


def seconds_of(r, key):
    return r[f"{key}_seconds"] / max(1, r[f"{key}_iterations"])


def run_solves(options, figure, seconds):
    """Cases of conjugate gradients: an iteration has 2 e + 15 x operations (equation 8). What takes longer is left out."""
    labels = {source: f"{panel}\t{x}" for panel, x, _, _, source, _ in figure.cases}
    command = [options.program + "_cg", options.device, "1e-12", figure.cases[0][5][0], *labels]
    made, (lines, failed) = [], run_for(command, seconds)
    for r in lines:
        runs = [{"name": who, "right": r[f"{key}_right"], "seconds": seconds_of(r, key), "iterations": r[f"{key}_iterations"]}
                for who, key in (("ours", "our"), ("paper", "paper"))]
        if r["iteration"] > 0:
            runs.append({"name": "iteration", "right": r["our_right"], "seconds": r["iteration"]})
        if r["predicted"] > 0:
            runs.append({"name": "estimate", "right": True, "seconds": r["predicted"]})  # nothing that could be wrong was computed
        made.append({"label": labels[r["input"]], "device": r["device"], "input": short(r["input"]), "type": "f64", "block": r["block"],
                     "rows": r["rows"], "stored": r["stored"], "nonzeros": r["stored"] + 7.5 * r["rows"],
                     "blocks": r["stored"] // r["block"] ** 2, "kernels": r["kernels"], "end": r["our_end"], "product": r["product"],
                     "iteration": r["iteration"], "passes": r["passes"], "passes_of": r["passes_of"], "runs": runs})
    return made, failed


def run_loads(options, figure, seconds):
    """Vectors loaded: `stored` elements of four bytes."""
    sizes = list(dict.fromkeys(case[4] for case in figure.cases))
    lines, failed = run_for([options.program + "_load", options.device, *sizes], seconds)
    labels = {(case[0].split()[0], case[4]): f"{case[0]}\t{case[1]}" for case in figure.cases}
    made = {}
    for r in lines:
        label = labels[(str(r["vectors"]), str(r["elements"]))]
        case = made.setdefault(label, {"label": label, "input": f"{r['elements']} elements", "type": "f32", "block": 1, "rows": r["elements"],
                                       "blocks": 0, "nonzeros": r["elements"], "stored": r["elements"], "runs": []})
        case["runs"].append({"name": "fixed" if r["fixed"] else "variable", "seconds": r["seconds"], "right": r["right"]})
    return list(made.values()), failed


def run_for(command, seconds):
    """The lines of a program that prints one a case, and is stopped after so many seconds; and whether it failed by itself."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=seconds or None)
        text, failed = done.stdout, done.returncode
    except subprocess.TimeoutExpired as stopped:
        text, failed = (stopped.stdout or b"").decode(), 0
    whole = text[:text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.split("\n") if line.startswith("{")], failed


def short(text):
    """An input without its directory."""
    return re.sub(r"(^|:)/[^:]*/", r"\1", text)


def run_products(options, figure, seconds):
    results, failed = [], 0
    counts = thread_counts(figure)
    for number, threads in enumerate(counts):
        lines = [f"{panel}|{threads or x}\t{real}\t{block}\t{source}\t{'|'.join(kernels)}\n"
                 for panel, x, real, block, source, kernels in for_device(figure, options)]
        started = time.monotonic()
        made, status = run_program(options, lines, seconds / (len(counts) - number) if seconds else 0, threads)
        seconds = max(0.1, seconds - (time.monotonic() - started)) if seconds else 0
        failed |= status
        results += made
    for r in results:
        r["label"] = r["label"].replace("|", "\t")
        r["input"] = short(r["input"])
    return results, failed


def refusals(results):
    """What could not run, and why, once each."""
    return dict.fromkeys(f"{run['name']}: {run['refused']}" for r in results for run in r["runs"] if "refused" in run)


def what_there_is(out, name):
    """Of each machine the revision and date of a figure's results."""
    there = []
    for path in sorted(glob.glob(os.path.join(out, "papers-*.json"))):
        measured = load(path)["figures"].get(name)
        if measured:
            when = f"{measured['revision']}, {measured['date']}" if "revision" in measured else "revision not recorded"
            there.append(f"{os.path.basename(path)[7:-5]}: {len(measured['cases'])} of {measured['asked']} cases{' --quick' * measured['quick']}, {when}")
    return "; ".join(there) or "no results"


def print_list(options, table):
    for f in table.values():
        print(f"{f.name:16} {'/'.join(f.devices):9} {f.title}\n{'':27}{what_there_is(options.out, f.name)}")
        for device in f.devices:
            if not any(of.startswith("cpu") == (device == "cpu") for of in devices_of(options.out, f.name)):
                print(f"{'':27}not measured: bench/papers/run.py {f.name} --device {device} --name NAME")


def devices_of(out, name):
    return [load(path)["figures"][name]["device"] for path in glob.glob(os.path.join(out, "papers-*.json")) if name in load(path)["figures"]]


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
    parser.add_argument("--matrices", help="directory of Matrix Market files (default: TESSERA_MATRICES, or ../shared/matrices)")
    parser.add_argument("--peers", help="directory of adapters (bench/peers), for MKL on a CPU")
    parser.add_argument("--tune", type=float, default=0, metavar="SECONDS",
                        help="on a GPU: time all sets of the papers' kernels' parameters, for at most so long a kernel and case")
    parser.add_argument("--revision", help="that was built (default: that of this checkout)")
    options = parser.parse_args()
    lists.MATRICES = os.path.abspath(options.matrices or lists.MATRICES)
    options.peers = options.peers and os.path.abspath(options.peers)
    table = lists.all_figures(options.quick)
    if options.list:
        print_list(options, table)
        return 0
    unknown = [name for name in options.figures if name not in table]
    if unknown:
        parser.error(f"no figure {unknown[0]}: one of {', '.join(table)}")
    here = [n for n, f in table.items() if options.device.split(":")[0] in f.devices]
    wanted = options.figures or sorted(here, key=lambda n: table[n].weight)  # the heavy ones take the time that is left
    elsewhere = [name for name in wanted if options.device.split(":")[0] not in table[name].devices]
    if elsewhere:
        parser.error(f"{elsewhere[0]} is not for {options.device}")
    return measure(options, table, wanted)


def measure(options, table, wanted):
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
        began, figure = time.monotonic(), table[name]
        seconds = left * figure.weight / sum(table[n].weight for n in wanted[number:])
        results, failed = {"cg": run_solves, "load": run_loads, "products": run_products}[figure.program](options, figure, seconds)
        wrong = sum(not run.get("right", True) for r in results for run in r["runs"])
        asked = len(for_device(figure, options)) * len(thread_counts(figure))
        failures += failed or wrong
        document["machine"] = machine(options.device, results) or document.get("machine", options.device)
        document["figures"][name] = {"quick": options.quick, "tune": options.tune, "device": options.device, "asked": asked,
                                     "revision": options.revision or revision(ROOT), "date": datetime.date.today().isoformat(), "cases": results}
        save(path, document)
        print(f"{name}: {len(results)} of {asked} cases, {wrong} wrong, {time.monotonic() - began:.1f} s", flush=True)
        for text in refusals(results):
            print(f"    {text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
