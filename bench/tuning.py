#!/usr/bin/env python3
"""docs/performance/tuning.md: what searches and estimates lose, and how far off the model is.

    bench/tuning.py measure TESSERA --results FILE [--device cpu] [--matrices DIR] [--seconds N] [--only RE]
    bench/tuning.py predict TESSERA --results FILE --matrices DIR --device profile:h200
    bench/tuning.py updates TESSERA --results FILE [--device cpu] [--matrices DIR] [--seconds N] [--only RE]
    bench/tuning.py page bench/results/tuning-neoverse-v1-2.json bench/results/tuning-h200.json > docs/performance/tuning.md

`measure` adds to FILE what is not yet in it, most important first, and stops after N seconds: it can
be run again. A case is one run of `tessera bench --search`, which times all kernels in turn and in
several rounds and so prices every choice, then searches as a plan does, and times an iteration of CG.
`predict` asks the present model again about what FILE has measured, on any machine.
`updates` times new values in plans of every format, in products of the same plan.
"""
import argparse
import datetime
import glob
import json
import os
import re
import subprocess
import time

from report_common import name_of, run
from tuning_page import page

BLOCKS = [3, 1, 8, 2, 4, 5, 16, 7, 11, 32]
TARGET = {"cpu": 80e6, "cuda": 140e6}  # bytes of values: far beyond a cache
SMALL = {"cpu": 6e6, "cuda": 12e6}


def edge(points, b, target):
    return max(4, round((target / (8 * points * b * b)) ** (1 / 3)))


def powerlaw(b, target):
    rows = max(2000, int(target / (8 * 6.2 * b * b)))
    return f"gen:powerlaw:rows={rows},avg=6,b={b},long=8,length={max(500, rows // 10)}"


def cases(device, matrices):
    """(kind, shape, b, input): `tune` cases price choices, `held` ones were not used in the fit."""
    kind = "cuda" if device.startswith("cuda") else "cpu"
    big, small = TARGET[kind], SMALL[kind]
    patterns = sorted(glob.glob(os.path.join(matrices, "*.mtx*")), key=os.path.getsize) if matrices else []
    chosen = [p for p in patterns if os.path.basename(p).split(".")[0] in ("nasa2146", "bcsstk16", "raefsky1", "arrow")]
    listed = []
    for b in BLOCKS:
        listed += [("tune", "27 points", b, f"gen:stencil27:n={edge(27, b, big)},b={b}"),
                   ("both", "power law", b, powerlaw(b, big)),
                   ("tune", "7 points", b, f"gen:stencil7:n={edge(7, b, big)},b={b}")]
        if b in (1, 2, 4, 8, 3, 16):
            listed += [("held", "convection", b, f"gen:cdr:n={edge(7, b, big)},b={b}"),
                       ("held", "convection, small", b, f"gen:cdr:n={edge(7, b, small)},b={b}"),
                       ("held", "box of 27 points", b,
                        f"gen:stencil27:nx={4 * edge(27, b, big / 2)},ny={edge(27, b, big / 2)},"
                        f"nz={max(2, edge(27, b, big / 2) // 4)},b={b}")]
            listed += [("both", os.path.basename(p).split(".")[0], b, f"promote:b={b}:{p}") for p in chosen]
    listed += [("held", "elasticity", 3, f"gen:elasticity:n={edge(27, 3, big)}"),
               ("held", "elasticity, small", 3, f"gen:elasticity:n={edge(27, 3, small)}")]
    return listed


def is_naive(c, b):
    if c["kernel"] in ("by_column", "by_block"):
        return c["kernel"] == ("by_block" if b == 1 else "by_column")
    return c["format"] == "bsr" and not re.search("lock|ahead|streams|prefetch", c["kernel"]) and f"{b}x{b}" in c["kernel"]


