/* Solvers of a plan whose parts are in this process: one solver per part, all running at the same
 * time. Whole vectors of the caller's are cut into the parts' rows. */
#include "solve/solve.h"

typedef struct together {
    int count;
    tess_solver **solvers;
    tess_result *results;
} together;

static tess_status each(tess_solver *solver, tess_part_fn body, void *user)
{
    return solver->plan->device->backend->each_part(solver->plan, body, user);
}

/* ---- Open and close ---- */

typedef struct opening {
    together *t;
    const tess_solve_options *options;
} opening;

static tess_status open_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const opening *o = user;
    (void)first_row;
    return tess_solver_open(part, o->options, &o->t->solvers[rank]);
}

static tess_status close_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const together *t = user;
    (void)part, (void)first_row;
    tess_solver_destroy(t->solvers[rank]);
    return TESS_OK;
}

static void close(tess_solver *solver)
{
    together *t = solver->outer_state;
    if (!t)
        return;
    if (t->solvers)
        (void)each(solver, close_one, t);
    TESS_FREE(solver->ctx, t->solvers, t->results, t);
    solver->outer_state = NULL;
}

static tess_status open(tess_solver *solver)
{
    together *t;
    TESS_TRY(TESS_CALLOC(solver->ctx, 1, &t));
    solver->outer_state = t;
    t->count = solver->plan->device->backend->parts(solver->plan);
    TESS_TRY(TESS_CALLOC(solver->ctx, t->count, &t->results));
    TESS_TRY(TESS_CALLOC(solver->ctx, t->count, &t->solvers));
    return each(solver, open_one, &(opening){t, &solver->options});
}

/* ---- New values, which the parts' plans have already ---- */

static tess_status update_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const together *t = user;
    (void)part, (void)first_row;
    return tess_solver_update(t->solvers[rank], NULL);
}

static tess_status update(tess_solver *solver)
{
    return each(solver, update_one, solver->outer_state);
}

/* ---- What preconditioners are told ---- */

typedef struct telling {
    const together *t;
    int count; /* of modes, or dimensions */
    const double *numbers;
    int64_t ld;
} telling;

static tess_status modes_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const telling *s = user;
    (void)part;
    return tess_solver_set_modes(s->t->solvers[rank], s->count, s->numbers + first_row, s->ld);
}

static tess_status coordinates_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const telling *s = user;
    (void)part;
    return tess_solver_set_coordinates(s->t->solvers[rank], s->count, s->numbers + first_row);
}

tess_status tess_together_modes(tess_solver *solver, int k, const double *modes, int64_t ld)
{
    return each(solver, modes_one, &(telling){solver->outer_state, k, modes, ld});
}

tess_status tess_together_coordinates(tess_solver *solver, int dimensions,
                                      const double *coordinates)
{
    return each(solver, coordinates_one,
                &(telling){solver->outer_state, dimensions, coordinates, 0});
}

tess_solver *tess_together_first(const tess_solver *solver)
{
    const together *t = solver->outer_state;
    return t->solvers[0];
}

/* ---- Solve ---- */

typedef struct solving {
    const tess_solver *solver;
    together *t;
    const void *b; /* whole vectors */
    void *x;
    const void *const *b_parts; /* or one pointer per part */
    void *const *x_parts;
} solving;

static tess_status solve_one(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const solving *s = user;
    tess_solver *mine = s->t->solvers[rank];
    const size_t at = (size_t)first_row * tess_type_size(part->matrix->type);
    tess_solver_pass_on(s->solver, mine);
    if (rank > 0) /* the callback runs on the caller's thread, which is part 0's */
        tess_solver_set_callback(mine, NULL, NULL);
    const void *b = s->b_parts ? s->b_parts[rank] : (const char *)s->b + at;
    void *x = s->x_parts ? s->x_parts[rank] : (char *)s->x + at;
    return tess_solver_solve(mine, b, x, &s->t->results[rank]);
}

/* Solves on all parts, which come to the same end. Bytes are summed; the time is the slowest
 * part's. */
static tess_status solve_all(tess_solver *solver, const solving *s, tess_result *result)
{
    together *t = s->t;
    TESS_TRY(each(solver, solve_one, (void *)(uintptr_t)s));
    *result = t->results[0];
    for (int rank = 1; rank < t->count; rank++) {
        result->bytes += t->results[rank].bytes;
        result->seconds = fmax(result->seconds, t->results[rank].seconds);
    }
    for (int64_t i = 0; i < result->history_count; i++)
        TESS_TRY(tess_history_put(solver, i, t->results[0].history[i]));
    result->history = solver->history;
    return TESS_OK;
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    return solve_all(solver, &(solving){.solver = solver, .t = solver->outer_state, .b = b, .x = x},
                     result);
}

tess_status tess_solver_solve_parts(tess_solver *solver, const void *const *b, void *const *x,
                                    tess_result *result)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    if (!b || !x || !result)
        return tess_null_argument(solver->ctx, __func__);
    if (!solver->plan->device->backend->each_part)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "%s: the plan's device has one part: open one like \"cuda:0,1\" or "
                         "\"cpu:4,4\"",
                         __func__);
    if (!solver->outer || !solver->outer->parts)
        return tess_fail(solver->ctx, TESS_ERR_UNSUPPORTED,
                         "%s: auto, scale=, order=, pivot= and inner= take whole vectors: name a "
                         "method and a preconditioner alone",
                         __func__);
    TESS_TRY(tess_solver_need_idle(solver, __func__));
    const solving s = {.solver = solver, .t = solver->outer_state, .b_parts = b, .x_parts = x};
    solver->solving = true;
    tess_status status = tess_solver_follow(solver);
    if (status == TESS_OK)
        status = solve_all(solver, &s, result);
    solver->solving = false;
    return status;
}

const tess_outer tess_outer_parts = {
    .open = open, .close = close, .update = update, .solve = solve, .parts = true};
