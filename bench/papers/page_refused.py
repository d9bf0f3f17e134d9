"""Why cells of papers.md are empty: what could not run, with the reason."""
import re


def number(text, key):
    found = re.search(rf"\b{key}=(\d+)", text)
    return int(found[1]) if found else 0


def mean_row(case):
    return case["blocks"] // max(1, case["rows"] // case["block"])


def why(case, run):
    """The condition of the kernel that the matrix does not meet (its fits() in src/cuda/kernels/papers), where it is one of these."""
    name, text, b = run["name"], run["refused"], case["block"]
    if "_balanced" in name and case["longest_row"] <= number(text, "lambda"):
        return f"no row has more than λ = {number(text, 'lambda')} blocks, so that there is nothing to cut"
    if number(name, "Bx") * b * b > number(text, "T") > 0:
        return f"{number(name, 'Bx')} blocks of {b} × {b} at a time need more than the {number(text, 'T')} threads of a thread block"
    if "reorder=1,sort=0" in name and case["longest_row"] > 200 * (mean_row(case) + 1):
        return "rows that are read together are padded to the longest of them, more than 200 times the mean, unless they are sorted"
    if name.startswith(("block_row", "warp_row")) and mean_row(case) < 7:
        return f"a row has {mean_row(case)} blocks in the mean, and most threads of those that share it would have none"
    return text.replace(f" {b} x {b} ", " such ")


def text(cases):
    """A list of reasons with the cases that each one left empty; "" where nothing was refused."""
    reasons = {}
    for case in cases:
        refused = [run for run in case["runs"] if "refused" in run]
        for run in refused:
            if any(other["name"].startswith(run["name"] + ":") for other in refused):
                continue  # it was to be tuned, and its guess says why it does not apply
            name = re.sub(r":.*(shapes=|tune=).*", "", run["name"])
            reasons.setdefault((f"`{name}`", why(case, run)), []).append(case["label"].replace("\t", " "))
    if not reasons:
        return ""
    lines = [f"* {name}: {reason} ({', '.join(labels)})." for (name, reason), labels in reasons.items()]
    return "\nA kernel that does not take a matrix leaves its cell empty (–), if no other of its column takes it:\n\n" + "\n".join(lines) + "\n"
