/* Assembly: blocks and elements in any order, from several threads, step after step. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "core/threads.h"

/* Two 2-node elements with 1 x 1 blocks share node 1:  [1 2 .; 3 4+10 20; . 30 40]. */
static void two_elements_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_builder *builder;
    tess_matrix *A;
    assert_int_equal(tess_builder_create(ctx, TESS_F64, 3, 3, 1, 1, 1, &builder), TESS_OK);
    tess_inserter *in = tess_builder_inserter(builder, 0);
    const int64_t right[] = {1, 2}, left[] = {0, 1};
    assert_int_equal(tess_inserter_add_element(in, 2, right, 2, NULL,
                                               (const double[]){10, 30, 20, 40},
                                               TESS_ORDER_COLUMN_MAJOR),
                     TESS_OK);
    assert_int_equal(tess_inserter_add_element(in, 2, left, 2, left, (const double[]){1, 2, 3, 4},
                                               TESS_ORDER_ROW_MAJOR),
                     TESS_OK);
    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
    const int64_t offsets[] = {0, 2, 5, 7};
    const int32_t columns[] = {0, 1, 0, 1, 2, 1, 2};
    const double values[] = {1, 2, 3, 14, 20, 30, 40};
    assert_memory_equal(A->row_offsets, offsets, sizeof offsets);
    assert_memory_equal(A->columns, columns, sizeof columns);
    assert_memory_equal(A->values, values, sizeof values);

    /* The next step adds only the left element. The places that only the right one has become 0. */
    assert_int_equal(tess_inserter_add_element(in, 2, left, 2, NULL, (const double[]){5, 6, 7, 8},
                                               TESS_ORDER_ROW_MAJOR),
                     TESS_OK);
    assert_int_equal(tess_builder_update(builder, A), TESS_OK);
    const double next[] = {5, 6, 7, 8, 0, 0, 0};
    assert_memory_equal(A->columns, columns, sizeof columns);
    assert_memory_equal(A->values, next, sizeof next);
    tess_matrix_destroy(A);

    /* The next matrix, to which nothing is added. */
    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
    assert_int_equal(A->blocks, 7);
    for (int i = 0; i < 7; i++)
        assert_true(((double *)A->values)[i] == 0);
    tess_matrix_destroy(A);
    tess_builder_destroy(builder);
}

static void rectangular_blocks_in_both_orders_and_ragged_padding(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_builder *builder;
    tess_matrix *A;
    /* 3 x 4 in blocks of 2 x 3: a grid of 2 x 2, padded below and to the right. */
    assert_int_equal(tess_builder_create(ctx, TESS_F32, 3, 4, 2, 3, 1, &builder), TESS_OK);
    tess_inserter *in = tess_builder_inserter(builder, 0);
    const float values[] = {1, 2, 3, 4, 5, 6};
    assert_int_equal(tess_inserter_add_block(in, 1, 1, values, TESS_ORDER_ROW_MAJOR), TESS_OK);
    assert_int_equal(tess_inserter_add_block(in, 0, 0, values, TESS_ORDER_ROW_MAJOR), TESS_OK);
    assert_int_equal(tess_inserter_add_block(in, 0, 0, values, TESS_ORDER_COLUMN_MAJOR), TESS_OK);
    /* A 4 x 3 element: block rows 1 and 0 (skipped), block column 0. */
    const float tall[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 11, 12, 13};
    const int64_t rows[] = {1, -1}, cols[] = {0};
    assert_int_equal(tess_inserter_add_element(in, 2, rows, 1, cols, tall, TESS_ORDER_ROW_MAJOR),
                     TESS_OK);
    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
    const float expected[] = {2,  6, 5,  9, 8,  12, /* (0, 0): 1 4 2 5 3 6 + 1 2 3 4 5 6 */
                              10, 0, 20, 0, 30, 0,  1, 0, 0, 0, 0, 0};
    assert_int_equal(A->blocks, 3);
    assert_memory_equal(A->values, expected, sizeof expected);
    test_check_valid("ragged assembly", A);
    tess_matrix_destroy(A);
    tess_builder_destroy(builder);
}

