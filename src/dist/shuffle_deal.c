/* The list of segments, and their blocks on the way to the parts that compute with them. */
#include "dist/shuffle.h"

void tess_segments_free(tess_ctx *ctx, tess_segments *s)
{
    TESS_FREE(ctx, s->firsts, s->lengths, s->sorted, s->place, s->row_of);
    *s = (tess_segments){0};
}

int64_t tess_segments_on(const tess_segments *s, int size, int rank)
{
    return s->count > rank ? (s->count - 1 - rank) / size + 1 : 0;
}

int64_t tess_segments_before(const tess_segments *s, int size, int rank)
{
    return s->count / size * rank + tess_min(s->count % size, rank);
}

/* Returns the number of blocks of a segment, which begin with block *begin of its row. */
static int64_t segment_blocks(const tess_segments *s, int64_t segment, int64_t *begin)
{
    const int64_t row = s->row_of[segment], piece = segment - s->firsts[row];
    *begin = piece * s->lambda;
    const int64_t left = s->lengths[row] - *begin;
    return s->lambda > 0 ? tess_min(left, s->lambda) : left;
}

/* ---- The list ---- */

/* Lengths of all parts' rows. The transport gathers pieces of equal size. */
static tess_status gather_lengths(const tess_part *part, const int64_t *row_offsets,
                                  int64_t *lengths)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    int64_t most = 0, *mine = NULL, *all = NULL;
    for (int r = 0; r < comm->size; r++)
        most = tess_max(most, part->firsts[r + 1] - part->firsts[r]);
    tess_status status = TESS_CALLOC(ctx, most, &mine);
    TESS_THEN(TESS_ALLOC(ctx, most * comm->size, &all));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    const int64_t first = part->firsts[comm->rank];
    for (int64_t i = 0; i < part->firsts[comm->rank + 1] - first; i++)
        mine[i] = row_offsets[i + 1] - row_offsets[i];
    TESS_TRY_CLEAN(tess_comm_check(ctx, comm,
                                   comm->gather(comm->user, mine, (size_t)most * sizeof *mine, all),
                                   "gathering the rows' lengths"));
    for (int r = 0; r < comm->size; r++)
        for (int64_t i = part->firsts[r]; i < part->firsts[r + 1]; i++)
            lengths[i] = all[most * r + i - part->firsts[r]];
cleanup:
    TESS_FREE(ctx, mine, all);
    return status;
}

static void cut_rows(tess_segments *s)
{
    s->firsts[0] = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        const int64_t pieces = s->lambda > 0 ? tess_ceil_div(s->lengths[i], s->lambda) : 1;
        s->firsts[i + 1] = s->firsts[i] + tess_max(pieces, 1);
    }
    s->count = s->firsts[s->rows];
}

/* Sorts by length, the longest first; segments of one length keep their order. `next` has a zero
 * for every length up to the longest, and one more. */
static void sort_segments(tess_segments *s, int64_t longest, int64_t *next)
{
    int64_t begin;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = s->firsts[i]; k < s->firsts[i + 1]; k++)
            s->row_of[k] = i;
    for (int64_t k = 0; k < s->count; k++)
        next[longest - segment_blocks(s, k, &begin) + 1]++;
    tess_counts_to_offsets(next, longest + 1);
    for (int64_t k = 0; k < s->count; k++)
        s->sorted[next[longest - segment_blocks(s, k, &begin)]++] = k;
}

static tess_status sort(tess_ctx *ctx, int size, tess_segments *s)
{
    int64_t longest = 0, *next;
    TESS_TRY(TESS_ALLOC(ctx, s->count, &s->sorted));
    TESS_TRY(TESS_ALLOC(ctx, s->count, &s->place));
    TESS_TRY(TESS_ALLOC(ctx, s->count, &s->row_of));
    for (int64_t i = 0; i < s->rows; i++)
        longest = tess_max(longest, s->lengths[i]);
    TESS_TRY(TESS_CALLOC(ctx, longest + 2, &next));
    sort_segments(s, longest, next);
    for (int64_t n = 0; n < s->count; n++)
        s->place[s->sorted[n]] = tess_segments_before(s, size, (int)(n % size)) + n / size;
    tess_free(ctx, next);
    return TESS_OK;
}

tess_status tess_segments_make(const tess_part *part, const int64_t *row_offsets, int64_t lambda,
                               tess_segments *out)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    tess_segments s = {.lambda = lambda, .rows = part->firsts[comm->size]};
    tess_status status = TESS_ALLOC(ctx, s.rows + 1, &s.firsts);
    TESS_THEN(TESS_ALLOC(ctx, s.rows, &s.lengths));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    TESS_TRY_CLEAN(gather_lengths(part, row_offsets, s.lengths));
    cut_rows(&s);
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, sort(ctx, comm->size, &s)));
cleanup:
    return TESS_DELIVER_OR(status, s, tess_segments_free(ctx, &s), out);
}

/* ---- Blocks on their way ---- */

/* Blocks that go to or come from each part, one part's after the other's, in the order of the
 * sorted list. What a part keeps goes through `out` too. */
typedef struct deal_buffers {
    int64_t *out_firsts, *in_firsts; /* size + 1 */
    int64_t *out_next, *in_next;     /* size */
    int64_t *out_columns, *in_columns;
    char *out_values, *in_values;
    tess_message *messages; /* 2 * size */
} deal_buffers;

static void buffers_free(tess_ctx *ctx, deal_buffers *d)
{
    TESS_FREE(ctx, d->out_firsts, d->in_firsts, d->out_next, d->in_next, d->out_columns,
              d->in_columns, d->out_values, d->in_values, d->messages);
}

