/* Paper 003's product on several devices (section 5.6), for parts that own ranges of rows:
 *
 *     1  all of x goes to every part; the paper has it there already
 *     2  each part multiplies its segments (shuffle.h)
 *     3  the results go to part 0, part after part
 *     4  part 0 puts them in the order of the rows: the shuffle
 *     5  with lambda part 0 adds the segments of a row, in their order: the reduction
 *     6  each part's rows of y go back to it; in the paper y stays on the first device
 *
 * All of it is in host memory here, for parts on processors; only step 2 is a device's. Parts on
 * GPUs take all six steps on the devices (cuda/solve/parts/form.h), with the plan and the list of
 * segments of this file.
 */
#include "core/threads.h"
#include "dist/shuffle.h"

/* Buffers for k vectors, row-major: row i of vector v is element i * k + v. */
typedef struct shuffle_buffers {
    int k;         /* 0: not open */
    char *results; /* this part's segments; on part 0 those of all parts */
    char *ordered; /* part 0: results in the order of rows, where rows are cut */
    char *y;       /* this part's rows; on part 0 those of all parts, in whole blocks */
    void *collect, *back;
} shuffle_buffers;

typedef struct shuffle_state {
    tess_form_local local;
    tess_segments segments;
    shuffle_buffers one, many;
} shuffle_state;

/* ---- Buffers ---- */

static void buffers_close(const tess_part *part, shuffle_buffers *b)
{
    tess_comm_close(&part->comm, b->collect);
    tess_comm_close(&part->comm, b->back);
    TESS_FREE(part->ctx, b->results, b->ordered, b->y);
    *b = (shuffle_buffers){0};
}

static tess_status buffers_alloc(const tess_part *part, const tess_segments *s, shuffle_buffers *b)
{
    tess_ctx *ctx = part->ctx;
    const bool first = part->comm.rank == 0;
    const size_t row = (size_t)part->block * (size_t)b->k * tess_type_size(part->type);
    const int64_t segments =
        first ? s->count : tess_segments_on(s, part->comm.size, part->comm.rank);
    TESS_TRY(tess_calloc_bytes(ctx, segments, row, (void **)&b->results));
    if (first && s->lambda > 0)
        TESS_TRY(tess_calloc_bytes(ctx, s->count, row, (void **)&b->ordered));
    return tess_calloc_bytes(ctx, first ? s->rows : tess_ceil_div(part->rows, part->block), row,
                             (void **)&b->y);
}

/* The messages with results: on part 0 one from each other part, on another part one to part 0.
 * `row`: bytes of a block row of all vectors. */
static int list_collect(const tess_part *part, const tess_segments *s, char *results, size_t row,
                        tess_message *list)
{
    const int size = part->comm.size, me = part->comm.rank;
    int count = 0;
    for (int r = me == 0 ? 1 : me; r < (me == 0 ? size : me + 1); r++) {
        const int64_t segments = tess_segments_on(s, size, r);
        const int64_t first = me == 0 ? tess_segments_before(s, size, r) : 0;
        if (segments > 0)
            list[count++] = (tess_message){me == 0 ? r : 0, (size_t)segments * row,
                                           results + (size_t)first * row};
    }
    return count;
}

static int list_back(const tess_part *part, char *y, size_t scalar_row, tess_message *list)
{
    const int size = part->comm.size, me = part->comm.rank;
    int count = 0;
    for (int r = me == 0 ? 1 : me; r < (me == 0 ? size : me + 1); r++) {
        const int64_t first = tess_part_first_row(part, r);
        const int64_t rows = part->row_ends[r] - first;
        if (rows > 0)
            list[count++] = (tess_message){me == 0 ? r : 0, (size_t)rows * scalar_row,
                                           y + (me == 0 ? (size_t)first * scalar_row : 0)};
    }
    return count;
}

