"""Measures the GPU page: every case is one run of `tessera bench --device cuda --json`.

    bench/suite.py --device cuda --name h200 --matrices DIR     everything, most important first
    bench/suite.py --device cuda --name h200 --seconds 400      what fits in that time
    bench/suite.py --device cuda --name h200 --part stencil27 --b 3

The whole suite starts a new file, so that a page is one run of one revision; with --part or --b a case
that is run again replaces its earlier result. The file is complete after every case, and lists the cases
that were left out for lack of time. The page is written from it by report.py.

Cases run one after the other: each prepares its matrix with all threads of the host, and two at once take
longer than one after the other (H200, 16 cores: 10 to 12 s each instead of 3 to 5).
"""
import glob
import json
import os
import subprocess
import time

from report_common import best, block_bytes, box, load, save

PARTS = ("stencil27", "stencil7", "powerlaw", "spmm8", "sizes", "families", "promoted")
B_ALL = [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 32, 48, 64]
B_POWERLAW = [2, 3, 4, 5, 8, 16]
B_PROMOTED = [3, 7, 16]
B_SIZES = [3, 8]
B_FAMILIES = [2, 3, 5, 8, 16, 32, 64]
B_FAMILIES_IRREGULAR = [2, 3, 8, 16, 32]
B_FAMILIES_SHARED = [16, 32, 64]  # block sizes at which row_per_thread has both of its forms
MEGABYTES = [1, 3, 10, 27, 100, 300, 1050, 2100]
LARGE, FAMILIES = 1.05e9, 0.3e9  # bytes that a product must move
SCATTERED = 0.7e9  # the families on random columns: x is more than L2 keeps beside the matrix
REPETITIONS = 42  # six in each of the seven rounds


def stencil(points, b, target, real=8):
    return f"gen:stencil{points}:n={box(points, b, target, real)},b={b}"


def powerlaw(b, target, average=7):
    """An input that moves `target` bytes, with a margin: drawn rows are a little shorter than the average asked for."""
    rows = int(1.08 * target / (average * block_bytes(b) + 4 + 16 * b))
    return f"gen:powerlaw:rows={rows},avg={average},b={b}"


def case(part, b, matrix, **more):
    made = {"part": part, "b": b, "matrix": matrix, "type": "f64", "op": "spmv", "kernel": "sliced",
            "params": None, "peers": True, "label": ""}
    return {**made, **more}


def patterns(directory):
    """Files of real matrices, small ones first."""
    if not directory:
        return []
    return sorted(glob.glob(os.path.join(directory, "*.mtx*")), key=os.path.getsize)


def name_of(path):
    return os.path.basename(path).split(".mtx")[0]


def planned(b):
    """The kernel that plans of stencils take, so that the others need not be timed; None: it differs."""
    return None if b == 1 else "sliced"


def all_cases(matrices):
    """Cases in order of importance: the last ones are left out if time is short."""
    large = [case(f"stencil{p}", b, stencil(p, b, LARGE), kernel=planned(b)) for b in B_ALL for p in (27, 7)]
    irregular = [case("powerlaw", b, powerlaw(b, LARGE), kernel="swept" if b <= 3 else "sliced") for b in B_POWERLAW]
    several = [case("spmm8", 3, stencil(27, 3, LARGE), op="spmm:8", kernel=None, peers=False)]
    small = [case("sizes", b, stencil(27, b, mb * 1e6), label=f"{mb} MB") for mb in MEGABYTES for b in B_SIZES]
    families = [case("families", b, stencil(27, b, FAMILIES), kernel=None, peers=False) for b in B_FAMILIES]
    families += [case("families", b, stencil(27, b, FAMILIES), kernel="row_per_thread", params="shared=0;shared=1",
                      peers=False, label="both forms") for b in B_FAMILIES_SHARED]
    families += [case("families", b, powerlaw(b, SCATTERED), kernel=None, peers=False, label="power-law")
                 for b in B_FAMILIES_IRREGULAR]
    single = [case(f"stencil{p}", b, stencil(p, b, LARGE, 4), type="f32", kernel=planned(b), peers=False) for b in B_ALL for p in (27, 7)]
    real = [case("promoted", b, f"promote:b={b}:{path}", label=name_of(path))
            for path in patterns(matrices) for b in B_PROMOTED]
    return large + irregular + several + single + families + small + real


def key_of(c):
    return [c["part"], c["b"], c["type"], c["label"]]


