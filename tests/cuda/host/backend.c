/* The CUDA backend's host side against the fake driver: products through every path. What
 * goes wrong is in failures.c, the search for a plan in search.c. */
#include "cuda/driver/device.h"
#include "plan/tuner.h"
#include "session.h"
#include "support/follow.h"

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
    tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .kernel = "sliced"};
    tess_plan *first, *second;
    ok(state, tess_plan_create_shared(test_ctx(state), A, device, &options, &first));
    int64_t before = fake->allocations;
    ok(state, tess_plan_create_shared(test_ctx(state), A, device, &options, &second));
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
        double product = tess_get(w ? w : y, A->type, i) * tess_get(y, A->type, i);
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

/* All entries lie in diagonals, so that no row is cut. The kernel is verified on a probe without
 * diagonals, and rows are so long that a row of the probe is cut. */
static void lines_in_long_rows_are_verified(void **state)
{
    enum { ROWS = 300, BAND = 160 };
    tess_device *device = open_device(state);
    tess_matrix *A;
    ok(state,
       tess_matrix_allocate(test_ctx(state), TESS_F64, ROWS, ROWS + BAND, 1, 1, ROWS * BAND, &A));
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t i = 0; i < BAND; i++) {
            A->columns[row * BAND + i] = (int32_t)(row + i);
            ((double *)A->values)[row * BAND + i] = tess_random_unit(4, (uint64_t)(row * BAND + i));
        }
        A->row_offsets[row + 1] = (row + 1) * BAND;
    }
    static const char *const lists[] = {"shapes=diagonal:16", "shapes=row:8", "shapes=3x3/2x2"};
    for (int i = 0; i < 3; i++) {
        tess_plan *plan = make_plan(state, A, device,
                                    &(tess_plan_options){.format = "fbcsr", .params = lists[i]});
        void *x = test_vector(A->cols, A->type, 5), *y = test_vector(A->rows, A->type, 7);
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(lists[i], A, 1, x, 0, NULL, y);
        free(x), free(y);
        tess_plan_destroy(plan);
    }
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void *to_device(void **state, tess_device *device, const void *host, size_t bytes)
{
    void *there;
    ok(state, tess_device_alloc(device, bytes, &there));
    ok(state, tess_device_copy_to(device, there, host, bytes));
    return there;
}

/* Small copies are direct, large ones go through two pinned buffers, very large ones through four.
 */
static void copies_of_every_size_arrive(void **state)
{
    static const size_t sizes[] = {8, (256 << 10) + 8, (16 << 20) + 40, ((size_t)300 << 20) + 24};
    tess_device *device = open_device(state);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t words = sizes[i] / sizeof(uint64_t);
        uint64_t *host = malloc(sizes[i]);
        assert_non_null(host);
        for (size_t k = 0; k < words; k++)
            host[k] = k * 0x9e3779b97f4a7c15u;
        void *there = to_device(state, device, host, sizes[i]);
        memset(host, 0, sizes[i]);
        ok(state, tess_device_copy_from(device, host, there, sizes[i]));
        for (size_t k = 0; k < words; k++)
            if (host[k] != k * 0x9e3779b97f4a7c15u)
                fail_msg("%zu bytes: word %zu is another", sizes[i], k);
        tess_device_free(device, there);
        free(host);
    }
    tess_device_close(device);
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

    /* One here, one there: y is complete when the product returns. */
    ok(state, tess_spmv(plan, 1, x, 0, dy));
    assert_int_equal(fake->done, fake->put);
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
    /* In a layout of another order than A's, which values from the device reach by a map. */
    tess_plan *plan = make_plan(state, A, device, &(tess_plan_options){.kernel = "sliced"});
    size_t x_bytes = 8 * (size_t)A->cols, y_bytes = 8 * (size_t)A->rows;
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    void *dx = to_device(state, device, x, x_bytes), *dy = to_device(state, device, y, y_bytes);
    tess_cuda *cuda = tess_cuda_of(device);
    cu_stream stream;
    cu_graph graph;
    cu_graph_exec exec;
    ok(state, tess_cuda_enter(cuda));
    ok(state, TESS_CU(cuda, cuStreamCreate(&stream, 0)));
    ok(state, tess_plan_set_stream(plan, stream));

    ok(state, TESS_CU(cuda, cuStreamBeginCapture(stream, CU_CAPTURE_THREAD_LOCAL)));
    ok(state, tess_spmv(plan, 1, dx, 0, dy));
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_ERR_UNSUPPORTED);
    assert_text(state, "captured");
    assert_int_equal(tess_plan_update_values(plan, dx), TESS_ERR_UNSUPPORTED);
    assert_text(state, "being captured, and this plan has not taken values");
    ok(state, TESS_CU(cuda, cuStreamEndCapture(stream, &graph)));
    ok(state, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)));
    ok(state, TESS_CU(cuda, cuGraphLaunch(exec, stream)));
    ok(state, tess_plan_set_stream(plan, NULL));
    ok(state, tess_device_copy_from(device, y, dy, y_bytes));
    test_check_spmv("replayed", A, 1, x, 0, NULL, y);
    ok(state, TESS_CU(cuda, cuGraphExecDestroy(exec)));
    ok(state, TESS_CU(cuda, cuGraphDestroy(graph)));
    ok(state, TESS_CU(cuda, cuStreamDestroy(stream)));
    tess_cuda_leave(cuda);

    tess_device_free(device, dx);
    tess_device_free(device, dy);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void plans_follow_their_matrix_in_every_layout(void **state)
{
    tess_device *device = open_device(state);
    assert_true(test_follow(state, device, "stencil7:nx=3,ny=2,nz=1,b=3") > 8);
    assert_true(test_follow(state, device, "planted:rows=64,blocks=1,shapes=4x4") > 4);
    tess_device_close(device);
}

