/* y = alpha A^T x + beta y: the first call stores A^T beside A; from then on the product is an
 * SpMV.
 *
 * A^T takes A's bytes again and, once, the time of a few SpMVs. The product then has SpMV's speed
 * on any pattern and the same bits for any number of threads. Adding A_ij^T x_i to y_j without A^T
 * would need a private y for each thread wherever rows of two threads share a column.
 */
#include "backend/shapes.h"
#include "cpu/plan.h"

/* A plan of A^T, with the kernel that the caller named if it fits, otherwise with the best one. */
static tess_status plan_transpose(const tess_plan *whole, const tess_matrix *T, tess_cpu_plan **out)
{
    const tess_cpu_plan *plan = whole->state;
    const tess_cpu_kernel *kernel = plan->kernels[TESS_CPU_BSR_SPMV];
    const bool fits = whole->named && tess_cpu_kernel_applies(kernel, TESS_CPU_BSR_SPMV, T);
    tess_fbcsr_options shapes;
    tess_cpu_isa isa;
    if (!whole->named || !plan->fbcsr)
        return tess_cpu_plan_create(whole->device, T, fits ? kernel : NULL, out);
    TESS_TRY(tess_shapes_choose(whole->ctx, T, "", false, &shapes));
    TESS_TRY(tess_cpu_fbcsr_named(whole->device, T->type, whole->kernel, &isa));
    return tess_cpu_plan_create_fbcsr(whole->device, T, &shapes, isa, out);
}

static tess_status make_transpose(const tess_plan *whole, tess_cpu_plan *plan)
{
    tess_matrix *T;
    tess_cpu_plan *transposed;
    TESS_TRY(tess_matrix_transpose(plan->ctx, &plan->matrix, &T));
    tess_status status = plan_transpose(whole, T, &transposed);
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

tess_status tess_cpu_need_transpose(const tess_plan *whole, tess_cpu_plan **out)
{
    tess_cpu_plan *plan = whole->state;
    if (!plan->transposed || plan->transpose_stale)
        TESS_TRY(make_transpose(whole, plan));
    *out = plan->transposed;
    return TESS_OK;
}

tess_status tess_cpu_spmv_transpose(tess_plan *whole, double alpha, const void *x, double beta,
                                    void *y)
{
    tess_cpu_plan *plan = whole->state;
    if (!plan->half) /* half storage is of symmetric matrices */
        TESS_TRY(tess_cpu_need_transpose(whole, &plan));
    tess_cpu_spmv(plan, alpha, x, beta, y);
    return TESS_OK;
}

/* A^H x is the conjugate of A^T times x: the kernels conjugate at the end of a row. */
tess_status tess_cpu_complex_spmv(tess_plan *whole, tess_operation operation, tess_complex alpha,
                                  const void *x, tess_complex beta, void *y)
{
    tess_cpu_plan *plan = whole->state;
    if (operation != TESS_OPERATION_NONE)
        TESS_TRY(tess_cpu_need_transpose(whole, &plan));
    tess_cpu_multiply(plan, alpha, x, beta, operation == TESS_OPERATION_CONJUGATE_TRANSPOSE, y);
    return TESS_OK;
}
