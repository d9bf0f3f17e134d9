/* What the papers' kernels on BSR share: arguments, x with its ragged end, sums over the columns of
 * a block row inside a warp, and where a result goes.
 *
 * A line is a block row of BSR, or with BALANCED a segment of at most lambda blocks of one (paper
 * 003 5.5, src/format/balanced.h). Plain lines write y. Segments write their BH sums to a scratch
 * array, the paper's y^, and balanced_sum adds those of every row.
 */
#ifndef TESS_ROWS_CUH
#define TESS_ROWS_CUH

#include "common.cuh"

#define PER_BLOCK (BH * BW)

typedef struct rows_args {
    const long long *offsets; /* lines + 1, in blocks */
    const int *columns;
    const scalar *values; /* column-major blocks */
    const scalar *x;
    scalar *y; /* BALANCED: y^, lines * BH scalars */
    long long lines, rows, cols;
    factor alpha, beta;
} rows_args;

/* Element j of a block's part of x; RAGGED: cols is not a multiple of BW. */
DEVICE scalar block_x(const rows_args *a, int column, int j)
{
    const long long at = (long long)column * BW + j;
#if RAGGED
    if (at >= a->cols)
        return ZERO;
#endif
    return read_scalar(a->x + at);
}

DEVICE scalar block_value(const scalar *from, policy p)
{
    scalar value;
    stream_scalar1(from, &value, p);
    return value;
}

DEVICE int block_column(const int *from, policy p)
{
    int column;
    stream_index1(from, &column, p);
    return column;
}

/* The result of scalar row i of a line. */
DEVICE void put(const rows_args *a, long long line, int i, scalar sum)
{
#if BALANCED
    a->y[line * BH + i] = sum;
#else
    const long long row = line * BH + i;
    if (row < a->rows)
        a->y[row] = scaled(a->alpha, sum, a->beta, a->y, row);
#endif
}

#ifdef WARP_COLUMNS
#define ACTIVE (WARP_COLUMNS * BH) /* lanes of a group that have elements */

/* Groups of LANES lanes hold WARP_COLUMNS columns of BH sums each; afterwards the first BH lanes
 * hold the sums over the columns. The tree of paper 002's algorithms, by shuffles: any number of
 * columns, a fixed order. */
DEVICE scalar add_columns(scalar sum, int lane)
{
    UNROLL
    for (int stride = 16; stride > 0; stride /= 2) {
        if (stride < WARP_COLUMNS) {
            const scalar other = shuffle_down(0xffffffffu, sum, stride * BH, LANES);
            if (lane + stride * BH < WARP_COLUMNS * BH)
                ADD_TO(sum, other);
        }
    }
    return sum;
}

/* What a lane adds over its elements of a line: the source's own. */
DEVICE scalar line_sum(const rows_args *a, long long line, int lane, policy p);

/* A group of lanes takes a line. */
DEVICE void take_line(const rows_args *a, long long line, int lane, policy p)
{
    scalar sum = ZERO;
    if (line < a->lines && lane < ACTIVE)
        sum = line_sum(a, line, lane, p);
    sum = add_columns(sum, lane);
    if (line < a->lines && lane < BH)
        put(a, line, lane, sum);
}
#endif

#if BALANCED
#include "balanced.cuh"
#endif

#endif
