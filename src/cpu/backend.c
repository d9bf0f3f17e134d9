/* "cpu" as a device. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"
#include "format/symmetric.h"
#include "backend/shapes.h"
#include "plan/wisdom/wisdom.h"

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
    TESS_TRY(TESS_CALLOC(ctx, 1, &cpu));
    tess_cpu_identify(&cpu->id);
    tess_status status = tess_cpu_isa_choose(ctx, &cpu->id, &cpu->isa);
    if (status != TESS_OK) {
        tess_free(ctx, cpu);
        return status;
    }
    device->state = cpu;
    snprintf(device->description, sizeof device->description, "cpu: %d thread%s, %s",
             device->threads, device->threads == 1 ? "" : "s", tess_cpu_isa_name(cpu->isa));
    char name[96];
    tess_cpu_name(name, sizeof name);
    snprintf(device->model, sizeof device->model, "cpu, %d thread%s, %s, %s", device->threads,
             device->threads == 1 ? "" : "s", tess_cpu_isa_name(cpu->isa), name);
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

/* Format fbcsr: the parameters are the shapes. */
static tess_status prepare_fbcsr(tess_plan *plan, const tess_plan_options *options)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    char text[TESS_SHAPES_TEXT] = "";
    const tess_option table[] = {
        {.key = "shapes", .kind = TESS_OPTION_TEXT, .target = text, .size = sizeof text}};
    tess_fbcsr_options shapes;
    tess_cpu_isa isa;
    tess_cpu_plan *state;
    if (A->block_height != 1 || A->block_width != 1)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "format fbcsr is made from 1 x 1 blocks, the matrix has %d x %d",
                         (int)A->block_height, (int)A->block_width);
    TESS_TRY(tess_options_parse(ctx, "fbcsr", options->params, table, 1));
    TESS_TRY(tess_cpu_fbcsr_named(plan->device, A->type, options->kernel, &isa));
    TESS_TRY(tess_shapes_choose(ctx, A, text, plan->device->backend, &shapes));
    tess_shapes_write(&shapes, text, sizeof text);
    TESS_TRY(tess_cpu_plan_create_fbcsr(plan->device, A, &shapes, isa, &state));
    plan->state = state;
    snprintf(plan->format, sizeof plan->format, "fbcsr");
    tess_cpu_fbcsr_kernel_name(isa, A->type, plan->kernel, sizeof plan->kernel);
    snprintf(plan->params, sizeof plan->params, "shapes=%s", text);
    return TESS_OK;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    static const char *const formats[] = {"bsr", "symmetric", "fbcsr"};
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    const char *format = options->format ? options->format : "bsr";
    const bool symmetric = strcmp(format, "symmetric") == 0;
    if (strcmp(format, "fbcsr") == 0)
        return prepare_fbcsr(plan, options);
    if (!symmetric && strcmp(format, "bsr") != 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "device 'cpu' has no format '%s' (%s)", format,
                         tess_suggest(&(tess_suggestion){""}, format, formats, 3));
    if (options->params && *options->params)
        return tess_fail(ctx, TESS_ERR_OPTION, "device 'cpu': kernels take no parameters, got '%s'",
                         options->params);
    const tess_cpu_kernel *named = NULL;
    if (options->kernel)
        TESS_TRY(tess_cpu_named(plan->device, format, A, options->kernel, &named));
    tess_cpu_plan *state;
    TESS_TRY(tess_cpu_plan_create(plan->device, A, named, symmetric, options->reproducible != 0,
                                  &state));
    plan->state = state;
    tess_cpu_family family = symmetric ? TESS_CPU_SYMMETRIC_SPMV : TESS_CPU_BSR_SPMV;
    snprintf(plan->format, sizeof plan->format, "%s", format);
    snprintf(plan->kernel, sizeof plan->kernel, "%s",
             named ? named->name : state->kernels[family]->name);
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

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return tess_cpu_spmv_transpose(plan->device, plan->state, alpha, x, beta, y);
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    return tess_cpu_spmm(plan->state, k, order, alpha, X, ldx, beta, Y, ldy);
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_cpu_plan *state = plan->state;
    state->matrix.values = (void *)(uintptr_t)values; /* only ever read */
    state->transpose_stale = true;
    if (state->fbcsr)
        tess_fbcsr_refresh(state->fbcsr->F, state->fbcsr->sources, values);
    if (!state->half)
        return TESS_OK;
    tess_status status = tess_cpu_half_refresh(state->half);
    if (status == TESS_ERR_MATRIX) { /* right in any case, if slower */
        tess_log(plan->ctx, "%s: stored whole from now on", tess_ctx_error(plan->ctx));
        tess_cpu_half_destroy(state->half);
        state->half = NULL;
        snprintf(plan->format, sizeof plan->format, "bsr");
        snprintf(plan->kernel, sizeof plan->kernel, "%s", state->kernels[TESS_CPU_BSR_SPMV]->name);
        return TESS_OK;
    }
    return status;
}

