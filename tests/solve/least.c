/* Least squares and symmetric indefinite systems: x against dense computations, and messages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"

/* A dense m x n matrix, row-major, as a plan of blocks b x b. */
typedef struct least_system {
    int64_t m, n;
    double *dense, *b, *x, *exact;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
} least_system;

static least_system open_system(tess_ctx *ctx, int64_t m, int64_t n, int32_t block, uint64_t seed)
{
    least_system s = {.m = m, .n = n};
    const int64_t longest = m > n ? m : n;
    int64_t *rows = malloc((size_t)(m * n) * 8), *cols = malloc((size_t)(m * n) * 8), count = 0;
    double *values = malloc((size_t)(m * n) * 8);
    s.dense = calloc((size_t)(m * n), 8);
    s.b = calloc((size_t)longest, 8);
    s.x = calloc((size_t)longest, 8);
    s.exact = calloc((size_t)longest, 8);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const double value = tess_random_unit(seed, (uint64_t)(i * n + j));
            if (i != j && fabs(value) > 0.3)
                continue;
            rows[count] = i;
            cols[count] = j;
            s.dense[i * n + j] = values[count++] = i == j ? 2 + value : value;
        }
    tess_matrix *scalar;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, m, n, count, rows, cols, values, &scalar),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){block, block}, &s.A),
                     TESS_OK);
    tess_matrix_destroy(scalar);
    free(rows);
    free(cols);
    free(values);
    s.device = test_device(ctx, "cpu");
    assert_int_equal(tess_plan_create(ctx, s.A, s.device,
                                      &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE},
                                      &s.plan),
                     TESS_OK);
    for (int64_t i = 0; i < m; i++)
        s.b[i] = tess_random_unit(seed + 1, (uint64_t)i);
    return s;
}

static void close_system(least_system *s)
{
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
    tess_matrix_destroy(s->A);
    free(s->dense);
    free(s->b);
    free(s->x);
    free(s->exact);
}

/* The normal equations by elimination: A^T A x = A^T b, or x = A^T y, A A^T y = b. */
static void solve_densely(least_system *s)
{
    const int64_t m = s->m, n = s->n, k = m < n ? m : n;
    double *square = calloc((size_t)(k * k), 8), *right = calloc((size_t)k, 8);
    double *y = calloc((size_t)k, 8);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t l = 0; l < (m < n ? n : m); l++)
                square[i * k + j] += m < n ? s->dense[i * n + l] * s->dense[j * n + l]
                                           : s->dense[l * n + i] * s->dense[l * n + j];
    for (int64_t i = 0; i < k; i++)
        for (int64_t l = 0; l < m; l++)
            right[i] += m < n ? (l == i) * s->b[l] : s->dense[l * n + i] * s->b[l];
    dense_solve(square, k, right, y);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            s->exact[j] += m < n ? s->dense[i * n + j] * y[i] : (i == j) * y[i];
    free(square);
    free(right);
    free(y);
}

/* Tall matrices give the least-squares x, wide ones the smallest x, both as the dense computation.
 */
static void rectangular_systems_have_the_least_residual(void **state)
{
    static const int64_t sizes[][2] = {{40, 17}, {17, 40}, {33, 32}, {32, 33}, {5, 1}, {1, 5}};
    static const char *const specs[] = {"lsqr:tol=1e-12", "lsqr:tol=1e-12,scale=equilibrate",
                                        "auto:tol=1e-12"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < 6 * 3; i++) {
        for (int32_t block = 1; block <= 3; block++) {
            least_system s = open_system(ctx, sizes[i / 3][0], sizes[i / 3][1], block, 100 + i);
            const bool wide = s.m < s.n;
            tess_result result;
            solve_densely(&s);
            if (tess_solve(s.plan, specs[i % 3], s.b, s.x, &result) != TESS_OK)
                fail_msg("%s: %s", specs[i % 3], tess_ctx_error(ctx));
            if (result.reason != (wide ? TESS_REASON_CONVERGED : TESS_REASON_LEAST_SQUARES) ||
                (!wide && !(result.normal_residual < 1.1e-11 && result.true_residual > 1e-3)))
                fail_msg("%s, %lld x %lld: %s, %s", specs[i % 3], (long long)s.m, (long long)s.n,
                         tess_reason_name(result.reason), result.text);
            /* With scaling a wide system has another x, which is as good. */
            if ((!wide || i % 3 == 0) && !(distance(s.x, s.exact, s.n) < 1e-8))
                fail_msg("%s, %lld x %lld of %d: x is off by %g", specs[i % 3], (long long)s.m,
                         (long long)s.n, (int)block, distance(s.x, s.exact, s.n));
            close_system(&s);
        }
    }
}

