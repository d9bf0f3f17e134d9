/* Measures how far a stand-in's predictions are off for this device: a few products in the cache
 * and from memory are compared with the model. This takes a second or two instead of a
 * calibration's minutes, not counting the compilation of a GPU's kernels. */
#include "calibrate/samples.h"

enum { KERNELS = 2 }; /* measured per matrix: the two classes that the model ranks first */
static const double budget_seconds = 1.3, most_bytes = 4e8;

/* The mean of the logarithms of predicted over measured times. */
typedef struct mean_ratio {
    double logs;
    int count;
} mean_ratio;

static double factor_of(const mean_ratio *r)
{
    return r->count > 0 ? exp(r->logs / r->count) : 1;
}

static tess_status compare(tess_calibration *c, const tess_matrix *A, mean_ratio *ratio)
{
    static const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_candidates list = {0};
    double *x = NULL, *y = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(c->ctx, A->cols, &x));
    TESS_TRY_CLEAN(TESS_CALLOC(c->ctx, A->rows, &y));
    TESS_TRY_CLEAN(tess_candidates_list(c->device, A, &product, &list));
    tess_random_vector(x, A->cols, c->type);
    for (int64_t i = 0, tried = 0; i < list.count && tried < KERNELS; i++) {
        const tess_candidate *candidate = &list.items[i];
        double seconds;
        if (!(candidate->predicted > 0) || !tess_first_of_class(&list, i))
            continue;
        TESS_TRY_CLEAN(tess_sample_spmv(c->device, A, candidate, x, y, &seconds));
        tess_log(c->ctx, "calibrate: %s b = %d, %.4g bytes: %.4g s, predicted %.4g s",
                 candidate->kernel, (int)A->block_height, candidate->bytes, seconds,
                 candidate->predicted);
        ratio->logs += log(candidate->predicted / seconds);
        ratio->count++;
        tried++;
    }
cleanup:
    tess_candidates_free(c->ctx, &list);
    TESS_FREE(c->ctx, x, y);
    return status;
}

/* Measures the cubes, in the cache and from memory in turn, until the time is spent. */
static tess_status measure(tess_calibration *c, mean_ratio ratios[2])
{
    static const struct {
        int points, block;
    } cubes[] = {{27, 3}, {7, 1}, {27, 8}, {7, 4}};
    enum { CUBES = sizeof cubes / sizeof cubes[0] };
    const double start = tess_seconds(), cache = c->model->cache_bytes;
    const double memory = 1.2 * TESS_CACHE_GONE * cache;
    const double bytes[2] = {0.6 * TESS_CACHE_KEPT * cache, tess_min(memory, most_bytes)};
    for (int i = 0; i < 2 * CUBES; i++) {
        int points = cubes[i / 2].points, b = cubes[i / 2].block, cached = i % 2 == 1;
        double row = points * (4 + (double)tess_type_size(c->type) * b * b);
        int n = (int)(cbrt(bytes[!cached] / row) + 0.5);
        tess_matrix *A;
        if (i >= 2 && tess_seconds() - start > budget_seconds)
            break;
        TESS_TRY(tess_calibration_cube(c, points, b, tess_max(3, n), &A));
        tess_status status = compare(c, A, &ratios[cached]);
        tess_matrix_destroy(A);
        TESS_TRY(status);
    }
    return TESS_OK;
}

tess_status tess_model_measure_scale(tess_device *device, tess_model_scale *out)
{
    if (!tess_device_performance(device))
        return tess_fail(device->ctx, TESS_ERR_UNSUPPORTED,
                         "no model stands in for device '%s': `tessera calibrate` makes one where "
                         "it can be measured",
                         device->backend->name);
    tess_model *model = device->performance;
    tess_calibration c = {.ctx = device->ctx, .device = device, .type = TESS_F64, .model = model};
    mean_ratio ratios[2] = {{0}};
    if (!model->stand_in)
        return tess_fail(device->ctx, TESS_ERR_UNSUPPORTED,
                         "'%s' has a model of its own, which needs no scale: `tessera calibrate` "
                         "without --quick measures it again",
                         device->model);
    TESS_TRY(measure(&c, ratios));
    const tess_model_scale more = {factor_of(&ratios[0]), factor_of(&ratios[1])};
    tess_model_rescale(model, &more);
    model->scale.memory *= more.memory;
    model->scale.cache *= more.cache;
    *out = model->scale;
    return TESS_OK;
}
