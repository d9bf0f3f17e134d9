/* tess_predict, through the public header alone: what it promises of its
 * answers. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static tess_prediction *predict(void **state, const char *input, int devices)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_prediction *p;
    tess_predict_options options = {.devices = devices};
    assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
    tess_device *device = test_device(ctx, "cpu:2");
    if (tess_predict(ctx, A, device, &options, &p) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    tess_device_close(device);
    tess_matrix_destroy(A);
    return p; /* outlives both */
}

static void are_fastest_first(const tess_prediction *p)
{
    assert_true(p->kernel_count > 1 && p->kernels[0].seconds > 0);
    assert_true(p->model[0] != 0);
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        assert_true(k->bytes > 0);
        assert_true(k->best_seconds <= k->seconds * (1 + 1e-12));
        if (i > 0 && k->seconds > 0) { /* unknown to the model: last */
            const tess_predicted_kernel *before = &p->kernels[i - 1];
            /* The first kernel is a plan's choice. A kernel of a doubted format may be a little
             * faster. */
            assert_true(before->seconds > 0);
            assert_true(k->seconds >= (i > 1 ? 1 : 0.9) * before->seconds);
        }
        /* Symmetric storage moves less than the whole matrix, and needs memory of
         * its own. */
        bool half = strcmp(k->format, "symmetric") == 0;
        assert_true(half == (k->memory > 0));
    }
}

static void kernels_come_fastest_first_and_best_is_no_slower(void **state)
{
    tess_prediction *p = predict(state, "stencil27:n=12,b=4", 1);
    are_fastest_first(p);
    tess_prediction_destroy(p);
}

/* No profile is of scalar kernels. The one of as many threads stands in, and orders them. */
static void a_stand_in_with_other_instructions_orders_kernels(void **state)
{
    const char *isa = getenv("TESSERA_ISA");
    char *before = isa ? strdup(isa) : NULL;
    assert_int_equal(setenv("TESSERA_ISA", "scalar", 1), 0);
    tess_prediction *p = predict(state, "stencil27:n=24,b=7", 1);
    if (before)
        setenv("TESSERA_ISA", before, 1);
    else
        unsetenv("TESSERA_ISA");
    free(before);
    assert_true(p->stand_in);
    are_fastest_first(p);
    assert_string_equal(p->kernels[0].format, "symmetric"); /* the CPU lists bsr first */
    tess_prediction_destroy(p);
}

/* A cube's rows at its faces have fewer blocks than their neighbours: zeros fill the lanes. */
static void rows_in_lanes_move_and_keep_their_zeros(void **state)
{
    tess_prediction *p = predict(state, "stencil27:n=12,b=3", 1);
    const tess_predicted_kernel *row_by_row = NULL, *in_lanes = NULL;
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        if (strcmp(k->format, "symmetric") != 0)
            continue;
        if (strstr(k->kernel, "_lanes"))
            in_lanes = k;
        else if (!row_by_row || k->memory < row_by_row->memory)
            row_by_row = k; /* in one stream, as lanes are: more streams have more windows */
    }
    assert_non_null(row_by_row);
    if (in_lanes) { /* not every ISA has such kernels, and one lane needs no zeros */
        double zeros = in_lanes->bytes - row_by_row->bytes;
        if (strstr(in_lanes->kernel, "_scalar_"))
            assert_true(zeros == 0);
        else
            assert_true(zeros > 0.02 * row_by_row->bytes && zeros < 0.3 * row_by_row->bytes);
        assert_true(fabs(in_lanes->memory - row_by_row->memory - zeros) < 1);
    }
    tess_prediction_destroy(p);
}

static void an_estimate_takes_the_first_of_them(void **state)
{
    static const char *const inputs[] = {"stencil27:n=16,b=4", "cdr:n=16,b=3",
                                         "powerlaw:rows=4000,avg=6,b=2", "stencil7:n=4,b=1"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        tess_prediction *p = predict(state, inputs[i], 1);
        tess_matrix *A;
        tess_plan *plan;
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, NULL), TESS_OK);
        tess_device *device = test_device(ctx, "cpu:2");
        tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE};
        assert_int_equal(tess_plan_create(ctx, A, device, &estimate, &plan), TESS_OK);
        char line[80];
        snprintf(line, sizeof line, "kernel  %s\n", p->kernels[0].kernel);
        if (!strstr(tess_plan_explain(plan), line))
            fail_msg("%s: not %s in\n%s", inputs[i], line, tess_plan_explain(plan));
        assert_non_null(strstr(tess_plan_explain(plan), "chosen  by the model"));
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
        tess_prediction_destroy(p);
    }
}

