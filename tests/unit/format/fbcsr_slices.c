/* fbcsr by slices: every entry is stored once, where its row and column say. New values arrive in
 * their places. Long rows are cut as the header says. */
#include <string.h>

#include "format/fbcsr/slices.h"
#include "format/fbcsr/split.h"
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

static tess_fbcsr_slices *made(tess_ctx *ctx, const tess_matrix *A, const char *text, int lanes)
{
    tess_fbcsr_options options;
    tess_fbcsr *F;
    tess_fbcsr_slices *S;
    assert_int_equal(tess_shape_list_parse(ctx, text, &options), TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    assert_int_equal(tess_fbcsr_slices_create(ctx, A, F, &options, lanes, &S), TESS_OK);
    tess_fbcsr_destroy(F);
    return S;
}

/* A walk through all slices. */
typedef struct walk {
    const char *what;
    const tess_matrix *A;
    const tess_fbcsr_slices *S;
    uint8_t *seen;  /* entries */
    int64_t named;  /* values whose row and column the slices gave */
    int64_t places; /* before the slice */
    int lanes;      /* of a row of the slice */
    int64_t value;  /* the slice's next 32 */
    int64_t column; /* its next column */
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
    w->named++;
    if (tess_matrix_find(w->A, row, column) != entry || w->seen[entry]++)
        fail_msg("%s: value %lld at (%lld, %lld) is entry %lld, or is so again", w->what,
                 (long long)at, (long long)row, (long long)column, (long long)entry);
    assert_memory_equal(value, (const char *)w->A->values + (size_t)entry * size, size);
}

/* The row that a place adds to; -1: none. */
static int64_t row_of(const tess_fbcsr_slices *S, int64_t place)
{
    int64_t segments = S->segments * (TESS_FBCSR_WARP / TESS_FBCSR_SEGMENT_LANES);
    if (place >= segments)
        return S->targets ? S->targets[place - segments] : place - segments;
    for (int64_t i = 0; i < S->cut_rows; i++)
        if (place >= S->cut_slots[i] && place < S->cut_slots[i + 1])
            return S->cut_row[i];
    return -1;
}

static void walk_lines(walk *w, const int32_t *head)
{
    int64_t value = w->value;
    for (int32_t p = 0; p < head[TESS_FBCSR_HEAD_PIECES]; p++) {
        int64_t beyond = (int64_t)head[TESS_FBCSR_HEAD_PIECE] + p - TESS_FBCSR_BESIDE;
        const int32_t *piece = p < TESS_FBCSR_BESIDE ? head + TESS_FBCSR_HEAD + p * TESS_FBCSR_PIECE
                                                     : w->S->pieces + beyond * TESS_FBCSR_PIECE;
        int low = piece[1] & 255, rows = piece[1] >> 8 & 255, shift = piece[1] >> 16;
        assert_true(rows > 0 && low + rows <= TESS_FBCSR_WARP);
        for (int i = low; i < low + rows; i++)
            check_value(w, value++, row_of(w->S, w->places + i), piece[0] + (int64_t)shift * i);
    }
    w->value += tess_ceil_div(value - w->value, TESS_FBCSR_WARP) * TESS_FBCSR_WARP;
}

/* The runs of class c in the slice's place `row`. */
static void walk_row(walk *w, int c, int row)
{
    const tess_fbcsr_slices *S = w->S;
    const int bits = 32 / S->classes, width = S->width[c];
    const int share = tess_fbcsr_share(width, w->lanes), per = w->lanes / share;
    const int64_t place = w->places + row;
    uint64_t word = S->lengths[place];
    int64_t runs = (int64_t)(word >> (32 - bits * (c + 1)) & (((uint64_t)1 << bits) - 1));
    for (int64_t k = 0; k < runs; k++) {
        int64_t lane = (int64_t)row * w->lanes + k % per * share;
        int64_t column = S->columns[w->column + (k / per * TESS_FBCSR_WARP + lane) / share];
        for (int at = 0; at < width; at++) {
            int64_t group = k / per * (width / share) + at / share;
            check_value(w, w->value + group * TESS_FBCSR_WARP + lane + at % share, row_of(S, place),
                        column + at);
        }
    }
}

static void walk_runs(walk *w, const int32_t *head)
{
    for (int c = 0; c < w->S->classes; c++) {
        int share = tess_fbcsr_share(w->S->width[c], w->lanes);
        for (int row = 0; row < TESS_FBCSR_WARP / w->lanes; row++)
            walk_row(w, c, row);
        int64_t steps = head[TESS_FBCSR_HEAD_STEPS + c];
        w->value += steps * (w->S->width[c] / share) * TESS_FBCSR_WARP;
        w->column += steps * (TESS_FBCSR_WARP / share);
    }
}

/* Checks that every entry and every scalar is counted once, and that a run of 3 is stored as one.
 */
static void check_stored(const char *what, const tess_matrix *A, const tess_fbcsr_slices *S)
{
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    int64_t entries = 0, cells = 0;
    int count = tess_fbcsr_slices_stored(S, stored);
    assert_int_equal(count, S->classes + 1);
    for (int i = 0; i < count; i++) {
        entries += stored[i].entries;
        cells += stored[i].cells;
        if (stored[i].single != (i == count - 1) || stored[i].cells < stored[i].entries ||
            (stored[i].entries > 0) != (stored[i].pieces > 0))
            fail_msg("%s: %lld %s hold %lld entries in %lld scalars", what,
                     (long long)stored[i].pieces, stored[i].name, (long long)stored[i].entries,
                     (long long)stored[i].cells);
    }
    assert_int_equal(entries, A->blocks);
    assert_int_equal(cells, S->value_count);
}

static void check(const char *what, const tess_matrix *A, const tess_fbcsr_slices *S)
{
    walk w = {.what = what, .A = A, .S = S, .seen = calloc((size_t)A->blocks + 1, 1)};
    for (int64_t slice = 0; slice < S->slices; slice++) {
        const int32_t *head = S->heads + slice * S->head;
        w.lanes = slice < S->segments ? TESS_FBCSR_SEGMENT_LANES : S->lanes;
        assert_int_equal(w.value, (int64_t)head[TESS_FBCSR_HEAD_VALUES] * TESS_FBCSR_WARP);
        assert_int_equal(w.column, (int64_t)head[TESS_FBCSR_HEAD_COLUMNS] * 4);
        walk_lines(&w, head);
        walk_runs(&w, head);
        w.places += TESS_FBCSR_WARP / w.lanes;
    }
    assert_int_equal(w.value, S->value_count);
    assert_int_equal(w.column, S->column_count);
    assert_int_equal(w.places, S->places);
    assert_int_equal(w.named, A->blocks);
    free(w.seen);
    check_stored(what, A, S);
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
            tess_fbcsr_slices *S = made(ctx, A, lists[i], 1 << (pattern + i) % 4);
            check(what, A, S);
            void *values = test_vector(A->blocks, type, 8);
            memcpy(A->values, values, (size_t)A->blocks * tess_type_size(type));
            tess_fbcsr_slices_update(S, values);
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
        tess_fbcsr_slices *S = made(ctx, A, shapes[i], 1 << i);
        check(shapes[i], A, S);
        assert_int_equal(S->cut_rows, 1);
        assert_int_equal(S->cut_long, S->cut_slots[1] > TESS_SLICED_LONG);
        assert_in_range(S->cut_slots[1], 3000 / TESS_FBCSR_SEGMENT, 3000 / TESS_FBCSR_SEGMENT + 3);
        tess_fbcsr_slices_destroy(S);
        tess_matrix_destroy(A);
    }
}

