/* Rounds of an inner solver: rounds.h. */
#include "solve/outer/rounds.h"

double tess_rounds_threshold(const tess_rounds *f)
{
    return fmax(f->solver->options.tol * f->rhs_norm, f->solver->options.atol);
}

bool tess_rounds_solved(const tess_rounds *f)
{
    return f->norm + f->rounding <= tess_rounds_threshold(f);
}

double tess_rounds_relative(const tess_rounds *f)
{
    const double norm = tess_rounds_solved(f) ? f->norm : f->norm + f->rounding;
    return f->rhs_norm == 0 ? norm : isfinite(f->rhs_norm) ? norm / f->rhs_norm : f->rhs_norm;
}

void tess_rounds_set(tess_rounds *f, tess_residual residual)
{
    f->norm = residual.norm;
    f->rounding = residual.rounding;
    f->grain = residual.grain;
}

bool tess_rounds_take(tess_rounds *f, tess_residual residual)
{
    if (!(residual.norm + residual.rounding < f->norm + f->rounding))
        return false;
    tess_rounds_set(f, residual);
    return true;
}

/* Passes an inner iteration on: iterations count through all rounds, and residuals are those of the
 * outer system. */
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

static double norm_of(const tess_plan *plan, const void *v)
{
    return tess_norm_wide(v, plan->matrix->type, plan->matrix->rows);
}

static void scale_vector(const tess_plan *plan, int exponent, const void *from, void *to)
{
    const tess_type type = tess_real_type(plan->matrix->type);
    for (int64_t i = 0; i < tess_reals(plan->matrix->type, plan->matrix->rows); i++)
        tess_put(to, type, i, ldexp(tess_get(from, type, i), exponent));
}

/* Solves with r and d scaled where |r|^2 is beyond the range of double: methods square |r|. */
static tess_status solve_in_range(tess_solver *solver, const void *r, void *d, tess_result *inner)
{
    const tess_plan *plan = solver->plan;
    const tess_backend *backend = plan->device->backend;
    if (backend->owns && backend->owns(plan->device, r)) /* of refine.c, which has made |r| = 1 */
        return tess_solver_solve(solver, r, d, inner);
    const double norm = norm_of(plan, r);
    if (!isfinite(norm) || norm == 0 || (norm > 1e-100 && norm < 1e100))
        return tess_solver_solve(solver, r, d, inner);
    int exponent;
    void *multiple;
    (void)frexp(norm, &exponent);
    TESS_TRY(tess_alloc_bytes(plan->ctx, plan->matrix->rows, tess_type_size(plan->matrix->type),
                              &multiple));
    const double atol = solver->options.atol;
    solver->options.atol = ldexp(atol, -exponent);
    scale_vector(plan, -exponent, r, multiple);
    scale_vector(plan, -exponent, d, d);
    const tess_status status = tess_solver_solve(solver, multiple, d, inner);
    scale_vector(plan, exponent, d, d);
    solver->options.atol = atol;
    tess_free(plan->ctx, multiple);
    return status;
}

tess_status tess_rounds_solve(tess_rounds *f, double tol, const void *r, void *d,
                              tess_result *inner)
{
    tess_solver *solver = f->solver->inner;
    solver->options.tol = tol;
    solver->options.max = f->most - f->result.iterations;
    tess_solver_set_callback(solver, f->solver->callback ? relay : NULL, f);
    TESS_TRY(solve_in_range(solver, r, d, inner));
    TESS_TRY(append_history(f, inner));
    f->result.iterations += inner->iterations;
    f->result.seconds_spmv += inner->seconds_spmv;
    f->result.seconds_pc += inner->seconds_pc;
    f->result.seconds_dots += inner->seconds_dots;
    f->result.seconds_vectors += inner->seconds_vectors;
    f->result.bytes += inner->bytes;
    return TESS_OK;
}

static size_t vector_bytes(const tess_plan *plan)
{
    return (size_t)plan->matrix->rows * tess_type_size(plan->matrix->type);
}

tess_status tess_rounds_residual(tess_rounds *f, const void *b, const void *x, void *r,
                                 tess_residual *out)
{
    const double started = tess_seconds();
    TESS_TRY(tess_residual_wide(f->solver->plan, b, x, r, out));
    f->result.seconds_spmv += tess_seconds() - started;
    f->result.bytes += tess_matrix_spmv_bytes(f->solver->plan->matrix);
    return TESS_OK;
}

