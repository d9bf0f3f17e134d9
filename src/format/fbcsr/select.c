/* Which of the block rows' choices to take, when blocks that begin in rows less than a height apart
 * may overlap. Two ways, the better of which is kept:
 *
 *   by block rows   paper 001's second dynamic program: whole block rows are taken or left, so that
 *                   those taken are at least a height apart: best where blocks are aligned.
 *   by fill         fullest first, then in the order of rows and columns: best where blocks begin
 *                   anywhere.
 */
#include <string.h>

#include "format/fbcsr/split.h"

static int64_t entries_of_row(const tess_fbcsr_candidates *C, int64_t row)
{
    int64_t sum = 0;
    for (int64_t c = C->offsets[row]; c < C->offsets[row + 1]; c++)
        sum += C->list[c].entries;
    return sum;
}

/* most[i]: entries that block rows i, i + 1, ... can give; of height rows at most one is taken. */
static int64_t plan_rows(const tess_fbcsr_candidates *C, int64_t height, int64_t *most)
{
    most[C->rows] = 0;
    for (int64_t i = C->rows - 1; i >= 0; i--) {
        int64_t beyond = i + height < C->rows ? most[i + height] : 0;
        int64_t taken = entries_of_row(C, i) + beyond;
        most[i] = taken > most[i + 1] ? taken : most[i + 1];
    }
    return most[0];
}

static void take_rows(const tess_fbcsr_candidates *C, int64_t height, const int64_t *most,
                      uint8_t *chosen)
{
    memset(chosen, 0, (size_t)C->offsets[C->rows]);
    for (int64_t i = 0; i < C->rows;) {
        if (most[i] == most[i + 1]) {
            i++;
            continue;
        }
        memset(chosen + C->offsets[i], 1, (size_t)(C->offsets[i + 1] - C->offsets[i]));
        i += height;
    }
}

/* The candidates in the order of falling entries; equal ones keep their order. */
static void sort_by_fill(const tess_fbcsr_candidates *C, int64_t cells, int64_t *starts,
                         int64_t *order)
{
    int64_t count = C->offsets[C->rows];
    memset(starts, 0, (size_t)(cells + 2) * sizeof *starts);
    for (int64_t c = 0; c < count; c++)
        starts[cells - C->list[c].entries + 1]++;
    tess_counts_to_offsets(starts, cells + 1);
    for (int64_t c = 0; c < count; c++)
        order[starts[cells - C->list[c].entries]++] = c;
}

static int64_t lower_bound(const tess_fbcsr_candidates *C, int64_t row, int64_t d)
{
    int64_t low = C->offsets[row], high = C->offsets[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (C->list[middle].d < d)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum { FREE = 0, TAKEN = 1, BLOCKED = 2 };

/* Blocks all that overlap candidate c. */
static void block_neighbours(const tess_fbcsr_candidates *C, const tess_shape *shape, int64_t c,
                             uint8_t *state)
{
    int64_t row = C->list[c].row - C->first_row, d = C->list[c].d;
    int64_t first = row - shape->height + 1, last = row + shape->height;
    if (first < 0)
        first = 0;
    if (last > C->rows)
        last = C->rows;
    for (int64_t i = first; i < last; i++) {
        if (i == row || C->offsets[i] == C->offsets[i + 1])
            continue;
        int64_t k = lower_bound(C, i, d - shape->width + 1);
        for (; k < C->offsets[i + 1] && C->list[k].d < d + shape->width; k++)
            state[k] = BLOCKED;
    }
}

static int64_t take_fullest(const tess_fbcsr_candidates *C, const tess_shape *shape,
                            const int64_t *order, uint8_t *state)
{
    int64_t count = C->offsets[C->rows], entries = 0;
    memset(state, FREE, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t c = order[i];
        if (state[c] != FREE)
            continue;
        state[c] = TAKEN;
        entries += C->list[c].entries;
        block_neighbours(C, shape, c, state);
    }
    return entries;
}

void tess_fbcsr_select(const tess_fbcsr_candidates *C, const tess_shape *shape, int64_t *scratch,
                       uint8_t *chosen)
{
    int64_t cells = tess_shape_cells(shape);
    int64_t *most = scratch, *starts = most + C->rows + 1, *order = starts + cells + 2;
    int64_t by_rows = plan_rows(C, shape->height, most);
    sort_by_fill(C, cells, starts, order);
    int64_t by_fill = take_fullest(C, shape, order, chosen);
    if (by_rows > by_fill)
        take_rows(C, shape->height, most, chosen);
}
