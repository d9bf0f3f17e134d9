/* Permutation, precision, diagonal blocks, update and statistics. */
#include "support/support.h"

#include <math.h>
#include <string.h>

static void permutation_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    /* [1 2 .; . 3 .; 4 . 5] with the order 2, 0, 1:  [5 4 .; . 1 2; . . 3] */
    const int64_t offsets[] = {0, 2, 3, 5}, perm[] = {2, 0, 1};
    const int32_t columns[] = {0, 1, 1, 0, 2};
    const double values[] = {1, 2, 3, 4, 5};
    tess_matrix *A, *B;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 3, 3, offsets, columns, values,
                                          TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    assert_int_equal(tess_matrix_permute(ctx, A, perm, &B), TESS_OK);
    const int64_t new_offsets[] = {0, 2, 4, 5};
    const int32_t new_columns[] = {0, 1, 1, 2, 2};
    const double new_values[] = {5, 4, 1, 2, 3};
    assert_memory_equal(B->row_offsets, new_offsets, sizeof new_offsets);
    assert_memory_equal(B->columns, new_columns, sizeof new_columns);
    assert_memory_equal(B->values, new_values, sizeof new_values);
    tess_matrix_destroy(B);

    const struct {
        int64_t perm[3];
        const char *error;
    } bad[] = {
        {{0, 3, 1}, "perm[1] = 3 is outside 0..2"},
        {{0, 1, -1}, "perm[2] = -1 is outside 0..2"},
        {{1, 2, 1}, "perm[2] = 1 repeats perm[0]"},
    };
    for (size_t i = 0; i < 3; i++) {
        B = NULL;
        assert_int_equal(tess_matrix_permute(ctx, A, bad[i].perm, &B), TESS_ERR_ARGUMENT);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
        assert_null(B);
    }
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_WIDE, 6, 2, 2, TESS_F64, 1);
    assert_int_equal(tess_matrix_permute(ctx, A, perm, &B), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_RAGGED, 3, 2, 2, TESS_F64, 1);
    assert_int_equal(tess_matrix_permute(ctx, A, perm, &B), TESS_ERR_UNSUPPORTED);
    assert_string_equal(tess_ctx_error(ctx),
                        "perm[2] = 1, but the last block is padded and must stay last");
    tess_matrix_destroy(A);
}

/* A random order of 0..count-1 that leaves the last number last. */
static int64_t *random_order(int64_t count, uint64_t seed)
{
    int64_t *perm = malloc((size_t)(count + 1) * sizeof *perm);
    for (int64_t i = 0; i < count; i++)
        perm[i] = i;
    for (int64_t i = count - 2; i > 0; i--) {
        int64_t j = tess_random_below(seed, (uint64_t)i, i + 1), swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
    return perm;
}

static void a_permutation_and_its_inverse_cancel(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const test_pattern patterns[] = {TEST_EMPTY,     TEST_ONE_BLOCK, TEST_BANDED, TEST_RANDOM,
                                     TEST_DENSE_ROW, TEST_RAGGED,    TEST_SKEWED};
    const int32_t shapes[][2] = {{1, 1}, {3, 3}, {2, 5}, {33, 33}};
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        for (size_t s = 0; s < 4; s++) {
            uint64_t seed = 31 * p + s;
            const char *name = test_pattern_name(patterns[p]);
            tess_matrix *A = test_matrix(ctx, patterns[p], s == 3 ? 5 : 60, shapes[s][0],
                                         shapes[s][1], TESS_F64, seed);
            tess_matrix *B, *C;
            int64_t *perm = random_order(A->block_rows, seed);
            int64_t *inverse = malloc((size_t)(A->block_rows + 1) * sizeof *inverse);
            for (int64_t i = 0; i < A->block_rows; i++)
                inverse[perm[i]] = i;
            assert_int_equal(tess_matrix_permute(ctx, A, perm, &B), TESS_OK);
            test_check_valid(name, B);
            for (int64_t i = 0; i < A->block_rows; i++)
                for (int64_t k = B->row_offsets[i]; k < B->row_offsets[i + 1]; k++) {
                    int64_t from = tess_matrix_find(A, perm[i], perm[B->columns[k]]);
                    size_t bytes = (size_t)(shapes[s][0] * shapes[s][1]) * 8;
                    if (from < 0 || memcmp((char *)A->values + (size_t)from * bytes,
                                           (char *)B->values + (size_t)k * bytes, bytes) != 0)
                        fail_msg("%s seed %d: block %lld", name, (int)seed, (long long)k);
                }
            assert_int_equal(tess_matrix_permute(ctx, B, inverse, &C), TESS_OK);
            test_check_identical(name, A, C);
            free(perm);
            free(inverse);
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
            tess_matrix_destroy(C);
        }
    }
}

