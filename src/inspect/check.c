/* Compares predictions with measurements on the device. */
#include "inspect/check.h"

#include "calibrate/calibrate.h"

tess_status tess_check_iteration(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                 const tess_predicted_kernel *kernel, const void *b,
                                 double *seconds)
{
    tess_symmetry symmetry;
    tess_plan_options options = {
        .format = kernel->format, .kernel = kernel->kernel, .params = kernel->params};
    tess_plan *plan;
    double product;
    *seconds = 0;
    TESS_TRY(tess_matrix_symmetry(ctx, A, &symmetry));
    if (!symmetry.symmetric || symmetry.missing_diagonal > 0 || symmetry.zero_diagonal > 0)
        return TESS_OK;
    TESS_TRY(tess_plan_create(ctx, A, device, &options, &plan));
    plan->named = false; /* as in a plan that chose this kernel by itself */
    if (tess_sample_iteration(plan, b, &product, seconds) != TESS_OK)
        *seconds = 0;
    tess_plan_destroy(plan);
    return TESS_OK;
}

static tess_candidate candidate_of(const tess_predicted_kernel *k)
{
    tess_candidate c = {0};
    memcpy(c.format, k->format, sizeof k->format);
    memcpy(c.kernel, k->kernel, sizeof k->kernel);
    memcpy(c.params, k->params, sizeof k->params);
    return c;
}

/* The seconds of a product; 0: the kernel does not run. On the host, where other programs use the
 * memory too, it is the median of three samples. */
static double check_kernel(tess_device *device, const tess_matrix *A, const tess_candidate *c,
                           const void *x, void *y)
{
    double samples[3];
    const int count = device->threads > 0 ? 3 : 1;
    for (int i = 0; i < count; i++)
        if (tess_sample_spmv(device, A, c, x, y, &samples[i]) != TESS_OK)
            return 0;
    return tess_median(samples, count);
}

tess_status tess_predict_check(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                               const tess_prediction *p, double *kernel_seconds,
                               double *iteration_seconds)
{
    void *x = NULL, *y = NULL;
    tess_candidate *candidates = NULL;
    double iteration = 0;
    tess_status status;
    TESS_NEED(ctx, ctx && A && device && p && kernel_seconds && iteration_seconds);
    TESS_TRY(tess_refuse_complex(ctx, __func__, A->type));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, p->kernel_count, &candidates));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, A->cols, tess_type_size(A->type), &x));
    TESS_TRY_CLEAN(tess_calloc_bytes(ctx, A->rows, tess_type_size(A->type), &y));
    tess_random_vector(x, A->cols, A->type);
    for (int64_t i = 0; i < p->kernel_count; i++)
        candidates[i] = candidate_of(&p->kernels[i]);
    tess_candidates_ahead(device, A, candidates, p->kernel_count);
    for (int64_t i = 0; i < p->kernel_count; i++)
        kernel_seconds[i] = check_kernel(device, A, &candidates[i], x, y);
    if (p->kernel_count > 0)
        TESS_TRY_CLEAN(tess_check_iteration(ctx, A, device, &p->kernels[0], x, &iteration));
    *iteration_seconds = iteration;
cleanup:
    TESS_FREE(ctx, candidates, x, y);
    return status;
}
