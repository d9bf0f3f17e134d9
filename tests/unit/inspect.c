/* The header's section Inspection: devices, plans, searches, wisdom and models as data. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "support/support.h"

typedef struct counted {
    int count, available, seen_cpu;
} counted;

static void count_device(void *user, const tess_device_entry *entry)
{
    counted *c = user;
    c->count++;
    c->available += entry->available != 0;
    c->seen_cpu += strcmp(entry->name, "cpu") == 0 && entry->available;
    assert_true(strlen(entry->text) > 0);
}

static void devices_are_listed_and_described(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    counted c = {0};
    assert_int_equal(tess_device_list(ctx, count_device, &c), TESS_OK);
    assert_int_equal(c.seen_cpu, 1);
    assert_true(c.count >= 4 && c.available >= 3); /* cpu, ref, a profile; cuda or why not */
    tess_device *device;
    tess_device_info info;
    double speed = -1;
    assert_int_equal(tess_device_open(ctx, "ref", &device), TESS_OK);
    assert_int_equal(tess_device_get_info(device, sizeof info, &info), TESS_OK);
    assert_string_equal(info.backend, "ref");
    assert_string_equal(info.description, tess_device_description(device));
    assert_int_equal(tess_device_read_speed(device, 1e6, &speed), TESS_OK);
    assert_true(speed >= 0);
    assert_int_equal(tess_device_read_speed(device, -1, &speed), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_device_list(ctx, NULL, NULL), TESS_ERR_ARGUMENT);
    tess_device_close(device);
}

static void a_struct_of_another_size_is_filled_as_far_as_both_know(void **state)
{
    tess_device *device;
    assert_int_equal(tess_device_open(test_ctx(state), "ref", &device), TESS_OK);
    struct {
        tess_device_info info;
        char newer[32];
    } longer;
    tess_device_info shorter;
    memset(&longer, 0xff, sizeof longer);
    memset(&shorter, 0xff, sizeof shorter);
    assert_int_equal(tess_device_get_info(device, sizeof longer, &longer.info), TESS_OK);
    assert_int_equal(longer.newer[0] | longer.newer[31], 0);
    assert_int_equal(tess_device_get_info(device, sizeof(char *), &shorter), TESS_OK);
    assert_string_equal(shorter.backend, "ref");
    assert_int_equal(shorter.threads, -1); /* untouched */
    tess_device_close(device);
}

/* Also what is asked of a part. */
static void a_part_of_another_size_is_filled_as_far_as_both_know(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 3, 3, TESS_F64, 7);
    tess_device *device = test_device(ctx, "cpu:1,1");
    tess_plan *plan;
    struct {
        tess_plan_part part;
        char newer[32];
    } longer;
    tess_plan_part shorter;
    test_ok(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    memset(&longer, 0xff, sizeof longer);
    memset(&shorter, 0xff, sizeof shorter);
    test_ok(ctx, tess_plan_get_part(plan, 1, sizeof longer, &longer.part));
    assert_true(longer.part.rows > 0 && (longer.newer[0] | longer.newer[31]) == 0);
    test_ok(ctx, tess_plan_get_part(plan, 1, sizeof(void *), &shorter));
    assert_true(shorter.device == longer.part.device && shorter.rows == -1);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void a_plan_says_what_it_is_and_how_it_was_chosen(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 200, 3, 3, TESS_F64, 7);
    tess_device *device;
    tess_plan *plan;
    tess_plan_info info;
    tess_search_info search;
    tess_trial_info trial;
    const tess_plan_options fresh = {.effort = TESS_EFFORT_ESTIMATE, .fresh = 1};
    double seconds[3];
    assert_int_equal(tess_device_open(ctx, "cpu:1", &device), TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, &fresh, &plan), TESS_OK);
    assert_int_equal(tess_plan_get_info(plan, sizeof info, &info), TESS_OK);
    assert_true(strlen(info.format) > 0 && strlen(info.kernel) > 0);
    assert_true(info.bytes > 8 * 9 * 200 && info.flops >= 2 * 9 * 200);
    assert_int_equal(tess_plan_get_search(plan, sizeof search, &search), TESS_OK);
    assert_true(search.count > 0 && search.chosen < search.count && !search.remembered);
    for (int64_t i = 0; i < search.count; i++) {
        assert_int_equal(tess_plan_get_trial(plan, i, sizeof trial, &trial), TESS_OK);
        assert_string_equal(trial.state, "untried"); /* an estimate runs nothing */
        if (i == search.chosen)
            assert_string_equal(trial.format, info.format);
    }
    assert_int_equal(tess_plan_get_trial(plan, search.count, sizeof trial, &trial),
                     TESS_ERR_ARGUMENT);
    void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    assert_int_equal(tess_plan_time(plan, x, y, 3, seconds), TESS_OK);
    assert_true(seconds[0] > 0 && seconds[2] > 0);
    test_check_spmv("timed", A, 1, x, 0, NULL, y);
    assert_int_equal(tess_plan_time(plan, x, y, 0, seconds), TESS_ERR_ARGUMENT);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* A plan made with ESTIMATE has the numbers of the estimate. */
