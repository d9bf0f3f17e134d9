/* Every method with every preconditioner on several parts, against the whole matrix's residual. */
#include "backend/backend.h"
#include "dealt.h"
#include "matrices.h"

#include <math.h>
#include <string.h>

/* Solves on `size` parts; the status is every part's. */
static void check_solve(const tess_matrix *A, const char *spec, int size, uint64_t seed,
                        tess_status expected)
{
    dealt d = dealt_open(A, size, seed);
    dealt_check_solve(&d, spec, seed, expected);
    test_team_destroy(d.team);
}

/* Solves with a plan of the whole matrix. Returns false if the plan does not take the spec. */
static bool solve_whole(tess_device *device, const tess_matrix *A, const char *spec,
                        const double *b, double *x, tess_result *result)
{
    const tess_plan_options guess = {.size = sizeof guess, .effort = TESS_EFFORT_ESTIMATE};
    tess_plan *plan;
    assert_int_equal(tess_plan_create(device->ctx, A, device, &guess, &plan), TESS_OK);
    const tess_status status = tess_solve(plan, spec, b, x, result);
    tess_plan_destroy(plan);
    return status == TESS_OK;
}

/* Checks that one part solves as a plan of the whole matrix does, to the tolerance of 1e-8: dot
 * products are added up in another order, and pc=chebyshev has no bound by row sums. Returns false
 * if the plan does not take the spec. */
static bool check_alone(tess_device *device, const tess_matrix *A, const char *spec, uint64_t seed)
{
    const size_t bytes = (size_t)A->rows * sizeof(double);
    double *b = test_vector(A->rows, TESS_F64, seed), *whole = calloc(1, bytes),
           *x = calloc(1, bytes);
    tess_result result;
    const bool takes = solve_whole(device, A, spec, b, whole, &result);
    if (takes) {
        dealt d = dealt_open(A, 1, seed);
        d.body = dealt_solve;
        d.spec = spec;
        d.x = b;
        d.y = x;
        dealt_run(&d);
        dealt_ok(&d, seed);
        double size = 0, apart = 0;
        for (int64_t i = 0; i < A->rows; i++) {
            size = fmax(size, fabs(whole[i]));
            apart = fmax(apart, fabs(x[i] - whole[i]));
        }
        if (llabs(d.result[0].iterations - result.iterations) > 1 || !(apart <= 1e-7 * size))
            fail_msg("%s on one part: %lld iterations, x %g apart; a plan of the whole has %lld",
                     spec, (long long)d.result[0].iterations, apart / size,
                     (long long)result.iterations);
        test_team_destroy(d.team);
    }
    free(b), free(whole), free(x);
    return takes;
}

/* Each method with each preconditioner on 1 part, and on 2, 3 and 4 in turn; with TEST_ALL on all
 * of them. Under a sanitizer every fourth pair. */
static void all_methods_and_preconditioners_solve(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const bool all = getenv("TEST_ALL") != NULL;
    tess_device *device = test_device(ctx, "cpu:1");
    uint64_t seed = 1;
    for (int m = 0; tess_solve_method_name(m); m++) {
        for (int p = 0; tess_solve_pc_name(p); p++, seed++) {
            char spec[128];
            if (test_slowed() && (m + p) % 4 != 0)
                continue;
            snprintf(spec, sizeof spec, "%s:pc=%s", tess_solve_method_name(m),
                     tess_solve_pc_name(p));
            tess_matrix *A = dealt_dominant(ctx, 30, 2, true, seed);
            /* A spec that one part cannot solve is not tried on several. */
            const bool takes = check_alone(device, A, spec, seed);
            /* Methods that consist of their preconditioner need the whole matrix on one part. */
            const bool whole = tess_solve_method_traits(m) & TESS_SOLVE_OWN_PC;
            for (int size = 2; takes && size <= 4; size++)
                if (all || (m + p) % 3 == size - 2)
                    check_solve(A, spec, size, seed, whole ? TESS_ERR_UNSUPPORTED : TESS_OK);
            tess_matrix_destroy(A);
        }
    }
    tess_device_close(device);
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

/* [L, to; from, L] with a band L: two parts of equal size have the same own block. */
static tess_matrix *halves(tess_ctx *ctx, double to, double from)
{
    enum { HALF = 12, ROWS = 2 * HALF };
    int64_t row[4 * ROWS], col[4 * ROWS], count = 0;
    double value[4 * ROWS];
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t at = i % HALF;
        for (int64_t j = tess_max(at - 1, 0); j <= tess_min(at + 1, HALF - 1); j++)
            row[count] = i, col[count] = i - at + j, value[count++] = at == j ? 6 : -1;
        row[count] = i, col[count] = (i + HALF) % ROWS, value[count++] = i < HALF ? to : from;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, ROWS, ROWS, count, row, col, value, &A),
                     TESS_OK);
    return A;
}

