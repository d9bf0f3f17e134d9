/* A context's threads: how they wait for work and how the caller waits for them.
 *
 * Each thread has one word, which says where it stands:
 *
 *     IDLE --caller--> GO --thread--> TAKEN --thread--> IDLE
 *     IDLE --thread--> ASLEEP --caller--> GO      (and wakes it)
 *     GO --caller--> IDLE                         (the caller does the share itself)
 *     TAKEN --caller--> AWAITED --thread--> IDLE  (the caller sleeps until the thread wakes it)
 *
 * A waiting thread first polls the word, since waking takes longer than most calls, and then sleeps
 * on it. A polling thread whose clock has jumped had lost its processor: another process wants the
 * processor. For the time CROWDED all threads of the pool then poll only briefly before they sleep.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "core/instructions.h"
#include "core/sleep.h"
#include "core/threads.h"

enum { IDLE, ASLEEP, GO, TAKEN, AWAITED, END };

/* In seconds:
 *   LOOK          how long a thread polls before it sleeps
 *   LOOK_CROWDED  the same while another process wants the processor
 *   GAP           two readings of the clock so far apart mean that another process had the
 *                 processor (a host takes it from its guest for tens of microseconds, a
 *                 scheduler for milliseconds)
 *   CROWDED       how long such a gap is remembered */
static const double LOOK = 500e-6, LOOK_CROWDED = 1e-6, GAP = 400e-6, CROWDED = 20e-3;

typedef struct worker {
    _Alignas(128) tess_word word; /* two cache lines: the prefetcher fetches pairs */
    int share;
    struct tess_pool *pool;
    pthread_t thread;
} worker;

struct tess_pool {
    tess_share_fn run;
    void *arg;
    int count, capacity;
    unsigned forks; /* of the process when the threads were made */
    worker **workers;
    _Alignas(128) _Atomic double crowded_until;
};

/* Polls until the word is no longer `value`. Returns false when it still is after the time to
 * poll. */
static bool look(struct tess_pool *pool, const tess_word *word, unsigned value)
{
    enum { LOOKS = 16 }; /* between two readings of the clock */
    for (int i = 0; i < LOOKS; i++, tess_pause())
        if (atomic_load_explicit(&word->value, memory_order_acquire) != value)
            return true;
    const double begin = tess_seconds();
    const bool crowded = begin < atomic_load_explicit(&pool->crowded_until, memory_order_relaxed);
    const double end = begin + (crowded ? LOOK_CROWDED : LOOK);
    for (double then = begin, now; then < end; then = now) {
        for (int i = 0; i < LOOKS; i++, tess_pause())
            if (atomic_load_explicit(&word->value, memory_order_acquire) != value)
                return true;
        now = tess_seconds();
        if (now - then > GAP)
            atomic_store_explicit(&pool->crowded_until, now + CROWDED, memory_order_relaxed);
    }
    return false;
}

