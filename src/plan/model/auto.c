/* "auto": the CPU or the first GPU, whichever the model predicts to be faster for a product of host
 * vectors. */
#include "plan/model/model.h"

/* Seconds of one product with A whose vectors are in host memory; 0: not known. */
static double predicted_product(tess_device *device, const tess_matrix *A)
{
    static const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_candidates list = {0};
    double seconds = 0;
    if (tess_candidates_list(device, A, &product, &list) == TESS_OK && list.count > 0)
        seconds = list.items[0].predicted;
    tess_candidates_free(device->ctx, &list);
    if (!(seconds > 0) || !device->backend->memory_copy_to)
        return seconds;
    double bytes = (double)(A->rows + A->cols) * (double)tess_type_size(A->type);
    tess_model_load copies = {.name = TESS_MODEL_COPIES, .type = A->type, .bytes = bytes};
    double moving = tess_model_seconds(device->performance, &copies, false);
    return moving > 0 ? seconds + moving : 0;
}

/* Returns whether the product is predicted to take no longer on the host, and writes why to
 * `reason`. False also where the model cannot tell. */
static bool sooner_on_host(tess_device *host, tess_device *gpu, const tess_matrix *A, char *reason,
                           size_t size)
{
    double on_host = predicted_product(host, A), on_gpu = predicted_product(gpu, A);
    if (!(on_host > 0) || !(on_gpu > 0)) {
        snprintf(reason, size, "auto: there is a GPU, and no model that says it is slower");
        return false;
    }
    snprintf(reason, size, "auto: %.3g ms per product predicted here, %.3g ms on the %s",
             1e3 * tess_min(on_host, on_gpu), 1e3 * tess_max(on_gpu, on_host),
             on_host < on_gpu ? "GPU with its vectors copied" : "CPU");
    return on_host <= on_gpu;
}

tess_status tess_device_open_for(tess_ctx *ctx, const char *name, const tess_matrix *A,
                                 tess_device **out)
{
    if (!ctx || !name || !out)
        return tess_null_argument(ctx, __func__);
    if (strcmp(name, "auto") != 0 || !A)
        return tess_device_open(ctx, name, out);
    if (tess_is_complex(A->type)) /* the model has no curve of complex kernels */
        return tess_device_open(ctx, "cpu", out);
    tess_device *gpu, *host;
    tess_kept_error kept = tess_error_keep(ctx);
    tess_status status = tess_device_open(ctx, "cuda", &gpu);
    if (status != TESS_OK) {
        tess_log(ctx, "auto: cpu, as %s", ctx->error);
        tess_error_restore(ctx, &kept);
        return tess_device_open(ctx, "cpu", out);
    }
    status = tess_device_open(ctx, "cpu", &host);
    if (status != TESS_OK) {
        tess_device_close(gpu);
        return status;
    }
    char reason[sizeof host->reason];
    bool stay = sooner_on_host(host, gpu, A, reason, sizeof reason);
    tess_error_restore(ctx, &kept);
    tess_device_close(stay ? gpu : host);
    *out = stay ? host : gpu;
    memcpy((*out)->reason, reason, sizeof reason);
    tess_log(ctx, "%s: %s", (*out)->backend->name, reason);
    return TESS_OK;
}