static void bad_blocks_are_named_and_finish_refuses(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_builder *builder;
    tess_matrix *A = NULL;
    const double one[] = {1}, nan[] = {NAN};
    assert_int_equal(tess_builder_create(ctx, TESS_F64, 3, 4, 1, 1, 2, &builder), TESS_OK);
    tess_inserter *in = tess_builder_inserter(builder, 1);
    assert_null(tess_builder_inserter(builder, 2));
    assert_null(tess_builder_inserter(builder, -1));
    assert_int_equal(tess_inserter_add_block(NULL, 0, 0, one, TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_inserter_error(in), "");

    assert_int_equal(tess_inserter_add_block(in, 3, 0, one, TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_inserter_error(in), "block row 3 is outside 0..2");
    /* From here on the builder takes no blocks and makes no matrix. */
    assert_int_equal(tess_inserter_add_block(in, 0, 0, one, TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_builder_finish(builder, &A), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "inserter 1: block row 3 is outside 0..2");
    assert_null(A);

    tess_builder_clear(builder);
    assert_string_equal(tess_inserter_error(in), "");
    assert_int_equal(tess_inserter_add_block(in, 0, 4, one, TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_inserter_error(in), "block column 4 is outside 0..3");
    tess_builder_clear(builder);
    assert_int_equal(tess_inserter_add_block(in, 0, 0, NULL, TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_ARGUMENT);
    tess_builder_clear(builder);
    assert_int_equal(
        tess_inserter_add_element(in, 1, (const int64_t[]){0}, 2, NULL, one, TESS_ORDER_ROW_MAJOR),
        TESS_ERR_ARGUMENT);
    tess_builder_clear(builder);
    assert_int_equal(tess_inserter_add_block(in, 0, 0, one, (tess_block_order)2),
                     TESS_ERR_ARGUMENT);
    assert_string_equal(tess_inserter_error(in),
                        "order 2 is neither TESS_ORDER_COLUMN_MAJOR nor TESS_ORDER_ROW_MAJOR");
    tess_builder_clear(builder);
    assert_int_equal(
        tess_inserter_add_element(in, 1, (const int64_t[]){0}, 1, NULL, one, (tess_block_order)-1),
        TESS_ERR_ARGUMENT);
    tess_builder_clear(builder);
    assert_int_equal(tess_builder_update(builder, NULL), TESS_ERR_ARGUMENT);

    assert_int_equal(tess_inserter_add_block(in, 2, 1, nan, TESS_ORDER_ROW_MAJOR), TESS_OK);
    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
    assert_true(isnan(*(double *)A->values));
    /* Half of this element is outside the pattern: none of it may be added. */
    const int64_t rows[] = {2}, cols[] = {1, 3};
    assert_int_equal(tess_inserter_add_element(in, 1, rows, 2, cols, (const double[]){1, 2},
                                               TESS_ORDER_ROW_MAJOR),
                     TESS_ERR_PATTERN);
    assert_string_equal(tess_inserter_error(in), "block (2, 3) is outside the pattern");
    assert_int_equal(tess_builder_update(builder, A), TESS_ERR_PATTERN);
    tess_builder_clear(builder);
    assert_int_equal(tess_builder_update(builder, A), TESS_OK);
    assert_true(*(double *)A->values == 0);

    tess_matrix *other = test_matrix(ctx, TEST_DIAGONAL, 3, 1, 1, TESS_F64, 1);
    assert_int_equal(tess_builder_update(builder, other), TESS_ERR_ARGUMENT);
    tess_matrix_destroy(other);
    tess_matrix_destroy(A);
    tess_builder_destroy(builder);

    assert_int_equal(tess_builder_create(ctx, TESS_F64, 3, 4, 1, 1, 0, &builder),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_builder_create(ctx, TESS_F64, 3, 4, 0, 1, 1, &builder),
                     TESS_ERR_ARGUMENT);
}

enum { INSERTERS = 4, ADDS = 3000, GRID = 23 };

struct add_some {
    tess_builder *builder;
    int32_t r, c;
    uint64_t seed;
};

static void add_some(void *arg, tess_range range)
{
    const struct add_some *job = arg;
    const int32_t r = job->r, c = job->c;
    const uint64_t seed = job->seed;
    for (int id = (int)range.first; id < range.last; id++) {
        tess_inserter *in = tess_builder_inserter(job->builder, id);
        double values[64];
        for (uint64_t k = 0; k < ADDS; k++) {
            uint64_t at = (uint64_t)id * ADDS + k;
            for (int i = 0; i < r * c; i++)
                values[i] = tess_random_unit(seed + 2, at * 64 + (uint64_t)i);
            /* The places do not depend on the seed: every step has the same pattern. */
            if (tess_inserter_add_block(in, tess_random_below(1, at, GRID),
                                        tess_random_below(2, at, GRID), values,
                                        TESS_ORDER_COLUMN_MAJOR) != TESS_OK)
                abort();
        }
    }
}

/* Adds a fixed list of blocks to each inserter, with `threads` threads. */
static void add_all(tess_builder *builder, int32_t r, int32_t c, uint64_t seed, int threads)
{
    tess_ctx *ctx; /* not the builder's: inserters are for threads of the caller */
    assert_int_equal(tess_ctx_create(NULL, &ctx), TESS_OK);
    tess_for_dynamic(ctx, threads, INSERTERS, 1, add_some, &(struct add_some){builder, r, c, seed});
    tess_ctx_destroy(ctx);
}

/* The dense sum of what add_all adds, in the order of (inserter, insertion). */
static double *dense_sum(int32_t r, int32_t c, uint64_t seed)
{
    int64_t cols = GRID * c;
    double *dense = calloc((size_t)(GRID * r * cols), sizeof *dense);
    for (uint64_t at = 0; at < INSERTERS * ADDS; at++) {
        int64_t row = tess_random_below(1, at, GRID) * r, col = tess_random_below(2, at, GRID) * c;
        for (int i = 0; i < r * c; i++)
            dense[(row + i % r) * cols + col + i / r] +=
                tess_random_unit(seed + 2, at * 64 + (uint64_t)i);
    }
    return dense;
}

static void threads_and_schedules_never_change_the_sum(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        int32_t r, c;
    } shapes[] = {{1, 1}, {3, 3}, {2, 5}};
    for (size_t s = 0; s < 3; s++) {
        int32_t r = shapes[s].r, c = shapes[s].c;
        for (int threads = 1; threads <= 5; threads += 2) {
            tess_builder *builder;
            tess_matrix *A;
            assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
            assert_int_equal(
                tess_builder_create(ctx, TESS_F64, GRID * r, GRID * c, r, c, INSERTERS, &builder),
                TESS_OK);
            for (uint64_t step = 0; step < 3; step++) {
                add_all(builder, r, c, 100 + step, threads);
                if (step == 2)
                    assert_int_equal(tess_builder_update(builder, A), TESS_OK);
                else
                    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
                test_check_valid("assembly", A);
                double *want = dense_sum(r, c, 100 + step), *got = test_dense(A);
                if (memcmp(want, got, (size_t)(GRID * r * GRID * c) * sizeof *want) != 0)
                    fail_msg("%dx%d blocks, %d threads, step %d", (int)r, (int)c, threads,
                             (int)step);
                free(want);
                free(got);
                if (step != 1)
                    tess_matrix_destroy(A);
            }
            tess_builder_destroy(builder);
        }
    }
    assert_int_equal(tess_ctx_set_threads(ctx, 0), TESS_OK);
}

static void an_empty_builder_makes_an_empty_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t sizes[][2] = {{0, 0}, {0, 7}, {7, 0}, {7, 7}};
    for (size_t i = 0; i < 4; i++) {
        tess_builder *builder;
        tess_matrix *A;
        assert_int_equal(
            tess_builder_create(ctx, TESS_F64, sizes[i][0], sizes[i][1], 2, 2, 3, &builder),
            TESS_OK);
        assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
        test_check_valid("empty assembly", A);
        assert_int_equal(A->blocks, 0);
        tess_matrix_destroy(A);
        tess_builder_destroy(builder);
    }
    tess_builder_destroy(NULL);
    tess_builder_clear(NULL);
}

static tess_status assemble(tess_ctx *ctx)
{
    const double values[] = {1, 2, 3, 4};
    tess_builder *builder = NULL;
    tess_matrix *A = NULL, *B = NULL;
    tess_status status = tess_builder_create(ctx, TESS_F64, 6, 6, 2, 2, 2, &builder);
    for (int step = 0; status == TESS_OK && step < 2; step++) {
        for (int id = 0; status == TESS_OK && id < 2; id++)
            status = tess_inserter_add_block(tess_builder_inserter(builder, id), id, 1, values,
                                             TESS_ORDER_ROW_MAJOR);
        if (status == TESS_OK)
            status = tess_builder_finish(builder, step ? &B : &A);
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_builder_destroy(builder);
    return status;
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    test_sweep sweep = test_sweep_begin(state);
    while (test_sweep_goes_on(&sweep, assemble(test_ctx(state))))
        ;
    assert_true(sweep.failed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_elements_by_hand),
        cmocka_unit_test(rectangular_blocks_in_both_orders_and_ragged_padding),
        cmocka_unit_test(bad_blocks_are_named_and_finish_refuses),
        cmocka_unit_test(threads_and_schedules_never_change_the_sum),
        cmocka_unit_test(an_empty_builder_makes_an_empty_matrix),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
