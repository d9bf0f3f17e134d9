/* Chooses the shapes to extract, and their order, by the bytes that a product moves.
 *
 * A block of h x w cells takes h w values and 8 bytes of place. In CSR its n non-zeros take n
 * values and 4 n bytes of columns. So a block pays above a fill of (h w v + 8) / (h w (v + 4)),
 * which is its threshold.
 *
 * Blocks that begin in the same row are a run: they are added to y together. On a CPU a run costs a
 * branch misprediction, which is priced at RUN_BYTES. A run of diagonals also costs some time per
 * row: y is read and written for one column, in other shapes for several. Fitted to 66 matrices on
 * 2 cores:
 *
 *   2.9 ns   per run
 *   0.28 ns  per row of a diagonal's run
 *   0.5 ns   per row of a CSR matrix
 *   0.26 ns  per non-zero, which is 12 bytes
 *
 * The prices here are lower, so that no shape is lost that pays on a GPU.
 *
 * Lists are built on a sample of the rows, one shape at a time, until no shape saves half a percent
 * of CSR's bytes. The first list always takes the shape that saves most, but short rows may then
 * break up squares. So a second list takes, among the shapes that save nearly as much, the one that
 * saves most per non-zero. The better list is returned, or none if it saves too little to be worth
 * the splitting.
 */
#include "format/fbcsr/slices.h"
#include "format/fbcsr/split.h"
#include "matrix/sort.h"

static const char *const candidates[] = {
    "32x32,16x16,8x8,6x6,5x5,4x4,3x3,2x2", "8x4,4x8,8x2,2x8,2x6,6x3,3x6,5x3,3x5,4x3,3x4,4x2,2x4",
    ("row:32,row:16,row:8,row:4,column:32,column:16,"
     "diagonal:32,diagonal:16,antidiagonal:32,antidiagonal:16")};
enum {
    CANDIDATES = 31,
    SAMPLE_ENTRIES = 100000,
    SAMPLE_PIECES = 8,
    RUN_BYTES = 48,
    DIAGONAL_BYTES = 7,
    DIAGONAL_BYTES_LEAST = 2,       /* a second price of diagonals, which prefers them */
    DIAGONAL_BYTES_NEVER = 1 << 20, /* a third price, for a list without diagonals */
    ROW_BYTES = 24,                 /* saved per row if the remainder has empty rows mostly, */
    LONE_BYTES = 80,                /* less this for each entry of the remainder */
    SPLIT_BYTES = 4,                /* price per row and split: every split walks over y once */
    GAP = 64,      /* empty rows between two pieces: the height of the tallest candidate */
    LONG_ROWS = 4, /* a piece with long rows may have this many times its share of entries */
};

/* The share of CSR's bytes that the whole list must save. */
#define LEAST_SAVED 0.115

static int64_t count_runs(const tess_fbcsr_found *found)
{
    int64_t runs = 0;
    for (int64_t b = 0; b < found->blocks; b++)
        runs += b == 0 || found->places[b].row != found->places[b - 1].row;
    return runs;
}

/* ---- The sample ---- */

/* Copies rows first .. first + count - 1 of the matrix to row `to` of the sample and those after
 * it. */
static void copy_rows(const tess_matrix *csr, int64_t first, int64_t count, int64_t most,
                      int64_t to, tess_fbcsr_pattern *P)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = P->row_offsets[to + i], entries = tess_fbcsr_sampled(csr, first + i, most);
        P->row_offsets[to + i + 1] = at + entries;
        memcpy(P->columns + at, csr->columns + csr->row_offsets[first + i],
               (size_t)entries * sizeof *P->columns);
    }
}

/* The row at which piece p begins. Pieces begin at equal distances; with `spread` each at a
 * different place in its share of the rows, and at an even row. */
static int64_t piece_start(const tess_matrix *csr, int p, bool spread)
{
    const int places = 64, step = 39;
    int64_t row =
        tess_share_row(csr->row_offsets, csr->rows, p * places + (spread ? p * step % places : 0),
                       SAMPLE_PIECES * places);
    return spread ? row - row % 2 : row;
}

