/* The loop around a method's steps. It starts systems, iterates those that are not done, looks at
 * each after every iteration, and reports how each ended.
 *
 * The recurrence decides when to compute the true residual. The true residual decides whether the
 * system has converged. Where the two have drifted apart the recurrence starts again from x, as
 * long as that helps.
 */
#include "solve/iterate.h"

/* The true residual may be larger than the tolerance by this factor. */
static const double slack = 1.05;

static const char *const reason_names[] = {
    "CONVERGED",  "ITERATION_LIMIT", "DIVERGED", "BREAKDOWN", "STAGNATED",
    "INDEFINITE", "NOT_FINITE",      "ZERO_RHS", "CANCELLED", "LEAST_SQUARES",
};

const char *tess_reason_name(tess_reason reason)
{
    const size_t count = sizeof reason_names / sizeof reason_names[0];
    return (size_t)reason < count ? reason_names[reason] : "UNKNOWN";
}

double tess_relative(const tess_system *system, double norm)
{
    if (!isfinite(system->rhs_norm))
        return system->rhs_norm;
    return system->rhs_norm > 0 ? norm / system->rhs_norm : norm;
}

tess_status tess_history_put(tess_solver *solver, int64_t at, double residual)
{
    TESS_TRY(TESS_GROW(solver->ctx, &solver->history, at, &solver->history_capacity));
    solver->history[at] = residual;
    return TESS_OK;
}

/* The history is that of system 0. All parts need more memory for it at the same iteration. */
static tess_status remember(tess_solver *solver, const tess_system *system)
{
    const bool grows = system->iteration >= solver->history_capacity;
    const tess_status status =
        tess_history_put(solver, system->iteration, tess_relative(system, system->residual));
    return grows ? tess_pc_agree(solver->plan, status) : status;
}

/* Runs a list that leaves the square of a norm. */
static tess_status find_norm(tess_solver *solver, const tess_steps *steps, int j, double *norm)
{
    tess_space *space = &solver->space;
    TESS_TRY(space->ops->run(space, steps, &j, 1));
    TESS_TRY(space->ops->read_slots(space, j, solver->slots));
    *norm = sqrt(solver->slots[TESS_S_RR]);
    return TESS_OK;
}

/* Computes |b - A x|. Where x is so large that rounding decides its size, a second computation with
 * other roundings finds another size. Then extended precision decides or, where A is not on the
 * host, the larger of the two. Extended precision may also find that the first was too large, so
 * the second is computed whether the first is within the tolerance or not. Afterwards the
 * recurrence cannot go on, only start again. */
static tess_status true_residual(tess_solver *solver, int j, double *norm)
{
    double first, second;
    TESS_TRY(find_norm(solver, &solver->residual, j, &first));
    TESS_TRY(find_norm(solver, &solver->check, j, &second));
    *norm = second > 2 * first ? second : first;
    return second > 2 * first ? tess_residual_settle(solver, j, norm) : TESS_OK;
}

int64_t tess_patience(const tess_solver *solver)
{
    if (solver->options.stagnation > 0)
        return solver->options.stagnation;
    if (solver->cycle > 1)
        return 2 * solver->cycle;
    return tess_max(solver->plan->all_rows, 1000);
}

/* Ends the system where |r| alone says so: it diverges, stagnates, or no iteration is left. */
static void judge(tess_solver *solver, tess_system *system)
{
    const double r = system->residual;
    const long long at = (long long)system->iteration;
    if (r < 0.999 * system->best) {
        system->best = r;
        system->best_at = system->iteration;
    }
    if (system->done)
        return;
    if (r > TESS_DIVERGENCE * fmax(system->start_residual, system->rhs_norm))
        tess_system_end(system, TESS_REASON_DIVERGED, "|r|/|b| has grown to %.3g at iteration %lld",
                        tess_relative(system, r), at);
    else if (system->iteration >= solver->options.max)
        tess_system_end(system, TESS_REASON_ITERATION_LIMIT,
                        "|r|/|b| = %.3g after %lld iteration%s, the most allowed",
                        tess_relative(system, r), at, tess_plural(at));
    else if (system->iteration - system->best_at >= tess_patience(solver))
        tess_system_end(system, TESS_REASON_STAGNATED,
                        "|r|/|b| = %.3g at iteration %lld: no less than %.3g for %lld iterations",
                        tess_relative(system, r), at, tess_relative(system, system->best),
                        (long long)(system->iteration - system->best_at));
}

