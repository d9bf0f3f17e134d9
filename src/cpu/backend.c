/* "cpu" as a device. */
#include "cpu/ceiling.h"
#include "cpu/fields.h"
#include "cpu/formats.h"
#include "format/symmetric.h"

static tess_status open_device(tess_device *device, const char *rest)
{
    tess_ctx *ctx = device->ctx;
    if (rest) {
        int64_t threads;
        if (!tess_parse_int64(rest, &threads) || threads < 1 || threads > TESS_THREADS_MAX)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "device 'cpu:%s': after ':' comes a number of threads, 1..%d", rest,
                             TESS_THREADS_MAX);
        device->threads = (int)threads;
    }
    tess_cpu_device *cpu;
    TESS_TRY(TESS_CALLOC(ctx, 1, &cpu));
    tess_cpu_identify(&cpu->id);
    tess_status status = tess_cpu_isa_choose(ctx, &cpu->id, &cpu->isa);
    if (status != TESS_OK) {
        tess_free(ctx, cpu);
        return status;
    }
    device->state = cpu;
    snprintf(device->description, sizeof device->description, "cpu: %d thread%s, %s",
             device->threads, tess_plural(device->threads), tess_cpu_isa_name(cpu->isa));
    char name[96];
    tess_cpu_name(name, sizeof name);
    snprintf(device->model, sizeof device->model, "cpu, %d thread%s, %s, %s", device->threads,
             tess_plural(device->threads), tess_cpu_isa_name(cpu->isa), name);
    device->cache_bytes =
        0.6 * (double)cpu->id.l3_bytes + (double)cpu->id.l2_bytes * device->threads;
    return TESS_OK;
}

static void close_device(tess_device *device)
{
    tess_cpu_forget_reading(device);
    tess_free(device->ctx, device->state);
}

static void release(tess_plan *plan)
{
    tess_cpu_plan_destroy(plan->state);
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    const tess_cpu_format *format;
    TESS_TRY(tess_cpu_format_named(plan->ctx, options->format, &format));
    if (!format->complex) {
        char what[64];
        snprintf(what, sizeof what, "device 'cpu': format '%s'", format->name);
        TESS_TRY(tess_refuse_complex(plan->ctx, what, plan->matrix->type));
    }
    TESS_TRY(format->prepare(plan, options));
    ((tess_cpu_plan *)plan->state)->format = format;
    snprintf(plan->format, sizeof plan->format, "%s", format->name);
    return TESS_OK;
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    tess_cpu_spmv(plan->state, alpha, x, beta, y);
    return TESS_OK;
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    *dot = tess_cpu_spmv_dot(plan->state, alpha, x, beta, y, w ? w : y);
    return TESS_OK;
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    *dot = tess_cpu_dot(plan->state, x, y);
    return TESS_OK;
}

static const tess_complex_products complex_products = {tess_cpu_complex_spmv, tess_cpu_complex_spmm,
                                                       tess_cpu_complex_dot};

static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_cpu_plan *state = plan->state;
    state->matrix.values = (void *)(uintptr_t)values; /* only ever read */
    state->transpose_stale = true;
    return state->format->update_values ? state->format->update_values(plan, values) : TESS_OK;
}

static void explain(tess_plan *plan)
{
    ((const tess_cpu_plan *)plan->state)->format->explain(plan);
}

const tess_backend tess_cpu_backend = {
    .name = "cpu",
    .kernels = tess_cpu_kernel_hash,
    .stores_half = tess_symmetric_holds,
    .open = open_device,
    .close = close_device,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = tess_cpu_spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = tess_cpu_spmm,
    .fields_open = tess_cpu_fields_open,
    .fields_multiply = tess_cpu_fields_multiply,
    .complex = &complex_products,
    .update_values = update_values,
    .explain = explain,
    .candidates = tess_cpu_candidates,
    .costs = tess_cpu_costs,
    .read_ceiling = tess_cpu_read_ceiling,
    .read_samples = tess_cpu_read_samples,
};
