/* What SplitOnce finds: planted blocks, the best windows of a diagonal, shapes by price. */
#include <string.h>

#include "format/fbcsr/split.h"
#include "support/support.h"

enum { SIDE = 1500, BLOCKS_MAX = 4000 };

/* One planted block. */
typedef struct planted {
    int shape;
    int32_t row, col;
} planted;

typedef struct field {
    uint8_t *cell; /* SIDE x SIDE: 0 free, 1 + block, or 255 noise: only free or not matters */
    planted block[BLOCKS_MAX];
    int blocks;
    uint64_t seed, drawn;
} field;

static int64_t draw(field *G, int64_t bound)
{
    return tess_random_below(G->seed, G->drawn++, bound);
}

static bool inside(const tess_shape *S, int64_t row, int64_t col)
{
    int64_t last = col + (int64_t)S->shift * (S->height - 1);
    return row >= 0 && row + S->height <= SIDE && col >= 0 && last >= 0 && col + S->width <= SIDE &&
           last + S->width <= SIDE;
}

/* Puts a block at a random place where none of its cells is taken; gives up after a while. */
static bool plant(field *G, const tess_shape *S, int shape)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        int64_t row = draw(G, SIDE), col = draw(G, SIDE);
        bool free = inside(S, row, col);
        for (int64_t i = 0; free && i < S->height; i++)
            for (int64_t k = 0; free && k < S->width; k++)
                free = !G->cell[(row + i) * SIDE + col + S->shift * i + k];
        if (!free)
            continue;
        for (int64_t i = 0; i < S->height; i++)
            memset(G->cell + (row + i) * SIDE + col + S->shift * i, 1, (size_t)S->width);
        G->block[G->blocks++] = (planted){shape, (int32_t)row, (int32_t)col};
        return true;
    }
    return false;
}

static tess_matrix *matrix_of(tess_ctx *ctx, const field *G)
{
    int64_t count = 0, n = 0;
    for (int64_t i = 0; i < SIDE * SIDE; i++)
        count += G->cell[i] != 0;
    int64_t *row = malloc((size_t)count * sizeof *row), *col = malloc((size_t)count * sizeof *col);
    for (int64_t i = 0; i < SIDE * SIDE; i++) {
        if (G->cell[i]) {
            row[n] = i / SIDE;
            col[n++] = i % SIDE;
        }
    }
    void *values = test_vector(count, TESS_F64, G->seed);
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, SIDE, SIDE, count, row, col, values, &A),
                     TESS_OK);
    free(values);
    free(row);
    free(col);
    return A;
}

/* The split and block that hold scalar (row, col): -1 if it is in the remainder. */
static int holder_of(const tess_matrix *A, const tess_fbcsr *F, int64_t row, int64_t col,
                     int64_t *block)
{
    int64_t at = F->map[tess_matrix_find(A, row, col)];
    for (int s = 0; s < F->splits; s++) {
        int64_t cells = tess_shape_cells(&F->split[s].shape);
        if (at < F->split[s].blocks * cells) {
            *block = at / cells;
            return s;
        }
        at -= F->split[s].blocks * cells;
    }
    return -1;
}

/* Returns whether a planted block is extracted: all its non-zeros are in one block of its shape. */
static bool extracted(const tess_matrix *A, const tess_fbcsr *F, const tess_shape *S,
                      const planted *B)
{
    int64_t block = -1, other;
    int split = -1;
    for (int64_t i = 0; i < S->height; i++) {
        for (int64_t k = 0; k < S->width; k++) {
            int s = holder_of(A, F, B->row + i, B->col + S->shift * i + k, &other);
            if (s < 0 || strcmp(F->split[s].shape.name, S->name) != 0 ||
                (block >= 0 && (block != other || split != s)))
                return false;
            block = other;
            split = s;
        }
    }
    return true;
}

/* Plants `each` blocks of each shape, adds noise and extracts at a fill of 0.7. Returns the share
 * of the planted blocks that are extracted. */
static double recovered(tess_ctx *ctx, const char *list, int each, int noise, uint64_t seed)
{
    field *G = calloc(1, sizeof *G);
    G->cell = calloc(SIDE * SIDE, 1);
    G->seed = seed;
    tess_fbcsr_options options;
    tess_fbcsr *F;
    assert_int_equal(tess_shape_list_parse(ctx, list, &options), TESS_OK);
    for (int s = 0; s < options.count; s++) {
        options.threshold[s] = 0.7;
        for (int b = 0; b < each; b++)
            assert_true(plant(G, &options.shape[s], s));
    }
    for (int i = 0; i < noise; i++)
        G->cell[draw(G, SIDE * SIDE)] = 1;
    tess_matrix *A = matrix_of(ctx, G);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    int found = 0;
    for (int b = 0; b < G->blocks; b++)
        found += extracted(A, F, &options.shape[G->block[b].shape], &G->block[b]);
    double share = (double)found / G->blocks;
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
    free(G->cell);
    free(G);
    return share;
}

