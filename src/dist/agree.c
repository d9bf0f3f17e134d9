/* Collective operations: parts agree on a failure, add numbers up, exchange messages. */
#include "dist/part.h"

/* A part's status and its sentence, for the others. */
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

tess_status tess_comm_whole(tess_ctx *ctx, const tess_comm *comm)
{
    if (comm->rank < 0 || comm->rank >= comm->size)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_comm: part %d of %d", comm->rank,
                         comm->size);
    if (!comm->gather || !comm->open || !comm->start || !comm->wait || !comm->close ||
        !comm->gather_start != !comm->gather_wait)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_comm: gather, open, start, wait or close is NULL, or gather_start "
                         "without gather_wait");
    return TESS_OK;
}

static bool begins_with_part(const char *text, int size)
{
    int rank, parts, end = 0;
    return sscanf(text, "part %d of %d:%n", &rank, &parts, &end) == 2 && end > 0 && parts == size;
}

tess_status tess_comm_agree(tess_ctx *ctx, const tess_comm *comm, tess_status status)
{
    if (comm->size == 1)
        return status;
    report mine = {.status = (int)status}, *all = NULL;
    if (status != TESS_OK)
        snprintf(mine.text, sizeof mine.text, "%.*s", (int)sizeof mine.text - 1, ctx->error);
    /* Reports of up to 64 parts need no allocation, which could fail on this part alone and leave
     * the others waiting. */
    report few[64];
    if (comm->size > 64 && TESS_ALLOC(ctx, comm->size, &all) != TESS_OK)
        return tess_fail(ctx, TESS_ERR_MEMORY, "part %d of %d: no memory for %d reports",
                         comm->rank, comm->size, comm->size);
    report *reports = all ? all : few;
    tess_status heard = comm->gather(comm->user, &mine, sizeof mine, reports);
    if (heard != TESS_OK && status != TESS_OK) { /* this part knows the cause */
        tess_free(ctx, all);
        return status;
    }
    heard = tess_comm_check(ctx, comm, heard, "gathering the parts' status");
    for (int r = 0; heard == TESS_OK && r < comm->size; r++) {
        if (reports[r].status == TESS_OK)
            continue;
        reports[r].text[sizeof reports[r].text - 1] = '\0';
        /* A failure that was agreed on before has its part's number. */
        const bool known = begins_with_part(reports[r].text, comm->size);
        heard = known ? tess_fail(ctx, (tess_status)reports[r].status, "%s", reports[r].text)
                      : tess_fail(ctx, (tess_status)reports[r].status, "part %d of %d: %s", r,
                                  comm->size, reports[r].text);
    }
    tess_free(ctx, all);
    return heard;
}

/* Adds the gathered numbers in the order of the parts. */
static void add_up(const tess_part *part, int count, double *values)
{
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int r = 0; r < part->comm.size; r++)
            sum += part->sums[r * count + i];
        values[i] = sum;
    }
}

static tess_status check_sum(const tess_part *part, tess_status status)
{
    return tess_comm_check(part->ctx, &part->comm, status, "summing dot products");
}

tess_status tess_part_sum(tess_part *part, double *values, int count)
{
    const tess_comm *comm = &part->comm;
    for (int first = 0; first < count && comm->size > 1; first += TESS_PART_SUMS) {
        const int some = (int)tess_min(count - first, TESS_PART_SUMS);
        const size_t bytes = (size_t)some * sizeof *values;
        TESS_TRY(check_sum(part, comm->gather(comm->user, values + first, bytes, part->sums)));
        add_up(part, some, values + first);
    }
    return TESS_OK;
}

tess_status tess_part_most(tess_part *part, double *values, int count)
{
    const tess_comm *comm = &part->comm;
    const size_t bytes = (size_t)count * sizeof *values;
    if (comm->size > 1)
        TESS_TRY(check_sum(part, comm->gather(comm->user, values, bytes, part->sums)));
    for (int i = 0; i < count; i++)
        for (int r = 0; r < comm->size && comm->size > 1; r++)
            values[i] = fmax(values[i], part->sums[r * count + i]);
    return TESS_OK;
}

tess_status tess_part_sum_start(tess_part *part, const double *values, int count)
{
    const tess_comm *comm = &part->comm;
    const size_t bytes = (size_t)count * sizeof *values;
    double *mine = part->sums + (int64_t)comm->size * TESS_PART_SUMS;
    memcpy(mine, values, bytes);
    part->pending_count = count;
    if (!comm->gather_start)
        return check_sum(part, comm->gather(comm->user, mine, bytes, part->sums));
    return check_sum(part, comm->gather_start(comm->user, mine, bytes, part->sums, &part->pending));
}

tess_status tess_part_sum_wait(tess_part *part, double *values)
{
    const tess_comm *comm = &part->comm;
    const int count = part->pending_count;
    part->pending_count = 0;
    if (comm->gather_start)
        TESS_TRY(check_sum(part, comm->gather_wait(comm->user, part->pending)));
    add_up(part, count, values);
    return TESS_OK;
}

tess_status tess_comm_travel(tess_ctx *ctx, const tess_comm *comm, void *channel, const char *what)
{
    tess_status status = comm->start(comm->user, channel);
    TESS_THEN(comm->wait(comm->user, channel));
    return tess_comm_check(ctx, comm, status, what);
}

void tess_comm_close(const tess_comm *comm, void *channel)
{
    if (channel)
        comm->close(comm->user, channel);
}

tess_status tess_comm_exchange(tess_ctx *ctx, const tess_comm *comm, int sends,
                               const tess_message *send, int receives, const tess_message *receive)
{
    void *channel;
    TESS_TRY(tess_comm_check(ctx, comm,
                             comm->open(comm->user, sends, send, receives, receive, &channel),
                             "opening a channel"));
    const tess_status status = tess_comm_travel(ctx, comm, channel, "exchanging messages");
    comm->close(comm->user, channel);
    return status;
}

tess_status tess_comm_exchange_array(tess_ctx *ctx, const tess_comm *comm,
                                     const int64_t *out_firsts, void *out, const int64_t *in_firsts,
                                     void *in, size_t bytes, tess_message *messages)
{
    tess_message *receive = messages + comm->size;
    int sends = 0, receives = 0;
    for (int r = 0; r < comm->size; r++) {
        char *from = (char *)out + (size_t)out_firsts[r] * bytes;
        char *to = (char *)in + (size_t)in_firsts[r] * bytes;
        const size_t goes = (size_t)(out_firsts[r + 1] - out_firsts[r]) * bytes;
        const size_t comes = (size_t)(in_firsts[r + 1] - in_firsts[r]) * bytes;
        if (r == comm->rank && goes > 0)
            memcpy(to, from, goes);
        if (r != comm->rank && goes > 0)
            messages[sends++] = (tess_message){r, goes, from};
        if (r != comm->rank && comes > 0)
            receive[receives++] = (tess_message){r, comes, to};
    }
    return tess_comm_exchange(ctx, comm, sends, messages, receives, receive);
}
