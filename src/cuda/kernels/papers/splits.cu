/* y = alpha A x + beta y on FBCSR as paper 001 has it: one kernel per shape, on the blocks that
 * SplitOnce found, and one for the CSR remainder. splits.h has the picture of the arrays.
 *
 * Every launch adds the blocks of one split to y. A row of y is the work of one lane, of LANES
 * lanes or of PARTS warps, which add what they have in a fixed order. So there are no atomics,
 * although blocks begin anywhere, and two runs give the same bits.
 *
 *   rows        1 x w: LANES lanes per row of y, each with every LANES-th cell of the row's blocks.
 *   diagonals   w = 1, columns and anti-diagonals too: one lane per row of y. From TALL rows on the
 *               lanes of a warp go through the blocks together, and a block's cells are read side
 *               by side; shorter blocks are found by each lane for itself.
 *   squares     TALL rows, WIDE columns or more, no shift: the same, and the part of x is read by
 *               the lanes once and handed on by shuffles.
 *   blocks      all others, r x c and parallelograms: one lane per row of y, COLUMNS cells in
 *               flight.
 *   remainder   REST lanes per row.
 *   long rows   of more than LONG cells of a split of rows, or of the remainder: one warp per
 *               segment, then one thread block per row.
 *
 *   SHAPE0 .. SHAPE15  height,width,shift of the list's shapes   THREADS  threads per thread block
 *   PARTS  warps that share 32 rows of y     LANES, REST  lanes per row
 */
#include "common.cuh"

#define ALL 0xffffffffu
#define TALL 16 /* TESS_SPLITS_TALL */
#define WIDE 16
#define LONG 1024 /* TESS_SPLITS_LONG */
#define DEPTH 4   /* cells of diagonals, rows and the remainder in flight */
#define COLUMNS 8 /* of a block in flight */

typedef struct splits_args {
    const int *starts; /* height < TALL: rows + 1; others: two per chunk of 32 rows */
    const int *rows;   /* of the blocks */
    const int *cols;
    const real *values;
    const real *x;
    real *y;
    long long count; /* of the rows of y */
    double alpha, beta;
} splits_args;

/* Adds to y. Rows without blocks stay as they are where beta is 1. */
DEVICE void add_to_y(const splits_args *a, long long row, real sum, bool any)
{
    if (any || a->beta != 1)
        a->y[row] = scaled(a->alpha, sum, a->beta, a->y, row);
}

/* ---- Blocks of several rows: one lane per row of y ---- */

