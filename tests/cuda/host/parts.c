/* Parts in a process on GPUs: "cuda:0,0", "cuda:0,1", on the fake driver. */
#include "in_process.h"
#include "counted_solves.h"

static const char *const same[] = {"0", "0", "0", "0"};
static const char *const others[] = {"0", "1", "2", "3"};
static const char *const mixed[] = {"1", "0", "1", "0"};

/* Every second draw, and every one in check-long. All numbers of parts are among them, and the
 * forms. */
static uint64_t step(void)
{
    return test_few() > 1 ? 2 : 1;
}

static void products_are_those_of_the_whole(void **state)
{
    char name[128];
    fake->devices = 4;
    for (uint64_t seed = 0; seed < 12; seed += step())
        check_products(test_ctx(state),
                       parts_name("cuda:", seed % 3 ? same : others, 2 + (int)(seed % 3), name),
                       seed);
}

static void products_of_any_shape(void **state)
{
    char name[128];
    fake->devices = 4;
    for (uint64_t seed = 1; seed <= 9; seed++)
        check_any_shape(test_ctx(state),
                        parts_name("cuda:", seed % 3 ? same : others, 2 + (int)(seed % 3), name),
                        seed);
}

static void methods_and_preconditioners_solve_on_one_device(void **state)
{
    check_all_solves(test_ctx(state), "cuda:", same, false);
}

static void methods_solve_on_several_devices(void **state)
{
    static const char *const specs[] = {
        "cg:pc=bjacobi", "bicg:pc=ilu0", "gmres:pc=ssor",  "cg_single",
        "cg:pc=fsai",    "minres",       "lsqr:pc=jacobi", "cg:pc=jacobi,inner=f32"};
    tess_ctx *ctx = test_ctx(state);
    char name[128];
    fake->devices = 4;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = dealt_dominant(ctx, 20, 3, true, i);
        check_solve_on(ctx, A, parts_name("cuda:", i % 2 ? others : mixed, 2 + (int)(i % 3), name),
                       specs[i]);
        tess_matrix_destroy(A);
    }
}

/* No GPU reaches another one's memory: rows and sums go through pinned memory of the host. */
static void devices_that_do_not_reach_each_other(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi", "bicg:pc=ilu0", "lsqr:pc=jacobi"};
    tess_ctx *ctx = test_ctx(state);
    char name[128];
    fake->devices = 4;
    fake->apart = 1;
    for (uint64_t seed = 20; seed < 28; seed++) {
        const char *const *numbers = seed % 2 ? mixed : others;
        check_products(ctx, parts_name("cuda:", numbers, 2 + (int)(seed % 3), name), seed);
        check_by_part(ctx, parts_name("cuda:", numbers, 2 + (int)(seed % 3), name), seed);
    }
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = dealt_dominant(ctx, 20, 3, true, i);
        check_solve_on(ctx, A, parts_name("cuda:", i ? others : mixed, 4, name), specs[i]);
        tess_matrix_destroy(A);
    }
}

static void products_take_a_pointer_a_part(void **state)
{
    char name[128];
    fake->devices = 4;
    for (uint64_t seed = 0; seed < 12; seed += step())
        check_by_part(test_ctx(state),
                      parts_name("cuda:", seed % 3 ? mixed : others, 2 + (int)(seed % 3), name),
                      seed);
}

