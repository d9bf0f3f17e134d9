/* The fbcsr format: every entry is in one place, blocks lie inside the matrix and are full enough,
 * the conversion back is exact, and planted blocks are found. */
#include <string.h>

#include "cpu/update/update.h"
#include "format/fbcsr/split.h"
#include "support/inverse.h"
#include "support/support.h"

static const char *const lists[] = {
    "row:3@0.6",
    "column:4@0.5",
    "diagonal:3@0.9",
    "antidiagonal:3@0.6",
    "2x2@0.7",
    "3x2@0.8,2x3@0.8,1x2@1",
    "4x3+1@0.4",
    "3x2-1@0.5",
    "5x1+2@0.4",
    "2x2@0,row:4@0",
    "square:4@0.7,3x3@0.7,diagonal:8@0.5,antidiagonal:4@0.5,row:4@0.7,column:4@0.7",
    "square,row,column,diagonal,antidiagonal",
    "2x2@1,2x1@1",
    "row:256@0.01,column:256@0.01",
};
enum { LISTS = sizeof lists / sizeof *lists };

static tess_fbcsr_options parsed(tess_ctx *ctx, const char *text)
{
    tess_fbcsr_options options;
    if (tess_shape_list_parse(ctx, text, &options) != TESS_OK)
        fail_msg("%s: %s", text, tess_ctx_error(ctx));
    return options;
}

static tess_fbcsr *made(tess_ctx *ctx, const tess_matrix *A, const char *text)
{
    tess_fbcsr_options options = parsed(ctx, text);
    tess_fbcsr *F;
    if (tess_fbcsr_create(ctx, A, &options, &F) != TESS_OK)
        fail_msg("%s: %s", text, tess_ctx_error(ctx));
    return F;
}

/* Checks that every block is inside the matrix and in order, that by the map it has at least the
 * required number of entries, and that every entry is in one place. */
static void check_rules(const char *what, const tess_fbcsr *F, const tess_fbcsr_options *options)
{
    int64_t total = 0, base = 0;
    uint8_t *used;
    for (int s = 0; s < F->splits; s++)
        total += F->split[s].blocks * tess_shape_cells(&F->split[s].shape);
    used = calloc((size_t)(total + F->rest->blocks) + 1, 1);
    for (int64_t i = 0; i < F->nonzeros; i++) {
        if (F->map[i] < 0 || F->map[i] >= total + F->rest->blocks || used[F->map[i]])
            fail_msg("%s: entry %lld is at %lld, outside or shared", what, (long long)i,
                     (long long)F->map[i]);
        used[F->map[i]] = 1;
    }
    for (int s = 0, o = 0; s < F->splits; s++, o++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_shape *S = &split->shape;
        while (strcmp(options->shape[o].name, S->name) != 0)
            o++;
        double fill =
            options->threshold[o] < 0 ? tess_fbcsr_break_even(S, F->type) : options->threshold[o];
        int64_t cells = tess_shape_cells(S), in_split = 0;
        assert_true(split->blocks > 0);
        for (int64_t b = 0; b < split->blocks; b++) {
            int64_t row = split->rows[b], col = split->cols[b], entries = 0;
            int64_t last = col + (int64_t)S->shift * (S->height - 1);
            if (row < 0 || row + S->height > F->rows || col < 0 || col + S->width > F->cols ||
                last < 0 || last + S->width > F->cols)
                fail_msg("%s: %s block at (%lld, %lld) is outside", what, S->name, (long long)row,
                         (long long)col);
            if (b > 0 && (split->rows[b - 1] > row ||
                          (split->rows[b - 1] == row && split->cols[b - 1] >= col)))
                fail_msg("%s: %s block at (%lld, %lld) is not in order", what, S->name,
                         (long long)row, (long long)col);
            for (int64_t c = 0; c < cells; c++) {
                int64_t at = b * cells + c;
                entries += used[base + at];
                double value = F->type == TESS_F64 ? ((double *)split->values)[at]
                                                   : (double)((float *)split->values)[at];
                if (!used[base + at] && value != 0)
                    fail_msg("%s: padding of a %s block holds %g", what, S->name, value);
            }
            if ((double)entries < fill * (double)cells - 1e-6 || entries < 1)
                fail_msg("%s: %s block at (%lld, %lld) has %lld entries, less than %g", what,
                         S->name, (long long)row, (long long)col, (long long)entries,
                         fill * (double)cells);
            in_split += entries;
        }
        assert_int_equal(in_split, split->nonzeros);
        base += split->blocks * cells;
    }
    free(used);
}

