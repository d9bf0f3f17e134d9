/* Makes and frees the buffers, events and streams through which a part exchanges rows and sums. */
#include "cuda/solve/parts/form.h"

tess_status tess_cuda_halo_alloc(const tess_cuda_halo *h, int64_t count, size_t size,
                                 cu_pointer *out)
{
    return tess_cuda_alloc(h->mine.cuda, (size_t)count * size, "what parts exchange", out);
}

tess_status tess_cuda_halo_upload(const tess_cuda_halo *h, const void *from, int64_t count,
                                  size_t size, cu_pointer *out)
{
    TESS_TRY(tess_cuda_halo_alloc(h, count, size, out));
    return tess_cuda_upload(h->mine.cuda, *out, from, (size_t)count * size,
                            tess_cuda_halo_stream(h));
}

static tess_status make_events(tess_cuda_halo *h)
{
    cu_event *const events[] = {&h->mine.ready,     &h->mine.packed,    &h->mine.taken,
                                &h->mine.posted[0], &h->mine.posted[1], &h->mine.together,
                                &h->mine.forked,    &h->mine.launched,  &h->arrived};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        TESS_TRY(TESS_CU(h->mine.cuda, cuEventCreate(events[i], CU_EVENT_NO_TIMING)));
    return TESS_CU(h->mine.cuda, cuStreamCreateWithPriority(&h->copies, CU_STREAM_DEFAULT_FLAGS,
                                                            CU_STREAM_FIRST));
}

static tess_status make_buffers(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const int64_t boundary = part->outside->block_rows;
    const size_t row = tess_cuda_halo_bytes(h, part->block, h->vectors);
    TESS_TRY(tess_cuda_halo_alloc(h, part->halo, row, &h->in));
    if (!h->ranks)
        TESS_TRY(tess_cuda_halo_alloc(h, part->halo, row, &h->out));
    TESS_TRY(tess_cuda_halo_alloc(h, boundary, row, &h->boundary));
    TESS_TRY(tess_cuda_halo_alloc(h, 1, sizeof(double), &h->dot));
    TESS_TRY(tess_cuda_halo_alloc(h, boundary * part->block / TESS_HALO_THREADS + 1, sizeof(double),
                                  &h->dot_sums));
    TESS_TRY(tess_cuda_halo_alloc(h, 1, sizeof(uint64_t), &h->ticket));
    TESS_TRY(
        tess_cuda_halo_upload(h, part->sent, part->sent_count, sizeof *part->sent, &h->sent_list));
    TESS_TRY(tess_cuda_halo_upload(h, part->boundary, boundary, sizeof *part->boundary,
                                   &h->boundary_list));
    return TESS_CU(h->mine.cuda,
                   cuMemsetD8Async(h->ticket, 0, sizeof(uint64_t), tess_cuda_halo_stream(h)));
}

/* Finds out which parts' memory this part's device reads. */
static tess_status find_reach(tess_cuda_halo *h)
{
    const tess_cuda *cuda = h->mine.cuda;
    for (int r = 0; r < h->plan->part->comm.size; r++) {
        const tess_cuda *other = h->all[r]->cuda;
        int can = other->ordinal == cuda->ordinal;
        if (!can)
            TESS_TRY(TESS_CU(cuda, cuDeviceCanAccessPeer(&can, cuda->handle, other->handle)));
        if (can && other->ordinal != cuda->ordinal) {
            const cu_result result = cuda->driver.cuCtxEnablePeerAccess(other->context, 0);
            can = result == CU_SUCCESS || result == CU_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        }
        h->reaches[r] = can != 0;
    }
    return TESS_OK;
}

tess_status tess_cuda_halo_shared(tess_cuda_halo *h, bool reached, size_t bytes, void **pinned,
                                  cu_pointer *out)
{
    if (reached)
        return tess_cuda_halo_alloc(h, 1, bytes, out);
    TESS_TRY(TESS_CU(h->mine.cuda, cuMemAllocHost(pinned, bytes > 0 ? bytes : 1)));
    *out = tess_cuda_address(*pinned);
    return TESS_OK;
}

