/* What was chosen, and why, with numbers: a page of text for people. */
#include "plan/model/model.h"
#include "plan/regrouped.h"
#include "plan/wisdom/wisdom.h"

/* Trials listed; the rest is counted. */
enum { LINES = 12 };

#define ADD(plan, ...) tess_append((plan)->explain, sizeof(plan)->explain, __VA_ARGS__)

const char *tess_trial_state_name(tess_trial_state state)
{
    static const char *const names[] = {"untried", "timed", "glanced", "refused"};
    return names[state];
}

int64_t tess_search_payback(const tess_search *search)
{
    if (search->remembered || search->count == 0)
        return 0;
    double first = search->trials[0].seconds, best = search->trials[search->chosen].seconds;
    if (search->chosen == 0 || !(first > best))
        return -1;
    /* The first plan would have been made without a search too. */
    double cost = search->seconds - search->trials[0].prepare_seconds;
    return (int64_t)(cost / (first - best)) + 1;
}

/* "1.234 ms", or a dash for what is not known. */
static const char *milliseconds(double seconds, char text[24])
{
    snprintf(text, 24, seconds > 0 ? "%.3f ms" : "-", 1e3 * seconds);
    return text;
}

static void add_trials(tess_plan *plan, const tess_search *search)
{
    double best = search->trials[search->chosen].seconds;
    int64_t shown = 0;
    char a[24], b[24];
    ADD(plan, "    %-44s %12s %12s\n", "candidates", "measured", "predicted");
    for (int64_t i = 0; i < search->count && shown < LINES; i++) {
        const tess_trial *t = &search->trials[i];
        if (t->state == TESS_TRIAL_UNTRIED && search->effort != TESS_EFFORT_ESTIMATE)
            continue;
        shown++;
        ADD(plan, "  %c %-44.44s ", i == search->chosen ? '*' : ' ', t->candidate.kernel);
        if (t->state == TESS_TRIAL_REFUSED)
            ADD(plan, "refused: %s", t->note);
        else
            ADD(plan, "%12s %12s", milliseconds(t->seconds, a),
                milliseconds(t->candidate.predicted, b));
        if (best > 0 && t->seconds > 0)
            ADD(plan, "  %5.2fx", t->seconds / best);
        ADD(plan, "%s%s\n", t->candidate.params[0] ? "  " : "", t->candidate.params);
    }
    if (shown < search->count)
        ADD(plan, "    and %lld more that were not tried or are not shown\n",
            (long long)(search->count - shown));
}

/* Why an estimate took the winner, without running anything. */
static void add_estimate(tess_plan *plan, const tess_search *search, const tess_trial *winner)
{
    const tess_model *model = (plan->inner ? plan->inner : plan)->device->performance;
    const bool known = winner->candidate.predicted > 0 && model;
    ADD(plan, "chosen  %s%s%s\n",
        known ? "by the model" : "as the backend's first guess: the model does not know it",
        known && model->stand_in ? " of another machine that stands in, " : "",
        known && model->stand_in ? model->device : "");
    ADD(plan,
        search->small ? "        nothing was run: below %.0f MB a search costs more than it "
                        "gives (fresh = 1 searches all the same)\n"
                      : "        nothing was run\n",
        1e-6 * TESS_TUNER_LEAST_BYTES);
    add_trials(plan, search);
}

static void add_search(tess_plan *plan, const tess_search *search)
{
    double bytes = tess_matrix_spmv_bytes(plan->matrix);
    if (search->remembered) {
        ADD(plan,
            "chosen  from wisdom (%s): a product of this class, %.3g MB of matrix and vectors, ran "
            "at %.1f GB/s\n",
            tess_effort_name(search->effort), 1e-6 * search->bytes_then,
            search->seconds_then > 0 ? 1e-9 * search->bytes_then / search->seconds_then : 0.0);
        return;
    }
    if (search->count < 2) {
        ADD(plan, "chosen  nothing else applies\n");
        return;
    }
    const tess_trial *winner = &search->trials[search->chosen], *first = &search->trials[0];
    int64_t payback = tess_search_payback(search);
    if (search->effort == TESS_EFFORT_ESTIMATE) {
        add_estimate(plan, search, winner);
        return;
    }
    ADD(plan, "chosen  by %s%s: %.3f ms, %.1f GB/s; %d products, %.3g s of planning\n",
        tess_effort_name(search->effort), search->cancelled ? " (stopped)" : "",
        1e3 * winner->seconds, winner->seconds > 0 ? 1e-9 * bytes / winner->seconds : 0.0,
        search->spmvs, search->seconds);
    if (payback > 0)
        ADD(plan,
            "        %.1f %% faster than the first guess; planning pays after %lld products\n",
            100 * (first->seconds / winner->seconds - 1), (long long)payback);
    else
        ADD(plan, "        the first guess was the best\n");
    add_trials(plan, search);
}

