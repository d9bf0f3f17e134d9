/* What goes wrong: every driver call and allocation failing in turn, wrong kernels, compile errors,
 * bad requests. Nothing may leak and every message must say what happened. */
#include "session.h"
#include "plan/model/model.h"
#include "plan/products.h"

static bool measuring; /* the last life came as far as the reading of memory */

/* Everything a plan does, for the sweeps. */
static tess_status whole_life(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                              const void *x, void *y)
{
    tess_device *device;
    tess_plan *plan = NULL;
    double dot, seconds[2], speed;
    measuring = false;
    fake->not_run = "read_ceiling"; /* nobody reads its sums, and it has thousands of threads */
    TESS_TRY(tess_device_open(ctx, "cuda", &device));
    tess_status status = tess_plan_create(ctx, A, device, NULL, &plan);
    if (status == TESS_OK)
        status = tess_spmv(plan, 1, x, 0, y);
    if (status == TESS_OK)
        status = tess_spmv_transpose(plan, 1, x, 0, y);
    if (status == TESS_OK)
        status = tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot);
    if (status == TESS_OK)
        status = tess_plan_update_values(plan, B->values);
    if (status == TESS_OK)
        status = tess_product_time(plan, &(tess_product){.kind = TESS_PRODUCT_SPMV}, 1, x, 0, y, 2,
                                   seconds);
    if (status == TESS_OK) {
        measuring = true;
        status = device->backend->read_ceiling(device, 1e5, &speed);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    return status;
}

/* The reading of memory has six patterns in twelve rounds, with the same two or three calls per
 * round and 64 calls per pattern. Every seventh call meets each kind of call several times, and so
 * does every 29th, under a sanitizer. */
static void sweep(void **state, cu_result failure, tess_status expected, const char *text,
                  bool cached)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9);
    tess_matrix *B = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9);
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    const int64_t step = test_slowed() ? 29 : 7;
    int64_t live = test_live(state), n = 0;
    tess_status status;
    do {
        if (!cached)
            tess_cache_clear();
        fake->fail_with = failure;
        fake->fail_at = n;
        status = whole_life(ctx, A, B, x, y);
        bool reached = fake->fail_at < 0;
        fake->fail_at = -1;
        if (fake->alive != 0 || fake->current != 0 || test_live(state) != live)
            fail_msg("call %lld failing leaves %lld objects, %d contexts, %lld allocations",
                     (long long)n, (long long)fake->alive, fake->current,
                     (long long)(test_live(state) - live));
        if (reached && status != TESS_OK) {
            assert_int_equal(status, expected);
            assert_text(state, text);
        }
        n = !reached ? -1 : measuring ? n + step : test_next_failure(n);
    } while (n >= 0);
    assert_int_equal(status, TESS_OK);
    free(x), free(y);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

static void every_driver_error_is_reported_and_nothing_leaks(void **state)
{
    sweep(state, 719, TESS_ERR_DEVICE, "CUDA_ERROR_LAUNCH_FAILED (unspecified fake failure)",
          false);
    sweep(state, 719, TESS_ERR_DEVICE, "CUDA_ERROR_LAUNCH_FAILED (unspecified fake failure)", true);
}

static void out_of_memory_anywhere_is_reported_and_nothing_leaks(void **state)
{
    sweep(state, CU_ERROR_OUT_OF_MEMORY, TESS_ERR_MEMORY, "out of memory", true);
}

static void out_of_device_memory_says_how_much(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 400, 8, 8, TESS_F64, 2);
    tess_plan *plan;
    fake->memory_limit = 200000;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_MEMORY);
    assert_text(state, "MB were asked for (");
    assert_text(state, "MB are free");
    fake->memory_limit = INT64_MAX;
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void host_allocation_failures_leak_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9);
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    assert_int_equal(whole_life(ctx, A, A, x, y), TESS_OK); /* fills the cache */
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = whole_life(ctx, A, A, x, y);
        assert_int_equal(fake->alive, 0);
    } while (test_sweep_goes_on(&sweep, status));
    free(x), free(y);
    tess_matrix_destroy(A);
}