void tess_system_converged(tess_system *system, double norm, int64_t iterations)
{
    tess_system_end(system, TESS_REASON_CONVERGED, "|b - Ax|/|b| = %.3g after %lld iteration%s",
                    tess_relative(system, norm), (long long)iterations, tess_plural(iterations));
}

/* The recurrence says that system j has converged. Ends it, or asks for another start. */
static tess_status confirm(tess_solver *solver, tess_system *system, int j, bool *again)
{
    double norm = system->residual;
    if (!solver->options.trusting)
        TESS_TRY(true_residual(solver, j, &norm));
    const double before = system->true_residual;
    system->true_residual = norm;
    if (norm <= slack * system->threshold)
        tess_system_converged(system, norm, system->iteration);
    else if (!isfinite(norm))
        tess_system_end(system, TESS_REASON_NOT_FINITE, "b - Ax is not finite at iteration %lld",
                        (long long)system->iteration);
    else if (norm > 0.5 * before)
        tess_system_end(system, TESS_REASON_STAGNATED,
                        "|b - Ax|/|b| stays at %.3g, though the recurrence says %.3g: rounding "
                        "allows no better%s",
                        tess_relative(system, norm), tess_relative(system, system->residual),
                        solver->pc.type == solver->pc.vector_type ? "" : " with pc_type=f32");
    else {
        system->drift = fmax(1, norm / system->residual);
        *again = true;
    }
    return TESS_OK;
}

bool tess_is_least(tess_type type, double normal, double residual, bool falls)
{
    const double rounding = tess_least_rounding(type), small = pow(rounding, 0.625);
    return normal <= pow(rounding, 0.6) && normal * residual <= (falls ? 32 * rounding : small);
}

void tess_system_least(tess_system *system, double norm, double normal, int64_t iterations)
{
    tess_system_end(system, TESS_REASON_LEAST_SQUARES,
                    "no x solves it within rounding: |b - Ax|/|b| = %.3g is the smallest, |A'r| = "
                    "%.3g |A||r| after %lld iteration%s",
                    tess_relative(system, norm), normal, (long long)iterations,
                    tess_plural(iterations));
}

/* Computes |b - A x| and |A^T (b - A x)| / (|A| |b - A x|). */
static tess_status true_normal(tess_solver *solver, tess_system *system, int j)
{
    tess_space *space = &solver->space;
    TESS_TRY(space->ops->run(space, &solver->normal, &j, 1));
    TESS_TRY(space->ops->read_slots(space, j, solver->slots));
    system->true_residual = sqrt(solver->slots[TESS_S_RR]);
    const double scale = solver->norm * system->true_residual;
    system->normal = scale > 0 ? sqrt(solver->slots[TESS_S_OWN]) / scale : 0;
    return TESS_OK;
}

/* The method says that no x has a smaller residual. Ends the system, or asks for another start. */
static tess_status confirm_least(tess_solver *solver, tess_system *system, int j, bool *again)
{
    const double before = system->normal;
    TESS_TRY(true_normal(solver, system, j));
    if (system->true_residual <= slack * system->threshold)
        return confirm(solver, system, j, again);
    if (tess_is_least(solver->plan->matrix->type, system->normal,
                      tess_relative(system, system->true_residual), system->normal <= 0.5 * before))
        tess_system_least(system, system->true_residual, system->normal, system->iteration);
    else if (!(system->normal <= 0.5 * before))
        tess_system_end(system, TESS_REASON_STAGNATED,
                        "|A'r| stays at %.3g |A||r|, |b - Ax|/|b| at %.3g: rounding allows no "
                        "better",
                        system->normal, tess_relative(system, system->true_residual));
    else
        *again = true;
    return TESS_OK;
}

