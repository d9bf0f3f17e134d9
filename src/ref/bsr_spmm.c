/* Y = alpha A X + beta Y for k vectors, one vector after the other. */
#include "ref/ref.h"

/* A[row, :] X[:, vector]: the sum over the row's blocks. The vector begins at X[start]. */
static double row_times(const tess_matrix *A, int64_t row, const void *X, int64_t stride,
                        int64_t start)
{
    int64_t ib = row / A->block_height, i = row % A->block_height;
    double sum = 0;
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
        for (int32_t j = 0; j < A->block_width; j++) {
            int64_t col = (int64_t)A->columns[k] * A->block_width + j;
            int64_t at = (k * A->block_width + j) * A->block_height + i;
            if (col < A->cols)
                sum +=
                    tess_get(A->values, A->type, at) * tess_get(X, A->type, col * stride + start);
        }
    }
    return sum;
}

void tess_ref_spmm(const tess_matrix *A, int k, tess_block_order order, double alpha, const void *X,
                   int64_t ldx, double beta, void *Y, int64_t ldy)
{
    bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    for (int64_t row = 0; row < A->rows; row++) {
        for (int64_t v = 0; v < k; v++) {
            double sum = alpha * row_times(A, row, X, columns ? 1 : ldx, columns ? v * ldx : v);
            int64_t at = columns ? v * ldy + row : row * ldy + v;
            if (beta != 0)
                sum += beta * tess_get(Y, A->type, at);
            tess_put(Y, A->type, at, sum);
        }
    }
}
