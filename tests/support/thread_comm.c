#include "support/thread_comm.h"

#include <stdlib.h>
#include <string.h>

#include "dist/team.h"

enum { MOST = 16 };

typedef struct member {
    tess_comm comm; /* the team's */
    long calls, fails_at;
} member;

struct test_team {
    tess_ctx *ctx;
    tess_team *team;
    int size;
    member members[MOST];
    void (*body)(int rank, void *user);
    void *user;
};

static int broken(member *m)
{
    const long call = m->calls++;
    return m->fails_at >= 0 && call >= m->fails_at;
}

/* Returns a failure if this call is to fail. The call itself has been made, so that the other parts
 * go on. */
static tess_status fate(int fails, tess_status status)
{
    if (status != TESS_OK)
        abort(); /* the parts do not make the same calls */
    return fails ? TESS_ERR_DEVICE : TESS_OK;
}

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    member *m = user;
    const int fails = broken(m);
    return fate(fails, m->comm.gather(m->comm.user, mine, bytes, all));
}

/* A gather in two calls: the first keeps the numbers, the wait gathers them. */
typedef struct pending_gather {
    size_t bytes;
    void *all;
    char mine[1024];
} pending_gather;

static tess_status gather_start(void *user, const void *mine, size_t bytes, void *all, void **out)
{
    const int fails = broken(user);
    pending_gather *p = malloc(sizeof *p);
    if (bytes > sizeof p->mine)
        abort();
    p->bytes = bytes;
    p->all = all;
    memcpy(p->mine, mine, bytes);
    *out = p;
    return fails ? TESS_ERR_DEVICE : TESS_OK;
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
    member *m = user;
    return broken(m) ? TESS_ERR_DEVICE
                     : m->comm.open(m->comm.user, sends, send, receives, receive, out);
}

static tess_status start(void *user, void *opened)
{
    member *m = user;
    const int fails = broken(m);
    return fate(fails, m->comm.start(m->comm.user, opened));
}

static tess_status wait_for(void *user, void *opened)
{
    member *m = user;
    const int fails = broken(m);
    return fate(fails, m->comm.wait(m->comm.user, opened));
}

static void close_channel(void *user, void *opened)
{
    member *m = user;
    m->comm.close(m->comm.user, opened);
}

test_team *test_team_create(int size)
{
    test_team *team = calloc(1, sizeof *team);
    if (!team || tess_ctx_create(NULL, &team->ctx) != TESS_OK ||
        tess_team_create(team->ctx, size, &team->team) != TESS_OK)
        abort();
    team->size = size;
    for (int r = 0; r < size; r++)
        team->members[r] = (member){.comm = tess_team_comm(team->team, r), .fails_at = -1};
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
                       .user = &team->members[rank],
                       .gather = gather,
                       .gather_start = team->size % 2 ? gather_start : NULL,
                       .gather_wait = team->size % 2 ? gather_wait : NULL,
                       .open = open_channel,
                       .start = start,
                       .wait = wait_for,
                       .close = close_channel,
                       .device_memory = team->size % 2}; /* of the fake driver: the heap */
}

void test_team_fail(test_team *team, int rank, long n)
{
    team->members[rank].fails_at = n < 0 ? -1 : team->members[rank].calls + n;
}

long test_team_calls(const test_team *team, int rank)
{
    return team->members[rank].calls;
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
