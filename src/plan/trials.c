/* What a search tries, and in which order. */
#include "plan/tuner.h"
#include "plan/model/model.h"

/* Within `likely` times the best prediction the model cannot tell candidates apart. Candidates
 * beyond `promising` times come last. */
static const double likely = 1.12, promising = 1.4;

static bool asked_for(const tess_plan_options *options, const tess_candidate *candidate)
{
    return (!options->format || strcmp(options->format, candidate->format) == 0) &&
           (!options->kernel || strcmp(options->kernel, candidate->kernel) == 0);
}

/* The candidates that are the first of their kernel on their format: few, where there are thousands
 * of sets of parameters. */
typedef struct firsts {
    int64_t *at;
    int64_t count;
} firsts;

/* Whether none of `before` is of the same format; with `kernel`, of the same kernel on it. */
static bool is_first(const tess_candidates *list, const firsts *before, int64_t at, bool kernel)
{
    const tess_candidate *c = &list->items[at];
    for (int64_t i = 0; i < before->count; i++) {
        const tess_candidate *other = &list->items[before->at[i]];
        if (strcmp(other->format, c->format) == 0 &&
            (!kernel || strcmp(other->kernel, c->kernel) == 0))
            return false;
    }
    return true;
}

/* When a candidate's turn comes:
 *   0      the model's choice
 *   1      the naive choice, so that a search never ends with less
 *   2      the first likely kernel of each format: formats differ more than kernels on one format,
 *          and many kernels on one may use up the search's products
 *   3, 4   kernels that are likely to be the best, with their own parameters; with others
 *   5, 6   promising kernels, likewise
 *   7      the rest */
enum { TURNS = 8 };

static int turn_of(const tess_candidates *list, const firsts *before, int64_t at)
{
    double best = list->items[0].predicted, predicted = list->items[at].predicted;
    /* Of its kernel, or of its format where the model knows nothing. */
    bool first = is_first(list, before, at, predicted > 0);
    if (at == 0)
        return 0;
    if (list->items[at].naive && first)
        return 1;
    if (predicted > promising * best || (best > 0 && !(predicted > 0) && !first))
        return 7;
    if (predicted > likely * best)
        return first ? 5 : 6;
    return is_first(list, before, at, false) ? 2 : first ? 3 : 4;
}

/* turn[i] of every candidate. */
static tess_status find_turns(tess_ctx *ctx, const tess_candidates *list, int *turn)
{
    firsts before = {0};
    TESS_TRY(TESS_ALLOC(ctx, list->count, &before.at));
    for (int64_t i = 0; i < list->count; i++) {
        turn[i] = turn_of(list, &before, i);
        if (is_first(list, &before, i, true))
            before.at[before.count++] = i;
    }
    tess_free(ctx, before.at);
    return TESS_OK;
}

bool tess_search_shapes(tess_effort effort, const tess_matrix *A)
{
    return effort == TESS_EFFORT_EXHAUSTIVE || tess_matrix_spmv_bytes(A) >= TESS_TUNER_LEAST_BYTES;
}

tess_status tess_search_list(tess_search *search, tess_device *device, const tess_matrix *A,
                             const tess_plan_options *options)
{
    tess_candidates list = {0};
    int *turns = NULL;
    tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = search->effort, .format = options->format};
    product.shapes = tess_search_shapes(search->effort, A);
    tess_status status;
    TESS_TRY_CLEAN(tess_candidates_list(device, A, &product, &list));
    TESS_TRY_CLEAN(TESS_ALLOC(device->ctx, list.count, &turns));
    TESS_TRY_CLEAN(find_turns(device->ctx, &list, turns));
    TESS_TRY_CLEAN(TESS_ALLOC(device->ctx, list.count + 1, &search->trials));
    for (int turn = 0; turn < TURNS; turn++)
        for (int64_t i = 0; i < list.count; i++)
            if (turns[i] == turn && asked_for(options, &list.items[i]))
                search->trials[search->count++] = (tess_trial){.candidate = list.items[i]};

cleanup:
    tess_free(device->ctx, turns);
    tess_candidates_free(device->ctx, &list);
    return status;
}

bool tess_search_closed(const tess_plan_options *options)
{
    return options->params || options->reproducible;
}

tess_status tess_search_first(tess_device *device, const tess_matrix *A,
                              const tess_plan_options *options, tess_candidate *out, bool *found)
{
    const tess_product product = {.kind = TESS_PRODUCT_SPMV,
                                  .effort = TESS_EFFORT_ESTIMATE,
                                  .format = options->format,
                                  .shapes = tess_search_shapes(TESS_EFFORT_ESTIMATE, A)};
    tess_candidates list = {0};
    const tess_status status = device->backend->candidates(device, A, &product, &list);
    *found = false;
    for (int64_t i = 0; status == TESS_OK && i < list.count && !*found; i++) {
        *found = asked_for(options, &list.items[i]);
        if (*found)
            *out = list.items[i];
    }
    tess_candidates_free(device->ctx, &list);
    return status;
}
