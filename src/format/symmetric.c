/* BSR to symmetric storage; symmetric.h has the picture. */
#include "format/symmetric.h"

tess_status tess_symmetric_create(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_symmetric_mirrors *mirrors, tess_matrix **upper)
{
    const int64_t *offsets = mirrors->offsets;
    tess_matrix *U;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height, A->block_width,
                                  offsets[A->block_rows], &U));
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t count = offsets[i + 1] - offsets[i];
        if (count > 0)
            memcpy(U->columns + offsets[i], A->columns + A->row_offsets[i + 1] - count,
                   (size_t)count * sizeof *U->columns);
        U->row_offsets[i + 1] = offsets[i + 1];
    }
    *upper = U;
    return TESS_OK;
}

int64_t tess_symmetric_bytes(const tess_matrix *upper)
{
    return tess_matrix_stored(upper) * (int64_t)tess_type_size(upper->type) + 4 * upper->blocks +
           8 * (upper->block_rows + 1);
}