static void wrong_fresh_kernel_is_refused_and_not_cached(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 50, 5, 5, TESS_F64, 2);
    tess_plan *plan;
    tess_cache_clear();
    fake->wrong_results = 1;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device,
                                      &(tess_plan_options){.kernel = "sliced"}, &plan),
                     TESS_ERR_DEVICE);
    assert_text(state, "kernel 'sliced'");
    assert_text(state, "refused");
    assert_int_equal(tess_cache_clear(), 0);
    fake->wrong_results = 0;
    tess_plan_destroy(make_plan(state, A, device, NULL));
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void compiler_errors_carry_the_log(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 50, 6, 6, TESS_F64, 2);
    tess_plan *plan;
    tess_cache_clear();
    fake->compile_fails = 1;
    const tess_plan_options sliced = {.kernel = "sliced"};
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, &sliced, &plan), TESS_ERR_DEVICE);
    assert_text(state, "sliced.cu sm_90");
    assert_text(state, "line 7: a fake diagnostic");
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void jit_modes_off_load_on(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 50, 7, 7, TESS_F64, 2);
    tess_plan *plan;
    tess_cache_clear();
    setenv("TESSERA_JIT", "off", 1);
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan),
                     TESS_ERR_UNSUPPORTED);
    assert_text(state, "TESSERA_JIT=off");
    setenv("TESSERA_JIT", "load", 1);
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_DEVICE);
    assert_text(state, "the cache has no sliced.cu sm_90");
    setenv("TESSERA_JIT", "sometimes", 1);
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_OPTION);
    setenv("TESSERA_JIT", "on", 1);
    tess_plan_destroy(make_plan(state, A, device, NULL));

    /* Now it is in the cache, and neither the compiler nor NVRTC at all is needed. */
    int64_t compiled = fake->compiled;
    setenv("TESSERA_JIT", "load", 1);
    tess_plan_destroy(make_plan(state, A, device, NULL));
    tess_device_close(device);
    device = open_device(state);
    setenv("TESSERA_NVRTC", "/nowhere", 1);
    tess_plan_destroy(make_plan(state, A, device, NULL));
    assert_int_equal(fake->compiled, compiled);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void bad_requests_are_explained(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 20, 3, 3, TESS_F64, 2);
    tess_plan *plan;
    tess_ctx *ctx = test_ctx(state);
    assert_int_equal(
        tess_plan_create(ctx, A, device, &(tess_plan_options){.kernel = "slicde"}, &plan),
        TESS_ERR_ARGUMENT);
    assert_text(state, "nearest: 'sliced'");
    assert_int_equal(
        tess_plan_create(ctx, A, device, &(tess_plan_options){.format = "nonsense"}, &plan),
        TESS_ERR_UNSUPPORTED);
    assert_text(state, "nonsense");
    assert_int_equal(tess_plan_create(ctx, A, device,
                                      &(tess_plan_options){.kernel = "sliced", .params = "C=31"},
                                      &plan),
                     TESS_ERR_OPTION);
    assert_text(state, "C=31");
    plan = make_plan(state, A, device,
                     &(tess_plan_options){.kernel = "sliced", .params = "C=16,depth=2"});
    assert_non_null(strstr(tess_plan_explain(plan), "registers per thread"));
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void every_candidate_can_be_prepared(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 2);
    tess_candidates list = {0};
    ok(state, tess_candidates_list(device, A, &(tess_product){.kind = TESS_PRODUCT_SPMV}, &list));
    assert_true(list.count > 10);
    int prepared = 0;
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    for (int64_t i = 0; i < list.count; i++) {
        tess_plan_options options = {.format = list.items[i].format,
                                     .kernel = list.items[i].kernel,
                                     .params = list.items[i].params};
        tess_plan *plan = make_plan(state, A, device, &options);
        assert_string_equal(plan->params, list.items[i].params);
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(list.items[i].params, A, 1, x, 0, NULL, y);
        tess_plan_destroy(plan);
        prepared++;
    }
    assert_true(prepared > 1);
    free(x), free(y);
    tess_candidates_free(test_ctx(state), &list);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* A matrix, one with the same pattern and new values, its transpose, and the new values in the
 * device's memory. */
typedef struct renewal {
    tess_device *device;
    tess_matrix *A, *B, *T;
    size_t bytes;
    void *there;
    double *x, *y;
} renewal;

