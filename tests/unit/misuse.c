/* Wrong calls: each fails with the right status and a sentence that has the wrong value. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static void expect(tess_ctx *ctx, tess_status status, tess_status expected, const char *part)
{
    if (status != expected || !strstr(tess_ctx_error(ctx), part))
        fail_msg("%s: '%s', expected %s with '%s'", tess_status_name(status), tess_ctx_error(ctx),
                 tess_status_name(expected), part);
}

/* A generated matrix with a plan on the CPU. */
typedef struct fixture {
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
} fixture;

static fixture make(void **state)
{
    fixture f = {.ctx = test_ctx(state)};
    assert_int_equal(tess_matrix_generate(f.ctx, "stencil7:n=4,b=2", &f.A, NULL), TESS_OK);
    assert_int_equal(tess_device_open(f.ctx, "cpu:2", &f.device), TESS_OK);
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, NULL, &f.plan), TESS_OK);
    return f;
}

static void unmake(fixture *f)
{
    tess_plan_destroy(f->plan);
    tess_device_close(f->device);
    tess_matrix_destroy(f->A);
}

static void b_and_x_of_a_solver_must_not_overlap(void **state)
{
    static const char *const specs[] = {"cg",     "bicgstab", "gmres:restart=5", "cg:inner=f32",
                                        "direct", "auto",     "cg:scale=match"};
    fixture f = make(state);
    enum { ROWS = 128 };
    double both[4 * ROWS];
    for (int i = 0; i < 4 * ROWS; i++)
        both[i] = 1;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_result results[2];
        tess_solver *solver;
        if (tess_solver_create(f.plan, specs[i], &solver) != TESS_OK)
            continue; /* complete factors where SuiteSparse is not installed */
        expect(f.ctx, tess_solver_solve(solver, both, both, results), TESS_ERR_ARGUMENT, "overlap");
        expect(f.ctx, tess_solver_solve(solver, both, both + ROWS - 1, results), TESS_ERR_ARGUMENT,
               "overlap");
        expect(f.ctx, tess_solver_solve_many(solver, 2, both, ROWS, both + ROWS, ROWS, results),
               TESS_ERR_ARGUMENT, "overlap");
        for (int j = 0; j < 4 * ROWS; j++)
            assert_true(both[j] == 1);
        /* Side by side in one array x and y do not overlap. */
        assert_int_equal(
            tess_solver_solve_many(solver, 2, both, 2 * ROWS, both + ROWS, 2 * ROWS, results),
            TESS_OK);
        for (int j = 0; j < 4 * ROWS; j++)
            both[j] = 1;
        tess_solver_destroy(solver);
    }
    unmake(&f);
}

/* Every product that reads x while it writes y. */
static void x_and_y_of_a_product_must_not_overlap(void **state)
{
    enum { ROWS = 128 };
    static double both[8 * ROWS];
    const int64_t far = INT64_MAX;
    const tess_complex one = {1, 0}, none = {0, 0};
    fixture f = make(state);
    tess_plan *p = f.plan;
    double dot;
    tess_complex complex_dot;
    for (int i = 0; i < 8 * ROWS; i++)
        both[i] = 1;
    for (int shift = -(ROWS - 1); shift < ROWS; shift += 1 + (ROWS - 2) / 4) {
        double *x = both + 2 * ROWS, *y = x + shift;
        const tess_status statuses[] = {
            tess_spmv(p, 1, x, 0, y),
            tess_spmv_transpose(p, 1, x, 0, y),
            tess_spmv_conjugate_transpose(p, 1, x, 0, y),
            tess_spmv_complex(p, TESS_OPERATION_NONE, one, x, none, y),
            tess_spmv_dot(p, 1, x, 0, y, NULL, &dot),
            tess_spmv_dot_complex(p, one, x, none, y, NULL, &complex_dot),
            tess_spmm(p, 1, TESS_ORDER_COLUMN_MAJOR, 1, x, far, 0, y, far),
            tess_spmm(p, 2, TESS_ORDER_COLUMN_MAJOR, 1, x, ROWS, 0, y, 2 * ROWS),
            tess_spmm(p, 2, TESS_ORDER_ROW_MAJOR, 1, x, 2, 0, y, 2),
            tess_spmm_complex(p, 2, TESS_ORDER_ROW_MAJOR, one, x, 3, none, y, 3),
        };
        for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
            if (statuses[i] != TESS_ERR_ARGUMENT)
                fail_msg("product %d, y = x + %d: %s", (int)i, shift,
                         tess_status_name(statuses[i]));
    }
    for (int i = 0; i < 8 * ROWS; i++)
        assert_true(both[i] == 1);
    expect(f.ctx, tess_spmv(p, 1, both, 0, both + 1), TESS_ERR_ARGUMENT, "x and y overlap");
    /* Side by side, also column by column, they do not overlap. */
    assert_int_equal(tess_spmv(p, 1, both, 0, both + ROWS), TESS_OK);
    assert_int_equal(
        tess_spmm(p, 2, TESS_ORDER_COLUMN_MAJOR, 1, both, 2 * ROWS, 0, both + ROWS, 2 * ROWS),
        TESS_OK);
    assert_int_equal(tess_spmm(p, 2, TESS_ORDER_ROW_MAJOR, 1, both, 4, 0, both + 2, 4), TESS_OK);
    unmake(&f);
}

