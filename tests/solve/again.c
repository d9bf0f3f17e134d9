/* Solvers that are used again: for the next right-hand side, for several, with new values. */
#include <math.h>
#include <string.h>

#include "problems.h"
#include "solve/direct/direct.h"

enum { N = 60 };

/* A tridiagonal matrix; the diagonal rises from `diagonal` to twice as much. */
static tess_matrix *tridiagonal(tess_ctx *ctx, double below, double diagonal, double above)
{
    int64_t rows[3 * N], cols[3 * N], count = 0;
    double values[3 * N];
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < N) {
                rows[count] = i;
                cols[count] = j;
                values[count++] = j < i ? below : j > i ? above : diagonal * (1 + (double)i / N);
            }
    return problem_from_entries(ctx, N, count, rows, cols, TESS_F64, values, 1, TESS_F64);
}

static tess_result solve(tess_solver *solver, problem *p)
{
    tess_result result;
    memset(p->x, 0, (size_t)p->A->rows * sizeof *p->x);
    if (tess_solver_solve(solver, p->b, p->x, &result) != TESS_OK)
        fail_msg("%s", tess_ctx_error(p->plan->ctx));
    return result;
}

/* Returns whether the first attempt was that of the spec. */
static bool began_with(const tess_solver *solver, const char *spec)
{
    const char *line = tess_solver_attempt(solver, 0);
    const size_t length = strlen(spec);
    return line && strncmp(line, spec, length) == 0 && line[length] == ' ';
}

/* cg finds that A is not definite, and another rung solves the system. The next right-hand sides
 * are solved by that rung, under its name. */
static void auto_keeps_the_rung_that_succeeded(void **state)
{
    problem p = problem_open(test_ctx(state), tridiagonal(test_ctx(state), 2, 1, 2), "cpu");
    tess_solver *solver;
    char spec[200] = "";
    assert_int_equal(tess_solver_create(p.plan, NULL, &solver), TESS_OK);
    for (int round = 0; round < 4; round++) {
        const tess_result result = solve(solver, &p);
        if (result.reason != TESS_REASON_CONVERGED || (round > 0 && !began_with(solver, spec)) ||
            (round > 0 && tess_solver_attempt(solver, 1)))
            fail_msg("round %d: %s; %s solves it, then %s", round, result.text, spec,
                     tess_solver_attempt(solver, 0));
        snprintf(spec, sizeof spec, "%s", tess_solver_spec(solver));
        if (round == 2)
            assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
    }
    tess_solver_destroy(solver);
    problem_close(&p);
}

/* New values that lead to another ladder: what is tried is what a new solver tries. */
static void auto_climbs_the_ladder_of_the_new_values(void **state)
{
    static const double kinds[][3] = {{-0.1, 1, -0.1}, {2, 1, 2}, {1.5, 4, -1}, {1, 1e-5, 1.2}};
    tess_ctx *ctx = test_ctx(state);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            problem p = problem_open(
                ctx, tridiagonal(ctx, kinds[from][0], kinds[from][1], kinds[from][2]), "cpu");
            problem q = problem_open(
                ctx, tridiagonal(ctx, kinds[to][0], kinds[to][1], kinds[to][2]), "cpu");
            tess_solver *solver, *fresh;
            assert_int_equal(tess_solver_create(p.plan, NULL, &solver), TESS_OK);
            (void)solve(solver, &p);
            assert_int_equal(tess_solver_update(solver, q.A->values), TESS_OK);
            const tess_result result = solve(solver, &p);
            if (result.reason != TESS_REASON_CONVERGED || !(distance(p.x, q.exact, N) < 1e-5))
                fail_msg("%d to %d: %s, x is off by %g", from, to, result.text,
                         distance(p.x, q.exact, N));
            /* The spec is that of the solver: alone it takes as many iterations. */
            tess_result alone;
            memset(p.x, 0, N * sizeof *p.x);
            assert_int_equal(tess_solve(p.plan, tess_solver_spec(solver), p.b, p.x, &alone),
                             TESS_OK);
            assert_int_equal(tess_solver_create(q.plan, NULL, &fresh), TESS_OK);
            (void)solve(fresh, &q);
            if (alone.reason != TESS_REASON_CONVERGED ||
                (!tess_solver_attempt(solver, 1) && alone.iterations != result.iterations))
                fail_msg("%d to %d: %s is said to take %lld iterations: %s", from, to,
                         tess_solver_spec(solver), (long long)result.iterations, alone.text);
            tess_solver_destroy(solver);
            tess_solver_destroy(fresh);
            problem_close(&p);
            problem_close(&q);
        }
}

