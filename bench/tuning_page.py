"""The page of bench/tuning.py, from the results of several machines."""
import json
import os
import statistics

import draw
from report_common import current_name

NOTES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "tuning-notes.md")  # ends the page
PLOTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "performance", "plots")


def percent(values, function):
    return f"{100 * function(values):.1f}" if values else "-"


def checked_losses(data):
    """ESTIMATE against all kernels of its own list, timed by `predict --check`."""
    lost = [c["spmv"][1] / min(pair[1] for pair in c["all"]) - 1 for c in
            (e["check"] for e in data["cases"].values() if "check" in e) if c["spmv"]]
    return (f"In the {len(lost)} cases of the next table the kernel that ESTIMATE takes is "
            f"{percent(lost, statistics.median)} % slower in the median, {percent(lost, max)} % at worst, than the fastest "
            "kernel with its own parameters.")


def losses(data):
    priced = [e["price"] for e in data["cases"].values() if "price" in e]
    row = lambda what, key: (lambda v: f"| {what} | {percent(v, statistics.median)} | {percent(v, max)} |")(
        [p[key] for p in priced if p[key] is not None])
    products = [p["products"] for p in priced]
    middle = lambda key: f"{statistics.median(p.get(key, 0) for p in priced):.3g}"
    lines = ["| effort | lost in the median, % | at worst, % |", "|---|---|---|", row("MEASURE", "measure"),
             row("ESTIMATE", "estimate"), row("MEASURE against the naive choice", "over_naive"), "",
             f"{len(priced)} cases. MEASURE ran {min(products)} to {max(products)} products, the second plan of a class, from "
             f"wisdom, at most {max(p.get('again', 0) for p in priced)}; the first took {middle('search_seconds')} s in the median, "
             f"formats and compilation included, the second {middle('again_seconds')} s.", "",
             "| matrix | b | MB moved | kernels | best, % of read | MEASURE lost, % | ESTIMATE lost, % | products | chosen | estimated | revision |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    order = sorted((e for e in data["cases"].values() if "price" in e), key=lambda e: (e["shape"], e["b"]))
    for e in order:
        p = e["price"]
        lost = f"{100 * p['measure']:.1f}" if p["measure"] is not None else "-"
        lines.append(f"| {e['shape']} | {e['b']} | {p['bytes'] / 1e6:.0f} | {p['kernels']} | {100 * p['of_read']:.0f} | "
                     f"{lost} | {100 * p['estimate']:.1f} | {p['products']} | {current_name(p['chosen'])} | {current_name(p['estimated'])} | {e.get('revision', '-')} |")
    return "\n".join(lines)


def offsets(data):
    """The error of each prediction: one row per matrix, one column per block size."""
    held = [e for e in data["cases"].values() if "check" in e and e["check"]["spmv"]]
    blocks = sorted({e["b"] for e in held})
    of = {(e["shape"], e["b"]): e["check"] for e in held}
    off = lambda pair: f"{100 * (pair[0] / pair[1] - 1):+.0f}" if pair else "-"
    lines = ["Predicted less measured time, %: SpMV with the chosen kernel / CG iteration.", "",
             "| matrix | " + " | ".join(f"b = {b}" for b in blocks) + " |", "|---|" + "---|" * len(blocks)]
    for shape in sorted({e["shape"] for e in held}):
        cells = [of.get((shape, b)) for b in blocks]
        lines.append(f"| {shape} | " + " | ".join(f"{off(c['spmv'])} / {off(c['cg'])}" if c else "" for c in cells) + " |")
    return "\n".join(lines)


def update_table(data):
    """New values: one column per format, of its fastest kernel."""
    done = data["updates"]
    formats = sorted({f for e in done.values() for f in e["formats"]})

    def cell(e, f):
        if f not in e["formats"]:
            return ""
        _, product, update = e["formats"][f]
        return f"{update / product:.1f} ({update / e['formats']['bsr'][1]:.1f})"

    lines = ["New values in a plan (`tess_plan_update_values`), in products of the same plan and, in brackets, of the fastest bsr",
             "plan: of each format the fastest kernel.", "",
             "| matrix | b | " + " | ".join(formats) + " | revision |", "|---|---|" + "---|" * (len(formats) + 1)]
    for key, e in sorted(done.items(), key=lambda item: (item[0].split("|")[0], int(item[0].split("|")[1]))):
        shape, b = key.split("|")
        lines.append(f"| {shape} | {b} | " + " | ".join(cell(e, f) for f in formats) + f" | {e['revision'] or '-'} |")
    return "\n".join(lines)


GROUPS = {"1": [1], "2": [2], "4": [4], "8": [8], "3, 5, 7, 11, 16, 32": [3, 5, 7, 11, 16, 32]}


def errors(data):
    """Table 6: mean relative error and its variance, by block size."""
    lines = ["| b | matrices | SpMV, the chosen kernel: mean error, % | variance | every kernel: mean error, % | variance | "
             "CG iteration: matrices | mean error, % | variance |", "|---|---|---|---|---|---|---|---|---|"]
    relative = lambda pairs: [abs(pair[0] / pair[1] - 1) for pair in pairs]
    for label, blocks in GROUPS.items():
        checks = [e["check"] for e in data["cases"].values() if "check" in e and e["b"] in blocks]
        spmv = relative([c["spmv"] for c in checks if c["spmv"]])
        every = relative([pair for c in checks for pair in c["all"]])
        cg = relative([c["cg"] for c in checks if c["cg"]])
        variance = lambda v: f"{statistics.pvariance(v):.4f}" if v else "-"
        lines.append(f"| {label} | {len(spmv)} | {percent(spmv, statistics.mean)} | {variance(spmv)} | "
                     f"{percent(every, statistics.mean)} | {variance(every)} | {len(cg)} | "
                     f"{percent(cg, statistics.mean)} | {variance(cg)} |")
    return "\n".join(lines)


def bars(data):
    """The goals, and whether they hold."""
    priced = [e["price"] for e in data["cases"].values() if "price" in e]
    checked = [(e["b"], e["check"]) for e in data["cases"].values() if "check" in e]
    rows = []

    def add(what, limit, values, function):
        if values:
            got = function(values)
            rows.append(f"| {what} | {limit} | {got:.1f} | {'yes' if got <= limit else 'NO'} |")

    for effort, key, middle, worst in (("MEASURE", "measure", 3, 10), ("ESTIMATE", "estimate", 10, 35)):
        lost = [100 * p[key] for p in priced if p[key] is not None]
        add(f"{effort} loses to the best, median, %", middle, lost, statistics.median)
        add(f"{effort} loses to the best, worst, %", worst, lost, max)
    add("MEASURE loses to the naive choice, worst, %", 2, [100 * p["over_naive"] for p in priced if p["over_naive"] is not None], max)
    add("products that MEASURE runs, most", 60, [p["products"] for p in priced], max)
    add("products of the second plan of a class, most", 5, [p["again"] for p in priced if "again" in p], max)
    updated = [e["formats"] for e in data.get("updates", {}).values()]
    add("new values in a plan, most products of its own", 3, [u / t for f in updated for _, t, u in f.values()], max)
    add("new values in a plan, most products of a bsr plan", 3, [u / f["bsr"][1] for f in updated for _, _, u in f.values()], max)
    for label, blocks in GROUPS.items():
        limit = 12 if max(blocks) <= 2 else 7
        for key, name in (("spmv", "SpMV"), ("cg", "CG iteration")):
            off = [100 * abs(c[key][0] / c[key][1] - 1) for b, c in checked if b in blocks and c[key]]
            add(f"model's mean error, {name}, b = {label}, %", limit, off, statistics.mean)
    return "\n".join(["| | bar | here | holds |", "|---|---|---|---|", *rows])


def picture(documents):
    """One panel per machine, from the case that loses least to the one that loses most."""
    panels = []
    for data in documents:
        priced = [e["price"] for e in data["cases"].values() if "price" in e]
        series = {name: draw.quantiles([100 * max(0, p[key]) for p in priced if p[key] is not None])
                  for name, key in (("MEASURE", "measure"), ("ESTIMATE", "estimate"))}
        panels.append({"title": f"{data['device'].partition(',')[0]}: {len(priced)} cases", "series": series,
                       "sizes": [f"{10 * i}" for i in range(11)]})
    return draw.speeds("What searches lose", panels, "% of the cases, those that lose least first", "% lost to the fastest kernel")


def page(args):
    print("""# What a search finds, and what the model knows

Made by `bench/tuning.py page bench/results/tuning-neoverse-v1-2.json bench/results/tuning-h200.json`. The files are made by
`bench/tuning.py measure` on each machine, with what the profiles in `profiles/` predict (`bench/tuning.py predict`).

* MEASURE, the default, may run 60 products. ESTIMATE runs none and takes what the model predicts to be the fastest.
* *Lost* is how much longer the chosen kernel takes than the fastest of all that `tessera bench` times in the same run, in turn and in
  seven rounds. EXHAUSTIVE, which times them all, would lose the spread of the machine's speed.
* On a GPU the kernels priced are each with its own parameters and those with one parameter changed, not the full product of
  all parameters.

![What searches lose](plots/tuning.svg)
""")
    with open(os.path.join(PLOTS, "tuning.svg"), "w", encoding="utf-8") as file:
        file.write(picture([json.load(open(path)) for path in args.files]))
    for path in args.files:
        data = json.load(open(path))
        entries = data["cases"].values()
        print(f"## {data['device']}, {data['date']}\n\n{bars(data)}\n")
        if any("price" in e for e in entries):
            print(f"### Searches\n\n{losses(data)}\n")
            print("Bytes are those of the bsr format: symmetric storage and fbcsr move fewer, hence more than 100 % of read.\n")
        if data.get("updates"):
            print(f"### New values\n\n{update_table(data)}\n")
        if any("check" in e for e in entries):
            print(checked_losses(data) + "\n")
            print(f"### The model's error on matrices that were not used in its fit\n\n{errors(data)}\n")
            print("The fit used cubes of 7 and 27 points, bands of 81 blocks a row, bands whose rows end anywhere, random columns, one long row,\n"
                  "and a band with a full row and column; here are convection and diffusion, elasticity, boxes, power-law rows, and real patterns with every entry a block.\n")
            print(f"### Case by case\n\n{offsets(data)}\n")
    if os.path.exists(NOTES):
        print(open(NOTES).read(), end="")
