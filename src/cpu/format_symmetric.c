/* Format symmetric: half storage of a symmetric matrix. */
#include "cpu/formats.h"

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    TESS_TRY(tess_cpu_prepare_family(plan, options, &tess_cpu_format_symmetric,
                                     TESS_CPU_SYMMETRIC_SPMV));
    tess_cpu_plan *state = plan->state;
    const tess_status status = tess_cpu_half_create(
        plan->device, &state->matrix, state->kernels[TESS_CPU_SYMMETRIC_SPMV],
        state->kernels[TESS_CPU_SYMMETRIC_SPMM], options->reproducible != 0, &state->half);
    if (status != TESS_OK)
        tess_cpu_plan_destroy(state);
    return status;
}

static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    const bool several = product->kind == TESS_PRODUCT_SPMM;
    if (product->kind == TESS_PRODUCT_SPMV_TRANSPOSE || !tess_symmetric_holds(A))
        return TESS_OK;
    return tess_cpu_add_family(device, A, &tess_cpu_format_symmetric,
                               several ? TESS_CPU_SYMMETRIC_SPMM : TESS_CPU_SYMMETRIC_SPMV, false,
                               list);
}

/* Values that are no longer symmetric are stored whole from then on: slower, but right. */
static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_cpu_plan *state = plan->state;
    char former[sizeof plan->kernel];
    const tess_kept_error kept = tess_error_keep(plan->ctx);
    (void)values; /* half->whole has them */
    tess_status status = tess_cpu_half_update_values(state->half);
    if (status != TESS_ERR_MATRIX)
        return status;
    tess_cpu_half_destroy(state->half);
    state->half = NULL;
    state->format = &tess_cpu_format_bsr;
    memcpy(former, plan->kernel, sizeof former);
    snprintf(plan->format, sizeof plan->format, "%s", state->format->name);
    snprintf(plan->kernel, sizeof plan->kernel, "%s", state->kernels[TESS_CPU_BSR_SPMV]->name);
    tess_plan_note(plan, former, tess_ctx_error(plan->ctx));
    tess_error_restore(plan->ctx, &kept);
    return TESS_OK;
}

static void explain(tess_plan *plan)
{
    const tess_cpu_half *half = ((const tess_cpu_plan *)plan->state)->half;
    tess_append(plan->explain, sizeof plan->explain,
                "stores  %.3g MB, half of the matrix\nthreads %d, %lld chunks of rows\n",
                1e-6 * (double)tess_cpu_half_bytes(half), half->shares,
                (long long)half->chunk_count);
}

/* A product moves the blocks on and above the diagonal, the vectors, and the windows. A window is
 * moved four times: it is cleared, added to, read, and added to y. The places of the mirrors are
 * kept for new values. */
static tess_status count(const tess_device *device, const tess_matrix *A, int streams,
                         tess_cpu_stored *out)
{
    const double scalar = (double)tess_type_size(A->type);
    const double block = 4 + scalar * A->block_height * A->block_width;
    int64_t *offsets;
    TESS_TRY(tess_symmetric_offsets(A->ctx, A, &offsets));
    const tess_cpu_half_cut cut = tess_cpu_half_cut_of(A, offsets, device->threads, streams);
    const double upper = (double)offsets[A->block_rows];
    const double windows = scalar * A->block_height * (double)cut.window_rows;
    const double mirrors = 4 * ((double)A->blocks - upper) + 8 * (double)A->block_rows;
    *out = (tess_cpu_stored){.moved = tess_matrix_spmv_bytes(A) -
                                      block * ((double)A->blocks - upper) + 4 * windows,
                             .kept = block * upper + windows + mirrors,
                             .values = (block - 4) * upper,
                             .blocks = upper,
                             .lockstep = cut.lockstep};
    tess_free(A->ctx, offsets);
    return TESS_OK;
}

/* The model's curves are those of regular matrices, and making half storage takes as long as many
 * products: it is chosen only where it is clearly ahead. */
const tess_cpu_format tess_cpu_format_symmetric = {.name = "symmetric",
                                                   .doubt = 1.04,
                                                   .irregular_as = "bsr",
                                                   .prepare = prepare,
                                                   .candidates = candidates,
                                                   .update_values = update_values,
                                                   .explain = explain,
                                                   .count = count};
