/* Arrangements: matching against all permutations, scales, order, and systems that stay the same.
 */
#include "matrix/arrange/arrange.h"

#include "support/support.h"

#include <math.h>
#include <string.h>

/* A random n x n matrix with entries over many magnitudes, and perhaps no diagonal. `regular`:
 * (i, i + 3) is always stored, so that there is a perfect matching. */
static tess_matrix *wild(tess_ctx *ctx, int64_t n, double density, bool regular, uint64_t seed)
{
    int64_t offsets[65] = {0}, count = 0;
    int32_t columns[64 * 64];
    double values[64 * 64];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const uint64_t at = (uint64_t)(3 * (i * n + j));
            if (fabs(tess_random_unit(seed, at)) > density && !(regular && j == (i + 3) % n))
                continue;
            columns[count] = (int32_t)j;
            values[count++] =
                tess_random_unit(seed, at + 1) * exp2(20 * tess_random_unit(seed, at + 2));
        }
        offsets[i + 1] = count;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, n, n, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    return A;
}

/* The largest sum of logarithms of a diagonal under any order of rows: all n! of them. */
static double best_product(const double *dense, int64_t n, int64_t column, unsigned used)
{
    if (column == n)
        return 0;
    double best = -HUGE_VAL;
    for (int64_t i = 0; i < n; i++) {
        const double value = fabs(dense[i * n + column]);
        if ((used >> i & 1) == 0 && value > 0)
            best = fmax(best, log(value) + best_product(dense, n, column + 1, used | 1u << i));
    }
    return best;
}

static void matching_has_the_largest_product_of_all_orders(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int64_t n = 1 + (int64_t)(seed % 7);
        tess_matrix *A = wild(ctx, n, 0.4, false, seed);
        tess_arrangement a;
        int64_t matched;
        assert_int_equal(tess_arrangement_open(ctx, A, &a), TESS_OK);
        assert_int_equal(tess_arrange_match(A, &a, &matched), TESS_OK);
        double *dense = test_dense(A), sum = 0;
        const double best = best_product(dense, n, 0, 0);
        for (int64_t j = 0; j < n && matched == n; j++)
            sum += log(fabs(dense[a.row_order[j] * n + j]));
        if ((matched == n) != isfinite(best) || (matched == n && fabs(sum - best) > 1e-9))
            fail_msg("seed %d: matched %d of %d, product %g, best %g", (int)seed, (int)matched,
                     (int)n, sum, best);
        free(dense);
        tess_arrangement_close(&a);
        tess_matrix_destroy(A);
    }
}

static void matched_and_scaled_entries_are_about_one(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 50; seed++) {
        const int64_t n = 2 + (int64_t)(seed % 60);
        tess_matrix *A = wild(ctx, n, 0.2, true, seed), *B;
        tess_arrangement a;
        int64_t matched;
        assert_int_equal(tess_arrangement_open(ctx, A, &a), TESS_OK);
        assert_int_equal(tess_arrange_match(A, &a, &matched), TESS_OK);
        assert_int_equal(matched, n);
        assert_int_equal(tess_matrix_arrange(A, &a, &B), TESS_OK);
        test_check_valid("arranged", B);
        double *dense = test_dense(B);
        for (int64_t i = 0; i < n * n; i++) {
            const bool diagonal = i / n == i % n;
            if (fabs(dense[i]) > 2.0001 || (diagonal && fabs(dense[i]) < 0.4999))
                fail_msg("seed %d: entry (%d, %d) is %g", (int)seed, (int)(i / n), (int)(i % n),
                         dense[i]);
        }
        free(dense);
        tess_matrix_destroy(B);
        tess_arrangement_close(&a);
        tess_matrix_destroy(A);
    }
}

/* Finds a column for `row`, perhaps that of another row that finds another one. */
static bool find_column(const double *dense, int64_t n, int64_t row, int64_t *of_column, bool *seen)
{
    for (int64_t j = 0; j < n; j++) {
        if (dense[row * n + j] == 0 || seen[j])
            continue;
        seen[j] = true;
        if (of_column[j] < 0 || find_column(dense, n, of_column[j], of_column, seen)) {
            of_column[j] = row;
            return true;
        }
    }
    return false;
}

/* Returns the most rows that have a column each. */
static int64_t most_matched(const double *dense, int64_t n)
{
    int64_t of_column[64], count = 0;
    for (int64_t j = 0; j < n; j++)
        of_column[j] = -1;
    for (int64_t i = 0; i < n; i++) {
        bool seen[64] = {false};
        count += find_column(dense, n, i, of_column, seen);
    }
    return count;
}

