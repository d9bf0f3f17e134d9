"""The declarations read from tessera.h are the C compiler's."""

import ctypes
import re
import shutil
import subprocess

import pytest
from conftest import ROOT
from tessera._header import Header
from tessera._library import header, lib

HEADER = ROOT / "include/tessera/tessera.h"


def test_package_ships_the_header_of_this_tree():
    assert Header(HEADER.read_text()).functions.keys() == header.functions.keys()


def test_every_function_of_the_header_is_bound():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"TESS_API[^;(]*?\b(tess_\w+)\(", text))
    assert declared == set(header.functions)
    listed = (ROOT / "tests/lint/exported_symbols.txt").read_text().split()
    assert declared == {name for name in listed if name.startswith("tess_")}
    for name in declared:
        assert getattr(lib, name).argtypes is not None


def test_every_constant_and_struct_of_the_header_is_known():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    assert set(re.findall(r"\b(TESS_\w+) = ", text)) == set(header.constants)
    assert set(re.findall(r"typedef struct (\w+) {", text)) == set(header.structs)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_structs_lie_as_the_compiler_lays_them(tmp_path):
    lines = []
    for name, struct in header.structs.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
    for name in header.constants:
        lines.append(f'printf("{name} %d\\n", (int){name});')
    source = tmp_path / "layout.c"
    includes = "#include <stdio.h>\n#include <stddef.h>\n#include <tessera/tessera.h>\n"
    source.write_text(includes + "int main(void) {" + "\n".join(lines) + "}\n")
    program = tmp_path / "layout"
    subprocess.run(["cc", "-I", ROOT / "include", "-o", program, source], check=True)
    for line in subprocess.run([program], capture_output=True, text=True).stdout.splitlines():
        name, number = line.split()
        struct, _, field = name.partition(".")
        if field:
            assert getattr(header.structs[struct], field).offset == int(number), name
        elif struct in header.structs:
            assert ctypes.sizeof(header.structs[struct]) == int(number), name
        else:
            assert header.constants[name] == int(number), name


def test_unknown_forms_are_errors():
    with pytest.raises(ValueError, match="unknown form"):
        Header("typedef union u { int a; } u;")
