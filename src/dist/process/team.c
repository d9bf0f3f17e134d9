/* The threads of a team, and the transport between parts of one process: protocol in team.h. */
#include "dist/process/team.h"

/* Gathers and channels have words of their own, because a gather may come between start and wait of
 * a channel. */
enum { GATHERS, CHANNELS, LANES };
enum { EMPTY = 0, FULL = 1, GONE = 2 };
enum { IDLE, GO, END };

/* How often a thread looks at a word before it sleeps: to be woken takes longer than most waits. */
enum { LOOKS = 20000 };

/* One message from one part to another. */
typedef struct post {
    _Alignas(64) tess_word word;
    const void *data;
    size_t bytes;
    bool skipped; /* the sender has failed, and there is no message */
} post;

typedef struct member {
    _Alignas(64) tess_word word;
    tess_team *team;
    int rank;
    pthread_t thread;
} member;

struct tess_team {
    tess_ctx *ctx;
    int size, started; /* parts; parts 1..started have a thread */
    int looks;
    member *members;
    post *posts; /* [lane][from][to] */
    tess_team_fn body;
    void *user;
    tess_status *status;
};

/* The team whose body this thread runs; NULL: none. */
static _Thread_local const tess_team *inside;

/* ---- Words ---- */

static void set(tess_word *word, unsigned value)
{
    atomic_store_explicit(&word->value, value, memory_order_release);
    tess_wake(word);
}

static void wait_while(const tess_team *team, tess_word *word, unsigned value)
{
    for (int i = 0; i < team->looks; i++)
        if (atomic_load_explicit(&word->value, memory_order_acquire) != value)
            return;
    tess_sleep_while(word, value);
}

static post *post_of(const tess_team *team, int lane, int from, int to)
{
    return &team->posts[((int64_t)lane * team->size + from) * team->size + to];
}

static unsigned value_of(tess_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* The status of a part that waited for one that has failed. */
static const tess_status gone = TESS_ERR_PART;

static tess_status post_message(const member *m, int lane, int to, const void *data, size_t bytes,
                                bool skipped)
{
    post *p = post_of(m->team, lane, m->rank, to);
    wait_while(m->team, &p->word, FULL);
    if (value_of(&p->word) != EMPTY)
        return gone;
    p->data = data;
    p->bytes = bytes;
    p->skipped = skipped;
    atomic_fetch_or_explicit(&p->word.value, FULL, memory_order_release);
    tess_wake(&p->word);
    return TESS_OK;
}

static tess_status send(const member *m, int lane, int to, const void *data, size_t bytes)
{
    return post_message(m, lane, to, data, bytes, false);
}

/* Fails unless sender and receiver have the same number of bytes. */
static tess_status receive(const member *m, int lane, int from, void *data, size_t bytes)
{
    post *p = post_of(m->team, lane, from, m->rank);
    wait_while(m->team, &p->word, EMPTY);
    if (!(value_of(&p->word) & FULL))
        return gone;
    const bool equal = p->bytes == bytes, skipped = p->skipped;
    if (equal && !skipped && bytes > 0)
        memcpy(data, p->data, bytes);
    atomic_fetch_and_explicit(&p->word.value, ~(unsigned)FULL, memory_order_release);
    tess_wake(&p->word);
    return skipped ? gone : equal ? TESS_OK : TESS_ERR_INTERNAL;
}

static void keep_failure(tess_status status, tess_status *kept)
{
    if (status != TESS_OK)
        *kept = status;
}

/* Waits until the receiver has the message, or has failed. */
static void wait_sent(const member *m, int lane, int to)
{
    wait_while(m->team, &post_of(m->team, lane, m->rank, to)->word, FULL);
}

static void say_gone(const member *m)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int r = 0; r < m->team->size; r++) {
            post *both[] = {post_of(m->team, lane, m->rank, r), post_of(m->team, lane, r, m->rank)};
            for (int i = 0; i < 2; i++) {
                atomic_fetch_or_explicit(&both[i]->word.value, GONE, memory_order_release);
                tess_wake(&both[i]->word);
            }
        }
    }
}

/* ---- The transport ---- */

static tess_status gather(void *user, const void *mine, size_t bytes, void *all)
{
    const member *m = user;
    tess_status status = TESS_OK;
    for (int r = 0; r < m->team->size; r++)
        if (r != m->rank && send(m, GATHERS, r, mine, bytes) != TESS_OK)
            status = gone;
    for (int r = 0; r < m->team->size; r++) {
        char *to = (char *)all + (size_t)r * bytes;
        if (r == m->rank)
            memmove(to, mine, bytes);
        else
            keep_failure(receive(m, GATHERS, r, to, bytes), &status);
    }
    for (int r = 0; r < m->team->size; r++)
        if (r != m->rank)
            wait_sent(m, GATHERS, r);
    return status;
}

typedef struct channel {
    int sends, receives;
    tess_message messages[]; /* sends, then receives */
} channel;

/* Uses malloc, since a member's thread has no context here. */
static tess_status open_channel(void *user, int sends, const tess_message *send_list, int receives,
                                const tess_message *receive_list, void **out)
{
    (void)user;
    channel *c = malloc(sizeof *c + (size_t)(sends + receives) * sizeof *c->messages);
    if (!c)
        return TESS_ERR_MEMORY;
    c->sends = sends;
    c->receives = receives;
    for (int i = 0; i < sends; i++)
        c->messages[i] = send_list[i];
    for (int i = 0; i < receives; i++)
        c->messages[sends + i] = receive_list[i];
    *out = c;
    return TESS_OK;
}