/* The splits: shape, blocks, and how much of the matrix is in them. */
static void explain_fbcsr(tess_plan *plan, const tess_cpu_fbcsr *state)
{
    const tess_fbcsr *F = state->F;
    size_t used = strlen(plan->explain), size = sizeof plan->explain;
    double nonzeros = F->nonzeros > 0 ? (double)F->nonzeros : 1;
    used += (size_t)snprintf(plan->explain + used, size - used, "stores  %.3g MB in %d splits\n",
                             1e-6 * (double)tess_fbcsr_bytes(F), F->splits);
    for (int i = 0; i < F->splits && used < size; i++) {
        const tess_fbcsr_split *split = &F->split[i];
        used += (size_t)snprintf(
            plan->explain + used, size - used,
            "        %-14s %10lld blocks, %5.1f %% of the non-zeros, fill %.2f, %s\n",
            split->shape.name, (long long)split->blocks, 100 * (double)split->nonzeros / nonzeros,
            (double)split->nonzeros / (double)(split->blocks * tess_shape_cells(&split->shape)),
            state->kernels[i]->name);
    }
    if (used < size)
        snprintf(plan->explain + used, size - used,
                 "        %-14s %10lld, %5.1f %% of the non-zeros, %s\n"
                 "threads %d, %lld chunks of rows\n",
                 "csr", (long long)F->rest->blocks, 100 * (double)F->rest->blocks / nonzeros,
                 state->rest->name, state->shares, (long long)state->chunks);
}

static void explain(tess_plan *plan)
{
    const tess_cpu_plan *state = plan->state;
    size_t used = strlen(plan->explain);
    if (state->fbcsr) {
        explain_fbcsr(plan, state->fbcsr);
        return;
    }
    if (state->half) {
        snprintf(plan->explain + used, sizeof plan->explain - used,
                 "stores  %.3g MB, half of the matrix\nthreads %d, %lld chunks of rows\n",
                 1e-6 * (double)tess_cpu_half_bytes(state->half), state->half->shares,
                 (long long)state->half->chunk_count);
        return;
    }
    snprintf(plan->explain + used, sizeof plan->explain - used,
             "threads %d, %d stream%s each, %lld long rows in %lld pieces\n", state->work.shares,
             state->work.streams, state->work.streams == 1 ? "" : "s",
             (long long)state->work.long_count, (long long)state->work.pieces);
}

/* The kernels of a family, the best first; only that one if `one`. */
static tess_status add_family(tess_device *device, const tess_matrix *A, tess_cpu_family family,
                              bool one, tess_candidates *list)
{
    const tess_cpu_kernel_table *table = tess_cpu_family_table(device, family);
    const tess_cpu_kernel *best = tess_cpu_best(device, family, A);
    for (int round = 0; round < (one ? 1 : 2); round++) {
        for (size_t i = 0; i < table->count; i++) {
            const tess_cpu_kernel *kernel = &table->kernels[i];
            if (!tess_cpu_kernel_applies(kernel, family, A) || (kernel == best) != (round == 0))
                continue;
            if (kernel->lanes > 0 && !tess_cpu_lanes_pay(kernel, A))
                continue;
            tess_candidate candidate = {0};
            snprintf(candidate.format, sizeof candidate.format, "%s",
                     tess_cpu_family_format(family));
            snprintf(candidate.kernel, sizeof candidate.kernel, "%s", kernel->name);
            TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
        }
    }
    return TESS_OK;
}

/* One candidate, if a look at the matrix says that it may hold something. */
static tess_status add_fbcsr(tess_device *device, const tess_matrix *A, const tess_product *product,
                             tess_candidates *list)
{
    const tess_cpu_device *cpu = device->state;
    tess_candidate candidate = {.format = "fbcsr"};
    tess_fbcsr_options shapes;
    char text[TESS_SHAPES_TEXT];
    if (!product->shapes)
        return TESS_OK;
    TESS_TRY(tess_shapes_look(device->ctx, A, device->backend, &shapes));
    if (shapes.count == 0)
        return TESS_OK;
    tess_shapes_write(&shapes, text, sizeof text);
    tess_cpu_fbcsr_kernel_name(cpu->isa, A->type, candidate.kernel, sizeof candidate.kernel);
    snprintf(candidate.params, sizeof candidate.params, "shapes=%s", text);
    tess_shapes_price(&shapes, A, device->backend, &candidate);
    return tess_candidates_add(device->ctx, list, &candidate);
}

static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    switch (product->kind) {
    case TESS_PRODUCT_SPMM:
        TESS_TRY(add_family(device, A, TESS_CPU_BSR_SPMM, false, list));
        if (tess_symmetric_holds(A))
            TESS_TRY(add_family(device, A, TESS_CPU_SYMMETRIC_SPMM, false, list));
        return TESS_OK;
    case TESS_PRODUCT_SPMV_TRANSPOSE: /* the plan chooses the transpose's kernel by itself */
        return add_family(device, A, TESS_CPU_BSR_SPMV, true, list);
    case TESS_PRODUCT_SPMV:
        break;
    }
    TESS_TRY(add_family(device, A, TESS_CPU_BSR_SPMV, false, list));
    if (tess_symmetric_holds(A))
        TESS_TRY(add_family(device, A, TESS_CPU_SYMMETRIC_SPMV, false, list));
    return add_fbcsr(device, A, product, list);
}

static tess_status read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    return tess_cpu_read_ceiling(device->ctx, device->threads, bytes, bytes_per_second);
}

const tess_backend tess_cpu_backend = {
    .name = "cpu",
    .kernels = tess_cpu_kernel_hash,
    .open = open_device,
    .close = close_device,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .update_values = update_values,
    .explain = explain,
    .candidates = candidates,
    .costs = tess_cpu_costs,
    .read_ceiling = read_ceiling,
    .read_samples = tess_cpu_read_samples,
};
