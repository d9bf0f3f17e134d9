/* The model: predictions behave. */
#include <math.h>

#include "unit/plan/model_example.h"

static void predictions_are_monotone_and_add_up(void **state)
{
    tess_model *model = example(state);
    double before = 0;
    for (double rows = 1e3; rows < 1e9; rows *= 3) {
        tess_model_problem problem = problem_of(rows);
        tess_iteration mean, best;
        assert_true(tess_model_iteration(model, &problem, 1, NULL, false, &mean));
        assert_true(tess_model_iteration(model, &problem, 1, NULL, true, &best));
        assert_true(mean.seconds > before);
        assert_true(best.seconds < mean.seconds);
        double sum = mean.spmv + mean.dot + mean.residual + mean.direction;
        assert_true(fabs(sum - mean.seconds) < 1e-12 * sum);
        assert_true(mean.flops == 2 * problem.stored + 13 * rows);
        before = mean.seconds;
    }
    tess_model_destroy(model);
}

static void several_devices_pay_only_for_large_problems(void **state)
{
    tess_model *model = example(state);
    tess_link link = {.transfer = {.mu = 18, .sigma = 1.4, .nu = 50e9}, .sync_seconds = 10e-6};
    tess_iteration one, two;
    tess_model_problem small = problem_of(1e4), large = problem_of(1e7);
    large.bytes = 2.4e10;
    assert_true(tess_model_iteration(model, &small, 1, NULL, false, &one));
    assert_true(tess_model_iteration(model, &small, 2, &link, false, &two));
    assert_true(two.seconds > one.seconds);
    assert_true(tess_model_iteration(model, &large, 1, NULL, false, &one));
    assert_true(tess_model_iteration(model, &large, 2, &link, false, &two));
    assert_true(two.seconds < 0.7 * one.seconds && two.seconds > 0.5 * one.seconds);
    assert_false(tess_model_iteration(model, &large, 2, NULL, false, &two));
    snprintf(large.name, sizeof large.name, "unknown");
    assert_false(tess_model_iteration(model, &large, 1, NULL, false, &one));
    assert_true(tess_model_spmv(model, &large, 1, false) == 0);
    tess_model_destroy(model);
}

static void what_is_irregular_costs_more(void **state)
{
    tess_model *model = example(state);
    const tess_model_extra extras[] = {
        {.name = "k", .block = 4, .kind = TESS_EXTRA_CHANGE, .seconds = 1e-9},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_FAR, .x_bytes = 1e6, .seconds = 2e-9},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_FAR, .x_bytes = 1e8, .seconds = 6e-9},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_LONGEST, .seconds = 3e-9},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_CUT, .seconds = 2e-5},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_ALONE, .seconds = 4e-9}};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(tess_model_add_extra(model, &extras[i]), TESS_OK);
    tess_model_problem p = problem_of(1e6);
    double plain = tess_model_spmv(model, &p, 1, false);
    model->curves[1].row_bytes = 24; /* of 2.5e5 rows, as many as a 40th of the bytes */
    p.block_rows = 2.5e5;
    double regular = tess_model_spmv(model, &p, 1, false);
    assert_true(regular > 1.02 * plain && regular < 1.03 * plain);
    p.changes = 1e5;
    double lengths = tess_model_spmv(model, &p, 1, false);
    assert_true(fabs(lengths - regular - 1e-4) < 1e-9);
    p.far = 1e6;
    const double sizes[] = {1e3, 1e6, 1e7, 1e8, 1e10}, seconds[] = {2, 2, 4, 6, 6};
    for (size_t i = 0; i < 5; i++) { /* between linear in the logarithm, beyond constant */
        p.x_bytes = sizes[i];
        double more = tess_model_spmv(model, &p, 1, false) - lengths;
        if (fabs(more - 1e-3 * seconds[i]) > 1e-8)
            fail_msg("x of %g bytes: %g s more, not %g ms", sizes[i], more, seconds[i]);
    }
    p.far = p.changes = 0;
    p.alone = 1e5;
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 4e-4) < 1e-9);
    p.alone = 0;
    p.longest = 1e5; /* one device does the longest row: two devices do it no faster */
    const double mean = p.blocks / p.block_rows;
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 2e-5 - 3e-9 * (1e5 - mean)) <
                1e-12);
    assert_true(tess_model_spmv(model, &p, 2, false) > 0.5 * regular + 2.9e-4);
    p.longest = mean + 13; /* no row is cut */
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 3.9e-8) < 1e-12);
    p.longest = mean; /* rows of one length, as in the curves */
    assert_true(tess_model_spmv(model, &p, 1, false) == regular);
    p.idle = 1e-5; /* from memory: all of it */
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 1e-5) < 1e-12);
    p.idle = 0;
    model->curves[1].step_seconds = 1e-6; /* per wait; a row of `mean` blocks waits `mean` times */
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 1e-6 * mean) < 1e-12);
    p.waits = 0.25; /* four threads share it */
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 2.5e-7 * mean) < 1e-12);
    tess_model_destroy(model);
}

