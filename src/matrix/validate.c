/* Checks BSR arrays against the rules of matrix.h and names the first fault. */
#include "matrix/matrix.h"

static tess_status check_offsets(tess_ctx *ctx, const tess_matrix_view *A)
{
    if (A->row_offsets[0] != 0)
        return tess_fail(ctx, TESS_ERR_MATRIX, "row offset 0 is %" PRId64 ", but must be 0",
                         A->row_offsets[0]);
    for (int64_t i = 0; i < A->block_rows; i++)
        if (A->row_offsets[i + 1] < A->row_offsets[i])
            return tess_fail(ctx, TESS_ERR_MATRIX,
                             "row %" PRId64 ": its offsets decrease from %" PRId64 " to %" PRId64,
                             i, A->row_offsets[i], A->row_offsets[i + 1]);
    if (A->row_offsets[A->block_rows] != A->blocks)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "the last row offset is %" PRId64 ", but there are %" PRId64 " blocks",
                         A->row_offsets[A->block_rows], A->blocks);
    return TESS_OK;
}

/* The first position of a row whose column is invalid, or -1. */
static int64_t first_fault(const tess_matrix_view *A, int64_t row, bool sorted)
{
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        if (A->columns[k] < 0 || A->columns[k] >= A->block_cols)
            return k;
        if (sorted && k > A->row_offsets[row] && A->columns[k] <= A->columns[k - 1])
            return k;
    }
    return -1;
}

static tess_status report(tess_ctx *ctx, const tess_matrix_view *A, int64_t row, int64_t k)
{
    const char *unit = A->block_height * A->block_width == 1 ? "" : "block ";
    if (A->columns[k] < 0 || A->columns[k] >= A->block_cols)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "%srow %" PRId64 ", position %" PRId64 ": column %" PRId32
                         " is outside 0..%" PRId64,
                         unit, row, k, A->columns[k], A->block_cols - 1);
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "%srow %" PRId64 ", position %" PRId64 ": column %" PRId32 " follows %" PRId32
                     ", but columns must increase strictly",
                     unit, row, k, A->columns[k], A->columns[k - 1]);
}

struct arrays {
    const tess_matrix_view *A;
    bool sorted;
};

static int64_t find_bad_row(const void *from, tess_range range)
{
    const struct arrays *in = from;
    for (int64_t row = range.first; row < range.last; row++)
        if (first_fault(in->A, row, in->sorted) >= 0)
            return row;
    return INT64_MAX;
}

tess_status tess_matrix_validate(tess_ctx *ctx, const tess_matrix_view *A, bool sorted)
{
    TESS_TRY(check_offsets(ctx, A));
    const int64_t bad_row =
        tess_reduce(ctx, A->block_rows, TESS_LEAST, find_bad_row, &(struct arrays){A, sorted});
    if (bad_row < INT64_MAX)
        return report(ctx, A, bad_row, first_fault(A, bad_row, sorted));
    return TESS_OK;
}
