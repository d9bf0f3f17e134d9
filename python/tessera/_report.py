"""What a matrix is like: statistics, block sizes, the report that `tessera info` prints, and a
picture for notebooks."""

from __future__ import annotations

import ctypes
import html as _html
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._construct import NAMES
from ._library import Handle, constants, lib, structs

if TYPE_CHECKING:
    from ._matrix import bsr_array


def statistics(handle: Handle) -> Any:
    out = structs["tess_statistics"]()
    context = handle.context
    context.call(lib.tess_matrix_statistics, context.address, handle.address, ctypes.byref(out))
    return out


def _symmetry(handle: Handle) -> Any:
    out = structs["tess_symmetry"]()
    context = handle.context
    context.call(lib.tess_matrix_symmetry, context.address, handle.address, ctypes.byref(out))
    return out


def _hermitian(handle: Handle) -> bool:
    out = ctypes.c_int()
    context = handle.context
    context.call(lib.tess_matrix_hermitian, context.address, handle.address, ctypes.byref(out))
    return bool(out.value)


@dataclass(frozen=True)
class Candidate:
    """One way to cut a matrix into r x c blocks: `fill` is stored scalars an entry, `bytes` what a
    product moves, `index_saved` the bytes of indices less than CSR's."""

    rows: int
    cols: int
    row_offset: int
    col_offset: int
    blocks: int
    fill: float
    density: float
    bytes: float
    index_saved: float


def _candidate(found: Any) -> Candidate:
    return Candidate(**{name: getattr(found, name) for name in Candidate.__dataclass_fields__})


class _Found:
    """A tess_detection, read and destroyed."""

    def __init__(self, handle: Handle, ignore_zeros: bool = False) -> None:
        context = handle.context
        options = structs["tess_detect_options"](ignore_zeros=int(ignore_zeros))
        out = ctypes.c_void_p()
        arguments = (context.address, handle.address, ctypes.byref(options), ctypes.byref(out))
        try:
            context.call(lib.tess_detect, *arguments)
            found = structs["tess_detection"].from_address(out.value or 0)
            kind: Any = structs["tess_block_candidate"]
            listed = (kind * found.count).from_address(found.candidates) if found.count else ()
            self.entries: int = found.entries
            self.candidates = [_candidate(c) for c in listed]
            self.natural_block: int = found.natural_block
            self.recommended = _candidate(found.recommended)
            self.reason: str = found.reason.decode()
        finally:
            with context.lock:
                lib.tess_detection_destroy(out)


def recommended(handle: Handle) -> tuple[int, int]:
    """The block size that moves the fewest bytes."""
    best = _Found(handle).recommended
    return (max(best.rows, 1), max(best.cols, 1))


