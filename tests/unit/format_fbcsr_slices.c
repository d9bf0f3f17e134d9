/* fbcsr by slices: every entry of the matrix is once where its row and column say, new values
 * arrive, and long rows are cut as the header says. */
#include <string.h>

#include "format/fbcsr_slices.h"
#include "format/sliced.h"
#include "support/support.h"

static const char *const lists[] = {
    "diagonal:16@0.1,antidiagonal:8@0.1,column:40@0.05",
    "3x3@0.3,2x2@0.4,row:4@0.5",
    "row:37@0.1,16x16@0.02,diagonal:8@0.3",
    "4x3+1@0.3,5x1+2@0.4,row:8@0.3",
    "2x2@1",
};
enum { LISTS = sizeof lists / sizeof *lists };

static tess_fbcsr_slices *made(tess_ctx *ctx, const tess_matrix *A, const char *text)
{
    tess_fbcsr_options options;
    tess_fbcsr *F;
    tess_fbcsr_slices *S;
    assert_int_equal(tess_fbcsr_options_parse(ctx, text, &options), TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    assert_int_equal(tess_fbcsr_slices_create(ctx, F, &options, A->values, &S), TESS_OK);
    tess_fbcsr_destroy(F);
    return S;
}

/* A walk through all values, in the order they are stored. */
typedef struct walk {
    const char *what;
    const tess_matrix *A;
    const tess_fbcsr_slices *S;
    uint8_t *seen; /* entries */
    int64_t value; /* the next one */
} walk;

static void check_value(walk *w, int64_t at, int64_t row, int64_t column)
{
    int64_t entry = w->S->entries[at];
    size_t size = tess_type_size(w->A->type);
    const char *value = (const char *)w->S->values + (size_t)at * size, zero[8] = {0};
    if (column < 0 || column >= w->A->cols)
        fail_msg("%s: value %lld is in column %lld", w->what, (long long)at, (long long)column);
    if (entry < 0) {
        assert_memory_equal(value, zero, size);
        return;
    }
    if (tess_matrix_find(w->A, row, column) != entry || w->seen[entry]++)
        fail_msg("%s: value %lld at (%lld, %lld) is entry %lld, or is so again", w->what,
                 (long long)at, (long long)row, (long long)column, (long long)entry);
    assert_memory_equal(value, (const char *)w->A->values + (size_t)entry * size, size);
}

/* The row that place `lane` of a slice adds to; -1: none. */
static int64_t row_of(const tess_fbcsr_slices *S, int64_t slice, int lane)
{
    int64_t place = slice * TESS_FBCSR_SLICE + lane;
    if (slice >= S->segments) {
        place -= S->segments * TESS_FBCSR_SLICE;
        return S->targets ? S->targets[place] : place;
    }
    for (int64_t i = 0; i < S->cut_rows; i++)
        if (place >= S->cut_slots[i] && place < S->cut_slots[i + 1])
            return S->cut_row[i];
    return -1;
}

static void walk_pieces(walk *w, int64_t slice)
{
    const int64_t *head = w->S->heads + slice * TESS_FBCSR_HEAD;
    int64_t end = head[TESS_FBCSR_HEAD + TESS_FBCSR_HEAD_PIECE];
    for (int64_t p = head[TESS_FBCSR_HEAD_PIECE]; p < end; p++) {
        int32_t column = (int32_t)w->S->pieces[p], word = (int32_t)(w->S->pieces[p] >> 32);
        for (int i = 0; i < (word >> 8 & 255); i++)
            check_value(w, w->value++, row_of(w->S, slice, (word & 255) + i),
                        column + (int64_t)(word >> 16) * i);
    }
}

static void walk_runs(walk *w, int64_t slice)
{
    const tess_fbcsr_slices *S = w->S;
    int64_t column = S->heads[slice * TESS_FBCSR_HEAD + TESS_FBCSR_HEAD_COLUMN];
    const uint8_t *lengths = S->lengths + slice * S->width_count * TESS_FBCSR_SLICE;
    for (int width = TESS_FBCSR_WIDE; width > 0; width--) {
        if (!(S->widths >> width & 1))
            continue;
        for (int k = 0, active; k < 256; k++) {
            active = 0;
            for (int lane = 0; lane < TESS_FBCSR_SLICE; lane++)
                active += k < lengths[lane];
            for (int lane = 0, rank = 0; lane < TESS_FBCSR_SLICE; lane++) {
                for (int j = 0; k < lengths[lane] && j < width; j++)
                    check_value(w, w->value + j * active + rank, row_of(S, slice, lane),
                                S->columns[column + rank] + j);
                rank += k < lengths[lane];
            }
            w->value += (int64_t)active * width;
            column += active;
        }
        lengths += TESS_FBCSR_SLICE;
    }
    assert_int_equal(column, S->heads[(slice + 1) * TESS_FBCSR_HEAD + TESS_FBCSR_HEAD_COLUMN]);
}

static void check(const char *what, const tess_matrix *A, const tess_fbcsr_slices *S)
{
    walk w = {what, A, S, calloc((size_t)A->blocks + 1, 1), 0};
    for (int64_t slice = 0; slice < S->slices; slice++) {
        assert_int_equal(w.value, S->heads[slice * TESS_FBCSR_HEAD + TESS_FBCSR_HEAD_VALUE]);
        walk_pieces(&w, slice);
        walk_runs(&w, slice);
    }
    assert_int_equal(w.value, tess_fbcsr_slices_count(S, TESS_FBCSR_HEAD_VALUE));
    for (int64_t i = 0; i < A->blocks; i++)
        if (!w.seen[i])
            fail_msg("%s: entry %lld is missing", what, (long long)i);
    free(w.seen);
}

static void every_entry_is_where_it_belongs(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int i = 0; i < LISTS; i++) {
            char what[128];
            snprintf(what, sizeof what, "%s %s", test_pattern_name((test_pattern)pattern),
                     lists[i]);
            tess_type type = i % 2 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 100, 1, 1, type, 7);
            tess_fbcsr_slices *S = made(ctx, A, lists[i]);
            check(what, A, S);
            void *values = test_vector(A->blocks, type, 8);
            memcpy(A->values, values, (size_t)A->blocks * tess_type_size(type));
            tess_fbcsr_slices_refresh(S, values);
            check(what, A, S);
            free(values);
            tess_fbcsr_slices_destroy(S);
            tess_matrix_destroy(A);
        }
    }
}

