/* Work in shares, by the context's own threads.
 *
 *     static void scale(void *arg, tess_range rows)        // one share's part of 0..count-1
 *     {
 *         const scaling *s = arg;
 *         for (int64_t i = rows.first; i < rows.last; i++)
 *             s->y[i] = s->factor * s->x[i];
 *     }
 *     tess_for(ctx, count, scale, &(scaling){x, y, factor});
 *
 * The caller's thread does share 0, thread i of the context's pool share i. When the caller's
 * thread has finished share 0, it also does the shares that no thread has begun, so no share waits
 * for a thread that the system does not let run. A share's range does not depend on the thread that
 * does it, so neither do results. A share must not wait for another share.
 *
 * The call returns when all shares are done. A call from inside a share, from a second thread that
 * uses the same context at the same time, or from a parallel region of the caller's OpenMP does all
 * shares itself, one after the other.
 *
 * The threads belong to the context: they are made at the context's first parallel call, sleep
 * between calls, and end with the context. A forked child makes its own.
 */
#pragma once

#include <pthread.h>

#include "core/core.h"

typedef void (*tess_share_fn)(void *arg, int share);
/* Calls run(arg, share) for share = 0..shares-1. */
void tess_parallel(tess_ctx *ctx, int shares, tess_share_fn run, void *arg);

/* The range first .. last-1, and the number of its share, by which a share finds its scratch
 * memory. */
typedef struct tess_range {
    int64_t first, last;
    int share;
} tess_range;

/* The part of 0..count-1 that is share `share` of `shares`. The first count % shares shares are
 * longer by one. */
tess_range tess_share(int64_t count, int share, int shares);

typedef void (*tess_range_fn)(void *arg, tess_range range);
/* Calls `run` by each of the context's threads with its part of 0..count-1, unless the part is
 * empty. */
void tess_for(tess_ctx *ctx, int64_t count, tess_range_fn run, void *arg);
/* The same in `shares` shares. */
void tess_for_shares(tess_ctx *ctx, int shares, int64_t count, tess_range_fn run, void *arg);
/* The same in pieces of `step` numbers (the last may be shorter), which go to whichever share asks
 * next. */
void tess_for_dynamic(tess_ctx *ctx, int shares, int64_t count, int64_t step, tess_range_fn run,
                      void *arg);

typedef void (*tess_item_fn)(void *to, const void *from, int64_t i);
/* Calls item(to, from, i) for i = 0..count-1, by the context's threads. The numbers are divided
 * into equal shares, or with step > 0 into pieces of `step` that go to whichever thread asks
 * next. */
void tess_for_each(tess_ctx *ctx, int64_t count, int64_t step, tess_item_fn item, void *to,
                   const void *from);

/* A reduction over 0..count-1, where `of` gives the value of a range. The result is the sum of the
 * values (0 for count = 0), the least (INT64_MAX for count = 0) or the largest (0 for count =
 * 0). */
typedef enum tess_reduction { TESS_SUM, TESS_LEAST, TESS_LARGEST } tess_reduction;
typedef int64_t (*tess_reduce_fn)(const void *from, tess_range range);
int64_t tess_reduce(tess_ctx *ctx, int64_t count, tess_reduction kind, tess_reduce_fn of,
                    const void *from);

/* Atomic operations on a number that several shares use. tess_take adds n to *number and returns
 * the value before. */
static inline int64_t tess_take(int64_t *number, int64_t n)
{
    return __atomic_fetch_add(number, n, __ATOMIC_RELAXED);
}

void tess_lower(int64_t *number, int64_t to); /* *number = min(*number, to) */
void tess_raise(int64_t *number, int64_t to); /* *number = max(*number, to) */
void tess_raise_double(double *number, double to);

static inline void tess_set_flag(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

/* Sets a flag that many threads set: once it is set, no thread writes to its cache line. */
static inline void tess_set_flag_once(bool *flag)
{
    if (!__atomic_load_n(flag, __ATOMIC_RELAXED))
        tess_set_flag(flag, true);
}

/* The number of threads a context has by default: what the program's OpenMP says, if the program
 * has one, else OMP_NUM_THREADS, else the processors that this thread may use. */
int tess_default_threads(void);

/* The number of processors that this thread may run on. */
int64_t tess_processors(void);

/* Called by thread `share` of a pool as it begins: where the caller's OpenMP binds threads to
 * places (OMP_PROC_BIND), the thread goes to the place that OpenMP's thread of the same number
 * would have. Otherwise it would inherit the single processor of the caller's thread. */
void tess_take_place(int share);

/* Starts a thread that gets no signals: signals are for the caller's threads. False: no thread
 * could be started. */
bool tess_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

/* Ends the context's threads. */
void tess_pool_destroy(tess_ctx *ctx);
