/* Interleaved storage: conversion both ways, the place of a block, what is counted, clean failures.
 */
#include <string.h>

#include "format/interleaved.h"
#include "support/storage.h"

static const tess_interleaved_options settings[] = {
    {1, 1, false}, {1, 7, true}, {4, 1, true}, {4, 3, false}, {3, 2, true}, {64, 1, true},
};

static const tess_interleaved_options bad[] = {{0, 1, 0}, {1, 0, 0}, {1025, 1, 0}, {1, 1025, 0}};
#define STORAGE tess_interleaved
#define STORAGE_INVERSE test_interleaved_to_bsr
#include "support/storage.inc.c"

static void keeps_what_storages_promise(void **state)
{
    test_storage_check(state, &storage_calls, 17);
}

/* Three rows of 1, 3 and 2 blocks of 1 x 1; B_y = 2: by hand. */
static void blocks_of_a_step_lie_together(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[] = {0, 1, 4, 6};
    int32_t columns[] = {2, 0, 1, 2, 0, 2};
    double values[] = {1, 2, 3, 4, 5, 6};
    tess_matrix *A = test_blocks(ctx, 3, 3, 1, 1, offsets, columns, values);
    tess_interleaved *I;

    /* Sorted: rows 1, 2 | 0, none. */
    tess_interleaved_options sorted = {2, 1, true};
    assert_int_equal(tess_interleaved_create(ctx, A, &sorted, &I), TESS_OK);
    const double expected[] = {2, 5, 3, 6, 4, 0, 1, 0};
    const int32_t expected_columns[] = {0, 0, 1, 2, 2, -1, 2, -1}, targets[] = {1, 2, 0, -1};
    assert_int_equal(tess_interleaved_stored(I), 8);
    assert_memory_equal(I->values, expected, sizeof expected);
    assert_memory_equal(I->columns, expected_columns, sizeof expected_columns);
    assert_memory_equal(I->targets, targets, sizeof targets);
    tess_interleaved_destroy(I);

    /* Rows in their own order, two blocks of a row per step. */
    tess_interleaved_options plain = {2, 2, false};
    assert_int_equal(tess_interleaved_create(ctx, A, &plain, &I), TESS_OK);
    const double pairs[] = {1, 0, 2, 3, 0, 0, 4, 0, 5, 6, 0, 0};
    assert_int_equal(tess_interleaved_stored(I), 12);
    assert_memory_equal(I->values, pairs, sizeof pairs);
    tess_interleaved_destroy(I);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_storages_promise),
        cmocka_unit_test(blocks_of_a_step_lie_together),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
