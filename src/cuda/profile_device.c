/* "profile:h200": a GPU that is not here. Kernels, layouts and bytes follow from the tables, times
 * from the built-in performance model. Such a device only predicts what a matrix would cost. */
#include "cuda/plan/choice/choose.h"
#include "cuda/profile_device.h"
#include "cuda/solve/space.h"

/* What a driver would say of it; each has a file of this name in profiles/. */
static const struct known_gpu {
    const char *name, *model;
    int sm, multiprocessors, threads_per_multiprocessor;
    size_t shared_bytes, l2_bytes, memory_bytes;
    double memory_speed;
} known[] = {
    {"h200", "NVIDIA H200", 90, 132, 2048, 227 << 10, 60 << 20, (size_t)140 << 30, 4.814304e12},
};
enum { KNOWN = sizeof known / sizeof known[0] };

const char *tess_profile_name(int i)
{
    return i < KNOWN ? known[i].name : NULL;
}

static tess_status open_profile(tess_device *device, const char *rest)
{
    const char *names[KNOWN];
    const struct known_gpu *gpu = NULL;
    for (int i = 0; i < KNOWN; i++) {
        names[i] = known[i].name;
        if (rest && strcmp(rest, known[i].name) == 0)
            gpu = &known[i];
    }
    if (!gpu)
        return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                         "device 'profile%s%s': no such profile (%s)", rest ? ":" : "",
                         rest ? rest : "",
                         tess_suggest(&(tess_suggestion){""}, rest ? rest : "", names, KNOWN));
    tess_cuda *cuda;
    TESS_TRY(TESS_ALLOC(device->ctx, 1, &cuda));
    *cuda = (tess_cuda){.ctx = device->ctx,
                        .sm = gpu->sm,
                        .multiprocessors = gpu->multiprocessors,
                        .threads_per_multiprocessor = gpu->threads_per_multiprocessor,
                        .shared_bytes = gpu->shared_bytes,
                        .l2_bytes = gpu->l2_bytes,
                        .memory_bytes = gpu->memory_bytes,
                        .memory_speed = gpu->memory_speed};
    snprintf(cuda->name, sizeof cuda->name, "profile:%s", gpu->name);
    device->state = cuda;
    device->threads = 0;
    tess_cuda_name_model(device, gpu->model);
    snprintf(device->description, sizeof device->description,
             "%s: %s, %d SMs, not here: for predictions", cuda->name, gpu->model,
             gpu->multiprocessors);
    return TESS_OK;
}

static void close_profile(tess_device *device)
{
    tess_free(device->ctx, device->state);
}

static tess_status refuse(tess_plan *plan, const tess_plan_options *options)
{
    (void)options;
    return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                     "device '%s' is known by its performance model only: it can be predicted "
                     "(tess_predict, `tessera predict`), not run",
                     tess_cuda_of(plan->device)->name);
}

const tess_backend tess_profile_backend = {
    .name = "profile",
    .open = open_profile,
    .close = close_profile,
    .prepare = refuse,
    .candidates = tess_cuda_candidates,
    .costs = tess_cuda_costs,
    .shapes_in_slices = true,
    .solves_at_once = tess_cuda_solves_at_once,
};
