/* Models of devices, and of block sizes, that were never calibrated. */
#include <unistd.h>

#include "plan/model/file.h"
#include "unit/plan/model_example.h"

static tess_model *of_gpu(void **state)
{
    tess_model *model;
    assert_int_equal(tess_model_create(test_ctx(state), "cuda, known, 100 SMs", &model), TESS_OK);
    for (int cached = 0; cached < 2; cached++) {
        tess_model_curve four = {
            .name = "k", .block = 4, .cached = cached, .average = truth, .best = truth};
        assert_int_equal(tess_model_add_curve(model, &four), TESS_OK);
    }
    model->cache_bytes = 3e7;
    model->memory_speed = 4e12;
    model->gpu_threads = 100 * 2048;
    return model;
}

/* Eq. 4: half of the throughput is reached with bytes in proportion to the threads. Eq. 5: the
 * width of the rise is that of every GPU. */
static void an_unknown_gpu_has_mu_by_its_threads_and_nu_by_its_memory(void **state)
{
    tess_device device = {.memory_speed = 1e12, .gpu_threads = 50 * 1024, .cache_bytes = 1.5e7};
    tess_model *model = of_gpu(state);
    tess_model_stand_in(model, &device);
    assert_true(model->stand_in);
    assert_true(model->cache_bytes == 1.5e7);
    for (int i = 0; i < 2; i++) {
        const tess_model_curve *c = &model->curves[i];
        assert_true(fabs(c->average.mu - (truth.mu - 2)) < 1e-12); /* a quarter of the threads */
        assert_true(c->average.sigma == truth.sigma);
        assert_true(fabs(c->average.nu / truth.nu - 0.25) < 1e-12);
    }
    tess_model_destroy(model);
}

/* Eq. 4 on the paper's own GPU: the GTX280's 30 multiprocessors hold 1024 threads each, and Figure
 * 5 has mu = 17.9 and sigma = 1.5. The GPU that stands in follows eq. 4 and 5 with other threads.
 */
static void the_papers_gpu_has_the_papers_mu(void **state)
{
    tess_device gtx280 = {.gpu_threads = 30 * 1024};
    tess_model *model = of_gpu(state);
    tess_sigmoid *average = &model->curves[0].average;
    average->mu = log2(8 * model->gpu_threads);
    average->sigma = (average->mu - log2(model->gpu_threads)) / 2;
    tess_model_stand_in(model, &gtx280);
    assert_true(fabs(average->mu - 17.9) < 0.05);
    assert_true(fabs(average->sigma - 1.5) < 0.05);
    tess_model_destroy(model);
}

static void what_a_driver_does_not_say_changes_nothing(void **state)
{
    tess_device device = {.model = "cuda, unknown, 0 SMs"};
    tess_model *model = of_gpu(state);
    tess_model_stand_in(model, &device);
    assert_true(model->stand_in && model->cache_bytes == 3e7);
    assert_true(model->curves[0].average.mu == truth.mu && model->curves[0].average.nu == truth.nu);
    tess_model_destroy(model);
}

/* Four times the threads take as long for four times the bytes, starting and barriers included. */
static void a_cpu_goes_with_its_threads(void **state)
{
    tess_device device = {.model = "cpu, 8 threads, neon, other"};
    tess_model *model = example(state);
    snprintf(model->device, sizeof model->device, "cpu, 2 threads, neon, known");
    model->gpu = false;
    double seconds[2][3];
    for (int after = 0; after < 2; after++) {
        for (int size = 0; size < 3; size++) {
            const double bytes = (after ? 4 : 1) * exp2(12 + 5 * size);
            const tess_model_load load = {
                .name = "k", .block = 4, .bytes = bytes, .working = bytes, .length = 7};
            seconds[after][size] = tess_model_seconds_from(model, &load, false, false);
        }
        if (!after)
            tess_model_stand_in(model, &device);
    }
    for (int size = 0; size < 3; size++)
        assert_true(seconds[0][size] > 0 && fabs(seconds[1][size] / seconds[0][size] - 1) < 1e-12);
    tess_model_destroy(model);
}

/* Whether a column out of reach of the rows before finds its x in the cache depends on x in
 * relation to the cache. */
