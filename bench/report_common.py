"""What the pages on CPUs and on GPUs have in common: picking results, and tables."""
import math
import re


def good(case, peers):
    return [r for r in case["results"] if r["outcome"] == "good" and bool(r["peer"]) == peers]


def fastest(results):
    return min(results, key=lambda r: r["seconds"]) if results else None


def share(result, digits=1):
    """Of the read ceiling."""
    fraction = result["fraction_of_read"] if result else None
    return f"{100 * fraction:.{digits}f} %" if fraction else "–"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def current_name(kernel):
    """A CPU kernel's name today: results keep the one it was measured under."""
    kernel = kernel.replace("_0x0_", "_any_").replace("_ahead", "_prefetch")
    return re.sub("_lock([2-4])", r"_streams\1", kernel)


def kernel_name(result):
    words = [current_name(result["kernel"]), result["params"]]
    return "`" + " ".join(w for w in words if w) + "`"
