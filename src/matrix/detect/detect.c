/* Block detection: counts, prices and recommends block sizes (tessera.h, "Analysis").
 *
 * Every candidate is counted exactly, in the smallest pattern at hand whose cells divide its
 * blocks. This is the pattern of the scalars, or that of an earlier candidate's blocks. A
 * candidate's blocks are kept as a pattern if they are at most half as many as the cells of the
 * pattern in which they were counted. A matrix with blocks shrinks after one or two such steps. A
 * matrix without blocks costs one sweep over its entries per candidate.
 */
#include "matrix/detect/detect.h"

enum { CANDIDATES_MAX = 256, PATTERNS_MAX = 16 };

/* Blocks are worth the conversion where they take less than this share of CSR's bytes. */
#define WORTHWHILE 0.98
/* An r x c block with r != c, or with an offset, must take less than this share of the bytes of the
 * best square block. */
#define WORTH_THE_TROUBLE 0.95

typedef struct search {
    tess_ctx *ctx;
    const tess_matrix *A;
    tess_marks marks;
    tess_pattern patterns[PATTERNS_MAX]; /* [0]: the scalars */
    int pattern_count;
    tess_block_candidate list[CANDIDATES_MAX];
    int count;
} search;

/* ---- The candidates ---- */

static void propose(search *S, int32_t rows, int32_t cols)
{
    S->list[S->count++] = (tess_block_candidate){.rows = rows, .cols = cols};
}

static void propose_aligned(search *S)
{
    for (int32_t b = 1; b <= TESS_DETECT_MAX; b++)
        propose(S, b, b);
    for (int32_t r = 1; r <= 8; r++)
        for (int32_t c = 1; c <= 8; c++)
            if (r != c)
                propose(S, r, c);
    for (int32_t r = 1; r <= TESS_DETECT_MAX; r *= 2)
        for (int32_t c = 1; c <= TESS_DETECT_MAX; c *= 2)
            if (r != c && (r > 8 || c > 8))
                propose(S, r, c);
}

static void price(const search *S, tess_block_candidate *C)
{
    double value = (double)tess_type_size(S->A->type);
    double entries = (double)S->patterns[0].entries, rows = (double)S->A->rows;
    double stored = (double)C->blocks * C->rows * C->cols;
    int64_t shift = (C->rows - C->row_offset) % C->rows;
    double index =
        4 * (double)C->blocks + 4 * (double)(tess_ceil_div(S->A->rows + shift, C->rows) + 1);
    C->fill = stored / entries;
    C->density = entries / stored;
    C->bytes = value * stored + index + value * (rows + (double)S->A->cols);
    C->index_saved = 4 * entries + 4 * (rows + 1) - index;
}

/* ---- Counting ---- */

/* Returns whether a candidate that is not counted yet is a multiple of this one. */
static bool has_multiples(const search *S, const tess_block_candidate *C, const bool *done)
{
    for (int i = 0; i < S->count; i++) {
        const tess_block_candidate *D = &S->list[i];
        if (!done[i] && D->rows % C->rows == 0 && D->cols % C->cols == 0 &&
            (D->rows > C->rows || D->cols > C->cols))
            return true;
    }
    return false;
}

static const tess_pattern *smallest_pattern(const search *S, const tess_block_candidate *C)
{
    const tess_pattern *best = &S->patterns[0];
    for (int i = 1; i < S->pattern_count; i++) {
        const tess_pattern *P = &S->patterns[i];
        if (C->rows % P->height == 0 && C->cols % P->width == 0 && P->entries < best->entries)
            best = P;
    }
    return best;
}

static tess_status count_aligned(search *S, tess_block_candidate *C, bool keep)
{
    const tess_pattern *P = smallest_pattern(S, C);
    int32_t height = C->rows / P->height, width = C->cols / P->width;
    if (height == 1 && width == 1)
        C->blocks = P->entries;
    else
        C->blocks = tess_pattern_count(P, height, width, 0, 0, &S->marks, NULL);
    int64_t room = 2 * S->patterns[0].entries; /* 8 bytes per entry, for all kept patterns */
    for (int i = 1; i < S->pattern_count; i++)
        room -= S->patterns[i].entries;
    if (keep && C->blocks <= P->entries / 2 && C->blocks <= room &&
        S->pattern_count < PATTERNS_MAX) {
        tess_pattern *blocks = &S->patterns[S->pattern_count++];
        TESS_TRY(tess_pattern_compress(S->ctx, P, height, width, &S->marks, blocks));
    }
    return TESS_OK;
}

