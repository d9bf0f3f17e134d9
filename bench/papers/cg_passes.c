#include "cg_passes.h"

#include <stdio.h>
#include <string.h>

/* What the library would take, asked for by name. */
static tess_status named_choice(const tess_plan *plan, tess_plan **out)
{
    static const tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE};
    tess_plan *choice;
    TESS_TRY(tess_plan_create(plan->ctx, plan->matrix, plan->device, &estimate, &choice));
    const tess_plan_options named = {.effort = TESS_EFFORT_ESTIMATE,
                                     .format = choice->format,
                                     .kernel = choice->kernel,
                                     .params = choice->params};
    const tess_status status = tess_plan_create(plan->ctx, plan->matrix, plan->device, &named, out);
    tess_plan_destroy(choice);
    return status;
}

/* The model's iteration with the plan's kernel and parameters. */
static tess_status predict(const tess_plan *plan, double *seconds)
{
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    const tess_model *model = tess_device_performance(plan->device);
    tess_model_problem problem = tess_model_problem_of(plan->matrix);
    tess_candidates list = {0};
    tess_iteration iteration;
    tess_status status = TESS_OK;
    *seconds = 0;
    if (!model)
        return TESS_OK;
    TESS_TRY_CLEAN(tess_candidates_list(plan->device, plan->matrix, &product, &list));
    for (int64_t i = 0; i < list.count && !(*seconds > 0); i++) {
        const tess_candidate *c = &list.items[i];
        if (strcmp(c->kernel, plan->kernel) != 0 || strcmp(c->params, plan->params) != 0)
            continue;
        tess_model_problem_take(&problem, c);
        if (tess_model_iteration(model, &problem, 1, NULL, false, &iteration))
            *seconds = iteration.seconds;
    }
cleanup:
    tess_candidates_free(plan->ctx, &list);
    return status;
}

tess_status cg_passes_time(tess_plan *plan, const double *b, cg_passes *out)
{
    tess_plan *choice = NULL;
    double product, iteration;
    *out = (cg_passes){0};
    tess_status status;
    TESS_TRY_CLEAN(named_choice(plan, &choice));
    snprintf(out->kernel, sizeof out->kernel, "%s", choice->kernel);
    TESS_TRY_CLEAN(tess_sample_iteration(plan, b, &out->product, &out->iteration));
    TESS_TRY_CLEAN(tess_sample_iteration(choice, b, &product, &iteration));
    out->passes = iteration - product;
    TESS_TRY_CLEAN(predict(plan, &out->predicted));
cleanup:
    tess_plan_destroy(choice);
    return status == TESS_ERR_UNSUPPORTED ? TESS_OK : status;
}
