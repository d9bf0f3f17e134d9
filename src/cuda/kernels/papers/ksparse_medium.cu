/* y = alpha A x + beta y on BSR, medium blocks: kernel K2 of paper 003, section 5.3.
 *
 *     thread block   N_TA thread arrays
 *     thread array   BH x N_TG threads, any number (not a multiple of a warp): N_TG groups of BH
 *                    threads; NBROWS consecutive block rows, one after the other
 *     working set    one block, in vertical slices, one per group; thread (r, g) holds row r of
 *                    slice g
 *
 * Slices are not equally wide (eq. 2): EPT_MAX = ceil(BW / N_TG) columns for the groups from
 * THRESHOLD on, one fewer for those before. 7 columns, 4 groups: | 1 | 2 | 2 | 2 |, THRESHOLD = 1.
 * Double buffering: the next block is on its way to registers while the current one is multiplied.
 * At the end of a block row the groups' sums are added in order through shared memory.
 *
 * Macros: those of rows.cuh; N_TA, N_TG, NBROWS, EPT_MAX, THRESHOLD.
 */
#include "rows.cuh"

#define ARRAY (BH * N_TG)

/* The thread's part of a block; `wide`: its slice has EPT_MAX columns. */
DEVICE void fetch(const scalar *values, bool wide, scalar *to, policy p)
{
    UNROLL
    for (int e = 0; e < EPT_MAX; e++) {
        to[e] = ZERO;
        if (e < EPT_MAX - 1 || wide)
            to[e] = block_value(values + e * BH, p);
    }
}

/* r + BH * start is the thread's first element in a block, start its first column. */
DEVICE scalar line_sum(const rows_args *a, long long line, int r, int start, bool wide)
{
    const policy p = stream_policy();
    const long long first = READ_ONLY(a->offsets + line), last = READ_ONLY(a->offsets + line + 1);
    const scalar *values = a->values + first * PER_BLOCK + start * BH + r;
    scalar now[EPT_MAX], next[EPT_MAX], sum = ZERO;
    int column = 0, next_column = 0;
    UNROLL
    for (int e = 0; e < EPT_MAX; e++)
        next[e] = ZERO;
    if (first < last) {
        column = block_column(a->columns + first, p);
        fetch(values, wide, now, p);
    }
    NO_UNROLL
    for (long long block = first; block < last; block++) {
        values += PER_BLOCK;
        if (block + 1 < last) {
            next_column = block_column(a->columns + block + 1, p);
            fetch(values, wide, next, p);
        }
        UNROLL
        for (int e = 0; e < EPT_MAX; e++)
            if (e < EPT_MAX - 1 || wide)
                MULTIPLY_ADD(sum, now[e], block_x(a, column, start + e));
        column = next_column;
        UNROLL
        for (int e = 0; e < EPT_MAX; e++)
            now[e] = next[e];
    }
    return sum;
}

KERNEL(ksparse_medium, rows_args, N_TA *ARRAY, 1)
{
    SHARED(scalar, parts, N_TA * ARRAY);
    const int array = (int)threadIdx.x / ARRAY, inside = (int)threadIdx.x % ARRAY;
    const int g = inside / BH, r = inside % BH;
    const int start = g * (EPT_MAX - 1) + (g > THRESHOLD ? g - THRESHOLD : 0);
    NO_UNROLL
    for (int n = 0; n < NBROWS; n++) {
        const long long line = ((long long)blockIdx.x * N_TA + array) * NBROWS + n;
        scalar sum = ZERO;
        if (line < a.lines)
            sum = line_sum(&a, line, r, start, g >= THRESHOLD);
#if N_TG > 1
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (g == 0)
            UNROLL
            for (int other = 1; other < N_TG; other++)
                ADD_TO(sum, parts[threadIdx.x + other * BH]);
        __syncthreads();
#else
        (void)parts;
#endif
        if (g == 0 && line < a.lines)
            put(&a, line, r, sum);
    }
}