/* Two rows are singular, the others a long chain that takes lsqr more than its iterations. The
 * first b has no solution, which lsqr finds out. The second one has, and factors find it. */
static void auto_tries_the_rungs_below_the_kept_one(void **state)
{
    enum { ROWS = 5000 };
    static int64_t rows[3 * ROWS], cols[3 * ROWS];
    static double values[3 * ROWS], b[ROWS], x[ROWS];
    tess_ctx *ctx = test_ctx(state);
    int64_t count = 0;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < ROWS && (i < 2) == (j < 2)) {
                rows[count] = i;
                cols[count] = j;
                values[count++] = i < 2 ? 1 : i == j ? 2 : i < j ? -1.0001 : -0.9999;
            }
    tess_device *device = test_device(ctx, "cpu:1");
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A;
    tess_plan *plan;
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, ROWS, ROWS, count, rows, cols, values, &A),
                     TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
    assert_int_equal(tess_solver_create(plan, NULL, &solver), TESS_OK);
    b[0] = 1;
    assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
    if (result.reason != TESS_REASON_LEAST_SQUARES)
        fail_msg("inconsistent: %s, %s", tess_reason_name(result.reason), result.text);
    for (int64_t i = 1; i < ROWS; i++)
        b[i] = i < 2 ? 1 : tess_random_unit(5, (uint64_t)i);
    memset(x, 0, sizeof x);
    assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("consistent: %s, %s", tess_reason_name(result.reason), result.text);
    assert_true(began_with(solver, "lsqr:scale=equilibrate"));
    assert_non_null(tess_solver_attempt(solver, 1));
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* The history is that of the first system, however many follow it, and lives until the next
 * solve. */
static void several_systems_have_the_history_of_the_first(void **state)
{
    enum { SYSTEMS = 20 };
    static const char *const specs[] = {"cg",           "gmres:restart=7",      "auto",
                                        "cg:inner=f32", "cg:scale=equilibrate", "lsqr"};
    tess_ctx *ctx = test_ctx(state);
    static double B[SYSTEMS * N], X[SYSTEMS * N];
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        problem p = problem_open(ctx, tridiagonal(ctx, -1, 2.2, -1), "cpu");
        tess_solver *solver;
        tess_result results[SYSTEMS];
        double first[1000];
        memset(X, 0, sizeof X);
        for (int64_t k = 0; k < SYSTEMS * N; k++)
            B[k] = k < N ? k == 0 : tess_random_unit(3, (uint64_t)k);
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        memcpy(p.b, B, N * sizeof *B);
        const tess_result alone = solve(solver, &p);
        assert_in_range(alone.history_count, 2, 1000);
        memcpy(first, alone.history, (size_t)alone.history_count * sizeof *first);
        tess_solver_destroy(solver);
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        assert_int_equal(tess_solver_solve_many(solver, SYSTEMS, B, N, X, N, results), TESS_OK);
        assert_int_equal(results[0].history_count, alone.history_count);
        assert_memory_equal(results[0].history, first, (size_t)alone.history_count * sizeof *first);
        for (int j = 1; j < SYSTEMS; j++)
            if (results[j].history || results[j].history_count != 0)
                fail_msg("%s: system %d has a history of %d", specs[i], j,
                         (int)results[j].history_count);
        tess_solver_destroy(solver);
        problem_close(&p);
    }
}

/* The plan has new values, of which the solver is not told: A' r is compared with their norm. */
static void least_squares_are_judged_by_the_present_norm(void **state)
{
    static const double factors[] = {1, 1e6, 1e-6};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = tridiagonal(ctx, 1, 2, 0.5);
    for (int64_t k = A->row_offsets[N - 1]; k < A->row_offsets[N]; k++) /* no x reaches b there */
        ((double *)A->values)[k] = 0;
    problem p = problem_open(ctx, A, "cpu");
    double *values = malloc((size_t)tess_matrix_stored(A) * sizeof *values);
    double normal[3];
    for (int i = 0; i < 3; i++) {
        tess_solver *solver;
        assert_int_equal(tess_plan_update_values(p.plan, A->values), TESS_OK);
        assert_int_equal(tess_solver_create(p.plan, "lsqr:max=3", &solver), TESS_OK);
        for (int64_t k = 0; k < tess_matrix_stored(A); k++)
            values[k] = factors[i] * tess_matrix_value(A, k);
        assert_int_equal(tess_plan_update_values(p.plan, values), TESS_OK);
        normal[i] = solve(solver, &p).normal_residual;
        if (!(fabs(normal[i] - normal[0]) < 1e-6 * normal[0]))
            fail_msg("A times %g: |A'r| = %g |A||r|, with A %g", factors[i], normal[i], normal[0]);
        tess_solver_destroy(solver);
    }
    free(values);
    problem_close(&p);
}

