/* The product with the transpose, against ref's product with the transposed matrix. */
#include "support/support.h"

#include <string.h>

#include "cpu/plan.h"
#include "guarded.h"

static tess_matrix *transpose(tess_ctx *ctx, const tess_matrix *A)
{
    tess_matrix *T = NULL;
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    return T;
}

static void transpose_agrees_with_ref_on_every_pattern(void **state)
{
    static const int32_t shapes[][2] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5},
                                        {8, 8}, {2, 3}, {7, 2}, {33, 4}};
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, -0.5}, {0, 1}, {2, 0}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
            const tess_type type = (tess_type)((s + (size_t)pattern) % 4);
            size_t scalar = tess_type_size(type);
            tess_matrix *A =
                test_matrix(ctx, (test_pattern)pattern, 13, shapes[s][0], shapes[s][1], type, s);
            tess_matrix *T = transpose(ctx, A);
            size_t bytes = (size_t)A->cols * scalar;
            void *x = test_vector(A->rows, type, 1), *y0 = test_vector(A->cols, type, 2);
            guarded gx = guarded_copy(x, (size_t)A->rows * scalar), gy = guarded_copy(y0, bytes);
            tess_plan *plan = NULL;
            assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
            for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
                memcpy(gy.data, y0, bytes);
                if (factors[f][1] == 0)
                    memset(gy.data, 0xff, bytes); /* NaN in both precisions */
                assert_int_equal(
                    tess_spmv_transpose(plan, factors[f][0], gx.data, factors[f][1], gy.data),
                    TESS_OK);
                test_check_spmv(test_pattern_name((test_pattern)pattern), T, factors[f][0], x,
                                factors[f][1], y0, gy.data);
            }
            tess_plan_destroy(plan);
            guarded_free(gx);
            guarded_free(gy);
            free(x);
            free(y0);
            tess_matrix_destroy(T);
            tess_matrix_destroy(A);
        }
    }
    tess_device_close(device);
}

static void bits_do_not_depend_on_threads_or_run(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 8};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 3000, 3, 3, TESS_F64, 4);
    size_t bytes = (size_t)A->cols * sizeof(double);
    void *x = test_vector(A->rows, TESS_F64, 5), *first = malloc(bytes), *y = malloc(bytes);
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        tess_device *device = test_threads(ctx, threads[t]);
        tess_plan *plan = NULL;
        assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
        for (int run = 0; run < 2; run++) {
            assert_int_equal(tess_spmv_transpose(plan, 1.5, x, 0, y), TESS_OK);
            if (t == 0 && run == 0)
                memcpy(first, y, bytes);
            if (memcmp(first, y, bytes) != 0)
                fail_msg("%s, run %d: not the bits of the first run",
                         tess_device_description(device), run);
        }
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    free(x);
    free(y);
    free(first);
    tess_matrix_destroy(A);
}

static void new_values_reach_the_transpose(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 12, 3, 2, TESS_F64, 4);
    tess_matrix *B = test_matrix(ctx, TEST_RANDOM, 12, 3, 2, TESS_F64, 4);
    for (int64_t i = 0; i < tess_matrix_stored(B); i++)
        ((double *)B->values)[i] *= -3;
    tess_matrix *T = transpose(ctx, B);
    void *x = test_vector(A->rows, TESS_F64, 5), *y = test_vector(A->cols, TESS_F64, 6);
    tess_plan *plan = NULL;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_spmv_transpose(plan, 1, x, 0, y), TESS_OK);
    assert_int_equal(tess_plan_update_values(plan, B->values), TESS_OK);
    assert_int_equal(tess_spmv_transpose(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv("after update_values", T, 1, x, 0, NULL, y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(T);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
    tess_device_close(device);
    free(x);
    free(y);
}

static void a_failed_allocation_leaves_the_plan_usable(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 12, 3, 2, TESS_F64, 4), *T = transpose(ctx, A);
    void *x = test_vector(A->rows, TESS_F64, 5), *y = test_vector(A->cols, TESS_F64, 6);
    tess_plan *plan = NULL;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    int64_t before = test_live(state);
    tess_status status = TESS_ERR_MEMORY;
    for (int64_t n = 0; status != TESS_OK; n++) {
        test_fail_allocation(state, n);
        status = tess_spmv_transpose(plan, 1, x, 0, y);
        test_fail_allocation(state, -1);
        if (status != TESS_OK) {
            assert_int_equal(status, TESS_ERR_MEMORY);
            assert_int_equal(test_live(state), before);
        }
    }
    test_check_spmv("after failures", T, 1, x, 0, NULL, y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(T);
    tess_matrix_destroy(A);
    tess_device_close(device);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose_agrees_with_ref_on_every_pattern),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_run),
        cmocka_unit_test(new_values_reach_the_transpose),
        cmocka_unit_test(a_failed_allocation_leaves_the_plan_usable),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