/* Also where entries are equal, as in every third matrix. */
static void singular_matrices_are_matched_and_scaled_too(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int singular = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        const int64_t n = 4 + (int64_t)(seed % 60);
        tess_matrix *A = wild(ctx, n, seed % 2 ? 0.03 : 0.06, false, seed), *B;
        for (int64_t k = 0; seed % 3 == 0 && k < A->blocks; k++)
            ((double *)A->values)[k] = k % 2 ? 1 : 0.125;
        tess_arrangement a;
        int64_t matched, on_diagonal = 0;
        test_ok(ctx, tess_arrangement_open(ctx, A, &a));
        test_ok(ctx, tess_arrange_match(A, &a, &matched));
        test_ok(ctx, tess_matrix_arrange(A, &a, &B));
        double *dense = test_dense(B);
        for (int64_t i = 0; i < n * n; i++) {
            if (fabs(dense[i]) > 2.0001)
                fail_msg("seed %d: entry (%d, %d) is %g", (int)seed, (int)(i / n), (int)(i % n),
                         dense[i]);
            on_diagonal += i / n == i % n && fabs(dense[i]) > 0.4999;
        }
        assert_int_equal(matched, on_diagonal);
        assert_int_equal(matched, most_matched(dense, n));
        singular += matched < n;
        free(dense);
        tess_matrix_destroy(B);
        tess_arrangement_close(&a);
        tess_matrix_destroy(A);
    }
    assert_true(singular > 60);
}

static void a_structurally_singular_matrix_is_counted_and_still_permuted(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    /* Rows 0 and 1 have only column 0; row 2 is empty. */
    const int64_t offsets[] = {0, 1, 2, 2, 4};
    const int32_t columns[] = {0, 0, 1, 3};
    const double values[] = {1, 2, 3, 4};
    tess_matrix *A;
    tess_arrangement a;
    int64_t matched, seen = 0;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 4, 4, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    assert_int_equal(tess_arrangement_open(ctx, A, &a), TESS_OK);
    assert_int_equal(tess_arrange_match(A, &a, &matched), TESS_OK);
    assert_int_equal(matched, 2);
    for (int64_t i = 0; i < 4; i++)
        seen |= 1 << a.row_order[i];
    assert_int_equal(seen, 15);
    tess_arrangement_close(&a);
    tess_matrix_destroy(A);
}

/* The scales of row 0 and column 1 have an infinite product. */
static void a_stored_zero_stays_zero_under_any_scales(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 4};
    const int32_t columns[] = {0, 1, 0, 1};
    const double values[] = {1e-160, 0, 1, 1e-160};
    tess_matrix *A, *B;
    tess_arrangement a;
    int64_t matched;
    test_ok(ctx, tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, values,
                                      TESS_OWNERSHIP_COPY, &A));
    test_ok(ctx, tess_arrangement_open(ctx, A, &a));
    test_ok(ctx, tess_arrange_match(A, &a, &matched));
    assert_true(isinf(a.row_scale[0] * a.col_scale[1]));
    test_ok(ctx, tess_matrix_arrange(A, &a, &B));
    assert_true(tess_matrix_value(B, 1) == 0 && tess_matrix_value(B, 2) <= 1);
    assert_true(tess_matrix_value(B, 0) > 0.4 && tess_matrix_value(B, 3) > 0.4);
    tess_matrix_destroy(B);
    tess_arrangement_close(&a);
    tess_matrix_destroy(A);
}

static void equilibrated_rows_and_columns_are_about_one(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 40; seed++) {
        const int64_t n = 3 + (int64_t)(seed % 30);
        tess_matrix *A = wild(ctx, n, 0.3, true, seed), *B;
        tess_arrangement a;
        assert_int_equal(tess_arrangement_open(ctx, A, &a), TESS_OK);
        assert_int_equal(tess_arrange_equilibrate(A, seed % 2, &a), TESS_OK);
        assert_int_equal(tess_matrix_arrange(A, &a, &B), TESS_OK);
        double *dense = test_dense(B);
        for (int64_t i = 0; i < n; i++) {
            double row = 0, col = 0;
            for (int64_t j = 0; j < n; j++) {
                row = fmax(row, fabs(dense[i * n + j]));
                col = fmax(col, fabs(dense[j * n + i]));
            }
            if (seed % 2)
                row = col = fmax(row, col);
            if (!(row > 0.2 && row < 5 && col > 0.2 && col < 5))
                fail_msg("seed %d: row and column %d have %g and %g", (int)seed, (int)i, row, col);
            if (seed % 2 && a.row_scale[i] != a.col_scale[i])
                fail_msg("seed %d: scales of %d differ", (int)seed, (int)i);
        }
        free(dense);
        tess_matrix_destroy(B);
        tess_arrangement_close(&a);
        tess_matrix_destroy(A);
    }
}

static int64_t bandwidth(const tess_matrix *A)
{
    int64_t widest = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            widest = tess_max(widest, i > A->columns[k] ? i - A->columns[k] : A->columns[k] - i);
    return widest;
}

