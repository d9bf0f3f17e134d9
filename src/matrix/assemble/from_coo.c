/* A CSR matrix from coordinates: entries sorted by row (matrix/scatter.c), then rows by column. */
#include "matrix/matrix.h"

typedef struct indices {
    int64_t rows, cols;
    const int64_t *row_index, *col_index;
} indices;

static int64_t find_bad_entry(const void *from, tess_range range)
{
    const indices *in = from;
    for (int64_t k = range.first; k < range.last; k++)
        if ((uint64_t)in->row_index[k] >= (uint64_t)in->rows ||
            (uint64_t)in->col_index[k] >= (uint64_t)in->cols)
            return k;
    return INT64_MAX;
}

static tess_status check_indices(tess_ctx *ctx, int64_t rows, int64_t cols, int64_t entries,
                                 const int64_t *row_index, const int64_t *col_index)
{
    const int64_t bad = tess_reduce(ctx, entries, TESS_LEAST, find_bad_entry,
                                    &(indices){rows, cols, row_index, col_index});
    if (bad == INT64_MAX)
        return TESS_OK;
    bool row_bad = (uint64_t)row_index[bad] >= (uint64_t)rows;
    int64_t size = row_bad ? rows : cols, index = row_bad ? row_index[bad] : col_index[bad];
    const char *what = row_bad ? "row" : "column";
    if (size == 0)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "entry %" PRId64 ": %s %" PRId64 ", but the matrix has no %ss", bad, what,
                         index, what);
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "entry %" PRId64 ": %s %" PRId64 " is outside 0..%" PRId64, bad, what, index,
                     size - 1);
}

tess_status tess_matrix_from_coo(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 int64_t entries, const int64_t *row_index,
                                 const int64_t *col_index, const void *values, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && out && (entries <= 0 || (row_index && col_index && values)));
    TESS_TRY(tess_matrix_check_sizes(ctx, type, rows, cols, 1, 1, entries));
    TESS_TRY(check_indices(ctx, rows, cols, entries, row_index, col_index));
    int64_t *row_offsets = NULL, *entry = NULL;
    int32_t *columns = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, rows + 1, &row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &columns));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &entry));
    const tess_coo_piece piece = {entries, row_index, col_index};
    tess_scatter_rows(ctx, rows, &piece, 1, row_offsets, columns, entry);
    const tess_row_source source = {row_offsets, columns, entry, values, TESS_ORDER_COLUMN_MAJOR};
    TESS_TRY_CLEAN(tess_matrix_from_rows(ctx, type, rows, cols, 1, 1, &source, out));
cleanup:
    TESS_FREE(ctx, row_offsets, columns, entry);
    return status;
}