class Detection(_Found):
    """What blocks a matrix has: `candidates`, the one `recommended`, the `reason`, and the
    `natural_block`. str() is the report of `tessera info`, less the shapes of FBCSR."""

    def __init__(self, matrix: bsr_array, ignore_zeros: bool = False) -> None:
        scalars = matrix._make(lib.tess_matrix_to_csr, constants["TESS_ZEROS_KEEP"])
        super().__init__(scalars._handle, ignore_zeros)
        self.shape, self.dtype = matrix.shape, matrix.dtype
        self.statistics = statistics(scalars._handle)
        self.symmetry = _symmetry(scalars._handle)
        self.hermitian = _hermitian(scalars._handle)
        self.blocksize = (self.recommended.rows, self.recommended.cols)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = [self._head(), self._histogram(), self._table(), self._verdict()]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def _head(self) -> list[str]:
        (rows, cols), s = self.shape, self.statistics
        kind = NAMES[self.dtype]
        size = f"size       {_count(rows)} x {_count(cols)}, {_count(s.stored)} non-zeros, {kind}"
        if s.stored > s.nonzeros:
            size += f" ({_count(s.stored - s.nonzeros)} of them stored zeros)"
        lengths = f"rows       {_count(s.row_min)} to {_count(s.row_max)} non-zeros, "
        lengths += f"{s.row_avg:.1f} on average"
        if s.empty_rows:
            lengths += f"; {_count(s.empty_rows)} empty"
        if s.imbalance >= 8:
            lengths += f"\n           the longest is {s.imbalance:.0f} times the average: "
            lengths += "rows must be cut to balance threads"
        band = f"{_count(s.lower_bandwidth)} below the diagonal, {_count(s.upper_bandwidth)} above"
        return [size, self._symmetric(), *self._diagonal(), f"bandwidth  {band}", lengths]

    def _symmetric(self) -> str:
        s, said = self.symmetry, "symmetry   "
        if self.shape[0] != self.shape[1]:
            return said + "rectangular"
        if self.hermitian and self.dtype.kind == "c":
            return said + ("hermitian and symmetric" if s.symmetric else "hermitian")
        if s.symmetric:
            return said + "symmetric"
        if s.skew:
            return said + "skew-symmetric"
        if s.asymmetry <= 1e-12:
            return said + f"symmetric but for rounding ({s.asymmetry:.1e} of the largest entry)"
        if s.pattern:
            return said + "symmetric pattern, different values"
        share = f"{100 * s.mirrored:.0f} %"
        return said + f"not symmetric: {share} of the entries off the diagonal have a mirror"

    def _diagonal(self) -> list[str]:
        s = self.symmetry
        lines = []
        if not s.missing_diagonal and not s.zero_diagonal:
            lines.append("diagonal   complete")
        if s.missing_diagonal:
            lines.append(f"diagonal   {_count(s.missing_diagonal)} missing")
        if s.zero_diagonal:
            lines.append(f"diagonal   {_count(s.zero_diagonal)} zero")
        return lines

    def _histogram(self) -> list[str]:
        counts = list(self.statistics.histogram)
        used = [k for k, n in enumerate(counts) if n] or [0]
        lines = ["non-zeros in a row        rows"]
        for k in range(used[0], used[-1] + 1):
            low, high = (2 ** (k - 1), 2**k - 1) if k else (0, 0)
            name = str(low) if low == high else f"{low}..{high}"
            bar = "#" * math.ceil(counts[k] / max(1, *counts) * 40)
            lines.append(f"{name:>14} {_count(counts[k]):>14}  {bar}")
        return lines

    def _worth_showing(self, c: Candidate) -> bool:
        aligned_square = c.rows == c.cols and c.row_offset == 0 and c.col_offset == 0
        return (
            (aligned_square and (c.rows <= 8 or c.rows == self.natural_block))
            or c == self.recommended
            or c.bytes < self.recommended.bytes
        )

    def _table(self) -> list[str]:
        if not self.candidates:
            return []
        csr = self.candidates[0].bytes
        lines = ["    block         blocks  density      fill   SpMV moves   to 1 x 1"]
        for c in filter(self._worth_showing, self.candidates):
            mark = ">" if c == self.recommended else " "
            change = 100 * (c.bytes / csr - 1)
            size = f"{c.rows} x {c.cols}"
            line = f"{mark} {size:>7} {_count(c.blocks):>14} {c.density:8.3f} {c.fill:9.2f}"
            line += f" {_unit(c.bytes, 'B'):>12} {change:+8.0f} %"
            if c.row_offset or c.col_offset:
                line += f"  from row {c.row_offset}, column {c.col_offset}"
            lines.append(line)
        return lines

    def _verdict(self) -> list[str]:
        best, natural = self.recommended, self.natural_block
        blocked = best.rows > 1 or best.cols > 1
        lines = [
            f"natural    blocks of {natural} x {natural}"
            if natural > 1
            else "natural    no block size",
            f"advice     store {best.rows} x {best.cols} blocks"
            if blocked
            else "advice     do not block",
            *_filled("because", self.reason.removeprefix("do not block this: ")),
        ]
        if self.candidates:
            flops = 2.0 * best.blocks * best.rows * best.cols
            cost = f"a product moves {_unit(best.bytes, 'B')} for {_unit(flops, 'flop')}: "
            cost += f"{flops / best.bytes:.2f} flop per byte, so memory"
            lines += [f"cost       {cost}", "           decides its speed"]
        return lines


def _filled(label: str, text: str) -> list[str]:
    first, rest = f"{label:<11}", " " * 11
    return textwrap.wrap(
        text, 80, initial_indent=first, subsequent_indent=rest, break_long_words=False
    )


def _count(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _unit(value: float, unit: str) -> str:
    """Three significant digits, as the command prints them."""
    power = 0
    while value >= 999.5 and power < 4:
        value /= 1000
        power += 1
    whole = value >= 99.95 or (power == 0 and value == math.floor(value))
    decimals = 0 if whole else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f} {('', 'k', 'M', 'G', 'T')[power]}{unit}"


SPY_CELLS = 96  # along the longer side of the picture


def spy_svg(matrix: bsr_array) -> str:
    """The pattern as a small SVG: a cell is darker the fuller it is."""
    view = matrix._view
    rows, cols = view.block_rows, view.block_cols
    if not rows or not cols or not view.blocks:
        return ""
    scale = max(1, -(-max(rows, cols) // SPY_CELLS))
    height, width = -(-rows // scale), -(-cols // scale)
    of_row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(matrix.indptr))
    cells = np.bincount(
        (of_row // scale) * width + matrix.indices // scale, minlength=height * width
    )
    rects = []
    for at in np.flatnonzero(cells):
        shade = 0.25 + 0.75 * min(1.0, float(cells[at]) / (scale * scale))
        i, j = divmod(int(at), width)
        rects.append(f'<rect x="{j}" y="{i}" width="1" height="1" opacity="{shade:.2f}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="240" '
        f'style="border:1px solid #888;max-height:320px" shape-rendering="crispEdges" '
        f'fill="currentColor">'
        f"{''.join(rects)}</svg>"
    )


def html(matrix: bsr_array) -> str:
    """The picture and a table, for notebooks."""
    (rows, cols), (r, c) = matrix.shape, matrix.blocksize
    table = {
        "size": f"{_count(rows)} x {_count(cols)}, {matrix.dtype}",
        "blocks": f"{_count(matrix._view.blocks)} of {r} x {c}",
        "entries": _count(matrix.nnz),
        "memory": _unit(float(matrix.nbytes), "B"),
    }
    lines = "".join(f"<tr><th>{k}</th><td>{_html.escape(v)}</td></tr>" for k, v in table.items())
    return f"<div><div>{spy_svg(matrix)}</div><table>{lines}</table></div>"