static void symmetric_storage_pays_for_irregular_rows_as_bsr_does(void **state)
{
    tess_model *model = example(state);
    const tess_model_extra extra = {
        .name = "bsr streams=2", .block = 4, .kind = TESS_EXTRA_CHANGE, .seconds = 1e-9};
    assert_int_equal(tess_model_add_extra(model, &extra), TESS_OK);
    for (int64_t i = 0; i < model->curve_count; i++)
        snprintf(model->curves[i].name, sizeof model->curves[i].name, "symmetric streams=2");
    tess_model_problem p = problem_of(1e6);
    snprintf(p.name, sizeof p.name, "symmetric streams=2");
    snprintf(p.irregular_as, sizeof p.irregular_as, "bsr streams=2");
    double regular = tess_model_spmv(model, &p, 1, false);
    p.changes = 1e5;
    assert_true(regular > 0);
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 1e-4) < 1e-9);
    /* The extra of streams out of lockstep was measured with bsr's own kernels. */
    const tess_model_extra bsr = {
        .name = "bsr streams=2", .block = 4, .kind = TESS_EXTRA_ALONE, .seconds = 5e-9};
    const tess_model_extra own = {
        .name = "symmetric streams=2", .block = 4, .kind = TESS_EXTRA_ALONE, .seconds = 3e-9};
    assert_int_equal(tess_model_add_extra(model, &bsr), TESS_OK);
    assert_int_equal(tess_model_add_extra(model, &own), TESS_OK);
    p.changes = 0;
    p.alone = 1e5;
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - regular - 3e-4) < 1e-9);
    tess_model_destroy(model);
}

/* Rows that are left when other streams have ended are done at the speed of one stream, if that is
 * slower. */
static void rows_that_are_left_go_in_one_stream(void **state)
{
    tess_model *model = example(state);
    tess_model_curve slower = model->curves[1];
    snprintf(model->curves[1].name, sizeof model->curves[1].name, "bsr streams=2 prefetch");
    snprintf(slower.name, sizeof slower.name, "bsr streams=1");
    slower.average.nu /= 2;
    assert_int_equal(tess_model_add_curve(model, &slower), TESS_OK);
    tess_model_problem p = problem_of(1e6);
    snprintf(p.name, sizeof p.name, "bsr streams=1");
    snprintf(p.single_class, sizeof p.single_class, "bsr streams=1");
    double one = tess_model_spmv(model, &p, 1, false);
    p.left = 1; /* means nothing to a class of one stream */
    assert_true(tess_model_spmv(model, &p, 1, false) == one);
    snprintf(p.name, sizeof p.name, "bsr streams=2 prefetch");
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) / one - 1) < 1e-12);
    p.left = 0;
    double two = tess_model_spmv(model, &p, 1, false);
    assert_true(two > 0 && two < 0.6 * one);
    p.left = 0.25;
    assert_true(fabs(tess_model_spmv(model, &p, 1, false) - 0.75 * two - 0.25 * one) < 1e-9 * one);
    model->curves[model->curve_count - 1].average.nu *= 4;
    assert_true(tess_model_spmv(model, &p, 1, false) == two);
    tess_model_destroy(model);
}