static void long_rows_are_cut(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const shapes[] = {"row:32@0.9", "2x2@1", "row:3@1"};
    for (int i = 0; i < 3; i++) {
        tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 3000, 1, 1, TESS_F64, 5);
        tess_fbcsr_slices *S = made(ctx, A, shapes[i]);
        check(shapes[i], A, S);
        assert_int_equal(S->cut_rows, 1);
        assert_int_equal(S->cut_long, 1);
        assert_in_range(S->cut_slots[1], TESS_SLICED_LONG + 1, 3000 / TESS_FBCSR_CUT + 2);
        assert_int_equal(S->segments, 1);
        tess_fbcsr_slices_destroy(S);
        tess_matrix_destroy(A);
    }
}

static void failures_leave_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 600, 1, 1, TESS_F64, 3);
    tess_fbcsr_options options;
    tess_fbcsr *F;
    assert_int_equal(tess_fbcsr_options_parse(ctx, "diagonal:8@0.1,2x2@0.5", &options), TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    tess_status status;
    test_sweep sweep = test_sweep_begin(state);
    do {
        tess_fbcsr_slices *S = NULL;
        status = tess_fbcsr_slices_create(ctx, F, &options, A->values, &S);
        tess_fbcsr_slices_destroy(S);
    } while (test_sweep_goes_on(&sweep, status));
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_where_it_belongs),
        cmocka_unit_test(long_rows_are_cut),
        cmocka_unit_test(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
