/* Multigrid on graphs whose coarse matrices are 0 in some rows but for rounding, or nearly
 * singular. Chains that are not connected with each other map their constants to 0, and the short
 * ones become one coarse row. */
#include <math.h>
#include <string.h>

#include "problems.h"

enum { MOST = 950 };

/* Makes chains of 2 to `longest` nodes, with couplings of five sizes. */
static tess_matrix *make_chains(tess_ctx *ctx, int64_t longest)
{
    static int64_t rows[3 * MOST], cols[3 * MOST];
    static double values[3 * MOST];
    int64_t n = 0, count = 0;
    for (int64_t chain = 0; n + longest < MOST; chain++) {
        const int64_t length = 2 + chain * 7 % (longest - 1);
        for (int64_t i = 0; i < length; i++) {
            double sum = 0;
            for (int64_t j = i - 1; j <= i + 1; j += 2) {
                const double coupling = 0.1 + 1.3 * (double)((chain + 3 * (i > j ? i : j)) % 5);
                if (j < 0 || j == length)
                    continue;
                rows[count] = n + i;
                cols[count] = n + j;
                values[count++] = -coupling;
                sum += coupling;
            }
            rows[count] = cols[count] = n + i;
            values[count++] = sum;
        }
        n += length;
    }
    return problem_from_entries(ctx, n, count, rows, cols, TESS_F64, values, 1, TESS_F64);
}

static void chains_that_become_one_row_each_are_solved(void **state)
{
    static const int64_t longest[] = {2, 12, 41};
    static const char *const specs[] = {"cg:pc=amg",
                                        "gmres:pc=amg",
                                        "bicgstab:pc=amg",
                                        "fgmres:pc=amg,cycle=k",
                                        "cg:pc=amg,pc_type=f32",
                                        "cg:pc=amg,prolongator=plain",
                                        "gmres:pc=amg,smoother=gs"};
    tess_ctx *ctx = test_ctx(state);
    for (int k = 0; k < 3; k++) {
        tess_matrix *A = make_chains(ctx, longest[k]);
        tess_device *device = problem_device(ctx, "cpu:2");
        const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
        tess_plan *plan;
        double *b = problem_zeros(A->rows), *x = test_vector(A->rows, TESS_F64, 3);
        assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
        assert_int_equal(tess_spmv(plan, 1, x, 0, b), TESS_OK);
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            tess_result result;
            memset(x, 0, (size_t)A->rows * sizeof *x);
            assert_int_equal(tess_solve(plan, specs[i], b, x, &result), TESS_OK);
            if (result.reason != TESS_REASON_CONVERGED || result.iterations > 60)
                fail_msg("chains up to %d, %s: %s, %s", (int)longest[k], specs[i],
                         tess_reason_name(result.reason), result.text);
        }
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
        free(b);
        free(x);
    }
}

/* Makes the Laplacian of a grid of SIDE x SIDE nodes without four edges of ten, plus a diagonal. */
static tess_matrix *make_grid(tess_ctx *ctx, double diagonal)
{
    enum { SIDE = 45, NODES = SIDE * SIDE };
    static int64_t rows[9 * NODES], cols[9 * NODES];
    static double values[9 * NODES];
    int64_t count = 0;
    for (int64_t i = 0; i < NODES; i++) {
        rows[count] = cols[count] = i;
        values[count++] = diagonal;
        for (int across = 0; across < 2; across++) {
            const int64_t j = across ? i + 1 : i + SIDE;
            if (j >= NODES || (across && j % SIDE == 0) ||
                tess_random_below(3, (uint64_t)(2 * i + across), 10) < 4)
                continue;
            for (int end = 0; end < 4; end++) {
                rows[count] = end % 2 ? i : j;
                cols[count] = end / 2 ? i : j;
                values[count++] = end % 2 == end / 2 ? 1 : -1;
            }
        }
    }
    return problem_from_entries(ctx, NODES, count, rows, cols, TESS_F64, values, 1, TESS_F64);
}

/* The inverse of the new values' coarsest matrix has numbers whose errors in f32 are larger than
 * its least eigenvalue. */
static void new_values_may_be_nearly_singular(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = make_grid(ctx, 1), *next = make_grid(ctx, 1e-10);
    tess_device *device = problem_device(ctx, "cpu:2");
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    double *b = problem_zeros(A->rows), *x = test_vector(A->rows, TESS_F64, 3);
    tess_plan *plan;
    tess_solver *solver;
    tess_result result;
    test_ok(ctx, tess_plan_create(ctx, A, device, &quick, &plan));
    test_ok(ctx, tess_solver_create(plan, "cg:pc=amg,pc_type=f32", &solver));
    test_ok(ctx, tess_solver_solve(solver, x, b, &result));
    test_ok(ctx, tess_solver_update(solver, next->values));
    test_ok(ctx, tess_spmv(plan, 1, x, 0, b));
    memset(x, 0, (size_t)A->rows * sizeof *x);
    test_ok(ctx, tess_solver_solve(solver, b, x, &result));
    if (result.reason != TESS_REASON_CONVERGED || result.iterations > 60)
        fail_msg("%s, %s", tess_reason_name(result.reason), result.text);
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_matrix_destroy(next);
    free(b);
    free(x);
}

/* M^-1 in f32 magnifies what is nearly singular and rounds the sum of gmres's vectors. */
static void gmres_names_the_f32_that_it_stagnates_by(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = make_grid(ctx, 1e-10);
    tess_device *device = problem_device(ctx, "cpu:2");
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    double *b = problem_zeros(A->rows), *x = test_vector(A->rows, TESS_F64, 3);
    tess_plan *plan;
    tess_result result;
    test_ok(ctx, tess_plan_create(ctx, A, device, &quick, &plan));
    test_ok(ctx, tess_spmv(plan, 1, x, 0, b));
    memset(x, 0, (size_t)A->rows * sizeof *x);
    test_ok(ctx, tess_solve(plan, "gmres:pc=amg,pc_type=f32", b, x, &result));
    assert_true(result.reason == TESS_REASON_STAGNATED || getenv("TEST_DEVICE"));
    assert_true(result.reason == TESS_REASON_CONVERGED || strstr(result.text, "with pc_type=f32"));
    test_ok(ctx, tess_solve(plan, "fgmres:pc=amg,pc_type=f32", b, x, &result));
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(b);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_that_become_one_row_each_are_solved),
        cmocka_unit_test(new_values_may_be_nearly_singular),
        cmocka_unit_test(gmres_names_the_f32_that_it_stagnates_by),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