static void updated_values_are_used_from_host_and_device(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 3, TESS_F64, 5);
    tess_matrix *B = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 3, TESS_F64, 5);
    tess_plan *plan = make_plan(state, A, device, NULL);
    size_t bytes = 8 * (size_t)tess_matrix_stored(A);
    for (int round = 0; round < 3; round++) {
        bool on_device = round > 0;
        for (int64_t i = 0; i < tess_matrix_stored(B); i++)
            ((double *)B->values)[i] = tess_random_unit((uint64_t)(90 + round), (uint64_t)i);
        void *there = on_device ? to_device(state, device, B->values, bytes) : NULL;
        ok(state, tess_plan_update_values(plan, on_device ? there : B->values));
        check_products(state, plan, B, on_device ? "from the device" : "from the host");
        tess_device_free(device, there);
    }
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_device_close(device);
}

/* A layout that is made after the update holds the new values; f32, whose map is as wide as the
 * values; A^T, whose blocks lie in another order and are transposed. */
static void values_from_the_device_reach_what_is_made_later(void **state)
{
    tess_device *device = open_device(state);
    for (int single = 0; single < 2; single++) {
        tess_type type = single ? TESS_F32 : TESS_F64;
        tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 2, type, 5);
        tess_matrix *B = test_matrix(test_ctx(state), TEST_DENSE_ROW, 80, 3, 2, type, 5);
        tess_plan *plan = make_plan(state, A, device, NULL);
        for (int64_t i = 0; i < tess_matrix_stored(B); i++)
            tess_put(B->values, type, i, tess_random_unit(7, (uint64_t)i));
        void *there = to_device(state, device, B->values,
                                tess_type_size(type) * (size_t)tess_matrix_stored(B));
        ok(state, tess_plan_update_values(plan, there));
        check_products(state, plan, B, "made after the update"); /* with A^T */
        ok(state, tess_plan_update_values(plan, there));
        check_products(state, plan, B, "updated again");
        tess_plan_destroy(plan);
        tess_device_free(device, there);
        tess_matrix_destroy(A);
        tess_matrix_destroy(B);
    }
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
    tess_block_order order = row_major ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_driver_is_named),
        TEST(missing_gpu_is_named),
        TEST(missing_nvrtc_is_named),
        TEST(plans_of_a_benchmark_share_a_layout),
        TEST(description_is_one_line),
        TEST(products_match_ref_on_host_vectors),
        TEST(lines_in_long_rows_are_verified),
        TEST(copies_of_every_size_arrive),
        TEST(device_vectors_neither_allocate_nor_wait),
        TEST(product_can_be_captured_and_replayed),
        TEST(plans_follow_their_matrix_in_every_layout),
        TEST(updated_values_are_used_from_host_and_device),
        TEST(values_from_the_device_reach_what_is_made_later),
        TEST(several_vectors_in_both_orders_and_in_groups),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
