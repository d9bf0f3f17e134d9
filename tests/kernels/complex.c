/* Complex products on the CPU with complex factors: A, A^T, A^H, several vectors and dot products,
 * for every block size that has a kernel and some that have none, against ref; and that the bits do
 * not depend on the threads. The kernels themselves, with real factors, are among those of bsr_spmv
 * and bsr_spmm. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "cpu/plan.h"
#include "guarded.h"

static const tess_complex factors[][2] = {{{1, 0}, {0, 0}}, {{0.5, -2}, {0, 0}},
                                          {{0, 1}, {1, 0}}, {{-0.25, 0.75}, {2, -1}},
                                          {{0, 0}, {0, 1}}, {{1, 0}, {0, 0.5}}};
enum { FACTORS = sizeof factors / sizeof factors[0] };

static tess_plan *make_plan(tess_ctx *ctx, const tess_matrix *A, tess_device *device)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE};
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return plan;
}

/* The matrix that an operation multiplies with, stored. */
static tess_matrix *apply(tess_ctx *ctx, tess_operation operation, const tess_matrix *A)
{
    tess_matrix *T = NULL;
    if (operation == TESS_OPERATION_NONE)
        assert_int_equal(tess_matrix_to_type(ctx, A, A->type, &T), TESS_OK);
    else if (operation == TESS_OPERATION_TRANSPOSE)
        assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    else
        assert_int_equal(tess_matrix_conjugate_transpose(ctx, A, &T), TESS_OK);
    return T;
}

static void check_operation(tess_ctx *ctx, const tess_matrix *A, tess_plan *plan,
                            tess_operation operation, const char *what)
{
    tess_matrix *T = apply(ctx, operation, A);
    const size_t scalar = tess_type_size(A->type), bytes = (size_t)T->rows * scalar;
    void *x = test_vector(T->cols, A->type, 31), *y0 = test_vector(T->rows, A->type, 32);
    guarded gx = guarded_copy(x, (size_t)T->cols * scalar), gy = guarded_copy(y0, bytes);
    for (int f = 0; f < FACTORS; f++) {
        memcpy(gy.data, y0, bytes);
        if (tess_complex_is_zero(factors[f][1]))
            memset(gy.data, 0xff, bytes); /* NaN in both precisions */
        assert_int_equal(
            tess_spmv_complex(plan, operation, factors[f][0], gx.data, factors[f][1], gy.data),
            TESS_OK);
        test_check_spmv_complex(what, T, factors[f][0], x, factors[f][1], y0, gy.data);
    }
    guarded_free(gx);
    guarded_free(gy);
    free(x);
    free(y0);
    tess_matrix_destroy(T);
}

static void check_shape(tess_ctx *ctx, tess_device *device, int32_t r, int32_t c, uint64_t seed)
{
    const test_pattern pattern = (test_pattern)(seed % TEST_PATTERNS);
    for (int type = TESS_C64; type <= TESS_C32; type++) {
        for (int both = 0; both < 2; both++) {
            const test_pattern taken = both ? TEST_RAGGED : pattern;
            tess_matrix *A = test_matrix(ctx, taken, 11, r, c, (tess_type)type, seed);
            tess_plan *plan = make_plan(ctx, A, device);
            for (int operation = 0; operation < 3; operation++) {
                char what[96];
                snprintf(what, sizeof what, "%dx%d %s %s operation %d", (int)r, (int)c,
                         tess_type_name(A->type), test_pattern_name(taken), operation);
                check_operation(ctx, A, plan, (tess_operation)operation, what);
            }
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
        }
    }
}