static void inverse_gives_the_matrix_back(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int size = 0; size < 3; size++) {
            int32_t r = size == 0 ? 1 : 3, c = size == 0 ? 1 : 2;
            tess_type type = size == 1 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 40, r, c, type, 7), *csr;
            assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr), TESS_OK);
            for (int i = 0; i < LISTS; i++) {
                char what[128];
                if (!test_takes((uint64_t)(pattern + size + i)))
                    continue;
                snprintf(what, sizeof what, "%s %dx%d %s", test_pattern_name((test_pattern)pattern),
                         (int)r, (int)c, lists[i]);
                tess_fbcsr_options options = parsed(ctx, lists[i]);
                tess_fbcsr *F = made(ctx, A, lists[i]);
                tess_matrix *B;
                check_rules(what, F, &options);
                test_check_valid(what, F->rest);
                assert_int_equal(test_fbcsr_to_csr(ctx, F, &B), TESS_OK);
                test_check_identical(what, csr, B);
                tess_matrix_destroy(B);
                tess_fbcsr_destroy(F);
            }
            tess_matrix_destroy(csr);
            tess_matrix_destroy(A);
        }
    }
}

/* 4 x 5, by hand: a 2 x 2 block, a diagonal of 3 that loses one entry to it, a lone entry.
 *
 *     . 1 2 . .
 *     . 3 4 . .
 *     . . . 5 .
 *     9 . . . 6
 */
static void a_small_matrix_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t offsets[] = {0, 2, 4, 5, 7};
    int32_t columns[] = {1, 2, 1, 2, 3, 0, 4};
    double values[] = {1, 2, 3, 4, 5, 9, 6};
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 4, 5, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    tess_fbcsr *F = made(ctx, A, "2x2@1,diagonal:3@0.6");
    assert_int_equal(F->splits, 2);
    const double square[] = {1, 3, 2, 4}, diagonal[] = {0, 5, 6}, rest[] = {9};
    const int64_t map[] = {0, 2, 1, 3, 5, 7, 6};
    assert_int_equal(F->split[0].blocks, 1);
    assert_int_equal(F->split[0].rows[0], 0);
    assert_int_equal(F->split[0].cols[0], 1);
    assert_memory_equal(F->split[0].values, square, sizeof square);
    assert_int_equal(F->split[1].blocks, 1);
    assert_int_equal(F->split[1].rows[0], 1);
    assert_int_equal(F->split[1].cols[0], 2);
    assert_int_equal(F->split[1].nonzeros, 2);
    assert_memory_equal(F->split[1].values, diagonal, sizeof diagonal);
    assert_int_equal(F->rest->blocks, 1);
    assert_memory_equal(F->rest->values, rest, sizeof rest);
    assert_memory_equal(F->map, map, sizeof map);
    assert_int_equal(tess_fbcsr_bytes(F), (8 + 4 * 8) + (8 + 3 * 8) + 5 * 4 + (4 + 8));
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
}

static tess_matrix *dense(tess_ctx *ctx, int64_t rows, int64_t cols, tess_type type)
{
    int64_t count = rows * cols, *row = malloc((size_t)(count + 1) * sizeof *row),
            *col = malloc((size_t)(count + 1) * sizeof *col);
    void *values = test_vector(count, type, 5);
    tess_matrix *A;
    for (int64_t i = 0; i < count; i++) {
        row[i] = i / cols;
        col[i] = i % cols;
    }
    assert_int_equal(tess_matrix_from_coo(ctx, type, rows, cols, count, row, col, values, &A),
                     TESS_OK);
    free(values);
    free(row);
    free(col);
    return A;
}

/* Of a dense matrix everything that blocks can cover is covered. The rest stays in the remainder.
 */