/* Complete factors of a definite matrix, of one that is not symmetric, of one that is not definite,
 * of a singular one, and again of the first. */
static void complete_factors_follow_any_values(void **state)
{
    static const double kinds[][3] = {
        {-0.1, 1, -0.1}, {0.9, 1, -0.1}, {2, 1, 2}, {0, 0, 0}, {-0.1, 1, -0.1}};
    tess_ctx *ctx = test_ctx(state);
    if (tess_direct_available(ctx, false) != TESS_OK || tess_direct_available(ctx, true) != TESS_OK)
        skip();
    problem p = problem_open(ctx, tridiagonal(ctx, -0.1, 1, -0.1), "cpu");
    tess_solver *solver;
    assert_int_equal(tess_solver_create(p.plan, "direct", &solver), TESS_OK);
    for (int i = 0; i < 5; i++) {
        const bool singular = kinds[i][1] == 0;
        tess_matrix *A = tridiagonal(ctx, kinds[i][0], kinds[i][1], kinds[i][2]);
        double *values = calloc((size_t)tess_matrix_stored(p.A), sizeof *values);
        for (int64_t k = 0; !singular && k < tess_matrix_stored(p.A); k++)
            values[k] = tess_matrix_value(A, k);
        assert_int_equal(tess_solver_update(solver, values), singular ? TESS_ERR_MATRIX : TESS_OK);
        const tess_result result = solve(solver, &p);
        if ((result.reason == TESS_REASON_CONVERGED) == singular || result.iterations > 3)
            fail_msg("kind %d: %s, %s", i, tess_reason_name(result.reason), result.text);
        for (int64_t k = 0; k < N; k++)
            assert_true(isfinite(p.x[k]));
        free(values);
        tess_matrix_destroy(A);
    }
    tess_solver_destroy(solver);
    problem_close(&p);
}

typedef struct visitor {
    tess_solver *solver;
    problem *p;
    double x[N];
    int calls;
} visitor;

/* Uses the solver of which it is the callback, and another one. */
static int use_the_solver(void *user, int64_t iteration, double residual)
{
    visitor *v = user;
    tess_result result;
    const double ones[N] = {1}, values[] = {1};
    (void)iteration, (void)residual;
    v->calls++;
    assert_int_equal(tess_solver_solve(v->solver, v->p->b, v->x, &result), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(v->p->plan->ctx), "in the middle of a solve"));
    assert_int_equal(tess_solver_solve_many(v->solver, 1, v->p->b, N, v->x, N, &result),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_solver_update(v->solver, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_solver_set_modes(v->solver, 1, ones, N), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_solver_set_coordinates(v->solver, 2, values), TESS_ERR_ARGUMENT);
    memset(v->x, 0, sizeof v->x);
    assert_int_equal(tess_solve(v->p->plan, "cg:pc=jacobi", v->p->b, v->x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    return 0;
}

static void a_callback_may_not_use_its_own_solver(void **state)
{
    static const char *const specs[] = {"cg:pc=none", "gmres:pc=jacobi",      "cg:pc=amg",
                                        "auto:tol=0", "cg:scale=equilibrate", "minres:pc=none"};
    problem p = problem_open(test_ctx(state), tridiagonal(test_ctx(state), -1, 2, -1), "cpu");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_solver *solver;
        double expected[N];
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        const tess_result alone = solve(solver, &p);
        memcpy(expected, p.x, sizeof expected);
        tess_solver_destroy(solver);
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        visitor v = {.solver = solver, .p = &p};
        tess_solver_set_callback(solver, use_the_solver, &v);
        const tess_result visited = solve(solver, &p);
        if (v.calls == 0 || visited.reason != alone.reason ||
            visited.iterations != alone.iterations || memcmp(expected, p.x, sizeof expected) != 0)
            fail_msg("%s: %d calls, %s, alone %s", specs[i], v.calls, visited.text, alone.text);
        tess_solver_set_callback(solver, NULL, NULL);
        assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
        tess_solver_destroy(solver);
    }
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_keeps_the_rung_that_succeeded),
        cmocka_unit_test(auto_climbs_the_ladder_of_the_new_values),
        cmocka_unit_test(auto_tries_the_rungs_below_the_kept_one),
        cmocka_unit_test(several_systems_have_the_history_of_the_first),
        cmocka_unit_test(least_squares_are_judged_by_the_present_norm),
        cmocka_unit_test(complete_factors_follow_any_values),
        cmocka_unit_test(a_callback_may_not_use_its_own_solver),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
