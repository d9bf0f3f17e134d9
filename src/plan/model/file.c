/* Models as JSON:
 *
 *     {"tessera_model": 2, "devices": {MODEL: {"cache_bytes": N,
 *       "memory_speed": bytes/s, "gpu_threads": N,          of a GPU, as its driver says
 *       "curves": [[CLASS, b, TYPE, "cache"|"memory", points, error, mu, sigma, nu, best nu,
 *                   row bytes, step seconds, [length of rows, factor, length, factor, ...],
 *                   [bytes, factor, ...]], ...],
 *       "extras": [[CLASS, b, TYPE, "change"|"far"|"longest"|"resident"|"cut"|"uneven"|"alone",
 *                   x bytes, seconds or share], ...],
 *       "scale": [memory, cache],       of a device without curves: for its stand-in,
 *       "scale_of": MODEL}}}            which was the model of this device
 *
 * Entries that do not parse are left out. A damaged file counts as missing.
 */
#include "plan/model/file.h"

#include "plan/wisdom/keep.h"
#include "plan/wisdom/wisdom.h"

enum { KINDS = 7 };

static const tess_kept_kind models = {"a model", "tessera_model", 2, "devices",
                                      "name another file, or remove it"};

const char *const tess_extra_names[] = {"change", "far",    "longest", "resident",
                                        "cut",    "uneven", "alone"};

bool tess_model_path(const tess_ctx *ctx, char *path, size_t size)
{
    if (!tess_wisdom_enabled(ctx) || !tess_wisdom_path(ctx, path, size))
        return false;
    char *slash = strrchr(path, '/');
    char *name = slash ? slash + 1 : path;
    int length = snprintf(name, size - (size_t)(name - path), "model.json");
    return length > 0 && (size_t)length < size - (size_t)(name - path);
}

/* ---- Reading ---- */

/* Name, block and type: how every line begins. */
static bool read_head(const json_t *line, char *name, int32_t *block, tess_type *type)
{
    const char *text = json_string_value(json_array_get(line, 0));
    const char *precision = json_string_value(json_array_get(line, 2));
    json_int_t b = json_integer_value(json_array_get(line, 1));
    if (!text || !precision || strlen(text) >= TESS_MODEL_CLASS || b < 0 || b > TESS_BLOCK_MAX)
        return false;
    memcpy(name, text, strlen(text) + 1);
    tess_replace(name, TESS_MODEL_CLASS, "*", " streams="); /* classes as they were called before */
    tess_replace(name, TESS_MODEL_CLASS, " ahead", " prefetch");
    *block = (int32_t)b;
    *type = strcmp(precision, tess_type_name(TESS_F32)) == 0 ? TESS_F32 : TESS_F64;
    return true;
}

static bool read_numbers(const json_t *line, size_t first, double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = json_number_value(json_array_get(line, first + i));
        if (!json_is_number(json_array_get(line, first + i)) || !isfinite(numbers[i]))
            return false;
    }
    return true;
}

/* [x, factor, x, factor ...]; none in older files. */
static bool read_factors(const json_t *list, tess_model_factors *out)
{
    double n[2 * TESS_MODEL_FACTORS];
    size_t count = json_array_size(list);
    if (count > 2 * TESS_MODEL_FACTORS || count % 2 != 0 || !read_numbers(list, 0, n, count))
        return false;
    for (size_t i = 0; i < count; i += 2) {
        double before = i > 0 ? n[i - 2] : 0;
        if (!(n[i] > before) || !(n[i + 1] > 0))
            return false;
        out->point[out->count].at = n[i];
        out->point[out->count++].factor = n[i + 1];
    }
    return true;
}

static bool read_curve(const json_t *line, tess_model_curve *curve)
{
    double n[7], step = json_number_value(json_array_get(line, 11)); /* 0 in older files */
    const char *place = json_string_value(json_array_get(line, 3));
    *curve = (tess_model_curve){0};
    if (!place || !read_head(line, curve->name, &curve->block, &curve->type) ||
        !read_numbers(line, 4, n, 7) || n[0] < 0 || n[0] > INT32_MAX || n[1] < 0 || !(n[3] > 0) ||
        !(n[4] > 0) || !(n[5] > 0) || n[6] < 0 || !isfinite(step) || step < 0)
        return false;
    curve->cached = strcmp(place, "cache") == 0;
    curve->points = (int)n[0];
    curve->error = n[1];
    curve->average = (tess_sigmoid){.mu = n[2], .sigma = n[3], .nu = n[4]};
    curve->best = curve->average;
    curve->best.nu = n[5];
    curve->row_bytes = n[6];
    curve->step_seconds = step;
    return read_factors(json_array_get(line, 12), &curve->lengths) &&
           read_factors(json_array_get(line, 13), &curve->sizes);
}

