"""paths.py: every path that a document or a comment cites exists, and every tess_... that it names is in the code.

A path is looked for from the root, from src/, include/, docs/, tests/ and bench/, and from the directories around
the file that cites it. A name without a directory may be any file's. A placeholder has a word in capitals: NAME.c.
A link of a document is looked for from the document alone, its heading too. A small tree with one fault each shows
that every kind of fault is found.
"""

import fnmatch
import pathlib
import posixpath
import re
import subprocess
import sys

TOPS = ["src", "include", "docs", "tests", "bench", "examples", "tools"]
SOURCE = r"(?:c|h|cu|cuh|def|inc|md|py|sh|awk|cmake)"
NAMED = re.compile(rf"(?<![\w/.<$@%{{}}*-])((?:\.\./)*(?:[\w*-]+/)*[\w*-]{{2,}}(?:\.inc)?\.{SOURCE})\b(?![\w/(\[=-])")
PLACED = re.compile(r"(?<![\w/.<$@%{}*-])((?:src|tests|docs|tools|bench|cmake|profiles)/[\w./*-]*[\w/*])")
IN_CODE = re.compile(r"`([a-z]+(?:/[\w*-]+)+)/?`")
SYMBOL = re.compile(r"\b(tess_\w*[a-z0-9])\b(?![*/]|\.\w)")
PLACEHOLDER = re.compile(r"(^|[^a-z])[A-Z][A-Z]+([^a-z]|$)")
# The page that bench/threads.py writes where it is run, which is not kept.
ELSEWHERE = {"docs/performance/threads.md"}


def listed():
    said = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], capture_output=True, text=True, check=True)
    return [name for name in said.stdout.splitlines() if pathlib.Path(name).is_file()]


class Tree:
    def __init__(self, files):
        self.files = set(files)
        self.all = self.files | {str(parent) for name in files for parent in pathlib.PurePosixPath(name).parents}
        self.names = {posixpath.basename(name) for name in files}
        self.rooms = {name.split("/")[1] for name in self.all if re.fullmatch(r"src/\w+", name)}

    def has(self, path):
        return bool(fnmatch.filter(self.all, path)) if "*" in path else path in self.all

    def resolves(self, cited, file):
        cited = cited.rstrip("/.")
        if PLACEHOLDER.search(cited) or cited in ELSEWHERE:
            return True
        around = [str(parent) for parent in pathlib.PurePosixPath(file).parents]
        if any(self.has(posixpath.normpath(posixpath.join(base, cited))) for base in [".", *TOPS, *around]):
            return True
        return "/" not in cited and bool(fnmatch.filter(self.names, cited))


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def comments(text, file):
    """The text with all but its comments blanked, and the text with its comments blanked."""
    if re.search(r"\.(c|h|cu|cuh|inc|def)$", file):
        parts = re.split(r"(/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", text, flags=re.S)
        is_comment = [part.startswith(("/*", "//")) for part in parts]
    else:
        parts = re.split(r"(^[ \t]*\"\"\".*?\"\"\"|(?:(?<=\s)|^)#(?!\s*include)[^\n]*)", text, flags=re.S | re.M)
        is_comment = [at % 2 == 1 for at in range(len(parts))]
    said = "".join(part if yes else blank(part) for part, yes in zip(parts, is_comment))
    code = "".join(blank(part) if yes else part for part, yes in zip(parts, is_comment))
    return said, code


def slug(heading):
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().strip()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def lines_with(pattern, text):
    for found in pattern.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found.group(1)


def links(text, file, tree, documents):
    file_read = re.sub(r"^bench/results/", "docs/performance/", file)  # notes there end a page here
    for number, link in lines_with(re.compile(r"\]\(([^)\s]+)\)"), text):
        path, _, heading = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file_read), path)) if path else file
        if target not in tree.all:
            yield f"{file}:{number}: {path} does not exist"
        elif heading and target in documents:
            headings = re.findall(r"^#+ (.*)$", documents[target], re.M)
            anchors = set(map(slug, headings)) | set(re.findall(r'<a (?:id|name)="([^"]*)"', documents[target]))
            if heading not in anchors:
                yield f"{file}:{number}: {target} has no heading {heading}"