/* Returns the end of a piece of about `most` entries that begins with row `first`; *entries are its
 * entries. A long row counts as most / GAP entries only, until the piece has LONG_ROWS * most
 * entries. */
static int64_t piece_end(const tess_matrix *csr, int64_t first, int64_t most, int64_t *entries)
{
    int64_t row = first, taken = 0;
    for (int64_t counted = 0; row < csr->rows && counted < most; row++) {
        int64_t length = tess_fbcsr_sampled(csr, row, most);
        if (taken > (row < first + GAP ? 4 : 1) * LONG_ROWS * most)
            break;
        counted += tess_min(length, most / GAP);
        taken += length;
    }
    *entries = taken;
    return row;
}

/* Removes columns that no row has, since the search for diagonals takes time for every column. Gaps
 * remain wide enough that no shape reaches across them. */
static tess_status compact_columns(tess_ctx *ctx, tess_fbcsr_pattern *P)
{
    const int64_t keep = 2 * TESS_SHAPE_SIDE, entries = P->row_offsets[P->rows];
    int32_t *used, *becomes;
    TESS_TRY(TESS_ALLOC(ctx, 2 * entries + 1, &used));
    memcpy(used, P->columns, (size_t)entries * sizeof *used);
    const int64_t count = tess_distinct(used, entries);
    becomes = used + count;
    for (int64_t i = 0; i < count; i++) {
        int64_t gap = used[i] - (i > 0 ? used[i - 1] : 0);
        becomes[i] = (i > 0 ? becomes[i - 1] : 0) + (int32_t)tess_min(gap, keep);
    }
    for (int64_t k = 0; k < entries; k++)
        P->columns[k] = becomes[tess_lower_bound(used, 0, count, P->columns[k])];
    int64_t beyond = count > 0 ? P->cols - 1 - used[count - 1] : 0;
    if (count > 0)
        P->cols = becomes[count - 1] + 1 + tess_min(beyond, keep);
    tess_free(ctx, used);
    return TESS_OK;
}

tess_status tess_fbcsr_sample(tess_ctx *ctx, const tess_matrix *csr, int64_t wanted, bool spread,
                              tess_fbcsr_pattern *P)
{
    const int64_t most = wanted / SAMPLE_PIECES;
    *P = tess_fbcsr_pattern_of(csr);
    if (csr->blocks <= 2 * wanted)
        return TESS_OK;
    int64_t first[SAMPLE_PIECES], count[SAMPLE_PIECES], rows = 0, entries = 0, to = 0;
    for (int p = 0; p < SAMPLE_PIECES; p++) {
        int64_t inside;
        first[p] = piece_start(csr, p, spread);
        count[p] = piece_end(csr, first[p], most, &inside) - first[p];
        if (spread && count[p] % 2 && first[p] + count[p] < csr->rows)
            inside += tess_fbcsr_sampled(csr, first[p] + count[p]++, most);
        rows += count[p] + GAP;
        entries += inside;
    }
    tess_fbcsr_pattern S = {.rows = rows, .cols = csr->cols};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, rows + 1, &S.row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &S.columns));
    for (int p = 0; p < SAMPLE_PIECES; p++) {
        copy_rows(csr, first[p], count[p], most, to, &S);
        to += count[p];
        for (int i = 0; i < GAP; i++, to++)
            S.row_offsets[to + 1] = S.row_offsets[to];
    }
    TESS_TRY_CLEAN(compact_columns(ctx, &S));
cleanup:
    return TESS_DELIVER_OR(status, S, tess_fbcsr_pattern_clear(ctx, &S), P);
}

/* ---- Lists ---- */

typedef struct trial {
    double saved, density; /* bytes; bytes per non-zero */
    double diagonal_rows;  /* rows in runs of diagonals */
    double bytes;          /* saved, without the prices of runs */
} trial;

