/* What a search tries, and in which order. */
#include <string.h>

#include "plan/tuner.h"

/* Candidates that are predicted to take more than so many times the best come last. */
static const double promising = 1.4;

static bool asked_for(const tess_plan_options *options, const tess_candidate *candidate)
{
    return !candidate->peer &&
           (!options->format || strcmp(options->format, candidate->format) == 0) &&
           (!options->kernel || strcmp(options->kernel, candidate->kernel) == 0);
}

/* Whether no candidate before is of the same kernel; where the model knows nothing, of the same
 * format, as formats differ more than the kernels on one. */
static bool first_of_kind(const tess_candidates *list, int64_t at)
{
    const tess_candidate *c = &list->items[at];
    for (int64_t i = 0; i < at; i++) {
        const tess_candidate *before = &list->items[i];
        if (strcmp(before->format, c->format) == 0 &&
            (!(c->predicted > 0) || strcmp(before->kernel, c->kernel) == 0))
            return false;
    }
    return true;
}

/* When a candidate's turn comes: the model's choice; what one would take without thinking, so that
 * a search never ends with less; kernels that may be the best, each with the parameters that it
 * takes by itself; the same with other parameters; the rest. */
enum { TURNS = 5 };

static int turn_of(const tess_candidates *list, int64_t at)
{
    double best = list->items[0].predicted, predicted = list->items[at].predicted;
    bool first = first_of_kind(list, at);
    if (at == 0)
        return 0;
    if (list->items[at].naive && first)
        return 1;
    if (predicted > promising * best || (best > 0 && !(predicted > 0) && !first))
        return 4;
    return first ? 2 : 3;
}

tess_status tess_search_list(tess_search *search, tess_device *device, const tess_matrix *A,
                             const tess_plan_options *options)
{
    tess_candidates list = {0};
    tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = search->effort};
    /* Not for an estimate: extraction takes as long as hundreds of products, and what fbcsr gains
     * is seen only when it is timed (docs/performance/fbcsr.md). */
    product.shapes =
        search->effort == TESS_EXHAUSTIVE ||
        (search->effort != TESS_ESTIMATE && tess_matrix_spmv_bytes(A) >= TESS_TUNER_LEAST_BYTES);
    tess_status status;
    TESS_TRY_CLEAN(tess_candidates_list(device, A, &product, &list));
    TESS_TRY_CLEAN(TESS_ALLOC(device->ctx, list.count + 1, &search->trials));
    for (int turn = 0; turn < TURNS; turn++)
        for (int64_t i = 0; i < list.count; i++)
            if (asked_for(options, &list.items[i]) && turn_of(&list, i) == turn)
                search->trials[search->count++] = (tess_trial){.candidate = list.items[i]};

cleanup:
    tess_candidates_free(device->ctx, &list);
    return status;
}
