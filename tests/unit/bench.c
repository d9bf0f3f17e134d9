/* `tessera bench` as a verifier: a backend made to be wrong in several ways must be caught. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "../../tools/tessera/bench/bench.h"
#include "ref/ref.h"
#include "support/support.h"

/* ---- A backend with kernels that are wrong on purpose ---- */

static const char *const kernels[] = {"right", "one_row_off", "row_unwritten",
                                      "nan",   "unsteady",    "unsupported"};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static tess_status open_device(tess_device *device, const char *rest)
{
    (void)device, (void)rest;
    return TESS_OK;
}

static void close_device(tess_device *device)
{
    (void)device;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    if (options->kernel && strcmp(options->kernel, "unsupported") == 0)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "not on a Sunday");
    snprintf(plan->format, sizeof plan->format, "bsr");
    snprintf(plan->kernel, sizeof plan->kernel, "%s", options->kernel ? options->kernel : "right");
    return TESS_ALLOC(plan->ctx, 1, (int **)&plan->state);
}

static void release(tess_plan *plan)
{
    tess_free(plan->ctx, plan->state);
}

static void spoil(tess_plan *plan, void *y)
{
    int *calls = plan->state;
    const tess_matrix *A = plan->matrix;
    int64_t row = (A->rows < A->cols ? A->rows : A->cols) / 2; /* y may be of either length */
    if (row == 0)
        return;
    double value = tess_get(y, A->type, row);
    if (strcmp(plan->kernel, "one_row_off") == 0)
        tess_put(y, A->type, row, value * (1 + 1e-4));
    if (strcmp(plan->kernel, "nan") == 0)
        tess_put(y, A->type, row, NAN);
    if (strcmp(plan->kernel, "unsteady") == 0) /* right within rounding, bits differ */
        tess_put(y, A->type, row,
                 value * (1 + ++*calls % 5 * (A->type == TESS_F64 ? 1e-15 : 3e-7)));
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    const tess_matrix *A = plan->matrix;
    double first = A->rows > 0 ? tess_get(y, A->type, 0) : 0;
    tess_ref_spmv(A, alpha, x, beta, y);
    if (A->rows > 0 && strcmp(plan->kernel, "row_unwritten") == 0)
        tess_put(y, A->type, 0, first);
    spoil(plan, y);
    return TESS_OK;
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    double *sums;
    TESS_TRY(TESS_ALLOC(plan->ctx, plan->matrix->cols, &sums));
    tess_ref_spmv_transpose(plan->matrix, alpha, x, beta, y, sums);
    tess_free(plan->ctx, sums);
    spoil(plan, y);
    return TESS_OK;
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    tess_ref_spmm(plan->matrix, k, order, alpha, X, ldx, beta, Y, ldy);
    spoil(plan, Y);
    return TESS_OK;
}

static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    (void)A, (void)product;
    for (size_t i = 0; i < KERNELS; i++) {
        tess_candidate candidate = {.format = "bsr"};
        snprintf(candidate.kernel, sizeof candidate.kernel, "%s", kernels[i]);
        TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
    }
    return TESS_OK;
}

static tess_status read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    (void)device;
    *bytes_per_second = bytes * 1000;
    return TESS_OK;
}

static const tess_backend wrong_backend = {.name = "wrong",
                                           .open = open_device,
                                           .close = close_device,
                                           .prepare = prepare,
                                           .release = release,
                                           .spmv = spmv,
                                           .spmv_transpose = spmv_transpose,
                                           .spmm = spmm,
                                           .candidates = candidates,
                                           .read_ceiling = read_ceiling};

static tess_device wrong_device(tess_ctx *ctx)
{
    return (tess_device){.ctx = ctx, .backend = &wrong_backend, .threads = 1};
}

/* ---- Tests ---- */

static const bench_result *find(const bench_report *report, const char *kernel)
{
    for (int64_t i = 0; i < report->count; i++)
        if (strcmp(report->results[i].candidate.kernel, kernel) == 0)
            return &report->results[i];
    return NULL;
}

static const tess_product products[] = {
    {.kind = TESS_PRODUCT_SPMV},
    {.kind = TESS_PRODUCT_SPMV_TRANSPOSE},
    {.kind = TESS_PRODUCT_SPMM, .k = 3, .order = TESS_ORDER_ROW_MAJOR},
    {.kind = TESS_PRODUCT_SPMM, .k = 2, .order = TESS_ORDER_COLUMN_MAJOR},
};
enum { PRODUCTS = sizeof products / sizeof products[0] };

