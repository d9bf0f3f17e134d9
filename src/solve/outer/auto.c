/* method=auto: rungs of a ladder, tried one after the other until the system is solved.
 *
 * Every rung is a spec (auto_look.c) and begins at the x with the smallest residual so far. It may
 * take half of the time and of the iterations that are left, and the last one all of them. The
 * solver that succeeded is kept for the next right-hand side.
 */
#include "solve/outer/auto.h"

enum { LINE_MAX_LENGTH = 512, DEFAULT_MAX = 10000 /* of a spec without max= */ };

/* A rung's tolerances are smaller than the caller's by this factor: a method may end with a
 * residual that is a little above its own. */
static const double stricter = 1.06;

typedef struct automatic {
    tess_look_at look;
    bool *zero; /* per row: whether it is 0 */
    tess_rung rungs[TESS_RUNGS_MAX];
    int count, at; /* number of rungs; the rung to try, or that the kept solver is of */
    int first;     /* the rung that the climb began with */
    char lines[TESS_RUNGS_MAX][LINE_MAX_LENGTH];
    char spec[TESS_SPEC_MAX + 100];
    int attempts;
    bool indefinite; /* an attempt has found A to be */
    bool no_memory;  /* the last attempt could not be set up for lack of memory */
    tess_auto_watch watch;
} automatic;

/* Returns the state of a solver with method=auto, also where it is padded or regrouped; NULL for
 * other solvers. */
static const automatic *find_automatic(const tess_solver *solver)
{
    while (solver && solver->outer && !solver->outer->automatic)
        solver = solver->inner;
    return solver && solver->outer ? solver->outer_state : NULL;
}

const char *tess_solver_attempt(const tess_solver *solver, int index)
{
    const automatic *a = find_automatic(solver);
    return a && index >= 0 && index < a->attempts ? a->lines[index] : NULL;
}

const char *tess_solver_spec(const tess_solver *solver)
{
    const automatic *a = find_automatic(solver);
    return a && a->attempts > 0 ? a->spec : NULL;
}

/* ---- Open and close ---- */

static tess_status look(tess_solver *solver)
{
    automatic *a = solver->outer_state;
    tess_plan *plan = solver->plan;
    TESS_TRY(tess_plan_host_values(plan));
    const tess_matrix A = tess_plan_present(plan);
    TESS_TRY(tess_look_at_matrix(solver->ctx, &A, a->zero, &a->look));
    a->look.square = !solver->options.padded;
    /* Complete factors need the host, and the whole matrix on one part. */
    const bool factors = plan->device->threads > 0 && !plan->device->backend->each_part;
    a->count = tess_make_ladder(&a->look, factors, solver->options.memory, a->rungs);
    if (a->look.zero_columns > 0 && a->look.square)
        tess_log(solver->ctx, "auto: %lld columns of A are 0, the first is %lld: x is not unique",
                 (long long)a->look.zero_columns, (long long)a->look.zero_column);
    return TESS_OK;
}

static tess_status open(tess_solver *solver)
{
    automatic *a;
    TESS_TRY(TESS_CALLOC(solver->ctx, 1, &a));
    solver->outer_state = a;
    TESS_TRY(TESS_CALLOC(solver->ctx, solver->plan->matrix->rows, &a->zero));
    return look(solver);
}

static void drop_inner(tess_solver *solver)
{
    tess_solver_destroy(solver->inner);
    solver->inner = NULL;
}

static void close(tess_solver *solver)
{
    automatic *a = solver->outer_state;
    drop_inner(solver);
    if (a)
        tess_free(solver->ctx, a->zero);
    tess_free(solver->ctx, a);
}

/* New values: the solver that succeeded takes them. Where it cannot, or where it is no rung of the
 * ladder that the new values lead to, the ladder begins anew. */
static tess_status update(tess_solver *solver)
{
    automatic *a = solver->outer_state;
    char spec[TESS_SPEC_MAX];
    if (!solver->inner)
        return look(solver);
    memcpy(spec, a->rungs[a->at].spec, sizeof spec);
    TESS_TRY(look(solver));
    a->at = tess_find_rung(a->rungs, a->count, spec, a->at);
    if (a->at == a->count || tess_solver_update(solver->inner, NULL) != TESS_OK)
        drop_inner(solver);
    return TESS_OK;
}

/* ---- Attempts ---- */