static tess_status start(void *user, void *opened)
{
    const member *m = user;
    const channel *c = opened;
    tess_status status = TESS_OK;
    for (int i = 0; i < c->sends; i++)
        if (send(m, CHANNELS, c->messages[i].peer, c->messages[i].data, c->messages[i].bytes) !=
            TESS_OK)
            status = gone;
    return status;
}

static tess_status skip(void *user, void *opened)
{
    const member *m = user;
    const channel *c = opened;
    tess_status status = TESS_OK;
    for (int i = 0; i < c->sends; i++)
        if (post_message(m, CHANNELS, c->messages[i].peer, NULL, 0, true) != TESS_OK)
            status = gone;
    return status;
}

static tess_status wait_for(void *user, void *opened)
{
    const member *m = user;
    const channel *c = opened;
    tess_status status = TESS_OK;
    for (int i = 0; i < c->receives; i++) {
        const tess_message *message = &c->messages[c->sends + i];
        keep_failure(receive(m, CHANNELS, message->peer, message->data, message->bytes), &status);
    }
    for (int i = 0; i < c->sends; i++)
        wait_sent(m, CHANNELS, c->messages[i].peer);
    return status;
}

static void close_channel(void *user, void *opened)
{
    (void)user;
    free(opened);
}

tess_comm tess_team_comm(tess_team *team, int rank)
{
    return (tess_comm){.rank = rank,
                       .size = team->size,
                       .user = &team->members[rank],
                       .gather = gather,
                       .open = open_channel,
                       .start = start,
                       .skip = skip,
                       .wait = wait_for,
                       .close = close_channel};
}

/* ---- The threads ---- */

static void run_body(member *m)
{
    tess_team *team = m->team;
    const tess_team *outer = inside;
    inside = team;
    team->status[m->rank] = team->body(team->user, m->rank);
    inside = outer;
    if (team->status[m->rank] != TESS_OK)
        say_gone(m);
}

static void *work(void *arg)
{
    member *m = arg;
    for (;;) {
        wait_while(m->team, &m->word, IDLE);
        if (value_of(&m->word) == END)
            return NULL;
        run_body(m);
        set(&m->word, IDLE);
    }
}

/* Empties all words after a failure, when all parts are idle. */
static void clear_posts(tess_team *team)
{
    for (int64_t i = 0; i < (int64_t)LANES * team->size * team->size; i++)
        atomic_store_explicit(&team->posts[i].word.value, EMPTY, memory_order_relaxed);
}

void tess_team_run(tess_team *team, tess_team_fn body, void *user, tess_status *status)
{
    team->body = body;
    team->user = user;
    team->status = status;
    for (int r = 1; r < team->size; r++)
        set(&team->members[r].word, GO);
    run_body(&team->members[0]);
    bool failed = status[0] != TESS_OK;
    for (int r = 1; r < team->size; r++) {
        wait_while(team, &team->members[r].word, GO);
        failed = failed || status[r] != TESS_OK;
    }
    if (failed)
        clear_posts(team);
}

bool tess_team_inside(const tess_team *team)
{
    return inside == team;
}

void tess_team_destroy(tess_team *team)
{
    if (!team)
        return;
    for (int r = 1; r <= team->started; r++) {
        set(&team->members[r].word, END);
        pthread_join(team->members[r].thread, NULL);
    }
    for (int r = 0; r < team->size && team->members; r++)
        tess_word_close(&team->members[r].word);
    for (int64_t i = 0; i < (int64_t)LANES * team->size * team->size && team->posts; i++)
        tess_word_close(&team->posts[i].word);
    TESS_FREE(team->ctx, team->members, team->posts, team);
}

static tess_status start_threads(tess_team *team)
{
    for (int r = 1; r < team->size; r++) {
        if (!tess_start_thread(&team->members[r].thread, work, &team->members[r]))
            return tess_fail(team->ctx, TESS_ERR_MEMORY,
                             "no thread for part %d of %d: the system has no more", r, team->size);
        team->started = r;
    }
    return TESS_OK;
}

tess_status tess_team_create(tess_ctx *ctx, int size, tess_team **out)
{
    tess_team *team;
    TESS_TRY(TESS_CALLOC(ctx, 1, &team));
    team->ctx = ctx;
    team->size = size;
    /* With fewer processors than parts, a thread that looks keeps another one from working. */
    team->looks = tess_processors() >= size ? LOOKS : 0;
    tess_status status = TESS_CALLOC(ctx, size, &team->members);
    TESS_THEN(TESS_CALLOC(ctx, (int64_t)LANES * size * size, &team->posts));
    for (int r = 0; status == TESS_OK && r < size; r++) {
        team->members[r].team = team;
        team->members[r].rank = r;
        tess_word_open(&team->members[r].word);
    }
    for (int64_t i = 0; status == TESS_OK && i < (int64_t)LANES * size * size; i++)
        tess_word_open(&team->posts[i].word);
    TESS_THEN(start_threads(team));
    return TESS_DELIVER(status, team, tess_team_destroy, out);
}