static void check_outcomes(tess_ctx *ctx, const tess_matrix *A, const tess_product *product)
{
    tess_device device = wrong_device(ctx);
    bench_options options = {.product = *product, .reps = 3};
    bench_report report;
    assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
    assert_int_equal(report.count, KERNELS);
    assert_int_equal(find(&report, "right")->outcome, BENCH_GOOD);
    assert_true(find(&report, "right")->first);
    assert_int_equal(find(&report, "one_row_off")->outcome, BENCH_WRONG);
    assert_int_equal(find(&report, "nan")->outcome, BENCH_WRONG);
    assert_int_equal(find(&report, "unsteady")->outcome, BENCH_WRONG);
    assert_non_null(strstr(find(&report, "unsteady")->reason, "run to run"));
    assert_int_equal(bench_best(&report, false)->outcome, BENCH_GOOD);
    assert_null(bench_best(&report, true));
    assert_true(report.ceiling == 1000 * tess_product_bytes(A, product));
    bench_report_free(ctx, &report);
}

static void wrong_kernels_are_caught_in_every_product_and_precision(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int type = TESS_F64; type <= TESS_F32; type++) {
        tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 3, 3, (tess_type)type, 7);
        for (size_t p = 0; p < PRODUCTS; p++)
            check_outcomes(ctx, A, &products[p]);
        tess_matrix_destroy(A);
    }
}

/* The first pattern is fast once in seven samples, the second is always half as fast, the third
 * gives no reading. */
static tess_status read_samples(tess_device *device, double bytes, tess_readings *samples)
{
    int *calls = device->state;
    *samples = (tess_readings){.count = 3, .speeds = {++*calls % 7 == 0 ? bytes : 1, bytes / 2, 0}};
    return TESS_OK;
}

static void the_ceiling_is_the_pattern_with_the_highest_median(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 3, 3, TESS_F64, 7);
    tess_backend backend = wrong_backend;
    tess_device device = wrong_device(ctx);
    static const int rounds[] = {0, 21};
    for (int i = 0; i < 2; i++) {
        int calls = 0;
        bench_options options = {.product = products[0], .kernel = "right", .rounds = rounds[i]};
        bench_report report;
        backend.read_samples = read_samples;
        device.backend = &backend;
        device.state = &calls;
        assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
        assert_int_equal(calls, rounds[i] ? rounds[i] : 7);
        assert_true(report.ceiling == tess_product_bytes(A, &products[0]) / 2);
        assert_true(report.read_most == tess_product_bytes(A, &products[0]));
        bench_report_free(ctx, &report);
    }
    tess_matrix_destroy(A);
}

/* Each entry runs once per round. In seven rounds it is not always behind the same entry, and not
 * always first. */
static tess_status prepare_alone(tess_plan *plan, const tess_plan_options *options)
{
    TESS_TRY(prepare(plan, options));
    *(int *)plan->state = plan->shares_layouts;
    return TESS_OK;
}

/* Refuses, as a device does that keeps one copy of the matrix for all plans. */
static tess_status update_values(tess_plan *plan, const void *values)
{
    ++*(int *)plan->device->state;
    if (*(int *)plan->state)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "for timing only");
    return values == plan->matrix->values ? TESS_OK : TESS_ERR_ARGUMENT;
}

static void updates_are_timed_with_a_copy_of_ones_own(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 3, 3, TESS_F64, 7);
    tess_backend backend = wrong_backend;
    tess_device device = wrong_device(ctx);
    backend.prepare = prepare_alone;
    backend.update_values = update_values;
    device.backend = &backend;
    for (int asked = 0; asked < 2; asked++) {
        int calls = 0;
        bench_options options = {.product = products[0], .kernel = "right", .update = asked};
        bench_report report;
        device.state = &calls;
        assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
        assert_int_equal(find(&report, "right")->outcome, BENCH_GOOD);
        assert_int_equal(calls > 0, asked);
        assert_int_equal(find(&report, "right")->update_seconds > 0, asked);
        bench_report_free(ctx, &report);
    }
    tess_matrix_destroy(A);
}

static void every_round_has_another_order(void **state)
{
    enum { MOST = 40, ROUNDS = 7 };
    (void)state;
    for (int count = 4; count <= MOST; count++) {
        int after[MOST][MOST] = {{0}}, first[MOST] = {0};
        for (int round = 0; round < ROUNDS; round++) {
            int order[MOST], seen[MOST] = {0};
            bench_order(round, count, order);
            for (int i = 0; i < count; i++) {
                assert_in_range(order[i], 0, count - 1);
                assert_int_equal(seen[order[i]]++, 0);
                if (i > 0)
                    assert_true(++after[order[i]][order[i - 1]] < ROUNDS - 1);
            }
            assert_true(++first[order[0]] < ROUNDS - 1);
        }
    }
}

