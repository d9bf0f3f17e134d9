/* New values in symmetric storage, row by row and with rows in lanes: half of them are stored, and
 * a pair that differs is found anywhere and named. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "cpu/update/update.h"
#include "symmetric.h"

/* Block sizes with code of their own, and others. */
static const int32_t block_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
/* Numbers of lanes that kernels have, and other numbers; 0: row by row. */
static const int lane_counts[] = {0, 2, 3, 4, 8, 16};

enum {
    BLOCK_SIZES = sizeof block_sizes / sizeof *block_sizes,
    LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts
};

/* One of both kinds of storage. */
typedef struct storage {
    tess_symmetric_mirrors *mirrors;
    tess_symmetric_lanes *lanes;
    tess_matrix *upper;
} storage;

/* Whether values are written by non-temporal stores, as those of large matrices are. */
static bool nontemporal;

static tess_status update(const storage *s, const tess_matrix *A)
{
    return s->lanes ? tess_cpu_update_lanes(s->lanes, s->mirrors, A)
                    : tess_cpu_update_upper(s->upper, s->mirrors, A);
}

static storage make(tess_ctx *ctx, const tess_matrix *A, int lanes)
{
    storage made = {0};
    assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &made.mirrors), TESS_OK);
    assert_false(made.mirrors->nontemporal);
    made.mirrors->nontemporal = nontemporal;
    tess_status status = lanes > 0 ? tess_symmetric_lanes_create(ctx, A, lanes, &made.lanes)
                                   : tess_symmetric_create(ctx, A, made.mirrors, &made.upper);
    assert_int_equal(status, TESS_OK);
    assert_int_equal(update(&made, A), TESS_OK);
    return made;
}

static void drop(storage *s)
{
    tess_symmetric_mirrors_destroy(s->mirrors);
    tess_symmetric_lanes_destroy(s->lanes);
    tess_matrix_destroy(s->upper);
}

/* Checks that the storage has A's blocks on and above the diagonal. */
static void check_stored(const storage *s, const tess_matrix *A)
{
    const int64_t size = (int64_t)A->block_height * A->block_height;
    int64_t upper = s->mirrors->offsets[A->block_rows];
    if (s->lanes)
        assert_int_equal(symmetric_check_slots(s->lanes, A), upper);
    for (int64_t i = 0; s->upper && i < A->block_rows; i++)
        for (int64_t k = s->upper->row_offsets[i]; k < s->upper->row_offsets[i + 1]; k++)
            for (int64_t e = 0, of = tess_matrix_find(A, i, s->upper->columns[k]); e < size; e++)
                assert_true(tess_matrix_value(s->upper, k * size + e) ==
                            tess_matrix_value(A, of * size + e));
}

static void scale(tess_matrix *A, double factor)
{
    for (int64_t i = 0; i < tess_matrix_stored(A); i++)
        tess_put(A->values, A->type, i, factor * tess_matrix_value(A, i));
}

typedef void (*check)(tess_ctx *ctx, tess_matrix *A, int lanes);

static void with_every_size(tess_ctx *ctx, test_pattern pattern, int64_t rows, check run)
{
    for (int t = 0; t < 2 * BLOCK_SIZES * LANE_COUNTS; t++) {
        const int32_t b = block_sizes[t / 2 % BLOCK_SIZES];
        if (!test_takes((uint64_t)(t / 2 + (int)pattern)))
            continue;
        tess_matrix *A =
            symmetric_matrix(ctx, pattern, rows, b, t % 2 ? TESS_F32 : TESS_F64, (uint64_t)t);
        for (int p = 0; p < 2; p++) {
            nontemporal = p != 0;
            run(ctx, A, lane_counts[t / 2 / BLOCK_SIZES]);
        }
        nontemporal = false;
        tess_matrix_destroy(A);
    }
}

static void check_new(tess_ctx *ctx, tess_matrix *A, int lanes)
{
    storage s = make(ctx, A, lanes);
    scale(A, -3);
    assert_int_equal(update(&s, A), TESS_OK);
    check_stored(&s, A);
    drop(&s);
}

/* With rows that do not fill the last group, empty ones, and none at all. */
static void new_numbers_are_stored_where_the_old_ones_were(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
        with_every_size(ctx, (test_pattern)pattern, 21, check_new);
}

/* Checks the message about value `at` of A, the only one without an equal mirror, which was `kept`
 * before. */
static void expected_message(const tess_matrix *A, int64_t i, int64_t at, double kept, char *text,
                             size_t size)
{
    const int64_t b = A->block_height, in = at % (b * b);
    int64_t row = i * b + in % b, col = A->columns[at / (b * b)] * b + in / b;
    double here = tess_matrix_value(A, at), there = kept;
    /* The message names the first of the two values: the one in the block above the diagonal or, in
     * a diagonal block, the one in the first column. */
    const bool diagonal = A->columns[at / (b * b)] == i;
    if (diagonal ? row < col : row > col) {
        const int64_t other = row;
        row = col, col = other;
        here = kept, there = tess_matrix_value(A, at);
    }
    snprintf(text, size, "symmetric: a(%lld, %lld) = %.17g, but a(%lld, %lld) = %.17g",
             (long long)row, (long long)col, here, (long long)col, (long long)row, there);
}