def stale(texts):
    """The faults of {file: text}."""
    tree = Tree(texts)
    split = {
        file: (text, "") if file.endswith(".md") else comments(text, file)
        for file, text in texts.items()
        if re.search(r"\.(md|c|h|cu|cuh|inc|def|py|sh|awk|cmake)$|CMakeLists\.txt$", file) and file != "CHANGELOG.md"
    }
    module = "\n".join(text for file, text in texts.items() if file.endswith(".f90"))
    known = set(re.findall(r"\btess_\w+", module + "\n".join(code for _, code in split.values())))
    documents = {file: said for file, (said, _) in split.items() if file.endswith(".md")}
    for file, (said, _) in split.items():
        cites = list(lines_with(NAMED, said)) + list(lines_with(PLACED, said))
        if file in documents:
            prose = re.sub(r"^```.*?^```|\]\([^)]*\)|https?:\S+", lambda hidden: blank(hidden.group()), said, flags=re.M | re.S)
            cites = list(lines_with(NAMED, prose)) + list(lines_with(PLACED, prose))
            cites += [(n, path) for n, path in lines_with(IN_CODE, prose) if path.split("/")[0] in tree.rooms]
            yield from links(said, file, tree, documents)
        for number, path in sorted(set(cites)):
            if not tree.resolves(path, file):
                yield f"{file}:{number}: {path} does not exist"
        present = re.sub(r"\*Formerly[^*]*\*", lambda hidden: blank(hidden.group()), said)
        for number, name in lines_with(SYMBOL, present):
            if name not in known:
                yield f"{file}:{number}: {name} is nowhere in the code"


SOUND = {
    "src/core/core.h": "/* See core/number.c and tess_number. */\nint tess_number(void);\n",
    "src/core/number.c": 'const char *name = "gone.c"; /* docs/words.md, NAME.c, src/core/numb*.c */\n',
    "docs/words.md": "# The words\n\n[words](#the-words), [core](../src/core/core.h), `core/number.c`, tess_number\n",
    "run.sh": "cat gone.sh # core.h\n",
}
FAULTS = [
    ("src/core/core.h", "core/number.c", "core/gone.c", "src/core/core.h:1: core/gone.c does not exist"),
    ("src/core/core.h", "and tess_number", "and tess_gone", "src/core/core.h:1: tess_gone is nowhere in the code"),
    ("src/core/number.c", "NAME.c", "gone.c", "src/core/number.c:1: gone.c does not exist"),
    ("src/core/number.c", "src/core/numb*", "src/core/gone*", "src/core/number.c:1: src/core/gone*.c does not exist"),
    ("docs/words.md", "(#the-words)", "(#gone)", "docs/words.md:3: docs/words.md has no heading gone"),
    ("docs/words.md", "../src/core", "../src/gone", "docs/words.md:3: ../src/gone/core.h does not exist"),
    ("docs/words.md", "`core/number.c`", "`core/gone`", "docs/words.md:3: core/gone does not exist"),
    ("run.sh", "# core.h", "# src/gone", "run.sh:1: src/gone does not exist"),
]


def unnoticed():
    if list(stale(SOUND)):
        yield "a sound tree has faults: " + "; ".join(stale(SOUND))
    for file, old, new, fault in FAULTS:
        found = list(stale(SOUND | {file: SOUND[file].replace(old, new)}))
        if found != [fault]:
            yield f"planted in {file}: {new}, expected '{fault}', found {found}"


def main():
    texts = {name: pathlib.Path(name).read_text(encoding="utf-8", errors="replace") for name in listed()}
    faults = list(unnoticed()) + list(stale(texts))
    print("\n".join(faults))
    return bool(faults)


sys.exit(main())