static void a_shuffled_grid_gets_its_band_back(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *shuffled, *B;
    int64_t perm[240];
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:nx=40,ny=6,nz=1,b=2", &A, NULL), TESS_OK);
    for (int64_t i = 0; i < 240; i++)
        perm[i] = i;
    for (int64_t i = 239; i > 0; i--) {
        const int64_t j = tess_random_below(5, (uint64_t)i, i + 1), swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
    assert_int_equal(tess_matrix_permute(ctx, A, perm, &shuffled), TESS_OK);
    tess_arrangement a;
    assert_int_equal(tess_arrangement_open(ctx, shuffled, &a), TESS_OK);
    assert_int_equal(tess_arrange_bandwidth(shuffled, &a), TESS_OK);
    assert_int_equal(tess_matrix_arrange(shuffled, &a, &B), TESS_OK);
    test_check_valid("reordered", B);
    assert_true(bandwidth(shuffled) > 100);
    assert_true(bandwidth(B) <= 12);
    tess_matrix_destroy(B);
    tess_arrangement_close(&a);
    tess_matrix_destroy(shuffled);
    tess_matrix_destroy(A);
}

/* The arranged system is B y = c. c is computed from b and y from x, and each row of B y = c must
 * hold where A x = b does. */
static void an_arranged_system_is_the_callers(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 12; seed++) {
        const int64_t n = 12;
        const tess_type type = seed % 2 ? TESS_F32 : TESS_F64;
        const int32_t block = (int32_t)(1 + seed % 3);
        tess_matrix *whole = wild(ctx, n, 0.5, true, seed), *typed, *A, *B;
        tess_blocking to = {block, block};
        assert_int_equal(tess_matrix_to_type(ctx, whole, type, &typed), TESS_OK);
        assert_int_equal(tess_matrix_to_blocks(ctx, typed, &to, &A), TESS_OK);
        tess_arrangement a;
        int64_t matched;
        double x[12], y[12], c[12];
        for (int64_t i = 0; i < n; i++)
            tess_put(y, type, i, tess_random_unit(seed, (uint64_t)(9000 + i)));
        assert_int_equal(tess_arrangement_open(ctx, A, &a), TESS_OK);
        assert_false(a.row_order || a.col_order || a.row_scale || a.col_scale);
        assert_int_equal(tess_arrange_match(A, &a, &matched), TESS_OK);
        assert_int_equal(tess_arrange_bandwidth(A, &a), TESS_OK);
        assert_int_equal(tess_matrix_arrange(A, &a, &B), TESS_OK);
        tess_arrange_solution(&a, type, y, x);
        double *dense = test_dense(A), *arranged = test_dense(B), product[12];
        for (int64_t i = 0; i < n; i++) {
            product[i] = 0;
            for (int64_t j = 0; j < n; j++)
                product[i] += dense[i * n + j] * tess_get(x, type, j);
        }
        double b[12];
        for (int64_t i = 0; i < n; i++)
            tess_put(b, type, i, product[i]);
        tess_arrange_rhs(&a, type, b, c);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0, size = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += arranged[i * n + j] * tess_get(y, type, j);
                size += fabs(arranged[i * n + j] * tess_get(y, type, j));
            }
            if (fabs(sum - tess_get(c, type, i)) > (type == TESS_F64 ? 1e-13 : 1e-5) * size)
                fail_msg("seed %d: row %d of B y is %g, not %g", (int)seed, (int)i, sum,
                         tess_get(c, type, i));
        }
        free(dense);
        free(arranged);
        tess_matrix_destroy(B);
        tess_matrix_destroy(A);
        tess_matrix_destroy(typed);
        tess_matrix_destroy(whole);
        tess_arrangement_close(&a);
    }
}

static void every_allocation_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = wild(ctx, 20, 0.3, true, 1);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_arrangement a;
        tess_matrix *B = NULL;
        int64_t matched;
        status = tess_arrangement_open(ctx, A, &a);
        if (status == TESS_OK)
            status = tess_arrange_match(A, &a, &matched);
        if (status == TESS_OK)
            status = tess_arrange_equilibrate(A, false, &a);
        if (status == TESS_OK)
            status = tess_arrange_bandwidth(A, &a);
        if (status == TESS_OK)
            status = tess_matrix_arrange(A, &a, &B);
        tess_matrix_destroy(B);
        tess_arrangement_close(&a);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matching_has_the_largest_product_of_all_orders),
        cmocka_unit_test(matched_and_scaled_entries_are_about_one),
        cmocka_unit_test(singular_matrices_are_matched_and_scaled_too),
        cmocka_unit_test(a_structurally_singular_matrix_is_counted_and_still_permuted),
        cmocka_unit_test(a_stored_zero_stays_zero_under_any_scales),
        cmocka_unit_test(equilibrated_rows_and_columns_are_about_one),
        cmocka_unit_test(a_shuffled_grid_gets_its_band_back),
        cmocka_unit_test(an_arranged_system_is_the_callers),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
