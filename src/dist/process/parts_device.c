/* Opens a device of several parts, and runs a function on all of them. */
#include "dist/process/parts.h"

/* ---- The caller's allocator, one part at a time ---- */

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    tess_parts *parts = user;
    const tess_allocator *own = &parts->ctx->allocator;
    tess_lock(&parts->allocating);
    void *pointer = own->allocate(own->user, bytes, alignment);
    tess_unlock(&parts->allocating);
    return pointer;
}

static void release(void *user, void *pointer)
{
    tess_parts *parts = user;
    const tess_allocator *own = &parts->ctx->allocator;
    tess_lock(&parts->allocating);
    own->release(own->user, pointer);
    tess_unlock(&parts->allocating);
}

/* ---- Opening ---- */

/* Part 0, which is on the caller's thread, takes over the caller's progress and log functions. */
static void take_callbacks(const tess_parts *parts)
{
    tess_ctx *first = parts->member[0].ctx;
    first->progress = parts->ctx->progress;
    first->progress_user = parts->ctx->progress_user;
    first->log = parts->ctx->log;
    first->log_user = parts->ctx->log_user;
}

static tess_status open_member(tess_parts *parts, int rank, const char *name)
{
    tess_ctx *ctx = parts->ctx;
    tess_parts_member *m = &parts->member[rank];
    const tess_ctx_options options = {
        .size = sizeof options,
        .allocator = {allocate, release, parts},
        .threads = (int)tess_max(1, ctx->threads / parts->count),
    };
    if (tess_ctx_create(&options, &m->ctx) != TESS_OK)
        return tess_fail(ctx, TESS_ERR_MEMORY, "no memory for part %d of %d", rank, parts->count);
    tess_status status = tess_ctx_set_wisdom(
        m->ctx, ctx->wisdom_keep, ctx->wisdom_keep == TESS_WISDOM_FILE ? ctx->wisdom_path : NULL);
    TESS_THEN(tess_device_open(m->ctx, name, &m->device));
    if (status != TESS_OK)
        return tess_fail(ctx, status, "part %d of %d: %s", rank, parts->count, m->ctx->error);
    if (!m->device->backend->spmv)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "part %d of %d: device '%s' computes nothing: pass numbers of threads "
                         "after 'cpu:', or of GPUs after 'cuda:'",
                         rank, parts->count, name);
    /* The part's context gets as many threads as its device. */
    return m->device->threads > 0 ? tess_ctx_set_threads(m->ctx, m->device->threads) : TESS_OK;
}

/* Opens a device for the kind with each number between the commas: "cpu:1,1" has the parts "cpu:1"
 * and "cpu:1". */
static tess_status open_members(tess_parts *parts, const char *name)
{
    const char *at = strchr(name, ':') + 1;
    const int kind = (int)(at - name);
    for (const char *c = at; *c; c++)
        parts->count += *c == ',';
    parts->count++;
    if (parts->count > TESS_PARTS_MOST)
        return tess_fail(parts->ctx, TESS_ERR_ARGUMENT, "device '%s': %d parts, at most %d", name,
                         parts->count, TESS_PARTS_MOST);
    for (int rank = 0; rank < parts->count; rank++) {
        char one[64];
        const int length = (int)strcspn(at, ",");
        if (length == 0)
            return tess_fail(parts->ctx, TESS_ERR_ARGUMENT,
                             "device '%s': part %d has no number: write one before and after every "
                             "comma",
                             name, rank);
        if (snprintf(one, sizeof one, "%.*s%.*s", kind, name, length, at) >= (int)sizeof one)
            return tess_fail(parts->ctx, TESS_ERR_ARGUMENT, "device '%s': part %d is too long",
                             name, rank);
        TESS_TRY(open_member(parts, rank, one));
        at += length + (at[length] == ',');
    }
    return TESS_OK;
}

static void destroy(tess_parts *parts)
{
    tess_team_destroy(parts->team);
    for (int rank = 0; rank < parts->count && rank < TESS_PARTS_MOST; rank++) {
        tess_device_close(parts->member[rank].device);
        tess_ctx_destroy(parts->member[rank].ctx);
    }
    tess_word_close(&parts->turn);
    tess_word_close(&parts->allocating);
    tess_free(parts->ctx, parts);
}

static void describe(const tess_parts *parts, const char *name, tess_device *device)
{
    const tess_device *first = parts->member[0].device;
    device->threads = 0;
    for (int rank = 0; rank < parts->count; rank++) {
        device->threads += parts->member[rank].device->threads;
        device->cache_bytes += parts->member[rank].device->cache_bytes;
    }
    snprintf(device->description, sizeof device->description,
             "%.40s: %d parts, the first on %.180s", name, parts->count, first->description);
    snprintf(device->model, sizeof device->model, "%.40s, the first %.100s", name, first->model);
}

tess_status tess_parts_open(tess_device *device, const char *name)
{
    tess_parts *parts;
    TESS_TRY(TESS_CALLOC(device->ctx, 1, &parts));
    parts->ctx = device->ctx;
    tess_word_open(&parts->turn);
    tess_word_open(&parts->allocating);
    tess_status status = open_members(parts, name);
    TESS_THEN(tess_team_create(device->ctx, parts->count, &parts->team));
    if (status != TESS_OK) {
        destroy(parts);
        return status;
    }
    device->state = parts;
    describe(parts, name, device);
    return TESS_OK;
}

void tess_parts_close(tess_device *device)
{
    destroy(tess_parts_of(device));
}

/* ---- Running ---- */

static tess_status run_in_turn(tess_parts *parts, tess_team_fn body, void *user)
{
    tess_status status[TESS_PARTS_MOST];
    int failed = -1;
    take_callbacks(parts);
    tess_team_run(parts->team, body, user, status);
    /* A part that waited for a failed one does not know the cause. */
    for (int rank = parts->count - 1; rank >= 0; rank--)
        if (status[rank] != TESS_OK &&
            (failed < 0 || status[rank] != TESS_ERR_PART || status[failed] == TESS_ERR_PART))
            failed = rank;
    if (failed < 0)
        return TESS_OK;
    return tess_fail(parts->ctx, status[failed], "%s", parts->member[failed].ctx->error);
}

tess_status tess_parts_run(tess_parts *parts, tess_team_fn body, void *user)
{
    if (tess_team_inside(parts->team))
        return tess_fail(parts->ctx, TESS_ERR_UNSUPPORTED,
                         "a callback of a solver on several parts cannot use their device: "
                         "use a device of its own");
    tess_lock(&parts->turn);
    const tess_status status = run_in_turn(parts, body, user);
    tess_unlock(&parts->turn);
    return status;
}