static void every_operation_agrees_with_ref_at_every_block_size(void **state)
{
    static const int32_t shapes[][2] = {{1, 2},  {2, 1},  {3, 2},   {2, 3}, {7, 4},
                                        {33, 2}, {2, 40}, {130, 3}, {3, 1}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    for (int32_t b = 1; b <= 20; b++)
        check_shape(ctx, device, b, b, (uint64_t)b);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        check_shape(ctx, device, shapes[s][0], shapes[s][1], 100 + s);
    tess_device_close(device);
}

/* Random cases: shape, pattern, type, k, order, gaps and factors. */
static void random_products_with_several_vectors_agree_with_ref(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (uint64_t seed = 0; seed < 60; seed++) {
        const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 9);
        const int32_t c = seed % 2 ? r : 1 + (int32_t)tess_random_below(seed, 1, 9);
        const int k = 1 + (int)tess_random_below(seed, 2, 40);
        const tess_type type = seed / 2 % 2 ? TESS_C32 : TESS_C64;
        const tess_complex *f = factors[seed % FACTORS];
        const bool columns = seed / 4 % 2;
        tess_matrix *A = test_matrix(ctx, (test_pattern)tess_random_below(seed, 3, TEST_PATTERNS),
                                     9, r, c, type, seed);
        const int64_t gap = tess_random_below(seed, 4, 3);
        const int64_t ldx = (columns ? A->cols : k) + gap, ldy = (columns ? A->rows : k) + gap;
        const int64_t x_size = ldx * (columns ? k : A->cols),
                      y_size = ldy * (columns ? k : A->rows);
        void *X = test_vector(x_size, type, seed + 1), *Y0 = test_vector(y_size, type, seed + 2);
        void *Y = test_vector(y_size, type, seed + 2);
        void *x = test_vector(A->cols, type, 0), *y = test_vector(A->rows, type, 0),
             *y0 = test_vector(A->rows, type, 0);
        tess_plan *plan = make_plan(ctx, A, device);
        assert_int_equal(tess_spmm_complex(plan, k,
                                           columns ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR,
                                           f[0], X, ldx, f[1], Y, ldy),
                         TESS_OK);
        for (int v = 0; v < k; v++) {
            char what[64];
            snprintf(what, sizeof what, "seed %d, vector %d of %d", (int)seed, v, k);
            for (int64_t i = 0; i < A->cols; i++)
                tess_put_complex(x, type, i,
                                 tess_get_complex(X, type, columns ? v * ldx + i : i * ldx + v));
            for (int64_t i = 0; i < A->rows; i++) {
                const int64_t at = columns ? v * ldy + i : i * ldy + v;
                tess_put_complex(y, type, i, tess_get_complex(Y, type, at));
                tess_put_complex(y0, type, i, tess_get_complex(Y0, type, at));
            }
            test_check_spmv_complex(what, A, f[0], x, f[1], y0, y);
        }
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        void *all[] = {X, Y0, Y, x, y, y0};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            free(all[i]);
    }
    tess_device_close(device);
}

/* Rows long enough to be cut; the dot product beside it is w^H y. */
static void bits_do_not_depend_on_threads_and_dots_are_right(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int type = TESS_C64; type <= TESS_C32; type++) {
        tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 3000, 3, 3, (tess_type)type, 4);
        const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
        void *x = test_vector(A->cols, A->type, 5), *w = test_vector(A->rows, A->type, 6);
        void *y = malloc(bytes), *first = malloc(bytes);
        tess_complex first_dot = {0, 0};
        for (int threads = 1; threads <= 5; threads++) {
            tess_device *device = test_threads(ctx, threads);
            tess_plan *plan = make_plan(ctx, A, device);
            tess_complex dot, sum = {0, 0};
            double scale = 0, square;
            assert_int_equal(tess_spmv_dot_complex(plan, (tess_complex){1, -1}, x,
                                                   (tess_complex){0, 0}, y, w, &dot),
                             TESS_OK);
            for (int64_t i = 0; i < A->rows; i++) {
                const tess_complex a = tess_get_complex(w, A->type, i);
                const tess_complex b = tess_get_complex(y, A->type, i);
                sum = tess_complex_sum(sum, tess_complex_product(tess_conjugate(a), b));
                scale += hypot(a.re, a.im) * hypot(b.re, b.im);
            }
            assert_true(hypot(dot.re - sum.re, dot.im - sum.im) <= 1e-13 * scale);
            if (threads == 1) {
                memcpy(first, y, bytes);
                first_dot = dot;
            }
            assert_memory_equal(first, y, bytes);
            assert_true(dot.re == first_dot.re && dot.im == first_dot.im);
            assert_int_equal(tess_spmv_dot(plan, 1, x, 0, y, NULL, &square), TESS_OK);
            assert_true(square > 0);
            assert_int_equal(tess_spmv_dot(plan, 1, x, 0, y, w, &square), TESS_ERR_UNSUPPORTED);
            tess_plan_destroy(plan);
            tess_device_close(device);
        }
        free(x);
        free(w);
        free(y);
        free(first);
        tess_matrix_destroy(A);
    }
}

