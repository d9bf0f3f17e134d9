/* Refinement: the method runs in single precision, where everything moves half the bytes, and its
 * corrections are added up in double.
 *
 *     r = b - A x                   double
 *     A d = r / |r|                 the inner solver, single, to a modest tolerance
 *     x = x + |r| d                 double
 *
 * Each round gains the inner tolerance until the accuracy of double is reached; the price is that
 * the method begins anew in each round. All vectors are in the device's memory, where it has its
 * own.
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
    const double *b;
    double *x, *r;
    float *single_r, *d;
    void *memory[5]; /* what of these is ours */
    int taken;
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

/* ---- Vectors ---- */

static const tess_backend *backend_of(const refinement *f)
{
    return f->solver->plan->device->backend;
}

/* A vector where the device computes. */
static tess_status take(refinement *f, tess_type type, void *out)
{
    const tess_plan *plan = f->solver->plan;
    const int64_t n = plan->matrix->rows;
    void **slot = &f->memory[f->taken];
    if (backend_of(f)->memory_alloc)
        TESS_TRY(backend_of(f)->memory_alloc(plan->device, (size_t)n * tess_type_size(type), slot));
    else
        TESS_TRY(tess_alloc_bytes(plan->ctx, n, tess_type_size(type), slot));
    f->taken++;
    memcpy(out, slot, sizeof *slot);
    return TESS_OK;
}

static void give_back(refinement *f)
{
    while (f->taken > 0) {
        void *pointer = f->memory[--f->taken];
        if (backend_of(f)->memory_free)
            backend_of(f)->memory_free(f->solver->plan->device, pointer);
        else
            tess_free(f->solver->ctx, pointer);
    }
}

/* r = b. */
static tess_status copy_b(refinement *f)
{
    const int64_t n = f->solver->plan->matrix->rows;
    if (backend_of(f)->memory_convert)
        return backend_of(f)->memory_convert(f->solver->plan, n, 1, f->b, TESS_F64, false, f->r,
                                             TESS_F64);
    if (n > 0)
        memcpy(f->r, f->b, (size_t)n * sizeof *f->r);
    return TESS_OK;
}

/* The inner system: single_r = r / |r|, d = 0. The inner plan, which reads them, makes them. */
static tess_status set_inner(refinement *f)
{
    tess_plan *plan = f->solver->inner_plan;
    const int64_t n = plan->matrix->rows;
    if (backend_of(f)->memory_convert) {
        TESS_TRY(backend_of(f)->memory_convert(plan, n, 1 / f->norm, f->r, TESS_F64, false,
                                               f->single_r, TESS_F32));
        return backend_of(f)->memory_convert(plan, n, 0, f->r, TESS_F64, false, f->d, TESS_F32);
    }
#pragma omp parallel for schedule(static) num_threads(plan->ctx->threads)
    for (int64_t i = 0; i < n; i++) {
        f->single_r[i] = (float)(f->r[i] / f->norm);
        f->d[i] = 0;
    }
    return TESS_OK;
}

/* x = x + |r| d. */
static tess_status add_correction(refinement *f)
{
    tess_plan *plan = f->solver->plan;
    const int64_t n = plan->matrix->rows;
    if (backend_of(f)->memory_convert)
        return backend_of(f)->memory_convert(plan, n, f->norm, f->d, TESS_F32, true, f->x,
                                             TESS_F64);
#pragma omp parallel for schedule(static) num_threads(plan->ctx->threads)
    for (int64_t i = 0; i < n; i++)
        f->x[i] += f->norm * (double)f->d[i];
    return TESS_OK;
}

/* Where the device has memory of its own, b and x of the host are copied there. */
static tess_status take_vectors(refinement *f, const double *b, const double *x)
{
    tess_device *device = f->solver->plan->device;
    const size_t bytes = (size_t)f->solver->plan->matrix->rows * sizeof *b;
    TESS_TRY(take(f, TESS_F64, &f->r));
    TESS_TRY(take(f, TESS_F32, &f->single_r));
    TESS_TRY(take(f, TESS_F32, &f->d));
    if (backend_of(f)->owns && !backend_of(f)->owns(device, b)) {
        TESS_TRY(take(f, TESS_F64, &f->b));
        TESS_TRY(backend_of(f)->memory_copy_to(device, (void *)(uintptr_t)f->b, b, bytes));
    }
    if (backend_of(f)->owns && !backend_of(f)->owns(device, x)) {
        TESS_TRY(take(f, TESS_F64, &f->x));
        TESS_TRY(backend_of(f)->memory_copy_to(device, f->x, x, bytes));
    }
    return TESS_OK;
}