/* With vectors on the devices nothing goes through the host, and it waits for nothing. */
static void vectors_on_devices_stay_there(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    tess_matrix *A = dealt_dominant(ctx, 40, 3, false, 1);
    tess_device *device = test_device(ctx, "cuda:0,1");
    tess_plan *plan;
    tess_plan_part part;
    void *x[2], *y[2];
    ok(state, tess_plan_create(ctx, A, device, NULL, &plan));
    for (int r = 0; r < 2; r++) {
        ok(state, tess_plan_get_part(plan, r, sizeof part, &part));
        ok(state, tess_device_alloc(part.device, (size_t)part.rows * sizeof(double), &x[r]));
        ok(state, tess_device_alloc(part.device, (size_t)part.rows * sizeof(double), &y[r]));
    }
    for (int i = 0; i < 2; i++) { /* the first of a kind prepares it */
        const fake_cuda before = *fake;
        ok(state, tess_spmv_parts(plan, 1, (const void *const *)x, 0, y));
        ok(state, tess_spmv_transpose_parts(plan, 1, (const void *const *)x, 1, y));
        if (i == 0)
            continue;
        assert_int_equal(fake->copies, before.copies);
        assert_int_equal(fake->waits + fake->answers, before.waits + before.answers);
        assert_int_equal(fake->allocations, before.allocations);
    }
    for (int r = 0; r < 2; r++) {
        ok(state, tess_plan_get_part(plan, r, sizeof part, &part));
        tess_device_free(part.device, x[r]);
        tess_device_free(part.device, y[r]);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void iterations_run_without_the_host(void **state)
{
    static const char *const methods[] = {"cg",        "cg:pc=bjacobi", "bicgstab:pc=ilu0",
                                          "cg_single", "cg_pipelined",  "minres",
                                          "cr",        "bicg:pc=jacobi"};
    static const char *const names[] = {"cuda:0,0", "cuda:0,1,0", "cuda:0,1"};
    tess_ctx *ctx = test_ctx(state);
    const tess_plan_options quick = {.size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A;
    double *b;
    fake->devices = 2;
    ok(state, tess_matrix_generate(ctx, "gen:elasticity:n=4", &A, (void **)&b));
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        tess_device *device = test_device(ctx, names[m % 3]);
        tess_plan *plan;
        const int64_t parts = m % 3 == 1 ? 3 : 2;
        fake->apart = m % 3 == 2 && m > 3;
        ok(state, tess_plan_create(ctx, A, device, &quick, &plan));
        check_iterations_are_graphs(state, plan, methods[m], b, parts, 4);
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    tess_release(ctx, b);
    tess_matrix_destroy(A);
}

/* Any call of the driver fails, on whichever part: all say so, nothing hangs, nothing is left. */
static void every_call_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 10, 2, true, 1);
    double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
    const tess_plan_options quick = {.size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE};
    const int64_t alive = fake->alive;
    int failures = 0;
    tess_status status = TESS_ERR_DEVICE;
    for (int64_t n = 0; n < 1500; n = test_next_failure(n)) {
        tess_device *device = NULL;
        tess_plan *plan = NULL;
        tess_result result;
        memset(x, 0, (size_t)A->rows * sizeof *x);
        fake->fail_at = n;
        fake->fail_with = FAKE_LAUNCH_FAILED;
        status = tess_device_open(ctx, "cuda:0,0,0", &device);
        if (status == TESS_OK)
            status = tess_plan_create(ctx, A, device, &quick, &plan);
        if (status == TESS_OK)
            status = tess_solve(plan, "cg:pc=bjacobi", b, x, &result);
        fake->fail_at = -1;
        failures += status != TESS_OK;
        tess_plan_destroy(plan);
        tess_device_close(device);
        assert_int_equal(fake->alive, alive);
    }
    assert_true(failures > 20);
    free(b), free(x);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(products_are_those_of_the_whole, before),
        cmocka_unit_test_setup(products_of_any_shape, before),
        cmocka_unit_test_setup(methods_and_preconditioners_solve_on_one_device, before),
        cmocka_unit_test_setup(methods_solve_on_several_devices, before),
        cmocka_unit_test_setup(devices_that_do_not_reach_each_other, before),
        cmocka_unit_test_setup(products_take_a_pointer_a_part, before),
        cmocka_unit_test_setup(vectors_on_devices_stay_there, before),
        cmocka_unit_test_setup(iterations_run_without_the_host, before),
        cmocka_unit_test_setup(every_call_may_fail, before),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