typedef struct search {
    tess_ctx *ctx;
    tess_type type;
    double worthwhile;     /* bytes */
    double diagonal_bytes; /* the price of a row of a diagonal's run */
    tess_shape shape[CANDIDATES];
    trial first[CANDIDATES];   /* on the whole sample */
    bool hopeless[CANDIDATES]; /* saved too little at its last trial, and later saves less */
} search;

static tess_status try_shape(const search *S, const tess_fbcsr_pattern *P, int c,
                             tess_fbcsr_found *found, trial *out)
{
    const tess_shape *shape = &S->shape[c];
    int64_t least = tess_fbcsr_least(shape, S->type, TESS_SHAPE_NO_THRESHOLD);
    TESS_TRY(tess_fbcsr_split_once(S->ctx, P, shape, least, found));
    const double value = (double)tess_type_size(S->type), runs = (double)count_runs(found);
    out->diagonal_rows = shape->width == 1 && shape->height > 1 ? shape->height * runs : 0;
    out->bytes = (value + 4) * (double)found->nonzeros -
                 (value * (double)tess_shape_cells(shape) + 8) * (double)found->blocks;
    out->saved = out->bytes - RUN_BYTES * runs - S->diagonal_bytes * out->diagonal_rows;
    out->density = found->nonzeros ? out->saved / (double)found->nonzeros : 0;
    return TESS_OK;
}

static tess_status try_all(search *S, const tess_fbcsr_pattern *P, trial trials[CANDIDATES])
{
    for (int c = 0; c < CANDIDATES; c++) {
        tess_fbcsr_found found;
        trials[c] = (trial){.saved = 0};
        if (S->hopeless[c])
            continue;
        TESS_TRY(tess_progress(S->ctx, "choosing shapes", c, CANDIDATES));
        TESS_TRY(try_shape(S, P, c, &found, &trials[c]));
        tess_fbcsr_found_clear(S->ctx, &found);
        S->hopeless[c] = trials[c].saved < S->worthwhile;
    }
    return TESS_OK;
}

/* The next shape, or -1: among the shapes that save at least `share` of what the best saves, the
 * one that saves most per non-zero. */
static int next_shape(const search *S, const trial trials[CANDIDATES], double share)
{
    double most = 0;
    int next = -1;
    for (int c = 0; c < CANDIDATES; c++)
        if (!S->hopeless[c] && trials[c].saved > most)
            most = trials[c].saved;
    for (int c = 0; c < CANDIDATES; c++)
        if (!S->hopeless[c] && trials[c].saved >= share * most &&
            (next < 0 || trials[c].density > trials[next].density))
            next = c;
    return next;
}

/* The bytes that a remainder of `left` entries saves if it is small: most of its rows are not
 * visited. */
static double rest_saved(int64_t rows, int64_t left)
{
    return left <= rows / 2 ? ROW_BYTES * (double)rows - LONE_BYTES * (double)left : 0;
}

/* Adds shape c to the list, and removes its blocks from P. */
static tess_status take_shape(search *S, tess_fbcsr_pattern *P, int c, tess_fbcsr_options *list,
                              double *saved)
{
    tess_fbcsr_found found;
    trial one;
    TESS_TRY(try_shape(S, P, c, &found, &one));
    tess_status status = tess_fbcsr_pattern_remove(S->ctx, P, &found);
    tess_fbcsr_found_clear(S->ctx, &found);
    S->hopeless[c] = true; /* its blocks are taken */
    list->shape[list->count] = S->shape[c];
    list->threshold[list->count++] = TESS_SHAPE_NO_THRESHOLD;
    list->saved += one.bytes;
    *saved += one.saved - (DIAGONAL_BYTES - S->diagonal_bytes) * one.diagonal_rows;
    return status;
}

