/* The model: the fit finds the curve from which the data were made, and a file keeps the model. */
#include <math.h>
#include <unistd.h>

#include "plan/model/file.h"
#include "unit/plan/model_example.h"

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
        assert_true(tess_sigmoid_fit(x, y, count, false, &fit));
        if (fabs(fit.mu - truth.mu) > 1e-6 || fabs(fit.sigma - truth.sigma) > 1e-6 ||
            fabs(fit.nu / truth.nu - 1) > 1e-6)
            fail_msg("exact: mu %g sigma %g nu %g", fit.mu, fit.sigma, fit.nu);
        count = make_points(x, y, 0.1, seed);
        assert_true(tess_sigmoid_fit(x, y, count, false, &fit));
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
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e6}, (double[]){1, 2}, 2, false, &fit));
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e3, 1e6}, (double[]){1, 1, 2}, 3, false, &fit));
    assert_false(tess_sigmoid_fit((double[]){1e3, 1e4, 1e6}, (double[]){1, 0, 2}, 3, false, &fit));
    assert_false(
        tess_sigmoid_fit((double[]){1e3, 1e4, 1e6}, (double[]){1, NAN, 2}, 3, false, &fit));
}

/* Samples of a class whose rows wait for loads, in the cache, from memory and between. */
static void a_model_survives_its_file(void **state)
{
    char path[] = "/tmp/tessera-model-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tess_ctx *ctx = test_ctx(state);
    tess_model *model = example(state), *back = NULL;
    tess_model_extra far = {
        .name = "k", .block = 4, .kind = TESS_EXTRA_FAR, .x_bytes = 1e6, .seconds = 2e-9};
    assert_int_equal(tess_model_add_extra(model, &far), TESS_OK);
    model->cache_bytes = 3e7;
    model->curves[1].step_seconds = 5e-9;
    model->curves[1].lengths = (tess_model_factors){.point = {{7, 1.25}}, .count = 1};
    model->curves[1].sizes = (tess_model_factors){.point = {{1e6, 0.5}, {1e7, 1.5}}, .count = 2};
    assert_int_equal(tess_model_write(ctx, path, model), TESS_OK);
    snprintf(model->device, sizeof model->device, "other");
    assert_int_equal(tess_model_write(ctx, path, model), TESS_OK); /* beside the first */
    assert_int_equal(tess_model_read_file(ctx, path, "test, 2 threads", &back), TESS_OK);
    assert_non_null(back);
    tess_model_problem p = problem_of(1e6);
    p.far = 1e5;
    assert_true(tess_model_spmv(back, &p, 1, false) == tess_model_spmv(model, &p, 1, false));
    assert_true(tess_model_spmv(back, &p, 1, true) == tess_model_spmv(model, &p, 1, true));
    assert_true(back->cache_bytes == 3e7 && back->extra_count == 1);
    assert_true(back->curves[1].step_seconds == 5e-9);
    assert_memory_equal(&back->curves[1].lengths, &model->curves[1].lengths,
                        sizeof back->curves[1].lengths);
    assert_memory_equal(&back->curves[1].sizes, &model->curves[1].sizes,
                        sizeof back->curves[1].sizes);
    tess_model_destroy(back);

    /* Curves of another block size are added, those of the same block size are replaced. */
    tess_model *part;
    tess_model_curve eight = {.name = "k", .block = 8, .average = truth, .best = truth};
    assert_int_equal(tess_model_create(ctx, "other", &part), TESS_OK);
    assert_int_equal(tess_model_add_curve(part, &eight), TESS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tess_model_write(ctx, path, part), TESS_OK);
    back = NULL;
    assert_int_equal(tess_model_read_file(ctx, path, "other", &back), TESS_OK);
    assert_true(back->curve_count == 3 && back->extra_count == 1);
    tess_model_destroy(back);
    /* Some classes of a block size replace only the same classes. */
    snprintf(part->curves[0].name, sizeof part->curves[0].name, "another");
    part->partial = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(tess_model_write(ctx, path, part), TESS_OK);
    back = NULL;
    assert_int_equal(tess_model_read_file(ctx, path, "other", &back), TESS_OK);
    assert_true(back->curve_count == 4 && back->extra_count == 1);
    tess_model_destroy(back);
    tess_model_destroy(part);

    back = NULL;
    assert_int_equal(tess_model_read_file(ctx, path, "a third", &back), TESS_OK);
    assert_null(back);
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "{\"tessera_model\": 2}",
        "{\"tessera_model\": 1, \"devices\": {}}",
        "{\"tessera_model\": 2, \"devices\": {\"other\": 7}}",
        "{\"tessera_model\": 2, \"devices\": {\"other\": {\"curves\": [[\"k\", 4, \"f64\", "
        "\"memory\", 5, 0.1, 20, -1, 1e9, 1e9, 0]]}}}",
        "{\"tessera_model\": 2, \"devices\": {\"other\": {\"curves\": [[\"k\", 4, \"f64\", "
        "\"memory\", 5, 0.1, 20, 1, 1e9, 1e9, 0, 0, [9, -1]]]}}}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(damaged[i], out);
        fclose(out);
        assert_int_equal(tess_model_read_file(ctx, path, "other", &back), TESS_OK);
        if (back)
            fail_msg("%s was taken for a model", damaged[i]);
    }
    tess_model_destroy(model);
    unlink(path);
}

/* A line that no calibration writes is left out: shares above 1 and sizes of 0 made times negative
 * or NaN, and a number of points did not fit an int. */
static void lines_out_of_range_are_left_out(void **state)
{
    static const char text[] =
        "{\"tessera_model\": 2, \"devices\": {\"d\": {\"cache_bytes\": 1e7, \"curves\": ["
        "[\"k\", 4, \"f64\", \"cache\", 1e300, 0.1, 20, 1, 1e9, 1e9, 0, 0],"
        "[\"k\", 4, \"f64\", \"cache\", -1, 0.1, 20, 1, 1e9, 1e9, 0, 0],"
        "[\"k\", 4, \"f64\", \"cache\", 9, -0.1, 20, 1, 1e9, 1e9, 0, 0],"
        "[\"k\", 4, \"f64\", \"cache\", 9, 0.1, 20, 1, 1e9, 1e9, 0, 0]], \"extras\": ["
        "[\"k\", 4, \"f64\", \"resident\", 1e6, 1.5], [\"k\", 4, \"f64\", \"resident\", 0, 0.5],"
        "[\"k\", 4, \"f64\", \"far\", 0, 1e-9], [\"k\", 4, \"f64\", \"far\", 1e6, 1e-9],"
        "[\"k\", 4, \"f64\", \"change\", 0, 1e-9], [\"k\", 4, \"f64\", \"resident\", 1e6, 1]]}}}";
    json_t *document = json_loads(text, 0, NULL);
    tess_model *model = NULL;
    assert_non_null(document);
    test_ok(test_ctx(state), tess_model_from_json(test_ctx(state), document, "d", &model));
    assert_true(model->curve_count == 1 && model->curves[0].points == 9);
    assert_true(model->extra_count == 3);
    tess_model_destroy(model);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fit_recovers_what_made_the_data),
        cmocka_unit_test(slopes_agree_with_differences),
        cmocka_unit_test(data_that_say_nothing_are_refused),
        cmocka_unit_test(a_model_survives_its_file),
        cmocka_unit_test(lines_out_of_range_are_left_out),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