/* The example's model with a curve for data in a cache of 32 MB too, three times as fast as
 * `truth`, with the given sigma. */
static tess_model *cached_example(void **state, bool gpu, double sigma)
{
    tess_model *model = example(state);
    tess_model_curve cached = {.name = "k", .block = 4, .cached = true, .average = truth};
    cached.average.nu *= 3;
    cached.average.sigma = sigma;
    cached.best = cached.average;
    assert_int_equal(tess_model_add_curve(model, &cached), TESS_OK);
    model->gpu = gpu;
    model->cache_bytes = 32e6;
    return model;
}

static double seconds_of(const tess_model *model, double bytes, double working)
{
    tess_model_load load = {.name = "k", .block = 4, .bytes = bytes, .working = working};
    return tess_model_seconds(model, &load, false);
}

static void between_cache_and_memory_nothing_jumps(void **state)
{
    tess_model *model = cached_example(state, false, 0.8);
    double before = 0, bytes = 1e6;
    for (; bytes < 1e9; bytes *= 1.01) {
        double seconds = seconds_of(model, bytes, bytes);
        if (before > 0 && (seconds < before || seconds > 1.1 * before))
            fail_msg("%g bytes: %g s after %g s", bytes, seconds, before);
        before = seconds;
    }
    before = INFINITY; /* the smallest products take no longer than small ones */
    for (bytes = 1e6; bytes > 1; bytes /= 1.1) {
        double seconds = seconds_of(model, bytes, bytes);
        assert_true(seconds <= before && seconds > 0);
        before = seconds;
    }
    double in = seconds_of(model, 20e6, 10e6);
    double out = seconds_of(model, 20e6, 120e6);
    assert_true(out > 4 * in); /* 3 / 0.7 */
    tess_model_destroy(model);
}

static void what_stays_in_the_cache_goes_by_what_was_measured(void **state)
{
    tess_model *model = cached_example(state, false, truth.sigma);
    const tess_model_extra shares[] = {
        {.name = "k", .block = 4, .kind = TESS_EXTRA_RESIDENT, .x_bytes = 1e7, .seconds = 1},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_RESIDENT, .x_bytes = 4e7, .seconds = 0.6},
        {.name = "k", .block = 4, .kind = TESS_EXTRA_RESIDENT, .x_bytes = 1.6e8, .seconds = 0}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tess_model_add_extra(model, &shares[i]), TESS_OK);
    const double working[] = {1e6, 1e7, 2e7, 4e7, 8e7, 1.6e8, 1e9};
    const double expected[] = {1, 1, 0.8, 0.6, 0.3, 0, 0};
    double in = seconds_of(model, 2e7, 1), out = seconds_of(model, 2e7, 1e12);
    for (size_t i = 0; i < 7; i++) {
        double share = (out - seconds_of(model, 2e7, working[i])) / (out - in);
        if (fabs(share - expected[i]) > 1e-9)
            fail_msg("%g bytes: %g of them in the cache, not %g", working[i], share, expected[i]);
    }
    tess_model_destroy(model);
}

static void a_gpus_cache_keeps_nothing_of_more_than_itself(void **state)
{
    tess_model *model = cached_example(state, true, truth.sigma);
    double full = 1.4 * model->cache_bytes;
    double out = seconds_of(model, 2e7, 1e12), in = seconds_of(model, 2e7, 1);
    assert_true(seconds_of(model, 2e7, full) == out);
    double half = seconds_of(model, 2e7, 0.98 * full);
    assert_true(in < half && half < out);
    /* From memory the start of a launch counts too: half of the bytes take more than half of the
     * time. */
    assert_true(seconds_of(model, 1e7, 1e12) > 0.5 * out);
    tess_model_destroy(model);
}

