"""docs/performance/NAME.md and its picture from bench/results/NAME.json of a GPU: no number is typed by hand.

The goals of the page are data here (goal_of, GOALS). The page lists the cases that did not reach them,
judged by the kernel that a plan chooses without measuring.
"""
import draw
from report_cuda_families import families, reasons
from report_common import fastest, geometric_mean, good, share, table

STENCILS = ("stencil27", "stencil7")
GOALS = {"stencils' mean ratio": 1.55, "SpMM, a vector": 4.0}
SINCE = ("sell",)  # paths of cuSPARSE that were added after the goals were set
TITLES = {"stencil27": "27-point stencil", "stencil7": "7-point stencil", "powerlaw": "Power-law rows, random columns",
          "promoted": "Real patterns, every entry a block"}

INTRO = """# Speed on {name}

This page is written by `bench/report.py` from `bench/results/{file}.json`; do not edit it.

y = A x.

* **GB/s** are the bytes that a block format must move over the median time, for everybody: values, 4 bytes a block
  for its column, 4 bytes a block row, x and y once. Padding is not counted. So a ratio of GB/s is a ratio of times.
* **% of read** is the share of the fastest plain reading of as many bytes, best of several access patterns, measured
  in the same rounds.
* **Rounds.** Our kernels, cuSPARSE and the reading take turns in seven rounds of one process, timed with the device's
  events{beside}. Every result is verified against the reference backend there, and ours must repeat bit for bit.
* **The chosen kernel** is what a plan takes without measuring (ESTIMATE). **The best** is the fastest of its few
  neighbours that were tried. Parameters at the value that changes nothing are left out of a kernel's name.
* **cuSPARSE** runs as legacy bsrmv and generic SpMV on BSR, both with row- and column-major blocks, and as generic SpMV
  on CSR with both algorithms, preprocessed, and on sliced ELL (`sell`). The best of these is the peer. The goal for the
  stencils' mean was set before sliced ELL was among them: it is judged on BSR and CSR, with the other mean beside it.
"""

SCATTERED = """
With random columns every block needs a piece of x of its own, and L2 delivers it in sectors of 32 bytes. Beside each
block's 8 b² + 4 bytes go 32 bytes at b = 2 (half of them unused) and 48 on average at b = 3, a share that falls with b.
`swept` reads x from memory once a round of thread blocks. It reads the matrix without a byte of padding or of row
lengths, and writes y once. What is left is the traffic between L2 and the SMs. The measurements behind this are in
[notes-h200.md](notes-h200.md).
"""

PLAIN = {"sigma=1", "lambda=0", "panels=1", "V=1", "xv=1", "tpr=1"}


def kernel_name(result):
    """The kernel's name without parameters of `sliced` at values that change nothing."""
    params = [p for p in result["params"].split(",") if p and p not in PLAIN]
    return f"`{result['kernel']} {','.join(params)}`" if params else f"`{result['kernel']}`"


def chosen(case):
    return next((r for r in good(case, False) if r["default"]), None) or fastest(good(case, False))


def goal_of(case):
    """The share of the read ceiling that the chosen kernel is to reach; None: no such goal."""
    part, b = case["case"]["part"], case["case"]["b"]
    if part in STENCILS:
        return 0.85 if case["case"]["type"] == "f32" else 0.90 if b <= 16 else 0.88
    if part == "powerlaw":
        return 0.80 if b >= 5 else 0.75 if b >= 3 else 0.65
    return None


def case_name(case):
    c = case["case"]
    return " ".join(w for w in (c["part"], f"b={c['b']}", c["type"], c["label"]) if w)


def is_of_run(document, case):
    """Returns whether the case belongs to the page's run. Cases without a revision do."""
    return case["case"].get("revision") in (None, document.get("revision"))


def ratio_of(case, without=()):
    mine, peer = chosen(case), fastest([r for r in good(case, True) if r["kernel"] not in without])
    return peer["seconds"] / mine["seconds"] if mine and peer else None


def comparison(cases, labelled=False):
    """One row per case: the chosen kernel, the best of ours, the best of cuSPARSE."""
    rows = []
    for case in cases:
        mine, best, peer = chosen(case), fastest(good(case, False)), fastest(good(case, True))
        if not mine:
            rows.append([str(case["case"]["b"])] + ["–"] * (9 if labelled else 8))
            continue
        row = ([case["case"]["label"]] if labelled else []) + [str(case["case"]["b"]), f"{case['matrix']['bytes'] / 1e6:.0f}"]
        row += [kernel_name(mine), f"{1e6 * mine['seconds']:.1f}", f"{mine['GBps']:.0f}", share(mine), share(best)]
        row += [peer["kernel"], share(peer), f"{ratio_of(case):.2f}"] if peer else ["–", "–", "–"]
        rows.append(row)
    head = ["b", "MB", "chosen kernel", "µs", "GB/s", "% of read", "best of ours", "best of cuSPARSE", "% of read", "ratio"]
    return table((["size"] if labelled else []) + head, rows)


