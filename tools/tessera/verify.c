/* Checks a product against the reference backend, row by row. Rounding in a row of n scalars may
 * change y_i by at most 2 (n + 2) eps (|A||x|)_i, whatever the order of the sum. A complex sum of n
 * products is two real sums of 2 n products. */
#include <stdlib.h>

#include "command.h"
#include "row_error.h"

static int64_t longest_row(const tess_matrix_view *A)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        longest = greater(length, longest);
    }
    return longest * A->block_width;
}

static double modulus(tess_complex value)
{
    return hypot(value.re, value.im);
}

/* (|A||x|) of one row of scalars. */
static double row_magnitude(const tess_matrix_view *A, int64_t row, const void *x)
{
    const int64_t r = A->block_height, c = A->block_width, ib = row / r, i = row % r;
    double sum = 0;
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++)
        for (int64_t j = 0; j < c && A->columns[k] * c + j < A->cols; j++)
            sum = add_magnitude(sum, modulus(get_scalar(A->values, A->type, (k * c + j) * r + i)),
                                modulus(get_scalar(x, A->type, A->columns[k] * c + j)));
    return magnitude_in_range(sum, A->type);
}

/* Whether no element is NaN or infinite. */
static bool is_finite_vector(const void *x, tess_type type, int64_t count)
{
    int64_t i = 0;
    while (i < count && is_finite_scalar(get_scalar(x, type, i)))
        i++;
    return i == count;
}

/* Where x is not finite, a row may be NaN by zeros that the format stores beside A's entries: 0
 * times infinity. */
static verdict compare(const tess_matrix_view *A, const void *x, const void *y,
                       const void *expected)
{
    double epsilon = A->type == TESS_F64 || A->type == TESS_C64 ? DBL_EPSILON : FLT_EPSILON;
    const int64_t terms = (is_complex(A->type) ? 2 : 1) * longest_row(A);
    verdict found = {.row = -1, .bound = 2.0 * (double)(terms + 2) * epsilon};
    const bool finite_x = is_finite_vector(x, A->type, A->cols);
    for (int64_t i = 0; i < A->rows; i++) {
        const tess_complex got = get_scalar(y, A->type, i), want = get_scalar(expected, A->type, i);
        const bool by_zeros =
            !finite_x && (isnan(got.re) || isnan(got.im)) && is_finite_scalar(want);
        found.not_finite += !is_finite_scalar(got);
        found.by_zeros += by_zeros;
        if (by_zeros)
            continue;
        if (is_finite_scalar(got) && got.re == want.re && got.im == want.im)
            continue;
        const double error = row_error(got, want, row_magnitude(A, i, x));
        if (error > found.relative) {
            found.relative = error;
            found.row = i;
        }
    }
    found.good = found.relative <= found.bound;
    return found;
}

static tess_status multiply_by_ref(tess_ctx *ctx, const tess_matrix *A, const void *x, void *y)
{
    tess_device *ref = NULL;
    tess_plan *plan = NULL;
    tess_status status = tess_device_open(ctx, "ref", &ref);
    if (status == TESS_OK)
        status = tess_plan_create(ctx, A, ref, NULL, &plan);
    if (status == TESS_OK)
        status = tess_spmv(plan, 1, x, 0, y);
    tess_plan_destroy(plan);
    tess_device_close(ref);
    return status;
}

int verify_spmv(cli_app *app, const tess_matrix *A, const void *x, const void *y, verdict *out)
{
    const tess_matrix_view view = view_of(A);
    void *expected = zero_vector(view.type, view.rows);
    if (!expected)
        return fail_memory(app);
    tess_status status = multiply_by_ref(app->ctx, A, x, expected);
    if (status == TESS_OK)
        *out = compare(&view, x, y, expected);
    free(expected);
    return status == TESS_OK ? EXIT_DONE : fail_status(app, status);
}
