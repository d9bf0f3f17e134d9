#!/usr/bin/env python3
"""docs/performance/choices.md: what plans that measure nothing take, at every block size.

    bench/choices.py measure TESSERA --results FILE [--device cuda] [--seconds N] [--blocks 1-64] [--types f64,f32] [--matrices DIR] [--drawn SEED] [--shapes LIST]
    bench/choices.py held TESSERA --results FILE [--device profile:h200] [--seconds N]
    bench/choices.py replay TESSERA --results FILE [--device profile:h200] [--matrices DIR]
    bench/choices.py page bench/results/choices-*.json > docs/performance/choices.md

`measure` runs `tessera bench --few` on 27- and 7-point stencils and on patterns of --matrices with every entry made a block. All
kernels of a case are timed in turn in one process; the one that the estimate takes is compared with the fastest. It adds to FILE what
is not yet in it and stops after N seconds. Every block size comes once before any comes twice. A case that seems to lose more than 3 % is
measured again with five times as many rounds, and the second measurement counts. Pages of memory lie elsewhere in every process, which a
product of a few times the last cache feels: --processes N takes the medians of N processes. With --drawn, block sizes, shapes, precisions and sizes
are drawn at random instead: stencils, columns anywhere, rows of very different lengths, patterns; with --shapes "long rows", as of dense
matrices, too.

`held` takes one calibrated block size after the other out of the profile, and asks the remaining model for that block size. Its choice is
priced by the whole profile. Nothing runs on the device, so that any machine will do.

`replay` asks the present model for its choice in each case of FILE, and prices that choice by the times in FILE. So a change of the model
or of a kernel's own parameters is judged without the device. `--device cpu` is this machine, with the built-in profile that stands in for it.
The page has the result beside the measured one.
"""
import argparse
import datetime
import glob
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

from report_common import box, name_of, revision, run, save

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BYTES = {"cuda": 3e8, "cpu": 4e8}  # that a product moves
SECONDS = {"cuda": 0.004, "cpu": 0.016}  # a round
COMBINATIONS = [("27 points", "f64"), ("7 points", "f32"), ("7 points", "f64"), ("27 points", "f32")]
NOTES = os.path.join(ROOT, "bench", "results", "choices-notes.md")  # ends the page
PATTERNS, PATTERN_BYTES = 8, (1e5, 1.5e6)  # the number of files, and their sizes in bytes
HELD_BYTES = 1.5e8
DOUBTED = 3  # percent: the fastest of thirty is often the luckiest, so a case that loses more is measured again


def kind_of(args):
    return "cuda" if args.device.startswith("cuda") else "cpu"


def blocks_of(text):
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def spread(blocks):
    """The block sizes with neighbours far apart, so that a run of any length covers the whole range."""
    return [b for start in range(7) for b in blocks[start::7]]


def stencil(shape, b, real, target):
    points = int(shape.split()[0])
    return f"gen:stencil{points}:n={box(points, b, target, 8 if real == 'f64' else 4)},b={b}"


