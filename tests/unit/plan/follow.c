/* After tess_matrix_update or tess_builder_update a plan and a solver use the new values, in every
 * format. */
#include <math.h>
#include <string.h>

#include "support/follow.h"

static void plans_follow_their_matrix_in_every_format(void **state)
{
    static const char *const specs[] = {"stencil7:n=5,b=3", "cdr:n=4,b=4",
                                        "planted:rows=2000,blocks=20", "stencil27:n=4,b=1",
                                        "random:rows=60,cols=90,r=2,c=5"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_device *device = test_device(test_ctx(state), "cpu:2");
        assert_true(test_follow(state, device, specs[i]) > 1);
        tess_device_close(device);
        device = test_device(test_ctx(state), "ref");
        assert_true(test_follow(state, device, specs[i]) >= 1);
        tess_device_close(device);
    }
}

/* Assembles diag(d) in 2 x 2 blocks. It is called again with another d. */
static void assemble(tess_builder *builder, int64_t blocks, double d)
{
    tess_inserter *mine = tess_builder_inserter(builder, 0);
    const double block[] = {d, 0, 0, d};
    for (int64_t i = 0; i < blocks; i++)
        assert_int_equal(tess_inserter_add_block(mine, i, i, block, TESS_ORDER_COLUMN_MAJOR),
                         TESS_OK);
}

static void a_builders_update_reaches_plans_and_solvers(void **state)
{
    static const char *const specs[] = {"cg",           "cg:pc=bjacobi",        "gmres:pc=ilu0",
                                        "cg:inner=f32", "bicgstab:scale=match", "cg:order=rcm",
                                        "auto"};
    static const char *const formats[] = {"bsr", "symmetric", NULL};
    enum { BLOCKS = 40 };
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
            tess_builder *builder;
            tess_matrix *A;
            tess_plan *plan;
            tess_solver *solver;
            tess_result result;
            double b[2 * BLOCKS], x[2 * BLOCKS];
            assert_int_equal(
                tess_builder_create(ctx, TESS_F64, 2 * BLOCKS, 2 * BLOCKS, 2, 2, 1, &builder),
                TESS_OK);
            assemble(builder, BLOCKS, 1);
            assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
            assert_int_equal(
                tess_plan_create(ctx, A, device, &(tess_plan_options){.format = formats[f]}, &plan),
                TESS_OK);
            assert_int_equal(tess_solver_create(plan, specs[s], &solver), TESS_OK);
            for (int step = 1; step <= 3; step++) {
                assemble(builder, BLOCKS, step);
                assert_int_equal(tess_builder_update(builder, A), TESS_OK);
                if (step == 3)
                    assert_int_equal(tess_solver_update(solver, NULL), TESS_OK);
                for (int i = 0; i < 2 * BLOCKS; i++)
                    b[i] = i, x[i] = 0;
                assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
                for (int i = 0; i < 2 * BLOCKS; i++)
                    if (!(fabs(step * x[i] - b[i]) <= 1e-6 * (1 + b[i])))
                        fail_msg("%s on %s, step %d: x[%d] = %g, %s", specs[s],
                                 formats[f] ? formats[f] : "any", step, i, x[i], result.text);
            }
            double *values = test_vector(4 * BLOCKS, TESS_F64, 1);
            for (int i = 0; i < 4 * BLOCKS; i++)
                values[i] = i % 4 == 0 || i % 4 == 3 ? 5 : 0;
            assert_int_equal(tess_solver_update(solver, values), TESS_OK);
            memset(x, 0, sizeof x);
            assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
            assert_true(fabs(5 * x[7] - 7) < 1e-5);
            tess_solver_destroy(solver);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
            tess_builder_destroy(builder);
            free(values);
        }
    }
    tess_device_close(device);
}

/* Values that are not symmetric are stored whole: the plan of several parts says so. */
static void a_plan_of_parts_names_the_kernel_that_runs(void **state)
{
    static const tess_plan_options half = {.effort = TESS_EFFORT_ESTIMATE, .format = "symmetric"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1,1");
    tess_matrix *A;
    tess_plan *plan;
    tess_plan_info info;
    test_ok(ctx, tess_matrix_generate(ctx, "stencil7:n=6,b=2", &A, NULL));
    test_ok(ctx, tess_plan_create(ctx, A, device, &half, &plan));
    test_ok(ctx, tess_plan_get_info(plan, sizeof info, &info));
    assert_string_equal(info.format, "symmetric");
    assert_string_equal(info.note, "");
    double *values = test_vector(tess_matrix_stored(A), TESS_F64, 1);
    test_ok(ctx, tess_plan_update_values(plan, values));
    test_ok(ctx, tess_plan_get_info(plan, sizeof info, &info));
    assert_string_equal(info.format, "bsr");
    assert_memory_equal(info.kernel, "bsr_spmv", 8);
    assert_non_null(strstr(info.note, "symmetric: a("));
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_follow_their_matrix_in_every_format),
        cmocka_unit_test(a_builders_update_reaches_plans_and_solvers),
        cmocka_unit_test(a_plan_of_parts_names_the_kernel_that_runs),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
