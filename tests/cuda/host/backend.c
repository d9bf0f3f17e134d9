/* The CUDA backend's host side against the fake driver: products through every path, and every
 * failure the driver can report. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cache.h"
#include "fake_cuda.h"
#include "plan/plan.h"
#include "ref/ref.h"
#include "support/support.h"

static fake_cuda *fake;
static char cache_directory[] = "/tmp/tessera-test-XX"
                                "XX"
                                "XX";

static int start(void **state)
{
    void *library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    if (!library || !mkdtemp(cache_directory))
        return -1;
    fake_cuda *(*get)(void);
    void *symbol = dlsym(library, "fake_cuda_state");
    memcpy(&get, &symbol, sizeof symbol);
    fake = get();
    setenv("TESSERA_LIBCUDA", FAKE_CUDA, 1);
    setenv("TESSERA_NVRTC", FAKE_CUDA, 1);
    setenv("TESSERA_CUSPARSE", "/nowhere", 1);
    setenv("TESSERA_CACHE", cache_directory, 1);
    return test_setup(state);
}

static int finish(void **state)
{
    tess_cache_clear();
    rmdir(cache_directory);
    return test_teardown(state);
}

/* Every test starts without faults and must leave nothing on the device. */
static int before(void **state)
{
    (void)state;
    fake->devices = 1;
    fake->fail_at = -1;
    fake->memory_limit = INT64_MAX;
    fake->wrong_results = fake->compile_fails = 0;
    setenv("TESSERA_NVRTC", FAKE_CUDA, 1);
    unsetenv("TESSERA_JIT");
    return 0;
}

static int after(void **state)
{
    (void)state;
    test_fail_allocation(state, -1);
    if (fake->alive != 0 || fake->current != 0 || fake->memory_used != 0)
        fprintf(stderr, "left on the device: %lld objects, %lld bytes, %d contexts\n",
                (long long)fake->alive, (long long)fake->memory_used, fake->current);
    return fake->alive == 0 && fake->current == 0 && fake->memory_used == 0 ? 0 : -1;
}

static tess_device *open_device(void **state)
{
    tess_device *device;
    if (tess_device_open(test_ctx(state), "cuda", &device) != TESS_OK)
        fail_msg("%s", tess_ctx_error(test_ctx(state)));
    return device;
}

static tess_plan *make_plan(void **state, const tess_matrix *A, tess_device *device,
                            const tess_plan_options *options)
{
    tess_plan *plan;
    if (tess_plan_create(test_ctx(state), A, device, options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(test_ctx(state)));
    return plan;
}

static void assert_text(void **state, const char *part)
{
    if (!strstr(tess_ctx_error(test_ctx(state)), part))
        fail_msg("'%s' does not say '%s'", tess_ctx_error(test_ctx(state)), part);
}

static void ok(void **state, tess_status status)
{
    if (status != TESS_OK)
        fail_msg("%s: %s", tess_status_name(status), tess_ctx_error(test_ctx(state)));
}

/* ---- What is missing is named ---- */

static void missing_driver_is_named(void **state)
{
    tess_device *device;
    setenv("TESSERA_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    assert_int_equal(tess_device_open(test_ctx(state), "cuda", &device), TESS_ERR_DEVICE);
    assert_text(state, "/nowhere/libcuda.so.1");
    setenv("TESSERA_LIBCUDA", FAKE_CUDA, 1);
}

static void missing_gpu_is_named(void **state)
{
    tess_device *device;
    fake->devices = 0;
    assert_int_equal(tess_device_open(test_ctx(state), "cuda", &device), TESS_ERR_DEVICE);
    assert_text(state, "present but there is no GPU");
    fake->devices = 2;
    assert_int_equal(tess_device_open(test_ctx(state), "cuda:2", &device), TESS_ERR_DEVICE);
    assert_text(state, "cuda:0 to cuda:1");
    assert_int_equal(tess_device_open(test_ctx(state), "cuda:x", &device), TESS_ERR_ARGUMENT);
    assert_text(state, "cuda:x");
}

static void missing_nvrtc_is_named(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 20, 29, 29, TESS_F64, 1);
    tess_plan *plan;
    setenv("TESSERA_NVRTC", "/nowhere", 1);
    int64_t before = fake->allocations;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_DEVICE);
    assert_text(state, "no NVRTC found (looked in: TESSERA_NVRTC=/nowhere only)");
    assert_int_equal(fake->allocations, before); /* no layout was made in vain */
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void plans_of_a_benchmark_share_a_layout(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 20, 29, 29, TESS_F64, 1);
    tess_plan_options options = {.effort = TESS_ESTIMATE, .kernel = "sliced"};
    tess_plan *first, *second;
    device->one_matrix = true;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, &options, &first), TESS_OK);
    int64_t before = fake->allocations;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, &options, &second), TESS_OK);
    assert_int_equal(fake->allocations, before);
    assert_int_equal(tess_plan_update_values(second, A->values), TESS_ERR_UNSUPPORTED);
    tess_plan_destroy(first);
    double *x, *y, *expected;
    assert_int_equal(TESS_CALLOC(test_ctx(state), A->cols, &x), TESS_OK);
    assert_int_equal(TESS_CALLOC(test_ctx(state), A->rows, &y), TESS_OK);
    assert_int_equal(TESS_CALLOC(test_ctx(state), A->rows, &expected), TESS_OK);
    for (int64_t i = 0; i < A->cols; i++)
        x[i] = (double)(i % 7);
    tess_ref_spmv(A, 1, x, 0, expected);
    assert_int_equal(tess_spmv(second, 1, x, 0, y), TESS_OK);
    for (int64_t i = 0; i < A->rows; i++)
        assert_true(fabs(y[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i])));
    tess_free(test_ctx(state), x);
    tess_free(test_ctx(state), y);
    tess_free(test_ctx(state), expected);
    tess_plan_destroy(second);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void description_is_one_line(void **state)
{
    tess_device *device = open_device(state);
    assert_string_equal(tess_device_description(device),
                        "cuda:0: Fake GPU 0, 3 SMs, 8 GiB, sm_90, driver 13.0");
    tess_device_close(device);
}

