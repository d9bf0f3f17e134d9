/* The diagonal blocks, found by binary search in their rows. */
#include <inttypes.h>
#include <string.h>

#include "matrix/matrix.h"

tess_status tess_matrix_diagonal_blocks(tess_ctx *ctx, const tess_matrix *A, void *blocks,
                                        int64_t *missing)
{
    if (!ctx || !A)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_diagonal_blocks: an argument is NULL");
    if (A->block_height != A->block_width)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "diagonal blocks need square blocks, but these are %d x %d",
                         (int)A->block_height, (int)A->block_width);
    int64_t count = A->block_rows < A->block_cols ? A->block_rows : A->block_cols, absent = 0;
    if (!blocks && count > 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_diagonal_blocks: blocks is NULL");
    size_t bytes = (size_t)A->block_height * (size_t)A->block_width * tess_type_size(A->type);
#pragma omp parallel for reduction(+ : absent) num_threads(ctx->threads)
    for (int64_t i = 0; i < count; i++) {
        int64_t k = tess_matrix_find(A, i, i);
        char *to = (char *)blocks + (size_t)i * bytes;
        if (k >= 0)
            memcpy(to, (const char *)A->values + (size_t)k * bytes, bytes);
        else
            memset(to, 0, bytes);
        absent += k < 0;
    }
    if (missing)
        *missing = absent;
    return TESS_OK;
}
