/* The reasons that a solver gives when it cannot, or need not, solve; and settings that must not
 * change the result. */
#include <math.h>
#include <string.h>

#include "problems.h"

/* Diagonal blocks with the given values on the diagonal, b x b. */
static tess_matrix *diagonal_matrix(tess_ctx *ctx, int64_t n, int32_t b, const double *values)
{
    int64_t *index = malloc((size_t)n * sizeof *index);
    for (int64_t i = 0; i < n; i++)
        index[i] = i;
    tess_matrix *scalar, *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, n, n, n, index, index, values, &scalar),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){b, b}, &A), TESS_OK);
    tess_matrix_destroy(scalar);
    free(index);
    return A;
}

/* Returns whether the device is emulated, so that a kernel takes milliseconds. */
static bool is_emulated(void)
{
    return getenv("TESSERA_LIBCUDA") != NULL;
}

static void indefinite_matrices_are_found_by_cg(void **state)
{
    const double values[] = {1, 2, 3, -4, 5, 6};
    problem p =
        problem_open(test_ctx(state), diagonal_matrix(test_ctx(state), 6, 2, values), "cpu");
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "cg", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_INDEFINITE);
    assert_non_null(strstr(result.text, "p.Ap = -"));
    p.b[3] = 10; /* r.z is negative */
    assert_int_equal(tess_solve(p.plan, "cg:pc=jacobi", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_INDEFINITE);
    for (int i = 0; i < 6; i++)
        assert_true(isfinite(p.x[i]));
    problem_close(&p);
}

static void singular_matrices_end_with_a_reason(void **state)
{
    const double values[] = {1, 2, 0, 4, 5, 6};
    problem p =
        problem_open(test_ctx(state), diagonal_matrix(test_ctx(state), 6, 1, values), "cpu");
    size_t count = 0;
    while (tess_methods[count])
        count++;
    for (size_t i = 0; i <= count; i++) {
        char spec[60];
        tess_result result;
        snprintf(spec, sizeof spec, "%s:stagnation=%d", i < count ? tess_methods[i]->name : "gmres",
                 is_emulated() || test_slowed() ? 100 : 0);
        if (i == count)
            strcat(spec, ",restart=2");
        if (i < count && tess_methods[i]->pc == &tess_pc_lu) /* has no factors: direct.c */
            continue;
        memset(p.x, 0, 6 * sizeof *p.x);
        assert_int_equal(tess_solve(p.plan, spec, p.b, p.x, &result), TESS_OK);
        /* p.Ap = 0 but for rounding, which may have either sign */
        if (result.reason != TESS_REASON_BREAKDOWN && result.reason != TESS_REASON_STAGNATED &&
            result.reason != TESS_REASON_INDEFINITE && result.reason != TESS_REASON_DIVERGED &&
            !(i < count && tess_methods[i]->least_squares &&
              result.reason == TESS_REASON_LEAST_SQUARES))
            fail_msg("%s: %s %s", spec, tess_reason_name(result.reason), result.text);
        assert_true(result.true_residual > 1e-3);
        for (int j = 0; j < 6; j++)
            assert_true(isfinite(p.x[j]));
    }
    problem_close(&p);
}

static void a_block_that_cannot_be_inverted_is_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const double values[] = {1, 2, 3, 4, 0, 6};
    problem p = problem_open(ctx, diagonal_matrix(ctx, 6, 2, values), "cpu");
    tess_result result = {.iterations = 99};
    assert_int_equal(tess_solve(p.plan, "cg:pc=bjacobi", p.b, p.x, &result), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "block row 2 (rows 4..5) is singular"));
    assert_int_equal(tess_solve(p.plan, "cg:pc=jacobi", p.b, p.x, &result), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "the diagonal of row 4 is 0"));
    assert_int_equal(result.iterations, 99);
    problem_close(&p);
}

