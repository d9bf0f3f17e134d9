/* Solvers of a plan that permutes inside (plan/regrouped.h). The whole solve runs in the inner
 * plan's order: b and the first x are permuted once, and x is permuted back once.
 */
#include "plan/regrouped.h"
#include "solve/solve.h"

/* The caller's preconditioner, applied to vectors in the inner order. */
typedef struct given {
    tess_plan *plan;
    tess_operator caller;
    void *r, *z;
} given;

static void free_given(given *g)
{
    if (!g)
        return;
    tess_regrouped_release(g->plan, g->r);
    tess_regrouped_release(g->plan, g->z);
    tess_free(g->plan->ctx, g);
}

static tess_status apply_given(void *user, int transpose, const void *r, void *z, void *stream)
{
    given *g = user;
    if (!g->r)
        TESS_TRY(tess_regrouped_alloc(g->plan, r, 1, &g->r));
    if (!g->z)
        TESS_TRY(tess_regrouped_alloc(g->plan, r, 1, &g->z));
    TESS_TRY(tess_regrouped_give(g->plan, r, g->r));
    TESS_TRY(g->caller.apply(g->caller.user, transpose, g->r, g->z, stream));
    return tess_regrouped_take(g->plan, g->z, z);
}

static tess_status open(tess_solver *solver)
{
    tess_solve_options inner = solver->options;
    if (!inner.pc.caller)
        return tess_solver_open(solver->plan->inner, &inner, &solver->inner);
    given *g;
    TESS_TRY(TESS_CALLOC(solver->ctx, 1, &g));
    *g = (given){.plan = solver->plan, .caller = *inner.pc.caller};
    solver->outer_state = g;
    tess_operator M = g->caller;
    M.apply = apply_given;
    M.user = g;
    M.capturable = 0;
    inner.pc.caller = &M;
    return tess_solver_open(solver->plan->inner, &inner, &solver->inner);
}

static void close(tess_solver *solver)
{
    tess_solver_destroy(solver->inner);
    free_given(solver->outer_state);
}

/* The plan has already given its new values to the inner plan. */
static tess_status update(tess_solver *solver)
{
    return tess_solver_update(solver->inner, NULL);
}

static void *vector_at(const tess_plan *plan, const void *vectors, int64_t first)
{
    return (char *)(uintptr_t)vectors + (size_t)first * tess_type_size(plan->matrix->type);
}

static tess_status many(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                        int64_t ldx, tess_result *results)
{
    tess_plan *plan = solver->plan;
    const int64_t rows = plan->matrix->rows;
    void *b = NULL, *x = NULL;
    tess_status status;
    tess_solver_pass_on(solver, solver->inner);
    if (tess_regrouped_of(plan)->in_place)
        return tess_solver_solve_many(solver->inner, k, B, ldb, X, ldx, results);
    TESS_TRY_CLEAN(tess_regrouped_alloc(plan, B, k, &b));
    TESS_TRY_CLEAN(tess_regrouped_alloc(plan, X, k, &x));
    for (int j = 0; j < k; j++) {
        TESS_TRY_CLEAN(
            tess_regrouped_take(plan, vector_at(plan, B, j * ldb), vector_at(plan, b, j * rows)));
        TESS_TRY_CLEAN(
            tess_regrouped_take(plan, vector_at(plan, X, j * ldx), vector_at(plan, x, j * rows)));
    }
    TESS_TRY_CLEAN(tess_solver_solve_many(solver->inner, k, b, rows, x, rows, results));
    for (int j = 0; j < k; j++)
        TESS_TRY_CLEAN(
            tess_regrouped_give(plan, vector_at(plan, x, j * rows), vector_at(plan, X, j * ldx)));
cleanup:
    tess_regrouped_release(plan, b);
    tess_regrouped_release(plan, x);
    return status;
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    return many(solver, 1, b, 0, x, 0, result);
}

const tess_outer tess_outer_regrouped = {
    .open = open,
    .close = close,
    .update = update,
    .solve = solve,
    .many = many,
    .keeps_modes = true,
};
