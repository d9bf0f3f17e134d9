/* Sliced storage: conversion both ways, the place of a value, what is counted, clean failures. */
#include <string.h>

#include "format/sliced.h"
#include "support/storage.h"

static const tess_sliced_options settings[] = {
    {1, 1, 0, 1, 1},       {4, 1, 0, 2, 0}, {32, 0, 0, 1, 1}, {32, 8, 0, 4, 2}, {8, 16, 3, 1, 1},
    {3, 1 << 24, 1, 2, 4}, {7, 5, 2, 4, 3}, {2, 0, 0, 1, 6},  {4, 16, 1, 1, 8},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const tess_sliced_options bad[] = {{0, 1, 0, 1, 1},  {1025, 1, 0, 1, 1}, {4, -1, 0, 1, 1},
                                          {4, 1, -1, 1, 1}, {4, 1, 0, 3, 1},    {4, 1, 0, 1, -1},
                                          {4, 1, 0, 1, 9}};
#define STORAGE tess_sliced
#define STORAGE_INVERSE test_sliced_to_bsr
#include "support/storage.inc.c"

static void keeps_what_storages_promise(void **state)
{
    test_storage_check(state, &storage_calls, 17);
}

/* One block of 2 x 17, V = 4: the last of a row's five vectors has one scalar of the block. */
static void rows_of_wide_blocks_end_with_zeros(void **state)
{
    enum { WIDTH = TESS_SLICED_WIDE + 1, VECTORS = TESS_SLICED_WIDE / 4 + 1 };
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_sliced *S;
    assert_int_equal(tess_matrix_allocate(ctx, TESS_F64, 2, WIDTH, 2, WIDTH, 1, &A), TESS_OK);
    A->row_offsets[1] = 1;
    A->columns[0] = 0;
    for (int i = 0; i < 2 * WIDTH; i++) /* column-major: row i % 2 */
        ((double *)A->values)[i] = i % 2 * 100 + i / 2 + 1;
    assert_int_equal(
        tess_sliced_create(ctx, A, &(tess_sliced_options){.height = 1, .vector = 4}, &S), TESS_OK);
    assert_int_equal(S->group, 1);
    assert_int_equal(tess_sliced_stored(S), VECTORS * 2 * 4);
    for (int j = 0; j < VECTORS * 4; j++)
        for (int row = 0; row < 2; row++)
            assert_true(((double *)S->values)[(j / 4 * 2 + row) * 4 + j % 4] ==
                        (j < WIDTH ? row * 100 + j + 1 : 0));
    tess_sliced_destroy(S);
    tess_matrix_destroy(A);
}

/* Two block rows of 2x1 blocks, lengths 1 and 2, one slice, V = 1, by hand. */
static void values_lie_at_stride_one_over_the_slice(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[] = {0, 1, 3};
    int32_t columns[] = {2, 0, 1};
    double values[] = {1, 2, 3, 4, 5, 6};
    tess_matrix *A = test_blocks(ctx, 4, 3, 2, 1, offsets, columns, values);
    tess_sliced *S;
    assert_int_equal(
        tess_sliced_create(ctx, A, &(tess_sliced_options){.height = 2, .vector = 1}, &S), TESS_OK);
    const double expected[] = {1, 2, 3, 4, 0, 0, 5, 6};
    const int32_t expected_columns[] = {2, 0, 0, 1};
    assert_int_equal(tess_sliced_stored(S), 8);
    assert_memory_equal(S->values, expected, sizeof expected);
    assert_memory_equal(S->columns, expected_columns, sizeof expected_columns);
    tess_sliced_destroy(S);

    /* V = 2: groups of two blocks, the row's two scalars together. */
    assert_int_equal(
        tess_sliced_create(ctx, A, &(tess_sliced_options){.height = 2, .vector = 2}, &S), TESS_OK);
    const double paired[] = {1, 0, 2, 0, 3, 5, 4, 6};
    const int32_t paired_columns[] = {2, 0, 0, 1};
    assert_int_equal(S->group, 2);
    assert_memory_equal(S->values, paired, sizeof paired);
    assert_memory_equal(S->columns, paired_columns, sizeof paired_columns);
    tess_sliced_destroy(S);
    tess_matrix_destroy(A);
}

static void lines_fall_in_length_inside_a_window(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 50, 2, 2, TESS_F64, 3);
    tess_sliced *S;
    assert_int_equal(tess_sliced_create(ctx, A, &(tess_sliced_options){4, 16, 6, 1, 1}, &S),
                     TESS_OK);
    for (int64_t line = 0; line < S->panel[0].lines; line++) {
        assert_in_range(S->lengths[line], 0, 6);
        if (line % 16 != 0)
            assert_true(S->lengths[line] <= S->lengths[line - 1]);
    }
    assert_int_equal(S->cut_row[S->cut_rows / 2] >= 0, 1);
    tess_sliced_destroy(S);
    tess_matrix_destroy(A);
}