static tess_status open_channels(const tess_part *part, const tess_segments *s, int k,
                                 char *results, char *y, tess_message *list, void **collect,
                                 void **back)
{
    const tess_comm *comm = &part->comm;
    const size_t scalar_row = (size_t)k * tess_type_size(part->type);
    const bool first = comm->rank == 0;
    int count = list_collect(part, s, results, scalar_row * (size_t)part->block, list);
    tess_status status =
        comm->open(comm->user, first ? 0 : count, list, first ? count : 0, list, collect);
    if (status == TESS_OK) {
        count = list_back(part, y, scalar_row, list);
        status = comm->open(comm->user, first ? count : 0, list, first ? 0 : count, list, back);
    }
    return tess_comm_check(part->ctx, comm, status, "opening the channels of results");
}

tess_status tess_shuffle_channels(const tess_part *part, const tess_segments *s, int k,
                                  void *results, void *y, void **collect, void **back)
{
    tess_ctx *ctx = part->ctx;
    tess_message *list = NULL;
    tess_status status = TESS_ALLOC(ctx, part->comm.size, &list);
    status = tess_comm_agree(ctx, &part->comm, status);
    if (status == TESS_OK)
        status = tess_comm_agree(ctx, &part->comm,
                                 open_channels(part, s, k, results, y, list, collect, back));
    tess_free(ctx, list);
    return status;
}

static tess_status buffers_open(const tess_part *part, const tess_segments *s, int k,
                                shuffle_buffers *out)
{
    shuffle_buffers b = {.k = k};
    tess_status status = tess_comm_agree(part->ctx, &part->comm, buffers_alloc(part, s, &b));
    TESS_THEN(tess_shuffle_channels(part, s, k, b.results, b.y, &b.collect, &b.back));
    return TESS_DELIVER_OR(status, b, buffers_close(part, &b), out);
}

/* ---- Making it ---- */

static void shuffle_close(tess_part_plan *p)
{
    shuffle_state *s = p->form_state;
    buffers_close(p->part, &s->one);
    buffers_close(p->part, &s->many);
    tess_form_local_free(p, &s->local);
    tess_segments_free(p->part->ctx, &s->segments);
    tess_free(p->part->ctx, s);
    p->form_state = NULL;
}

/* This part's segments, from the owners of their rows. `make` lists them first. Collective. */
static tess_status deal(tess_part_plan *p, shuffle_state *s, bool make, tess_form_rows *out)
{
    const tess_part *part = p->part;
    tess_form_rows mine = {0};
    tess_status status = tess_comm_agree(part->ctx, &part->comm, tess_form_rows_make(p, &mine));
    if (status == TESS_OK && make)
        status = tess_segments_make(part, mine.row_offsets, s->segments.lambda, &s->segments);
    TESS_THEN(tess_segments_deal(part, &s->segments, &mine, out));
    tess_form_rows_free(part->ctx, &mine);
    return status;
}

/* Makes the local matrix and its plan, or gives the plan new values. Collective. */
static tess_status fill(tess_part_plan *p, tess_device *device, const tess_plan_options *options)
{
    const tess_part *part = p->part;
    shuffle_state *s = p->form_state;
    tess_form_rows rows = {0};
    TESS_TRY(deal(p, s, !s->local.plan, &rows));
    const tess_status status =
        tess_form_local_fill(p, &rows, rows.block_rows * part->block, device, options, &s->local);
    tess_form_rows_free(part->ctx, &rows);
    return tess_comm_agree(part->ctx, &part->comm, status);
}

static tess_status shuffle_open(tess_part_plan *p, const char *keys, tess_device *device,
                                const tess_plan_options *options)
{
    const tess_part *part = p->part;
    shuffle_state *s = NULL;
    int64_t lambda = 0;
    const tess_option table[] = {{"lambda", TESS_OPTION_INT, &lambda, 0, INT32_MAX, NULL, 0}};
    tess_status status = tess_options_parse(part->ctx, "form shuffle", keys, table, 1);
    TESS_THEN(TESS_CALLOC(part->ctx, 1, &s));
    status = tess_comm_agree(part->ctx, &part->comm, status);
    p->form_state = s;
    if (status == TESS_OK) {
        s->segments.lambda = lambda;
        status = fill(p, device, options);
    }
    if (!tess_part_on_device(p))
        TESS_THEN(buffers_open(part, &s->segments, 1, &s->one));
    if (status != TESS_OK && s)
        shuffle_close(p);
    return status;
}

