/* SplitOnce for shapes of width 1 and shift -1, 0 or 1: columns, diagonals, anti-diagonals.
 *
 * The entries are sorted by diagonal (d = column - shift * row), with increasing rows in each. Then
 * the blocks of every diagonal are chosen by one dynamic program (select.c), since blocks of
 * different diagonals cannot overlap, and aligned (align_windows). O(entries + diagonals).
 */
#include "format/fbcsr/split.h"

typedef struct diagonal_work {
    tess_ctx *ctx;
    const tess_fbcsr_pattern *P;
    const tess_shape *shape;
    int64_t least;
    int64_t diagonals, first; /* diagonal l has d = first + l */
    int64_t *offsets;         /* diagonals + 1 */
    int64_t *row;             /* of each entry, sorted by (diagonal, row) */
    int64_t *position;        /* in the pattern */
} diagonal_work;

static int64_t diagonal_of(const diagonal_work *W, int64_t row, int32_t column)
{
    return column - W->shape->shift * row - W->first;
}

static void count_entries(void *arg, tess_range range)
{
    const diagonal_work *W = arg;
    const tess_fbcsr_pattern *P = W->P;
    for (int64_t row = range.first; row < range.last; row++)
        for (int64_t k = P->row_offsets[row]; k < P->row_offsets[row + 1]; k++)
            tess_take(&W->offsets[diagonal_of(W, row, P->columns[k]) + 1], 1);
}

/* The first position in a row whose diagonal is at least `diagonal`. In a row, diagonals increase
 * with columns. */
static int64_t lower_bound(const diagonal_work *W, int64_t row, int64_t diagonal)
{
    return tess_fbcsr_lower_bound(W->P, row, diagonal + W->first + W->shape->shift * row);
}

struct sort_share {
    diagonal_work *W;
    int64_t *next;
};

/* Sorts the entries of some diagonals. A share has diagonals of nearly equal entries, and takes its
 * range of every row. */
static void sort_share(void *arg, tess_range diagonals)
{
    const struct sort_share *job = arg;
    diagonal_work *W = job->W;
    int64_t *next = job->next;
    const tess_fbcsr_pattern *P = W->P;
    for (int64_t diagonal = diagonals.first; diagonal < diagonals.last; diagonal++)
        next[diagonal] = W->offsets[diagonal];
    for (int64_t row = 0; diagonals.first < diagonals.last && row < P->rows; row++) {
        int64_t k = lower_bound(W, row, diagonals.first);
        for (; k < P->row_offsets[row + 1]; k++) {
            int64_t diagonal = diagonal_of(W, row, P->columns[k]);
            if (diagonal >= diagonals.last)
                break;
            W->row[next[diagonal]] = row;
            W->position[next[diagonal]++] = k;
        }
    }
}

/* The last row at which a block of the diagonal may begin. It is less than the first row when the
 * diagonal is too short. */
static int64_t last_start(const diagonal_work *W, int64_t d)
{
    int64_t height = W->shape->height, last = W->P->rows - height;
    if (W->shape->shift > 0) /* column d + row + height - 1 < cols */
        return tess_min(last, W->P->cols - height - d);
    if (W->shape->shift < 0) /* column d - row - height + 1 >= 0 */
        return tess_min(last, d - height + 1);
    return last;
}

static int64_t first_start(const diagonal_work *W, int64_t d)
{
    if (W->shape->shift > 0 && d < 0)
        return -d;
    if (W->shape->shift < 0 && d >= W->P->cols)
        return d - W->P->cols + 1;
    return 0;
}

/* Moves the blocks of a long diagonal to multiples of their height, if this loses few of the
 * entries in its `count` windows. Blocks of other diagonals begin at the same rows, and a kernel
 * adds all blocks that begin in a row to y at once. */
enum { ALIGN_WINDOWS = 4, ALIGN_LOSS = 16 };

static int64_t align_windows(const tess_fbcsr_sequence *L, tess_fbcsr_window *windows,
                             int64_t count)
{
    int64_t held = 0, aligned = 0, found = 0;
    if (count < ALIGN_WINDOWS)
        return count;
    for (int64_t w = 0; w < count; w++)
        held += windows[w].entries;
    for (int turn = 0; turn < 2; turn++) { /* count first, then replace */
        for (int64_t at = 0, end; at < L->count; at = end) {
            int64_t start = L->place[at] / L->length * L->length;
            for (end = at + 1; end < L->count && L->place[end] < start + L->length;)
                end++;
            if (end - at < L->least || start < L->first || start > L->last)
                continue;
            if (turn == 1)
                windows[found++] = (tess_fbcsr_window){start, end - at};
            else
                aligned += end - at;
        }
        if (aligned < held - held / ALIGN_LOSS)
            return count;
    }
    return found;
}

