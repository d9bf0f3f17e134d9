/* y = alpha A x + beta y on the sliced format (src/format/sliced.h): one thread a scalar row, or
 * PER_ROW threads when there are few rows. Lane t of a slice reads its values at stride 1 over the
 * slice, so every load of a warp is one contiguous piece, with no shuffle and no shared memory.
 *
 *   BH, BW    block height and width       HEIGHT   C, lines (block rows) a slice
 *   VEC       scalars a load               GROUP    blocks a group: GROUP*BW is a multiple of VEC
 *   DEPTH     groups in flight             THREADS  threads a block
 *   PER_ROW   threads a row: they share the groups of a row (narrow blocks) or the columns of
 *             every block (WIDE); their sums are added in a fixed order through shared memory
 *   WIDE      0: a group's loads are all in flight; n > 0: n loads in flight at a time, GROUP = 1
 *   XVEC      scalars of x a load, where x lies at a multiple of them
 *   TARGETS   lines are not the block rows in order: targets[] says where a line goes
 *   RAGGED    cols is not a multiple of BW: the last block column hangs over the end of x
 *   DOT       also the sum of w*y over the block's rows
 *
 * One launch a panel of columns: the first with the caller's beta, the others with beta = 1. The
 * last one visits all rows, so that it can form w*y.
 *
 * sliced_sum then adds the segments of rows that were cut, sliced_dot the blocks' parts of w*y.
 */
#include "common.cuh"

#define LANES (HEIGHT * BH)      /* scalar rows a slice */
#define GV (GROUP * BW / VEC)    /* vectors a group and row */
#define ROWS (THREADS / PER_ROW) /* scalar rows a thread block */

typedef struct sliced_args {
    const long long *offsets;
    const int *lengths;
    const int *targets;
    const int *columns;
    const real *values;
    const real *x;
    real *y;
    real *slots; /* sums of segments */
    long long lines, rows, cols;
    double alpha, beta;
    const real *w;    /* DOT */
    double *dot_part; /* DOT: one number a thread block; NULL before the last panel */
} sliced_args;

/* The thread's scalar row among the block's. */
DEVICE unsigned lane_place(void)
{
    return PER_ROW > 1 ? threadIdx.x % ROWS : threadIdx.x;
}

#define load_vector PASTE(stream_load, VEC)
#define load_columns PASTE(stream_index, GROUP)

DEVICE real load_x(const real *x, long long column, int j, long long cols, policy keep)
{
    long long at = column * BW + j;
#if RAGGED
    if (at >= cols)
        return 0;
#endif
    return keep_load(x + at, keep);
}

#define load_x_vector PASTE(keep_load, XVEC)

/* x of one block, `vectors` when it lies at a multiple of XVEC scalars. */
DEVICE void load_x_block(const sliced_args *a, long long column, bool vectors, real *xs,
                         policy keep)
{
    if (XVEC > 1 && vectors) {
        UNROLL
        for (int j = 0; j < BW; j += XVEC)
            load_x_vector(a->x + column * BW + j, xs + j, keep);
        return;
    }
    UNROLL
    for (int j = 0; j < BW; j++)
        xs[j] = load_x(a->x, column, j, a->cols, keep);
}

/* The thread's part of one row. `values` and `columns` point at the row's first scalar and column;
 * inside the loops all offsets from them are compile-time constants. */
#if WIDE
/* This thread's columns of every block, WIDE loads at a time. */
DEVICE real row_sum(const sliced_args *a, const real *values, const int *columns, int length,
                    int part, bool vectors, policy p, policy keep)
{
    (void)vectors;
    const int share = (GV + PER_ROW - 1) / PER_ROW; /* vectors of a block each thread takes */
    const int first = part * share, end = first + share < GV ? first + share : GV;
    real sum = 0;
    int next = 0;
    if (length > 0)
        load_columns(columns, &next, p);
    NO_UNROLL
    for (int k = 0; k < length; k++) {
        const int column = next;
        columns += HEIGHT;
        if (k + 1 < length)
            load_columns(columns, &next, p);
        NO_UNROLL
        for (int j0 = first; j0 < end; j0 += WIDE) {
            const real *piece = values + (long long)j0 * (LANES * VEC);
            real v[WIDE][VEC], xs[WIDE][VEC];
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (j0 + j < end)
                    load_vector(piece + (long long)j * (LANES * VEC), v[j], p);
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (j0 + j < end)
                    UNROLL
                    for (int i = 0; i < VEC; i++)
                        xs[j][i] = load_x(a->x, column, (j0 + j) * VEC + i, a->cols, keep);
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (j0 + j < end)
                    UNROLL
                    for (int i = 0; i < VEC; i++)
                        sum += v[j][i] * xs[j][i];
        }
        values += (long long)GV * (LANES * VEC);
    }
    return sum;
}
#else
/* Every PER_ROW-th group of the row, DEPTH of them in flight. Columns are loaded one round ahead: x
 * needs them first. */
