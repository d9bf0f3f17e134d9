/* method=auto: every rung, and the message when no rung can solve the system. */
#include "solve/outer/auto.h"

#include <math.h>
#include <string.h>

#include "problems.h"

enum { N = 60 };

/* A tridiagonal matrix with these diagonals; `shift` moves its columns, so that shift 1 leaves a
 * diagonal of -1 alone. */
static tess_matrix *cyclic_matrix(tess_ctx *ctx, double below, double diagonal, double above,
                                  int64_t shift)
{
    int64_t rows[3 * N], cols[3 * N], count = 0;
    double values[3 * N];
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = -1; k <= 1; k++) {
            if (i + k < 0 || i + k >= N)
                continue;
            rows[count] = i;
            cols[count] = (i + k + shift) % N;
            values[count++] = k < 0 ? below : k > 0 ? above : diagonal;
        }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, N, N, count, rows, cols, values, &A),
                     TESS_OK);
    return A;
}

/* The path's Laplacian: singular, with the constant vectors as its kernel. */
static tess_matrix *laplacian(tess_ctx *ctx)
{
    tess_matrix *A = cyclic_matrix(ctx, -1, 2, -1, 0);
    double *values = A->values;
    values[0] = 1;
    values[tess_matrix_find(A, N - 1, N - 1)] = 1;
    return A;
}

static void expect_solved(problem *p, const char *spec)
{
    const tess_result result = problem_solve(p, spec);
    const double error = distance(p->x, p->exact, p->A->rows);
    if (result.reason != TESS_REASON_CONVERGED || !(result.true_residual <= 1e-8) ||
        !(error < 1e-5))
        fail_msg("%s: %s, %s; error %g", spec ? spec : "NULL", tess_reason_name(result.reason),
                 result.text, error);
}

static void systems_are_solved_without_a_word(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; kind < 6; kind++) {
        tess_matrix *A = kind < 4 ? problem_matrix(ctx, 17, kind < 2 ? 1 : 3, kind % 2, TESS_F64, 7)
                                  : cyclic_matrix(ctx, 1, 0.1, kind == 4 ? 1.2 : 1, kind % 2);
        problem p = problem_open(ctx, A, "cpu");
        expect_solved(&p, NULL);
        expect_solved(&p, "auto:budget=30");
        problem_close(&p);
    }
}

/* The squares of |A| and |b| overflow a double. x has its usual size, or that of b. */
static void systems_of_any_magnitude_are_solved(void **state)
{
    static const int powers[] = {-900, -600, -300, 300, 600, 900};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < 4 * sizeof powers / sizeof *powers; i++) {
        const int power = powers[i / 4], of_A = i % 2 ? power : 0;
        tess_matrix *A = i % 4 < 2 ? problem_matrix(ctx, 40, 1, true, TESS_F64, 3)
                                   : cyclic_matrix(ctx, 1, 0.1, 1.2, 1);
        const int64_t n = A->rows;
        double *values = A->values;
        for (int64_t k = 0; k < tess_matrix_stored(A); k++)
            values[k] = ldexp(values[k], of_A);
        problem p = problem_open(ctx, A, "cpu");
        for (int64_t k = 0; k < n; k++) {
            p.b[k] = ldexp(p.b[k], power);
            p.exact[k] = ldexp(p.exact[k], power);
        }
        expect_solved(&p, NULL);
        const tess_result alone = problem_solve(&p, "gmres");
        if (alone.reason == TESS_REASON_ZERO_RHS ||
            (alone.reason == TESS_REASON_CONVERGED && !(distance(p.x, p.exact, n) < 1e-5)))
            fail_msg("gmres, 2^%d: %s, %s", power, tess_reason_name(alone.reason), alone.text);
        problem_close(&p);
    }
}

