/* What a regrouped plan costs: passes over vectors, and the kernel that is fastest with its passes
 * (regrouped.h). Kernels that take vectors by fields need no passes, which a search does not
 * know. */
#include "plan/model/model.h"
#include "plan/regrouped.h"

/* ---- Passes ---- */

double tess_regrouped_pass_bytes(const tess_matrix *A, const tess_regrouped *r)
{
    const double value = (double)tess_type_size(A->type);
    const bool none = r->in_place || r->fused[0];
    return none ? 0 : 2 * (2 * value + (r->fields > 0 ? 0 : 4)) * (double)A->rows;
}

double tess_regrouped_bytes(const tess_plan *plan)
{
    return plan->inner ? tess_regrouped_pass_bytes(plan->matrix, tess_regrouped_of(plan)) : 0;
}

/* Two passes of half of the bytes, as fast as those of a solver. */
double tess_regrouped_pass_seconds(const tess_matrix *A, const tess_regrouped *r,
                                   double product_bytes)
{
    const tess_model *model = tess_device_performance(r->real);
    const double bytes = tess_regrouped_pass_bytes(A, r);
    const tess_model_load load = {.name = TESS_MODEL_VECTORS,
                                  .type = A->type,
                                  .bytes = bytes / 2,
                                  .working = bytes + product_bytes};
    return model && bytes > 0 ? 2 * tess_model_seconds(model, &load, false) : 0;
}

/* The bytes that are kept beside A. */
static double memory_of(const tess_matrix *A, const tess_regrouped *r, const tess_plan *inner)
{
    const double value = (double)tess_type_size(A->type), rows = (double)A->rows;
    const tess_matrix *B = r->matrix;
    return inner->memory + value * (double)tess_matrix_stored(B) + 4 * (double)B->blocks +
           8 * (double)(B->block_rows + 1) +
           (tess_regrouped_pass_bytes(A, r) > 0 ? 8 + 2 * value : 8) * rows;
}

void tess_regrouped_describe(tess_plan *plan)
{
    tess_regrouped *r = tess_regrouped_of(plan);
    const tess_plan *inner = plan->inner;
    tess_plan_name_as(plan, inner);
    plan->one_vector = inner->one_vector;
    plan->moves = inner->moves > 0 ? inner->moves + tess_regrouped_pass_bytes(plan->matrix, r) : 0;
    plan->memory = memory_of(plan->matrix, r, inner);
    r->pass_seconds = tess_regrouped_pass_seconds(plan->matrix, r, inner->moves);
}

/* ---- The kernel ---- */

bool tess_regrouped_fuses(const tess_regrouped *r, const tess_candidate *c)
{
    return r->fields > 0 && !r->in_place && c->by_fields;
}

/* Seconds of a trial and its passes; 0: not known. `timed`: measured ones. */
static double with_passes(const tess_matrix *A, const tess_regrouped *r, const tess_trial *t,
                          bool timed)
{
    const tess_candidate *c = &t->candidate;
    const double seconds = timed ? t->seconds : tess_candidate_compared(c);
    if (t->state == TESS_TRIAL_REFUSED || !(seconds > 0))
        return 0;
    return tess_regrouped_fuses(r, c) ? seconds
                                      : seconds + tess_regrouped_pass_seconds(A, r, c->bytes);
}

int64_t tess_regrouped_fastest(const tess_matrix *A, const tess_regrouped *r,
                               const tess_search *search)
{
    int64_t best = search->chosen;
    if (search->count == 0)
        return best;
    const bool timed = search->trials[best].seconds > 0;
    double least = with_passes(A, r, &search->trials[best], timed);
    for (int64_t i = 0; i < search->count && least > 0; i++) {
        const double seconds = with_passes(A, r, &search->trials[i], timed);
        const bool fuses = tess_regrouped_fuses(r, &search->trials[i].candidate);
        if (fuses && seconds > 0 && seconds < least) {
            least = seconds;
            best = i;
        }
    }
    return best;
}

tess_status tess_regrouped_estimate(const tess_matrix *A, const tess_regrouped *r,
                                    bool fewest_bytes, tess_candidate *out)
{
    static const tess_plan_options any = {.effort = TESS_EFFORT_ESTIMATE};
    tess_search search = {.effort = TESS_EFFORT_ESTIMATE};
    *out = (tess_candidate){0};
    TESS_TRY(tess_search_list(&search, r->real, r->matrix, &any));
    if (search.count > 0)
        *out = search.trials[tess_regrouped_fastest(A, r, &search)].candidate;
    for (int64_t i = 0; i < search.count && (fewest_bytes || out->predicted <= 0); i++)
        if (search.trials[i].candidate.bytes < out->bytes)
            *out = search.trials[i].candidate;
    tess_free(r->real->ctx, search.trials);
    return TESS_OK;
}
