/* y = alpha A x + beta y on BSR, whole blocks by a group of lanes: paper 002, Algorithm 2.
 *
 *     A warp takes a block row and covers 32 / (BH*BW) whole blocks per turn, one lane per element.
 *     A lane's place (r, c) in its block never changes; lanes that cover no whole block are idle.
 *
 *     | T0 T2 | T4 T6 | ...      2 x 2 blocks: lane l is row l % 2, column l / 2 % 2 of block l / 4
 *     | T1 T3 | T5 T7 |
 *
 * At the end the lanes of the same row are added; the paper shows this in shared memory and names
 * warp shuffles as the alternative, which is what add_columns is. ROWS is ours: the warp is cut
 * into ROWS equal groups with a block row each (1 is the paper's), so that rows shorter than a turn
 * do not leave lanes idle. UNROLLED turns are in flight at a time.
 *
 * Macros: those of rows.cuh; ROWS, THREADS, UNROLLED.
 */
#define LANES (32 / ROWS)
#define BLOCKS (LANES / (BH * BW)) /* whole blocks per turn */
#define WARP_COLUMNS (BLOCKS * BW)
#include "rows.cuh"

DEVICE scalar line_sum(const rows_args *a, long long line, int lane, policy p)
{
    const int c = lane / BH % BW;
    const long long first = READ_ONLY(a->offsets + line), last = READ_ONLY(a->offsets + line + 1);
    const scalar *values = a->values + first * PER_BLOCK + lane;
    scalar sum = ZERO;
    NO_UNROLL
    for (long long block = first + lane / PER_BLOCK; block < last; block += UNROLLED * BLOCKS) {
        int column[UNROLLED];
        scalar v[UNROLLED], xs[UNROLLED];
        UNROLL
        for (int u = 0; u < UNROLLED; u++) {
            column[u] = -1;
            v[u] = ZERO;
            if (block + u * BLOCKS < last) {
                column[u] = block_column(a->columns + block + u * BLOCKS, p);
                v[u] = block_value(values + u * ACTIVE, p);
            }
        }
        UNROLL
        for (int u = 0; u < UNROLLED; u++)
            xs[u] = column[u] >= 0 ? block_x(a, column[u], c) : ZERO;
        UNROLL
        for (int u = 0; u < UNROLLED; u++)
            MULTIPLY_ADD(sum, v[u], xs[u]);
        values += UNROLLED * ACTIVE;
    }
    return sum;
}

KERNEL(by_block, rows_args, THREADS, 1)
{
    const int lane = (int)threadIdx.x % LANES;
    const long long line = ((long long)blockIdx.x * THREADS + threadIdx.x) / LANES;
    take_line(&a, line, lane, stream_policy());
}