/* One solve under way; vectors are in host memory. */
typedef struct climb {
    tess_rounds rounds;
    const void *b;
    void *x, *trial, *r; /* the best x; the attempt's x; its residual */
    size_t bytes;        /* of a vector */
    double budget_end;
    tess_result last; /* of the last attempt that ran */
    bool ran;
} climb;

/* Sets up the rung's solver, unless it exists. A rung that cannot be set up is a failed attempt:
 * *why says so. Only a cancelled call or broken arguments end the climb. */
static tess_status open_rung(tess_solver *solver, const tess_rung *rung, char *why, size_t size)
{
    automatic *a = solver->outer_state;
    tess_solve_options options;
    why[0] = '\0';
    a->no_memory = false;
    if (solver->inner)
        return TESS_OK;
    TESS_TRY(tess_solve_options_parse(solver->ctx, rung->spec, &options));
    options.pc.most_bytes = 1e9 * solver->options.memory;
    options.pc.most_seconds = fmax(1e-3, a->watch.deadline - tess_seconds());
    const tess_kept_error kept = tess_error_keep(solver->ctx);
    const tess_status status = tess_solver_open(solver->plan, &options, &solver->inner);
    if (status == TESS_OK)
        return TESS_OK;
    if (a->watch.late)
        snprintf(why, size, "not set up in the time it has");
    else
        snprintf(why, size, "%s", tess_ctx_error(solver->ctx));
    a->no_memory = status == TESS_ERR_MEMORY;
    const bool goes_on = status == TESS_ERR_MATRIX || status == TESS_ERR_UNSUPPORTED ||
                         status == TESS_ERR_MEMORY || status == TESS_ERR_CANCELLED;
    if (goes_on)
        tess_error_restore(solver->ctx, &kept);
    return goes_on ? TESS_OK : status;
}

/* Returns whether rung `at` is for a matrix like this, as far as the matrix is known. */
static bool is_for(const automatic *a, int at)
{
    return a->rungs[at].only != (a->indefinite ? TESS_FOR_DEFINITE : TESS_FOR_INDEFINITE);
}

/* Returns the number of the rung that is tried after rung `at`. After the last one follow those
 * below the first. */
static int rung_after(const automatic *a, int at)
{
    return (at + 1) % a->count;
}

/* Returns the rung after the present one that is for a matrix like this; NULL: none is. */
static const tess_rung *next_rung(const automatic *a)
{
    for (int at = rung_after(a, a->at); at != a->first; at = rung_after(a, at))
        if (is_for(a, at))
            return &a->rungs[at];
    return NULL;
}

static bool is_last(const automatic *a)
{
    return !next_rung(a);
}

/* Runs `most` iterations of the rung, and more where it is about to converge. */
static tess_status iterate_rung(climb *c, int64_t most)
{
    tess_rounds *f = &c->rounds;
    automatic *a = f->solver->outer_state;
    const double tol = f->solver->options.tol / stricter;
    const tess_rung *next = next_rung(a);
    tess_auto_watch_attempt(&a->watch, f->result.iterations, most, tol,
                            next ? next->setup * (double)a->look.entries : HUGE_VAL,
                            next ? next->worth : 0);
    const int64_t left = f->solver->options.max - f->result.iterations;
    f->most = f->result.iterations + (next ? tess_min(left, tess_max(most, left / 2)) : left);
    TESS_TRY(tess_rounds_solve(f, tol, c->b, c->trial, &c->last));
    if (!a->watch.cancelled && c->last.reason == TESS_REASON_CANCELLED) {
        c->last.reason = TESS_REASON_ITERATION_LIMIT;
        snprintf(c->last.text, sizeof c->last.text, "|r|/|b| = %.3g after %lld iteration%s, %s",
                 c->last.residual, (long long)c->last.iterations, tess_plural(c->last.iterations),
                 a->watch.enough ? "the most allowed" : "in the time it has");
    }
    return TESS_OK;
}

/* Runs the rung's solver on a copy of the best x. The copy is kept where its residual is
 * smaller. A best x so large that its own rounding exceeds the tolerance cannot be corrected: the
 * rung begins at 0. */