#define GROUP_VALUES ((long long)PER_ROW * GV * LANES * VEC) /* to the thread's next group */
#define GROUP_COLUMNS ((long long)PER_ROW * HEIGHT * GROUP)

DEVICE real row_sum(const sliced_args *a, const real *values, const int *columns, int length,
                    int part, bool vectors, policy p, policy keep)
{
    int left = (length + GROUP - 1) / GROUP - part; /* groups from the thread's next one on */
    int blocks = length - part * GROUP;             /* and blocks */
    real sum = 0;
    int next[DEPTH][GROUP];
    values += part * (GROUP_VALUES / PER_ROW);
    columns += part * (GROUP_COLUMNS / PER_ROW);
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (u * PER_ROW < left)
            load_columns(columns + u * GROUP_COLUMNS, next[u], p);
    NO_UNROLL
    for (; left > 0; left -= DEPTH * PER_ROW, blocks -= DEPTH * PER_ROW * GROUP) {
        int column[DEPTH][GROUP];
        real v[DEPTH][GV][VEC], xs[DEPTH][GROUP * BW];
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                column[u][i] = next[u][i];
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if (u * PER_ROW < left)
                UNROLL
                for (int j = 0; j < GV; j++)
                    load_vector(values + u * GROUP_VALUES + (long long)j * (LANES * VEC), v[u][j],
                                p);
        values += DEPTH * GROUP_VALUES;
        columns += DEPTH * GROUP_COLUMNS;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if ((DEPTH + u) * PER_ROW < left)
                load_columns(columns + u * GROUP_COLUMNS, next[u], p);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                if (u * PER_ROW * GROUP + i < blocks)
                    load_x_block(a, column[u][i], vectors, xs[u] + i * BW, keep);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                if (u * PER_ROW * GROUP + i < blocks)
                    UNROLL
                    for (int j = 0; j < BW; j++)
                        sum += v[u][(i * BW + j) / VEC][(i * BW + j) % VEC] * xs[u][i * BW + j];
    }
    return sum;
}
#endif

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
    real sum = 0, old = 0;
    long long first = 0;
    int length = 0, target = (int)line;
    if (line < a.lines) {
        first = READ_ONLY(a.offsets + slice);
        length = READ_ONLY(a.lengths + line);
#if TARGETS
        target = READ_ONLY(a.targets + line);
#endif
    }
    const long long row = (long long)target * BH + lane % BH;
    /* y is asked for before the sums, not after them: lines of a panel are short, and every wait
     * after another counts. */
    const bool mine = part == 0 && line < a.lines && target >= 0 && row < a.rows;
    if (mine && a.beta != 0)
        old = a.y[row];
    const real *values = a.values + (first * (GV * LANES) + lane) * VEC;
    const int *columns = a.columns + (first * HEIGHT + lane / BH) * GROUP;
    if (XVEC == 1 || (unsigned long long)a.x % (XVEC * REAL) == 0)
        sum = row_sum(&a, values, columns, length, (int)part, true, p, keep);
    else
        sum = row_sum(&a, values, columns, length, (int)part, false, p, keep);
#if PER_ROW > 1
    SHARED(real, parts, THREADS);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (part == 0)
        UNROLL
        for (int i = 1; i < PER_ROW; i++)
            sum += parts[threadIdx.x + i * ROWS];
#endif
#if DOT
    double product = 0;
#endif
    if (part == 0 && line < a.lines && target < 0)
        a.slots[(long long)~target * BH + lane % BH] = sum;
    const bool idle = length == 0 && a.beta == 1; /* y stays */
    if (mine && (!idle || (DOT && a.dot_part))) {
        const real result = combined(a.alpha, sum, a.beta, old);
        if (!idle)
            a.y[row] = result;
#if DOT
        if (a.dot_part)
            product = (double)result * (double)(a.w ? a.w[row] : result);
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