/* Finds the shape, or -1, that does not pay by its own bytes but by leaving a small remainder. */
static tess_status last_shape(const search *S, const tess_fbcsr_pattern *P, int *out)
{
    const int64_t left = P->row_offsets[P->rows];
    double most = S->worthwhile + SPLIT_BYTES * (double)P->rows;
    *out = -1;
    if (left <= P->rows / 2)
        return TESS_OK;
    for (int c = 0; c < CANDIDATES; c++) {
        tess_fbcsr_found found;
        trial one;
        TESS_TRY(try_shape(S, P, c, &found, &one));
        double gain = one.saved + rest_saved(P->rows, left - found.nonzeros);
        tess_fbcsr_found_clear(S->ctx, &found);
        if (gain > most) {
            most = gain;
            *out = c;
        }
    }
    return TESS_OK;
}

/* Builds one list, on a copy of the search. *saved: the bytes that the whole list saves. */
static tess_status build_list(search S, const tess_fbcsr_pattern *sample, double share,
                              tess_fbcsr_options *list, double *saved)
{
    tess_fbcsr_pattern P = *sample;
    trial trials[CANDIDATES];
    tess_status status = TESS_OK;
    int c;
    P.borrowed = true;
    list->count = 0;
    *saved = 0;
    memcpy(trials, S.first, sizeof trials);
    while ((c = next_shape(&S, trials, share)) >= 0 && list->count < TESS_FBCSR_SPLITS) {
        TESS_TRY_CLEAN(take_shape(&S, &P, c, list, saved));
        TESS_TRY_CLEAN(try_all(&S, &P, trials));
    }
    if (list->count > 0 && list->count < TESS_FBCSR_SPLITS) {
        TESS_TRY_CLEAN(last_shape(&S, &P, &c));
        if (c >= 0)
            TESS_TRY_CLEAN(take_shape(&S, &P, c, list, saved));
    }
    *saved += rest_saved(P.rows, P.row_offsets[P.rows]);
cleanup:
    tess_fbcsr_pattern_clear(S.ctx, &P);
    return status;
}

tess_status tess_fbcsr_choose(tess_ctx *ctx, const tess_matrix *csr, tess_fbcsr_options *out)
{
    static const double shares[] = {1, 0.8, 0.25};
    search S = {.ctx = ctx, .type = csr->type};
    tess_fbcsr_pattern sample;
    double most = -INFINITY, best = -INFINITY;
    tess_status status = TESS_OK;
    *out = (tess_fbcsr_options){0};
    if (csr->blocks == 0) /* nothing to save: every list would save all of it */
        return TESS_OK;
    for (size_t i = 0, c = 0; i < sizeof candidates / sizeof *candidates; i++) {
        tess_fbcsr_options some;
        TESS_TRY(tess_shape_list_parse(ctx, candidates[i], &some));
        for (int k = 0; k < some.count && c < CANDIDATES; k++)
            S.shape[c++] = some.shape[k];
    }
    TESS_TRY(tess_fbcsr_sample(ctx, csr, SAMPLE_ENTRIES, false, &sample));
    const double whole =
        (double)(tess_type_size(csr->type) + 4) * (double)sample.row_offsets[sample.rows];
    S.worthwhile = TESS_FBCSR_WORTHWHILE * whole;
    for (int turn = 0; turn < 3; turn++) {
        static const double diagonal_bytes[] = {DIAGONAL_BYTES, DIAGONAL_BYTES_LEAST,
                                                DIAGONAL_BYTES_NEVER};
        if (turn == 2 && !tess_fbcsr_has_diagonals(out))
            break;
        S.diagonal_bytes = diagonal_bytes[turn];
        memset(S.hopeless, 0, sizeof S.hopeless);
        TESS_TRY_CLEAN(try_all(&S, &sample, S.first));
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            tess_fbcsr_options list = {.count = 0};
            double saved;
            TESS_TRY_CLEAN(build_list(S, &sample, shares[i], &list, &saved));
            double after = saved - SPLIT_BYTES * (double)sample.rows * list.count;
            if (after > best) {
                best = after;
                most = saved;
                *out = list;
            }
        }
    }
    if (most < LEAST_SAVED * whole)
        out->count = 0;
    out->saved = out->count > 0 ? out->saved / whole : 0;
cleanup:
    tess_fbcsr_pattern_clear(ctx, &sample);
    return status;
}
