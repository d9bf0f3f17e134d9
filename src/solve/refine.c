/* Refinement: the method runs in single precision, where everything moves half the bytes, and its
 * corrections are added up in double.
 *
 *     r = b - A x                   double
 *     A d = r / |r|                 the inner solver, single, to a modest tolerance
 *     x = x + |r| d                 double
 *
 * Each round gains the inner tolerance until the accuracy of double is reached; the price is that
 * the method begins anew in each round.
 */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

/* What a round should gain: as much as single precision gives without pain. The last round gains no
 * more than is needed. */
static const double inner_tol = 1e-5;

/* One solve with refinement under way. */
typedef struct refinement {
    tess_solver *solver;
    double *r;
    float *single_r, *d;
    tess_result result;
    double rhs_norm, norm; /* |b|, |r| now */
} refinement;

/* The values of the plan as of now, in single precision. */
static tess_status copy_values(tess_solver *solver)
{
    if (solver->plan->device->backend->host_values)
        TESS_TRY(solver->plan->device->backend->host_values(solver->plan));
    const double *from = solver->plan->values;
    float *to = solver->inner_matrix->values;
    const int64_t count = tess_matrix_stored(solver->inner_matrix);
#pragma omp parallel for schedule(static) num_threads(solver->ctx->threads)
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)from[i];
    return TESS_OK;
}

tess_status tess_refine_open(tess_solver *solver)
{
    tess_plan *plan = solver->plan;
    if (plan->matrix->type != TESS_F64)
        return tess_fail(solver->ctx, TESS_ERR_UNSUPPORTED,
                         "inner=f32 needs a matrix of f64, and this is f32 already");
    TESS_TRY(tess_matrix_to_type(solver->ctx, plan->matrix, TESS_F32, &solver->inner_matrix));
    TESS_TRY(copy_values(solver));
    TESS_TRY(tess_plan_create(solver->ctx, solver->inner_matrix, plan->device, NULL,
                              &solver->inner_plan));
    tess_solve_options inner = solver->options;
    inner.inner_single = false;
    inner.trusting = true;
    inner.tol = inner_tol;
    inner.atol = 0;
    return tess_solver_open(solver->inner_plan, &inner, &solver->inner);
}

void tess_refine_close(tess_solver *solver)
{
    tess_solver_destroy(solver->inner);
    tess_plan_destroy(solver->inner_plan);
    tess_matrix_destroy(solver->inner_matrix);
}

tess_status tess_refine_refresh(tess_solver *solver)
{
    TESS_TRY(copy_values(solver));
    TESS_TRY(tess_plan_update_values(solver->inner_plan, solver->inner_matrix->values));
    return tess_solver_refresh(solver->inner);
}

static double norm_of(const double *r, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += r[i] * r[i];
    return sqrt(sum);
}

/* r = b - A x and its norm. */
static tess_status find_residual(refinement *f, const double *b, const double *x)
{
    const int64_t n = f->solver->plan->matrix->rows;
    const double started = tess_seconds();
    if (n > 0)
        memcpy(f->r, b, (size_t)n * sizeof *b);
    TESS_TRY(tess_spmv(f->solver->plan, -1, x, 1, f->r));
    f->result.seconds_spmv += tess_seconds() - started;
    f->result.bytes += tess_matrix_spmv_bytes(f->solver->plan->matrix);
    f->norm = norm_of(f->r, n);
    return TESS_OK;
}

/* Inner iterations are counted on, and residuals are those of the system in double. */
static int relay(void *user, int64_t iteration, double residual)
{
    refinement *f = user;
    tess_solver *solver = f->solver;
    if (!solver->callback)
        return 0;
    return solver->callback(solver->callback_user, f->result.iterations + iteration,
                            residual * f->norm / f->rhs_norm);
}

static tess_status append_history(refinement *f, const tess_result *inner)
{
    const double scale = f->norm / f->rhs_norm;
    for (int64_t i = f->result.iterations > 0; i < inner->history_count; i++)
        TESS_TRY(tess_history_put(f->solver, f->result.iterations + i, scale * inner->history[i]));
    return TESS_OK;
}