/* Checks that the predicted size is that of the slices: heads, lengths where there are runs, and
 * `bytes`. */
static void check_size(tess_ctx *ctx, const tess_matrix *A, const char *text,
                       const tess_fbcsr_slices *S, double bytes)
{
    tess_fbcsr_options options;
    tess_fbcsr *F;
    tess_fbcsr_size size;
    assert_int_equal(tess_shape_list_parse(ctx, text, &options), TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    assert_int_equal(tess_fbcsr_slices_measure(ctx, A, F, &options, S->lanes, &size), TESS_OK);
    tess_fbcsr_destroy(F);
    assert_true(size.with_runs <= S->slices - S->segments);
    bytes += 4.0 * (double)(S->slices * S->head + (S->targets ? S->places : 0)) +
             4.0 * TESS_FBCSR_WARP / S->lanes * (double)size.with_runs;
    assert_true((double)size.bytes == bytes);
}

/* 5 x 3 blocks, which shapes of 3 x 3 and 2 x 2 cut up, become runs of 3 again. */
static void layouts_are_small(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const struct {
        const char *input, *shapes;
        int lanes;
        double most; /* values and columns, in bytes per non-zero */
    } cases[] = {
        {"gen:planted:rows=3000,blocks=40,shapes=5x3", "3x3,2x2", 2, 10.2},
        {"gen:planted:rows=3000,blocks=40,shapes=diagonal:32", "diagonal:16", 1, 9.6},
        {"gen:planted:rows=3000,blocks=40,shapes=row:32", "row:32", 4, 9.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *A;
        assert_int_equal(tess_matrix_input(ctx, cases[i].input, &A), TESS_OK);
        tess_fbcsr_slices *S = made(ctx, A, cases[i].shapes, cases[i].lanes);
        check(cases[i].input, A, S);
        double bytes = (double)S->value_count * 8 + (double)S->column_count * 4 +
                       (double)S->piece_count * 4 * TESS_FBCSR_PIECE;
        if (bytes > cases[i].most * (double)A->blocks)
            fail_msg("%s: %.2f bytes a non-zero", cases[i].input, bytes / (double)A->blocks);
        check_size(ctx, A, cases[i].shapes, S, bytes);
        tess_fbcsr_slices_destroy(S);
        tess_matrix_destroy(A);
    }
}

/* Slices depend on no height. Diagonals pay unless they lie in few, long rows. */
static void lists_are_chosen_by_the_size_of_slices(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const struct {
        const char *input, *shapes;
    } cases[] = {
        {"gen:planted:rows=3000,blocks=40,shapes=4x4", "row:4"},
        {"gen:planted:rows=3000,blocks=40,shapes=5x3", "row:3"},
        {"gen:planted:rows=3000,blocks=40,shapes=row:32", "row:8"},
        {"gen:planted:rows=10000,blocks=100,shapes=column:32", ""}, /* 313 warps, 100 pieces each */
        {"gen:stencil7:n=16,b=1", "diagonal:32"},
        {"gen:random:rows=3000,avg=16", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_fbcsr_options list;
        tess_matrix *A;
        assert_int_equal(tess_matrix_input(ctx, cases[i].input, &A), TESS_OK);
        assert_int_equal(tess_fbcsr_choose_slices(ctx, A, &list), TESS_OK);
        if (strcmp(list.count ? list.shape[0].name : "", cases[i].shapes) != 0)
            fail_msg("%s: %d shapes, %s", cases[i].input, list.count, list.shape[0].name);
        assert_true(list.count == 0 || (list.saved > 0.05 && list.saved < 0.4));
        tess_matrix_destroy(A);
    }
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) { /* any matrix has an answer */
        tess_fbcsr_options list;
        tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 40, 1, 1, TESS_F32, 7);
        assert_int_equal(tess_fbcsr_choose_slices(ctx, A, &list), TESS_OK);
        tess_matrix_destroy(A);
    }
}

/* Rows whose runs are one cache line apart wait for each other's x. */
static void rows_that_read_one_bank_are_priced(void **state)
{
    enum { ROWS = 2000, WIDTH = 5 };
    tess_ctx *ctx = test_ctx(state);
    for (int64_t apart = 16; apart <= 17; apart++) {
        tess_fbcsr_options list;
        tess_matrix *A;
        assert_int_equal(
            tess_matrix_allocate(ctx, TESS_F64, ROWS, apart * ROWS, 1, 1, ROWS * WIDTH, &A),
            TESS_OK);
        for (int64_t i = 0; i < ROWS * WIDTH; i++)
            A->columns[i] = (int32_t)(apart * (i / WIDTH) + i % WIDTH);
        for (int64_t row = 0; row <= ROWS; row++)
            A->row_offsets[row] = row * WIDTH;
        memset(A->values, 0, (size_t)A->blocks * sizeof(double));
        assert_int_equal(tess_fbcsr_choose_slices(ctx, A, &list), TESS_OK);
        assert_string_equal(list.count ? list.shape[0].name : "", apart == 16 ? "" : "row:5");
        tess_matrix_destroy(A);
    }
}

/* Pairs of blocks of 16 rows. All lengths differ, in a pair by one. When rows are sorted, the 32
 * rows of a slice are `apart` columns from each other. */
static tess_matrix *rows_of_blocks(tess_ctx *ctx, int64_t apart)
{
    enum { BLOCKS = 256, WIDTH = 2, HEIGHT = 16 };
    const int64_t rows = BLOCKS * HEIGHT, band = apart * BLOCKS, entries = BLOCKS * 136 * WIDTH;
    tess_matrix *A;
    assert_int_equal(tess_matrix_allocate(ctx, TESS_F64, rows, HEIGHT * band, 1, 1, entries, &A),
                     TESS_OK);
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        A->row_offsets[row] = at;
        for (int64_t i = 0; i < (row % HEIGHT + 1) * WIDTH; i++, at++)
            A->columns[at] = (int32_t)(i / WIDTH * band + row / HEIGHT * apart + i % WIDTH);
    }
    A->row_offsets[rows] = at;
    assert_int_equal(at, entries);
    for (int64_t i = 0; i < entries; i++)
        ((double *)A->values)[i] = (double)i;
    return A;
}