/* Counts small blocks first, so that their patterns serve for larger blocks. */
static tess_status count_all_aligned(search *S)
{
    bool done[CANDIDATES_MAX] = {false};
    for (int step = 0; step < S->count; step++) {
        int next = -1;
        for (int i = 0; i < S->count; i++)
            if (!done[i] && (next < 0 || S->list[i].rows * S->list[i].cols <
                                             S->list[next].rows * S->list[next].cols))
                next = i;
        done[next] = true;
        TESS_TRY(tess_progress(S->ctx, "detecting blocks", step, S->count));
        TESS_TRY(count_aligned(S, &S->list[next], has_multiples(S, &S->list[next], done)));
        price(S, &S->list[next]);
    }
    return TESS_OK;
}

/* ---- Blocks that begin elsewhere ---- */

/* Returns whether an offset is kept. It must give fewer blocks than the best offset so far, at
 * least 2 % fewer than offset 0, and blocks at least half full: emptier blocks hold more bytes of
 * zeros than CSR has of indices, so they never pay. */
static bool worth_keeping(const search *S, const tess_block_candidate *C, int64_t blocks,
                          int64_t best)
{
    return blocks < best && (double)blocks <= 0.98 * (double)C->blocks &&
           blocks * C->rows * C->cols <= 2 * S->patterns[0].entries;
}

/* Counts C at another offset. If that gives fewer than `best` blocks, it replaces the candidate in
 * `slot` (-1: none yet). Returns the fewest blocks so far. */
static int64_t try_offset(search *S, const tess_block_candidate *C, int32_t row_offset,
                          int32_t col_offset, int64_t best, int *slot)
{
    if ((row_offset == 0 && col_offset == 0) || S->count == CANDIDATES_MAX)
        return best;
    int64_t blocks = tess_pattern_count(&S->patterns[0], C->rows, C->cols, row_offset, col_offset,
                                        &S->marks, NULL);
    if (!worth_keeping(S, C, blocks, best))
        return best;
    if (*slot < 0)
        *slot = S->count++;
    S->list[*slot] = (tess_block_candidate){.rows = C->rows,
                                            .cols = C->cols,
                                            .row_offset = row_offset,
                                            .col_offset = col_offset,
                                            .blocks = blocks};
    price(S, &S->list[*slot]);
    return blocks;
}

/* r x c blocks are at most as full as r x 1 and 1 x c blocks with the same offsets. If by that
 * bound no offset can pay, none is tried. For small blocks and matrices all offsets are tried.
 * Otherwise the best row and column offsets are tried: together, each alone, and for square blocks
 * each for both. */
static void try_offsets(search *S, const tess_best_offsets *best, const tess_block_candidate *C)
{
    const tess_best_offset *row = &best->row[C->rows], *col = &best->col[C->cols];
    double bound = tess_min(row->density, col->density);
    if (bound < 0.5 || 0.98 * bound < C->density)
        return;
    int32_t o = row->offset, p = col->offset;
    int64_t blocks = C->blocks, work = S->patterns[0].entries * C->rows * C->cols;
    int slot = -1;
    if (C->rows * C->cols <= 64 && work <= 2000000) {
        for (int32_t i = 0; i < C->rows; i++)
            for (int32_t j = 0; j < C->cols; j++)
                blocks = try_offset(S, C, i, j, blocks, &slot);
        return;
    }
    blocks = try_offset(S, C, o, p, blocks, &slot);
    if (o != 0 && p != 0) {
        blocks = try_offset(S, C, o, 0, blocks, &slot);
        blocks = try_offset(S, C, 0, p, blocks, &slot);
    }
    if (C->rows == C->cols && o != p) {
        blocks = try_offset(S, C, o, o, blocks, &slot);
        try_offset(S, C, p, p, blocks, &slot);
    }
}

static tess_status count_unaligned(search *S)
{
    tess_best_offsets best;
    TESS_TRY(tess_find_offsets(S->ctx, &S->patterns[0], &best));
    int last = S->count;
    for (int i = 1; i < last; i++) {
        const tess_block_candidate C = S->list[i];
        TESS_TRY(tess_progress(S->ctx, "detecting shifted blocks", i, last));
        try_offsets(S, &best, &C);
    }
    return TESS_OK;
}

/* ---- The verdict ---- */

static bool aligned(const tess_block_candidate *C)
{
    return C->row_offset == 0 && C->col_offset == 0;
}

/* The candidate of a kind with the fewest bytes; on a tie the smaller block, which comes first.
 */
static const tess_block_candidate *cheapest(const tess_detection *D, bool want_square,
                                            bool want_aligned)
{
    const tess_block_candidate *best = NULL;
    for (int64_t i = 0; i < D->count; i++) {
        const tess_block_candidate *C = &D->candidates[i];
        if (C->rows * C->cols == 1 || (want_square && C->rows != C->cols) ||
            aligned(C) != want_aligned)
            continue;
        if (!best || C->bytes < best->bytes)
            best = C;
    }
    return best;
}

