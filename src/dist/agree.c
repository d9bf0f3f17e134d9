/* What all parts must do alike: agree on a failure, add numbers up, exchange messages. */
#include <stdio.h>
#include <string.h>

#include "dist/part.h"

/* What a part tells the others of its failure. */
typedef struct report {
    int status;
    char text[252];
} report;

tess_status tess_comm_check(tess_ctx *ctx, const tess_comm *comm, tess_status status,
                            const char *what)
{
    if (status == TESS_OK)
        return TESS_OK;
    return tess_fail(ctx, status, "part %d of %d: %s failed (%s)", comm->rank, comm->size, what,
                     tess_status_text(status));
}

tess_status tess_comm_agree(tess_ctx *ctx, const tess_comm *comm, tess_status status)
{
    if (comm->size == 1)
        return status;
    report mine = {.status = (int)status}, *all = NULL;
    if (status != TESS_OK)
        snprintf(mine.text, sizeof mine.text, "%.*s", (int)sizeof mine.text - 1, ctx->error);
    /* Without memory for the others' reports this part still has to take part. */
    report few[64];
    if (comm->size > 64 && TESS_ALLOC(ctx, comm->size, &all) != TESS_OK)
        return tess_fail(ctx, TESS_ERR_MEMORY, "part %d of %d: no memory for %d reports",
                         comm->rank, comm->size, comm->size);
    report *reports = all ? all : few;
    tess_status heard = comm->gather(comm->user, &mine, sizeof mine, reports);
    heard = tess_comm_check(ctx, comm, heard, "gathering the parts' status");
    for (int r = 0; heard == TESS_OK && r < comm->size; r++) {
        if (reports[r].status == TESS_OK)
            continue;
        reports[r].text[sizeof reports[r].text - 1] = '\0';
        heard = tess_fail(ctx, (tess_status)reports[r].status, "part %d of %d: %s", r, comm->size,
                          reports[r].text);
    }
    tess_free(ctx, all);
    return heard;
}

tess_status tess_part_sum(tess_part *part, double *values, int count)
{
    const tess_comm *comm = &part->comm;
    if (comm->size == 1)
        return TESS_OK;
    for (int first = 0; first < count; first += TESS_PART_SUMS) {
        const int some = count - first < TESS_PART_SUMS ? count - first : TESS_PART_SUMS;
        TESS_TRY(tess_comm_check(
            part->ctx, comm,
            comm->gather(comm->user, values + first, (size_t)some * sizeof *values, part->sums),
            "summing dot products"));
        for (int i = 0; i < some; i++) {
            double sum = 0;
            for (int r = 0; r < comm->size; r++)
                sum += part->sums[r * some + i];
            values[first + i] = sum;
        }
    }
    return TESS_OK;
}

tess_status tess_comm_exchange(tess_ctx *ctx, const tess_comm *comm, int sends,
                               const tess_message *send, int receives, const tess_message *receive)
{
    void *channel;
    TESS_TRY(tess_comm_check(ctx, comm,
                             comm->open(comm->user, sends, send, receives, receive, &channel),
                             "opening a channel"));
    tess_status status = comm->start(comm->user, channel);
    if (status == TESS_OK)
        status = comm->wait(comm->user, channel);
    comm->close(comm->user, channel);
    return tess_comm_check(ctx, comm, status, "exchanging messages");
}
