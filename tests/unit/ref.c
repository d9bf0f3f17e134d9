/* The reference backend, on matrices small enough to check by hand, through devices and plans. */
#include "support/support.h"

#include <math.h>
#include <string.h>

/* A, 5 x 4:   1 2 . .       x = 1 2 3 4     A x = 5 11 0 11 24
 *             3 4 . .
 *             . . . .
 *             5 . 2 .
 *             . . . 6                                                              */
static const int64_t csr_offsets[] = {0, 2, 4, 4, 6, 7};
static const int32_t csr_columns[] = {0, 1, 0, 1, 0, 2, 3};
static const double csr_values[] = {1, 2, 3, 4, 5, 2, 6};
static const double x4[] = {1, 2, 3, 4};
static const double product[] = {5, 11, 0, 11, 24};

/* A on the device "ref", in blocks of r x c. */
typedef struct fixture {
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
} fixture;

static fixture open_fixture(void **state, int32_t r, int32_t c, tess_type type)
{
    fixture f = {.ctx = test_ctx(state)};
    tess_matrix *csr, *blocks;
    assert_int_equal(tess_matrix_from_csr(f.ctx, TESS_F64, 5, 4, csr_offsets, csr_columns,
                                          csr_values, TESS_OWNERSHIP_BORROW, &csr),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(f.ctx, csr, &(tess_blocking){r, c}, &blocks), TESS_OK);
    assert_int_equal(tess_matrix_to_type(f.ctx, blocks, type, &f.A), TESS_OK);
    tess_matrix_destroy(csr);
    tess_matrix_destroy(blocks);
    f.device = test_device(f.ctx, "ref");
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, NULL, &f.plan), TESS_OK);
    return f;
}

static void close_fixture(fixture *f)
{
    tess_plan_destroy(f->plan);
    tess_device_close(f->device);
    tess_matrix_destroy(f->A);
}

