/* The search for a plan on the fake device: candidates are compiled ahead, the winner is whole. */
#include "cuda/driver/device.h"
#include "plan/model/model.h"
#include "plan/tuner.h"
#include "session.h"

static void a_searched_plan_owns_its_layout_and_takes_new_values(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 80, 3, 3, TESS_F64, 5);
    tess_matrix *B = test_matrix(test_ctx(state), TEST_RANDOM, 80, 3, 3, TESS_F64, 5);
    tess_plan_options options = {.kernel = "sliced"};
    tess_plan *plan;
    ok(state, tess_plan_search(test_ctx(state), A, device, &options, true, &plan));
    assert_true(plan->search->count > 1);
    assert_false(plan->shares_layouts);
    assert_null(((const tess_cuda *)device->state)->shared);
    for (int64_t i = 0; i < tess_matrix_stored(B); i++)
        ((double *)B->values)[i] = tess_random_unit(91, (uint64_t)i);
    ok(state, tess_plan_update_values(plan, B->values));
    void *x = test_vector(B->cols, TESS_F64, 7), *y = test_vector(B->rows, TESS_F64, 8);
    ok(state, tess_spmv(plan, 1, x, 0, y));
    test_check_spmv("searched, then updated", B, 1, x, 0, NULL, y);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_device_close(device);
}

static void candidates_are_compiled_ahead_and_once(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 20, 6, 6, TESS_F64, 1);
    tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_MEASURE};
    tess_candidates list = {0};
    int threads = test_ctx(state)->threads;
    ok(state, tess_ctx_set_threads(test_ctx(state), 4));
    tess_cache_clear();
    ok(state, tess_candidates_list(device, A, &product, &list));
    assert_true(list.count > 4);
    int64_t before = fake->compiled;
    tess_candidates_ahead(device, A, list.items, list.count);
    int64_t ahead = fake->compiled - before;
    assert_true(ahead > 4 && ahead <= list.count);
    for (int64_t i = 0; i < list.count; i++) {
        tess_plan_options options = {.format = list.items[i].format,
                                     .kernel = list.items[i].kernel,
                                     .params = list.items[i].params};
        tess_plan *plan;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan));
        tess_plan_destroy(plan);
    }
    assert_int_equal(fake->compiled, before + ahead);

    /* A kernel that does not compile fails only for a plan that asks for it. */
    tess_cache_clear();
    fake->compile_fails = 1;
    tess_candidates_ahead(device, A, list.items, list.count);
    tess_plan *plan;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_DEVICE);
    fake->compile_fails = 0;
    tess_candidates_free(test_ctx(state), &list);
    ok(state, tess_ctx_set_threads(test_ctx(state), threads));
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* The first entry point that a plan's product launches. */
static void product(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    void *x = test_vector(A->cols, TESS_F64, 7), *y = test_vector(A->rows, TESS_F64, 8);
    ok(state, tess_spmv(plan, 1, x, 0, y));
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    free(x), free(y);
}

static void a_kernel_that_cannot_be_launched_is_replaced_with_a_note(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 80, 3, 3, TESS_F64, 5);
    const tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE}, measure = {.fresh = 1};
    tess_plan_info info;
    /* At the first product. */
    tess_plan *plan = make_plan(state, A, device, &estimate);
    char first[64];
    snprintf(first, sizeof first, "%s", plan->kernel);
    fake->refused = "sliced";
    assert_string_equal(first, "sliced");
    product(state, plan, A, "replaced at the first product");
    assert_string_not_equal(plan->kernel, first);
    ok(state, tess_plan_get_info(plan, sizeof info, &info));
    assert_non_null(strstr(info.note, first));
    assert_non_null(strstr(info.note, info.kernel));
    assert_non_null(strstr(tess_plan_explain(plan), info.note));
    assert_string_equal(tess_ctx_error(test_ctx(state)), "");
    product(state, plan, A, "and again");
    tess_plan_destroy(plan);
    /* When the plan is made. */
    plan = make_plan(state, A, device, &measure);
    assert_string_not_equal(plan->kernel, first);
    product(state, plan, A, "replaced in the search");
    tess_plan_destroy(plan);
    /* A kernel that was asked for is not replaced. */
    fake->refused = NULL;
    plan = make_plan(state, A, device, &(tess_plan_options){.kernel = "sliced"});
    fake->refused = "sliced";
    double x[400] = {0}, y[400];
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_ERR_DEVICE);
    assert_string_equal(plan->kernel, "sliced");
    tess_plan_destroy(plan);
    /* If nothing can be launched, the failure is the caller's. */
    fake->refused = NULL;
    plan = make_plan(state, A, device, &estimate);
    fake->refused = "";
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_ERR_DEVICE);
    fake->refused = NULL;
    product(state, plan, A, "once the device works");
    /* A plan that has worked stays what it is. */
    fake->refused = "sliced";
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_ERR_DEVICE);
    assert_string_equal(plan->kernel, first);
    fake->refused = NULL;
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(candidates_are_compiled_ahead_and_once),
        TEST(a_kernel_that_cannot_be_launched_is_replaced_with_a_note),
        TEST(a_searched_plan_owns_its_layout_and_takes_new_values),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