static void precision_changes_and_refuses_to_overflow(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 4};
    const int32_t columns[] = {0, 1, 2, 3};
    double values[] = {0.1, INFINITY, NAN, 1e-60};
    tess_matrix *A, *B = NULL, *C;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 1, 4, offsets, columns, values,
                                          TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_type(ctx, A, TESS_F32, &B), TESS_OK);
    const float *narrow = B->values;
    assert_true(narrow[0] == 0.1f && isinf(narrow[1]) && isnan(narrow[2]) && narrow[3] == 0);
    assert_int_equal(tess_matrix_to_type(ctx, B, TESS_F64, &C), TESS_OK);
    assert_true(((double *)C->values)[0] == (double)0.1f);
    tess_matrix_destroy(C);
    assert_int_equal(tess_matrix_to_type(ctx, B, TESS_F32, &C), TESS_OK);
    test_check_identical("same type", B, C);
    tess_matrix_destroy(C);
    tess_matrix_destroy(B);
    values[3] = -1e39;
    B = NULL;
    assert_int_equal(tess_matrix_to_type(ctx, A, TESS_F32, &B), TESS_ERR_OVERFLOW);
    assert_string_equal(tess_ctx_error(ctx), "value 3, -1e+39, is outside the range of f32");
    assert_int_equal(tess_matrix_to_type(ctx, A, (tess_type)9, &B), TESS_ERR_ARGUMENT);
    assert_null(B);
    tess_matrix_destroy(A);
}

static void diagonal_blocks_are_copied_or_zero(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 3, 3};
    const int32_t columns[] = {0, 1, 0};
    const double values[] = {1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 6, 6};
    const tess_matrix_view view = {.rows = 6,
                                   .cols = 4,
                                   .block_height = 2,
                                   .block_width = 2,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A;
    double blocks[8];
    int64_t missing = -1;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &A),
        TESS_OK);
    assert_int_equal(tess_matrix_diagonal_blocks(ctx, A, blocks, &missing), TESS_OK);
    const double expected[] = {1, 2, 3, 4, 0, 0, 0, 0};
    assert_memory_equal(blocks, expected, sizeof expected);
    assert_int_equal(missing, 1);
    assert_int_equal(tess_matrix_diagonal_blocks(ctx, A, NULL, NULL), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_RANDOM, 4, 2, 3, TESS_F64, 1);
    assert_int_equal(tess_matrix_diagonal_blocks(ctx, A, blocks, NULL), TESS_ERR_UNSUPPORTED);
    tess_matrix_destroy(A);
}

static void update_equals_a_new_conversion(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int32_t shapes[][2] = {{1, 1}, {3, 3}, {1, 3}, {2, 5}, {4, 3}, {33, 33}};
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t s = 0; s < 6; s++) {
            tess_blocking blocking = {shapes[s][0], shapes[s][1]};
            tess_type type = s % 2 ? TESS_F32 : TESS_F64;
            const char *name = test_pattern_name((test_pattern)pattern);
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 31, 2, 2, type, 7 + s);
            tess_matrix *csr, *B, *expected;
            assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr), TESS_OK);
            assert_int_equal(tess_matrix_to_blocks(ctx, csr, &blocking, &B), TESS_OK);
            for (int64_t k = 0; k < csr->blocks; k++)
                if (type == TESS_F64)
                    ((double *)csr->values)[k] = (double)k;
                else
                    ((float *)csr->values)[k] = (float)k;
            assert_int_equal(tess_matrix_update(ctx, B, csr), TESS_OK);
            assert_int_equal(tess_matrix_to_blocks(ctx, csr, &blocking, &expected), TESS_OK);
            test_check_identical(name, B, expected);
            tess_matrix_destroy(A);
            tess_matrix_destroy(csr);
            tess_matrix_destroy(B);
            tess_matrix_destroy(expected);
        }
    }
}

