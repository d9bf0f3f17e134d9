/* BSR to swept storage; swept.h has the picture. */
#include "format/swept.h"

#include "format/sliced_lines.h"
#include "matrix/sort.h"

/* A step takes blocks of different lines from the next LOOK blocks: blocks of neighbouring columns
 * may belong to one segment. */
enum { LANES = TESS_SWEPT_LANES, LOOK = 32 * LANES };

/* ---- Lines ---- */

static int64_t row_length(const tess_matrix *A, int64_t row)
{
    return A->row_offsets[row + 1] - A->row_offsets[row];
}

/* A matrix whose rows are cut: the context of tess_cut_count and tess_cut_list. */
typedef struct cut_matrix {
    const tess_matrix *A;
    int64_t split;
} cut_matrix;

static int64_t segments_in(const void *context, int64_t row)
{
    const cut_matrix *M = context;
    return tess_ceil_div(row_length(M->A, row), M->split);
}

static tess_status list_cut_rows(tess_ctx *ctx, const tess_matrix *A, tess_swept *S)
{
    const cut_matrix M = {A, S->options.split};
    const tess_segments segments = {segments_in, &M, A->block_rows};
    tess_sliced_panel all = {0};
    tess_cut_count(&segments, &all);
    S->cut_rows = all.cut_rows;
    S->cut_long = all.cut_long;
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows, &S->cut_row));
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows + 1, &S->cut_slots));
    S->lines = A->block_rows;
    if (all.lines > INT32_MAX - 4096 - S->lines) /* sums of a row step beyond its last line */
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "swept: %lld lines do not fit 31 bits",
                         (long long)(S->lines + all.lines));
    tess_cut_list(&segments, &all, S->cut_row, S->cut_slots);
    S->lines += S->cut_slots[S->cut_rows];
    return TESS_OK;
}

static tess_status list_lines(tess_ctx *ctx, const tess_matrix *A, tess_swept *S)
{
    TESS_TRY(list_cut_rows(ctx, A, S));
    TESS_TRY(TESS_ALLOC(ctx, S->lines, &S->starts));
    TESS_TRY(TESS_ALLOC(ctx, S->lines, &S->lengths));
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t length = row_length(A, row);
        S->starts[row] = A->row_offsets[row];
        S->lengths[row] = length > S->options.split ? 0 : (int32_t)length;
    }
    int64_t line = A->block_rows;
    for (int64_t i = 0; i < S->cut_rows; i++) {
        int64_t first = A->row_offsets[S->cut_row[i]], end = A->row_offsets[S->cut_row[i] + 1];
        for (; first < end; first += S->lengths[line++]) {
            S->starts[line] = first;
            S->lengths[line] = (int32_t)tess_min(S->options.split, end - first);
        }
    }
    return TESS_OK;
}

/* ---- Chunks ---- */

/* The work of some lines, in quarters of a block. A line costs a quarter of a block besides its
 * blocks. */
static int64_t work_of(const tess_swept *S, int64_t first, int64_t end)
{
    int64_t work = end - first;
    for (int64_t line = first; line < end; line++)
        work += 4 * (int64_t)S->lengths[line];
    return work;
}

/* Cuts lines first .. end-1 into `chunks` chunks of equal work, or into more if a chunk would have
 * too many lines. A chunk that ends early at the most lines leaves its missing work to all chunks
 * after it. The chunks' ends are written behind chunk_line[S->chunks], unless chunk_line is
 * NULL. */
static void cut_lines(tess_swept *S, int64_t first, int64_t end, int64_t chunks,
                      int32_t *chunk_line)
{
    double left = (double)work_of(S, first, end);
    int64_t work = 0;
    for (int64_t line = first; line < end; line++) {
        int64_t next = work_of(S, line, line + 1), lines = line - first;
        double goal = left / (double)tess_max(chunks, 1);
        if (lines > 0 && (lines == S->options.lines || (double)work + 0.5 * (double)next > goal)) {
            S->chunks++;
            if (chunk_line)
                chunk_line[S->chunks] = (int32_t)line;
            chunks--;
            left -= (double)work;
            first = line;
            work = 0;
        }
        work += next;
    }
    if (end > first) {
        S->chunks++;
        if (chunk_line)
            chunk_line[S->chunks] = (int32_t)end;
    }
}

static tess_status make_chunks(tess_ctx *ctx, tess_swept *S)
{
    /* A chunk has rows or segments, never both. */
    int64_t rows = work_of(S, 0, S->block_rows), segments = work_of(S, S->block_rows, S->lines);
    int64_t chunks = S->options.chunks;
    int64_t others = tess_ceil_div(chunks * segments, rows + segments > 0 ? rows + segments : 1);
    int64_t own = chunks > others ? chunks - others : 1;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1)
            TESS_TRY(TESS_CALLOC(ctx, S->chunks + 1, &S->chunk_line));
        S->chunks = 0;
        cut_lines(S, 0, S->block_rows, own, S->chunk_line);
        cut_lines(S, S->block_rows, S->lines, others > 0 ? others : 1, S->chunk_line);
    }
    TESS_TRY(TESS_CALLOC(ctx, S->chunks * S->panels + 1, &S->first_step));
    for (int64_t c = 0; c < S->chunks; c++)
        S->line_most = tess_max(S->chunk_line[c + 1] - S->chunk_line[c], S->line_most);
    return TESS_OK;
}

