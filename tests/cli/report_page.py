#!/usr/bin/env python3
"""report_page.py TESSERA: the page of `tessera report` is well-formed, needs nothing but itself, and
its numbers are those of --json, for edge cases and for matrices drawn at random."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
seed = int(os.environ.get("TESSERA_TEST_SEED", time.time_ns() % 1000000))
draw = random.Random(seed)


def drawn_input():
    rows, cols = (int(10 ** draw.uniform(0, 4)) for _ in "rc")
    r, c = draw.choice([(1, 1), (3, 3), (2, 4), (7, 2), (5, 5)])
    square = draw.random() < 0.5
    avg = min(draw.randint(1, 9), rows if square else cols)
    return draw.choice([
        f"gen:random:rows={rows}{'' if square else f',cols={cols}'},avg={avg},r={r},c={r if square else c},seed={seed}",
        f"gen:stencil7:n={draw.randint(1, 12)},b={draw.randint(1, 6)}",
        f"gen:cdr:n={draw.randint(2, 10)},b={draw.randint(1, 5)}",
        f"gen:powerlaw:rows={draw.randint(100, 3000)},long=2,length=50"])


def text_of(element):
    return "".join(element.itertext()).strip().replace("\u00a0", " ")


def tables(page):
    """{caption: [row]}; a row is its cells as (text, value or None)."""
    found = {}
    for table in page.iter(HTML + "table"):
        rows = []
        for row in table.iter(HTML + "tr"):
            cells = [c for c in row if c.tag in (HTML + "td", HTML + "th")]
            rows.append([(text_of(c), next((float(d.get("value")) for d in c.iter(HTML + "data")), None)) for c in cells])
        found[text_of(table.find(HTML + "caption"))] = rows
    return found


def same(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1e-11 * abs(b))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_alone(text, page):
    for word in ("<script", "http-equiv", "@import", "url(", "src=", "<link", "<iframe"):
        check(word not in text, f"the page has {word}")
    addresses = {w for w in text.replace('"', " ").split() if w.startswith("http")}
    check(addresses <= {HTML[1:-1], SVG[1:-1]}, f"the page names {addresses}")
    pictures = list(page.iter(SVG + "svg"))
    names = [e.get("id") for e in page.iter() if e.get("id")]
    check(len(names) == len(set(names)), "two elements have one id")
    for picture in pictures:
        check(picture.get("role") == "img", "a picture without its role")
        for name in picture.get("aria-labelledby").split():
            check(name in names, f"{name} labels a picture and does not exist")
        check(text_of(picture.find(SVG + "title")) and text_of(picture.find(SVG + "desc")), "a picture without words")
        for element in picture.iter():
            for key, value in element.items():
                check("nan" not in value.lower().split() and "inf" not in value.lower(), f"{key}={value}")
            check("nan" not in (element.get("d") or "") + (element.get("points") or ""), "NaN in a path")
    return pictures


def check_info(page, found, info):
    said = next(text_of(s.find(HTML + "p")) for s in page.iter(HTML + "section") if text_of(s.find(HTML + "h2")) == "Rows")
    empty = f"; {info['empty_rows']} empty" if info["empty_rows"] else ""
    expected = (f"{info['row_min']} to {info['row_max']} entries in a row, {info['row_avg']:.1f} on average{empty}. Bandwidth: "
                f"{info['lower_bandwidth']} below the diagonal, {info['upper_bandwidth']} above.")
    squeezed = re.sub(r"(?<=\d)\s(?=\d{3})", "", said)
    check(squeezed.startswith(expected), f"{said!r} is not {expected!r}")
    rows = [int(value) for (_, value) in (row[1] for row in found["Rows by length"][1:]) if value]
    check(rows == [h["rows"] for h in info["row_histogram"]], f"rows {rows}")
    if not info["nnz"]:
        return
    sizes = {(c["rows"], c["cols"]): c for c in info["blocking"] if not c["row_offset"] and not c["col_offset"]}
    listed = [row for row in found["Block sizes"][1:] if " at " not in row[0][0]]
    check(len(listed) >= 8, "fewer than 8 block sizes")
    for size, blocks, density, moves, _ in listed:
        candidate = sizes[tuple(int(word) for word in size[0].split(" × "))]
        check(same(blocks[1], candidate["blocks"]) and same(density[1], candidate["density"])
              and same(moves[1], candidate["bytes"]), f"block size {size[0]}")


def check_plan(found, tune):
    candidates = {" ".join(w for w in (c["format"], c["kernel"], c["params"]) if w): c
                  for c in tune["candidates"] if c["state"] != "refused"}
    listed = found.get("Kernels", [[]])[1:]
    check(len(listed) == len(candidates), f"{len(listed)} kernels of {len(candidates)}")
    for name, measured, predicted, moves, *_ in listed:
        c = candidates[name[0]]
        check(same(measured[1] or 0, c["seconds"]) and same(predicted[1] or 0, c["predicted_seconds"])
              and same(moves[1], c["bytes"]), f"kernel {name[0]}")


def check_solve(found, solve):
    times = {row[0][0]: row[1][1] for row in found["Time by part"][1:]}
    if solve is None:
        check("Outcome" not in found and "products" not in times, "a solve that was not made")
        return
    outcome = {row[0][0]: row[1] for row in found["Outcome"]}
    check(same(outcome["iterations"][1], solve["iterations"]), "iterations")
    check(solve["true_residual"] is None or same(outcome["|r|/|b|, recomputed"][1], solve["true_residual"]), "residual")
    check(outcome["result"][0] == f"{solve['reason']}: {solve['text']}", "result")
    for name, key in (("set-up", "setup_seconds"), ("products", "seconds_spmv"), ("precondition", "seconds_pc"),
                      ("reductions", "seconds_dots"), ("vectors", "seconds_vectors")):
        check(same(times[name], solve[key]), name)


def try_input(tessera, folder, words):
    path = os.path.join(folder, "page.html")
    done = subprocess.run([tessera, "report", *words, "-o", path, "--json"], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    numbers = json.loads(done.stdout)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = ET.fromstring(text)
    pictures = check_alone(text, page)
    found = tables(page)
    check_info(page, found, numbers["info"])
    check_plan(found, numbers["tune"])
    check_solve(found, numbers["solve"])
    info = numbers["info"]
    if info["rows"] and info["cols"]:
        check(any(p.get("aria-labelledby").startswith("spy1") for p in pictures), "no picture of the pattern")
    check(os.listdir(folder) == ["page.html"], f"left behind: {os.listdir(folder)}")
    if len(words) == 1:
        again = subprocess.run([tessera, "info", *words, "--json"], capture_output=True, text=True, timeout=120)
        check(json.loads(again.stdout) == info, "info says something else")


def interrupt(tessera, folder, in_solve):
    """Ctrl-C while b is read, which comes before the solve, or in a solve that has no end."""
    path, pipe = os.path.join(folder, "page.html"), os.path.join(folder, "b.txt")
    os.mkfifo(pipe)
    endless = ["--method", "gmres", "--tol", "1e-300", "--max-iterations", "1000000000", "--options", "stagnation=1000000000"]
    run = subprocess.Popen([tessera, "report", "gen:stencil7:n=12,b=1", "--rhs", pipe, *endless, "-o", path],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    b = None
    for _ in range(600):
        try:
            b = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # there is a reader now
            break
        except OSError:
            check(run.poll() is None, "it ended before it read b")
            time.sleep(0.1)
    check(b is not None, "b is not read")
    if in_solve:
        os.write(b, b"1\n" * 12**3)
        os.close(b)
        time.sleep(3)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    if in_solve:
        check(run.returncode == 0, f"exit status {run.returncode}: {said}")
        with open(path, encoding="utf-8") as file:
            check("CANCELLED" in file.read(), "the page does not say that the solve was stopped")
    else:
        os.close(b)
        check(run.returncode == -signal.SIGINT and not os.path.exists(path), f"exit status {run.returncode}, or a page")
    os.unlink(pipe)
    check([f for f in os.listdir(folder) if f != "page.html"] == [], f"left behind: {os.listdir(folder)}")


def main():
    tessera = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as inputs:
        made = {"none.mtx": "0 0 0\n", "empty.mtx": "5 3 0\n", "one.mtx": "1 1 1\n1 1 -2\n", "zero.mtx": "2 2 1\n1 1 0\n",
                "a<b&c\".mtx": "2 3 2\n1 1 1\n2 3 1e300\n"}
        for name, content in made.items():
            with open(os.path.join(inputs, name), "w", encoding="utf-8") as file:
                file.write("%%MatrixMarket matrix coordinate real general\n" + content)
        cases = [[os.path.join(inputs, name)] for name in made]
        cases += [["gen:elasticity:n=6"], ["gen:elasticity:n=4", "--no-solve", "--block", "2x5"],
                  ["gen:stencil7:n=5", "--device", "ref", "--method", "gmres", "--tol", "1e-4"],
                  ["gen:cdr:n=6", "--type", "f32"], ["gen:random:rows=400,cols=90,avg=4"],
                  ["gen:stencil7:n=6", "--max-iterations", "2", "--method", "cg"]]
        cases += [[drawn_input()] for _ in range(6)]
        for words in cases:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    try_input(tessera, folder, words)
                except Exception as reason:
                    print(f"report {' '.join(words)} (TESSERA_TEST_SEED={seed}): {reason!r}")
                    raise SystemExit(1)
    for in_solve in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            interrupt(tessera, folder, in_solve)
    print(f"{len(cases)} pages, seed {seed}; Ctrl-C before and in the solve")


main()