/* The ladders of all kinds of matrices. Each rung alone solves a system made for it. */
static void every_rung_solves_a_system_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 40, 1, true, TESS_F64, 3), "cpu");
    static const int64_t rows[] = {500, 5000, 500000};
    for (int kind = 0; kind < 12; kind++) {
        const tess_look_at look = {.square = true,
                                   .rows = rows[kind / 4],
                                   .entries = 20000,
                                   .even = true,
                                   .symmetric = kind % 2,
                                   .positive_diagonal = kind % 2,
                                   .strong_diagonal = kind / 2 % 2};
        tess_rung rungs[TESS_RUNGS_MAX];
        const int count = tess_make_ladder(&look, true, 1, rungs);
        assert_in_range(count, 3, TESS_RUNGS_MAX);
        for (int i = 0; i < count; i++)
            expect_solved(&p, rungs[i].spec);
    }
    problem_close(&p);
}

static void singular_systems_are_solved_where_they_can_be(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, laplacian(ctx), "cpu");
    for (int64_t i = 0; i < N; i++)
        p.x[i] = (double)(i % 7);
    assert_int_equal(tess_spmv(p.plan, 1, p.x, 0, p.b), TESS_OK);
    tess_result result = problem_solve(&p, NULL);
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("consistent: %s, %s", tess_reason_name(result.reason), result.text);
    for (int64_t i = 0; i < N; i++)
        p.b[i] = 1;
    result = problem_solve(&p, NULL);
    if (result.reason != TESS_REASON_LEAST_SQUARES || !strstr(result.text, "no x solves it") ||
        !(result.true_residual > 0.5) || !(result.true_residual <= 1))
        fail_msg("inconsistent: %s, %s (%g)", tess_reason_name(result.reason), result.text,
                 result.true_residual);
    problem_close(&p);
}

static void nothing_is_tried_that_parts_refuse(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 40, 1, false, TESS_F64, 3), "cpu:1,1");
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_solver_create(p.plan, "auto", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    for (int i = 0; tess_solver_attempt(solver, i); i++)
        if (strstr(tess_solver_attempt(solver, i), "needs the whole matrix"))
            fail_msg("tried %s", tess_solver_attempt(solver, i));
    tess_solver_destroy(solver);
    problem_close(&p);
}

static void faults_of_the_matrix_are_named_before_any_work(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, cyclic_matrix(ctx, -1, 4, -1, 0), "cpu");
    double *values = malloc((size_t)p.A->blocks * sizeof *values);
    memcpy(values, p.A->values, (size_t)p.A->blocks * sizeof *values);
    values[tess_matrix_find(p.A, 17, 18)] = NAN;
    assert_int_equal(tess_plan_update_values(p.plan, values), TESS_OK);
    tess_result result = problem_solve(&p, NULL);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    assert_non_null(strstr(result.text, "row 17"));
    for (int64_t k = p.A->row_offsets[17]; k < p.A->row_offsets[18]; k++)
        values[k] = 0;
    assert_int_equal(tess_plan_update_values(p.plan, values), TESS_OK);
    p.b[17] = 3;
    result = problem_solve(&p, NULL);
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    assert_non_null(strstr(result.text, "row 17"));
    assert_int_equal(result.iterations, 0);
    p.b[17] = 0; /* x[17] is any number */
    result = problem_solve(&p, NULL);
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("zero row: %s, %s", tess_reason_name(result.reason), result.text);
    free(values);
    problem_close(&p);
}

static int stop_at(void *user, int64_t iteration, double residual)
{
    (void)residual;
    return iteration >= *(const int64_t *)user;
}

/* Whenever the callback says stop, x is the best so far and the reason is CANCELLED. */
static void a_stopped_solve_returns_the_best_x(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, cyclic_matrix(ctx, 1, 0.1, 1.2, 1), "cpu");
    for (int64_t stop = 0; stop < 4; stop++) {
        tess_solver *solver;
        tess_result result;
        assert_int_equal(tess_solver_create(p.plan, "auto:tol=0", &solver), TESS_OK);
        tess_solver_set_callback(solver, stop_at, &stop);
        memset(p.x, 0, (size_t)N * sizeof *p.x);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
        if (result.reason != TESS_REASON_CANCELLED || !(result.true_residual <= 1))
            fail_msg("stop at %d: %s, %s", (int)stop, tess_reason_name(result.reason), result.text);
        assert_non_null(tess_solver_attempt(solver, 0));
        tess_solver_destroy(solver);
    }
    tess_result result = problem_solve(&p, "auto:budget=0");
    assert_int_equal(result.reason, TESS_REASON_ITERATION_LIMIT);
    assert_non_null(strstr(result.text, "budget="));
    problem_close(&p);
}

