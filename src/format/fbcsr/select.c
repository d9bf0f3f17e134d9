/* Selects blocks: first windows along one row of blocks or one diagonal, then among blocks of
 * different rows, which may overlap. */
#include "format/fbcsr/split.h"

/* ---- Windows along a sequence of places ---- */

/* Chosen by dynamic programming (paper 001: "look at each row and select the
 * blocks that could maximize the number of nonzeros extracted from that row").
 *
 *     most(s) = max(most(next start), entries(s) + most(first start beyond the window at s))
 *
 * over the places s where windows may begin, in order; only windows with enough entries count. In
 * any choice, each window can be moved right until it begins at a place with entries or touches the
 * next window, without losing entries. So it suffices to consider windows that begin less than a
 * length before a place with entries. Few long windows touch, so only REACH places are considered.
 */
enum { REACH = 7, LONG_SEQUENCE = 65536 };

static int64_t reach_of(int64_t count, int64_t length)
{
    if (count > LONG_SEQUENCE)
        return 0;
    return tess_min(length - 1, REACH);
}

int64_t tess_fbcsr_windows_scratch(int64_t count)
{
    int64_t starts = count > LONG_SEQUENCE ? count : count * (REACH + 1);
    if (starts < (int64_t)LONG_SEQUENCE * (REACH + 1) && count > LONG_SEQUENCE)
        starts = (int64_t)LONG_SEQUENCE * (REACH + 1); /* shorter sequences use it too */
    return 4 * (starts + 1);
}

/* Whether some window has enough entries. Only windows that begin with an entry are checked: any
 * other window, moved right to its first entry, holds at least as many. */
static bool any_full_enough(const tess_fbcsr_sequence *L)
{
    int64_t inside = 0, end = 0;
    for (int64_t k = 0; k < L->count; k++) {
        int64_t start = tess_min(L->place[k], L->last);
        for (; end < L->count && L->place[end] < start + L->length; end++)
            inside += L->entries ? L->entries[end] : 1;
        if (inside >= L->least)
            return true;
        if (L->place[k] >= L->last)
            return false;
        inside -= L->entries ? L->entries[k] : 1;
    }
    return false;
}

/* Lists the places where windows may begin, in order. Returns their number. */
static int64_t list_starts(const tess_fbcsr_sequence *L, int64_t *start)
{
    int64_t n = 0, reach = reach_of(L->count, L->length), next = L->first;
    for (int64_t k = 0; k < L->count && next <= L->last; k++) {
        int64_t to = tess_min(L->place[k], L->last);
        next = tess_max(next, to - reach);
        while (next <= to)
            start[n++] = next++;
    }
    return n;
}

/* Counts the entries of every window, by two pointers. */
static void count_entries(const tess_fbcsr_sequence *L, int64_t n, const int64_t *start,
                          int64_t *entries)
{
    int64_t first = 0, end = 0, inside = 0;
    for (int64_t s = 0; s < n; s++) {
        for (; end < L->count && L->place[end] < start[s] + L->length; end++)
            inside += L->entries ? L->entries[end] : 1;
        for (; first < end && L->place[first] < start[s]; first++)
            inside -= L->entries ? L->entries[first] : 1;
        entries[s] = inside;
    }
}

int64_t tess_fbcsr_windows(const tess_fbcsr_sequence *L, int64_t *scratch,
                           tess_fbcsr_window *windows)
{
    if (!any_full_enough(L))
        return 0;
    int64_t *start = scratch, n = list_starts(L, start), count = 0;
    int64_t *entries = start + n + 1, *beyond = entries + n + 1, *most = beyond + n + 1;
    count_entries(L, n, start, entries);
    most[n] = 0;
    for (int64_t s = n - 1, next = n; s >= 0; s--) {
        while (next > s + 1 && start[next - 1] >= start[s] + L->length)
            next--;
        beyond[s] = next;
        int64_t taken = entries[s] >= L->least ? entries[s] + most[next] : 0;
        most[s] = tess_max(taken, most[s + 1]);
    }
    for (int64_t s = 0; s < n;) {
        if (most[s] == most[s + 1]) {
            s++;
            continue;
        }
        windows[count++] = (tess_fbcsr_window){start[s], entries[s]};
        s = beyond[s];
    }
    return count;
}

/* ---- Block rows ---- */

/* Chooses among the candidates of all rows, since blocks that begin in rows less than a height
 * apart may overlap. The better of two selections is kept:
 *
 *   by block rows   paper 001's second dynamic program: whole block rows are taken or left, so that
 *                   those taken are at least a height apart: best where blocks are aligned.
 *   by fill         fullest first, then in the order of rows and columns: best where blocks begin
 *                   anywhere.
 */

static int64_t entries_of_row(const tess_fbcsr_candidates *C, int64_t row)
{
    int64_t sum = 0;
    for (int64_t c = C->offsets[row]; c < C->offsets[row + 1]; c++)
        sum += C->list[c].entries;
    return sum;
}

/* Sets most[i], the most entries of blocks that begin in rows i, i + 1, ... when rows that are
 * taken are at least a height apart. Returns most[0]. */
static int64_t plan_rows(const tess_fbcsr_candidates *C, int64_t height, int64_t *most)
{
    most[C->rows] = 0;
    for (int64_t i = C->rows - 1; i >= 0; i--) {
        int64_t beyond = i + height < C->rows ? most[i + height] : 0;
        int64_t taken = entries_of_row(C, i) + beyond;
        most[i] = tess_max(taken, most[i + 1]);
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

/* Sorts the candidates by falling entries; equal candidates keep their order. */
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

/* Blocks all candidates that overlap candidate c. */
static void block_neighbours(const tess_fbcsr_candidates *C, const tess_shape *shape, int64_t c,
                             uint8_t *state)
{
    int64_t row = C->list[c].row - C->first_row, d = C->list[c].d;
    int64_t first = tess_max(row - shape->height + 1, 0);
    int64_t last = tess_min(row + shape->height, C->rows);
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