static int owner_of(const tess_part *part, const tess_segments *s, int64_t segment)
{
    return tess_part_owner(part->firsts, part->comm.size, s->row_of[segment]);
}

static void count_blocks(const tess_part *part, const tess_segments *s, deal_buffers *d)
{
    const int size = part->comm.size, me = part->comm.rank;
    for (int64_t n = 0; n < s->count; n++) {
        int64_t begin;
        const int64_t blocks = segment_blocks(s, s->sorted[n], &begin);
        const int from = owner_of(part, s, s->sorted[n]), to = (int)(n % size);
        if (from == me)
            d->out_firsts[to + 1] += blocks;
        if (to == me)
            d->in_firsts[from + 1] += blocks;
    }
    tess_counts_to_offsets(d->out_firsts, size);
    tess_counts_to_offsets(d->in_firsts, size);
    memcpy(d->out_next, d->out_firsts, (size_t)size * sizeof *d->out_next);
    memcpy(d->in_next, d->in_firsts, (size_t)size * sizeof *d->in_next);
}

static tess_status buffers_make(const tess_part *part, const tess_segments *s, deal_buffers *d)
{
    tess_ctx *ctx = part->ctx;
    const int size = part->comm.size;
    const size_t bytes = tess_part_block_bytes(part);
    TESS_TRY(TESS_CALLOC(ctx, size + 1, &d->out_firsts));
    TESS_TRY(TESS_CALLOC(ctx, size + 1, &d->in_firsts));
    TESS_TRY(TESS_ALLOC(ctx, size, &d->out_next));
    TESS_TRY(TESS_ALLOC(ctx, size, &d->in_next));
    TESS_TRY(TESS_ALLOC(ctx, 2 * size, &d->messages));
    count_blocks(part, s, d);
    TESS_TRY(TESS_ALLOC(ctx, d->out_firsts[size], &d->out_columns));
    TESS_TRY(TESS_ALLOC(ctx, d->in_firsts[size], &d->in_columns));
    TESS_TRY(tess_alloc_bytes(ctx, d->out_firsts[size], bytes, (void **)&d->out_values));
    return tess_alloc_bytes(ctx, d->in_firsts[size], bytes, (void **)&d->in_values);
}

static void pack(const tess_part *part, const tess_segments *s, const tess_form_rows *mine,
                 deal_buffers *d)
{
    const int size = part->comm.size, me = part->comm.rank;
    const size_t bytes = tess_part_block_bytes(part);
    for (int64_t n = 0; n < s->count; n++) {
        int64_t begin;
        const int64_t row = s->row_of[s->sorted[n]] - part->firsts[me];
        if (row < 0 || row >= mine->block_rows)
            continue;
        const int64_t blocks = segment_blocks(s, s->sorted[n], &begin);
        const int64_t from = mine->row_offsets[row] + begin, to = d->out_next[n % size];
        d->out_next[n % size] += blocks;
        if (blocks == 0)
            continue;
        memcpy(d->out_columns + to, mine->columns + from, (size_t)blocks * sizeof *mine->columns);
        memcpy(d->out_values + (size_t)to * bytes, mine->values + (size_t)from * bytes,
               (size_t)blocks * bytes);
    }
}

/* One array of all messages: columns, or values. */
static tess_status exchange(const tess_part *part, deal_buffers *d, char *out, char *in,
                            size_t bytes)
{
    return tess_comm_exchange_array(part->ctx, &part->comm, d->out_firsts, out, d->in_firsts, in,
                                    bytes, d->messages);
}

static tess_status unpack(const tess_part *part, const tess_segments *s, deal_buffers *d,
                          tess_form_rows *rows)
{
    const int size = part->comm.size, me = part->comm.rank;
    const size_t bytes = tess_part_block_bytes(part);
    int64_t at = 0;
    rows->block_rows = tess_segments_on(s, size, me);
    rows->blocks = d->in_firsts[size];
    TESS_TRY(TESS_CALLOC(part->ctx, rows->block_rows + 1, &rows->row_offsets));
    TESS_TRY(TESS_ALLOC(part->ctx, rows->blocks, &rows->columns));
    TESS_TRY(tess_alloc_bytes(part->ctx, rows->blocks, bytes, (void **)&rows->values));
    for (int64_t i = 0; i < rows->block_rows; i++) {
        int64_t begin;
        const int64_t segment = s->sorted[i * size + me];
        const int64_t blocks = segment_blocks(s, segment, &begin);
        int64_t *next = &d->in_next[owner_of(part, s, segment)];
        if (blocks > 0) {
            memcpy(rows->columns + at, d->in_columns + *next,
                   (size_t)blocks * sizeof *rows->columns);
            memcpy(rows->values + (size_t)at * bytes, d->in_values + (size_t)*next * bytes,
                   (size_t)blocks * bytes);
        }
        *next += blocks;
        at += blocks;
        rows->row_offsets[i + 1] = at;
    }
    return TESS_OK;
}

tess_status tess_segments_deal(const tess_part *part, const tess_segments *s,
                               const tess_form_rows *mine, tess_form_rows *out)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    deal_buffers d = {0};
    tess_form_rows rows = {0};
    tess_status status;
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, buffers_make(part, s, &d)));
    pack(part, s, mine, &d);
    TESS_TRY_CLEAN(
        exchange(part, &d, (char *)d.out_columns, (char *)d.in_columns, sizeof *d.out_columns));
    TESS_TRY_CLEAN(exchange(part, &d, d.out_values, d.in_values, tess_part_block_bytes(part)));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, unpack(part, s, &d, &rows)));
cleanup:
    buffers_free(ctx, &d);
    return TESS_DELIVER_OR(status, rows, tess_form_rows_free(ctx, &rows), out);
}