def run_case(options, c):
    command = [options.tessera, "bench", c["matrix"], "--device", options.device, "--type", c["type"],
               "--op", c["op"], "--few", "--reps", str(REPETITIONS), "--json"]
    command += ["--kernel", c["kernel"]] if c["kernel"] else []
    command += ["--params", c["params"]] if c["params"] else []
    command += ["--peers"] if c["peers"] and c["op"] == "spmv" and not options.no_peers else []
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:  # the error is on stderr already
        return None
    result = json.loads(done.stdout)
    result["case"] = {k: c[k] for k in ("part", "b", "type", "label")}
    result["matrix"]["input"] = result["matrix"]["input"].replace(os.path.join(options.matrices or "", ""), "")
    result["case"]["exit_status"] = done.returncode
    result["case"]["revision"] = options.revision
    result["case"]["wall_seconds"] = round(time.monotonic() - start, 1)
    return result


def summary(c, result):
    text = f"{c['part']:10} b={c['b']:<3} {c['type']} {c['label']:12}"
    if not result:
        return text + " not measured"
    ours, peer = (best([r for r in result["results"] if bool(r["peer"]) == other]) for other in (False, True))
    default = next((r for r in result["results"] if r["default"] and r["outcome"] == "good"), None)
    text += f" {result['matrix']['bytes'] / 1e6:7.0f} MB"
    for r in (default, ours):
        text += f" {100 * (r['fraction_of_read'] or 0):6.1f} %" if r else "      – "
    if ours and peer:
        text += f" {peer['seconds'] / ours['seconds']:6.2f}x {peer['kernel']}"
    text += f"  [{result['case']['wall_seconds']:.1f} s]"
    wrong = [r for r in result["results"] if r["outcome"] in ("wrong", "failed")]
    return text + "".join(f"\n  {r['outcome'].upper()}: {r['kernel']} {r['params']}: {r['reason']}" for r in wrong)


def store(path, result, wanted):
    document = load(path, {"cases": [], "not_measured": []})
    keys = [key_of(c) for c in wanted]
    document["cases"] = [c for c in document["cases"] if key_of(c["case"]) != key_of(result["case"])] + [result]
    document["cases"].sort(key=lambda c: keys.index(key_of(c["case"])) if key_of(c["case"]) in keys else len(keys))
    save(path, document)


def driver_version():
    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(query, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return None


def command_of(options):
    """The command that repeats the run, without this machine's paths."""
    words = ["bench/suite.py", "--device", options.device]
    words += ["--name", options.name] if options.name else []
    words += ["--matrices", "DIR"] if options.matrices else []
    words += ["--seconds", f"{options.seconds:.0f}"] if options.seconds else []
    return " ".join(words)


def is_whole(options):
    return not options.part and not options.b


def note_missing(path, wanted, options):
    """Notes the cases of the page that the file lacks."""
    document = load(path, {"cases": [], "not_measured": []})
    have = [key_of(c["case"]) for c in document["cases"]]
    document["not_measured"] = [key_of(c) for c in wanted if key_of(c) not in have]
    if is_whole(options):
        document.update(command=command_of(options), revision=options.revision, driver=driver_version())
    save(path, document)
    return len(document["not_measured"])


def run_all(options, cases, path, wanted):
    """Runs the cases in their order. Returns how many failed, and how many were left out for lack of time."""
    start, failed = time.monotonic(), 0
    for number, c in enumerate(cases):
        if options.seconds and time.monotonic() - start > options.seconds:
            return failed, len(cases) - number
        result = run_case(options, c)
        print(summary(c, result), flush=True)
        failed += not result or result["case"]["exit_status"] != 0
        if result:
            store(path, result, wanted)
    return failed, 0


def run(options):
    wanted = all_cases(options.matrices)
    path = os.path.join(options.out, f"{options.name or 'cuda'}.json")
    if is_whole(options):
        save(path, {"cases": [], "not_measured": [], "alone": True})
    cases = [c for c in wanted if (not options.part or c["part"] in options.part) and (not options.b or c["b"] in options.b)]
    start = time.monotonic()
    failed, skipped = run_all(options, cases, path, wanted)
    missing = note_missing(path, wanted, options)
    print(f"{path}: {time.monotonic() - start:.0f} s, {failed} failed, {skipped} without time, {missing} missing in all")
    return 1 if failed else 0
