/* tessera bench --search: the choice of a plan that searches, beside what was measured. */
#include "search.h"

#include <string.h>

static tess_status predicted_iteration(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                       bench_search *out)
{
    tess_prediction *p;
    double *x;
    tess_status status = tess_predict(ctx, A, device, NULL, &p);
    if (status == TESS_ERR_UNSUPPORTED) /* no model */
        return TESS_OK;
    TESS_TRY(status);
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->cols, &x));
    for (int64_t i = 0; i < A->cols; i++)
        x[i] = tess_random_unit(1, (uint64_t)i);
    if (p->kernel_count > 0 && p->solve_count > 0 && A->type == TESS_F64) {
        out->iteration_predicted = p->solves[0].iteration;
        status = tess_check_iteration(ctx, A, device, &p->kernels[0], x, &out->iteration);
    }
    tess_free(ctx, x);
cleanup:
    tess_prediction_destroy(p);
    return status;
}

tess_status bench_search_run(tess_device *device, const tess_matrix *A, bool cg, bench_search *out)
{
    static const tess_plan_options automatic = {.effort = TESS_EFFORT_MEASURE};
    tess_ctx *ctx = device->ctx;
    tess_plan *plan;
    *out = (bench_search){0};
    double start = tess_seconds();
    TESS_TRY(tess_plan_search(ctx, A, device, &automatic, true, &plan));
    out->seconds = tess_seconds() - start;
    memcpy(out->format, plan->format, sizeof out->format);
    memcpy(out->kernel, plan->kernel, sizeof out->kernel);
    memcpy(out->params, plan->params, sizeof out->params);
    if (plan->search)
        out->spmvs = plan->search->spmvs;
    tess_plan_destroy(plan);
    if (tess_wisdom_enabled(ctx)) {
        start = tess_seconds();
        TESS_TRY(tess_plan_search(ctx, A, device, &automatic, false, &plan));
        out->again_seconds = tess_seconds() - start;
        out->again_spmvs = plan->search ? plan->search->spmvs : 0;
        tess_plan_destroy(plan);
    }
    return cg ? predicted_iteration(ctx, A, device, out) : TESS_OK;
}
