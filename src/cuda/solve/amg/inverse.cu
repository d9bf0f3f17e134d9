/* Inverses of the diagonal blocks of A, one thread per block row: Gauss-Jordan on the rows of
 * [block | identity] with the largest pivot, as on the host (solve/pc/dense.c). A missing block is
 * 0; rows of the padding are those of the identity. Singular blocks are counted.
 *
 *   THREADS  threads per thread block
 */
#define REAL 8
#include "common.cuh"

typedef struct inverse_args {
    const long long *offsets;
    const int *columns;
    const real *values;
    real *work;    /* as many scalars as the inverses have */
    real *inverse; /* column-major blocks */
    unsigned *singular;
    long long count, rows, block; /* block rows, scalar rows without padding, rows of a block */
} inverse_args;

DEVICE void get_diagonal(const inverse_args *a, long long row, int b, real *block)
{
    for (int i = 0; i < b * b; i++)
        block[i] = 0;
    for (long long k = a->offsets[row]; k < a->offsets[row + 1]; k++)
        if (a->columns[k] == row)
            for (int i = 0; i < b * b; i++)
                block[i] = a->values[k * b * b + i];
    for (int i = 0; i < b; i++)
        if (row * b + i >= a->rows)
            block[i * b + i] = 1;
}

/* Rows k and `best` change places, and the new row k is divided by the pivot. */
DEVICE void exchange(real *m, int b, int k, int best, real inverse)
{
    for (int j = 0; j < b; j++) {
        const real kept = m[j * b + k];
        m[j * b + k] = m[j * b + best] * inverse;
        if (best != k)
            m[j * b + best] = kept;
    }
}

/* Column k of `factors` becomes that of the identity; m's rows follow. */
DEVICE void eliminate(real *m, const real *factors, int b, int k, int skip)
{
    for (int j = 0; j < b; j++) {
        const real other = m[j * b + k];
        for (int i = 0; i < b && j != skip; i++)
            m[j * b + i] -= i == k ? 0 : factors[k * b + i] * other;
    }
}

/* Writes the inverse of m to `inverse`. Returns whether m is singular. */
DEVICE int invert_block(real *m, real *inverse, int b)
{
    double largest = 0;
    for (int i = 0; i < b * b; i++) {
        inverse[i] = i % (b + 1) == 0;
        largest = fmax(largest, fabs(m[i]));
    }
    for (int k = 0; k < b; k++) {
        int best = k;
        for (int i = k + 1; i < b; i++)
            if (fabs(m[k * b + i]) > fabs(m[k * b + best]))
                best = i;
        const double pivot = fabs(m[k * b + best]);
        if (!(pivot > (b == 1 ? 0 : b * 2.220446049250313e-16 * largest)) || pivot - pivot != 0)
            return 1;
        const real one = 1 / m[k * b + best];
        exchange(m, b, k, best, one);
        exchange(inverse, b, k, best, one);
        eliminate(m, m, b, k, k); /* column k, the factors, is needed last */
        eliminate(inverse, m, b, k, -1);
    }
    return 0;
}

KERNEL(invert, inverse_args, THREADS, 1)
{
    const long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    const int b = (int)a.block;
    if (row >= a.count)
        return;
    get_diagonal(&a, row, b, a.work + row * b * b);
    if (invert_block(a.work + row * b * b, a.inverse + row * b * b, b))
        (void)atomicAdd(a.singular, 1u);
}
