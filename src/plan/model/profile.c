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

/* Copies the next device's name from a model file's text: a string between two braces. Returns
 * where the text goes on behind it, or NULL when no name is left. */
static const char *next_name(const char *at, int *depth, char *name, size_t size)
{
    while ((at = strpbrk(at, "{}\""))) {
        char found = *at++;
        if (found != '"') {
            *depth += found == '{' ? 1 : -1;
            continue;
        }
        size_t length = strcspn(at, "\"");
        const char *text = at;
        at += length + (at[length] == '"');
        if (*depth == 2) {
            snprintf(name, size, "%.*s", (int)length, text);
            return at;
        }
    }
    return NULL;
}

/* Finds the most similar built-in model. If it is another device's, it is fitted to this one. Only
 * its own document is parsed: each has thousands of numbers. */
static tess_status find_built_in(const tess_device *device, tess_model **out)
{
    int best = 0;
    const char *document_text = NULL;
    char name[sizeof(*out)->device], best_name[sizeof name];
    for (int i = 0; tess_profiles[i]; i++) {
        int depth = 0;
        for (const char *at = tess_profiles[i]; (at = next_name(at, &depth, name, sizeof name));) {
            int likeness = alike(name, device->model);
            if (likeness <= best)
                continue;
            best = likeness;
            document_text = tess_profiles[i];
            memcpy(best_name, name, sizeof name);
        }
    }
    if (!document_text)
        return TESS_OK;
    json_t *document = json_loads(document_text, 0, NULL);
    tess_status status = tess_model_from_json(device->ctx, document, best_name, out);
    json_decref(document);
    if (*out && strcmp((*out)->device, device->model) != 0) {
        (*out)->foreign = !(*out)->gpu && best < 3; /* at most the threads are equal */
        tess_model_stand_in(*out, device);
    }
    return status;
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
