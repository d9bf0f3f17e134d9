/* What refinement and arranged solves share: rounds of an inner solver, counted as one solve. */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

double tess_rounds_threshold(const tess_rounds *f)
{
    return fmax(f->solver->options.tol * f->rhs_norm, f->solver->options.atol);
}

/* Inner iterations are counted on, and residuals are those of the outer system. */
static int relay(void *user, int64_t iteration, double residual)
{
    tess_rounds *f = user;
    tess_solver *solver = f->solver;
    if (!solver->callback)
        return 0;
    return solver->callback(solver->callback_user, f->result.iterations + iteration,
                            residual * f->norm / f->rhs_norm);
}

static tess_status append_history(tess_rounds *f, const tess_result *inner)
{
    const double scale = f->norm / f->rhs_norm;
    for (int64_t i = f->result.iterations > 0; i < inner->history_count; i++)
        TESS_TRY(tess_history_put(f->solver, f->result.iterations + i, scale * inner->history[i]));
    return TESS_OK;
}

tess_status tess_rounds_solve(tess_rounds *f, double tol, const void *r, void *d,
                              tess_result *inner)
{
    tess_solver *solver = f->solver->inner;
    solver->options.tol = tol;
    solver->options.max = f->most - f->result.iterations;
    tess_solver_set_callback(solver, f->solver->callback ? relay : NULL, f);
    TESS_TRY(tess_solver_solve(solver, r, d, inner));
    TESS_TRY(append_history(f, inner));
    f->result.iterations += inner->iterations;
    f->result.seconds_spmv += inner->seconds_spmv;
    f->result.seconds_pc += inner->seconds_pc;
    f->result.seconds_dots += inner->seconds_dots;
    f->result.seconds_vectors += inner->seconds_vectors;
    f->result.bytes += inner->bytes;
    return TESS_OK;
}

static double norm_of(const tess_plan *plan, const void *v)
{
    double sum = 0;
    for (int64_t i = 0; i < plan->matrix->rows; i++) {
        const double value = tess_get(v, plan->matrix->type, i);
        sum += value * value;
    }
    return sqrt(sum);
}

static size_t vector_bytes(const tess_plan *plan)
{
    return (size_t)plan->matrix->rows * tess_type_size(plan->matrix->type);
}

tess_status tess_rounds_residual(tess_rounds *f, const void *b, const void *x, void *r,
                                 double *norm)
{
    tess_plan *plan = f->solver->plan;
    const double started = tess_seconds();
    memcpy(r, b, vector_bytes(plan));
    TESS_TRY(tess_spmv(plan, -1, x, 1, r));
    f->result.seconds_spmv += tess_seconds() - started;
    f->result.bytes += tess_matrix_spmv_bytes(plan->matrix);
    *norm = norm_of(plan, r);
    return TESS_OK;
}

tess_status tess_rounds_start(tess_rounds *f, const void *b, void *x, tess_system *end)
{
    const tess_plan *plan = f->solver->plan;
    f->rhs_norm = end->rhs_norm = f->norm = norm_of(plan, b);
    if (!isfinite(f->rhs_norm)) {
        tess_system_end(end, TESS_NOT_FINITE, "the right-hand side has the norm %g", f->rhs_norm);
    } else if (f->rhs_norm == 0) {
        memset(x, 0, vector_bytes(plan));
        tess_system_end(end, TESS_ZERO_RHS, "the right-hand side is 0, and so is x");
    }
    return end->done ? tess_history_put(f->solver, 0, f->rhs_norm) : TESS_OK;
}

tess_status tess_vector_to_host(const tess_plan *plan, const void *vector, void **copy)
{
    const tess_backend *backend = plan->device->backend;
    *copy = NULL;
    if (!backend->owns || !backend->owns(plan->device, vector))
        return TESS_OK;
    TESS_TRY(
        tess_alloc_bytes(plan->ctx, plan->matrix->rows, tess_type_size(plan->matrix->type), copy));
    return backend->memory_copy_from(plan->device, *copy, vector, vector_bytes(plan));
}

void tess_rounds_end(tess_rounds *f, const tess_system *end)
{
    f->result.reason = end->reason;
    memcpy(f->result.text, end->text, sizeof end->text);
}

void tess_rounds_finish(tess_rounds *f, double started, tess_result *result)
{
    f->result.residual = f->result.true_residual = f->rhs_norm > 0 ? f->norm / f->rhs_norm : 0;
    f->result.rhs_norm = f->rhs_norm;
    f->result.seconds = tess_seconds() - started;
    f->result.history = f->solver->history;
    f->result.history_count = f->result.iterations + 1;
    *result = f->result;
}
