/* The factorised sparse approximate inverse. */
#include <math.h>
#include <string.h>

#include "problems.h"

/* Dense, positive definite, in blocks of b; rows that are no multiple of b leave padding. */
static tess_matrix *dense_matrix(tess_ctx *ctx, int64_t n, int32_t b)
{
    int64_t *rows = malloc((size_t)(n * n) * sizeof *rows);
    int64_t *cols = malloc((size_t)(n * n) * sizeof *cols);
    double *values = malloc((size_t)(n * n) * sizeof *values);
    for (int64_t k = 0; k < n * n; k++) {
        rows[k] = k / n;
        cols[k] = k % n;
        const uint64_t pair =
            (uint64_t)(tess_min(rows[k], cols[k]) * n + tess_max(rows[k], cols[k]));
        values[k] = rows[k] == cols[k] ? (double)n : tess_random_unit(9, pair);
    }
    tess_matrix *A, *blocked;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, n, n, n * n, rows, cols, values, &A),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){b, b}, &blocked), TESS_OK);
    tess_matrix_destroy(A);
    free(rows);
    free(cols);
    free(values);
    return blocked;
}

/* With a full pattern G gives the whole inverse. */
static void of_a_dense_matrix_it_is_the_inverse(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int32_t b = 1; b <= 4; b++)
        for (int single = 0; single < 2; single++) {
            problem p = problem_open(ctx, dense_matrix(ctx, 23, b), "cpu");
            tess_preconditioner *pc;
            assert_int_equal(tess_pc_create(p.plan, single ? "fsai:pc_type=f32" : "fsai", &pc),
                             TESS_OK);
            assert_int_equal(tess_pc_apply(pc, p.b, p.x), TESS_OK);
            if (distance(p.x, p.exact, 23) > (single ? 1e-5 : 1e-13))
                fail_msg("blocks of %d: %g", (int)b, distance(p.x, p.exact, 23));
            double *values = p.A->values; /* new values in the same pattern */
            for (int64_t k = 0; k < tess_matrix_stored(p.A); k++)
                values[k] *= 4;
            assert_int_equal(tess_pc_update(pc, values), TESS_OK);
            assert_int_equal(tess_pc_apply(pc, p.b, p.x), TESS_OK);
            for (int64_t i = 0; i < 23; i++)
                p.x[i] *= 4;
            assert_true(distance(p.x, p.exact, 23) < (single ? 1e-5 : 1e-13));
            tess_pc_destroy(pc);
            problem_close(&p);
        }
}

static int64_t iterations(problem *p, const char *spec)
{
    const tess_result result = problem_solve(p, spec);
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("%s: %s", spec, result.text);
    return result.iterations;
}

static void it_saves_iterations(void **state)
{
    static const char *const specs[] = {"stencil7:n=10", "elasticity:n=6",
                                        "diffusion:n=10,jump=100"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < 3; i++) {
        tess_matrix *A;
        assert_int_equal(tess_matrix_generate(ctx, specs[i], &A, NULL), TESS_OK);
        problem p = problem_open(ctx, A, "cpu");
        const int64_t with = iterations(&p, "cg:pc=fsai"),
                      without = iterations(&p, "cg:pc=bjacobi");
        if (with >= without)
            fail_msg("%s: %d iterations, %d by bjacobi", specs[i], (int)with, (int)without);
        problem_close(&p);
    }
}

/* Rows longer than the widest dense matrix lose their smallest blocks. M is still positive
 * definite. */
static void long_rows_keep_their_largest_blocks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, dense_matrix(ctx, test_slowed() ? 300 : 600, 1), "cpu");
    assert_in_range(iterations(&p, "cg:pc=fsai"), 1, 30);
    problem_close(&p);
}

static void what_is_not_positive_definite_is_said(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dense_matrix(ctx, 10, 2);
    double *values = A->values;
    for (int64_t k = 0; k < tess_matrix_stored(A); k++)
        values[k] = -values[k];
    problem p = problem_open(ctx, A, "cpu");
    tess_preconditioner *pc;
    assert_int_equal(tess_pc_create(p.plan, "fsai", &pc), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "not positive definite, as block row 0"));
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_dense_matrix_it_is_the_inverse),
        cmocka_unit_test(it_saves_iterations),
        cmocka_unit_test(long_rows_keep_their_largest_blocks),
        cmocka_unit_test(what_is_not_positive_definite_is_said),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
