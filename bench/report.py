#!/usr/bin/env python3
"""Writes docs/performance/cpu.md from bench/results/cpu-*.json, one section per machine, one page per GPU
from every other file there (report_cuda.py), their pictures and the README's. report_solve.py writes the pages of
solvers, tuning.py that of the tuner. With --check nothing is written: the exit status is 1 if a page differs from
what the results give.

Standard library only. Pages and pictures hold nothing that is not in the JSON files.
"""
import glob
import os
import sys

import draw
import report_cuda
from report_common import fastest, geometric_mean, good, kernel_name, load, table, write_or_check
from report_common import share as exact_share

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "performance", "cpu.md")

INTRO = """# Speed on CPUs

This page is written by `./run bench` from `bench/results/cpu-*.json`; do not edit it.

y = A x with f64 values, unless a heading says otherwise.

* **GB/s** are the bytes that a block format must move over the median time: values, 4 bytes a block for its
  column, 4 bytes a block row, x and y once. The same bytes count for formats without blocks, so that a ratio of
  GB/s is a ratio of times.
* **% of read** is the share of the fastest plain reading of an array of the same size. 21 ways of reading it are
  tried (one to four streams a thread, with and without prefetching, equal parts, small pieces or the kernels' own
  division), and the one with the highest median counts. Until the present page it was the median over rounds of
  the highest of 24 samples. The highest sample of all is given beside it.
* **Rounds.** Kernels, peers and reading take turns in seven rounds, or as many as a remark says, within one run of
  `tessera bench --peers`, so that a disturbance meets all of them. Every result is verified against the reference
  backend in that run.
* **The chosen kernel** is what a plan that stores the whole matrix takes without measuring (ESTIMATE). Left alone,
  a plan uses half storage for a symmetric matrix, as the stencils are, where it expects that to be faster: see
  further down. **The best** is the fastest of all that apply.
* **Peers.** Libraries without threads run on one. PETSc runs on as many MPI ranks as there are threads, with an equal
  share of the blocks each. PETSc's SBAIJ stores only half of a symmetric matrix, so it is not among the peers of full
  storage in the ratios. KokkosKernels, whose block kernel is strong from b = 8 on, has no adapter yet: there the best
  peer of this page is not the best there is.
"""


def share(result):
    return exact_share(result, 0)


def half_stored(result):
    """Returns whether the storage has only the upper half of a symmetric matrix. Such storage is compared by itself."""
    return result["format"] == "symmetric" or result["kernel"] == "sbaij"


def full(case, peers):
    return [r for r in good(case, peers) if not half_stored(r)]


def chosen(case):
    """The first result of full storage: results are in the order of a plan's preference."""
    return next(iter(full(case, False)), None)


def peer_name(result):
    return f"{result['peer']} {result['kernel']}"


def ours_and_best_peer(cases):
    """One row per block size, and the geometric mean of the ratios for b >= 2."""
    rows, ratios = [], []
    for case in cases:
        mine, best, peer = chosen(case), fastest(full(case, False)), fastest(full(case, True))
        if not mine:
            continue
        row = [str(case["case"]["b"]), f"{case['machine']['read_GBps'] or 0:.1f}", kernel_name(mine),
               f"{mine['GBps']:.1f}", share(mine), share(best)]
        if peer:
            ratio = peer["seconds"] / mine["seconds"]
            row += [peer_name(peer), f"{peer['GBps']:.1f}", f"{ratio:.2f}"]
            if case["case"]["b"] >= 2:
                ratios.append(ratio)
        else:
            row += ["–", "–", "–"]
        rows.append(row)
    text = table(["b", "read GB/s", "chosen kernel", "GB/s", "% of read", "best of ours", "best peer", "GB/s", "ratio"], rows)
    if ratios:
        text += f"\nGeometric mean of the ratio to the best peer at each b ≥ 2: **{geometric_mean(ratios):.2f}**.\n"
    return text


def all_peers(cases):
    """GB/s of all libraries at every block size."""
    names = sorted({peer_name(r) for c in cases for r in c["results"] if r["peer"] and r["kernel"]})
    if not names:
        return ""
    rows = [["Tessera"] + [f"{chosen(c)['GBps']:.1f}" if chosen(c) else "–" for c in cases]]
    for name in names:
        row = [name]
        for case in cases:
            found = [r for r in case["results"] if r["peer"] and peer_name(r) == name]
            outcome = found[0]["outcome"] if found else "skipped"
            row.append(f"{found[0]['GBps']:.1f}" if outcome == "good" else "–" if outcome == "skipped" else outcome)
        rows.append(row)
    return "\n" + table(["GB/s"] + [f"b={c['case']['b']}" for c in cases], rows)


