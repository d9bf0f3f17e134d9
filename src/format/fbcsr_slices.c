/* FBCSR to slices; fbcsr_slices.h has the picture. */
#include "format/fbcsr_slices.h"

#include <stdlib.h>

#include "format/fbcsr_runs.h"
#include "format/sliced.h"

enum { WARP = TESS_FBCSR_WARP, CLASSES = TESS_FBCSR_CLASSES, WINDOW = 4096 /* rows sorted */ };
enum { SEGMENT_PLACES = WARP / TESS_FBCSR_SEGMENT_LANES };

typedef tess_fbcsr_builder builder;

/* Some runs of a cut row, of one class. */
typedef struct segment {
    int list;
    int64_t row, first, count;
} segment;

typedef struct layout {
    builder B;
    segment *segment;
    int64_t segments;
} layout;

static int lanes_of(const tess_fbcsr_slices *S, int64_t slice)
{
    return slice < S->segments ? TESS_FBCSR_SEGMENT_LANES : S->lanes;
}

static int64_t first_place(const tess_fbcsr_slices *S, int64_t slice)
{
    if (slice < S->segments)
        return slice * SEGMENT_PLACES;
    return S->segments * SEGMENT_PLACES + (slice - S->segments) * (WARP / S->lanes);
}

/* ---- Rows that are cut ---- */

static int64_t runs_in(const builder *B, int list, int64_t row)
{
    return B->lists[list].offsets[row + 1] - B->lists[list].offsets[row];
}

static int64_t most_runs(const tess_fbcsr_slices *S)
{
    return ((int64_t)1 << 32 / S->classes) - 1;
}

static bool is_cut(const builder *B, int64_t row)
{
    int64_t scalars = 0;
    bool countable = true;
    for (int c = 0; c < B->S->classes; c++) {
        int64_t runs = runs_in(B, c, row);
        scalars += runs * B->S->width[c];
        countable &= runs <= most_runs(B->S);
    }
    return !countable || scalars > TESS_FBCSR_CUT * B->S->lanes;
}

static int64_t segment_length(const builder *B, int list)
{
    return TESS_FBCSR_SEGMENT / B->S->width[list];
}

static int64_t segments_of_row(const builder *B, int64_t row)
{
    int64_t segments = 0;
    for (int c = 0; c < B->S->classes && is_cut(B, row); c++)
        segments += tess_ceil_div(runs_in(B, c, row), segment_length(B, c));
    return segments;
}

static void cut_row(layout *L, int64_t row)
{
    const builder *B = &L->B;
    for (int c = 0; c < B->S->classes; c++) {
        int64_t end = B->lists[c].offsets[row + 1], length = segment_length(B, c);
        for (int64_t first = B->lists[c].offsets[row]; first < end; first += length)
            L->segment[L->segments++] =
                (segment){c, row, first, end - first < length ? end - first : length};
    }
}

static tess_status cut_rows(layout *L)
{
    const builder *B = &L->B;
    tess_fbcsr_slices *S = B->S;
    int64_t total = 0;
    for (int64_t row = 0; row < B->A->rows; row++) {
        int64_t segments = segments_of_row(B, row);
        total += segments;
        S->cut_rows += segments > 0;
        S->cut_long += segments > TESS_SLICED_LONG;
    }
    S->segments = tess_ceil_div(total, SEGMENT_PLACES);
    TESS_TRY(TESS_ALLOC(B->ctx, total + 1, &L->segment));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_row));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_slots));
    int64_t cut = 0;
    for (int many = 1; many >= 0 && S->cut_rows > 0; many--) {
        for (int64_t row = 0; row < B->A->rows; row++) {
            int64_t segments = segments_of_row(B, row);
            if (segments == 0 || (segments > TESS_SLICED_LONG) != many)
                continue;
            S->cut_row[cut] = (int32_t)row;
            S->cut_slots[cut++] = (int32_t)L->segments;
            cut_row(L, row);
        }
    }
    S->cut_slots[S->cut_rows] = (int32_t)L->segments;
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
            lone += !is_cut(B, row) && !tess_fbcsr_in_line(B, e);
    if (lone > TESS_FBCSR_LONE)
        return;
    lines->lone = (int32_t)lone;
    lines->pieces += lines->lone;
    lines->values += lines->lone;
}

/* Runs of a class: which, and of which row. */
typedef struct some_runs {
    int64_t row, first, count;
} some_runs;