/* Changes every value of the first, the last and the diagonal block of every row in turn. */
static void check_refused(tess_ctx *ctx, tess_matrix *A, int lanes)
{
    const int64_t b = A->block_height, size = b * b;
    storage s = make(ctx, A, lanes);
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t first = A->row_offsets[i], last = A->row_offsets[i + 1] - 1;
        for (int64_t at = first * size; at < (last + 1) * size; at++) {
            const int64_t k = at / size, j = A->columns[k];
            if (k != first && k != last && j != i)
                continue;
            const double kept = tess_matrix_value(A, at);
            tess_put(A->values, A->type, at, kept + 1);
            const bool alone = j == i && at % size / b == at % size % b;
            const tess_status status = update(&s, A);
            assert_int_equal(status, alone ? TESS_OK : TESS_ERR_MATRIX);
            char message[200];
            expected_message(A, i, at, kept, message, sizeof message);
            if (!alone)
                assert_string_equal(tess_ctx_error(ctx), message);
            tess_put(A->values, A->type, at, kept);
        }
    }
    assert_int_equal(update(&s, A), TESS_OK);
    check_stored(&s, A);
    drop(&s);
}

static void a_pair_that_differs_is_named_wherever_it_is(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int threads = 1; threads <= 3; threads += 2) {
        assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
        with_every_size(ctx, TEST_BANDED, 9, check_refused);
    }
    assert_int_equal(tess_ctx_set_threads(ctx, 0), TESS_OK);
}

/* A grid has far more blocks below the diagonal than mirrors are prefetched. */
static void so_is_one_in_a_grid(void **state)
{
    static const char *const grids[] = {"stencil27:n=4,b=1", "stencil27:n=4,b=2",
                                        "stencil27:n=4,b=3", "stencil7:n=5,b=4"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        for (int lanes = 0; lanes <= 4; lanes += 2) {
            tess_matrix *A = NULL;
            assert_int_equal(tess_matrix_generate(ctx, grids[g], &A, NULL), TESS_OK);
            check_refused(ctx, A, lanes);
            tess_matrix_destroy(A);
        }
    }
}

/* In rows without a diagonal block, the first block above the diagonal must not be taken for one.
 */
static void rows_may_lack_the_diagonal(void **state)
{
    static const int64_t offsets[] = {0, 1, 3, 4};
    static const int32_t columns[] = {1, 0, 2, 1};
    static double values[] = {1, 2, 3, 4, 1, 3, 2, 4, 5, 6, 7, 8, 5, 7, 6, 8};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix A = {.ctx = ctx,
                     .type = TESS_F64,
                     .rows = 6,
                     .cols = 6,
                     .block_height = 2,
                     .block_width = 2,
                     .block_rows = 3,
                     .block_cols = 3,
                     .blocks = 4,
                     .row_offsets = (int64_t *)offsets,
                     .columns = (int32_t *)columns,
                     .values = values};
    for (int lanes = 0; lanes <= 2; lanes += 2) {
        storage s = make(ctx, &A, lanes);
        assert_false(s.mirrors->diagonal);
        check_refused(ctx, &A, lanes);
        drop(&s);
    }
}

/* With more blocks than a place can number, mirrors are searched for. */
static void mirrors_without_a_place_are_found(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = symmetric_matrix(ctx, TEST_RANDOM, 30, 2, TESS_F64, 4);
    for (int lanes = 0; lanes <= 2; lanes += 2) {
        storage s = make(ctx, A, lanes);
        assert_non_null(s.mirrors->places);
        tess_free(ctx, s.mirrors->places);
        s.mirrors->places = NULL;
        scale(A, 2);
        assert_int_equal(update(&s, A), TESS_OK);
        check_stored(&s, A);
        for (int64_t k = 0; k < A->blocks; k++) {
            double *number = (double *)A->values + 4 * k + 1, kept = *number;
            *number += 1;
            assert_int_equal(update(&s, A), TESS_ERR_MATRIX);
            *number = kept;
        }
        drop(&s);
    }
    tess_matrix_destroy(A);
}

/* Zeros of both signs are equal, and so are any two NaN, in a plan's first values as in new ones.
 * Both cases lie side by side in a group of rows. */
static void zeros_and_nans_are_equal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int lanes = 0; lanes <= 4; lanes += 2) {
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=4,b=3", &A, NULL), TESS_OK);
        storage before = make(ctx, A, lanes);
        double *values = A->values;
        for (int64_t i = 0; i + 1 < A->block_rows; i++) {
            const int64_t k = A->row_offsets[i + 1] - 1;
            double *other = values + 9 * tess_matrix_find(A, A->columns[k], i) + 3;
            values[9 * k + 1] = i % 3 == 0 ? 0 : i % 3 == 1 ? NAN : values[9 * k + 1];
            *other = i % 3 == 0 ? -0.0 : i % 3 == 1 ? -NAN : *other;
        }
        values[9 * tess_matrix_find(A, 5, 5)] = NAN;
        assert_int_equal(update(&before, A), TESS_OK);
        storage after = make(ctx, A, lanes);
        values[9 * tess_matrix_find(A, 5, 5) + 1] = 7;
        assert_int_equal(update(&before, A), TESS_ERR_MATRIX);
        assert_int_equal(update(&after, A), TESS_ERR_MATRIX);
        drop(&before);
        drop(&after);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_numbers_are_stored_where_the_old_ones_were),
        cmocka_unit_test(a_pair_that_differs_is_named_wherever_it_is),
        cmocka_unit_test(so_is_one_in_a_grid),
        cmocka_unit_test(rows_may_lack_the_diagonal),
        cmocka_unit_test(mirrors_without_a_place_are_found),
        cmocka_unit_test(zeros_and_nans_are_equal),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
