#!/usr/bin/env python3
"""Solves every square real matrix of a collection with `tessera solve FILE`, no options, with and without SuiteSparse.

    bench/solve/auto.py MATRICES --name NAME [--scipy PYTHON]                measures, then writes the page
    bench/solve/auto.py MATRICES --name h200 --device cuda --min-rows 10000  the same on a GPU, larger matrices only
    bench/solve/auto.py                                                      writes the page from the results alone

bench/results/auto-NAME.json has the results, matrix by matrix as they come; docs/performance/solvers-collection.md is made from
all such files. An interrupted run goes on where it ended, and --runs may be measured one after the other. MATRICES is
a directory of NAME.mtx.gz; b is A times ones. Systems that the command calls solved are checked: x is read back and |b - Ax| / |b|
computed here. --scipy adds SuperLU and GMRES + ILUTP in the same run, by a Python that has SciPy (as of an
environment: python3 -m venv E && E/bin/pip install scipy). Standard library only otherwise."""
import argparse
import datetime
import glob
import gzip
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import draw  # noqa: E402

WITHIN = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60)  # seconds, of the picture
PLOTS = os.path.join(ROOT, "docs", "performance", "plots")
PAGE = os.path.join(ROOT, "docs", "performance", "solvers-collection.md")
RESULTS = os.path.join(ROOT, "bench", "results", "auto-%s.json")
ILUT = "pc=ilut,pivot=0.1,scale=match,order=rcm"
# Solvers that a user would choose by hand: those of symmetric matrices, and those of others.
HAND = {True: ["cg:pc=bjacobi", "cg:pc=ick,scale=equilibrate", "minres:scale=equilibrate", "gmres:restart=60," + ILUT,
               "gmres:restart=60," + ILUT + ",drop=1e-6,fill=50"],
        False: ["bicgstab:pc=ilu0", "gmres:restart=60,pc=ilu0", "gmres:restart=60," + ILUT,
                "gmres:restart=60," + ILUT + ",drop=1e-6,fill=50"]}
HAND_SECONDS, SCIPY_SECONDS, REPEAT_SECONDS = 20, 40, 5
SCIPY = {"splu": "SuperLU", "gmres": "GMRES + ILUTP"}
TITLES = {"off": "without SuiteSparse", "on": "with SuiteSparse"}


