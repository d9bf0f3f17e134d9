/* Finds which part needs which rows of x: each part knows its outside columns and tells their
 * owners. */
#include "dist/part.h"

/* Groups the halo by owner. Its columns are sorted, and owners have rising ranges of them. */
static void group_halo(tess_part *part, const int64_t *halo, int64_t *needs)
{
    int owner = 0;
    for (int64_t i = 0; i < part->halo; i++) {
        while (halo[i] >= part->firsts[owner + 1])
            owner++;
        if (needs[owner]++ == 0)
            part->receives[part->receive_count++] = (tess_part_peer){owner, i, 0};
        part->receives[part->receive_count - 1].count++;
    }
}

/* Groups the rows that others need of this part by receiver. */
static void group_sent(tess_part *part, const int64_t *all_needs)
{
    const int size = part->comm.size, rank = part->comm.rank;
    for (int r = 0; r < size; r++) {
        const int64_t count = all_needs[(int64_t)r * size + rank];
        if (count == 0)
            continue;
        part->sends[part->send_count++] = (tess_part_peer){r, part->sent_count, count};
        part->sent_count += count;
    }
}

/* Sends columns of the halo to their owners, and receives the block rows that others need of this
 * part. */
static tess_status exchange_lists(tess_part *part, int64_t *halo, tess_message *messages)
{
    tess_message *lists = messages + part->receive_count;
    for (int i = 0; i < part->receive_count; i++) {
        const tess_part_peer *peer = &part->receives[i];
        messages[i] =
            (tess_message){peer->rank, (size_t)peer->count * sizeof *halo, halo + peer->first};
    }
    for (int i = 0; i < part->send_count; i++) {
        const tess_part_peer *peer = &part->sends[i];
        lists[i] = (tess_message){peer->rank, (size_t)peer->count * sizeof *halo,
                                  part->sent + peer->first};
    }
    const tess_status status = tess_comm_exchange(part->ctx, &part->comm, part->receive_count,
                                                  messages, part->send_count, lists);
    for (int64_t i = 0; i < part->sent_count; i++)
        part->sent[i] -= part->firsts[part->comm.rank];
    return status;
}

tess_status tess_part_connect(tess_part *part, const int64_t *halo)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    int64_t *needs = NULL, *all_needs = NULL;
    tess_message *messages = NULL;
    tess_status status = TESS_CALLOC(ctx, comm->size, &needs);
    TESS_THEN(TESS_ALLOC(ctx, (int64_t)comm->size * comm->size, &all_needs));
    TESS_THEN(TESS_ALLOC(ctx, comm->size, &part->receives));
    TESS_THEN(TESS_ALLOC(ctx, comm->size, &part->sends));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    group_halo(part, halo, needs);
    TESS_TRY_CLEAN(tess_comm_check(
        ctx, comm, comm->gather(comm->user, needs, (size_t)comm->size * sizeof *needs, all_needs),
        "gathering what each part needs"));
    group_sent(part, all_needs);
    status = TESS_ALLOC(ctx, part->sent_count, &part->sent);
    TESS_THEN(TESS_ALLOC(ctx, part->receive_count + part->send_count, &messages));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    /* The halo is only read: messages have no const. */
    TESS_TRY_CLEAN(
        tess_comm_agree(ctx, comm, exchange_lists(part, (int64_t *)(uintptr_t)halo, messages)));
cleanup:
    TESS_FREE(ctx, needs, all_needs, messages);
    return status;
}
