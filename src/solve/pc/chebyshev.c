/* Chebyshev polynomial over block-Jacobi: M^-1 = q(D^-1 A) D^-1, only products and vector updates.
 *
 *     z = d = D^-1 r / theta
 *     three times:  d = c_i d + e_i D^-1 (r - A z),  z = z + d
 *
 * A has to be symmetric, or Hermitian if it is complex, so that the eigenvalues are real. 1 - t
 * q(t) is small where the eigenvalues t of D^-1 A are between largest / span and `largest`. That
 * bound is the smaller of
 *
 *     the largest row sum of |D^-1 A|, above which no eigenvalue lies
 *     1.25 times what 40 steps of the power method see
 *
 * D^-1 is stored divided by `largest`. The coefficients, which are in the lists of steps, then stay
 * as they are when the values change.
 */
#include "solve/pc/pc.h"

enum { DEGREE = 4, POWER_STEPS = 40 };
/* Eigenvalues below a thirtieth of the largest are left to the method. */
static const double span = 30;
enum { LEFT, D, VECTORS };

/* Row i of block `row` of D^-1 times scalars first .. first+count-1 of an array. */
static tess_complex row_times(const tess_diagonal *d, int64_t row, int32_t i, const void *array,
                              tess_type type, int64_t first, int64_t count)
{
    const int64_t b = d->block, at = row * b * b + i;
    tess_complex sum = {0, 0};
    if (!tess_is_complex(type)) {
        for (int64_t j = 0; j < count; j++)
            sum.re += tess_get(d->blocks, d->type, at + j * b) * tess_get(array, type, first + j);
        return sum;
    }
    for (int64_t j = 0; j < count; j++)
        sum = tess_complex_sum(
            sum, tess_complex_product(tess_get_complex(d->blocks, d->type, at + j * b),
                                      tess_get_complex(array, type, first + j)));
    return sum;
}

/* Returns the largest row sum of |D^-1 A|. */
static double row_sum_bound(const tess_matrix *A, const tess_diagonal *d)
{
    const int32_t b = d->block;
    double largest = 0;
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int32_t i = 0; i < b; i++) {
            double sum = 0;
            for (int64_t k = A->row_offsets[row] * b; k < A->row_offsets[row + 1] * b; k++) {
                const tess_complex entry = row_times(d, row, i, A->values, A->type, k * b, b);
                sum += tess_is_complex(A->type) ? hypot(entry.re, entry.im) : fabs(entry.re);
            }
            largest = fmax(largest, sum);
        }
    return largest;
}

/* Computes x = D^-1 y / |D^-1 y|, and the norm |D^-1 y| of all parts. */
static tess_status scale_and_normalise(tess_plan *plan, const tess_diagonal *d, const void *y,
                                       void *x, double *out)
{
    const tess_matrix *A = plan->matrix;
    double square = 0;
    for (int64_t row = 0; row < A->rows; row++) {
        const int64_t block = row / d->block, first = block * d->block;
        const tess_complex sum = row_times(d, block, (int32_t)(row - first), y, A->type, first,
                                           tess_min(d->block, A->rows - first));
        tess_put_complex(x, A->type, row, sum);
        square += sum.re * sum.re;
        square += sum.im * sum.im;
    }
    if (plan->device->backend->sum)
        TESS_TRY(plan->device->backend->sum(plan, &square, 1));
    const tess_type part = tess_real_type(A->type);
    const double norm = sqrt(square);
    for (int64_t i = 0; i < tess_reals(A->type, A->rows) && norm > 0; i++)
        tess_put(x, part, i, tess_get(x, part, i) / norm);
    *out = norm;
    return TESS_OK;
}

/* Estimates the largest |eigenvalue| of D^-1 A by the power method. Where D^-1 A is symmetric, the
 * estimate is never above it. */
