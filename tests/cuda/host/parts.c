/* Parts in a process on GPUs: "cuda:0,0", "cuda:0,1", on the fake driver. */
#include "in_process.h"
#include "session.h"

static const char *const same[] = {"0", "0", "0", "0"};
static const char *const others[] = {"0", "1", "2", "3"};
static const char *const mixed[] = {"1", "0", "1", "0"};

static void products_are_those_of_the_whole(void **state)
{
    char name[128];
    fake->devices = 4;
    for (uint64_t seed = 0; seed < 12; seed++)
        check_products(test_ctx(state),
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
                       specs[i], TESS_OK);
        tess_matrix_destroy(A);
    }
}

/* The host waits for the devices once a stretch, not once an iteration. */
static void the_loop_stays_on_the_devices(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const tess_plan_options quick = {.size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A;
    double *b;
    tess_device *device = test_device(ctx, "cuda:0,0");
    tess_plan *plan;
    tess_solver *solver;
    tess_result few, many;
    ok(state, tess_matrix_generate(ctx, "gen:elasticity:n=5", &A, (void **)&b));
    double *x = calloc((size_t)A->rows, sizeof *x);
    ok(state, tess_plan_create(ctx, A, device, &quick, &plan));
    int64_t waits[2], copies[2], iterations[2];
    for (int i = 0; i < 2; i++) {
        memset(x, 0, (size_t)A->rows * sizeof *x);
        ok(state, tess_solver_create(plan, i ? "cg:tol=1e-10" : "cg:tol=1e-3", &solver));
        ok(state, tess_solver_solve(solver, b, x, &few)); /* the first also times iterations */
        memset(x, 0, (size_t)A->rows * sizeof *x);
        const int64_t waited = fake->waits, copied = fake->copies;
        ok(state, tess_solver_solve(solver, b, x, &many));
        waits[i] = fake->waits - waited;
        copies[i] = fake->copies - copied;
        iterations[i] = many.iterations;
        tess_solver_destroy(solver);
    }
    assert_true(iterations[1] > iterations[0] + 16);
    /* Copies of the halo are on the device; one copy of the controls a chunk and part comes here.
     */
    assert_true(waits[1] - waits[0] < (iterations[1] - iterations[0]) / 2);
    assert_true(copies[1] > copies[0]);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
    free(x);
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
    for (int64_t n = 0; n < 1500; n += 1 + n / 8) {
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
        cmocka_unit_test_setup(methods_and_preconditioners_solve_on_one_device, before),
        cmocka_unit_test_setup(methods_solve_on_several_devices, before),
        cmocka_unit_test_setup(the_loop_stays_on_the_devices, before),
        cmocka_unit_test_setup(every_call_may_fail, before),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
