/* What a result says is true: no solution where there is none, no x that is worse than the first
 * one. */
#include <math.h>
#include <string.h>

#include "problems.h"

/* n x n from row-major entries, as blocks of 1 x 1 or as one block. */
static problem open_dense(tess_ctx *ctx, int64_t n, const double *dense, const double *b,
                          int32_t block, const char *device)
{
    int64_t *rows = malloc((size_t)(n * n) * sizeof *rows),
            *cols = malloc((size_t)(n * n) * sizeof *cols), count = 0;
    double *values = malloc((size_t)(n * n) * sizeof *values);
    for (int64_t k = 0; k < n * n; k++)
        if (dense[k] != 0) {
            rows[count] = k / n;
            cols[count] = k % n;
            values[count++] = dense[k];
        }
    problem p = problem_open(
        ctx, problem_from_entries(ctx, n, count, rows, cols, TESS_F64, values, block, TESS_F64),
        device);
    memcpy(p.b, b, (size_t)n * sizeof *b);
    free(rows);
    free(cols);
    free(values);
    return p;
}

/* All entries are 1. The factors of ilut have a pivot in place of 0, so that x grows to 1e20. There
 * b has no digit in b - A x. */
static void an_x_that_absorbs_b_is_no_solution(void **state)
{
    static const char *const specs[] = {"gmres:pc=ilut,pivot=0.1,scale=match,order=rcm",
                                        "gmres:pc=ilut,pivot=0.1", "auto"};
    double ones[25];
    for (int i = 0; i < 25; i++)
        ones[i] = 1;
    for (int64_t n = 2; n <= 5; n++)
        for (int block = 0; block < 2; block++)
            for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
                const double b[] = {1, 2, 3, 4, 5};
                problem p =
                    open_dense(test_ctx(state), n, ones, b, block ? (int32_t)n : 1, "cpu:1");
                const tess_result result = problem_solve(&p, specs[i]);
                double squares = 0, least = 0;
                for (int64_t k = 0; k < n; k++) {
                    squares += b[k] * b[k];
                    least += (b[k] - (double)(n + 1) / 2) * (b[k] - (double)(n + 1) / 2);
                }
                least = sqrt(least / squares);
                if (result.reason == TESS_REASON_CONVERGED ||
                    !(result.true_residual > 0.99 * least))
                    fail_msg("%d x %d, %s: %s, %s", (int)n, (int)n, specs[i],
                             tess_reason_name(result.reason), result.text);
                if (strcmp(specs[i], "auto") == 0 && (result.reason != TESS_REASON_LEAST_SQUARES ||
                                                      !(result.true_residual < 1.01 * least)))
                    fail_msg("%d x %d: %s, %s", (int)n, (int)n, tess_reason_name(result.reason),
                             result.text);
                problem_close(&p);
            }
}

/* The last row is the sum of the first two, but its b is not. */
static void singular_systems_have_no_solution(void **state)
{
    const uint64_t draws = test_draws(40);
    for (uint64_t seed = 0; seed < draws; seed++) {
        const int64_t n = 3 + tess_random_below(seed, 0, 4);
        double dense[36], b[6];
        for (int64_t k = 0; k < n * n; k++)
            dense[k] = (double)tess_random_below(seed, 1 + (uint64_t)k, 7) - 3;
        for (int64_t j = 0; j < n; j++) {
            dense[(n - 1) * n + j] = dense[j] + dense[n + j];
            b[j] = (double)tess_random_below(seed, 100 + (uint64_t)j, 9);
        }
        b[n - 1] = b[0] + b[1] + 1 + (double)(seed % 50);
        problem p = open_dense(test_ctx(state), n, dense, b, 1, "cpu:1");
        const tess_result result = problem_solve(&p, "auto");
        if (result.reason == TESS_REASON_CONVERGED || !(result.true_residual > 1e-3))
            fail_msg("seed %d: %s, %s", (int)seed, tess_reason_name(result.reason), result.text);
        problem_close(&p);
    }
}

