/* SplitOnce (paper 001, Figure 1) for any shape, in bands of rows.
 *
 * For every row i of a band, a sorted list holds the places d of the entries of rows i ..
 * i+height-1, with their numbers of entries. Going to row i + 1 removes one row and adds one. Along
 * the list a dynamic program chooses the best blocks that begin in row i. After the band is
 * scanned, select.c chooses among the blocks of different rows. In a block some row must have at
 * least the average number of entries in `width` columns. Row i is skipped if none of its height
 * rows has: this makes the scan cheap where there are no blocks.
 *
 * Bands are cut by the pattern alone, so the result does not depend on the number of threads. A
 * second round has bands that begin in the middle of those of the first. It finds, among the
 * remaining entries, blocks across the ends of bands and blocks that were blocked by others.
 */
#include "format/fbcsr/split.h"

enum { BAND_ENTRIES = 16384, BAND_HEIGHTS = 8, ROUNDS = 2 };

typedef struct group {
    int64_t count;
    int64_t *place;
    int32_t *entries;
} group;

/* The scratch memory of one thread. */
typedef struct band_work {
    group now, next;
    int64_t *window_scratch;
    tess_fbcsr_window *windows;
    uint8_t *promising;
    int64_t *offsets;
    tess_fbcsr_candidate *list;
    int64_t *select_scratch;
    uint8_t *chosen;
} band_work;

typedef struct split_work {
    tess_ctx *ctx;
    const tess_fbcsr_pattern *P;
    const tess_shape *shape;
    int64_t least;
    int32_t *cell;
    int64_t bands, *band; /* bands + 1: first rows */
} split_work;

/* ---- The scan ---- */

static int64_t place_of(const split_work *W, int64_t row, int64_t k)
{
    return W->P->columns[k] - W->shape->shift * row;
}

static int64_t skip_taken(const split_work *W, int64_t k, int64_t end)
{
    while (k < end && W->cell[k] >= 0)
        k++;
    return k;
}

/* Whether any `width` adjacent columns of the row hold at least `need` free entries. */
static bool is_promising(const split_work *W, int64_t row, int64_t need)
{
    int64_t end = W->P->row_offsets[row + 1], inside = 0;
    int64_t tail = skip_taken(W, W->P->row_offsets[row], end);
    for (int64_t k = tail; k < end; k = skip_taken(W, k + 1, end)) {
        inside++;
        while (W->P->columns[k] - W->P->columns[tail] >= W->shape->width) {
            tail = skip_taken(W, tail + 1, end);
            inside--;
        }
        if (inside >= need)
            return true;
    }
    return false;
}

/* to = from + sign * (free entries of the row) */
static void merge_row(const split_work *W, const group *from, int64_t row, int32_t sign, group *to)
{
    int64_t end = W->P->row_offsets[row + 1], n = 0, g = 0;
    for (int64_t k = skip_taken(W, W->P->row_offsets[row], end); k < end;
         k = skip_taken(W, k + 1, end)) {
        int64_t place = place_of(W, row, k);
        while (g < from->count && from->place[g] < place) {
            to->place[n] = from->place[g];
            to->entries[n++] = from->entries[g++];
        }
        int32_t entries = sign;
        if (g < from->count && from->place[g] == place)
            entries += from->entries[g++];
        to->place[n] = place;
        to->entries[n] = entries;
        n += entries > 0;
    }
    size_t left = (size_t)(from->count - g);
    memcpy(to->place + n, from->place + g, left * sizeof *to->place);
    memcpy(to->entries + n, from->entries + g, left * sizeof *to->entries);
    to->count = n + (int64_t)left;
}

static void step(const split_work *W, band_work *B, int64_t row, int32_t sign)
{
    merge_row(W, &B->now, row, sign, &B->next);
    group swap = B->now;
    B->now = B->next;
    B->next = swap;
}