static bool read_extra(const json_t *line, tess_model_extra *extra)
{
    double n[2];
    const char *kind = json_string_value(json_array_get(line, 3));
    *extra = (tess_model_extra){0};
    if (!kind || !read_head(line, extra->name, &extra->block, &extra->type) ||
        !read_numbers(line, 4, n, 2) || n[0] < 0 || n[1] < 0)
        return false;
    int k = 0;
    while (k < KINDS && strcmp(kind, tess_extra_names[k]) != 0)
        k++;
    const bool share = k == TESS_EXTRA_RESIDENT, by_size = share || k == TESS_EXTRA_FAR;
    if (k == KINDS || (share && n[1] > 1) || (by_size && n[0] == 0))
        return false;
    extra->kind = (tess_extra_kind)k;
    extra->x_bytes = n[0];
    extra->seconds = n[1];
    return true;
}

static tess_status read_lines(tess_model *model, const json_t *entry)
{
    size_t index;
    json_t *line;
    model->cache_bytes = json_number_value(json_object_get(entry, "cache_bytes"));
    model->memory_speed = json_number_value(json_object_get(entry, "memory_speed"));
    model->gpu_threads = json_number_value(json_object_get(entry, "gpu_threads"));
    json_array_foreach(json_object_get(entry, "curves"), index, line)
    {
        tess_model_curve curve;
        if (read_curve(line, &curve))
            TESS_TRY(tess_model_add_curve(model, &curve));
    }
    json_array_foreach(json_object_get(entry, "extras"), index, line)
    {
        tess_model_extra extra;
        if (read_extra(line, &extra))
            TESS_TRY(tess_model_add_extra(model, &extra));
    }
    return TESS_OK;
}

tess_status tess_model_from_json(tess_ctx *ctx, const json_t *document, const char *device,
                                 tess_model **out)
{
    const json_t *entry = json_object_get(json_object_get(document, "devices"), device);
    if (!json_is_object(entry))
        return TESS_OK;
    tess_model *model;
    TESS_TRY(tess_model_create(ctx, device, &model));
    tess_status status = read_lines(model, entry);
    if (status != TESS_OK || model->curve_count == 0) {
        tess_model_destroy(model);
        return status;
    }
    *out = model;
    return TESS_OK;
}

/* The document at `path`; NULL: there is none that can be read, which the log says. */
static json_t *read_document(tess_ctx *ctx, const char *path)
{
    json_t *document = NULL;
    tess_kept_error kept = tess_error_keep(ctx);
    if (tess_kept_read(ctx, &models, path, &document) != TESS_OK) { /* a model is a hint */
        tess_log(ctx, "model: %s", ctx->error);
        tess_error_restore(ctx, &kept);
        return NULL;
    }
    return document;
}

tess_status tess_model_read_file(tess_ctx *ctx, const char *path, const char *device,
                                 tess_model **out)
{
    json_t *document = read_document(ctx, path);
    tess_status status = document ? tess_model_from_json(ctx, document, device, out) : TESS_OK;
    json_decref(document);
    return status;
}

tess_model_scale tess_model_read_scale(tess_ctx *ctx, const char *path, const char *device,
                                       const tess_model *model)
{
    json_t *document = read_document(ctx, path);
    const json_t *entry = json_object_get(json_object_get(document, "devices"), device);
    const char *of = json_string_value(json_object_get(entry, "scale_of"));
    double n[2];
    bool good = read_numbers(json_object_get(entry, "scale"), 0, n, 2) && n[0] > 0 && n[1] > 0 &&
                of && strcmp(of, model->device) == 0;
    json_decref(document);
    return good ? (tess_model_scale){n[0], n[1]} : (tess_model_scale){1, 1};
}

/* ---- Writing ---- */

