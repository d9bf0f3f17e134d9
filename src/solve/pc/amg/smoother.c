/* Smoothers that are preconditioners M of a level, applied to its residual.
 *
 *     gs     M = (D + L) D^-1 (D + U): a sweep of block Gauss-Seidel forwards, then one backwards
 *     ilu0   M = L U in the pattern of A
 *
 * Both are symmetric where A is, so the same M before and after the coarse level keeps the cycle
 * symmetric. A cycle converges where all eigenvalues of M^-1 A are below 2. Factors of domains, and
 * ILU(0) of a matrix that is no M-matrix, may lead to larger eigenvalues. The factors are then made
 * of a multiple of A, which multiplies M and divides the eigenvalues.
 */
#include "solve/pc/amg/amg.h"

#include "solve/pc/factors/factors.h"

enum { POWER_STEPS = 12, DOMAIN_LEAST = 64 };
/* The largest eigenvalue of M^-1 A that is allowed, and the factor on its estimate, which is too
 * small. */
static const double most = 1.5, beyond = 1.1;

/* x = x / |x|; returns |x|. */
static double normalise(void *x, tess_type type, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += tess_get(x, type, i) * tess_get(x, type, i);
    const double norm = sqrt(square);
    for (int64_t i = 0; i < n && norm > 0; i++)
        tess_put(x, type, i, tess_get(x, type, i) / norm);
    return norm;
}

/* Estimates the largest eigenvalue of M^-1 A by the power method. */
static tess_status estimate(const tess_pc *smoother, tess_plan *plan, double *largest)
{
    const tess_matrix *A = plan->matrix;
    const int64_t n = A->block_rows * A->block_height;
    const size_t size = tess_type_size(A->type);
    void *x;
    TESS_TRY(tess_calloc_bytes(plan->ctx, 2 * n, size, &x));
    void *y = (char *)x + (size_t)n * size;
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < A->rows; i++)
        tess_put(x, A->type, i, tess_random_unit(11, (uint64_t)i));
    *largest = 0;
    (void)normalise(x, A->type, A->rows);
    for (int step = 0; step < POWER_STEPS && status == TESS_OK; step++) {
        status = tess_spmv(plan, 1, x, 0, y);
        smoother->ops->apply(smoother, false, y, x);
        const double norm = normalise(x, A->type, A->rows);
        *largest = norm;
        if (!isfinite(norm) || norm == 0)
            break;
    }
    tess_free(plan->ctx, x);
    return status;
}

/* Computes the factors of `factor` times A. */
static tess_status compute_scaled(tess_pc *smoother, const tess_plan *plan, double factor)
{
    tess_matrix A = tess_plan_present(plan);
    const int64_t stored = tess_matrix_stored(&A);
    const void *from = A.values;
    TESS_TRY(tess_alloc_bytes(plan->ctx, stored, tess_type_size(A.type), &A.values));
    for (int64_t i = 0; i < stored; i++)
        tess_put(A.values, A.type, i, factor * tess_get(from, A.type, i));
    const tess_status status = tess_triangular_compute(smoother, &A);
    tess_free(plan->ctx, A.values);
    return status;
}

static tess_status limit(tess_pc *smoother, tess_plan *plan)
{
    double largest;
    TESS_TRY(estimate(smoother, plan, &largest));
    const double factor = beyond * largest / most;
    if (!isfinite(factor) || factor <= 1)
        return TESS_OK;
    TESS_TRY(tess_plan_host_values(plan));
    return compute_scaled(smoother, plan, factor);
}

tess_status tess_amg_smoother_of(const tess_pc *pc, const tess_amg *amg, tess_amg_level *level)
{
    tess_pc *smoother = &level->smoother;
    if (smoother->state) {
        TESS_TRY(tess_pc_update_values(level->plan, smoother));
        return limit(smoother, level->plan);
    }
    const int64_t wanted = pc->options.domains > 0 ? pc->options.domains : pc->threads;
    const tess_pc_options options = {
        .ops = &amg->sweep,
        .schedule = pc->options.schedule,
        .domains = tess_max(1, tess_min(wanted, level->A->block_rows / DOMAIN_LEAST)),
        .positive = amg->symmetric,
        .omega = 1,
    };
    TESS_TRY(tess_pc_set_up(level->plan, &options, smoother));
    return limit(smoother, level->plan);
}
