/* Residuals that decide whether a system is solved: the lists of steps that compute them where the
 * vectors are, and residuals in extended precision on the host, with what rounding leaves of them.
 * Norms of vectors and of A, whose squares may be beyond the range of double.
 *
 *     r = b - A x
 *     s = |A| |x| + |b|            entry by entry
 *     rounding = epsilon |s|       what |r| may be off by; epsilon of the precision r is summed in
 *     grain = epsilon |s|          what |r| changes by when x is rounded; epsilon of the type of x
 *
 * Where x is so large that b has no digit in the sum, r may come out as 0 though no x solves the
 * system. So a system counts as solved where |r| + rounding is within the tolerance. The bound is
 * by entries: it grows with A and x where they are large in the same row only, so that an x of
 * badly scaled columns is not doubted for the product of two norms.
 */
#include "solve/solve.h"

#include <float.h>

/* Appends the steps that put |b - A x|^2 into slot RR, computed with other roundings: A is
 * multiplied with 3/4 of x. */
static void build_check(tess_steps *s)
{
    const int part = TESS_V_OWN, product = TESS_V_OWN + 1;
    tess_step_combine(s, part, 1, &(tess_term){0.75, TESS_ONE, TESS_V_X});
    tess_step_apply(s, part, product);
    tess_step_sum(s, part, 1, TESS_ONE, TESS_V_B, -1 / 0.75, TESS_ONE, product);
    tess_step_dot(s, TESS_S_RR, part, part);
}

/* Appends the steps that put |r|^2 into slot RR and |A^T r|^2 into slot OWN. */
static void build_normal(tess_steps *s)
{
    tess_step_residual(s, TESS_V_OWN);
    tess_step_dot(s, TESS_S_RR, TESS_V_OWN, TESS_V_OWN);
    tess_step_apply_transpose(s, TESS_V_OWN, TESS_V_OWN + 1);
    tess_step_dot(s, TESS_S_OWN, TESS_V_OWN + 1, TESS_V_OWN + 1);
}

void tess_residual_build(tess_solver *solver)
{
    tess_step_residual(&solver->residual, TESS_V_OWN);
    tess_step_dot(&solver->residual, TESS_S_RR, TESS_V_OWN, TESS_V_OWN);
    build_check(&solver->check);
    if (solver->options.method->least_squares)
        build_normal(&solver->normal);
}

/* Returns the root of the sum of squares, which may be beyond the range of double. */
double tess_norm_wide(const void *v, tess_type scalar, int64_t scalars)
{
    const tess_type type = tess_real_type(scalar);
    const int64_t count = tess_reals(scalar, scalars);
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double value = tess_get(v, type, i);
        if (!isfinite(value))
            return fabs(value);
        largest = fmax(largest, fabs(value));
    }
    const double scale = largest > 1e-100 && largest < 1e100 ? 1 : largest;
    for (int64_t i = 0; i < count && largest > 0; i++) {
        const double value = tess_get(v, type, i) / scale;
        sum += value * value;
    }
    return scale * sqrt(sum);
}

/* A sum in more digits than a double has. Where long double is quadruple precision, each of its
 * operations is a function call. There the sum is two doubles: `high`, and in `low` what rounding
 * took from it. */
#if LDBL_MANT_DIG > 64
typedef struct wide {
    double high, low;
} wide;

static const double wide_epsilon = 0x1p-100;

static wide wide_of(double value)
{
    return (wide){value, 0};
}

/* Returns sum - a b. The errors of the product and of the sum are known exactly (Dekker, Knuth). */
static wide wide_less(wide sum, double a, double b)
{
    const double product = -a * b, lost_in_product = fma(-a, b, -product);
    const double high = sum.high + product, taken = high - sum.high;
    const double lost_in_sum = (sum.high - (high - taken)) + (product - taken);
    return (wide){high, sum.low + (lost_in_product + lost_in_sum)};
}

static double wide_rounded(wide sum)
{
    return isfinite(sum.low) ? sum.high + sum.low : sum.high;
}
#else
typedef long double wide;

static const double wide_epsilon = LDBL_EPSILON;

static wide wide_of(double value)
{
    return value;
}

static wide wide_less(wide sum, double a, double b)
{
    return sum - (long double)a * b;
}

static double wide_rounded(wide sum)
{
    return (double)sum;
}
#endif

/* What all threads share. */
typedef struct residual_of_rows {
    const tess_matrix *A;
    const void *b, *x;
    void *r;
    double *sizes; /* |A| |x| + |b| */
} residual_of_rows;

