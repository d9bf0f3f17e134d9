/* Rows and sums between parts of several processes: by messages of the parts' transport, between
 * which the host waits for the device. */
#include "cuda/solve/parts/halo.h"

/* ---- Open and close ---- */

tess_status tess_cuda_ranks_make(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const bool device = part->comm.device_memory != 0;
    const size_t row = tess_cuda_halo_bytes(h, part->block, h->vectors);
    const size_t sent = (size_t)part->sent_count * row, received = (size_t)part->halo * row;
    TESS_TRY(tess_cuda_halo_shared(h, device, sent, &h->ranks->pinned_stage, &h->mine.stage));
    if (!device)
        TESS_TRY(
            TESS_CU(h->mine.cuda, cuMemAllocHost(&h->ranks->pinned, received > 0 ? received : 1)));
    for (int i = 0; i < 2; i++)
        TESS_TRY(tess_cuda_halo_shared(h, false, TESS_PASS_DOTS * sizeof(double), &h->pinned[i],
                                       &h->mine.mail[i]));
    return TESS_OK;
}

tess_status tess_cuda_ranks_open(tess_cuda_halo *h)
{
    void *in = h->ranks->pinned ? h->ranks->pinned : (void *)(uintptr_t)h->in;
    return tess_halo_channels(h->plan->part, h->vectors, (void *)(uintptr_t)h->mine.stage, in,
                              &h->ranks->channel, &h->ranks->backwards);
}

void tess_cuda_ranks_close(tess_cuda_halo *h)
{
    tess_cuda_ranks *ranks = h->ranks;
    tess_cuda *cuda = h->mine.cuda;
    const tess_comm *comm = &h->plan->part->comm;
    if (!ranks)
        return;
    if (ranks->channel)
        comm->close(comm->user, ranks->channel);
    if (ranks->backwards)
        comm->close(comm->user, ranks->backwards);
    if (ranks->pinned)
        (void)cuda->driver.cuMemFreeHost(ranks->pinned);
    if (ranks->pinned_stage)
        (void)cuda->driver.cuMemFreeHost(ranks->pinned_stage);
    else
        tess_cuda_free(cuda, h->mine.stage);
    tess_free(cuda->ctx, ranks);
    h->ranks = NULL;
}

/* ---- Failures of one part ---- */

tess_status tess_cuda_ranks_keep(tess_cuda_halo *h, tess_status status)
{
    if (!h || !h->ranks || status == TESS_OK || h->ranks->agreed)
        return status;
    if (h->ranks->failed == TESS_OK) {
        h->ranks->failed = status;
        h->ranks->error = tess_error_keep(h->mine.cuda->ctx);
    }
    return TESS_OK;
}

tess_status tess_cuda_ranks_agree(tess_cuda_halo *h, tess_status status)
{
    if (!h || !h->ranks)
        return status;
    tess_ctx *ctx = h->mine.cuda->ctx;
    const bool agreed = h->ranks->agreed;
    h->ranks->agreed = false;
    if (agreed)
        return status;
    if (h->ranks->failed != TESS_OK) {
        status = h->ranks->failed;
        tess_error_restore(ctx, &h->ranks->error);
    }
    h->ranks->failed = TESS_OK;
    return tess_comm_agree(ctx, &h->plan->part->comm, status);
}

/* ---- Messages ---- */

tess_status tess_cuda_ranks_travel(tess_cuda_halo *h, void *channel, cu_stream stream,
                                   const char *what, tess_status status)
{
    tess_cuda *cuda = h->mine.cuda;
    const tess_comm *comm = &h->plan->part->comm;
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(stream));
    const double started = tess_seconds();
    const tess_status sent =
        status == TESS_OK ? comm->start(comm->user, channel) : comm->skip(comm->user, channel);
    const tess_status came = comm->wait(comm->user, channel);
    h->plan->times.halo += tess_seconds() - started;
    TESS_TRY(status);
    return tess_comm_check(cuda->ctx, comm, sent != TESS_OK ? sent : came, what);
}

tess_status tess_cuda_ranks_exchange(tess_cuda_halo *h, bool backwards, tess_status status)
{
    const tess_part *part = h->plan->part;
    TESS_TRY(tess_cuda_ranks_travel(h, backwards ? h->ranks->backwards : h->ranks->channel,
                                    h->copies, "exchanging the halo's messages", status));
    if (backwards || !h->ranks->pinned || part->halo == 0)
        return TESS_OK;
    return TESS_CU(h->mine.cuda,
                   cuMemcpyHtoDAsync(h->in, h->ranks->pinned,
                                     tess_cuda_halo_bytes(h, part->halo * part->block, h->vectors),
                                     h->copies));
}

tess_status tess_cuda_ranks_sum(tess_cuda_halo *h, int dots, tess_status status)
{
    tess_cuda_ranks *ranks = h->ranks;
    double values[TESS_PASS_DOTS + 1], *mail = h->pinned[h->sum_turn];
    if (status == TESS_OK)
        status = TESS_CU(h->mine.cuda, cuStreamSynchronize(tess_cuda_halo_stream(h)));
    status = tess_cuda_ranks_keep(h, status);
    for (int i = 0; i < dots; i++)
        values[i] = mail[i];
    values[dots] = ranks->failed != TESS_OK;
    const double started = tess_seconds();
    TESS_TRY(tess_part_sum(h->plan->part, values, dots + 1));
    h->plan->times.sums += tess_seconds() - started;
    if (values[dots] > 0) {
        status = tess_cuda_ranks_agree(h, TESS_OK);
        ranks->agreed = true;
        return status;
    }
    memcpy(mail, values, (size_t)dots * sizeof *mail);
    return status;
}
