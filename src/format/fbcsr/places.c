/* Which rows are cut, in which places the rows lie, and where their slices begin; slices.h
 * has the picture. */
#include "format/fbcsr/runs.h"
#include "format/sliced.h"

enum { WARP = TESS_FBCSR_WARP };
enum { SEGMENT_PLACES = WARP / TESS_FBCSR_SEGMENT_LANES };

typedef tess_fbcsr_builder builder;

int tess_fbcsr_lanes_of(const tess_fbcsr_slices *S, int64_t slice)
{
    return slice < S->segments ? TESS_FBCSR_SEGMENT_LANES : S->lanes;
}

int64_t tess_fbcsr_first_place(const tess_fbcsr_slices *S, int64_t slice)
{
    if (slice < S->segments)
        return slice * SEGMENT_PLACES;
    return S->segments * SEGMENT_PLACES + (slice - S->segments) * (WARP / S->lanes);
}

/* ---- Rows that are cut ---- */

static int64_t most_runs(const tess_fbcsr_slices *S)
{
    return ((int64_t)1 << 32 / S->classes) - 1;
}

bool tess_fbcsr_is_cut(const builder *B, int64_t row)
{
    int64_t scalars = 0;
    bool countable = true;
    for (int c = 0; c < B->S->classes; c++) {
        int64_t runs = tess_fbcsr_runs_in(B, c, row);
        scalars += runs * B->S->width[c];
        countable &= runs <= most_runs(B->S);
    }
    const bool lines = B->S->head == TESS_FBCSR_HEAD_WITH_PIECES;
    return !countable || scalars > (lines ? TESS_FBCSR_CUT_BESIDE : TESS_FBCSR_CUT * B->S->lanes);
}

static int64_t segment_length(const builder *B, int list)
{
    return TESS_FBCSR_SEGMENT / B->S->width[list];
}

static int64_t segments_of_row(const builder *B, int64_t row)
{
    int64_t segments = 0;
    for (int c = 0; c < B->S->classes && tess_fbcsr_is_cut(B, row); c++)
        segments += tess_ceil_div(tess_fbcsr_runs_in(B, c, row), segment_length(B, c));
    return segments;
}

static void cut_row(builder *B, int64_t row)
{
    for (int c = 0; c < B->S->classes; c++) {
        int64_t end = B->lists[c].offsets[row + 1], runs = tess_fbcsr_runs_in(B, c, row);
        int64_t segments = tess_ceil_div(runs, segment_length(B, c));
        int64_t length = segments > 0 ? tess_ceil_div(runs, segments) : 0;
        for (int64_t first = B->lists[c].offsets[row]; first < end; first += length)
            B->segment[B->segments++] =
                (tess_fbcsr_segment){c, row, first, end - first < length ? end - first : length};
    }
}

static tess_status cut_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    int64_t total = 0;
    for (int64_t row = 0; row < B->A->rows; row++) {
        int64_t segments = segments_of_row(B, row);
        total += segments;
        S->cut_rows += segments > 0;
        S->cut_long += segments > TESS_SLICED_LONG;
    }
    S->segments = tess_ceil_div(total, SEGMENT_PLACES);
    TESS_TRY(TESS_ALLOC(B->ctx, total + 1, &B->segment));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_row));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_slots));
    int64_t cut = 0;
    for (int many = 1; many >= 0 && S->cut_rows > 0; many--) {
        for (int64_t row = 0; row < B->A->rows; row++) {
            int64_t segments = segments_of_row(B, row);
            if (segments == 0 || (segments > TESS_SLICED_LONG) != many)
                continue;
            S->cut_row[cut] = (int32_t)row;
            S->cut_slots[cut++] = (int32_t)B->segments;
            cut_row(B, row);
        }
    }
    S->cut_slots[S->cut_rows] = (int32_t)B->segments;
    return TESS_OK;
}

/* ---- Places ---- */

/* Whether the row's entries that are in no line are pieces. */
static bool is_lone(const builder *B, int64_t row)
{
    return B->line_counts && B->line_counts[row / WARP].lone > 0;
}

/* Counts them, where they are few enough. */
static void find_lone(const builder *B, int64_t slice)
{
    tess_fbcsr_line_count *lines = &B->line_counts[slice];
    int64_t last = (slice + 1) * WARP < B->A->rows ? (slice + 1) * WARP : B->A->rows, lone = 0;
    for (int64_t row = slice * WARP; row < last && lone <= TESS_FBCSR_LONE; row++)
        for (int64_t e = B->A->row_offsets[row]; e < B->A->row_offsets[row + 1]; e++)
            lone += !tess_fbcsr_is_cut(B, row) && !tess_fbcsr_in_line(B, e);
    if (lone > TESS_FBCSR_LONE)
        return;
    lines->lone = (int32_t)lone;
    lines->pieces += lines->lone;
    lines->values += lines->lone;
}