static void update_names_an_entry_outside_and_leaves_the_rest(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 1, 2, 3, 4}, fewer[] = {0, 1, 1, 1, 1};
    const int32_t columns[] = {0, 1, 2, 2}, outside[] = {0, 1, 1, 2}, first[] = {1};
    const double values[] = {1, 2, 3, 4}, others[] = {5, 6, 7, 8};
    tess_matrix *A, *B, *C;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 4, 4, offsets, columns, values,
                                          TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 2}, &B), TESS_OK);
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 4, 4, offsets, outside, others,
                                          TESS_OWNERSHIP_BORROW, &C),
                     TESS_OK);
    assert_int_equal(tess_matrix_update(ctx, B, C), TESS_ERR_PATTERN);
    assert_string_equal(tess_ctx_error(ctx),
                        "row 2, column 1: block (1, 0) is outside the pattern");
    test_check_same_dense("after a failed update", A, B);
    assert_int_equal(tess_matrix_update(ctx, A, C), TESS_ERR_ARGUMENT); /* A is borrowed */
    assert_int_equal(tess_matrix_update(ctx, B, B), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(C);

    /* Fewer entries: places that are not given become 0. */
    assert_int_equal(
        tess_matrix_from_csr(ctx, TESS_F64, 4, 4, fewer, first, others, TESS_OWNERSHIP_BORROW, &C),
        TESS_OK);
    assert_int_equal(tess_matrix_update(ctx, B, C), TESS_OK);
    test_check_same_dense("fewer entries", B, C);
    assert_int_equal(B->blocks, 2);
    tess_matrix_destroy(C);
    C = test_matrix(ctx, TEST_DIAGONAL, 3, 1, 1, TESS_F64, 1);
    assert_int_equal(tess_matrix_update(ctx, B, C), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_matrix_destroy(C);
}

static void statistics_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    /* 5 x 5 in blocks of 2: rows of 3, 0 and 1 blocks. 9 and 99 are entries inside the matrix. */
    const int64_t offsets[] = {0, 3, 3, 4};
    const int32_t columns[] = {0, 1, 2, 0};
    double values[16] = {9, 0, 0, 99, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0};
    const tess_matrix_view view = {.rows = 5,
                                   .cols = 5,
                                   .block_height = 2,
                                   .block_width = 2,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A;
    tess_statistics s;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &A),
        TESS_OK);
    assert_int_equal(tess_matrix_statistics(ctx, A, &s), TESS_OK);
    assert_int_equal(s.row_min, 0);
    assert_int_equal(s.row_max, 3);
    assert_true(s.row_avg == 4.0 / 3);
    assert_true(s.imbalance == 3 / (4.0 / 3));
    assert_int_equal(s.empty_rows, 1);
    assert_int_equal(s.histogram[0], 1);
    assert_int_equal(s.histogram[1], 1);
    assert_int_equal(s.histogram[2], 1);
    assert_int_equal(s.lower_bandwidth, 2);
    assert_int_equal(s.upper_bandwidth, 2);
    assert_int_equal(s.stored, 4 + 4 + 2 + 2);
    assert_int_equal(s.nonzeros, 7);
    tess_matrix_destroy(A);

    A = test_matrix(ctx, TEST_EMPTY, 0, 3, 3, TESS_F32, 1);
    assert_int_equal(tess_matrix_statistics(ctx, A, &s), TESS_OK);
    assert_true(s.row_min == 0 && s.row_max == 0 && s.row_avg == 0 && s.imbalance == 1);
    assert_true(s.stored == 0 && s.nonzeros == 0);
    tess_matrix_destroy(A);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 5, 2, 2, TESS_F64, 1), *B;
    tess_matrix *C = test_matrix(ctx, TEST_RANDOM, 5, 2, 2, TESS_F64, 1);
    const int64_t perm[] = {4, 3, 2, 1, 0};
    for (int call = 0; call < 3; call++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            B = NULL;
            status = call == 0   ? tess_matrix_permute(ctx, A, perm, &B)
                     : call == 1 ? tess_matrix_to_type(ctx, A, TESS_F32, &B)
                                 : tess_matrix_update(ctx, C, A);
            assert_true(status == TESS_OK || !B);
            tess_matrix_destroy(B);
        } while (test_sweep_goes_on(&sweep, status));
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(C);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutation_by_hand),
        cmocka_unit_test(a_permutation_and_its_inverse_cancel),
        cmocka_unit_test(precision_changes_and_refuses_to_overflow),
        cmocka_unit_test(diagonal_blocks_are_copied_or_zero),
        cmocka_unit_test(update_equals_a_new_conversion),
        cmocka_unit_test(update_names_an_entry_outside_and_leaves_the_rest),
        cmocka_unit_test(statistics_by_hand),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