tess_status tess_look(tess_solver *solver, tess_system *system, int j, int64_t position,
                      bool *again)
{
    const tess_method *method = solver->options.method;
    if (method->mend && position >= 0)
        TESS_TRY(method->mend(solver, j, position));
    system->residual = sqrt(solver->slots[TESS_S_RR]);
    if (method->check)
        method->check(solver, system, position);
    if (position < 0 && system->iteration == 0)
        system->start_residual = system->best = system->residual;
    if (j == 0)
        TESS_TRY(remember(solver, system));
    if (!isfinite(system->residual) && position < 0 && system->iteration == 0)
        tess_system_end(
            system, TESS_REASON_NOT_FINITE,
            "b - Ax is not finite at the start: A or the first x is not, or A x overflows");
    else if (!isfinite(system->residual))
        tess_system_end(system, TESS_REASON_NOT_FINITE, "|r| = %g at iteration %lld%s",
                        system->residual, (long long)system->iteration,
                        tess_solver_growth(solver) <= TESS_PC_UNSTABLE
                            ? ""
                            : ": the preconditioner's factors are unstable");
    else if (system->residual > system->threshold)
        judge(solver, system);
    const bool converged = system->residual <= system->threshold;
    *again = system->restart && !system->done && !converged;
    system->restart = false;
    /* finish() changes x, which must not take in numbers that are not finite. */
    if ((converged || system->done) && isfinite(system->residual) && position >= 0 &&
        method->finish)
        TESS_TRY(method->finish(solver, j, position + 1));
    if (converged) {
        system->done = false;
        TESS_TRY(confirm(solver, system, j, again));
        if (*again && system->iteration >= solver->options.max)
            judge(solver, system);
    } else if (system->least && !system->done) {
        TESS_TRY(confirm_least(solver, system, j, again));
    }
    system->least = false;
    return TESS_OK;
}

tess_status tess_begin_again(tess_solver *solver, tess_system *system, int j)
{
    bool again = true;
    system->started = system->iteration;
    for (int tries = 0; again && tries < 2; tries++) {
        TESS_TRY(solver->space.ops->run(&solver->space, &solver->start, &j, 1));
        TESS_TRY(solver->space.ops->read_slots(&solver->space, j, solver->slots));
        TESS_TRY(tess_look(solver, system, j, -1, &again));
    }
    return TESS_OK;
}

/* Uploads system j; ends it at once where b alone decides. */
static tess_status begin(tess_solver *solver, tess_system *system, int j, const void *b,
                         const void *x)
{
    tess_space *space = &solver->space;
    *system = (tess_system){.true_residual = HUGE_VAL,
                            .residual = HUGE_VAL,
                            .start_residual = HUGE_VAL,
                            .normal = HUGE_VAL,
                            .best_normal = HUGE_VAL,
                            .scale = 1,
                            .drift = 1};
    TESS_TRY(space->ops->upload(space, TESS_V_X, j, x));
    TESS_TRY(space->ops->upload(space, TESS_V_B, j, b));
    TESS_TRY(space->ops->run(space, &solver->rhs, &j, 1));
    TESS_TRY(space->ops->read_slots(space, j, solver->slots));
    system->rhs_norm = sqrt(solver->slots[TESS_S_RR]);
    system->threshold = fmax(solver->options.tol * system->rhs_norm, solver->options.atol);
    if (solver->options.method->begin)
        TESS_TRY(solver->options.method->begin(solver, j));
    TESS_TRY(tess_system_check_rhs(system, solver->plan, b));
    if (system->done && system->reason == TESS_REASON_ZERO_RHS)
        TESS_TRY(space->ops->run(space, &solver->zero, &j, 1));
    if (system->done)
        return j == 0 ? remember(solver, system) : TESS_OK;
    return tess_begin_again(solver, system, j);
}

/* Returns whether the method might have gone on. */
static bool is_under_way(const tess_system *system)
{
    return system->reason == TESS_REASON_ITERATION_LIMIT || system->reason == TESS_REASON_CANCELLED;
}

/* Computes the residual of a system that is not solved. */
static tess_status find_failure(tess_solver *solver, tess_system *system, int j)
{
    double *norm = &system->true_residual;
    const bool descends = solver->options.method->positive_definite;
    if (solver->options.method->least_squares)
        TESS_TRY(true_normal(solver, system, j));
    else if (is_under_way(system) && !descends)
        TESS_TRY(true_residual(solver, j, norm));
    else
        TESS_TRY(find_norm(solver, &solver->residual, j, norm));
    return is_under_way(system) ? TESS_OK : tess_residual_settle(solver, j, norm);
}

