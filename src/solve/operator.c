/* The caller's operator as a plan: a backend that has products and no entries. The plan owns a
 * device of this backend, and a matrix that has sizes only. */
#include "solve/solve.h"

/* tess_plan_destroy frees all of it with the plan. */
typedef struct operator_plan {
    tess_plan plan;
    tess_device device;
    tess_matrix matrix;
} operator_plan;

/* ---- Vectors in host memory ---- */

typedef struct operator_state {
    tess_operator operator;
    void *product; /* A x, where alpha and beta are not 1 and 0 */
} operator_state;

static tess_status call(tess_plan *plan, bool transpose, const void *x, void *y)
{
    const operator_state *state = plan->state;
    const tess_status status = state->operator.apply(state->operator.user, transpose, x, y, NULL);
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
    TESS_FREE(plan->ctx, state->product, state);
}

static tess_status prepare(tess_plan *plan, const tess_operator *A)
{
    operator_state *state;
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &state));
    const tess_status status =
        tess_calloc_bytes(plan->ctx, A->rows, tess_type_size(A->type), &state->product);
    if (status != TESS_OK) {
        tess_free(plan->ctx, state);
        return status;
    }
    state->operator= * A;
    plan->state = state;
    return TESS_OK;
}

static const tess_backend host_operators = {
    .name = "operator",
    .prepare_operator = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .matrix_free = true,
};

/* ---- Any device ---- */

tess_status tess_operator_take(tess_ctx *ctx, const tess_operator *given, tess_operator *out)
{
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_operator, given, out));
    if (!out->apply)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_operator: apply is NULL");
    if (!(out->bytes >= 0))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_operator: bytes = %g; 0 where they are not counted", out->bytes);
    TESS_TRY(tess_refuse_complex(ctx, "tess_operator", out->type));
    return tess_matrix_check_sizes(ctx, out->type, out->rows, out->rows, 1, 1, 0);
}

static void describe(const tess_device *device, const tess_operator *A, operator_plan *p)
{
    tess_ctx *ctx = p->plan.ctx;
    p->device.threads = device->threads;
    p->device.state = device->state;
    snprintf(p->device.description, sizeof p->device.description,
             "operator of the caller's, vectors by %.200s", device->description);
    p->matrix = (tess_matrix){.ctx = ctx,
                              .type = A->type,
                              .rows = A->rows,
                              .cols = A->rows,
                              .block_height = 1,
                              .block_width = 1,
                              .block_rows = A->rows,
                              .block_cols = A->rows,
                              .ownership = TESS_OWNERSHIP_BORROW};
}

tess_status tess_plan_from_operator(tess_ctx *ctx, tess_device *device, const tess_operator *A,
                                    tess_plan **out)
{
    tess_operator operator;
    operator_plan *p;
    if (!ctx || !device || !A || !out)
        return tess_null_argument(ctx, __func__);
    TESS_TRY(tess_operator_take(ctx, A, &operator));
    const tess_backend *backend = device->backend->operators;
    if (!backend && device->threads > 0)
        backend = &host_operators;
    if (!backend)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "device '%s' computes nothing: pass a 'cpu' or 'cuda' device",
                         device->backend->name);
    TESS_TRY(TESS_CALLOC(ctx, 1, &p));
    p->device = (tess_device){.ctx = ctx, .backend = backend};
    p->plan = (tess_plan){.ctx = ctx,
                          .device = &p->device,
                          .matrix = &p->matrix,
                          .all_rows = operator.rows,
                          .moves = operator.bytes,
                          .format = "none",
                          .kernel = "caller"};
    describe(device, &operator, p);
    const tess_status status = backend->prepare_operator(&p->plan, &operator);
    if (status != TESS_OK) {
        tess_free(ctx, p);
        return status;
    }
    tess_word_open(&p->plan.turn);
    *out = &p->plan;
    return TESS_OK;
}
