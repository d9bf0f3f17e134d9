/* y = alpha A x + beta y on BSR, one thread per scalar row: paper 002, Algorithms 4 and 5.
 *
 *     A thread block takes a block row, thread r its scalar row r: for every block, for every
 *     column c, sum += A[block][c][r] * x[column][c]. The threads of a warp read a column of the
 *     block: stride 1.
 *
 * SHARE = 0 is Algorithm 4: every thread reads x itself. SHARE = 1 is Algorithm 5: the threads
 * bring the block's part of x to shared memory together, between two barriers. The columns of the
 * inner loop are unrolled by UNROLLED, as the paper suggests. Blocks of more than THREADS rows are
 * given to CHUNKS thread blocks, of which the paper has one.
 *
 * Macros: those of rows.cuh; THREADS (a multiple of 32), CHUNKS, SHARE, UNROLLED.
 */
#include "rows.cuh"

#define WHOLE (BW / UNROLLED * UNROLLED) /* columns in full turns of the inner loop */

/* `count` (a constant, at most UNROLLED) columns from c on, all loads before the products. */
DEVICE scalar add_part(const rows_args *a, const scalar *values, int column, const scalar *xs, int c,
                       int count, scalar sum, policy p)
{
    scalar v[UNROLLED];
    UNROLL
    for (int u = 0; u < UNROLLED; u++)
        if (u < count)
            v[u] = block_value(values + (long long)(c + u) * BH, p);
    UNROLL
    for (int u = 0; u < UNROLLED; u++)
        if (u < count)
            MULTIPLY_ADD(sum, v[u], SHARE ? xs[c + u] : block_x(a, column, c + u));
    return sum;
}

KERNEL(row_per_thread, rows_args, THREADS, 1)
{
#if SHARE
    SHARED(scalar, xs, BW);
#else
    const scalar *xs = 0;
#endif
    const long long line = blockIdx.x / CHUNKS;
    const int r = (int)(blockIdx.x % CHUNKS) * THREADS + (int)threadIdx.x;
    const policy p = stream_policy();
    const long long first = READ_ONLY(a.offsets + line), last = READ_ONLY(a.offsets + line + 1);
    scalar sum = ZERO;
    for (long long block = first; block < last; block++) {
        const int column = READ_ONLY(a.columns + block);
#if SHARE
        __syncthreads();
        for (int c = (int)threadIdx.x; c < BW; c += THREADS)
            xs[c] = block_x(&a, column, c);
        __syncthreads();
#endif
        if (r < BH) {
            const scalar *values = a.values + block * PER_BLOCK + r;
            NO_UNROLL
            for (int c = 0; c < WHOLE; c += UNROLLED)
                sum = add_part(&a, values, column, xs, c, UNROLLED, sum, p);
            if (WHOLE < BW)
                sum = add_part(&a, values, column, xs, WHOLE, BW - WHOLE, sum, p);
        }
    }
    if (r < BH)
        put(&a, line, r, sum);
}