static void enums_and_counts_are_checked(void **state)
{
    fixture f = make(state);
    tess_plan *plan;
    tess_matrix *B;
    tess_matrix_view view;
    expect(f.ctx,
           tess_plan_create(f.ctx, f.A, f.device, &(tess_plan_options){.effort = (tess_effort)9},
                            &plan),
           TESS_ERR_ARGUMENT, "effort 9");
    tess_matrix_get_view(f.A, &view);
    view.block_rows = 77;
    expect(f.ctx,
           tess_matrix_from_bsr(f.ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &B),
           TESS_ERR_ARGUMENT, "block_rows = 77");
    view.block_rows = 0;
    view.block_cols = -3;
    expect(f.ctx,
           tess_matrix_from_bsr(f.ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &B),
           TESS_ERR_ARGUMENT, "block_cols = -3");
    view.block_cols = 0;
    view.blocks = -1;
    expect(f.ctx,
           tess_matrix_from_bsr(f.ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &B),
           TESS_ERR_ARGUMENT, "-1 blocks");
    expect(f.ctx, tess_matrix_from_coo(f.ctx, TESS_F64, 3, 3, -1, NULL, NULL, NULL, &B),
           TESS_ERR_ARGUMENT, "-1 entries");
    unmake(&f);
}

static void the_most_threads_are_one_number(void **state)
{
    tess_ctx *ctx = test_ctx(state), *other;
    tess_device *device;
    char name[32];
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = TESS_THREADS_MAX + 1}, &other),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = TESS_THREADS_MAX}, &other),
                     TESS_OK);
    assert_int_equal(tess_ctx_threads(other), TESS_THREADS_MAX);
    expect(other, tess_ctx_set_threads(other, TESS_THREADS_MAX + 1), TESS_ERR_ARGUMENT, "0..1024");
    tess_ctx_destroy(other);
    snprintf(name, sizeof name, "cpu:%d", TESS_THREADS_MAX);
    assert_int_equal(tess_device_open(ctx, name, &device), TESS_OK);
    tess_device_close(device);
    snprintf(name, sizeof name, "cpu:%d", TESS_THREADS_MAX + 1);
    expect(ctx, tess_device_open(ctx, name, &device), TESS_ERR_ARGUMENT, "1..1024");
}

static void asymmetry_with_nan_is_nan(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const double pairs[][2] = {
        {NAN, 2}, {2, NAN}, {NAN, NAN}, {INFINITY, 2}, {INFINITY, -INFINITY}};
    const int64_t rows[] = {0, 0, 1}, cols[] = {0, 1, 0};
    tess_symmetry S;
    tess_matrix *A;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const double values[] = {1, pairs[i][0], pairs[i][1]};
        assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 3, rows, cols, values, &A),
                         TESS_OK);
        assert_int_equal(tess_matrix_symmetry(ctx, A, &S), TESS_OK);
        if (!isnan(S.asymmetry) || S.symmetric)
            fail_msg("case %zu: asymmetry %g, symmetric %d", i, S.asymmetry, S.symmetric);
        tess_matrix_destroy(A);
    }
    const double equal[] = {1, INFINITY, INFINITY};
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 3, rows, cols, equal, &A), TESS_OK);
    assert_int_equal(tess_matrix_symmetry(ctx, A, &S), TESS_OK);
    assert_true(S.symmetric && S.asymmetry == 0);
    tess_matrix_destroy(A);
}

/* A struct as a later version may have it. */
typedef struct later_options {
    tess_plan_options now;
    int64_t later;
} later_options;

