/* Runs and times the products of a plan, for benchmarks and tuning. Backends without a timer of
 * their own are timed by the host's clock. */
#include "plan/products.h"

/* One product, through the public calls and their checks. */
static tess_status run(tess_plan *plan, const tess_product *product, double alpha, const void *x,
                       double beta, void *y)
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
        return backend->time_product(plan, run, product, alpha, x, beta, y, reps, seconds);
    for (int i = 0; i < reps; i++) {
        double start = tess_seconds();
        TESS_TRY(run(plan, product, alpha, x, beta, y));
        seconds[i] = tess_seconds() - start;
    }
    return TESS_OK;
}