/* Rows and columns of sizes from 1 to 1e-9. Every b has a solution, though A^T r is small against
 * |A| and |r| long before it is found. */
static void a_small_gradient_is_no_proof_that_nothing_solves_it(void **state)
{
    enum { MOST = 55 };
    static const int64_t sizes[][2] = {{2, 2}, {2, 3}, {6, 6}, {8, 55}};
    static const char *const specs[] = {"lsqr", "lsqr:scale=equilibrate", "auto"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    int solved = 0;
    for (size_t i = 0; i < 4 * 3 * 6; i++) {
        const int64_t m = sizes[i / 18][0], n = sizes[i / 18][1];
        int64_t rows[8 * MOST], cols[8 * MOST], count = 0;
        double values[8 * MOST], b[8], x[MOST] = {0};
        for (int64_t k = 0; k < m * n; k++) {
            const int64_t row = k / n, column = k % n, small = i % 2 ? row : column;
            if (m == 2 && row != column)
                continue;
            rows[count] = row;
            cols[count] = column;
            values[count++] = (m == 2 ? 1 : tess_random_unit(i, (uint64_t)k)) *
                              pow(10, -9.0 * (double)small / (double)((i % 2 ? m : n) - 1));
        }
        for (int64_t k = 0; k < m; k++)
            b[k] = 1 + 0.1 * (double)(i % 6);
        tess_matrix *A;
        tess_plan *plan;
        tess_result result;
        assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, m, n, count, rows, cols, values, &A),
                         TESS_OK);
        assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
        assert_int_equal(tess_solve(plan, specs[i / 6 % 3], b, x, &result), TESS_OK);
        if (result.reason == TESS_REASON_LEAST_SQUARES)
            fail_msg("case %d, %d x %d, %s: %s", (int)i, (int)m, (int)n, specs[i / 6 % 3],
                     result.text);
        solved += result.reason == TESS_REASON_CONVERGED;
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    assert_true(solved > 60); /* of 72 */
    tess_device_close(device);
}

/* |r| is the smallest within some hundred iterations, but for its last digits. A' r falls for
 * thousands more, as the singular values of A go down to 1e-5. */