static void dense_matrices_are_covered(void **state)
{
    static const struct {
        int64_t rows, cols;
        const char *shapes;
        int64_t rest;
    } cases[] = {
        {64, 64, "square@1", 0},           {64, 64, "4x4@1", 0},
        {65, 66, "4x4@1", 65 * 66 - 4096}, {40, 30, "row:8@0", 40 * 6},
        {40, 30, "column:7@0.9", 30 * 5},  {1, 100, "row:32@1", 4},
        {100, 1, "column:32@1", 4},        {1, 100, "column:2@0", 100},
        {100, 1, "row:2@0", 100},          {1, 1, "2x2@0,row:2@0", 1},
        {31, 40, "square@0", 31 * 40},     {6, 6, "diagonal:6@1", 30},
        {6, 6, "antidiagonal:6@1", 30},    {0, 5, "row:2@0,column:2,2x2,diagonal:2", 0},
        {5, 0, "row:2@0,column:2,2x2", 0}, {300, 300, "100x100@1", 0},
    };
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int type = TESS_F64; type <= TESS_F32; type++) {
            tess_matrix *A = dense(ctx, cases[i].rows, cases[i].cols, (tess_type)type), *B;
            tess_fbcsr *F = made(ctx, A, cases[i].shapes);
            tess_fbcsr_options options = parsed(ctx, cases[i].shapes);
            check_rules(cases[i].shapes, F, &options);
            if (F->rest->blocks != cases[i].rest)
                fail_msg("%lld x %lld, %s: %lld entries left, not %lld", (long long)cases[i].rows,
                         (long long)cases[i].cols, cases[i].shapes, (long long)F->rest->blocks,
                         (long long)cases[i].rest);
            assert_int_equal(test_fbcsr_to_csr(ctx, F, &B), TESS_OK);
            test_check_identical(cases[i].shapes, A, B);
            tess_matrix_destroy(B);
            tess_fbcsr_destroy(F);
            tess_matrix_destroy(A);
        }
    }
}

static void a_matrix_without_entries_has_no_shapes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_EMPTY, 30, 1, 1, TESS_F64, 1);
    tess_fbcsr_options chosen;
    test_ok(ctx, tess_fbcsr_choose(ctx, A, &chosen));
    assert_true(chosen.count == 0 && chosen.saved == 0);
    tess_matrix_destroy(A);
}

/* Threshold 0 takes every entry that a block inside the matrix can reach; 1 only full blocks. */
static void thresholds_0_and_1(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 60, 1, 1, TESS_F64, 3);
    static const char *const shapes[] = {"2x2", "row:3", "column:3", "diagonal:2", "3x2+1"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s@0", shapes[i]);
        tess_fbcsr *F = made(ctx, A, text);
        assert_int_equal(F->splits, 1);
        /* Only corners that a skewed block cannot reach, and places hemmed in by other blocks, are
         * missing. */
        assert_true(F->split[0].nonzeros >= A->blocks * 9 / 10);
        tess_fbcsr_destroy(F);
        snprintf(text, sizeof text, "%s@1", shapes[i]);
        F = made(ctx, A, text);
        if (F->splits == 1)
            assert_int_equal(F->split[0].nonzeros,
                             F->split[0].blocks * tess_shape_cells(&F->split[0].shape));
        tess_fbcsr_destroy(F);
    }
    tess_matrix_destroy(A);
}

/* Enough rows for several chunks. Some blocks reach beyond a chunk's end, and some lack entries. */
#define PLANTED "gen:planted:rows=4000,shapes=3x3/diagonal:8,blocks=200,fill=0.95"

static void update_takes_new_values(void **state)
{
    for (int turn = 0; turn < 4; turn++) {
        const tess_type type = turn % 2 ? TESS_F32 : TESS_F64;
        tess_ctx *ctx = NULL;
        const tess_ctx_options few = {.threads = turn < 2 ? 1 : 3};
        assert_int_equal(tess_ctx_create(&few, &ctx), TESS_OK);
        tess_matrix *A = NULL, *B;
        assert_int_equal(
            tess_matrix_input(ctx, type == TESS_F64 ? PLANTED : PLANTED ",type=f32", &A), TESS_OK);
        tess_fbcsr *F = made(ctx, A, "3x3@0.8,diagonal:8@0.8");
        tess_fbcsr_options options = parsed(ctx, "3x3@0.8,diagonal:8@0.8");
        tess_fbcsr_sources *sources = NULL;
        void *fresh = test_vector(A->blocks, type, 99);
        assert_true(F->splits == 2 && F->rest->blocks > 0);
        assert_true(F->split[0].nonzeros < F->split[0].blocks * 9);
        assert_int_equal(tess_fbcsr_sources_create(F, &sources), TESS_OK);
        assert_true(sources->chunks > 2);
        assert_false(sources->nontemporal);
        sources->nontemporal = turn >= 2; /* as for a large matrix */
        tess_cpu_update_fbcsr(F, sources, fresh);
        check_rules("after an update", F, &options);
        assert_int_equal(test_fbcsr_to_csr(ctx, F, &B), TESS_OK);
        assert_memory_equal(B->values, fresh, (size_t)A->blocks * tess_type_size(type));
        free(fresh);
        tess_fbcsr_sources_destroy(sources);
        tess_matrix_destroy(B);
        tess_fbcsr_destroy(F);
        tess_matrix_destroy(A);
        tess_ctx_destroy(ctx);
    }
    (void)state;
}