static void an_estimate_is_what_the_plan_becomes(void **state)
{
    static const char *const devices[] = {"cpu:1", "cpu:2", "ref"};
    static const char *const inputs[] = {"stencil27:n=12,b=3", "stencil7:n=20,b=1",
                                         "random:rows=500,avg=9,r=2,c=3", "elasticity:n=3"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < 24; i++) {
        tess_matrix *A;
        tess_predicted_kernel said, forced;
        tess_plan_info is;
        tess_plan *plan;
        const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE, .reproducible = i >= 12};
        tess_device *device = test_device(ctx, devices[i % 3]);
        assert_int_equal(tess_matrix_generate(ctx, inputs[i % 12 / 3], &A, NULL), TESS_OK);
        const int64_t live = test_live(state);
        assert_int_equal(tess_plan_estimate(ctx, A, device, &quick, sizeof said, &said), TESS_OK);
        if (!device->performance) /* the model is read once and kept */
            assert_int_equal(test_live(state), live);
        assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
        assert_int_equal(tess_plan_get_info(plan, sizeof is, &is), TESS_OK);
        assert_string_equal(said.format, is.format);
        if (strcmp(devices[i % 3], "ref") != 0) {
            assert_string_equal(said.kernel, is.kernel);
            assert_string_equal(said.params, is.params);
        }
        assert_true(said.memory == is.memory && said.bytes == is.moves);
        assert_true(quick.reproducible ? is.predicted_seconds == 0
                                       : said.seconds == is.predicted_seconds);
        /* Asked for by name, the plan has the same numbers without a search. */
        const tess_plan_options named = {
            .format = said.format, .kernel = said.kernel, .params = said.params};
        if (*said.kernel) {
            assert_int_equal(tess_plan_estimate(ctx, A, device, &named, sizeof forced, &forced),
                             TESS_OK);
            assert_true(forced.memory == said.memory && forced.bytes == said.bytes);
        }
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
    }
}

/* A plan's memory is known before it is made and afterwards. Half storage keeps about half of the
 * matrix. There is no fbcsr of a matrix in plain blocks. */