def bench(args, case, kind):
    """All results of a case, from one process."""
    # A kernel's turn is long beside the products that bring its data back into the cache: a plan is for many products.
    how_long = "0.04" if args.device.startswith("cuda") else "0.15"
    found = run(args.tessera, "bench", case, "--device", args.device, "--seconds", how_long, "--search", "--json",
                *(["--few"] if kind == "held" else []), *(["--cg"] if kind != "tune" else []), seconds=args.case_seconds)
    found["good"] = [c for c in found["results"] if c["outcome"] == "good"]
    return found


def price(found, b):
    """The times of the choices beside the fastest kernel's."""
    name = lambda c: (c["format"], c["kernel"], c["params"])
    good, search = found["good"], found["search"]
    times = {name(c): c["seconds"] for c in good}
    best = min(times.values())
    naive = [c["seconds"] for c in good if is_naive(c, b)][:1]  # with its own parameters, which are listed first
    taken = times.get(name(search))
    estimated = [c for c in good if c["default"]][0]
    return {"kernels": len(times), "best": best, "bytes": found["matrix"]["bytes"],
            "of_read": found["matrix"]["bytes"] / best / (1e9 * found["machine"]["read_GBps"]),
            "estimate": times[name(estimated)] / best - 1, "measure": taken / best - 1 if taken else None,
            "over_naive": taken / naive[0] - 1 if naive and taken else None, "products": search["spmvs"],
            "search_seconds": search["seconds"], "again": search["again_spmvs"], "again_seconds": search["again_seconds"], "chosen": search["kernel"], "estimated": estimated["kernel"]}


def pairs_of(listed):
    """(predicted, measured, kernel), each kernel with its own parameters, which are its first; the model's choice first."""
    pairs, seen = [], set()
    for c, predicted, measured in listed:
        if predicted and (c["format"], c["kernel"]) not in seen:
            pairs.append((predicted, measured, c["kernel"]))
        seen.add((c["format"], c["kernel"]))
    return pairs


def check(found):
    """The errors of the model for SpMV and for an iteration of CG."""
    first_default = sorted(found["good"], key=lambda c: not c["default"])
    pairs = pairs_of((c, c["predicted_seconds"], c["seconds"]) for c in first_default)
    cg = found["search"]["cg_predicted_seconds"], found["search"]["cg_seconds"]
    return {"bytes": found["matrix"]["bytes"], "spmv": pairs[0] if pairs else None, "all": pairs,
            "cg": cg if min(cg) > 0 else None}


def keep(path, data):
    with open(path + ".new", "w") as out:
        json.dump(data, out, indent=1)
    os.replace(path + ".new", path)


def say(entry):
    line, checked = entry.get("price", {}), entry.get("check", {})
    return " ".join([f"{entry['shape']} b={entry['b']}",
                     *(f"{k}={100 * line[k]:.1f}%" for k in ("estimate", "measure", "over_naive") if line.get(k) is not None),
                     *(f"{k} {100 * (checked[k][0] / checked[k][1] - 1):+.1f}%" for k in ("spmv", "cg") if checked.get(k))])


def measure(args):
    data = {"device": "", "date": str(datetime.date.today()), "cases": {}}
    if os.path.exists(args.results):
        data = json.load(open(args.results))
    start = time.time()
    for kind, shape, b, case in cases(args.device, args.matrices):
        key = f"{shape}|{b}"
        if key in data["cases"] or time.time() - start > args.seconds or not re.search(args.only, key):
            continue
        entry, began = {"shape": shape, "b": b, "input": case.replace(f"{args.matrices}/", "")}, time.time()
        if args.revision:
            entry["revision"] = args.revision
        try:
            found = bench(args, case, kind)
        except subprocess.CalledProcessError as error:
            print(f"{case}: {error.stderr.decode()[-300:]}", flush=True)
            continue
        except subprocess.TimeoutExpired:
            print(f"{case}: left out after {args.case_seconds} s", flush=True)
            continue
        data["device"] = found["machine"]["device"]
        entry["times"] = {name_of(c): c["seconds"] for c in found["good"]}
        if kind != "held":
            entry["price"] = price(found, b)
        if kind != "tune":
            entry["check"] = check(found)
        data["cases"][key] = entry
        keep(args.results, data)
        print(f"{time.time() - start:5.0f} s ({time.time() - began:.1f} s) {say(entry)}", flush=True)


