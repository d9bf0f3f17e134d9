/* On a real GPU: all the ways to call a product and to give new values, what fills the device, what
 * is timed. */
#include <math.h>
#include <string.h>

#include "../../../bench/peers/cusparse.h"
#include "complex_products.h"
#include "device.h"
#include "ref/ref.h"
#include "plan/model/model.h"
#include "plan/products.h"

void ok(void **state, tess_status status, const char *what)
{
    if (status != TESS_OK)
        fail_msg("%s: %s: %s", what, tess_status_name(status), tess_ctx_error(test_ctx(state)));
}

size_t vector_bytes(const tess_matrix *A, int64_t count)
{
    return (size_t)count * tess_type_size(A->type);
}

void check_spmv(void **state, tess_plan *plan, const tess_matrix *A, double alpha, double beta,
                const char *what)
{
    size_t bytes = vector_bytes(A, A->rows);
    void *x = test_vector(A->cols, A->type, 1), *y0 = test_vector(A->rows, A->type, 2);
    void *first = malloc(bytes + 1), *second = malloc(bytes + 1);
    for (int64_t i = 0; beta == 0 && i < A->rows; i++)
        tess_put_complex(y0, A->type, i, (tess_complex){NAN, NAN});
    memcpy(first, y0, bytes);
    memcpy(second, y0, bytes);
    ok(state, tess_spmv(plan, alpha, x, beta, first), what);
    test_check_spmv(what, A, alpha, x, beta, y0, first);
    ok(state, tess_spmv(plan, alpha, x, beta, second), what);
    if (memcmp(first, second, bytes) != 0)
        fail_msg("%s: two runs differ", what);
    free(x), free(y0), free(first), free(second);
}

/* x and y of one matrix on the device. */
typedef struct vectors {
    double *x, *y;
    void *device_x, *device_y;
    size_t x_bytes, y_bytes;
} vectors;

static vectors make_vectors(void **state, const tess_matrix *A)
{
    vectors v = {.x = test_vector(A->cols, TESS_F64, 1),
                 .y = test_vector(A->rows, TESS_F64, 2),
                 .x_bytes = vector_bytes(A, A->cols),
                 .y_bytes = vector_bytes(A, A->rows)};
    ok(state, tess_device_alloc(device, v.x_bytes, &v.device_x), "alloc");
    ok(state, tess_device_alloc(device, v.y_bytes, &v.device_y), "alloc");
    ok(state, tess_device_copy_to(device, v.device_x, v.x, v.x_bytes), "copy");
    ok(state, tess_device_copy_to(device, v.device_y, v.y, v.y_bytes), "copy");
    return v;
}

static void free_vectors(vectors *v)
{
    tess_device_free(device, v->device_x);
    tess_device_free(device, v->device_y);
    free(v->x), free(v->y);
}

static void check_device_y(void **state, const tess_matrix *A, vectors *v, const char *what)
{
    ok(state, tess_device_copy_from(device, v->y, v->device_y, v->y_bytes), what);
    test_check_spmv(what, A, 1, v->x, 0, NULL, v->y);
}

static void vectors_may_be_anywhere(void **state)
{
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 300, 3, 3, TESS_F64, 1);
    tess_plan *plan;
    ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), "plan");
    vectors v = make_vectors(state, A);
    ok(state, tess_spmv(plan, 1, v.device_x, 0, v.device_y), "both there");
    check_device_y(state, A, &v, "both there");
    ok(state, tess_spmv(plan, 1, v.x, 0, v.device_y), "x here");
    check_device_y(state, A, &v, "x here");
    ok(state, tess_spmv(plan, 1, v.device_x, 0, v.y), "y here");
    test_check_spmv("y here", A, 1, v.x, 0, NULL, v.y);
    free_vectors(&v);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
}

