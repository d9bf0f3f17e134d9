/* Tuning by brute force, as the papers do it: every set of a kernel's parameters that applies is
 * timed, in the library's own order, which begins with what it would guess. */
#include <stdio.h>
#include <string.h>

#include "entries.h"

/* Sets that are compiled at the same time before they are timed one by one. */
enum { AHEAD = 16 };

static bool has(const char *params, const char *key, size_t length)
{
    for (const char *at = params; at; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t here = strcspn(at, ",");
        if (here == length && strncmp(at, key, length) == 0)
            return true;
    }
    return false;
}

static bool has_all(const char *params, const char *fixed)
{
    while (*fixed) {
        const size_t length = strcspn(fixed, ",");
        if (!has(params, fixed, length))
            return false;
        fixed += length + (fixed[length] == ',');
    }
    return true;
}

/* Keeps the candidates of a kernel with these values, in their order. */
static void keep(tess_candidates *list, const char *kernel, const char *fixed)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].kernel, kernel) == 0 && has_all(list->items[i].params, fixed))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* Times one set and keeps its plan if it is the fastest. */
static tess_status try_set(trial *T, entry *E, const tess_candidate *set, double *best)
{
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                       .format = set->format,
                                       .kernel = set->kernel,
                                       .params = set->params};
    entry tried = {0};
    double seconds;
    tess_status status = tess_plan_create_shared(T->ctx, T->A, T->device, &options, &tried.plan);
    if (status != TESS_OK) /* a set that cannot run is none */
        return status == TESS_ERR_MEMORY ? status : TESS_OK;
    status = entries_time(T, &tried, &seconds);
    if (status == TESS_OK && (!E->plan || seconds < *best)) {
        tess_plan *slower = E->plan;
        *best = seconds;
        E->plan = tried.plan;
        tried.plan = slower;
    }
    tess_plan_destroy(tried.plan);
    E->sets += status == TESS_OK;
    return status;
}

tess_status entries_tune(trial *T, entry *E, const char *kernel, const char *fixed, double seconds)
{
    tess_product product = entries_spmv;
    tess_candidates list = {0};
    double best = 0;
    tess_status status;
    product.effort = TESS_EFFORT_EXHAUSTIVE;
    if (!T->device->backend->candidates)
        return tess_fail(T->ctx, TESS_ERR_UNSUPPORTED, "this device lists no kernels");
    TESS_TRY_CLEAN(T->device->backend->candidates(T->device, T->A, &product, &list));
    keep(&list, kernel, fixed);
    E->of = (int)list.count;
    const double start = tess_seconds();
    for (int64_t i = 0; i < list.count && (!E->plan || tess_seconds() - start < seconds); i++) {
        if (i % AHEAD == 0)
            tess_candidates_ahead(T->device, T->A, list.items + i,
                                  list.count - i < AHEAD ? list.count - i : AHEAD);
        TESS_TRY_CLEAN(try_set(T, E, &list.items[i], &best));
    }
    if (!E->plan)
        status = tess_fail(T->ctx, TESS_ERR_UNSUPPORTED,
                           "no set of parameters of '%s' applies to this matrix", kernel);
cleanup:
    tess_candidates_free(T->ctx, &list);
    return status;
}