static void planted_blocks_are_recovered(void **state)
{
    static const struct {
        const char *shapes;
        int each, noise;
    } cases[] = {
        {"square,8x8,row,column,diagonal,antidiagonal", 60, 20000},
        {"row:16,column:16,diagonal:16,antidiagonal:16", 300, 20000},
        {"5x3", 2000, 20000},
        {"4x4", 2000, 20000},
        {"12x7,7x12,4x4,row:20,column:20", 150, 20000},
        {"8x4+1,8x4-1,16x3,diagonal:24", 150, 20000},
        {"diagonal", 600, 20000},
        {"row", 600, 20000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            double share =
                recovered(test_ctx(state), cases[i].shapes, cases[i].each, cases[i].noise, seed);
            if (getenv("TEST_VERBOSE"))
                print_message("%s, seed %d: %.2f %%\n", cases[i].shapes, (int)seed, 100 * share);
            if (share < 0.98)
                fail_msg("%s, seed %d: only %.2f %% of the planted blocks were extracted",
                         cases[i].shapes, (int)seed, 100 * share);
        }
    }
}

/* The most entries that non-overlapping windows can hold, found by trying all sets of windows. */
static int64_t brute_force(const tess_fbcsr_sequence *L, int64_t start)
{
    if (start > L->last)
        return 0;
    int64_t entries = 0;
    for (int64_t k = 0; k < L->count; k++)
        if (L->place[k] >= start && L->place[k] < start + L->length)
            entries += L->entries ? L->entries[k] : 1;
    int64_t without = brute_force(L, start + 1);
    int64_t with = entries >= L->least ? entries + brute_force(L, start + L->length) : 0;
    return with > without ? with : without;
}

static void windows_of_a_line_are_the_best(void **state)
{
    (void)state;
    enum { PLACES = 16 };
    for (uint64_t seed = 0; seed < 3000; seed++) {
        int64_t place[PLACES], scratch[4 * (8 * PLACES + 1)], total = 0;
        int32_t entries[PLACES];
        tess_fbcsr_window windows[PLACES];
        tess_fbcsr_sequence L = {.place = place,
                                 .entries = seed % 3 ? entries : NULL,
                                 .length = 1 + tess_random_below(seed, 0, 5),
                                 .least = 1};
        for (int i = 0; i < PLACES; i++) {
            entries[L.count] = 1 + (int32_t)tess_random_below(seed, (uint64_t)(100 + i), 3);
            place[L.count] = i;
            L.count += tess_random_below(seed, (uint64_t)(200 + i), 3) > 0;
        }
        L.last = PLACES - L.length;
        L.least = 1 + tess_random_below(seed, 1, L.length);
        int64_t count = tess_fbcsr_windows(&L, scratch, windows);
        for (int64_t w = 0; w < count; w++) {
            int64_t held = 0;
            assert_true(windows[w].start >= 0 && windows[w].start <= L.last);
            if (w > 0)
                assert_true(windows[w].start >= windows[w - 1].start + L.length);
            for (int64_t k = 0; k < L.count; k++)
                if (place[k] >= windows[w].start && place[k] < windows[w].start + L.length)
                    held += L.entries ? entries[k] : 1;
            assert_int_equal(held, windows[w].entries);
            assert_true(held >= L.least);
            total += held;
        }
        assert_true(tess_fbcsr_windows_scratch(PLACES) <=
                    (int64_t)(sizeof scratch / sizeof *scratch));
        int64_t best = brute_force(&L, 0);
        if (total != best)
            fail_msg("seed %d: %d entries in windows of %d, at least %d: %d are possible",
                     (int)seed, (int)total, (int)L.length, (int)L.least, (int)best);
    }
}

