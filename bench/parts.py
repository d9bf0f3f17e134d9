#!/usr/bin/env python3
"""Several parts of one machine: measures, and writes docs/performance/parts.md.

    ./run bench-parts                             builds what is needed, measures this machine's CPU, writes the page
    bench/parts.py --cpu NAME                     the same with what is in build/bin: 4 to 6 minutes on two cores
    bench/parts.py --cuda NAME --device cuda:0    the parts of one GPU and the model for two of them
    ./run bench-parts --cpu NAME --cuda NAME      both: the model's table for cpu:1,1, MPI ranks and cuda:0,0
    bench/parts.py                                the page alone, from bench/results/parts-*.json

On a CPU, `tessera_bench_ranks` runs four ways in turns in one MPI program: one process with one thread per core, one process with
one part per core, one rank per core, and PETSc's MPIBAIJ on the same ranks. Medians count, every result is verified, and ratios are
of times in one run. --calibrate measures the performance model of this machine first, some minutes more, and keeps it in
build/parts for later runs; without it the model that is built in for the most similar machine stands in. Standard library
only."""
import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import report_parts  # noqa: E402
from report_common import box, processor, revision, save  # noqa: E402

RESULTS = os.path.join(ROOT, "bench", "results", "parts-%s.json")
KEPT = os.path.join(ROOT, "build", "parts")
CG, BICGSTAB = "cg:pc=bjacobi,tol=1e-8", "bicgstab:pc=ilu0,tol=1e-8"
# Matrices beyond the cache: four times 36 MB and more.
CONTESTS = [("gen:stencil27:n=48,b=3", ["spmv+", CG]), ("gen:elasticity:n=40", ["spmv+", CG]), ("gen:stencil7:n=60,b=4", ["spmv+"]),
            ("gen:cdr:n=52,b=4", ["spmv+", BICGSTAB])]
SHORT = [("gen:stencil27:n=20,b=3", ["spmv+", CG]), ("gen:cdr:n=20,b=4", ["spmv+", BICGSTAB])]
ITERATION = "iteration:cg:pc=jacobi"
FEW, MANY = 50, 450  # iterations of a GPU's solves, none of which may end before


def model_cases(small, large):
    """Stencils of 1 x 1 to 8 x 8 blocks whose products move about the given bytes; 0: none of that size."""
    kinds = [(7, small), (7, large), (27, large)]
    return [f"gen:stencil{points}:n={box(points, b, size)},b={b}" for b in (1, 2, 4, 8) for points, size in kinds if size]


