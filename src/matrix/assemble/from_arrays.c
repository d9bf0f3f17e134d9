/* A matrix from the caller's CSR or BSR arrays: checked, then copied, borrowed or adopted. Copying
 * also sorts the columns, sums repeated ones and zeroes the padding (matrix/from_rows.c). */
#include "matrix/matrix.h"

static tess_status copy_arrays(tess_ctx *ctx, const tess_matrix_view *in, tess_block_order order,
                               tess_matrix **out)
{
    TESS_TRY(tess_matrix_validate(ctx, in, false));
    const tess_row_source source = {
        .row_offsets = in->row_offsets,
        .columns = in->columns,
        .values = in->values,
        .order = order,
    };
    return tess_matrix_from_rows(ctx, in->type, in->rows, in->cols, in->block_height,
                                 in->block_width, &source, out);
}

/* Makes a matrix of the caller's arrays. They are used in place, so they must obey the rules of
 * matrix.h already. */
static tess_status wrap_arrays(tess_ctx *ctx, const tess_matrix_view *in, tess_block_order order,
                               tess_ownership ownership, tess_matrix **out)
{
    if (order != TESS_ORDER_COLUMN_MAJOR && in->block_height > 1 && in->block_width > 1)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "row-major blocks must be copied: pass TESS_OWNERSHIP_COPY");
    TESS_TRY(tess_matrix_validate(ctx, in, true));
    tess_matrix *A;
    TESS_TRY(tess_matrix_head(ctx, in->type, in->rows, in->cols, in->block_height, in->block_width,
                              in->blocks, &A));
    A->row_offsets = (int64_t *)(uintptr_t)in->row_offsets;
    A->columns = (int32_t *)(uintptr_t)in->columns;
    A->values = (void *)(uintptr_t)in->values;
    A->ownership = TESS_OWNERSHIP_BORROW; /* until nothing can fail: a failure must not free the
                                           * caller's arrays */
    tess_status status = tess_matrix_check_padding(A);
    if (status != TESS_OK) {
        tess_matrix_destroy(A);
        return status;
    }
    A->ownership = ownership;
    *out = A;
    return TESS_OK;
}

/* Fails unless the count is 0 (not given) or the one that follows from the sizes. */
static tess_status check_count(tess_ctx *ctx, const char *name, int64_t given, int64_t right)
{
    if (given == 0 || given == right)
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_ARGUMENT,
                     "%s = %lld, but by the matrix's size it is %lld: pass that, or 0", name,
                     (long long)given, (long long)right);
}

static tess_status check_enums(tess_ctx *ctx, tess_block_order order, tess_ownership ownership)
{
    TESS_TRY(tess_check_order(ctx, order));
    if (ownership != TESS_OWNERSHIP_COPY && ownership != TESS_OWNERSHIP_BORROW &&
        ownership != TESS_OWNERSHIP_ADOPT)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "ownership %d is none of TESS_OWNERSHIP_COPY, TESS_OWNERSHIP_BORROW, "
                         "TESS_OWNERSHIP_ADOPT",
                         (int)ownership);
    return TESS_OK;
}

tess_status tess_matrix_from_bsr(tess_ctx *ctx, const tess_matrix_view *arrays,
                                 tess_block_order order, tess_ownership ownership,
                                 tess_matrix **out)
{
    TESS_NEED(ctx, ctx && arrays && out);
    TESS_TRY(check_enums(ctx, order, ownership));
    TESS_TRY(tess_matrix_check_sizes(ctx, arrays->type, arrays->rows, arrays->cols,
                                     arrays->block_height, arrays->block_width, arrays->blocks));
    if (!arrays->row_offsets)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "row_offsets is NULL");
    tess_matrix_view in = *arrays;
    in.block_rows = tess_ceil_div(in.rows, in.block_height);
    in.block_cols = tess_ceil_div(in.cols, in.block_width);
    TESS_TRY(check_count(ctx, "block_rows", arrays->block_rows, in.block_rows));
    TESS_TRY(check_count(ctx, "block_cols", arrays->block_cols, in.block_cols));
    if (in.blocks == 0)
        in.blocks = in.row_offsets[in.block_rows];
    if (in.blocks > 0 && (!in.columns || !in.values))
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s is NULL", in.columns ? "values" : "columns");
    return ownership == TESS_OWNERSHIP_COPY ? copy_arrays(ctx, &in, order, out)
                                            : wrap_arrays(ctx, &in, order, ownership, out);
}

static tess_matrix_view view_of(tess_type type, int64_t rows, int64_t cols, int32_t block_height,
                                int32_t block_width, const int64_t *row_offsets,
                                const int32_t *columns, const void *values)
{
    return (tess_matrix_view){.type = type,
                              .rows = rows,
                              .cols = cols,
                              .block_height = block_height,
                              .block_width = block_width,
                              .row_offsets = row_offsets,
                              .columns = columns,
                              .values = values};
}

tess_status tess_matrix_from_csr(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 const int64_t *row_offsets, const int32_t *columns,
                                 const void *values, tess_ownership ownership, tess_matrix **out)
{
    const tess_matrix_view arrays = view_of(type, rows, cols, 1, 1, row_offsets, columns, values);
    return tess_matrix_from_bsr(ctx, &arrays, TESS_ORDER_COLUMN_MAJOR, ownership, out);
}

tess_status tess_matrix_from_bsr_i32(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                     int32_t block_height, int32_t block_width,
                                     const int32_t *row_offsets, const int32_t *columns,
                                     const void *values, tess_block_order order, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && out && row_offsets);
    TESS_TRY(tess_matrix_check_sizes(ctx, type, rows, cols, block_height, block_width, 0));
    const int64_t block_rows = tess_ceil_div(rows, block_height);
    int64_t *wide;
    TESS_TRY(TESS_ALLOC(ctx, block_rows + 1, &wide));
    for (int64_t i = 0; i <= block_rows; i++)
        wide[i] = row_offsets[i];
    const tess_matrix_view arrays =
        view_of(type, rows, cols, block_height, block_width, wide, columns, values);
    tess_status status = tess_matrix_from_bsr(ctx, &arrays, order, TESS_OWNERSHIP_COPY, out);
    tess_free(ctx, wide);
    return status;
}

tess_status tess_matrix_from_csr_i32(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                     const int32_t *row_offsets, const int32_t *columns,
                                     const void *values, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && out && row_offsets);
    return tess_matrix_from_bsr_i32(ctx, type, rows, cols, 1, 1, row_offsets, columns, values,
                                    TESS_ORDER_COLUMN_MAJOR, out);
}
