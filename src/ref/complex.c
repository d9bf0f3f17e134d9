/* The products of complex matrices as plain loops: y = alpha A x + beta y, the same with A^T and
 * A^H, and with several vectors. */
#include "ref/ref.h"

/* Row `row` times the vector whose scalar j is x[start + j * stride]. */
static tess_complex row_times(const tess_matrix *A, int64_t row, const void *x, int64_t stride,
                              int64_t start)
{
    int64_t ib = row / A->block_height, i = row % A->block_height;
    tess_complex sum = {0, 0};
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
        for (int32_t j = 0; j < A->block_width; j++) {
            int64_t col = (int64_t)A->columns[k] * A->block_width + j;
            int64_t at = (k * A->block_width + j) * A->block_height + i;
            if (col < A->cols)
                sum = tess_complex_sum(
                    sum, tess_complex_product(tess_matrix_complex_value(A, at),
                                              tess_get_complex(x, A->type, col * stride + start)));
        }
    }
    return sum;
}

/* y[i] = alpha sum + beta y[i], without reading y when beta is 0. */
static void update(void *y, tess_type type, int64_t i, tess_complex alpha, tess_complex sum,
                   tess_complex beta)
{
    sum = tess_complex_product(alpha, sum);
    if (!tess_complex_is_zero(beta))
        sum = tess_complex_sum(sum, tess_complex_product(beta, tess_get_complex(y, type, i)));
    tess_put_complex(y, type, i, sum);
}

static void add_column(const tess_matrix *A, bool conjugate, int64_t ib, int64_t k, const void *x,
                       tess_complex *sums)
{
    for (int32_t j = 0; j < A->block_width; j++) {
        for (int32_t i = 0; i < A->block_height; i++) {
            int64_t row = ib * A->block_height + i;
            int64_t col = (int64_t)A->columns[k] * A->block_width + j;
            int64_t at = (k * A->block_width + j) * A->block_height + i;
            if (row >= A->rows || col >= A->cols)
                continue;
            tess_complex value = tess_matrix_complex_value(A, at);
            if (conjugate)
                value = tess_conjugate(value);
            sums[col] = tess_complex_sum(
                sums[col], tess_complex_product(value, tess_get_complex(x, A->type, row)));
        }
    }
}

void tess_ref_spmv_complex(const tess_matrix *A, tess_operation operation, tess_complex alpha,
                           const void *x, tess_complex beta, void *y, tess_complex *sums)
{
    if (operation == TESS_OPERATION_NONE) {
        for (int64_t row = 0; row < A->rows; row++)
            update(y, A->type, row, alpha, row_times(A, row, x, 1, 0), beta);
        return;
    }
    for (int64_t col = 0; col < A->cols; col++)
        sums[col] = (tess_complex){0, 0};
    for (int64_t ib = 0; ib < A->block_rows; ib++)
        for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++)
            add_column(A, operation == TESS_OPERATION_CONJUGATE_TRANSPOSE, ib, k, x, sums);
    for (int64_t col = 0; col < A->cols; col++)
        update(y, A->type, col, alpha, sums[col], beta);
}

void tess_ref_spmm_complex(const tess_matrix *A, int k, tess_block_order order, tess_complex alpha,
                           const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    const bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t v = 0; v < k; v++)
            update(Y, A->type, columns ? v * ldy + row : row * ldy + v, alpha,
                   row_times(A, row, X, columns ? 1 : ldx, columns ? v * ldx : v), beta);
}