static void nan_in_the_matrix_or_the_right_hand_side_is_found(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    double values[] = {1, 2, 3, 4, 5, 6};
    problem p = problem_open(ctx, diagonal_matrix(ctx, 6, 2, values), "cpu");
    tess_result result;
    const double good = p.b[3];
    p.b[3] = NAN;
    assert_int_equal(tess_solve(p.plan, "cg", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    assert_non_null(strstr(result.text, "right-hand side"));
    p.b[3] = good;
    problem_close(&p);

    values[2] = INFINITY;
    p = problem_open(ctx, diagonal_matrix(ctx, 6, 2, values), "cpu");
    assert_int_equal(tess_solve(p.plan, "cg", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    assert_int_equal(tess_solve(p.plan, "cg:pc=bjacobi", p.b, p.x, &result), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "block row 1"));
    problem_close(&p);
}

/* z = r, or from the third call on NaN. */
static tess_status fails_later(void *user, int transpose, const void *r, void *z, void *stream)
{
    int *calls = user;
    (void)transpose, (void)stream;
    for (int i = 0; i < 6; i++)
        ((double *)z)[i] = *calls < 2 ? ((const double *)r)[i] : NAN;
    (*calls)++;
    return TESS_OK;
}

static void what_is_not_finite_is_not_added_to_x(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const double values[] = {1, 2, 3, 4, 5, 6};
    problem p = problem_open(ctx, diagonal_matrix(ctx, 6, 2, values), "ref");
    int calls = 0;
    const tess_operator M = {.type = TESS_F64, .rows = 6, .apply = fails_later, .user = &calls};
    tess_solver *solver;
    tess_result result;
    for (int i = 0; i < 6; i++)
        p.x[i] = 0.25;
    assert_int_equal(tess_solver_create_with(p.plan, "gmres", &M, &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    for (int i = 0; i < 6; i++)
        assert_true(p.x[i] == 0.25);
    tess_solver_destroy(solver);
    problem_close(&p);
}

static void a_zero_right_hand_side_gives_zero(void **state)
{
    const double values[] = {1, 2, 3, 4};
    problem p =
        problem_open(test_ctx(state), diagonal_matrix(test_ctx(state), 4, 2, values), "cpu");
    memset(p.b, 0, 4 * sizeof *p.b);
    p.x[1] = 5;
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "cg", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_ZERO_RHS);
    assert_true(p.x[1] == 0 && result.true_residual == 0 && result.iterations == 0);
    /* Refinement finds the solution from b alone, whatever x holds. */
    p.x[1] = NAN;
    assert_int_equal(tess_solve(p.plan, "cg:inner=f32", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_ZERO_RHS);
    assert_true(p.x[1] == 0);
    problem_close(&p);
}

/* The squares of b, added up one by one, would lose more digits than the test allows. */
static void refinement_measures_a_long_right_hand_side_as_products_do(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu");
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A;
    tess_plan *plan;
    tess_result result;
    const char *input = test_slowed() ? "stencil7:n=12,b=1" : "stencil7:n=48,b=1";
    assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
    double *b = calloc((size_t)A->rows, sizeof *b), *x = calloc((size_t)A->rows, sizeof *x);
    for (int64_t i = 0; i < A->rows; i++)
        b[i] = 1.0 / 3;
    assert_int_equal(tess_solve(plan, "cg:inner=f32", b, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    const double exact = sqrt((double)A->rows) / 3;
    assert_true(fabs(result.rhs_norm - exact) <= 1e-13 * exact);
    free(b), free(x);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static int stop_at_three(void *user, int64_t iteration, double residual)
{
    *(double *)user = residual;
    return iteration == 3;
}

static void iteration_limit_and_callback_stop(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 1), "cpu");
    tess_result result;
    tess_solver *solver;
    assert_int_equal(tess_solver_create(p.plan, "cg:max=5,tol=1e-14", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_ITERATION_LIMIT);
    assert_int_equal(result.iterations, 5);
    assert_int_equal(result.history_count, 6);
    assert_true(result.history[0] > result.history[5]);
    assert_true(fabs(result.true_residual - result.residual) < 1e-10);

    double seen = 0;
    memset(p.x, 0, (size_t)p.A->rows * sizeof *p.x);
    tess_solver_set_callback(solver, stop_at_three, &seen);
    assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CANCELLED);
    assert_true(seen == result.history[3]);
    /* A device that iterates by itself stops at the iteration in which the stop arrives. */
    if (p.device->threads > 0)
        assert_int_equal(result.iterations, 3);
    assert_true(result.iterations >= 3 && result.residual == result.history[result.iterations]);
    assert_true(fabs(result.true_residual - result.residual) < 1e-10);
    tess_solver_destroy(solver);
    problem_close(&p);
}

static void a_good_guess_needs_no_iteration(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 1), "cpu");
    memcpy(p.x, p.exact, (size_t)p.A->rows * sizeof *p.x);
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "cg:tol=1e-10", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_int_equal(result.iterations, 0);
    problem_close(&p);
}

static void what_rounding_does_not_allow_is_stagnation(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 1), "cpu");
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "cg:tol=1e-19", p.b, p.x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_STAGNATED);
    assert_true(result.true_residual < 1e-14);
    /* The recurrence goes on until the squares of its numbers underflow, which is no fault of the
     * matrix. */
    static const char *const endless[] = {"cg:tol=0", "cg:pc=bjacobi,tol=0", "cg_single:tol=0"};
    for (size_t i = 0; i < (is_emulated() ? 1 : sizeof endless / sizeof *endless); i++) {
        memset(p.x, 0, (size_t)p.A->rows * sizeof *p.x);
        assert_int_equal(tess_solve(p.plan, endless[i], p.b, p.x, &result), TESS_OK);
        if (result.reason != TESS_REASON_STAGNATED && result.reason != TESS_REASON_CONVERGED)
            fail_msg("%s: %s", endless[i], result.text);
        assert_true(result.true_residual < 1e-13);
    }
    problem_close(&p);
}

static void new_values_are_used_after_update(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 1), "cpu");
    problem q = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 2), "cpu");
    const char *const specs[] = {
        "cg:pc=bjacobi,tol=1e-12",          "cg:pc=ic0,tol=1e-12",
        "bicgstab:pc=ilu0,tol=1e-12",       "gmres:pc=ssor,tol=1e-12",
        "cg:pc=ilu0,pc_type=f32,tol=1e-12", "cg:pc=bjacobi,inner=f32,tol=1e-12"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_result fresh, updated;
        if (!problem_has(&p, specs[i]))
            continue;
        memset(p.x, 0, (size_t)p.A->rows * sizeof *p.x);
        memset(q.x, 0, (size_t)q.A->rows * sizeof *q.x);
        tess_solver *solver;
        assert_int_equal(tess_plan_update_values(p.plan, p.A->values), TESS_OK);
        assert_int_equal(tess_solver_create(p.plan, specs[i], &solver), TESS_OK);
        assert_int_equal(tess_plan_update_values(p.plan, q.A->values), TESS_OK);
        assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &updated), TESS_OK);
        tess_solver_destroy(solver);
        assert_int_equal(tess_solve(q.plan, specs[i], p.b, q.x, &fresh), TESS_OK);
        assert_int_equal(updated.reason, TESS_REASON_CONVERGED);
        assert_int_equal(updated.iterations, fresh.iterations);
        assert_memory_equal(p.x, q.x, (size_t)p.A->rows * sizeof *p.x);
    }
    problem_close(&p);
    problem_close(&q);
}

