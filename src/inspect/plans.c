/* Describes a plan: what it is, how long a product takes, and how it was chosen. */
#include "inspect/inspect.h"
#include "plan/model/blocking.h"
#include "plan/model/model.h"
#include "plan/products.h"
#include "plan/regrouped.h"

static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};

/* Adds the regrouping. Its passes are part of a product, but the inner search did not measure
 * them. */
static void add_regrouping(const tess_plan *plan, tess_plan_info *info)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    info->regrouping = r->reason;
    info->regrouped_block = r->block;
    info->permuted_bytes = tess_regrouped_bytes(plan);
    info->measured_seconds = 0;
    if (info->predicted_seconds > 0)
        info->predicted_seconds += r->pass_seconds;
}

tess_status tess_plan_get_info(const tess_plan *plan, size_t size, tess_plan_info *out)
{
    TESS_NEED(plan ? plan->ctx : NULL, plan && out);
    tess_plan_info info = {.format = plan->format,
                           .kernel = plan->kernel,
                           .params = plan->params,
                           .bytes = tess_product_bytes(plan->matrix, &spmv),
                           .flops = tess_product_flops(plan->matrix, &spmv),
                           .memory = plan->memory,
                           .moves = plan->moves,
                           .note = plan->note,
                           .regrouping = ""};
    const tess_search *search = plan->inner ? plan->inner->search : plan->search;
    if (search && search->remembered) {
        info.measured_seconds = search->seconds_then;
    } else if (search && search->count > 0) {
        const tess_trial *trial = &search->trials[search->chosen];
        info.predicted_seconds = trial->candidate.predicted;
        info.measured_seconds = trial->seconds;
    }
    if (plan->inner)
        add_regrouping(plan, &info);
    return tess_fill(out, size, &info, sizeof info);
}

/* Prices a candidate, with the parameters that were asked for. */
static tess_status price(tess_device *device, const tess_matrix *A, const char *params,
                         tess_candidate *candidate)
{
    tess_candidates list = {0};
    if (params)
        snprintf(candidate->params, sizeof candidate->params, "%s", params);
    TESS_TRY(tess_candidates_add(device->ctx, &list, candidate));
    const tess_status status = tess_candidates_rank(device, A, &list);
    *candidate = list.items[0];
    tess_candidates_free(device->ctx, &list);
    return status;
}

/* The first candidate of a search that chooses by the model alone. */
static tess_status first_trial(tess_device *device, const tess_matrix *A,
                               const tess_plan_options *options, tess_candidate *out, bool *found)
{
    tess_search search = {.effort = TESS_EFFORT_ESTIMATE};
    const tess_status status = tess_search_list(&search, device, A, options);
    *found = status == TESS_OK && search.count > 0;
    if (*found)
        *out = search.trials[0].candidate;
    tess_free(device->ctx, search.trials);
    return status;
}

/* What a plan with these options would take. */
static tess_status estimate(tess_device *device, const tess_matrix *A,
                            const tess_plan_options *options, tess_candidate *out)
{
    const bool closed = tess_search_closed(options);
    bool found;
    TESS_TRY((closed ? tess_search_first : first_trial)(device, A, options, out, &found));
    if (!found)
        return tess_fail(device->ctx, TESS_ERR_OPTION,
                         "no kernel of '%s' is format=%s, kernel=%s for this matrix: leave them "
                         "NULL, or see `tessera bench INPUT --list`",
                         device->backend->name, options->format ? options->format : "NULL",
                         options->kernel ? options->kernel : "NULL");
    return closed ? price(device, A, options->params, out) : TESS_OK;
}

tess_status tess_plan_estimate(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                               const tess_plan_options *given, size_t size,
                               tess_predicted_kernel *out)
{
    tess_plan_options options;
    tess_candidate candidate = {.format = "bsr"}; /* for backends without candidates */
    TESS_NEED(ctx, ctx && A && device && out);
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_plan_options, given, &options));
    TESS_TRY(tess_plan_check_options(ctx, device, &options));
    TESS_TRY(tess_device_takes(device, A));
    if (device->backend->candidates && A->blocks > 0)
        TESS_TRY(estimate(device, A, &options, &candidate));
    tess_predicted_kernel found = {
        .bytes = candidate.bytes, .memory = candidate.memory, .seconds = candidate.predicted};
    memcpy(found.format, candidate.format, sizeof found.format);
    memcpy(found.kernel, candidate.kernel, sizeof found.kernel);
    memcpy(found.params, candidate.params, sizeof found.params - 1);
    return tess_fill(out, size, &found, sizeof found);
}

tess_status tess_plan_time(tess_plan *plan, const void *x, void *y, int reps, double *seconds)
{
    if (!plan || !seconds || reps < 1)
        return tess_fail(plan ? plan->ctx : NULL, TESS_ERR_ARGUMENT,
                         "tess_plan_time: an argument is NULL, or reps = %d < 1", reps);
    TESS_TRY(tess_plan_follow(plan));
    return tess_product_time(plan, &spmv, 1, x, 0, y, reps, seconds);
}

tess_status tess_plan_get_search(const tess_plan *plan, size_t size, tess_search_info *out)
{
    TESS_NEED(plan ? plan->ctx : NULL, plan && out);
    tess_search_info info = {0};
    const tess_search *search = plan->inner ? plan->inner->search : plan->search;
    if (search)
        info = (tess_search_info){.effort = search->effort,
                                  .count = search->count,
                                  .chosen = search->chosen,
                                  .spmvs = search->spmvs,
                                  .seconds = search->seconds,
                                  .cancelled = search->cancelled,
                                  .remembered = search->remembered,
                                  .pays_after = tess_search_payback(search)};
    return tess_fill(out, size, &info, sizeof info);
}

tess_status tess_plan_get_trial(const tess_plan *plan, int64_t index, size_t size,
                                tess_trial_info *out)
{
    TESS_NEED(plan ? plan->ctx : NULL, plan && out);
    const tess_search *search = plan->inner ? plan->inner->search : plan->search;
    const int64_t count = search ? search->count : 0;
    if (index < 0 || index >= count)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "tess_plan_get_trial: index %lld, and the search had %lld trials",
                         (long long)index, (long long)count);
    const tess_trial *trial = &search->trials[index];
    const tess_candidate *c = &trial->candidate;
    const tess_trial_info info = {.format = c->format,
                                  .kernel = c->kernel,
                                  .params = c->params,
                                  .state = tess_trial_state_name(trial->state),
                                  .note = trial->note,
                                  .seconds = trial->seconds,
                                  .predicted_seconds = c->predicted,
                                  .compared_seconds = tess_candidate_compared(c),
                                  .bytes = c->bytes,
                                  .memory = c->memory,
                                  .prepare_seconds = trial->prepare_seconds};
    return tess_fill(out, size, &info, sizeof info);
}

tess_status tess_detection_pick(tess_ctx *ctx, const tess_detection *detection, int capacity,
                                tess_block_candidate *picked, int *count)
{
    tess_block_candidate found[TESS_BLOCKINGS];
    TESS_NEED(ctx, ctx && detection && (picked || capacity <= 0) && count);
    if (capacity < 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_detection_pick: room for %d blockings",
                         capacity);
    const int64_t most = tess_min(tess_pick_blockings(detection, found), capacity);
    for (int64_t i = 0; i < most; i++)
        picked[i] = found[i];
    *count = (int)most;
    return TESS_OK;
}
