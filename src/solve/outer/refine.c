/* Refinement: the method runs in single precision, where everything moves half the bytes, and its
 * corrections are added up in double.
 *
 *     r = b - A x                   double
 *     A d = r / |r|                 the inner solver, single, to a modest tolerance
 *     x = x + |r| d                 double
 *
 * Each round reduces the residual by the inner tolerance, until the accuracy of double is reached.
 * The price: the method begins anew in each round. All vectors are in device memory, where the
 * device has memory of its own.
 */
#include "solve/outer/rounds.h"

/* The factor by which a round should reduce the residual: what single precision reaches easily. The
 * last round reduces it by no more than is needed. */
static const double inner_tol = 1e-5;

/* One solve with refinement under way. */
typedef struct refinement {
    tess_rounds rounds;
    const double *b;
    double *x, *r;
    double *other; /* x before a correction; in the last check A times 3/4 x */
    float *single_r, *d;
    double step;     /* of the correction d in x */
    void *memory[6]; /* the vectors above that are to be freed */
    int taken;
} refinement;

/* Copies the plan's present values in single precision. */
static tess_status copy_values(tess_solver *solver)
{
    TESS_TRY(tess_plan_host_values(solver->plan));
    tess_narrow(solver->ctx, solver->plan->values, solver->inner_matrix->values,
                tess_matrix_stored(solver->inner_matrix));
    return TESS_OK;
}

static tess_status open(tess_solver *solver)
{
    tess_plan *plan = solver->plan;
    if (plan->matrix->type != TESS_F64)
        return tess_fail(solver->ctx, TESS_ERR_UNSUPPORTED,
                         "inner=f32 needs a matrix of f64, and this is f32 already");
    TESS_TRY(tess_matrix_to_type(solver->ctx, plan->matrix, TESS_F32, &solver->inner_matrix));
    TESS_TRY(copy_values(solver));
    TESS_TRY(tess_inner_plan(solver, solver->inner_matrix, NULL, &solver->inner_plan));
    tess_solve_options inner = solver->options;
    inner.inner_single = false;
    inner.trusting = true;
    inner.tol = inner_tol;
    inner.atol = 0;
    return tess_solver_open(solver->inner_plan, &inner, &solver->inner);
}

static tess_status update(tess_solver *solver)
{
    TESS_TRY(copy_values(solver));
    return tess_inner_update(solver);
}

/* ---- Vectors ---- */

static const tess_backend *backend_of(const refinement *f)
{
    return f->rounds.solver->plan->device->backend;
}

/* Allocates a vector in the memory that the device computes in. */
static tess_status take(refinement *f, tess_type type, void *out)
{
    const tess_plan *plan = f->rounds.solver->plan;
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
            backend_of(f)->memory_free(f->rounds.solver->plan->device, pointer);
        else
            tess_free(f->rounds.solver->ctx, pointer);
    }
}

