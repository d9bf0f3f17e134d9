/* Makes and frees the buffers, events and streams through which a part exchanges rows and sums. */
#include "cuda/solve/halo.h"

static tess_status allocate(const tess_cuda_halo *h, int64_t count, size_t size, cu_pointer *out)
{
    return tess_cuda_alloc(h->mine.cuda, (size_t)count * size, "what parts exchange", out);
}

static tess_status upload(const tess_cuda_halo *h, cu_stream stream, const void *from,
                          int64_t count, size_t size, cu_pointer *out)
{
    TESS_TRY(allocate(h, count, size, out));
    return tess_cuda_upload(h->mine.cuda, *out, from, (size_t)count * size, stream);
}

static tess_status make_buffers(tess_cuda_halo *h, cu_stream stream)
{
    static const int zeros[3] = {0};
    const tess_part *part = h->plan->part;
    tess_cuda *cuda = h->mine.cuda;
    const size_t row_block = (size_t)part->block * tess_type_size(part->type);
    const int64_t most = tess_max(part->sent_count, part->halo); /* for A and for its transpose */
    for (int i = 0; i < 2; i++) {
        TESS_TRY(allocate(h, most, row_block, &h->mine.out[i]));
        TESS_TRY(allocate(h, TESS_PASS_DOTS, sizeof(double), &h->mine.mail[i]));
        TESS_TRY(TESS_CU(cuda, cuEventCreate(&h->mine.ready[i], CU_EVENT_NO_TIMING)));
        TESS_TRY(TESS_CU(cuda, cuEventCreate(&h->mine.posted[i], CU_EVENT_NO_TIMING)));
    }
    TESS_TRY(allocate(h, most, row_block, &h->in));
    TESS_TRY(allocate(h, part->outside->block_rows, row_block, &h->boundary));
    TESS_TRY(allocate(h, (int64_t)part->comm.size * TESS_PASS_DOTS, sizeof(double), &h->mails));
    TESS_TRY(upload(h, stream, part->sent, part->sent_count, sizeof *part->sent, &h->sent_list));
    TESS_TRY(upload(h, stream, part->boundary, part->outside->block_rows, sizeof *part->boundary,
                    &h->boundary_list));
    TESS_TRY(upload(h, stream, zeros, 3, sizeof *zeros, &h->no_programme));
    TESS_TRY(TESS_CU(cuda, cuStreamCreate(&h->copies, CU_STREAM_DEFAULT_FLAGS)));
    return TESS_CU(cuda, cuEventCreate(&h->arrived, CU_EVENT_NO_TIMING));
}

/* Makes the tables of where each part's sums are: in the part's memory on the same device, in a
 * copy otherwise. */
static tess_status make_tables(tess_cuda_halo *h, cu_stream stream)
{
    const int size = h->plan->part->comm.size;
    tess_cuda *cuda = h->mine.cuda;
    cu_pointer *table;
    tess_status status = TESS_OK;
    TESS_TRY(TESS_ALLOC(cuda->ctx, size, &table));
    for (int turn = 0; turn < 2 && status == TESS_OK; turn++) {
        for (int r = 0; r < size; r++)
            table[r] = h->all[r]->cuda->ordinal == cuda->ordinal
                           ? h->all[r]->mail[turn]
                           : h->mails + (uint64_t)r * TESS_PASS_DOTS * sizeof(double);
        status = upload(h, stream, table, size, sizeof *table, &h->mail_table[turn]);
    }
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(stream));
    tess_free(cuda->ctx, table);
    return status;
}

void tess_cuda_halo_close(tess_cuda_halo *h)
{
    if (!h)
        return;
    tess_cuda *cuda = h->mine.cuda;
    const tess_comm *comm = &h->plan->part->comm;
    if (h->copies)
        (void)cuda->driver.cuStreamSynchronize(h->copies);
    (void)cuda->driver.cuStreamSynchronize(tess_cuda_plan_of(h->plan->own)->stream);
    /* Parts meet before they free, because others may still read. gather does not wait for a part
     * that has failed. */
    const char here = 0;
    if (h->all)
        (void)comm->gather(comm->user, &here, 1, h->met);
    for (int i = 0; i < 2; i++) {
        tess_cuda_free(cuda, h->mine.out[i]);
        tess_cuda_free(cuda, h->mine.mail[i]);
        tess_cuda_free(cuda, h->mail_table[i]);
        if (h->mine.ready[i])
            (void)cuda->driver.cuEventDestroy(h->mine.ready[i]);
        if (h->mine.posted[i])
            (void)cuda->driver.cuEventDestroy(h->mine.posted[i]);
    }
    const cu_pointer memory[] = {h->in,    h->boundary,    h->sent_list, h->boundary_list,
                                 h->mails, h->no_programme};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        tess_cuda_free(cuda, memory[i]);
    if (h->copies)
        (void)cuda->driver.cuStreamDestroy(h->copies);
    if (h->arrived)
        (void)cuda->driver.cuEventDestroy(h->arrived);
    TESS_FREE(cuda->ctx, h->all, h->met, h);
}

static tess_status make(tess_cuda_halo *h, cu_stream stream)
{
    const tess_comm *comm = &h->plan->part->comm;
    tess_ctx *ctx = h->mine.cuda->ctx;
    const tess_cuda_link *mine = &h->mine;
    const tess_cuda_link **all = NULL;
    tess_status status = TESS_ALLOC(ctx, comm->size, &h->met);
    if (status == TESS_OK)
        status = TESS_ALLOC(ctx, comm->size, &all);
    if (status == TESS_OK)
        status = make_buffers(h, stream);
    status = tess_comm_agree(ctx, comm, status);
    if (status == TESS_OK)
        status = tess_comm_check(ctx, comm, comm->gather(comm->user, &mine, sizeof mine, all),
                                 "meeting the other parts");
    if (status != TESS_OK) {
        tess_free(ctx, all);
        return status;
    }
    h->all = all;
    return make_tables(h, stream);
}

tess_status tess_cuda_halo_open(tess_plan *plan, cu_stream stream, tess_cuda_halo **out)
{
    tess_part_plan *part_plan = plan->state;
    tess_cuda *cuda = tess_cuda_plan_of(part_plan->own)->cuda;
    tess_cuda_halo *h;
    TESS_TRY(TESS_CALLOC(cuda->ctx, 1, &h));
    h->plan = part_plan;
    h->mine.cuda = cuda;
    h->mine.part = part_plan->part;
    const tess_status status = make(h, stream);
    if (status != TESS_OK) {
        tess_cuda_halo_close(h);
        return status;
    }
    *out = h;
    return TESS_OK;
}