def open_text(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")


def read_entries(path):
    """Rows, columns and (row, column, value) of a Matrix Market file; patterns count as ones. None: complex."""
    with open_text(path) as file:
        header = file.readline().lower().split()
        if header[3] == "complex":
            return None
        sign = {"symmetric": 1, "skew-symmetric": -1}.get(header[4])
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        rows, columns = map(int, line.split()[:2])
        entries = []
        for line in file:
            word = line.split()
            if word:
                i, j, value = int(word[0]) - 1, int(word[1]) - 1, float(word[2]) if len(word) > 2 else 1.0
                entries.append((i, j, value))
                if sign and i != j:
                    entries.append((j, i, sign * value))
    return rows, columns, entries


def is_symmetric(entries):
    values = {}
    for i, j, value in entries:
        values[i, j] = values.get((i, j), 0) + value
    return all(value == values.get((j, i), 0) for (i, j), value in values.items())


def true_residual(rows, entries, solution):
    """|b - Ax| / |b| by plain loops, b = A times ones."""
    if not os.path.exists(solution):
        return None
    with open_text(solution) as file:
        x = [float(line) for line in file if not line.startswith("%") and len(line.split()) == 1]
    b, r = [0.0] * rows, [0.0] * rows
    for i, j, value in entries:
        b[i] += value
        r[i] += value * (1 - x[j])
    norm = math.sqrt(math.fsum(v * v for v in b))
    found = math.sqrt(math.fsum(v * v for v in r)) / norm if norm > 0 else max(map(abs, x))
    return found if math.isfinite(found) else None


def environment(suitesparse):
    return dict(os.environ, TESSERA_WISDOM="off", **({} if suitesparse else {"TESSERA_SUITESPARSE": "off"}))


def solve(options, path, system, suitesparse, spec=None, limit=None):
    """Solves by auto or by a spec. None: not within the limit. On a GPU the second run counts, as the first one compiles kernels."""
    result = run_once(options, path, system, suitesparse, spec, limit)
    short_one = result is not None and result["wall"] < REPEAT_SECONDS
    return run_once(options, path, system, suitesparse, spec, limit) if short_one and options.device != "cpu" else result


def run_once(options, path, system, suitesparse, spec, limit):
    with tempfile.TemporaryDirectory() as folder:
        solution = os.path.join(folder, "x.mtx")
        command = [os.path.join(options.bin, "tessera"), "solve", path, "--device", options.device, "--json", "--out", solution]
        if options.device == "cpu":
            command += ["--threads", str(options.threads)]
        if spec:
            method, _, keys = spec.partition(":")
            pc = re.search("pc=([a-z0-9]+)", keys)
            command += ["--method", method, "--pc", pc.group(1) if pc else "none"]
            rest = ",".join(key for key in keys.split(",") if key and not key.startswith("pc="))
            command += ["--options", rest] if rest else []
        started = time.monotonic()
        try:
            done = subprocess.run(command, env=environment(suitesparse), capture_output=True, text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        wall = time.monotonic() - started
        if not done.stdout:
            return {"solved": False, "reason": done.stderr.strip(), "seconds": wall, "wall": wall, "solver": spec, "tried": [], "true": None}
        result = json.loads(done.stdout)
        return {"solved": result["solved"], "reason": result["reason"], "text": result["text"], "solver": result["solver"],
                "seconds": result["seconds"] + result["setup_seconds"], "wall": wall, "tried": result.get("tried", []),
                "true": true_residual(system[0], system[2], solution)}


def best_by_hand(options, path, system, auto):
    """The fastest spec of the list that solves the matrix. One that takes longer than auto is stopped."""
    best, tried = None, []
    for spec in HAND[is_symmetric(system[2])]:
        limit = min(HAND_SECONDS, auto["wall"] * 1.2 + (0.5 if options.device == "cpu" else 5)) if auto["solved"] else HAND_SECONDS
        result = solve(options, path, system, False, spec, limit)
        tried.append([spec, None if result is None else result["reason"], None if result is None else result["seconds"]])
        if result and result["solved"] and (not best or result["seconds"] < best["seconds"]):
            best = {"spec": spec, "seconds": result["seconds"]}
    return {"best": best, "tried": tried}


def scipy_solves(options, path):
    """Residual and seconds of SciPy. Each solver is a process of its own; the limit includes reading."""
    found = {}
    for which in SCIPY:
        command = [options.scipy, os.path.join(ROOT, "bench", "solve", "scipy_direct.py"), path, which]
        try:
            done = subprocess.run(command, env=dict(os.environ, OMP_NUM_THREADS=str(options.threads)), capture_output=True, text=True,
                                  check=False, timeout=SCIPY_SECONDS)
            found[which] = json.loads(done.stdout) if done.stdout else {"error": done.stderr.strip()[-200:] or "ended by signal"}
        except subprocess.TimeoutExpired:
            found[which] = {"error": f"not within {SCIPY_SECONDS} s"}
    return found


def measure(options):
    names = sorted(name[:-len(".mtx.gz")] for name in os.listdir(options.matrices) if name.endswith(".mtx.gz"))
    log = {"name": options.name, "device": options.device, "threads": options.threads, "date": str(datetime.date.today()),
           "revision": subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                                      check=False).stdout.strip(),
           "min_rows": options.min_rows, "load": os.getloadavg()[0], "matrices": {}}
    if os.path.exists(RESULTS % options.name): # continues a run that was begun
        with open(RESULTS % options.name, encoding="utf-8") as file:
            before = json.load(file)
        if all(before[key] == log[key] for key in ("revision", "device", "threads", "min_rows")):
            log = before
    for name in names:
        if options.only and name not in options.only:
            continue
        path = os.path.join(options.matrices, name + ".mtx.gz")
        found = log["matrices"].get(name, {})
        keys = [key for key in options.runs.split(",") + ["scipy"] * bool(options.scipy) if key not in found]
        system = read_entries(path) if keys else None
        if not system or system[0] != system[1] or system[0] < options.min_rows:
            continue
        found["rows"] = system[0]
        for key in keys:
            if key == "hand":
                found["hand"] = best_by_hand(options, path, system, found["off"])
            elif key == "scipy":
                found["scipy"] = scipy_solves(options, path)
            else:
                found[key] = solve(options, path, system, key == "on")
        log["matrices"][name] = found
        print(name, *("%s %s %.2f s" % (key, told(found[key]), found[key]["seconds"]) for key in TITLES if key in found),
              found.get("hand", {}).get("best"), sep=" | ", flush=True)
        with open(RESULTS % options.name, "w", encoding="utf-8") as file:
            json.dump(log, file, indent=0)


# ---- The page ----

INTRO = """# Solvers: `tessera solve FILE` over a collection

This page is written by `bench/solve/auto.py` from `bench/results/auto-*.json`; do not edit it.

Square real matrices, no options, b = A·1, |b − Ax| ≤ 1e-8 |b|. Every x is read back from the file that was written, and its residual
computed by plain loops: "false claims" are solutions of which that residual is larger. Seconds are those of the solve, all attempts
included, without reading the file. On a GPU a run of less than {repeat} s is made twice and the second counts, since the first
compiles the kernels that are not in the cache. [solving.md](../solving.md) says what is tried, and when.

* "best by hand": the fastest of these specs that solves the matrix in at most {hand} s, without SuiteSparse. One that takes longer than
  auto is not waited for, since it is not the best. Symmetric matrices: {symmetric}. Others: {other}.
* SuperLU, GMRES + ILUTP: SciPy's `splu` with one step of refinement, and GMRES(50) with `spilu` (drop 1e-4, fill 10), {scipy} s each, in
  the same run: the residual, and the seconds without reading the file. "singular", "fail" and residuals alone: measured earlier, apart.

![Matrices solved within a time](plots/solvers-collection.svg)
"""


def short(spec):
    """cg:pc=ick,scale=equilibrate -> cg+ick."""
    method, _, keys = spec.partition(":")
    pc = re.search("pc=([a-z0-9]+)", keys)
    drop = re.search("drop=([^,]+)", keys)
    return method + ("+" + pc.group(1) if pc else "") + (" drop=" + drop.group(1) if drop else "")


def told(result):
    return short(result["solver"]) if result["solved"] else f"**{result['reason']}** {result['true'] or float('nan'):.0e}"


def attempts(result):
    """Attempts before the last: spec and reason, from lines like "cg:pc=bjacobi (why): REASON, ..."."""
    lines = [re.match(r"(\S+) \(.*?\): ([A-Z_]+)?", line) for line in result["tried"][:-1]]
    return "; ".join(short(line.group(1)) + " " + (line.group(2) or "not set up").lower() for line in lines if line)


def scipy_cell(matrix, which, before):
    """Residual and seconds of SciPy, from another run where this one had no SciPy."""
    result = matrix.get("scipy", {}).get(which)
    if not result:
        return before
    if result.get("residual") is None:
        return "singular" if "singular" in result.get("error", "") else "late" if "not within" in result.get("error", "") else "fail"
    return f"{result['residual']:.1e}, {result['seconds']:.2f} s"


def scipy_rows(found):
    """Lines of the summary: those that SciPy solves to the tolerance."""
    text = ""
    for which, title in SCIPY.items():
        rows = [m["scipy"][which] for m in found.values() if "scipy" in m]
        solved = [r["seconds"] for r in rows if r.get("residual") is not None and r["residual"] <= 1e-8]
        if rows:
            median, longest = (f"{statistics.median(solved):.3f}", f"{max(solved):.1f}") if solved else ("", "")
            text += f"| SciPy: {title}; seconds of those solved | {len(solved)} of {len(rows)} | | {median} | {longest} |\n"
    return text


def is_false(result):
    return result["solved"] and not (result["true"] is not None and result["true"] <= 1.0000001e-8)


def picture(logs):
    """How many matrices are solved within a time, one panel per machine."""
    panels = []
    for log in logs:
        found = list(log["matrices"].values())
        times = {f"Tessera, {title}": [m[key]["seconds"] for m in found if key in m and m[key]["solved"]] for key, title in TITLES.items()}
        times["best by hand"] = [m["hand"]["best"]["seconds"] for m in found if m.get("hand", {}).get("best")]
        for which, title in SCIPY.items():
            rows = [m["scipy"][which] for m in found if which in m.get("scipy", {})]
            times[f"SciPy: {title}"] = [r["seconds"] for r in rows if r.get("residual") is not None and r["residual"] <= 1e-8]
        series = {name: [sum(t <= limit for t in values) for limit in WITHIN] for name, values in times.items() if values}
        panels.append({"title": f"{log['name']}: {len(found)} matrices", "sizes": WITHIN, "series": series})
    return draw.speeds("Matrices solved within a time", panels, "seconds, reading the file not counted", "matrices solved within")


def others(log):
    """The matrices of another run."""
    found = {name: m["revision"] for name, m in log["matrices"].items() if "revision" in m}
    return " Of another run, whose first solve counts: " + ", ".join(f"{name} ({r})" for name, r in found.items()) + "." if found else ""


def section(log):
    found = log["matrices"]
    text = (f"\n## {log['name']}: `--device {log['device']}`" + (f", {log['threads']} threads" if log["device"] == "cpu" else "") +
            f"\n\nRevision {log['revision']}, {log['date']}. Load of the machine at the start: {log['load']:.1f}." +
            (f" Matrices of {log['min_rows']} rows and more." if log["min_rows"] else "") + others(log) + "\n\n"
            "| | solved | false claims | median s | longest s |\n|---|---|---|---|---|\n")
    for key, title in TITLES.items():
        rows = [matrix[key] for matrix in found.values() if key in matrix]
        if rows:
            text += (f"| {title} | {sum(r['solved'] for r in rows)} of {len(rows)} | {sum(map(is_false, rows))} | "
                     f"{statistics.median(r['seconds'] for r in rows):.3f} | {max(r['seconds'] for r in rows):.1f} |\n")
    text += scipy_rows(found)
    both = [m for m in found.values() if m.get("hand", {}).get("best") and m["off"]["solved"]]
    if both:
        auto, hand = [[f(m) for m in both] for f in (lambda m: m["off"]["seconds"], lambda m: m["hand"]["best"]["seconds"])]
        text += (f"\nThe {len(both)} matrices that auto (without SuiteSparse) and a spec picked by hand solve: median {statistics.median(auto):.3f} s "
                 f"by auto, {statistics.median(hand):.3f} s by hand, a ratio of {statistics.median(auto) / statistics.median(hand):.2f}; the median of "
                 f"the ratios is {statistics.median(a / max(h, 1e-6) for a, h in zip(auto, hand)):.2f}.\n")
        lost = sum(1 for m in found.values() if m.get("hand", {}).get("best") and not m["off"]["solved"])
        more = sum(1 for m in found.values() if "hand" in m and not m["hand"]["best"] and m["off"]["solved"])
        text += f"By hand alone: {lost}; by auto alone: {more}.\n"
    text += ("\n| matrix | rows | tried before (without) | without | s | tried before (with) | with | s | best by hand | s | SuperLU | GMRES + ILUTP |\n"
             "|---|---|---|---|---|---|---|---|---|---|---|---|\n")
    for name, matrix in found.items():
        cells = [name, str(matrix["rows"])]
        for key in TITLES:
            result = matrix.get(key)
            cells += [attempts(result), told(result), f"{result['seconds']:.2f}"] if result else ["", "", ""]
        best = matrix.get("hand", {}).get("best")
        cells += [short(best["spec"]), f"{best['seconds']:.2f}"] if best else ["", ""]
        cells += [scipy_cell(matrix, which, log.get("others", {}).get(name, ["", ""])[i]) for i, which in enumerate(SCIPY)]
        text += "| " + " | ".join(cells) + " |\n"
    return text


def write_page():
    text = INTRO.format(hand=HAND_SECONDS, scipy=SCIPY_SECONDS, repeat=REPEAT_SECONDS, symmetric=", ".join(f"`{spec}`" for spec in HAND[True]),
                        other=", ".join(f"`{spec}`" for spec in HAND[False]))
    logs = []
    for path in sorted(glob.glob(RESULTS % "*")):
        with open(path, encoding="utf-8") as file:
            logs.append(json.load(file))
        text += section(logs[-1])
    with open(os.path.join(PLOTS, "solvers-collection.svg"), "w", encoding="utf-8") as file:
        file.write(picture(logs))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    print(os.path.relpath(PAGE, ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="\n".join(__doc__.split("\n")[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="?")
    parser.add_argument("--name", help="of the machine, in the results' file")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--min-rows", type=int, default=0)
    parser.add_argument("--scipy", help="a Python with SciPy, which is measured beside")
    parser.add_argument("--only", action="append", help="a matrix, by name; may be given again")
    parser.add_argument("--runs", default="off,on,hand", help="off and on: without and with SuiteSparse; hand: specs picked by hand")
    options = parser.parse_args()
    if options.matrices and not options.name:
        parser.error("--name is needed")
    if options.matrices:
        measure(options)
    write_page()


if __name__ == "__main__":
    main()
