#!/usr/bin/env python3
"""PETSc's own tutorials, unchanged, with PETSc's types and with Tessera's: the same residuals.

usage: tutorials.py FOLDER PLUGIN PROCESSES cpu|gpu LAUNCHER...

FOLDER holds the programs. "gpu" runs the cases for a GPU, with vectors in host memory. Each case
runs twice, with PETSc's types and with the plug-in's, which is loaded by -dll_append. The order of
the sums may differ, so a residual may differ by rounding: by 1e-12 of the largest one before it,
and by 1e-6 of itself. PETSc prints 13 digits. -ksp_view must say that the type was Tessera's. With
preconditioners that PETSc lacks, the solver must converge; of these cases one in TEST_FEW runs, or
all of them with TEST_ALL."""

import os
import re
import struct
import subprocess
import sys
import tempfile

FEW = 1 if "TEST_ALL" in os.environ else int(os.environ.get("TEST_FEW", 1))
OF_LARGEST, OF_ITSELF = 1e-12, 1e-6
ROUNDING = 1e-15  # a few units in the last place of the largest: the residual of an exact solve is rounding alone
MATRICES = [  # program, its options, the prefix of its solver's
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
# Preconditioners that PETSc has too: with its own, and with ours. P stands for the prefix.
LOCAL = "-Ppc_type bjacobi -Psub_pc_type"
PRECONDITIONERS = [
    ("ex2", "-m 40 -n 37 -ksp_type gmres", "", f"{LOCAL} ilu", "ilu0", "aij"),
    ("ex2", "-m 40 -n 37 -ksp_type gmres", "", f"{LOCAL} ilu", "ilu0", "tessera"),
    ("ex2", "-m 40 -n 37 -ksp_type bicg", "", f"{LOCAL} ilu", "ilu0", "aij"),  # the transpose
    ("ex2", "-m 40 -n 37 -ksp_type cg", "", f"{LOCAL} icc", "ic0", "aij"),
    ("ex5", "-m 6", "", f"{LOCAL} ilu", "ilu0", "aij"),  # an update
    ("ex10", "-f {matrix} -matload_block_size 3", "", "-pc_type pbjacobi", "bjacobi", "baij"),
    ("ex10", "-f {matrix} -matload_block_size 3", "", f"{LOCAL} ilu", "ilu0", "baij"),
    ("ex49", "-mx 20 -my 17 -elas_ksp_rtol 1e-8", "elas_", "-Ppc_type pbjacobi", "bjacobi", "aij"),
]
# On a GPU: program, options, prefix, PETSc's preconditioner, ours.
GPU = [
    ("ex2", "-m 9 -n 7 -ksp_type cg", "", "-pc_type jacobi", "jacobi"),
    (
        "ex2",
        "-m 9 -n 7 -ksp_type gmres",
        "",
        f"{LOCAL} ilu",
        "ilu0 -pc_tessera_params schedule=levels",
    ),
    (
        "ex2",
        "-m 9 -n 7 -ksp_type bicg",
        "",
        f"{LOCAL} ilu",
        "ilu0 -pc_tessera_params schedule=levels",
    ),
    ("ex5", "-m 4", "", "-pc_type jacobi", "bjacobi"),  # an update
    ("ex49", "-mx 6 -my 5", "elas_", "-Ppc_type pbjacobi", "bjacobi"),
]
# Every preconditioner of the library must let these converge.
ALL = [
    ("ex2", "-m 40 -n 37 -ksp_type gmres -ksp_rtol 1e-8", ""),
    ("ex5", "-m 6", ""),
    ("ex49", "-mx 20 -my 17", "elas_"),
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


def run(command, folder):
    environment = {"OMP_NUM_THREADS": "1", "TESSERA_WISDOM": "off", **os.environ}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, cwd=folder
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "Configure options" not in line]
        raise SystemExit("\n".join([" ".join(command), done.stdout, *errors]))
    return done.stdout


def residuals(text):
    return [float(r) for r in re.findall(r"KSP Residual norm (\S+)", text)]


def compare(expected, found):
    """The largest difference as a share of the largest residual; a message if it is too large."""
    if not expected or len(expected) != len(found):
        return None, f"{len(expected)} residuals with PETSc's type, {len(found)} with Tessera's"
    largest, worst, fault = 0.0, 0.0, ""
    for a, b in zip(expected, found):
        largest = max(largest, a)
        worst = max(worst, abs(a - b) / largest)
        if abs(a - b) > OF_LARGEST * largest or abs(a - b) > max(OF_ITSELF * a, ROUNDING * largest):
            fault = f"{a} with PETSc's type and {b} with Tessera's"
    return worst, fault


class Runner:
    """Runs the programs and counts what fails."""

    def __init__(self, folder, plugin, processes, launcher, matrix, scratch):
        self.folder, self.plugin, self.launcher = folder, plugin, launcher
        self.processes, self.matrix = int(processes), matrix
        self.scratch = scratch  # some programs write files where they run
        self.failed = 0

    def output(self, program, options, prefix, more):
        words = options.format(matrix=self.matrix).split()
        view = [f"-{prefix}{name}" for name in ("ksp_monitor", "ksp_view", "ksp_converged_reason")]
        start = [*self.launcher, os.path.join(self.folder, program), *words, *view]
        words = more.replace("-P", f"-{prefix}").split()
        return run([*start, "-dll_append", self.plugin, *words], self.scratch)

    def say(self, name, fault, good):
        self.failed += bool(fault)
        print(f"{name} on {self.processes}: {fault or good}", flush=True)

    def same(self, program, options, prefix, theirs, ours, kind):
        """Checks that PETSc's type and ours have the same residuals, and that the view names ours."""
        expected = residuals(self.output(program, options, prefix, theirs))
        text = self.output(program, options, prefix, ours)
        worst, fault = compare(expected, residuals(text))
        if not re.search(kind, text):
            fault = f"the view does not show {kind!r}"
        good = f"{len(expected)} residuals within {worst:.1g}" if worst is not None else ""
        self.say(f"{program} {options} {ours}", fault, good)

    def names(self):
        """The library's preconditioners, from PETSc's help."""
        text = self.output("ex2", "-m 3 -n 3 -help", "", "-pc_type tessera")
        return re.search(r"-pc_tessera_type.*\(choose one of\) ([^(\n]*)", text)[1].split()

    def converges(self, program, options, prefix, name):
        more = f"-Ppc_type tessera -Ppc_tessera_type {name}"
        text = self.output(program, options, prefix, more)
        reasons = re.findall(r"Linear .*solve (converged|did not converge)", text)
        good = len(reasons) > 0 and set(reasons) == {"converged"}
        found = residuals(text)
        self.say(f"{program} {options} {more}", "" if good else text, f"{len(found)} residuals")


def on_cpu(runner):
    kind = "mpiaijtessera" if runner.processes > 1 else "seqaijtessera"
    for program, options, prefix in MATRICES:
        view = rf"system matrix.*\n.*Mat Object.*\n +type: {kind}"
        runner.same(program, options, prefix, "-mat_type aij", "-mat_type tessera", view)
    for program, options, prefix, theirs, name, matrix_type in PRECONDITIONERS:
        plain = "aij" if matrix_type == "tessera" else matrix_type
        ours = f"-Ppc_type tessera -Ppc_tessera_type {name} -mat_type {matrix_type}"
        view = r"PC Object.*\n +type: tessera"
        runner.same(program, options, prefix, f"{theirs} -mat_type {plain}", ours, view)
    names = runner.names()
    cases = [(*case, name) for case in ALL for name in names]
    for case in cases[runner.processes % FEW :: FEW]:
        runner.converges(*case)


def on_gpu(runner):
    """Options that put matrix and preconditioner on the GPU, with the first kernel that fits, as a search takes long."""
    for program, options, prefix, theirs, name in GPU:
        ours = "-mat_type tessera -mat_tessera_device cuda -mat_tessera_effort estimate"
        ours += f" -Ppc_type tessera -Ppc_tessera_device cuda -Ppc_tessera_type {name}"
        view = r"Tessera's \w+.*, device cuda"
        runner.same(program, options, prefix, f"-mat_type aij {theirs}", ours, view)


def main():
    folder, plugin, processes, where, *launcher = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        matrix = os.path.join(scratch, "matrix.petsc")
        write_system(matrix)
        paths = (os.path.abspath(folder), os.path.abspath(plugin))
        runner = Runner(*paths, processes, launcher, matrix, scratch)
        (on_gpu if where == "gpu" else on_cpu)(runner)
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()