static bool change(worker *w, unsigned from, unsigned to)
{
    return atomic_compare_exchange_strong_explicit(&w->word.value, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

/* ---- The threads' side ---- */

static void *work(void *arg)
{
    worker *w = arg;
    tess_take_place(w->share);
    for (;;) {
        if (!look(w->pool, &w->word, IDLE) && change(w, IDLE, ASLEEP))
            tess_sleep_while(&w->word, ASLEEP);
        if (change(w, GO, TAKEN)) {
            w->pool->run(w->pool->arg, w->share);
            if (atomic_exchange_explicit(&w->word.value, IDLE, memory_order_acq_rel) == AWAITED)
                tess_wake(&w->word);
        } else if (atomic_load_explicit(&w->word.value, memory_order_relaxed) == END) {
            return NULL;
        }
    }
}

/* ---- The caller's side ---- */

static void await(struct tess_pool *pool, worker *w)
{
    if (!look(pool, &w->word, TAKEN) && change(w, TAKEN, AWAITED))
        tess_sleep_while(&w->word, AWAITED);
}

static void post(worker *w, unsigned value)
{
    if (atomic_exchange_explicit(&w->word.value, value, memory_order_acq_rel) == ASLEEP)
        tess_wake(&w->word);
}

static void run_shares(struct tess_pool *pool, int shares, tess_share_fn run, void *arg)
{
    const int helpers = tess_min(pool->count, shares - 1);
    pool->run = run;
    pool->arg = arg;
    for (int i = 0; i < helpers; i++)
        post(pool->workers[i], GO);
    run(arg, 0);
    for (int share = helpers + 1; share < shares; share++)
        run(arg, share);
    for (int i = 0; i < helpers; i++)
        if (change(pool->workers[i], GO, IDLE))
            run(arg, i + 1);
    for (int i = 0; i < helpers; i++)
        if (atomic_load_explicit(&pool->workers[i]->word.value, memory_order_acquire) == TAKEN)
            await(pool, pool->workers[i]);
}

/* ---- Threads made and ended ---- */

/* How many forks lie between this process and the one that loaded the library. A child has none of
 * its parent's threads, so a pool made before the fork is unusable. */
static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

/* In a forked child only the memory of the parent's pool exists, not its threads. */
static void release(struct tess_pool *pool, bool threads_exist)
{
    for (int i = 0; i < pool->count; i++) {
        worker *w = pool->workers[i];
        if (threads_exist) {
            post(w, END);
            pthread_join(w->thread, NULL);
        }
        tess_word_close(&w->word);
        free(w);
    }
    free(pool->workers);
    free(pool);
}

bool tess_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

static worker *make_worker(struct tess_pool *pool, int share)
{
    worker *w = aligned_alloc(_Alignof(worker), sizeof *w);
    if (!w)
        return NULL;
    *w = (worker){.share = share, .pool = pool};
    tess_word_open(&w->word);
    if (tess_start_thread(&w->thread, work, w))
        return w;
    tess_word_close(&w->word);
    free(w);
    return NULL;
}

/* Returns the pool with up to `count` threads: as many as the system gives. Without memory or
 * threads the caller does the work alone. */
static struct tess_pool *grow(struct tess_pool *pool, int count)
{
    if (!pool) {
        pool = aligned_alloc(_Alignof(struct tess_pool), sizeof *pool);
        if (!pool)
            return NULL;
        *pool = (struct tess_pool){.forks = atomic_load(&forks)};
    }
    if (pool->capacity < count) {
        worker **more = realloc(pool->workers, (size_t)count * sizeof(worker *));
        if (!more)
            return pool;
        pool->workers = more;
        pool->capacity = count;
    }
    for (worker *w; pool->count < count; pool->workers[pool->count++] = w)
        if (!(w = make_worker(pool, pool->count + 1)))
            break;
    return pool;
}

/* The OpenMP library of the program, where it has one. Tessera does not link it. */
extern int omp_in_parallel(void) __attribute__((weak));

/* Returns true for one caller at a time, who then has to set pool_user back to 0. While a caller is
 * inside, pool_user is the number of forks plus 1. A forked child may inherit the value of a thread
 * that it does not have: that value differs from its own and is ignored. */
static bool enter(tess_ctx *ctx)
{
    if (omp_in_parallel && omp_in_parallel())
        return false;
    const unsigned mine = atomic_load_explicit(&forks, memory_order_relaxed) + 1;
    unsigned inside = __atomic_load_n(&ctx->pool_user, __ATOMIC_RELAXED);
    return inside != mine && __atomic_compare_exchange_n(&ctx->pool_user, &inside, mine, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void tess_parallel(tess_ctx *ctx, int shares, tess_share_fn run, void *arg)
{
    if (shares <= 1 || !enter(ctx)) {
        for (int share = 0; share < shares; share++)
            run(arg, share);
        return;
    }
    struct tess_pool *pool = ctx->pool;
    if (!pool || pool->count < shares - 1 || pool->forks != atomic_load(&forks)) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, watch_forks);
        if (pool && pool->forks != atomic_load(&forks)) {
            release(pool, false);
            pool = NULL;
        }
        ctx->pool = pool = grow(pool, shares - 1);
    }
    if (pool)
        run_shares(pool, shares, run, arg);
    else
        for (int share = 0; share < shares; share++)
            run(arg, share);
    __atomic_store_n(&ctx->pool_user, 0, __ATOMIC_RELEASE);
}

void tess_pool_destroy(tess_ctx *ctx)
{
    if (ctx->pool)
        release(ctx->pool, ctx->pool->forks == atomic_load(&forks));
    ctx->pool = NULL;
}
