/* Products of a part: messages travel while the own blocks are multiplied. */
#include "dist/product.h"

/* ---- Buffers ---- */

void tess_halo_close(tess_part *part, tess_halo *h)
{
    tess_comm_close(&part->comm, h->channel);
    tess_comm_close(&part->comm, h->backwards);
    TESS_FREE(part->ctx, h->sent, h->halo, h->boundary);
    *h = (tess_halo){0};
}

static void list_messages(const tess_part *part, int k, const tess_part_peer *peers, int count,
                          char *buffer, tess_message *messages)
{
    const size_t row_block = (size_t)part->block * (size_t)k * tess_type_size(part->type);
    for (int i = 0; i < count; i++)
        messages[i] = (tess_message){peers[i].rank, (size_t)peers[i].count * row_block,
                                     buffer + (size_t)peers[i].first * row_block};
}

tess_status tess_halo_channels(const tess_part *part, int k, void *sent, void *received,
                               void **channel, void **backwards)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    tess_message *messages = NULL;
    tess_status status = TESS_ALLOC(ctx, part->receive_count + part->send_count, &messages);
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    tess_message *sends = messages + part->receive_count;
    list_messages(part, k, part->receives, part->receive_count, received, messages);
    list_messages(part, k, part->sends, part->send_count, sent, sends);
    status =
        comm->open(comm->user, part->send_count, sends, part->receive_count, messages, channel);
    TESS_THEN(
        comm->open(comm->user, part->receive_count, messages, part->send_count, sends, backwards));
    status = tess_comm_agree(ctx, comm,
                             tess_comm_check(ctx, comm, status, "opening the halo's channels"));
cleanup:
    tess_free(ctx, messages);
    return status;
}

tess_status tess_halo_open(tess_part *part, int k, tess_halo *out)
{
    tess_ctx *ctx = part->ctx;
    const int64_t width = (int64_t)part->block * k;
    const size_t scalar = tess_type_size(part->type);
    tess_halo h = {.k = k};
    tess_status status = tess_alloc_bytes(ctx, part->sent_count * width, scalar, &h.sent);
    TESS_THEN(tess_calloc_bytes(ctx, part->halo * width, scalar, &h.halo));
    TESS_THEN(tess_alloc_bytes(ctx, part->outside->block_rows * width, scalar, &h.boundary));
    status = tess_comm_agree(ctx, &part->comm, status);
    TESS_THEN(tess_halo_channels(part, k, h.sent, h.halo, &h.channel, &h.backwards));
    return TESS_DELIVER_OR(status, h, tess_halo_close(part, &h), out);
}

/* The buffers for k vectors; those of the last k > 1 are kept. Making them is collective. `status`
 * is that of what came before. */
static tess_status halo_for(tess_part_plan *p, int k, tess_status status, tess_halo **out)
{
    tess_halo *h = k == 1 ? &p->one : &p->many;
    if (h->k != k) {
        TESS_TRY(tess_comm_agree(p->part->ctx, &p->part->comm, status));
        tess_halo_close(p->part, h);
        TESS_TRY(tess_halo_open(p->part, k, h));
    }
    *out = h;
    return TESS_OK;
}

/* ---- Rows in and out of buffers ---- */

/* k vectors of the caller. Row i of vector v is element i * row_step + v * vector_step. */
typedef struct caller_vectors {
    char *data;
    int64_t row_step, vector_step;
} caller_vectors;

static caller_vectors vectors_of(const void *data, tess_block_order order, int64_t ld)
{
    const bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    return (caller_vectors){(char *)(uintptr_t)data, columns ? 1 : ld, columns ? ld : 1};
}

typedef enum row_move { PACK, ADD } row_move;

/* One block row of one contiguous vector, none of it padding. */
static void move_block(const tess_part *part, row_move move, int64_t row, int64_t at, double alpha,
                       char *x, void *buffer)
{
    const size_t scalar = tess_type_size(part->type);
    if (move == PACK)
        memcpy((char *)buffer + (size_t)at * scalar, x + (size_t)row * scalar,
               (size_t)part->block * scalar);
    else if (part->type == TESS_F64)
        for (int32_t i = 0; i < part->block; i++)
            ((double *)(void *)x)[row + i] += alpha * ((double *)buffer)[at + i];
    else
        for (int32_t i = 0; i < part->block; i++)
            tess_put(x, part->type, row + i,
                     tess_get(x, part->type, row + i) +
                         alpha * tess_get(buffer, part->type, at + i));
}

/* PACK copies block rows `list` of the caller's vectors to the buffer. ADD adds alpha times the
 * buffer to them. Rows of padding are packed as 0 and never added. */
static void move_rows(const tess_part *part, row_move move, const int64_t *list, int64_t count,
                      int k, double alpha, caller_vectors x, void *buffer)
{
    const tess_type type = part->type;
    for (int64_t n = 0; n < count; n++) {
        if (k == 1 && x.row_step == 1 && (list[n] + 1) * part->block <= part->rows) {
            move_block(part, move, list[n] * part->block, n * part->block, alpha, x.data, buffer);
            continue;
        }
        for (int32_t i = 0; i < part->block; i++) {
            const int64_t row = list[n] * part->block + i, at = (n * part->block + i) * k;
            for (int v = 0; v < k; v++) {
                const int64_t from = row * x.row_step + v * x.vector_step;
                if (move == PACK)
                    tess_put(buffer, type, at + v,
                             row < part->rows ? tess_get(x.data, type, from) : 0);
                else if (row < part->rows)
                    tess_put(x.data, type, from,
                             tess_get(x.data, type, from) + alpha * tess_get(buffer, type, at + v));
            }
        }
    }
}

