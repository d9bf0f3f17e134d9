/* Calibration: from samples to curves and extras, and the matrices that are made for it. */
#include <math.h>

#include "calibrate/samples.h"
#include "support/support.h"

static const tess_sigmoid truth = {.mu = 19.2, .sigma = 1.45, .nu = 117e9};

static void calibration_finds_what_made_the_samples(void **state)
{
    static const double lengths[] = {7, 27, 81};
    const double step = 2e-8, row = 64, cache = 3e7;
    double mean = 0;
    tess_sigmoid in = {.mu = 17, .sigma = 1.2, .nu = 4e11}, out = in;
    tess_calibration c = {.ctx = test_ctx(state), .block = 4};
    tess_sample samples[256];
    out.nu /= 3;
    c.samples = samples;
    for (double bytes = 1e5; bytes < 4e8; bytes *= 1.4) {
        for (int i = 0; i < 3; i++) {
            tess_sample *s = &samples[c.count++];
            *s = (tess_sample){.name = "k", .bytes = bytes, .length = lengths[i]};
            s->block_rows = bytes / (132 * lengths[i]);
            double x = bytes + row * s->block_rows, times = bytes / cache;
            double share = times < 0.45 ? 1 : times > 3.4 ? 0 : 1 - (times - 0.45) / 2.95;
            s->seconds = step * s->length + share * x / tess_sigmoid_value(&in, x) +
                         (1 - share) * x / tess_sigmoid_value(&out, x);
        }
    }
    assert_int_equal(tess_model_create(c.ctx, "cpu, test", &c.model), TESS_OK);
    c.model->cache_bytes = cache;
    c.regular = c.count;
    assert_int_equal(tess_calibration_fit(&c, 1), TESS_OK);
    assert_int_equal(c.model->curve_count, 2);
    for (int64_t i = 0; i < c.count; i++) {
        const tess_sample *s = &samples[i];
        tess_model_load load = {.name = "k",
                                .block = 4,
                                .bytes = s->bytes,
                                .block_rows = s->block_rows,
                                .length = s->length,
                                .working = s->bytes};
        double error = tess_model_seconds(c.model, &load, false) / s->seconds - 1;
        mean += fabs(error) / (double)c.count;
        if (fabs(error) > 0.1)
            fail_msg("%g bytes, rows of %g: off by %g", s->bytes, s->length, error);
    }
    if (mean > 0.02)
        fail_msg("off by %g in the mean", mean);
    tess_model_destroy(c.model);
}

/* Some samples take longer: their rows change in length, or streams are out of lockstep. The fitted
 * curve does not include these costs. */
static void a_curve_is_of_rows_that_do_not_change(void **state)
{
    const double change = 3e-9, alone = 1e-9;
    double fitted[2];
    for (int changing = 0; changing < 2; changing++) {
        tess_calibration c = {.ctx = test_ctx(state), .block = 4};
        tess_sample samples[64];
        c.samples = samples;
        for (double bytes = 1e5; bytes < 1e9; bytes *= 1.4) {
            tess_sample *s = &samples[c.count++];
            *s =
                (tess_sample){.name = "k", .bytes = bytes, .block_rows = bytes / 1000, .length = 7};
            s->changes = changing * s->block_rows / 5;
            s->alone = changing * s->block_rows / 2;
            s->seconds =
                bytes / tess_sigmoid_value(&truth, bytes) + change * s->changes + alone * s->alone;
        }
        assert_int_equal(tess_model_create(c.ctx, "test", &c.model), TESS_OK);
        c.model->cache_bytes = 1e12;
        tess_model_extra extra = {
            .name = "k", .block = 4, .kind = TESS_EXTRA_CHANGE, .seconds = change};
        assert_int_equal(tess_model_add_extra(c.model, &extra), TESS_OK);
        extra.kind = TESS_EXTRA_ALONE;
        extra.seconds = alone;
        assert_int_equal(tess_model_add_extra(c.model, &extra), TESS_OK);
        c.regular = c.count;
        assert_int_equal(tess_calibration_fit(&c, 1), TESS_OK);
        tess_model_load load = {
            .name = "k", .block = 4, .bytes = 3e7, .block_rows = 3e4, .length = 7, .working = 3e7};
        fitted[changing] = tess_model_seconds(c.model, &load, false);
        tess_model_drop_extras(c.model, TESS_EXTRA_CHANGE);
        tess_model_drop_extras(c.model, TESS_EXTRA_ALONE);
        for (int64_t i = 0; i < c.model->extra_count; i++)
            assert_true(c.model->extras[i].kind == TESS_EXTRA_RESIDENT);
        tess_model_destroy(c.model);
    }
    if (fabs(fitted[1] / fitted[0] - 1) > 1e-3)
        fail_msg("%g s, without changes %g s", fitted[1], fitted[0]);
}

static tess_irregular irregular_of(double block_rows, double changes, int64_t first, int64_t last)
{
    tess_model_problem problem = {
        .blocks = 40 * block_rows, .block_rows = block_rows, .changes = changes};
    problem.block = 4;
    return (tess_irregular){problem, first, last};
}

/* Samples are made of a curve, a cost per changed row and a cost per block alone. The fit finds
 * both costs. */
