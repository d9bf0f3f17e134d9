#include "support/thread_comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dist/process/team.h"

enum { MOST = 72, LONGEST = 1024 /* bytes of a gather in two calls */ };

/* The numbers of every other gather in two calls. */
typedef struct board {
    int started; /* by how many parts, in all so far */
    char numbers[MOST][LONGEST];
} board;

typedef struct part {
    test_team *team;
    tess_comm comm; /* the team's */
    int started;    /* gathers in two calls */
    size_t bytes;   /* of the one that it waits for */
    void *all;
} part;

struct test_team {
    tess_ctx *ctx;
    tess_team *team;
    int size;
    part part[MOST];
    board boards[2];
    pthread_mutex_t lock; /* of the boards */
    pthread_cond_t changed;
    void (*body)(int rank, void *user);
    void *user;
};

/* The parts make the same calls, so that no transfer fails, unless a part skips its own. */
static tess_status succeed(tess_status status)
{
    if (status != TESS_OK && status != TESS_ERR_PART)
        abort();
    return status;
}

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    const part *p = user;
    return succeed(p->comm.gather(p->comm.user, mine, bytes, all));
}

/* ---- A gather in two calls, on a board of the team: the wait needs only that all have started
 * ----
 *
 * A part that starts a gather has waited for the one before, which all had started then: so all
 * have waited for the one before that, and its board is free. */

static tess_status gather_start(void *user, const void *mine, size_t bytes, void *all, void **out)
{
    part *p = user;
    test_team *team = p->team;
    board *to = &team->boards[p->started++ % 2];
    if (bytes > LONGEST)
        abort();
    p->bytes = bytes;
    p->all = all;
    pthread_mutex_lock(&team->lock);
    memcpy(to->numbers[p->comm.rank], mine, bytes);
    to->started++;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    *out = to;
    return TESS_OK;
}

static tess_status gather_wait(void *user, void *pending)
{
    const part *p = user;
    test_team *team = p->team;
    const board *from = pending;
    pthread_mutex_lock(&team->lock);
    while (from->started < team->size * ((p->started + 1) / 2))
        pthread_cond_wait(&team->changed, &team->lock);
    for (int r = 0; r < team->size; r++)
        memcpy((char *)p->all + (size_t)r * p->bytes, from->numbers[r], p->bytes);
    pthread_mutex_unlock(&team->lock);
    return TESS_OK;
}

/* ---- The rest is the team's ---- */

static tess_status open_channel(void *user, int sends, const tess_message *send, int receives,
                                const tess_message *receive, void **out)
{
    const tess_comm *comm = &((const part *)user)->comm;
    return comm->open(comm->user, sends, send, receives, receive, out);
}

static tess_status start(void *user, void *opened)
{
    const tess_comm *comm = &((const part *)user)->comm;
    return succeed(comm->start(comm->user, opened));
}

static tess_status skip(void *user, void *opened)
{
    const tess_comm *comm = &((const part *)user)->comm;
    return succeed(comm->skip(comm->user, opened));
}

static tess_status wait_for(void *user, void *opened)
{
    const tess_comm *comm = &((const part *)user)->comm;
    return succeed(comm->wait(comm->user, opened));
}

static void close_channel(void *user, void *opened)
{
    const tess_comm *comm = &((const part *)user)->comm;
    comm->close(comm->user, opened);
}

test_team *test_team_create(int size)
{
    test_team *team = calloc(1, sizeof *team);
    if (!team || size > MOST || pthread_mutex_init(&team->lock, NULL) ||
        pthread_cond_init(&team->changed, NULL) || tess_ctx_create(NULL, &team->ctx) != TESS_OK ||
        tess_team_create(team->ctx, size, &team->team) != TESS_OK)
        abort();
    team->size = size;
    for (int r = 0; r < size; r++)
        team->part[r] = (part){.team = team, .comm = tess_team_comm(team->team, r)};
    return team;
}

void test_team_destroy(test_team *team)
{
    tess_team_destroy(team->team);
    tess_ctx_destroy(team->ctx);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

tess_comm test_team_comm(test_team *team, int rank)
{
    return (tess_comm){.rank = rank,
                       .size = team->size,
                       .user = &team->part[rank],
                       .gather = gather,
                       .gather_start = team->size % 2 ? gather_start : NULL,
                       .gather_wait = team->size % 2 ? gather_wait : NULL,
                       .open = open_channel,
                       .start = start,
                       .skip = skip,
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
