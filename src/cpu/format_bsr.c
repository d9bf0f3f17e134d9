/* Format bsr: the matrix's own arrays. */
#include "cpu/formats.h"

tess_status tess_cpu_prepare_family(tess_plan *plan, const tess_plan_options *options,
                                    const tess_cpu_format *format, tess_cpu_family family)
{
    const tess_cpu_kernel *named = NULL;
    tess_cpu_plan *state;
    if (options->params && *options->params)
        return tess_fail(plan->ctx, TESS_ERR_OPTION,
                         "device 'cpu': kernels take no parameters, got '%s': leave them out",
                         options->params);
    if (options->kernel)
        TESS_TRY(tess_cpu_named(plan->device, format->name, plan->matrix, options->kernel, &named));
    TESS_TRY(tess_cpu_plan_create(plan->device, plan->matrix, named, &state));
    plan->state = state;
    snprintf(plan->kernel, sizeof plan->kernel, "%s",
             named ? named->name : state->kernels[family]->name);
    return TESS_OK;
}

/* The doubt of a candidate. A kernel for any block size gets so much doubt that it is not taken
 * where there is one for this size, whatever its curve says. It was slower in all of 113 cases (V1,
 * Emerald Rapids). Where a cache is shared with others, its curve may be three times too fast (16 x
 * 16, f64, half storage: 1.7 times as slow). */
static double doubt_of(const tess_cpu_format *format, const tess_cpu_kernel *kernel,
                       const tess_cpu_kernel *best)
{
    return kernel->block_height == 0 && best->block_height > 0 ? 4 * format->doubt : format->doubt;
}

tess_status tess_cpu_add_family(tess_device *device, const tess_matrix *A,
                                const tess_cpu_format *format, tess_cpu_family family, bool one,
                                tess_candidates *list)
{
    const tess_cpu_kernel_table *table = tess_cpu_family_table(device, family);
    const tess_cpu_kernel *best = tess_cpu_best(device, family, A);
    for (int round = 0; round < (one ? 1 : 2); round++) {
        for (size_t i = 0; i < table->count; i++) {
            const tess_cpu_kernel *kernel = &table->kernels[i];
            if (!tess_cpu_kernel_applies(kernel, family, A) || (kernel == best) != (round == 0))
                continue;
            if (kernel->lanes > 0 && !tess_cpu_lanes_pay(device, kernel, A))
                continue;
            tess_candidate candidate = {.doubt = doubt_of(format, kernel, best)};
            snprintf(candidate.format, sizeof candidate.format, "%s", format->name);
            snprintf(candidate.kernel, sizeof candidate.kernel, "%s", kernel->name);
            TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
        }
    }
    return TESS_OK;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    return tess_cpu_prepare_family(plan, options, &tess_cpu_format_bsr, TESS_CPU_BSR_SPMV);
}

static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    const bool several = product->kind == TESS_PRODUCT_SPMM;
    /* The plan chooses the kernel of the transpose by itself. */
    const bool one = product->kind == TESS_PRODUCT_SPMV_TRANSPOSE;
    return tess_cpu_add_family(device, A, &tess_cpu_format_bsr,
                               several ? TESS_CPU_BSR_SPMM : TESS_CPU_BSR_SPMV, one, list);
}

static void explain(tess_plan *plan)
{
    const tess_cpu_work *work = &((const tess_cpu_plan *)plan->state)->work;
    tess_append(plan->explain, sizeof plan->explain,
                "threads %d, %d stream%s each, %lld long rows in %lld pieces\n", work->shares,
                work->streams, tess_plural(work->streams), (long long)work->long_count,
                (long long)work->pieces);
}

static tess_status count(const tess_device *device, const tess_matrix *A, int streams,
                         tess_cpu_stored *out)
{
    *out = (tess_cpu_stored){.moved = tess_matrix_spmv_bytes(A), .blocks = (double)A->blocks};
    if (streams == 1)
        return TESS_OK;
    tess_cpu_work work;
    TESS_TRY(tess_cpu_work_create(device->ctx, A, tess_cpu_shares(device, A), streams, &work));
    out->lockstep = tess_cpu_work_lockstep(&work, A->row_offsets);
    tess_cpu_work_destroy(&work);
    return TESS_OK;
}

const tess_cpu_format tess_cpu_format_bsr = {
    .name = "bsr",
    .doubt = 1,
    .complex = true,
    .naive = true,
    .prepare = prepare,
    .candidates = candidates,
    .explain = explain,
    .count = count,
};