static renewal begin_renewal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    renewal r = {.device = open_device(state),
                 .A = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9),
                 .B = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9)};
    r.bytes = (size_t)tess_matrix_stored(r.B) * sizeof(double);
    r.x = test_vector(r.A->cols, r.A->type, 1);
    r.y = test_vector(r.A->rows, r.A->type, 1);
    for (int64_t i = 0; i < tess_matrix_stored(r.B); i++)
        ((double *)r.B->values)[i] = tess_random_unit(77, (uint64_t)i);
    ok(state, tess_matrix_transpose(ctx, r.B, &r.T));
    ok(state, tess_device_alloc(r.device, r.bytes, &r.there));
    ok(state, tess_device_copy_to(r.device, r.there, r.B->values, r.bytes));
    return r;
}

static void end_renewal(renewal *r)
{
    tess_device_free(r->device, r->there);
    free(r->x), free(r->y);
    tess_matrix_destroy(r->A);
    tess_matrix_destroy(r->B);
    tess_matrix_destroy(r->T);
    tess_device_close(r->device);
}

/* Sliced storage and that of A^T, which take values by numbers that the device gets once. One call
 * of the driver fails while it gets them. */
static void values_that_did_not_arrive_can_be_sent_again(void **state)
{
    renewal r = begin_renewal(state);
    int refused = 0;
    for (int on_device = 0; on_device < 2; on_device++) {
        const void *values = on_device ? r.there : r.B->values;
        bool reached = true;
        for (int64_t n = 0; reached; n++) {
            tess_plan *plan =
                make_plan(state, r.A, r.device, &(tess_plan_options){.kernel = "sliced"});
            if (on_device)
                ok(state, tess_spmv_transpose(plan, 1, r.x, 0, r.y));
            fake->fail_with = 719;
            fake->fail_at = n;
            const tess_status status = tess_plan_update_values(plan, values);
            reached = fake->fail_at < 0;
            fake->fail_at = -1;
            refused += status != TESS_OK;
            if (status != TESS_OK)
                ok(state, tess_plan_update_values(plan, values));
            ok(state, tess_spmv(plan, 1, r.x, 0, r.y));
            test_check_spmv("sent again", r.B, 1, r.x, 0, NULL, r.y);
            ok(state, tess_spmv_transpose(plan, 1, r.x, 0, r.y));
            test_check_spmv("sent again, transposed", r.T, 1, r.x, 0, NULL, r.y);
            tess_plan_destroy(plan);
        }
    }
    assert_true(refused > 10);
    end_renewal(&r);
}

/* The device has no room for A^T, so that only the host has it. Then the device gets new values,
 * the host asks for them, and A^T is wanted again. */
static void a_transpose_that_had_no_room_gets_new_values(void **state)
{
    renewal r = begin_renewal(state);
    tess_plan *plan = make_plan(state, r.A, r.device, &(tess_plan_options){.kernel = "sliced"});
    ok(state, tess_spmv(plan, 1, r.x, 0, r.y));
    fake->memory_limit = fake->memory_used + (int64_t)r.bytes / 2;
    assert_int_equal(tess_spmv_transpose(plan, 1, r.x, 0, r.y), TESS_ERR_MEMORY);
    fake->memory_limit = INT64_MAX;
    ok(state, tess_plan_update_values(plan, r.there));
    ok(state, r.device->backend->host_values(plan));
    ok(state, tess_spmv_transpose(plan, 1, r.x, 0, r.y));
    test_check_spmv("A^T with new values", r.T, 1, r.x, 0, NULL, r.y);
    tess_plan_destroy(plan);
    end_renewal(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_driver_error_is_reported_and_nothing_leaks),
        TEST(out_of_memory_anywhere_is_reported_and_nothing_leaks),
        TEST(out_of_device_memory_says_how_much),
        TEST(host_allocation_failures_leak_nothing),
        TEST(values_that_did_not_arrive_can_be_sent_again),
        TEST(a_transpose_that_had_no_room_gets_new_values),
        TEST(wrong_fresh_kernel_is_refused_and_not_cached),
        TEST(compiler_errors_carry_the_log),
        TEST(jit_modes_off_load_on),
        TEST(bad_requests_are_explained),
        TEST(every_candidate_can_be_prepared),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