def environment(**more):
    """The environment with this bench's own wisdom and model."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "TESSERA_WISDOM": os.path.join(KEPT, "wisdom.json"), **more}


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**more), check=False)
    if done.returncode:
        sys.exit(" ".join(command) + "\n" + done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout


def tessera(options, *words, **more):
    return json.loads(run([os.path.join(options.bin, "tessera"), *words, "--json"], **more))


def prepare(options, device):
    """Provides a model of the device, and removes the wisdom of earlier runs."""
    os.makedirs(KEPT, exist_ok=True)
    wisdom, model = os.path.join(KEPT, "wisdom.json"), os.path.join(KEPT, "model.json")
    if os.path.exists(wisdom):
        os.remove(wisdom)
    if options.calibrate:
        started = time.monotonic()
        run([os.path.join(options.bin, "tessera"), "calibrate", "--device", device, "--type", "f64", "--blocks", "0,1,2,3,4,8",
             "--megabytes", "256", "--out", model])
        print(f"calibrated {device} in {time.monotonic() - started:.0f} s", flush=True)


def scaling(options):
    """Strong and weak scaling to 1024 devices, by the model alone, on any machine."""
    found = {}
    for title, words in (("an H200 a part", ["--device", "profile:h200"]),):
        p = tessera(options, "predict", "gen:stencil27:n=80,b=3", *words, "--devices", "1024", "--link", "200", "--latency", "5")
        keys = ("devices", "cg_seconds", "halo_seconds", "sum_seconds", "direct_seconds", "through_host_seconds", "speedup", "halo_bytes")
        found[title] = {"input": "gen:stencil27:n=80,b=3", "model": p["model"], "density": p["density"], "link": 200, "latency": 5,
                        **{part: [{k: s[k] for k in keys} for s in p[name]] for part, name in (("strong", "predictions"), ("weak", "weak"))}}
    return found


# ---- CPU ----

def contest(options, case, rounds, seconds, works):
    started = time.monotonic()
    launch = [options.mpirun, "-n", str(options.ranks), "--bind-to", "none", os.path.join(options.bin, "tessera_bench_ranks")]
    if options.oversubscribe:
        launch[1:1] = ["--oversubscribe"]
    text = run([*launch, case, str(rounds), str(seconds), *works], OMP_NUM_THREADS=str(options.ranks))
    found = json.loads(text.splitlines()[-1])
    for work in found["works"]:
        for way, r in work["ways"].items():
            limit = 1.1e-8 if "tol=1e-8" in work["work"] else 1e-12 if work["work"].startswith("spmv") else None
            if limit and not 0 <= r["error"] <= limit:
                sys.exit(f"{case}: {work['work']} by {way} has an error of {r['error']}")
        told = {way: statistics.median(r["seconds"]) for way, r in work["ways"].items() if r["seconds"]}
        print(f"{case} {work['work']}:", ", ".join(f"{way} {1e3 * t:.3f} ms" for way, t in told.items()), flush=True)
    print(f"  {time.monotonic() - started:.0f} s", flush=True)
    return found


def measure_cpu(options):
    log = {"kind": "cpu", "name": options.cpu, "processor": processor(), "ranks": options.ranks, "revision": revision(ROOT),
           "date": str(datetime.date.today()), "load": os.getloadavg()[0], "rounds": options.rounds}
    if shutil.which(options.mpirun) is None:
        sys.exit(f"{options.mpirun} is not here: install openmpi-bin")
    prepare(options, f"cpu:{options.ranks}")
    started = time.monotonic()
    cases = SHORT if options.short else CONTESTS
    log["contests"] = [contest(options, case, options.rounds, 0.1, works) for case, works in cases]
    log["model"] = [contest(options, case, 3, 0.05, [ITERATION]) for case in model_cases(2e6, 0 if options.short else 100e6)]
    log["scaling"] = scaling(options)
    log["seconds"] = round(time.monotonic() - started)
    save(RESULTS % options.cpu, log)


# ---- One GPU as several devices ----

def on_parts(options, case, spec, rounds, names):
    """The output of `tessera_bench_parts` for each device."""
    command = [os.path.join(options.bin, "tessera_bench_parts"), case, spec, str(rounds), *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment())
    return [json.loads(line) for line in done.stdout.splitlines()]


def between(few, many):
    """Seconds of an iteration: a long solve less a short one, so that start and end of a solve do not count."""
    did = many["iterations"] - few["iterations"]
    return 1e-6 * (many["iteration"] * many["iterations"] - few["iteration"] * few["iterations"]) / did if did > 0 else None


def measure_cuda(options):
    kind, number = options.device.split(":")
    names = [options.device, f"{kind}:{number},{number}", f"{kind}:{number},{number},{number},{number}"]
    os.makedirs(KEPT, exist_ok=True)
    large = "gen:stencil27:n=80,b=3"
    log = {"revision": options.revision or revision(ROOT), "date": str(datetime.date.today()), "rounds": options.rounds,
           "device": tessera(options, "predict", large, "--device", options.device)["model"].split(",")[1].strip(),
           "runs": [r for case in (large, "gen:stencil27:n=16,b=3") for r in on_parts(options, case, "cg", options.rounds, names)],
           "model": []}
    for case in model_cases(0, 400e6):
        p = tessera(options, "predict", case, "--device", options.device, "--devices", "2", "--shared")
        few, many = (on_parts(options, case, f"cg:pc=jacobi,tol=0,max={most}", 3, names[:2]) for most in (FEW, MANY))
        log["model"].append({"input": case, "block": p["block_height"], "model": p["model"], "stand_in": p["stand_in"],
                             "predicted": [{"devices": s["devices"], "iteration": s["cg_seconds"]} for s in p["predictions"]],
                             "measured": [between(f, m) for f, m in zip(few, many)]})
        print(log["model"][-1], flush=True)
        save(RESULTS % options.cuda, log)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], epilog="\n".join(__doc__.split("\n")[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", metavar="NAME", help="measure the CPU; the name of its file of results")
    parser.add_argument("--cuda", metavar="NAME", help="measure parts of a GPU; the name of its file of results")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--oversubscribe", action="store_true", help="more ranks than cores")
    parser.add_argument("--revision", help="to write down, where git is not here")
    parser.add_argument("--short", action="store_true", help="small matrices: whether everything runs")
    parser.add_argument("--calibrate", action="store_true", help="measure the model of this machine first: some minutes")
    options = parser.parse_args()
    if options.cpu:
        measure_cpu(options)
    if options.cuda:
        measure_cuda(options)
    report_parts.write()


if __name__ == "__main__":
    main()