static const int32_t shapes[][2] = {{1, 1}, {2, 2}, {1, 3}, {3, 2}, {2, 5}, {33, 64}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void spmv_by_hand_for_every_alpha_and_beta(void **state)
{
    const double factors[] = {0, 1, -0.5};
    for (size_t s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(state, shapes[s][0], shapes[s][1], TESS_F64);
        for (size_t a = 0; a < 3; a++) {
            for (size_t b = 0; b < 3; b++) {
                double y[] = {8, 16, 32, 64, 128}, start[5];
                memcpy(start, y, sizeof y);
                assert_int_equal(tess_spmv(f.plan, factors[a], x4, factors[b], y), TESS_OK);
                for (int i = 0; i < 5; i++)
                    assert_true(y[i] == factors[a] * product[i] + factors[b] * start[i]);
            }
        }
        close_fixture(&f);
    }
}

static void spmv_beta_zero_ignores_nan_in_y(void **state)
{
    for (size_t s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(state, shapes[s][0], shapes[s][1], TESS_F64);
        double y[] = {NAN, NAN, NAN, NAN, NAN}, t[] = {NAN, NAN, NAN, NAN};
        assert_int_equal(tess_spmv(f.plan, 1, x4, 0, y), TESS_OK);
        assert_memory_equal(y, product, sizeof product);
        assert_int_equal(tess_spmv_transpose(f.plan, 1, product, 0, t), TESS_OK);
        const double expected[] = {5 + 33 + 55, 10 + 44, 22, 144};
        assert_memory_equal(t, expected, sizeof expected);
        close_fixture(&f);
    }
}

static void spmv_reads_nothing_beyond_x_and_writes_nothing_beyond_y(void **state)
{
    /* Blocks of 2 x 3 and 33 x 64 are ragged here: their padding must not be multiplied by the NaN
     * behind x. */
    for (size_t s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(state, shapes[s][0], shapes[s][1], TESS_F64);
        const double x[] = {1, 2, 3, 4, NAN, NAN}, left[] = {1, 1, 1, 1, 1, NAN};
        double y[] = {0, 0, 0, 0, 0, -7}, t[] = {0, 0, 0, 0, -7};
        assert_int_equal(tess_spmv(f.plan, 1, x, 0, y), TESS_OK);
        assert_memory_equal(y, product, sizeof product);
        assert_true(y[5] == -7);
        assert_int_equal(tess_spmv_transpose(f.plan, 2, left, 1, t), TESS_OK);
        const double expected[] = {18, 12, 4, 12, -7};
        assert_memory_equal(t, expected, sizeof expected);
        close_fixture(&f);
    }
}

static void spmv_dot_is_the_product_and_its_inner_product(void **state)
{
    fixture f = open_fixture(state, 2, 2, TESS_F64);
    double y[] = {1, 1, 1, 1, 1}, dot = 0;
    const double w[] = {1, 10, 100, 1000, 10000};
    assert_int_equal(tess_spmv_dot(f.plan, 1, x4, 1, y, w, &dot), TESS_OK);
    assert_true(dot == 6 + 120 + 100 + 12000 + 250000);
    assert_int_equal(tess_spmv_dot(f.plan, 1, x4, 0, y, NULL, &dot), TESS_OK);
    assert_true(dot == 25 + 121 + 121 + 576);
    assert_int_equal(tess_spmv_dot(f.plan, 1, x4, 0, y, NULL, NULL), TESS_ERR_ARGUMENT);
    close_fixture(&f);
}

/* Two vectors, x and -2x, with gaps between them that must survive. */
static void spmm_in_both_orders_with_gaps(void **state)
{
    for (size_t s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(state, shapes[s][0], shapes[s][1], TESS_F64);
        double X[12], Y[14];
        for (int i = 0; i < 12; i++)
            X[i] = NAN;
        for (int i = 0; i < 4; i++) {
            X[i] = x4[i];
            X[6 + i] = -2 * x4[i];
        }
        for (int i = 0; i < 14; i++)
            Y[i] = i;
        assert_int_equal(tess_spmm(f.plan, 2, TESS_ORDER_COLUMN_MAJOR, 1, X, 6, 0.5, Y, 7),
                         TESS_OK);
        for (int i = 0; i < 7; i++) {
            assert_true(Y[i] == (i < 5 ? product[i] + 0.5 * i : i));
            assert_true(Y[7 + i] == (i < 5 ? -2 * product[i] + 0.5 * (7 + i) : 7 + i));
        }

        double R[4 * 3], Z[5 * 4];
        for (int i = 0; i < 12; i++)
            R[i] = NAN;
        for (int i = 0; i < 4; i++) {
            R[3 * i] = x4[i];
            R[3 * i + 1] = -2 * x4[i];
        }
        for (int i = 0; i < 20; i++)
            Z[i] = i % 4 < 2 ? (double)NAN : (double)i;
        assert_int_equal(tess_spmm(f.plan, 2, TESS_ORDER_ROW_MAJOR, -0.5, R, 3, 0, Z, 4), TESS_OK);
        for (int i = 0; i < 20; i++)
            assert_true(Z[i] == (i % 4 == 0   ? -0.5 * product[i / 4]
                                 : i % 4 == 1 ? product[i / 4]
                                              : i));
        close_fixture(&f);
    }
}

static void f32_works_the_same(void **state)
{
    fixture f = open_fixture(state, 2, 3, TESS_F32);
    const float x[] = {1, 2, 3, 4};
    float y[] = {2, 2, 2, 2, 2}, t[] = {NAN, NAN, NAN, NAN};
    assert_int_equal(tess_spmv(f.plan, 1, x, -0.5, y), TESS_OK);
    const float expected[] = {4, 10, -1, 10, 23};
    assert_memory_equal(y, expected, sizeof expected);
    const float ones[] = {1, 1, 1, 1, 1};
    assert_int_equal(tess_spmv_transpose(f.plan, 1, ones, 0, t), TESS_OK);
    const float columns[] = {9, 6, 2, 6};
    assert_memory_equal(t, columns, sizeof columns);
    close_fixture(&f);
}

static void update_values_changes_the_numbers_not_the_plan(void **state)
{
    fixture f = open_fixture(state, 1, 1, TESS_F64);
    const double others[] = {10, 20, 30, 40, 50, 20, 60};
    double y[5];
    assert_int_equal(tess_plan_update_values(f.plan, others), TESS_OK);
    assert_int_equal(tess_spmv(f.plan, 1, x4, 0, y), TESS_OK);
    for (int i = 0; i < 5; i++)
        assert_true(y[i] == 10 * product[i]);
    assert_int_equal(tess_plan_update_values(f.plan, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_update_values(NULL, others), TESS_ERR_ARGUMENT);
    close_fixture(&f);
}

static void empty_matrices_multiply(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "ref");
    const int64_t sizes[][2] = {{0, 0}, {0, 3}, {3, 0}};
    for (size_t i = 0; i < 3; i++) {
        tess_matrix *A;
        tess_plan *plan;
        double x[] = {1, 2, 3}, y[] = {4, 4, 4};
        assert_int_equal(
            tess_matrix_from_coo(ctx, TESS_F64, sizes[i][0], sizes[i][1], 0, NULL, NULL, NULL, &A),
            TESS_OK);
        assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
        assert_int_equal(tess_spmv(plan, 1, sizes[i][1] ? x : NULL, 0.5, sizes[i][0] ? y : NULL),
                         TESS_OK);
        assert_true(y[0] == (sizes[i][0] ? 2 : 4));
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

static void bad_arguments_are_named(void **state)
{
    fixture f = open_fixture(state, 2, 2, TESS_F64);
    double y[10], x[10] = {0};
    assert_int_equal(tess_spmv(NULL, 1, x, 0, y), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_spmv(f.plan, 1, NULL, 0, y), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(f.ctx), "tess_spmv: x is NULL");
    assert_int_equal(tess_spmv(f.plan, 1, x, 0, NULL), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(f.ctx), "tess_spmv: y is NULL");
    assert_int_equal(tess_spmv(f.plan, 1, x, 0, x), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(f.ctx), "tess_spmv: x and y are the same array");
    assert_int_equal(tess_spmv_transpose(f.plan, 1, NULL, 0, y), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_spmm(f.plan, -1, TESS_ORDER_ROW_MAJOR, 1, x, 1, 0, y, 1),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_spmm(f.plan, 0, TESS_ORDER_ROW_MAJOR, 1, NULL, 0, 0, NULL, 0), TESS_OK);
    assert_int_equal(tess_spmm(f.plan, 1, (tess_block_order)3, 1, x, 9, 0, y, 9),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_spmm(f.plan, 2, TESS_ORDER_COLUMN_MAJOR, 1, x, 3, 0, y, 5),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(f.ctx), "tess_spmm: ldx = 3 is less than 4");
    assert_int_equal(tess_spmm(f.plan, 2, TESS_ORDER_ROW_MAJOR, 1, x, 2, 0, y, 1),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(f.ctx), "tess_spmm: ldy = 1 is less than 2");

    tess_plan *plan = NULL;
    const tess_plan_options format = {.format = "sliced"}, kernel = {.kernel = "stream"};
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, &format, &plan), TESS_ERR_UNSUPPORTED);
    assert_string_equal(tess_ctx_error(f.ctx), "device 'ref' has no format 'sliced', only 'bsr'");
    assert_int_equal(tess_plan_create(f.ctx, f.A, f.device, &kernel, &plan), TESS_ERR_UNSUPPORTED);
    assert_int_equal(tess_plan_create(f.ctx, NULL, f.device, NULL, &plan), TESS_ERR_ARGUMENT);
    assert_null(plan);
    assert_non_null(strstr(tess_plan_explain(f.plan), "5 x 4 f64, 4 blocks of 2 x 2"));
    close_fixture(&f);
    tess_plan_destroy(NULL);
    tess_device_close(NULL);
}

static void unknown_devices_get_the_nearest_name(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = NULL;
    assert_int_equal(tess_device_open(ctx, "reff", &device), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "unknown device 'reff' (nearest: 'ref')");
    assert_int_equal(tess_device_open(ctx, "ref:2", &device), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "device 'ref' takes nothing after ':', but got '2'");
    assert_int_equal(tess_device_open(ctx, "", &device), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_device_open(ctx, NULL, &device), TESS_ERR_ARGUMENT);
    assert_null(device);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    fixture f = open_fixture(state, 2, 2, TESS_F64);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_device *device = NULL;
        tess_plan *plan = NULL;
        status = tess_device_open(f.ctx, "ref", &device);
        if (status == TESS_OK)
            status = tess_plan_create(f.ctx, f.A, device, NULL, &plan);
        tess_plan_destroy(plan);
        tess_device_close(device);
    } while (test_sweep_goes_on(&sweep, status));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spmv_by_hand_for_every_alpha_and_beta),
        cmocka_unit_test(spmv_beta_zero_ignores_nan_in_y),
        cmocka_unit_test(spmv_reads_nothing_beyond_x_and_writes_nothing_beyond_y),
        cmocka_unit_test(spmv_dot_is_the_product_and_its_inner_product),
        cmocka_unit_test(spmm_in_both_orders_with_gaps),
        cmocka_unit_test(f32_works_the_same),
        cmocka_unit_test(update_values_changes_the_numbers_not_the_plan),
        cmocka_unit_test(empty_matrices_multiply),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(unknown_devices_get_the_nearest_name),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
