/* y = alpha A^T x + beta y: the first call stores A^T beside A, from then on it is an SpMV.
 *
 * That costs A's bytes again and a few SpMVs of time, once; it gives SpMV's speed on any pattern
 * and the same bits for any number of threads. Adding A_ij^T x_i to y_j without A^T would need a
 * private y for each thread wherever rows of two threads share a column.
 */
#include "cpu/plan.h"

static tess_status make_transpose(const tess_device *device, tess_cpu_plan *plan)
{
    tess_matrix *T;
    tess_cpu_plan *transposed;
    TESS_TRY(tess_matrix_transpose(plan->ctx, &plan->matrix, &T));
    tess_status status = tess_cpu_plan_create(device, T, NULL, false, false, &transposed);
    if (status != TESS_OK) {
        tess_matrix_destroy(T);
        return status;
    }
    tess_cpu_plan_destroy(plan->transposed);
    tess_matrix_destroy(plan->transpose);
    plan->transpose = T;
    plan->transposed = transposed;
    plan->transpose_stale = false;
    return TESS_OK;
}

tess_status tess_cpu_spmv_transpose(tess_plan *whole, double alpha, const void *x, double beta,
                                    void *y)
{
    tess_cpu_plan *plan = whole->state;
    if (plan->half) { /* symmetric */
        tess_cpu_spmv(plan, alpha, x, beta, y);
        return TESS_OK;
    }
    if (!plan->transposed || plan->transpose_stale)
        TESS_TRY(make_transpose(whole->device, plan));
    tess_cpu_spmv(plan->transposed, alpha, x, beta, y);
    return TESS_OK;
}
