/* "cpu" as a device. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"

/* Bytes of a share below which another thread costs more than it gains. */
enum { LEAST_SHARE_BYTES = 64 * 1024 };

static tess_status open_device(tess_device *device, const char *rest)
{
    tess_ctx *ctx = device->ctx;
    if (rest) {
        int64_t threads;
        if (!tess_parse_int64(rest, &threads) || threads < 1 || threads > 65536)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "device 'cpu:%s': after ':' comes a number of threads, 1..65536",
                             rest);
        device->threads = (int)threads;
    }
    tess_cpu_device *cpu;
    TESS_TRY(TESS_ALLOC(ctx, 1, &cpu));
    tess_cpu_identify(&cpu->id);
    tess_status status = tess_cpu_isa_choose(ctx, &cpu->id, &cpu->isa);
    if (status != TESS_OK) {
        tess_free(ctx, cpu);
        return status;
    }
    device->state = cpu;
    snprintf(device->description, sizeof device->description, "cpu: %d thread%s, %s",
             device->threads, device->threads == 1 ? "" : "s", tess_cpu_isa_name(cpu->isa));
    return TESS_OK;
}

static void close_device(tess_device *device)
{
    tess_free(device->ctx, device->state);
}

static void release(tess_plan *plan)
{
    tess_cpu_plan *state = plan->state;
    tess_cpu_work_destroy(&state->work);
    tess_free(plan->ctx, state->piece_sums);
    tess_free(plan->ctx, state->padded_x);
    tess_free(plan->ctx, state->partial_dots);
    tess_free(plan->ctx, state);
}

static tess_status allocate_scratch(tess_ctx *ctx, tess_cpu_plan *state)
{
    const tess_matrix *A = &state->matrix;
    size_t scalar = tess_type_size(A->type);
    TESS_TRY(
        tess_alloc_bytes(ctx, state->work.pieces * A->block_height, scalar, &state->piece_sums));
    TESS_TRY(TESS_ALLOC(ctx, tess_ceil_div(A->rows, TESS_CPU_DOT_CHUNK), &state->partial_dots));
    if (A->cols % A->block_width != 0)
        TESS_TRY(tess_calloc_bytes(ctx, A->block_cols * A->block_width, scalar, &state->padded_x));
    return TESS_OK;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    if (options->format && strcmp(options->format, "bsr") != 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "device 'cpu' has no format '%s' (nearest: 'bsr')", options->format);
    if (options->params && *options->params)
        return tess_fail(ctx, TESS_ERR_OPTION, "device 'cpu': kernels take no parameters, got '%s'",
                         options->params);
    const tess_cpu_kernel *kernel;
    TESS_TRY(tess_cpu_select(plan->device, A, options->kernel, &kernel));

    tess_cpu_plan *state;
    TESS_TRY(TESS_ALLOC(ctx, 1, &state));
    *state = (tess_cpu_plan){.matrix = *A, .kernel = kernel, .work = {.ctx = ctx}};
    double most_shares = tess_matrix_spmv_bytes(A) / LEAST_SHARE_BYTES;
    int shares = most_shares < 2                       ? 1
                 : most_shares < plan->device->threads ? (int)most_shares
                                                       : plan->device->threads;
    plan->state = state;
    tess_status status = tess_cpu_work_create(ctx, A, shares, kernel->streams, &state->work);
    if (status == TESS_OK)
        status = allocate_scratch(ctx, state);
    if (status != TESS_OK) {
        release(plan);
        return status;
    }
    snprintf(plan->format, sizeof plan->format, "bsr");
    snprintf(plan->kernel, sizeof plan->kernel, "%s", kernel->name);
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
    tess_cpu_spmv(plan->state, alpha, x, beta, y);
    *dot = tess_cpu_dot(plan->state, w ? w : y, y);
    return TESS_OK;
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_cpu_plan *state = plan->state;
    state->matrix.values = (void *)(uintptr_t)values; /* only ever read */
    return TESS_OK;
}

static void explain(tess_plan *plan)
{
    const tess_cpu_plan *state = plan->state;
    size_t used = strlen(plan->explain);
    snprintf(plan->explain + used, sizeof plan->explain - used,
             "threads %d, %d stream%s each, %lld long rows in %lld pieces\n", state->work.shares,
             state->work.streams, state->work.streams == 1 ? "" : "s",
             (long long)state->work.long_count, (long long)state->work.pieces);
}

static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    if (product->kind != TESS_PRODUCT_SPMV)
        return TESS_OK;
    const tess_cpu_device *cpu = device->state;
    const tess_cpu_kernel_table *table = tess_cpu_table(cpu->isa);
    const tess_cpu_kernel *best;
    TESS_TRY(tess_cpu_select(device, A, NULL, &best));
    for (int round = 0; round < 2; round++) { /* the best first */
        for (size_t i = 0; i < table->count; i++) {
            const tess_cpu_kernel *kernel = &table->kernels[i];
            if (!tess_cpu_kernel_applies(kernel, A) || (kernel == best) != (round == 0))
                continue;
            tess_candidate candidate = {.format = "bsr"};
            snprintf(candidate.kernel, sizeof candidate.kernel, "%s", kernel->name);
            TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
        }
    }
    return TESS_OK;
}

static tess_status read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    return tess_cpu_read_ceiling(device->ctx, device->threads, bytes, bytes_per_second);
}

const tess_backend tess_cpu_backend = {
    .name = "cpu",
    .open = open_device,
    .close = close_device,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_dot = spmv_dot,
    .update_values = update_values,
    .explain = explain,
    .candidates = candidates,
    .read_ceiling = read_ceiling,
};
