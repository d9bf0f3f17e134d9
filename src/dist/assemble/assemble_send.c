/* Sends added blocks to the owners of their rows. assemble.h has the layout. */
#include "dist/assemble/assemble.h"

static int owner_of(const tess_part_builder *b, int64_t i)
{
    return tess_part_owner(b->firsts, b->comm.size, b->added.rows[i]);
}

/* The blocks that go to each part and come from each part, and where they begin. */
typedef struct block_traffic {
    int64_t *counts;          /* size + 1 offsets into `leaving`, by owner */
    int64_t *all;             /* size * size: how many blocks each part sends to each */
    int64_t *arrives;         /* size + 1 offsets into `arriving`, by sender */
    tess_block_list leaving;  /* the added blocks, sorted by owner */
    tess_block_list arriving; /* by the part that sends them */
    tess_message *messages;
} block_traffic;

void tess_block_list_free(tess_ctx *ctx, tess_block_list *list)
{
    TESS_FREE(ctx, list->rows, list->columns, list->values);
    *list = (tess_block_list){0};
}

static tess_status list_make(const tess_part_builder *b, int64_t count, tess_block_list *list)
{
    list->count = count;
    TESS_TRY(TESS_ALLOC(b->ctx, count, &list->rows));
    TESS_TRY(TESS_ALLOC(b->ctx, count, &list->columns));
    return tess_alloc_bytes(b->ctx, count, b->block_bytes, (void **)&list->values);
}

static void list_copy(const tess_part_builder *b, tess_block_list *to, int64_t at,
                      const tess_block_list *from, int64_t i)
{
    to->rows[at] = from->rows[i];
    to->columns[at] = from->columns[i];
    memcpy(to->values + (size_t)at * b->block_bytes, from->values + (size_t)i * b->block_bytes,
           b->block_bytes);
}

/* Sorts the added blocks by owner, and counts those of each. */
static tess_status sort_by_owner(const tess_part_builder *b, block_traffic *t)
{
    const int size = b->comm.size;
    TESS_TRY(TESS_CALLOC(b->ctx, size + 1, &t->counts));
    TESS_TRY(TESS_ALLOC(b->ctx, (int64_t)size * size, &t->all));
    TESS_TRY(TESS_CALLOC(b->ctx, size + 1, &t->arrives));
    TESS_TRY(TESS_ALLOC(b->ctx, 2 * (int64_t)size, &t->messages));
    TESS_TRY(list_make(b, b->added.count, &t->leaving));
    for (int64_t i = 0; i < b->added.count; i++)
        t->counts[owner_of(b, i) + 1]++;
    tess_counts_to_offsets(t->counts, size);
    for (int64_t i = 0; i < b->added.count; i++)
        list_copy(b, &t->leaving, t->counts[owner_of(b, i)]++, &b->added, i);
    memmove(t->counts + 1, t->counts, (size_t)size * sizeof *t->counts);
    t->counts[0] = 0;
    return TESS_OK;
}

/* Sends one of the three arrays to the owners. */
static tess_status exchange_array(const tess_part_builder *b, const block_traffic *t, size_t item,
                                  void *leaving, void *arriving)
{
    return tess_comm_exchange_array(b->ctx, &b->comm, t->counts, leaving, t->arrives, arriving,
                                    item, t->messages);
}

static tess_status exchange(const tess_part_builder *b, block_traffic *t)
{
    const int size = b->comm.size, rank = b->comm.rank;
    int64_t *mine = t->all + (int64_t)rank * size;
    for (int r = 0; r < size; r++)
        mine[r] = t->counts[r + 1] - t->counts[r];
    memcpy(t->arrives, mine, (size_t)size * sizeof *mine); /* gather's buffers must not overlap */
    TESS_TRY(tess_comm_check(
        b->ctx, &b->comm,
        b->comm.gather(b->comm.user, t->arrives, (size_t)size * sizeof *mine, t->all),
        "gathering how many blocks go where"));
    t->arrives[0] = 0;
    for (int r = 0; r < size; r++)
        t->arrives[r + 1] = t->arrives[r] + t->all[(int64_t)r * size + rank];
    TESS_TRY(tess_comm_agree(b->ctx, &b->comm, list_make(b, t->arrives[size], &t->arriving)));
    TESS_TRY(exchange_array(b, t, sizeof(int64_t), t->leaving.rows, t->arriving.rows));
    TESS_TRY(exchange_array(b, t, sizeof(int64_t), t->leaving.columns, t->arriving.columns));
    return exchange_array(b, t, b->block_bytes, t->leaving.values, t->arriving.values);
}

tess_status tess_part_builder_collect(tess_part_builder *b, tess_block_list *out)
{
    block_traffic t = {0};
    tess_status status = b->failed;
    if (status != TESS_OK)
        memcpy(b->ctx->error, b->reason, sizeof b->reason);
    else
        status = sort_by_owner(b, &t);
    b->failed = TESS_OK;
    TESS_TRY_CLEAN(tess_comm_agree(b->ctx, &b->comm, status));
    TESS_TRY_CLEAN(exchange(b, &t));
    *out = t.arriving;
    t.arriving = (tess_block_list){0};
cleanup:
    b->added.count = 0;
    tess_block_list_free(b->ctx, &t.leaving);
    tess_block_list_free(b->ctx, &t.arriving);
    TESS_FREE(b->ctx, t.counts, t.all, t.arrives, t.messages);
    return status;
}