static tess_status shuffle_update(tess_part_plan *p)
{
    return fill(p, NULL, NULL);
}

/* ---- Part 0's work ---- */

typedef struct ordering {
    const tess_part *part;
    const tess_segments *segments;
    const shuffle_buffers *buffers;
    size_t row; /* bytes of a block row of k vectors */
} ordering;

/* Some segments, in the order of rows. */
static void put_in_order(void *arg, tess_range range)
{
    const ordering *o = arg;
    const shuffle_buffers *b = o->buffers;
    char *to = b->ordered ? b->ordered : b->y;
    for (int64_t i = range.first; i < range.last; i++)
        memcpy(to + (size_t)i * o->row, b->results + (size_t)o->segments->place[i] * o->row,
               o->row);
}

/* The sums of the segments of some block rows. */
static void add_segments(void *arg, tess_range range)
{
    const ordering *o = arg;
    const shuffle_buffers *b = o->buffers;
    const tess_segments *s = o->segments;
    const int64_t scalars = (int64_t)o->part->block * b->k;
    const tess_type type = o->part->type;
    for (int64_t i = range.first; i < range.last; i++) {
        memcpy(b->y + (size_t)i * o->row, b->ordered + (size_t)s->firsts[i] * o->row, o->row);
        for (int64_t k = s->firsts[i] + 1; k < s->firsts[i + 1]; k++)
            for (int64_t v = 0; v < scalars; v++)
                tess_put(b->y, type, i * scalars + v,
                         tess_get(b->y, type, i * scalars + v) +
                             tess_get(b->ordered, type, k * scalars + v));
    }
}

static void shuffle(const tess_part *part, const tess_segments *s, const shuffle_buffers *b)
{
    ordering o = {part, s, b, (size_t)part->block * (size_t)b->k * tess_type_size(part->type)};
    tess_for(part->ctx, s->count, put_in_order, &o);
    if (b->ordered)
        tess_for(part->ctx, s->rows, add_segments, &o);
}

/* ---- The product ---- */

static tess_status shuffle_multiply(tess_part_plan *p, const tess_part_product *m)
{
    const int k = m->k;
    shuffle_state *s = p->form_state;
    const tess_part *part = p->part;
    shuffle_buffers *b = k == 1 ? &s->one : &s->many;
    const double started = tess_seconds();
    void *x;
    if (b->k != k) {
        buffers_close(part, b);
        TESS_TRY(buffers_open(part, &s->segments, k, b));
    }
    TESS_TRY(tess_form_spread(p, &s->local, k, m->order, m->X, m->ldx, &x));
    const double arrived = tess_seconds();
    /* A failure here must not keep the others waiting. */
    const tess_status status = tess_form_multiply(&s->local, k, m->alpha, x, b->results);
    const double multiplied = tess_seconds();
    TESS_TRY(tess_comm_travel(part->ctx, &part->comm, b->collect, "collecting results"));
    if (part->comm.rank == 0)
        shuffle(part, &s->segments, b);
    TESS_TRY(tess_comm_travel(part->ctx, &part->comm, b->back, "dealing out results"));
    TESS_TRY(tess_comm_agree(part->ctx, &part->comm, status));
    tess_form_put(part, k, m->order, b->y, m->beta, m->Y, m->ldy);
    p->times.product += multiplied - arrived;
    p->times.halo += arrived - started + tess_seconds() - multiplied;
    return TESS_OK;
}

static tess_form_work shuffle_work(const tess_part_plan *p)
{
    const shuffle_state *s = p->form_state;
    return (tess_form_work){s->local.plan, &s->segments};
}

const tess_form tess_form_shuffle = {
    .name = "shuffle",
    .summary =
        "rows dealt out by length, results put in order by part 0 (paper 003); lambda=N cuts "
        "rows",
    .takes_keys = true,
    .open = shuffle_open,
    .update = shuffle_update,
    .close = shuffle_close,
    .multiply = shuffle_multiply,
    .work = shuffle_work,
};