static void several_devices_are_listed_by_doubling(void **state)
{
    tess_prediction *p = predict(state, "stencil27:n=12,b=4", 6);
    const int devices[] = {1, 2, 4, 6};
    assert_int_equal(p->solve_count, 4);
    bool listed = false;
    for (int i = 0; i < 4; i++) {
        const tess_predicted_solve *s = &p->solves[i];
        assert_int_equal(s->devices, devices[i]);
        double sum = s->spmv + s->dot + s->residual + s->direction + s->communication;
        assert_true(fabs(sum - s->iteration) < 1e-12 * sum);
        assert_true((s->communication > 0) == (i > 0));
        assert_true(fabs(s->speedup - p->solves[0].iteration / s->iteration) < 1e-12);
        listed |= p->worthwhile == s->devices;
    }
    assert_true(listed);
    tess_prediction_destroy(p);
}

static void bad_requests_are_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_prediction *p = NULL;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=3,b=2", &A, NULL), TESS_OK);
    tess_device *device = test_device(ctx, "cpu:1");
    const tess_predict_options wrong[] = {
        {.devices = -1}, {.devices = 1025}, {.link_bandwidth = -1}, {.sync_seconds = NAN}};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(tess_predict(ctx, A, device, &wrong[i], &p), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_predict(ctx, NULL, device, NULL, &p), TESS_ERR_ARGUMENT);
    tess_device_close(device);
    device = test_device(ctx, "ref");
    assert_int_equal(tess_predict(ctx, A, device, NULL, &p), TESS_ERR_UNSUPPORTED);
    assert_null(p);
    tess_prediction_destroy(NULL);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void blocks_are_chosen_for_the_device(void **state)
{
    static const struct {
        const char *input;
        int32_t block;
    } cases[] = {{"stencil27:n=10,b=4", 4}, {"cdr:n=12,b=3", 3}, {"random:rows=150000,avg=8", 1}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *A, *csr;
        tess_blocking blocking = {0};
        assert_int_equal(tess_matrix_generate(ctx, cases[i].input, &A, NULL), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr), TESS_OK);
        assert_int_equal(tess_choose_blocking(ctx, csr, device, &blocking), TESS_OK);
        if (blocking.rows != cases[i].block || blocking.cols != cases[i].block)
            fail_msg("%s: %d x %d", cases[i].input, (int)blocking.rows, (int)blocking.cols);
        tess_matrix_destroy(csr);
        tess_matrix_destroy(A);
    }
    tess_matrix *empty;
    tess_blocking blocking = {0};
    assert_int_equal(tess_matrix_generate(ctx, "random:rows=5,avg=0", &empty, NULL), TESS_OK);
    assert_int_equal(tess_choose_blocking(ctx, empty, device, &blocking), TESS_OK);
    assert_true(blocking.rows == 1 && blocking.cols == 1);
    assert_int_equal(tess_choose_blocking(ctx, NULL, device, &blocking), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(empty);
    tess_device_close(device);
}

static void no_allocation_failure_leaks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=4,b=2", &A, NULL), TESS_OK);
    int64_t live = test_live(state);
    bool passed = false;
    for (int64_t n = 0; !passed; n++) {
        tess_device *device = NULL;
        tess_prediction *p = NULL;
        test_fail_allocation(state, n);
        tess_status status = tess_device_open(ctx, "cpu:2", &device);
        if (status == TESS_OK)
            status = tess_predict(ctx, A, device, NULL, &p);
        test_fail_allocation(state, -1);
        /* Without memory for the model there is no prediction. */
        passed = status == TESS_OK;
        if (!passed && status != TESS_ERR_MEMORY && status != TESS_ERR_UNSUPPORTED)
            fail_msg("allocation %d: %s", (int)n, tess_status_name(status));
        tess_prediction_destroy(p);
        tess_device_close(device);
        assert_int_equal(test_live(state), live);
    }
    tess_matrix_destroy(A);
}

/* The halo has the partition's messages. The volumes of eq. 11 are reported too. */
static void several_devices_receive_their_real_halo(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const kinds[] = {"contiguous", "cyclic"};
    for (int kind = 0; kind < 2; kind++) {
        tess_matrix *A;
        tess_prediction *p;
        tess_partition *partition;
        const tess_predict_options options = {.devices = 8,
                                              .link_bandwidth = 1e9,
                                              .sync_seconds = 7e-6,
                                              .latency_seconds = 3e-6,
                                              .partition = kinds[kind]};
        assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=10,b=3", &A, NULL), TESS_OK);
        tess_device *device = test_device(ctx, "cpu:2");
        assert_int_equal(tess_predict(ctx, A, device, &options, &p), TESS_OK);
        assert_string_equal(p->partition, kinds[kind]);
        assert_int_equal(p->solve_count, 4);
        for (int64_t i = 1; i < p->solve_count; i++) {
            const tess_predicted_solve *s = &p->solves[i];
            double halo = 0, messages = 0;
            assert_int_equal(tess_partition_create(ctx, A, s->devices, kinds[kind], &partition),
                             TESS_OK);
            for (int r = 0; r < s->devices; r++) {
                halo = fmax(halo, 24.0 * (double)partition->parts[r].halo);
                messages = fmax(messages, partition->parts[r].neighbours);
            }
            tess_partition_destroy(partition);
            assert_true(s->halo_bytes == halo && s->messages == messages);
            assert_true(fabs(s->halo - (halo / 1e9 + messages * 3e-6)) < 1e-15);
            assert_true(fabs(s->sums - 2 * log2(s->devices) * 3e-6) < 1e-15);
            assert_true(fabs(s->communication - s->halo - s->sums) < 1e-15);
            assert_true(s->direct > 4 * 7e-6 + 24.0 * 1000 / 1e9);
            assert_true(s->through_host > s->direct);
            assert_true(s->largest >= 1 && s->largest < 1.5);
        }
        tess_prediction_destroy(p);
        tess_device_close(device);
        tess_matrix_destroy(A);
    }
}