/* [L, 3; -3, L] is not symmetric, and CG does not solve it. The largest eigenvalues of [L, -3; -3,
 * L] have vectors that differ in sign on the two parts. */
static void parts_that_are_alike_have_vectors_that_are_not(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const specs[] = {NULL, "cg:pc=chebyshev", "idr"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = halves(ctx, i == 0 ? 3 : -3, -3);
        dealt d = dealt_open(A, 2, 1);
        d.firsts[1] = A->block_rows / 2;
        dealt_check_solve(&d, specs[i], 1, TESS_OK);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* A system without a solution: the last row is 0, and its entry of b is not. The rows of the second
 * part are larger by 1e6. A^T r is judged by the |A| of both parts. */
static void parts_agree_on_the_least_residual(void **state)
{
    enum { ROWS = 24 };
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = halves(ctx, 2, 1);
    double *values = A->values, x[ROWS] = {0}, *b = test_vector(ROWS, TESS_F64, 3);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            values[k] *= i < ROWS / 2 ? 1e-3 : i == ROWS - 1 ? 0 : 1e3;
    dealt d = dealt_open(A, 2, 1);
    d.firsts[1] = ROWS / 2;
    d.body = dealt_solve;
    d.spec = "lsqr:tol=1e-10";
    d.x = b;
    d.y = x;
    dealt_run(&d);
    dealt_ok(&d, 1);
    for (int r = 0; r < d.size; r++) {
        if (d.result[r].reason != TESS_REASON_LEAST_SQUARES)
            fail_msg("part %d: %s", r, d.result[r].text);
        assert_true(d.result[r].normal_residual == d.result[0].normal_residual);
    }
    test_team_destroy(d.team);
    tess_matrix_destroy(A);
    free(b);
}

/* Fewer rows per part than IDR has shadows. */
static void idr_takes_few_rows_a_part(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed < 6; seed++) {
        tess_matrix *A = dealt_dominant(ctx, (int64_t)seed + 1, 1, false, seed);
        dealt d = dealt_open(A, 2, seed);
        d.firsts[1] = A->block_rows / 2;
        dealt_check_solve(&d, "idr:pc=jacobi", seed, TESS_OK);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* Pairs of equations in the wrong order, each coupled with the next pair, so that no diagonal is
 * stored. */
static tess_matrix *without_diagonal(tess_ctx *ctx, int64_t rows)
{
    int64_t row[64], col[64], count = 0;
    double value[64];
    for (int64_t i = 0; i < rows; i++) {
        row[count] = i, col[count] = i ^ 1, value[count++] = 2 + (double)i / (double)rows;
        if (i + 2 < rows)
            row[count] = i, col[count] = i + 2, value[count++] = -0.5;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, rows, rows, count, row, col, value, &A),
                     TESS_OK);
    return A;
}

static void auto_goes_on_where_factors_cannot_be_made(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = without_diagonal(ctx, 24);
    for (int size = 1; size <= 4; size++) {
        check_solve(A, NULL, size, 1, TESS_OK);
        check_solve(A, "gmres:pc=ilu0", size, 1, TESS_ERR_MATRIX);
    }
    tess_matrix_destroy(A);
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

/* ---- Multigrid of each part's own block ---- */

/* Parts of other sizes have other numbers of levels, and so of dot products inside a K-cycle. */
static void each_part_has_its_own_levels(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=8",
                                        "cg:pc=amg,bottom=8,pc_type=f32",
                                        "gmres:pc=amg,bottom=6,cycle=w,smoother=gs",
                                        "fgmres:pc=amg,bottom=6,cycle=k",
                                        "cg:pc=amg,bottom=6,cycle=k,prolongator=plain",
                                        "bicgstab:pc=amg,bottom=10,smoother=ilu0"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A;
    const uint64_t step = test_slowed() ? 2 : 1;
    for (uint64_t i = 0; i < sizeof specs / sizeof *specs; i += step) {
        void *b;
        assert_int_equal(tess_matrix_generate(
                             ctx, i / step % 2 ? "stencil7:n=6,b=2" : "stencil27:n=5,b=3", &A, &b),
                         TESS_OK);
        assert_true(check_alone(device, A, specs[i], i));
        for (int size = 2; size <= 4; size++)
            check_solve(A, specs[i], size, 10 * i + (uint64_t)size, TESS_OK);
        tess_release(ctx, b);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* Only some parts' own blocks are symmetric. The parts' cycles differ, but not the method's steps.
 */
static void cycles_of_parts_may_differ(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 40, 2, true, 4);
    for (int64_t k = A->row_offsets[0]; k < A->row_offsets[8]; k++)
        ((double *)A->values)[4 * k + 1] *= 0.9;
    dealt d = dealt_open(A, 3, 1);
    d.firsts[1] = 14;
    d.firsts[2] = 30;
    dealt_check_solve(&d, "gmres:pc=amg,bottom=6", 1, TESS_OK);
    dealt_check_solve(&d, "fgmres:pc=amg,bottom=6", 2, TESS_OK);
    test_team_destroy(d.team);
    tess_matrix_destroy(A);
}

/* ---- New values ---- */

static tess_status solve_updated(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const tess_matrix *A = d->A;
    const int64_t first = dealt_row(d, rank), at = A->row_offsets[d->firsts[rank]];
    const int64_t scalars = (A->row_offsets[d->firsts[rank + 1]] - at) * 4;
    double *twice = malloc((size_t)(scalars + 1) * sizeof *twice);
    tess_solver *solver;
    (void)part;
    for (int64_t i = 0; i < scalars; i++)
        twice[i] = 2 * tess_matrix_value(A, at * 4 + i);
    tess_status status = tess_solver_create(plan, d->spec, &solver);
    if (status == TESS_OK) {
        status = tess_solver_update(solver, twice);
        if (status == TESS_OK)
            status = tess_solver_solve(solver, (const double *)d->x + first, (double *)d->y + first,
                                       &d->result[rank]);
        tess_solver_destroy(solver);
    }
    free(twice);
    return status;
}

static void solvers_take_new_values(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    for (int p = 0; tess_solve_pc_name(p); p++) {
        char spec[64];
        tess_matrix *A = dealt_dominant(ctx, 24, 2, true, (uint64_t)p);
        double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
        snprintf(spec, sizeof spec, "gmres:pc=%s", tess_solve_pc_name(p));
        if (!check_alone(device, A, spec, (uint64_t)p)) { /* a library that is not installed */
            free(b), free(x);
            tess_matrix_destroy(A);
            continue;
        }
        dealt d = dealt_open(A, 1 + p % 4, (uint64_t)p);
        d.body = solve_updated;
        d.spec = spec;
        d.x = b;
        d.y = x;
        dealt_run(&d);
        dealt_ok(&d, (uint64_t)p);
        for (int64_t i = 0; i < A->rows; i++)
            x[i] *= 2;
        if (!(dealt_residual(A, b, x) <= 1.1e-8))
            fail_msg("%s: not the new values' solution", spec);
        test_team_destroy(d.team);
        free(b), free(x);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* ---- A preconditioner that fails on one part fails on all ---- */

static void a_pivot_of_one_part_is_named_by_all(void **state)
{
    static const char *const specs[] = {"bicgstab:pc=bjacobi", "lsqr:pc=bjacobi", "cg:pc=chebyshev",
                                        "gmres:pc=chebyshev"};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 12, 2, false, 3);
    const int64_t at = tess_matrix_find(A, 7, 7);
    for (int i = 0; i < 4; i++)
        ((double *)A->values)[at * 4 + i] = 0;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        dealt d = dealt_open(A, 3, 1);
        d.firsts[1] = 4;
        d.firsts[2] = 8;
        dealt_check_solve(&d, specs[i], 1, TESS_ERR_MATRIX);
        for (int r = 0; r < 3; r++)
            if (strncmp(d.error[r], "part 1 of 3: ", 13) != 0 || strstr(d.error[r] + 13, "part "))
                fail_msg("%s: part %d says '%s'", specs[i], r, d.error[r]);
        test_team_destroy(d.team);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_methods_and_preconditioners_solve),
        cmocka_unit_test(auto_chooses_by_products_alone),
        cmocka_unit_test(parts_that_are_alike_have_vectors_that_are_not),
        cmocka_unit_test(parts_agree_on_the_least_residual),
        cmocka_unit_test(idr_takes_few_rows_a_part),
        cmocka_unit_test(auto_goes_on_where_factors_cannot_be_made),
        cmocka_unit_test(a_callback_of_one_part_stops_all),
        cmocka_unit_test(each_part_has_its_own_levels),
        cmocka_unit_test(cycles_of_parts_may_differ),
        cmocka_unit_test(solvers_take_new_values),
        cmocka_unit_test(a_pivot_of_one_part_is_named_by_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
