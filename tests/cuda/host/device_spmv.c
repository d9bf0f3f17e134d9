/* On a real GPU: every kernel with its tuning corners on awkward matrices against ref, twice with
 * the same bits, and all the ways to call a product. Skipped where there is no GPU.
 *
 *     test_cuda_device [STEP]     every STEP-th variant only (compute-sanitizer is slow)
 */
#include <math.h>
#include <string.h>

#include "cuda/plan_cuda.h"
#include "ref/ref.h"
#include "support/support.h"
#include "variants.h"

enum { MOST = 1024 };

static tess_device *device;
static int step = 1;

static void ok(void **state, tess_status status, const char *what)
{
    if (status != TESS_OK)
        fail_msg("%s: %s: %s", what, tess_status_name(status), tess_ctx_error(test_ctx(state)));
}

static size_t vector_bytes(const tess_matrix *A, int64_t count)
{
    return (size_t)count * tess_type_size(A->type);
}

/* y twice with alpha, beta: right, and the same bits. */
static void check_spmv(void **state, tess_plan *plan, const tess_matrix *A, double alpha,
                       double beta, const char *what)
{
    size_t bytes = vector_bytes(A, A->rows);
    void *x = test_vector(A->cols, A->type, 1), *y0 = test_vector(A->rows, A->type, 2);
    void *first = malloc(bytes + 1), *second = malloc(bytes + 1);
    for (int64_t i = 0; beta == 0 && i < A->rows; i++)
        tess_ref_put(y0, A->type, i, (double)NAN);
    memcpy(first, y0, bytes);
    memcpy(second, y0, bytes);
    ok(state, tess_spmv(plan, alpha, x, beta, first), what);
    test_check_spmv(what, A, alpha, x, beta, y0, first);
    ok(state, tess_spmv(plan, alpha, x, beta, second), what);
    if (memcmp(first, second, bytes) != 0)
        fail_msg("%s: two runs differ", what);
    free(x), free(y0), free(first), free(second);
}

static void check_spmm(void **state, tess_plan *plan, const tess_matrix *A, int k, bool row_major,
                       const char *what)
{
    int64_t ldx = row_major ? k + 1 : A->cols + 1, ldy = row_major ? k + 2 : A->rows + 2;
    int64_t x_count = row_major ? A->cols * ldx : k * ldx;
    int64_t y_count = row_major ? A->rows * ldy : k * ldy;
    void *X = test_vector(x_count, A->type, 1), *Y = test_vector(y_count, A->type, 2);
    void *Y0 = test_vector(y_count, A->type, 2);
    void *x = test_vector(A->cols, A->type, 3), *y = test_vector(A->rows, A->type, 4);
    void *y0 = test_vector(A->rows, A->type, 4);
    ok(state,
       tess_spmm(plan, k, row_major ? TESS_ROW_MAJOR : TESS_COLUMN_MAJOR, -0.5, X, ldx, 2, Y, ldy),
       what);
    for (int v = 0; v < k; v++) {
        for (int64_t i = 0; i < A->cols; i++)
            tess_ref_put(x, A->type, i,
                         tess_ref_get(X, A->type, row_major ? i * ldx + v : v * ldx + i));
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t at = row_major ? i * ldy + v : v * ldy + i;
            tess_ref_put(y, A->type, i, tess_ref_get(Y, A->type, at));
            tess_ref_put(y0, A->type, i, tess_ref_get(Y0, A->type, at));
        }
        test_check_spmv(what, A, -0.5, x, 2, y0, y);
    }
    free(X), free(Y), free(Y0), free(x), free(y), free(y0);
}

static void check_dot(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    void *w = test_vector(A->rows, A->type, 3);
    double dot = -1, again = -2, sum = 0, scale = 0;
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, w, &dot), what);
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    for (int64_t i = 0; i < A->rows; i++) {
        double product = tess_ref_get(w, A->type, i) * tess_ref_get(y, A->type, i);
        sum += product;
        scale += product < 0 ? -product : product;
    }
    double error = sum > dot ? sum - dot : dot - sum;
    if (!(error <= 1e-6 * scale + 1e-30))
        fail_msg("%s: dot = %.17g, ref says %.17g", what, dot, sum);
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, w, &again), what);
    if (memcmp(&dot, &again, sizeof dot) != 0)
        fail_msg("%s: two dots differ", what);
    free(x), free(y), free(w);
}

/* One variant on one matrix, if it fits there. */
static bool run_case(void **state, const test_variant *v, test_pattern pattern, int64_t size)
{
    tess_cuda_problem problem;
    char what[512], params[256];
    const tess_cuda_problem *like = &v->problem;
    bool ragged = like->cols % like->block_width != 0;
    if (ragged && pattern == TEST_RANDOM)
        pattern = TEST_RAGGED;
    tess_matrix *A = test_matrix(test_ctx(state), pattern, size, like->block_height,
                                 like->block_width, like->type, 77);
    tess_cuda_describe_problem(tess_cuda_of(device), A, &problem);
    problem.vectors = like->vectors;
    problem.row_major = like->row_major;
    bool fits = v->kernel->fits(&problem, v->params);
    if (fits) {
        tess_cuda_params_write(v->kernel, v->params, params, sizeof params);
        snprintf(what, sizeof what, "%s %s, %s, %dx%d %s, k=%d%s", v->kernel->name, params,
                 test_pattern_name(pattern), (int)like->block_height, (int)like->block_width,
                 tess_type_name(like->type), like->vectors, like->row_major ? " by rows" : "");
        tess_plan_options options = {.kernel = v->kernel->name, .params = params};
        tess_plan *plan;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan), what);
        if (v->kernel->op == TESS_CUDA_SPMM) {
            check_spmm(state, plan, A, like->vectors, like->row_major, what);
        } else if (v->kernel->op == TESS_CUDA_SPMV_DOT) {
            check_dot(state, plan, A, what);
        } else {
            check_spmv(state, plan, A, 1, 0, what);
            check_spmv(state, plan, A, -0.5, 2, what);
        }
        tess_plan_destroy(plan);
    }
    tess_matrix_destroy(A);
    return fits;
}

