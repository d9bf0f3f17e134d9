/* Models on disk: {"tessera_model": 1, "devices": {MODEL: {"cache_bytes", "curves": [...]}}}. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/model.h"
#include "plan/wisdom.h"

enum { VERSION = 1 };

bool tess_model_path(char *path, size_t size)
{
    if (!tess_wisdom_enabled() || !tess_wisdom_path(path, size))
        return false;
    char *slash = strrchr(path, '/');
    char *name = slash ? slash + 1 : path;
    int length = snprintf(name, size - (size_t)(name - path), "model.json");
    return length > 0 && (size_t)length < size - (size_t)(name - path);
}

/* The document of a file, an empty one when there is none or it is not ours. */
static json_t *load(const char *path)
{
    json_t *document = json_load_file(path, 0, NULL);
    if (json_integer_value(json_object_get(document, "tessera_model")) == VERSION &&
        json_is_object(json_object_get(document, "devices")))
        return document;
    json_decref(document);
    return json_pack("{s:i, s:{}}", "tessera_model", VERSION, "devices");
}

static bool read_sigmoid(json_t *value, tess_sigmoid *s)
{
    return json_unpack(value, "{s:F, s:F, s:F}", "mu", &s->mu, "sigma", &s->sigma, "nu", &s->nu) ==
               0 &&
           s->sigma > 0 && s->nu > 0;
}

static bool read_curve(json_t *value, tess_model_curve *curve)
{
    json_t *average, *best;
    int block, cached;
    const char *type;
    if (json_unpack(value, "{s:i, s:s, s:b, s:i, s:F, s:o, s:o}", "block", &block, "type", &type,
                    "cached", &cached, "points", &curve->points, "error", &curve->error, "average",
                    &average, "best", &best) != 0)
        return false;
    curve->block = block;
    curve->cached = cached != 0;
    curve->type = strcmp(type, "f32") == 0 ? TESS_F32 : TESS_F64;
    return block >= 0 && read_sigmoid(average, &curve->average) && read_sigmoid(best, &curve->best);
}

tess_status tess_model_read(tess_ctx *ctx, const char *path, const char *device, tess_model *out)
{
    json_t *document = load(path);
    json_t *entry = json_object_get(json_object_get(document, "devices"), device);
    json_t *curves = json_object_get(entry, "curves"), *value;
    tess_model model = {.cache_bytes = json_number_value(json_object_get(entry, "cache_bytes"))};
    snprintf(model.device, sizeof model.device, "%s", device);
    size_t index;
    json_array_foreach(curves, index, value)
    {
        if (model.count < TESS_MODEL_CURVES && read_curve(value, &model.curves[model.count]))
            model.count++;
    }
    json_decref(document);
    if (model.count == 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "no model of '%s' in %s: `tessera calibrate` makes one", device, path);
    *out = model;
    return TESS_OK;
}

static json_t *write_sigmoid(const tess_sigmoid *s)
{
    return json_pack("{s:f, s:f, s:f}", "mu", s->mu, "sigma", s->sigma, "nu", s->nu);
}

tess_status tess_model_write(tess_ctx *ctx, const char *path, const tess_model *model)
{
    json_t *document = load(path), *curves = json_array();
    for (int i = 0; i < model->count; i++) {
        const tess_model_curve *c = &model->curves[i];
        json_array_append_new(
            curves, json_pack("{s:i, s:s, s:b, s:i, s:f, s:o, s:o}", "block", (int)c->block, "type",
                              tess_type_name(c->type), "cached", (int)c->cached, "points",
                              c->points, "error", c->error, "average", write_sigmoid(&c->average),
                              "best", write_sigmoid(&c->best)));
    }
    json_object_set_new(
        json_object_get(document, "devices"), model->device,
        json_pack("{s:f, s:o}", "cache_bytes", model->cache_bytes, "curves", curves));
    tess_status status = document ? tess_json_write(ctx, path, document)
                                  : tess_fail(ctx, TESS_ERR_MEMORY, "%s: no memory", path);
    json_decref(document);
    return status;
}
