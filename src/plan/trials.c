/* What a search tries, and in which order. */
#include "plan/tuner.h"
#include "plan/model/model.h"

/* Within `likely` times the best prediction the model cannot tell candidates apart. Those beyond
 * `promising` times come last. */
static const double likely = 1.12, promising = 1.4;

static bool asked_for(const tess_plan_options *options, const tess_candidate *candidate)
{
    return (!options->format || strcmp(options->format, candidate->format) == 0) &&
           (!options->kernel || strcmp(options->kernel, candidate->kernel) == 0);
}

/* Whether no candidate before is of the same format; with `kernel`, of the same kernel on it. */
static bool is_first(const tess_candidates *list, int64_t at, bool kernel)
{
    const tess_candidate *c = &list->items[at];
    for (int64_t i = 0; i < at; i++) {
        const tess_candidate *before = &list->items[i];
        if (strcmp(before->format, c->format) == 0 &&
            (!kernel || strcmp(before->kernel, c->kernel) == 0))
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

static int turn_of(const tess_candidates *list, int64_t at)
{
    double best = list->items[0].predicted, predicted = list->items[at].predicted;
    /* Of its kernel, or of its format where the model knows nothing. */
    bool first = is_first(list, at, predicted > 0);
    if (at == 0)
        return 0;
    if (list->items[at].naive && first)
        return 1;
    if (predicted > promising * best || (best > 0 && !(predicted > 0) && !first))
        return 7;
    if (predicted > likely * best)
        return first ? 5 : 6;
    return is_first(list, at, false) ? 2 : first ? 3 : 4;
}

bool tess_search_shapes(tess_effort effort, const tess_matrix *A)
{
    return effort == TESS_EFFORT_EXHAUSTIVE || tess_matrix_spmv_bytes(A) >= TESS_TUNER_LEAST_BYTES;
}

tess_status tess_search_list(tess_search *search, tess_device *device, const tess_matrix *A,
                             const tess_plan_options *options)
{
    tess_candidates list = {0};
    tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = search->effort, .format = options->format};
    product.shapes = tess_search_shapes(search->effort, A);
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
