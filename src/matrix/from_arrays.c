/* A matrix from the caller's CSR or BSR arrays: checked, then copied, borrowed or adopted. */
#include <string.h>

#include "matrix/matrix.h"

/* Row-major input: transposes every block on the way in. */
static void copy_values(tess_matrix *A, const void *values, tess_block_order order)
{
    int64_t r = A->block_height, c = A->block_width, size = (int64_t)tess_type_size(A->type);
    const char *from = values;
    char *to = A->values;
    if (order == TESS_COLUMN_MAJOR || r == 1 || c == 1) {
        /* One contiguous range a thread, so that pages land near the thread that will read them. */
#pragma omp parallel for schedule(static) num_threads(A->ctx->threads)
        for (int64_t k = 0; k < A->blocks; k++)
            memcpy(to + k * r * c * size, from + k * r * c * size, (size_t)(r * c * size));
        return;
    }
#pragma omp parallel for schedule(static) num_threads(A->ctx->threads)
    for (int64_t k = 0; k < A->blocks; k++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t i = 0; i < r; i++)
                memcpy(to + (k * r * c + j * r + i) * size, from + (k * r * c + i * c + j) * size,
                       (size_t)size);
}

static tess_status copy_arrays(tess_ctx *ctx, const tess_matrix_view *in, tess_block_order order,
                               tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, in->type, in->rows, in->cols, in->block_height,
                                  in->block_width, in->blocks, &A));
    memcpy(A->row_offsets, in->row_offsets, (size_t)(in->block_rows + 1) * sizeof *A->row_offsets);
    if (in->blocks > 0)
        memcpy(A->columns, in->columns, (size_t)in->blocks * sizeof *A->columns);
    copy_values(A, in->values, order);
    *out = A;
    return TESS_OK;
}

tess_status tess_matrix_from_bsr(tess_ctx *ctx, const tess_matrix_view *arrays,
                                 tess_block_order order, tess_ownership ownership,
                                 tess_matrix **out)
{
    if (!ctx || !arrays || !out)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_from_bsr: an argument is NULL");
    tess_matrix *A;
    TESS_TRY(tess_matrix_head(ctx, arrays->type, arrays->rows, arrays->cols, arrays->block_height,
                              arrays->block_width, arrays->blocks, &A));
    tess_matrix_view in = *arrays;
    in.block_rows = A->block_rows;
    in.block_cols = A->block_cols;
    tess_status status = TESS_OK;
    if (!in.row_offsets) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "row_offsets is NULL");
        goto cleanup;
    }
    in.blocks = in.row_offsets[in.block_rows];
    if (in.blocks > 0 && (!in.columns || !in.values)) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "columns or values is NULL");
        goto cleanup;
    }
    TESS_TRY_CLEAN(tess_matrix_validate(ctx, &in, true));
    if (ownership == TESS_COPY) {
        TESS_TRY_CLEAN(copy_arrays(ctx, &in, order, out));
        goto cleanup; /* the head only carried the sizes */
    }
    if (order != TESS_COLUMN_MAJOR && in.block_height > 1 && in.block_width > 1) {
        status =
            tess_fail(ctx, TESS_ERR_UNSUPPORTED, "row-major blocks must be copied: pass TESS_COPY");
        goto cleanup;
    }
    A->blocks = in.blocks;
    A->row_offsets = (int64_t *)(uintptr_t)in.row_offsets;
    A->columns = (int32_t *)(uintptr_t)in.columns;
    A->values = (void *)(uintptr_t)in.values;
    A->ownership = ownership;
    *out = A;
    return TESS_OK;
cleanup:
    tess_matrix_destroy(A);
    return status;
}

tess_status tess_matrix_from_csr(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 const int64_t *row_offsets, const int32_t *columns,
                                 const void *values, tess_ownership ownership, tess_matrix **out)
{
    tess_matrix_view arrays = {
        .type = type,
        .rows = rows,
        .cols = cols,
        .block_height = 1,
        .block_width = 1,
        .row_offsets = row_offsets,
        .columns = columns,
        .values = values,
    };
    return tess_matrix_from_bsr(ctx, &arrays, TESS_COLUMN_MAJOR, ownership, out);
}
