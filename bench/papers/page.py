#!/usr/bin/env python3
"""Writes docs/performance/papers.md and its plots from bench/results/papers-*.json, and paper 004's
Figure 8 by `tessera predict`. --check says whether they are what these say. Where the command does
not run, Figure 8 stays as it is."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, ".."))
import draw  # noqa: E402
import page_cg  # noqa: E402
import page_passes  # noqa: E402
import page_refused  # noqa: E402
from figures import TABLE_II, all_figures  # noqa: E402
from report_common import geometric_mean, load, prose  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "performance", "papers.md")
PLOTS = os.path.join(ROOT, "docs", "performance", "plots")
MAP = ["--block", "4", "--device", "profile:h200"]


def unique_bytes(case):
    """What paper 002 counts: x, values, columns and offsets of 32 bits."""
    real = 4 if case["type"] == "f32" else 8
    return case["stored"] * real + case["blocks"] * 4 + case["rows"] * real + (case["rows"] // case["block"] + 1) * 4


def speed_of(figure, case, seconds):
    work = {"GFlop/s": 2 * case["nonzeros"], "raw GFlop/s": 2 * case["stored"], "GB/s": unique_bytes(case), "GB/s of vectors": 4 * case["stored"],
            "GB/s of the matrix": (case["stored"] + 2 * case["rows"]) * (4 if case["type"] == "f32" else 8),
            "transactions": 2 * case["stored"] * (4 if case["type"] == "f32" else 8)}[figure.speed]
    return 1e-9 * work / seconds


def runs_of(figure, case, beginnings, tuned=False):
    """Right runs whose name is one of the beginnings, parameters aside; K1 is not its balanced form. Tuned ones have `sets`."""
    return [run for run in case["runs"] if "seconds" in run and run["right"] and ("sets" in run) == tuned and any(
        run["name"] == b or run["name"].startswith(b + ":") or (run["name"].startswith(b) and b.startswith("cusparse"))
        for b in beginnings)]


def columns_of(figure, cases):
    """(name, beginnings, tuned) of the series that were measured; a series is followed by its tuned form."""
    return [(name + ", tuned" * tuned, beginnings, tuned) for name, beginnings in figure.series for tuned in (False, True)
            if any(runs_of(figure, case, beginnings, tuned) for case in cases)]


def speeds(figure, cases):
    """{panel: {x: {series: speed}}}, the best of what has one label. The guess is one of the sets that tuning is about, whether or not
    the time that it was given came to it."""
    table, columns = {}, columns_of(figure, cases)
    for case in cases:
        panel, x = case["label"].split("\t")
        cell = table.setdefault(panel, {}).setdefault(x, dict.fromkeys(name for name, _, _ in columns))
        for name, beginnings, tuned in columns:
            runs = runs_of(figure, case, beginnings, tuned)
            if runs and tuned:
                runs = runs + runs_of(figure, case, beginnings)
            found = [speed_of(figure, case, run["seconds"]) for run in runs]
            cell[name] = max([s for s in found + [cell[name]] if s], default=None)
    return table


def names_of(table):
    return list(dict.fromkeys(name for column in table.values() for cell in column.values() for name in cell))


def cell_of(table, case):
    panel, x = case["label"].split("\t")
    return table[panel][x]


def panels_of(table):
    names = names_of(table)
    if len(names) > len(draw.SERIES):
        names = [name for name in names if not name.endswith(", tuned")]
    return [{"title": panel, "sizes": list(column), "series": {name: [cell[name] for cell in column.values()] for name in names}}
            for panel, column in table.items() if any(cell[name] for cell in column.values() for name in names)]


def text_of(value):
    return "–" if not value else f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table_text(figure, table):
    names = names_of(table)
    lines = [f"| | {figure.across.split(',')[0]} | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for panel, column in table.items():
        for x, cell in column.items():
            lines.append(f"| {panel} | {x} | " + " | ".join(text_of(cell.get(name)) for name in names) + " |")
    return "\n".join(lines)


def factors_text(figure, table):
    """How much faster than the baseline, at best, as Table III of 003 has it. Speeds of one case count the same work for all, so
    that these are quotients of times."""
    baseline = next((name for name in figure.baseline if name in names_of(table)), None)
    names = [name for name in names_of(table) if name != baseline]
    lines = []
    for panel, column in table.items() if baseline else ():
        best = []
        for name in names:
            ratios = [cell[name] / cell[baseline] for cell in column.values() if cell.get(name) and cell.get(baseline)]
            best.append(f"{min(ratios):.2f} … {max(ratios):.2f}" if ratios else "–")
        if any(b != "–" for b in best):
            lines.append(f"| {panel} | " + " | ".join(best) + " |")
    if not lines:
        return ""
    head = f"Times the speed of {baseline}, smallest and largest over the sizes:\n\n| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names)
    return head + "\n" + "\n".join(lines) + "\n"


def when(figure, measured):
    """The revision and date of results, and what the others on the page have that these have not."""
    if "revision" in measured:
        return f"Revision {measured['revision']}, {measured['date']}."
    return "Revision and date were not recorded" + (
        "; what was computed was not compared, and one solver or grid was timed after the other." if figure.program != "products" else ".")


def tuned_text(cases):
    """Which columns are which, and what brute force gains."""
    runs = [(case, run) for case in cases for run in case["runs"] if "sets" in run and run.get("right")]
    if not runs:
        return ""
    gains = []
    for case, run in runs:
        guesses = [g["seconds"] for g in case["runs"] if "sets" not in g and g.get("right") and g["name"].startswith(run["name"])]
        gains += [min(guesses) / min(guesses + [run["seconds"]])] if guesses else []
    text = (f"\nColumns *tuned* have the fastest set of parameters of the guess and those that were timed, {sum(r['sets'] for _, r in runs)} of "
            f"{sum(r['of'] for _, r in runs)} that there are; the others have the parameters that the figure names and the library's guess of the rest.")
    return text + (f" Tuned kernels are {geometric_mean(gains):.2f} times as fast as the guess in the mean, at most {max(gains):.2f} times.\n" if gains else "\n")


def shapes_text(cases):
    """Paper 001: how many matrices have blocks of its shapes, and what share of each lies in them."""
    shares = {case["label"].split("\t")[1]: run["stored"]["share"] for case in cases for run in case["runs"] if run.get("stored")}
    if not shares:
        return ""
    some = {name: share for name, share in shares.items() if share > 0}
    gains = [case["runs"][0]["seconds"] / run["seconds"] for case in cases for run in case["runs"]
             if run.get("stored", {}).get("share", 0) > 0 and run["right"] and "seconds" in case["runs"][0]]
    text = f"\n{len(some)} of {len(shares)} matrices have non-zeros in blocks of the five shapes: "
    text += ", ".join(f"`{name}` {100 * share:.0f} %" for name, share in sorted(some.items(), key=lambda item: -item[1])) + ". "
    return text + (f"On these the product is {min(gains):.2f} to {max(gains):.2f} times as fast as CSR's, {geometric_mean(gains):.2f} in the mean.\n"
                   if gains else "\n")


def gains_panels(table):
    """Speed over CSR of every matrix, those that gain least first: names of matrices would not fit below a picture."""
    panels = []
    for panel, column in table.items():
        names = [name for name in names_of(table) if name != "CSR"]
        gains = {name: [cell[name] / cell["CSR"] for cell in column.values() if cell[name] and cell["CSR"]] for name in names}
        panels.append({"title": f"{panel}: {len(column)} matrices", "sizes": [f"{10 * i}" for i in range(11)],
                       "series": {name: draw.quantiles(values) for name, values in gains.items() if values}})
    return [panel for panel in panels if panel["series"]]


def picture(figure, table, unit):
    if figure.name == "001":
        return draw.speeds(figure.title, gains_panels(table), "% of the matrices, those that gain least first", "times CSR's speed")
    return draw.speeds(figure.title, panels_of(table), figure.across, unit)


def stand_ins_text(figure, cases):
    """Paper 003: rows and entries of its matrices and of what stands for them here. Promoted
    patterns are counted before their entries became blocks. Figure 21's has blocks of its own."""
    if not figure.name.startswith("003"):
        return ""
    lines = ["\nThe paper's matrices (Table II) and what stands for them:\n",
             "| | the paper's rows | entries | rows here | entries | longest row | input |",
             "|---|---|---|---|---|---|---|"]
    smallest = {}
    for case in sorted(cases, key=lambda case: -case["block"]):
        smallest[case["label"].split("\t")[0]] = case
    for name, (rows, entries) in TABLE_II.items():
        if name in smallest:
            case = smallest[name]
            promoted = case["input"].startswith("promote:")
            b, longest = (case["block"], 1) if promoted else (1, case["block"])
            made = re.sub(r"^promote:b=\d+:|,b=1\b", "", case["input"])
            lines.append(f"| {name} | {rows} | {entries} | {case['rows'] // b} | "
                         f"{case['stored'] // b ** 2} | {case['longest_row'] * longest} | "
                         f"`{made}` |")
    return "\n".join(lines) + "\n"


