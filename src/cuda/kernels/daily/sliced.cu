/* y = alpha A x + beta y on the sliced format (src/format/sliced.h): one thread per scalar row, or
 * PER_ROW threads where there are few rows. Lane t of a slice reads its values at stride 1 over the
 * slice, so that every load of a warp is one contiguous piece, without shuffles or shared memory.
 *
 *   BH, BW    block height and width       HEIGHT   C, lines (block rows) per slice
 *   VEC       scalars per load             GROUP    blocks per group: GROUP*BW is a multiple of VEC
 *                                                   (WIDE: zeros up to one)
 *   DEPTH     groups in flight             THREADS  threads per thread block
 *   PER_ROW   threads per row: they share the groups of a row (narrow blocks) or the columns of
 *             its blocks (WIDE). Their sums are added in a fixed order through shared memory.
 *   WIDE      0: a group's loads are all in flight; n > 0: n loads in flight at a time, GROUP = 1
 *   DEAL      with WIDE: the blocks of a row are dealt to DEAL threads, or groups of threads that
 *             share the columns; divides PER_ROW
 *   XVEC      scalars of x per load, where x is aligned to them
 *   TARGETS   lines are not the block rows in order: targets[] says where a line goes
 *   RAGGED    cols is not a multiple of BW: the last block column hangs over the end of x
 *   FIELDS    x, y and w are by fields (fields.cuh)
 *   DOT       also sums w*y over the thread block's rows; real scalars only
 *
 * One launch per panel of columns: the first has the caller's beta, the others beta = 1. The last
 * launch visits all rows, so that it can form w*y.
 *
 * Afterwards sliced_sum adds the segments of cut rows, and dot_sum the partial sums of w*y. */
#include "common.cuh"

#define ROWS (THREADS / PER_ROW) /* scalar rows per thread block */

/* y is loaded before the sums, not after them: lines of a panel are short, and two latencies in
 * turn count. Only blocks of one column in f64 load it late, as registers count more there: with 34
 * instead of 32 a quarter fewer threads fit (H200, 7 points: 260 us instead of 244). */
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
    double *dot_part; /* DOT: one number per thread block; NULL before the last panel */
} sliced_args;

/* The thread's scalar row among the thread block's. */
DEVICE unsigned lane_place(void)
{
    return PER_ROW > 1 ? threadIdx.x % ROWS : threadIdx.x;
}

#include "block_sum.cuh"
#include "sliced_row.cuh"

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
    /* In a solver launches overlap. The next launch may read what the one before this one wrote, so
     * that it is let start only when that one has ended. */
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
    const bool idle = length == 0 && IS_ONE(a.beta); /* y stays as it is */
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
#if DOT
#include "dot_sum.cuh"
#endif