/* Computes the rows of r = b - A x in a block row. Where the entries of A or x are large against b,
 * a sum in double has no digit left to compare with a tolerance. */
static void residual_of_row(const residual_of_rows *job, int64_t block_row)
{
    const tess_matrix *A = job->A;
    const int64_t height = A->block_height, width = A->block_width;
    for (int64_t i = 0; i < height && block_row * height + i < A->rows; i++) {
        const int64_t row = block_row * height + i;
        const double right = tess_get(job->b, A->type, row);
        wide sum = wide_of(right);
        double size = fabs(right);
        for (int64_t k = A->row_offsets[block_row]; k < A->row_offsets[block_row + 1]; k++)
            for (int64_t j = 0; j < width && A->columns[k] * width + j < A->cols; j++) {
                const double a = tess_matrix_value(A, (k * width + j) * height + i),
                             at = tess_get(job->x, A->type, A->columns[k] * width + j);
                sum = wide_less(sum, a, at);
                size += fabs(a) * fabs(at);
            }
        tess_put(job->r, A->type, row, wide_rounded(sum));
        job->sizes[row] = size;
    }
}

/* The same for complex numbers. */
static void complex_residual_of_row(const residual_of_rows *job, int64_t block_row)
{
    const tess_matrix *A = job->A;
    const int64_t height = A->block_height, width = A->block_width;
    for (int64_t i = 0; i < height && block_row * height + i < A->rows; i++) {
        const int64_t row = block_row * height + i;
        const tess_complex right = tess_get_complex(job->b, A->type, row);
        wide re = wide_of(right.re), im = wide_of(right.im);
        double size = fabs(right.re) + fabs(right.im);
        for (int64_t k = A->row_offsets[block_row]; k < A->row_offsets[block_row + 1]; k++)
            for (int64_t j = 0; j < width && A->columns[k] * width + j < A->cols; j++) {
                const tess_complex a = tess_matrix_complex_value(A, (k * width + j) * height + i);
                const tess_complex at =
                    tess_get_complex(job->x, A->type, A->columns[k] * width + j);
                re = wide_less(wide_less(re, a.re, at.re), -a.im, at.im);
                im = wide_less(wide_less(im, a.re, at.im), a.im, at.re);
                size += (fabs(a.re) + fabs(a.im)) * (fabs(at.re) + fabs(at.im));
            }
        tess_put_complex(job->r, A->type, row, (tess_complex){wide_rounded(re), wide_rounded(im)});
        job->sizes[row] = size;
    }
}

static void residual_of_range(void *arg, tess_range rows)
{
    const residual_of_rows *job = arg;
    const bool complex = tess_is_complex(job->A->type);
    for (int64_t row = rows.first; row < rows.last; row++)
        (complex ? complex_residual_of_row : residual_of_row)(job, row);
}

tess_status tess_residual_wide(tess_plan *plan, const void *b, const void *x, void *r,
                               tess_residual *out)
{
    double *sizes;
    TESS_TRY(tess_plan_host_values(plan));
    const tess_matrix A = tess_plan_present(plan);
    TESS_TRY(TESS_ALLOC(plan->ctx, A.rows, &sizes));
    tess_for(plan->ctx, A.block_rows, residual_of_range, &(residual_of_rows){&A, b, x, r, sizes});
    out->norm = tess_norm_wide(r, A.type, A.rows);
    const double size = tess_norm_wide(sizes, TESS_F64, A.rows);
    out->rounding = wide_epsilon * size;
    out->grain = (tess_real_type(A.type) == TESS_F32 ? FLT_EPSILON : DBL_EPSILON) * size;
    tess_free(plan->ctx, sizes);
    return TESS_OK;
}

static double norm_of_matrix(const tess_matrix *A)
{
    return tess_norm_wide(A->values, A->type, tess_matrix_stored(A));
}

/* Extends the norm to the rows of all parts, with the same bits on each part. */
static tess_status norm_of_parts(tess_plan *plan, double *norm)
{
    const tess_backend *backend = plan->device->backend;
    const double rows = hypot(*norm, norm_of_matrix(backend->outside(plan)));
    double largest = rows;
    TESS_TRY(backend->most(plan, &largest, 1));
    double square = largest > 0 ? (rows / largest) * (rows / largest) : 0;
    TESS_TRY(backend->sum(plan, &square, 1));
    *norm = largest * sqrt(square);
    return TESS_OK;
}

