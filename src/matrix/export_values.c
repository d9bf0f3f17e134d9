/* Copies A's values to the caller's array, with column-major or row-major blocks. */
#include "matrix/matrix.h"

struct export_blocks {
    const tess_matrix *A;
    void *values;
    tess_block_order order;
};

static void export_blocks(void *arg, tess_range range)
{
    const struct export_blocks *job = arg;
    const size_t r = (size_t)job->A->block_height, c = (size_t)job->A->block_width;
    const size_t size = tess_type_size(job->A->type);
    for (int64_t k = range.first; k < range.last; k++) {
        const char *from = (const char *)job->A->values + (size_t)k * r * c * size;
        char *to = (char *)job->values + (size_t)k * r * c * size;
        if (job->order == TESS_ORDER_COLUMN_MAJOR || r == 1 || c == 1) {
            memcpy(to, from, r * c * size);
            continue;
        }
        for (size_t i = 0; i < r; i++)
            for (size_t j = 0; j < c; j++, to += size)
                memcpy(to, from + (j * r + i) * size, size);
    }
}

tess_status tess_matrix_export_values(tess_ctx *ctx, const tess_matrix *A, tess_block_order order,
                                      void *values)
{
    TESS_NEED(ctx, ctx && A && (values || A->blocks == 0));
    TESS_TRY(tess_check_order(ctx, order));
    tess_for(ctx, A->blocks, export_blocks, &(struct export_blocks){A, values, order});
    return TESS_OK;
}
