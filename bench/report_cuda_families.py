"""Which kernel family wins where on a GPU, and why: a section of report_cuda.py."""
from report_common import fastest, good, share, table

WHY = {  # the mechanism behind a family's place in the table
    "sliced": "one thread a scalar row on interleaved values. Every load of a warp is one contiguous piece of memory, there "
              "are no sums between threads, and many loads are in flight. It needs rows of similar length, so rows are sorted "
              "and cut",
    "swept": "for columns scattered over an x that L2 cannot hold. A warp keeps the sums of its rows in shared memory while it "
             "walks over their blocks by rising column",
    "stream": "equal shares of the blocks through shared memory. Rows' lengths do not matter, but instructions do: values, x "
              "and partial sums all pass shared memory, and every tile has its rows to look up (ncu, "
              "b = 3, 256 threads a tile of 128 blocks: 22 warp instructions a block, a scheduler issues in 72 % of the "
              "cycles, memory is busy in 52 %; with 128 threads 100 us instead of 125)",
    "by_column": "a group of lanes walks a block row column by column. Loads are whole where its lanes are a multiple of the "
                 "block's rows; elsewhere some lanes idle. At b = 32 a matrix of 300 MB has 1 728 block rows, 13 warps an SM: "
                 "too few loads in flight",
    "by_block": "a block's threads side by side. Loads are whole, but every block row has a sum across lanes, and blocks have up "
                "to 32 values only",
    "row_per_thread": "a thread a scalar row of plain BSR, one block after the other. Loads are whole from b = 16 on. x through "
                      "shared memory costs two barriers a block and saves nothing, since the threads of a block row read "
                      "the same x at once",
    "ksparse": "thread groups sized after the block. Lanes are full at the block sizes they are made for; elsewhere sums go "
               "through shared memory",
    "block_row": "a thread block a block row. 27 blocks of b = 2 or 3 do not fill it, at b = 8 and 16 they do. At b = 64 there "
                 "are 512 block rows, too few for its 64 threads each to keep the memory busy",
    "warp_row": "a warp a block row, then a sum across lanes. Rows shorter than a warp's worth of values leave lanes idle. "
                "Large blocks make few rows, at b = 64 four warps an SM",
    "multi_row": "several block rows a warp. It fills the lanes on short rows, with a longer way to the sum. There are few rows "
                 "at b = 64, as above",
}


def reason_for(kernel):
    return next((text for stem, text in WHY.items() if kernel.startswith(stem)), None)


def family_name(result):
    """The kernel; the form of row_per_thread through shared memory is a family of its own."""
    shared = result["kernel"].startswith("row_per_thread") and "shared=1" in result["params"].split(",")
    return f"`{result['kernel']}`" + (", x in shared memory" if shared else "")


def families(cases):
    """Every kernel's share of the read ceiling, the winner in bold; a block size may have several cases."""
    sizes = sorted({c["case"]["b"] for c in cases})
    ours = {b: [r for c in cases if c["case"]["b"] == b for r in good(c, False)] for b in sizes}
    names = sorted({family_name(r) for c in cases for r in c["results"]})
    best = {(n, b): fastest([r for r in ours[b] if family_name(r) == n]) for n in names for b in sizes}
    winners = {b: family_name(fastest(ours[b])) for b in sizes if ours[b]}
    rows = []
    for name in sorted(names, key=lambda n: -max((best[n, b]["GBps"] for b in sizes if best[n, b]), default=0)):
        row = [name]
        for b in sizes:
            text = share(best[name, b]) if best[name, b] else "–"
            row.append(f"**{text}**" if winners.get(b) == name else text)
        rows.append(row)
    text = table(["% of read"] + [f"b={b}" for b in sizes], rows)
    text += "\n– : the family has no form for that block size (or gave no valid result). Winners: "
    return text + ", ".join(f"{name} at b={b}" for b, name in winners.items()) + ".\n"


def reasons(cases):
    names = sorted({r["kernel"] for c in cases for r in c["results"]})
    said = {n: reason_for(n) for n in names if reason_for(n) and not n.endswith("_balanced")}
    text = "\nWhy:\n\n" + "".join(f"* `{name}`: {why}.\n" for name, why in said.items())
    if any(n.endswith("_balanced") for n in names):
        text += ("* `…_balanced`: the same on rows cut into segments of at most λ blocks, then a sum over segments. Without it the "
                 "longest row, which one warp or thread block walks, takes the time of the whole product on power-law rows. On "
                 "a stencil there is nothing to cut, and it is not tried.\n")
    return text
