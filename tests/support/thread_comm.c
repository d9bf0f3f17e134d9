#include "support/thread_comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct member {
    test_team *team;
    int rank;
    long calls, fails_at;
    const void *mine; /* of a gather */
    size_t bytes;
} member;

/* A message under way from one part to another. */
typedef struct pipe_end {
    void *data;
    size_t bytes;
    int full;
} pipe_end;

struct test_team {
    int size;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_barrier_t barrier;
    member members[MOST];
    pipe_end pipes[MOST][MOST]; /* [from][to] */
};

typedef struct channel {
    int sends, receives;
    tess_message *messages; /* sends, then receives */
} channel;

static int broken(member *m)
{
    const long call = m->calls++;
    return m->fails_at >= 0 && call >= m->fails_at;
}

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    member *m = user;
    test_team *team = m->team;
    const int fails = broken(m);
    m->mine = mine;
    m->bytes = bytes;
    pthread_barrier_wait(&team->barrier);
    for (int r = 0; r < team->size; r++) {
        if (team->members[r].bytes != bytes)
            abort(); /* the parts do not make the same calls */
        memcpy((char *)all + (size_t)r * bytes, team->members[r].mine, bytes);
    }
    pthread_barrier_wait(&team->barrier);
    return fails ? TESS_ERR_DEVICE : TESS_OK;
}

/* A gather in two calls: the numbers are kept, and gathered when they are waited for. */
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
    const int fails = broken(user);
    channel *c = malloc(sizeof *c);
    c->sends = sends;
    c->receives = receives;
    c->messages = malloc((size_t)(sends + receives + 1) * sizeof *c->messages);
    if (sends > 0)
        memcpy(c->messages, send, (size_t)sends * sizeof *send);
    if (receives > 0)
        memcpy(c->messages + sends, receive, (size_t)receives * sizeof *receive);
    if (fails) {
        free(c->messages);
        free(c);
        return TESS_ERR_DEVICE;
    }
    *out = c;
    return TESS_OK;
}

static tess_status start(void *user, void *opened)
{
    member *m = user;
    test_team *team = m->team;
    const channel *c = opened;
    const int fails = broken(m);
    pthread_mutex_lock(&team->lock);
    for (int i = 0; i < c->sends; i++) {
        const tess_message *message = &c->messages[i];
        pipe_end *p = &team->pipes[m->rank][message->peer];
        while (p->full)
            pthread_cond_wait(&team->changed, &team->lock);
        p->data = malloc(message->bytes + 1);
        memcpy(p->data, message->data, message->bytes);
        p->bytes = message->bytes;
        p->full = 1;
    }
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    return fails ? TESS_ERR_DEVICE : TESS_OK;
}

static tess_status wait_for(void *user, void *opened)
{
    member *m = user;
    test_team *team = m->team;
    const channel *c = opened;
    const int fails = broken(m);
    pthread_mutex_lock(&team->lock);
    for (int i = 0; i < c->receives; i++) {
        const tess_message *message = &c->messages[c->sends + i];
        pipe_end *p = &team->pipes[message->peer][m->rank];
        while (!p->full)
            pthread_cond_wait(&team->changed, &team->lock);
        if (p->bytes != message->bytes)
            abort(); /* sender and receiver differ */
        memcpy(message->data, p->data, p->bytes);
        free(p->data);
        p->full = 0;
    }
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    return fails ? TESS_ERR_DEVICE : TESS_OK;
}

static void close_channel(void *user, void *opened)
{
    (void)user;
    channel *c = opened;
    free(c->messages);
    free(c);
}

test_team *test_team_create(int size)
{
    test_team *team = calloc(1, sizeof *team);
    team->size = size;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->changed, NULL);
    pthread_barrier_init(&team->barrier, NULL, (unsigned)size);
    for (int r = 0; r < size; r++)
        team->members[r] = (member){.team = team, .rank = r, .fails_at = -1};
    return team;
}

void test_team_destroy(test_team *team)
{
    pthread_barrier_destroy(&team->barrier);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->lock);
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
                       .close = close_channel};
}

void test_team_fail(test_team *team, int rank, long n)
{
    team->members[rank].fails_at = n < 0 ? -1 : team->members[rank].calls + n;
}

long test_team_calls(const test_team *team, int rank)
{
    return team->members[rank].calls;
}

typedef struct worker {
    int rank;
    void (*body)(int rank, void *user);
    void *user;
} worker;

static void *work(void *argument)
{
    const worker *w = argument;
    w->body(w->rank, w->user);
    return NULL;
}

void test_team_run(test_team *team, void (*body)(int rank, void *user), void *user)
{
    pthread_t threads[MOST];
    worker workers[MOST];
    for (int r = 0; r < team->size; r++) {
        workers[r] = (worker){r, body, user};
        pthread_create(&threads[r], NULL, work, &workers[r]);
    }
    for (int r = 0; r < team->size; r++)
        pthread_join(threads[r], NULL);
}