static void options_tell_their_size(void **state)
{
    fixture f = make(state);
    tess_plan *plan;
    tess_plan_options options = {.size = sizeof options, .format = "bsr"};
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, &options, &plan), TESS_OK);
    tess_plan_destroy(plan);
    options.size = 24;
    expect(f.ctx, tess_plan_create(f.ctx, f.A, f.device, &options, &plan), TESS_ERR_ARGUMENT,
           "tess_plan_options.size = 24");
    later_options later = {.now = {.size = sizeof later}};
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, &later.now, &plan), TESS_OK);
    tess_plan_destroy(plan);
    later.later = 1;
    expect(f.ctx, tess_plan_create(f.ctx, f.A, f.device, &later.now, &plan), TESS_ERR_UNSUPPORTED,
           "does not know");
    /* This version's view of an older caller's struct: members that it lacks are 0. */
    later_options taken;
    options.size = 0;
    memset(&taken, 1, sizeof taken);
    assert_int_equal(
        tess_take_options_bytes(f.ctx, "options", &options, sizeof options, sizeof taken, &taken),
        TESS_OK);
    assert_string_equal(taken.now.format, "bsr");
    assert_true(taken.later == 0);
    tess_detection *detection;
    tess_prediction *prediction;
    tess_ctx *ctx;
    expect(f.ctx, tess_detect(f.ctx, f.A, &(tess_detect_options){.size = 1}, &detection),
           TESS_ERR_ARGUMENT, "size = 1");
    expect(f.ctx,
           tess_predict(f.ctx, f.A, f.device, &(tess_predict_options){.size = 1}, &prediction),
           TESS_ERR_ARGUMENT, "size = 1");
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.size = 1}, &ctx), TESS_ERR_ARGUMENT);
    unmake(&f);
}

/* What tess_predict and tess_plan_create refuse is refused where a part of their work is asked for.
 * A failure leaves the results as they were. */
static void what_other_calls_refuse_is_refused(void **state)
{
    static const tess_plan_options plans[] = {
        {.effort = (tess_effort)9}, {.regroup = (tess_regroup)7}, {.form = "halo"}};
    static const tess_predict_options predictions[] = {
        {.devices = -1},        {.devices = 1025},
        {.link_bandwidth = -1}, {.link_bandwidth = NAN},
        {.sync_seconds = -1e9}, {.latency_seconds = -1},
        {.shared = 7}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A;
    tess_predicted_kernel kernel = {.seconds = -7};
    tess_predicted_solve one = {.devices = -7}, several = {.devices = -7};
    tess_prediction *prediction = NULL;
    tess_plan *plan = NULL;
    const double unknowns = 1e6, stored = 1e8;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=4,b=2", &A, NULL), TESS_OK);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const tess_status refused = tess_plan_create(ctx, A, device, &plans[i], &plan);
        assert_int_not_equal(refused, TESS_OK);
        assert_int_equal(tess_plan_estimate(ctx, A, device, &plans[i], sizeof kernel, &kernel),
                         refused);
    }
    for (size_t i = 0; i < sizeof predictions / sizeof *predictions; i++) {
        assert_int_equal(tess_predict(ctx, A, device, &predictions[i], &prediction),
                         TESS_ERR_ARGUMENT);
        assert_int_equal(tess_predict_sizes(ctx, A, device, &predictions[i], 1, &unknowns, &stored,
                                            &one, &several),
                         TESS_ERR_ARGUMENT);
    }
    assert_true(kernel.seconds == -7 && one.devices == -7 && several.devices == -7);
    assert_null(prediction);
    assert_null(plan);
    assert_int_equal(tess_predict_sizes(ctx, A, device, NULL, 0, NULL, NULL, NULL, NULL), TESS_OK);
    assert_int_equal(
        tess_predict_sizes(ctx, A, device, NULL, -1, &unknowns, &stored, &one, &several),
        TESS_ERR_ARGUMENT);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void calibrations_check_their_numbers(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_model_part *part = NULL;
    int compiled = -7;
    assert_int_equal(tess_calibrate(device, (tess_type)7, 2, 1e4, NULL, NULL, &part),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_calibrate(device, TESS_F64, 2, -1, NULL, NULL, &part), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_calibrate(device, TESS_F64, 2, NAN, NULL, NULL, &part),
                     TESS_ERR_ARGUMENT);
    assert_null(part);
    assert_int_equal(tess_kernel_cache_warm(ctx, 0, &compiled), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_kernel_cache_warm(ctx, -1, &compiled), TESS_ERR_ARGUMENT);
    assert_int_equal(compiled, -7);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b_and_x_of_a_solver_must_not_overlap),
        cmocka_unit_test(x_and_y_of_a_product_must_not_overlap),
        cmocka_unit_test(enums_and_counts_are_checked),
        cmocka_unit_test(the_most_threads_are_one_number),
        cmocka_unit_test(asymmetry_with_nan_is_nan),
        cmocka_unit_test(options_tell_their_size),
        cmocka_unit_test(what_other_calls_refuse_is_refused),
        cmocka_unit_test(calibrations_check_their_numbers),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