static void shapes_are_parsed(void **state)
{
    static const struct {
        const char *text, *name;
        int height, width, shift;
        double threshold;
    } good[] = {
        {"row", "row:32", 1, 32, 0, -1},
        {"column:7@0.5", "column:7", 7, 1, 0, 0.5},
        {"diagonal:8@1", "diagonal:8", 8, 1, 1, 1},
        {"antidiagonal", "antidiagonal:32", 32, 1, -1, -1},
        {"square", "32x32", 32, 32, 0, -1},
        {"parallelogram:4", "4x4+1", 4, 4, 1, -1},
        {"4x1", "column:4", 4, 1, 0, -1},
        {"8x4-2@0", "8x4-2", 8, 4, -2, 0},
        {"256x256", "256x256", 256, 256, 0, -1},
    };
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"rows:32", "fbcsr: unknown shape 'rows' (nearest: 'row'; or HxW, as 4x4)"},
        {"4x4,,2x2", "fbcsr: unknown shape '' (one of: row, column, diagonal, antidiagonal, "
                     "square, parallelogram; or HxW, as 4x4)"},
        {"row:", "fbcsr: 'row:': the length is not a number"},
        {"row:3x", "fbcsr: 'row:3x': the length is not a number"},
        {"row:1", "fbcsr: 'row:1': blocks of one scalar are CSR"},
        {"1x1", "fbcsr: '1x1': blocks of one scalar are CSR"},
        {"4x", "fbcsr: '4x' is not a shape HxW, HxW+S or HxW-S"},
        {"4x4+", "fbcsr: '4x4+' is not a shape HxW, HxW+S or HxW-S"},
        {"4x4x4", "fbcsr: '4x4x4' is not a shape HxW, HxW+S or HxW-S"},
        {"257x2", "fbcsr: '257x2': 257 x 2 is outside 1..256"},
        {"0x2", "fbcsr: '0x2': 0 x 2 is outside 1..256"},
        {"2x2+257", "fbcsr: '2x2+257': a shift of 257 is outside -256..256"},
        {"2x2@1.5", "fbcsr: '2x2': a threshold of '1.5' is not a number in 0..1"},
        {"2x2@", "fbcsr: '2x2': a threshold of '' is not a number in 0..1"},
        {"2x2@-1", "fbcsr: '2x2': a threshold of '-1' is not a number in 0..1"},
        {"2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2,2x2",
         "fbcsr: more than 16 shapes"},
        {"123456789012345678901234567890123456789012345678901234567890123456",
         "fbcsr: a shape of 66 bytes is too long"},
    };
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tess_fbcsr_options options;
        assert_int_equal(tess_shape_list_parse(ctx, good[i].text, &options), TESS_OK);
        const tess_shape *S = &options.shape[0];
        assert_int_equal(options.count, 1);
        assert_string_equal(S->name, good[i].name);
        assert_int_equal(S->height, good[i].height);
        assert_int_equal(S->width, good[i].width);
        assert_int_equal(S->shift, good[i].shift);
        assert_true(options.threshold[0] == good[i].threshold);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tess_fbcsr_options options = {.count = 7};
        assert_int_equal(tess_shape_list_parse(ctx, bad[i].text, &options), TESS_ERR_OPTION);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
        assert_int_equal(options.count, 7);
    }
    tess_fbcsr_options automatic = {.count = 7};
    assert_int_equal(tess_shape_list_parse(ctx, "auto", &automatic), TESS_OK);
    assert_int_equal(automatic.count, 0);
}

static void auto_saves_bytes(void **state)
{
    static const struct {
        const char *input;
        double most; /* bytes over those of CSR; 1: no blocks to be found */
    } cases[] = {
        {"gen:stencil27:n=8,b=3",
         0.75}, /* 3x3; with 6x3 before it 0.72, but y is walked over twice */
        {"gen:stencil27:n=8,b=2", 0.76}, /* 2x6, and 2x2 lest a few entries be left in every row */
        {"gen:stencil7:n=8,b=4", 0.72},
        {"gen:stencil7:n=20,b=1", 0.8},
        {"gen:random:rows=2000,avg=8", 1},
        {"gen:random:rows=100,avg=0", 1},
        {"gen:planted:rows=1000,blocks=40,noise=0,shapes=6x6", 0.72},
        {"gen:planted:rows=1000,blocks=10,noise=0,shapes=32x32", 0.69},
    };
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *A, *csr;
        assert_int_equal(tess_matrix_input(ctx, cases[i].input, &A), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr), TESS_OK);
        tess_fbcsr *F;
        assert_int_equal(tess_fbcsr_create(ctx, A, NULL, &F), TESS_OK);
        double bytes = (double)((csr->rows + 1) * 4 + csr->blocks * 12);
        double ratio = (double)tess_fbcsr_bytes(F) / bytes;
        if (ratio > cases[i].most || (F->splits > 0) != (cases[i].most < 1))
            fail_msg("%s: %d splits, %.3f of CSR's bytes", cases[i].input, F->splits, ratio);
        tess_fbcsr_destroy(F);
        tess_matrix_destroy(csr);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_blocks_are_recovered),
        cmocka_unit_test(windows_of_a_line_are_the_best),
        cmocka_unit_test(shapes_are_parsed),
        cmocka_unit_test(auto_saves_bytes),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
