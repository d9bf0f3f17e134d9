/* The product forms of the papers on GPUs of one process, on the fake driver: parts take from each
 * other's memory, or by way of pinned memory. */
#include "counted_solves.h"
#include "in_process.h"

static const char *const forms[] = {"whole", "shuffle", "shuffle:lambda=1", "shuffle:lambda=3"};
enum { FORMS = sizeof forms / sizeof *forms };

/* "cuda:0,1,0" and the like, by a seed. */
static const char *device_of(uint64_t seed, int parts, char name[128])
{
    static const char *const numbers[][4] = {
        {"0", "0", "0", "0"}, {"0", "1", "2", "3"}, {"1", "0", "1", "0"}};
    return parts_name("cuda:", numbers[seed % 3], parts, name);
}

static void products_are_those_of_the_whole(void **state)
{
    char name[128];
    fake->devices = 4;
    for (uint64_t seed = 0; seed < test_draws(24); seed++) {
        fake->apart = seed / 4 % 2 == 1; /* no GPU reaches another one's memory */
        check_form(test_ctx(state), device_of(seed, 2 + (int)(seed / 2 % 3), name),
                   forms[seed % FORMS], seed);
    }
}

/* Transposes and other precisions; iterations_run_without_the_host has other methods. */
static void methods_solve(void **state)
{
    static const char *const specs[] = {"cg:inner=f32", "bicg", "cg:pc=jacobi,inner=f32",
                                        "cg:inner=f32"};
    tess_ctx *ctx = test_ctx(state);
    char name[128];
    fake->devices = 4;
    for (uint64_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = dealt_dominant(ctx, 8, 2, true, i);
        fake->apart = i >= 2;
        check_solve_in(ctx, A, device_of(i, 2 + (int)(i % 3), name), forms[i], specs[i]);
        tess_matrix_destroy(A);
    }
}

/* The driver calls of a product with vectors on the devices, after its first run. */
typedef struct asked {
    int64_t copies, waits, allocations, shuffles, sums, launches;
} asked;

static asked now(void)
{
    return (asked){.copies = fake->copies,
                   .waits = fake->waits + fake->answers,
                   .allocations = fake->allocations,
                   .shuffles = launches_of("shuffle_rows"),
                   .sums = launches_of("add_segments"),
                   .launches = fake->launches};
}

static asked count_product(void **state, tess_plan *plan)
{
    tess_plan_part part;
    void *x[2], *y[2];
    asked before = {0}, after = {0};
    for (int r = 0; r < 2; r++) {
        ok(state, tess_plan_get_part(plan, r, sizeof part, &part));
        ok(state, tess_device_alloc(part.device, (size_t)part.rows * sizeof(double), &x[r]));
        ok(state, tess_device_alloc(part.device, (size_t)part.rows * sizeof(double), &y[r]));
    }
    for (int i = 0; i < 2; i++) { /* the first prepares */
        before = now();
        ok(state, tess_spmv_parts(plan, 1, (const void *const *)x, 0.5, y));
        after = now();
    }
    for (int r = 0; r < 2; r++) {
        ok(state, tess_plan_get_part(plan, r, sizeof part, &part));
        tess_device_free(part.device, x[r]);
        tess_device_free(part.device, y[r]);
    }
    return (asked){after.copies - before.copies,
                   after.waits - before.waits,
                   after.allocations - before.allocations,
                   after.shuffles - before.shuffles,
                   after.sums - before.sums,
                   after.launches - before.launches};
}

/* Between parts that reach each other nothing goes through the host, and it waits for nothing. One
 * kernel puts results in order and one adds cut rows. Other parts copy through pinned memory, and
 * wait for nothing either. */
