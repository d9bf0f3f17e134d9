/* Fill of incomplete factors: levels by the definition, thresholds down to complete factors. */
#include "solve/pc/factors/fill.h"

#include "support/support.h"

#include <math.h>
#include <string.h>

/* Levels of ILU(k) by the definition, on a dense table. */
static void levels_of(const tess_matrix *A, int64_t n, int *level)
{
    for (int64_t i = 0; i < n * n; i++)
        level[i] = i % (n + 1) == 0 ? 0 : 1000;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            level[i * n + A->columns[k]] = 0;
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j < n; j++) {
                const int through = level[i * n + k] + level[k * n + j] + 1;
                if (through < level[i * n + j])
                    level[i * n + j] = through;
            }
}

static void levels_are_those_of_the_definition(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 30; seed++) {
        tess_matrix *A = test_matrix(ctx, seed % 2 ? TEST_RANDOM : TEST_BANDED, 24, 2, 2,
                                     seed % 3 ? TESS_F64 : TESS_F32, seed);
        const int64_t n = A->block_rows;
        if (A->block_rows != A->block_cols) {
            tess_matrix_destroy(A);
            continue;
        }
        int *level = malloc((size_t)(n * n) * sizeof *level);
        levels_of(A, n, level);
        for (int64_t most = 0; most < 4; most++) {
            tess_fill fill;
            assert_int_equal(tess_fill_levels(ctx, A, most, 100, &fill), TESS_OK);
            test_check_valid("filled", fill.matrix);
            int64_t expected = 0;
            for (int64_t i = 0; i < n * n; i++) {
                expected += level[i] <= most;
                if ((tess_matrix_find(fill.matrix, i / n, i % n) >= 0) != (level[i] <= most))
                    fail_msg("seed %d, ILU(%d): block (%d, %d) has level %d", (int)seed, (int)most,
                             (int)(i / n), (int)(i % n), level[i]);
            }
            assert_int_equal(fill.matrix->blocks, expected);
            test_check_same_dense("filled", A, fill.matrix);
            tess_fill_free(&fill);
        }
        free(level);
        tess_matrix_destroy(A);
    }
}

static void too_much_fill_is_refused_with_a_number(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_fill fill = {0};
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=8,b=1", &A, NULL), TESS_OK);
    assert_int_equal(tess_fill_levels(ctx, A, 1000, 2, &fill), TESS_ERR_MEMORY);
    assert_non_null(strstr(tess_ctx_error(ctx), "allow fewer levels"));
    assert_null(fill.matrix);
    tess_matrix_destroy(A);
}

/* With nothing dropped the pattern is that of the complete factors: the highest level. */
static void a_threshold_of_zero_keeps_all_fill(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_fill all, kept;
    assert_int_equal(tess_matrix_generate(ctx, "cdr:n=4,b=2", &A, NULL), TESS_OK);
    assert_int_equal(tess_fill_levels(ctx, A, 1000, 100, &all), TESS_OK);
    assert_int_equal(tess_fill_threshold(ctx, A, &(tess_fill_options){0, 1e9, 0}, NULL, &kept),
                     TESS_OK);
    test_check_valid("kept", kept.matrix);
    test_check_same_dense("kept", A, kept.matrix);
    /* Some blocks of the symbolic pattern cancel exactly; none is added. */
    assert_true(kept.matrix->blocks <= all.matrix->blocks);
    assert_true((double)kept.matrix->blocks > 0.9 * (double)all.matrix->blocks);
    tess_fill_free(&all);
    tess_fill_free(&kept);
    tess_matrix_destroy(A);
}

/* A random matrix of order N whose diagonal is often small or missing; (i, i + 3) is stored. */
enum { N = 30 };
static tess_matrix *needs_pivots(tess_ctx *ctx, uint64_t seed)
{
    int64_t offsets[N + 1] = {0}, count = 0;
    int32_t columns[N * N];
    double values[N * N];
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++) {
            const uint64_t at = (uint64_t)(2 * (i * N + j));
            if (fabs(tess_random_unit(seed, at)) > 0.15 && j != (i + 3) % N)
                continue;
            columns[count] = (int32_t)j;
            values[count++] = tess_random_unit(seed, at + 1) * (i == j ? 1e-9 : 1);
        }
        offsets[i + 1] = count;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, N, N, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    return A;
}

/* Entry (i, j) of L U, and the sum of the magnitudes in it. */
static double multiply_out(const tess_fill *fill, int64_t i, int64_t j, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t k = 0; k <= tess_min(i, j); k++) {
        const int64_t l = tess_matrix_find(fill->matrix, i, k);
        const int64_t u = tess_matrix_find(fill->matrix, k, j);
        if (l < 0 || u < 0)
            continue;
        const double left = i == k ? 1 : fill->factors[l];
        const double right = k == j ? 1 / fill->factors[u] : fill->factors[u];
        sum += left * right;
        *size += fabs(left * right);
    }
    return sum;
}

