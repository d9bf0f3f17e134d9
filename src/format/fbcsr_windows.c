/* Windows along a line, chosen by dynamic programming (paper 001: "look at each row and select the
 * blocks that could maximize the number of nonzeros extracted from that row").
 *
 *     most(k) = max(most(k + 1), entries(k) + most(next(k)))
 *
 * over the places k, where entries(k) counts the window that begins at k, if they are enough, and
 * next(k) is the first place beyond it. A window that begins between two places holds no more than
 * the one moved right to the next place, so these are all that need to be looked at; only at the
 * end of the line, where it cannot be moved, the window that begins at `last` comes in.
 */
#include "format/fbcsr_split.h"

/* next[k] and the entries of window k; the number of places at which windows begin. */
static int64_t measure(const tess_fbcsr_line *L, int64_t *next, int64_t *entries, bool *any)
{
    int64_t k = 0, end = 0, inside = 0;
    *any = false;
    for (; k < L->count; k++) {
        int64_t start = L->place[k] < L->last ? L->place[k] : L->last;
        while (end < L->count && L->place[end] < start + L->length)
            inside += L->entries ? L->entries[end++] : (end++, 1);
        next[k] = end;
        entries[k] = inside;
        *any |= inside >= L->least;
        if (L->place[k] >= L->last)
            return k + 1;
        inside -= L->entries ? L->entries[k] : 1;
    }
    return k;
}

int64_t tess_fbcsr_windows(const tess_fbcsr_line *L, int64_t *scratch, tess_fbcsr_window *windows)
{
    int64_t *next = scratch, *entries = next + L->count + 1, *most = entries + L->count + 1;
    bool any;
    int64_t starts = measure(L, next, entries, &any), count = 0;
    if (!any)
        return 0;
    for (int64_t k = starts; k <= L->count; k++)
        most[k] = 0;
    for (int64_t k = starts - 1; k >= 0; k--) {
        int64_t taken = entries[k] >= L->least ? entries[k] + most[next[k]] : 0;
        most[k] = taken > most[k + 1] ? taken : most[k + 1];
    }
    for (int64_t k = 0; k < starts;) {
        if (most[k] == most[k + 1]) {
            k++;
            continue;
        }
        int64_t start = L->place[k] < L->last ? L->place[k] : L->last;
        windows[count++] = (tess_fbcsr_window){start, entries[k]};
        k = next[k];
    }
    return count;
}