static tess_status run_rung(climb *c, int64_t most)
{
    tess_rounds *f = &c->rounds;
    const double best = f->norm;
    tess_residual residual;
    if (f->grain <= tess_rounds_threshold(f))
        memcpy(c->trial, c->x, c->bytes);
    else
        memset(c->trial, 0, c->bytes);
    f->norm = f->rhs_norm; /* the inner solver's residuals are relative to |b| already */
    f->solver->inner->options.atol = f->solver->options.atol / stricter;
    const tess_status status = iterate_rung(c, most);
    f->norm = best;
    TESS_TRY(status);
    c->ran = true;
    TESS_TRY(tess_rounds_residual(f, c->b, c->trial, c->r, &residual));
    if (tess_rounds_take(f, residual))
        memcpy(c->x, c->trial, c->bytes);
    return TESS_OK;
}

/* Writes one line on the attempt, for the report and the log, and the spec that repeats it. */
static void tell(tess_solver *solver, const climb *c, const tess_rung *rung, const char *why,
                 double seconds)
{
    automatic *a = solver->outer_state;
    char *line = a->lines[a->attempts++], unstable[60] = "";
    const double growth = tess_solver_growth(solver->inner);
    if (!(growth <= TESS_PC_UNSTABLE))
        snprintf(unstable, sizeof unstable, ", unstable factors (%.1e)", growth);
    if (why[0])
        snprintf(line, LINE_MAX_LENGTH, "%s (%s): %s, %.2f s", rung->spec, rung->why, why, seconds);
    else
        snprintf(line, LINE_MAX_LENGTH, "%s (%s): %s, %s%s, %.2f s", rung->spec, rung->why,
                 tess_reason_name(c->last.reason), c->last.text, unstable, seconds);
    tess_log(solver->ctx, "auto: %s", line);
    char tol[30] = "", atol[30] = "", max[30] = "", keys[100];
    if (solver->options.tol != 1e-8)
        snprintf(tol, sizeof tol, ",tol=%.15g", solver->options.tol);
    if (solver->options.atol != 0)
        snprintf(atol, sizeof atol, ",atol=%.15g", solver->options.atol);
    if (c->ran && c->last.iterations > DEFAULT_MAX / 2) /* from x = 0 it may need more */
        snprintf(max, sizeof max, ",max=%lld", 4LL * (long long)c->last.iterations);
    snprintf(keys, sizeof keys, "%s%s%s", tol, atol, max);
    if (keys[0] && !strchr(rung->spec, ':'))
        keys[0] = ':';
    snprintf(a->spec, sizeof a->spec, "%s%s", rung->spec, keys);
}

static tess_status attempt(climb *c)
{
    tess_solver *solver = c->rounds.solver;
    automatic *a = solver->outer_state;
    const tess_rung *rung = &a->rungs[a->at];
    const double started = tess_seconds(), left = c->budget_end - started;
    char why[300];
    a->watch.late = false;
    a->watch.deadline = started + (is_last(a) ? left : 0.5 * left);
    TESS_TRY(open_rung(solver, rung, why, sizeof why));
    /* Unstable factors may converge nevertheless, but must do so quickly. */
    if (!why[0])
        TESS_TRY(run_rung(c, tess_solver_growth(solver->inner) <= TESS_PC_UNSTABLE
                                 ? rung->most
                                 : tess_min(rung->most, 60)));
    a->indefinite |= !why[0] && c->last.reason == TESS_REASON_INDEFINITE;
    tell(solver, c, rung, why, tess_seconds() - started);
    return TESS_OK;
}

/* Ends the solve when no rung is left or allowed. */
static void give_up(const climb *c, const automatic *a, tess_system *end)
{
    const tess_rounds *f = &c->rounds;
    const double best = tess_rounds_relative(f);
    const bool spent = tess_seconds() >= c->budget_end;
    if (a->watch.cancelled)
        tess_system_end(end, TESS_REASON_CANCELLED, "stopped; the best x has |b - Ax|/|b| = %.3g",
                        best);
    else if (spent || f->result.iterations >= f->solver->options.max)
        tess_system_end(end, TESS_REASON_ITERATION_LIMIT,
                        "the %s of auto is spent (attempts: %d, iterations: %lld); the best x "
                        "has |b - Ax|/|b| = %.3g: allow more by %s",
                        spent ? "time" : "number of iterations", a->attempts,
                        (long long)f->result.iterations, best, spent ? "budget=" : "max=");
    else
        tess_system_end(end, c->ran ? c->last.reason : TESS_REASON_BREAKDOWN,
                        "none of %d attempts solves it; the best x has |b - Ax|/|b| = %.3g: %s",
                        a->attempts, best, tess_look_for_doubts(&a->look));
    if (end->reason == TESS_REASON_CONVERGED) /* by the rung's own tolerance, not by ours */
        end->reason = TESS_REASON_STAGNATED;
}

