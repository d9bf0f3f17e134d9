#!/usr/bin/env python3
"""PETSc's own tutorials, unchanged, with AIJ and with Tessera's matrices: the same residuals.

usage: tutorials.py FOLDER PLUGIN PROCESSES LAUNCHER...

FOLDER holds the programs. Each runs twice, with -mat_type aij and with the plug-in loaded by
-dll_append and -mat_type tessera. The order of the sums in a product may differ, so a residual may
differ by rounding: by 1e-12 of the largest one before it, and by 1e-6 of itself. PETSc prints 13
digits. -ksp_view must say that the matrix was Tessera's."""

import os
import re
import struct
import subprocess
import sys
import tempfile

OF_LARGEST, OF_ITSELF = 1e-12, 1e-6
CASES = [  # program, its options, the prefix of its solver's
    ("ex2", "-m 40 -n 37 -ksp_type cg", ""),
    ("ex2", "-m 40 -n 37 -ksp_type bicg -pc_type jacobi", ""),  # products with the transpose
    ("ex2", "-m 40 -n 37 -ksp_type gmres -mat_tessera_device ref", ""),
    ("ex5", "-m 6", ""),  # two systems, the second with new values
    ("ex10", "-f {matrix} -matload_block_size 3 -ksp_type gmres", ""),
    ("ex10", "-f {matrix} -matload_block_size 3 -ksp_type bcgs -pc_type jacobi -trans", ""),
    ("ex49", "-mx 20 -my 17 -elas_ksp_rtol 1e-8", "elas_"),
    ("ex56", "-ne 9 -ksp_type cg -pc_type gamg", ""),
    ("ex56", "-ne 9 -ksp_type cg -pc_type bjacobi -two_solves", ""),
]


def write_system(path, n=9, b=3):
    """An n x n grid of b x b blocks with five neighbours, not symmetric, and a right-hand side of
    ones, as PETSc's binary file."""
    rows = []
    state = 12345
    for i in range(n * n):
        near = [i] + [i + 1] * (i % n < n - 1) + [i - 1] * (i % n > 0)
        near = sorted(near + [j for j in (i - n, i + n) if 0 <= j < n * n])
        for r in range(b):
            row = []
            for j in near:
                for c in range(b):
                    state = (1103515245 * state + 12345) % 2**31
                    value = -state / 2**31
                    row.append((j * b + c, 5.0 * b if (i, r) == (j, c) else value))
            rows.append(row)
    flat = [entry for row in rows for entry in row]
    integers = [1211216, len(rows), len(rows), len(flat), *map(len, rows), *(c for c, _ in flat)]
    values = [value for _, value in flat]
    with open(path, "wb") as file:
        file.write(struct.pack(f">{len(integers)}i", *integers))
        file.write(struct.pack(f">{len(values)}d", *values))
        file.write(struct.pack(f">2i{len(rows)}d", 1211214, len(rows), *[1.0] * len(rows)))


def run(command):
    environment = {"OMP_NUM_THREADS": "1", "TESSERA_WISDOM": "off", **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "Configure options" not in line]
        raise SystemExit("\n".join([" ".join(command), done.stdout, *errors]))
    return done.stdout


def residuals(text):
    return [float(r) for r in re.findall(r"KSP Residual norm (\S+)", text)]


def compare(name, expected, found):
    """The largest difference as a share of the largest residual; a message where it is too large."""
    if not expected or len(expected) != len(found):
        return None, f"{name}: {len(expected)} residuals with AIJ, {len(found)} with Tessera"
    largest, worst, fault = 0.0, 0.0, ""
    for a, b in zip(expected, found):
        largest = max(largest, a)
        worst = max(worst, abs(a - b) / largest)
        if abs(a - b) > OF_LARGEST * largest or abs(a - b) > OF_ITSELF * a:
            fault = f"{name}: {a} with AIJ and {b} with Tessera"
    return worst, fault


def main():
    folder, plugin, processes, *launcher = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        matrix = os.path.join(scratch, "matrix.petsc")
        write_system(matrix)
        for program, options, prefix in CASES:
            words = options.format(matrix=matrix).split()
            view = [f"-{prefix}ksp_monitor", f"-{prefix}ksp_view"]
            start = [*launcher, os.path.join(folder, program), *words, *view]
            aij = run([*start, "-dll_append", plugin, "-mat_type", "aij"])
            ours = run([*start, "-dll_append", plugin, "-mat_type", "tessera"])
            name = f"{program} {options} on {processes}"
            worst, fault = compare(name, residuals(aij), residuals(ours))
            kind = "mpiaijtessera" if int(processes) > 1 else "seqaijtessera"
            if not re.search(rf"system matrix.*\n.*Mat Object.*\n +type: {kind}", ours):
                fault = f"{name}: the system's matrix was not of type {kind}"
            failed += [fault] if fault else []
            print(fault or f"{name}: {len(residuals(ours))} residuals within {worst:.1g}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
