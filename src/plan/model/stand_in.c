/* A model of another device, fitted to one that was never calibrated.
 *
 * Paper 004 has a GPU's throughput as nu / (1 + exp(-(log2 x - mu) / sigma)), in elements x. Half
 * of nu is reached when every thread that the GPU holds moves 8 elements, about an eighth of nu at
 * 1 element and seven eighths at 64 (eq. 4 and 5, for P multiprocessors of T threads):
 *
 *     mu    = log2(8 P T)                          moves with log2 of P T
 *     sigma = (mu - log2(P T)) / 2 = log2(8) / 2   is the same for every GPU
 *
 * The curves of the device that stands in have mu and sigma of their own, fitted kernel by kernel.
 * The device at hand has other threads: their mu moves as eq. 4's does, their sigma stays. So do
 * those of a CPU, for which mu stands for starting threads and for barriers.
 */
#include "plan/model/model.h"

/* Extras that all multiprocessors or threads share; the others are of one launch or one thread. */
static bool is_shared(tess_extra_kind kind)
{
    return kind == TESS_EXTRA_CHANGE || kind == TESS_EXTRA_ALONE || kind == TESS_EXTRA_FAR;
}

void tess_model_rescale(tess_model *model, const tess_model_scale *scale)
{
    for (int64_t i = 0; i < model->curve_count; i++) {
        tess_model_curve *c = &model->curves[i];
        double times = c->cached ? scale->cache : scale->memory;
        if (strcmp(c->name, TESS_MODEL_COPIES) == 0)
            continue;
        c->average.nu *= times;
        c->best.nu *= times;
        c->step_seconds /= times;
    }
    for (int64_t i = 0; i < model->extra_count; i++)
        if (is_shared(model->extras[i].kind))
            model->extras[i].seconds /= scale->memory;
}

/* The number after the first comma, as in "cpu, 2 threads"; 1 where there is none. */
static double threads_of(const char *model)
{
    const char *comma = strchr(model, ',');
    double threads = comma ? strtod(comma + 1, NULL) : 0;
    return tess_max(threads, 1);
}

static double ratio(double ours, double theirs)
{
    return ours > 0 && theirs > 0 ? ours / theirs : 1;
}

/* The shares of data that stay in a cache go with its size. So do the sizes of x from which blocks
 * out of reach of the rows before find x in a cache no more. */
static void take_cache(tess_model *model, double cache_bytes)
{
    double times = ratio(cache_bytes, model->cache_bytes);
    model->cache_bytes = cache_bytes > 0 ? cache_bytes : model->cache_bytes;
    for (int64_t i = 0; i < model->extra_count; i++)
        if (model->extras[i].kind == TESS_EXTRA_RESIDENT || model->extras[i].kind == TESS_EXTRA_FAR)
            model->extras[i].x_bytes *= times;
}

/* A device with `times` as many threads takes as long for `times` as many bytes: each thread has
 * the same work, waits as often, and meets the same barriers. */
static void take_threads(tess_model *model, double times)
{
    for (int64_t i = 0; i < model->curve_count; i++) {
        tess_model_curve *c = &model->curves[i];
        if (strcmp(c->name, TESS_MODEL_COPIES) == 0)
            continue;
        c->average.mu += log2(times);
        c->best.mu += log2(times);
        c->average.nu *= times;
        c->best.nu *= times;
        for (int k = 0; k < c->sizes.count; k++)
            c->sizes.point[k].at *= times;
    }
    for (int64_t i = 0; i < model->extra_count; i++)
        if (is_shared(model->extras[i].kind))
            model->extras[i].seconds /= times;
}

void tess_model_stand_in(tess_model *model, const tess_device *device)
{
    model->stand_in = true;
    take_cache(model, device->cache_bytes);
    if (model->gpu) {
        const double threads = ratio(device->gpu_threads, model->gpu_threads);
        const double memory = ratio(device->memory_speed, model->memory_speed);
        take_threads(model, threads);
        tess_model_rescale(model, &(tess_model_scale){memory / threads, 1});
    } else {
        take_threads(model, threads_of(device->model) / threads_of(model->device));
    }
}

/* ---- Learning ---- */

/* By how much the throughput of the place that the data come from is off. Both 1: too little to
 * matter, too much to be believed, or the data come from both places. */
static tess_model_scale missed_by(const tess_model *model, const tess_matrix *A,
                                  const tess_candidate *candidate, double seconds)
{
    static const double least = 0.05, most = 10;
    tess_model_problem problem = tess_model_problem_of(A);
    tess_model_problem_take(&problem, candidate);
    const tess_model_load load = {.name = problem.name,
                                  .block = problem.block,
                                  .type = problem.type,
                                  .bytes = problem.bytes,
                                  .working = problem.bytes};
    double share = tess_model_resident_share(model, &load), off = candidate->predicted / seconds;
    bool in = share > 0.9, out = share < 0.1;
    double old = in ? model->scale.cache : model->scale.memory;
    if (fabs(log(off)) < least || fabs(log(off)) > log(most) || in == out)
        return (tess_model_scale){1, 1};
    off = old == 1 ? off : sqrt(off);
    return in ? (tess_model_scale){1, off} : (tess_model_scale){off, 1};
}

void tess_model_learn(tess_device *device, const tess_matrix *A, const tess_candidate *candidate,
                      double seconds)
{
    tess_model *model = device->performance;
    char path[4096];
    if (!model || !model->stand_in || !(candidate->predicted > 0) || !(seconds > 0))
        return;
    const tess_model_scale more = missed_by(model, A, candidate, seconds);
    if (more.memory == 1 && more.cache == 1)
        return;
    tess_model_rescale(model, &more);
    model->scale.memory *= more.memory;
    model->scale.cache *= more.cache;
    tess_kept_error kept = tess_error_keep(device->ctx);
    if (tess_model_path(device->ctx, path, sizeof path) &&
        tess_model_write_scale(device->ctx, path, device->model, model) != TESS_OK) {
        tess_log(device->ctx, "model: %s", device->ctx->error); /* a model is a hint */
        tess_error_restore(device->ctx, &kept);
    }
}
