/* The calls that solve: one system, or several with the same A. */
#include "plan/ranges.h"
#include "solve/solve.h"

/* The most systems that share one SpMM. With more, the matrix is a small share of the traffic. */
enum { SYSTEMS_TOGETHER = 16 };

/* Returns how many systems are solved at a time. A method with cycles solves one system after the
 * other: its products are a small part of its time, and each of several systems together would need
 * its own basis. */
static int systems_together(const tess_solver *solver)
{
    return solver->outer || solver->cycle > 1 ? 1 : SYSTEMS_TOGETHER;
}

static tess_status solve_together(tess_solver *solver, int count, const void *B, int64_t ldb,
                                  void *X, int64_t ldx, tess_result *results)
{
    TESS_TRY(tess_solver_reserve(solver, count));
    TESS_TRY(tess_iterate(solver, count, B, ldb, X, ldx, results));
    return tess_pc_given_status(&solver->pc);
}

/* Results have the history of the first system alone. Where others follow it, in whose solves the
 * solver's history is written anew, it is copied. */
static tess_status keep_first_history(tess_solver *solver, int system, bool others_follow,
                                      tess_result *result)
{
    if (system > 0) {
        result->history = NULL;
        result->history_count = 0;
    } else if (others_follow) {
        tess_free(solver->ctx, solver->first_history);
        solver->first_history = NULL;
        const tess_status status =
            TESS_ALLOC(solver->ctx, result->history_count, &solver->first_history);
        TESS_TRY(tess_pc_agree(solver->plan, status));
        memcpy(solver->first_history, result->history,
               (size_t)result->history_count * sizeof *result->history);
        result->history = solver->first_history;
    }
    return TESS_OK;
}

static tess_status check_systems(const tess_solver *solver, int k, const void *B, int64_t ldb,
                                 const void *X, int64_t ldx, const tess_result *results)
{
    const tess_matrix *A = solver->plan->matrix;
    const size_t scalar = tess_type_size(A->type);
    if (k < 0 || (k > 0 && !results) || (k > 0 && A->rows > 0 && (!B || !X)))
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT, "%s",
                         k < 0 ? "tess_solver_solve_many: a negative number of systems"
                               : "a solver's b, x or result is NULL");
    if (k > 1 && (ldb < A->rows || ldx < A->cols))
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "tess_solver_solve_many: %s = %lld is less than %lld %s",
                         ldb < A->rows ? "ldb" : "ldx", (long long)(ldb < A->rows ? ldb : ldx),
                         (long long)(ldb < A->rows ? A->rows : A->cols),
                         ldb < A->rows ? "rows" : "columns");
    if (tess_ranges_overlap((tess_ranges){B, k, A->rows, ldb, scalar},
                            (tess_ranges){X, k, A->cols, ldx, scalar}))
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "a solver's b and x overlap: x is written while b is still read, so pass "
                         "a copy of b");
    return TESS_OK;
}

static tess_status solve_systems(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                                 int64_t ldx, tess_result *results)
{
    TESS_TRY(tess_pc_agree(solver->plan, check_systems(solver, k, B, ldb, X, ldx, results)));
    const size_t scalar = tess_type_size(solver->plan->matrix->type);
    TESS_TRY(tess_solver_follow(solver));
    if (solver->outer && solver->outer->many)
        return k > 0 ? solver->outer->many(solver, k, B, ldb, X, ldx, results) : TESS_OK;
    TESS_TRY(solver->outer ? TESS_OK : tess_solver_set_up(solver));
    const int most = systems_together(solver);
    for (int first = 0; first < k; first += most) {
        const char *b = (const char *)B + (size_t)(first * ldb) * scalar;
        char *x = (char *)X + (size_t)(first * ldx) * scalar;
        TESS_TRY(solver->outer ? solver->outer->solve(solver, b, x, &results[first])
                               : solve_together(solver, tess_min(k - first, most), b, ldb, x, ldx,
                                                results + first));
        TESS_TRY(keep_first_history(solver, first, k - first > most, &results[first]));
    }
    return TESS_OK;
}

tess_status tess_solver_solve_many(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                                   int64_t ldx, tess_result *results)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    TESS_TRY(tess_solver_need_idle(solver, __func__));
    solver->solving = true;
    const tess_status status = solve_systems(solver, k, B, ldb, X, ldx, results);
    solver->solving = false;
    return status;
}

tess_status tess_solver_solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    return tess_solver_solve_many(solver, 1, b, 0, x, 0, result);
}

tess_status tess_solve(tess_plan *plan, const char *spec, const void *b, void *x,
                       tess_result *result)
{
    tess_solver *solver;
    TESS_TRY(tess_solver_create(plan, spec, &solver));
    tess_status status = tess_solver_solve(solver, b, x, result);
    tess_solver_destroy(solver);
    if (status == TESS_OK) {
        result->history = NULL;
        result->history_count = 0;
    }
    return status;
}
