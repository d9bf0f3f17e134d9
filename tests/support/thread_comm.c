#include "support/thread_comm.h"

#include <stdlib.h>
#include <string.h>

#include "dist/process/team.h"

enum { MOST = 16 };

struct test_team {
    tess_ctx *ctx;
    tess_team *team;
    int size;
    tess_comm comm[MOST]; /* the team's */
    void (*body)(int rank, void *user);
    void *user;
};

/* The parts make the same calls, so that no transfer fails. */
static tess_status succeed(tess_status status)
{
    if (status != TESS_OK)
        abort();
    return TESS_OK;
}

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    const tess_comm *comm = user;
    return succeed(comm->gather(comm->user, mine, bytes, all));
}

/* A gather in two calls: the first keeps the numbers, the wait gathers them. */
typedef struct pending_gather {
    size_t bytes;
    void *all;
    char mine[1024];
} pending_gather;

static tess_status gather_start(void *user, const void *mine, size_t bytes, void *all, void **out)
{
    pending_gather *p = malloc(sizeof *p);
    (void)user;
    if (bytes > sizeof p->mine)
        abort();
    p->bytes = bytes;
    p->all = all;
    memcpy(p->mine, mine, bytes);
    *out = p;
    return TESS_OK;
}

static tess_status gather_wait(void *user, void *pending)
{
    pending_gather *p = pending;
    const tess_status status = gather(user, p->mine, p->bytes, p->all);
    free(p);
    return status;
}

static tess_status open_channel(void *user, int sends, const tess_message *send, int receives,
                                const tess_message *receive, void **out)
{
    const tess_comm *comm = user;
    return comm->open(comm->user, sends, send, receives, receive, out);
}

static tess_status start(void *user, void *opened)
{
    const tess_comm *comm = user;
    return succeed(comm->start(comm->user, opened));
}

static tess_status wait_for(void *user, void *opened)
{
    const tess_comm *comm = user;
    return succeed(comm->wait(comm->user, opened));
}

static void close_channel(void *user, void *opened)
{
    const tess_comm *comm = user;
    comm->close(comm->user, opened);
}

test_team *test_team_create(int size)
{
    test_team *team = calloc(1, sizeof *team);
    if (!team || tess_ctx_create(NULL, &team->ctx) != TESS_OK ||
        tess_team_create(team->ctx, size, &team->team) != TESS_OK)
        abort();
    team->size = size;
    for (int r = 0; r < size; r++)
        team->comm[r] = tess_team_comm(team->team, r);
    return team;
}

void test_team_destroy(test_team *team)
{
    tess_team_destroy(team->team);
    tess_ctx_destroy(team->ctx);
    free(team);
}

tess_comm test_team_comm(test_team *team, int rank)
{
    return (tess_comm){.rank = rank,
                       .size = team->size,
                       .user = &team->comm[rank],
                       .gather = gather,
                       .gather_start = team->size % 2 ? gather_start : NULL,
                       .gather_wait = team->size % 2 ? gather_wait : NULL,
                       .open = open_channel,
                       .start = start,
                       .wait = wait_for,
                       .close = close_channel,
                       .device_memory = team->size % 2}; /* of the fake driver: the heap */
}

static tess_status run_one(void *user, int rank)
{
    test_team *team = user;
    team->body(rank, team->user);
    return TESS_OK;
}

void test_team_run(test_team *team, void (*body)(int rank, void *user), void *user)
{
    tess_status status[MOST];
    team->body = body;
    team->user = user;
    tess_team_run(team->team, run_one, team, status);
}