static void products_run_in_the_callers_stream_and_in_graphs(void **state)
{
    tess_cuda *cuda = tess_cuda_of(device);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 300, 4, 4, TESS_F64, 1);
    tess_plan *plan;
    cu_stream stream;
    cu_graph graph;
    cu_graph_exec exec;
    ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), "plan");
    vectors v = make_vectors(state, A);
    ok(state, tess_cuda_enter(cuda), "enter");
    ok(state, TESS_CU(cuda, cuStreamCreate(&stream, 1)), "stream");
    ok(state, tess_plan_set_stream(plan, stream), "set stream");
    ok(state, tess_spmv(plan, 1, v.device_x, 0, v.device_y), "own stream");
    ok(state, TESS_CU(cuda, cuStreamSynchronize(stream)), "wait");
    check_device_y(state, A, &v, "own stream");

    ok(state, TESS_CU(cuda, cuStreamBeginCapture(stream, 0)), "begin");
    ok(state, tess_spmv(plan, 1, v.device_x, 0, v.device_y), "captured");
    assert_int_equal(tess_spmv(plan, 1, v.x, 0, v.y), TESS_ERR_UNSUPPORTED);
    ok(state, TESS_CU(cuda, cuStreamEndCapture(stream, &graph)), "end");
    ok(state, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)), "instantiate");
    memset(v.y, 0xff, v.y_bytes);
    ok(state, tess_device_copy_to(device, v.device_y, v.y, v.y_bytes), "poison");
    ok(state, TESS_CU(cuda, cuGraphLaunch(exec, stream)), "replay");
    ok(state, TESS_CU(cuda, cuStreamSynchronize(stream)), "wait");
    check_device_y(state, A, &v, "replayed");
    (void)cuda->driver.cuGraphExecDestroy(exec);
    (void)cuda->driver.cuGraphDestroy(graph);
    ok(state, tess_plan_set_stream(plan, NULL), "set stream");
    (void)cuda->driver.cuStreamDestroy(stream);
    tess_cuda_leave(cuda);
    free_vectors(&v);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
}

static void new_values_come_from_host_and_device(void **state)
{
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 3, TESS_F64, 1);
    tess_matrix *B = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 3, TESS_F64, 1);
    size_t bytes = vector_bytes(B, tess_matrix_stored(B));
    tess_plan *plan;
    void *there;
    ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), "plan");
    ok(state, tess_device_alloc(device, bytes, &there), "alloc");
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < tess_matrix_stored(B); i++)
            ((double *)B->values)[i] = tess_random_unit((uint64_t)(50 + round), (uint64_t)i);
        ok(state, tess_device_copy_to(device, there, B->values, bytes), "copy");
        ok(state, tess_plan_update_values(plan, round ? there : B->values), "update");
        check_spmv(state, plan, B, 1, 0, round ? "values from the device" : "values from the host");
    }
    tess_device_free(device, there);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

/* From device memory into every layout, A^T too, also replayed from a graph. */
/* By slices, by a map, and in A's own order; A^T and A^H are made by the first products. */
static void complex_values_come_from_host_and_device(void **state)
{
    static const char *const kernels[] = {"sliced", "block_row", "by_column"};
    for (int i = 0; i < 6; i++) {
        const tess_type type = i % 2 ? TESS_C32 : TESS_C64;
        const tess_plan_options options = {.kernel = kernels[i / 2]};
        tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 2, type, 1);
        tess_matrix *B = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 2, type, 1);
        const size_t bytes = vector_bytes(B, tess_matrix_stored(B));
        tess_plan *plan;
        void *there;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan), kernels[i / 2]);
        ok(state, tess_device_alloc(device, bytes, &there), "alloc");
        for (uint64_t round = 0; round < 3; round++) {
            void *values = test_vector(tess_matrix_stored(B), type, 50 + round);
            memcpy(B->values, values, bytes);
            ok(state, tess_device_copy_to(device, there, values, bytes), "copy");
            ok(state, tess_plan_update_values(plan, round == 1 ? B->values : there), "update");
            test_complex_products(test_ctx(state), device, plan, B, 0, kernels[i / 2]);
            free(values);
        }
        tess_device_free(device, there);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        tess_matrix_destroy(B);
    }
}

