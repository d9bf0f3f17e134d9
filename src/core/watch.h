/* Work that cannot call a callback runs on a thread of its own, while the caller's thread calls it.
 *
 *     caller    look ... look ... look = CANCELLED, stop, stop ──> returns CANCELLED
 *     thread    run ──────────────────────────────────────┘ ends soon, since it was stopped
 *
 * When tess_watch returns, the thread has ended.
 */
#pragma once

#include "core/core.h"

typedef struct tess_watched {
    void (*run)(void *arg);         /* on the thread; it must not use the context */
    tess_status (*look)(void *arg); /* by the caller, every 20 ms; not TESS_OK: `run` has to end */
    void (*stop)(void *arg);        /* after that, every 20 ms, until `run` returned */
} tess_watched;

/* Returns what `look` returned last. Where no thread can be started, `run` is called directly and
 * `look` never. */
tess_status tess_watch(const tess_watched *work, void *arg);