def long_row(cases):
    rows = []
    for case in [c for c in cases if c["case"]["all_threads"]]:
        mine = chosen(case)
        alone = [chosen(c) for c in cases if c["case"]["b"] == case["case"]["b"] and c["case"]["threads"] == 1]
        if mine and alone and alone[0]:
            rows.append([str(case["case"]["b"]), f"{alone[0]['GBps']:.1f}", f"{mine['GBps']:.1f}", share(mine),
                         f"{alone[0]['seconds'] / mine['seconds']:.2f}"])
    return table(["b", "1 thread, GB/s", "all threads, GB/s", "% of read", "speed-up"], rows) if rows else ""


def symmetric(cases):
    """Half storage, where the matrix allows it, against full storage and against PETSc's SBAIJ."""
    rows = []
    for case in cases:
        whole = fastest(full(case, False))
        half = fastest([r for r in good(case, False) if half_stored(r)])
        sbaij = fastest([r for r in good(case, True) if half_stored(r)])
        if whole and half:
            rows.append([str(case["case"]["b"]), f"{whole['GBps']:.1f}", f"{half['GBps']:.1f}",
                         f"{whole['seconds'] / half['seconds']:.2f}",
                         f"{sbaij['GBps']:.1f}" if sbaij else "–",
                         f"{sbaij['seconds'] / half['seconds']:.2f}" if sbaij else "–"])
    head = ["b", "full storage, GB/s", "half storage, GB/s", "half / full", "PETSc SBAIJ, GB/s", "half / SBAIJ"]
    return table(head, rows) if rows else ""


def per_vector(document):
    """SpMM and the transpose against the fastest SpMV on the same matrix."""
    spmv = {c["case"]["b"]: fastest(full(c, False)) for c in document["cases"] if c["case"]["part"] == "stencil27"}
    rows = []
    for case in document["cases"]:
        part, b = case["case"]["part"], case["case"]["b"]
        mine, base = chosen(case), spmv.get(b)
        if part not in ("spmm8", "transpose") or not mine or not base:
            continue
        vectors = 8 if part == "spmm8" else 1
        rows.append(["SpMM, 8 vectors" if vectors == 8 else "transpose", str(b), kernel_name(mine),
                     f"{1e3 * mine['seconds'] / vectors:.2f}", f"{1e3 * base['seconds']:.2f}",
                     f"{base['seconds'] * vectors / mine['seconds']:.2f}"])
    return table(["product", "b", "kernel", "ms a vector", "SpMV, ms", "ratio"], rows) if rows else ""


PARTS = {"stencil7": "7-point stencil", "stencil27": "27-point stencil", "powerlaw": "Power-law rows, random columns",
         "small": "In cache: 27-point stencil"}


def by_library(cases):
    """GB/s of the chosen kernel and of each library's best storage, as draw.speeds takes them."""
    names = sorted({r["peer"] for c in cases for r in full(c, True)})
    series = {"Tessera": [chosen(c)["GBps"] if chosen(c) else None for c in cases]}
    for name in names:
        best = [fastest([r for r in full(c, True) if r["peer"] == name]) for c in cases]
        series[name] = [r["GBps"] if r else None for r in best]
    return {"sizes": [c["case"]["b"] for c in cases], "ceiling": [c["machine"]["read_GBps"] for c in cases], "series": series}


def picture_of(machine, document):
    """The stencils and power-law rows side by side; None where there are none."""
    panels = []
    for which in ("stencil7", "stencil27", "powerlaw"):
        cases = [c for c in document["cases"] if c["case"]["part"] == which]
        if cases:
            panels.append({"title": PARTS[which], **by_library(cases)})
    return draw.speeds(f"y = A x on {machine}, by block size", panels) if panels else None


def most(document, small):
    samples = [c["machine"]["read_most_GBps"] for c in document["cases"]
               if c["machine"].get("read_most_GBps") and (c["case"]["part"] == "small") == small]
    return f"; highest single sample {max(samples):.1f}" if samples else ""