static void new_values_in_device_memory_stay_there(void **state)
{
    tess_cuda *cuda = tess_cuda_of(device);
    static const char *const kernels[] = {NULL,       "stream", "by_column_balanced",
                                          "warp_row", "sliced", "swept"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const char *what = kernels[k] ? kernels[k] : "default";
        tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 300, 3, 3, TESS_F64, 1), *At;
        tess_plan_options options = {.kernel = kernels[k],
                                     .params = k == 4 ? "V=2,sigma=4096,lambda=16" : NULL};
        tess_plan *plan;
        size_t bytes = vector_bytes(A, tess_matrix_stored(A));
        void *there;
        cu_stream stream;
        cu_graph graph;
        cu_graph_exec exec;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan), what);
        ok(state, tess_device_alloc(device, bytes, &there), what);
        void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->cols, A->type, 2);
        ok(state, tess_spmv_transpose(plan, 1, x, 0, y), what);
        ok(state, tess_device_copy_to(device, there, A->values, bytes), what);
        ok(state, tess_plan_update_values(plan, there), what);
        ok(state, tess_cuda_enter(cuda), what);
        ok(state, TESS_CU(cuda, cuStreamCreate(&stream, 1)), what);
        ok(state, tess_plan_set_stream(plan, stream), what);
        ok(state, TESS_CU(cuda, cuStreamBeginCapture(stream, 0)), what);
        ok(state, tess_plan_update_values(plan, there), what);
        ok(state, TESS_CU(cuda, cuStreamEndCapture(stream, &graph)), what);
        ok(state, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)), what);
        for (int64_t i = 0; i < tess_matrix_stored(A); i++)
            ((double *)A->values)[i] = tess_random_unit(60, (uint64_t)i);
        ok(state, tess_device_copy_to(device, there, A->values, bytes), what);
        ok(state, TESS_CU(cuda, cuGraphLaunch(exec, stream)), what);
        ok(state, TESS_CU(cuda, cuStreamSynchronize(stream)), what);
        check_spmv(state, plan, A, 1, 0, what);
        ok(state, tess_spmv_transpose(plan, 1, x, 0, y), what);
        ok(state, tess_matrix_transpose(test_ctx(state), A, &At), what);
        test_check_spmv(what, At, 1, x, 0, NULL, y);
        ok(state, tess_plan_set_stream(plan, NULL), what);
        (void)cuda->driver.cuGraphExecDestroy(exec);
        (void)cuda->driver.cuGraphDestroy(graph);
        (void)cuda->driver.cuStreamDestroy(stream);
        tess_cuda_leave(cuda);
        free(x), free(y);
        tess_device_free(device, there);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        tess_matrix_destroy(At);
    }
}

/* An update from device memory costs at most three products. */
static void updates_are_cheap(void **state)
{
    static const char *const inputs[] = {"stencil27:n=60,b=3", "stencil7:n=110,b=4,type=f32",
                                         "powerlaw:rows=600000,avg=7,b=2"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        tess_matrix *A;
        tess_plan *plan;
        void *there, *x, *y;
        double times[2];
        ok(state, tess_matrix_generate(test_ctx(state), inputs[i], &A, NULL), inputs[i]);
        ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), inputs[i]);
        size_t bytes = vector_bytes(A, tess_matrix_stored(A));
        ok(state, tess_device_alloc(device, bytes, &there), inputs[i]);
        ok(state, tess_device_alloc(device, vector_bytes(A, A->cols), &x), inputs[i]);
        ok(state, tess_device_alloc(device, vector_bytes(A, A->rows), &y), inputs[i]);
        ok(state, tess_device_copy_to(device, there, A->values, bytes), inputs[i]);
        for (int update = 0; update < 2; update++) {
            double start = 0;
            for (int turn = -3; turn < 40; turn++) {
                if (turn == 0) {
                    ok(state, tess_device_synchronize(device), inputs[i]);
                    start = tess_seconds();
                }
                ok(state,
                   update ? tess_plan_update_values(plan, there) : tess_spmv(plan, 1, x, 0, y),
                   inputs[i]);
            }
            ok(state, tess_device_synchronize(device), inputs[i]);
            times[update] = (tess_seconds() - start) / 40;
        }
        print_message("%s: product %.1f us, update %.1f us, %.2f products\n", inputs[i],
                      1e6 * times[0], 1e6 * times[1], times[1] / times[0]);
        assert_true(times[1] <= 3 * times[0]);
        tess_device_free(device, there), tess_device_free(device, x), tess_device_free(device, y);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
}

