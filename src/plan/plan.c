/* Plans: argument checks once, here and in products.c, then the backend's table. */
#include "plan/products.h"
#include "plan/regrouped.h"

tess_status tess_plan_prepare(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                              const tess_plan_options *options, bool shares_layouts,
                              tess_plan **out)
{
    tess_plan *plan;
    TESS_TRY(tess_device_takes(device, A));
    TESS_TRY(TESS_ALLOC(ctx, 1, &plan));
    *plan = (tess_plan){.ctx = ctx,
                        .device = device,
                        .matrix = A,
                        .all_rows = A->rows,
                        .values = A->values,
                        .version = A->version,
                        .shares_layouts = shares_layouts};
    tess_word_open(&plan->turn);
    tess_status status = device->backend->prepare(plan, options);
    if (status != TESS_OK) {
        tess_word_close(&plan->turn);
        tess_free(ctx, plan);
        return status;
    }
    *out = plan;
    return TESS_OK;
}

tess_status tess_plan_check_options(tess_ctx *ctx, const tess_device *device,
                                    const tess_plan_options *options)
{
    if (options->effort != TESS_EFFORT_MEASURE && options->effort != TESS_EFFORT_ESTIMATE &&
        options->effort != TESS_EFFORT_EXHAUSTIVE)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "effort %d is none of TESS_EFFORT_MEASURE, TESS_EFFORT_ESTIMATE, "
                         "TESS_EFFORT_EXHAUSTIVE",
                         (int)options->effort);
    if (options->regroup != TESS_REGROUP_AUTO && options->regroup != TESS_REGROUP_ON &&
        options->regroup != TESS_REGROUP_OFF)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "regroup %d is none of TESS_REGROUP_AUTO, TESS_REGROUP_ON, "
                         "TESS_REGROUP_OFF",
                         (int)options->regroup);
    if (options->form && !device->backend->each_part)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "form '%s' says how several parts multiply, and device '%s' is one: leave "
                         "form out, or take several, as in cpu:2,2",
                         options->form, device->backend->name);
    return TESS_OK;
}

/* A plan of A in its own order. */
static tess_status prepare_as_it_is(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_plan_options *options, bool shares_layouts,
                                    tess_plan **out)
{
    TESS_TRY(shares_layouts ? tess_plan_search_shared(ctx, A, device, options, out)
                            : tess_plan_search(ctx, A, device, options, options->fresh, out));
    (*out)->named = options->format || options->kernel || options->params;
    if (!((*out)->moves > 0)) /* of a choice that no search made */
        tess_plan_price(*out);
    return TESS_OK;
}

static tess_status create(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                          const tess_plan_options *given, bool shares_layouts, tess_plan **out)
{
    tess_plan_options taken;
    const tess_plan_options *options = &taken;
    if (!ctx || !A || !device || !out)
        return tess_null_argument(ctx, "tess_plan_create");
    tess_plan *plan;
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_plan_options, given, &taken));
    TESS_TRY(tess_plan_check_options(ctx, device, options));
    TESS_TRY(tess_device_takes(device, A));
    const bool asked = options->regroup == TESS_REGROUP_ON && !shares_layouts;
    if (!asked)
        TESS_TRY(prepare_as_it_is(ctx, A, device, options, shares_layouts, &plan));
    if (!shares_layouts)
        TESS_TRY(tess_plan_regroup(ctx, A, device, options, &plan));
    tess_log(ctx, "plan: device=%s format=%s kernel=%s%s%s%s", device->backend->name, plan->format,
             plan->kernel, plan->params[0] ? " " : "", plan->params,
             plan->inner ? ", permuted inside" : "");
    *out = plan;
    return TESS_OK;
}

tess_status tess_plan_create(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                             const tess_plan_options *options, tess_plan **out)
{
    return create(ctx, A, device, options, false, out);
}

tess_status tess_plan_create_shared(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_plan_options *options, tess_plan **out)
{
    return create(ctx, A, device, options, true, out);
}

void tess_plan_destroy(tess_plan *plan)
{
    if (!plan)
        return;
    plan->device->backend->release(plan);
    tess_search_free(plan->ctx, plan->search);
    tess_word_close(&plan->turn);
    tess_free(plan->ctx, plan);
}

tess_status tess_product_missing(tess_plan *plan, const char *call)
{
    return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "%s: device '%s' cannot do this yet", call,
                     plan->device->backend->name);
}

/* Ends a plan's turn. Products use scratch memory of the plan, so those of several threads take
 * turns. */
static tess_status end_turn(tess_plan *plan, tess_status status)
{
    tess_unlock(&plan->turn);
    return status;
}

/* Two plans change places, all but their turns. */
static void exchange(tess_plan *a, tess_plan *b)
{
    char kept[offsetof(tess_plan, turn)];
    memcpy(kept, a, sizeof kept);
    memcpy(a, b, sizeof kept);
    memcpy(b, kept, sizeof kept);
}

/* New values may break what a searched format relies on (symmetry): the caller did not ask for that
 * format, so the plan goes on with what a guess takes. */