static void a_solver_goes_straight_to_what_has_worked(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, cyclic_matrix(ctx, 1, 0.1, 1.2, 1), "cpu");
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_solver_create(p.plan, NULL, &solver), TESS_OK);
    assert_null(tess_solver_spec(solver));
    for (int round = 0; round < 3; round++) {
        memset(p.x, 0, (size_t)N * sizeof *p.x);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        assert_int_equal(result.history_count, result.iterations + 1);
        assert_true(distance(p.x, p.exact, N) < 1e-5);
        if (round > 0)
            assert_null(tess_solver_attempt(solver, 1));
        if (round == 1)
            assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
    }
    expect_solved(&p, tess_solver_spec(solver));
    tess_solver_destroy(solver);
    problem_close(&p);
}

static void the_spec_has_the_tolerances(void **state)
{
    problem p = problem_open(test_ctx(state), cyclic_matrix(test_ctx(state), -1, 4, -2, 0), "cpu");
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_solver_create(p.plan, "auto:tol=0,atol=1e-5", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_non_null(strstr(tess_solver_spec(solver), "tol=0,atol=1e-05"));
    assert_int_equal(problem_solve(&p, tess_solver_spec(solver)).reason, TESS_REASON_CONVERGED);
    tess_solver_destroy(solver);
    problem_close(&p);
}

/* When the first hundred iterations reduce the residual little, multigrid is tried, and kept for
 * the next b. */
static void large_systems_are_solved_by_levels(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "diffusion:n=47,jump=1e3", &A, NULL), TESS_OK);
    tess_device *device = test_device(ctx, "cpu");
    tess_plan *plan;
    tess_solver *solver;
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
    assert_int_equal(tess_solver_create(plan, NULL, &solver), TESS_OK);
    double *b = test_vector(A->rows, TESS_F64, 5), *x = calloc((size_t)A->rows, sizeof *x);
    for (int round = 0; round < 2; round++) {
        tess_result result;
        memset(x, 0, (size_t)A->rows * sizeof *x);
        assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        assert_string_equal(tess_solver_spec(solver), "cg:pc=amg");
        assert_in_range(result.iterations, 5, round ? 40 : 400);
    }
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(b);
    free(x);
}

/* One allocation after the other fails: the solve fails cleanly, or another rung solves the system.
 */
static void every_allocation_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; kind < 3; kind++) {
        problem p = problem_open(ctx,
                                 kind == 0   ? cyclic_matrix(ctx, -1, 2.1, -1, 0)
                                 : kind == 1 ? cyclic_matrix(ctx, -1, 4, -2, 0)
                                             : cyclic_matrix(ctx, 1, 0.1, 1.2, 1),
                                 "cpu");
        const int64_t live = test_live(state);
        for (int64_t n = 0; n < 160; n++) {
            tess_result result;
            memset(p.x, 0, (size_t)N * sizeof *p.x);
            test_fail_allocation(state, n);
            const tess_status status = tess_solve(p.plan, NULL, p.b, p.x, &result);
            test_fail_allocation(state, -1);
            if (status != TESS_ERR_MEMORY &&
                (status != TESS_OK || result.reason != TESS_REASON_CONVERGED))
                fail_msg("kind %d, allocation %d: %s", kind, (int)n,
                         status == TESS_OK ? result.text : tess_ctx_error(ctx));
            assert_int_equal(test_live(state), live);
        }
        problem_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_are_solved_without_a_word),
        cmocka_unit_test(systems_of_any_magnitude_are_solved),
        cmocka_unit_test(every_rung_solves_a_system_alone),
        cmocka_unit_test(singular_systems_are_solved_where_they_can_be),
        cmocka_unit_test(nothing_is_tried_that_parts_refuse),
        cmocka_unit_test(faults_of_the_matrix_are_named_before_any_work),
        cmocka_unit_test(a_stopped_solve_returns_the_best_x),
        cmocka_unit_test(a_solver_goes_straight_to_what_has_worked),
        cmocka_unit_test(the_spec_has_the_tolerances),
        cmocka_unit_test(large_systems_are_solved_by_levels),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