/* x is huge on the way, and |r| grows. The caller gets the first x back, and its residual. */
static void a_failure_leaves_the_first_x(void **state)
{
    static const char *const pcs[] = {"none", "ilut", "iluk", "chebyshev"};
    static const double values[][9] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 3, -1, 0, 2, 0, 2, 5}, {2, -1, -1, -1, 1, 0, -1, 0, 1}};
    int failures = 0;
    for (size_t i = 0; tess_methods[i]; i++)
        for (size_t k = 0; k < 4 * 3 && !tess_methods[i]->pc; k++) {
            const double b[] = {1, 5, 100};
            problem p = open_dense(test_ctx(state), 3, values[k / 4], b, 1, "cpu:1");
            const double start[] = {0.5, -0.5, 0.25};
            double before = 0, after = 0, bb = 0;
            char spec[80];
            tess_result result;
            snprintf(spec, sizeof spec, "%s:pc=%s", tess_method_names[i], pcs[k % 4]);
            memcpy(p.x, start, sizeof start);
            if (tess_solve(p.plan, spec, p.b, p.x, &result) != TESS_OK) {
                problem_close(&p);
                continue;
            }
            for (int row = 0; row < 3; row++) {
                const double *a = values[k / 4] + (ptrdiff_t)3 * row;
                const long double r = (long double)b[row] - (long double)a[0] * p.x[0] -
                                      (long double)a[1] * p.x[1] - (long double)a[2] * p.x[2];
                const double first = b[row] - a[0] * start[0] - a[1] * start[1] - a[2] * start[2];
                after += (double)(r * r);
                before += first * first;
                bb += b[row] * b[row];
            }
            const bool under_way = result.reason == TESS_REASON_ITERATION_LIMIT;
            if (result.reason == TESS_REASON_CONVERGED ||
                (!under_way && !(after <= 1.0001 * before)) ||
                (!under_way && !(result.true_residual >= 0.99 * sqrt(after / bb))))
                fail_msg("%s: %s, %s; |r|/|b| = %g was %g, %g is said", spec,
                         tess_reason_name(result.reason), result.text, sqrt(after / bb),
                         sqrt(before / bb), result.true_residual);
            failures += strstr(result.text, "x is left as it was") != NULL;
            problem_close(&p);
        }
    assert_true(failures > 10);
}

/* b has an entry that is not finite, or squares that overflow: the sentence says so, nothing is
 * computed, and the residual is no number that looks good. */
static void a_bad_right_hand_side_is_named(void **state)
{
    static const char *const specs[] = {"auto", "cg", "gmres:scale=equilibrate", "cg:inner=f32",
                                        "lsqr"};
    const double values[] = {4, 1, 1, 3};
    for (size_t i = 0; i < 5 * 3; i++) {
        const double bad[] = {NAN, -INFINITY, 1e200}, b[] = {1, bad[i % 3]};
        problem p = open_dense(test_ctx(state), 2, values, b, 1, "cpu:1");
        const tess_result result = problem_solve(&p, specs[i / 3]);
        const bool overflows = i % 3 == 2, scales = overflows && i / 3 % 2 == 0 && i / 3 < 4;
        if (scales ? result.reason != TESS_REASON_CONVERGED
                   : result.reason != TESS_REASON_NOT_FINITE || result.iterations != 0 ||
                         isfinite(result.true_residual) ||
                         !strstr(result.text,
                                 overflows ? "overflows, entries are up to 1e+200" : "b[1] is "))
            fail_msg("%s, b[1] = %g: %s, %s (%g)", specs[i / 3], b[1],
                     tess_reason_name(result.reason), result.text, result.true_residual);
        assert_true(scales || (p.x[0] == 0 && p.x[1] == 0));
        problem_close(&p);
    }
}

