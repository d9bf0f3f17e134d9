/* y = alpha A x + beta y: the three mappings of paper 004, sections 3.1 - 3.7.
 *
 *     A thread block takes a group of B_y block rows and, per step, B_x blocks of each row. A
 *     thread takes one element of one of these blocks.
 *
 *                      B_x                      B_y            threads per block row (UNIT)
 *     block_row        T / (BH*BW)              1              T
 *     warp_row         W / (BH*BW)              T / W          W
 *     multi_row        1, or more (3.6)         T / UNIT       B_x * BH*BW
 *
 * T = THREADS, W = 32. The paper's blocks are powers of two and small. Others leave the last
 * threads of a unit idle. A block with more elements than the unit has threads is read in pieces of
 * PIECE columns; a unit of warp_row gets as many warps as one column of its block needs. At the end
 * the sums of a row's columns are added in a tree in shared memory, and `targets` says where the
 * row belongs (3.5).
 *
 * REORDER = 1 is interleaved storage (3.4): all blocks of a step lie together. All rows of a group
 * are equally long, so no thread asks for the length of its row; blocks that fill up short rows
 * have column -1, and their x is not read. REORDER = 0 is BSR's own order: no padding, and each row
 * ends where it ends.
 *
 * Macros: BH, BW, RAGGED; THREADS, UNIT, BX, BY, PIECE; TREE: the largest power of two below
 * COLUMNS; DEPTH: steps in flight; REORDER; TARGETS: lines are not the block rows in order.
 * DOT also sums w*y over the thread block's rows; real scalars only. dot_sum adds these sums.
 */
#include "common.cuh"

#define PER_BLOCK (BH * BW)
#define COLUMNS (BX * PIECE) /* of a block row per turn */
#define PIECES ((BW + PIECE - 1) / PIECE)
#define STRIDE (REORDER ? BX * BY : BX) /* from a thread's block to the one of its next step */

typedef struct mapped_args {
    const long long *offsets; /* REORDER: groups + 1, in steps; otherwise rows + 1, in blocks */
    const int *targets;       /* block row of a line; REORDER: groups * BY, or -1 */
    const int *columns;
    const scalar *values;
    const scalar *x;
    scalar *y;
    long long rows, cols;
    factor alpha, beta;
    const scalar *w;  /* DOT */
    double *dot_part; /* DOT: one number per thread block */
} mapped_args;

#if DOT
#include "dot_sum.cuh"
#endif

DEVICE scalar element_x(const mapped_args *a, int column, int j)
{
    const long long at = (long long)column * BW + j;
    if (column < 0)
        return ZERO;
#if RAGGED
    if (at >= a->cols)
        return ZERO;
#endif
    return read_scalar(a->x + at);
}

/* The block row of a line of the thread block's group, or -1. */
DEVICE int target_of(const mapped_args *a, int line)
{
    const long long at = (long long)blockIdx.x * BY + line;
#if !REORDER
    if (at * BH >= a->rows)
        return -1;
#endif
    return TARGETS ? READ_ONLY(a->targets + at) : (int)at;
}

/* A thread's first block, and the steps that it takes. */
DEVICE long long first_block(const mapped_args *a, int line, int which, int *steps)
{
#if REORDER
    const long long first = READ_ONLY(a->offsets + blockIdx.x);
    *steps = (int)(READ_ONLY(a->offsets + blockIdx.x + 1) - first);
    return (first * BY + line) * BX + which;
#else
    const int row = target_of(a, line);
    *steps = 0;
    if (row < 0)
        return 0;
    const long long first = READ_ONLY(a->offsets + row) + which;
    const long long left = READ_ONLY(a->offsets + row + 1) - first;
    *steps = left > 0 ? (int)((left + BX - 1) / BX) : 0;
    return first;
#endif
}

/* One turn: the next DEPTH steps, of which `left` exist. `block` is the thread's first block, of
 * which it takes row r and columns c, c + PIECE, ... */
DEVICE scalar turn(const mapped_args *a, long long block, int left, int r, int c, scalar sum,
                   policy p)
{
    int column[DEPTH];
    UNROLL
    for (int u = 0; u < DEPTH; u++) {
        column[u] = -1;
        if (u < left)
            stream_index1(a->columns + block + u * STRIDE, &column[u], p);
    }
    NO_UNROLL
    for (int piece = 0; piece < PIECES; piece++) {
        const int j = piece * PIECE + c;
        scalar v[DEPTH], xs[DEPTH];
        const bool inside = BW % PIECE == 0 || j < BW;
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            v[u] = ZERO;
            if (u < left && inside)
                stream_scalar1(a->values + (block + u * STRIDE) * PER_BLOCK + j * BH + r, &v[u], p);
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            xs[u] = inside ? element_x(a, column[u], j) : ZERO;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            MULTIPLY_ADD(sum, v[u], xs[u]);
    }
    return sum;
}

KERNEL(mapped, mapped_args, THREADS, 1)
{
    SHARED(scalar, sums, THREADS);
    const int line = (int)threadIdx.x / UNIT, inside = (int)threadIdx.x % UNIT;
    const bool active = line < BY && inside < COLUMNS * BH;
    scalar sum = ZERO;
#if DOT
    SHARED(double, scratch, THREADS);
    double product = 0;
#endif
    WAIT_FOR_LAST();
    LET_NEXT_START();
    if (active) {
        const policy p = stream_policy();
        const int r = inside % BH, c = inside / BH % PIECE, which = inside / (BH * PIECE);
        int steps;
        long long block = first_block(&a, line, which, &steps);
        NO_UNROLL
        for (int step = 0; step < steps; step += DEPTH, block += DEPTH * STRIDE)
            sum = turn(&a, block, steps - step, r, c, sum, p);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    NO_UNROLL
    for (int stride = TREE; stride > 0; stride /= 2) {
        if (active && inside < stride * BH && inside + stride * BH < COLUMNS * BH)
            ADD_TO(sums[threadIdx.x], sums[threadIdx.x + stride * BH]);
        __syncthreads();
    }
    if (active && inside < BH) {
        const int target = target_of(&a, line);
        const long long row = (long long)target * BH + inside;
        if (target >= 0 && row < a.rows) {
            const scalar result = scaled(a.alpha, sums[threadIdx.x], a.beta, a.y, row);
            a.y[row] = result;
#if DOT
            product = (double)result * (double)(a.w ? a.w[row] : result);
#endif
        }
    }
#if DOT
    product = block_sum(product, scratch, THREADS);
    if (threadIdx.x == 0)
        a.dot_part[blockIdx.x] = product;
#endif
}