static void lsqr_goes_on_while_the_gradient_falls(void **state)
{
    enum { ROWS = 200, COLS = 100 };
    static int64_t rows[ROWS * COLS], cols[ROWS * COLS];
    static double values[ROWS * COLS], b[ROWS], x[COLS];
    tess_ctx *ctx = test_ctx(state);
    double u[ROWS], v[COLS], uu = 0, vv = 0;
    for (int i = 0; i < ROWS; i++) {
        u[i] = tess_random_unit(1, (uint64_t)i);
        b[i] = tess_random_unit(3, (uint64_t)i);
        uu += u[i] * u[i];
    }
    for (int j = 0; j < COLS; j++) {
        v[j] = tess_random_unit(2, (uint64_t)j);
        vv += v[j] * v[j];
    }
    for (int k = 0; k < ROWS * COLS; k++) { /* a diagonal matrix between two reflections */
        rows[k] = k / COLS;
        cols[k] = k % COLS;
        for (int l = 0; l < COLS; l++)
            values[k] += pow(1e5, -(double)l / (COLS - 1)) *
                         ((rows[k] == l) - 2 * u[rows[k]] * u[l] / uu) *
                         ((cols[k] == l) - 2 * v[cols[k]] * v[l] / vv);
    }
    tess_matrix *A;
    tess_plan *plan;
    tess_result result;
    tess_device *device = test_device(ctx, "cpu:1");
    assert_int_equal(
        tess_matrix_from_coo(ctx, TESS_F64, ROWS, COLS, ROWS * COLS, rows, cols, values, &A),
        TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_solve(plan, "lsqr:max=20000", b, x, &result), TESS_OK);
    if (result.reason != TESS_REASON_LEAST_SQUARES || !(result.normal_residual < 1e-11))
        fail_msg("%s, %s: %g", tess_reason_name(result.reason), result.text,
                 result.normal_residual);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* tol=0: where b - A x is 0, the system is solved. */
static void a_residual_of_zero_is_convergence(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t rows[] = {0, 0, 1, 1}, cols[] = {0, 1, 0, 1};
    int solved = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        double values[4], b[2] = {0, 0}, x[2] = {0, 0};
        for (uint64_t k = 0; k < 4; k++) {
            values[k] = (k % 3 == 0 ? 3 : 0) + tess_random_unit(seed, k);
            b[rows[k]] += values[k];
        }
        problem p = problem_open(
            ctx, problem_from_entries(ctx, 2, 4, rows, cols, TESS_F64, values, 1, TESS_F64),
            "cpu:1");
        tess_result result;
        assert_int_equal(tess_solve(p.plan, "lsqr:tol=0", b, x, &result), TESS_OK);
        if (result.reason == TESS_REASON_LEAST_SQUARES && strstr(result.text, "|b - Ax|/|b| = 0 "))
            fail_msg("seed %d: %s", (int)seed, result.text);
        solved += result.reason == TESS_REASON_CONVERGED;
        problem_close(&p);
    }
    assert_true(solved > 0);
}

static void other_methods_refuse_what_is_not_square(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    least_system s = open_system(ctx, 9, 4, 1, 3);
    tess_result result;
    for (size_t i = 0; tess_methods[i]; i++) {
        if (tess_methods[i]->least_squares)
            continue;
        assert_int_equal(tess_solve(s.plan, tess_method_names[i], s.b, s.x, &result),
                         TESS_ERR_ARGUMENT);
        assert_non_null(strstr(tess_ctx_error(ctx), "not 9 x 4: auto and lsqr take any"));
    }
    close_system(&s);
}

/* New values, several right-hand sides and an initial guess, on the same solver. */
static void a_rectangular_solver_is_used_again(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    least_system s = open_system(ctx, 30, 12, 2, 8);
    tess_solver *solver;
    tess_result results[3];
    double B[3 * 30], X[3 * 12] = {0};
    solve_densely(&s);
    for (int j = 0; j < 3; j++)
        for (int64_t i = 0; i < 30; i++)
            B[30 * j + i] = (j + 1) * s.b[i];
    assert_int_equal(tess_solver_create(s.plan, "lsqr:tol=1e-12", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve_many(solver, 3, B, 30, X, 12, results), TESS_OK);
    for (int j = 0; j < 3; j++)
        for (int64_t i = 0; i < 12; i++)
            assert_true(fabs(X[12 * j + i] - (j + 1) * s.exact[i]) < 1e-9);
    assert_int_equal(tess_solver_solve_many(solver, 2, B, 30, X, 11, results), TESS_ERR_ARGUMENT);
    double *half = malloc((size_t)tess_matrix_stored(s.A) * 8);
    for (int64_t i = 0; i < tess_matrix_stored(s.A); i++)
        half[i] = 0.5 * tess_matrix_value(s.A, i);
    assert_int_equal(tess_plan_update_values(s.plan, half), TESS_OK);
    assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, B, X, results), TESS_OK);
    for (int64_t i = 0; i < 12; i++)
        assert_true(fabs(X[i] - 2 * s.exact[i]) < 1e-9);
    free(half);
    tess_solver_destroy(solver);
    close_system(&s);
}