def facts(document):
    first = document["cases"][0]
    machine = first["machine"]
    ceilings = [c["machine"]["read_GBps"] for c in document["cases"]
                if c["machine"]["read_GBps"] and c["case"]["part"] != "small" and c["case"]["all_threads"]]
    small = [c["machine"]["read_GBps"] for c in document["cases"]
             if c["machine"]["read_GBps"] and c["case"]["part"] == "small"]
    versions = sorted({(r["peer"], r["peer_version"], r["threads"]) for c in document["cases"] for r in c["results"]
                       if r["peer"] and r["peer_version"] and c["case"]["all_threads"]})
    rows = [["processor", f"{machine['processor']}, {machine['processors']} cores"],
            ["Tessera", f"{machine['tessera']}, {machine['device']}"],
            ["system", machine["system"]], ["compiler", machine["compiler"]],
            ["date", ", ".join(sorted({c["machine"]["date"] for c in document["cases"]}))],
            ["command", "`./run bench`"]]
    if ceilings:
        rows.append(["read ceiling", f"{min(ceilings):.1f}–{max(ceilings):.1f} GB/s (large matrices{most(document, False)})"])
    if small:
        rows.append(["in-cache read ceiling", f"{min(small):.1f}–{max(small):.1f} GB/s (10 MB{most(document, True)})"])
    if versions:
        rows.append(["peers (threads)", ", ".join(f"{name} {version} ({threads})" for name, version, threads in versions)])
    return table(["", ""], rows)


def megabytes(cases):
    sizes = [c["matrix"]["bytes"] / 1e6 for c in cases]
    return f"{min(sizes):.0f}–{max(sizes):.0f} MB"


def section(name, document):
    def part(which):
        return [c for c in document["cases"] if c["case"]["part"] == which]

    text = f"\n## {name}\n\n{facts(document)}"
    text += "".join(f"\n{remark}\n" for remark in document.get("remarks", []))  # by hand, beside what they are about
    if picture_of(name, document):
        text += f"\n![GB/s of Tessera and of other libraries on {name}, by block size](plots/cpu-{name}.svg)\n"
    for which, title in PARTS.items():
        cases = part(which)
        if cases:
            text += f"\n### {title}, {megabytes(cases)}, all threads\n\n{ours_and_best_peer(cases)}{all_peers(cases)}"
    for title, body in (("One row with half of all blocks", long_row(part("longrow"))),
                        ("Symmetric matrices stored by half, 7-point", symmetric(part("stencil7"))),
                        ("Symmetric matrices stored by half, 27-point", symmetric(part("stencil27"))),
                        ("Other products, 27-point stencil", per_vector(document))):
        if body:
            text += f"\n### {title}\n\n{body}"
    return text


def processor(document):
    """The name of a processor, with its number of cores."""
    machine = document["cases"][0]["machine"]
    return f"{machine['processor']}, {machine['processors']} cores".replace("(R)", "")


def front_picture(documents, gpus):
    """The README's: the 27-point stencil on every machine."""
    panels = []
    for document in documents.values():
        cases = [c for c in document["cases"] if c["case"]["part"] == "stencil27"]
        panels.append({"title": processor(document), **by_library(cases)})
    panels.sort(key=lambda p: -len(p["series"]))  # the most libraries first, GPUs last
    for document in gpus.values():
        panels += report_cuda.panels(document, ("stencil27",), report_cuda.device_name(document))
    return draw.speeds("y = A x for the 27-point stencil, by block size", panels)


def pages():
    """{path: text} of all files to write."""
    results = os.path.join(ROOT, "bench", "results")
    folder = os.path.dirname(PAGE)
    found = {os.path.basename(path)[:-len(".json")]: load(path) for path in sorted(glob.glob(os.path.join(results, "*.json")))}
    documents = {name[len("cpu-"):]: document for name, document in found.items() if name.startswith("cpu-")}
    gpus = {name: document for name, document in found.items() if "not_measured" in document}  # suite_cuda.py's
    made = {PAGE: INTRO + "".join(section(name, document) for name, document in documents.items())}
    for name, document in documents.items():
        if picture_of(name, document):
            made[os.path.join(folder, "plots", f"cpu-{name}.svg")] = picture_of(name, document)
    for name, document in gpus.items():
        made[os.path.join(folder, f"{name}.md")] = report_cuda.page(document, name)
        made[os.path.join(folder, "plots", f"{name}.svg")] = report_cuda.picture(document)
    made[os.path.join(ROOT, "docs", "speed.svg")] = front_picture(documents, gpus)
    return made


if __name__ == "__main__":
    sys.exit(write_or_check(ROOT, pages()))
