/* Block detection: counts checked by hand, by brute force and by construction; the verdict's words.
 */
#include "support/support.h"

#include <math.h>
#include <string.h>

static tess_detection *detect(tess_ctx *ctx, const tess_matrix *A)
{
    tess_detection *D = NULL;
    if (tess_detect(ctx, A, NULL, &D) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return D;
}

static const tess_block_candidate *find(const tess_detection *D, int32_t rows, int32_t cols,
                                        int32_t row_offset, int32_t col_offset)
{
    for (int64_t i = 0; i < D->count; i++) {
        const tess_block_candidate *C = &D->candidates[i];
        if (C->rows == rows && C->cols == cols && C->row_offset == row_offset &&
            C->col_offset == col_offset)
            return C;
    }
    return NULL;
}

/*  X X . .
 *  X X . .
 *  . . X .
 *  . . . X  */
static tess_matrix *four_by_four(tess_ctx *ctx)
{
    const int64_t offsets[] = {0, 2, 4, 5, 6};
    const int32_t columns[] = {0, 1, 0, 1, 2, 3};
    const double values[] = {1, 2, 3, 4, 0, 6};
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 4, 4, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    return A;
}

static void four_by_four_is_counted_and_priced_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = four_by_four(ctx);
    tess_detection *D = detect(ctx, A);
    assert_int_equal(D->entries, 6);
    const struct {
        int32_t rows, cols;
        int64_t blocks;
    } expected[] = {{1, 1, 6}, {2, 2, 2}, {3, 3, 2}, {4, 4, 1},  {5, 5, 1}, {32, 32, 1},
                    {1, 2, 4}, {2, 1, 4}, {1, 4, 4}, {3, 1, 4},  {4, 1, 4}, {4, 2, 2},
                    {2, 4, 2}, {8, 1, 4}, {1, 8, 4}, {16, 1, 4}, {2, 32, 2}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const tess_block_candidate *C = find(D, expected[i].rows, expected[i].cols, 0, 0);
        assert_non_null(C);
        if (C->blocks != expected[i].blocks)
            fail_msg("%d x %d: %d blocks, expected %d", C->rows, C->cols, (int)C->blocks,
                     (int)expected[i].blocks);
    }
    const tess_block_candidate *C = find(D, 2, 2, 0, 0);
    assert_true(C->density == 0.75 && C->fill == 8.0 / 6);
    assert_true(C->bytes == 8 * 8 + 4 * 2 + 4 * 3 + 8 * 8);
    assert_true(C->index_saved == (4 * 6 + 4 * 5) - (4 * 2 + 4 * 3));
    assert_int_equal(D->natural_block, 1);
    assert_int_equal(D->recommended.rows, 2);
    assert_string_equal(D->reason, "2 x 2 blocks are 75.0 % full and move 0.000148 MB in an SpMV, "
                                   "0.95 times CSR's 0.000156 MB");
    tess_detection_destroy(D);

    const tess_detect_options options = {.ignore_zeros = 1};
    assert_int_equal(tess_detect(ctx, A, &options, &D), TESS_OK);
    assert_int_equal(D->entries, 5);
    assert_int_equal(find(D, 1, 1, 0, 0)->blocks, 5);
    assert_int_equal(find(D, 2, 2, 0, 0)->blocks, 2);
    tess_detection_destroy(D);
    tess_matrix_destroy(A);
}

static void squares_come_first_and_in_order(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = four_by_four(ctx);
    tess_detection *D = detect(ctx, A);
    assert_true(D->count >= 106);
    for (int32_t b = 1; b <= 32; b++) {
        const tess_block_candidate *C = &D->candidates[b - 1];
        assert_true(C->rows == b && C->cols == b && C->row_offset == 0 && C->col_offset == 0);
    }
    for (int32_t r = 1; r <= 8; r++)
        for (int32_t c = 1; c <= 8; c++)
            assert_non_null(find(D, r, c, 0, 0));
    tess_detection_destroy(D);
    tess_matrix_destroy(A);
}

/* Counts the blocks of size C in a dense matrix by testing every scalar of every block. */
static int64_t brute_force(const tess_matrix *A, const double *dense, const tess_block_candidate *C)
{
    int64_t blocks = 0;
    for (int64_t top = C->row_offset - C->rows; top < A->rows; top += C->rows) {
        for (int64_t left = C->col_offset - C->cols; left < A->cols; left += C->cols) {
            bool any = false;
            for (int64_t i = top; i < top + C->rows; i++)
                for (int64_t j = left; j < left + C->cols; j++)
                    any = any || (i >= 0 && j >= 0 && i < A->rows && j < A->cols &&
                                  dense[i * A->cols + j] != 0);
            blocks += any;
        }
    }
    return blocks;
}

static void every_candidate_agrees_with_brute_force(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int32_t shapes[][2] = {{1, 1}, {2, 3}, {4, 4}, {5, 1}};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
            if (!test_takes(seed + (uint64_t)pattern))
                continue;
            int32_t r = shapes[seed - 1][0], c = shapes[seed - 1][1];
            tess_matrix *A =
                test_matrix(ctx, (test_pattern)pattern, r == 1 ? 61 : 17, r, c, TESS_F64, seed);
            double *dense = test_dense(A);
            tess_detection *D = detect(ctx, A);
            for (int64_t i = 0; i < D->count; i++) {
                const tess_block_candidate *C = &D->candidates[i];
                int64_t expected = brute_force(A, dense, C);
                if (C->blocks != expected)
                    fail_msg("%s, seed %d: %d x %d at %d, %d: %d blocks, brute force %d",
                             test_pattern_name((test_pattern)pattern), (int)seed, C->rows, C->cols,
                             C->row_offset, C->col_offset, (int)C->blocks, (int)expected);
                assert_true(fabs(C->density * C->fill - 1) < 1e-14);
            }
            tess_detection_destroy(D);
            free(dense);
            tess_matrix_destroy(A);
        }
    }
}

