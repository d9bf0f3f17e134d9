/* FBCSR to slices; slices.h has the picture. */
#include "format/fbcsr/slices.h"

#include "format/fbcsr/runs.h"

enum { WARP = TESS_FBCSR_WARP, CLASSES = TESS_FBCSR_CLASSES };

typedef tess_fbcsr_builder builder;

static void fill_lone(const builder *B, int64_t slice, int64_t *entries)
{
    const tess_fbcsr_diagonal_count *diagonals = &B->diagonal_counts[slice - B->S->segments];
    int32_t number = diagonals->pieces - diagonals->lone,
            value = diagonals->values - diagonals->lone;
    for (int64_t row = (slice - B->S->segments) * WARP; number < diagonals->pieces; row++) {
        for (int64_t e = B->A->row_offsets[row]; e < B->A->row_offsets[row + 1]; e++) {
            if (tess_fbcsr_is_cut(B, row) || tess_fbcsr_in_diagonal(B, e))
                continue;
            int32_t *piece = tess_fbcsr_piece_of(B->S, slice, number++);
            piece[0] = B->A->columns[e];
            piece[1] = (int32_t)(row % WARP) + (1 << 8);
            entries[value++] = e;
        }
    }
}

static void fill_diagonals(const builder *B, int64_t slice, const int64_t *entry_of)
{
    const int64_t natural = slice - B->S->segments;
    if (!B->parts || natural < 0)
        return;
    const int32_t *head = B->S->heads + slice * B->S->head;
    int64_t *entries = B->S->entries + (int64_t)head[TESS_FBCSR_HEAD_VALUES] * WARP;
    for (int64_t p = B->part_offsets[natural]; p < B->part_offsets[natural + 1]; p++) {
        const tess_fbcsr_diagonal_part *part = &B->parts[p];
        int32_t *piece = tess_fbcsr_piece_of(B->S, slice, part->piece);
        if (piece[1] == 0) { /* its first part in the slice */
            piece[0] = (int32_t)(part->diagonal + part->shift * (natural * WARP));
            piece[1] = part->shift * 65536 + (int32_t)(part->row % WARP);
        }
        piece[1] += (int32_t)part->rows << 8;
        for (int64_t i = 0; i < part->rows; i++)
            entries[part->value + i] = entry_of[part->scalar + i];
    }
    fill_lone(B, slice, entries);
}

/* Fills in one run: its column, and the numbers of its entries. */
static void fill_run(const builder *B, const tess_fbcsr_some_runs *mine, int list, int64_t k,
                     int lanes, int place, int32_t *columns, int64_t *entries)
{
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
        if (!tess_fbcsr_in_diagonal(B, e))
            entries[(step * each + at / share) * WARP + lane + at % share] = e;
    }
}

static void fill_slice(const builder *B, int64_t slice)
{
    tess_fbcsr_slices *S = B->S;
    const int32_t *head = S->heads + slice * S->head;
    const int lanes = tess_fbcsr_lanes_of(S, slice);
    int64_t *entries =
        S->entries + (head[TESS_FBCSR_HEAD_VALUES] + tess_fbcsr_diagonal_groups(B, slice)) * WARP;
    int32_t *columns = S->columns + (int64_t)head[TESS_FBCSR_HEAD_COLUMNS] * 4;
    for (int c = 0; c < S->classes; c++) {
        for (int row = 0; row < WARP / lanes; row++) {
            tess_fbcsr_some_runs mine =
                tess_fbcsr_runs_of(B, tess_fbcsr_first_place(S, slice) + row, c);
            for (int64_t k = 0; k < mine.count; k++)
                fill_run(B, &mine, c, k, lanes, row, columns, entries);
        }
        int share = tess_fbcsr_share(S->width[c], lanes);
        int64_t steps = head[TESS_FBCSR_HEAD_STEPS + c];
        entries += steps * (S->width[c] / share) * WARP;
        columns += steps * (WARP / share);
    }
}

static void clear_entries(void *arg, tess_range range)
{
    int64_t *entries = arg;
    for (int64_t i = range.first; i < range.last; i++)
        entries[i] = -1;
}

struct note_entries {
    builder *B;
    int64_t scalars, *entry_of;
};

static void note_entries(void *arg, tess_range range)
{
    const struct note_entries *job = arg;
    for (int64_t e = range.first; e < range.last; e++)
        if (job->B->F->map[e] < job->scalars)
            job->entry_of[job->B->F->map[e]] = e;
}

static void fill_one(void *builder_of, const void *entry_of, int64_t slice)
{
    fill_diagonals(builder_of, slice, entry_of);
    fill_slice(builder_of, slice);
}

