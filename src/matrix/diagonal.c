/* The diagonal blocks, found by binary search in their rows. */
#include "matrix/matrix.h"

struct copy_diagonal {
    const tess_matrix *A;
    void *blocks;
    size_t bytes;
};

/* Copies the diagonal blocks of a range of block rows. Returns how many of them are not stored:
 * they become zero. */
static int64_t copy_diagonal(const void *arg, tess_range range)
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
    return absent;
}

tess_status tess_matrix_diagonal_blocks(tess_ctx *ctx, const tess_matrix *A, void *blocks,
                                        int64_t *missing)
{
    TESS_NEED(ctx, ctx && A);
    if (A->block_height != A->block_width)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "diagonal blocks need square blocks, but these are %d x %d",
                         (int)A->block_height, (int)A->block_width);
    const int64_t count = tess_min(A->block_rows, A->block_cols);
    if (!blocks && count > 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_diagonal_blocks: blocks is NULL");
    size_t bytes = tess_block_bytes(A->block_height, A->block_width, A->type);
    const int64_t absent =
        tess_reduce(ctx, count, TESS_SUM, copy_diagonal, &(struct copy_diagonal){A, blocks, bytes});
    if (missing)
        *missing = absent;
    return TESS_OK;
}

bool tess_matrix_positive_diagonal(const tess_matrix *A)
{
    const int32_t b = A->block_height;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t k = tess_matrix_find(A, i / b, i / b);
        if (k < 0 || !(tess_matrix_value(A, k * b * b + i % b * (b + 1)) > 0))
            return false;
    }
    return true;
}
