#!/usr/bin/env python3
"""Plans that permute inside, on matrices whose natural blocks were hidden by fields and by chance.

usage: regroup.py [--name MACHINE --bin DIRECTORY [--device cpu] [--rounds 7] [--matrices DIRECTORY] [--note SENTENCE]]

Real matrices are repeated along the diagonal until they have about `--entries` entries, so that they do not stay in a
cache. Writes bench/results/regroup-NAME.json and docs/performance/regroup.md; without --name only the page, from the
results that are there."""
import argparse
import datetime
import glob
import json
import os
import subprocess

from report_common import load, save, table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")

# Entries, about, of a real matrix with natural blocks; the file's own number is not read twice.
REAL = {"raefsky1": 293409, "bcsstk16": 290378, "muelu_Hmat_near": 13689, "bcsstk28": 219024, "nos3": 15844,
        "steam2": 13760, "hypre_beam_hex_dof459": 26217}
GENERATED = [
    "gen:stencil27:n=40,b=2",
    "gen:stencil27:n=36,b=3",
    "gen:elasticity:n=30",
    "gen:stencil27:n=26,b=5",
    "gen:stencil27:n=18,b=8",
    "gen:stencil27:n=10,b=16",
    "gen:stencil7:n=60,b=4",
]


def inputs(folder, entries):
    chosen = list(GENERATED)
    for name, count in REAL.items():
        path = os.path.join(folder or "", name + ".mtx.gz")
        if os.path.exists(path):
            chosen.append(f"tile:copies={max(1, round(entries / count))}:{path}")
        else:
            print(f"skipped: no {name}.mtx.gz")
    return chosen


def measure(args):
    command = os.path.join(args.bin, "tessera_bench_regroup")
    cases = []
    for given in args.input or inputs(args.matrices, args.entries):
        out = subprocess.run([command, args.device, str(args.rounds), given], check=True, stdout=subprocess.PIPE, text=True)
        case = json.loads(out.stdout)
        case["input"] = given.replace(os.path.join(args.matrices or "", ""), "")
        cases.append(case)
        print(json.dumps(case))
    save(os.path.join(RESULTS, f"regroup-{args.name}.json"),
         {"name": args.name, "device": cases[0]["device"], "date": str(datetime.date.today()), "note": args.note or "",
          "rounds": args.rounds, "cases": cases})


def row(case, order):
    head = [f"`{case['input']}`", f"{case['entries']:,}".replace(",", " "), order["order"]]
    if "regrouped" not in order:
        return head + [f"{order['detect_cpu_seconds']:.2f}", "", "none that pays", "", "", "", "", "", ""]
    predicted = order["csr_predicted"] / order["regrouped_predicted"] if order["regrouped_predicted"] else 0
    return head + [
        f"{order['detect_cpu_seconds']:.2f}", f"{order['plan_cpu_seconds']:.2f}", f"{order['block']} × {order['block']}",
        f"{100 * min(1, order['found']):.1f} %", "none" if order.get("permuted_bytes") == 0 else "2", f"{1e3 * order['regrouped']:.3f}",
        f"{order['natural'] / order['regrouped']:.2f}", f"{order['csr'] / order['regrouped']:.2f}",
        f"{1 / order['bytes_ratio']:.2f}" + (f" / {predicted:.2f}" if predicted else "")]


def section(document):
    rows = [row(case, order) for case in document["cases"] for order in case["orders"]]
    head = ["input", "entries", "hidden by", "detection", "plan", "blocks", "found", "passes", "product ms", "of natural", "of CSR",
            "price: bytes / model"]
    text = f"## {document['device']}\n\n{document['date']}, {document['rounds']} rounds. {document['note']}\n\n"
    return text + table(head, rows) + "\n"


INTRODUCTION = """# Plans that permute inside

The natural blocks of a matrix are hidden: its scalars are numbered by fields (all first unknowns of the blocks, then all
second ones …) or by a random permutation. A plan with `TESS_REGROUP_ON` finds the blocks again, permutes inside, and
multiplies in the scrambled numbering. How fast is its product, permutation of x and y included?

* *detection*, *plan*: processor seconds, of all threads together, of `tess_detect_regrouping`; of detection, permutation and
  the choice of a kernel together.
* *found*: bytes of the natural blocks over those of the blocks that were found, at most 100 %.
* *passes*: over x and y, to permute them; *none* where the product reads x and writes y by fields itself.
* *of natural*: speed over that of the natural blocks in their own numbering, which permutes nothing.
* *of CSR*: speed over that of a plan of the scrambled matrix as 1 × 1 blocks.
* *price*: what was expected of the last number, from bytes alone and by the model.

Inputs `tile:` are real matrices, repeated along the diagonal. The three plans take turns in every round, and a time is the
least of all rounds: other processes only add. On `cpu:1` it is processor time. With a random permutation even the natural order of the groups is lost: blocks are full, but neighbours
are anywhere, so *of natural* is then a matter of caches and not of the permutation of x and y.

    python3 bench/regroup.py --name NAME --bin build/bin [--device cuda] [--matrices DIRECTORY]

"""


def write_page():
    text = INTRODUCTION
    for path in sorted(glob.glob(os.path.join(RESULTS, "regroup-*.json"))):
        text += section(load(path))
    with open(os.path.join(ROOT, "docs", "performance", "regroup.md"), "w", encoding="utf-8") as page:
        page.write(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--name")
    parser.add_argument("--bin")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--entries", type=float, default=4e6)
    parser.add_argument("--matrices")
    parser.add_argument("--note")
    parser.add_argument("--input", action="append")
    args = parser.parse_args()
    if args.name:
        measure(args)
    write_page()


if __name__ == "__main__":
    main()
