/* Levels and colours obey their definitions. */
#include <math.h>

#include "problems.h"
#include "shapes.h"
#include "solve/pc/triangles/levels.h"

static int64_t stage_of(const tess_stages *s, int64_t row)
{
    for (int64_t i = 0; i < s->count; i++)
        if (s->places[row] < s->offsets[i + 1])
            return i;
    return -1;
}

/* Checks that each row occurs once, that `places` is the inverse order, and that no block couples
 * two rows of a stage. */
static void check_stages(const tess_stages *s, const tess_matrix *A, bool levels, const char *what)
{
    assert_int_equal(s->offsets[0], 0);
    assert_int_equal(s->offsets[s->count], A->block_rows);
    for (int64_t i = 0; i < A->block_rows; i++) {
        assert_int_equal(s->rows[s->places[i]], i);
        bool waits = stage_of(s, i) == 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k], low = i < j ? i : j, high = i < j ? j : i;
            if (i == j)
                continue;
            if (stage_of(s, i) == stage_of(s, j))
                fail_msg("%s: rows %lld and %lld are coupled in one stage", what, (long long)i,
                         (long long)j);
            if (levels && stage_of(s, low) > stage_of(s, high))
                fail_msg("%s: row %lld comes before row %lld", what, (long long)high,
                         (long long)low);
            waits |= j < i && stage_of(s, j) == stage_of(s, i) - 1;
        }
        /* Symmetric patterns: a row of a level waits for one of the level before. */
        if (levels && !waits)
            fail_msg("%s: row %lld could be in an earlier level", what, (long long)i);
    }
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t p = s->offsets[i]; p + 1 < s->offsets[i + 1]; p++)
            assert_true(s->rows[p] < s->rows[p + 1]);
}

static tess_stages make(void **state, const tess_matrix *A, bool levels)
{
    const int64_t whole[2] = {0, A->block_rows};
    tess_stages s;
    assert_int_equal(levels ? tess_stages_by_levels(test_ctx(state), A, 1, whole, &s)
                            : tess_stages_by_colours(test_ctx(state), A, 1, whole, &s),
                     TESS_OK);
    return s;
}

static void stages_separate_rows_that_are_coupled(void **state)
{
    for (test_shape shape = 0; shape < TEST_SHAPES; shape++)
        for (int levels = 0; levels < 2; levels++) {
            tess_matrix *A =
                test_shape_matrix(test_ctx(state), shape, 60, 2, true, TESS_F64, 9 + shape);
            tess_stages s = make(state, A, levels);
            check_stages(&s, A, levels, test_shape_name(shape));
            tess_stages_free(&s);
            tess_matrix_destroy(A);
        }
}

/* Patterns that are not symmetric: blocks of either triangle couple. */
static void one_sided_blocks_couple(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_UPPER, 20, 1, false, TESS_F64, 1);
    tess_stages levels = make(state, A, true), colours = make(state, A, false);
    assert_int_equal(levels.count, 2); /* row 0, then all others */
    assert_int_equal(colours.count, 2);
    assert_int_equal(levels.offsets[1], 1);
    tess_stages_free(&levels);
    tess_stages_free(&colours);
    tess_matrix_destroy(A);
}

static void check_counts(void **state, tess_matrix *A, int64_t levels, int64_t colours)
{
    tess_stages l = make(state, A, true), c = make(state, A, false);
    assert_int_equal(l.count, levels);
    assert_int_equal(c.count, colours);
    const tess_stage_statistics s = tess_stages_describe(&l);
    assert_int_equal(s.count, levels);
    assert_true(s.narrowest <= s.widest &&
                fabs(s.mean * (double)levels - (double)A->block_rows) < 1e-6);
    tess_stages_free(&l);
    tess_stages_free(&c);
    tess_matrix_destroy(A);
}

static void known_patterns_have_their_number_of_stages(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    check_counts(state, test_shape_matrix(ctx, TEST_SHAPE_ONE, 1, 3, true, TESS_F64, 1), 1, 1);
    check_counts(state, test_shape_matrix(ctx, TEST_SHAPE_DIAGONAL, 50, 1, true, TESS_F64, 1), 1,
                 1);
    check_counts(state, test_shape_matrix(ctx, TEST_SHAPE_CHAIN, 50, 1, true, TESS_F64, 1), 50, 2);
    check_counts(state, test_shape_matrix(ctx, TEST_SHAPE_ARROW, 50, 1, true, TESS_F64, 1), 2, 2);
    /* i + j + k, and red and black. */
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=6,b=2", &A, NULL), TESS_OK);
    check_counts(state, A, 16, 2);
    /* i + 2 j + 4 k, and the corners of a cube. */
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=6,b=1", &A, NULL), TESS_OK);
    check_counts(state, A, 36, 8);
}

static void a_matrix_without_rows_has_no_stages(void **state)
{
    tess_matrix *A;
    assert_int_equal(tess_matrix_allocate(test_ctx(state), TESS_F64, 0, 0, 1, 1, 0, &A), TESS_OK);
    tess_stages s = make(state, A, true);
    assert_int_equal(s.count, 0);
    tess_stages_free(&s);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_separate_rows_that_are_coupled),
        cmocka_unit_test(one_sided_blocks_couple),
        cmocka_unit_test(known_patterns_have_their_number_of_stages),
        cmocka_unit_test(a_matrix_without_rows_has_no_stages),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
