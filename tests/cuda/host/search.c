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
    tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_MEASURE};
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

    /* What does not compile is left to whoever asks for it. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(candidates_are_compiled_ahead_and_once),
        TEST(a_searched_plan_owns_its_layout_and_takes_new_values),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
