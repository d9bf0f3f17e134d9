/* A plan's state: made once for a matrix and a device, used by every product. */
#include "cpu/fields.h"

/* Bytes of a share below which another thread costs more than it gains. */
enum { LEAST_SHARE_BYTES = 64 * 1024 };

int tess_cpu_shares(const tess_device *device, const tess_matrix *A)
{
    double most = tess_matrix_spmv_bytes(A) / LEAST_SHARE_BYTES;
    return most < 2 ? 1 : (int)tess_min(most, device->threads);
}

static tess_status allocate_scratch(tess_cpu_plan *plan)
{
    const tess_matrix *A = &plan->matrix;
    size_t scalar = tess_type_size(A->type);
    TESS_TRY(tess_alloc_bytes(plan->ctx, plan->work.pieces * A->block_height, scalar,
                              &plan->piece_sums));
    TESS_TRY(TESS_ALLOC(
        plan->ctx, (tess_is_complex(A->type) ? 2 : 1) * tess_ceil_div(A->rows, TESS_CPU_DOT_CHUNK),
        &plan->partial_dots));
    if (A->cols % A->block_width != 0)
        TESS_TRY(
            tess_calloc_bytes(plan->ctx, A->block_cols * A->block_width, scalar, &plan->padded_x));
    return TESS_OK;
}

tess_status tess_cpu_plan_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *named, bool symmetric, bool reproducible,
                                 tess_cpu_plan **out)
{
    tess_ctx *ctx = device->ctx;
    tess_cpu_plan *plan;
    TESS_TRY(TESS_ALLOC(ctx, 1, &plan));
    *plan = (tess_cpu_plan){.ctx = ctx, .matrix = *A, .work = {.ctx = ctx}};
    for (int family = 0; family < TESS_CPU_FAMILIES; family++)
        plan->kernels[family] = named && (int)named->family == family
                                    ? named
                                    : tess_cpu_best(device, (tess_cpu_family)family, A);
    tess_status status = tess_cpu_work_create(
        ctx, A, tess_cpu_shares(device, A), plan->kernels[TESS_CPU_BSR_SPMV]->streams, &plan->work);
    TESS_THEN(allocate_scratch(plan));
    if (status == TESS_OK && symmetric)
        status =
            tess_cpu_half_create(device, &plan->matrix, plan->kernels[TESS_CPU_SYMMETRIC_SPMV],
                                 plan->kernels[TESS_CPU_SYMMETRIC_SPMM], reproducible, &plan->half);
    return TESS_DELIVER(status, plan, tess_cpu_plan_destroy, out);
}

/* The kernel of a remainder: one with a single stream, unless the best kernel prefetches x. Rows of
 * a remainder differ in length, so that streams in lockstep would wait for each other: one stream
 * took 1.44 ms, four took 2.22 ms (what 3 x 3 and 2 x 2 leave of 5 x 3 blocks). */
static const tess_cpu_kernel *rest_kernel(const tess_device *device, tess_cpu_isa isa,
                                          const tess_matrix *rest)
{
    const tess_cpu_kernel_table *table = tess_cpu_table(isa);
    const tess_cpu_kernel *best = tess_cpu_best(device, TESS_CPU_BSR_SPMV, rest);
    for (size_t i = 0; i < table->count && !best->prefetch; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (tess_cpu_kernel_applies(kernel, TESS_CPU_BSR_SPMV, rest) && kernel->block_height > 0 &&
            kernel->streams == 1 && !kernel->prefetch)
            return kernel;
    }
    return best;
}

tess_status tess_cpu_plan_create_fbcsr(const tess_device *device, const tess_matrix *A,
                                       const tess_fbcsr_options *shapes, tess_cpu_isa isa,
                                       tess_cpu_plan **out)
{
    tess_cpu_plan *plan;
    tess_fbcsr *F = NULL;
    tess_fbcsr_sources *sources = NULL;
    TESS_TRY(tess_cpu_plan_create(device, A, NULL, false, false, &plan));
    tess_status status;
    if (shapes->count > 0) { /* else the whole matrix is the remainder */
        TESS_TRY_CLEAN(tess_fbcsr_create(device->ctx, A, shapes, &F));
        const tess_cpu_kernel *rest = rest_kernel(device, isa, F->rest);
        TESS_TRY_CLEAN(tess_fbcsr_sources_create(F, &sources));
        TESS_TRY_CLEAN(tess_cpu_fbcsr_create(device, F, isa, rest, &plan->fbcsr));
        tess_free(F->ctx, F->map); /* the sources replace it */
        F->map = NULL;
        plan->fbcsr->sources = sources;
    }
    *out = plan;
    return TESS_OK;
cleanup:
    tess_fbcsr_sources_destroy(sources);
    tess_fbcsr_destroy(F);
    tess_cpu_plan_destroy(plan);
    return status;
}

void tess_cpu_plan_destroy(tess_cpu_plan *plan)
{
    if (!plan)
        return;
    tess_cpu_half_destroy(plan->half);
    tess_cpu_fbcsr_destroy(plan->fbcsr);
    tess_cpu_fields_destroy(plan->ctx, plan->fields);
    tess_cpu_plan_destroy(plan->transposed);
    tess_matrix_destroy(plan->transpose);
    tess_cpu_work_destroy(&plan->work);
    TESS_FREE(plan->ctx, plan->piece_sums, plan->padded_x, plan->partial_dots, plan->spmm_x,
              plan->spmm_piece_sums, plan);
}
