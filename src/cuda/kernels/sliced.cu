/* y = alpha A x + beta y on the sliced format (src/format/sliced.h): one thread a scalar row or
 * (WHOLE) a block row, or PER_ROW threads when there are few rows. Lane t of a slice reads its
 * values at stride 1 over the slice, so every load of a warp is one contiguous piece, with no
 * shuffle and no shared memory.
 *
 *   BH, BW    block height and width       HEIGHT   C, lines (block rows) a slice
 *   VEC       scalars a load               GROUP    blocks a group: full vectors
 *   DEPTH     groups in flight             THREADS  threads a block
 *   PER_ROW   threads a row: they share the groups of a row (narrow blocks) or the columns of
 *             every block (WIDE); their sums are added in a fixed order through shared memory
 *   WIDE      0: a group's loads are all in flight; n > 0: n loads in flight at a time, GROUP = 1
 *   WHOLE     a thread takes all BH rows of its blocks: x is fetched once a block instead of once a
 *             scalar row, which is what counts where columns are random
 *   XVEC      scalars of x a load, where x lies at a multiple of them
 *   SHARE     with WHOLE, BW = 3, f64: two lanes load x for each other
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

#if WHOLE
#define EACH BH /* scalar rows a lane */
#else
#define EACH 1
#endif
#define LINE_LANES (BH / EACH)             /* lanes a line */
#define LANES (HEIGHT * LINE_LANES)        /* lanes a slice */
#define GV (GROUP * EACH * BW / VEC)       /* vectors a group and lane */
#define BLOCK_LANES (THREADS / PER_ROW)    /* lanes a thread block */

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
    long long spread; /* n > 0: thread blocks n apart work side by side; the grid is a multiple */
} sliced_args;

/* The thread's lane among the block's. */
DEVICE unsigned lane_place(void)
{
    return PER_ROW > 1 ? threadIdx.x % BLOCK_LANES : threadIdx.x;
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

#if SHARE
/* x of a block of three is 24 bytes in up to two sectors of 32, and every load that needs another
 * sector is another request to L2, which limits where columns are random. So two lanes load for each
 * other: the even one the lower 16 bytes of both blocks, the odd one the upper 16, of the 32 bytes
 * that begin at a multiple of 16 and hold the block. */
DEVICE void load_half(const sliced_args *a, int column, real *half, policy keep)
{
    const long long at = ((long long)column * 3 & ~1ll) + 2 * (threadIdx.x % 2);
    half[0] = 0;
    half[1] = 0;
    if (column >= 0 && at + 1 < a->cols)
        keep_load2(a->x + at, half, keep);
    else if (column >= 0 && at < a->cols)
        half[0] = keep_load(a->x + at, keep);
}

/* The lane's halves of the even and the odd lane's block. All lanes of the warp call this, `here`
 * when the lane has a block. */
DEVICE void load_halves(const sliced_args *a, int column, bool here, real halves[2][2], policy keep)
{
    int mine = here ? column : -1;
    const int other = __shfl_xor_sync(0xffffffffu, mine, 1, 32);
    load_half(a, threadIdx.x % 2 ? other : mine, halves[0], keep);
    load_half(a, threadIdx.x % 2 ? mine : other, halves[1], keep);
}

/* Every lane gets its own block's other half. */
DEVICE void exchange(int column, real halves[2][2], real *xs)
{
    const bool odd = threadIdx.x % 2, shifted = (unsigned)column % 2;
    real own[2], got[2];
    UNROLL
    for (int i = 0; i < 2; i++) {
        own[i] = odd ? halves[1][i] : halves[0][i];
        got[i] = __shfl_xor_sync(0xffffffffu, odd ? halves[0][i] : halves[1][i], 1, 32);
    }
    const real low0 = odd ? got[0] : own[0], low1 = odd ? got[1] : own[1];
    const real high0 = odd ? own[0] : got[0], high1 = odd ? own[1] : got[1];
    xs[0] = shifted ? low1 : low0;
    xs[1] = shifted ? high0 : low1;
    xs[2] = shifted ? high1 : high0;
}

DEVICE int warp_most(int count)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, count, by, 32);
        count = other > count ? other : count;
    }
    return count;
}
#endif

/* Adds the thread's part of one line to its sums. `values` and `columns` point at the line's first
 * scalar and column; inside the loops all offsets from them are compile-time constants. */
#if WIDE
/* This thread's columns of every block, WIDE loads at a time. */
DEVICE void add_line(const sliced_args *a, const real *values, const int *columns, int length,
                     int part, bool vectors, real *sums, policy p, policy keep)
{
    (void)vectors;
    const int share = (GV + PER_ROW - 1) / PER_ROW; /* vectors of a block each thread takes */
    const int first = part * share, end = first + share < GV ? first + share : GV;
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
                        sums[0] += v[j][i] * xs[j][i];
        }
        values += (long long)GV * (LANES * VEC);
    }
}
#else
/* Every PER_ROW-th group of the row, DEPTH of them in flight. Columns are loaded one round ahead: x
 * needs them first. */
#define GROUP_VALUES ((long long)PER_ROW * GV * LANES * VEC) /* to the thread's next group */
#define GROUP_COLUMNS ((long long)PER_ROW * HEIGHT * GROUP)

