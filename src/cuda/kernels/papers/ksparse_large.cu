/* y = alpha A x + beta y on BSR, large blocks: kernel K3 of paper 003, section 5.4.
 *
 *     mini-grid      B_y = ceil(BH / NB) thread blocks per block row, NB scalar rows each
 *     thread block   one thread array of NB x N_TG threads: N_TG groups of NB
 *     working set    NB x W of a block, W = N_TG * EPT; thread (r, g) holds EPT elements of row r
 *
 *              <- W ->
 *          ^  | g0 g1 | g0 g1 | ...      a thread block walks its strip of every block of the row
 *          NB |       |       |
 *          v  |       |       |
 *
 * Double buffering: the next working set, in this block or the next, is on its way while the
 * current one is multiplied. Sums stay in registers over the whole row; the groups' sums are added
 * in order through shared memory at the end. The paper's grid is (block rows, B_y). Here the two
 * are one dimension with B_y fastest, so that the thread blocks around a matrix block run at the
 * same time and share its x.
 *
 * Macros: those of rows.cuh; NB, N_TG, EPT.
 */
#include "rows.cuh"

#define STRIPS ((BH + NB - 1) / NB) /* B_y */
#define WIDTH (N_TG * EPT)          /* W */
#define SETS ((BW + WIDTH - 1) / WIDTH)

/* Whether column c + e of the block exists: always, unless the last working set sticks out. */
#define INSIDE(c, e) (BW % WIDTH == 0 || (c) + (e) < BW)

DEVICE void fetch(const scalar *values, int c, bool on, scalar *to, policy p)
{
    UNROLL
    for (int e = 0; e < EPT; e++) {
        to[e] = ZERO;
        if (on && INSIDE(c, e))
            to[e] = block_value(values + (long long)(c + e) * BH, p);
    }
}

/* `r` and `c0`: the thread's row in the block and first column in a working set. */
DEVICE scalar line_sum(const rows_args *a, long long line, int r, int c0)
{
    const policy p = stream_policy();
    const bool on = r < BH;
    const long long last = READ_ONLY(a->offsets + line + 1);
    long long block = READ_ONLY(a->offsets + line);
    int c = c0;
    scalar now[EPT], next[EPT], sum = ZERO;
    int column = 0, next_column = 0;
    UNROLL
    for (int e = 0; e < EPT; e++)
        now[e] = next[e] = ZERO;
    if (block < last) {
        column = READ_ONLY(a->columns + block);
        fetch(a->values + block * PER_BLOCK + r, c, on, now, p);
    }
    NO_UNROLL
    while (block < last) {
        const int here = c;
        c += WIDTH;
        next_column = column;
        if (c >= SETS * WIDTH) { /* on to the next block */
            c = c0;
            block++;
            if (block < last)
                next_column = READ_ONLY(a->columns + block);
        }
        if (block < last)
            fetch(a->values + block * PER_BLOCK + r, c, on, next, p);
        UNROLL
        for (int e = 0; e < EPT; e++)
            if (INSIDE(here, e))
                MULTIPLY_ADD(sum, now[e], block_x(a, column, here + e));
        column = next_column;
        UNROLL
        for (int e = 0; e < EPT; e++)
            now[e] = next[e];
    }
    return sum;
}

KERNEL(ksparse_large, rows_args, NB *N_TG, 1)
{
    SHARED(scalar, parts, NB * N_TG);
    const long long line = blockIdx.x / STRIPS;
    const int g = (int)threadIdx.x / NB;
    const int r = (int)(blockIdx.x % STRIPS) * NB + (int)threadIdx.x % NB;
    scalar sum = line_sum(&a, line, r, g * EPT);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (g == 0 && r < BH) {
        UNROLL
        for (int other = 1; other < N_TG; other++)
            ADD_TO(sum, parts[threadIdx.x + other * NB]);
        put(&a, line, r, sum);
    }
}
