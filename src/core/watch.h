/* Work that hears no callback, on a thread of its own, while the caller's thread looks after it.
 *
 *     caller    look ... look ... look = CANCELLED, stop, stop ──> returns CANCELLED
 *     thread    run ──────────────────────────────────────┘ ends soon, since it was stopped
 *
 * The thread has always ended when the call returns.
 */
#ifndef TESS_WATCH_H
#define TESS_WATCH_H

#include "core/core.h"

typedef struct tess_watched {
    void (*run)(void *arg);         /* on the thread; it must not use the context */
    tess_status (*look)(void *arg); /* by the caller, every 20 ms; not TESS_OK: run has to end */
    void (*stop)(void *arg);        /* then, every 20 ms, until run has returned */
} tess_watched;

/* What `look` said last. Where no thread can be had, run is called without looks. */
tess_status tess_watch(const tess_watched *work, void *arg);

#endif
