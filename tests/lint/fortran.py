"""fortran.py CC FC LIBRARY WORK: the Fortran module agrees with the header.

Compared are the size of every bind(c) type of fortran/tessera.f90 and the offset of every component, as a C
and a Fortran program print them, and the value of every enumerator; no enumerator may be missing. Every call
must be in the header with the same result and arguments, and be exported. First the script checks that it
finds planted differences."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import header  # noqa: E402

MODULE = "fortran/tessera.f90"
KINDS = {"c_int": "int", "c_int32_t": "int32_t", "c_int64_t": "int64_t", "c_size_t": "size_t", "c_double": "double"}


def read_calls(public):
    """{name: (result, [arguments])}, as classes."""

    def kind(declaration):
        if header.is_pointer(declaration, public.callbacks):
            return "pointer"
        word = declaration.replace("const ", "").split()[0]
        return "int" if word in public.enums else word

    return {name: (kind(result), [kind(a) for a in arguments]) for result, name, arguments in public.functions}


def read_module(text):
    """Enumerators {name: value}, types {name: [components]}, calls as above."""
    text = re.sub(r"&\n\s*&?", " ", re.sub(r"![^\n]*", "", text)).replace("\t", " ")
    values = dict(re.findall(r"(TESS_\w+) = (\d+)", text))
    types = {}
    for name, body in re.findall(r"type, bind\(c\) :: (\w+)\n(.*?)end type", text, flags=re.S):
        parts = [re.sub(r"\([^)]*\)|=[^,]*", "", line.split("::")[1]) for line in body.splitlines() if "::" in line]
        types[name] = [c.strip() for part in parts for c in part.split(",")]
    calls = {}
    form = r"\n\s+((?:[\w()]+) function|subroutine) (\w+)\(([^)]*)\)\s+bind\(c(?:, name=\"(\w+)\")?\)\n(.*?)end (?:function|subroutine)"
    for result, name, arguments, label, body in re.findall(form, text, flags=re.S):
        kinds = {}
        for line in body.splitlines():
            if "::" not in line:
                continue
            declared, names = line.split("::")
            base = re.match(r"\s*(?:integer|real)\((\w+)\)", declared)
            by_value = re.search(r"\bvalue\b", declared) and base
            for one in re.sub(r"\([^)]*\)", "", names).split(","):
                kinds[one.strip()] = KINDS[base.group(1)] if by_value else "pointer"
        kind = "void" if result == "subroutine" else KINDS.get(re.search(r"\((\w+)\)", result).group(1), "pointer")
        calls[label or name] = (kind, [kinds[a.strip()] for a in arguments.split(",") if a.strip()])
    return values, types, calls


def compare(public, module):
    """The differences that show without compiling."""
    enums, structs, calls = public.enums, public.structs, read_calls(public)
    values, types, ours = read_module(module)
    of = {constant: name for name, constants in enums.items() for constant in constants}
    for name, constants in enums.items():
        missing = [c for c in constants if c not in values]
        if missing and len(missing) < len(constants):
            yield f"{name}: without {', '.join(missing)}"
    for constant in values:
        if constant not in of:
            yield f"{constant} is in no enum of the header"
    for name, components in types.items():
        if [c.lower() for c in structs.get(name, [])] != [c.lower() for c in components]:
            yield f"type {name}: {components}, in the header {structs.get(name)}"
    for name, (result, arguments) in ours.items():
        theirs = calls.get(name)
        if theirs and theirs[0] == "tess_status":
            theirs = ("int", theirs[1])
        if theirs != (result, arguments):
            yield f"{name}: {result} {arguments}, in the header {theirs}"


def programs(module):
    """A C and a Fortran program that print the same lines."""
    values, types, _ = read_module(module)
    c = ["#include <stddef.h>", "#include <stdio.h>", "#include <tessera/tessera.h>", "int main(void) {"]
    f = ["program layout", "use tessera", "implicit none"]
    f += [f"type({t}), target :: v_{t}" for t in types]
    for constant in values:
        c.append(f'printf("{constant} %d\\n", (int){constant});')
        f.append(f'print "(a, i0)", "{constant} ", {constant}')
    for name, components in types.items():
        c.append(f'printf("{name} %zu\\n", sizeof({name}));')
        f.append(f'print "(a, i0)", "{name} ", c_sizeof(v_{name})')
        for component in components:
            c.append(f'printf("{name}.{component} %zu\\n", offsetof({name}, {component}));')
            f.append(f'print "(a, i0)", "{name}.{component} ", &')
            f.append(f"place(c_loc(v_{name}%{component})) - place(c_loc(v_{name}))")
    f += ["contains", "integer(c_intptr_t) function place(p)", "type(c_ptr), intent(in) :: p",
          "place = transfer(p, place)", "end function", "end program"]
    return "\n".join(c + ["return 0; }", ""]), "\n".join(f + [""])


def output(work, name, compiler, source, *libraries):
    with open(f"{work}/{name}", "w", encoding="ascii") as file:
        file.write(source)
    sources = [MODULE] if name.endswith("f90") else []
    subprocess.run(compiler + sources + [f"{work}/{name}", "-o", f"{work}/{name}.out", *libraries], check=True)
    return subprocess.run([f"{work}/{name}.out"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def main():
    cc, fc, library, work = sys.argv[1:5]
    public = header.read(open(header.PATH, encoding="utf-8").read())
    module = open(MODULE, encoding="utf-8").read()
    planted = [("integer(c_int), value :: threads", "integer(c_int64_t), value :: threads"),
               ("TESS_ZEROS_DROP = 0, TESS_ZEROS_KEEP = 1", "TESS_ZEROS_DROP = 0"),
               ("integer(c_int) :: reproducible = 0, fresh = 0", "integer(c_int) :: fresh = 0"),
               ("subroutine tess_ctx_destroy(ctx)", "integer(c_int) function tess_ctx_destroy(ctx)"),
               ("tess_device_synchronize", "tess_device_synchronise")]
    for old, new in planted:
        if old not in module or not list(compare(public, module.replace(old, new))):
            sys.exit(f"a planted difference was not noticed: {new}")
    faults = list(compare(public, module))
    values, types, calls = read_module(module)
    if len(values) < 35 or len(types) < 10 or len(calls) < 70:
        faults.append(f"only {len(values)} constants, {len(types)} types, {len(calls)} calls were found")
    c, f = programs(module)
    c_lines = output(work, "layout.c", [cc, "-Iinclude"], c)
    f_lines = output(work, "layout.f90", [fc, "-std=f2018", "-Wall", "-Wextra", "-Werror", "-J", work], f,
                     library, f"-Wl,-rpath,{os.path.dirname(os.path.abspath(library))}")
    with open("tests/lint/exported_symbols.txt", encoding="ascii") as exported:
        faults += [f"{name} is not exported" for name in set(calls) - set(exported.read().split())]
    faults += [f"C: {a}, Fortran: {b}" for a, b in zip(c_lines, f_lines) if a != b]
    if len(c_lines) != len(f_lines) or not c_lines:
        faults.append("the programs print different lines")
    print("\n".join(faults) or f"{len(values)} constants, {len(types)} types, {len(calls)} calls agree")
    sys.exit(bool(faults))


main()
