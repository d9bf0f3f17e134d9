/* An entry of the rounds. Each turn begins with repetitions that are not counted, because the
 * caches still hold another entry's data. */
#include "entry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    IN_A_ROW = 8,   /* updates that a device waits for together */
    TURN_MAX = 1000 /* repetitions per turn */
};
enum { UNCOUNTED = 1, UNCOUNTED_IN_CACHE = 3 };
#define TARGET_SECONDS 0.4 /* measured time per entry */

void bench_set_outcome(bench_result *result, bench_outcome outcome, const char *reason)
{
    result->outcome = outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* The error of session->y, and the verdict. */
static void judge(bench_session *s, bench_result *result)
{
    result->error = bench_error(&s->truth, s->y);
    if (!(result->error <= BENCH_ERROR_MAX))
        bench_set_outcome(result, BENCH_WRONG, "the result differs from ref's");
}

/* Runs the entry `reps` times. y is poisoned first, so that a row that is not written is seen. */
static bool run_entry(bench_session *s, bench_entry *e, int reps, double *seconds)
{
    bench_poison(s->ctx, s->y, s->y_bytes);
    if (e->variant) {
        if (bench_variant_time(s->peers, e->variant, reps, seconds, s->y))
            return true;
        bench_set_outcome(e->result, BENCH_FAILED, e->variant->refused);
        return false;
    }
    tess_status status =
        tess_product_time(e->plan, &s->options->product, 1, s->x, 0, s->y, reps, seconds);
    if (status == TESS_OK)
        return true;
    bench_set_outcome(e->result, status == TESS_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED,
                      tess_ctx_error(s->ctx));
    return false;
}

/* The number of repetitions at the beginning of a turn that do not count. Data that fit a cache
 * need several repetitions until they are in it again. */
static int uncounted(const bench_session *s)
{
    return s->report->bytes < 3 * s->device->cache_bytes ? UNCOUNTED_IN_CACHE : UNCOUNTED;
}

tess_status bench_entry_try(bench_session *s, bench_entry *e)
{
    double seconds[2];
    if (!run_entry(s, e, 2, seconds))
        return TESS_OK;
    if (e->variant && !e->variant->gives_y) {
        if (!bench_variant_result(s->peers, e->variant, s->y, s->truth.count)) {
            bench_set_outcome(e->result, BENCH_FAILED, e->variant->refused);
            return TESS_OK;
        }
    }
    judge(s, e->result);
    e->once = tess_max(seconds[1], 1e-9);
    int rounds = s->report->rounds;
    double target = s->options->seconds > 0 ? s->options->seconds : TARGET_SECONDS;
    double wanted = (s->options->reps ? s->options->reps : target / e->once) / rounds;
    e->turn = (int)ceil(tess_clamp(wanted, 1, TURN_MAX));
    TESS_TRY(TESS_ALLOC(s->ctx, (int64_t)e->turn * rounds, &e->times));
    TESS_TRY(TESS_ALLOC(s->ctx, e->turn + uncounted(s), &e->turn_times));
    if (!e->variant || e->variant->gives_y) {
        TESS_TRY(tess_alloc_bytes(s->ctx, (int64_t)s->y_bytes, 1, &e->first_y));
        memcpy(e->first_y, s->y, s->y_bytes);
    }
    return TESS_OK;
}

static void take_products(bench_session *s, bench_entry *e)
{
    if (!e->times || e->result->outcome != BENCH_GOOD)
        return;
    const bool adapter = e->variant && e->variant->peer;
    if (adapter)
        bench_let_sleep();
    bool ran = run_entry(s, e, e->turn + uncounted(s), e->turn_times);
    if (adapter)
        bench_let_sleep();
    if (!ran)
        return;
    memcpy(e->times + e->timed, e->turn_times + uncounted(s), (size_t)e->turn * sizeof *e->times);
    e->timed += e->turn;
    if (e->first_y && !bench_equal(s->ctx, e->first_y, s->y, s->y_bytes)) {
        judge(s, e->result); /* a wrong result is the more important message */
        if (e->result->outcome != BENCH_GOOD)
            return;
        if (e->result->peer[0]) /* a peer may do so, and its time counts */
            bench_set_outcome(e->result, BENCH_GOOD, "not repeatable");
        else
            bench_set_outcome(e->result, BENCH_WRONG, "the result differs from run to run");
    }
}

/* Times updates of the plan with its own values, from the device's memory. An asynchronous device
 * gets `in_a_row` updates one after the other, as it gets products, and is waited for once. */
static tess_status update(bench_session *s, bench_entry *e, int in_a_row, double *seconds)
{
    const double start = tess_seconds();
    for (int i = 0; i < in_a_row; i++)
        TESS_TRY(tess_plan_update_values(e->plan, s->values ? s->values : s->A->values));
    if (s->values)
        TESS_TRY(tess_device_synchronize(s->device));
    *seconds = (tess_seconds() - start) / in_a_row;
    return TESS_OK;
}

static void take_updates(bench_session *s, bench_entry *e)
{
    double seconds;
    if (!s->options->update || !e->plan || !e->times || e->result->outcome != BENCH_GOOD ||
        e->updated + BENCH_UPDATES > BENCH_ROUNDS * BENCH_UPDATES)
        return;
    tess_status status = update(s, e, 1, &seconds);
    for (int i = 0; i < BENCH_UPDATES && status == TESS_OK; i++) {
        status = update(s, e, s->values ? IN_A_ROW : 1, &seconds);
        e->updates[e->updated++] = seconds;
    }
    if (status != TESS_OK)
        bench_set_outcome(e->result, BENCH_FAILED, tess_ctx_error(s->ctx));
}

void bench_entry_turn(bench_session *s, bench_entry *e)
{
    take_products(s, e);
    take_updates(s, e);
}

tess_status bench_entry_make(bench_session *s, const tess_candidate *candidate, bench_entry *e)
{
    tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                 .format = candidate->format[0] ? candidate->format : NULL,
                                 .kernel = candidate->kernel[0] ? candidate->kernel : NULL,
                                 .params = candidate->params[0] ? candidate->params : NULL,
                                 .regroup =
                                     e->result->regrouped ? TESS_REGROUP_ON : TESS_REGROUP_OFF};
    e->result->candidate = *candidate;
    tess_status status = /* new values need a plan's own copy */
        s->options->update || e->result->regrouped
            ? tess_plan_create(s->ctx, s->A, s->device, &options, &e->plan)
            : tess_plan_create_shared(s->ctx, s->A, s->device, &options, &e->plan);
    if (status == TESS_ERR_MEMORY)
        return status;
    if (status != TESS_OK) {
        bench_set_outcome(e->result, status == TESS_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED,
                          tess_ctx_error(s->ctx));
        e->result->misnamed = status == TESS_ERR_OPTION || status == TESS_ERR_ARGUMENT;
        return TESS_OK;
    }
    snprintf(e->result->candidate.format, sizeof e->result->candidate.format, "%s",
             e->plan->format);
    snprintf(e->result->candidate.kernel, sizeof e->result->candidate.kernel, "%s",
             e->plan->kernel);
    snprintf(e->result->candidate.params, sizeof e->result->candidate.params, "%s",
             e->plan->params);
    return TESS_OK;
}

void bench_entry_take(bench_variant *variant, bench_entry *e)
{
    bench_result *result = e->result;
    snprintf(result->peer, sizeof result->peer, "%s", variant->library);
    snprintf(result->version, sizeof result->version, "%s", variant->version);
    snprintf(result->candidate.kernel, sizeof result->candidate.kernel, "%s", variant->name);
    result->threads = variant->threads;
    if (variant->refused[0])
        bench_set_outcome(result, BENCH_SKIPPED, variant->refused);
    else
        e->variant = variant;
}

void bench_entry_drop(bench_session *s, bench_entry *e)
{
    e->result->seconds = e->timed > 0 ? tess_median(e->times, e->timed) : 0;
    e->result->update_seconds = e->updated > 0 ? tess_median(e->updates, e->updated) : 0;
    tess_plan_destroy(e->plan);
    tess_free(s->ctx, e->times);
    tess_free(s->ctx, e->turn_times);
    tess_free(s->ctx, e->first_y);
    *e = (bench_entry){0};
}