def never_text(figure, table):
    """What the figure does not ask for, where cells are empty."""
    cells = (cell for column in table.values() for cell in column.values())
    if not figure.never or all(value for cell in cells for value in cell.values()):
        return ""
    return f"\nEmpty because the figure does not ask for them: {figure.never}.\n"


def section(figure, name, document, files):
    measured = document["figures"][figure.name]
    cases = measured["cases"]
    table = speeds(figure, cases)
    if not panels_of(table):
        return ""

    def plot(of, drawn):
        slug = re.sub(r"[^a-z0-9]+", "-", f"papers-{of}-{name}".lower())
        files[os.path.join(PLOTS, f"{slug}.svg")] = drawn
        return f"plots/{slug}.svg"
    unit = {"transactions": "GB/s, 2 transactions an element"}.get(figure.speed, figure.speed)
    options = " --quick" * measured["quick"] + (f" --tune {measured['tune']:g}" if measured.get("tune") else "")
    missing = measured["asked"] - len(cases)
    text = f"### {document['machine']}\n\n`bench/papers/run.py {figure.name} --device {measured['device']}{options}`, {unit}. {when(figure, measured)}"
    text += f" {figure.quick}" if measured["quick"] else ""
    text += f" **{measured['note']}**" if "note" in measured else ""
    text += f" {missing} of {measured['asked']} cases found no time." if missing > 0 else ""
    text += f"\n\n![{figure.title}]({plot(figure.name, picture(figure, table, unit))})\n\n" + factors_text(figure, table)
    text += tuned_text(cases) + shapes_text(cases)
    text += stand_ins_text(figure, cases)
    if figure.speed == "transactions":
        found = [[(case, cell_of(table, case).get(name)) for case in cases]
                 for name in ("multiple rows", "multiple rows, tuned")]
        text += "\n" + page_cg.table_3(cases, found)
    if figure.name == "004-cg":
        text += (f"\n![The five kernels](" + plot("004-6", page_cg.kernels_picture(cases)) + ")\n\n" + page_cg.table_2(cases, document["machine"])
                 + page_passes.of_boxes(document["figures"]) + page_cg.model_errors(name))
    if figure.name == "004-10":
        text += page_cg.table_6(cases) + page_passes.of_table_5(cases)
    text += page_refused.text(cases) + never_text(figure, table)
    return text + f"\n<details><summary>all numbers</summary>\n\n{table_text(figure, table)}\n\n</details>\n"


