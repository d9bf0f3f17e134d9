/* Windows along a line, chosen by dynamic programming (paper 001: "look at each row and select the
 * blocks that could maximize the number of nonzeros extracted from that row").
 *
 *     most(s) = max(most(next start), entries(s) + most(first start beyond the window at s))
 *
 * over the places s where windows may begin, in order; only windows with enough entries count. Of
 * any choice of windows, each can be moved right until it begins at a place with entries or touches
 * the next one, and they hold no less. So it is enough to look at windows that begin less than a
 * length before a place with entries. Of long windows few touch: only REACH places are looked at.
 */
#include "format/fbcsr/split.h"

enum { REACH = 7, LONG_LINE = 65536 };

static int64_t reach_of(int64_t count, int64_t length)
{
    if (count > LONG_LINE)
        return 0;
    return length - 1 < REACH ? length - 1 : REACH;
}

int64_t tess_fbcsr_windows_scratch(int64_t count)
{
    int64_t starts = count > LONG_LINE ? count : count * (REACH + 1);
    if (starts < (int64_t)LONG_LINE * (REACH + 1) && count > LONG_LINE)
        starts = (int64_t)LONG_LINE * (REACH + 1); /* shorter lines use it, too */
    return 4 * (starts + 1);
}

/* A single window is never fuller than the one moved right to its first entry. */
static bool any_full_enough(const tess_fbcsr_line *L)
{
    int64_t inside = 0, end = 0;
    for (int64_t k = 0; k < L->count; k++) {
        int64_t start = L->place[k] < L->last ? L->place[k] : L->last;
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

/* The places where windows may begin, in order. */
static int64_t list_starts(const tess_fbcsr_line *L, int64_t *start)
{
    int64_t n = 0, reach = reach_of(L->count, L->length), next = L->first;
    for (int64_t k = 0; k < L->count && next <= L->last; k++) {
        int64_t to = L->place[k] < L->last ? L->place[k] : L->last;
        if (next < to - reach)
            next = to - reach;
        while (next <= to)
            start[n++] = next++;
    }
    return n;
}

/* The entries of every window, by two pointers. */
static void count_entries(const tess_fbcsr_line *L, int64_t n, const int64_t *start,
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

int64_t tess_fbcsr_windows(const tess_fbcsr_line *L, int64_t *scratch, tess_fbcsr_window *windows)
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
        most[s] = taken > most[s + 1] ? taken : most[s + 1];
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