/* Long enough that passes and products are shared out. */
static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *const specs[] = {"cg:pc=bjacobi,max=20", "cg_single:pc=jacobi,max=20",
                                 "bicgstab:pc=ilu0,domains=3,max=10",
                                 "gmres:pc=ssor,domains=2,restart=7,max=20"};
    const tess_plan_options same = {.effort = TESS_EFFORT_ESTIMATE, .reproducible = 1};
    static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:3"};
    tess_matrix *A;
    double *b;
    assert_int_equal(tess_matrix_generate(ctx, "gen:elasticity:n=12", &A, (void **)&b), TESS_OK);
    size_t bytes = (size_t)A->rows * sizeof *b;
    double *first = malloc(bytes), *x = malloc(bytes);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (int t = 0; t < 3; t++) {
            tess_plan *plan;
            tess_result result;
            memset(x, 0, bytes);
            tess_device *device = test_device(ctx, devices[t]);
            assert_int_equal(tess_plan_create(ctx, A, device, &same, &plan), TESS_OK);
            assert_int_equal(tess_solve(plan, specs[i], b, x, &result), TESS_OK);
            if (t == 0)
                memcpy(first, x, bytes);
            else if (memcmp(first, x, bytes) != 0)
                fail_msg("%s: another result with %s", specs[i], devices[t]);
            tess_plan_destroy(plan);
            tess_device_close(device);
        }
    }
    free(first);
    free(x);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
}