static void every_kernel_variant_matches_ref(void **state)
{
    static test_variant variants[MOST];
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        int count = test_variants(kernel, variants, MOST), cases = 0;
        double start = tess_seconds();
        for (int i = 0; i < count && i < MOST; i += step) {
            const test_variant *v = &variants[i];
            int64_t size = 2 + 2000 / (v->problem.block_height + v->problem.block_width);
            size = size > 300 ? 300 : size;
            cases += run_case(state, v, TEST_DENSE_ROW, size);
            cases += run_case(state, v, TEST_RANDOM, size);
            for (int p = 0; p < 3; p++)
                cases += run_case(state, v, (test_pattern)((i + 4 * p) % TEST_PATTERNS), 37);
        }
        print_message("%-24s %4d variants, %5d products, %.1f s\n", kernel->name,
                      (count + step - 1) / step, cases, tess_seconds() - start);
        if (cases == 0)
            fail_msg("kernel %s was never run", kernel->name);
    }
}

static bool has_spmm(void)
{
    for (int k = 0; k < tess_cuda_kernel_count; k++)
        if (tess_cuda_kernels[k]->op == TESS_CUDA_SPMM)
            return true;
    return false;
}

static void default_plans_match_ref_in_all_products(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 32, 48, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += (size_t)step) {
        for (int single = 0; single < 2; single++) {
            char what[64];
            tess_type type = single ? TESS_F32 : TESS_F64;
            snprintf(what, sizeof what, "default plan, b=%d %s", (int)sizes[s],
                     tess_type_name(type));
            tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 20 + 600 / sizes[s],
                                         sizes[s], sizes[s], type, 5);
            tess_matrix *At;
            tess_plan *plan;
            ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), what);
            check_spmv(state, plan, A, 1, 0, what);
            check_dot(state, plan, A, what);
            check_spmm(state, plan, A, 2, false, what);
            if (has_spmm()) /* without one, vectors by columns are taken one by one */
                check_spmm(state, plan, A, 8, true, what);
            check_spmm(state, plan, A, 33, false, what);
            ok(state, tess_matrix_transpose(test_ctx(state), A, &At), what);
            void *x = test_vector(A->rows, type, 1), *y = test_vector(A->cols, type, 2);
            ok(state, tess_spmv_transpose(plan, 1, x, 0, y), what);
            test_check_spmv(what, At, 1, x, 0, NULL, y);
            free(x), free(y);
            tess_matrix_destroy(At);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
        }
    }
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

static void peers_match_ref(void **state)
{
    tess_candidates list = {0};
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 200, 3, 3, TESS_F64, 1);
    ok(state, tess_candidates_list(device, A, &(tess_product){.kind = TESS_PRODUCT_SPMV}, &list),
       "candidates");
    for (int64_t i = 0; i < list.count; i++) {
        if (!list.items[i].peer)
            continue;
        tess_plan_options options = {.kernel = list.items[i].kernel};
        tess_plan *plan;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan),
           list.items[i].kernel);
        void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 1);
        ok(state, tess_spmv(plan, 1, x, 0, y), list.items[i].kernel);
        test_check_spmv(list.items[i].kernel, A, 1, x, 0, NULL, y);
        free(x), free(y);
        tess_plan_destroy(plan);
    }
    tess_candidates_free(test_ctx(state), &list);
    tess_matrix_destroy(A);
}

static int start(void **state)
{
    if (test_setup(state) != 0)
        return -1;
    if (tess_device_open(test_ctx(state), "cuda", &device) != TESS_OK) {
        printf("skipped: %s\n", tess_ctx_error(test_ctx(state)));
        exit(77);
    }
    printf("%s\n", tess_device_description(device));
    return 0;
}

static int finish(void **state)
{
    tess_device_close(device);
    return test_teardown(state);
}

int main(int argc, char **argv)
{
    step = argc > 1 ? atoi(argv[1]) : 1;
    const struct CMUnitTest products[] = {
        cmocka_unit_test(vectors_may_be_anywhere),
        cmocka_unit_test(products_run_in_the_callers_stream_and_in_graphs),
        cmocka_unit_test(new_values_come_from_host_and_device),
        cmocka_unit_test(default_plans_match_ref_in_all_products),
        cmocka_unit_test(every_kernel_variant_matches_ref),
    };
    const struct CMUnitTest machine[] = {
        cmocka_unit_test(peers_match_ref),
        cmocka_unit_test(measurements_are_plausible),
        cmocka_unit_test(out_of_device_memory_is_an_error_and_passes),
    };
    int failed = cmocka_run_group_tests(products, start, finish);
    if (step == 1) /* a checker has nothing to find in the others */
        failed += cmocka_run_group_tests(machine, start, finish);
    return failed;
}