static void a_row_left_unwritten_is_wrong(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DIAGONAL, 9, 2, 2, TESS_F64, 3);
    tess_device device = wrong_device(ctx);
    bench_options options = {.product = products[0], .kernel = "row_unwritten", .reps = 1};
    bench_report report;
    assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.results[0].outcome, BENCH_WRONG);
    bench_report_free(ctx, &report);
    tess_matrix_destroy(A);
}

static void what_does_not_apply_is_skipped_with_its_reason(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9, 2, 2, TESS_F64, 3);
    tess_device device = wrong_device(ctx);
    bench_options options = {.product = products[0], .kernel = "unsupported", .reps = 1};
    bench_report report;
    assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
    assert_int_equal(report.results[0].outcome, BENCH_SKIPPED);
    assert_non_null(strstr(report.results[0].reason, "Sunday"));
    bench_report_free(ctx, &report);
    tess_matrix_destroy(A);
}

/* The adapter peer-zero says that every product is 0, and that it has no sparse storage. */
static void peers_are_marked_verified_and_no_kernels_of_ours(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device device = wrong_device(ctx);
    signal(SIGPIPE, SIG_IGN); /* as the command does: writing to an adapter that has ended fails */
    for (int zero = 0; zero < 2; zero++) {
        tess_matrix *A = test_matrix(ctx, zero ? TEST_EMPTY : TEST_DIAGONAL, 9, 2, 2, TESS_F64, 3);
        bench_options options = {.product = products[0],
                                 .kernel = "right",
                                 .reps = 1,
                                 .peers = true,
                                 .peers_directory = PEERS_DIRECTORY};
        bench_report report;
        assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
        const bench_result *dense = find(&report, "dense"), *best = bench_best(&report, true);
        assert_string_equal(dense->peer, "zero");
        assert_string_equal(dense->version, "1.0");
        assert_int_equal(dense->outcome, zero ? BENCH_GOOD : BENCH_WRONG);
        assert_int_equal(find(&report, "sparse")->outcome, BENCH_SKIPPED);
        assert_ptr_equal(best, zero ? dense : NULL);
        assert_string_equal(bench_best(&report, false)->candidate.kernel, "right");
        assert_string_equal(bench_best(&report, false)->peer, "");
        bench_report_free(ctx, &report);
        tess_matrix_destroy(A);
    }
}

static void an_unknown_kernel_names_the_nearest(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9, 2, 2, TESS_F64, 3);
    tess_device device = wrong_device(ctx);
    bench_options options = {.product = products[0], .kernel = "rigth"};
    bench_report report;
    assert_int_equal(bench_measure(&device, A, &options, &report), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'right'"));
    options.kernel = NULL;
    options.format = "brs";
    assert_int_equal(bench_measure(&device, A, &options, &report), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'bsr'"));
    tess_matrix_destroy(A);
}

static void matrices_without_rows_or_blocks_are_measured(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 6, 2, 3, TESS_F64, 11);
        tess_device device = wrong_device(ctx);
        bench_options options = {.product = products[1], .kernel = "right", .reps = 1};
        bench_report report;
        assert_int_equal(bench_measure(&device, A, &options, &report), TESS_OK);
        assert_int_equal(report.results[0].outcome, BENCH_GOOD);
        bench_report_free(ctx, &report);
        tess_matrix_destroy(A);
    }
}

static void every_failed_allocation_is_survived(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 5, 2, 2, TESS_F64, 5);
    int64_t live = test_live(state);
    tess_device device = wrong_device(ctx);
    bench_options options = {.product = products[0], .kernel = "right", .reps = 2};
    for (int64_t n = 0;; n++) {
        bench_report report = {0};
        test_fail_allocation(state, n);
        tess_status status = bench_measure(&device, A, &options, &report);
        test_fail_allocation(state, -1);
        bool good = status == TESS_OK && report.results[0].outcome == BENCH_GOOD;
        if (status != TESS_OK)
            assert_int_equal(status, TESS_ERR_MEMORY);
        bench_report_free(ctx, &report);
        assert_int_equal(test_live(state), live);
        if (good)
            break;
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_caught_in_every_product_and_precision),
        cmocka_unit_test(the_ceiling_is_the_pattern_with_the_highest_median),
        cmocka_unit_test(updates_are_timed_with_a_copy_of_ones_own),
        cmocka_unit_test(every_round_has_another_order),
        cmocka_unit_test(a_row_left_unwritten_is_wrong),
        cmocka_unit_test(what_does_not_apply_is_skipped_with_its_reason),
        cmocka_unit_test(peers_are_marked_verified_and_no_kernels_of_ours),
        cmocka_unit_test(an_unknown_kernel_names_the_nearest),
        cmocka_unit_test(matrices_without_rows_or_blocks_are_measured),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
