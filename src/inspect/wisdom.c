/* Lists the entries of wisdom, and its file. */
#include "inspect/inspect.h"
#include "plan/model/model.h"
#include "plan/tuner.h"
#include "plan/wisdom/wisdom.h"

tess_status tess_wisdom_list(tess_ctx *ctx, void (*visit)(void *user, const tess_wisdom_item *item),
                             void *user)
{
    TESS_NEED(ctx, ctx && visit);
    const struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    for (int64_t i = 0; wisdom && i < wisdom->count; i++) {
        const tess_wisdom_entry *e = &wisdom->entries[i];
        const tess_backend *backend = tess_wisdom_backend(e);
        visit(user, &(tess_wisdom_item){.name = e->key,
                                        .format = e->candidate.format,
                                        .kernel = e->candidate.kernel,
                                        .params = e->candidate.params,
                                        .seconds = e->seconds,
                                        .bytes = e->bytes,
                                        .effort = tess_effort_name(e->effort),
                                        .current = backend && tess_wisdom_is_current(e, backend)});
    }
    return TESS_OK;
}

tess_status tess_wisdom_file(tess_ctx *ctx, size_t size, char *path, int *enabled)
{
    char text[4096];
    TESS_NEED(ctx, ctx && path && enabled);
    if (!tess_wisdom_path(ctx, text, sizeof text))
        text[0] = '\0';
    TESS_TRY(tess_fill_text(ctx, "tess_wisdom_file", size, path, text));
    *enabled = tess_wisdom_enabled(ctx);
    return TESS_OK;
}

tess_status tess_wisdom_class(const tess_device *device, const tess_matrix *A, size_t size,
                              char *name)
{
    char key[TESS_WISDOM_KEY];
    TESS_NEED(device ? device->ctx : NULL, device && A && name);
    tess_wisdom_key(device, A, key);
    return tess_fill_text(device->ctx, "tess_wisdom_class", size, name, key);
}

tess_status tess_model_file(tess_ctx *ctx, size_t size, char *path)
{
    char text[4096];
    TESS_NEED(ctx, ctx && path);
    if (!tess_model_path(ctx, text, sizeof text))
        text[0] = '\0';
    return tess_fill_text(ctx, "tess_model_file", size, path, text);
}
