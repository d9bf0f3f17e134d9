/* The products of a plan: arguments are checked here, once, then the backend's table is called. A
 * real call on a complex matrix is a complex one whose factors have no imaginary part, and the
 * other way round. */
#include "plan/products.h"
#include "plan/ranges.h"

/* x and y may only be NULL when they have no elements. */
static tess_status check_pointers(tess_plan *plan, const char *call, const void *x, int64_t x_size,
                                  const void *y, int64_t y_size)
{
    if ((!x && x_size > 0) || (!y && y_size > 0))
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: %s is NULL", call,
                         !x && x_size > 0 ? "x" : "y");
    if (x && x == y && x_size > 0 && y_size > 0)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: x and y are the same array", call);
    return TESS_OK;
}

static bool is_complex(const tess_plan *plan)
{
    return tess_is_complex(plan->matrix->type);
}

static tess_complex real_factor(double factor)
{
    return (tess_complex){factor, 0};
}

/* y is written while x is still read. In device memory too addresses tell where vectors lie. */
static tess_status check_apart(tess_plan *plan, const char *call, tess_ranges x, tess_ranges y)
{
    x.size = y.size = tess_type_size(plan->matrix->type);
    if (!tess_ranges_overlap(x, y))
        return TESS_OK;
    return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                     "%s: x and y overlap: y is written while x is still read, so pass a copy of x",
                     call);
}

static tess_status check_vectors(tess_plan *plan, const char *call, const void *x, int64_t x_size,
                                 const void *y, int64_t y_size)
{
    TESS_TRY(check_pointers(plan, call, x, x_size, y, y_size));
    return check_apart(plan, call, (tess_ranges){x, 1, x_size, x_size, 0},
                       (tess_ranges){y, 1, y_size, y_size, 0});
}

/* Factors of a real matrix. */
static tess_status check_real(tess_plan *plan, const char *call, tess_complex alpha,
                              tess_complex beta)
{
    if (alpha.im == 0 && beta.im == 0)
        return TESS_OK;
    return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                     "%s: %s = %g%+gi must be real, as the matrix is of %s: "
                     "tess_matrix_to_type makes it complex",
                     call, alpha.im == 0 ? "beta" : "alpha", alpha.im == 0 ? beta.re : alpha.re,
                     alpha.im == 0 ? beta.im : alpha.im, tess_type_name(plan->matrix->type));
}

/* ---- One vector ---- */

static tess_status run_spmv(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->spmv(plan, c->alpha, c->x, c->beta, c->y);
}

static tess_status run_transpose(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->spmv_transpose(plan, c->alpha, c->x, c->beta, c->y);
}

static tess_status run_complex(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->complex->spmv(plan, c->operation, c->factor, c->x, c->factor_y,
                                                c->y);
}

static tess_status multiply(tess_plan *plan, const char *name, tess_operation operation,
                            tess_complex alpha, const void *x, tess_complex beta, void *y)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    const tess_matrix *A = plan->matrix;
    const bool transpose = operation != TESS_OPERATION_NONE, complex = is_complex(plan);
    tess_status status = complex ? TESS_OK : check_real(plan, name, alpha, beta);
    TESS_THEN(check_vectors(plan, name, x, transpose ? A->rows : A->cols, y,
                            transpose ? A->cols : A->rows));
    if (status != TESS_OK)
        return tess_plan_refuse(plan, &(tess_part_product){.transpose = transpose, .k = 1}, false,
                                status);
    if (transpose && !complex && !plan->device->backend->spmv_transpose)
        return tess_product_missing(plan, name);
    return tess_plan_perform(plan, &(tess_product_call){.run = complex     ? run_complex
                                                               : transpose ? run_transpose
                                                                           : run_spmv,
                                                        .alpha = alpha.re,
                                                        .factor = alpha,
                                                        .operation = operation,
                                                        .x = x,
                                                        .beta = beta.re,
                                                        .factor_y = beta,
                                                        .y = y});
}