def mean_ratio(cases, without=()):
    ratios = [ratio_of(c, without) for c in cases if c["case"]["part"] in STENCILS and c["case"]["type"] == "f64" and ratio_of(c, without)]
    return (geometric_mean(ratios), len(ratios)) if ratios else (None, 0)


def by_pattern(cases):
    """One row per pattern: for every block size the megabytes, the share of the read ceiling and the ratio."""
    sizes, rows = sorted({c["case"]["b"] for c in cases}), []
    for label in dict.fromkeys(c["case"]["label"] for c in cases):
        row = [label]
        for b in sizes:
            found = [c for c in cases if (c["case"]["label"], c["case"]["b"]) == (label, b)]
            mine = chosen(found[0]) if found else None
            row += [f"{found[0]['matrix']['bytes'] / 1e6:.1f}", share(mine), f"{ratio_of(found[0]):.2f}" if ratio_of(found[0]) else "–"] if mine else ["–"] * 3
        rows.append(row)
    return table(["pattern"] + [text for b in sizes for text in (f"b={b}: MB", "% of read", "ratio")], rows)


def single_precision(cases):
    rows = []
    for b in sorted({c["case"]["b"] for c in cases}):
        row = [str(b)]
        for part in STENCILS:
            found = [c for c in cases if c["case"]["b"] == b and c["case"]["part"] == part]
            mine = chosen(found[0]) if found else None
            row += [kernel_name(mine), f"{mine['GBps']:.0f}", share(mine),
                    share(fastest(good(found[0], False)))] if mine else ["–"] * 4
        rows.append(row)
    columns = ["kernel", "GB/s", "% of read", "best of ours"]
    return table(["b"] + [f"27-point: {columns[0]}"] + columns[1:] + [f"7-point: {columns[0]}"] + columns[1:], rows)


def spmv_beside(case, cases):
    """The chosen SpMV on the same matrix."""
    same = [c for c in cases if c["case"]["part"] == "stencil27" and c["case"]["b"] == case["case"]["b"]
            and c["case"]["type"] == case["case"]["type"]]
    return chosen(same[0]) if same else None


def gain_a_vector(case, cases):
    mine, base = chosen(case), spmv_beside(case, cases)
    vectors = int(case["product"].split(":")[1])
    return vectors * base["seconds"] / mine["seconds"] if mine and base else None


def several_vectors(some, cases):
    rows = []
    for case in some:
        mine, base, gain = chosen(case), spmv_beside(case, cases), gain_a_vector(case, cases)
        if gain:
            vectors = int(case["product"].split(":")[1])
            rows.append([str(case["case"]["b"]), str(vectors), kernel_name(mine), f"{1e6 * mine['seconds']:.0f}",
                         f"{1e6 * mine['seconds'] / vectors:.0f}", f"{1e6 * base['seconds']:.0f}", f"{gain:.2f}"])
    return table(["b", "vectors", "kernel", "µs", "µs a vector", "SpMV, µs", "less time a vector"], rows) if rows else ""


def shortfalls(document):
    """(number of goals judged, the cases that did not reach them)."""
    judged, missed = 0, []
    cases = document["cases"]

    def judge(reached, text):
        nonlocal judged
        judged += 1
        if not reached:
            missed.append(text)

    for case in cases:
        mine, goal, ratio = chosen(case), goal_of(case), ratio_of(case)
        if not mine:
            judge(False, f"{case_name(case)}: no valid result")
            continue
        if goal and mine["fraction_of_read"]:
            judge(mine["fraction_of_read"] >= goal, f"{case_name(case)}: {100 * mine['fraction_of_read']:.1f} % of read, "
                  f"goal {100 * goal:.0f} % (best of ours {share(fastest(good(case, False)))})")
        if ratio:
            judge(ratio >= 1, f"{case_name(case)}: {ratio:.2f}x the speed of {fastest(good(case, True))['kernel']}, goal 1 "
                  f"(best of ours {share(fastest(good(case, False)))}, cuSPARSE {share(fastest(good(case, True)))})")
        if case["case"]["part"] == "spmm8":
            gain, goal = gain_a_vector(case, cases), GOALS["SpMM, a vector"]
            if gain:
                judge(gain >= goal, f"{case_name(case)}: {gain:.2f}x less time a vector than SpMV, goal {goal:.0f}")
    mean, count = mean_ratio(cases, SINCE)
    if count:
        goal = GOALS["stencils' mean ratio"]
        judge(mean >= goal, f"geometric mean over {count} stencils: {mean:.2f}x the best of cuSPARSE's BSR and CSR, goal {goal}")
    return judged, missed