static tess_status fill(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t extracted = B->F ? B->F->nonzeros : 0;
    int64_t *entry_of, scalars = 0;
    for (int s = 0; B->F && s < B->F->splits; s++)
        scalars += B->F->split[s].blocks * tess_shape_cells(&B->F->split[s].shape);
    TESS_TRY(TESS_CALLOC(S->ctx, S->piece_count * TESS_FBCSR_PIECE + 1, &S->pieces));
    TESS_TRY(TESS_CALLOC(S->ctx, S->column_count + 1, &S->columns));
    TESS_TRY(TESS_ALLOC(S->ctx, S->value_count + 1, &S->entries));
    TESS_TRY(tess_alloc_bytes(S->ctx, S->value_count, tess_type_size(S->type), &S->values));
    TESS_TRY(TESS_ALLOC(S->ctx, scalars + 1, &entry_of));
    tess_for(S->ctx, scalars, clear_entries, entry_of);
    tess_for(S->ctx, extracted, note_entries, &(struct note_entries){B, scalars, entry_of});
    tess_for(S->ctx, S->value_count, clear_entries, S->entries);
    tess_for_each(S->ctx, S->slices, 64, fill_one, B, entry_of);
    tess_free(S->ctx, entry_of);
    return TESS_OK;
}

/* Makes the slices without their contents. */
static tess_status start(builder *B, const tess_fbcsr_options *shapes, int lanes)
{
    const bool diagonals = tess_fbcsr_has_diagonals(shapes);
    tess_fbcsr_slices *S;
    TESS_TRY(TESS_CALLOC(B->ctx, 1, &S));
    B->S = S;
    S->ctx = B->ctx;
    S->type = B->A->type;
    S->lanes = diagonals ? 1 : lanes;
    S->head = diagonals ? TESS_FBCSR_HEAD_WITH_PIECES : TESS_FBCSR_HEAD;
    S->classes = tess_fbcsr_widths(shapes, S->width);
    return tess_fbcsr_place_rows(B, diagonals);
}

static void finish(builder *B)
{
    for (int c = 0; c < CLASSES; c++)
        TESS_FREE(B->ctx, B->lists[c].offsets, B->lists[c].runs);
    TESS_FREE(B->ctx, B->parts, B->part_offsets, B->diagonal_counts, B->segment);
}

tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, int lanes,
                                     tess_fbcsr_slices **out)
{
    builder B = {.ctx = ctx, .A = A, .F = F};
    tess_status status = start(&B, shapes, lanes);
    TESS_THEN(fill(&B));
    finish(&B);
    if (status != TESS_OK) {
        tess_fbcsr_slices_destroy(B.S);
        return status;
    }
    tess_fbcsr_slices_update(B.S, A->values);
    *out = B.S;
    return TESS_OK;
}

tess_status tess_fbcsr_slices_measure(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                      const tess_fbcsr_options *shapes, int lanes,
                                      tess_fbcsr_size *out)
{
    builder B = {.ctx = ctx, .A = A, .F = F};
    tess_status status = start(&B, shapes, lanes);
    if (status == TESS_OK) {
        const tess_fbcsr_slices *S = B.S;
        *out = (tess_fbcsr_size){.classes = S->classes};
        out->bytes = S->value_count * (int64_t)tess_type_size(S->type) + S->column_count * 4 +
                     S->slices * S->head * 4 + S->piece_count * TESS_FBCSR_PIECE * 4 +
                     (S->targets ? S->places * 4 : 0);
        out->turns = tess_fbcsr_turns(&B, S->segments, S->slices - S->segments);
        for (int64_t slice = S->segments; slice < S->slices; slice++) {
            const int32_t *head = S->heads + slice * S->head;
            bool runs = false;
            for (int c = 0; c < S->classes; c++)
                runs |= head[TESS_FBCSR_HEAD_STEPS + c] > 0;
            out->with_runs += runs;
            out->most_pieces = tess_max(head[TESS_FBCSR_HEAD_PIECES], out->most_pieces);
            out->bytes += runs ? WARP / S->lanes * 4 : 0;
        }
    }
    finish(&B);
    tess_fbcsr_slices_destroy(B.S);
    return status;
}

void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S)
{
    if (S)
        TESS_FREE(S->ctx, S->heads, S->lengths, S->targets, S->pieces, S->columns, S->values,
                  S->entries, S->cut_row, S->cut_slots, S);
}

struct update_values {
    tess_fbcsr_slices *S;
    const char *zero;
    const void *csr_values;
};

static void update_values(void *arg, tess_range range)
{
    const struct update_values *job = arg;
    tess_fbcsr_slices *S = job->S;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t entry = S->entries[i];
        if (entry < 0)
            tess_copy_scalar(S->type, S->values, i, job->zero, 0);
        else
            tess_copy_scalar(S->type, S->values, i, job->csr_values, entry);
    }
}

void tess_fbcsr_slices_update(tess_fbcsr_slices *S, const void *csr_values)
{
    const char zero[8] = {0};
    tess_for(S->ctx, S->value_count, update_values, &(struct update_values){S, zero, csr_values});
}
