/* Swept storage: conversion both ways, what a kernel relies on, clean failures. */
#include <string.h>

#include "format/sliced.h"
#include "format/swept.h"
#include "support/storage.h"

static const tess_swept_options settings[] = {
    {.chunks = 1, .lines = TESS_SWEPT_NONE, .split = 16},
    {.chunks = 1, .lines = 7, .split = 1},
    {.chunks = 5, .lines = 100, .split = 3},
    {.chunks = 1000, .lines = 1, .split = 2},
    {.chunks = 9, .lines = 33, .split = 1 << 30},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const tess_swept_options bad[] = {
    {0, 9, 9}, {1, 0, 9}, {1, TESS_SWEPT_NONE + 1, 9}, {1, 9, 0}};
#define STORAGE tess_swept
#define STORAGE_INVERSE test_swept_to_bsr
#include "support/storage.inc.c"

static void keeps_what_storages_promise(void **state)
{
    test_storage_check(state, &storage_calls, 7);
}

/* Three block rows of 1x3 blocks in one chunk: two steps, as row 1 has two blocks. */
static void blocks_lie_by_column_in_steps_of_different_rows(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[] = {0, 1, 3, 4};
    int32_t columns[] = {2, 1, 3, 1};
    double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    tess_matrix *A = test_blocks(ctx, 3, 12, 1, 3, offsets, columns, values);
    tess_swept *S;
    assert_int_equal(tess_swept_create(ctx, A, &settings[0], &S), TESS_OK);
    assert_int_equal(tess_swept_steps(S), 2);
    const uint32_t one = 1 << TESS_SWEPT_BITS;
    const uint32_t words[] = {one | 1, one | 2, 2 * one | 0, TESS_SWEPT_NONE};
    assert_memory_equal(S->words, words, sizeof words);
    assert_int_equal(S->words[32], 3 * one | 1);
    const double pairs[] = {4, 5, 10, 11, 1, 2, 0, 0}, singles[] = {6, 12, 3, 0};
    assert_memory_equal(S->values, pairs, sizeof pairs);
    assert_memory_equal((double *)S->values + 64, singles, sizeof singles);
    const double second[] = {7, 8, 0, 0};
    assert_memory_equal((double *)S->values + 96, second, sizeof second);
    tess_swept_destroy(S);
    tess_matrix_destroy(A);
}

/* Checks that every line is in one chunk, that a chunk has rows or segments and not too many, that
 * a step has no line twice, and that every block occurs once. */
static void check(const tess_swept *S, int64_t block_cols)
{
    int64_t found = 0;
    assert_int_equal(S->chunk_line[0], 0);
    assert_int_equal(S->chunk_line[S->chunks], S->lines);
    assert_int_equal(S->lines, S->block_rows + S->cut_slots[S->cut_rows]);
    for (int64_t c = 0; c < S->chunks; c++) {
        int32_t first = S->chunk_line[c], end = S->chunk_line[c + 1];
        assert_in_range(end - first, 1, S->line_most);
        assert_true(first >= S->block_rows || end <= S->block_rows);
        int64_t base = 0, end_step = S->first_step[(c + 1) * S->panels];
        for (int64_t step = S->first_step[c * S->panels]; step < end_step; step++) {
            while (step == S->first_step[c * S->panels + base / TESS_SWEPT_PANEL + 1])
                base += TESS_SWEPT_PANEL;
            bool seen[TESS_SWEPT_NONE] = {false};
            for (int lane = 0; lane < TESS_SWEPT_LANES; lane++) {
                uint32_t word = S->words[step * TESS_SWEPT_LANES + lane];
                uint32_t line = word & TESS_SWEPT_NONE;
                assert_true(base + (int64_t)(word >> TESS_SWEPT_BITS) < block_cols);
                if (line == TESS_SWEPT_NONE)
                    continue;
                assert_true(first + (int64_t)line < end);
                assert_false(seen[line]);
                seen[line] = true;
                found++;
            }
        }
    }
    assert_in_range(S->line_most, 0, S->options.lines);
    assert_int_equal(found, S->blocks);
    for (int64_t i = 0; i < S->cut_rows; i++) {
        assert_int_equal(S->cut_slots[i + 1] - S->cut_slots[i] > TESS_SLICED_LONG, i < S->cut_long);
        assert_int_equal(S->lengths[S->cut_row[i]], 0);
    }
}

static void lanes_of_a_step_never_share_a_line(void **state)
{
    static const int64_t sizes[] = {1, 2, 5, 40, 150};
    tess_ctx *ctx = test_ctx(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            tess_matrix *A = test_matrix(ctx, pattern, sizes[n], 3, 2, TESS_F64, 11);
            for (int i = 0; i < SETTINGS; i++) {
                tess_swept *S;
                assert_int_equal(tess_swept_create(ctx, A, &settings[i], &S), TESS_OK);
                check(S, A->block_cols);
                tess_swept_destroy(S);
            }
            tess_matrix_destroy(A);
        }
    }
}