/* A slab of a cube has the same halo at any thickness, so that copies of the matrix added behind it
 * keep theirs. */
static void weak_scaling_keeps_the_work_of_a_device(void **state)
{
    tess_prediction *p = predict(state, "stencil7:n=16,b=2", 4);
    assert_int_equal(p->weak_count, 3);
    assert_true(p->weak[0].iteration == p->solves[0].iteration && p->weak[0].speedup == 1);
    for (int64_t i = 1; i < p->weak_count; i++) {
        const tess_predicted_solve *w = &p->weak[i], *s = &p->solves[i];
        assert_int_equal(w->devices, s->devices);
        assert_true(fabs(w->flops - w->devices * s->flops) < 1e-6 * w->flops);
        assert_true(w->spmv >= 0.95 * p->weak[0].spmv && w->spmv <= 1.2 * p->weak[0].spmv);
        assert_true(w->speedup < 1 && w->speedup > 0);
        assert_true(w->halo_bytes >= s->halo_bytes);
    }
    tess_prediction_destroy(p);
}

/* Parts of one device compute as fast as it does alone; their messages come on top. */
static void shared_devices_have_the_speed_of_one(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const tess_predict_options options = {
        .size = sizeof options, .devices = 4, .latency_seconds = 3e-6, .shared = 1};
    const tess_predict_options wrong = {.size = sizeof wrong, .shared = 2};
    tess_matrix *A;
    tess_prediction *p;
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=12,b=3", &A, NULL), TESS_OK);
    tess_device *device = test_device(ctx, "cpu:2");
    assert_int_equal(tess_predict(ctx, A, device, &options, &p), TESS_OK);
    assert_int_equal(p->solve_count, 3);
    for (int64_t i = 1; i < p->solve_count; i++) {
        const tess_predicted_solve *s = &p->solves[i], *one = &p->solves[0];
        assert_true(s->spmv == one->spmv && s->dot == one->dot && s->residual == one->residual);
        assert_true(s->halo > s->messages * 3e-6 && s->sums > 0);
        assert_true(fabs(s->iteration - one->iteration - s->halo - s->sums) < 1e-12);
        assert_true(s->speedup < 1);
    }
    tess_prediction_destroy(p);
    assert_int_equal(tess_predict(ctx, A, device, &wrong, &p), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "shared = 2"));
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* Eq. 10: 2 x 2 blocks of which one entry in four is not 0. */
static void useful_flops_are_those_of_entries(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    enum { N = 50 };
    int64_t offsets[N + 1];
    int32_t columns[N];
    double values[4 * N] = {0};
    for (int i = 0; i < N; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = i;
        values[4 * i] = 2;
    }
    offsets[0] = 0;
    tess_matrix *A = test_blocks(ctx, 2 * N, 2 * N, 2, 2, offsets, columns, values);
    tess_prediction *p;
    tess_device *device = test_device(ctx, "cpu:1");
    assert_int_equal(tess_predict(ctx, A, device, NULL, &p), TESS_OK);
    assert_true(p->density == 0.25);
    assert_true(p->solves[0].flops == 2 * 4 * N + 13 * 2 * N);
    assert_true(fabs(p->solves[0].useful_flops - (2 * N + 13 * 2 * N)) < 1e-6);
    tess_prediction_destroy(p);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_devices_receive_their_real_halo),
        cmocka_unit_test(weak_scaling_keeps_the_work_of_a_device),
        cmocka_unit_test(shared_devices_have_the_speed_of_one),
        cmocka_unit_test(useful_flops_are_those_of_entries),
        cmocka_unit_test(kernels_come_fastest_first_and_best_is_no_slower),
        cmocka_unit_test(a_stand_in_with_other_instructions_orders_kernels),
        cmocka_unit_test(rows_in_lanes_move_and_keep_their_zeros),
        cmocka_unit_test(an_estimate_takes_the_first_of_them),
        cmocka_unit_test(several_devices_are_listed_by_doubling),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(blocks_are_chosen_for_the_device),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
