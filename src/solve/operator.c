/* The caller's operator as a plan: a backend of one product, without entries. The plan owns a
 * device of this backend and a matrix that has sizes alone. */
#include <stdio.h>
#include <string.h>

#include "solve/solve.h"

typedef struct operator_state {
    tess_operator operator;
    tess_device device;
    tess_matrix matrix;
    void *product; /* A x where y takes more than that */
} operator_state;

static tess_status call(tess_plan *plan, bool transpose, const void *x, void *y)
{
    const operator_state *state = plan->state;
    const tess_status status = state->operator.apply(state->operator.user, transpose, x, y);
    if (status == TESS_OK)
        return TESS_OK;
    return tess_fail(plan->ctx, status, "the caller's operator failed: %s%s",
                     tess_status_text(status), transpose ? " (it was asked for A^T x)" : "");
}

/* y = alpha A x + beta y */
static tess_status multiply(tess_plan *plan, bool transpose, double alpha, const void *x,
                            double beta, void *y)
{
    const operator_state *state = plan->state;
    const tess_type type = state->operator.type;
    if (alpha == 1 && beta == 0)
        return call(plan, transpose, x, y);
    TESS_TRY(call(plan, transpose, x, state->product));
    for (int64_t i = 0; i < state->operator.rows; i++)
        tess_put(y, type, i,
                 alpha * tess_get(state->product, type, i) +
                     (beta == 0 ? 0 : beta * tess_get(y, type, i)));
    return TESS_OK;
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return multiply(plan, false, alpha, x, beta, y);
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return multiply(plan, true, alpha, x, beta, y);
}

static void release(tess_plan *plan)
{
    operator_state *state = plan->state;
    tess_free(plan->ctx, state->product);
    tess_free(plan->ctx, state);
}

static const tess_backend operator_backend = {
    .name = "operator",
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .matrix_free = true,
};

tess_status tess_operator_take(tess_ctx *ctx, const tess_operator *given, tess_operator *out)
{
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_operator, given, out));
    if (!out->apply)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_operator: apply is NULL");
    return tess_matrix_check_sizes(ctx, out->type, out->rows, out->rows, 1, 1, 0);
}

tess_status tess_plan_from_operator(tess_ctx *ctx, tess_device *device, const tess_operator *A,
                                    tess_plan **out)
{
    tess_operator operator;
    operator_state *state = NULL;
    tess_plan *plan = NULL;
    tess_status status;
    if (!ctx || !device || !A || !out)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_plan_from_operator: an argument is NULL");
    TESS_TRY(tess_operator_take(ctx, A, &operator));
    if (device->threads < 1)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "the caller's operators run on the host: pass a 'cpu' device, not '%s'",
                         device->backend->name);
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, 1, &plan));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, 1, &state));
    TESS_TRY_CLEAN(
        tess_calloc_bytes(ctx, operator.rows, tess_type_size(operator.type), &state->product));
    state->operator= operator;
    state->device =
        (tess_device){.ctx = ctx, .backend = &operator_backend, .threads = device->threads};
    snprintf(state->device.description, sizeof state->device.description,
             "operator of the caller's, vectors by %d thread%s", device->threads,
             device->threads == 1 ? "" : "s");
    state->matrix = (tess_matrix){.ctx = ctx,
                                  .type = operator.type,
                                  .rows = operator.rows,
                                  .cols = operator.rows,
                                  .block_height = 1,
                                  .block_width = 1,
                                  .block_rows = operator.rows,
                                  .block_cols = operator.rows,
                                  .ownership = TESS_OWNERSHIP_BORROW};
    *plan = (tess_plan){.ctx = ctx,
                        .device = &state->device,
                        .matrix = &state->matrix,
                        .state = state,
                        .moves = operator.bytes,
                        .format = "none",
                        .kernel = "caller"};
    *out = plan;
    return TESS_OK;
cleanup:
    tess_free(ctx, state);
    tess_free(ctx, plan);
    return status;
}
