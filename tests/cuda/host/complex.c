/* Complex matrices on the CUDA backend, against the fake driver: products wherever vectors and
 * values are, what is chosen, what is refused, what goes wrong. */
#include "complex_products.h"
#include "cuda/driver/device.h"
#include "cuda/kernels/table.h"
#include "plan/model/model.h"
#include "plan/tuner.h"
#include "session.h"

static const tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE};

static tess_matrix *new_values_of(void **state, const tess_matrix *A, uint64_t seed)
{
    tess_matrix *B;
    ok(state, tess_matrix_to_type(test_ctx(state), A, A->type, &B));
    void *values = test_vector(tess_matrix_stored(B), B->type, seed);
    memcpy(B->values, values, (size_t)tess_matrix_stored(B) * tess_type_size(B->type));
    free(values);
    return B;
}

static void products_match_ref_on_host_and_device_vectors(void **state)
{
    static const int32_t sizes[][2] = {{1, 1}, {3, 3}, {2, 5}, {20, 20}};
    tess_device *device = open_device(state);
    for (int i = 0; i < TEST_PATTERNS * 4; i++) {
        const test_pattern pattern = (test_pattern)(i / 4);
        const tess_type type = i % 2 ? TESS_C32 : TESS_C64;
        char what[128];
        if (test_few() > 1 && i % TEST_PATTERNS != 0) /* every size and type once */
            continue;
        tess_matrix *A = test_matrix(test_ctx(state), pattern, 24, sizes[i % 4][0], sizes[i % 4][1],
                                     type, (uint64_t)i);
        tess_plan *plan = make_plan(state, A, device, &estimate);
        snprintf(what, sizeof what, "%s %dx%d %s", test_pattern_name(pattern), sizes[i % 4][0],
                 sizes[i % 4][1], tess_type_name(type));
        test_complex_products(test_ctx(state), i % 3 ? device : NULL, plan, A, 3, what);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* With the first block size that it takes; A^T and A^H by the same kernel where it fits. */
static void check_kernel(void **state, tess_device *device, const tess_cuda_kernel *kernel,
                         tess_type type)
{
    static const int32_t sizes[] = {3, 7, 34};
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .kernel = kernel->name};
    tess_plan *plan = NULL;
    for (int i = 0; i < 3 && !plan; i++) {
        const int32_t b = sizes[i];
        tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 30, b, b, type, 4);
        const tess_status status = tess_plan_create(test_ctx(state), A, device, &options, &plan);
        assert_true(status == TESS_OK || status == TESS_ERR_UNSUPPORTED);
        if (!kernel->complex)
            assert_text(state, "takes matrices of f64 and f32, this one is c");
        if (plan)
            test_complex_products(test_ctx(state), NULL, plan, A, 0, kernel->name);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    assert_int_equal(plan != NULL, kernel->complex);
}

static void kernels_with_the_trait_are_right_and_others_refuse(void **state)
{
    tess_device *device = open_device(state);
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        const bool taken = !kernel->complex || test_few() == 1 || k % 4 == 0;
        if (kernel->op == TESS_CUDA_SPMV && taken)
            check_kernel(state, device, kernel, k / 4 % 2 ? TESS_C32 : TESS_C64);
    }
    tess_device_close(device);
}

