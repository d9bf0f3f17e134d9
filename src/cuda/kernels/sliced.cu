/* y = alpha A x + beta y on the sliced format (src/format/sliced.h): one thread a scalar row, or
 * PER_ROW threads when there are few rows. Lane t of a slice reads its values at stride 1 over the
 * slice, so every load of a warp is one contiguous piece, with no shuffle and no shared memory.
 *
 *   BH, BW    block height and width       HEIGHT   C, lines (block rows) a slice
 *   VEC       scalars a load               GROUP    blocks a group: GROUP*BW is a multiple of VEC
 *                                                   (WIDE: zeros up to one)
 *   DEPTH     groups in flight             THREADS  threads a block
 *   PER_ROW   threads a row: they share the groups of a row (narrow blocks) or the columns of
 *             its blocks (WIDE); their sums are added in a fixed order through shared memory
 *   WIDE      0: a group's loads are all in flight; n > 0: n loads in flight at a time, GROUP = 1
 *   DEAL      of WIDE: the blocks of a row are dealt to so many threads, or groups of them that
 *             share the columns; divides PER_ROW
 *   XVEC      scalars of x a load, where x lies at a multiple of them
 *   TARGETS   lines are not the block rows in order: targets[] says where a line goes
 *   RAGGED    cols is not a multiple of BW: the last block column hangs over the end of x
 *   FIELDS    x, y and w are by fields (fields.cuh)
 *   DOT       also the sum of w*y over the block's rows, of real scalars
 *
 * One launch a panel of columns: the first with the caller's beta, the others with beta = 1. The
 * last one visits all rows, so that it can form w*y.
 *
 * sliced_sum then adds the segments of rows that were cut, sliced_dot the blocks' parts of w*y.
 */
#include "common.cuh"

#define ROWS (THREADS / PER_ROW) /* scalar rows a thread block */

/* y is asked for before the sums, not after them: lines of a panel are short, and every wait after
 * another counts. Only for scalars in f64 the registers count more: with 34 instead of 32 a quarter
 * fewer threads fit (H200, 7 points: 260 us instead of 244). */
#define EARLY_Y (TARGETS || BW > 1 || REAL == 4)

typedef struct sliced_args {
    const long long *offsets;
    const int *lengths;
    const int *targets;
    const int *columns;
    const scalar *values;
    const scalar *x;
    scalar *y;
    scalar *slots; /* sums of segments */
    long long lines, rows, cols;
    factor alpha, beta;
    const scalar *w;  /* DOT */
    double *dot_part; /* DOT: one number a thread block; NULL before the last panel */
} sliced_args;

/* The thread's scalar row among the block's. */
DEVICE unsigned lane_place(void)
{
    return PER_ROW > 1 ? threadIdx.x % ROWS : threadIdx.x;
}

#include "sliced_row.cuh"

#if DOT
/* The sum over all threads of a block, in a fixed order; valid in thread 0. */
DEVICE double block_sum(double mine, double *scratch, int threads)
{
    scratch[threadIdx.x] = mine;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}
#endif

KERNEL(sliced, sliced_args, THREADS, 1)
{
    const unsigned part = PER_ROW > 1 ? threadIdx.x / ROWS : 0;
    const unsigned place = blockIdx.x * ROWS + lane_place();
    const unsigned slice = place / LANES, lane = place % LANES;
    const unsigned line = slice * HEIGHT + lane / BH;
    const policy p = stream_policy(), keep = keep_policy();
    scalar sum = ZERO;
    long long first = 0;
    int length = 0, target = (int)line;
    if (line < a.lines) {
        first = READ_ONLY(a.offsets + slice);
        length = READ_ONLY(a.lengths + line);
#if TARGETS
        target = READ_ONLY(a.targets + line);
#endif
    }
    /* In a solver launches overlap; the next may read what the one before this wrote. */
    WAIT_FOR_LAST();
    LET_NEXT_START();
    const long long row = (long long)target * BH + lane % BH;
    const bool mine = part == 0 && line < a.lines && target >= 0 && row < a.rows;
    const long long at = y_place(row, a.rows);
#if EARLY_Y
    const scalar old = mine && NOT_ZERO(a.beta) ? a.y[at] : ZERO;
#endif
    const scalar *values = a.values + (first * (GV * LANES) + lane) * VEC;
    const int *columns = a.columns + (first * HEIGHT + lane / BH) * GROUP;
    if (XVEC == 1 || (unsigned long long)a.x % (XVEC * SCALAR_BYTES) == 0)
        sum = row_sum(a.x, a.cols, values, columns, length, (int)part, true, p, keep);
    else
        sum = row_sum(a.x, a.cols, values, columns, length, (int)part, false, p, keep);
#if PER_ROW > 1
    SHARED(scalar, parts, THREADS);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (part == 0)
        UNROLL
        for (int i = 1; i < PER_ROW; i++)
            ADD_TO(sum, parts[threadIdx.x + i * ROWS]);
#endif
#if DOT
    double product = 0;
#endif
    if (part == 0 && line < a.lines && target < 0)
        a.slots[(long long)~target * BH + lane % BH] = sum;
    const bool idle = length == 0 && IS_ONE(a.beta); /* y stays */
    if (mine && (!idle || (DOT && a.dot_part))) {
#if EARLY_Y
        const scalar result = combined(a.alpha, sum, a.beta, old);
#else
        const scalar result = scaled(a.alpha, sum, a.beta, a.y, at);
#endif
        if (!idle)
            a.y[at] = result;
#if DOT
        if (a.dot_part)
            product = (double)result * (double)(a.w ? a.w[at] : result);
#endif
    }
#if DOT
    SHARED(double, scratch, THREADS);
    if (a.dot_part) {
        product = block_sum(product, scratch, THREADS);
        if (threadIdx.x == 0)
            a.dot_part[blockIdx.x] = product;
    }
#endif
}

#include "sliced_sum.cuh"