/* The row's sum over blocks of one column: first, first + PARTS, ... */
DEVICE real line_sum(const splits_args *a, int first, int end, int row, const int height,
                     const int shift, policy p)
{
    real sum = 0;
    NO_UNROLL
    for (int b = first; b < end; b += DEPTH * PARTS) {
        real v[DEPTH], xs[DEPTH];
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            const int block = b + u * PARTS;
            v[u] = xs[u] = 0;
            if (block < end) {
                const int i = row - READ_ONLY(a->rows + block);
                if (i >= 0 && i < height) {
                    stream_load1(a->values + (long long)block * height + i, &v[u], p);
                    xs[u] = READ_ONLY(a->x + READ_ONLY(a->cols + block) + shift * i);
                }
            }
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    return sum;
}

/* The same over blocks of any shape. */
DEVICE real shape_sum(const splits_args *a, int first, int end, int row, const int height,
                      const int width, const int shift, policy p)
{
    real sum = 0;
    NO_UNROLL
    for (int b = first; b < end; b += PARTS) {
        const int i = row - READ_ONLY(a->rows + b);
        if (i < 0 || i >= height)
            continue;
        const real *values = a->values + (long long)b * (height * width) + i;
        const real *x = a->x + READ_ONLY(a->cols + b) + shift * i;
        NO_UNROLL
        for (int k = 0; k < width; k += COLUMNS) {
            real v[COLUMNS], xs[COLUMNS];
            UNROLL
            for (int u = 0; u < COLUMNS; u++) {
                v[u] = xs[u] = 0;
                if (k + u < width) {
                    stream_load1(values + (k + u) * height, &v[u], p);
                    xs[u] = READ_ONLY(x + k + u);
                }
            }
            UNROLL
            for (int u = 0; u < COLUMNS; u++)
                sum += v[u] * xs[u];
        }
    }
    return sum;
}

/* The same over large rectangles, 32 columns at a time. All lanes of a warp have the same
 * blocks. */
DEVICE real square_sum(const splits_args *a, int first, int end, int row, int lane,
                       const int height, const int width, policy p)
{
    real sum = 0;
    NO_UNROLL
    for (int b = first; b < end; b += PARTS) {
        const int i = row - READ_ONLY(a->rows + b), col = READ_ONLY(a->cols + b);
        const bool inside = i >= 0 && i < height;
        const real *values = a->values + (long long)b * (height * width) + i;
        NO_UNROLL
        for (int k = 0; k < width; k += 32) {
            real mine = k + lane < width ? READ_ONLY(a->x + col + k + lane) : 0;
            UNROLL
            for (int from = 0; from < 32; from += COLUMNS) {
                real v[COLUMNS];
                UNROLL
                for (int u = 0; u < COLUMNS; u++)
                    if (inside && k + from + u < width)
                        stream_load1(values + (k + from + u) * height, &v[u], p);
                UNROLL
                for (int u = 0; u < COLUMNS; u++) {
                    const real theirs = __shfl_sync(ALL, mine, from + u, 32);
                    if (inside && k + from + u < width)
                        sum += v[u] * theirs;
                }
            }
        }
    }
    return sum;
}

/* 32 rows of y, a chunk, are the work of PARTS warps, of which each has every PARTS-th block. */
DEVICE void add_blocks(const splits_args *a, const int height, const int width, const int shift)
{
    SHARED(real, parts, THREADS);
    const int lane = (int)threadIdx.x % 32, part = (int)threadIdx.x / 32 % PARTS;
    const long long chunk = ((long long)blockIdx.x * THREADS + threadIdx.x) / (32 * PARTS);
    const long long row = chunk * 32 + lane;
    const policy p = stream_policy();
    int first = 0, end = 0;
    real sum;
    if (height >= TALL && chunk * 32 < a->count) {
        first = READ_ONLY(a->starts + 2 * chunk);
        end = READ_ONLY(a->starts + 2 * chunk + 1);
    } else if (height < TALL && row < a->count) {
        first = READ_ONLY(a->starts + (row < height ? 0 : row - height + 1));
        end = READ_ONLY(a->starts + row + 1);
    }
    if (width == 1)
        sum = line_sum(a, first + part, end, (int)row, height, shift, p);
    else if (height >= TALL && width >= WIDE && shift == 0)
        sum = square_sum(a, first + part, end, (int)row, lane, height, width, p);
    else
        sum = shape_sum(a, first + part, end, (int)row, height, width, shift, p);
    if (PARTS > 1) {
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (part > 0)
            return;
        UNROLL
        for (int other = 1; other < PARTS; other++)
            sum += parts[threadIdx.x + 32 * other];
    }
    if (row < a->count)
        add_to_y(a, row, sum, end > first);
}

/* ---- Blocks of one row, and the remainder ---- */

/* The sum of all `lanes` lanes of a row. */
DEVICE real lane_sum(real sum, const int lanes)
{
    UNROLL
    for (int by = lanes / 2; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL, sum, by, 32);
    return sum;
}

/* A lane's sum over every `lanes`-th of the cells. */
DEVICE real cell_sum(const real *values, const int *cols, const real *x, unsigned cells,
                     const unsigned width, int lane, const int lanes, policy p)
{
    real sum = 0;
    NO_UNROLL
    for (unsigned at = (unsigned)lane; at < cells; at += DEPTH * lanes) {
        real v[DEPTH], xs[DEPTH];
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            const unsigned cell = at + (unsigned)(u * lanes);
            v[u] = xs[u] = 0;
            if (cell < cells) {
                stream_load1(values + cell, &v[u], p);
                xs[u] = READ_ONLY(x + READ_ONLY(cols + cell / width) + cell % width);
            }
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    return sum;
}

/* Adds blocks of one row to y, `lanes` lanes per row. A row's blocks, of `width` cells, follow each
 * other; 1: entries of the remainder. */
DEVICE void add_rows(const splits_args *a, const int width, const int lanes)
{
    const int lane = (int)threadIdx.x % lanes;
    const long long row = ((long long)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const policy p = stream_policy();
    int first = 0, end = 0;
    if (row < a->count) {
        first = READ_ONLY(a->starts + row);
        end = READ_ONLY(a->starts + row + 1);
    }
    const unsigned all = (unsigned)(end - first) * width, cells = all > LONG ? 0 : all;
    const real sum = lane_sum(cell_sum(a->values + (long long)first * width, a->cols + first, a->x,
                                       cells, width, lane, lanes, p),
                              lanes);
    if (lane == 0 && row < a->count)
        add_to_y(a, row, sum, cells > 0);
}

KERNEL(split_rest, splits_args, THREADS, 1)
{
    add_rows(&a, 1, REST);
}

/* ---- Long rows ---- */

typedef struct segment_args {
    const int *segments; /* first block, blocks, cells of a block */
    const long long *first_values;
    const int *cols;
    const real *values;
    const real *x;
    real *sums; /* one per segment */
    long long count;
} segment_args;

KERNEL(split_segments, segment_args, THREADS, 1)
{
    const int lane = (int)threadIdx.x % 32;
    const long long s = ((long long)blockIdx.x * THREADS + threadIdx.x) / 32;
    const policy p = stream_policy();
    const bool mine = s < a.count;
    const unsigned width = mine ? (unsigned)READ_ONLY(a.segments + 3 * s + 2) : 1;
    const unsigned cells = mine ? (unsigned)READ_ONLY(a.segments + 3 * s + 1) * width : 0;
    const int *cols = a.cols + (mine ? READ_ONLY(a.segments + 3 * s) : 0);
    const real *values = a.values + (mine ? READ_ONLY(a.first_values + s) : 0);
    const real sum = lane_sum(cell_sum(values, cols, a.x, cells, width, lane, 32, p), 32);
    if (mine && lane == 0)
        a.sums[s] = sum;
}

typedef struct long_args {
    const int *rows;
    const int *segments; /* where those of a row begin */
    const real *sums;
    real *y;
    double alpha;
} long_args;

/* Thread t adds every THREADS-th sum, then halves are added as in block_sum.cuh, but in `real`. */
KERNEL(split_long, long_args, THREADS, 1)
{
    SHARED(real, parts, THREADS);
    const int first = READ_ONLY(a.segments + blockIdx.x);
    const int end = READ_ONLY(a.segments + blockIdx.x + 1);
    real sum = 0;
    for (int s = first + (int)threadIdx.x; s < end; s += THREADS)
        sum += a.sums[s];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const int row = READ_ONLY(a.rows + blockIdx.x);
    if (threadIdx.x == 0)
        a.y[row] = scaled(a.alpha, parts[0], 1, a.y, row);
}

/* ---- One entry point per shape ---- */

DEVICE void add_split(const splits_args *a, const int height, const int width, const int shift)
{
    if (height == 1)
        add_rows(a, width, LANES);
    else
        add_blocks(a, height, width, shift);
}

#define ENTRY(number, shape)                         \
    KERNEL(split_##number, splits_args, THREADS, 1) \
    {                                                \
        add_split(&a, shape);                        \
    }
#ifdef SHAPE0
ENTRY(0, SHAPE0)
#endif
#ifdef SHAPE1
ENTRY(1, SHAPE1)
#endif
#ifdef SHAPE2
ENTRY(2, SHAPE2)
#endif
#ifdef SHAPE3
ENTRY(3, SHAPE3)
#endif
#ifdef SHAPE4
ENTRY(4, SHAPE4)
#endif
#ifdef SHAPE5
ENTRY(5, SHAPE5)
#endif
#ifdef SHAPE6
ENTRY(6, SHAPE6)
#endif
#ifdef SHAPE7
ENTRY(7, SHAPE7)
#endif
#ifdef SHAPE8
ENTRY(8, SHAPE8)
#endif
#ifdef SHAPE9
ENTRY(9, SHAPE9)
#endif
#ifdef SHAPE10
ENTRY(10, SHAPE10)
#endif
#ifdef SHAPE11
ENTRY(11, SHAPE11)
#endif
#ifdef SHAPE12
ENTRY(12, SHAPE12)
#endif
#ifdef SHAPE13
ENTRY(13, SHAPE13)
#endif
#ifdef SHAPE14
ENTRY(14, SHAPE14)
#endif
#ifdef SHAPE15
ENTRY(15, SHAPE15)
#endif