static void recommend(tess_detection *D)
{
    const tess_block_candidate *csr = &D->candidates[0];
    const tess_block_candidate *best = cheapest(D, true, true), *other = cheapest(D, false, true),
                               *shifted = cheapest(D, false, false);
    if (other->bytes < WORTH_THE_TROUBLE * best->bytes)
        best = other;
    double ratio = best->bytes / csr->bytes, megabytes = csr->bytes / 1e6;
    D->reason[0] = '\0';
    if (ratio < WORTHWHILE) {
        D->recommended = *best;
        tess_append(D->reason, sizeof D->reason,
                    "%d x %d blocks are %.1f %% full and move %.3g MB in an SpMV, %.2f times CSR's "
                    "%.3g MB",
                    (int)best->rows, (int)best->cols, 100 * best->density, best->bytes / 1e6, ratio,
                    megabytes);
    } else {
        D->recommended = *csr;
        tess_append(
            D->reason, sizeof D->reason,
            "do not block this: the cheapest blocks, %d x %d and %.1f %% full, move %.2f times "
            "CSR's %.3g MB in an SpMV",
            (int)best->rows, (int)best->cols, 100 * best->density, ratio, megabytes);
    }
    if (shifted && shifted->bytes < WORTH_THE_TROUBLE * D->recommended.bytes)
        tess_append(
            D->reason, sizeof D->reason,
            "; %d x %d blocks beginning at row %d and column %d would be %.1f %% full and move "
            "%.2f times",
            (int)shifted->rows, (int)shifted->cols, (int)shifted->row_offset,
            (int)shifted->col_offset, 100 * shifted->density, shifted->bytes / csr->bytes);
}

/* The caller's structure, and the context that frees it. */
typedef struct detection {
    tess_detection public;
    tess_ctx *ctx;
} detection;

static tess_status conclude(search *S, tess_detection **out)
{
    detection *whole;
    tess_block_candidate *list;
    TESS_TRY(TESS_CALLOC(S->ctx, 1, &whole));
    tess_status status = TESS_ALLOC(S->ctx, S->count, &list);
    if (status != TESS_OK) {
        tess_free(S->ctx, whole);
        return status;
    }
    whole->ctx = S->ctx;
    tess_detection *D = &whole->public;
    if (S->count > 0)
        memcpy(list, S->list, (size_t)S->count * sizeof *list);
    D->entries = S->patterns[0].entries;
    D->candidates = list;
    D->count = S->count;
    D->natural_block = 1;
    for (int i = 0; i < S->count; i++)
        if (list[i].rows == list[i].cols && aligned(&list[i]) && list[i].density > 0.9)
            D->natural_block = list[i].rows;
    if (D->count > 0) {
        recommend(D);
    } else {
        D->recommended = (tess_block_candidate){.rows = 1, .cols = 1};
        tess_append(D->reason, sizeof D->reason, "do not block this: the matrix has no entries");
        if (D->entries > 0)
            tess_append(D->reason, sizeof D->reason, " in most of its rows or columns");
    }
    *out = D;
    return TESS_OK;
}

/* Whether most rows or columns are empty. Blocks would save row offsets alone, and be filled with
 * zeros; and the arrays of the search, one element a column, would be larger than the matrix. */
static bool is_nearly_empty(const tess_pattern *P)
{
    enum { ENTRIES_MIN = 64 }; /* rows or columns to an entry */
    return P->entries <= tess_max(P->rows, P->cols) / ENTRIES_MIN;
}

tess_status tess_detect(tess_ctx *ctx, const tess_matrix *A, const tess_detect_options *given,
                        tess_detection **out)
{
    tess_detect_options options;
    TESS_NEED(ctx, ctx && A && out);
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_detect_options, given, &options));
    search *S = NULL;
    tess_status status;
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    S->ctx = ctx;
    S->A = A;
    S->pattern_count = 1;
    TESS_TRY_CLEAN(tess_pattern_of(ctx, A, options.ignore_zeros, &S->patterns[0]));
    if (!is_nearly_empty(&S->patterns[0])) {
        /* A shifted row of blocks reaches at most one block column further. */
        TESS_TRY_CLEAN(tess_marks_create(ctx, A->cols + 1, &S->marks));
        propose_aligned(S);
        TESS_TRY_CLEAN(count_all_aligned(S));
        TESS_TRY_CLEAN(count_unaligned(S));
    }
    TESS_TRY_CLEAN(conclude(S, out));
cleanup:
    for (int i = 0; i < S->pattern_count; i++)
        tess_pattern_clear(ctx, &S->patterns[i]);
    tess_marks_clear(ctx, &S->marks);
    tess_free(ctx, S);
    return status;
}

void tess_detection_destroy(tess_detection *D)
{
    if (D)
        TESS_FREE(((detection *)D)->ctx, (void *)(uintptr_t)D->candidates, D);
}