/* Makes what others read, in memory that they reach, and the lists of rows that this part takes. */
static tess_status make_common(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    /* Rows go one way in a product, the other way in a transpose; a form that is not the default
     * sends all rows. */
    const int64_t most = tess_max(tess_max(part->sent_count, part->halo),
                                  h->form ? tess_ceil_div(part->rows, part->block) : 0);
    bool reached = true;
    for (int r = 0; r < part->comm.size; r++)
        reached = reached && h->all[r]->reaches[part->comm.rank];
    if (!reached)
        TESS_TRY(tess_cuda_halo_shared(h, false,
                                       tess_cuda_halo_bytes(h, most * part->block, h->vectors),
                                       &h->pinned[2], &h->mine.stage));
    for (int i = 0; i < 2; i++)
        TESS_TRY(tess_cuda_halo_shared(h, reached, TESS_PASS_DOTS * sizeof(double), &h->pinned[i],
                                       &h->mine.mail[i]));
    TESS_TRY(tess_cuda_halo_alloc(h, part->halo, sizeof *part->sent, &h->taken_list));
    for (int i = 0; i < part->receive_count; i++) {
        const tess_part_peer *peer = &part->receives[i];
        const tess_part *other = h->all[peer->rank]->part;
        const int64_t at = tess_peer_first(other->sends, other->send_count, part->comm.rank);
        TESS_TRY(tess_cuda_upload(
            h->mine.cuda, h->taken_list + (uint64_t)peer->first * sizeof *other->sent,
            other->sent + at, (size_t)peer->count * sizeof *other->sent, tess_cuda_halo_stream(h)));
    }
    return TESS_OK;
}

/* Uploads the tables of where each part's sums are. */
static tess_status make_tables(tess_cuda_halo *h)
{
    const int size = h->ranks ? 1 : h->plan->part->comm.size;
    tess_cuda *cuda = h->mine.cuda;
    cu_pointer *table;
    tess_status status = TESS_OK;
    TESS_TRY(TESS_ALLOC(cuda->ctx, size, &table));
    for (int turn = 0; turn < 2 && status == TESS_OK; turn++) {
        for (int r = 0; r < size; r++)
            table[r] = h->ranks ? h->mine.mail[turn] : h->all[r]->mail[turn];
        status = tess_cuda_halo_upload(h, table, size, sizeof *table, &h->mail_table[turn]);
    }
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(tess_cuda_halo_stream(h)));
    tess_free(cuda->ctx, table);
    return status;
}

static void free_memory(tess_cuda_halo *h)
{
    tess_cuda *cuda = h->mine.cuda;
    const cu_pointer memory[] = {h->in,
                                 h->out,
                                 h->boundary,
                                 h->taken_list,
                                 h->sent_list,
                                 h->boundary_list,
                                 h->mail_table[0],
                                 h->mail_table[1],
                                 h->dot,
                                 h->dot_sums,
                                 h->ticket,
                                 h->pinned[0] ? 0 : h->mine.mail[0],
                                 h->pinned[1] ? 0 : h->mine.mail[1]};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        tess_cuda_free(cuda, memory[i]);
    for (size_t i = 0; i < sizeof h->pinned / sizeof *h->pinned; i++)
        if (h->pinned[i])
            (void)cuda->driver.cuMemFreeHost(h->pinned[i]);
}

