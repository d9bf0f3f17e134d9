"""Shared by the suites and their pages: inputs, files of results, picking results, tables."""
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile


def good(case, peers):
    return [r for r in case["results"] if r["outcome"] == "good" and bool(r["peer"]) == peers]


def fastest(results):
    return min(results, key=lambda r: r["seconds"]) if results else None


def share(result, digits=1):
    """The share of the read ceiling."""
    fraction = result["fraction_of_read"] if result else None
    return f"{100 * fraction:.{digits}f} %" if fraction else "–"


def best(results):
    """The fastest of the results that are correct."""
    return fastest([r for r in results if r["outcome"] == "good"])


def block_bytes(b, real=8):
    """Bytes of one stored block: values and its column."""
    return real * b * b + 4


def box(points, b, target, real=8):
    """Edge of the smallest box whose 7- or 27-point matrix moves at least `target` bytes."""
    n = 2
    while True:
        blocks = 7 * n**3 - 6 * n**2 if points == 7 else (3 * n - 2) ** 3
        if blocks * block_bytes(b, real) + n**3 * (4 + 2 * real * b) >= target:
            return n
        n += 1


def slug(machine):
    """A machine's name for files: its processor, and how many of them."""
    name = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", "", machine["processor"])
    return "-".join(re.findall(r"[a-z0-9.]+", name.lower())) + f"-{machine['processors']}"


def load(path, otherwise=None):
    """The document in a file of results; `otherwise` if there is no file."""
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, document):
    """Replaces the file in one step: a reader sees the old file or the new one."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def processor():
    """The name of this machine's processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    if not names and shutil.which("lscpu"):  # Linux has no name of processors of Arm
        names = re.findall(r"^Model name: *(.*)", subprocess.run(["lscpu"], stdout=subprocess.PIPE, text=True, check=False).stdout, re.M)
    return names[0] if names else platform.machine()


def revision(root):
    """The revision of a checkout; "unknown" outside of one."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def prose(text):
    """A paragraph that is wrapped in the source, on one line."""
    return " ".join(text.split())


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def current_name(kernel):
    """The present name of a CPU kernel: results keep the name under which it was measured."""
    kernel = kernel.replace("_0x0_", "_any_").replace("_ahead", "_prefetch")
    return re.sub("_lock([2-4])", r"_streams\1", kernel)


def kernel_name(result):
    words = [current_name(result["kernel"]), result["params"]]
    return "`" + " ".join(w for w in words if w) + "`"


def write_or_check(root, made):
    """Writes {path: text}. With --check on the command line it writes nothing; returns whether some page is another."""
    stale = False
    for path, text in made.items():
        name = os.path.relpath(path, root)
        if "--check" in sys.argv[1:]:
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                print(f"{name} is not what bench/results say: python3 bench/{os.path.basename(sys.argv[0])}")
                stale = True
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(name)
    return stale


def run(*command, seconds=None):
    """The JSON that a command prints, with wisdom of its own."""
    with tempfile.TemporaryDirectory() as directory:
        wisdom = os.environ.get("TUNING_WISDOM", os.path.join(directory, "wisdom.json"))
        environment = dict(os.environ, TESSERA_WISDOM=wisdom)
        return json.loads(subprocess.run(command, check=True, capture_output=True, env=environment, timeout=seconds).stdout)


def name_of(c):
    return " ".join(filter(None, (c["format"], c["kernel"], c["params"])))