static void columns_out_of_reach_go_with_the_cache(void **state)
{
    static const double theirs[] = {1e7, 1e8};
    tess_model *model = example(state);
    snprintf(model->device, sizeof model->device, "cpu, 2 threads, neon, known");
    model->gpu = false;
    model->cache_bytes = 4e7;
    for (int i = 0; i < 2; i++) {
        const tess_model_extra far = {.name = "k",
                                      .block = 3,
                                      .kind = TESS_EXTRA_FAR,
                                      .x_bytes = theirs[i],
                                      .seconds = (1 + 9 * i) * 1e-9};
        assert_int_equal(tess_model_add_extra(model, &far), TESS_OK);
    }
    tess_device device = {.model = "cpu, 2 threads, neon, other", .cache_bytes = 1e7};
    tess_model_stand_in(model, &device);
    const tess_extra_key key = {"k", 3, TESS_F64, TESS_EXTRA_FAR};
    for (int i = 0; i < 2; i++) {
        const double found = tess_model_extra_at(model, &key, theirs[i] / 4, 0);
        assert_true(fabs(found / ((1 + 9 * i) * 1e-9) - 1) < 1e-12);
    }
    tess_model_destroy(model);
}

/* Copies between host and device use neither the device's memory speed nor its cache's: the scale
 * leaves them as they are. */
static void a_scale_divides_times_where_it_was_measured(void **state)
{
    tess_model *model = of_gpu(state);
    tess_model_curve copies = {
        .name = TESS_MODEL_COPIES, .cached = true, .average = truth, .best = truth};
    tess_model_extra far = {.name = "k", .block = 4, .kind = TESS_EXTRA_FAR, .seconds = 1e-9};
    assert_int_equal(tess_model_add_curve(model, &copies), TESS_OK);
    assert_int_equal(tess_model_add_extra(model, &far), TESS_OK);
    tess_model_load load = {.name = "k", .block = 4, .bytes = 1e9, .working = 1e9};
    double out = tess_model_seconds_from(model, &load, false, false);
    double in = tess_model_seconds_from(model, &load, true, false);
    tess_model_rescale(model, &(tess_model_scale){0.5, 0.25});
    assert_true(fabs(tess_model_seconds_from(model, &load, false, false) / out - 2) < 1e-9);
    assert_true(fabs(tess_model_seconds_from(model, &load, true, false) / in - 4) < 1e-9);
    assert_true(model->curves[2].average.nu == truth.nu);
    assert_true(fabs(model->extras[0].seconds / 2e-9 - 1) < 1e-12);
    tess_model_destroy(model);
}

/* The first search sets the stand-in's scale, and later ones correct it by half (in the logarithm).
 * A device with a model of its own learns nothing. */
static void a_search_scales_a_stand_in(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=12,b=4", &A, NULL), TESS_OK);
    tess_device device = {.ctx = ctx, .model = "cpu, 2 threads, x", .performance = example(state)};
    tess_model *model = device.performance;
    snprintf(model->device, sizeof model->device, "cpu, 2 threads");
    model->gpu = false;
    tess_candidate candidate = {.class_name = "k", .predicted = 1e-3, .bytes = 1e6};
    tess_model_learn(&device, A, &candidate, 3e-3);
    assert_true(model->scale.memory == 1 && model->scale.cache == 1);
    model->stand_in = true;
    tess_model_learn(&device, A, &candidate, 3e-3); /* no cache is known: from memory */
    assert_true(fabs(model->scale.memory * 3 - 1) < 1e-12 && model->scale.cache == 1);
    tess_model_learn(&device, A, &candidate, 4e-3);
    assert_true(fabs(model->scale.memory * 6 - 1) < 1e-12);
    tess_model_learn(&device, A, &candidate, 1.02e-3); /* as good as a model is */
    assert_true(fabs(model->scale.memory * 6 - 1) < 1e-12);
    tess_model_learn(&device, A, &candidate, 1); /* off by too much: another process ran */
    assert_true(fabs(model->scale.memory * 6 - 1) < 1e-12);
    tess_model_destroy(model);
    tess_matrix_destroy(A);
}

/* ---- Block sizes between ---- */

static void add(tess_model *model, const char *name, int block, double times, int points,
                double error)
{
    tess_model_curve curve = {.block = block, .points = points, .error = error};
    snprintf(curve.name, sizeof curve.name, "%s", name);
    curve.average = curve.best = (tess_sigmoid){.mu = 1, .sigma = 1, .nu = times * 1e9};
    assert_int_equal(tess_model_add_curve(model, &curve), TESS_OK);
}

static tess_model *of_sizes(void **state)
{
    tess_model *model;
    assert_int_equal(tess_model_create(test_ctx(state), "cuda, test", &model), TESS_OK);
    add(model, "even", 8, 40, 12, 0.01); /* as fast at every block size */
    add(model, "even", 16, 40, 12, 0.01);
    add(model, "power", 8, 48, 12, 0.01); /* fast at powers of two: 8, not 12 */
    add(model, "power", 12, 24, 12, 0.01);
    add(model, "power", 16, 48, 12, 0.01);
    return model;
}