tess_status tess_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return multiply(plan, "tess_spmv", TESS_OPERATION_NONE, real_factor(alpha), x,
                    real_factor(beta), y);
}

tess_status tess_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return multiply(plan, "tess_spmv_transpose", TESS_OPERATION_TRANSPOSE, real_factor(alpha), x,
                    real_factor(beta), y);
}

tess_status tess_spmv_conjugate_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                          void *y)
{
    return multiply(plan, "tess_spmv_conjugate_transpose", TESS_OPERATION_CONJUGATE_TRANSPOSE,
                    real_factor(alpha), x, real_factor(beta), y);
}

tess_status tess_spmv_complex(tess_plan *plan, tess_operation operation, tess_complex alpha,
                              const void *x, tess_complex beta, void *y)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    if ((unsigned)operation > TESS_OPERATION_CONJUGATE_TRANSPOSE)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "tess_spmv_complex: operation %d is none of TESS_OPERATION_NONE, "
                         "TESS_OPERATION_TRANSPOSE, TESS_OPERATION_CONJUGATE_TRANSPOSE",
                         (int)operation);
    return multiply(plan, "tess_spmv_complex", operation, alpha, x, beta, y);
}

/* ---- With a dot product ---- */

static tess_status run_dot(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->spmv_dot(plan, c->alpha, c->x, c->beta, c->y, c->w, c->dot);
}

static tess_status check_dot(tess_plan *plan, const char *call, const void *x, const void *y,
                             const void *dot)
{
    TESS_TRY(check_vectors(plan, call, x, plan->matrix->cols, y, plan->matrix->rows));
    return dot ? TESS_OK : tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: dot is NULL", call);
}

static tess_status refuse_dot(tess_plan *plan, tess_status status)
{
    return tess_plan_refuse(plan, &(tess_part_product){.k = 1}, true, status);
}

static tess_status run_complex_dot(tess_plan *plan, const tess_product_call *c)
{
    TESS_TRY(run_complex(plan, c));
    return plan->device->backend->complex->dot(plan, c->w ? c->w : c->y, c->y, c->complex_dot);
}

tess_status tess_spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                          const void *w, double *dot)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    const tess_matrix *A = plan->matrix;
    const tess_status status = check_dot(plan, "tess_spmv_dot", x, y, dot);
    if (status != TESS_OK)
        return refuse_dot(plan, status);
    if (is_complex(plan) && w)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "tess_spmv_dot: w^H y of %s vectors is complex: call "
                         "tess_spmv_dot_complex",
                         tess_type_name(A->type));
    if (is_complex(plan) && plan->device->backend->owns &&
        plan->device->backend->owns(plan->device, dot))
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "tess_spmv_dot: of %s vectors dot must be in host memory, or call "
                         "tess_spmv_dot_complex",
                         tess_type_name(A->type));
    if (is_complex(plan)) {
        tess_complex square;
        TESS_TRY(tess_spmv_dot_complex(plan, real_factor(alpha), x, real_factor(beta), y, NULL,
                                       &square));
        *dot = square.re;
        return TESS_OK;
    }
    if (!plan->device->backend->spmv_dot)
        return tess_product_missing(plan, "tess_spmv_dot");
    return tess_plan_perform(
        plan,
        &(tess_product_call){
            .run = run_dot, .alpha = alpha, .x = x, .beta = beta, .y = y, .w = w, .dot = dot});
}