/* The device is filled until a plan does not fit; it must fail cleanly and work afterwards. */
static void out_of_device_memory_is_an_error_and_passes(void **state)
{
    enum { HOARD = 4096 };
    static void *hoard[HOARD];
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_plan *plan;
    int count = 0;
    ok(state, tess_matrix_generate(ctx, "stencil27:n=40,b=5", &A, NULL), "generate"); /* 340 MB */
    assert_int_equal(tess_device_alloc(device, (size_t)1 << 50, &hoard[0]), TESS_ERR_MEMORY);
    assert_non_null(strstr(tess_ctx_error(ctx), "MB were asked for"));
    for (size_t bytes = (size_t)8 << 30; bytes > (size_t)64 << 20;) {
        if (count < HOARD && tess_device_alloc(device, bytes, &hoard[count]) == TESS_OK)
            count++;
        else
            bytes /= 2;
    }
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_ERR_MEMORY);
    assert_non_null(strstr(tess_ctx_error(ctx), "MB are free"));
    while (count > 0)
        tess_device_free(device, hoard[--count]);
    ok(state, tess_plan_create(ctx, A, device, NULL, &plan), "after the hoard is gone");
    check_spmv(state, plan, A, 1, 0, "after the hoard is gone");
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
}

static void measurements_are_plausible(void **state)
{
    double memory = 0, cache = 0, seconds[5];
    ok(state, device->backend->read_ceiling(device, 2e9, &memory), "ceiling");
    ok(state, device->backend->read_ceiling(device, 16e6, &cache), "ceiling in L2");
    print_message("read ceiling %.0f GB/s (2 GB), %.0f GB/s (16 MB)\n", 1e-9 * memory,
                  1e-9 * cache);
    assert_true(memory > 1e10 && memory < 1e14);
    tess_matrix *A;
    tess_plan *plan;
    ok(state, tess_matrix_generate(test_ctx(state), "stencil27:n=48,b=3", &A, NULL), "generate");
    ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), "plan");
    void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
    ok(state,
       tess_product_time(plan, &(tess_product){.kind = TESS_PRODUCT_SPMV}, 1, x, 0, y, 5, seconds),
       "timing");
    test_check_spmv("timed", A, 1, x, 0, NULL, y);
    print_message("%s: %.3f ms, %.0f GB/s\n", plan->kernel, 1e3 * seconds[4],
                  1e-9 * tess_matrix_spmv_bytes(A) / seconds[4]);
    print_message("%s", tess_plan_explain(plan));
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
}

static void cusparse_matches_ref(void **state)
{
    tess_cuda *cuda = tess_cuda_of(device);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 3, TESS_F64, 1);
    cusparse_matrix *shared = NULL;
    char version[24] = "";
    const char *name;
    bool takes;
    if (!cusparse_version(version, sizeof version))
        print_message("no cuSPARSE on this machine\n");
    else
        print_message("cuSPARSE %s\n", version);
    for (int i = 0; *version && (name = cusparse_path(i, A, &takes)) != NULL; i++) {
        cusparse_product *product;
        double seconds[3];
        assert_true(takes);
        ok(state, tess_cuda_enter(cuda), "context");
        ok(state, cusparse_open(cuda, A, name, i % 2 ? &shared : NULL, cuda->stream, &product),
           name);
        void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
        ok(state, cusparse_time(product, x, y, 3, seconds), name);
        test_check_spmv(name, A, 1, x, 0, NULL, y);
        free(x), free(y);
        cusparse_close(product);
        tess_cuda_leave(cuda);
    }
    assert_null(shared);
    tess_matrix_destroy(A);
}

int test_calls(int (*start)(void **), int (*finish)(void **))
{
    const struct CMUnitTest calls[] = {
        cmocka_unit_test(vectors_may_be_anywhere),
        cmocka_unit_test(products_run_in_the_callers_stream_and_in_graphs),
        cmocka_unit_test(new_values_come_from_host_and_device),
        cmocka_unit_test(complex_values_come_from_host_and_device),
        cmocka_unit_test(new_values_in_device_memory_stay_there),
    };
    return cmocka_run_group_tests(calls, start, finish);
}

int test_alone(int (*start)(void **), int (*finish)(void **))
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(cusparse_matches_ref),
        cmocka_unit_test(measurements_are_plausible),
        cmocka_unit_test(updates_are_cheap),
        cmocka_unit_test(out_of_device_memory_is_an_error_and_passes),
    };
    return cmocka_run_group_tests(alone, start, finish);
}