tess_fbcsr_some_runs tess_fbcsr_runs_of(const builder *B, int64_t at, int list)
{
    const tess_fbcsr_slices *S = B->S;
    const int64_t segments = S->segments * SEGMENT_PLACES;
    if (at < segments) {
        if (at >= B->segments || B->segment[at].list != list)
            return (tess_fbcsr_some_runs){0};
        return (tess_fbcsr_some_runs){B->segment[at].row, B->segment[at].first,
                                      B->segment[at].count};
    }
    int64_t row = S->targets ? S->targets[at - segments] : at - segments;
    if (row >= B->A->rows || tess_fbcsr_is_cut(B, row) || is_lone(B, row))
        return (tess_fbcsr_some_runs){0};
    return (tess_fbcsr_some_runs){row, B->lists[list].offsets[row],
                                  tess_fbcsr_runs_in(B, list, row)};
}

/* ---- Heads ---- */

/* Steps of each class, and the words of the places. */
static void measure_slice(const builder *B, int64_t slice)
{
    tess_fbcsr_slices *S = B->S;
    const int lanes = tess_fbcsr_lanes_of(S, slice), bits = 32 / S->classes;
    int32_t *head = S->heads + slice * S->head;
    for (int row = 0; row < WARP / lanes; row++) {
        int64_t place = tess_fbcsr_first_place(S, slice) + row;
        uint32_t word = 0;
        for (int c = 0; c < S->classes; c++) {
            int64_t runs = tess_fbcsr_runs_of(B, place, c).count;
            int64_t steps = tess_ceil_div(runs, lanes / tess_fbcsr_share(B->lists[c].width, lanes));
            int32_t *longest = &head[TESS_FBCSR_HEAD_STEPS + c];
            *longest = steps > *longest ? (int32_t)steps : *longest;
            word |= (uint32_t)runs << (32 - bits * (c + 1));
        }
        S->lengths[place] = word;
    }
    if (B->line_counts && slice >= S->segments)
        head[TESS_FBCSR_HEAD_PIECES] = B->line_counts[slice - S->segments].pieces;
}

/* Values of the lines of a slice, in groups of 32, the last one perhaps not full. */
int64_t tess_fbcsr_line_groups(const builder *B, int64_t slice)
{
    if (!B->line_counts || slice < B->S->segments)
        return 0;
    return tess_ceil_div(B->line_counts[slice - B->S->segments].values, WARP);
}

/* Where every slice begins. */
static void place_slices(const builder *B)
{
    tess_fbcsr_slices *S = B->S;
    int64_t values = 0, columns = 0, pieces = 0;
    for (int64_t slice = 0; slice < S->slices; slice++) {
        int32_t *head = S->heads + slice * S->head;
        int lanes = tess_fbcsr_lanes_of(S, slice);
        head[TESS_FBCSR_HEAD_VALUES] = (int32_t)values;
        head[TESS_FBCSR_HEAD_COLUMNS] = (int32_t)(columns / 4);
        head[TESS_FBCSR_HEAD_PIECE] = (int32_t)pieces;
        if (head[TESS_FBCSR_HEAD_PIECES] > TESS_FBCSR_BESIDE)
            pieces += head[TESS_FBCSR_HEAD_PIECES] - TESS_FBCSR_BESIDE;
        values += tess_fbcsr_line_groups(B, slice);
        for (int c = 0; c < S->classes; c++) {
            int share = tess_fbcsr_share(S->width[c], lanes);
            values += (int64_t)head[TESS_FBCSR_HEAD_STEPS + c] * (S->width[c] / share);
            columns += (int64_t)head[TESS_FBCSR_HEAD_STEPS + c] * (WARP / share);
        }
    }
    S->piece_count = pieces;
    S->column_count = columns;
    S->value_count = values * WARP;
}

static tess_status make_heads(const builder *B)
{
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(TESS_CALLOC(S->ctx, S->slices * S->head, &S->heads));
    TESS_TRY(TESS_ALLOC(S->ctx, S->places, &S->lengths));
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t slice = 0; slice < S->slices; slice++)
        measure_slice(B, slice);
    place_slices(B);
    if (S->value_count / WARP > INT32_MAX || S->column_count / 4 > INT32_MAX ||
        S->piece_count > INT32_MAX)
        return tess_fail(S->ctx, TESS_ERR_OVERFLOW, "fbcsr: %lld values are too many for slices",
                         (long long)S->value_count);
    return TESS_OK;
}

tess_status tess_fbcsr_place_rows(builder *B, bool lines)
{
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(tess_fbcsr_cover_rows(B));
    TESS_TRY(cut_rows(B));
    S->slices = S->segments + tess_ceil_div(B->A->rows, WARP / S->lanes);
    S->places = tess_fbcsr_first_place(S, S->slices);
    if (lines) {
        TESS_TRY(tess_fbcsr_list_lines(B));
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
        for (int64_t slice = 0; slice < S->slices - S->segments; slice++)
            find_lone(B, slice);
    }
    TESS_TRY(tess_fbcsr_sort_rows(B));
    return make_heads(B);
}