static void between_two_block_sizes_times_are_interpolated(void **state)
{
    tess_model *model = of_sizes(state);
    tess_model_load load = {.name = "power", .block = 9, .bytes = 1e9, .working = 1e9};
    double nine = tess_model_seconds(model, &load, false);
    load.block = 8;
    double eight = tess_model_seconds(model, &load, false);
    load.block = 12;
    double twelve = tess_model_seconds(model, &load, false);
    assert_true(eight < nine && nine < twelve);
    double at = log(9.0 / 8) / log(12.0 / 8);
    assert_true(fabs(log(nine / eight) - at * log(twelve / eight)) < 1e-9);
    load.block = 64; /* beyond the last block size: as at the last */
    assert_true(fabs(tess_model_seconds(model, &load, false) / eight - 1) < 1e-9);
    tess_model_destroy(model);
}

/* The times that an estimate compares: at b = 9 "power" may be as slow as at 12. */
static void a_class_is_doubted_as_far_as_its_neighbours_differ(void **state)
{
    tess_model *model = of_sizes(state);
    tess_model_load even = {.name = "even", .block = 9, .bytes = 1e9, .working = 1e9};
    tess_model_load power = even;
    power.name = "power";
    double even_seconds = tess_model_seconds(model, &even, false) * tess_model_doubt(model, &even);
    double power_seconds =
        tess_model_seconds(model, &power, false) * tess_model_doubt(model, &power);
    assert_true(even_seconds < power_seconds);
    even.block = power.block = 8; /* where it was measured, it is believed */
    even_seconds = tess_model_seconds(model, &even, false) * tess_model_doubt(model, &even);
    power_seconds = tess_model_seconds(model, &power, false) * tess_model_doubt(model, &power);
    assert_true(power_seconds < even_seconds);
    tess_model_destroy(model);
}

/* The speed of an unsteady kernel goes by steps, so that neighbouring block sizes say little. Where
 * it was not measured it must be clearly ahead. */
static void unsteady_kernels_are_doubted_between_block_sizes(void **state)
{
    tess_model *model = of_sizes(state);
    tess_model_problem problem = {.block = 8, .block_rows = 1e6, .bytes = 1e9};
    snprintf(problem.name, sizeof problem.name, "power");
    assert_true(tess_model_spmv_doubt(model, &problem, true) ==
                tess_model_spmv_doubt(model, &problem, false));
    problem.block = 9;
    assert_true(tess_model_spmv_doubt(model, &problem, true) >
                1.2 * tess_model_spmv_doubt(model, &problem, false));
    problem.block = 8;
    problem.type = TESS_F32; /* measured in f64 */
    assert_true(tess_model_spmv_doubt(model, &problem, true) >
                1.2 * tess_model_spmv_doubt(model, &problem, false));
    tess_model_destroy(model);
}

static void a_fit_to_few_points_is_doubted_more(void **state)
{
    tess_model *model = of_sizes(state);
    add(model, "few", 8, 44, 4, 0.08);
    add(model, "many", 8, 44, 40, 0.08);
    tess_model_load few = {.name = "few", .block = 8, .bytes = 1e9, .working = 1e9}, many = few;
    many.name = "many";
    assert_true(tess_model_doubt(model, &few) > tess_model_doubt(model, &many));
    assert_true(tess_model_doubt(model, &many) > 1);
    tess_model_destroy(model);
}

/* A CPU's stand-in is off by more than its fits are. How far neighbours differ says as much as it
 * does on the stand-in's own device. */
static void a_stand_in_is_doubted_by_its_neighbours_only(void **state)
{
    tess_model *model = of_sizes(state);
    add(model, "few", 8, 44, 4, 0.08);
    model->gpu = false;
    tess_model_load few = {.name = "few", .block = 8, .bytes = 1e9, .working = 1e9}, power = few;
    power.name = "power";
    power.block = 9;
    const double own = tess_model_doubt(model, &power);
    assert_true(tess_model_doubt(model, &few) > 1.1);
    model->stand_in = true;
    assert_true(tess_model_doubt(model, &few) == 1);
    assert_true(tess_model_doubt(model, &power) > 1.3 && tess_model_doubt(model, &power) < own);
    model->gpu = true;
    assert_true(tess_model_doubt(model, &few) > 1.1);
    tess_model_destroy(model);
}

static void no_product_is_faster_than_reading(void **state)
{
    tess_model *model = of_sizes(state);
    add(model, "fantastic", 8, 99, 12, 0.01);
    tess_model_load load = {.name = "fantastic", .block = 8, .bytes = 1e9, .working = 1e9};
    double believed = tess_model_seconds(model, &load, false);
    add(model, TESS_MODEL_READING, 0, 50, 12, 0.01);
    double capped = tess_model_seconds(model, &load, false);
    assert_true(capped > believed && fabs(capped * 50 - 1) < 1e-6);
    load.name = "power"; /* "power" is slower than the limit: its time stays */
    assert_true(fabs(tess_model_seconds(model, &load, false) * 48 - 1) < 1e-6);
    tess_model_destroy(model);
}