/* ---- Products ---- */

static void check_dot(const char *what, const tess_matrix *A, const void *y, const void *w,
                      double dot)
{
    double sum = 0, scale = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        double product = tess_ref_get(w ? w : y, A->type, i) * tess_ref_get(y, A->type, i);
        sum += product;
        scale += fabs(product);
    }
    if (!(fabs(sum - dot) <= 1e-6 * scale + 1e-30))
        fail_msg("%s: dot = %g instead of %g", what, dot, sum);
}

static void check_products(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    void *x = test_vector(A->cols, A->type, 5), *w = test_vector(A->rows, A->type, 6);
    void *y = test_vector(A->rows, A->type, 7), *y0 = test_vector(A->rows, A->type, 7);
    void *z = test_vector(A->cols, A->type, 8), *z0 = test_vector(A->cols, A->type, 8);
    double dot = -1;
    ok(state, tess_spmv(plan, -0.5, x, 2, y));
    test_check_spmv(what, A, -0.5, x, 2, y0, y);
    ok(state, tess_spmv(plan, 1, x, 0, y));
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, w, &dot));
    check_dot(what, A, y, w, dot);
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot));
    check_dot(what, A, y, NULL, dot);

    tess_matrix *At;
    ok(state, tess_matrix_transpose(test_ctx(state), A, &At));
    ok(state, tess_spmv_transpose(plan, 2, w, -1, z));
    test_check_spmv(what, At, 2, w, -1, z0, z);
    tess_matrix_destroy(At);
    free(x), free(w), free(y), free(y0), free(z), free(z0);
}

static void products_match_ref_on_host_vectors(void **state)
{
    static const int32_t sizes[][2] = {{1, 1}, {3, 3}, {2, 5}, {20, 20}};
    tess_device *device = open_device(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int s = 0; s < 4; s++) {
            tess_type type = (s + (int)pattern) % 2 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(test_ctx(state), pattern, 50, sizes[s][0], sizes[s][1],
                                         type, (uint64_t)(s + 10));
            tess_plan *plan = make_plan(state, A, device, NULL);
            char what[128];
            snprintf(what, sizeof what, "%s %dx%d %s", test_pattern_name(pattern), sizes[s][0],
                     sizes[s][1], tess_type_name(type));
            check_products(state, plan, A, what);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
        }
    }
    tess_device_close(device);
}

static void *to_device(void **state, tess_device *device, const void *host, size_t bytes)
{
    void *there;
    ok(state, tess_device_alloc(device, bytes, &there));
    ok(state, tess_device_copy_to(device, there, host, bytes));
    return there;
}

