/* Padding: the part of the last block row and the last block column that lies outside rows x cols.
 * It is always zero, so that kernels may multiply whole blocks. */
#include "matrix/matrix.h"

/* The numbers of scalar rows and columns of block (row, column) that lie inside the matrix. */
static void inside(const tess_matrix *A, int64_t row, int64_t column, int64_t *height,
                   int64_t *width)
{
    int64_t left = A->rows - row * A->block_height, right = A->cols - column * A->block_width;
    *height = tess_min(left, A->block_height);
    *width = tess_min(right, A->block_width);
}

void tess_matrix_zero_padding(tess_matrix *A, int64_t row)
{
    int64_t r = A->block_height, c = A->block_width, height, width;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        inside(A, row, A->columns[k], &height, &width);
        if (height == r && width == c)
            continue;
        for (int64_t at = 0; at < r * c; at++) {
            if (at % r < height && at / r < width)
                continue;
            tess_put_complex(A->values, A->type, k * r * c + at, (tess_complex){0, 0});
        }
    }
}

/* The index in block k of its first value that lies in the padding and is not zero, or -1. */
static int64_t nonzero_padding(const tess_matrix *A, int64_t row, int64_t k)
{
    int64_t r = A->block_height, c = A->block_width, height, width;
    inside(A, row, A->columns[k], &height, &width);
    if (height == r && width == c)
        return -1;
    for (int64_t at = 0; at < r * c; at++)
        if ((at % r >= height || at / r >= width) && !tess_matrix_is_zero(A, k * r * c + at))
            return at;
    return -1;
}

/* The first block row whose padding is not zero; INT64_MAX where there is none. */
static int64_t find_bad_row(const void *matrix, tess_range range)
{
    const tess_matrix *A = matrix;
    for (int64_t row = range.first; row < range.last; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            if (nonzero_padding(A, row, k) >= 0)
                return row;
    return INT64_MAX;
}

tess_status tess_matrix_check_padding(const tess_matrix *A)
{
    const int64_t r = A->block_height, c = A->block_width;
    if (A->rows % r == 0 && A->cols % c == 0)
        return TESS_OK;
    const int64_t bad = tess_reduce(A->ctx, A->block_rows, TESS_LEAST, find_bad_row, A);
    if (bad == INT64_MAX)
        return TESS_OK;
    int64_t k = A->row_offsets[bad], at;
    while ((at = nonzero_padding(A, bad, k)) < 0)
        k++;
    const tess_complex value = tess_matrix_complex_value(A, k * r * c + at);
    return tess_fail(A->ctx, TESS_ERR_MATRIX,
                     "block row %" PRId64 ", position %" PRId64 ": value %g at (%" PRId64
                     ", %" PRId64 ") of the block lies outside the %" PRId64 " x %" PRId64
                     " matrix and must be 0",
                     bad, k, value.re != 0 ? value.re : value.im, at % r, at / r, A->rows, A->cols);
}
