"""lists.py: README, solving.md and the header list the methods and preconditioners that there are, and say of
each what its descriptor says: whether it takes complex matrices, and in the header every other trait.

Lists are found by what is in them, not by where they stand. Each is compared with planted descriptors as well: a
new name, or another trait, that goes unnoticed is a fault.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path("src/solve")
# Said in other words: no preconditioner at all, and the method direct.
UNSAID = {"none", "lu"}

# Rows of the header's tables "What methods need and take" and "What preconditioners need and take": the label, the
# field of the descriptor and the value that the names of the row's first sentence have. A row may exclude: "all but".
METHOD_ROWS = [
    ("symmetric A and M", "symmetric", "true"),
    ("positive definite A", "positive_definite", "true"),
    ("A^T and M^-T", "transpose", "true"),
    ("A that is not square", "least_squares", "true"),
    ("side=", "sides", "TESS_SIDES_BOTH"),
    ("M that changes", "flexible", "true"),
    ("restart=", "keys", "restart"),
    ("pc= of their own", "pc", None),
]
PC_ROWS = [
    ("symmetric A", "symmetric", "true"),
    ("unsymmetric M", "unsymmetric", "true"),
    ("positive pivots", "pivots", "TESS_PIVOTS_POSITIVE"),
    ("replaced pivots", "replaces_pivots", "true"),
    ("square blocks", "square_blocks", "true"),
    ("triangular solves", "triangular", "true"),
    ("the order of rows", "ordered", "true"),
    ("pivot=", "keys", "pivot"),
    ("modes", "takes_modes", "true"),
]
# Rows that say a second thing about other names: the words before it, the field, the value.
SECOND = {
    "side=": ("Right alone: ", "sides", "TESS_SIDES_RIGHT"),
    "positive pivots": ("for symmetric A also ", "pivots", "TESS_PIVOTS_POSITIVE_IF_ASKED"),
}
# pc=amg takes any A: its trait `symmetric` only keeps scale=match away.
UNNAMED = {"symmetric A": {"amg"}}


def descriptors(listing, macro, struct):
    """{name: {field: value}} of a .def file. Fields that descriptors share are in a macro, _OPS or _FUNCTIONS."""
    text = listing.read_text(encoding="utf-8")
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.[ch]"))}
    shared = {}
    for source in sources.values():
        shared |= dict(re.findall(r"^#define (\w+_(?:OPS|FUNCTIONS)) +((?:.*\\\n)*.*)", source, re.M))
    found = {}
    for name, file in re.findall(rf"^{macro}\((\w+), (\S+)\)", text, re.M):
        source = sources[listing.parent / file]
        body = re.search(rf"^const {struct} \w+_{name} = {{(.*?)^}};", source, re.M | re.S)
        if not body:
            sys.exit(f"{listing.parent / file} has no descriptor of {name}")
        fields = re.sub(r"\b\w+_(?:OPS|FUNCTIONS)\b", lambda used: shared[used.group()], body.group(1))
        found[name] = dict(re.findall(r"\.(\w+) = &?(\w+|\"[^\"]*\")", fields))
    return found


def has(description, field, value):
    """Whether a field has the value; of `keys`, a list, whether it has it among others."""
    if field == "keys":
        return value in description.get(field, "").strip('"').split(",")
    return field in description and value in (None, description[field])


def having(descriptions, field, value):
    return {name for name, d in descriptions.items() if has(d, field, value)}


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
    for (what, names), clause in zip(kinds, (words[:at], words[at:])):
        excluded = re.search(r"\b(?:but|except) (.*?)(?: take\b|, and |$)", clause)
        said = set(names) - named(excluded.group(1), names) if excluded else named(clause, names)
        yield from compare(f"the header, complex matrices, {what}", said, having(names, "complex", "true"))


def all_but(words, names):
    said = named(words, names)
    return set(names) - said if words.startswith("all but ") else said


def trait_rows(text, what):
    """{label: its text} of one of the header's tables."""
    table = re.search(rf"^ \* What {what} need and take.*?:\n \*\n(.*?)^ \*\n", text, re.M | re.S)
    rows = {}
    for line in table.group(1).splitlines() if table else []:
        begun = re.match(r" \*   (\S.{,19}) (\S.*)", line)
        label = begun.group(1).rstrip() if begun else label
        rows[label] = rows.get(label, "") + " " + (begun.group(2) if begun else line.lstrip(" *"))
    return {label: row.strip() for label, row in rows.items()}


