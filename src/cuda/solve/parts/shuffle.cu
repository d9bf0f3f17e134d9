/* Rows between parts in the products of paper 003 (section 5.6) and paper 004: vectors from one
 * layout to another, results into the order of rows, and the sums of cut rows.
 *
 *   REAL  bytes of a scalar      THREADS  threads per thread block
 *
 * A block row of all vectors has `width` scalars, one after the other. results, ordered and y are
 * arrays of such rows.
 *
 *     results   part 0: 0 4 3 | part 1: 1 2 5      part after part
 *     place     0 3 4 2 1 5                        of each segment in the results
 *     ordered   0 1 2 | 3 | 4 5                    results[place[segment]]
 *     firsts    0       3   4   6                  of each row, its first segment
 *     y         0 + 1 + 2, 3, 4 + 5
 */
#include "common.cuh"

/* i / by for 0 <= i < count. A division of 64 bits takes longer than the rest of these kernels. */
DEVICE long long divide(long long i, long long by, long long count)
{
    return count <= 0xffffffffll ? (unsigned)i / (unsigned)by : i / by;
}

typedef struct put_args {
    const real *from;
    real *to;
    long long count; /* rows * vectors */
    long long vectors, from_row, from_vector, to_row, to_vector; /* strides in scalars */
    double beta;
} put_args;

/* to = from, or from + beta to. */
KERNEL(put_rows, put_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long row = a.vectors == 1 ? i : divide(i, a.vectors, a.count);
    const long long v = i - row * a.vectors;
    const real value = a.from[row * a.from_row + v * a.from_vector];
    real *place = a.to + row * a.to_row + v * a.to_vector;
    *place = a.beta != 0 ? (real)(a.beta * (double)*place + (double)value) : value;
}

typedef struct shuffle_args {
    const long long *place;
    const real *results;
    real *ordered;
    long long count; /* segments * width */
    long long width;
} shuffle_args;

KERNEL(shuffle_rows, shuffle_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long segment = divide(i, a.width, a.count);
    a.ordered[i] = a.results[a.place[segment] * a.width + (i - segment * a.width)];
}

typedef struct segments_args {
    const long long *firsts;
    const real *ordered;
    real *y;
    long long count; /* block rows * width */
    long long width;
} segments_args;

/* One thread adds the segments of a scalar row, in their order. */
KERNEL(add_segments, segments_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long row = divide(i, a.width, a.count);
    const long long first = a.firsts[row], last = a.firsts[row + 1];
    const real *from = a.ordered + (i - row * a.width);
    real sum = from[first * a.width];
    UNROLL_4
    for (long long segment = first + 1; segment < last; segment++)
        sum += from[segment * a.width];
    a.y[i] = sum;
}
