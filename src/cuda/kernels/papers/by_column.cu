/* y = alpha A x + beta y on BSR, whole columns by a group of lanes: paper 002, Algorithm 3.
 *
 *     LANES lanes (the paper's warp, or an even part of it) take a block row, WARP_COLUMNS =
 *     LANES / BH columns at a time; lane l is always scalar row l % BH, and its column moves on:
 *
 *     | b0 c0 | b0 c1 | b0 c2 | b1 c0 | ...      3 x 3 blocks, 10 columns per turn, 2 lanes idle
 *      l0..l2  l3..l5  l6..l8  l9..l11
 *
 * Columns of one block row lie one after the other, so a turn reads one stretch of the values.
 * The paper divides to find the block and the column inside; here both are carried along (a turn is
 * a fixed number of blocks and columns). The paper's group is the whole warp: narrower groups leave
 * fewer lanes idle on short rows. UNROLLED turns are in flight at a time.
 *
 * Macros: those of rows.cuh; LANES, THREADS, UNROLLED.
 */
#define WARP_COLUMNS (LANES / BH)
#include "rows.cuh"

DEVICE scalar line_sum(const rows_args *a, long long line, int lane, policy p)
{
    const long long first = READ_ONLY(a->offsets + line), last = READ_ONLY(a->offsets + line + 1);
    const scalar *values = a->values + first * PER_BLOCK + lane;
    long long block = first + lane / BH / BW;
    int c = lane / BH % BW;
    scalar sum = ZERO;
    NO_UNROLL
    while (block < last) {
        int column[UNROLLED], inside[UNROLLED];
        scalar v[UNROLLED], xs[UNROLLED];
        UNROLL
        for (int u = 0; u < UNROLLED; u++) {
            column[u] = -1;
            v[u] = ZERO;
            if (block < last) {
                column[u] = block_column(a->columns + block, p);
                v[u] = block_value(values, p);
            }
            inside[u] = c;
            values += ACTIVE;
            block += WARP_COLUMNS / BW;
            c += WARP_COLUMNS % BW;
            if (c >= BW) {
                c -= BW;
                block++;
            }
        }
        UNROLL
        for (int u = 0; u < UNROLLED; u++)
            xs[u] = column[u] >= 0 ? block_x(a, column[u], inside[u]) : ZERO;
        UNROLL
        for (int u = 0; u < UNROLLED; u++)
            MULTIPLY_ADD(sum, v[u], xs[u]);
    }
    return sum;
}

KERNEL(by_column, rows_args, THREADS, 1)
{
    const int lane = (int)threadIdx.x % LANES;
    const long long line = ((long long)blockIdx.x * THREADS + threadIdx.x) / LANES;
    take_line(&a, line, lane, stream_policy());
}