static json_t *factors_to_json(const tess_model_factors *factors)
{
    json_t *list = json_array();
    for (int i = 0; i < factors->count; i++) {
        json_array_append_new(list, json_real(factors->point[i].at));
        json_array_append_new(list, json_real(factors->point[i].factor));
    }
    return list;
}

static json_t *to_json(const tess_model *model)
{
    json_t *curves = json_array(), *extras = json_array();
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        json_t *line =
            json_pack("[s,i,s,s,i,f,f,f,f,f,f,f]", c->name, (int)c->block, tess_type_name(c->type),
                      c->cached ? "cache" : "memory", c->points, c->error, c->average.mu,
                      c->average.sigma, c->average.nu, c->best.nu, c->row_bytes, c->step_seconds);
        json_array_append_new(line, factors_to_json(&c->lengths));
        json_array_append_new(line, factors_to_json(&c->sizes));
        json_array_append_new(curves, line);
    }
    for (int64_t i = 0; i < model->extra_count; i++) {
        const tess_model_extra *e = &model->extras[i];
        json_array_append_new(extras, json_pack("[s,i,s,s,f,f]", e->name, (int)e->block,
                                                tess_type_name(e->type), tess_extra_names[e->kind],
                                                e->x_bytes, e->seconds));
    }
    return json_pack("{s:f, s:f, s:f, s:o, s:o}", "cache_bytes", model->cache_bytes, "memory_speed",
                     model->memory_speed, "gpu_threads", model->gpu_threads, "curves", curves,
                     "extras", extras);
}

/* Returns whether the model replaces a line of the file: if it has a curve of the line's block size
 * and precision. A model of some classes only must also have the line's class. */
static bool replaces(const tess_model *model, const json_t *line)
{
    char name[TESS_MODEL_CLASS];
    int32_t block;
    tess_type type;
    if (!read_head(line, name, &block, &type))
        return true; /* damaged: not worth keeping */
    for (int64_t i = 0; i < model->curve_count; i++)
        if (model->curves[i].block == block && model->curves[i].type == type &&
            (!model->partial || strcmp(model->curves[i].name, name) == 0))
            return true;
    return false;
}

/* Adds to `fresh` what the file has of other block sizes and precisions. */
static void keep_others(const tess_model *model, const json_t *before, json_t *fresh)
{
    static const char *const lists[] = {"curves", "extras"};
    for (int i = 0; i < 2; i++) {
        size_t index;
        json_t *line;
        json_array_foreach(json_object_get(before, lists[i]), index,
                           line) if (!replaces(model, line))
            json_array_append(json_object_get(fresh, lists[i]), line);
    }
}

static tess_status edit(void *user, json_t *document, bool *changed)
{
    const tess_model *model = user;
    json_t *devices = json_object_get(document, models.object), *fresh = to_json(model);
    keep_others(model, json_object_get(devices, model->device), fresh);
    if (json_object_set_new(devices, model->device, fresh) != 0)
        return tess_fail(model->ctx, TESS_ERR_MEMORY, "model: no memory to write it");
    *changed = true;
    return TESS_OK;
}

tess_status tess_model_write(tess_ctx *ctx, const char *path, tess_model *model)
{
    return tess_kept_change(ctx, &models, path, model ? edit : NULL, model);
}

typedef struct scale_edit {
    tess_ctx *ctx;
    const char *device;
    const tess_model *model;
} scale_edit;

static tess_status edit_scale(void *user, json_t *document, bool *changed)
{
    const scale_edit *e = user;
    json_t *devices = json_object_get(document, models.object);
    json_t *scale = json_pack("[f,f]", e->model->scale.memory, e->model->scale.cache);
    json_t *entry = json_object_get(devices, e->device);
    json_t *fresh = json_is_object(entry) ? json_incref(entry) : json_object();
    if (json_object_set_new(fresh, "scale", scale) != 0 ||
        json_object_set_new(fresh, "scale_of", json_string(e->model->device)) != 0 ||
        json_object_set(devices, e->device, fresh) != 0) {
        json_decref(fresh);
        return tess_fail(e->ctx, TESS_ERR_MEMORY, "model: no memory to write it");
    }
    json_decref(fresh);
    *changed = true;
    return TESS_OK;
}

tess_status tess_model_write_scale(tess_ctx *ctx, const char *path, const char *device,
                                   const tess_model *model)
{
    scale_edit e = {ctx, device, model};
    return tess_kept_change(ctx, &models, path, edit_scale, &e);
}
