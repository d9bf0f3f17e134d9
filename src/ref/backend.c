/* "ref" as a device: no state but the matrix itself. */
#include "backend/backend.h"
#include "ref/ref.h"

/* The plan has its own copy of the matrix's struct, since update_values changes its pointer to
 * values. */
typedef struct ref_state {
    tess_matrix matrix;
    double *column_sums; /* two per column, for complex sums */
} ref_state;

static tess_status open_device(tess_device *device, const char *rest)
{
    if (rest)
        return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                         "device 'ref' takes nothing after ':', but got '%s'", rest);
    device->threads = 1;
    snprintf(device->description, sizeof device->description, "ref: 1 thread, plain loops");
    return TESS_OK;
}

static void close_device(tess_device *device)
{
    (void)device;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    if (options->format && strcmp(options->format, "bsr") != 0)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "device 'ref' has no format '%s', only 'bsr'", options->format);
    if (options->kernel && strcmp(options->kernel, "ref") != 0)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "device 'ref' has no kernel '%s', only 'ref'", options->kernel);
    if (options->params && *options->params)
        return tess_fail(plan->ctx, TESS_ERR_OPTION,
                         "device 'ref': its kernel takes no parameters, got '%s': leave them out",
                         options->params);
    ref_state *state;
    TESS_TRY(TESS_ALLOC(plan->ctx, 1, &state));
    *state = (ref_state){.matrix = *plan->matrix};
    tess_status status = TESS_ALLOC(plan->ctx, 2 * plan->matrix->cols, &state->column_sums);
    if (status != TESS_OK) {
        tess_free(plan->ctx, state);
        return status;
    }
    plan->state = state;
    snprintf(plan->format, sizeof plan->format, "bsr");
    snprintf(plan->kernel, sizeof plan->kernel, "ref");
    return TESS_OK;
}

static void release(tess_plan *plan)
{
    ref_state *state = plan->state;
    TESS_FREE(plan->ctx, state->column_sums, state);
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    ref_state *state = plan->state;
    tess_ref_spmv(&state->matrix, alpha, x, beta, y);
    return TESS_OK;
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    ref_state *state = plan->state;
    tess_ref_spmv_transpose(&state->matrix, alpha, x, beta, y, state->column_sums);
    return TESS_OK;
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    const tess_matrix *A = plan->matrix;
    double sum = 0;
    for (int64_t i = 0; i < A->rows; i++)
        sum += tess_get(x, A->type, i) * tess_get(y, A->type, i);
    *dot = sum;
    return TESS_OK;
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    ref_state *state = plan->state;
    tess_ref_spmv(&state->matrix, alpha, x, beta, y);
    return dot_product(plan, w ? w : y, y, dot);
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    ref_state *state = plan->state;
    tess_ref_spmm(&state->matrix, k, order, alpha, X, ldx, beta, Y, ldy);
    return TESS_OK;
}

static tess_status complex_spmv(tess_plan *plan, tess_operation operation, tess_complex alpha,
                                const void *x, tess_complex beta, void *y)
{
    ref_state *state = plan->state;
    tess_ref_spmv_complex(&state->matrix, operation, alpha, x, beta, y,
                          (tess_complex *)state->column_sums);
    return TESS_OK;
}

static tess_status complex_spmm(tess_plan *plan, int k, tess_block_order order, tess_complex alpha,
                                const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    ref_state *state = plan->state;
    tess_ref_spmm_complex(&state->matrix, k, order, alpha, X, ldx, beta, Y, ldy);
    return TESS_OK;
}

static tess_status complex_dot(tess_plan *plan, const void *x, const void *y, tess_complex *dot)
{
    const tess_matrix *A = plan->matrix;
    tess_complex sum = {0, 0};
    for (int64_t i = 0; i < A->rows; i++)
        sum = tess_complex_sum(sum,
                               tess_complex_product(tess_conjugate(tess_get_complex(x, A->type, i)),
                                                    tess_get_complex(y, A->type, i)));
    *dot = sum;
    return TESS_OK;
}

static const tess_complex_products complex_products = {complex_spmv, complex_spmm, complex_dot};

static tess_status update_values(tess_plan *plan, const void *values)
{
    ref_state *state = plan->state;
    state->matrix.values = (void *)(uintptr_t)values; /* only ever read */
    return TESS_OK;
}

const tess_backend tess_ref_backend = {
    .name = "ref",
    .open = open_device,
    .close = close_device,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .complex = &complex_products,
    .update_values = update_values,
};