/* max=0 allows no iteration: x stays, and the result has its residual. */
static void no_iterations_leave_the_first_x(void **state)
{
    static const char *const more[] = {"auto:max=0", "gmres:scale=equilibrate,max=0",
                                       "cg:inner=f32,max=0"};
    const double values[] = {4, 1, 1, 3}, b[] = {1, 2};
    for (size_t i = 0; i < 3 || tess_methods[i - 3]; i++) {
        char spec[80];
        tess_result result;
        if (i >= 3 && tess_methods[i - 3]->pc == &tess_pc_lu) /* may not be here */
            continue;
        problem p = open_dense(test_ctx(state), 2, values, b, 1, "cpu:1");
        snprintf(spec, sizeof spec, "%s%s", i < 3 ? more[i] : tess_method_names[i - 3],
                 i < 3 ? "" : ":max=0");
        p.x[0] = 0.25; /* r = (0, 1.75) */
        assert_int_equal(tess_solve(p.plan, spec, p.b, p.x, &result), TESS_OK);
        if (result.reason != TESS_REASON_ITERATION_LIMIT || result.iterations != 0 ||
            !(fabs(result.true_residual - 1.75 / sqrt(5)) < 1e-12) || p.x[0] != 0.25 || p.x[1] != 0)
            fail_msg("%s: %s, %s; x = (%g, %g)", spec, tess_reason_name(result.reason), result.text,
                     p.x[0], p.x[1]);
        problem_close(&p);
    }
}

/* The squares of b underflow. Refinement says so, as the methods do: b is not 0. */
static void a_small_right_hand_side_is_not_zero(void **state)
{
    static const char *const specs[] = {"cg", "cg:inner=f32", "gmres:inner=f32"};
    const double values[] = {4, 1, 1, 3}, b[] = {1e-170, 2e-170};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        problem p = open_dense(test_ctx(state), 2, values, b, 1, "cpu:1");
        const tess_result result = problem_solve(&p, specs[i]);
        if (result.reason != TESS_REASON_NOT_FINITE || !strstr(result.text, "underflows"))
            fail_msg("%s: %s, %s; x = (%g, %g)", specs[i], tess_reason_name(result.reason),
                     result.text, p.x[0], p.x[1]);
        problem_close(&p);
    }
}

/* 1/3 has other digits in single precision, so that the correction of 1e20 makes |r| larger. x gets
 * its own digits back. */
static void refinement_takes_back_a_correction_that_is_none(void **state)
{
    static const char *const specs[] = {"gmres:inner=f32", "gmres:pc=ilu0,inner=f32"};
    const double values[] = {1, 1.0 / 3, 0, 1e-20}, b[] = {4.0 / 3, 1};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        problem p = open_dense(test_ctx(state), 2, values, b, 1, "cpu:1");
        tess_result result;
        p.x[0] = p.x[1] = 1; /* r = (0, 1) */
        assert_int_equal(tess_solve(p.plan, specs[i], p.b, p.x, &result), TESS_OK);
        const double residual =
            hypot(b[0] - p.x[0] - p.x[1] / 3, b[1] - 1e-20 * p.x[1]) / hypot(b[0], b[1]);
        if (result.reason == TESS_REASON_CONVERGED || p.x[0] != 1 || p.x[1] != 1 ||
            !(fabs(result.true_residual - residual) < 1e-12))
            fail_msg("%s: %s, %s; x = (%g, %g), |r|/|b| = %g", specs[i],
                     tess_reason_name(result.reason), result.text, p.x[0], p.x[1], residual);
        problem_close(&p);
    }
}

/* A b = 0: no x of the Krylov space reduces |r|, and the history does not say so either. */
static void a_krylov_space_that_reduces_nothing_is_a_breakdown(void **state)
{
    static const char *const specs[] = {"gmres", "fgmres", "dgmres"};
    const double values[] = {0, 1, 0, 0, 0, 0, 0, 0, 1}, b[] = {1, 0, 0};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        problem p = open_dense(test_ctx(state), 3, values, b, 1, "cpu:1");
        tess_solver *solver;
        tess_result result;
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
        if (result.reason != TESS_REASON_BREAKDOWN || result.true_residual != 1 ||
            result.residual != 1 || result.history_count != 2 || result.history[1] != 1)
            fail_msg("%s: %s, %s", specs[i], tess_reason_name(result.reason), result.text);
        tess_solver_destroy(solver);
        problem_close(&p);
    }
}

