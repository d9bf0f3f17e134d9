/* Creates and destroys matrices, with checked sizes; views; the bytes that an SpMV moves. */
#include "matrix/matrix.h"

tess_status tess_matrix_check_sizes(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                    int32_t block_height, int32_t block_width, int64_t blocks)
{
    TESS_TRY(tess_check_type(ctx, type));
    if (rows < 0 || cols < 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "a matrix of %lld x %lld has a negative dimension",
                         (long long)rows, (long long)cols);
    if (block_height < 1 || block_width < 1 || block_height > TESS_BLOCK_MAX ||
        block_width > TESS_BLOCK_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "blocks of %d x %d are outside 1..%d",
                         (int)block_height, (int)block_width, TESS_BLOCK_MAX);
    if (tess_ceil_div(cols, block_width) > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "%lld columns in blocks %d wide are more than 2^31-1 block columns",
                         (long long)cols, (int)block_width);
    int64_t stored;
    if (blocks < 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "a matrix with %lld %s", (long long)blocks,
                         block_height * block_width == 1 ? "entries" : "blocks");
    if (rows > INT64_MAX / 16 || !tess_mul(blocks, (int64_t)block_height * block_width, &stored) ||
        stored > INT64_MAX / 16)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "%lld rows and %lld blocks of %d x %d overflow",
                         (long long)rows, (long long)blocks, (int)block_height, (int)block_width);
    return TESS_OK;
}

tess_status tess_refuse_complex(tess_ctx *ctx, const char *what, tess_type type)
{
    if (!tess_is_complex(type))
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                     "%s takes matrices of f64 and f32, this one is %s: use one of those", what,
                     tess_type_name(type));
}

tess_status tess_check_order(tess_ctx *ctx, tess_block_order order)
{
    if (order == TESS_ORDER_COLUMN_MAJOR || order == TESS_ORDER_ROW_MAJOR)
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_ARGUMENT,
                     "order %d is neither TESS_ORDER_COLUMN_MAJOR nor TESS_ORDER_ROW_MAJOR",
                     (int)order);
}

tess_status tess_matrix_head(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                             int32_t block_height, int32_t block_width, int64_t blocks,
                             tess_matrix **out)
{
    TESS_TRY(tess_matrix_check_sizes(ctx, type, rows, cols, block_height, block_width, blocks));
    tess_matrix *A;
    TESS_TRY(TESS_ALLOC(ctx, 1, &A));
    *A = (tess_matrix){
        .ctx = ctx,
        .type = type,
        .rows = rows,
        .cols = cols,
        .block_height = block_height,
        .block_width = block_width,
        .block_rows = tess_ceil_div(rows, block_height),
        .block_cols = tess_ceil_div(cols, block_width),
        .blocks = blocks,
        .ownership = TESS_OWNERSHIP_COPY,
    };
    *out = A;
    return TESS_OK;
}

tess_status tess_matrix_allocate(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 int32_t block_height, int32_t block_width, int64_t blocks,
                                 tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(tess_matrix_head(ctx, type, rows, cols, block_height, block_width, blocks, &A));
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->block_rows + 1, &A->row_offsets));
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(A, blocks));
cleanup:
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}

void tess_matrix_copy_pattern(const tess_matrix *A, int64_t *row_offsets, int32_t *columns)
{
    memcpy(row_offsets, A->row_offsets, (size_t)(A->block_rows + 1) * sizeof *row_offsets);
    if (A->blocks > 0)
        memcpy(columns, A->columns, (size_t)A->blocks * sizeof *columns);
}

tess_status tess_matrix_copy_coordinates(const tess_matrix *A, tess_matrix *B)
{
    const int64_t count = A->block_rows * A->dimensions;
    if (!A->coordinates)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(B->ctx, count, &B->coordinates));
    memcpy(B->coordinates, A->coordinates, (size_t)count * sizeof *B->coordinates);
    B->dimensions = A->dimensions;
    return TESS_OK;
}

tess_status tess_matrix_same_pattern(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                     tess_matrix **out)
{
    tess_matrix *B;
    TESS_TRY(tess_matrix_allocate(ctx, type, A->rows, A->cols, A->block_height, A->block_width,
                                  A->blocks, &B));
    tess_matrix_copy_pattern(A, B->row_offsets, B->columns);
    const tess_status status = tess_matrix_copy_coordinates(A, B);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}

tess_status tess_matrix_allocate_blocks(tess_matrix *A, int64_t blocks)
{
    TESS_TRY(tess_matrix_check_sizes(A->ctx, A->type, A->rows, A->cols, A->block_height,
                                     A->block_width, blocks));
    A->blocks = blocks;
    TESS_TRY(TESS_ALLOC(A->ctx, blocks, &A->columns));
    return tess_alloc_bytes(A->ctx, tess_matrix_stored(A), tess_type_size(A->type), &A->values);
}

void tess_matrix_destroy(tess_matrix *A)
{
    if (!A)
        return;
    if (A->ownership == TESS_OWNERSHIP_COPY) {
        TESS_FREE(A->ctx, A->row_offsets, A->columns, A->values);
    } else if (A->ownership == TESS_OWNERSHIP_ADOPT) {
        free(A->row_offsets);
        free(A->columns);
        free(A->values);
    }
    TESS_FREE(A->ctx, A->coordinates, A);
}

void tess_matrix_get_view(const tess_matrix *A, tess_matrix_view *view)
{
    if (!view)
        return;
    *view = (tess_matrix_view){0};
    if (!A)
        return;
    *view = (tess_matrix_view){
        .type = A->type,
        .rows = A->rows,
        .cols = A->cols,
        .block_height = A->block_height,
        .block_width = A->block_width,
        .block_rows = A->block_rows,
        .block_cols = A->block_cols,
        .blocks = A->blocks,
        .row_offsets = A->row_offsets,
        .columns = A->columns,
        .values = A->values,
    };
}

int64_t tess_matrix_lower_bound(const tess_matrix *A, int64_t row, int64_t column)
{
    return tess_lower_bound(A->columns, A->row_offsets[row], A->row_offsets[row + 1], column);
}

int64_t tess_matrix_find(const tess_matrix *A, int64_t row, int64_t column)
{
    int64_t k = tess_matrix_lower_bound(A, row, column);
    return k < A->row_offsets[row + 1] && A->columns[k] == column ? k : -1;
}

double tess_matrix_spmv_bytes(const tess_matrix *A)
{
    double value = (double)tess_type_size(A->type);
    return value * (double)tess_matrix_stored(A) + 4.0 * (double)A->blocks +
           4.0 * (double)(A->block_rows + 1) + value * (double)(A->rows + A->cols);
}