tess_status tess_spmv_dot_complex(tess_plan *plan, tess_complex alpha, const void *x,
                                  tess_complex beta, void *y, const void *w, tess_complex *dot)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    tess_status status = check_dot(plan, "tess_spmv_dot_complex", x, y, dot);
    if (!is_complex(plan))
        TESS_THEN(check_real(plan, "tess_spmv_dot_complex", alpha, beta));
    if (status != TESS_OK)
        return refuse_dot(plan, status);
    if (!is_complex(plan)) {
        double real;
        TESS_TRY(tess_spmv_dot(plan, alpha.re, x, beta.re, y, w, &real));
        *dot = real_factor(real);
        return TESS_OK;
    }
    return tess_plan_perform(plan, &(tess_product_call){.run = run_complex_dot,
                                                        .factor = alpha,
                                                        .x = x,
                                                        .factor_y = beta,
                                                        .y = y,
                                                        .w = w,
                                                        .complex_dot = dot});
}

/* ---- Several vectors ---- */

static tess_status run_spmm(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->spmm(plan, c->k, c->order, c->alpha, c->x, c->ldx, c->beta, c->y,
                                       c->ldy);
}

static tess_status run_complex_spmm(tess_plan *plan, const tess_product_call *c)
{
    return plan->device->backend->complex->spmm(plan, c->k, c->order, c->factor, c->x, c->ldx,
                                                c->factor_y, c->y, c->ldy);
}

static tess_status check_several(tess_plan *plan, const char *call, int k, tess_block_order order,
                                 const void *X, int64_t ldx, const void *Y, int64_t ldy)
{
    const tess_matrix *A = plan->matrix;
    if (k < 0)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: k = %d vectors", call, k);
    if (order != TESS_ORDER_COLUMN_MAJOR && order != TESS_ORDER_ROW_MAJOR)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "%s: order %d is neither TESS_ORDER_COLUMN_MAJOR nor TESS_ORDER_ROW_MAJOR",
                         call, (int)order);
    if (k == 0)
        return TESS_OK;
    TESS_TRY(check_pointers(plan, call, X, A->cols, Y, A->rows));
    bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    int64_t least_x = columns ? A->cols : k, least_y = columns ? A->rows : k;
    if (ldx < least_x || ldy < least_y)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: %s = %lld is less than %lld", call,
                         ldx < least_x ? "ldx" : "ldy", (long long)(ldx < least_x ? ldx : ldy),
                         (long long)(ldx < least_x ? least_x : least_y));
    return check_apart(plan, call, (tess_ranges){X, columns ? k : A->cols, least_x, ldx, 0},
                       (tess_ranges){Y, columns ? k : A->rows, least_y, ldy, 0});
}

static tess_status multiply_several(tess_plan *plan, const char *name, int k,
                                    tess_block_order order, tess_complex alpha, const void *X,
                                    int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    const bool complex = is_complex(plan);
    tess_status status = complex ? TESS_OK : check_real(plan, name, alpha, beta);
    TESS_THEN(check_several(plan, name, k, order, X, ldx, Y, ldy));
    if (status != TESS_OK && k > 0)
        return tess_plan_refuse(plan, &(tess_part_product){.k = k}, false, status);
    TESS_TRY(status);
    if (k == 0)
        return TESS_OK;
    if (!complex && !plan->device->backend->spmm)
        return tess_product_missing(plan, name);
    return tess_plan_perform(plan,
                             &(tess_product_call){.run = complex ? run_complex_spmm : run_spmm,
                                                  .alpha = alpha.re,
                                                  .factor = alpha,
                                                  .x = X,
                                                  .ldx = ldx,
                                                  .beta = beta.re,
                                                  .factor_y = beta,
                                                  .y = Y,
                                                  .ldy = ldy,
                                                  .k = k,
                                                  .order = order});
}

tess_status tess_spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                      int64_t ldx, double beta, void *Y, int64_t ldy)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    return multiply_several(plan, "tess_spmm", k, order, real_factor(alpha), X, ldx,
                            real_factor(beta), Y, ldy);
}

tess_status tess_spmm_complex(tess_plan *plan, int k, tess_block_order order, tess_complex alpha,
                              const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    return multiply_several(plan, "tess_spmm_complex", k, order, alpha, X, ldx, beta, Y, ldy);
}