static void device_vectors_neither_allocate_nor_wait(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 300, 3, 3, TESS_F64, 3);
    tess_plan *plan = make_plan(state, A, device, NULL);
    size_t x_bytes = 8 * (size_t)A->cols, y_bytes = 8 * (size_t)A->rows;
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    void *dx = to_device(state, device, x, x_bytes), *dy = to_device(state, device, y, y_bytes);

    fake_cuda counted = *fake;
    int64_t live = test_live(state);
    ok(state, tess_spmv(plan, 1, dx, 0, dy));
    assert_int_equal(fake->allocations, counted.allocations);
    assert_int_equal(fake->waits, counted.waits);
    assert_int_equal(fake->copies, counted.copies);
    assert_int_equal(test_live(state), live);
    assert_true(fake->launches > counted.launches);
    ok(state, tess_device_copy_from(device, y, dy, y_bytes));
    test_check_spmv("device vectors", A, 1, x, 0, NULL, y);

    /* One here, one there. */
    ok(state, tess_spmv(plan, 1, x, 0, dy));
    ok(state, tess_spmv(plan, 1, dx, 0, y));
    test_check_spmv("x on the device, y on the host", A, 1, x, 0, NULL, y);

    tess_device_free(device, dx);
    tess_device_free(device, dy);
    tess_device_free(device, NULL);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void product_can_be_captured_and_replayed(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 100, 2, 2, TESS_F64, 4);
    tess_plan *plan = make_plan(state, A, device, NULL);
    size_t x_bytes = 8 * (size_t)A->cols, y_bytes = 8 * (size_t)A->rows;
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    void *dx = to_device(state, device, x, x_bytes), *dy = to_device(state, device, y, y_bytes);
    int stream;
    ok(state, tess_plan_set_stream(plan, &stream));

    fake->capturing = 0;
    void *library = dlopen(FAKE_CUDA, RTLD_NOW);
    cu_result (*begin)(void *, int), (*end)(void *, void **), (*launch)(void *, void *),
        (*destroy)(void *);
    void *symbols[] = {dlsym(library, "cuStreamBeginCapture_v2"),
                       dlsym(library, "cuStreamEndCapture"), dlsym(library, "cuGraphLaunch"),
                       dlsym(library, "cuGraphDestroy")};
    memcpy(&begin, &symbols[0], sizeof begin);
    memcpy(&end, &symbols[1], sizeof end);
    memcpy(&launch, &symbols[2], sizeof launch);
    memcpy(&destroy, &symbols[3], sizeof destroy);
    void *graph;
    begin(&stream, 1);
    ok(state, tess_spmv(plan, 1, dx, 0, dy));
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_ERR_UNSUPPORTED);
    assert_text(state, "captured");
    end(&stream, &graph);
    assert_int_equal(launch(graph, &stream), 0);
    ok(state, tess_plan_set_stream(plan, NULL));
    ok(state, tess_device_copy_from(device, y, dy, y_bytes));
    test_check_spmv("replayed", A, 1, x, 0, NULL, y);
    destroy(graph);

    tess_device_free(device, dx);
    tess_device_free(device, dy);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void updated_values_are_used_from_host_and_device(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 3, TESS_F64, 5);
    tess_matrix *B = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 3, TESS_F64, 5);
    tess_plan *plan = make_plan(state, A, device, NULL);
    size_t bytes = 8 * (size_t)tess_matrix_stored(A);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < tess_matrix_stored(B); i++)
            ((double *)B->values)[i] = tess_random_unit((uint64_t)(90 + round), (uint64_t)i);
        void *there = round ? to_device(state, device, B->values, bytes) : NULL;
        ok(state, tess_plan_update_values(plan, round ? there : B->values));
        check_products(state, plan, B, round ? "from the device" : "from the host");
        tess_device_free(device, there);
    }
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_device_close(device);
}

