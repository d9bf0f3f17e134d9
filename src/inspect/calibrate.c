/* Measures, keeps and shows a part of a device's performance model. A tess_model_part is the
 * model's own struct. */
#include "calibrate/calibrate.h"
#include "inspect/inspect.h"
#include "plan/model/model.h"

static const tess_model *model_of(const tess_model_part *part)
{
    return (const tess_model *)part;
}

int tess_calibrate_blocks(const int32_t **blocks)
{
    if (blocks)
        *blocks = tess_model_blocks;
    return tess_model_block_count;
}

tess_status tess_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                           const char *classes, const char *path, tess_model_part **out)
{
    tess_model *model;
    TESS_NEED(device ? device->ctx : NULL, device && out);
    TESS_TRY(tess_check_type(device->ctx, type));
    if (block < 0 || block > TESS_CALIBRATE_BLOCK_MAX)
        return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                         "tess_calibrate: block size %d is not in 0 to %d", (int)block,
                         TESS_CALIBRATE_BLOCK_MAX);
    if (!(most >= 0))
        return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                         "tess_calibrate: products of at most %g bytes: pass a size, or 0", most);
    TESS_TRY(tess_refuse_complex(device->ctx, __func__, type));
    if (path) /* before minutes of measuring */
        TESS_TRY(tess_model_write(device->ctx, path, NULL));
    TESS_TRY(tess_model_calibrate(device, type, block, most, classes, &model));
    const tess_status status = path ? tess_model_write(device->ctx, path, model) : TESS_OK;
    return TESS_DELIVER_OR(status, (tess_model_part *)model, tess_model_destroy(model), out);
}

tess_status tess_calibrate_quick(tess_device *device, const char *path, double *memory,
                                 double *cache)
{
    tess_model_scale scale;
    TESS_NEED(device ? device->ctx : NULL, device && memory && cache);
    if (path)
        TESS_TRY(tess_model_write(device->ctx, path, NULL));
    TESS_TRY(tess_model_measure_scale(device, &scale));
    if (path)
        TESS_TRY(tess_model_write_scale(device->ctx, path, device->model, device->performance));
    *memory = scale.memory;
    *cache = scale.cache;
    return TESS_OK;
}

void tess_model_part_destroy(tess_model_part *part)
{
    tess_model_destroy((tess_model *)part);
}

int64_t tess_model_part_curves(const tess_model_part *part)
{
    return part ? model_of(part)->curve_count : 0;
}

int64_t tess_model_part_extras(const tess_model_part *part)
{
    return part ? model_of(part)->extra_count : 0;
}

static tess_status check_entry(const tess_model_part *part, const void *out, int64_t index,
                               int64_t count, const char *call)
{
    if (part && out && index >= 0 && index < count)
        return TESS_OK;
    return tess_fail(part ? model_of(part)->ctx : NULL, TESS_ERR_ARGUMENT,
                     "%s: an argument is NULL, or index %lld is outside 0..%lld", call,
                     (long long)index, (long long)count - 1);
}

tess_status tess_model_part_get_curve(const tess_model_part *part, int64_t index, size_t size,
                                      tess_model_curve_info *out)
{
    TESS_TRY(
        check_entry(part, out, index, tess_model_part_curves(part), "tess_model_part_get_curve"));
    const tess_model_curve *c = &model_of(part)->curves[index];
    const tess_model_curve_info info = {.name = c->name,
                                        .block = c->block,
                                        .type = c->type,
                                        .cached = c->cached,
                                        .points = c->points,
                                        .row_bytes = c->row_bytes,
                                        .step_seconds = c->step_seconds,
                                        .mu = c->average.mu,
                                        .sigma = c->average.sigma,
                                        .throughput = c->average.nu,
                                        .best_throughput = c->best.nu,
                                        .error = c->error};
    return tess_fill(out, size, &info, sizeof info);
}

tess_status tess_model_part_get_extra(const tess_model_part *part, int64_t index, size_t size,
                                      tess_model_extra_info *out)
{
    TESS_TRY(
        check_entry(part, out, index, tess_model_part_extras(part), "tess_model_part_get_extra"));
    const tess_model_extra *e = &model_of(part)->extras[index];
    const tess_model_extra_info info = {.name = e->name,
                                        .kind = tess_extra_names[e->kind],
                                        .block = e->block,
                                        .type = e->type,
                                        .share = e->kind == TESS_EXTRA_RESIDENT,
                                        .x_bytes = e->x_bytes,
                                        .value = e->seconds};
    return tess_fill(out, size, &info, sizeof info);
}