/* Returns whether the caller keeps its first x, since that of a system that is not solved is worse.
 * On the way of a method like cg |r| may grow by the root of the condition, which is at most 1e16:
 * that x is one to go on from. */
static bool keeps_start(const tess_solver *solver, const tess_system *system)
{
    const bool descends = solver->options.method->positive_definite;
    const double most = is_under_way(system) && descends ? 1e8 : 1;
    return isfinite(system->start_residual) &&
           !(system->true_residual <= most * system->start_residual);
}

/* Downloads x of an ended system, and computes its true residual. */
static tess_status end(tess_solver *solver, tess_system *system, int j, void *x,
                       tess_result *result)
{
    const bool solved =
        system->reason == TESS_REASON_CONVERGED || system->reason == TESS_REASON_ZERO_RHS;
    if (!solved)
        TESS_TRY(find_failure(solver, system, j));
    if (!solved && keeps_start(solver, system)) {
        system->true_residual = system->start_residual;
        tess_append(system->text, sizeof system->text, "; x is left as it was");
    } else {
        TESS_TRY(solver->space.ops->download(&solver->space, TESS_V_X, j, x));
    }
    *result = (tess_result){
        .reason = system->reason,
        .iterations = system->iteration,
        .residual = tess_relative(system, system->residual),
        .true_residual = tess_relative(system, system->true_residual),
        .rhs_norm = system->rhs_norm,
        .normal_residual = solved || !solver->options.method->least_squares ? 0 : system->normal,
        .history_count = j == 0 ? system->iteration + 1 : 0,
        .history = j == 0 ? solver->history : NULL,
    };
    memcpy(result->text, system->text, sizeof result->text);
    if (solver->pc.shift > 0)
        tess_append(result->text, sizeof result->text, " (%s of %g times the diagonal)",
                    solver->pc.ops->name, 1 + solver->pc.shift);
    return TESS_OK;
}

static void add_costs(const tess_space *space, double seconds, int k, tess_result *results)
{
    for (int j = 0; j < k; j++) {
        results[j].seconds = seconds;
        results[j].seconds_spmv = space->seconds[TESS_TIME_SPMV];
        results[j].seconds_pc = space->seconds[TESS_TIME_PC];
        results[j].seconds_dots = space->seconds[TESS_TIME_DOTS];
        results[j].seconds_vectors = space->seconds[TESS_TIME_VECTORS];
        results[j].bytes = space->bytes;
    }
}

/* Allocates the group on all parts or on none, and finds out whether any part has a callback. */
static tess_status start_together(tess_solver *solver, int k, tess_group *g)
{
    const tess_backend *backend = solver->plan->device->backend;
    const tess_status status = tess_group_open(solver->ctx, k, g);
    solver->asks = solver->callback != NULL;
    if (!backend->sum)
        return status;
    TESS_TRY(backend->agree(solver->plan, status));
    double callbacks = solver->asks;
    TESS_TRY(backend->sum(solver->plan, &callbacks, 1));
    solver->asks = callbacks > 0;
    return TESS_OK;
}

tess_status tess_iterate(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                         int64_t ldx, tess_result *results)
{
    const double started = tess_seconds();
    const size_t scalar = tess_type_size(solver->space.type);
    tess_group g = {0};
    tess_status status;
    memset(solver->space.seconds, 0, sizeof solver->space.seconds);
    memset(solver->space.moved, 0, sizeof solver->space.moved);
    solver->space.bytes = 0;
    TESS_TRY_CLEAN(start_together(solver, k, &g));
    for (int j = 0; j < k; j++)
        TESS_TRY_CLEAN(begin(solver, &g.systems[j], j, (const char *)B + (size_t)(j * ldb) * scalar,
                             (char *)X + (size_t)(j * ldx) * scalar));
    TESS_TRY_CLEAN(tess_group_loop(solver, &g, k));
    for (int j = 0; j < k; j++)
        TESS_TRY_CLEAN(
            end(solver, &g.systems[j], j, (char *)X + (size_t)(j * ldx) * scalar, &results[j]));
    add_costs(&solver->space, tess_seconds() - started, k, results);
    tess_solver_tell(solver, &g.systems[0]);
cleanup:
    tess_group_close(solver->ctx, &g);
    return status;
}