/* New values reach layouts of A's order, of another order by slices and by a map, and A^T. */
static void new_values_come_from_host_and_device(void **state)
{
    static const char *const kernels[] = {"sliced", "block_row", "by_column", NULL};
    tess_device *device = open_device(state);
    for (int i = 0; i < 4; i++) {
        const tess_type type = i % 2 ? TESS_C32 : TESS_C64;
        const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .kernel = kernels[i]};
        tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 24, 3, 2, type, 5);
        tess_plan *plan = make_plan(state, A, device, &options);
        for (int round = 0; round < 3; round++) { /* A^T is made in the first */
            tess_matrix *B = new_values_of(state, A, (uint64_t)(round + 10));
            const size_t bytes = (size_t)tess_matrix_stored(B) * tess_type_size(type);
            void *there = NULL;
            if (round != 1) {
                ok(state, tess_device_alloc(device, bytes, &there));
                ok(state, tess_device_copy_to(device, there, B->values, bytes));
            }
            ok(state, tess_plan_update_values(plan, there ? there : B->values));
            test_complex_products(test_ctx(state), NULL, plan, B, 0,
                                  there ? "values from the device" : "values from the host");
            ok(state, tess_plan_update_values(plan, A->values));
            tess_device_free(device, there);
            tess_matrix_destroy(B);
        }
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* By the trait alone; the bytes have two reals a scalar, and nothing is predicted. */
static void searches_see_kernels_that_take_complex_scalars(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 50, 3, 3, TESS_C64, 1), *R;
    tess_candidates list[2] = {{0}, {0}};
    ok(state, tess_matrix_real_part(test_ctx(state), A, &R));
    const int most = test_few() > 1 ? TESS_EFFORT_ESTIMATE : TESS_EFFORT_EXHAUSTIVE;
    for (int effort = TESS_EFFORT_MEASURE; effort <= most; effort++) {
        const tess_product product = {
            .kind = TESS_PRODUCT_SPMV, .effort = (tess_effort)effort, .shapes = true};
        ok(state, tess_candidates_list(device, A, &product, &list[0]));
        ok(state, tess_candidates_list(device, R, &product, &list[1]));
        assert_true(list[0].count > 5 && list[0].count < list[1].count);
        assert_string_equal(list[0].items[0].kernel, "sliced");
        for (int64_t i = 0; i < list[0].count; i++) {
            assert_true(tess_cuda_kernel_find(list[0].items[i].kernel)->complex);
            assert_true(list[0].items[i].predicted == 0);
        }
        for (int c = 0; c < 2; c++) {
            int64_t at = 0;
            while (at < list[c].count && strcmp(list[c].items[at].format, "bsr") != 0)
                at++;
            assert_true(at < list[c].count);
            const double scalars = (double)(tess_matrix_stored(A) + A->rows + A->cols);
            assert_true(list[c].items[at].bytes == 4.0 * (double)A->blocks +
                                                       8.0 * (double)A->block_rows +
                                                       (c == 0 ? 16 : 8) * scalars);
            tess_candidates_free(test_ctx(state), &list[c]);
            list[c] = (tess_candidates){0};
        }
    }
    tess_plan *plan;
    ok(state, tess_plan_search(test_ctx(state), A, device,
                               &(tess_plan_options){.kernel = "ksparse_small"}, true, &plan));
    assert_true(plan->search->count > 1);
    test_complex_products(test_ctx(state), NULL, plan, A, 0, "searched");
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(R);
    tess_device_close(device);
}