def traits(text, kinds):
    """The header's two tables of what methods and preconditioners need and take."""
    for (what, names), meant in zip(kinds, (METHOD_ROWS, PC_ROWS)):
        rows = trait_rows(text, what)
        yield from compare(f"the header, rows of {what}", set(rows), {label for label, _, _ in meant})
        for label, field, value in meant:
            first = re.split(r"[.:;](?:\s|$)", rows.get(label, ""))[0]
            said = all_but(re.sub(r" (?:takes|keeps) .*|, in .*", "", first) if field != "pc" else first, names)
            yield from compare(
                f"the header, {what}, {label}", said, having(names, field, value) - UNNAMED.get(label, set())
            )
            if label not in SECOND:
                continue
            begin, field, value = SECOND[label]
            second = rows.get(label, "").partition(begin)[2]
            said = named(re.split(r"\.|, which|$", second)[0], names)
            yield from compare(f"the header, {what}, {label}, {begin.strip()}", said, having(names, field, value))


def table(text, kinds):
    """solving.md: rows of a table with two columns, what is taken and what is not."""
    for what, names in kinds:
        complex_ones = having(names, "complex", "true")
        rows = [
            cells
            for cells in (re.findall(r"[^|]+", line) for line in text.splitlines() if line.startswith("| "))
            if len(cells) == 2 and named(cells[0] + cells[1], names) == set(names)
        ]
        if len(rows) != 1:
            yield f"docs/solving.md: {len(rows)} rows of two columns with all {what}, not 1"
            continue
        yield from compare(f"docs/solving.md, {what} taken", named(rows[0][0], names), complex_ones)
        yield from compare(f"docs/solving.md, {what} not taken", named(rows[0][1], names), set(names) - complex_ones)


def readme(text, kinds):
    """Methods by name; preconditioners as one writes them: ILU(0), (Block-)Jacobi."""
    plain = re.sub(r"\((\w)\)", r"\1", text.lower()).replace("(block-)jacobi", "jacobi, bjacobi")
    for what, names in kinds:
        row = max(plain.splitlines(), key=lambda line: len(named(line, names)))
        yield from compare(f"README.md, {what}", named(row, names) | UNSAID, set(names) | UNSAID)


def other(description, field, value):
    """The description with another value of a field."""
    rest = {key: now for key, now in description.items() if key != field}
    return rest if has(description, field, value) else rest | {field: value or "planted"}


def planted(kinds, check):
    """What descriptors could say instead: one name more, or one other field of one name."""
    fields = [[("complex", "true")], [("complex", "true")]]
    if check is traits:
        fields = [
            [(field, value) for label, field, value in rows]
            + [SECOND[label][1:] for label, _, _ in rows if label in SECOND]
            for rows in (METHOD_ROWS, PC_ROWS)
        ]
    for at, (what, names) in enumerate(kinds):
        changes = []
        if check in (table, readme):  # the others may leave out a new name that has no trait
            changes += [(what, names | {"planted": {}})]
        if check is not readme:
            changes += [
                (what, names | {name: other(names[name], field, value)})
                for field, value in fields[at]
                for name in names
                if not (field == "symmetric" and name in UNNAMED["symmetric A"])
            ]
        for change in changes:
            yield [*kinds[:at], change, *kinds[at + 1 :]]


def main():
    kinds = [
        ("methods", descriptors(ROOT / "methods/methods.def", "METHOD", "tess_method")),
        ("preconditioners", descriptors(ROOT / "pc/pcs.def", "PC", "tess_pc_ops")),
    ]
    tessera_h = "include/tessera/tessera.h"
    documents = [(tessera_h, header), (tessera_h, traits), ("docs/solving.md", table), ("README.md", readme)]
    faults = []
    for path, check in documents:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        found = list(check(text, kinds))
        if not found and not all(list(check(text, others)) for others in planted(kinds, check)):
            found = [f"{path}: planted descriptors went unnoticed by {check.__name__}"]
        faults += found
    if faults:
        print("\n".join(faults))
    return bool(faults)


sys.exit(main())