static void rows_of_some_lengths_take_longer(void **state)
{
    tess_model *model = example(state);
    tess_model_problem p = problem_of(1e6);
    p.block_rows = p.blocks / 27;
    double plain = tess_model_spmv(model, &p, 1, false);
    model->curves[1].lengths = (tess_model_factors){.point = {{9, 1.5}, {81, 0.5}}, .count = 2};
    const double lengths[] = {1, 9, 27, 81, 500}, factors[] = {1.5, 1.5, 1, 0.5, 0.5};
    for (int i = 0; i < 5; i++) {
        p.block_rows = p.blocks / lengths[i];
        double factor = tess_model_spmv(model, &p, 1, false) / plain;
        if (fabs(factor - factors[i]) > 1e-9)
            fail_msg("rows of %g: %g, not %g", lengths[i], factor, factors[i]);
    }
    tess_model_destroy(model);
}

/* Steps of a CPU are a part of its fit. One row of ten million was expected to take seconds. */
static void steps_of_a_cpu_end_with_the_calibrated_rows(void **state)
{
    tess_model *model = example(state);
    tess_model_problem p = problem_of(1e6);
    model->curves[1].step_seconds = 1e-6;
    for (int gpu = 0; gpu < 2; gpu++) {
        double seconds[3];
        model->gpu = gpu;
        for (int i = 0; i < 3; i++) {
            p.block_rows = i == 0 ? p.blocks / 27 : i == 1 ? p.blocks / TESS_LENGTH_MOST : 1;
            seconds[i] = tess_model_spmv(model, &p, 1, false);
        }
        assert_true(fabs(seconds[1] - seconds[0] - 54e-6) < 1e-12);
        assert_true(gpu ? seconds[2] > 1 : seconds[2] == seconds[1]);
    }
    tess_model_destroy(model);
}

/* A GPU's steps are paid by every round of rows. Twice the rows have twice the rounds; twice the
 * blocks in every row have twice the steps, and as many rounds. */
static void steps_of_a_gpu_go_by_rows_and_their_length(void **state)
{
    enum { LENGTH = 8 * (int)TESS_LENGTH_MOST };
    tess_model *model = example(state);
    tess_model_problem p = problem_of(1e9);
    double without[3], steps[3];
    model->gpu = true;
    model->cache_bytes = 1e7;
    for (int with = 0; with < 2; with++) {
        model->curves[1].step_seconds = with ? 1e-6 : 0;
        for (int i = 0; i < 3; i++) {
            const double times = i == 0 ? 1 : 2, length = i == 2 ? 2 * LENGTH : LENGTH;
            p.blocks = 1e9 * times;
            p.bytes = 1e11 * times;
            p.block_rows = p.blocks / length;
            (with ? steps : without)[i] = tess_model_spmv(model, &p, 1, false);
        }
    }
    for (int i = 0; i < 3; i++)
        steps[i] -= without[i];
    assert_true(steps[0] > 0);
    assert_true(fabs(steps[1] / steps[0] - 2) < 1e-6);
    assert_true(fabs(steps[2] / steps[0] - 2) < 1e-6);
    tess_model_destroy(model);
}

/* The default link is slow for small messages, but no message takes longer than a larger one. */
static void smaller_transfers_take_no_longer(void **state)
{
    tess_model *model = example(state);
    const tess_link link = tess_model_link(model, &(tess_predict_options){0});
    double before = 0;
    for (double rows = 1; rows < 1e9; rows *= 3) {
        const tess_model_problem p = problem_of(rows);
        tess_predicted_solve solve;
        assert_true(tess_model_solve(model, &p, &link, 4, &solve));
        if (!(solve.direct >= before) || !(solve.through_host >= solve.direct))
            fail_msg("%g rows: %g s, by the host %g, fewer rows %g", rows, solve.direct,
                     solve.through_host, before);
        before = solve.direct;
    }
    tess_model_destroy(model);
}

