/* Which model a device has: the user's own, one that is built in, or that of a similar device. */
#include "plan/model/file.h"

/* How many parts two device models have in common. "cpu, 2 threads, neon, Neoverse-V1" has four
 * parts, of which the first must be equal. -1: another kind of device. */
static int alike(const char *a, const char *b)
{
    int score = 0, part = 0;
    for (; *a && *b; part++) {
        size_t m = strcspn(a, ","), n = strcspn(b, ",");
        bool equal = m == n && memcmp(a, b, m) == 0;
        if (part == 0 && !equal)
            return -1;
        score += equal ? 1 + (part > 1) : 0; /* instruction set and name say more than threads */
        a += m + (a[m] == ',');
        b += n + (b[n] == ',');
    }
    return score;
}

/* Finds the most similar built-in model. If it is another device's, it is fitted to this one. */
static tess_status find_built_in(const tess_device *device, tess_model **out)
{
    tess_ctx *ctx = device->ctx;
    int best = 0;
    for (int i = 0; tess_profiles[i]; i++) {
        json_t *document = json_loads(tess_profiles[i], 0, NULL), *value;
        const char *key;
        tess_status status = TESS_OK;
        json_object_foreach(json_object_get(document, "devices"), key, value)
        {
            int likeness = alike(key, device->model);
            tess_model *model = NULL;
            if (likeness <= best || status != TESS_OK)
                continue;
            status = tess_model_from_json(ctx, document, key, &model);
            if (!model)
                continue;
            tess_model_destroy(*out);
            *out = model;
            best = likeness;
        }
        json_decref(document);
        TESS_TRY(status);
    }
    if (*out && strcmp((*out)->device, device->model) != 0) {
        (*out)->foreign = !(*out)->gpu && best < 3; /* at most the threads are equal */
        tess_model_stand_in(*out, device);
    }
    return TESS_OK;
}

const tess_model *tess_device_performance(tess_device *device)
{
    char path[4096];
    if (device->performance || !device->model[0])
        return device->performance;
    tess_kept_error kept = tess_error_keep(device->ctx);
    tess_status status = TESS_OK;
    bool kept_file = tess_model_path(device->ctx, path, sizeof path);
    if (kept_file)
        status = tess_model_read_file(device->ctx, path, device->model, &device->performance);
    if (status == TESS_OK && !device->performance)
        status = find_built_in(device, &device->performance);
    if (kept_file && device->performance && device->performance->stand_in) {
        device->performance->scale = tess_model_read_scale(device->ctx, path, device->model);
        tess_model_rescale(device->performance, &device->performance->scale);
    }
    if (status != TESS_OK)
        tess_log(device->ctx, "model: %s", device->ctx->error);
    device->performance_free = tess_model_destroy;
    tess_error_restore(device->ctx, &kept); /* a model is a hint: no failure of a plan */
    return device->performance;
}
