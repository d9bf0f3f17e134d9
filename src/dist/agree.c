/* Collective operations: parts agree on a failure, add numbers up, exchange messages. */
#include "dist/part.h"

/* A part's status and its sentence, for the others. */
typedef struct report {
    int status;
    char text[252];
} report;

/* Whether a part has failed, and why: a cause of its own, or the failure of another part. */
enum { NONE, CONSEQUENCE, CAUSE };

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
    if (comm->rank < 0 || comm->rank >= comm->size || comm->size > TESS_PARTS_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_comm: part %d of %d, not of 1..%d",
                         comm->rank, comm->size, TESS_PARTS_MAX);
    if (!comm->gather || !comm->open || !comm->start || !comm->skip || !comm->wait ||
        !comm->close || !comm->gather_start != !comm->gather_wait)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_comm: gather, open, start, skip, wait or close is NULL, or "
                         "gather_start without gather_wait");
    return TESS_OK;
}

static bool begins_with_part(const char *text, int size)
{
    int rank, parts, end = 0;
    return sscanf(text, "part %d of %d:%n", &rank, &parts, &end) == 2 && end > 0 && parts == size;
}

/* Which part's failure is returned; -1: no part has failed. A part that failed because of another
 * one (TESS_ERR_PART) does not know the cause. */
static int find_culprit(const char *failed, int parts)
{
    int culprit = -1;
    for (int r = parts - 1; r >= 0; r--)
        if (failed[r] == CAUSE || (failed[r] && (culprit < 0 || failed[culprit] != CAUSE)))
            culprit = r;
    return culprit;
}

/* All parts get the culprit's report in place of their own, in pieces for which the buffer has
 * room. */
static tess_status hear(const tess_comm *comm, int culprit, report *r, char *buffer)
{
    const size_t most = (size_t)(TESS_PARTS_MAX / comm->size);
    for (size_t at = 0; at < sizeof *r; at += most) {
        const size_t bytes = tess_min(most, sizeof *r - at);
        char *piece = (char *)r + at;
        TESS_TRY(comm->gather(comm->user, piece, bytes, buffer));
        memcpy(piece, buffer + (size_t)culprit * bytes, bytes);
    }
    return TESS_OK;
}

/* Allocates nothing: memory could be missing on this part alone, and the others would wait. */
tess_status tess_comm_agree(tess_ctx *ctx, const tess_comm *comm, tess_status status)
{
    if (comm->size == 1)
        return status;
    char buffer[TESS_PARTS_MAX];
    const char mine = status == TESS_OK ? NONE : status == TESS_ERR_PART ? CONSEQUENCE : CAUSE;
    report r = {.status = (int)status};
    if (status != TESS_OK)
        snprintf(r.text, sizeof r.text, "%.*s", (int)sizeof r.text - 1, ctx->error);
    tess_status heard = comm->gather(comm->user, &mine, 1, buffer);
    const int culprit = heard == TESS_OK ? find_culprit(buffer, comm->size) : -1;
    if (culprit >= 0)
        heard = hear(comm, culprit, &r, buffer);
    if (heard != TESS_OK && status != TESS_OK) /* this part knows the cause */
        return status;
    TESS_TRY(tess_comm_check(ctx, comm, heard, "gathering the parts' status"));
    if (culprit < 0)
        return TESS_OK;
    r.text[sizeof r.text - 1] = '\0';
    /* A failure that was agreed on before has its part's number. */
    return begins_with_part(r.text, comm->size)
               ? tess_fail(ctx, (tess_status)r.status, "%s", r.text)
               : tess_fail(ctx, (tess_status)r.status, "part %d of %d: %s", culprit, comm->size,
                           r.text);
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
    tess_status status =
        tess_comm_check(ctx, comm, comm->open(comm->user, sends, send, receives, receive, &channel),
                        "opening a channel");
    const bool opened = status == TESS_OK;
    status = tess_comm_agree(ctx, comm, status);
    if (status != TESS_OK && opened)
        comm->close(comm->user, channel);
    TESS_TRY(status);
    status = tess_comm_travel(ctx, comm, channel, "exchanging messages");
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