static void what_is_refused_says_so(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state), *chosen;
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, 1, 1, TESS_C64, 1);
    tess_plan *plan = make_plan(state, A, device, &estimate), *other;
    tess_solver *solver;
    char *there;
    double *dot;
    void *memory, *x = test_vector(A->cols, A->type, 1);
    ok(state, tess_device_alloc(device, 16 * (size_t)(A->rows + A->cols + A->blocks + 9), &memory));
    there = memory;
    dot = memory;
    assert_int_equal(tess_spmv(plan, 1, there + 8, 0, there + 16 * (A->cols + 1)),
                     TESS_ERR_ARGUMENT);
    assert_text(state, "of c64 in device memory must lie at a multiple of 16 bytes");
    assert_int_equal(tess_spmv(plan, 1, x, 0, there + 8), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_update_values(plan, there + 8), TESS_ERR_ARGUMENT);
    assert_text(state, "values of c64 in device memory must lie at a multiple");
    assert_int_equal(tess_spmv_dot(plan, 1, x, 0, there, NULL, dot), TESS_ERR_UNSUPPORTED);
    assert_text(state, "tess_spmv_dot_complex");
    assert_int_equal(tess_solver_create(plan, "dgmres", &solver), TESS_ERR_UNSUPPORTED);
    assert_text(state, "dgmres takes matrices of f64 and f32, this one is c64: use one of cg, ");
    assert_int_equal(tess_solver_create(plan, "gmres:pc=fsai", &solver), TESS_ERR_UNSUPPORTED);
    assert_text(state, "pc=fsai takes matrices of f64 and f32, this one is c64: use one of none, ");
    static const tess_plan_options formats[] = {
        {.format = "fbcsr"}, {.format = "swept"}, {.format = "splits", .params = "shapes=row:4"}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(tess_plan_create(ctx, A, device, &formats[i], &other),
                         TESS_ERR_UNSUPPORTED);
    ok(state, tess_device_open_for(ctx, "auto", A, &chosen));
    assert_string_equal(chosen->backend->name, "cpu");
    tess_device_close(chosen);
    tess_device_free(device, memory);
    free(x);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void wrong_kernels_are_refused(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 30, 2, 2, TESS_C64, 1);
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .kernel = "sliced"};
    tess_plan *plan;
    tess_cache_clear();
    fake->wrong_results = 1;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, &options, &plan),
                     TESS_ERR_DEVICE);
    assert_text(state, "i instead of ");
    fake->wrong_results = 0;
    plan = make_plan(state, A, device, &options);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* Everything that a complex plan does, and a few iterations of a solver. */
static tess_status whole_life(tess_ctx *ctx, const tess_matrix *A, const void *x, void *y)
{
    const tess_complex one = {1, 0}, none = {0, 0};
    tess_device *device;
    tess_plan *plan = NULL;
    tess_complex dot;
    tess_result result;
    TESS_TRY(tess_device_open(ctx, "cuda", &device));
    tess_status status = tess_plan_create(ctx, A, device, &estimate, &plan);
    for (int operation = 0; operation < 3 && status == TESS_OK; operation++)
        status = tess_spmv_complex(plan, (tess_operation)operation, one, x, none, y);
    if (status == TESS_OK)
        status = tess_spmm_complex(plan, 1, TESS_ORDER_ROW_MAJOR, one, x, 2, none, y, 2);
    if (status == TESS_OK)
        status = tess_spmv_dot_complex(plan, one, x, none, y, x, &dot);
    if (status == TESS_OK)
        status = tess_plan_update_values(plan, A->values);
    if (status == TESS_OK)
        status = tess_solve(plan, "bicg:max=3,tol=1e-14", x, y, &result);
    tess_plan_destroy(plan);
    tess_device_close(device);
    return status;
}

static void failures_leak_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 9, 2, 2, TESS_C64, 9);
    void *x = test_vector(2 * A->cols, A->type, 1), *y = test_vector(2 * A->rows, A->type, 1);
    fake->not_run = "dot_partial"; /* it has thousands of threads, and nobody reads its sums */
    assert_int_equal(whole_life(ctx, A, x, y), TESS_OK); /* fills the cache */
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do
        status = whole_life(ctx, A, x, y);
    while (test_sweep_goes_on(&sweep, status));
    int64_t live = test_live(state), n = 0;
    do {
        fake->fail_with = FAKE_LAUNCH_FAILED;
        fake->fail_at = n;
        status = whole_life(ctx, A, x, y);
        const bool reached = fake->fail_at < 0;
        fake->fail_at = -1;
        assert_int_equal(fake->alive, 0);
        assert_int_equal(test_live(state), live);
        n = reached ? test_next_failure(n) : -1;
    } while (n >= 0);
    assert_int_equal(status, TESS_OK);
    free(x), free(y);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_match_ref_on_host_and_device_vectors),
        TEST(kernels_with_the_trait_are_right_and_others_refuse),
        TEST(new_values_come_from_host_and_device),
        TEST(searches_see_kernels_that_take_complex_scalars),
        TEST(what_is_refused_says_so),
        TEST(wrong_kernels_are_refused),
        TEST(failures_leak_nothing),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
