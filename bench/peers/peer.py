"""The conversation of peer.h for adapters in Python, and the matrix as NumPy arrays."""
import os
import sys
import time

import numpy

THREADS = max(1, int(os.environ.get("TESSERA_PEER_THREADS", "1")))


class Matrix:
    """Offsets and columns are 32-bit copies, values (blocks, height, width) with row-major blocks."""

    def __init__(self, path):
        head = numpy.fromfile(path, dtype=numpy.int64, count=8)
        if head[:1].tobytes() != b"TESSPEER":
            raise ValueError("the matrix file has the wrong magic")
        self.rows, self.cols, r, c, self.block_rows, self.block_cols, self.blocks = map(int, head[1:])
        self.block = (r, c)
        self._path, self._at = path, 64
        self.offsets = self._take(numpy.int64, self.block_rows + 1).astype(numpy.int32)
        self.columns = numpy.array(self._take(numpy.int32, self.blocks))
        values = self._take(numpy.float64, self.blocks * r * c)
        self.values = numpy.ascontiguousarray(values.reshape(self.blocks, c, r).transpose(0, 2, 1))
        self.x = numpy.array(self._take(numpy.float64, self.cols))

    def _take(self, kind, count):
        array = numpy.memmap(self._path, dtype=kind, mode="r", offset=self._at, shape=(count,))
        self._at += (array.nbytes + 63) // 64 * 64
        return array

    def csr(self):
        """Offsets, columns and values of the same matrix without blocks."""
        r, c = self.block
        lengths = numpy.diff(self.offsets)
        row = numpy.repeat(numpy.arange(self.block_rows) * r, lengths)
        order = numpy.argsort((row[:, None] + numpy.arange(r)).ravel(), kind="stable")
        offsets = numpy.zeros(self.rows + 1, dtype=numpy.int32)
        numpy.cumsum(numpy.repeat(lengths * c, r), out=offsets[1:])
        columns = self.columns[:, None] * numpy.int32(c) + numpy.arange(c, dtype=numpy.int32)
        return offsets, columns[order // r].ravel(), self.values.reshape(-1, c)[order].ravel()


def converse(name, version, threads, variants):
    """`variants` maps a name to a function Matrix -> (function that returns y = A x as an array)."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a library's own output must not enter the conversation
    multiply = {}

    def say(text):
        out.write(text + "\n")
        out.flush()

    say(f"peer {name} {version} {threads}")
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "quit":
            return
        if word == "load":
            for variant, load in variants.items():
                try:
                    multiply[variant] = load(Matrix(rest[0]))
                    multiply[variant]()
                    say(f"variant {variant} ok")
                except Exception as fault:  # any refusal of the library is its answer
                    multiply.pop(variant, None)
                    say(f"variant {variant} no {' '.join(str(fault).split())[:200]}")
            say("end")
        elif word == "run" and rest[0] in multiply:
            times = []
            for _ in range(int(rest[1])):
                start = time.perf_counter()
                multiply[rest[0]]()
                times.append(time.perf_counter() - start)
            say("times " + " ".join(f"{t:.9g}" for t in times))
        elif word == "result" and rest[0] in multiply:
            numpy.asarray(multiply[rest[0]](), dtype=numpy.float64).tofile(rest[1])
            say("ok")
        else:
            say("no such command")