/* ---- Products ---- */

static tess_status start(tess_part_plan *p, void *channel)
{
    const tess_comm *comm = &p->part->comm;
    return tess_comm_check(p->part->ctx, comm, comm->start(comm->user, channel),
                           "starting the halo's messages");
}

static tess_status wait(tess_part_plan *p, void *channel)
{
    const tess_comm *comm = &p->part->comm;
    return tess_comm_check(p->part->ctx, comm, comm->wait(comm->user, channel),
                           "waiting for the halo");
}

/* Seconds since *then, which becomes now. */
static double lap(double *then)
{
    const double now = tess_seconds(), took = now - *then;
    *then = now;
    return took;
}

static tess_status multiply_outside(tess_part_plan *p, tess_halo *h)
{
    if (h->k == 1)
        return tess_spmv(p->outside, 1, h->halo, 0, h->boundary);
    return tess_spmm(p->outside, h->k, TESS_ORDER_ROW_MAJOR, 1, h->halo, h->k, 0, h->boundary,
                     h->k);
}

static tess_status multiply_own(tess_part_plan *p, const tess_part_product *m)
{
    if (m->k == 1 && m->order == TESS_ORDER_COLUMN_MAJOR)
        return tess_spmv(p->own, m->alpha, m->X, m->beta, m->Y);
    return tess_spmm(p->own, m->k, m->order, m->alpha, m->X, m->ldx, m->beta, m->Y, m->ldy);
}

/* The messages of a part that has failed: others wait until it has taken theirs. */
static tess_status skip(tess_part_plan *p, void *channel, tess_status status)
{
    const tess_comm *comm = &p->part->comm;
    (void)comm->skip(comm->user, channel);
    (void)comm->wait(comm->user, channel);
    return status;
}

static tess_status multiply(tess_part_plan *p, const tess_part_product *m, tess_status status)
{
    tess_part *part = p->part;
    tess_halo *h;
    TESS_TRY(halo_for(p, m->k, status, &h));
    if (status != TESS_OK)
        return skip(p, h->channel, status);
    double then = tess_seconds();
    move_rows(part, PACK, part->sent, part->sent_count, m->k, 1, vectors_of(m->X, m->order, m->ldx),
              h->sent);
    TESS_TRY(start(p, h->channel));
    p->times.halo += lap(&then);
    status = multiply_own(p, m); /* a failure must not keep the others waiting */
    p->times.product += lap(&then);
    const tess_status came = wait(p, h->channel);
    TESS_TRY(status);
    TESS_TRY(came);
    p->times.halo += lap(&then);
    if (p->outside) {
        TESS_TRY(multiply_outside(p, h));
        move_rows(part, ADD, part->boundary, part->outside->block_rows, m->k, m->alpha,
                  vectors_of(m->Y, m->order, m->ldy), h->boundary);
    }
    p->times.product += lap(&then);
    return TESS_OK;
}

/* The sums for rows of others, which are sent. */
static tess_status multiply_outside_transposed(tess_part_plan *p, const tess_part_product *m,
                                               tess_halo *h)
{
    const tess_part *part = p->part;
    if (!p->outside)
        return TESS_OK;
    move_rows(part, PACK, part->boundary, part->outside->block_rows, 1, 1,
              vectors_of(m->X, TESS_ORDER_COLUMN_MAJOR, 0), h->boundary);
    return tess_spmv_transpose(p->outside, 1, h->boundary, 0, h->halo);
}

static tess_status multiply_transposed(tess_part_plan *p, const tess_part_product *m,
                                       tess_status status)
{
    tess_part *part = p->part;
    tess_halo *h;
    TESS_TRY(halo_for(p, 1, status, &h));
    double then = tess_seconds();
    TESS_THEN(multiply_outside_transposed(p, m, h));
    p->times.product += lap(&then);
    if (status != TESS_OK)
        return skip(p, h->backwards, status);
    TESS_TRY(start(p, h->backwards));
    p->times.halo += lap(&then);
    status = tess_spmv_transpose(p->own, m->alpha, m->X, m->beta, m->Y);
    p->times.product += lap(&then);
    const tess_status came = wait(p, h->backwards);
    TESS_TRY(status);
    TESS_TRY(came);
    move_rows(part, ADD, part->sent, part->sent_count, 1, m->alpha,
              vectors_of(m->Y, TESS_ORDER_COLUMN_MAJOR, 0), h->sent);
    p->times.halo += lap(&then);
    return TESS_OK;
}

/* The first transposed product, and the first of new values, may store transposes of the blocks.
 * Where one part has no memory for that, all parts fail. */
tess_status tess_part_multiply(tess_part_plan *p, const tess_part_product *m, tess_status status)
{
    if (!m->transpose)
        return multiply(p, m, status);
    status = multiply_transposed(p, m, status);
    if (!p->transposed)
        status = tess_comm_agree(p->part->ctx, &p->part->comm, status);
    p->transposed |= status == TESS_OK;
    return status;
}