static void check_several(void **state, tess_plan *plan, const tess_matrix *A, int k,
                          bool row_major)
{
    int64_t ldx = row_major ? k + 3 : A->cols + 3, ldy = row_major ? k + 2 : A->rows + 2;
    int64_t x_count = row_major ? A->cols * ldx : k * ldx;
    int64_t y_count = row_major ? A->rows * ldy : k * ldy;
    double *X = test_vector(x_count, A->type, 1), *Y = test_vector(y_count, A->type, 2);
    double *expected = test_vector(y_count, A->type, 2);
    tess_block_order order = row_major ? TESS_ROW_MAJOR : TESS_COLUMN_MAJOR;
    ok(state, tess_spmm(plan, k, order, 1.5, X, ldx, 0.5, Y, ldy));
    tess_ref_spmm(A, k, order, 1.5, X, ldx, 0.5, expected, ldy);
    for (int64_t i = 0; i < y_count; i++)
        if (!(fabs(Y[i] - expected[i]) <= 1e-12))
            fail_msg("k=%d by %s: element %lld is %g instead of %g", k,
                     row_major ? "rows" : "columns", (long long)i, Y[i], expected[i]);
    free(X), free(Y), free(expected);
}

static void several_vectors_in_both_orders_and_in_groups(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RAGGED, 40, 4, 4, TESS_F64, 6);
    tess_plan *plan = make_plan(state, A, device, NULL);
    check_several(state, plan, A, 1, false);
    check_several(state, plan, A, 3, false);
    check_several(state, plan, A, 3, true);
    check_several(state, plan, A, 35, false);
    check_several(state, plan, A, 35, true);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* ---- Failures ---- */

/* Everything a plan does, for the sweeps. */
static tess_status whole_life(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                              const void *x, void *y)
{
    tess_device *device;
    tess_plan *plan = NULL;
    double dot, seconds[2], speed;
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
    if (status == TESS_OK)
        status = device->backend->read_ceiling(device, 1e5, &speed);
    tess_plan_destroy(plan);
    tess_device_close(device);
    return status;
}

static void sweep(void **state, cu_result failure, tess_status expected, const char *text,
                  bool cached)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9);
    tess_matrix *B = test_matrix(ctx, TEST_DENSE_ROW, 60, 3, 3, TESS_F64, 9);
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
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
        n = reached ? n + 1 : -1;
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
    int64_t live = test_live(state);
    for (int64_t n = 0;; n++) {
        test_fail_allocation(state, n);
        tess_status status = whole_life(ctx, A, A, x, y);
        test_fail_allocation(state, -1);
        assert_int_equal(test_live(state), live);
        assert_int_equal(fake->alive, 0);
        if (status == TESS_OK)
            break;
        if (status != TESS_ERR_MEMORY)
            fail_msg("allocation %lld: %s", (long long)n, tess_ctx_error(ctx));
    }
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
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_DEVICE);
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
    assert_non_null(strstr(tess_plan_explain(plan), "registers a thread"));
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
    assert_string_equal(list.items[0].kernel, "sliced");
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    for (int64_t i = 0; i < list.count; i++) {
        if (strcmp(list.items[i].kernel, "sliced") != 0)
            continue; /* kernels that the fake driver does not know */
        tess_plan_options options = {.format = list.items[i].format,
                                     .kernel = list.items[i].kernel,
                                     .params = list.items[i].params};
        tess_plan *plan = make_plan(state, A, device, &options);
        assert_string_equal(plan->params, list.items[i].params);
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(list.items[i].params, A, 1, x, 0, NULL, y);
        tess_plan_destroy(plan);
    }
    free(x), free(y);
    tess_candidates_free(test_ctx(state), &list);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_driver_is_named),
        TEST(missing_gpu_is_named),
        TEST(missing_nvrtc_is_named),
        TEST(plans_of_a_benchmark_share_a_layout),
        TEST(description_is_one_line),
        TEST(products_match_ref_on_host_vectors),
        TEST(device_vectors_neither_allocate_nor_wait),
        TEST(product_can_be_captured_and_replayed),
        TEST(updated_values_are_used_from_host_and_device),
        TEST(several_vectors_in_both_orders_and_in_groups),
        TEST(every_driver_error_is_reported_and_nothing_leaks),
        TEST(out_of_memory_anywhere_is_reported_and_nothing_leaks),
        TEST(out_of_device_memory_says_how_much),
        TEST(host_allocation_failures_leak_nothing),
        TEST(wrong_fresh_kernel_is_refused_and_not_cached),
        TEST(compiler_errors_carry_the_log),
        TEST(jit_modes_off_load_on),
        TEST(bad_requests_are_explained),
        TEST(every_candidate_can_be_prepared),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