/* The generated matrix `spec`, its scalars moved `down` and `right`. */
static tess_matrix *shifted(tess_ctx *ctx, const char *spec, int64_t down, int64_t right)
{
    tess_matrix *A, *B, *C;
    assert_int_equal(tess_matrix_generate(ctx, spec, &A, NULL), TESS_OK);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &B), TESS_OK);
    int64_t *offsets = calloc((size_t)(B->rows + down + 1), sizeof *offsets);
    int32_t *columns = malloc((size_t)B->blocks * sizeof *columns);
    memcpy(offsets + down, B->row_offsets, (size_t)(B->rows + 1) * sizeof *offsets);
    for (int64_t k = 0; k < B->blocks; k++)
        columns[k] = B->columns[k] + (int32_t)right;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, B->rows + down, B->cols + right, offsets,
                                          columns, B->values, TESS_OWNERSHIP_COPY, &C),
                     TESS_OK);
    free(offsets);
    free(columns);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    return C;
}

/* In small matrices every offset is tried, in large ones the offsets that a sample suggests. */
static void unaligned_blocks_are_found_where_they_begin(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *spec;
        int32_t rows, cols, down, right;
    } cases[] = {
        {"stencil7:n=5,b=3", 3, 3, 1, 2},
        {"stencil7:n=5,b=4", 4, 4, 3, 3},
        {"stencil7:n=20,b=3", 3, 3, 2, 1},
        {"stencil7:n=9,b=7", 7, 7, 5, 5},
        {"random:rows=9000,count=9,r=2,c=5", 2, 5, 1, 3},
        {"stencil7:n=8,b=11", 11, 11, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A = shifted(ctx, cases[i].spec, cases[i].down, cases[i].right);
        tess_detection *D = detect(ctx, A);
        const tess_block_candidate *C =
            find(D, cases[i].rows, cases[i].cols, cases[i].down, cases[i].right);
        if (!C || C->density != 1)
            fail_msg("%s shifted by %d, %d: %s", cases[i].spec, cases[i].down, cases[i].right,
                     C ? "not full" : "not found");
        char words[64];
        snprintf(words, sizeof words, "; %d x %d blocks beginning at row %d and column %d would be",
                 cases[i].rows, cases[i].cols, cases[i].down, cases[i].right);
        if (!strstr(D->reason, words))
            fail_msg("%s: %s", cases[i].spec, D->reason);
        assert_true(D->recommended.row_offset == 0 && D->recommended.col_offset == 0);
        tess_detection_destroy(D);
        tess_matrix_destroy(A);
    }
}

static void verdicts_say_what_and_why(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *spec;
        int32_t rows, cols, natural;
        const char *reason;
    } cases[] = {
        {"stencil27:n=10,b=3", 3, 3, 3,
         "3 x 3 blocks are 100.0 % full and move 1.72 MB in an SpMV, 0.71 times CSR's 2.43 MB"},
        {"stencil7:n=10,b=1", 1, 1, 1,
         "do not block this: the cheapest blocks, 2 x 2 and 51.6 % full, move 1.34 times CSR's "
         "0.0968 MB in an SpMV"},
        {"random:rows=300,count=5,r=4,c=2", 4, 2, 2,
         "4 x 2 blocks are 100.0 % full and move 0.118 MB in an SpMV, 0.72 times CSR's 0.163 MB"},
        {"random:rows=3,avg=0", 1, 1, 1, "do not block this: the matrix has no entries"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A;
        assert_int_equal(tess_matrix_generate(ctx, cases[i].spec, &A, NULL), TESS_OK);
        tess_detection *D = detect(ctx, A);
        assert_string_equal(D->reason, cases[i].reason);
        assert_int_equal(D->recommended.rows, cases[i].rows);
        assert_int_equal(D->recommended.cols, cases[i].cols);
        assert_int_equal(D->natural_block, cases[i].natural);
        tess_detection_destroy(D);
        tess_matrix_destroy(A);
    }
}

static void any_number_of_threads_counts_the_same(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int threads = tess_ctx_threads(ctx);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "powerlaw:rows=9000,b=2,length=3000", &A, NULL),
                     TESS_OK);
    tess_detection *D[2];
    for (int t = 0; t < 2; t++) {
        assert_int_equal(tess_ctx_set_threads(ctx, t ? 5 : 1), TESS_OK);
        D[t] = detect(ctx, A);
    }
    assert_int_equal(D[0]->count, D[1]->count);
    for (int64_t i = 0; i < D[0]->count; i++)
        assert_int_equal(D[0]->candidates[i].blocks, D[1]->candidates[i].blocks);
    assert_string_equal(D[0]->reason, D[1]->reason);
    for (int t = 0; t < 2; t++)
        tess_detection_destroy(D[t]);
    tess_matrix_destroy(A);
    assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
}

static void every_failed_allocation_is_survived(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=4,b=3", &A, NULL), TESS_OK);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_detection *D = NULL;
        status = tess_detect(ctx, A, NULL, &D);
        assert_true((status == TESS_OK) == (D != NULL));
        tess_detection_destroy(D);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_by_four_is_counted_and_priced_by_hand),
        cmocka_unit_test(squares_come_first_and_in_order),
        cmocka_unit_test(every_candidate_agrees_with_brute_force),
        cmocka_unit_test(unaligned_blocks_are_found_where_they_begin),
        cmocka_unit_test(verdicts_say_what_and_why),
        cmocka_unit_test(any_number_of_threads_counts_the_same),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
