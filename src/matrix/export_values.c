/* A's values into the caller's array, with column-major or row-major blocks. */
#include <string.h>

#include "core/threads.h"
#include "matrix/matrix.h"

struct export_blocks {
    const tess_matrix *A;
    size_t r, c, size;
    void *values;
    tess_block_order order;
};

static void export_blocks(void *arg, tess_range range)
{
    const struct export_blocks *job = arg;
    const size_t r = job->r;
    const size_t c = job->c;
    const size_t size = job->size;
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
    if (!ctx || !A || (!values && A->blocks > 0))
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_export_values: an argument is NULL");
    if (order != TESS_ORDER_COLUMN_MAJOR && order != TESS_ORDER_ROW_MAJOR)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "order %d is neither TESS_ORDER_COLUMN_MAJOR nor TESS_ORDER_ROW_MAJOR",
                         (int)order);
    size_t r = (size_t)A->block_height, c = (size_t)A->block_width, size = tess_type_size(A->type);
    tess_for(ctx, ctx->threads, A->blocks, export_blocks,
             &(struct export_blocks){A, r, c, size, values, order});
    return TESS_OK;
}
