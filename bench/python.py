#!/usr/bin/env python3
"""`A @ x` from Python beside SciPy's bsr_array, CuPy's CSR and PyTorch's BSR, for blocks of 1 to 16.

usage: python.py [--name MACHINE [--device cpu|cuda] [--megabytes 64] [--rounds 60] [--note SENTENCE]]

Libraries that are not there are left out by name. Every library's product is compared with SciPy's
before it is timed. The libraries take turns in every round, and the least time of a product is kept: a
busy machine only adds time. On the CPU a turn begins with a pause, as threads of other libraries wait by spinning for some
time, and a call that does not count. With OMP_NUM_THREADS=1 on the CPU it is CPU time. Writes bench/results/python-NAME.json,
docs/performance/python.md and its picture; without --name, only these, from the results that are there. Run from a source tree
with TESSERA_LIBRARY=.../libtessera.so and PYTHONPATH=python."""
import argparse
import datetime
import glob
import importlib
import json
import os
import time

import draw
from report_common import box, table

try:
    import numpy as np
    import tessera
except ImportError: # the page can be written all the same
    np = tessera = None

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PAUSE = 0.03  # seconds
BLOCKS = (1, 2, 3, 4, 5, 6, 8, 12, 16)

INTRO = """# Products from Python

This page is written by `bench/python.py` from `bench/results/python-*.json`; do not edit it.

`plan @ x` and the products of other libraries with the same matrix, a 27-point stencil of dense b × b blocks in double
precision, and arrays of each library's own kind. On a GPU all arrays are there. The libraries take turns in every
round, and the least times are shown, in µs; with one thread they are CPU time. **ratio** is the fastest other library's time
over ours.

![GB/s of values of Tessera and of other libraries from Python](plots/python.svg)
"""


def scipy_bsr(A, x):
    matrix = A.to_scipy()
    return lambda: matrix @ x, np.asarray


def scipy_csr(A, x):
    matrix = A.to_scipy().tocsr()
    return lambda: matrix @ x, np.asarray


def ours_cpu(A, x):
    plan = A.plan("cpu")
    return lambda: plan @ x, np.asarray


def ours_cupy(A, x):
    cupy = importlib.import_module("cupy")
    plan, there = A.plan("cuda"), cupy.asarray(x)
    return lambda: plan @ there, cupy.asnumpy


def ours_torch(A, x):
    torch = importlib.import_module("torch")
    plan, there = A.plan("cuda"), torch.as_tensor(x, device="cuda")
    return lambda: plan @ there, lambda y: y.cpu().numpy()


def cupy_csr(A, x):
    cupy = importlib.import_module("cupy")
    matrix = importlib.import_module("cupyx.scipy.sparse").csr_matrix(A.to_scipy().tocsr())
    there = cupy.asarray(x)
    return lambda: matrix @ there, cupy.asnumpy


def torch_bsr(A, x, device):
    torch = importlib.import_module("torch")
    matrix = A.to_scipy()
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    if A.blocksize == (1, 1):
        matrix = matrix.tocsr()
        arrays = (matrix.indptr, matrix.indices, matrix.data)
        make = torch.sparse_csr_tensor
    else:
        make = torch.sparse_bsr_tensor
    tensors = [torch.as_tensor(np.ascontiguousarray(a), device=device) for a in arrays]
    there, vector = make(*tensors, size=A.shape), torch.as_tensor(x, device=device)
    return lambda: there @ vector, lambda y: y.cpu().numpy()


PEERS = {
    "cpu": {
        "Tessera": ours_cpu,
        "SciPy BSR": scipy_bsr,
        "SciPy CSR": scipy_csr,
        "torch BSR": lambda A, x: torch_bsr(A, x, "cpu"),
    },
    "cuda": {
        "Tessera, CuPy": ours_cupy,
        "Tessera, torch": ours_torch,
        "CuPy CSR": cupy_csr,
        "torch BSR": lambda A, x: torch_bsr(A, x, "cuda"),
    },
}


