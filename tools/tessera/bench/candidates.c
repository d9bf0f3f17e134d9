/* The candidates that `tessera bench` measures: all that apply, or those that the options name. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* Keeps the items whose name at `offset` equals `wanted`. None left is an error. */
static tess_status keep_named(tess_ctx *ctx, tess_candidates *list, const char *what,
                              const char *wanted, size_t offset)
{
    int64_t kept = 0;
    const char **names;
    TESS_TRY(TESS_ALLOC(ctx, list->count, &names));
    for (int64_t i = 0; i < list->count; i++)
        names[i] = (const char *)&list->items[i] + offset;
    const char *nearest = tess_nearest(wanted, names, (size_t)list->count);
    bool found = nearest && strcmp(nearest, wanted) == 0;
    if (!found)
        tess_fail(ctx, TESS_ERR_ARGUMENT, "no %s '%s' applies to this matrix and device (%s)", what,
                  wanted, tess_suggest(&(tess_suggestion){""}, wanted, names, (size_t)list->count));
    for (int64_t i = 0; found && i < list->count; i++)
        if (strcmp(names[i], wanted) == 0)
            list->items[kept++] = list->items[i];
    tess_free(ctx, names);
    list->count = found ? kept : list->count;
    return found ? TESS_OK : TESS_ERR_ARGUMENT;
}

/* Adds the candidates that the options name. Sets of parameters are separated by ';'. */
static tess_status add_named(tess_ctx *ctx, const bench_options *options, tess_candidates *list)
{
    const char *set = options->params ? options->params : "";
    for (;; set++) {
        tess_candidate named = {0};
        size_t length = strcspn(set, ";");
        snprintf(named.format, sizeof named.format, "%s", options->format ? options->format : "");
        snprintf(named.kernel, sizeof named.kernel, "%s", options->kernel ? options->kernel : "");
        snprintf(named.params, sizeof named.params, "%.*s", (int)length, set);
        TESS_TRY(tess_candidates_add(ctx, list, &named));
        set += length;
        if (!*set)
            return TESS_OK;
    }
}

tess_status bench_candidates(tess_device *device, const tess_matrix *A,
                             const bench_options *options, tess_candidates *list)
{
    tess_status status;
    bool listed = device->backend->candidates != NULL;
    if (!listed || options->params) /* taken as named: the plan refuses what does not exist */
        return add_named(device->ctx, options, list);
    tess_product product = options->product;
    product.shapes = true;
    TESS_TRY_CLEAN(tess_candidates_list(device, A, &product, list));
    if (options->format)
        TESS_TRY_CLEAN(keep_named(device->ctx, list, "format", options->format,
                                  offsetof(tess_candidate, format)));
    if (options->kernel)
        TESS_TRY_CLEAN(keep_named(device->ctx, list, "kernel", options->kernel,
                                  offsetof(tess_candidate, kernel)));
    return TESS_OK;
cleanup:
    tess_candidates_free(device->ctx, list);
    return status;
}
