#!/usr/bin/env python3
"""Runs a suite case by case and gathers the results of `tessera bench --json` in one file.

    bench/suite.py                              everything (about half an hour with all peers)
    bench/suite.py --part stencil27 --b 3       one case, in seconds
    bench/suite.py --part stencil7 --no-peers   ours only
    bench/suite.py --device cuda --name h200    the GPU's suite (suite_cuda.py), most important cases first

A case that is run again replaces its earlier result, so that the file can be filled in pieces. The
page is written from it by report.py. Standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import suite_cuda
from report_common import best, block_bytes, box, load, revision, save, slug

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALL_B = [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 32]
SMALL_B = [1, 2, 3, 4, 5, 6, 7, 8, 16]
IRREGULAR_B = [3, 4, 8]
PARTS = {  # name: (block sizes, product, with peers, numbers of threads, 0 = all)
    "stencil7": (ALL_B, "spmv", True, [0]),
    "stencil27": (ALL_B, "spmv", True, [0]),
    "small": (SMALL_B, "spmv", True, [0]),
    "powerlaw": (IRREGULAR_B, "spmv", True, [0]),
    "longrow": (IRREGULAR_B, "spmv", False, [0, 1]),
    "spmm8": ([3], "spmm:8", False, [0]),
    "transpose": ([3], "spmv_transpose", False, [0]),
}


def make_input(part, b, target):
    if part == "small":
        return f"gen:stencil27:n={box(27, b, 10e6)},b={b}"
    if part == "powerlaw":
        rows = int(target / (6 * block_bytes(b) + 4 + 16 * b))
        return f"gen:powerlaw:rows={rows},avg=6,b={b}"
    if part == "longrow":  # one block per row, and one row that has as many blocks as all others
        rows = int(target / (1.9 * block_bytes(b) + 4 + 16 * b))
        return f"gen:powerlaw:rows={rows},avg=1,b={b},long=1,length={int(rows * 0.9)}"
    points = 7 if part == "stencil7" else 27
    return f"gen:stencil{points}:n={box(points, b, target)},b={b}"


def run_case(options, part, b, threads):
    product, peers = PARTS[part][1], PARTS[part][2] and not options.no_peers
    matrix = make_input(part, b, options.megabytes * 1e6)
    command = [options.tessera, "bench", matrix, "--device", options.device, "--op", product, "--json"]
    command += ["--threads", str(threads)] if threads else []
    command += ["--peers"] if peers else []
    command += ["--rounds", str(options.rounds)] if options.rounds else []
    command += ["--format", options.format] if options.format else []
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:  # the error is on stderr already
        print(f"{part:10} b={b:<3} not measured: exit status {done.returncode}", flush=True)
        return None
    result = json.loads(done.stdout)
    result["case"] = {"part": part, "b": b, "threads": threads or result["machine"]["threads"],
                      "all_threads": threads == 0, "exit_status": done.returncode}
    print(f"{summary(result)}  [{time.monotonic() - start:.0f} s]", flush=True)
    return result


def summary(result):
    case = result["case"]
    full = [r for r in result["results"] if r["format"] != "symmetric" and r["kernel"] != "sbaij"]
    ours = best([r for r in full if not r["peer"]])
    peer = best([r for r in full if r["peer"]])
    text = f"{case['part']:10} b={case['b']:<3} {case['threads']:3} threads: "
    if not ours:
        return text + "nothing of ours was right"
    text += f"{ours['GBps']:7.1f} GB/s"
    if ours["fraction_of_read"]:
        text += f" {100 * ours['fraction_of_read']:5.1f} % of read"
    if peer:
        text += f", {peer['seconds'] / ours['seconds']:.2f}x {peer['peer']} {peer['kernel']}"
    wrong = [r for r in result["results"] if r["outcome"] in ("wrong", "failed")]
    return text + "".join(f"\n  {r['outcome'].upper()}: {r['peer'] or ''} {r['kernel']}: {r['reason']}" for r in wrong)


def store(path, result):
    """Replaces the case in the file."""
    document = load(path, {"cases": []})
    same = ("part", "b", "threads")
    key = [result["case"][k] for k in same]
    document["cases"] = [c for c in document["cases"] if [c["case"][k] for k in same] != key] + [result]
    order = list(PARTS)
    document["cases"].sort(key=lambda c: (order.index(c["case"]["part"]), c["case"]["threads"], c["case"]["b"]))
    save(path, document)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    parser.add_argument("--part", action="append", help="only this part (repeatable)")
    parser.add_argument("--b", type=numbers, help="only these block sizes, comma separated")
    parser.add_argument("--megabytes", type=float, default=450, help="size of the large matrices (default 450)")
    parser.add_argument("--no-peers", action="store_true", help="ours only")
    parser.add_argument("--rounds", type=int, help="rounds a case (default: 7), more on a noisy machine")
    parser.add_argument("--format", help="our kernels on this format only (default: all)")
    parser.add_argument("--name", help="the machine's name in the results (default: from its processor)")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results"), help="directory of the results")
    parser.add_argument("--tessera", default=os.path.join(ROOT, "build", "bin", "tessera"))
    parser.add_argument("--matrices", help="GPU: directory of Matrix Market files whose patterns are promoted to blocks")
    parser.add_argument("--revision", default=revision(ROOT), help="GPU: that was built (default: that of this checkout)")
    parser.add_argument("--seconds", type=float, help="GPU: start no case after this time, list it as not measured")
    options = parser.parse_args()
    known = suite_cuda.PARTS if options.device.startswith("cuda") else PARTS
    for part in options.part or []:
        if part not in known:
            parser.error(f"--part {part}: none of {', '.join(known)}")
    if options.device.startswith("cuda"):
        return suite_cuda.run(options)
    failed = False
    for part in options.part or PARTS:
        sizes, _, _, threads = PARTS[part]
        for b in options.b or sizes:
            for count in threads:
                result = run_case(options, part, b, count)
                failed = failed or not result or result["case"]["exit_status"] != 0
                if not result:
                    continue
                name = options.name or slug(result["machine"])
                store(os.path.join(options.out, f"cpu-{name}.json"), result)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
