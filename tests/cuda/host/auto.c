/* "auto" with a fake GPU: the device on which the model says a product is sooner done. */
#include "plan/model/model.h"
#include "plan/tuner.h"
#include "session.h"

static char model_path[] = "/tmp/tessera-auto-XX"
                           "XX"
                           "XX";

/* Writes a model with one kernel class and with copies, in bytes per second. */
static void write_model(void **state, const char *device, const char *name, double speed,
                        double copies)
{
    tess_model *model;
    tess_model_curve curve = {.block = 2, .average = {.mu = 1, .sigma = 1, .nu = speed}};
    snprintf(curve.name, sizeof curve.name, "%s", name);
    curve.best = curve.average;
    ok(state, tess_model_create(test_ctx(state), device, &model));
    ok(state, tess_model_add_curve(model, &curve));
    snprintf(curve.name, sizeof curve.name, TESS_MODEL_COPIES);
    curve.block = 0;
    curve.average.nu = curve.best.nu = copies;
    if (copies > 0)
        ok(state, tess_model_add_curve(model, &curve));
    char path[64];
    snprintf(path, sizeof path, "%s/model.json", model_path);
    ok(state, tess_model_write(test_ctx(state), path, model));
    tess_model_destroy(model);
}

static void check(void **state, const tess_matrix *A, double cpu, double gpu, double copies,
                  const char *expected)
{
    tess_device *device;
    char names[2][160];
    ok(state, tess_device_open(test_ctx(state), "cpu", &device));
    memcpy(names[0], device->model, sizeof names[0]);
    tess_device_close(device);
    device = open_device(state);
    memcpy(names[1], device->model, sizeof names[1]);
    tess_device_close(device);
    write_model(state, names[0], "bsr*1", cpu, 0);
    write_model(state, names[1], "sliced", gpu, copies);
    ok(state, tess_device_open_for(test_ctx(state), "auto", A, &device));
    if (strcmp(device->backend->name, expected) != 0)
        fail_msg("%s, not %s: %s", device->backend->name, expected, device->reason);
    assert_non_null(strstr(device->reason, "auto: "));
    tess_plan *plan =
        make_plan(state, A, device, &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE});
    assert_non_null(strstr(tess_plan_explain(plan), device->reason)); /* and is explained */
    assert_non_null(strstr(tess_plan_explain(plan), "predict "));
    tess_plan_destroy(plan);
    tess_device_close(device);
}

static void auto_counts_the_copies_of_the_vectors(void **state)
{
    tess_matrix *A;
    ok(state, tess_matrix_generate(test_ctx(state), "cdr:n=20,b=2", &A, NULL));
    char wisdom[64];
    snprintf(wisdom, sizeof wisdom, "%s/wisdom.json", model_path);
    setenv("TESSERA_WISDOM", wisdom, 1);
    check(state, A, 50e9, 4000e9, 100e9, "cuda");
    check(state, A, 50e9, 4000e9, 1e9, "cpu");
    check(state, A, 5000e9, 4000e9, 100e9, "cpu");
    setenv("TESSERA_WISDOM", "off", 1);
    tess_matrix_destroy(A);
}

static void auto_without_a_gpu_or_a_matrix(void **state)
{
    tess_device *device;
    tess_matrix *A;
    ok(state, tess_matrix_generate(test_ctx(state), "cdr:n=4,b=2", &A, NULL));
    ok(state, tess_device_open_for(test_ctx(state), "auto", NULL, &device));
    assert_string_equal(device->backend->name, "cuda");
    tess_device_close(device);
    fake->devices = 0;
    ok(state, tess_device_open_for(test_ctx(state), "auto", A, &device));
    assert_string_equal(device->backend->name, "cpu");
    assert_string_equal(tess_ctx_error(test_ctx(state)), "");
    tess_device_close(device);
    ok(state, tess_device_open_for(test_ctx(state), "ref", A, &device));
    assert_string_equal(device->backend->name, "ref");
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static const tess_model_curve *reading_of(const tess_model *model)
{
    for (int64_t i = 0; i < model->curve_count; i++)
        if (strcmp(model->curves[i].name, TESS_MODEL_READING) == 0 && !model->curves[i].cached)
            return &model->curves[i];
    return NULL;
}

/* Paper 004, eq. 4 and 5, beside the profile that stands in. */
static void a_gpu_without_a_profile_goes_by_its_threads_and_its_memory(void **state)
{
    tess_device *gpu = open_device(state), *known;
    ok(state, tess_device_open(test_ctx(state), "profile:h200", &known));
    const tess_model *model = tess_device_performance(gpu),
                     *theirs = tess_device_performance(known);
    assert_true(model && model->stand_in && theirs && !theirs->stand_in);
    assert_true(gpu->memory_speed == 2e3 * FAKE_MEMORY_CLOCK * FAKE_MEMORY_BUS / 8);
    assert_true(gpu->gpu_threads == FAKE_MULTIPROCESSORS * FAKE_THREADS_PER_MULTIPROCESSOR);
    const tess_sigmoid *ours = &reading_of(model)->average, *its = &reading_of(theirs)->average;
    assert_true(fabs(ours->nu / its->nu / (gpu->memory_speed / known->memory_speed) - 1) < 1e-9);
    assert_true(fabs(ours->mu - its->mu - log2(gpu->gpu_threads / known->gpu_threads)) < 1e-9);
    assert_true(ours->sigma == its->sigma && model->cache_bytes == gpu->cache_bytes);
    tess_device_close(known);
    tess_device_close(gpu);
}

static int start_with_directory(void **state)
{
    return mkdtemp(model_path) ? start(state) : -1;
}

static int finish_with_directory(void **state)
{
    char path[64];
    snprintf(path, sizeof path, "%s/model.json", model_path);
    unlink(path);
    snprintf(path, sizeof path, "%s/wisdom.json", model_path);
    unlink(path);
    rmdir(model_path);
    return finish(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(auto_without_a_gpu_or_a_matrix),
        TEST(auto_counts_the_copies_of_the_vectors),
        TEST(a_gpu_without_a_profile_goes_by_its_threads_and_its_memory),
    };
    return cmocka_run_group_tests(tests, start_with_directory, finish_with_directory);
}