/* ---- The file ---- */

static void a_scale_is_kept_for_its_stand_in(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_model near = {.device = "cpu, near"}, far = {.device = "cpu, far"};
    char path[] = "/tmp/tessera_scale_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tess_model_scale scale = tess_model_read_scale(ctx, path, "cpu, x", &near);
    assert_true(scale.memory == 1 && scale.cache == 1);
    near.scale = (tess_model_scale){0.25, 0.5};
    far.scale = (tess_model_scale){2, 3};
    assert_int_equal(tess_model_write_scale(ctx, path, "cpu, x", &near), TESS_OK);
    assert_int_equal(tess_model_write_scale(ctx, path, "cpu, y", &far), TESS_OK);
    scale = tess_model_read_scale(ctx, path, "cpu, x", &near);
    assert_true(scale.memory == 0.25 && scale.cache == 0.5);
    scale = tess_model_read_scale(ctx, path, "cpu, x", &far); /* it says nothing of another one */
    assert_true(scale.memory == 1 && scale.cache == 1);
    tess_model *model = NULL; /* a file with only a scale holds no model */
    assert_int_equal(tess_model_read_file(ctx, path, "cpu, x", &model), TESS_OK);
    assert_null(model);
    unlink(path);
}

/* The model of the device itself, or of the one that has most parts of the name in common. */
static void the_most_alike_profile_is_taken(void **state)
{
    static const char h200[] = "cuda, NVIDIA H200, 132 SMs";
    static const char neoverse[] = "cpu, 2 threads, neon, Neoverse-V1";
    static const char xeon[] = "cpu, 16 threads, avx512, Intel(R) Xeon(R) Processor";
    const struct {
        const char *device, *taken;
    } cases[] = {{h200, h200},
                 {neoverse, neoverse},
                 {xeon, xeon},
                 {"cuda, unknown, 0 SMs", h200},
                 {"cpu, 2 threads, scalar, unknown", neoverse},
                 {"cpu, 16 threads, avx512, unknown", xeon},
                 {"cpu, 6 threads, avx512, unknown", xeon}, /* the instructions */
                 {"cpu, 24 threads, avx2, 2nd Gen", xeon},  /* the threads */
                 {"cpu, 1 thread, avx2, 16th Gen", neoverse},
                 {"cpu, 4 threads, avx512, unknown", neoverse}, /* either, but fewer threads */
                 {"cpu, 16 threads, neon, unknown", neoverse},
                 {"cpu, 99 threads, avx2, unknown", neoverse},
                 {"quantum, 2 threads, avx512, unknown", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_device device = {.ctx = test_ctx(state)};
        snprintf(device.model, sizeof device.model, "%s", cases[i].device);
        const tess_model *model = tess_device_performance(&device);
        if (!cases[i].taken) {
            assert_null(model);
            continue;
        }
        assert_non_null(model);
        assert_string_equal(model->device, cases[i].taken);
        assert_int_equal(model->stand_in, strcmp(cases[i].device, cases[i].taken) != 0);
        const bool wide = strstr(cases[i].device, "avx512"),
                   narrow = strstr(cases[i].device, "neon");
        const bool own = cases[i].taken == xeon ? wide : cases[i].taken == neoverse ? narrow : true;
        assert_int_equal(model->foreign, !own);
        device.performance_free(device.performance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_alike_profile_is_taken),
        cmocka_unit_test(an_unknown_gpu_has_mu_by_its_threads_and_nu_by_its_memory),
        cmocka_unit_test(the_papers_gpu_has_the_papers_mu),
        cmocka_unit_test(what_a_driver_does_not_say_changes_nothing),
        cmocka_unit_test(a_cpu_goes_with_its_threads),
        cmocka_unit_test(columns_out_of_reach_go_with_the_cache),
        cmocka_unit_test(a_scale_divides_times_where_it_was_measured),
        cmocka_unit_test(a_search_scales_a_stand_in),
        cmocka_unit_test(between_two_block_sizes_times_are_interpolated),
        cmocka_unit_test(a_class_is_doubted_as_far_as_its_neighbours_differ),
        cmocka_unit_test(unsteady_kernels_are_doubted_between_block_sizes),
        cmocka_unit_test(a_fit_to_few_points_is_doubted_more),
        cmocka_unit_test(a_stand_in_is_doubted_by_its_neighbours_only),
        cmocka_unit_test(no_product_is_faster_than_reading),
        cmocka_unit_test(a_scale_is_kept_for_its_stand_in),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
