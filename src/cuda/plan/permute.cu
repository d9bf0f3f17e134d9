/* to(i, v) = from(source(i), v), or that + beta to(i, v): vectors into another order of their rows.
 *
 *   REAL    bytes of a scalar (8 or 4)          ADD      1: beta times what is there is added
 *   FIELDS  F: rows L f + n and F n + f change places; 0: the list `source` says which
 *   APART   of fields: 1: row L f + n comes from row F n + f; 0: the other way round
 *   THREADS threads a block
 *
 * A thread has a row, or all fields of node n: what a warp leaves of a cache line is read or written
 * by its own next access.
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

/* One row of all vectors. */
DEVICE void move_row(const permute_args *a, long long from, long long to)
{
    const real *in = a->from + from * a->from_row;
    real *out = a->to + to * a->to_row;
    for (long long v = 0; v < a->vectors; v++) {
        const real value = in[v * a->from_vector];
        real *place = out + v * a->to_vector;
        *place = ADD ? value + (real)a->beta * *place : value;
    }
}

KERNEL(permute, permute_args, THREADS, 1)
{
    const long long n = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (n >= a.nodes)
        return;
#if FIELDS > 0
    UNROLL
    for (int f = 0; f < FIELDS; f++) {
        const long long apart = f * a.nodes + n, together = n * FIELDS + f;
        move_row(&a, APART ? together : apart, APART ? apart : together);
    }
#else
    move_row(&a, a.source[n], n);
#endif
}