static some_runs runs_of(const layout *L, int64_t at, int list)
{
    const tess_fbcsr_slices *S = L->B.S;
    const int64_t segments = S->segments * SEGMENT_PLACES;
    if (at < segments) {
        if (at >= L->segments || L->segment[at].list != list)
            return (some_runs){0};
        return (some_runs){L->segment[at].row, L->segment[at].first, L->segment[at].count};
    }
    int64_t row = S->targets ? S->targets[at - segments] : at - segments;
    if (row >= L->B.A->rows || is_cut(&L->B, row) || is_lone(&L->B, row))
        return (some_runs){0};
    return (some_runs){row, L->B.lists[list].offsets[row], runs_in(&L->B, list, row)};
}

/* The numbers of runs of a row, the widest first. */
static uint32_t word_of(const builder *B, int64_t row)
{
    uint32_t word = 0;
    if (row >= B->A->rows || is_cut(B, row))
        return 0;
    for (int c = 0; c < B->S->classes; c++)
        word |= (uint32_t)runs_in(B, c, row) << (32 - 32 / B->S->classes * (c + 1));
    return word;
}

typedef struct sized_row {
    uint32_t word;
    int32_t row;
} sized_row;

/* Runs that the slices made of these rows, in this order, have room for. */
static int64_t room_of(const tess_fbcsr_slices *S, const sized_row *rows, int64_t count)
{
    const int bits = 32 / S->classes, places = WARP / S->lanes;
    int64_t room = 0;
    for (int64_t first = 0; first < count; first += places) {
        for (int c = 0; c < S->classes; c++) {
            uint32_t most = 0;
            for (int64_t i = first; i < first + places && i < count; i++) {
                uint32_t runs = rows[i].word << bits * c >> (32 - bits);
                most = runs > most ? runs : most;
            }
            room += (int64_t)most * S->width[c];
        }
    }
    return room;
}

static int by_word(const void *a, const void *b)
{
    const sized_row *x = a, *y = b;
    if (x->word != y->word)
        return x->word > y->word ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Without lines nothing asks for adjacent rows in a slice, but they read the same x: windows are
 * sorted where that saves a twentieth of the room. */
static tess_status sort_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t count = S->places - S->segments * SEGMENT_PLACES;
    sized_row *rows;
    if (B->part_offsets)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(B->ctx, count, &S->targets));
    TESS_TRY(TESS_ALLOC(B->ctx, count, &rows));
#pragma omp parallel for num_threads(B->ctx->threads) schedule(static)
    for (int64_t first = 0; first < count; first += WINDOW) {
        int64_t end = first + WINDOW < count ? first + WINDOW : count;
        for (int64_t i = first; i < end; i++)
            rows[i] = (sized_row){word_of(B, i), (int32_t)i};
        int64_t before = room_of(S, rows + first, end - first);
        qsort(rows + first, (size_t)(end - first), sizeof *rows, by_word);
        bool pays = room_of(S, rows + first, end - first) < before - before / 20;
        for (int64_t i = first; i < end; i++)
            S->targets[i] = pays ? rows[i].row : (int32_t)i;
    }
    tess_free(B->ctx, rows);
    return TESS_OK;
}

/* ---- Heads ---- */

/* Steps of each class, and the words of the places. */
static void measure_slice(const layout *L, int64_t slice)
{
    tess_fbcsr_slices *S = L->B.S;
    const int lanes = lanes_of(S, slice), bits = 32 / S->classes;
    int32_t *head = S->heads + slice * S->head;
    for (int row = 0; row < WARP / lanes; row++) {
        int64_t place = first_place(S, slice) + row;
        uint32_t word = 0;
        for (int c = 0; c < S->classes; c++) {
            int64_t runs = runs_of(L, place, c).count;
            int64_t steps =
                tess_ceil_div(runs, lanes / tess_fbcsr_share(L->B.lists[c].width, lanes));
            int32_t *longest = &head[TESS_FBCSR_HEAD_STEPS + c];
            *longest = steps > *longest ? (int32_t)steps : *longest;
            word |= (uint32_t)runs << (32 - bits * (c + 1));
        }
        S->lengths[place] = word;
    }
    if (L->B.line_counts && slice >= S->segments)
        head[TESS_FBCSR_HEAD_PIECES] = L->B.line_counts[slice - S->segments].pieces;
}

/* Values of the lines of a slice, in groups of 32, the last one perhaps not full. */
static int64_t line_groups(const builder *B, int64_t slice)
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
        int lanes = lanes_of(S, slice);
        head[TESS_FBCSR_HEAD_VALUES] = (int32_t)values;
        head[TESS_FBCSR_HEAD_COLUMNS] = (int32_t)(columns / 4);
        head[TESS_FBCSR_HEAD_PIECE] = (int32_t)pieces;
        if (head[TESS_FBCSR_HEAD_PIECES] > TESS_FBCSR_BESIDE)
            pieces += head[TESS_FBCSR_HEAD_PIECES] - TESS_FBCSR_BESIDE;
        values += line_groups(B, slice);
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

