/* Which model a device has: the user's own, one that is built in, or that of a similar device. */
#include "plan/model/file.h"

/* How much a model's device has in common with another one. "cpu, 2 threads, neon, Neoverse-V1" has
 * four parts. */
typedef struct likeness {
    bool same_kind;         /* the first part is equal; else the model is of no use */
    bool same_instructions; /* the third part is equal */
    int score;              /* two for each part that is alike, one more where all are equal */
    double threads;         /* of the model's device; 0: a GPU's second part is its name */
} likeness;

/* Half or twice as many threads each have about as much cache and memory bandwidth. */
static bool threads_alike(double threads, double others)
{
    return threads <= 2 * others && others <= 2 * threads;
}

static likeness likeness_of(const char *model, const char *device)
{
    likeness found = {.score = strcmp(model, device) == 0};
    for (int part = 0; *model && *device; part++) {
        const size_t m = strcspn(model, ","), n = strcspn(device, ",");
        const double ours = part == 1 ? strtod(device, NULL) : 0;
        bool alike = m == n && memcmp(model, device, m) == 0;
        if (part == 1)
            found.threads = strtod(model, NULL);
        if (ours > 0 && found.threads > 0)
            alike = threads_alike(found.threads, ours);
        found.same_kind |= part == 0 && alike;
        found.same_instructions |= part == 2 && alike;
        found.score += alike ? 2 : 0;
        model += m + (model[m] == ',');
        device += n + (device[n] == ',');
    }
    return found;
}

/* Instructions and threads count the same. Kernels of all instruction sets are limited by caches
 * and memory, and the threads decide how much of these each has. Of two models that are equally
 * alike, the one of fewer threads is taken: its times per thread contain less of what threads
 * share, which are cores, caches and barriers. */
static bool is_nearer(const likeness *a, const likeness *b)
{
    return a->score != b->score ? a->score > b->score : a->threads < b->threads;
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
    likeness best = {0};
    const char *document_text = NULL;
    char name[sizeof(*out)->device], best_name[sizeof name];
    for (int i = 0; tess_profiles[i]; i++) {
        int depth = 0;
        for (const char *at = tess_profiles[i]; (at = next_name(at, &depth, name, sizeof name));) {
            const likeness found = likeness_of(name, device->model);
            if (!found.same_kind || (document_text && !is_nearer(&found, &best)))
                continue;
            best = found;
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
        (*out)->foreign = !(*out)->gpu && !best.same_instructions;
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
        device->performance->scale =
            tess_model_read_scale(device->ctx, path, device->model, device->performance);
        tess_model_rescale(device->performance, &device->performance->scale);
    }
    if (status != TESS_OK)
        tess_log(device->ctx, "model: %s", device->ctx->error);
    device->performance_free = tess_model_destroy;
    tess_error_restore(device->ctx, &kept); /* a model is a hint: no failure of a plan */
    return device->performance;
}
