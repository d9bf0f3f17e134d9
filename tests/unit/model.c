/* The model: the fit finds what made the data, predictions behave. */
#include <math.h>

#include "plan/model.h"
#include "support/support.h"

static const tess_sigmoid truth = {.mu = 19.2, .sigma = 1.45, .nu = 117e9};

/* Sizes 2^10..2^30, values off by up to `noise`. */
static int make_points(double *x, double *y, double noise, uint64_t seed)
{
    int count = 0;
    for (double e = 12; e <= 30; e += 0.5, count++) {
        x[count] = exp2(e);
        y[count] = tess_sigmoid_value(&truth, x[count]) *
                   (1 + noise * tess_random_unit(seed, (uint64_t)count));
    }
    return count;
}

static void the_fit_recovers_what_made_the_data(void **state)
{
    (void)state;
    double x[64], y[64];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        tess_sigmoid fit;
        int count = make_points(x, y, 0.0, seed);
        assert_true(tess_sigmoid_fit(x, y, count, &fit));
        if (fabs(fit.mu - truth.mu) > 1e-6 || fabs(fit.sigma - truth.sigma) > 1e-6 ||
            fabs(fit.nu / truth.nu - 1) > 1e-6)
            fail_msg("exact: mu %g sigma %g nu %g", fit.mu, fit.sigma, fit.nu);
        count = make_points(x, y, 0.1, seed);
        assert_true(tess_sigmoid_fit(x, y, count, &fit));
        if (fabs(fit.mu - truth.mu) > 0.25 || fabs(fit.sigma - truth.sigma) > 0.15 ||
            fabs(fit.nu / truth.nu - 1) > 0.06)
            fail_msg("seed %d: mu %g sigma %g nu %g", (int)seed, fit.mu, fit.sigma, fit.nu);
        tess_sigmoid best = tess_sigmoid_envelope(&fit, x, y, count);
        for (int i = 0; i < count; i++)
            assert_true(y[i] <= tess_sigmoid_value(&best, x[i]) * (1 + 1e-12));
    }
}

static void slopes_agree_with_differences(void **state)
{
    (void)state;
    for (double e = 8; e < 32; e += 1.7) {
        double slopes[3], h = 1e-6, x = exp2(e);
        tess_sigmoid_slopes(&truth, x, slopes);
        for (int i = 0; i < 3; i++) {
            tess_sigmoid up = truth, down = truth;
            if (i == 0)
                up.mu += h, down.mu -= h;
            else if (i == 1)
                up.sigma *= exp(h), down.sigma *= exp(-h);
            else
                up.nu *= exp(h), down.nu *= exp(-h);
            double difference =
                (log(tess_sigmoid_value(&up, x)) - log(tess_sigmoid_value(&down, x))) / (2 * h);
            if (fabs(difference - slopes[i]) > 1e-7 * (1 + fabs(slopes[i])))
                fail_msg("x 2^%g, parameter %d: %g, not %g", e, i, slopes[i], difference);
        }
    }
}

static void data_that_say_nothing_are_refused(void **state)
{
    (void)state;
    tess_sigmoid fit;
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e6}, (double[]){1, 2}, 2, &fit));
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e3, 1e6}, (double[]){1, 1, 2}, 3, &fit));
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e4, 1e6}, (double[]){1, 0, 2}, 3, &fit));
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e4, 1e6}, (double[]){1, NAN, 2}, 3, &fit));
}

static tess_model example(void)
{
    tess_model_curve vectors = {.block = 0, .average = truth, .best = truth};
    tess_model_curve four = {.block = 4, .average = truth, .best = truth};
    vectors.average.nu *= 0.8;
    four.average.nu *= 0.7;
    return (tess_model){.curves = {vectors, four}, .count = 2};
}

static void predictions_are_monotone_and_add_up(void **state)
{
    (void)state;
    tess_model model = example();
    double before = 0;
    for (double rows = 1e3; rows < 1e9; rows *= 3) {
        tess_model_problem problem = {.rows = rows,
                                      .stored = 28 * rows,
                                      .bytes = 240 * rows,
                                      .block_height = 4,
                                      .block_width = 4};
        tess_prediction average, best;
        assert_true(tess_model_predict(&model, &problem, 1, NULL, false, &average));
        assert_true(tess_model_predict(&model, &problem, 1, NULL, true, &best));
        assert_true(average.iteration > before);
        assert_true(best.iteration < average.iteration);
        double sum = average.spmv + average.cg2 + average.cg3 + average.cg4 + average.cg5 +
                     3 * average.reduction;
        assert_true(fabs(sum - average.iteration) < 1e-12 * sum);
        before = average.iteration;
    }
}

static void several_devices_pay_only_for_large_problems(void **state)
{
    (void)state;
    tess_model model = example();
    tess_link link = {.transfer = {.mu = 18, .sigma = 1.4, .nu = 50e9}, .sync_seconds = 10e-6};
    tess_prediction one, two;
    tess_model_problem small = {
        .rows = 1e4, .stored = 28e4, .bytes = 2.4e6, .block_height = 4, .block_width = 4};
    tess_model_problem large = {
        .rows = 1e7, .stored = 28e8, .bytes = 2.4e10, .block_height = 4, .block_width = 4};
    assert_true(tess_model_predict(&model, &small, 1, NULL, false, &one));
    assert_true(tess_model_predict(&model, &small, 2, &link, false, &two));
    assert_true(two.iteration > one.iteration);
    assert_true(tess_model_predict(&model, &large, 1, NULL, false, &one));
    assert_true(tess_model_predict(&model, &large, 2, &link, false, &two));
    assert_true(two.iteration < 0.7 * one.iteration && two.iteration > 0.5 * one.iteration);
    assert_false(tess_model_predict(&model, &large, 2, NULL, false, &two));
    model.count = 0;
    assert_false(tess_model_predict(&model, &large, 1, NULL, false, &one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fit_recovers_what_made_the_data),
        cmocka_unit_test(slopes_agree_with_differences),
        cmocka_unit_test(data_that_say_nothing_are_refused),
        cmocka_unit_test(predictions_are_monotone_and_add_up),
        cmocka_unit_test(several_devices_pay_only_for_large_problems),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
