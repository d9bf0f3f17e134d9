/* cg solves real matrices, from structures and networks, with every preconditioner that they allow.
 * auto solves complex matrices, from chemistry, plasmas and acoustics. */
#include <string.h>

#include "complex_problems.h"
#include "support/collection.h"

static const struct {
    const char *file;
    int32_t block;
} matrices[] = {{"nasa2146", 2}, {"crystm01", 3}, {"bcsstk16", 3}, {"gr_30_30", 1},
                {"nos3", 2},     {"1138_bus", 1}, {"lund_a", 7},   {"hypre_beam_hex_dof459", 3}};

static void solve(tess_plan *plan, const char *file, const tess_pc_ops *pc, const double *b,
                  double *x)
{
    const int64_t n = plan->matrix->rows;
    char spec[64];
    tess_result result;
    snprintf(spec, sizeof spec, "cg:pc=%s%s", pc->name,
             pc->keys && strstr(pc->keys, "domains") ? ",domains=2" : "");
    memset(x, 0, (size_t)n * sizeof *x);
    if (tess_solve(plan, spec, b, x, &result) != TESS_OK)
        fail_msg("%s, %s: %s", file, spec, tess_ctx_error(plan->ctx));
    if (result.reason != TESS_REASON_CONVERGED || !(result.true_residual <= 1.05e-8))
        fail_msg("%s, %s: %s, %s", file, spec, tess_reason_name(result.reason), result.text);
}

static void matrices_of_the_collection_are_solved(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.mtx.gz", getenv("TESSERA_MATRICES"), matrices[i].file);
        tess_matrix *scalar, *A;
        const tess_blocking blocking = {matrices[i].block, matrices[i].block};
        const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
        tess_plan *plan;
        if (tess_matrix_read(ctx, path, &scalar) != TESS_OK)
            fail_msg("%s", tess_ctx_error(ctx));
        assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &blocking, &A), TESS_OK);
        tess_device *device = test_device(ctx, "cpu");
        assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
        double *b = malloc((size_t)A->rows * sizeof *b), *x = malloc((size_t)A->rows * sizeof *x);
        for (int64_t j = 0; j < A->rows; j++)
            x[j] = 1;
        assert_int_equal(tess_spmv(plan, 1, x, 0, b), TESS_OK);
        for (size_t p = 0; tess_pcs[p]; p++) /* incomplete factors may need a shift */
            if (!tess_pcs[p]->identity && tess_pcs[p]->pivots == TESS_PIVOTS_ANY &&
                !tess_pcs[p]->unsymmetric && !tess_pcs[p]->complete)
                solve(plan, matrices[i].file, tess_pcs[p], b, x);
        free(b);
        free(x);
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(scalar);
        tess_matrix_destroy(A);
    }
}

static void complex_matrices_of_the_collection_are_solved(void **state)
{
    static const struct {
        const char *file;
        int32_t block;
    } complex_ones[] = {{"qc324", 3}, {"mhd1280b", 1}, {"young1c", 1}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu");
    for (size_t i = 0; i < sizeof complex_ones / sizeof *complex_ones; i++) {
        const tess_blocking blocking = {complex_ones[i].block, complex_ones[i].block};
        char path[4096];
        tess_matrix *scalar, *A;
        tess_result result;
        snprintf(path, sizeof path, "%s/%s.mtx.gz", getenv("TESSERA_MATRICES"),
                 complex_ones[i].file);
        if (tess_matrix_read(ctx, path, &scalar) != TESS_OK)
            fail_msg("%s", tess_ctx_error(ctx));
        assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &blocking, &A), TESS_OK);
        tess_plan *plan = complex_plan(ctx, A, device);
        tess_complex *x = complex_vector(A->rows, TESS_C64, 1), *b = malloc((size_t)A->rows * 16);
        assert_int_equal(tess_spmv(plan, 1, x, 0, b), TESS_OK);
        memset(x, 0, (size_t)A->rows * sizeof *x);
        assert_int_equal(tess_solve(plan, "auto", b, x, &result), TESS_OK);
        if (result.reason != TESS_REASON_CONVERGED || !(complex_residual(ctx, A, b, x) <= 1.01e-8))
            fail_msg("%s: %s; |b - Ax|/|b| = %g", complex_ones[i].file, result.text,
                     complex_residual(ctx, A, b, x));
        free(x);
        free(b);
        tess_plan_destroy(plan);
        tess_matrix_destroy(scalar);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

int main(void)
{
    if (!test_has_collection())
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_of_the_collection_are_solved),
        cmocka_unit_test(complex_matrices_of_the_collection_are_solved),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
