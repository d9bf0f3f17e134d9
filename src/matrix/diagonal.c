/* The diagonal blocks, found by binary search in their rows. */
#include <inttypes.h>

#include "matrix/matrix.h"

struct copy_diagonal {
    const tess_matrix *A;
    void *blocks;
    size_t bytes;
    int64_t *absent;
};

static void copy_diagonal(void *arg, tess_range range)
{
    const struct copy_diagonal *job = arg;
    const size_t bytes = job->bytes;
    int64_t absent = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t k = tess_matrix_find(job->A, i, i);
        char *to = (char *)job->blocks + (size_t)i * bytes;
        if (k >= 0)
            memcpy(to, (const char *)job->A->values + (size_t)k * bytes, bytes);
        else
            memset(to, 0, bytes);
        absent += k < 0;
    }
    tess_take(job->absent, absent);
}

tess_status tess_matrix_diagonal_blocks(tess_ctx *ctx, const tess_matrix *A, void *blocks,
                                        int64_t *missing)
{
    if (!ctx || !A)
        return tess_null_argument(ctx, __func__);
    if (A->block_height != A->block_width)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "diagonal blocks need square blocks, but these are %d x %d",
                         (int)A->block_height, (int)A->block_width);
    int64_t count = A->block_rows < A->block_cols ? A->block_rows : A->block_cols, absent = 0;
    if (!blocks && count > 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_diagonal_blocks: blocks is NULL");
    size_t bytes = (size_t)A->block_height * (size_t)A->block_width * tess_type_size(A->type);
    tess_for(ctx, count, copy_diagonal, &(struct copy_diagonal){A, blocks, bytes, &absent});
    if (missing)
        *missing = absent;
    return TESS_OK;
}
