/* y = alpha A x + beta y on BSR, small blocks: kernel K1 of paper 003, section 5.2.
 *
 *     thread block   N_TA thread arrays, each a warp truncated to whole blocks (27 of 32 lanes for
 *                    3 x 3), that never wait for each other
 *     thread array   NBROWS consecutive block rows, one after the other
 *     working set    32 / (BH*BW) adjacent blocks, one element per lane (ept = 1): lane l is row
 *                    l % BH of column l / BH of the set, N_tg = columns per set
 *
 * Double buffering: the next working set and its columns are on their way while the current one is
 * multiplied. The sums of a row's columns are added by warp shuffles. The paper has shared memory
 * without barriers. Since Volta that is no longer safe: lanes of a warp do not run in lockstep.
 *
 * Macros: those of rows.cuh; N_TA, NBROWS.
 */
#define LANES 32
#define BLOCKS (32 / (BH * BW)) /* of a working set */
#define WARP_COLUMNS (BLOCKS * BW)
#include "rows.cuh"

typedef struct element {
    int column; /* block column; -1 beyond the row */
    scalar value;
} element;

DEVICE element fetch(const rows_args *a, long long block, long long last, int inside, policy p)
{
    element e = {-1, ZERO};
    if (block < last) {
        e.column = block_column(a->columns + block, p);
        e.value = block_value(a->values + block * PER_BLOCK + inside, p);
    }
    return e;
}

DEVICE scalar line_sum(const rows_args *a, long long line, int lane, policy p)
{
    const long long last = READ_ONLY(a->offsets + line + 1);
    const int inside = lane % PER_BLOCK, c = inside / BH;
    long long block = READ_ONLY(a->offsets + line) + lane / PER_BLOCK;
    scalar sum = ZERO;
    element now = fetch(a, block, last, inside, p);
    while (now.column >= 0) {
        block += BLOCKS;
        const element next = fetch(a, block, last, inside, p);
        MULTIPLY_ADD(sum, now.value, block_x(a, now.column, c));
        now = next;
    }
    return sum;
}

KERNEL(ksparse_small, rows_args, 32 * N_TA, 1)
{
    const int lane = (int)threadIdx.x % 32;
    const long long array = (long long)blockIdx.x * N_TA + threadIdx.x / 32;
    const policy p = stream_policy();
    NO_UNROLL
    for (int n = 0; n < NBROWS; n++)
        take_line(&a, array * NBROWS + n, lane, p);
}
