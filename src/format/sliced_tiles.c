/* Lines of sliced storage, tile after tile: chunks of rows, each with all its panels. */
#include <math.h>

#include "format/sliced_lines.h"

/* A row that is longer than `split` in any panel is cut: all its lines go to slots. Returns how
 * many lines it has. */
static int64_t lines_of(const tess_cut_matrix *M, int64_t row, int32_t split, bool *cut)
{
    int64_t lines = 0;
    *cut = false;
    for (int32_t q = 0; q < M->panels; q++) {
        int64_t length = tess_cut_length(M, row, q);
        *cut = *cut || length > split;
        lines += tess_ceil_div(length, split);
    }
    return lines;
}

/* Work before a row, where a row costs as much as two blocks beside its own. */
static double work_before(const tess_matrix *A, int64_t row)
{
    return (double)(A->row_offsets[row] + 2 * row);
}

/* Where the chunk that begins at `row` ends: at the next multiple of an average chunk's work, so
 * that chunks are about equal and there are no more than expected, but with at most a
 * 64th more rows than on average: their sums must fit shared memory. */
static int64_t chunk_end(const tess_matrix *A, int64_t chunk, int64_t row)
{
    double share = work_before(A, A->block_rows) / (double)A->block_rows * (double)chunk;
    double goal = (floor(work_before(A, row) / share + 0.5) + 1) * share;
    int64_t most = row + TESS_CHUNK_MOST(chunk), end = row + 1;
    while (end < A->block_rows && end < most && work_before(A, end) < goal)
        end++;
    return end;
}

static tess_status make_chunks(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    for (int64_t row = 0; row < A->block_rows; S->chunks++)
        row = chunk_end(A, S->options.chunk, row);
    TESS_TRY(TESS_CALLOC(ctx, S->chunks + 1, &S->chunk_row));
    for (int64_t c = 0; c < S->chunks; c++)
        S->chunk_row[c + 1] = (int32_t)chunk_end(A, S->options.chunk, S->chunk_row[c]);
    for (int64_t c = 0; c < S->chunks; c++)
        if (S->chunk_row[c + 1] - S->chunk_row[c] > S->chunk_most)
            S->chunk_most = S->chunk_row[c + 1] - S->chunk_row[c];
    return TESS_OK;
}

/* cut_row and cut_slots, rows of many segments first; slot_of is each row's first slot, or -1. */
static tess_status list_cut_rows(tess_ctx *ctx, const tess_cut_matrix *M, tess_sliced *S,
                                 int32_t *slot_of)
{
    tess_sliced_panel *all = &S->panel[0];
    bool cut;
    for (int64_t row = 0; row < S->block_rows; row++) {
        int64_t lines = lines_of(M, row, S->options.split, &cut);
        slot_of[row] = -1;
        all->cut_rows += cut;
        all->cut_long += cut && lines > TESS_SLICED_LONG;
    }
    S->cut_rows = all->cut_rows;
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows, &S->cut_row));
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows + 1, &S->cut_slots));
    int64_t next_long = 0, next_short = all->cut_long;
    for (int64_t row = 0; S->cut_rows > 0 && row < S->block_rows; row++) {
        int64_t lines = lines_of(M, row, S->options.split, &cut);
        if (!cut)
            continue;
        int64_t at = lines > TESS_SLICED_LONG ? next_long++ : next_short++;
        S->cut_row[at] = (int32_t)row;
        S->cut_slots[at + 1] = (int32_t)lines;
    }
    S->cut_slots[0] = 0;
    for (int64_t i = 0; i < S->cut_rows; i++) {
        S->cut_slots[i + 1] += S->cut_slots[i];
        slot_of[S->cut_row[i]] = S->cut_slots[i];
    }
    return TESS_OK;
}

/* tile_slice: slices before every tile. */
static tess_status count_slices(tess_ctx *ctx, const tess_cut_matrix *M, tess_sliced *S)
{
    int64_t tiles = S->chunks * M->panels;
    TESS_TRY(TESS_CALLOC(ctx, tiles + 1, &S->tile_slice));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4)
    for (int64_t c = 0; c < S->chunks; c++) {
        for (int32_t q = 0; q < M->panels; q++) {
            int64_t lines = 0;
            for (int64_t row = S->chunk_row[c]; row < S->chunk_row[c + 1]; row++)
                lines += tess_ceil_div(tess_cut_length(M, row, q), S->options.split);
            S->tile_slice[c * M->panels + q + 1] = (int32_t)tess_ceil_div(lines, S->options.height);
        }
    }
    for (int64_t t = 0; t < tiles; t++) {
        S->slices += S->tile_slice[t + 1];
        TESS_TRY(tess_sliced_check_slices(ctx, S));
        S->tile_slice[t + 1] += S->tile_slice[t];
    }
    return TESS_OK;
}

