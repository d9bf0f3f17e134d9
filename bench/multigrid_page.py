"""The page of bench/multigrid.py: what a hierarchy's description says, and the tables of the results."""
import glob
import os
import re
import statistics

from report_common import load, table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PAGE = os.path.join(ROOT, "docs", "performance", "multigrid.md")
SOLVER, SINGLE, OTHER = "cg:pc=amg", "cg:pc=amg,pc_type=f32", "cg:pc=bjacobi"


# ---- What a hierarchy's description says ----

def phases(text):
    """{phase: ms} of `set-up 15 ms: plans of A 1, diagonal 1 …`, which has no phases below half a millisecond."""
    line = re.search(r"^set-up \d+ ms: (.*)$", text, re.M)
    return {name: int(ms) for name, ms in re.findall(r"([^,]+?) (\d+)(?:, |$)", line[1])} if line else {}


def complexity(case):
    found = re.search(r"operator complexity ([\d.]+)", case["runs"][-1].get("preconditioner", ""))
    return float(found[1]) if found else None


def by_level(case):
    """Medians of the levels' shares of the cycle's time, in percent."""
    lines = [re.search(r"^time by level: (.*)$", run.get("preconditioner", ""), re.M) for run in case["runs"]]
    shares = [[float(share) for share in re.findall(r"([\d.]+) %", line[1])] for line in lines if line]
    return [statistics.median(level) for level in zip(*shares)]


def median_phases(parts):
    """The phases by their medians, the longest first."""
    names = {name for part in parts for name in part}
    medians = {name: statistics.median(part.get(name, 0) for part in parts) for name in names}
    return ", ".join(f"{name} {ms:.0f}" for name, ms in sorted(medians.items(), key=lambda item: (-item[1], item[0])) if ms >= 1)


# ---- The page ----

INTRO = """# Multigrid

This page is written by `bench/multigrid.py` from `bench/results/multigrid-*.json` and `solve-*.json`; do not edit it.

Time of CG with `pc=amg` to a relative residual of 1e-8 from x = 0. `gen:elasticity` has 3 × 3 blocks and six rigid motions.
`gen:diffusion` has scalars.

A number in **bold** misses its goal. The goals are:

| what | goal |
|---|---|
| elasticity | at most 20 iterations, operator complexity at most 1.25 |
| levels in f32 (`pc_type=f32`) | at most one iteration more; at n = 64 and 100 the solve is at least 1.3 times as fast |
| H200, n = 64, `cg:pc=amg` | set-up at most 80 ms, solve at most 22 ms |
| H200, n = 100, `cg:pc=amg` | set-up at most 250 ms, solve at most 70 ms |
| GPU, n = 64 and 100, levels in f64 and in f32 | the cycles move their bytes at 80 % of the read ceiling or more |
| new values | at most half the time of what the first values took: the set-up for values in the device's memory, plan and set-up for values in the host's |
| diffusion with jumps | at most twice the iterations of the smooth problem |
| CPU, elasticity, n = 40 and 64 | set-up and solve together at most 0.7 times AMGCL's best and 0.5 times GAMG's |
| CPU, diffusion | set-up and solve together not slower than AMGCL's best and than PyAMG |

On a GPU the cycle runs on the device. So do the set-up's diagonals, eigenvalue estimates, strengths, groups, QR, patterns and
products, and the inverse of the bottom where it is definite. Coarse levels have little to read, so their products wait for launches. The
share of the read ceiling is therefore lower for small systems. Chebyshev's interval begins at an eighth of the largest
eigenvalue. What lies below is left to the coarse level.

    python3 bench/multigrid.py --name NAME --bin build/bin --device cuda
    ./run bench-solve multigrid && ./run bench-solve poisson && python3 bench/multigrid.py
"""

COLUMNS = """Medians of the rounds; in brackets the least and the most. *of read*: all bytes of the solve over its time, as a share
of the read ceiling; the time has the way of b and x between host and device in it. *cycles, of read*: the same of the multigrid
cycles alone. On a GPU and at the two largest n the solve's start is not in it, where iterations are timed and captured: an iteration takes a
tenth of what 14 iterations take longer than 4, and the cycle has the share of it that clocks between the launches say. *f32 gains*: solve of `cg:pc=amg` over this solve.
"""