static tess_status copy(refinement *f, const double *from, double *to)
{
    const int64_t n = f->rounds.solver->plan->matrix->rows;
    if (backend_of(f)->memory_convert)
        return backend_of(f)->memory_convert(f->rounds.solver->plan, n, 1, from, TESS_F64, false,
                                             to, TESS_F64);
    if (n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
    return TESS_OK;
}

static void scale_residual(void *arg, tess_range range)
{
    refinement *f = arg;
    for (int64_t i = range.first; i < range.last; i++) {
        f->single_r[i] = (float)(f->r[i] / f->rounds.norm);
        f->d[i] = 0;
    }
}

/* Sets up the inner system: single_r = r / |r|, d = 0. The inner plan computes both, as it also
 * reads them. */
static tess_status set_inner(refinement *f)
{
    tess_plan *plan = f->rounds.solver->inner_plan;
    const int64_t n = plan->matrix->rows;
    if (backend_of(f)->memory_convert) {
        TESS_TRY(backend_of(f)->memory_convert(plan, n, 1 / f->rounds.norm, f->r, TESS_F64, false,
                                               f->single_r, TESS_F32));
        return backend_of(f)->memory_convert(plan, n, 0, f->r, TESS_F64, false, f->d, TESS_F32);
    }
    tess_for(plan->ctx, n, scale_residual, f);
    return TESS_OK;
}

static void add_scaled(void *arg, tess_range range)
{
    refinement *f = arg;
    for (int64_t i = range.first; i < range.last; i++)
        f->x[i] += f->step * (double)f->d[i];
}

/* x = x + step d; x as it was is kept. */
static tess_status add_correction(refinement *f, double step)
{
    tess_plan *plan = f->rounds.solver->plan;
    const int64_t n = plan->matrix->rows;
    TESS_TRY(copy(f, f->x, f->other));
    if (backend_of(f)->memory_convert)
        return backend_of(f)->memory_convert(plan, n, step, f->d, TESS_F32, true, f->x, TESS_F64);
    f->step = step;
    tess_for(plan->ctx, n, add_scaled, f);
    return TESS_OK;
}

static void scale_x(void *arg, tess_range range)
{
    refinement *f = arg;
    for (int64_t i = range.first; i < range.last; i++)
        f->r[i] = 0.75 * f->x[i];
}

static void subtract_product(void *arg, tess_range range)
{
    refinement *f = arg;
    for (int64_t i = range.first; i < range.last; i++)
        f->r[i] = f->b[i] - f->other[i] / 0.75;
}

/* r = 3/4 x, or r = b - other / (3/4). */
static tess_status fill_r(refinement *f, bool from_x)
{
    tess_plan *plan = f->rounds.solver->plan;
    const int64_t n = plan->matrix->rows;
    if (!backend_of(f)->memory_convert) {
        tess_for(plan->ctx, n, from_x ? scale_x : subtract_product, f);
        return TESS_OK;
    }
    if (from_x)
        return backend_of(f)->memory_convert(plan, n, 0.75, f->x, TESS_F64, false, f->r, TESS_F64);
    TESS_TRY(copy(f, f->b, f->r));
    return backend_of(f)->memory_convert(plan, n, -1 / 0.75, f->other, TESS_F64, true, f->r,
                                         TESS_F64);
}

/* Allocates the vectors. Where the device has memory of its own, b and x of the host are copied to
 * it. */
static tess_status take_vectors(refinement *f)
{
    const double *b = f->b, *x = f->x;
    tess_device *device = f->rounds.solver->plan->device;
    const size_t bytes = (size_t)f->rounds.solver->plan->matrix->rows * sizeof *b;
    TESS_TRY(take(f, TESS_F64, &f->r));
    TESS_TRY(take(f, TESS_F64, &f->other));
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

/* Computes |b| by itself: the values of A and x do not enter. */
static tess_status find_rhs_norm(refinement *f)
{
    double bb = 0;
    TESS_TRY(backend_of(f)->dot(f->rounds.solver->plan, f->b, f->b, &bb));
    f->rounds.rhs_norm = sqrt(bb);
    return TESS_OK;
}

/* r = b - A x and its norm. */
static tess_status find_residual(refinement *f)
{
    double rr = 0;
    const double started = tess_seconds();
    TESS_TRY(copy(f, f->b, f->r));
    TESS_TRY(tess_spmv_dot(f->rounds.solver->plan, -1, f->x, 1, f->r, NULL, &rr));
    f->rounds.result.seconds_spmv += tess_seconds() - started;
    f->rounds.result.bytes += tess_matrix_spmv_bytes(f->rounds.solver->plan->matrix);
    f->rounds.norm = sqrt(rr);
    return TESS_OK;
}

/* Sets *same to whether |b - A x| is within the tolerance also with other roundings: those of 3/4
 * x. Where x is too large for its residual to be known, it is not. */
static tess_status check_residual(refinement *f, bool *same)
{
    double rr = 0;
    tess_plan *plan = f->rounds.solver->plan;
    TESS_TRY(fill_r(f, true));
    TESS_TRY(tess_spmv(plan, 1, f->r, 0, f->other));
    TESS_TRY(fill_r(f, false));
    TESS_TRY(backend_of(f)->dot(plan, f->r, f->r, &rr));
    *same = sqrt(rr) <= 2 * tess_rounds_threshold(&f->rounds);
    return TESS_OK;
}

/* Ends the rounds at an x that solves the system, as far as rounding lets that be known. */
static tess_status conclude(refinement *f, tess_system *end)
{
    bool same;
    TESS_TRY(check_residual(f, &same));
    if (same)
        tess_system_converged(end, f->rounds.norm, f->rounds.result.iterations);
    else
        tess_system_end(end, TESS_REASON_STAGNATED,
                        "|b - Ax|/|b| = %.3g is less than its rounding errors: x is too large",
                        f->rounds.norm / f->rounds.rhs_norm);
    return TESS_OK;
}

/* ---- Rounds ---- */

/* One correction of x. */
static tess_status correct(refinement *f, tess_result *inner)
{
    TESS_TRY(set_inner(f));
    const double tol = fmax(inner_tol, 0.5 * tess_rounds_threshold(&f->rounds) / f->rounds.norm);
    TESS_TRY(tess_rounds_solve(&f->rounds, tol, f->single_r, f->d, inner));
    return add_correction(f, f->rounds.norm);
}

/* Ends the rounds where the last one was cut short, or has not halved the residual. */
static void judge(const refinement *f, double before, const tess_result *inner, tess_system *end)
{
    const double residual = f->rounds.norm / f->rounds.rhs_norm;
    const int64_t iterations = f->rounds.result.iterations;
    /* Single precision does not prove that no x solves the system. */
    const tess_reason why =
        inner->reason == TESS_REASON_LEAST_SQUARES ? TESS_REASON_STAGNATED : inner->reason;
    if (inner->reason == TESS_REASON_CANCELLED || inner->reason == TESS_REASON_ITERATION_LIMIT)
        tess_system_end(end, inner->reason, "%s at |b - Ax|/|b| = %.3g after %lld iteration%s",
                        inner->reason == TESS_REASON_CANCELLED ? "stopped"
                                                               : "the most iterations allowed",
                        residual, (long long)iterations, tess_plural(iterations));
    else if (!(f->rounds.norm < 0.5 * before) && inner->reason != TESS_REASON_CONVERGED)
        tess_system_end(end, why, "in single precision: %s", inner->text);
    else if (!(f->rounds.norm < 0.5 * before))
        tess_system_end(end, TESS_REASON_STAGNATED,
                        "|b - Ax|/|b| stays at %.3g after %lld iteration%s", residual,
                        (long long)iterations, tess_plural(iterations));
}

/* Rounds until the residual is small, or no longer falls. */
static tess_status refine(refinement *f)
{
    tess_system end = {.rhs_norm = f->rounds.rhs_norm};
    TESS_TRY(find_residual(f));
    TESS_TRY(tess_history_put(f->rounds.solver, 0, f->rounds.norm / f->rounds.rhs_norm));
    while (!end.done) {
        const double before = f->rounds.norm;
        tess_result inner;
        if (!isfinite(f->rounds.norm)) {
            tess_system_end(&end, TESS_REASON_NOT_FINITE, "b - Ax is not finite at iteration %lld",
                            (long long)f->rounds.result.iterations);
            break;
        }
        if (f->rounds.norm <= tess_rounds_threshold(&f->rounds)) {
            TESS_TRY(conclude(f, &end));
            break;
        }
        TESS_TRY(correct(f, &inner));
        TESS_TRY(find_residual(f));
        if (!(f->rounds.norm <= before)) { /* x is left as it was: no difference gives it back */
            TESS_TRY(copy(f, f->other, f->x));
            f->rounds.norm = before;
        }
        judge(f, before, &inner, &end);
    }
    tess_rounds_end(&f->rounds, &end);
    return TESS_OK;
}

/* x = 0. */
static tess_status clear_x(refinement *f)
{
    tess_plan *plan = f->rounds.solver->plan;
    const int64_t n = plan->matrix->rows;
    if (backend_of(f)->memory_convert) {
        TESS_TRY(backend_of(f)->memory_convert(plan, n, 0, f->b, TESS_F64, false, f->x, TESS_F64));
        return backend_of(f)->synchronize(plan->device);
    }
    if (n > 0)
        memset(f->x, 0, (size_t)n * sizeof *f->x);
    return TESS_OK;
}

/* Ends a system that b alone decides: with x = 0 where b is 0. */
static tess_status end_by_rhs(refinement *f, const tess_system *end)
{
    f->rounds.norm = end->residual;
    if (end->reason == TESS_REASON_ZERO_RHS)
        TESS_TRY(clear_x(f));
    tess_rounds_end(&f->rounds, end);
    return tess_history_put(f->rounds.solver, 0, end->residual);
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    tess_device *device = solver->plan->device;
    const double started = tess_seconds();
    refinement f = {.rounds = {.solver = solver, .most = solver->options.max}, .b = b, .x = x};
    tess_status status;
    TESS_TRY_CLEAN(take_vectors(&f));
    TESS_TRY_CLEAN(find_rhs_norm(&f));
    tess_system end = {.rhs_norm = f.rounds.rhs_norm};
    TESS_TRY_CLEAN(tess_system_check_rhs(&end, solver->plan, f.b));
    TESS_TRY_CLEAN(end.done ? end_by_rhs(&f, &end) : refine(&f));
    if (f.x != x)
        TESS_TRY_CLEAN(device->backend->memory_copy_from(
            device, x, f.x, (size_t)solver->plan->matrix->rows * sizeof *f.x));
    tess_rounds_finish(&f.rounds, started, result);
cleanup:
    give_back(&f);
    return status;
}

const tess_outer tess_outer_refine = {
    .open = open,
    .close = tess_inner_close,
    .update = update,
    .solve = solve,
    .keeps_modes = true,
};