static void pairs_stay_together_where_x_is_slow(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_fbcsr_options options;
    assert_int_equal(tess_shape_list_parse(ctx, "row:2", &options), TESS_OK);
    for (int64_t apart = 16; apart <= 17; apart++) {
        tess_matrix *A = rows_of_blocks(ctx, apart);
        tess_fbcsr_slices *S;
        assert_int_equal(tess_fbcsr_slices_create(ctx, A, NULL, &options, 1, &S), TESS_OK);
        check(apart == 16 ? "16 apart" : "17 apart", A, S);
        int64_t parted = 0;
        for (int64_t place = 0; place < A->rows; place += 2)
            parted += S->targets[place] % 2 != 0 || S->targets[place + 1] != S->targets[place] + 1;
        assert_int_equal(parted == 0, apart == 16);
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
    assert_int_equal(tess_shape_list_parse(ctx, "diagonal:8@0.1,2x2@0.5", &options), TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    tess_status status;
    test_sweep sweep = test_sweep_begin(state);
    do {
        tess_fbcsr_slices *S = NULL;
        status = tess_fbcsr_slices_create(ctx, A, F, &options, 2, &S);
        tess_fbcsr_slices_destroy(S);
    } while (test_sweep_goes_on(&sweep, status));
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
    assert_int_equal(tess_matrix_input(ctx, "gen:stencil7:n=2,b=1", &A), TESS_OK);
    sweep = test_sweep_begin(state);
    do {
        status = tess_fbcsr_choose_slices(ctx, A, &options);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_where_it_belongs),
        cmocka_unit_test(long_rows_are_cut),
        cmocka_unit_test(layouts_are_small),
        cmocka_unit_test(lists_are_chosen_by_the_size_of_slices),
        cmocka_unit_test(rows_that_read_one_bank_are_priced),
        cmocka_unit_test(pairs_stay_together_where_x_is_slow),
        cmocka_unit_test(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