/* Computes |A^T r| / (|A| |r|). */
static tess_status find_normal(const tess_rounds *f, const void *r, double *normal)
{
    tess_plan *plan = f->solver->plan;
    double norm;
    void *product;
    TESS_TRY(tess_plan_norm(plan, &norm));
    TESS_TRY(tess_alloc_bytes(plan->ctx, plan->matrix->cols, tess_type_size(plan->matrix->type),
                              &product));
    const tess_status status =
        tess_is_complex(plan->matrix->type)
            ? tess_spmv_complex(plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, (tess_complex){1, 0}, r,
                                (tess_complex){0, 0}, product)
            : tess_spmv_transpose(plan, 1, r, 0, product);
    const double scale = norm * norm_of(plan, r);
    *normal = scale > 0 ? norm_of(plan, product) / scale : 0;
    tess_free(plan->ctx, product);
    return status;
}

tess_status tess_rounds_least(tess_rounds *f, const void *r, tess_system *end)
{
    double *normal = &f->result.normal_residual;
    TESS_TRY(find_normal(f, r, normal));
    if (tess_is_least(f->solver->plan->matrix->type, *normal, f->norm / f->rhs_norm, false))
        tess_system_least(end, f->norm, *normal, f->result.iterations);
    else
        tess_system_end(end, TESS_REASON_STAGNATED,
                        "|A'r| stays at %.3g |A||r|, |b - Ax|/|b| at %.3g after %lld iteration%s",
                        *normal, tess_rounds_relative(f), (long long)f->result.iterations,
                        tess_plural(f->result.iterations));
    return TESS_OK;
}

tess_status tess_rounds_start(tess_rounds *f, const void *b, void *x, tess_system *end)
{
    const tess_plan *plan = f->solver->plan;
    f->rhs_norm = end->rhs_norm = f->norm = norm_of(plan, b);
    if (!isfinite(f->rhs_norm)) {
        TESS_TRY(tess_system_rhs_fault(end, plan, b));
    } else if (f->rhs_norm == 0) {
        memset(x, 0, vector_bytes(plan));
        tess_system_end(end, TESS_REASON_ZERO_RHS, "the right-hand side is 0, and so is x");
    }
    return end->done ? tess_history_put(f->solver, 0, f->rhs_norm) : TESS_OK;
}

/* Returns whether the plan was made, or failed for a reason that other options do not mend. */
static bool is_settled(tess_status status)
{
    return status == TESS_OK || status == TESS_ERR_MEMORY;
}

tess_status tess_inner_plan(const tess_solver *solver, const tess_matrix *A,
                            const tess_plan_options *options, tess_plan **out)
{
    const tess_plan *plan = solver->plan;
    const tess_kept_error kept = tess_error_keep(solver->ctx);
    tess_plan_options like = {
        .format = plan->format, .kernel = plan->kernel, .params = plan->params};
    if (!plan->named)
        return tess_plan_create(solver->ctx, A, plan->device, options, out);
    tess_status status = tess_plan_create(solver->ctx, A, plan->device, &like, out);
    if (is_settled(status))
        return status;
    like = (tess_plan_options){.effort = TESS_EFFORT_ESTIMATE, .format = plan->format};
    status = tess_plan_create(solver->ctx, A, plan->device, &like, out);
    if (!is_settled(status))
        status = tess_plan_create(solver->ctx, A, plan->device, options, out);
    if (status == TESS_OK) {
        tess_log(solver->ctx, "solver: kernel=%s does not fit the inner matrix, %s does (%s)",
                 plan->kernel, (*out)->kernel, tess_ctx_error(solver->ctx));
        tess_error_restore(solver->ctx, &kept);
    }
    return status;
}

void tess_inner_close(tess_solver *solver)
{
    tess_solver_destroy(solver->inner);
    tess_plan_destroy(solver->inner_plan);
    tess_matrix_destroy(solver->inner_matrix);
}

tess_status tess_inner_update(tess_solver *solver)
{
    TESS_TRY(tess_plan_update_values(solver->inner_plan, solver->inner_matrix->values));
    return tess_solver_update(solver->inner, NULL);
}

void tess_rounds_end(tess_rounds *f, const tess_system *end)
{
    f->result.reason = end->reason;
    memcpy(f->result.text, end->text, sizeof end->text);
}

void tess_rounds_finish(tess_rounds *f, double started, tess_result *result)
{
    f->result.residual = f->result.true_residual = tess_rounds_relative(f);
    f->result.rhs_norm = f->rhs_norm;
    f->result.seconds = tess_seconds() - started;
    f->result.history = f->solver->history;
    f->result.history_count = f->result.iterations + 1;
    *result = f->result;
}