static void complete_factors_multiply_to_the_matrix_with_its_columns_exchanged(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 20; seed++) {
        tess_matrix *A = needs_pivots(ctx, seed);
        int64_t order[N];
        tess_fill fill;
        assert_int_equal(
            tess_fill_threshold(ctx, A, &(tess_fill_options){0, 1e9, 0.5}, order, &fill), TESS_OK);
        double *dense = test_dense(A), size;
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                const double expected = dense[i * N + order[j]];
                const double sum = multiply_out(&fill, i, j, &size);
                if (!(fabs(sum - expected) <= 1e-13 * (size + fabs(expected))))
                    fail_msg("seed %d (%d, %d): %g instead of %g", (int)seed, (int)i, (int)j, sum,
                             expected);
            }
        for (int64_t i = 0; i < N; i++) /* L is bounded by the exchanges */
            for (int64_t k = fill.matrix->row_offsets[i]; fill.matrix->columns[k] < i; k++)
                assert_true(fabs(fill.factors[k]) < 1e6);
        free(dense);
        tess_fill_free(&fill);
        tess_matrix_destroy(A);
    }
}

static void thresholds_and_limits_hold(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_fill loose, tight, limited;
    assert_int_equal(tess_matrix_generate(ctx, "cdr:n=8,b=2", &A, NULL), TESS_OK);
    assert_int_equal(tess_fill_threshold(ctx, A, &(tess_fill_options){1e-1, 50, 0}, NULL, &loose),
                     TESS_OK);
    assert_int_equal(tess_fill_threshold(ctx, A, &(tess_fill_options){1e-6, 50, 0}, NULL, &tight),
                     TESS_OK);
    assert_int_equal(
        tess_fill_threshold(ctx, A, &(tess_fill_options){1e-6, 1.5, 0}, NULL, &limited), TESS_OK);
    assert_true(loose.matrix->blocks < tight.matrix->blocks);
    const int64_t mean = tess_ceil_div(A->blocks, A->block_rows);
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t row = tess_max(mean, A->row_offsets[i + 1] - A->row_offsets[i]);
        const int64_t *kept = limited.matrix->row_offsets + i;
        assert_true(kept[1] - kept[0] <= 1 + 2 * (int64_t)ceil(0.75 * (double)row));
    }
    for (int64_t i = 0; i < A->block_rows; i++)
        assert_true(tess_matrix_find(loose.matrix, i, i) >= 0);
    tess_fill_free(&loose);
    tess_fill_free(&tight);
    tess_fill_free(&limited);
    tess_matrix_destroy(A);
}

static void every_allocation_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "cdr:n=3,b=2", &A, NULL), TESS_OK);
    for (int kind = 0; kind < 2; kind++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            tess_fill fill = {.ctx = ctx};
            status =
                kind ? tess_fill_threshold(ctx, A, &(tess_fill_options){1e-3, 10, 0}, NULL, &fill)
                     : tess_fill_levels(ctx, A, 2, 10, &fill);
            tess_fill_free(&fill);
        } while (test_sweep_goes_on(&sweep, status));
    }
    tess_matrix_destroy(A);
}

/* Without exchanges of columns the factors of such a matrix overflow. They are refused, as those of
 * new values are. */
static void factors_that_overflow_are_refused(void **state)
{
    static const char *const specs[] = {"ilut", "ilut:domains=1", "ilut:schedule=levels"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A;
    tess_plan *plan;
    tess_preconditioner *pc = NULL;
    tess_solver *solver;
    test_ok(ctx, tess_matrix_generate(ctx, "random:rows=600", &A, NULL));
    test_ok(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        assert_int_equal(tess_pc_create(plan, specs[i], &pc), TESS_ERR_MATRIX);
        assert_non_null(strstr(tess_ctx_error(ctx), "no pivot in column 0 of the diagonal block"));
        assert_null(pc);
    }
    test_ok(ctx, tess_solver_create(plan, "gmres:pc=ilut,pivot=0.1", &solver));
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_those_of_the_definition),
        cmocka_unit_test(too_much_fill_is_refused_with_a_number),
        cmocka_unit_test(a_threshold_of_zero_keeps_all_fill),
        cmocka_unit_test(complete_factors_multiply_to_the_matrix_with_its_columns_exchanged),
        cmocka_unit_test(thresholds_and_limits_hold),
        cmocka_unit_test(factors_that_overflow_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