ON_GPU = """### Beside AMGCL on the same GPU

Elasticity: set-up + solve in ms and, in brackets, iterations. AMGCL's CUDA backend has scalars, six rigid motions and Chebyshev's polynomial
of its default degree, and sets up on the host. It takes turns with the solvers above; medians of the rounds.
"""

SET_UPS = """`tessera_bench_setup`, one process, ms: set-ups, then new values in the same pattern from the host's memory and from the
device's. Each is done four times. The first is not counted: kernels may be compiled in it. *Plan*: of A, made once.
*share*: over the set-up. *of both*: over plan and set-up together. Values in the host's memory cross to the device when the plan is made,
and not in the set-up; new ones cross each time, which is the difference between the two.
"""


def bold(text, missed):
    return f"**{text}**" if missed else text


def thousands(number):
    return f"{number:,}".replace(",", " ")


def digits(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else thousands(round(value))


def edge(given):
    return int(re.search(r"n=(\d+)", given)[1])


def median(case, key):
    """The median of the runs that have this number: a missing residual is null."""
    return statistics.median([run[key] for run in case["runs"] if run[key] is not None] or [float("nan")])


def spread(case, key, goal=None):
    """The median in ms and the range."""
    ms = sorted(1e3 * run[key] for run in case["runs"])
    middle = statistics.median(ms)
    return bold(digits(middle), goal is not None and middle > goal) + f" ({digits(ms[0])}–{digits(ms[-1])})"


def iterations(case, most=None):
    """One number if all runs agree. A run that was not solved is a miss."""
    counts = sorted({run["iterations"] for run in case["runs"]})
    reasons = sorted({run["reason"] for run in case["runs"] if not run["solved"]})
    text = "–".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return bold(", ".join([text] + reasons), reasons or (most is not None and counts[-1] > most))


def share_text(shares, goal=None):
    return bold(f"{100 * statistics.median(shares):.1f} %", goal and statistics.median(shares) < goal) if shares else "–"


def of_read(case):
    return share_text([run["gb_per_s"] / run["read_gb_per_s"] for run in case["runs"] if run["read_gb_per_s"]])


def cycles_of_read(case, goal):
    """The share of the read ceiling that the cycles reach: their bytes over their share of an iteration's time."""
    found = [(re.search(r"^memory of the cycles: ([\d.e+]+) GB/s$", run.get("preconditioner", ""), re.M), run) for run in case["runs"]]
    alone = sorted(case.get("iteration_seconds", []))
    shares = []
    for line, run in found:
        if line and run["read_gb_per_s"]:
            whole = sum(run[f"seconds_{part}"] for part in ("spmv", "pc", "dots", "vectors")) / run["iterations"]
            shares.append(float(line[1]) / run["read_gb_per_s"] * (whole / statistics.median(alone) if alone else 1))
    text = share_text(shares, goal)
    if not alone or not shares:
        return text
    least, most = (100 * statistics.median(shares) * statistics.median(alone) / seconds for seconds in (alone[-1], alone[0]))
    return f"{text} ({least:.1f}–{most:.1f})"


def complexity_of(case, goal=None):
    number = complexity(case)
    return bold(f"{number:.3f}", goal is not None and number > goal) if number else "–"


def elasticity_row(case, double, machine):
    n, amg = edge(case["input"]), case["solver"] != OTHER
    single = case["solver"] == SINGLE
    set_up, solve = {64: (80, 22), 100: (250, 70)}.get(n, (None, None)) if case["solver"] == SOLVER and "H200" in machine["device"] else (None, None)
    gain = median(double, "seconds") / median(case, "seconds") if single and double else None
    most = 20 if amg else None
    if single and double:
        most = min(20, median(double, "iterations") + 1)
    return [str(n), thousands(case["rows"]), f"`{case['solver']}`", complexity_of(case, 1.25), iterations(case, most),
            spread(case, "setup_seconds", set_up), spread(case, "seconds", solve),
            of_read(case), cycles_of_read(case, 0.8 if amg and n in (64, 100) and case["device"] == "cuda" else None),
            bold(f"{gain:.2f}", n in (64, 100) and gain < 1.3) if gain else "", f"{median(case, 'true_residual'):.1e}"]


def elasticity(document):
    cases = [c for c in document["cases"] if "elasticity" in c["input"]]
    doubles = {c["input"]: c for c in cases if c["solver"] == SOLVER}
    head = ["n", "unknowns", "solver", "complexity", "iterations", "set-up ms", "solve ms", "of read", "cycles, of read", "f32 gains",
            "true residual"]
    text = "\n### Elasticity\n\n" + COLUMNS + "\n" + table(head, [elasticity_row(c, doubles.get(c["input"]), document["machine"]) for c in cases])
    levels = [[str(edge(c["input"])), f"`{c['solver']}`", ", ".join(f"{share:.0f} %" for share in by_level(c)),
               median_phases([phases(run["preconditioner"]) for run in c["runs"]])] for c in cases if by_level(c)]
    if levels:
        text += "\nWhere the time goes: the cycle's by level, the finest first, and the set-up's phases of a millisecond or more.\n\n"
        text += table(["n", "solver", "cycle by level", "set-up ms"], levels)
    return text


def set_up_rows(document):
    for s in document["set_ups"]:
        set_up = statistics.median(s["setup_ms"][1:])
        row = [str(edge(s["input"])), thousands(s["rows"]), f"{digits(set_up)} ({digits(min(s['setup_ms'][1:]))}–{digits(max(s['setup_ms'][1:]))})"]
        row.append(digits(s["plan_ms"]))
        host, device = (statistics.median(s[key][1:]) if key in s else None for key in ("host_ms", "device_ms"))
        both = s["plan_ms"] + set_up
        row += [digits(host), f"{host / set_up:.2f}", bold(f"{host / both:.2f}", host > both / 2)] if host else ["–"] * 3
        row += [digits(device), bold(f"{device / set_up:.2f}", device > set_up / 2)] if device else ["–"] * 2
        yield row + [median_phases([s["setup_phases_ms"]]), median_phases([s["update_phases_ms"]])]


def diffusion(document):
    rows, smooth = [], {c["input"]: c for c in document["cases"] if "," not in c["input"]}
    for c in (c for c in document["cases"] if "diffusion" in c["input"]):
        base = smooth.get(c["input"].split(",")[0])
        ratio = median(c, "iterations") / median(base, "iterations") if base and base is not c else None
        rows.append([f"`{c['input']}`", thousands(c["rows"]), complexity_of(c), iterations(c),
                     bold(f"{ratio:.2f}", "jump" in c["input"] and ratio > 2) if ratio else "", spread(c, "setup_seconds"), spread(c, "seconds"),
                     of_read(c), f"{median(c, 'true_residual'):.1e}"])
    head = ["problem", "unknowns", "complexity", "iterations", "of smooth", "set-up ms", "solve ms", "of read", "true residual"]
    return ("\n### Diffusion, `cg:pc=amg`\n\nEvery other box conducts `jump` times better. Along x all conduct `aniso` times better than along "
            "y and z. *of smooth*: iterations over those of the smooth problem.\n\n" + table(head, rows)) if rows else ""


def beside_on_gpu(document):
    """AMGCL's CUDA backend beside ours."""
    ours = {c["input"]: c for c in document["cases"] if c["solver"] == SOLVER}
    rows = []
    for peer in document.get("peers", []):
        case = ours.get(peer["input"])
        if not case:
            continue
        mine = [1e3 * median(case, key) for key in ("setup_seconds", "seconds")]
        theirs = [1e3 * statistics.median(peer[key]) for key in ("setup_seconds", "solve_seconds")]
        rows.append([str(edge(peer["input"])), thousands(case["rows"])]
                    + [f"{digits(ms[0])} + {digits(ms[1])} ({count})" for ms, count in ((mine, median(case, "iterations")), (theirs, peer["iterations"]))]
                    + [f"{mine[1] / theirs[1]:.2f}", f"{sum(mine) / sum(theirs):.3f}", f"{peer['true_residual']:.1e}"])
    head = ["n", "unknowns", "Tessera", "AMGCL CUDA", "solve to solve", "both to both", "AMGCL's true residual"]
    return "\n" + ON_GPU + "\n" + table(head, rows) if rows else ""


def section(name, document):
    machine = document["machine"]
    text = (f"\n## {name}\n\n{machine['device']}; {machine['processor']}, {machine['processors']} processors; {machine['system']}, {machine['compiler']}. "
            f"Revision {document['revision']}, {document['date']}, {document['rounds']} rounds"
            f" ([multigrid-{name}.json](../../bench/results/multigrid-{name}.json)). {document['note']}".rstrip() + "\n" + elasticity(document))
    rows = list(set_up_rows(document))
    if rows:
        head = ["n", "unknowns", "set-up", "plan", "host's values", "share", "of both", "device's values", "share", "phases of a set-up",
                "phases of new values"]
        text += "\n### Set-up and new values\n\n" + SET_UPS + "\n" + table(head, rows)
    failed = ", ".join(f"`{what}`" for what in document["failed"])
    return text + diffusion(document) + beside_on_gpu(document) + (f"\n**Without a report:** {failed}.\n" if failed else "")


# ---- Beside other libraries, from bench/solve/suite.py ----

PEERS = ["AMGCL SPAI(0)", "AMGCL ILU(0)", "PETSc GAMG", "PETSc hypre", "PyAMG"]
BESIDE = """
## Beside other libraries

Set-up + solve in ms and, in brackets, iterations: medians of `./run bench-solve`, all libraries in turn in one run
([solvers.md](solvers.md) says how each is used). *to*: Tessera's set-up and solve over the other's.
"""


def total(result):
    return result["setup_seconds"] + result["solve_seconds"]


def to(ours, others, goal):
    if not others:
        return "–"
    ratio = total(ours) / min(map(total, others))
    return bold(f"{ratio:.2f}", goal is not None and ratio > goal)


def beside_row(case):
    family, n, _ = case["name"].split(":", 2)
    ours, peers = next(r for r in case["results"] if not r["peer"]), {r["peer"]: r for r in case["results"] if r["peer"]}
    cells = [f"{1e3 * r['setup_seconds']:.0f} + {1e3 * r['solve_seconds']:.0f} ({r['iterations']})" if r else "–"
             for r in [ours] + [peers.get(name) for name in PEERS]]
    scalar, goals = family == "poisson", family == "multigrid" and n in ("40", "64")
    amgcl = [r for name, r in peers.items() if name.startswith("AMGCL")]
    gamg, pyamg = ([peers[name]] if name in peers else [] for name in ("PETSc GAMG", "PyAMG"))
    return [n, thousands(case["rows"])] + cells + [to(ours, amgcl, 1 if scalar else 0.7 if goals else None), to(ours, gamg, 0.5 if goals else None),
                                                   to(ours, pyamg, 1 if scalar else None)]


def beside(name, document):
    text, machine = "", document["machine"]
    head = ["n", "unknowns", "Tessera", *PEERS, "to AMGCL's best", "to GAMG", "to PyAMG"]
    for family, title in (("multigrid", "`gen:elasticity`, 3 × 3 blocks"), ("poisson", "`gen:diffusion`, scalars")):
        cases = [c for c in document["cases"] if c.get("name", "").startswith(family + ":") and c["name"].endswith(":cg:amg")]
        if not cases:
            continue
        runs = sorted({r["runs"] for c in cases for r in c["results"]})
        at = sorted({(c.get("revision", f"Tessera {machine['tessera']}"), c.get("date", machine["date"])) for c in cases})
        text += (f"\n{title}: " + "; ".join(f"revision {r}, {date}" if not r.startswith("Tessera") else f"{r}, {date}" for r, date in at)
                 + f"; medians of {'–'.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs.\n\n"
                 + table(head, map(beside_row, sorted(cases, key=lambda c: c["rows"]))))
    return text and f"\n### {name}\n\n{machine['processor']}, {machine['device']}; {machine['compiler']}.\n{text}"


def pages():
    """{path: text}; nothing without results of this program."""
    def documents(kind):
        found = {os.path.basename(path)[len(kind) + 1:-len(".json")]: load(path) for path in sorted(glob.glob(os.path.join(RESULTS, f"{kind}-*.json")))}
        return [(name, document) for name, document in found.items() if document.get("cases")]
    measured = documents("multigrid")
    others = "".join(beside(name, document) for name, document in documents("solve"))
    text = INTRO + "".join(section(name, document) for name, document in measured) + (BESIDE + others if others else "")
    return {PAGE: text} if measured else {}