/* Checks what a product relies on. Each panel has its own range of columns. The first and the last
 * panel have every row, once or as a cut row. Panels between them have only rows with blocks. */
static void check_panels(const tess_sliced *S, int64_t block_cols)
{
    int32_t P = S->options.panels, C = S->options.height;
    int64_t width = tess_ceil_div(block_cols, P), slices = 0, cut_rows = 0;
    int *seen = calloc((size_t)S->block_rows + 1, sizeof *seen);
    for (int32_t q = 0; q < P; q++) {
        const tess_sliced_panel *panel = &S->panel[q];
        assert_int_equal(panel->first_slice, slices);
        assert_int_equal(panel->first_cut, cut_rows);
        memset(seen, 0, (size_t)S->block_rows * sizeof *seen);
        for (int64_t i = 0; i < panel->slices * C; i++) {
            int64_t s = slices + i / C, line = slices * C + i;
            int32_t target = S->targets ? S->targets[line] : (int32_t)line;
            if (i >= panel->lines)
                assert_int_equal(S->lengths[line], 0);
            else if (target >= 0)
                seen[target]++;
            if (i < panel->lines && q > 0 && q < P - 1)
                assert_true(S->lengths[line] > 0);
            for (int32_t k = 0; k < S->lengths[line]; k++) {
                int64_t group = (S->offsets[s] + k / S->group) * C + i % C;
                int32_t column = S->columns[group * S->group + k % S->group];
                assert_int_equal(column / width, q);
            }
        }
        for (int64_t i = cut_rows; i < cut_rows + panel->cut_rows; i++) {
            int32_t segments = S->cut_slots[i + 1] - S->cut_slots[i];
            assert_true(segments > 1);
            assert_int_equal(segments > TESS_SLICED_LONG, i < cut_rows + panel->cut_long);
            seen[S->cut_row[i]]++;
        }
        for (int64_t row = 0; row < S->block_rows; row++)
            assert_true(seen[row] == 1 || (seen[row] == 0 && q > 0 && q < P - 1));
        slices += panel->slices;
        cut_rows += panel->cut_rows;
    }
    assert_int_equal(slices, S->slices);
    assert_int_equal(cut_rows, S->cut_rows);
    free(seen);
}

/* Matrices of 1 and 2 block columns have fewer of them than panels. */
static void panels_cut_the_columns_and_keep_the_rows(void **state)
{
    static const int64_t sizes[] = {1, 2, 5, 40};
    tess_ctx *ctx = test_ctx(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            tess_matrix *A = test_matrix(ctx, pattern, sizes[n], 3, 2, TESS_F64, 11);
            for (int i = 0; i < SETTINGS; i++) {
                tess_sliced *S;
                tess_matrix *B;
                assert_int_equal(tess_sliced_create(ctx, A, &settings[i], &S), TESS_OK);
                check_panels(S, A->block_cols);
                assert_int_equal(test_sliced_to_bsr(ctx, S, A, &B), TESS_OK);
                test_check_identical("to slices and back", A, B);
                tess_matrix_destroy(B);
                tess_sliced_destroy(S);
            }
            tess_matrix_destroy(A);
        }
    }
}

static void threads_do_not_change_the_arrays(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 90, 3, 3, TESS_F64, 3);
    tess_sliced *one, *many;
    int before = ctx->threads;
    assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK);
    assert_int_equal(tess_sliced_create(ctx, A, &settings[8], &one), TESS_OK);
    assert_int_equal(tess_ctx_set_threads(ctx, 3), TESS_OK);
    assert_int_equal(tess_sliced_create(ctx, A, &settings[8], &many), TESS_OK);
    assert_int_equal(tess_ctx_set_threads(ctx, before), TESS_OK);
    assert_int_equal(tess_sliced_stored(one), tess_sliced_stored(many));
    assert_memory_equal(one->values, many->values, (size_t)tess_sliced_stored(one) * 8);
    assert_memory_equal(one->targets, many->targets, (size_t)one->slices * 4 * sizeof(int32_t));
    tess_sliced_destroy(one);
    tess_sliced_destroy(many);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_storages_promise),
        cmocka_unit_test(rows_of_wide_blocks_end_with_zeros),
        cmocka_unit_test(values_lie_at_stride_one_over_the_slice),
        cmocka_unit_test(lines_fall_in_length_inside_a_window),
        cmocka_unit_test(panels_cut_the_columns_and_keep_the_rows),
        cmocka_unit_test(threads_do_not_change_the_arrays),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