/* Sets the group of rows row .. row+height-1, from that of the row before if `follows`. */
static void move_to(const split_work *W, band_work *B, int64_t row, bool follows)
{
    int64_t height = W->shape->height;
    if (follows) {
        step(W, B, row - 1, -1);
        step(W, B, row + height - 1, 1);
        return;
    }
    B->now.count = 0;
    for (int64_t r = row; r < row + height; r++)
        step(W, B, r, 1);
}

/* Chooses the best blocks that begin in this row. Returns their number. */
static int64_t choose_in_row(const split_work *W, band_work *B, int64_t row)
{
    const tess_shape *S = W->shape;
    int64_t top = S->shift * row, bottom = S->shift * (row + S->height - 1), skip = 0;
    int64_t first = tess_max(-top, -bottom);
    int64_t last = W->P->cols - S->width - tess_max(top, bottom);
    if (last < first)
        return 0;
    while (skip < B->now.count && B->now.place[skip] < first)
        skip++;
    const tess_fbcsr_sequence sequence = {.count = B->now.count - skip,
                                          .place = B->now.place + skip,
                                          .entries = B->now.entries + skip,
                                          .length = S->width,
                                          .first = first,
                                          .last = last,
                                          .least = W->least};
    return tess_fbcsr_windows(&sequence, B->window_scratch, B->windows);
}

/* Lists the candidates of all rows of the band in which blocks may begin. Returns their number. */
static int64_t scan_band(const split_work *W, band_work *B, int64_t first, int64_t starts)
{
    int64_t height = W->shape->height, need = tess_ceil_div(W->least, height), live = 0, n = 0;
    bool follows = false;
    for (int64_t i = 0; i < starts + height - 1; i++) {
        B->promising[i] = is_promising(W, first + i, need);
        live += i < height - 1 && B->promising[i];
    }
    B->offsets[0] = 0;
    for (int64_t i = 0; i < starts; i++) {
        live += B->promising[i + height - 1];
        if (live > 0) {
            move_to(W, B, first + i, follows);
            int64_t count = choose_in_row(W, B, first + i);
            for (int64_t w = 0; w < count; w++)
                B->list[n++] = (tess_fbcsr_candidate){.row = (int32_t)(first + i),
                                                      .entries = (int32_t)B->windows[w].entries,
                                                      .d = B->windows[w].start};
        }
        follows = live > 0;
        live -= B->promising[i];
        B->offsets[i + 1] = n;
    }
    return n;
}

/* ---- Taking blocks out ---- */

static void mark_cells(const split_work *W, int64_t row, int64_t d)
{
    const tess_shape *S = W->shape;
    for (int64_t i = 0; i < S->height; i++) {
        int64_t column = d + S->shift * (row + i), end = W->P->row_offsets[row + i + 1];
        int64_t k = tess_fbcsr_lower_bound(W->P, row + i, column);
        for (; k < end && W->P->columns[k] < column + S->width; k++)
            if (W->cell[k] < 0)
                W->cell[k] = (int32_t)((W->P->columns[k] - column) * S->height + i);
    }
}

static int64_t split_band(const split_work *W, band_work *B, int64_t band, tess_fbcsr_place *places)
{
    int64_t first = W->band[band], rows = W->band[band + 1] - first, blocks = 0;
    int64_t starts = rows - W->shape->height + 1;
    if (starts <= 0)
        return 0;
    int64_t count = scan_band(W, B, first, starts);
    if (count == 0)
        return 0;
    const tess_fbcsr_candidates C = {first, starts, B->offsets, B->list};
    tess_fbcsr_select(&C, W->shape, B->select_scratch, B->chosen);
    for (int64_t c = 0; c < count; c++) {
        if (B->chosen[c] != 1)
            continue;
        int64_t row = B->list[c].row;
        places[blocks++] =
            (tess_fbcsr_place){(int32_t)row, (int32_t)(B->list[c].d + W->shape->shift * row)};
        mark_cells(W, row, B->list[c].d);
    }
    return blocks;
}

/* ---- Bands ---- */