static void memory_is_known_of_every_plan(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_predicted_kernel half;
    tess_plan_info is;
    tess_plan *plan;
    const tess_plan_options options = {.format = "symmetric"};
    tess_device *device = test_device(ctx, "cpu:2");
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=8,b=3", &A, NULL), TESS_OK);
    assert_int_equal(tess_plan_estimate(ctx, A, device, &options, sizeof half, &half), TESS_OK);
    assert_string_equal(half.format, "symmetric");
    const double values = 8.0 * (double)tess_matrix_stored(A);
    assert_true(half.memory > 0.4 * values && half.memory < 0.8 * values);
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
    assert_int_equal(tess_plan_get_info(plan, sizeof is, &is), TESS_OK);
    assert_true(is.memory == half.memory);
    tess_plan_destroy(plan);
    const tess_plan_options none = {.format = "no such format"};
    assert_int_equal(tess_plan_estimate(ctx, A, device, &none, sizeof half, &half),
                     TESS_ERR_OPTION);
    assert_int_equal(tess_plan_estimate(ctx, NULL, device, NULL, sizeof half, &half),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_estimate(ctx, A, NULL, NULL, sizeof half, &half), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_estimate(ctx, A, device, NULL, sizeof half, NULL),
                     TESS_ERR_ARGUMENT);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = tess_plan_estimate(ctx, A, device, &options, sizeof half, &half);
    } while (test_sweep_goes_on(&sweep, status));
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void blockings_worth_a_search_end_with_scalars(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 50, 3, 3, TESS_F64, 7);
    tess_detection *detection;
    tess_block_candidate picked[8];
    int count = 0;
    bool scalars = false;
    assert_int_equal(tess_detect(ctx, A, NULL, &detection), TESS_OK);
    assert_int_equal(tess_detection_pick(ctx, detection, 8, picked, &count), TESS_OK);
    assert_in_range(count, 2, 8);
    for (int i = 0; i < count; i++)
        scalars = scalars || (picked[i].rows == 1 && picked[i].cols == 1);
    assert_true(scalars);
    assert_int_equal(tess_detection_pick(ctx, detection, 1, picked, &count), TESS_OK);
    assert_int_equal(count, 1);
    tess_detection_destroy(detection);
    tess_matrix_destroy(A);
}

static void count_wisdom(void *user, const tess_wisdom_item *item)
{
    (void)item;
    ++*(int *)user;
}

static void what_is_kept_has_a_place(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 50, 3, 3, TESS_F64, 7);
    tess_device *device;
    char path[4096], name[256], little[4];
    int enabled = -1, count = 0;
    setenv("TESSERA_WISDOM", "off", 1);
    assert_int_equal(tess_wisdom_file(ctx, sizeof path, path, &enabled), TESS_OK);
    assert_int_equal(enabled, 0);
    assert_int_equal(tess_wisdom_list(ctx, count_wisdom, &count), TESS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(tess_model_file(ctx, sizeof path, path), TESS_OK);
    assert_string_equal(path, "");
    setenv("TESSERA_CACHE", "/nowhere/at-all", 1);
    assert_int_equal(tess_kernel_cache_directory(ctx, sizeof path, path), TESS_OK);
    assert_string_equal(path, "/nowhere/at-all");
    assert_int_equal(tess_kernel_cache_directory(ctx, sizeof little, little), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_device_open(ctx, "ref", &device), TESS_OK);
    assert_int_equal(tess_wisdom_class(device, A, sizeof name, name), TESS_OK);
    assert_non_null(strstr(name, "|spmv|3x3|f64|"));
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void shapes_are_counted_in_scalars_only(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 60, 4, 4, TESS_F64, 7), *scalars;
    tess_shape_detection *shapes = NULL;
    assert_int_equal(tess_detect_shapes(ctx, A, &shapes), TESS_ERR_ARGUMENT);
    assert_null(shapes);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &scalars), TESS_OK);
    assert_int_equal(tess_detect_shapes(ctx, scalars, &shapes), TESS_OK);
    assert_true(shapes->count > 0 && shapes->csr_bytes > 0);
    for (int64_t i = 0; i < shapes->count; i++)
        assert_true(shapes->candidates[i].fill >= 0 && shapes->candidates[i].fill <= 1);
    tess_shape_detection_destroy(shapes);
    tess_matrix_destroy(scalars);
    tess_matrix_destroy(A);
}

static void other_sizes_are_predicted_like_the_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_device *device;
    const tess_predict_options options = {.devices = 2};
    const double unknowns[] = {1e6, 1e7}, stored[] = {1e8, 1e9};
    tess_predicted_solve one[2], several[2];
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=8,b=3", &A, NULL), TESS_OK);
    assert_int_equal(tess_device_open(ctx, "profile:h200", &device), TESS_OK);
    assert_int_equal(
        tess_predict_sizes(ctx, A, device, &options, 2, unknowns, stored, one, several), TESS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(one[i].devices, 1);
        assert_int_equal(several[i].devices, 2);
        assert_true(one[i].iteration > 0 && several[i].speedup > 0 && several[i].speedup <= 2);
    }
    assert_true(one[1].iteration > one[0].iteration);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* Offsets of empty rows are no part of an element. */
