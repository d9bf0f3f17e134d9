"""Block-sparse matrices, multiplied and solved at the speed of memory.

    import tessera

    A = tessera.bsr_array(S)                # any sparse array of SciPy's; blocks are detected
    y = A @ x
    plan = A.plan("cuda")                   # for repeated products, on a GPU
    x, info = tessera.solve(A, b, method="cg", pc="bjacobi")

docs/python.md is a tutorial of ten minutes.
"""

from ._errors import (
    ArgumentError,
    CancelledError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    InternalError,
    MatrixError,
    OptionError,
    OutOfMemoryError,
    PatternError,
    SizeError,
    UnsupportedError,
)
from ._library import get_threads, set_threads, version
from ._matrix import bsr_array, generate, read, read_vector, transposed_array
from ._plan import Device, Plan, TransposedPlan
from ._precondition import Preconditioner, methods, preconditioner, preconditioners
from ._report import Candidate, Detection
from ._solve import SolveInfo, Solver, bicg, bicgstab, cg, gmres, solve

__version__ = version()

__all__ = [
    "ArgumentError",
    "CancelledError",
    "Candidate",
    "Detection",
    "Device",
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "InternalError",
    "MatrixError",
    "OptionError",
    "OutOfMemoryError",
    "PatternError",
    "Plan",
    "Preconditioner",
    "SizeError",
    "SolveInfo",
    "Solver",
    "TransposedPlan",
    "UnsupportedError",
    "bicg",
    "bicgstab",
    "bsr_array",
    "cg",
    "generate",
    "get_threads",
    "gmres",
    "methods",
    "preconditioner",
    "preconditioners",
    "read",
    "read_vector",
    "set_threads",
    "solve",
    "transposed_array",
    "version",
]
