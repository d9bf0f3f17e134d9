/* Balanced BSR: segments tile the rows, none is longer than lambda, and failures are clean. */
#include "format/balanced.h"
#include "support/support.h"

static void segments_tile_every_row(void **state)
{
    static const int32_t splits[] = {1, 2, 3, 7, 1000};
    tess_ctx *ctx = test_ctx(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        tess_matrix *A = test_matrix(ctx, pattern, 40, 2, 3, TESS_F64, 11);
        for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
            tess_balanced *B;
            assert_int_equal(tess_balanced_create(ctx, A, splits[i], &B), TESS_OK);
            assert_int_equal(B->segment_ptr[A->block_rows], B->segments);
            assert_int_equal(B->segment_offsets[B->segments], A->blocks);
            for (int64_t row = 0; row < A->block_rows; row++) {
                int64_t length = A->row_offsets[row + 1] - A->row_offsets[row];
                assert_int_equal(B->segment_offsets[B->segment_ptr[row]], A->row_offsets[row]);
                assert_int_equal(B->segment_ptr[row + 1] - B->segment_ptr[row],
                                 length == 0 ? 1 : tess_ceil_div(length, splits[i]));
            }
            for (int64_t s = 0; s < B->segments; s++)
                assert_in_range(B->segment_offsets[s + 1] - B->segment_offsets[s], 0, splits[i]);
            int64_t listed = 0;
            for (int64_t row = 0; row < A->block_rows; row++)
                if (B->segment_ptr[row + 1] - B->segment_ptr[row] > TESS_BALANCED_LONG)
                    assert_int_equal(B->long_rows[listed++], row);
            assert_int_equal(listed, B->long_count);
            tess_balanced_destroy(B);
        }
        tess_matrix_destroy(A);
    }
}

/* Figure 8 of paper 003, lambda = 3: rows with the figure's numbers of segments give its segPtr. */
static void segment_ptr_is_that_of_figure_8(void **state)
{
    static const int32_t lengths[] = {5, 3, 2, 11, 4, 1, 8};
    static const int32_t paper[] = {0, 2, 3, 4, 8, 10, 11, 14};
    enum { ROWS = 7, BLOCKS = 34 };
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[ROWS + 1] = {0};
    int32_t columns[BLOCKS];
    double values[BLOCKS] = {0};
    for (int row = 0; row < ROWS; row++) {
        offsets[row + 1] = offsets[row] + lengths[row];
        for (int k = 0; k < lengths[row]; k++)
            columns[offsets[row] + k] = k;
    }
    tess_matrix *A = test_blocks(ctx, ROWS, 12, 1, 1, offsets, columns, values);
    tess_balanced *B;
    assert_int_equal(tess_balanced_create(ctx, A, 3, &B), TESS_OK);
    assert_memory_equal(B->segment_ptr, paper, sizeof paper);
    for (int64_t s = 0; s < B->segments; s++) /* every segment but a row's last is full */
        if (B->segment_offsets[s + 1] - B->segment_offsets[s] < 3) {
            bool last = false;
            for (int row = 0; row < ROWS; row++)
                last |= s + 1 == paper[row + 1];
            assert_true(last);
        }
    assert_ptr_equal(B->matrix->columns, A->columns); /* the arrays are A's own */
    tess_balanced_destroy(B);
    tess_matrix_destroy(A);
}

static void lambda_must_be_positive(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 5, 2, 2, TESS_F64, 3);
    tess_balanced *B = NULL;
    assert_int_equal(tess_balanced_create(ctx, A, 0, &B), TESS_ERR_ARGUMENT);
    assert_null(B);
    tess_matrix_destroy(A);
}

static void every_allocation_may_fail(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 20, 2, 2, TESS_F64, 3);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_balanced *B = NULL;
        status = tess_balanced_create(ctx, A, 2, &B);
        tess_balanced_destroy(B);
    } while (test_sweep_goes_on(&sweep, status));
    assert_int_equal(sweep.failed, 4);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_tile_every_row),
        cmocka_unit_test(segment_ptr_is_that_of_figure_8),
        cmocka_unit_test(lambda_must_be_positive),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
