/* What the public header says of empty matrices, of right-hand sides that are 0, of matrices that
 * are not square or complex, and of devices of several parts. tests/lint/null.sh has NULL. */
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "support/support.h"

enum { MOST = 8 };

static const char *const devices[] = {"ref", "cpu:2", "cpu:1,1", "cpu:1,1,1,1,1,1,1"};
enum { DEVICES = sizeof devices / sizeof *devices };

static void fill(double *v, double value)
{
    for (int i = 0; i < MOST; i++)
        v[i] = value;
}

/* A matrix without entries. */
static tess_matrix *make_empty(tess_ctx *ctx, int64_t rows, int64_t cols)
{
    static const int64_t offsets[MOST + 1] = {0};
    tess_matrix *A;
    test_ok(ctx, tess_matrix_from_csr(ctx, TESS_F64, rows, cols, offsets, NULL, NULL,
                                      TESS_OWNERSHIP_COPY, &A));
    return A;
}

static void expect(tess_ctx *ctx, const char *what, tess_status status, tess_status expected)
{
    if (status != expected)
        fail_msg("%s: %s (%s), expected %s", what, tess_status_name(status), tess_ctx_error(ctx),
                 tess_status_name(expected));
}

static void expect_reason(tess_ctx *ctx, tess_plan *plan, const char *spec, double b, double x,
                          tess_reason expected)
{
    double right[MOST], left[MOST];
    tess_result result;
    fill(right, b);
    fill(left, x);
    test_ok(ctx, tess_solve(plan, spec, right, left, &result));
    if (result.reason != expected)
        fail_msg("%s: %s (%s), expected %s", spec, tess_reason_name(result.reason), result.text,
                 tess_reason_name(expected));
    for (int64_t i = 0; expected == TESS_REASON_ZERO_RHS && i < plan->matrix->cols; i++)
        assert_true(left[i] == 0);
}

static void products_without_entries_are_beta_y(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {5, 0}, {0, 5}, {5, 5}};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int d = 0; d < DEVICES; d++) {
            const int64_t rows = sizes[s][0], cols = sizes[s][1];
            double x[MOST], y[MOST], dot = NAN;
            tess_matrix *A = make_empty(ctx, rows, cols);
            tess_device *device = test_device(ctx, devices[d]);
            tess_plan *plan;
            test_ok(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
            fill(x, 1);
            fill(y, 7);
            test_ok(ctx, tess_spmv(plan, 1, cols > 0 ? x : NULL, 2, rows > 0 ? y : NULL));
            for (int i = 0; i < MOST; i++)
                assert_true(y[i] == (i < rows ? 14 : 7));
            test_ok(ctx, tess_spmv_transpose(plan, 1, x, 0, y));
            for (int i = 0; i < MOST; i++)
                assert_true(y[i] == (i < cols ? 0 : i < rows ? 14 : 7));
            test_ok(ctx, tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot));
            assert_true(dot == 0);
            test_ok(ctx, tess_spmm(plan, 0, TESS_ORDER_COLUMN_MAJOR, 1, NULL, 0, 0, NULL, 0));
            tess_plan_destroy(plan);
            tess_device_close(device);
            tess_matrix_destroy(A);
        }
}

