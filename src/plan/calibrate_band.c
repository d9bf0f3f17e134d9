/* A matrix of long rows of equal length: the blocks next to the diagonal. */
#include "plan/calibrate.h"

/* Symmetric, the same along diagonals, nowhere zero or alike. */
static void fill_block(tess_matrix *A, int64_t at, int64_t row, int64_t col)
{
    int64_t b = A->block_height;
    for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j < b; j++) {
            int64_t apart = row * b + i - (col * b + j);
            double value = 0.5 + tess_random_unit(3, (uint64_t)(apart < 0 ? -apart : apart));
            if (A->type == TESS_F64)
                ((double *)A->values)[(at * b + i) * b + j] = value;
            else
                ((float *)A->values)[(at * b + i) * b + j] = (float)value;
        }
}

tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  int64_t length, tess_matrix **out)
{
    int64_t reach = length / 2 < rows ? length / 2 : rows - 1;
    int64_t blocks = rows * (2 * reach + 1) - reach * (reach + 1);
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, type, rows * block, rows * block, block, block, blocks, &A));
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = i > reach ? i - reach : 0, last = i + reach < rows ? i + reach : rows - 1;
        A->row_offsets[i + 1] = A->row_offsets[i] + last - first + 1;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        int64_t col = i > reach ? i - reach : 0;
        for (int64_t at = A->row_offsets[i]; at < A->row_offsets[i + 1]; at++, col++) {
            A->columns[at] = (int32_t)col;
            fill_block(A, at, i, col);
        }
    }
    *out = A;
    return TESS_OK;
}