/* Round 0: bands of enough entries and rows. Round 1: bands from the middle of one to that of the
 * next.
 */
static void cut_bands(split_work *W, int round)
{
    const tess_fbcsr_pattern *P = W->P;
    if (round == 0) {
        int64_t least_rows = (int64_t)BAND_HEIGHTS * W->shape->height;
        W->bands = 0;
        W->band[0] = 0;
        for (int64_t row = 1; row < P->rows; row++) {
            int64_t begin = W->band[W->bands];
            if (row - begin >= least_rows && P->rows - row >= least_rows &&
                P->row_offsets[row] - P->row_offsets[begin] >= BAND_ENTRIES)
                W->band[++W->bands] = row;
        }
        W->band[++W->bands] = P->rows;
        return;
    }
    for (int64_t b = W->bands; b > 0; b--)
        W->band[b] = W->band[b - 1] + (W->band[b] - W->band[b - 1]) / 2;
    W->band[++W->bands] = P->rows;
    if (W->bands == 2) { /* one band has no ends to search across */
        W->bands = 1;
        W->band[1] = P->rows;
    }
}

/* The first slot of a band's blocks: n entries give at most n / least blocks. */
static int64_t slot_of(const split_work *W, int64_t band)
{
    return W->P->row_offsets[W->band[band]] / W->least;
}

typedef struct band_sizes {
    int64_t rows, group, candidates;
} band_sizes;

/* The largest sizes that any band of any round needs. */
static band_sizes measure_bands(const split_work *W)
{
    const tess_shape *S = W->shape;
    const int64_t *offsets = W->P->row_offsets;
    band_sizes most = {0, 0, 0};
    for (int64_t b = 0; b < W->bands; b++) {
        /* A band of the second round lies in two neighbouring bands of the first. */
        int64_t first = W->band[b], last = W->band[b + 1 < W->bands ? b + 2 : b + 1];
        int64_t entries = (offsets[last] - offsets[first]) * S->height / W->least;
        int64_t places = (last - first) * (W->P->cols / S->width + 1);
        most.rows = tess_max(most.rows, last - first);
        most.candidates = tess_max(most.candidates, tess_min(entries, places));
    }
    for (int64_t row = 0; row + S->height <= W->P->rows; row++)
        most.group = tess_max(most.group, offsets[row + S->height] - offsets[row]);
    return most;
}

static void free_work(tess_ctx *ctx, band_work *B)
{
    TESS_FREE(ctx, B->now.place, B->now.entries, B->next.place, B->next.entries, B->windows,
              B->promising, B->window_scratch, B->offsets, B->list, B->chosen, B->select_scratch);
}

static tess_status allocate_work(const split_work *W, const band_sizes *most, band_work *B)
{
    tess_ctx *ctx = W->ctx;
    int64_t cells = tess_shape_cells(W->shape);
    TESS_TRY(TESS_ALLOC(ctx, most->group + 1, &B->now.place));
    TESS_TRY(TESS_ALLOC(ctx, most->group + 1, &B->now.entries));
    TESS_TRY(TESS_ALLOC(ctx, most->group + 1, &B->next.place));
    TESS_TRY(TESS_ALLOC(ctx, most->group + 1, &B->next.entries));
    TESS_TRY(TESS_ALLOC(ctx, tess_fbcsr_windows_scratch(most->group), &B->window_scratch));
    TESS_TRY(TESS_ALLOC(ctx, most->group + 1, &B->windows));
    TESS_TRY(TESS_ALLOC(ctx, most->rows + 1, &B->promising));
    TESS_TRY(TESS_ALLOC(ctx, most->rows + 1, &B->offsets));
    TESS_TRY(TESS_ALLOC(ctx, most->candidates + 1, &B->list));
    TESS_TRY(TESS_ALLOC(ctx, most->candidates + 1, &B->chosen));
    return TESS_ALLOC(ctx, 2 * (most->rows + 1) + most->candidates + cells + 2, &B->select_scratch);
}

/* ---- Rounds ---- */

