/* How strongly the blocks of A couple (solve/pc/amg/strength.c): |A_ij| / sqrt(|A_ii| |A_jj|) in
 * the Frobenius norm. The strength is
 *
 *     0         where |A_ij| is less than `threshold` times the largest of row i
 *     negative  where it is less than `threshold` times the largest of row j alone
 *
 *   THREADS  threads per thread block, a multiple of 32
 *
 * A warp has a row. Products and sums are rounded one by one, as on a host without fused
 * multiply-add: groups are then the same there.
 */
#define REAL 8
#include "common.cuh"

enum { WARP = 32 };

typedef struct strength_args {
    const long long *offsets;
    const int *columns;
    const real *values;
    double *scale;     /* 1 / sqrt(|A_ii|) of every row, 0 where the block is 0 or missing */
    double *largest;   /* of every row: |A_ij| times the row's scale */
    float *strength;   /* of every block, 0 on the diagonal */
    unsigned *missing; /* rows without a diagonal block, then weak blocks off the diagonal */
    long long rows, size; /* size: scalars of a block */
    double threshold;
} strength_args;

DEVICE double block_norm(const real *block, int size)
{
    double sum = 0;
    for (int i = 0; i < size; i++)
        sum = __dadd_rn(sum, __dmul_rn(block[i], block[i]));
    return sqrt(sum);
}

DEVICE int is_finite(double x)
{
    return x - x == 0;
}

/* |A_ij| times the scale of row i, from the strength and row j's scale. */
DEVICE double beside(float strength, double scale)
{
    return strength > 0 ? (double)strength / scale : 0;
}

DEVICE long long row_of(void)
{
    return (long long)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
}

/* Each lane looks for the diagonal among its blocks. */
KERNEL(scale, strength_args, THREADS, 1)
{
    const long long row = row_of();
    if (row >= a.rows)
        return;
    int found = 0;
    for (long long k = a.offsets[row] + threadIdx.x % WARP; k < a.offsets[row + 1]; k += WARP) {
        if (a.columns[k] != row)
            continue;
        const double norm = block_norm(a.values + k * a.size, (int)a.size);
        a.scale[row] = norm > 0 && is_finite(norm) ? 1 / sqrt(norm) : 0;
        found = 1;
    }
    if (__any_sync(0xffffffffu, found) || threadIdx.x % WARP != 0)
        return;
    a.scale[row] = 0;
    (void)atomicAdd(a.missing, 1u);
}

KERNEL(norms, strength_args, THREADS, 1)
{
    const long long row = row_of();
    if (row >= a.rows)
        return;
    double most = 0;
    for (long long k = a.offsets[row] + threadIdx.x % WARP; k < a.offsets[row + 1]; k += WARP) {
        const int j = a.columns[k];
        const double norm =
            j == row ? 0
                     : __dmul_rn(__dmul_rn(a.scale[row], a.scale[j]),
                                 block_norm(a.values + k * a.size, (int)a.size));
        const float mine = is_finite(norm) ? (float)norm : 0;
        a.strength[k] = mine;
        const double size = beside(mine, a.scale[j]);
        most = size > most ? size : most;
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, most, by, WARP);
        most = other > most ? other : most;
    }
    if (threadIdx.x % WARP == 0)
        a.largest[row] = most;
}

KERNEL(drop, strength_args, THREADS, 1)
{
    const long long row = row_of();
    if (row >= a.rows)
        return;
    unsigned weak = 0;
    for (long long k = a.offsets[row] + threadIdx.x % WARP; k < a.offsets[row + 1]; k += WARP) {
        const int j = a.columns[k];
        if (j == row)
            continue;
        const float before = a.strength[k];
        const int own = beside(before, a.scale[j]) >= __dmul_rn(a.threshold, a.largest[row]);
        const int other = beside(before, a.scale[row]) >= __dmul_rn(a.threshold, a.largest[j]);
        const float mine = !own ? 0 : other ? before : -before;
        a.strength[k] = mine;
        weak += !(mine > 0);
    }
    if (weak > 0)
        (void)atomicAdd(a.missing + 1, weak);
}