static void vectors_on_devices_stay_there(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    tess_matrix *A = dealt_dominant(ctx, 40, 3, false, 1);
    for (int i = 0; i < 2 * FORMS; i++) {
        const char *form = forms[i % FORMS];
        const tess_plan_options options = {.size = sizeof options, .form = form};
        tess_plan *plan;
        fake->apart = i >= FORMS;
        tess_device *device = test_device(ctx, "cuda:0,1");
        ok(state, tess_plan_create(ctx, A, device, &options, &plan));
        const asked a = count_product(state, plan);
        const bool shuffled = i % FORMS > 0;
        assert_int_equal(a.waits, 0);
        assert_int_equal(a.allocations, 0);
        /* x of the other part to each; results to part 0; y to pinned memory, which a kernel reads.
         * In pinned memory x is left by a kernel, results by a copy. */
        assert_int_equal(a.copies, !fake->apart ? 0 : shuffled ? 5 : 2);
        assert_int_equal(a.shuffles, shuffled);
        assert_int_equal(a.sums, i % FORMS > 1);
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    tess_matrix_destroy(A);
}

/* The fake driver runs a graph in any order that its events allow. */
static void iterations_run_without_the_host(void **state)
{
    static const char *const methods[] = {"cg:pc=bjacobi", "bicgstab", "cg_single", "cr", "cg"};
    static const char *const names[] = {"cuda:0,0", "cuda:0,1,0", "cuda:0,1", "cuda:0,1",
                                        "cuda:0,1,0"};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    double *b;
    fake->devices = 2;
    ok(state, tess_matrix_generate(ctx, "gen:elasticity:n=3", &A, (void **)&b));
    for (int m = 0; m < 5; m++) {
        const tess_plan_options quick = {
            .size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE, .form = forms[m % FORMS]};
        const int64_t parts = m % 3 == 1 ? 3 : 2;
        tess_plan *plan;
        fake->apart = m > 2;
        tess_device *device = test_device(ctx, names[m]);
        ok(state, tess_plan_create(ctx, A, device, &quick, &plan));
        check_iterations_are_graphs(state, plan, methods[m], b, parts, 2);
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    tess_release(ctx, b);
    tess_matrix_destroy(A);
}

/* ---- Failures ---- */

/* Each call of the driver fails, on whichever part: nothing hangs, nothing is left. Some 230 calls
 * open the devices and measure them; a failure there is no error. */
static void every_call_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 8, 2, true, 1);
    double *b = test_vector(2 * A->rows, TESS_F64, 1), *x = calloc(2 * (size_t)A->rows, sizeof *x);
    const int64_t alive = fake->alive;
    int failures = 0;
    bool reached = true;
    fake->devices = 3;
    for (int64_t n = 40; reached; n = test_next_failure(n)) {
        const tess_plan_options quick = {
            .size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE, .form = forms[failures % FORMS]};
        tess_device *device = NULL;
        tess_plan *plan = NULL;
        tess_result result;
        memset(x, 0, (size_t)A->rows * sizeof *x);
        fake->apart = failures / FORMS % 2;
        fake->fail_at = 200 + n;
        fake->fail_with = FAKE_LAUNCH_FAILED;
        tess_status status = tess_device_open(ctx, "cuda:0,1,2", &device);
        TESS_THEN(tess_plan_create(ctx, A, device, &quick, &plan));
        TESS_THEN(tess_spmm(plan, 2, TESS_ORDER_ROW_MAJOR, 1, b, 2, 0, x, 2));
        TESS_THEN(tess_spmv(plan, 1, b, 0, x));
        TESS_THEN(tess_solve(plan, "cg:pc=jacobi,max=2", b, x, &result));
        reached = fake->fail_at < 0;
        if (!reached)
            ok(state, status);
        if (status != TESS_OK && !strstr(tess_ctx_error(ctx), "fake failure"))
            fail_msg("call %lld, %s: '%s'", (long long)(200 + n), quick.form, tess_ctx_error(ctx));
        fake->fail_at = -1;
        failures += status != TESS_OK;
        tess_plan_destroy(plan);
        tess_device_close(device);
        assert_int_equal(fake->alive, alive);
    }
    assert_true(failures > 8);
    free(b), free(x);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(products_are_those_of_the_whole, before),
        cmocka_unit_test_setup(methods_solve, before),
        cmocka_unit_test_setup(vectors_on_devices_stay_there, before),
        cmocka_unit_test_setup(iterations_run_without_the_host, before),
        cmocka_unit_test_setup(every_call_may_fail, before),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