static tess_status fall_back(tess_plan *plan, const void *values)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    tess_plan *other;
    const tess_kept_error refusal = tess_error_keep(plan->ctx);
    TESS_TRY(tess_plan_prepare(plan->ctx, plan->matrix, plan->device, &guess, false, &other));
    tess_status status = plan->device->backend->update_values(other, values);
    if (status == TESS_OK) {
        exchange(plan, other);
        plan->updates = other->updates;
        plan->stream = other->stream;
        tess_plan_note(plan, other->kernel, refusal.text);
        plan->ctx->error[0] = '\0';
    }
    tess_plan_destroy(other);
    return status;
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    char former[sizeof plan->kernel];
    memcpy(former, plan->kernel, sizeof former);
    tess_status status = plan->device->backend->update_values(plan, values);
    /* A device with streams has no format that new values can break. */
    if (status != TESS_OK && status != TESS_ERR_MEMORY && plan->search &&
        !plan->device->backend->set_stream)
        status = fall_back(plan, values);
    TESS_TRY(status);
    if (strcmp(former, plan->kernel) != 0) { /* which the search did not choose */
        tess_search_free(plan->ctx, plan->search);
        plan->search = NULL;
        tess_plan_price(plan);
    }
    plan->values = values;
    plan->version = plan->matrix->version;
    plan->updates++;
    return TESS_OK;
}

/* tess_plan_follow for callers that have the plan's turn. */
static tess_status follow(tess_plan *plan)
{
    const tess_matrix *A = plan->matrix;
    if (plan->version == A->version || plan->values != A->values)
        return TESS_OK;
    if (!plan->device->backend->update_values)
        return tess_product_missing(plan, "tess_plan_update_values");
    return update_values(plan, A->values);
}

tess_status tess_plan_follow(tess_plan *plan)
{
    tess_lock(&plan->turn);
    return end_turn(plan, follow(plan));
}

/* Prepares the plan of another trial. It takes this plan's place if it can do the call. */
static tess_status substitute(tess_plan *plan, int64_t trial, const tess_product_call *call)
{
    const tess_candidate *c = &plan->search->trials[trial].candidate;
    const tess_plan_options options = {
        .format = c->format, .kernel = c->kernel, .params = c->params};
    tess_plan *other;
    TESS_TRY(tess_plan_prepare(plan->ctx, plan->matrix, plan->device, &options, false, &other));
    tess_status status = TESS_OK;
    if (plan->stream)
        status = plan->device->backend->set_stream(other, plan->stream);
    if (status == TESS_OK && plan->values != plan->matrix->values)
        status = plan->device->backend->update_values(other, plan->values);
    if (status == TESS_OK)
        status = call->run(other, call);
    if (status == TESS_OK) {
        exchange(plan, other);
        plan->search = other->search;
        plan->stream = other->stream;
        plan->values = other->values;
        plan->updates = other->updates;
        plan->moves = c->bytes;
        plan->memory = c->memory;
        other->search = NULL;
    }
    tess_plan_destroy(other);
    return status;
}

/* The driver refused the plan's first product: the next candidates are tried. If none can do it
 * either, the failure is the first one's. */
static tess_status fall_back_product(tess_plan *plan, const tess_product_call *call,
                                     tess_status status)
{
    tess_search *search = plan->search;
    char kernel[sizeof plan->kernel];
    const tess_kept_error kept = tess_error_keep(plan->ctx);
    memcpy(kernel, plan->kernel, sizeof kernel);
    for (int64_t i = 0; i < search->count; i++) {
        tess_trial *trial = &search->trials[i];
        if (i == search->chosen || trial->state == TESS_TRIAL_REFUSED ||
            substitute(plan, i, call) != TESS_OK)
            continue;
        tess_trial_refuse(&search->trials[search->chosen], kept.text);
        tess_plan_note(plan, kernel, kept.text);
        search->chosen = i;
        tess_error_restore(plan->ctx, &kept);
        plan->ctx->error[0] = '\0';
        return TESS_OK;
    }
    tess_error_restore(plan->ctx, &kept);
    return status;
}

static tess_status perform_in_turn(tess_plan *plan, const tess_product_call *call)
{
    TESS_TRY(follow(plan));
    tess_status status = call->run(plan, call);
    if (status == TESS_ERR_DEVICE && !plan->proven && plan->search && plan->search->open)
        status = fall_back_product(plan, call, status);
    if (status == TESS_OK && plan->inner && !plan->proven) /* its kernel may have failed */
        tess_regrouped_describe(plan);
    plan->proven = plan->proven || status == TESS_OK;
    return status;
}

tess_status tess_plan_perform(tess_plan *plan, const tess_product_call *call)
{
    tess_lock(&plan->turn);
    return end_turn(plan, perform_in_turn(plan, call));
}

tess_status tess_plan_refuse(tess_plan *plan, const tess_part_product *product, bool with_dot,
                             tess_status status)
{
    if (!plan->device->backend->refuse)
        return status;
    tess_lock(&plan->turn);
    return end_turn(plan, plan->device->backend->refuse(plan, product, with_dot, status));
}

tess_status tess_plan_update_values(tess_plan *plan, const void *values)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    const bool part = plan->device->backend->agree != NULL; /* looks at its values itself */
    if (!values && plan->matrix->blocks > 0 && !part)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "tess_plan_update_values: values is NULL");
    if (!plan->device->backend->update_values)
        return tess_product_missing(plan, "tess_plan_update_values");
    tess_lock(&plan->turn);
    return end_turn(plan, update_values(plan, values));
}

tess_status tess_plan_set_stream(tess_plan *plan, void *stream)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    if (!plan->device->backend->set_stream)
        return tess_product_missing(plan, "tess_plan_set_stream");
    TESS_TRY(plan->device->backend->set_stream(plan, stream));
    plan->stream = stream;
    return TESS_OK;
}