/* One correction of x. */
static tess_status correct(refinement *f, double *x, tess_result *inner)
{
    const int64_t n = f->solver->plan->matrix->rows;
    for (int64_t i = 0; i < n; i++) {
        f->single_r[i] = (float)(f->r[i] / f->norm);
        f->d[i] = 0;
    }
    tess_solver *solver = f->solver->inner;
    const double threshold = fmax(f->solver->options.tol * f->rhs_norm, f->solver->options.atol);
    solver->options.tol = fmax(inner_tol, 0.5 * threshold / f->norm);
    solver->options.max = f->solver->options.max - f->result.iterations;
    tess_solver_set_callback(solver, relay, f);
    TESS_TRY(tess_solver_solve(solver, f->single_r, f->d, inner));
    for (int64_t i = 0; i < n; i++)
        x[i] += f->norm * (double)f->d[i];
    TESS_TRY(append_history(f, inner));
    f->result.iterations += inner->iterations;
    f->result.seconds_spmv += inner->seconds_spmv;
    f->result.seconds_pc += inner->seconds_pc;
    f->result.seconds_dots += inner->seconds_dots;
    f->result.seconds_vectors += inner->seconds_vectors;
    f->result.bytes += inner->bytes;
    return TESS_OK;
}

/* Rounds until the residual is small, or no longer falls. */
static tess_status refine(refinement *f, const double *b, double *x)
{
    const tess_solve_options *options = &f->solver->options;
    tess_system end = {.rhs_norm = f->rhs_norm};
    TESS_TRY(find_residual(f, b, x));
    TESS_TRY(tess_history_put(f->solver, 0, f->norm / f->rhs_norm));
    while (!end.done) {
        const double relative = f->norm / f->rhs_norm, before = f->norm;
        const long long at = (long long)f->result.iterations;
        tess_result inner;
        if (!isfinite(f->norm)) {
            tess_system_end(&end, TESS_NOT_FINITE, "b - Ax is not finite at iteration %lld", at);
            break;
        }
        if (f->norm <= fmax(options->tol * f->rhs_norm, options->atol)) {
            tess_system_end(&end, TESS_CONVERGED, "|b - Ax|/|b| = %.3g after %lld iterations",
                            relative, at);
            break;
        }
        TESS_TRY(correct(f, x, &inner));
        TESS_TRY(find_residual(f, b, x));
        if (inner.reason == TESS_CANCELLED || inner.reason == TESS_ITERATION_LIMIT)
            tess_system_end(&end, inner.reason, "%s at |b - Ax|/|b| = %.3g after %lld iterations",
                            inner.reason == TESS_CANCELLED ? "stopped by the callback"
                                                           : "the most iterations allowed",
                            f->norm / f->rhs_norm, (long long)f->result.iterations);
        else if (!(f->norm < 0.5 * before) && inner.reason != TESS_CONVERGED)
            tess_system_end(&end, inner.reason, "in single precision: %s", inner.text);
        else if (!(f->norm < 0.5 * before))
            tess_system_end(&end, TESS_STAGNATED,
                            "|b - Ax|/|b| stays at %.3g after %lld iterations",
                            f->norm / f->rhs_norm, (long long)f->result.iterations);
    }
    f->result.reason = end.reason;
    memcpy(f->result.text, end.text, sizeof end.text);
    return TESS_OK;
}

tess_status tess_refine_solve(tess_solver *solver, const double *b, double *x, tess_result *result)
{
    const int64_t n = solver->plan->matrix->rows;
    const double started = tess_seconds();
    refinement f = {.solver = solver, .rhs_norm = norm_of(b, n)};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(solver->ctx, n, &f.r));
    TESS_TRY_CLEAN(TESS_ALLOC(solver->ctx, n, &f.single_r));
    TESS_TRY_CLEAN(TESS_ALLOC(solver->ctx, n, &f.d));
    if (f.rhs_norm == 0) {
        tess_system end = {0};
        if (n > 0)
            memset(x, 0, (size_t)n * sizeof *x);
        TESS_TRY_CLEAN(tess_history_put(solver, 0, 0));
        tess_system_end(&end, TESS_ZERO_RHS, "the right-hand side is 0, and so is x");
        f.result.reason = end.reason;
        memcpy(f.result.text, end.text, sizeof end.text);
    } else {
        TESS_TRY_CLEAN(refine(&f, b, x));
    }
    f.result.residual = f.result.true_residual = f.rhs_norm > 0 ? f.norm / f.rhs_norm : 0;
    f.result.rhs_norm = f.rhs_norm;
    f.result.seconds = tess_seconds() - started;
    f.result.history = solver->history;
    f.result.history_count = f.result.iterations + 1;
    *result = f.result;
cleanup:
    tess_free(solver->ctx, f.r);
    tess_free(solver->ctx, f.single_r);
    tess_free(solver->ctx, f.d);
    return status;
}
