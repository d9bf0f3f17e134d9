#include "dense.h"

#include <string.h>

tess_status dense_values(const tess_matrix *A, void **out)
{
    const int64_t b = A->block_height, w = A->block_width;
    const size_t size = tess_type_size(A->type);
    void *dense;
    if (A->blocks != A->block_rows * A->block_cols || A->rows % b != 0 || A->cols % w != 0 ||
        A->rows > INT32_MAX || A->cols > INT32_MAX)
        return tess_fail(A->ctx, TESS_ERR_UNSUPPORTED, "gemv takes dense matrices only");
    TESS_TRY(tess_alloc_bytes(A->ctx, A->rows * A->cols, size, &dense));
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int64_t c = 0; c < w; c++)
                memcpy((char *)dense + (size_t)((A->columns[k] * w + c) * A->rows + row * b) * size,
                       (const char *)A->values + (size_t)((k * w + c) * b) * size,
                       (size_t)b * size);
    *out = dense;
    return TESS_OK;
}