/* |b| by itself: what A and x hold does not enter. */
static tess_status find_rhs_norm(refinement *f)
{
    double bb = 0;
    TESS_TRY(backend_of(f)->dot(f->solver->plan, f->b, f->b, &bb));
    f->rhs_norm = sqrt(bb);
    return TESS_OK;
}

/* r = b - A x and its norm. */
static tess_status find_residual(refinement *f)
{
    double rr = 0;
    const double started = tess_seconds();
    TESS_TRY(copy_b(f));
    TESS_TRY(tess_spmv_dot(f->solver->plan, -1, f->x, 1, f->r, NULL, &rr));
    f->result.seconds_spmv += tess_seconds() - started;
    f->result.bytes += tess_matrix_spmv_bytes(f->solver->plan->matrix);
    f->norm = sqrt(rr);
    return TESS_OK;
}

/* ---- Rounds ---- */

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
static tess_status correct(refinement *f, tess_result *inner)
{
    TESS_TRY(set_inner(f));
    tess_solver *solver = f->solver->inner;
    const double threshold = fmax(f->solver->options.tol * f->rhs_norm, f->solver->options.atol);
    solver->options.tol = fmax(inner_tol, 0.5 * threshold / f->norm);
    solver->options.max = f->solver->options.max - f->result.iterations;
    tess_solver_set_callback(solver, relay, f);
    TESS_TRY(tess_solver_solve(solver, f->single_r, f->d, inner));
    TESS_TRY(add_correction(f));
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
static tess_status refine(refinement *f)
{
    const tess_solve_options *options = &f->solver->options;
    tess_system end = {.rhs_norm = f->rhs_norm};
    TESS_TRY(find_residual(f));
    TESS_TRY(tess_history_put(f->solver, 0, f->norm / f->rhs_norm));
    while (!end.done) {
        const double before = f->norm;
        tess_result inner;
        if (!isfinite(f->norm)) {
            tess_system_end(&end, TESS_NOT_FINITE, "b - Ax is not finite at iteration %lld",
                            (long long)f->result.iterations);
            break;
        }
        if (f->norm <= fmax(options->tol * f->rhs_norm, options->atol)) {
            tess_system_converged(&end, f->norm, f->result.iterations);
            break;
        }
        TESS_TRY(correct(f, &inner));
        TESS_TRY(find_residual(f));
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

/* The solution for the right-hand side 0. */
static tess_status solve_zero(refinement *f)
{
    tess_system end = {0};
    tess_plan *plan = f->solver->plan;
    const int64_t n = plan->matrix->rows;
    if (backend_of(f)->memory_convert) {
        TESS_TRY(backend_of(f)->memory_convert(plan, n, 1, f->b, TESS_F64, false, f->x, TESS_F64));
        TESS_TRY(backend_of(f)->synchronize(plan->device));
    } else if (n > 0) {
        memset(f->x, 0, (size_t)n * sizeof *f->x);
    }
    TESS_TRY(tess_history_put(f->solver, 0, 0));
    tess_system_end(&end, TESS_ZERO_RHS, "the right-hand side is 0, and so is x");
    f->result.reason = end.reason;
    memcpy(f->result.text, end.text, sizeof end.text);
    return TESS_OK;
}

tess_status tess_refine_solve(tess_solver *solver, const double *b, double *x, tess_result *result)
{
    tess_device *device = solver->plan->device;
    const double started = tess_seconds();
    refinement f = {.solver = solver, .b = b, .x = x};
    tess_status status;
    TESS_TRY_CLEAN(take_vectors(&f, b, x));
    TESS_TRY_CLEAN(find_rhs_norm(&f));
    if (f.rhs_norm == 0)
        TESS_TRY_CLEAN(solve_zero(&f));
    else
        TESS_TRY_CLEAN(refine(&f));
    if (f.x != x)
        TESS_TRY_CLEAN(device->backend->memory_copy_from(
            device, x, f.x, (size_t)solver->plan->matrix->rows * sizeof *x));
    f.result.residual = f.result.true_residual = f.rhs_norm > 0 ? f.norm / f.rhs_norm : 0;
    f.result.rhs_norm = f.rhs_norm;
    f.result.seconds = tess_seconds() - started;
    f.result.history = solver->history;
    f.result.history_count = f.result.iterations + 1;
    *result = f.result;
cleanup:
    give_back(&f);
    return status;
}