static void every_failed_allocation_is_reported(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 9, 2, true, TESS_F64, 1), "cpu");
    const char *const specs[] = {"cg:pc=bjacobi", "bicgstab:pc=ilu0", "gmres:pc=ssor,pc_type=f32",
                                 "fgmres:pc=ic0", "cg:pc=ilu0",       "cg:pc=bjacobi,inner=f32"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_result first;
        if (!problem_sampled(1, i + 5) || !problem_has(&p, specs[i]))
            continue;
        /* Plans on some devices allocate at their first use. */
        assert_int_equal(tess_solve(p.plan, specs[i], p.b, p.x, &first), TESS_OK);
        const int64_t live = test_live(state);
        /* A real device takes its time to begin anew; the fake one does not. */
        const int64_t step = p.device->threads > 0 || is_emulated() ? 1 : 17;
        for (int64_t n = (int64_t)i % step;; n = step > 1 ? n + step : test_next_failure(n)) {
            tess_result result;
            memset(p.x, 0, (size_t)p.A->rows * sizeof *p.x);
            test_fail_allocation(state, n);
            tess_status status = tess_solve(p.plan, specs[i], p.b, p.x, &result);
            test_fail_allocation(state, -1);
            assert_int_equal(test_live(state), live);
            if (status == TESS_OK)
                break;
            if (status != TESS_ERR_MEMORY)
                fail_msg("%s: allocation %lld: %s", specs[i], (long long)n, tess_ctx_error(ctx));
        }
    }
    problem_close(&p);
}

static void mistakes_in_the_spec_are_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 5, 1, true, TESS_F64, 1), "cpu");
    tess_solver *solver;
    assert_int_equal(tess_solver_create(p.plan, "cgs", &solver), TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx), "unknown method 'cgs' (nearest: 'cg')");
    assert_int_equal(tess_solver_create(p.plan, "cg:pc=jacoby", &solver), TESS_ERR_OPTION);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'jacobi'"));
    assert_int_equal(tess_solver_create(p.plan, "cg:tol=2", &solver), TESS_ERR_OPTION);
    assert_int_equal(tess_solver_create(p.plan, "cg:toll=1", &solver), TESS_ERR_OPTION);
    problem_close(&p);

    tess_matrix *wide = test_matrix(ctx, TEST_WIDE, 9, 1, 1, TESS_F64, 1);
    tess_plan *plan;
    tess_device *device = test_device(ctx, "cpu");
    assert_int_equal(tess_plan_create(ctx, wide, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_solver_create(plan, "cg", &solver), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "square"));
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indefinite_matrices_are_found_by_cg),
        cmocka_unit_test(singular_matrices_end_with_a_reason),
        cmocka_unit_test(a_block_that_cannot_be_inverted_is_named),
        cmocka_unit_test(nan_in_the_matrix_or_the_right_hand_side_is_found),
        cmocka_unit_test(what_is_not_finite_is_not_added_to_x),
        cmocka_unit_test(a_zero_right_hand_side_gives_zero),
        cmocka_unit_test(refinement_measures_a_long_right_hand_side_as_products_do),
        cmocka_unit_test(iteration_limit_and_callback_stop),
        cmocka_unit_test(a_good_guess_needs_no_iteration),
        cmocka_unit_test(what_rounding_does_not_allow_is_stagnation),
        cmocka_unit_test(new_values_are_used_after_update),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(mistakes_in_the_spec_are_named),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