/* A row of A is 0 and its b is not: nothing is tried, and the residual is that of the first x. */
static void a_system_that_is_not_tried_has_the_residual_of_its_x(void **state)
{
    const double values[] = {4, 1, 0, 0}, b[] = {-1, 2};
    problem p = open_dense(test_ctx(state), 2, values, b, 1, "cpu:1");
    tess_result result;
    p.x[0] = 0.5; /* r = (-3, 2) */
    assert_int_equal(tess_solve(p.plan, "auto", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    if (!(fabs(result.true_residual - sqrt(13.0 / 5)) < 1e-12) || p.x[0] != 0.5)
        fail_msg("|b - Ax|/|b| = %g is said: %s", result.true_residual, result.text);
    problem_close(&p);
}

static int stop_at_seven(void *user, int64_t iteration, double residual)
{
    (void)user;
    (void)residual;
    return iteration >= 7;
}

/* The callback says stop at the last iteration that is allowed: x is the same as without it. */
static void a_stop_at_the_limit_changes_no_x(void **state)
{
    static const char *const specs[] = {"cg:max=7", "gmres:max=7", "fgmres:max=7",
                                        "dgmres:restart=8,max=7", "gmres:restart=5,max=7"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        problem p = problem_open(
            test_ctx(state), problem_matrix(test_ctx(state), 30, 1, true, TESS_F64, 5), "cpu:1");
        const tess_result limited = problem_solve(&p, specs[i]);
        double x[30];
        tess_solver *solver;
        tess_result stopped;
        assert_int_equal(limited.reason, TESS_REASON_ITERATION_LIMIT);
        memcpy(x, p.x, sizeof x);
        memset(p.x, 0, sizeof x);
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        tess_solver_set_callback(solver, stop_at_seven, NULL);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &stopped), TESS_OK);
        assert_int_equal(stopped.reason, TESS_REASON_CANCELLED);
        if (memcmp(x, p.x, sizeof x) != 0)
            fail_msg("%s: |b - Ax|/|b| = %g, stopped %g", specs[i], limited.true_residual,
                     stopped.true_residual);
        tess_solver_destroy(solver);
        problem_close(&p);
    }
}

/* A = tridiag(1, d, 1), of 12 rows, is far from singular for any small d. Its factors without
 * pivots are not. */
static void bad_factors_are_not_taken_for_a_bad_matrix(void **state)
{
    enum { N = 12 };
    static const double diagonals[] = {1e-310, 1e-300, 1e-200, 1e-160};
    static const char *const specs[] = {"gmres:pc=ilut", "gmres:pc=ilut,side=left"};
    int refused = 0, ends = 0;
    for (int k = 0; k < 8; k++) {
        double values[N * N] = {0}, b[N];
        for (int i = 0; i < N; i++) {
            values[i * N + i] = diagonals[k / 2];
            values[i * N + (i + N - 1) % N] = i > 0;
            values[i * N + (i + 1) % N] = i + 1 < N;
            b[i] = (i > 0) + (i + 1 < N);
        }
        problem p = open_dense(test_ctx(state), N, values, b, 1, "cpu:1");
        tess_result result;
        memset(p.x, 0, sizeof b);
        const tess_status status = tess_solve(p.plan, specs[k % 2], p.b, p.x, &result);
        const char *text = status == TESS_OK ? result.text : tess_ctx_error(test_ctx(state));
        refused += status == TESS_ERR_MATRIX && strstr(text, "no pivot") != NULL;
        ends += status == TESS_OK && strstr(text, "Krylov space ends") != NULL;
        if ((status != TESS_OK && status != TESS_ERR_MATRIX) ||
            strstr(text, "the matrix is singular"))
            fail_msg("d = %g, %s: %s", diagonals[k / 2], specs[k % 2], text);
        problem_close(&p);
    }
    assert_true(refused > 0 && ends > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_x_that_absorbs_b_is_no_solution),
        cmocka_unit_test(singular_systems_have_no_solution),
        cmocka_unit_test(a_failure_leaves_the_first_x),
        cmocka_unit_test(a_bad_right_hand_side_is_named),
        cmocka_unit_test(no_iterations_leave_the_first_x),
        cmocka_unit_test(a_small_right_hand_side_is_not_zero),
        cmocka_unit_test(refinement_takes_back_a_correction_that_is_none),
        cmocka_unit_test(a_krylov_space_that_reduces_nothing_is_a_breakdown),
        cmocka_unit_test(a_system_that_is_not_tried_has_the_residual_of_its_x),
        cmocka_unit_test(a_stop_at_the_limit_changes_no_x),
        cmocka_unit_test(bad_factors_are_not_taken_for_a_bad_matrix),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