def worst(cases, value):
    """The case with the smallest value, and the value; None where no case has one."""
    found = [(value(c), c) for c in cases if chosen(c) and value(c) is not None]
    return min(found, key=lambda pair: pair[0]) if found else None


def bars(document):
    """One row per goal: the goal, the worst case's value, and the case."""
    cases, rows = document["cases"], []

    def of_read(case):
        return chosen(case)["fraction_of_read"]

    def add(text, goal, some, value, form):
        found = worst(some, value)
        if found:
            where = case_name(found[1]) + ("" if is_of_run(document, found[1]) else " (another revision)")
            rows.append([text, form(goal), form(found[0]), where, "yes" if found[0] >= goal else "**no**"])

    def percent(value):
        return f"{100 * value:.1f} %"

    def times(value):
        return f"{value:.2f}x"

    def stencils(precision, least, most):
        return [c for c in cases if c["case"]["part"] in STENCILS and c["case"]["type"] == precision
                and least <= c["case"]["b"] <= most]

    def scattered(least, most):
        return [c for c in cases if c["case"]["part"] == "powerlaw" and least <= c["case"]["b"] <= most]

    add("stencils f64, b = 1…16, of read", 0.90, stencils("f64", 1, 16), of_read, percent)
    add("stencils f64, b = 24…64, of read", 0.88, stencils("f64", 24, 64), of_read, percent)
    add("stencils f32, of read", 0.85, stencils("f32", 1, 64), of_read, percent)
    add("power-law rows, b = 2, of read", 0.65, scattered(2, 2), of_read, percent)
    add("power-law rows, b = 3 and 4, of read", 0.75, scattered(3, 4), of_read, percent)
    add("power-law rows, b ≥ 5, of read", 0.80, scattered(5, 64), of_read, percent)
    add("every case with cuSPARSE, speed of its best path", 1, cases, ratio_of, times)
    add("27 MB, in L2, the same", 1, [c for c in cases if c["case"]["label"] == "27 MB"], ratio_of, times)
    mean, count = mean_ratio(cases, SINCE)
    if count:
        goal = GOALS["stencils' mean ratio"]
        rows.append([f"its BSR and CSR, geometric mean of {count} stencils", times(goal), times(mean), "–", "yes" if mean >= goal else "**no**"])
        rows.append(["its best path, the same", "–", times(mean_ratio(cases)[0]), "–", "–"])
    add("SpMM of 8 vectors, b = 3: less time a vector", GOALS["SpMM, a vector"], [c for c in cases if c["case"]["part"] == "spmm8"],
        lambda c: gain_a_vector(c, cases), times)
    ours = [r for c in cases for r in c["results"] if not r["peer"] and r["outcome"] != "skipped"]
    same = [r for r in ours if r["outcome"] == "good"]
    rows.append(["results of ours right, the same bits in all rounds", "all", f"{len(same)} of {len(ours)}",
                 f"{len({r['kernel'] for r in same})} kernels", "yes" if len(same) == len(ours) else "**no**"])
    return table(["goal, judged on the chosen kernel", "", "worst seen", "where", "reached"], rows)


def facts(document):
    cases = document["cases"]
    machine = cases[0]["machine"]
    large = [c["machine"]["read_GBps"] for c in cases
             if c["machine"]["read_GBps"] and c["matrix"]["bytes"] >= 1e9 and is_of_run(document, c)]
    versions = sorted({r["peer_version"] for c in cases for r in c["results"] if r["peer"] and r["peer_version"]})
    rows = [["device", machine["device"]], ["driver", document.get("driver") or "–"],
            ["NVRTC", machine.get("nvrtc") or "–"], ["cuSPARSE", ", ".join(versions) or "–"],
            ["host", f"{machine['processor']}, {machine['processors']} cores, {machine['system']}"],
            ["Tessera", f"{machine['tessera']}, {machine['compiler']}"],
            ["revision", document.get("revision") or "–"],
            ["date", ", ".join(sorted({c["machine"]["date"] for c in cases if is_of_run(document, c)}))], ["command", f"`{document['command']}`"]]
    if large:
        rows.append(["read ceiling", f"{min(large):.0f}–{max(large):.0f} GB/s over the cases of 1 GB and more"])
    return table(["", ""], rows)


def left_out(cases):
    """The cases by name or, if there are many, how many of each part."""
    if len(cases) <= 12:
        return ", ".join(map(case_name, cases))
    parts = [c["case"]["part"] for c in cases]
    return ", ".join(f"{part} ({parts.count(part)})" for part in dict.fromkeys(parts))