static void a_matrix_with_one_element_predicts_others_as_a_diagonal_does(void **state)
{
    enum { N = 1000 };
    tess_ctx *ctx = test_ctx(state);
    tess_device *device;
    int64_t place[N];
    double values[N];
    const double unknowns[] = {1e4, 1e7}, stored[] = {1e5, 1e9};
    tess_predicted_solve of[2][2], several[2];
    for (int64_t i = 0; i < N; i++)
        place[i] = i, values[i] = 1;
    assert_int_equal(tess_device_open(ctx, "profile:h200", &device), TESS_OK);
    for (int k = 0; k < 2; k++) {
        const int count[] = {N, 1};
        tess_matrix *A;
        assert_int_equal(
            tess_matrix_from_coo(ctx, TESS_F64, N, N, count[k], place, place, values, &A), TESS_OK);
        assert_int_equal(
            tess_predict_sizes(ctx, A, device, NULL, 2, unknowns, stored, of[k], several), TESS_OK);
        tess_matrix_destroy(A);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(of[0][i].iteration < 2 * of[1][i].iteration);
        assert_true(of[1][i].iteration < 2 * of[0][i].iteration);
    }
    tess_device_close(device);
}

static void block_sizes_of_a_model_are_bounded(void **state)
{
    const int32_t *blocks;
    tess_device *device;
    tess_model_part *part = NULL;
    const int count = tess_calibrate_blocks(&blocks);
    assert_true(count > 0);
    assert_int_equal(blocks[0], 0);
    assert_int_equal(tess_device_open(test_ctx(state), "cpu:1", &device), TESS_OK);
    assert_int_equal(tess_calibrate(device, TESS_F64, 1000, 0, NULL, NULL, &part),
                     TESS_ERR_ARGUMENT);
    assert_null(part);
    assert_int_equal(tess_model_part_curves(NULL), 0);
    tess_model_part_destroy(NULL);
    tess_device_close(device);
}

static int stop(void *user, const char *what, double fraction)
{
    (void)what, (void)fraction;
    ++*(int *)user;
    return 1;
}

static void progress_may_be_replaced(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int calls = 0;
    tess_matrix *A;
    tess_ctx_set_progress(ctx, stop, &calls);
    tess_ctx_set_progress(ctx, NULL, NULL);
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=20", &A, NULL), TESS_OK);
    assert_int_equal(calls, 0);
    tess_matrix_destroy(A);
}

static void every_failed_allocation_is_survived(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DIAGONAL, 4, 1, 1, TESS_F64, 7);
    assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK); /* threads that wait cost more */
    int64_t live = test_live(state);
    for (int64_t n = 0;; n++) {
        tess_shape_detection *shapes = NULL;
        test_fail_allocation(state, n);
        tess_status status = tess_detect_shapes(ctx, A, &shapes);
        test_fail_allocation(state, -1);
        tess_shape_detection_destroy(shapes);
        assert_int_equal(test_live(state), live);
        if (status == TESS_OK)
            break;
        assert_int_equal(status, TESS_ERR_MEMORY);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed_and_described),
        cmocka_unit_test(a_struct_of_another_size_is_filled_as_far_as_both_know),
        cmocka_unit_test(a_part_of_another_size_is_filled_as_far_as_both_know),
        cmocka_unit_test(a_plan_says_what_it_is_and_how_it_was_chosen),
        cmocka_unit_test(an_estimate_is_what_the_plan_becomes),
        cmocka_unit_test(memory_is_known_of_every_plan),
        cmocka_unit_test(blockings_worth_a_search_end_with_scalars),
        cmocka_unit_test(what_is_kept_has_a_place),
        cmocka_unit_test(shapes_are_counted_in_scalars_only),
        cmocka_unit_test(other_sizes_are_predicted_like_the_matrix),
        cmocka_unit_test(a_matrix_with_one_element_predicts_others_as_a_diagonal_does),
        cmocka_unit_test(block_sizes_of_a_model_are_bounded),
        cmocka_unit_test(progress_may_be_replaced),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