def finisher(device):
    """Waits for the GPU."""
    if device == "cpu":
        return lambda: None
    for name in ("cupy", "torch"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.cuda.Device().synchronize if name == "cupy" else module.cuda.synchronize
    raise SystemExit("neither CuPy nor PyTorch is here")


def seconds(call, finish, count):
    """CPU time if one thread runs on the CPU, so that other processes do not count."""
    clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
    finish()
    begun = clock()
    for _ in range(count):
        call()
    finish()
    return (clock() - begun) / count


def contest(options, b, missing):
    n = box(27, b, options.megabytes * 1e6)
    A = tessera.generate("stencil27", n=n, b=b)
    x = np.random.default_rng(1).standard_normal(A.shape[1])
    expected = A.to_scipy() @ x
    finish, calls = finisher(options.device), {}
    for name, make in PEERS[options.device].items():
        try:
            call, host = make(A, x)
            np.testing.assert_allclose(host(call()), expected, rtol=1e-9, atol=1e-9 * abs(expected).max())
        except (ImportError, RuntimeError, NotImplementedError) as reason:
            missing[name] = str(reason).splitlines()[0]
            continue
        calls[name] = call
    counts = {name: max(1, min(500, int(0.002 / seconds(call, finish, 2)))) for name, call in calls.items()}
    times = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, call in calls.items():
            if options.device == "cpu":
                time.sleep(PAUSE)
                call()
            times[name].append(seconds(call, finish, counts[name]))
    least = {name: min(values) for name, values in times.items()}
    print(b, n, {name: f"{1e6 * t:.0f} us" for name, t in least.items()}, flush=True)
    return {"block": b, "points": n, "rows": A.shape[0], "entries": A.nnz, "seconds": least}


def picture(documents):
    """One panel per machine: the bytes of the values over the time."""
    panels = []
    for data in documents:
        names = [n for n in PEERS[data["kind"]] if any(n in r["seconds"] for r in data["results"])]
        series = {n: [8e-9 * r["entries"] / r["seconds"][n] if n in r["seconds"] else None for r in data["results"]] for n in names}
        panels.append({"title": data["name"], "sizes": [r["block"] for r in data["results"]], "series": series})
    return draw.speeds("Products from Python, by block size", panels, up="GB/s of values")


def page(files):
    lines, documents = [INTRO], []
    for path in sorted(files):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        documents.append(data)
        lines += [f"## {data['name']}", "", f"{data['device']}, {data['date']}. {data['note']}".rstrip(), ""]
        if data["missing"]:
            lines += ["Not there: " + "; ".join(f"{k} ({v})" for k, v in data["missing"].items()) + ".", ""]
        names = [n for n in PEERS[data["kind"]] if any(n in r["seconds"] for r in data["results"])]
        rows = []
        for r in data["results"]:
            found = r["seconds"]
            ours = min(t for name, t in found.items() if name.startswith("Tessera"))
            others = [t for name, t in found.items() if not name.startswith("Tessera")]
            shown = [f"{1e6 * found[n]:.0f}" if n in found else "–" for n in names]
            ratio = f"{min(others) / ours:.2f}" if others else "–"
            rows.append([str(r["block"]), str(r["rows"]), str(r["entries"]), *shown, ratio])
        lines += [table(["b", "rows", "entries", *names, "ratio"], rows)]
    with open(os.path.join(ROOT, "docs/performance/python.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    with open(os.path.join(ROOT, "docs/performance/plots/python.svg"), "w", encoding="utf-8") as file:
        file.write(picture(documents))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", choices=list(PEERS), default="cpu")
    parser.add_argument("--megabytes", type=float, default=64, help="that a product moves at least")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--name", help="of the machine; without it the page is written from the results that are there")
    parser.add_argument("--note", default="", help="a sentence for the page")
    options = parser.parse_args()
    os.environ.setdefault("KMP_BLOCKTIME", "10")  # milliseconds that MKL's threads spin, far more than between two calls
    if options.name:
        measure(options)
    page(glob.glob(os.path.join(RESULTS, "python-*.json")))


def measure(options):
    if options.device != "cpu":
        os.environ.pop("OMP_NUM_THREADS", None)  # the clock's time
    missing = {}
    data = {
        "name": options.name,
        "kind": options.device,
        "device": tessera.generate("stencil7", n=2).plan(options.device, "estimate").device.description,
        "date": datetime.date.today().isoformat(),
        "note": options.note,
        "results": [contest(options, b, missing) for b in BLOCKS],
        "missing": missing,
    }
    with open(os.path.join(RESULTS, f"python-{options.name}.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
