/* A device of several parts in this process: "cpu:4,4", "cuda:0,1".
 *
 *     caller's context                 vectors whole, in host memory
 *        tess_parts ── team            one thread per part; part 0 is the caller's
 *           ├ part 0: context, device  "cpu:4"
 *           └ part 1: context, device  "cpu:4"
 *
 * Each part has a context of its own, and with it threads and a last error of its own. The caller's
 * allocator is called by one part at a time.
 */
#pragma once

#include "backend/backend.h"
#include "dist/part.h"
#include "dist/process/team.h"

typedef struct tess_parts_member {
    tess_ctx *ctx;
    tess_device *device;
} tess_parts_member;

typedef struct tess_parts {
    tess_ctx *ctx; /* the caller's */
    tess_word turn, allocating;
    tess_team *team;
    int count;
    tess_parts_member member[TESS_PARTS_MOST];
} tess_parts;

static inline tess_parts *tess_parts_of(const tess_device *device)
{
    return device->state;
}

/* ---- parts_device.c ---- */

/* Opens the device; `name` is the whole string: "cpu:1,1". */
tess_status tess_parts_open(tess_device *device, const char *name);
void tess_parts_close(tess_device *device);

/* Runs body on all parts at the same time. Returns the failure of the first part that has one, with
 * its sentence. Calls of several threads take turns. A call from inside a body is refused. */
tess_status tess_parts_run(tess_parts *parts, tess_team_fn body, void *user);