DEVICE void add_line(const sliced_args *a, const real *values, const int *columns, int length,
                     int part, bool vectors, real *sums, policy p, policy keep)
{
    int left = (length + GROUP - 1) / GROUP - part; /* groups from the thread's next one on */
    int blocks = length - part * GROUP;             /* and blocks */
    int next[DEPTH][GROUP];
    values += part * (GROUP_VALUES / PER_ROW);
    columns += part * (GROUP_COLUMNS / PER_ROW);
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (u * PER_ROW < left)
            load_columns(columns + u * GROUP_COLUMNS, next[u], p);
    int rounds = left > 0 ? left : 0; /* the thread's own, or the longest of the warp */
#if SHARE
    rounds = warp_most(rounds);
#endif
    NO_UNROLL
    for (; rounds > 0; rounds -= DEPTH * PER_ROW, left -= DEPTH * PER_ROW, blocks -= DEPTH * PER_ROW * GROUP) {
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
#if SHARE
        if (vectors) {
            real halves[DEPTH][GROUP][2][2];
            UNROLL
            for (int u = 0; u < DEPTH; u++)
                UNROLL
                for (int i = 0; i < GROUP; i++)
                    load_halves(a, column[u][i], u * PER_ROW * GROUP + i < blocks, halves[u][i],
                                keep);
            UNROLL
            for (int u = 0; u < DEPTH; u++)
                UNROLL
                for (int i = 0; i < GROUP; i++)
                    exchange(column[u][i], halves[u][i], xs[u] + i * BW);
        } else
#endif
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
                    for (int e = 0; e < EACH * BW; e++) {
                        const int at = i * EACH * BW + e; /* by columns of the block */
                        sums[e % EACH] += v[u][at / VEC][at % VEC] * xs[u][i * BW + e / EACH];
                    }
    }
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

/* Puts one scalar row where it belongs and returns its part of the dot product. `old` is y there
 * unless beta is 0. */
DEVICE double put(const sliced_args *a, int target, int i, int length, real sum, real old)
{
    if (target < 0) {
        a->slots[(long long)~target * BH + i] = sum;
        return 0;
    }
    const long long row = (long long)target * BH + i;
    const bool idle = length == 0 && a->beta == 1; /* y stays */
    if (row >= a->rows || (idle && !(DOT && a->dot_part)))
        return 0;
    real result = (real)a->alpha * sum;
    if (a->beta != 0)
        result += (real)a->beta * old;
    if (!idle)
        a->y[row] = result;
#if DOT
    if (a->dot_part)
        return (double)result * (double)(a->w ? a->w[row] : result);
#endif
    return 0;
}

/* The thread block's place in the matrix. Blocks of consecutive numbers start on different SMs, those
 * as many apart as there are SMs on the same: with `spread` it is they that are neighbours, and find
 * each other's x in L1. */
DEVICE unsigned block_place(const sliced_args *a)
{
    const unsigned spread = (unsigned)a->spread;
    if (spread == 0)
        return blockIdx.x;
    return blockIdx.x % spread * (gridDim.x / spread) + blockIdx.x / spread;
}

KERNEL(sliced, sliced_args, THREADS, 1)
{
    const unsigned part = PER_ROW > 1 ? threadIdx.x / BLOCK_LANES : 0;
    const unsigned place = block_place(&a) * BLOCK_LANES + lane_place();
    const unsigned slice = place / LANES, lane = place % LANES;
    const unsigned line = slice * HEIGHT + lane / LINE_LANES;
    const int row_in_line = (int)(lane % LINE_LANES);
    const policy p = stream_policy(), keep = keep_policy();
    real sums[EACH], old[EACH];
    long long first = 0;
    int length = 0, target = 0;
    if (line < a.lines) {
        first = READ_ONLY(a.offsets + slice);
        length = READ_ONLY(a.lengths + line);
#if TARGETS
        target = READ_ONLY(a.targets + line);
#else
        target = (int)line;
#endif
    }
    UNROLL
    for (int i = 0; i < EACH; i++) {
        const long long row = (long long)target * BH + row_in_line + i;
        sums[i] = 0;
        old[i] = a.beta != 0 && part == 0 && line < a.lines && target >= 0 && row < a.rows ? a.y[row] : 0;
    }
    const real *values = a.values + (first * (GV * LANES) + lane) * VEC;
    const int *columns = a.columns + (first * HEIGHT + lane / LINE_LANES) * GROUP;
    if ((XVEC == 1 && !SHARE) || (unsigned long long)a.x % (SHARE ? 16 : XVEC * REAL) == 0)
        add_line(&a, values, columns, length, (int)part, true, sums, p, keep);
    else
        add_line(&a, values, columns, length, (int)part, false, sums, p, keep);
#if PER_ROW > 1
    SHARED(real, parts, THREADS * EACH);
    UNROLL
    for (int i = 0; i < EACH; i++)
        parts[threadIdx.x + i * THREADS] = sums[i];
    __syncthreads();
    if (part == 0)
        UNROLL
        for (int i = 0; i < EACH; i++)
            UNROLL
            for (int q = 1; q < PER_ROW; q++)
                sums[i] += parts[threadIdx.x + q * BLOCK_LANES + i * THREADS];
#endif
    double product = 0;
    if (part == 0 && line < a.lines)
        UNROLL
        for (int i = 0; i < EACH; i++)
            product += put(&a, target, row_in_line + i, length, sums[i], old[i]);
#if DOT
    SHARED(double, scratch, THREADS);
    if (a.dot_part) {
        product = block_sum(product, scratch, THREADS);
        if (threadIdx.x == 0)
            a.dot_part[blockIdx.x] = product;
    }
#else
    (void)product;
#endif
}

#include "sliced_sum.cuh"