def goals_section(document):
    judged, missed = shortfalls(document)
    text = f"\n## Goals\n\n{bars(document)}\n{judged} numbers judged, {len(missed)} short of their goal"
    text += ".\n" if not missed else ":\n\n" + "".join(f"* {line}\n" for line in missed)
    wrong = [(case_name(c), r) for c in document["cases"] for r in c["results"] if r["outcome"] in ("wrong", "failed")]
    if wrong:
        text += "\nNot valid:\n\n" + "".join(f"* {name}: `{r['kernel']} {r['params']}` {r['outcome']}: {r['reason']}\n" for name, r in wrong)
    others = [c for c in document["cases"] if not is_of_run(document, c)]
    for other in sorted({c["case"]["revision"] for c in others}):
        some = [c for c in others if c["case"]["revision"] == other]
        text += f"\nNot of this run, but of revision {other}: {left_out(some)}.\n"
    for remark in document.get("remarks", []):
        text += "\n" + remark + "\n"
    if document["not_measured"]:
        missing = [{"case": dict(zip(("part", "b", "type", "label"), key))} for key in document["not_measured"]]
        text += f"\nNot measured: {left_out(missing)}.\n"
    return text


def device_name(document):
    return document["cases"][0]["machine"]["device"].split(": ", 1)[-1].split(",")[0]


def panels(document, parts, title=None):
    """GB/s of the chosen kernel and of cuSPARSE's best in each storage: what draw.speeds takes."""
    made = []
    for part in parts:
        cases = [c for c in document["cases"] if c["case"]["part"] == part and c["case"]["type"] == "f64" and chosen(c)]
        if not cases:
            continue
        series = {"Tessera": [chosen(c)["GBps"] for c in cases]}
        for name in ("bsr", "csr", "sell"):
            best = [fastest([r for r in good(c, True) if r["kernel"].startswith(name)]) for c in cases]
            series[f"cuSPARSE {name.upper()}"] = [r["GBps"] if r else None for r in best]
        made.append({"title": title or TITLES[part], "sizes": [c["case"]["b"] for c in cases],
                     "ceiling": [c["machine"]["read_GBps"] for c in cases], "series": series})
    return made


def picture(document):
    return draw.speeds(f"y = A x on {device_name(document)}, by block size", panels(document, STENCILS + ("powerlaw",)))


def page(document, name):
    """The text of the page of bench/results/NAME.json."""
    cases = document["cases"]

    def part(which, precision="f64"):
        return [c for c in cases if c["case"]["part"] == which and c["case"]["type"] == precision]

    device = device_name(document)
    beside = "" if document.get("alone") else ",\n  while the host may prepare the next large matrix"
    text = INTRO.format(name=device, file=name, beside=beside) + "\n" + facts(document) + goals_section(document)
    text += f"\n![GB/s of Tessera and of cuSPARSE on {device}, by block size](plots/{name}.svg)\n"
    for which in STENCILS + ("powerlaw",):
        if part(which):
            text += f"\n## {TITLES[which]}, f64\n\n{comparison(part(which))}"
    text += SCATTERED if part("powerlaw") else ""
    mean, count = mean_ratio(cases)
    if count:
        text += f"\nGeometric mean of the ratios over the {count} stencils, chosen kernel to the best of cuSPARSE: **{mean:.2f}**; to the best of its BSR and CSR: **{mean_ratio(cases, SINCE)[0]:.2f}**.\n"
    if part("promoted"):
        text += f"\n## {TITLES['promoted']}, f64\n\n{by_pattern(part('promoted'))}"
    single = [c for c in cases if c["case"]["type"] == "f32"]
    if single:
        text += f"\n## Stencils in f32\n\n{single_precision(single)}"
    if part("sizes"):
        text += "\n## From cache to memory: 27-point stencil, f64\n\nThe read ceiling is that of an array of the same size.\n\n"
        text += comparison(sorted(part("sizes"), key=lambda c: (c["case"]["b"], c["matrix"]["bytes"])), True)
    several = several_vectors(part("spmm8"), cases)
    if several:
        text += f"\n## Several vectors, 27-point stencil\n\n{several}"
    if part("families"):
        text += "\n## Every kernel family: which wins where, and why\n\nEach kernel's best, f64, 300 MB and more.\n"
        for title, scattered in (("27-point stencil", False), ("Power-law rows, random columns", True)):
            some = [c for c in part("families") if (c["case"]["label"] == "power-law") == scattered]
            text += f"\n{title}:\n\n{families(some)}" if some else ""
        text += reasons(part("families"))
    return text
