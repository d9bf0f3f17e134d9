#!/usr/bin/env python3
"""Paper 003's Figure 20: the speed-up of its product on several devices over one, by block size.

    bench/papers/figure20.py                          parts of this machine's CPU: cpu:1, cpu:1,1, cpu:1,1,1
    bench/papers/figure20.py --device cuda:0          the same with one GPU taken several times
    bench/papers/figure20.py --devices cuda:0 cuda:0,1 cuda:0,1,2
    bench/papers/figure20.py --page                   the page alone, from bench/results/figure20-*.json

The paper has coater2 (balanced rows) and shermanACb (rows of very different lengths), each entry made a dense block; --matrices
DIR takes them from there. Without them matrices with their numbers of rows and entries are generated: one with the same length
in all rows, one with a few long rows. The forms are `shuffle` and `shuffle:lambda=32` as the paper has them, and `whole` and
`halo` beside them. A speed-up is over the default product of one device. Vectors are in the parts' memory. The way of x to all
parts is counted, which the paper does not count. Every product is verified. Needs the target tessera_bench_parts. Writes
bench/results/figure20-NAME.json and docs/performance/figure20.md."""
import argparse
import datetime
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import draw  # noqa: E402
from report_common import load, revision, save, table, write_or_check  # noqa: E402

RESULTS = os.path.join(ROOT, "bench", "results", "figure20-%s.json")
PAGE = os.path.join(ROOT, "docs", "performance", "figure20.md")
PLOTS = os.path.join(ROOT, "docs", "performance", "plots")
FORMS = ("shuffle", "shuffle:lambda=32", "whole", "halo")
GENERATED = {"coater2": "gen:random:rows=9540,count=22,r={b},c={b}",
             "shermanACb": "gen:powerlaw:rows=18510,avg=7,b={b},long=4,length=9000"}
BLOCKS = (2, 4, 8, 12)

INTRO = """# Paper 003's Figure 20: its product on several devices

This page is written by `bench/papers/figure20.py` from `bench/results/figure20-*.json`; do not edit it.

Block rows are sorted by length and dealt out one by one. Each part multiplies its rows, the results go to part 0, and part 0 puts
them in order (`shuffle`). With λ rows are cut into segments of at most λ blocks, whose results part 0 adds. `halo` is the library's
own product, `whole` paper 004's. Numbers are speed-ups over one device; what parts exchange, x too, is counted. Where an
input is `gen:`, a generated matrix with the rows and entries of the paper's stands in: equal rows for coater2, a few long rows for
shermanACb.
"""


def products(options, case):
    """Seconds of a product by the device, and the form where there are several parts; all take turns in one run."""
    subjects = [options.devices[0], *(f"{device}/{form}" for device in options.devices[1:] for form in FORMS)]
    words = [os.path.join(options.bin, "tessera_bench_parts"), case, "-", str(options.rounds), *subjects]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "TESSERA_WISDOM": "off"})
    if done.returncode:
        sys.exit(" ".join(words) + "\n" + done.stdout + done.stderr)
    return {said["device"].replace("/", " "): 1e-6 * said["spmv"] for said in map(json.loads, done.stdout.splitlines())}


def input_of(options, name, b):
    for end in (".mtx.gz", ".mtx"):
        path = os.path.join(options.matrices or "", name + end)
        if options.matrices and os.path.exists(path):
            return f"promote:b={b}:{path}"
    return GENERATED[name].format(b=b)


def measure(options):
    log = {"name": options.name, "devices": options.devices, "date": str(datetime.date.today()), "load": os.getloadavg()[0],
           "revision": options.revision or revision(ROOT), "rounds": options.rounds, "vectors": "by part", "cases": []}
    for name in GENERATED:
        for b in options.blocks:
            case = input_of(options, name, b)
            log["cases"].append({"matrix": name, "input": case if case.startswith("gen:") else f"promote:b={b}:{name}", "block": b,
                                 "seconds": products(options, case)})
            print(name, b, {key: f"{1e6 * s:.0f} us" for key, s in log["cases"][-1]["seconds"].items()}, flush=True)
    save(RESULTS % options.name, log)


def section(log):
    one, text, panels = log["devices"][0], "", []
    for name in dict.fromkeys(c["matrix"] for c in log["cases"]):
        cases = [c for c in log["cases"] if c["matrix"] == name]
        keys = [key for key in cases[0]["seconds"] if key != one]
        speed = {key: [c["seconds"][one] / c["seconds"][key] for c in cases] for key in keys}
        text += f"\n{name} (`{cases[0]['input']}` and so on):\n\n" + table(
            ["device", "form", *(f"b = {c['block']}" for c in cases)],
            [[f"`{key.split(' ')[0]}`", f"`{key.split(' ')[1]}`", *(f"{s:.2f}" for s in speed[key])] for key in keys])
        for device in log["devices"][1:]:
            panels.append({"title": f"{name}, {device}", "sizes": [c["block"] for c in cases],
                           "series": {form: speed[f"{device} {form}"] for form in FORMS}})
    head = f"\n## {log['name']}\n\nRevision {log['revision']}, {log['date']}; load at the start {log['load']:.1f}; medians of {log['rounds']} rounds.\n"
    if "vectors" not in log:  # measured by `tessera spmv`, and before the devices exchanged in every form
        head += ("\nVectors were in the host's memory when this was measured: x went to the devices and y came back in every product, which counts on\n"
                 "several parts and not on one device. `whole` and `shuffle` also exchanged through the host's memory, and put results in order\n"
                 "there. They do both on the devices now. The numbers show what such a product cost, not what several GPUs can do.\n")
    picture = f"\n![Speed-up over one device](plots/figure20-{log['name']}.svg)\n"
    drawn = draw.speeds("Figure 20: speed-up over one device", panels, "block size b", "speed-up")
    return head + picture + text, drawn


def write_page():
    text, made = INTRO, {}
    for path in sorted(glob.glob(RESULTS % "*")):
        log = load(path)
        words, drawn = section(log)
        text += words
        made[os.path.join(PLOTS, f"figure20-{log['name']}.svg")] = drawn
    made[PAGE] = text
    return write_or_check(ROOT, made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], epilog="\n".join(__doc__.split("\n")[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="cpu", help="of the machine, in the results' file")
    parser.add_argument("--device", default="cpu:1", help="one part: two and three of it are made")
    parser.add_argument("--devices", nargs="+", help="the device of one part, then those of several")
    parser.add_argument("--matrices", help="folder with coater2.mtx.gz and shermanACb.mtx.gz")
    parser.add_argument("--blocks", type=int, nargs="+", default=BLOCKS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--revision", help="that was built (default: that of this checkout)")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true", help="only say whether the page is what the results say")
    options = parser.parse_args()
    number = options.device.split(":")[1]
    options.devices = options.devices or [options.device, options.device + "," + number, options.device + 2 * ("," + number)]
    if not options.page and not options.check:
        measure(options)
    sys.exit(write_page())


if __name__ == "__main__":
    main()