static tess_status make_heads(layout *L)
{
    tess_fbcsr_slices *S = L->B.S;
    TESS_TRY(TESS_CALLOC(S->ctx, S->slices * S->head, &S->heads));
    TESS_TRY(TESS_ALLOC(S->ctx, S->places, &S->lengths));
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t slice = 0; slice < S->slices; slice++)
        measure_slice(L, slice);
    place_slices(&L->B);
    if (S->value_count / WARP > INT32_MAX || S->column_count / 4 > INT32_MAX ||
        S->piece_count > INT32_MAX)
        return tess_fail(S->ctx, TESS_ERR_OVERFLOW, "fbcsr: %lld values are too many for slices",
                         (long long)S->value_count);
    return TESS_OK;
}

/* ---- Filling ---- */

/* Where piece `number` of a slice is. */
static int32_t *piece_of(const tess_fbcsr_slices *S, int64_t slice, int64_t number)
{
    int32_t *head = S->heads + slice * S->head;
    if (number < TESS_FBCSR_BESIDE)
        return head + TESS_FBCSR_HEAD + number * TESS_FBCSR_PIECE;
    return S->pieces +
           (head[TESS_FBCSR_HEAD_PIECE] + number - TESS_FBCSR_BESIDE) * TESS_FBCSR_PIECE;
}

static void fill_lone(const builder *B, int64_t slice, int64_t *entries)
{
    const tess_fbcsr_line_count *lines = &B->line_counts[slice - B->S->segments];
    int32_t number = lines->pieces - lines->lone, value = lines->values - lines->lone;
    for (int64_t row = (slice - B->S->segments) * WARP; number < lines->pieces; row++) {
        for (int64_t e = B->A->row_offsets[row]; e < B->A->row_offsets[row + 1]; e++) {
            if (is_cut(B, row) || tess_fbcsr_in_line(B, e))
                continue;
            int32_t *piece = piece_of(B->S, slice, number++);
            piece[0] = B->A->columns[e];
            piece[1] = (int32_t)(row % WARP) + (1 << 8);
            entries[value++] = e;
        }
    }
}

static void fill_lines(const layout *L, int64_t slice, int64_t *entry_of)
{
    const builder *B = &L->B;
    const int64_t natural = slice - B->S->segments;
    if (!B->parts || natural < 0)
        return;
    const int32_t *head = B->S->heads + slice * B->S->head;
    int64_t *entries = B->S->entries + (int64_t)head[TESS_FBCSR_HEAD_VALUES] * WARP;
    for (int64_t p = B->part_offsets[natural]; p < B->part_offsets[natural + 1]; p++) {
        const tess_fbcsr_line_part *part = &B->parts[p];
        int32_t *piece = piece_of(B->S, slice, part->piece);
        if (piece[1] == 0) { /* its first part */
            piece[0] = (int32_t)(part->line + part->shift * (natural * WARP));
            piece[1] = part->shift * 65536 + (int32_t)(part->row % WARP);
        }
        piece[1] += (int32_t)part->rows << 8;
        for (int64_t i = 0; i < part->rows; i++)
            entries[part->value + i] = entry_of[part->scalar + i];
    }
    fill_lone(B, slice, entries);
}

/* One run: its column, and where its entries go. */
static void fill_run(const layout *L, const some_runs *mine, int list, int64_t k, int lanes,
                     int place, int32_t *columns, int64_t *entries)
{
    const builder *B = &L->B;
    const tess_matrix *A = B->A;
    const tess_fbcsr_run *run = &B->lists[list].runs[mine->first + k];
    const int width = B->lists[list].width, share = tess_fbcsr_share(width, lanes);
    const int each = width / share, per = lanes / share;
    const int64_t step = k / per, lane = (int64_t)place * lanes + k % per * share;
    columns[(step * WARP + lane) / share] = run->column;
    for (int64_t e = run->entry; e < A->row_offsets[mine->row + 1]; e++) {
        int at = A->columns[e] - run->column;
        if (at >= width)
            return;
        if (!tess_fbcsr_in_line(B, e))
            entries[(step * each + at / share) * WARP + lane + at % share] = e;
    }
}