static void an_iteration_in_one_launch_has_a_curve_of_its_own(void **state)
{
    tess_model *model = example(state);
    tess_model_problem p = problem_of(1e4);
    tess_iteration before, after;
    tess_model_curve once = {.name = TESS_MODEL_AT_ONCE, .cached = true, .row_bytes = 1000};
    once.average = once.best = truth;
    p.block_rows = 2500;
    p.at_once = true; /* but the model has no curve for it */
    assert_true(tess_model_iteration(model, &p, 1, NULL, false, &before));
    assert_int_equal(tess_model_add_curve(model, &once), TESS_OK);
    assert_true(tess_model_iteration(model, &p, 1, NULL, false, &after));
    double bytes = p.bytes + 1000 * p.block_rows;
    assert_true(fabs(after.seconds * tess_sigmoid_value(&truth, bytes) / bytes - 1) < 1e-12);
    double sum = after.spmv + after.dot + after.residual + after.direction;
    assert_true(fabs(sum - after.seconds) < 1e-12 * sum);
    p.at_once = false;
    assert_true(tess_model_iteration(model, &p, 1, NULL, false, &after));
    assert_true(after.seconds == before.seconds);
    tess_model_destroy(model);
}

/* The time of an iteration's passes. Curves of passes do not change the time of the product. */
static double passes_of(const tess_model *model, const tess_model_problem *p)
{
    tess_iteration it;
    assert_true(tess_model_iteration(model, p, 1, NULL, false, &it));
    return it.seconds - it.spmv;
}

/* Passes have a curve beside a matrix in the cache and one beside a matrix from memory. Where a
 * part of the matrix stays in the cache, the time is between the two. */
static void passes_depend_on_where_the_matrix_comes_from(void **state)
{
    tess_model *model = cached_example(state, true, 0.8);
    const tess_model_problem small = problem_of(2e4), large = problem_of(1e6);
    const tess_model_problem between = problem_of(1.2e5);
    tess_model_curve streamed = {.name = TESS_MODEL_STREAMED, .cached = true};
    double in = passes_of(model, &small), between_in = passes_of(model, &between);
    double bytes = 12 * 8 * large.rows;
    streamed.average = streamed.best = truth;
    streamed.average.nu /= 50;
    assert_int_equal(tess_model_add_curve(model, &streamed), TESS_OK);
    assert_true(passes_of(model, &small) == in);
    double out = bytes / tess_sigmoid_value(&streamed.average, bytes);
    assert_true(fabs(passes_of(model, &large) / out - 1) < 1e-12);
    bytes = 12 * 8 * between.rows;
    out = bytes / tess_sigmoid_value(&streamed.average, bytes);
    assert_true(passes_of(model, &between) > between_in && passes_of(model, &between) < out);
    tess_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_monotone_and_add_up),
        cmocka_unit_test(several_devices_pay_only_for_large_problems),
        cmocka_unit_test(what_is_irregular_costs_more),
        cmocka_unit_test(symmetric_storage_pays_for_irregular_rows_as_bsr_does),
        cmocka_unit_test(rows_that_are_left_go_in_one_stream),
        cmocka_unit_test(between_cache_and_memory_nothing_jumps),
        cmocka_unit_test(what_stays_in_the_cache_goes_by_what_was_measured),
        cmocka_unit_test(a_gpus_cache_keeps_nothing_of_more_than_itself),
        cmocka_unit_test(rows_of_some_lengths_take_longer),
        cmocka_unit_test(steps_of_a_cpu_end_with_the_calibrated_rows),
        cmocka_unit_test(steps_of_a_gpu_go_by_rows_and_their_length),
        cmocka_unit_test(smaller_transfers_take_no_longer),
        cmocka_unit_test(an_iteration_in_one_launch_has_a_curve_of_its_own),
        cmocka_unit_test(passes_depend_on_where_the_matrix_comes_from),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