/* ---- Steps ---- */

/* The scratch memory of a thread that orders a chunk. */
typedef struct ordering {
    tess_sort_key *keys, *scratch; /* one per block: column; line and block */
    int32_t *next;                 /* blocks + 1: a list, from next[0] on, of those not placed */
    int64_t *seen;                 /* one per line: the last step that has it */
} ordering;

/* Sorts the chunk's blocks by column. A key's position is the line and the number of the block in
 * it. */
static const tess_sort_key *sort_blocks(const tess_matrix *A, const tess_swept *S, int64_t c,
                                        const ordering *o, int64_t *count)
{
    *count = 0;
    for (int64_t line = S->chunk_line[c]; line < S->chunk_line[c + 1]; line++)
        for (int32_t k = 0; k < S->lengths[line]; k++)
            o->keys[(*count)++] =
                (tess_sort_key){A->columns[S->starts[line] + k],
                                (line - S->chunk_line[c]) * ((int64_t)S->options.split + 1) + k};
    return tess_sort_keys(o->keys, o->scratch, *count);
}

/* Fills the step with blocks from the list, in its order. All are of one panel, each of a line that
 * the step does not have yet. */
static void fill_step(tess_swept *S, int64_t c, const tess_sort_key *keys, int64_t count,
                      const ordering *o, int64_t step)
{
    int64_t split = (int64_t)S->options.split + 1;
    int32_t *link = &o->next[0], panel = keys[*link].column / TESS_SWEPT_PANEL;
    int lane = 0;
    for (int looked = 0; lane < LANES && looked < LOOK && *link < count; looked++) {
        const tess_sort_key *key = &keys[*link];
        int64_t line = key->position / split, k = key->position % split;
        if (key->column / TESS_SWEPT_PANEL != panel)
            break;
        if (o->seen[line] == step) {
            link = &o->next[*link + 1];
            continue;
        }
        o->seen[line] = step;
        S->places[S->starts[S->chunk_line[c] + line] + k] = (int32_t)(step * LANES + lane++);
        *link = o->next[*link + 1];
    }
}

/* Gives every block of the chunk its place, and first_step of its panels the number of steps. */
static void place_blocks(const tess_matrix *A, tess_swept *S, int64_t c, const ordering *o)
{
    int64_t count;
    const tess_sort_key *keys = sort_blocks(A, S, c, o, &count);
    for (int64_t i = 0; i <= count; i++)
        o->next[i] = (int32_t)i; /* link i: the next block, count at the end */
    for (int32_t i = 0; i < S->line_most; i++)
        o->seen[i] = -1;
    for (int64_t step = 0; o->next[0] < count; step++) {
        int32_t panel = keys[o->next[0]].column / TESS_SWEPT_PANEL;
        fill_step(S, c, keys, count, o, step);
        S->first_step[c * S->panels + panel + 1]++;
    }
}

struct order_share {
    int threads;
    tess_sort_key *keys;
    int64_t most;
    int32_t *next;
    int64_t *seen;
    tess_swept *S;
    const tess_matrix *A;
};

static void order_share(void *arg, int thread)
{
    const struct order_share *job = arg;
    const int64_t most = job->most;
    tess_swept *S = job->S;
    ordering o = {job->keys + 2 * thread * most, job->keys + (2 * thread + 1) * most,
                  job->next + thread * (most + 1), job->seen + thread * (int64_t)S->line_most};
    for (int64_t c = thread; c < S->chunks; c += job->threads)
        place_blocks(job->A, S, c, &o);
}

static tess_status make_steps(tess_ctx *ctx, const tess_matrix *A, tess_swept *S)
{
    int64_t most = 0;
    for (int64_t c = 0; c < S->chunks; c++) {
        int64_t blocks = 0;
        for (int64_t line = S->chunk_line[c]; line < S->chunk_line[c + 1]; line++)
            blocks += S->lengths[line];
        most = tess_max(blocks, most);
    }
    if (most > INT32_MAX / LANES - 1)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "swept: %lld blocks of a chunk do not fit",
                         (long long)most);
    int threads = (int)tess_min(S->chunks, ctx->threads);
    tess_sort_key *keys = NULL;
    int32_t *next = NULL;
    int64_t *seen = NULL;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * threads * most, &keys));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * (most + 1), &next));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * (int64_t)S->line_most, &seen));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->blocks, &S->places));
    tess_parallel(ctx, threads, order_share,
                  &(struct order_share){threads, keys, most, next, seen, S, A});
    for (int64_t i = 0; i < S->chunks * S->panels; i++)
        S->first_step[i + 1] += S->first_step[i];
cleanup:
    TESS_FREE(ctx, keys, next, seen);
    return status;
}

