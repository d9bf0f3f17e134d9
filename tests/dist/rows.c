/* Matrices that are not square, or whose blocks are not, on processors of several parts, and what
 * is refused. */
#include <string.h>

#include "in_process.h"

static void products_of_any_shape(void **state)
{
    static const char *const devices[] = {"cpu:1,1", "cpu:1,2,1", "cpu:1,1,1,1",
                                          "cpu:1,1,1,1,1,1,1"};
    for (uint64_t seed = 1; seed <= test_draws(60); seed++)
        check_any_shape(test_ctx(state), devices[seed % 4], seed);
}

/* 6 x 6 of 2 x 3 blocks: square, but rows and columns cannot be dealt out alike. */
static void what_needs_a_halo_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1,1");
    tess_matrix *A;
    tess_plan *plan;
    tess_solver *solver = NULL;
    double b[6] = {1}, x[6] = {0};
    assert_int_equal(tess_matrix_generate(ctx, "random:rows=3,cols=2,avg=2,r=2,c=3", &A, NULL),
                     TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, &(tess_plan_options){.form = "whole"}, &plan),
                     TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "product forms need a square matrix"));
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    tess_status status = tess_solver_create(plan, "gmres:pc=jacobi", &solver);
    if (status == TESS_OK)
        status = tess_solver_solve(solver, b, x, NULL);
    assert_int_equal(status, TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "square blocks"));
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_any_shape),
        cmocka_unit_test(what_needs_a_halo_is_refused),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
