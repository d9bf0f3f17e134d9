/* Every method with every preconditioner on several parts, against the whole matrix's residual. */
#include "dealt.h"
#include "matrices.h"

#include <math.h>
#include <string.h>

static tess_status solve(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)part;
    const int64_t first = dealt_row(d, rank);
    tess_solver *solver;
    tess_status status = tess_solver_create(plan, d->spec, &solver);
    if (status != TESS_OK)
        return status;
    status = tess_solver_solve(solver, (const double *)d->x + first, (double *)d->y + first,
                               &d->result[rank]);
    tess_solver_destroy(solver);
    return status;
}

/* Solves on `size` parts; the status is every part's. */
static void check_solve(const tess_matrix *A, const char *spec, int size, uint64_t seed,
                        tess_status expected)
{
    dealt d = dealt_open(A, size, seed);
    double *b = test_vector(A->rows, TESS_F64, seed), *x = calloc((size_t)A->rows, sizeof *x);
    d.body = solve;
    d.spec = spec;
    d.x = b;
    d.y = x;
    dealt_run(&d);
    for (int r = 0; r < size; r++) {
        if (d.status[r] != expected)
            fail_msg("%s on %d parts, seed %llu: part %d: %s", spec, size, (unsigned long long)seed,
                     r, d.error[r]);
        if (expected != TESS_OK)
            continue;
        if (d.result[r].reason != TESS_REASON_CONVERGED)
            fail_msg("%s on %d parts, seed %llu: %s", spec, size, (unsigned long long)seed,
                     d.result[r].text);
        assert_int_equal(d.result[r].iterations, d.result[0].iterations);
        assert_true(d.result[r].true_residual == d.result[0].true_residual);
    }
    if (expected == TESS_OK) {
        const double truth = dealt_residual(A, b, x);
        if (!(truth <= 1.1e-8))
            fail_msg("%s on %d parts: |b - Ax|/|b| = %g", spec, size, truth);
        assert_true(fabs(truth - d.result[0].true_residual) <= 1e-11);
    }
    test_team_destroy(d.team);
    free(b), free(x);
}

static void all_methods_and_preconditioners_solve(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int step = test_few() > 2 ? 2 : 1; /* numbers of parts: all, or every other */
    uint64_t seed = 1;
    for (int m = 0; tess_solve_method_name(m); m++) {
        for (int p = 0; tess_solve_pc_name(p); p++) {
            char spec[128];
            snprintf(spec, sizeof spec, "%s:pc=%s", tess_solve_method_name(m),
                     tess_solve_pc_name(p));
            tess_matrix *A = dealt_dominant(ctx, 30, 2, true, seed);
            /* What one part cannot do either is not asked of several. */
            tess_device *device = test_device(ctx, "cpu:1");
            tess_plan *plan;
            tess_solver *solver = NULL;
            assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
            const tess_status alone = tess_solver_create(plan, spec, &solver);
            tess_solver_destroy(alone == TESS_OK ? solver : NULL);
            tess_plan_destroy(plan);
            tess_device_close(device);
            /* What needs the whole matrix on one part is refused. */
            const bool whole = strcmp(tess_solve_method_name(m), "direct") == 0 ||
                               strcmp(tess_solve_pc_name(p), "amg") == 0;
            for (int size = 1 + (m + p) % step; alone == TESS_OK && size <= 4; size += step, seed++)
                check_solve(A, spec, size, seed, whole ? TESS_ERR_UNSUPPORTED : TESS_OK);
            tess_matrix_destroy(A);
        }
    }
}

static void auto_chooses_by_products_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed < 1 + test_draws(4); seed++) {
        tess_matrix *S = dealt_dominant(ctx, 24, 3, true, seed),
                    *U = dealt_dominant(ctx, 24, 3, false, seed);
        check_solve(S, NULL, 1 + (int)(seed % 4), seed, TESS_OK);
        check_solve(U, "auto:tol=1e-9", 1 + (int)(seed % 4), seed, TESS_OK);
        check_solve(U, "bicgstab:pc=ilu0,scale=equilibrate", 3, seed, TESS_ERR_UNSUPPORTED);
        check_solve(U, "cgg", 3, seed, TESS_ERR_OPTION);
        tess_matrix_destroy(S);
        tess_matrix_destroy(U);
    }
}

/* ---- A callback on one part stops all ---- */

static int stop_at_3(void *user, int64_t iteration, double residual_now)
{
    (void)user, (void)residual_now;
    return iteration >= 3;
}

static tess_status solve_stopped(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)part;
    const int64_t first = dealt_row(d, rank);
    tess_solver *solver;
    tess_status status = tess_solver_create(plan, "cg", &solver);
    if (status != TESS_OK)
        return status;
    if (rank == 1)
        tess_solver_set_callback(solver, stop_at_3, NULL);
    status = tess_solver_solve(solver, (const double *)d->x + first, (double *)d->y + first,
                               &d->result[rank]);
    tess_solver_destroy(solver);
    return status;
}

static void a_callback_of_one_part_stops_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 40, 2, true, 3);
    dealt d = dealt_open(A, 3, 11);
    double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
    d.body = solve_stopped;
    d.x = b;
    d.y = x;
    dealt_run(&d);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(d.status[r], TESS_OK);
        assert_int_equal(d.result[r].reason, TESS_REASON_CANCELLED);
        assert_int_equal(d.result[r].iterations, 3);
    }
    test_team_destroy(d.team);
    free(b), free(x);
    tess_matrix_destroy(A);
}

/* ---- What one part's factors cannot be made of is everybody's failure ---- */

static void a_pivot_of_one_part_is_named_by_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 12, 2, false, 3);
    const int64_t at = tess_matrix_find(A, 7, 7);
    for (int i = 0; i < 4; i++)
        ((double *)A->values)[at * 4 + i] = 0;
    dealt d = dealt_open(A, 3, 1);
    d.firsts[1] = 4;
    d.firsts[2] = 8;
    double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
    d.body = solve;
    d.spec = "bicgstab:pc=bjacobi";
    d.x = b;
    d.y = x;
    dealt_run(&d);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(d.status[r], TESS_ERR_MATRIX);
        assert_non_null(strstr(d.error[r], "part 1 of 3"));
    }
    test_team_destroy(d.team);
    free(b), free(x);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_methods_and_preconditioners_solve),
        cmocka_unit_test(auto_chooses_by_products_alone),
        cmocka_unit_test(a_callback_of_one_part_stops_all),
        cmocka_unit_test(a_pivot_of_one_part_is_named_by_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
