#include "cg_check.h"

#include <float.h>
#include <math.h>

bool cg_check(const tess_matrix *A, const double *b, const double *x, double claimed,
              int64_t iterations)
{
    const int64_t h = A->block_height, w = A->block_width;
    double residual = 0, magnitude = 0;
    for (int64_t row = 0; row < A->rows; row++) {
        double r = b[row], m = fabs(b[row]);
        for (int64_t k = A->row_offsets[row / h]; k < A->row_offsets[row / h + 1]; k++)
            for (int64_t j = 0; j < w && A->columns[k] * w + j < A->cols; j++) {
                const double term =
                    tess_matrix_value(A, (k * w + j) * h + row % h) * x[A->columns[k] * w + j];
                r -= term;
                m += fabs(term);
            }
        residual += r * r;
        magnitude += m * m;
    }
    const double drift = DBL_EPSILON * (double)(iterations + 1) * sqrt(magnitude);
    return sqrt(residual) <= 2 * claimed + drift;
}