static void calibration_tells_changes_from_streams_out_of_step(void **state)
{
    const double change = 2e-8, alone = 4e-9, rows = 1e4;
    tess_calibration c = {.ctx = test_ctx(state), .block = 4};
    tess_sample samples[64];
    c.samples = samples;
    for (double bytes = 1e5; bytes < 1e9; bytes *= 1.4) /* a tenth of the samples out of lockstep */
        samples[c.count++] = (tess_sample){.bytes = bytes, .alone = bytes / 1320};
    c.regular = c.count;
    samples[c.count++] = (tess_sample){.bytes = 8e6, .changes = 0.9 * rows, .alone = 1.5 * rows};
    samples[c.count++] = (tess_sample){.bytes = 5e7};
    samples[c.count++] = (tess_sample){.bytes = 5e7, .changes = rows, .alone = 13 * rows};
    for (int64_t i = 0; i < c.count; i++) {
        tess_sample *s = &samples[i];
        snprintf(s->name, sizeof s->name, "k");
        s->block_rows = i < c.regular ? s->bytes / 5280 : rows;
        s->length = 40;
        s->seconds = s->bytes / tess_sigmoid_value(&truth, s->bytes) + change * s->changes +
                     alone * s->alone;
    }
    assert_int_equal(tess_model_create(c.ctx, "cpu, test", &c.model), TESS_OK);
    c.model->cache_bytes = 1e12;
    assert_int_equal(tess_calibration_fit(&c, 1), TESS_OK);
    tess_irregular random = irregular_of(rows, 0.9 * rows, c.regular, c.regular + 1);
    tess_irregular even = irregular_of(rows, 0, c.regular + 1, c.regular + 2);
    tess_irregular uneven = irregular_of(rows, rows, c.regular + 2, c.regular + 3);
    assert_int_equal(tess_calibration_irregular(&c, &random, &even, &uneven), TESS_OK);
    tess_model_problem k = {.name = "k", .block = 4};
    double changes = tess_model_extra_seconds(c.model, &k, TESS_EXTRA_CHANGE);
    double streams = tess_model_extra_seconds(c.model, &k, TESS_EXTRA_ALONE);
    if (fabs(streams / alone - 1) > 0.05 || fabs(changes / change - 1) > 0.1)
        fail_msg("%g s a change, %g s a block alone", changes, streams);
    tess_model_destroy(c.model);
}

static void a_band_is_symmetric_with_gaps_and_without(void **state)
{
    tess_matrix *A;
    tess_symmetry symmetry;
    static const tess_calibration_shape shapes[] = {
        {.length = 9, .share = 1},
        {.length = 9, .share = 0.5},
        {9, 1, .crossed = true},
        {.length = 18, .share = 1, .ragged = true}}; /* 1 to 10 on and above the diagonal */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tess_calibration_band(test_ctx(state), TESS_F32, 3, 200, &shapes[i], &A),
                         TESS_OK);
        int64_t full = 200 * 9 - 4 * 5, beside = full - 200;
        if (shapes[i].ragged)
            assert_in_range(A->blocks, 200 * 8, 200 * 11);
        else if (shapes[i].share < 1)
            assert_in_range(A->blocks, 200 + beside * 4 / 10, 200 + beside * 6 / 10);
        else
            assert_int_equal(A->blocks, full + (shapes[i].crossed ? 2 * (200 - 5) : 0));
        tess_matrix_view view;
        tess_matrix_get_view(A, &view);
        assert_int_equal(tess_matrix_validate(test_ctx(state), &view, true), TESS_OK);
        assert_int_equal(tess_matrix_symmetry(test_ctx(state), A, &symmetry), TESS_OK);
        assert_true(symmetry.symmetric && symmetry.missing_diagonal == 0);
        tess_matrix_destroy(A);
    }
}

/* A device that was never calibrated, with a cache so small that the products take microseconds. */
static tess_device *open_stand_in(void **state)
{
    tess_device *device;
    assert_int_equal(tess_device_open(test_ctx(state), "cpu:1", &device), TESS_OK);
    assert_non_null(tess_device_performance(device));
    assert_true(device->performance->stand_in);
    device->performance->cache_bytes = 1e4;
    return device;
}

static void a_stand_in_is_scaled_to_what_is_measured(void **state)
{
    tess_device *device = open_stand_in(state);
    const tess_model_curve before = device->performance->curves[0];
    double memory, cache;
    assert_int_equal(tess_calibrate_quick(device, NULL, &memory, &cache), TESS_OK);
    assert_true(memory > 0 && cache > 0 && isfinite(memory) && isfinite(cache));
    const tess_model_curve *after = &device->performance->curves[0];
    double factor = before.cached ? cache : memory;
    assert_true(fabs(after->average.nu / before.average.nu / factor - 1) < 1e-9);
    device->performance->stand_in = false; /* as if it had a model of its own */
    assert_int_equal(tess_calibrate_quick(device, NULL, &memory, &cache), TESS_ERR_UNSUPPORTED);
    assert_int_equal(tess_calibrate_quick(device, NULL, NULL, &cache), TESS_ERR_ARGUMENT);
    tess_device_close(device);
}

static void scaling_without_memory_leaks_nothing(void **state)
{
    enum { FAILURES = 40 };
    tess_device *device = open_stand_in(state);
    double memory, cache;
    assert_int_equal(tess_calibrate_quick(device, NULL, &memory, &cache), TESS_OK);
    const int64_t live = test_live(state);
    for (int n = 0; n < FAILURES; n++) {
        test_fail_allocation(state, n);
        const tess_status status = tess_calibrate_quick(device, NULL, &memory, &cache);
        test_fail_allocation(state, -1);
        if (status != TESS_ERR_MEMORY && status != TESS_OK)
            fail_msg("allocation %d: %s", n, tess_status_name(status));
        assert_int_equal(test_live(state), live);
    }
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stand_in_is_scaled_to_what_is_measured),
        cmocka_unit_test(scaling_without_memory_leaks_nothing),
        cmocka_unit_test(calibration_finds_what_made_the_samples),
        cmocka_unit_test(a_curve_is_of_rows_that_do_not_change),
        cmocka_unit_test(calibration_tells_changes_from_streams_out_of_step),
        cmocka_unit_test(a_band_is_symmetric_with_gaps_and_without),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
