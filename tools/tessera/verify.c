/* Checks a product against the reference backend, row by row: rounding in a row of n scalars may
 * move y_i by at most 2 (n + 2) eps (|A||x|)_i, whatever the order of the sum. */
#include <float.h>
#include <math.h>

#include "command.h"
#include "ref/ref.h"

static int64_t longest_row(const tess_matrix *A)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        longest = length > longest ? length : longest;
    }
    return longest * A->block_width;
}

tess_status verify_spmv(tess_ctx *ctx, const tess_matrix *A, const void *x, const void *y,
                        verdict *out)
{
    double *expected, *magnitude;
    TESS_TRY(TESS_ALLOC(ctx, A->rows, &expected));
    tess_status status = TESS_ALLOC(ctx, A->rows, &magnitude);
    if (status != TESS_OK) {
        tess_free(ctx, expected);
        return status;
    }
    tess_ref_spmv(A, 1.0, x, 0.0, expected);
    tess_ref_spmv_magnitude(A, x, magnitude);

    double epsilon = A->type == TESS_F64 ? DBL_EPSILON : FLT_EPSILON;
    verdict found = {.row = -1, .bound = 2.0 * (double)(longest_row(A) + 2) * epsilon};
    for (int64_t i = 0; i < A->rows; i++) {
        double distance = fabs(tess_ref_get(y, A->type, i) - tess_ref_get(expected, A->type, i));
        if (distance == 0)
            continue;
        double relative = distance / magnitude[i];
        if (!(relative <= found.relative)) { /* also true for NaN */
            found.relative = relative;
            found.row = i;
        }
        if (isnan(relative))
            break;
    }
    found.good = found.relative <= found.bound;
    *out = found;
    tess_free(ctx, magnitude);
    tess_free(ctx, expected);
    return TESS_OK;
}