tess_status tess_plan_norm(tess_plan *plan, double *norm)
{
    TESS_TRY(tess_pc_agree(plan, tess_plan_host_values(plan)));
    const tess_matrix A = tess_plan_present(plan);
    *norm = norm_of_matrix(&A);
    return tess_plan_is_part(plan) ? norm_of_parts(plan, norm) : TESS_OK;
}

tess_status tess_vector_to_host(const tess_plan *plan, const void *vector, void **copy)
{
    const tess_backend *backend = plan->device->backend;
    *copy = NULL;
    if (!backend->owns || !backend->owns(plan->device, vector))
        return TESS_OK;
    TESS_TRY(
        tess_alloc_bytes(plan->ctx, plan->matrix->rows, tess_type_size(plan->matrix->type), copy));
    return backend->memory_copy_from(plan->device, *copy, vector,
                                     (size_t)plan->matrix->rows *
                                         tess_type_size(plan->matrix->type));
}

/* Ends a system whose |b|^2 is 0 or nearly so: b is 0, or squares underflow. */
static tess_status end_small(tess_system *system, tess_plan *plan, const void *b)
{
    const tess_matrix *A = plan->matrix;
    void *copy;
    TESS_TRY(tess_vector_to_host(plan, b, &copy));
    double largest =
        tess_largest(copy ? copy : b, tess_real_type(A->type), 0, tess_reals(A->type, A->rows));
    tess_free(plan->ctx, copy);
    if (tess_plan_is_part(plan))
        TESS_TRY(plan->device->backend->sum(plan, &largest, 1));
    system->residual = largest;
    if (largest > 0) {
        tess_system_end(system, TESS_REASON_NOT_FINITE,
                        "|b|^2 underflows, entries are at most %.3g: scale A and b", largest);
        return TESS_OK;
    }
    system->true_residual = 0;
    tess_system_end(system, TESS_REASON_ZERO_RHS, "the right-hand side is 0, and so is x");
    return TESS_OK;
}

tess_status tess_system_rhs_fault(tess_system *system, const tess_plan *plan, const void *b)
{
    const tess_matrix *A = plan->matrix;
    const tess_type type = tess_real_type(A->type);
    double largest = 0;
    void *copy;
    TESS_TRY(tess_vector_to_host(plan, b, &copy));
    for (int64_t i = 0; !system->done && i < tess_reals(A->type, A->rows); i++) {
        const double value = tess_get(copy ? copy : b, type, i);
        largest = fmax(largest, fabs(value));
        if (!isfinite(value))
            tess_system_end(system, TESS_REASON_NOT_FINITE,
                            "the right-hand side is not finite: b[%lld] is %g",
                            (long long)(tess_is_complex(A->type) ? i / 2 : i), value);
    }
    tess_free(plan->ctx, copy);
    if (!system->done && tess_plan_is_part(plan))
        tess_system_end(system, TESS_REASON_NOT_FINITE, "the right-hand side has the norm %g",
                        system->rhs_norm);
    else if (!system->done)
        tess_system_end(system, TESS_REASON_NOT_FINITE,
                        "the square of the right-hand side overflows, entries are up to %.3g: "
                        "scale A and b, or use auto",
                        largest);
    return TESS_OK;
}

tess_status tess_system_check_rhs(tess_system *system, tess_plan *plan, const void *b)
{
    if (system->rhs_norm >= 1e-140 && isfinite(system->rhs_norm))
        return TESS_OK;
    if (isfinite(system->rhs_norm))
        return end_small(system, plan, b);
    system->residual = system->rhs_norm;
    return tess_system_rhs_fault(system, plan, b);
}

tess_status tess_residual_settle(tess_solver *solver, int system, double *norm)
{
    const tess_plan *plan = solver->plan;
    const size_t size = tess_type_size(plan->matrix->type);
    tess_space *space = &solver->space;
    tess_residual residual;
    char *vectors;
    tess_status status;
    if (plan->device->threads == 0 || plan->device->backend->matrix_free || tess_plan_is_part(plan))
        return TESS_OK;
    TESS_TRY(tess_alloc_bytes(solver->ctx, 3 * space->rows, size, (void **)&vectors));
    char *x = vectors, *b = x + (size_t)space->rows * size, *r = b + (size_t)space->rows * size;
    TESS_TRY_CLEAN(space->ops->download(space, TESS_V_X, system, x));
    TESS_TRY_CLEAN(space->ops->download(space, TESS_V_B, system, b));
    TESS_TRY_CLEAN(tess_residual_wide(solver->plan, b, x, r, &residual));
    *norm = residual.norm + residual.rounding;
cleanup:
    tess_free(solver->ctx, vectors);
    return status;
}