/* Selects the blocks of one diagonal and marks their cells. */
static int64_t split_diagonal(const diagonal_work *W, int64_t diagonal, int64_t *scratch,
                              tess_fbcsr_window *windows, int32_t *cell, tess_fbcsr_place *places)
{
    int64_t at = W->offsets[diagonal], end = W->offsets[diagonal + 1], d = W->first + diagonal;
    const tess_fbcsr_sequence L = {.count = end - at,
                                   .place = W->row + at,
                                   .length = W->shape->height,
                                   .first = first_start(W, d),
                                   .last = last_start(W, d),
                                   .least = W->least};
    if (L.count < W->least || L.last < L.first)
        return 0;
    int64_t count = tess_fbcsr_windows(&L, scratch, windows);
    count = align_windows(&L, windows, count);
    for (int64_t w = 0; w < count; w++) {
        int64_t start = windows[w].start;
        while (W->row[at] < start)
            at++;
        for (; at < end && W->row[at] < start + L.length; at++)
            cell[W->position[at]] = (int32_t)(W->row[at] - start);
        places[w] = (tess_fbcsr_place){(int32_t)start, (int32_t)(d + W->shape->shift * start)};
    }
    return count;
}

/* The first of a diagonal's slots in `places`: a diagonal of n entries has at most n / least
 * blocks. */
static int64_t slot_of(const diagonal_work *W, int64_t diagonal)
{
    return W->offsets[diagonal] / W->least;
}

static int64_t longest_diagonal(const diagonal_work *W)
{
    int64_t longest = 0;
    for (int64_t diagonal = 0; diagonal < W->diagonals; diagonal++)
        longest = tess_max(W->offsets[diagonal + 1] - W->offsets[diagonal], longest);
    return longest;
}

struct split_diagonals {
    diagonal_work *W;
    int64_t *scratch; /* `size` per share */
    int64_t size;
    tess_fbcsr_window *windows; /* `longest` + 1 per share */
    int64_t longest;
    int32_t *cell;
    int64_t *counts;
    tess_fbcsr_place *places;
};

static void split_diagonals(void *arg, tess_range range)
{
    const struct split_diagonals *job = arg;
    int64_t *scratch = job->scratch + range.share * job->size;
    tess_fbcsr_window *windows = job->windows + range.share * (job->longest + 1);
    for (int64_t diagonal = range.first; diagonal < range.last; diagonal++)
        job->counts[diagonal] = split_diagonal(job->W, diagonal, scratch, windows, job->cell,
                                               job->places + slot_of(job->W, diagonal));
}

/* Selects the blocks of all diagonals. counts[diagonal] becomes the number of blocks, which are at
 * slot_of(diagonal) of `places`.
 */
static tess_status split_all(diagonal_work *W, int32_t *cell, int64_t *counts,
                             tess_fbcsr_place *places)
{
    int64_t longest = longest_diagonal(W), *scratch = NULL;
    int64_t size = tess_fbcsr_windows_scratch(longest);
    tess_fbcsr_window *windows = NULL;
    int threads = W->ctx->threads;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(W->ctx, threads * size, &scratch));
    TESS_TRY_CLEAN(TESS_ALLOC(W->ctx, threads * (longest + 1), &windows));
    tess_for_dynamic(
        W->ctx, threads, W->diagonals, 64, split_diagonals,
        &(struct split_diagonals){W, scratch, size, windows, longest, cell, counts, places});
cleanup:
    TESS_FREE(W->ctx, scratch, windows);
    return status;
}

/* Gathers the blocks of all diagonals, sorted by row. Diagonals are visited by rising d, so the
 * blocks of a row come by rising column. */
static void gather(const diagonal_work *W, const int64_t *counts, const tess_fbcsr_place *places,
                   int64_t *row_starts, tess_fbcsr_found *out)
{
    for (int64_t diagonal = 0; diagonal < W->diagonals; diagonal++)
        for (int64_t b = 0; b < counts[diagonal]; b++)
            row_starts[places[slot_of(W, diagonal) + b].row + 1]++;
    tess_counts_to_offsets(row_starts, W->P->rows);
    out->blocks = row_starts[W->P->rows];
    for (int64_t diagonal = 0; diagonal < W->diagonals; diagonal++) {
        for (int64_t b = 0; b < counts[diagonal]; b++) {
            tess_fbcsr_place place = places[slot_of(W, diagonal) + b];
            out->places[row_starts[place.row]++] = place;
        }
    }
}

tess_status tess_fbcsr_split_diagonals(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                       const tess_shape *shape, int64_t least,
                                       tess_fbcsr_found *out)
{
    int64_t entries = P->row_offsets[P->rows];
    diagonal_work W = {.ctx = ctx, .P = P, .shape = shape, .least = least};
    W.diagonals = P->cols + (shape->shift ? P->rows - 1 : 0);
    W.first = shape->shift > 0 ? 1 - P->rows : 0;
    int64_t *counts = NULL, *row_starts = NULL;
    tess_fbcsr_place *places = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, W.diagonals + 1, &W.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, W.diagonals + 1, &counts));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &W.row));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &W.position));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries / least + 1, &places));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, P->rows + 1, &row_starts));
    tess_for(ctx, P->rows, count_entries, &W);
    tess_counts_to_offsets(W.offsets, W.diagonals);
    tess_for_rows(ctx, W.offsets, W.diagonals, sort_share, &(struct sort_share){&W, counts});
    TESS_TRY_CLEAN(split_all(&W, out->cell, counts, places));
    gather(&W, counts, places, row_starts, out);
cleanup:
    TESS_FREE(ctx, W.offsets, counts, W.row, W.position, places, row_starts);
    return status;
}