/* New values reach the plan and its stored transpose. */
static void updates_reach_the_conjugate_transpose(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 20, 3, 3, TESS_C64, 7);
    void *values = test_vector(tess_matrix_stored(A), TESS_C64, 9);
    tess_plan *plan = make_plan(ctx, A, device);
    check_operation(ctx, A, plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, "before");
    assert_int_equal(tess_plan_update_values(plan, values), TESS_OK);
    memcpy(A->values, values, (size_t)tess_matrix_stored(A) * sizeof(tess_complex));
    check_operation(ctx, A, plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, "after");
    tess_plan_destroy(plan);
    free(values);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void a_plan_survives_every_failed_allocation(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 12, 3, 2, TESS_C32, 5);
    void *x = test_vector(A->rows, TESS_C32, 6), *y = test_vector(A->cols, TESS_C32, 7);
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE};
    tess_plan_destroy(make_plan(ctx, A, device)); /* the device keeps its model from now on */
    test_plan_allocations(state, A, device, &options);
    tess_plan *plan = make_plan(ctx, A, device);
    tess_status status = TESS_ERR_MEMORY;
    for (int64_t n = 0; status != TESS_OK; n++) { /* the transpose is made at the first call */
        test_fail_allocation(state, n);
        status = tess_spmv_conjugate_transpose(plan, 1, x, 0, y);
        test_fail_allocation(state, -1);
        assert_true(status == TESS_OK || status == TESS_ERR_MEMORY);
    }
    check_operation(ctx, A, plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, "after failures");
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
    free(x);
    free(y);
}

/* A search times kernels of the matrix's own type only. */
static void searches_choose_complex_kernels(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    static const tess_effort efforts[] = {TESS_EFFORT_ESTIMATE, TESS_EFFORT_MEASURE,
                                          TESS_EFFORT_EXHAUSTIVE};
    for (size_t e = 0; e < 3; e++) {
        for (int type = TESS_C64; type <= TESS_C32; type++) {
            tess_matrix *A = test_matrix(ctx, TEST_BANDED, 300, 4, 4, (tess_type)type, 3);
            const tess_plan_options options = {.effort = efforts[e], .fresh = 1};
            tess_plan *plan = NULL;
            assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
            assert_non_null(strstr(plan->kernel, tess_type_name(A->type)));
            assert_non_null(strstr(tess_plan_explain(plan), tess_type_name(A->type)));
            check_operation(ctx, A, plan, TESS_OPERATION_NONE, plan->kernel);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
        }
    }
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_agrees_with_ref_at_every_block_size),
        cmocka_unit_test(random_products_with_several_vectors_agree_with_ref),
        cmocka_unit_test(bits_do_not_depend_on_threads_and_dots_are_right),
        cmocka_unit_test(updates_reach_the_conjugate_transpose),
        cmocka_unit_test(a_plan_survives_every_failed_allocation),
        cmocka_unit_test(searches_choose_complex_kernels),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