/* Columns too far apart for the offset that a word holds are in different steps. An empty panel has
 * no steps. */
static void distant_columns_are_in_other_panels(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[] = {0, 1, 2, 3};
    int32_t columns[] = {5, 5 + 2 * TESS_SWEPT_PANEL, 4 + 2 * TESS_SWEPT_PANEL};
    double values[] = {1, 2, 3};
    tess_matrix *A = test_blocks(ctx, 3, 6 + 2 * TESS_SWEPT_PANEL, 1, 1, offsets, columns, values);
    tess_matrix *B;
    tess_swept *S;
    assert_int_equal(tess_swept_create(ctx, A, &settings[0], &S), TESS_OK);
    assert_int_equal(tess_swept_steps(S), 2);
    check(S, A->block_cols);
    assert_int_equal(test_swept_to_bsr(ctx, S, A, &B), TESS_OK);
    test_check_identical("to steps and back", A, B);
    tess_matrix_destroy(B);
    tess_swept_destroy(S);
    tess_matrix_destroy(A);
}

static void no_chunk_has_much_more_work_than_others(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(
        tess_matrix_input(ctx, "gen:powerlaw:rows=20000,avg=7,b=2,long=3,length=2000", &A),
        TESS_OK);
    tess_swept *S;
    tess_swept_options options = {.chunks = 50, .lines = 600, .split = 16};
    assert_int_equal(tess_swept_create(ctx, A, &options, &S), TESS_OK);
    assert_in_range(S->chunks, 50, 50);
    int64_t most = 0;
    for (int64_t c = 0; c < S->chunks; c++) {
        int64_t steps = S->first_step[c + 1] - S->first_step[c];
        most = steps > most ? steps : most;
    }
    assert_true(most * S->chunks * 10 <= tess_swept_steps(S) * 11);
    assert_true(32 * tess_swept_steps(S) <= S->blocks + S->blocks / 20);
    tess_swept_destroy(S);
    tess_matrix_destroy(A);
}

static void threads_do_not_change_the_arrays(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 90, 3, 3, TESS_F64, 3);
    tess_swept *one, *many;
    int before = ctx->threads;
    assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK);
    assert_int_equal(tess_swept_create(ctx, A, &settings[2], &one), TESS_OK);
    assert_int_equal(tess_ctx_set_threads(ctx, 3), TESS_OK);
    assert_int_equal(tess_swept_create(ctx, A, &settings[2], &many), TESS_OK);
    assert_int_equal(tess_ctx_set_threads(ctx, before), TESS_OK);
    assert_int_equal(tess_swept_stored(one), tess_swept_stored(many));
    assert_memory_equal(one->values, many->values, (size_t)tess_swept_stored(one) * 8);
    assert_memory_equal(one->words, many->words, (size_t)tess_swept_steps(one) * 32 * 4);
    tess_swept_destroy(one);
    tess_swept_destroy(many);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_storages_promise),
        cmocka_unit_test(blocks_lie_by_column_in_steps_of_different_rows),
        cmocka_unit_test(lanes_of_a_step_never_share_a_line),
        cmocka_unit_test(distant_columns_are_in_other_panels),
        cmocka_unit_test(no_chunk_has_much_more_work_than_others),
        cmocka_unit_test(threads_do_not_change_the_arrays),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
