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
                                 const tess_cpu_kernel *named, tess_cpu_plan **out)
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
    return TESS_DELIVER(status, plan, tess_cpu_plan_destroy, out);
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