void tess_cuda_halo_close(tess_cuda_halo *h)
{
    if (!h)
        return;
    tess_cuda *cuda = h->mine.cuda;
    const cu_event events[] = {h->mine.ready,     h->mine.packed,    h->mine.taken,
                               h->mine.posted[0], h->mine.posted[1], h->mine.together,
                               h->mine.forked,    h->mine.launched,  h->arrived};
    if (h->copies)
        (void)cuda->driver.cuStreamSynchronize(h->copies);
    (void)cuda->driver.cuStreamSynchronize(tess_cuda_halo_stream(h));
    /* No part frees what another part still reads. A part that has failed is not waited for. */
    tess_kept_error kept = tess_error_keep(cuda->ctx);
    if (h->all && tess_cuda_halo_meet(h) != TESS_OK)
        tess_error_restore(cuda->ctx, &kept);
    tess_cuda_form_close(h);
    tess_cuda_ranks_close(h);
    free_memory(h);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            (void)cuda->driver.cuEventDestroy(events[i]);
    if (h->copies)
        (void)cuda->driver.cuStreamDestroy(h->copies);
    TESS_FREE(cuda->ctx, h->all, h->met, h->reaches, h);
}

/* All parts know each other afterwards. */
static tess_status introduce(tess_cuda_halo *h)
{
    const tess_comm *comm = &h->plan->part->comm;
    tess_ctx *ctx = h->mine.cuda->ctx;
    const tess_cuda_link *mine = &h->mine;
    const tess_cuda_link **all = NULL;
    tess_status status = TESS_ALLOC(ctx, comm->size, &h->met);
    if (status == TESS_OK)
        status = TESS_CALLOC(ctx, comm->size, &h->reaches);
    if (status == TESS_OK)
        status = TESS_ALLOC(ctx, comm->size, &all);
    h->mine.reaches = h->reaches;
    status = tess_comm_agree(ctx, comm, status);
    if (status == TESS_OK)
        status = tess_comm_check(ctx, comm, comm->gather(comm->user, &mine, sizeof mine, all),
                                 "meeting the other parts");
    if (status != TESS_OK) {
        tess_free(ctx, all);
        return status;
    }
    h->all = all;
    return TESS_OK;
}

static tess_status make(tess_cuda_halo *h)
{
    const tess_comm *comm = &h->plan->part->comm;
    tess_ctx *ctx = h->mine.cuda->ctx;
    if (!h->ranks)
        TESS_TRY(introduce(h));
    tess_status status = make_events(h);
    TESS_THEN(make_buffers(h));
    TESS_THEN(tess_cuda_form_make(h));
    if (!h->ranks)
        TESS_THEN(find_reach(h));
    TESS_TRY(tess_comm_agree(ctx, comm, status));
    status = h->ranks ? tess_cuda_ranks_make(h) : make_common(h);
    TESS_THEN(tess_cuda_form_pin(h));
    TESS_TRY(tess_comm_agree(ctx, comm, status));
    TESS_TRY(tess_comm_agree(ctx, comm, make_tables(h)));
    if (!h->ranks)
        return TESS_OK;
    TESS_TRY(tess_cuda_ranks_open(h));
    return tess_cuda_form_connect(h);
}

tess_status tess_cuda_halo_open(tess_part_plan *plan, int vectors, tess_cuda_halo **out)
{
    tess_cuda *cuda = tess_cuda_plan_of(plan->own)->cuda;
    tess_cuda_halo *h = NULL;
    tess_status status = TESS_CALLOC(cuda->ctx, 1, &h);
    if (status == TESS_OK && !plan->part->same_process) {
        status = TESS_CALLOC(cuda->ctx, 1, &h->ranks);
        if (status != TESS_OK) {
            tess_free(cuda->ctx, h);
            h = NULL;
        }
    }
    status = tess_comm_agree(cuda->ctx, &plan->part->comm, status);
    if (!h)
        return status;
    h->plan = plan;
    h->vectors = vectors;
    h->must_join = true;
    h->mine.cuda = cuda;
    h->mine.part = plan->part;
    if (status == TESS_OK)
        status = make(h);
    if (status != TESS_OK) {
        tess_cuda_halo_close(h);
        return status;
    }
    *out = h;
    return TESS_OK;
}
