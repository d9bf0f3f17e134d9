#include "core/watch.h"

#include <pthread.h>
#include <time.h>

#include "core/threads.h"

typedef struct watch {
    const tess_watched *work;
    void *arg;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done;
} watch;

static void *run(void *arg)
{
    watch *w = arg;
    w->work->run(w->arg);
    pthread_mutex_lock(&w->mutex);
    w->done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Waits 20 ms, or until the work is done if that is earlier. Returns whether the work is done. */
static bool wait(watch *w)
{
    enum { INTERVAL = 20000000, SECOND = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += INTERVAL;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    pthread_mutex_lock(&w->mutex);
    if (!w->done)
        pthread_cond_timedwait(&w->changed, &w->mutex, &until);
    const bool done = w->done;
    pthread_mutex_unlock(&w->mutex);
    return done;
}

tess_status tess_watch(const tess_watched *work, void *arg)
{
    watch w = {work, arg, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    tess_status status = TESS_OK;
    pthread_t thread;
    if (!tess_start_thread(&thread, run, &w)) {
        work->run(arg);
    } else {
        while (!wait(&w)) {
            TESS_THEN(work->look(arg));
            if (status != TESS_OK)
                work->stop(arg);
        }
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.mutex);
    return status;
}
