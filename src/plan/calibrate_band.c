/* Matrices of long rows: the blocks next to the diagonal, or a share of them. */
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

/* Whether the block is there: all on the diagonal, a share of the others, the same of both halves.
 */
static bool is_kept(int64_t row, int64_t col, double share)
{
    int64_t low = row < col ? row : col, high = row < col ? col : row;
    return row == col || tess_random_unit((uint64_t)low, (uint64_t)high) < 2 * share - 1;
}

tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  int64_t length, double share, tess_matrix **out)
{
    int64_t reach = length / 2 < rows ? length / 2 : rows - 1, blocks = 0;
    tess_matrix *A;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t col = i > reach ? i - reach : 0; col <= i + reach && col < rows; col++)
            blocks += is_kept(i, col, share);
    TESS_TRY(tess_matrix_allocate(ctx, type, rows * block, rows * block, block, block, blocks, &A));
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = A->row_offsets[i];
        for (int64_t col = i > reach ? i - reach : 0; col <= i + reach && col < rows; col++)
            if (is_kept(i, col, share))
                A->columns[at++] = (int32_t)col;
        A->row_offsets[i + 1] = at;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t at = A->row_offsets[i]; at < A->row_offsets[i + 1]; at++)
            fill_block(A, at, i, A->columns[at]);
    *out = A;
    return TESS_OK;
}
