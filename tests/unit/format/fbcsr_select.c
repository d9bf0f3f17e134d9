/* The selection over block rows (paper 001: "a similar dynamic programming algorithm then performs
 * the block row selection to maximize the number of nonzeros extracted") against brute force. */
#include <string.h>

#include "format/fbcsr/split.h"
#include "support/support.h"

enum { ROWS = 9, MOST = 14, PLACES = 12 };

/* Candidates drawn at random, in up to ROWS block rows. */
typedef struct drawn {
    tess_shape shape;
    int64_t first, rows, offsets[ROWS + 1];
    tess_fbcsr_candidate list[MOST];
    uint64_t seed, numbers;
} drawn;

static int64_t draw(drawn *D, int64_t bound)
{
    return tess_random_below(D->seed, D->numbers++, bound);
}

/* `wide`: blocks span all places, so that two overlap when they begin less than a height apart. */
static drawn draw_candidates(uint64_t seed, bool wide)
{
    drawn D = {.seed = seed};
    int64_t count = 0;
    D.shape.height = 1 + (int32_t)draw(&D, 5);
    D.shape.width = wide ? PLACES : 1 + (int32_t)draw(&D, 4);
    D.rows = 1 + draw(&D, ROWS);
    D.first = draw(&D, 100);
    const int64_t cells = tess_shape_cells(&D.shape), sparse = 1 + draw(&D, 4);
    for (int64_t row = 0; row < D.rows; row++) {
        for (int64_t d = 0; d + D.shape.width <= PLACES && count < MOST;) {
            if (draw(&D, 1 + sparse) > 0) {
                d++;
                continue;
            }
            D.list[count++] = (tess_fbcsr_candidate){
                .row = (int32_t)(D.first + row), .entries = 1 + (int32_t)draw(&D, cells), .d = d};
            d += D.shape.width;
        }
        D.offsets[row + 1] = count;
    }
    return D;
}

static bool overlap(const drawn *D, int64_t a, int64_t b)
{
    int64_t rows = D->list[a].row - D->list[b].row, places = D->list[a].d - D->list[b].d;
    return rows < D->shape.height && -rows < D->shape.height && places < D->shape.width &&
           -places < D->shape.width;
}

/* The most entries that a choice of whole block rows from `row` on gives. Every choice is tried. */
static int64_t best_block_rows(const drawn *D, int64_t row)
{
    if (row >= D->rows)
        return 0;
    int64_t entries = 0, left = best_block_rows(D, row + 1);
    for (int64_t c = D->offsets[row]; c < D->offsets[row + 1]; c++)
        entries += D->list[c].entries;
    return tess_max(left, entries + best_block_rows(D, row + D->shape.height));
}

/* The most entries of any choice of candidates that do not overlap. Every choice is tried. */
static int64_t best_of_all(const drawn *D, int64_t c, uint8_t *taken)
{
    if (c == D->offsets[D->rows])
        return 0;
    taken[c] = 0;
    int64_t most = best_of_all(D, c + 1, taken);
    for (int64_t other = 0; other < c; other++)
        if (taken[other] && overlap(D, c, other))
            return most;
    taken[c] = 1;
    most = tess_max(most, D->list[c].entries + best_of_all(D, c + 1, taken));
    taken[c] = 0;
    return most;
}

/* The entries of the candidates that the library selects. Checks that no two of them overlap. */
static int64_t selected(const drawn *D)
{
    const tess_fbcsr_candidates C = {D->first, D->rows, D->offsets, D->list};
    const int64_t count = D->offsets[D->rows];
    int64_t scratch[2 * (ROWS + 1) + MOST + 5 * PLACES + 2], entries = 0;
    uint8_t chosen[MOST + 1];
    tess_fbcsr_select(&C, &D->shape, scratch, chosen);
    for (int64_t a = 0; a < count; a++) {
        entries += chosen[a] == 1 ? D->list[a].entries : 0;
        for (int64_t b = 0; b < a; b++)
            if (chosen[a] == 1 && chosen[b] == 1 && overlap(D, a, b))
                fail_msg("seed %d: candidates %d and %d overlap", (int)D->seed, (int)b, (int)a);
    }
    return entries;
}

static void block_rows_are_selected_as_brute_force_does(void **state)
{
    int fewer = 0, cases = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const drawn D = draw_candidates(seed, seed % 4 == 0);
        uint8_t taken[MOST + 1] = {0};
        int64_t mine = selected(&D), rows = best_block_rows(&D, 0), all = best_of_all(&D, 0, taken);
        if (mine < rows || mine > all)
            fail_msg("seed %d: %d entries, by block rows %d, of all choices %d", (int)seed,
                     (int)mine, (int)rows, (int)all);
        if (D.shape.width == PLACES && (mine != all || rows != all))
            fail_msg("seed %d: %d entries where blocks cannot stand side by side: %d are possible",
                     (int)seed, (int)mine, (int)all);
        cases += D.shape.width < PLACES;
        fewer += mine < all;
    }
    if (getenv("TEST_VERBOSE"))
        print_message("fewer than the best of all choices: %d of %d cases\n", fewer, cases);
    assert_true(fewer > 0); /* the cases are hard enough to tell the two bounds apart */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_rows_are_selected_as_brute_force_does),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