/* A saddle point: diag(D, -D) with a coupling, D from 1 to 100; minres needs no factors. */
static void indefinite_systems_are_solved_by_minres(void **state)
{
    enum { N = 80 };
    static const char *const specs[] = {"minres:tol=1e-11", "minres:pc=bjacobi,tol=1e-11",
                                        "minres:pc=jacobi,scale=equilibrate,tol=1e-11",
                                        "cr:pc=bjacobi,tol=1e-11"};
    tess_ctx *ctx = test_ctx(state);
    for (int32_t block = 1; block <= 4; block++) {
        int64_t rows[3 * N], cols[3 * N], count = 0;
        double values[3 * N];
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = i - 1; j <= i + 1; j++)
                if (j >= 0 && j < N) {
                    rows[count] = i;
                    cols[count] = j;
                    values[count++] = i != j ? 0.4 : (i % 2 ? -1 : 1) * (1 + (double)(i * i % 97));
                }
        tess_matrix *scalar, *A;
        assert_int_equal(
            tess_matrix_from_coo(ctx, TESS_F64, N, N, count, rows, cols, values, &scalar), TESS_OK);
        assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){block, block}, &A),
                         TESS_OK);
        tess_matrix_destroy(scalar);
        problem p = problem_open(ctx, A, "cpu");
        for (size_t i = 0; i < 4; i++) {
            tess_result result;
            memset(p.x, 0, N * sizeof *p.x);
            assert_int_equal(tess_solve(p.plan, specs[i], p.b, p.x, &result), TESS_OK);
            if (result.reason != TESS_REASON_CONVERGED || !(distance(p.x, p.exact, N) < 1e-8))
                fail_msg("%s: %s, %s; error %g", specs[i], tess_reason_name(result.reason),
                         result.text, distance(p.x, p.exact, N));
        }
        problem_close(&p);
    }
}

/* A few eigenvalues near 0 make a restarted gmres stagnate. With deflation it converges. */
static void deflated_restarts_go_on(void **state)
{
    enum { N = 400 };
    tess_ctx *ctx = test_ctx(state);
    int64_t rows[2 * N], cols[2 * N], count = 0;
    double values[2 * N];
    for (int64_t i = 0; i < N; i++) {
        rows[count] = cols[count] = i;
        values[count++] = i < 4 ? 1e-3 * (double)(i + 1) : 1 + (double)i / N;
        if (i + 1 < N) {
            rows[count] = i;
            cols[count] = i + 1;
            values[count++] = 0.05;
        }
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, N, N, count, rows, cols, values, &A),
                     TESS_OK);
    problem p = problem_open(ctx, A, "cpu");
    tess_result plain, deflated;
    assert_int_equal(
        tess_solve(p.plan, "gmres:restart=12,tol=1e-9,max=3000,stagnation=3000", p.b, p.x, &plain),
        TESS_OK);
    memset(p.x, 0, N * sizeof *p.x);
    assert_int_equal(
        tess_solve(p.plan, "dgmres:restart=16,deflate=4,tol=1e-9,max=3000", p.b, p.x, &deflated),
        TESS_OK);
    if (deflated.reason != TESS_REASON_CONVERGED || !(distance(p.x, p.exact, N) < 1e-4) ||
        !(deflated.iterations < plain.iterations / 2))
        fail_msg("deflated: %s; plain: %s; error %g", deflated.text, plain.text,
                 distance(p.x, p.exact, N));
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rectangular_systems_have_the_least_residual),
        cmocka_unit_test(a_small_gradient_is_no_proof_that_nothing_solves_it),
        cmocka_unit_test(lsqr_goes_on_while_the_gradient_falls),
        cmocka_unit_test(a_residual_of_zero_is_convergence),
        cmocka_unit_test(other_methods_refuse_what_is_not_square),
        cmocka_unit_test(a_rectangular_solver_is_used_again),
        cmocka_unit_test(indefinite_systems_are_solved_by_minres),
        cmocka_unit_test(deflated_restarts_go_on),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
