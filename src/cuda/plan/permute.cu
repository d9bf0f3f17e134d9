/* Brings vectors into another order of their rows: to(i, v) = from(source(i), v), and with ADD
 * to(i, v) = from(source(i), v) + beta to(i, v).
 *
 *   REAL       bytes of a scalar (8 or 4)      ADD  0 or 1
 *   FIELDS     F: rows L f + n and F n + f change places, L rows per field; 0: the list `source`
 *   TO_FIELDS  1: row L f + n comes from row F n + f; 0: row F n + f from row L f + n
 *   THREADS    threads per thread block
 *
 * A thread moves one row, or the rows of all fields of node n. The scalars that one access of a
 * warp leaves in a cache line are read or written by its next accesses.
 */
#include "common.cuh"

typedef struct permute_args {
    const int *source;
    const real *from;
    real *to;
    long long nodes;   /* rows, or rows of a field */
    long long vectors; /* strides are in scalars */
    long long from_row, from_vector, to_row, to_vector;
    double beta;
} permute_args;

#define EACH (FIELDS > 0 ? FIELDS : 1)

/* The row of the source that field f of node n comes from. */
DEVICE long long source_row(const int *source, long long nodes, long long n, int f)
{
#if FIELDS > 0
    return TO_FIELDS ? n * FIELDS + f : f * nodes + n;
#else
    return source[n];
#endif
}

KERNEL(permute, permute_args, THREADS, 1)
{
    const long long n = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (n >= a.nodes)
        return;
    for (long long v = 0; v < a.vectors; v++) {
        real value[EACH]; /* all loads are in flight before the first store */
        UNROLL
        for (int f = 0; f < EACH; f++)
            value[f] = a.from[source_row(a.source, a.nodes, n, f) * a.from_row + v * a.from_vector];
        UNROLL
        for (int f = 0; f < EACH; f++) {
            const long long row = FIELDS > 0 && !TO_FIELDS ? n * EACH + f : f * a.nodes + n;
            real *place = a.to + row * a.to_row + v * a.to_vector;
            *place = ADD ? value[f] + (real)a.beta * *place : value[f];
        }
    }
}