static tess_status estimate(tess_plan *plan, const tess_diagonal *d, double *largest)
{
    const tess_matrix *A = plan->matrix;
    const size_t size = tess_type_size(A->type);
    void *x = NULL, *y = NULL;
    tess_status status;
    *largest = 0;
    status = tess_alloc_bytes(plan->ctx, A->rows, size, &x);
    if (status == TESS_OK)
        status = tess_alloc_bytes(plan->ctx, A->rows, size, &y);
    TESS_TRY_CLEAN(tess_pc_agree(plan, status));
    for (int64_t i = 0; i < A->rows; i++)
        tess_put_complex(y, A->type, i, (tess_complex){tess_plan_random(plan, 5, i), 0});
    double norm;
    TESS_TRY_CLEAN(scale_and_normalise(plan, d, y, x, &norm));
    for (int step = 0; step < POWER_STEPS; step++) {
        TESS_TRY_CLEAN(tess_spmv(plan, 1, x, 0, y));
        TESS_TRY_CLEAN(scale_and_normalise(plan, d, y, x, &norm));
        *largest = fmax(*largest, norm);
    }
cleanup:
    TESS_FREE(plan->ctx, x, y);
    return status;
}

static tess_status update(tess_plan *plan, tess_pc *pc)
{
    /* All parts run the power method together. */
    TESS_TRY(tess_pc_agree(plan, tess_diagonal_update(plan, pc)));
    tess_diagonal *d = pc->state;
    const tess_matrix A = tess_plan_present(plan);
    /* A part does not see its blocks in columns of others. */
    const double bound = plan->device->backend->sum ? HUGE_VAL : row_sum_bound(&A, d);
    double seen, largest;
    TESS_TRY(estimate(plan, d, &seen));
    largest = seen > 0 ? fmin(bound, 1.25 * seen) : bound;
    tess_log(pc->ctx,
             "pc=chebyshev: eigenvalues of D^-1 A up to %.4g (the power method sees %.4g, no row "
             "sum is larger than %.4g)",
             largest, seen, bound);
    if (!(largest > 0) || !isfinite(largest))
        return TESS_OK; /* the method will see what is not finite */
    const tess_type part = tess_real_type(d->type);
    const int64_t count = (int64_t)(d->bytes / tess_type_size(part));
    for (int64_t i = 0; i < count; i++)
        tess_put(d->blocks, part, i, tess_get(d->blocks, part, i) / largest);
    return TESS_OK;
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    TESS_TRY(tess_pc_agree(plan, tess_diagonal_allocate(plan, pc, plan->matrix->block_height)));
    pc->own = (tess_pc_own){.vectors = VECTORS};
    return update(plan, pc);
}

/* left = r - A z, or the same with the transpose. */
static void append_residual(tess_steps *s, int r, int z, int left, bool transpose)
{
    if (transpose)
        tess_step_apply_transpose(s, z, left);
    else
        tess_step_apply(s, z, left);
    tess_step_sum(s, left, 1, TESS_ONE, r, -1, TESS_ONE, left);
}

/* M^-T = D^-T q(A^T D^-T) = q(D^-T A^T) D^-T: the same polynomial. */
static void append(const tess_pc *pc, tess_steps *s, int r, int z, bool transpose)
{
    const int left = pc->own.first_vector + LEFT, d = pc->own.first_vector + D;
    const double low = 1 / span, theta = (1 + low) / 2, delta = (1 - low) / 2;
    double rho = delta / theta;
    tess_step_diagonal_sum(s, pc->state, 1 / theta, r, d, transpose, 0, NULL);
    tess_step_copy(s, z, d);
    for (int i = 1; i < DEGREE; i++) {
        const double next = 1 / (2 * theta / delta - rho);
        append_residual(s, r, z, left, transpose);
        tess_step_diagonal_sum(s, pc->state, 2 * next / delta, left, d, transpose, 1,
                               &(tess_term){next * rho, TESS_ONE, d});
        tess_step_sum(s, z, 1, TESS_ONE, z, 1, TESS_ONE, d);
        rho = next;
    }
}

/* The diagonal is read DEGREE times. Products with A are steps of their own. */
static double bytes(const tess_pc *pc)
{
    return DEGREE * (double)((const tess_diagonal *)pc->state)->bytes;
}

const tess_pc_ops tess_pc_chebyshev = {
    .name = "chebyshev",
    .summary = "a polynomial of degree 3 in A over block-Jacobi: products alone",
    .diagonal = true,
    .symmetric = true,
    .complex = true,
    .square_blocks = true,
    .set_up = set_up,
    .update = update,
    .append = append,
    .bytes = bytes,
    .free = tess_diagonal_free,
};
