"""What papers.md says of paper 004's CG on multiple rows beside product and passes."""
import math

from figures import TABLE_5
from report_common import prose

BAR = 1.10  # an iteration over product + passes
FUSED = ("sliced", "block_row", "warp_row", "multi_row")  # compute p.q too: NAME_dot in kernels.def


def told(cases):
    """The cases whose passes were long enough to be told."""
    return [case for case in cases if case.get("passes", 0) > 0]


def ratio(case, passes=None):
    return case["iteration"] / (case["product"] + (passes or case["passes"]))


def fused_passes(cases, case):
    """The passes of the case with a fused kernel whose number of unknowns is nearest; of several,
    that with the smallest blocks."""
    def distance(other):
        return abs(math.log(other["rows"] / case["rows"])), other["block"]
    return min((c for c in cases if c["passes_of"] in FUSED), key=distance)["passes"]


def name_of(case):
    """Of a matrix of Table 5 its name, which the label has by its Id; of a box its label."""
    n, x = case["label"].split("\t")
    return f"{n}, {x}" if "stencil" in case["input"] else f"{TABLE_5[int(x)][0]} at {n}"


def counted(cases):
    """How many are within the bar, which are not, and what the unfused kernels' passes hide."""
    ratios = [ratio(case) for case in cases]
    within = sum(r <= BAR for r in ratios)
    text = f"{within} of {len(cases)} within the bar, {min(ratios):.2f} to {max(ratios):.2f}."
    over = [f"{name_of(case)} ({ratio(case):.3f})" for case in cases if ratio(case) > BAR]
    if over:
        text += f" Over it: {', '.join(over)}."
    loose = [case for case in cases if case["passes_of"] not in FUSED]
    if loose:
        harder = [ratio(case, fused_passes(cases, case)) for case in loose]
        within = sum(r <= BAR for r in harder)
        text += f""" {len(loose)} of the {len(cases)} have the passes of an unfused kernel. With
            those of a fused kernel at the nearest number of unknowns they are {min(harder):.2f} to
            {max(harder):.2f}, {within} of {len(loose)} within the bar."""
    return prose(text)


def table(cases):
    lines = ["| | product, µs | passes | passes of | iteration | over product + passes | |",
             "|---|---|---|---|---|---|---|"]
    for case in cases:
        panel, x = case["label"].split("\t")
        product, passes, iteration = (1e6 * case[key] for key in ("product", "passes", "iteration"))
        of = f"`{case['passes_of']}`" + ("" if case["passes_of"] in FUSED else ", unfused")
        lines.append(f"| {panel}, {x} | {product:.1f} | {passes:.1f} | {of} | {iteration:.1f} | "
                     f"{ratio(case):.3f} | {'' if ratio(case) <= BAR else 'over the bar'} |")
    return "\n".join(lines) + "\n"


def of_boxes(figures):
    """What is compared, how many boxes and matrices of Table 5 are within the bar; the boxes."""
    every = figures["004-cg"]["cases"]
    boxes, table_5 = told(every), told(figures.get("004-10", {}).get("cases", []))
    if not boxes:
        return "\nProduct and passes were not timed.\n"
    fused = ", ".join(f"`{name}`" for name in FUSED)
    parts = [
        prose(f"""CG on multiple rows beside product and passes. The bar: an iteration takes at most
            {BAR:.2f} times product + passes."""),
        "* *Product*: one product by `multi_row`, timed by itself.\n"
        + prose("""* *Iteration*, by `multi_row` too: the difference between solves of 240 and of 40
            iterations, divided by 200. Where CG ends sooner, both are shorter.""") + "\n"
        + prose(f"""* *Passes*: iteration less product, both by the kernel that the library would
            choose for the matrix. A fused kernel ({fused}) computes p·q with the product. An
            unfused one, such as `by_block` or `fbcsr`, needs two more launches for p·q. They count
            as passes, so that the bar is too easy there."""),
        f"Boxes: {counted(boxes)}"]
    if table_5:
        parts.append(f"Matrices of Table 5, listed in the next section: {counted(table_5)}")
    if len(boxes) < len(every):
        parts.append(f"{len(every) - len(boxes)} boxes had passes too short to be told.")
    return "\n" + "\n\n".join(parts) + "\n\n" + table(boxes)


def over_text(cases):
    """What is known of the cases over the bar."""
    over = [case for case in cases if ratio(case) > BAR]
    if not over:
        return ""
    excess = [1e6 * (case["iteration"] - case["product"] - case["passes"]) for case in over]
    spans = [1e6 * case["iteration"] for case in over]
    blocks = " and ".join(f"{b} × {b}" for b in sorted({case["block"] for case in over}))
    shortest = 1e6 * min(case["product"] for case in cases)
    return f"""Those over the bar have blocks of {blocks}. Their iterations of {min(spans):.1f} to
        {max(spans):.1f} µs are {min(excess):.1f} to {max(excess):.1f} µs longer than product +
        passes. The shortest product here, which is a launch and little else, takes {shortest:.1f}
        µs. """


def twins_text(cases):
    """Matrices 36 and 37 differ by one row: how far their ratios differ is the scatter."""
    labels = {case["label"]: case for case in cases}
    pairs = [[labels.get(f"N = {b}\t{i}") for i in (36, 37)] for b in (1, 2, 4, 8)]
    if not all(all(pair) for pair in pairs):
        return ""
    scatter = max(abs(ratio(a) - ratio(b)) for a, b in pairs)
    beside = [1e6 * (case["iteration"] - case["product"]) for pair in pairs for case in pair]
    small, large = beside[:-2], beside[-2:]
    return f"""Trefethen_20000 and Trefethen_20000b differ by one row. Their ratios differ by up to
        {scatter:.2f}: so much is the scatter of these times. On these two an iteration is
        {min(large):.1f} to {max(large):.1f} µs longer than its product at N = 8, and
        {min(small):.1f} to {max(small):.1f} µs at smaller N."""


def of_table_5(cases):
    """The matrices of Table 5, and what is known of those over the bar."""
    some = told(cases)
    if not some:
        return ""
    return ("\nCG on multiple rows beside product and passes, explained and counted in the section "
            f"above.\n\n{prose(over_text(some) + twins_text(some))}\n\n<details><summary>product, "
            f"passes and iteration</summary>\n\n{table(some)}\n</details>\n")
