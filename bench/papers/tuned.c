/* Tuning by brute force, as the papers do it: every set of a kernel's parameters that applies is
 * timed, in the library's own order, which begins with what it would guess. */
#include <stdio.h>
#include <string.h>

#include "entries.h"

/* Sets that are compiled at the same time before they are timed one by one. */
enum { AHEAD = 16 };

/* Gives a key of the parameters the value of "KEY=VALUE", which may be one that no search tries. */
static void set_value(char *params, size_t size, const char *fixed, size_t length)
{
    const size_t key = strcspn(fixed, "=") + 1;
    char *at = params;
    while (strncmp(at, fixed, key) != 0) {
        at += strcspn(at, ",");
        if (*at++ == '\0')
            return;
    }
    char rest[sizeof((tess_candidate *)0)->params];
    snprintf(rest, sizeof rest, "%s", at + strcspn(at, ","));
    snprintf(at, size - (size_t)(at - params), "%.*s%s", (int)length, fixed, rest);
}

/* Keeps the candidates of a kernel, with these values and each set once, in their order. */
static void keep(tess_candidates *list, const char *kernel, const char *fixed)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate c = list->items[i];
        bool known = strcmp(c.kernel, kernel) != 0;
        for (const char *at = fixed; !known && *at; at += *at == ',') {
            const size_t length = strcspn(at, ",");
            set_value(c.params, sizeof c.params, at, length);
            at += length;
        }
        for (int64_t k = 0; k < kept && !known; k++)
            known = strcmp(list->items[k].params, c.params) == 0;
        if (!known)
            list->items[kept++] = c;
    }
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
    double spent = 0; /* compilation ahead is not counted: another run finds it in the disk cache */
    for (int64_t i = 0; i < list.count && spent < seconds; i++) {
        if (i % AHEAD == 0)
            tess_candidates_ahead(T->device, T->A, list.items + i, tess_min(list.count - i, AHEAD));
        const double start = tess_seconds();
        TESS_TRY_CLEAN(try_set(T, E, &list.items[i], &best));
        spent += tess_seconds() - start;
    }
    if (!E->plan)
        status = tess_fail(T->ctx, TESS_ERR_UNSUPPORTED,
                           "no set of parameters of '%s' applies to this matrix", kernel);
cleanup:
    tess_candidates_free(T->ctx, &list);
    return status;
}