/* Tries the rungs from the present one on, then those below it, until one solves the system. */
static tess_status climb_rungs(climb *c, tess_system *end)
{
    tess_rounds *f = &c->rounds;
    tess_solver *solver = f->solver;
    automatic *a = solver->outer_state;
    a->no_memory = false;
    a->first = a->at;
    for (int i = 0; i < a->count; i++) {
        a->at = (a->first + i) % a->count;
        if (a->watch.cancelled || tess_seconds() >= c->budget_end ||
            f->result.iterations >= solver->options.max)
            break;
        if (!is_for(a, a->at))
            continue;
        TESS_TRY(attempt(c));
        if (tess_rounds_solved(f)) {
            tess_system_converged(end, f->norm, f->result.iterations);
            return TESS_OK;
        }
        if (c->ran && c->last.reason == TESS_REASON_LEAST_SQUARES) {
            tess_residual residual;
            TESS_TRY(tess_rounds_residual(f, c->b, c->x, c->r, &residual));
            TESS_TRY(tess_rounds_least(f, c->r, end));
            if (end->reason == TESS_REASON_LEAST_SQUARES || is_last(a))
                return TESS_OK;
            c->last.reason = end->reason;
        }
        drop_inner(solver);
    }
    if (a->no_memory)
        return tess_fail(solver->ctx, TESS_ERR_MEMORY,
                         "auto: no memory for %s; memory=%g GB were allowed", a->spec,
                         solver->options.memory);
    give_up(c, a, end);
    return TESS_OK;
}

static tess_status run(climb *c)
{
    tess_rounds *f = &c->rounds;
    automatic *a = f->solver->outer_state;
    tess_system end = {0};
    a->attempts = 0;
    if (!f->solver->inner) { /* no attempt has succeeded: the ladder begins anew */
        a->at = 0;
        a->indefinite = false;
    }
    TESS_TRY(tess_rounds_start(f, c->b, c->x, &end));
    if (!end.done) {
        tess_residual first;
        TESS_TRY(tess_rounds_residual(f, c->b, c->x, c->r, &first));
        const bool known = isfinite(first.norm + first.rounding);
        if (known)
            tess_rounds_set(f, first);
        tess_look_for_faults(&a->look, f->solver->plan->matrix, a->zero, c->b,
                             tess_rounds_threshold(f), &end);
        if (!end.done && !known)
            memset(c->x, 0, c->bytes); /* whose |r| is |b|, as f->norm is already */
        if (!end.done && tess_rounds_solved(f))
            tess_system_converged(&end, f->norm, 0);
    }
    TESS_TRY(tess_history_put(f->solver, 0, f->norm / fmax(f->rhs_norm, 1e-300)));
    if (!end.done) {
        tess_auto_watch_begin(f->solver, &a->watch);
        const tess_status status = climb_rungs(c, &end);
        tess_auto_watch_end(f->solver, &a->watch);
        TESS_TRY(status);
    }
    tess_rounds_end(f, &end);
    return TESS_OK;
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    const tess_plan *plan = solver->plan;
    const int64_t n = plan->matrix->rows;
    const size_t size = tess_type_size(plan->matrix->type);
    const double started = tess_seconds();
    climb c = {.rounds = {.solver = solver},
               .bytes = (size_t)n * size,
               .budget_end = started + solver->options.budget};
    void *host_b = NULL, *host_x = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_vector_to_host(plan, b, &host_b));
    TESS_TRY_CLEAN(tess_vector_to_host(plan, x, &host_x));
    TESS_TRY_CLEAN(tess_alloc_bytes(solver->ctx, n, size, &c.trial));
    TESS_TRY_CLEAN(tess_alloc_bytes(solver->ctx, n, size, &c.r));
    c.b = host_b ? host_b : b;
    c.x = host_x ? host_x : x;
    TESS_TRY_CLEAN(run(&c));
    if (host_x)
        TESS_TRY_CLEAN(plan->device->backend->memory_copy_to(plan->device, x, host_x, c.bytes));
    tess_rounds_finish(&c.rounds, started, result);
cleanup:
    TESS_FREE(solver->ctx, host_b, host_x, c.trial, c.r);
    return status;
}

const tess_outer tess_outer_auto = {
    .open = open, .close = close, .update = update, .solve = solve, .automatic = true};
