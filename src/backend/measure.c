/* Runs and times the products of a plan, for benchmarks and tuning. Backends without a timer of
 * their own are timed by the host's clock. */
#include "backend/backend.h"

tess_status tess_candidates_add(tess_ctx *ctx, tess_candidates *list,
                                const tess_candidate *candidate)
{
    TESS_TRY(TESS_GROW(ctx, &list->items, list->count, &list->capacity));
    list->items[list->count++] = *candidate;
    return TESS_OK;
}

void tess_candidates_free(tess_ctx *ctx, tess_candidates *list)
{
    tess_free(ctx, list->items);
    *list = (tess_candidates){0};
}

void tess_candidates_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                           int64_t count)
{
    if (device->backend->prepare_ahead && count > 1)
        device->backend->prepare_ahead(device, A, items, count);
}

void tess_random_vector(void *x, int64_t count, tess_type type)
{
    const int64_t reals = tess_reals(type, count);
    for (int64_t i = 0; i < reals; i++)
        tess_put(x, tess_real_type(type), i, tess_random_unit(1, (uint64_t)i));
}

int64_t tess_product_x_size(const tess_matrix *A, const tess_product *product)
{
    int64_t length = product->kind == TESS_PRODUCT_SPMV_TRANSPOSE ? A->rows : A->cols;
    return product->kind == TESS_PRODUCT_SPMM ? length * product->k : length;
}

int64_t tess_product_y_size(const tess_matrix *A, const tess_product *product)
{
    int64_t length = product->kind == TESS_PRODUCT_SPMV_TRANSPOSE ? A->cols : A->rows;
    return product->kind == TESS_PRODUCT_SPMM ? length * product->k : length;
}

double tess_product_bytes(const tess_matrix *A, const tess_product *product)
{
    double bytes = tess_matrix_spmv_bytes(A); /* x and y once: the other k-1 pairs are added */
    if (product->kind == TESS_PRODUCT_SPMM)
        bytes += (double)(product->k - 1) * (double)(A->rows + A->cols) *
                 (double)tess_type_size(A->type);
    return bytes;
}

double tess_product_flops(const tess_matrix *A, const tess_product *product)
{
    /* A complex multiplication takes 6 flops, a complex addition 2. */
    double flops = (tess_is_complex(A->type) ? 8.0 : 2.0) * (double)tess_matrix_stored(A);
    return product->kind == TESS_PRODUCT_SPMM ? flops * product->k : flops;
}

tess_status tess_product_run(tess_plan *plan, const tess_product *product, double alpha,
                             const void *x, double beta, void *y)
{
    const tess_matrix *A = plan->matrix;
    bool columns = product->order == TESS_ORDER_COLUMN_MAJOR;
    switch (product->kind) {
    case TESS_PRODUCT_SPMV:
        return tess_spmv(plan, alpha, x, beta, y);
    case TESS_PRODUCT_SPMV_TRANSPOSE:
        return tess_spmv_transpose(plan, alpha, x, beta, y);
    case TESS_PRODUCT_SPMM:
        return tess_spmm(plan, product->k, product->order, alpha, x, columns ? A->cols : product->k,
                         beta, y, columns ? A->rows : product->k);
    }
    return tess_fail(plan->ctx, TESS_ERR_INTERNAL, "product kind %d", (int)product->kind);
}

tess_status tess_product_time(tess_plan *plan, const tess_product *product, double alpha,
                              const void *x, double beta, void *y, int reps, double *seconds)
{
    const tess_backend *backend = plan->device->backend;
    if (backend->time_product)
        return backend->time_product(plan, product, alpha, x, beta, y, reps, seconds);
    for (int i = 0; i < reps; i++) {
        double start = tess_seconds();
        TESS_TRY(tess_product_run(plan, product, alpha, x, beta, y));
        seconds[i] = tess_seconds() - start;
    }
    return TESS_OK;
}
