/* Work that cannot ask a callback runs on a thread of its own, while the caller's thread asks.
 *
 *     caller    look ... look ... look = CANCELLED, stop, stop ──> returns CANCELLED
 *     thread    run ──────────────────────────────────────┘ ends soon, since it was stopped
 *
 * The thread has always ended when the call returns.
 */
#pragma once

#include "core/core.h"

typedef struct tess_watched {
    void (*run)(void *arg);         /* on the thread; it must not use the context */
    tess_status (*look)(void *arg); /* by the caller, every 20 ms; not TESS_OK: run has to end */
    void (*stop)(void *arg);        /* then, every 20 ms, until run has returned */
} tess_watched;

/* Returns what `look` returned last. Where no thread can be started, `run` is called directly and
 * `look` never. */
tess_status tess_watch(const tess_watched *work, void *arg);
