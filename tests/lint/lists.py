"""lists.py: README, solving.md and the header list the methods and preconditioners that there are, and as
taking complex matrices those whose descriptors say so.

Lists are found by what is in them, not by where they stand. Each is compared with planted descriptors as well: a
new name, or another trait, that goes unnoticed is a fault.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path("src/solve")
# Said in other words: no preconditioner at all, and the method direct.
UNSAID = {"none", "lu"}


def descriptors(listing, macro, struct):
    """The names in a .def file, and those whose descriptor has `.complex = true`."""
    text = listing.read_text(encoding="utf-8")
    entries = re.findall(rf"^{macro}\((\w+), (\S+)\)", text, re.M)
    complex_ones = []
    for name, file in entries:
        source = (listing.parent / file).read_text(encoding="utf-8")
        body = re.search(rf"^const {struct} \w+_{name} = {{(.*?)^}};", source, re.M | re.S)
        if not body:
            sys.exit(f"{listing.parent / file} has no descriptor of {name}")
        if re.search(r"\.complex = true\b", body.group(1)):
            complex_ones.append(name)
    return [name for name, _ in entries], complex_ones


def named(text, names):
    words = re.findall(r"\w+", text)
    return {name for name in names if name in words}


def compare(where, said, meant):
    for name in sorted(meant - said):
        yield f"{where}: {name} is missing"
    for name in sorted(said - meant):
        yield f"{where}: {name} does not belong there"


def flat(text):
    return re.sub(r"\s+(\* )?", " ", text)


def header(text, kinds):
    """The paragraph "Complex matrices: ...": a clause names those that take them, or after "but" those that do
    not."""
    paragraph = re.search(r"\* Complex matrices: (.*?)scale=", text, re.S)
    if not paragraph:
        yield "the header does not say what takes complex matrices"
        return
    words = flat(paragraph.group(1))
    at = words.find("preconditioners")
    for (what, names, complex_ones), clause in zip(kinds, (words[:at], words[at:])):
        excluded = re.search(r"\b(?:but|except) (.*?)(?: take\b|, and |$)", clause)
        said = set(names) - named(excluded.group(1), names) if excluded else named(clause, names)
        yield from compare(f"the header, complex matrices, {what}", said, set(complex_ones))


def table(text, kinds):
    """solving.md: rows of a table with two columns, what is taken and what is not."""
    for what, names, complex_ones in kinds:
        rows = [
            cells
            for cells in (re.findall(r"[^|]+", line) for line in text.splitlines() if line.startswith("| "))
            if len(cells) == 2 and named(cells[0] + cells[1], names) == set(names)
        ]
        if len(rows) != 1:
            yield f"docs/solving.md: {len(rows)} rows of two columns with all {what}, not 1"
            continue
        yield from compare(f"docs/solving.md, {what} taken", named(rows[0][0], names), set(complex_ones))
        others = set(names) - set(complex_ones)
        yield from compare(f"docs/solving.md, {what} not taken", named(rows[0][1], names), others)


def readme(text, kinds):
    """Methods by name; preconditioners as one writes them: ILU(0), (Block-)Jacobi."""
    plain = re.sub(r"\((\w)\)", r"\1", text.lower()).replace("(block-)jacobi", "jacobi, bjacobi")
    for what, names, _ in kinds:
        row = max(plain.splitlines(), key=lambda line: len(named(line, names)))
        yield from compare(f"README.md, {what}", named(row, names) | UNSAID, set(names) | UNSAID)


def planted(kinds, check):
    """What descriptors could say instead: one name more, or the other trait of one."""
    for at, (what, names, complex_ones) in enumerate(kinds):
        changes = []
        if check is not header:  # which leaves out what does not take complex matrices
            changes += [(what, [*names, "planted"], complex_ones)]
        if check is not readme:
            changes += [(what, names, sorted({name} ^ set(complex_ones))) for name in names]
        for change in changes:
            yield [*kinds[:at], change, *kinds[at + 1 :]]


def main():
    kinds = [
        ("methods", *descriptors(ROOT / "methods/methods.def", "METHOD", "tess_method")),
        ("preconditioners", *descriptors(ROOT / "pc/pcs.def", "PC", "tess_pc_ops")),
    ]
    documents = [("include/tessera/tessera.h", header), ("docs/solving.md", table), ("README.md", readme)]
    faults = []
    for path, check in documents:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = list(check(text, kinds))
        if not found and not all(list(check(text, others)) for others in planted(kinds, check)):
            found = [f"{path}: planted descriptors went unnoticed"]
        faults += found
    if faults:
        print("\n".join(faults))
    return bool(faults)


sys.exit(main())
