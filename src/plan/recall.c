/* Wisdom in a search: what was chosen before for a matrix of this class, and what is kept now. */
#include "plan/duel.h"
#include "backend/shapes.h"
#include "plan/model/model.h"
#include "plan/wisdom/wisdom.h"

/* Whether this matrix has shapes worth storing: the class of a matrix in wisdom does not tell. */
static bool worth_shapes(const tess_arena *a)
{
    static const double least_saved = 0.15;
    tess_fbcsr_options shapes;
    tess_kept_error kept = tess_error_keep(a->ctx);
    bool worth =
        tess_shapes_look(a->ctx, a->A, a->device->backend->shapes_in_slices, &shapes) == TESS_OK &&
        shapes.saved >= least_saved;
    tess_error_restore(a->ctx, &kept);
    return worth;
}

void tess_search_recall(tess_arena *a, const char *key, tess_plan **out)
{
    tess_ctx *ctx = a->ctx;
    const tess_wisdom_entry *entry = tess_wisdom_find(ctx, key);
    if (!entry ||
        (a->options->effort == TESS_EFFORT_EXHAUSTIVE && entry->effort != TESS_EFFORT_EXHAUSTIVE))
        return;
    if (!tess_wisdom_is_current(entry, a->device->backend)) {
        tess_log(ctx, "wisdom: '%s' for '%s' is of other kernels than there are now, ignored",
                 entry->candidate.kernel, key);
        return;
    }
    if (entry->candidate.shaped && !worth_shapes(a))
        return;
    tess_search *search;
    tess_kept_error kept = tess_error_keep(ctx);
    tess_status status = TESS_ALLOC(ctx, 1, &search);
    if (status == TESS_OK) {
        tess_plan_options options = {.format = entry->candidate.format,
                                     .kernel = entry->candidate.kernel,
                                     .params = entry->candidate.params};
        status = tess_plan_prepare(ctx, a->A, a->device, &options, a->shares_layouts, out);
        if (status != TESS_OK)
            tess_free(ctx, search);
    }
    if (status != TESS_OK) {
        tess_log(ctx, "wisdom: '%s' for '%s' does not apply: %s", entry->candidate.kernel, key,
                 ctx->error);
        tess_error_restore(ctx, &kept);
        return;
    }
    *search = (tess_search){.effort = entry->effort,
                            .remembered = true,
                            .seconds_then = entry->seconds,
                            .bytes_then = entry->bytes};
    (*out)->search = search;
}

void tess_search_remember(const tess_arena *a, const char *key)
{
    const tess_search *search = a->search;
    const tess_trial *winner = &search->trials[search->chosen];
    tess_wisdom_entry entry = {.candidate = winner->candidate,
                               .seconds = winner->seconds,
                               .bytes = tess_matrix_spmv_bytes(a->A),
                               .effort = search->cancelled ? TESS_EFFORT_MEASURE : search->effort};
    if (winner->seconds <= 0 || search->count < 2)
        return;
    if (winner->candidate.shaped)
        entry.candidate.params[0] = '\0'; /* the next one has its own shapes */
    memcpy(entry.key, key, sizeof entry.key);
    if (a->device->backend->kernels)
        snprintf(entry.kernels, sizeof entry.kernels, "%s", a->device->backend->kernels);
    tess_wisdom_remember(a->ctx, &entry);
    tess_model_learn(a->device, a->A, &winner->candidate, winner->seconds);
}