def predict(args):
    """Predictions of the present model beside the measured times, on any machine."""
    data = json.load(open(args.results))
    for entry in data["cases"].values():
        if "times" not in entry or not re.search(args.only, f"{entry['shape']}|{entry['b']}"):
            continue
        case = entry["input"]
        if case.startswith("promote:"):
            head, name = case.rsplit(":", 1)
            case = f"{head}:{os.path.join(args.matrices, name)}"
        found = run(args.tessera, "predict", case, "--device", args.device, "--json")
        times = entry["times"]
        pairs = pairs_of((k, k["seconds"], times[name_of(k)]) for k in found["kernels"] if name_of(k) in times)
        if not pairs:
            continue
        same = name_of(found["kernels"][0]) in times  # otherwise the model's present choice was not timed
        iterates = same or args.device.startswith(("cuda", "profile"))  # where iterations have a product of their own
        if "price" in entry and same:
            entry["price"].update(estimate=pairs[0][1] / min(times.values()) - 1, estimated=pairs[0][2])
        if "check" in entry:
            cg = entry["check"]["cg"]
            entry["check"].update(spmv=pairs[0], all=pairs, cg=(found["predictions"][0]["cg_seconds"], cg[1]) if cg and iterates else None)
        print(say(entry), flush=True)
    keep(args.results, data)


def updates(args):
    """New values: for each format the product of its fastest kernel, and an update of its plan."""
    data = json.load(open(args.results))
    start, done = time.time(), data.setdefault("updates", {})
    for _, shape, b, case in cases(args.device, args.matrices):
        key = f"{shape}|{b}"
        if shape not in ("27 points", "7 points", "power law", "bcsstk16") or key in done or not re.search(args.only, key):
            continue
        if time.time() - start > args.seconds:
            break
        found = run(args.tessera, "bench", case, "--device", args.device, "--seconds", "0.08", "--few", "--update", "--json")
        good = sorted((c for c in found["results"] if c["outcome"] == "good"), key=lambda c: c["seconds"])
        entry = {"revision": args.revision, "formats": {}}
        for c in good:
            entry["formats"].setdefault(c["format"], (c["kernel"], c["seconds"], c["update_seconds"] or 0))
        done[key] = entry
        keep(args.results, data)
        print(key, {f: f"{u / t:.2f}" for f, (_, t, u) in entry["formats"].items()}, flush=True)


parser = argparse.ArgumentParser()
commands = parser.add_subparsers(required=True)


def running(name, run, **matrices):
    """A command that runs tessera on cases and keeps their results."""
    command = commands.add_parser(name)
    command.add_argument("tessera")
    command.add_argument("--device", default="cpu")
    command.add_argument("--results", required=True)
    command.add_argument("--matrices", **matrices)
    command.add_argument("--only", default="", help="cases whose SHAPE|B this regular expression finds")
    command.set_defaults(run=run)
    return command


def timing(name, run):
    """The same for a command that measures, with a limit of time."""
    command = running(name, run)
    command.add_argument("--seconds", type=float, default=1e9)
    command.add_argument("--revision", help="of what is measured, for the page")
    return command


timing("measure", measure).add_argument("--case-seconds", type=float, help="a case that takes longer is left out")
timing("updates", updates)
running("predict", predict, required=True)
paging = commands.add_parser("page")
paging.add_argument("files", nargs="+")
paging.set_defaults(run=page)
arguments = parser.parse_args()
arguments.run(arguments)