static void nothing_is_found_in_an_empty_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = make_empty(ctx, 5, 5);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_detection *detection;
    tess_blocking blocking;
    tess_predicted_kernel kernel;
    test_ok(ctx, tess_detect(ctx, A, NULL, &detection));
    assert_true(detection->count == 0 && detection->recommended.rows == 1 &&
                detection->recommended.cols == 1);
    test_ok(ctx, tess_choose_blocking(ctx, A, device, &blocking));
    assert_true(blocking.rows == 1 && blocking.cols == 1);
    test_ok(ctx, tess_plan_estimate(ctx, A, device, NULL, sizeof kernel, &kernel));
    assert_string_equal(kernel.kernel, "");
    tess_detection_destroy(detection);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void zero_right_hand_sides_are_solved_by_zero(void **state)
{
    static const char *const specs[] = {"auto",
                                        "cg",
                                        "minres",
                                        "lsqr",
                                        "idr",
                                        "gmres:restart=5",
                                        "gmres:inner=f32",
                                        "gmres:scale=equilibrate,order=rcm"};
    tess_ctx *ctx = test_ctx(state);
    for (int64_t rows = 0; rows <= 5; rows += 5)
        for (int d = 0; d < DEVICES; d++) {
            tess_matrix *A = make_empty(ctx, rows, rows);
            tess_device *device = test_device(ctx, devices[d]);
            tess_plan *plan;
            test_ok(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
            for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
                expect_reason(ctx, plan, specs[s], 0, 3, TESS_REASON_ZERO_RHS);
                expect_reason(ctx, plan, specs[s], 0, NAN, TESS_REASON_ZERO_RHS);
                if (rows == 0)
                    expect_reason(ctx, plan, specs[s], 1, 3, TESS_REASON_ZERO_RHS);
                else
                    expect_reason(ctx, plan, specs[s], NAN, 0, TESS_REASON_NOT_FINITE);
            }
            tess_plan_destroy(plan);
            tess_device_close(device);
            tess_matrix_destroy(A);
        }
}