def patterns(directory):
    """Files of medium size, spread evenly from the smallest to the largest."""
    found = sorted((os.path.getsize(p), p) for p in glob.glob(os.path.join(directory, "*.mtx*"))) if directory else []
    found = [p for size, p in found if PATTERN_BYTES[0] <= size <= PATTERN_BYTES[1]]
    return found[::max(1, len(found) // PATTERNS)][:PATTERNS]


def cases(args):
    """(shape, b, type, input): each block size once, then again with another stencil or precision; patterns between."""
    types, blocks = args.types.split(","), spread(blocks_of(args.blocks))
    paths = patterns(args.matrices)
    listed = []
    for turn in range(len(COMBINATIONS)):
        for i, b in enumerate(blocks):
            shape, real = COMBINATIONS[(i + turn) % len(COMBINATIONS)]
            if real in types:
                listed.append((shape, b, real, stencil(shape, b, real, BYTES[kind_of(args)])))
            if paths and i % 6 == 5:
                path = paths[(i // 6 + turn) % len(paths)]
                listed.append((os.path.basename(path).split(".")[0], min(b, 16), types[turn % len(types)], f"promote:b={min(b, 16)}:{path}"))
    return listed


DRAWN_BYTES = {"cuda": (1e7, 1.2e9), "cpu": (1e6, 4e8)}  # that a product moves
DRAWN_ROW = (4, 40)  # blocks
LONG_ROW = (82, 4000)  # beyond those of a calibration
DRAWN_SHAPES = ("27 points", "7 points", "random", "powerlaw", "promoted")


def drawn_source(draw, shape, b, real, target, paths):
    """The input of a drawn case: about `target` bytes."""
    size = 8 if real == "f64" else 4
    if shape.endswith("points"):
        return stencil(shape, b, real, target)
    if shape == "promoted":
        return f"promote:b={b}:{draw.choice(paths)}"
    if shape == "long rows":
        low, high = LONG_ROW
        length = int(low * (high / low) ** draw.random())
        rows = max(1, int(target / (length * (b * b * size + 4))))
        return f"gen:random:rows={rows},cols={int(length * draw.choice((1, 1.3, 3)))},avg={length},count={length},r={b},c={b}"
    average = draw.randint(*DRAWN_ROW)
    rows = max(2 * average, int(target / (average * (b * b * size + 4) + 2 * b * size)))
    if shape == "random":
        return f"gen:random:rows={rows},cols={rows},avg={average},r={b},c={b}"
    return f"gen:powerlaw:rows={rows},avg={average},b={b}"


def drawn_cases(args):
    """(shape, b, type, input) without end."""
    draw, paths = random.Random(args.drawn), patterns(args.matrices)
    low, high = DRAWN_BYTES[kind_of(args)]
    shapes = [shape for shape in args.shapes.split(",") if shape != "promoted" or paths]
    while True:
        shape, b, real = draw.choice(shapes), draw.choice(blocks_of(args.blocks)), draw.choice(args.types.split(","))
        source = drawn_source(draw, shape, b, real, low * (high / low) ** draw.random(), paths)
        yield shape, b, real, source


def document(args):
    if os.path.exists(args.results):
        return json.load(open(args.results))
    return {"device": "", "date": str(datetime.date.today()), "cases": {}, "held": {}}


def price(found):
    """The estimate's kernel beside the fastest, and the fastest of each kernel."""
    good = [c for c in found["results"] if c["outcome"] == "good"]
    best, taken = min(good, key=lambda c: c["seconds"]), [c for c in good if c["default"]][0]
    kernels = {}
    for c in good:
        kernels[c["kernel"]] = min(c["seconds"], kernels.get(c["kernel"], c["seconds"]))
    return {"bytes": found["matrix"]["bytes"], "read_GBps": found["machine"]["read_GBps"], "best": best["seconds"], "best_name": name_of(best),
            "taken": taken["seconds"], "taken_name": name_of(taken), "predicted": taken["predicted_seconds"], "kernels": kernels,
            "times": {name_of(c): c["seconds"] for c in good}}


def timed(args, source, real, rounds):
    """All kernels of a case in turn."""
    seconds = SECONDS[kind_of(args)] * rounds
    runs = [run(args.tessera, "bench", source, "--device", args.device, "--type", real, "--few", "--seconds", f"{seconds:.3f}", "--rounds", str(rounds),
                "--json", seconds=args.case_seconds) for _ in range(args.processes)]
    for c in runs[0]["results"]:
        c["seconds"] = statistics.median(other["seconds"] for each in runs for other in each["results"] if name_of(other) == name_of(c))
    return runs[0]


def measure(args):
    data, start = document(args), time.time()
    built_from = args.revision or revision(ROOT)
    for shape, b, real, source in cases(args) if args.drawn is None else drawn_cases(args):
        key = f"{shape if args.drawn is None else os.path.basename(source)}|{b}|{real}"
        if time.time() - start > args.seconds:
            break
        if (key in data["cases"]) != args.again:
            continue
        try:
            found = timed(args, source, real, 5)
            if args.processes == 1 and lost(price(found)) > DOUBTED:
                found = timed(args, source, real, 25)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"{key}: left out: {error}", flush=True)
            continue
        data["device"] = found["machine"]["device"]
        entry = data["cases"][key] = {"shape": shape, "b": b, "type": real, "input": os.path.basename(source), "drawn": args.drawn,
                                      "revision": built_from, "processes": args.processes, **price(found)}
        print(f"{key}: {lost(entry):.1f} % lost, {entry['taken_name']}", flush=True)
        save(args.results, data)


# ---- Held-out block sizes ----

def predicted(args, source, real, model):
    with tempfile.TemporaryDirectory() as directory:
        if model:
            with open(os.path.join(directory, "model.json"), "w") as out:
                json.dump(model, out)
        environment = dict(os.environ, TESSERA_WISDOM=os.path.join(directory, "wisdom.json"))
        command = [args.tessera, "predict", source, "--device", args.device, "--type", real, "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)["kernels"]


def without(profile, b):
    """The profile without anything of one block size."""
    made = json.loads(json.dumps(profile))
    for model in made["devices"].values():
        for table in ("curves", "extras"):
            model[table] = [line for line in model[table] if line[1] != b]
    return made


def held(args):
    data, start = document(args), time.time()
    profile = json.load(open(os.path.join(ROOT, "profiles", args.device.split(":")[1] + ".json")))
    curves = [c for model in profile["devices"].values() for c in model["curves"]]
    calibrated = {real: sorted({c[1] for c in curves if c[1] > 0 and c[2] == real}) for real in ("f64", "f32")}
    for real, blocks in calibrated.items():
        for b in blocks[1:-1]:
            for shape in ("27 points", "7 points"):
                if time.time() - start > args.seconds:
                    continue
                source = stencil(shape, b, real, HELD_BYTES)
                whole = {name_of(k): k["seconds"] for k in predicted(args, source, real, profile)}
                taken = name_of(predicted(args, source, real, without(profile, b))[0])
                best = min((s, n) for n, s in whole.items() if s > 0)
                data["held"][f"{shape}|{b}|{real}"] = {"shape": shape, "b": b, "type": real, "taken": whole[taken], "taken_name": taken,
                                                       "best": best[0], "best_name": best[1]}
                print(f"{shape} b={b} {real}: {100 * (whole[taken] / best[0] - 1):.1f} % by the whole profile, {taken}", flush=True)
                save(args.results, data)


# ---- Replayed ----

def known(entry, name):
    """The recorded time of a kernel with these parameters; None: it was not recorded."""
    times = {**entry.get("times", {}), entry["taken_name"]: entry["taken"], entry["best_name"]: entry["best"]}
    return times.get(name)


def replay(args):
    data, name = document(args), args.device.removeprefix("profile:")
    profile = json.load(open(os.path.join(ROOT, "profiles", name + ".json"))) if name != args.device else None
    for key, entry in data["cases"].items():
        source = entry["input"] if entry["input"].startswith("gen:") else f"promote:b={entry['b']}:{os.path.join(args.matrices, entry['input'])}"
        took = predicted(args, source, entry["type"], profile)[0]
        entry["now_name"], entry["now"] = name_of(took), known(entry, name_of(took))
        after = f"{100 * (entry['now'] / entry['best'] - 1):.1f} %" if entry["now"] else "not recorded"
        print(f"{key}: {lost(entry):.1f} % lost, now {after}, {entry['now_name']}", flush=True)
    save(args.results, data)


# ---- The page ----

def lost(entry):
    return 100 * (entry["taken"] / entry["best"] - 1)


def matrix_of(entry):
    return entry["shape"] if entry.get("drawn") is None else entry["input"].removeprefix("gen:")


def short(name):
    return name.split()[1] if " " in name else name


def summary(entries):
    losses = sorted(lost(e) for e in entries)
    return f"{len(losses)} | {statistics.median(losses):.1f} | {losses[-1]:.1f} | {sum(l <= 5 for l in losses)}"


def built(data):
    revisions = sorted({e["revision"] for e in data["cases"].values() if e.get("revision")})
    return f", revision {' and '.join(revisions)}" if revisions else ""


def measured_section(data):
    entries = list(data["cases"].values())
    lines = ["| | cases | lost in the median, % | at worst, % | within 5 % |", "|---|---|---|---|---|"]
    for shape in dict.fromkeys(e["shape"] for e in entries):
        for real in ("f64", "f32"):
            some = [e for e in entries if e["shape"] == shape and e["type"] == real]
            if some:
                lines.append(f"| {shape}, {real} | {summary(some)} |")
    sizes = sorted({e["b"] for e in entries})
    several = [e for e in entries if e.get("processes", 1) > 1]
    some = f" {len(several)} cases have the medians of {several[0]['processes']} processes." if several else ""
    lines += ["", f"Block sizes {sizes[0]} to {sizes[-1]}, {len(sizes)} of them.{some} Cases that lose most:", "",
              "| matrix | b | type | MB | taken | lost, % | taken, % of read | best | predicted / measured |", "|---|---|---|---|---|---|---|---|---|"]
    for e in sorted(entries, key=lost, reverse=True)[:24]:
        reading = e["bytes"] / e["taken"] / (1e9 * e["read_GBps"])
        lines.append(f"| {matrix_of(e)} | {e['b']} | {e['type']} | {1e-6 * e['bytes']:.0f} | {short(e['taken_name'])} | {lost(e):.1f} | {100 * reading:.0f} | "
                     f"{e['best_name'] if short(e['best_name']) == short(e['taken_name']) else short(e['best_name'])} | {e['predicted'] / e['taken']:.2f} |")
    return lines


def replayed_section(data):
    """What the present model takes in the recorded cases."""
    entries = [e for e in data["cases"].values() if "now_name" in e]
    changed = [e for e in entries if e["now_name"] != e["taken_name"]]
    seen = [dict(e, taken=e["now"]) for e in entries if e["now"]]
    lines = ["`bench/choices.py replay`: what the model and the kernels' own parameters of today take in these cases, by the times recorded in them.", "",
             "| | cases | lost in the median, % | at worst, % | within 5 % |", "|---|---|---|---|---|",
             f"| as measured | {summary(entries)} |", f"| today, where the time was recorded | {summary(seen)} |", "",
             f"{len(changed)} cases take something else than before, {sum(e['now'] is None for e in changed)} of them a set of parameters whose time was not recorded:", "",
             "| matrix | b | type | lost before, % | lost now, % | takes now |", "|---|---|---|---|---|---|"]
    for e in sorted(changed, key=lost, reverse=True):
        after = f"{100 * (e['now'] / e['best'] - 1):.1f}" if e["now"] else "not recorded"
        lines.append(f"| {matrix_of(e)} | {e['b']} | {e['type']} | {lost(e):.1f} | {after} | {e['now_name']} |")
    return lines


def held_section(data):
    entries = list(data["held"].values())
    lines = ["Each block size in turn is taken out of the profile. The model then knows it by its neighbours only; what it would take is priced by the",
             "whole profile. *Lost* is how much longer that takes than what the whole profile says is the fastest.", "",
             "| | cases | lost in the median, % | at worst, % | within 5 % |", "|---|---|---|---|---|"]
    lines += [f"| {real} | {summary([e for e in entries if e['type'] == real])} |" for real in ("f64", "f32") if any(e["type"] == real for e in entries)]
    lines += ["", "| matrix | b | type | taken | best by the whole profile | lost, % |", "|---|---|---|---|---|---|"]
    lines += [f"| {e['shape']} | {e['b']} | {e['type']} | {short(e['taken_name'])} | {short(e['best_name'])} | {lost(e):.1f} |"
              for e in sorted(entries, key=lambda e: (e["type"], e["shape"], e["b"]))]
    return lines


def page(args):
    out = ["# What estimates take at every block size", "",
           "Made by `bench/choices.py page` from `bench/results/choices-*.json`. A plan made with ESTIMATE runs nothing: it takes what the model",
           "predicts to be the fastest. Between calibrated block sizes the model interpolates, and doubts a class as far as its neighbours differ.", ""]
    for path in args.files:
        data = json.load(open(path))
        name = os.path.basename(path)[len("choices-"):-len(".json")]
        if data["cases"]:
            seeds = sorted({e["drawn"] for e in data["cases"].values() if e.get("drawn") is not None})
            drawn = f" --drawn {seeds[0]}" if seeds else ""
            out += [f"## {data['device']}, {'drawn at random' if seeds else 'measured'}", "",
                    f"`bench/choices.py measure{drawn}`, {data['date']}{built(data)}.", "", *measured_section(data), ""]
        if any("now_name" in e for e in data["cases"].values()):
            out += [f"## {name}: replayed", "", *replayed_section(data), ""]
        if data["held"]:
            out += [f"## {name}: block sizes held out", "", *held_section(data), ""]
    print("\n".join(out).rstrip() + "\n\n" + open(NOTES, encoding="utf-8").read().rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function, device in (("measure", measure, "cuda"), ("held", held, "profile:h200"), ("replay", replay, "profile:h200")):
        sub = commands.add_parser(name)
        sub.set_defaults(function=function)
        sub.add_argument("tessera")
        sub.add_argument("--results", required=True)
        sub.add_argument("--device", default=device)
        sub.add_argument("--seconds", type=float, default=1e9)
        sub.add_argument("--case-seconds", type=float, default=60)
        sub.add_argument("--blocks", default="1-64")
        sub.add_argument("--types", default="f64,f32")
        sub.add_argument("--matrices", default="")
        sub.add_argument("--drawn", type=int, metavar="SEED", help="measure: cases drawn at random, until --seconds are over")
        sub.add_argument("--shapes", default=",".join(DRAWN_SHAPES), help="with --drawn: of these, or \"long rows\", which few matrices have")
        sub.add_argument("--again", action="store_true", help="measure: instead of new cases, those that are in FILE")
        sub.add_argument("--processes", type=int, default=1, metavar="N", help="measure: every case in N of them, medians by kernel")
        sub.add_argument("--revision", help="that was built (default: that of this checkout)")
    sub = commands.add_parser("page")
    sub.set_defaults(function=page)
    sub.add_argument("files", nargs="+")
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