def page(files):
    documents = {os.path.basename(path)[len("papers-"):-len(".json")]: load(path)
                 for path in sorted(glob.glob(os.path.join(HERE, "..", "results", "papers-*.json")))}
    out = ["# The papers' experiments, run again\n",
           "Written by `bench/papers/page.py` from `bench/results/papers-*.json`. [papers.md](../papers.md) says what is implemented where, which "
           "matrices stand for those of the papers, and what is missing. Every speed is from one run in which all kernels of a case took turns, "
           "and is given where the result was right: products are compared with the reference, x of a solver with the residual that it claims, "
           "loaded sums with what they must be. Where that does not hold, the section says so. All speeds of a case count the same work, so that "
           "their quotients are those of times. A cell is empty (–) where a kernel does not take "
           "the matrix, or where the figure does not ask for it. The section says which.\n"]
    for figure in all_figures(False).values():
        sections = [section(figure, name, d, files) for name, d in documents.items() if figure.name in d["figures"]]
        out.append(f"## {figure.title}\n\nThe paper: {figure.paper}\n")
        out += [s for s in sections if s]
        measured = {d["figures"][figure.name]["device"].split(":")[0] for d in documents.values() if figure.name in d["figures"]}
        missing = [device for device in figure.devices if device not in measured]
        out += [f"Not measured yet: `bench/papers/run.py {figure.name} --device {device}`.\n"
                for device in missing]
        out += [map_text()] if figure.name == "004-10" else []
    return "\n".join(out)


def map_path():
    return os.path.join(PLOTS, "papers-004-8-h200.svg")


def map_text():
    return "\n\n".join((
        "## Maps of CG with 4 × 4 blocks (paper 004, Figure 8)",
        prose("""The paper: On one GTX280 at best 20 GFlop/s at 5 million elements. Two GPUs are
            faster from about 2.5 million elements on."""),
        prose(f"""`tessera predict --map map.svg {' '.join(MAP)}`: an H200 and two of them, by the
            library's model. The upper row is at best, the lower one on average."""),
        f"![Maps of CG](plots/{os.path.basename(map_path())})\n"))


def drawn_map(tessera):
    """The map that the command draws; None where it cannot run."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "map.svg")
        try:
            subprocess.run([tessera, "predict", "--map", path, *MAP], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "TESSERA_WISDOM": "off"})
        except OSError:
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail where a file is not what it should be")
    parser.add_argument("--tessera", default=os.path.join(ROOT, "build", "bin", "tessera"),
                        help="the command that draws the map")
    options = parser.parse_args()
    files = {}
    files[PAGE] = page(files)
    drawn = drawn_map(options.tessera)
    if drawn:
        files[map_path()] = drawn
    else:
        print(f"{os.path.relpath(map_path(), ROOT)}: left as it is, {options.tessera} does not run")
    old = []
    for path, made in files.items():
        if not options.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != made:
            old.append(os.path.relpath(path, ROOT))
    if old:
        print(f"{', '.join(old)}: not what the results say; run bench/papers/page.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
