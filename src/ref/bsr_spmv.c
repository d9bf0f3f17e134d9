/* y = alpha A x + beta y, the same with A^T, and the magnitude |A||x|, as plain loops.
 */
#include "ref/ref.h"

/* Row `i` of block row `ib` times x: the sum over its blocks k and their columns j inside the
 * matrix.
 */
static double row_times(const tess_matrix *A, int64_t ib, int32_t i, const void *x, bool magnitude)
{
    double sum = 0;
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
        int64_t block = k * A->block_height * A->block_width;
        int64_t first = (int64_t)A->columns[k] * A->block_width;
        for (int32_t j = 0; j < A->block_width && first + j < A->cols; j++) {
            double product =
                tess_get(A->values, A->type, block + (int64_t)j * A->block_height + i) *
                tess_get(x, A->type, first + j);
            sum += magnitude ? fabs(product) : product;
        }
    }
    return sum;
}

/* alpha*sum + beta*y[i], without reading y when beta is 0. */
static void update(void *y, tess_type type, int64_t i, double alpha, double sum, double beta)
{
    tess_put(y, type, i, beta == 0 ? alpha * sum : alpha * sum + beta * tess_get(y, type, i));
}

void tess_ref_spmv(const tess_matrix *A, double alpha, const void *x, double beta, void *y)
{
    for (int64_t row = 0; row < A->rows; row++) {
        int64_t ib = row / A->block_height;
        int32_t i = (int32_t)(row % A->block_height);
        update(y, A->type, row, alpha, row_times(A, ib, i, x, false), beta);
    }
}

static double modulus(const void *array, tess_type type, int64_t i)
{
    const tess_complex value = tess_get_complex(array, type, i);
    return hypot(value.re, value.im);
}

static double complex_magnitude(const tess_matrix *A, int64_t row, const void *x)
{
    const int64_t r = A->block_height, c = A->block_width, ib = row / r;
    double sum = 0;
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++)
        for (int64_t j = 0; j < c && A->columns[k] * c + j < A->cols; j++)
            sum += modulus(A->values, A->type, (k * c + j) * r + row % r) *
                   modulus(x, A->type, A->columns[k] * c + j);
    return sum;
}

void tess_ref_spmv_magnitude(const tess_matrix *A, const void *x, double *bound)
{
    for (int64_t row = 0; tess_is_complex(A->type) && row < A->rows; row++)
        bound[row] = complex_magnitude(A, row, x);
    if (tess_is_complex(A->type))
        return;
    for (int64_t row = 0; row < A->rows; row++)
        bound[row] = row_times(A, row / A->block_height, (int32_t)(row % A->block_height), x, true);
}

void tess_ref_spmv_transpose(const tess_matrix *A, double alpha, const void *x, double beta,
                             void *y, double *sums)
{
    for (int64_t col = 0; col < A->cols; col++)
        sums[col] = 0;
    for (int64_t ib = 0; ib < A->block_rows; ib++) {
        for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
            for (int32_t j = 0; j < A->block_width; j++) {
                for (int32_t i = 0; i < A->block_height; i++) {
                    int64_t row = ib * A->block_height + i;
                    int64_t col = (int64_t)A->columns[k] * A->block_width + j;
                    int64_t at = (k * A->block_width + j) * A->block_height + i;
                    if (row < A->rows && col < A->cols)
                        sums[col] += tess_get(A->values, A->type, at) * tess_get(x, A->type, row);
                }
            }
        }
    }
    for (int64_t col = 0; col < A->cols; col++)
        update(y, A->type, col, alpha, sums[col], beta);
}