/* ---- Arrays ---- */

static int64_t chunk_step(const tess_swept *S, int64_t c)
{
    return S->first_step[c * S->panels];
}

/* The block's place, counted over the lanes of all steps. */
static int64_t place_of(const tess_swept *S, int64_t c, int64_t block)
{
    return chunk_step(S, c) * LANES + S->places[block];
}

static int64_t value_index(const tess_swept *S, int64_t place, int32_t e)
{
    int32_t N = S->block_height * S->block_width, V = 16 / (int32_t)tess_type_size(S->type);
    int64_t first = place / LANES * LANES * N, lane = place % LANES;
    return e < N / V * V ? first + (e / V * LANES + lane) * V + e % V : first + e * LANES + lane;
}

static void fill_words(const tess_matrix *A, const tess_swept *S, int64_t c)
{
    for (int64_t place = chunk_step(S, c) * LANES; place < chunk_step(S, c + 1) * LANES; place++)
        S->words[place] = TESS_SWEPT_NONE;
    for (int64_t line = S->chunk_line[c]; line < S->chunk_line[c + 1]; line++) {
        for (int64_t block = S->starts[line]; block < S->starts[line] + S->lengths[line]; block++) {
            uint32_t column = (uint32_t)(A->columns[block] % TESS_SWEPT_PANEL);
            S->words[place_of(S, c, block)] =
                column << TESS_SWEPT_BITS | (uint32_t)(line - S->chunk_line[c]);
        }
    }
}

/* Copies the chunk's values to S->values from the order of the BSR matrix. It does not touch
 * padding. */
static void move_values(void *swept, const void *bsr, int64_t c)
{
    const tess_swept *S = swept;
    int32_t N = S->block_height * S->block_width;
    for (int64_t line = S->chunk_line[c]; line < S->chunk_line[c + 1]; line++) {
        for (int64_t block = S->starts[line]; block < S->starts[line] + S->lengths[line]; block++) {
            int64_t place = place_of(S, c, block), from = block * N;
            for (int32_t e = 0; e < N; e++, from++)
                tess_copy_scalar(S->type, S->values, value_index(S, place, e), bsr, from);
        }
    }
}

void tess_swept_update(tess_swept *S, const void *values)
{
    tess_for_each(S->ctx, S->chunks, 4, move_values, S, values);
}

static void fill_chunk(void *swept, const void *matrix, int64_t c)
{
    const tess_swept *S = swept;
    const tess_matrix *A = matrix;
    const size_t step = (size_t)LANES * tess_block_bytes(S->block_height, S->block_width, S->type);
    fill_words(A, S, c);
    memset((char *)S->values + (size_t)chunk_step(S, c) * step, 0,
           (size_t)(chunk_step(S, c + 1) - chunk_step(S, c)) * step);
    move_values(swept, A->values, c);
}

static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_swept *S)
{
    int64_t steps = tess_swept_steps(S), places, scalars;
    if (!tess_mul(steps, LANES, &places) ||
        !tess_mul(places, (int64_t)S->block_height * S->block_width, &scalars))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "swept: %lld steps overflow", (long long)steps);
    TESS_TRY(TESS_ALLOC(ctx, places, &S->words));
    TESS_TRY(tess_alloc_bytes(ctx, scalars, tess_type_size(S->type), &S->values));
    tess_for_each(ctx, S->chunks, 4, fill_chunk, S, A);
    return TESS_OK;
}

tess_status tess_swept_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_swept_options *options, tess_swept **out)
{
    if (options->chunks < 1 || options->lines < 1 || options->lines > TESS_SWEPT_NONE ||
        options->split < 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "swept: %lld chunks (>= 1) of up to %d lines (1..%d), split at %d (>= 1)",
                         (long long)options->chunks, (int)options->lines, TESS_SWEPT_NONE,
                         (int)options->split);
    tess_swept *S;
    TESS_TRY(TESS_ALLOC(ctx, 1, &S));
    *S = (tess_swept){.ctx = ctx,
                      .type = A->type,
                      .block_height = A->block_height,
                      .block_width = A->block_width,
                      .block_rows = A->block_rows,
                      .blocks = A->blocks,
                      .options = *options,
                      .panels = (int32_t)tess_ceil_div(A->block_cols, TESS_SWEPT_PANEL)};
    S->panels = S->panels > 0 ? S->panels : 1;
    tess_status status;
    TESS_TRY_CLEAN(list_lines(ctx, A, S));
    TESS_TRY_CLEAN(make_chunks(ctx, S));
    TESS_TRY_CLEAN(make_steps(ctx, A, S));
    TESS_TRY_CLEAN(fill(ctx, A, S));
cleanup:
    return TESS_DELIVER(status, S, tess_swept_destroy, out);
}

void tess_swept_destroy(tess_swept *S)
{
    if (S)
        TESS_FREE(S->ctx, S->starts, S->lengths, S->chunk_line, S->first_step, S->places, S->words,
                  S->values, S->cut_row, S->cut_slots, S);
}
