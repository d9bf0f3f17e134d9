/* Candidates in the order of their predicted times. */
#include "plan/model/model.h"

static bool same_kernel(const tess_candidate *a, const tess_candidate *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->format, b->format) == 0;
}

/* The first candidate of the same kernel: the parameters that the backend would choose. `before` is
 * the leader of the candidate before. */
static int64_t leader_of(const tess_candidates *list, int64_t at, int64_t before)
{
    int64_t i = same_kernel(&list->items[before], &list->items[at]) ? before : 0;
    while (!same_kernel(&list->items[i], &list->items[at]))
        i++;
    return i;
}

static void predict(const tess_model *model, const tess_matrix *A, tess_candidates *list)
{
    tess_model_problem problem = tess_model_problem_of(A);
    int64_t leader = 0;
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        leader = leader_of(list, i, leader);
        if (!*c->class_name)
            continue;
        tess_model_problem_take(&problem, c);
        c->predicted = tess_model_spmv(model, &problem, 1, false);
        c->unsure = tess_model_spmv_doubt(model, &problem, c->unsteady);
        /* The model was measured with the leader's parameters: of others it only knows how many
         * more bytes they move. */
        if (c->predicted < list->items[leader].predicted) {
            c->predicted = list->items[leader].predicted;
            c->unsure = list->items[leader].unsure;
        }
    }
}

typedef struct place {
    double predicted, bytes;
    bool leads; /* its kernel's first */
    int64_t index;
} place;

/* Known times come first, the shortest before the others. Equal times are those of one kernel's
 * sets of parameters: its own guess comes first, then those that move fewer bytes. The rest stay in
 * the order in which they were listed. */
static int by_time(const void *a, const void *b)
{
    const place *x = a, *y = b;
    double s = x->predicted > 0 ? x->predicted : HUGE_VAL;
    double t = y->predicted > 0 ? y->predicted : HUGE_VAL;
    if (s != t)
        return s < t ? -1 : 1;
    if (x->predicted > 0 && x->leads != y->leads)
        return x->leads ? -1 : 1;
    if (x->predicted > 0 && x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

double tess_candidate_doubted(const tess_candidate *c)
{
    return c->doubt > 0 ? c->doubt * c->predicted : c->predicted;
}

double tess_candidate_compared(const tess_candidate *c)
{
    return c->unsure > 0 ? c->unsure * tess_candidate_doubted(c) : tess_candidate_doubted(c);
}

static tess_status sort(tess_ctx *ctx, tess_candidates *list)
{
    place *places;
    tess_candidate *sorted;
    TESS_TRY(TESS_ALLOC(ctx, list->count, &places));
    tess_status status = TESS_ALLOC(ctx, list->capacity, &sorted);
    if (status == TESS_OK) {
        for (int64_t i = 0, leader = 0; i < list->count; i++) {
            const tess_candidate *c = &list->items[i];
            leader = leader_of(list, i, leader);
            places[i] = (place){tess_candidate_compared(c), c->bytes, leader == i, i};
        }
        qsort(places, (size_t)list->count, sizeof *places, by_time);
        for (int64_t i = 0; i < list->count; i++)
            sorted[i] = list->items[places[i].index];
        tess_free(ctx, list->items);
        list->items = sorted;
    }
    tess_free(ctx, places);
    return status;
}

tess_status tess_candidates_rank(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    if (!device->backend->costs || A->blocks == 0 || list->count == 0)
        return TESS_OK;
    TESS_TRY(device->backend->costs(device, A, list));
    const tess_model *model = tess_device_performance(device);
    if (!model || tess_is_complex(A->type)) /* calibration knows no complex kernels */
        return TESS_OK;
    predict(model, A, list);
    return sort(device->ctx, list);
}

tess_status tess_candidates_list(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list)
{
    TESS_TRY(tess_device_takes(device, A));
    if (!device->backend->candidates)
        return tess_candidates_add(device->ctx, list, &(tess_candidate){0});
    TESS_TRY(device->backend->candidates(device, A, product, list));
    return product->kind == TESS_PRODUCT_SPMV ? tess_candidates_rank(device, A, list) : TESS_OK;
}