static void fill_slice(const layout *L, int64_t slice)
{
    tess_fbcsr_slices *S = L->B.S;
    const int32_t *head = S->heads + slice * S->head;
    const int lanes = lanes_of(S, slice);
    int64_t *entries =
        S->entries + (head[TESS_FBCSR_HEAD_VALUES] + line_groups(&L->B, slice)) * WARP;
    int32_t *columns = S->columns + (int64_t)head[TESS_FBCSR_HEAD_COLUMNS] * 4;
    for (int c = 0; c < S->classes; c++) {
        for (int row = 0; row < WARP / lanes; row++) {
            some_runs mine = runs_of(L, first_place(S, slice) + row, c);
            for (int64_t k = 0; k < mine.count; k++)
                fill_run(L, &mine, c, k, lanes, row, columns, entries);
        }
        int share = tess_fbcsr_share(S->width[c], lanes);
        int64_t steps = head[TESS_FBCSR_HEAD_STEPS + c];
        entries += steps * (S->width[c] / share) * WARP;
        columns += steps * (WARP / share);
    }
}

static tess_status fill(layout *L)
{
    const builder *B = &L->B;
    tess_fbcsr_slices *S = B->S;
    int64_t *entry_of, scalars = 0;
    for (int s = 0; s < B->F->splits; s++)
        scalars += B->F->split[s].blocks * tess_fbcsr_cells(&B->F->split[s].shape);
    TESS_TRY(TESS_CALLOC(S->ctx, S->piece_count * TESS_FBCSR_PIECE + 1, &S->pieces));
    TESS_TRY(TESS_CALLOC(S->ctx, S->column_count + 1, &S->columns));
    TESS_TRY(TESS_ALLOC(S->ctx, S->value_count + 1, &S->entries));
    TESS_TRY(tess_alloc_bytes(S->ctx, S->value_count, tess_type_size(S->type), &S->values));
    TESS_TRY(TESS_ALLOC(S->ctx, scalars + 1, &entry_of));
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t i = 0; i < scalars; i++)
        entry_of[i] = -1;
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t e = 0; e < B->F->nonzeros; e++)
        if (B->F->map[e] < scalars)
            entry_of[B->F->map[e]] = e;
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t i = 0; i < S->value_count; i++)
        S->entries[i] = -1;
#pragma omp parallel for num_threads(S->ctx->threads) schedule(dynamic, 64)
    for (int64_t slice = 0; slice < S->slices; slice++) {
        fill_lines(L, slice, entry_of);
        fill_slice(L, slice);
    }
    tess_free(S->ctx, entry_of);
    return TESS_OK;
}

static tess_status build(layout *L, bool lines)
{
    builder *B = &L->B;
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(tess_fbcsr_cover_rows(B));
    TESS_TRY(cut_rows(L));
    S->slices = S->segments + tess_ceil_div(B->A->rows, WARP / S->lanes);
    S->places = first_place(S, S->slices);
    if (lines) {
        TESS_TRY(tess_fbcsr_list_lines(B));
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
        for (int64_t slice = 0; slice < S->slices - S->segments; slice++)
            find_lone(B, slice);
    }
    TESS_TRY(sort_rows(B));
    TESS_TRY(make_heads(L));
    return fill(L);
}

tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, int lanes,
                                     tess_fbcsr_slices **out)
{
    const bool lines = tess_fbcsr_has_lines(shapes);
    tess_fbcsr_slices *S;
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    S->ctx = ctx;
    S->type = F->type;
    S->lanes = lines ? 1 : lanes;
    S->head = lines ? TESS_FBCSR_HEAD_WITH_PIECES : TESS_FBCSR_HEAD;
    S->classes = tess_fbcsr_widths(shapes, S->width);
    layout L = {.B = {.ctx = ctx, .A = A, .F = F, .S = S}};
    tess_status status = build(&L, lines);
    for (int c = 0; c < CLASSES; c++) {
        tess_free(ctx, L.B.lists[c].offsets);
        tess_free(ctx, L.B.lists[c].runs);
    }
    tess_free(ctx, L.B.parts);
    tess_free(ctx, L.B.part_offsets);
    tess_free(ctx, L.B.line_counts);
    tess_free(ctx, L.segment);
    if (status != TESS_OK) {
        tess_fbcsr_slices_destroy(S);
        return status;
    }
    tess_fbcsr_slices_refresh(S, A->values);
    *out = S;
    return TESS_OK;
}

void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S)
{
    if (!S)
        return;
    void *arrays[] = {S->heads,  S->lengths, S->targets, S->pieces,   S->columns,
                      S->values, S->entries, S->cut_row, S->cut_slots};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        tess_free(S->ctx, arrays[i]);
    tess_free(S->ctx, S);
}

void tess_fbcsr_slices_refresh(tess_fbcsr_slices *S, const void *csr_values)
{
    const char zero[8] = {0};
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t i = 0; i < S->value_count; i++) {
        int64_t entry = S->entries[i];
        if (entry < 0)
            tess_copy_scalar(S->type, S->values, i, zero, 0);
        else
            tess_copy_scalar(S->type, S->values, i, csr_values, entry);
    }
}