tess_candidate tess_plan_priced(tess_plan *plan)
{
    tess_candidate candidate = {0};
    tess_candidates list = {.items = NULL};
    tess_kept_error kept = tess_error_keep(plan->ctx);
    memcpy(candidate.format, plan->format, sizeof candidate.format);
    memcpy(candidate.kernel, plan->kernel, sizeof candidate.kernel);
    memcpy(candidate.params, plan->params, sizeof candidate.params);
    if (tess_candidates_add(plan->ctx, &list, &candidate) == TESS_OK &&
        tess_candidates_rank(plan->device, plan->matrix, &list) == TESS_OK)
        candidate = list.items[0];
    tess_candidates_free(plan->ctx, &list);
    tess_error_restore(plan->ctx, &kept);
    return candidate;
}

void tess_plan_price(tess_plan *plan)
{
    if (!plan->device->backend->costs)
        return;
    const tess_candidate priced = tess_plan_priced(plan);
    plan->moves = priced.bytes;
    plan->memory = priced.memory;
}

static void add_price(tess_plan *plan)
{
    tess_plan *inner = plan->inner ? plan->inner : plan;
    const double least = tess_matrix_spmv_bytes(plan->matrix), passes = tess_regrouped_bytes(plan);
    const double pass_seconds = plan->inner ? tess_regrouped_of(plan)->pass_seconds : 0;
    tess_candidate priced = tess_plan_priced(inner);
    const tess_model *model = inner->device->performance;
    if (!(priced.bytes > 0)) { /* by the backend, when it made the plan */
        priced.bytes = inner->moves;
        priced.memory = inner->memory;
    }
    if (!(priced.bytes > 0)) {
        ADD(plan, "moves   %.3g MB per SpMV\n", 1e-6 * (least + passes));
        return;
    }
    ADD(plan, "moves   %.3g MB per SpMV (%.2fx the matrix and vectors)\n",
        1e-6 * (priced.bytes + passes), (priced.bytes + passes) / least);
    ADD(plan, "keeps   %.3g MB beside the matrix\n",
        1e-6 * (plan->inner ? plan->memory : priced.memory));
    if (priced.predicted > 0 && model)
        ADD(plan, "predict %.3f ms, %.1f GB/s%s%s\n", 1e3 * (priced.predicted + pass_seconds),
            1e-9 * least / (priced.predicted + pass_seconds),
            model->stand_in ? "; measured on " : "", model->stand_in ? model->device : "");
}

/* What is permuted, what that costs, and what A as it is would take. */
static void add_regrouping(tess_plan *plan)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    const double passes = tess_regrouped_bytes(plan);
    char text[24];
    ADD(plan, "regroup %s\n", r->reason);
    if (r->in_place)
        ADD(plan, "        the groups follow each other: nothing is permuted\n");
    else if (r->fused[0])
        ADD(plan, "        products read x and write y by fields: there are no passes over them\n");
    else
        ADD(plan, "        x and y are permuted in %s: %.3g MB per product, predicted %s\n",
            r->fields > 0 ? "passes without a list of rows" : "passes", 1e-6 * passes,
            milliseconds(r->pass_seconds, text));
    if (r->fused[0] && r->instead_of[0])
        ADD(plan, "        %s alone would be faster, with its passes it is slower\n",
            r->instead_of);
    if (r->near)
        ADD(plan, "        groups are in reverse Cuthill-McKee order: neighbours were far apart\n");
    if (r->plain_seconds > 0)
        ADD(plan, "        the matrix as it is takes %s, %s\n",
            milliseconds(r->plain_seconds, text), r->measured ? "measured" : "predicted");
    ADD(plan, "        found, permuted and planned in %.3g s\n", r->seconds);
}

const char *tess_plan_explain(tess_plan *plan)
{
    if (!plan)
        return "";
    const tess_matrix *A = plan->matrix;
    plan->explain[0] = '\0';
    ADD(plan,
        "%lld x %lld %s, %lld blocks of %d x %d\n"
        "device  %s\nformat  %s\nkernel  %s%s%s\n",
        (long long)A->rows, (long long)A->cols, tess_type_name(A->type), (long long)A->blocks,
        (int)A->block_height, (int)A->block_width, plan->device->description, plan->format,
        plan->kernel, plan->params[0] ? " " : "", plan->params);
    if (plan->device->reason[0])
        ADD(plan, "        %s\n", plan->device->reason);
    add_price(plan);
    if (plan->note[0])
        ADD(plan, "note    %s\n", plan->note);
    if (plan->inner)
        add_regrouping(plan);
    if (plan->device->backend->explain)
        plan->device->backend->explain(plan);
    const tess_search *search = plan->inner ? plan->inner->search : plan->search;
    if (search)
        add_search(plan, search);
    return plan->explain;
}