static void matrices_that_are_not_square(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *B;
    tess_device *device = test_device(ctx, "cpu:1,1");
    tess_plan *plan;
    tess_solver *solver;
    tess_preconditioner *pc;
    tess_plan_part part;
    double blocks[MOST * MOST];
    int64_t missing = -1;
    int hermitian = 7;
    test_ok(ctx, tess_matrix_generate(ctx, "random:rows=6,cols=4,avg=3", &A, NULL));
    test_ok(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    expect(ctx, "gmres", tess_solver_create(plan, "gmres", &solver), TESS_ERR_ARGUMENT);
    expect(ctx, "pc", tess_pc_create(plan, "none", &pc), TESS_ERR_ARGUMENT);
    expect(ctx, "jacobi", tess_solver_create(plan, "lsqr:pc=jacobi", &solver), TESS_ERR_MATRIX);
    expect(ctx, "part", tess_plan_get_part(plan, 0, sizeof part, &part), TESS_ERR_UNSUPPORTED);
    expect(ctx, "symmetric", tess_matrix_write_symmetric(ctx, A, "-"), TESS_ERR_MATRIX);
    test_ok(ctx, tess_matrix_hermitian(ctx, A, &hermitian));
    assert_int_equal(hermitian, 0);
    test_ok(ctx, tess_matrix_diagonal_blocks(ctx, A, blocks, &missing));
    assert_true(missing >= 0 && missing <= 4);
    test_ok(ctx, tess_matrix_generate(ctx, "random:rows=6,cols=6,r=2,c=1", &B, NULL));
    expect(ctx, "2 x 1", tess_matrix_diagonal_blocks(ctx, B, blocks, NULL), TESS_ERR_UNSUPPORTED);
    expect(ctx, "update", tess_matrix_update(ctx, B, A), TESS_ERR_ARGUMENT);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

static tess_status copy(void *user, int transpose, const void *x, void *y, void *stream)
{
    (void)user, (void)transpose, (void)stream;
    memcpy(y, x, 16 * sizeof(double));
    return TESS_OK;
}

static void complex_matrices_are_refused_where_the_header_says(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *B;
    tess_device *one = test_device(ctx, "cpu:2"), *two = test_device(ctx, "cpu:1,1");
    tess_plan *plan;
    tess_prediction *prediction;
    tess_shape_detection *shapes;
    tess_model_part *part;
    tess_partition *partition;
    tess_predicted_kernel kernel;
    const tess_plan_options regroup = {.regroup = TESS_REGROUP_ON};
    const tess_operator op = {.type = TESS_C64, .rows = 16, .apply = copy};
    const tess_status no = TESS_ERR_UNSUPPORTED;
    test_ok(ctx, tess_matrix_generate(ctx, "stencil7:n=2,b=2,type=c64", &A, NULL));
    test_ok(ctx, tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &B));
    expect(ctx, "parts", tess_plan_create(ctx, A, two, NULL, &plan), no);
    expect(ctx, "estimate", tess_plan_estimate(ctx, A, two, NULL, sizeof kernel, &kernel), no);
    expect(ctx, "multiply", tess_matrix_multiply(ctx, A, A, &B), no);
    expect(ctx, "regroup", tess_plan_create(ctx, B, one, &regroup, &plan), no);
    expect(ctx, "shapes", tess_detect_shapes(ctx, B, &shapes), no);
    expect(ctx, "operator", tess_plan_from_operator(ctx, one, &op, &plan), no);
    expect(ctx, "predict", tess_predict(ctx, A, one, NULL, &prediction), no);
    expect(ctx, "calibrate", tess_calibrate(one, TESS_C64, 2, 1e6, NULL, NULL, &part), no);
    test_ok(ctx, tess_partition_create(ctx, A, 2, NULL, &partition));
    tess_partition_destroy(partition);
    tess_device_close(one);
    tess_device_close(two);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

static void devices_of_several_parts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_device *one = test_device(ctx, "cpu:2"), *two = test_device(ctx, "cpu:1,1");
    tess_plan *plan, *parts, *of_operator;
    tess_solver *solver;
    tess_prediction *prediction;
    tess_plan_part part;
    tess_result result;
    const tess_operator op = {.type = TESS_F64, .rows = 16, .apply = copy};
    double b[16] = {1}, x[16] = {0};
    const void *b_parts[] = {b};
    void *x_parts[] = {x};
    test_ok(ctx, tess_matrix_generate(ctx, "stencil7:n=2,b=2", &A, NULL));
    test_ok(ctx, tess_plan_create(ctx, A, one, NULL, &plan));
    test_ok(ctx, tess_plan_create(ctx, A, two, NULL, &parts));
    assert_int_equal(tess_plan_parts(plan), 1);
    expect(ctx, "one", tess_plan_get_part(plan, 0, sizeof part, &part), TESS_ERR_ARGUMENT);
    expect(ctx, "vectors", tess_spmv_parts(plan, 1, b_parts, 0, x_parts), TESS_ERR_ARGUMENT);
    expect(ctx, "rank", tess_plan_get_part(parts, 2, sizeof part, &part), TESS_ERR_ARGUMENT);
    expect(ctx, "stream", tess_plan_set_stream(parts, NULL), TESS_ERR_UNSUPPORTED);
    expect(ctx, "predict", tess_predict(ctx, A, two, NULL, &prediction), TESS_ERR_UNSUPPORTED);
    expect(ctx, "direct", tess_solver_create(parts, "direct", &solver), TESS_ERR_UNSUPPORTED);
    expect(ctx, "amg", tess_solver_create(parts, "amg", &solver), TESS_ERR_UNSUPPORTED);
    expect(ctx, "with", tess_solver_create_with(parts, "cg", &op, &solver), TESS_ERR_UNSUPPORTED);
    expect(ctx, "auto", tess_solver_create_with(plan, NULL, &op, &solver), TESS_ERR_UNSUPPORTED);
    test_ok(ctx, tess_solver_create(plan, "cg", &solver));
    expect(ctx, "solve", tess_solver_solve_parts(solver, b_parts, x_parts, &result),
           TESS_ERR_ARGUMENT);
    expect(ctx, "modes", tess_solver_set_modes(solver, 1, b, 16), TESS_ERR_UNSUPPORTED);
    tess_solver_destroy(solver);
    test_ok(ctx, tess_plan_from_operator(ctx, two, &op, &of_operator));
    test_ok(ctx, tess_solve(of_operator, "cg", b, x, &result));
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    expect(ctx, "several", tess_spmm(of_operator, 1, TESS_ORDER_COLUMN_MAJOR, 1, b, 16, 0, x, 16),
           TESS_ERR_UNSUPPORTED);
    tess_plan_destroy(of_operator);
    tess_plan_destroy(parts);
    tess_plan_destroy(plan);
    tess_device_close(one);
    tess_device_close(two);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_without_entries_are_beta_y),
        cmocka_unit_test(nothing_is_found_in_an_empty_matrix),
        cmocka_unit_test(zero_right_hand_sides_are_solved_by_zero),
        cmocka_unit_test(matrices_that_are_not_square),
        cmocka_unit_test(complex_matrices_are_refused_where_the_header_says),
        cmocka_unit_test(devices_of_several_parts),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