static void check_same_format(const tess_fbcsr *F, const tess_fbcsr *G)
{
    assert_int_equal(F->splits, G->splits);
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *a = &F->split[s], *b = &G->split[s];
        size_t scalars = (size_t)(a->blocks * tess_shape_cells(&a->shape));
        assert_string_equal(a->shape.name, b->shape.name);
        assert_int_equal(a->blocks, b->blocks);
        assert_memory_equal(a->rows, b->rows, (size_t)a->blocks * 4);
        assert_memory_equal(a->cols, b->cols, (size_t)a->blocks * 4);
        assert_memory_equal(a->values, b->values, scalars * tess_type_size(F->type));
    }
    test_check_identical("rest", F->rest, G->rest);
    assert_memory_equal(F->map, G->map, (size_t)F->nonzeros * sizeof *F->map);
}

/* Large enough for several bands, and for `auto` to sample. */
static void threads_do_not_matter(void **state)
{
    static const char *const inputs[] = {
        "gen:planted:rows=6000,blocks=60,shapes=4x4/row:12/column:12/diagonal:12/5x3+1,fill=0.9",
        "gen:stencil27:n=14,b=3"};
    static const char *const small[] = {
        "gen:planted:rows=1500,blocks=15,shapes=4x4/row:12/column:12/diagonal:12/5x3+1,fill=0.9",
        "gen:stencil27:n=7,b=3"};
    static const char *const shapes[] = {
        "auto", "8x8,4x4@0.7,3x3@0.7,row:8@0.6,column:8@0.6,diagonal:8@0.6,5x3+1@0.5"};
    tess_ctx *ctx = test_ctx(state);
    int threads = tess_ctx_threads(ctx);
    for (int i = 0; i < 4; i++) {
        tess_matrix *A;
        assert_int_equal(tess_matrix_input(ctx, (test_slowed() ? small : inputs)[i / 2], &A),
                         TESS_OK);
        assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK);
        tess_fbcsr *one = made(ctx, A, shapes[i % 2]);
        assert_true(one->splits > 0 || i == 0); /* auto may find it not worth while */
        for (int n = 2; n <= 5; n += 3) {
            assert_int_equal(tess_ctx_set_threads(ctx, n), TESS_OK);
            tess_fbcsr *several = made(ctx, A, shapes[i % 2]);
            check_same_format(one, several);
            tess_fbcsr_destroy(several);
        }
        tess_fbcsr_destroy(one);
        tess_matrix_destroy(A);
    }
    assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
}

/* Makes one allocation after the other fail: a call that fails leaves no memory behind. */
static void failures_leave_nothing_behind(void **state)
{
    static const char *const shapes[] = {"2x2@0.5,diagonal:4@0.5,row:2@0.5", "auto"};
    tess_ctx *ctx = test_ctx(state);
    for (int i = 0; i < 2; i++) {
        tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 2, 2, TESS_F64, 3);
        tess_fbcsr_options options = parsed(ctx, shapes[i]);
        int64_t live = test_live(state);
        tess_fbcsr *F = NULL;
        /* auto makes thousands of allocations, shape after shape by the same code, so that fewer
         * and fewer of them are tested. */
        for (int64_t n = 0;; n += i == 0 ? 1 : 1 + n / 16) {
            test_fail_allocation(state, n);
            tess_status status = tess_fbcsr_create(ctx, A, &options, &F);
            test_fail_allocation(state, -1);
            if (status == TESS_OK) {
                assert_true(n > 30);
                break;
            }
            assert_int_equal(status, TESS_ERR_MEMORY);
            assert_null(F);
            assert_int_equal(test_live(state), live);
        }
        assert_true(F->splits > 0);
        live = test_live(state);
        tess_matrix *B = NULL;
        for (int64_t n = 0; n < 3; n++) {
            test_fail_allocation(state, n);
            assert_int_equal(test_fbcsr_to_csr(ctx, F, &B), TESS_ERR_MEMORY);
            test_fail_allocation(state, -1);
            assert_null(B);
            assert_int_equal(test_live(state), live);
        }
        tess_fbcsr_destroy(F);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_gives_the_matrix_back),
        cmocka_unit_test(a_small_matrix_by_hand),
        cmocka_unit_test(dense_matrices_are_covered),
        cmocka_unit_test(thresholds_0_and_1),
        cmocka_unit_test(a_matrix_without_entries_has_no_shapes),
        cmocka_unit_test(update_takes_new_values),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