/* Merges the sorted blocks of one round into the sorted places[0 .. *blocks-1]. */
static void merge_round(const split_work *W, const int64_t *counts, const tess_fbcsr_place *slots,
                        tess_fbcsr_place *places, int64_t *blocks)
{
    int64_t fresh = 0, old = *blocks;
    for (int64_t b = 0; b < W->bands; b++)
        fresh += counts[b];
    int64_t to = *blocks = old + fresh;
    for (int64_t b = W->bands - 1; b >= 0; b--) {
        for (int64_t k = counts[b] - 1; k >= 0; k--) {
            tess_fbcsr_place place = slots[slot_of(W, b) + k];
            while (old > 0 &&
                   (places[old - 1].row > place.row ||
                    (places[old - 1].row == place.row && places[old - 1].col > place.col)))
                places[--to] = places[--old];
            places[--to] = place;
        }
    }
}

struct split_some {
    split_work *W;
    int64_t *counts;
    band_work *work;
    tess_fbcsr_place *slots;
};

static void split_some(void *arg, tess_range range)
{
    const struct split_some *job = arg;
    for (int64_t b = range.first; b < range.last; b++)
        job->counts[b] =
            split_band(job->W, &job->work[range.share], b, job->slots + slot_of(job->W, b));
}

static tess_status split_bands(split_work *W, tess_fbcsr_found *out)
{
    tess_ctx *ctx = W->ctx;
    int threads = ctx->threads;
    int64_t entries = W->P->row_offsets[W->P->rows], *counts = NULL;
    tess_fbcsr_place *slots = NULL;
    band_work *work = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, W->P->rows / BAND_HEIGHTS + 3, &W->band));
    cut_bands(W, 0);
    band_sizes most = measure_bands(W);
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, threads, &work));
    for (int t = 0; t < threads; t++)
        TESS_TRY_CLEAN(allocate_work(W, &most, &work[t]));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, W->bands + 1, &counts));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries / W->least + 1, &slots));
    /* Blocks of height 1 lie in one row, so the first round finds all of them. */
    for (int round = 0; round < (W->shape->height > 1 ? ROUNDS : 1); round++) {
        if (round > 0)
            cut_bands(W, round);
        tess_for_dynamic(W->ctx, threads, W->bands, 1, split_some,
                         &(struct split_some){W, counts, work, slots});
        merge_round(W, counts, slots, out->places, &out->blocks);
    }
cleanup:
    for (int t = 0; work && t < threads; t++)
        free_work(ctx, &work[t]);
    TESS_FREE(ctx, work, W->band, counts, slots);
    return status;
}

static int64_t count_extracted(const void *cell, tess_range range)
{
    int64_t nonzeros = 0;
    for (int64_t k = range.first; k < range.last; k++)
        nonzeros += ((const int32_t *)cell)[k] >= 0;
    return nonzeros;
}

tess_status tess_fbcsr_split_once(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                  const tess_shape *shape, int64_t least, tess_fbcsr_found *out)
{
    int64_t entries = P->row_offsets[P->rows];
    tess_fbcsr_found found = {.blocks = 0};
    split_work W = {.ctx = ctx, .P = P, .shape = shape, .least = least};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &found.cell));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries / least + 1, &found.places));
    memset(found.cell, 0xff, (size_t)entries * sizeof *found.cell);
    W.cell = found.cell;
    if (entries >= least && P->rows >= shape->height && P->cols >= shape->width) {
        bool diagonals = shape->width == 1 && shape->shift >= -1 && shape->shift <= 1;
        TESS_TRY_CLEAN(diagonals ? tess_fbcsr_split_diagonals(ctx, P, shape, least, &found)
                                 : split_bands(&W, &found));
    }
    found.nonzeros = tess_reduce(ctx, entries, TESS_SUM, count_extracted, found.cell);
cleanup:
    return TESS_DELIVER_OR(status, found, tess_fbcsr_found_clear(ctx, &found), out);
}