/* The lines of one tile in the order of the rows; returns the one after the last. */
static int64_t list_lines(const tess_cut_matrix *M, tess_sliced *S, int64_t c, int32_t q,
                          const int32_t *slot_of)
{
    int32_t split = S->options.split;
    int64_t line = (int64_t)S->tile_slice[c * M->panels + q] * S->options.height;
    for (int64_t row = S->chunk_row[c]; row < S->chunk_row[c + 1]; row++) {
        int64_t first = tess_cut_begin(M, row, q), end = tess_cut_begin(M, row, q + 1);
        int32_t slot = slot_of[row];
        for (int32_t before = 0; slot >= 0 && before < q; before++)
            slot += (int32_t)tess_ceil_div(tess_cut_length(M, row, before), split);
        for (; first < end; line++) {
            int64_t length = end - first > split ? split : end - first;
            S->starts[line] = first;
            S->lengths[line] = (int32_t)length;
            S->targets[line] = slot >= 0 ? ~slot++ : (int32_t)row;
            first += length;
        }
    }
    return line;
}

/* words: what a kernel reads of a line, in one load; slot_list: the slots of the chunk's cut lines,
 * in the order of the lines. */
static void pack_words(tess_sliced *S, int64_t c)
{
    int32_t P = S->options.panels, rows = S->chunk_row[c + 1] - S->chunk_row[c], cut = 0;
    int64_t end = (int64_t)S->tile_slice[(c + 1) * P] * S->options.height;
    for (int64_t line = (int64_t)S->tile_slice[c * P] * S->options.height; line < end; line++) {
        int32_t target = S->targets[line], place = target - S->chunk_row[c];
        if (target < 0) {
            S->slot_list[S->chunk_slot[c] + cut] = ~target;
            place = rows + cut++;
        }
        S->words[line] = S->lengths[line] > 0
                             ? (uint32_t)S->lengths[line] << TESS_WORD_BITS | (uint32_t)place
                             : 0;
    }
}

/* Cut lines of every chunk, which must be few enough for the words. */
static tess_status count_cut_lines(tess_ctx *ctx, const tess_cut_matrix *M, tess_sliced *S)
{
    TESS_TRY(TESS_CALLOC(ctx, S->chunks + 1, &S->chunk_slot));
    TESS_TRY(TESS_ALLOC(ctx, S->cut_slots[S->cut_rows], &S->slot_list));
    for (int64_t c = 0; c < S->chunks; c++) {
        int64_t cut_lines = 0;
        for (int64_t row = S->chunk_row[c]; row < S->chunk_row[c + 1]; row++) {
            bool cut;
            int64_t lines = lines_of(M, row, S->options.split, &cut);
            cut_lines += cut ? lines : 0;
        }
        if (cut_lines + S->chunk_row[c + 1] - S->chunk_row[c] > TESS_WORD_ROW)
            return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                             "sliced: %lld lines of cut rows in one chunk do not fit %d bits",
                             (long long)cut_lines, TESS_WORD_BITS);
        S->chunk_slot[c + 1] = S->chunk_slot[c] + (int32_t)cut_lines;
    }
    return TESS_OK;
}

void tess_sliced_place_tiles(tess_sliced *S)
{
    int32_t P = S->options.panels;
    for (int64_t c = 0; c < S->chunks; c++) {
        S->chunk_group[c] = S->offsets[S->tile_slice[c * P]];
        for (int64_t s = S->tile_slice[c * P]; s < S->tile_slice[(c + 1) * P]; s++)
            S->local_offsets[s] = (int32_t)(S->offsets[s] - S->chunk_group[c]);
    }
}

tess_status tess_sliced_make_tiles(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    tess_cut_matrix M;
    tess_line_range *ranges = NULL;
    int32_t *slot_of = NULL;
    tess_status status;
    TESS_TRY(tess_cut_columns(ctx, A, S->options.panels, &M));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &slot_of));
    TESS_TRY_CLEAN(make_chunks(ctx, A, S));
    TESS_TRY_CLEAN(list_cut_rows(ctx, &M, S, slot_of));
    TESS_TRY_CLEAN(count_cut_lines(ctx, &M, S));
    TESS_TRY_CLEAN(count_slices(ctx, &M, S));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->chunks, &S->chunk_group));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->slices, &S->local_offsets));
    TESS_TRY_CLEAN(tess_sliced_allocate_lines(ctx, S, true));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->slices * S->options.height, &S->words));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->chunks * M.panels, &ranges));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4)
    for (int64_t c = 0; c < S->chunks; c++) {
        for (int32_t q = 0; q < M.panels; q++) {
            int64_t tile = c * M.panels + q;
            int64_t first = (int64_t)S->tile_slice[tile] * S->options.height;
            ranges[tile] = (tess_line_range){first, list_lines(&M, S, c, q, slot_of) - first};
        }
    }
    TESS_TRY_CLEAN(tess_sliced_sort(ctx, S, ranges, S->chunks * M.panels));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 4)
    for (int64_t c = 0; c < S->chunks; c++)
        pack_words(S, c);
cleanup:
    tess_free(ctx, M.cuts);
    tess_free(ctx, slot_of);
    tess_free(ctx, ranges);
    return status;
}
