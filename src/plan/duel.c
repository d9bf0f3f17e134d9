#include "plan/duel.h"

/* A batch is RUNS timed products. A duel is four batches: challenger, champion, champion,
 * challenger. The first products of a batch are slow: the cache still holds the other side's
 * arrays. Products are not counted until they no longer get faster. warm_runs chooses from the WARM
 * numbers how many are left out at most: */
enum { RUNS = TESS_DUEL_RUNS / 2, WARM = 1, WARM_OTHER = 3, WARM_NEW = 8, WARM_FIRST = 9 };
/* Products still get faster while one takes less than this share of the one before. */
static const double faster = 0.97;
/* A challenger this many times as slow as the champion is out. `glance_limit` holds before the
 * champion has run again, `halfway_limit` after. Times of an asynchronous device vary little. There
 * a challenger that is not ahead at a glance is out, so that more sets of parameters get a
 * glance. */
static const double glance_limit = 1.15, glance_limit_asynchronous = 0.99, halfway_limit = 1.02;
/* A challenger wins below this share of the champion's time; ties go to the champion. */
static const double margin = 0.99;
/* Where there is no room for a duel, a glance decides: the challenger wins below this share of the
 * champion's shortest time. Times of a CPU vary more than those of an asynchronous device. */
static const double clear_margin = 0.85, clear_margin_asynchronous = 0.985;

/* A format is out when FORMAT_KERNELS of its kernels have run, and all took more than
 * `format_limit` times the champion's time. On a CPU kernels of one format differ by less. On a GPU
 * they differ by more, so no format is out there. */
enum { FORMAT_KERNELS = 2 };
static const double format_limit = 1.3;

static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};

static double median(const tess_contestant *c)
{
    double sorted[TESS_DUEL_RUNS];
    memcpy(sorted, c->runs, sizeof sorted);
    return tess_median(sorted, c->count);
}

static double shortest(const tess_contestant *c)
{
    double least = c->runs[0];
    for (int i = 1; i < c->count; i++)
        least = tess_min(c->runs[i], least);
    return least;
}

/* Whether a candidate on this format has run. */
static bool has_run(const tess_search *search, const char *format)
{
    for (int64_t i = 0; i < search->count; i++)
        if (search->trials[i].seconds > 0 &&
            strcmp(search->trials[i].candidate.format, format) == 0)
            return true;
    return false;
}

bool tess_duel_format_is_out(const tess_arena *a, int64_t champion, int64_t challenger)
{
    const tess_search *search = a->search;
    const tess_candidate *c = &search->trials[challenger].candidate;
    int slow = 0;
    if (a->device->backend->asynchronous || search->effort == TESS_EFFORT_EXHAUSTIVE || c->naive)
        return false;
    for (int64_t i = 0; i < challenger; i++) {
        const tess_trial *t = &search->trials[i];
        if (t->seconds <= 0 || strcmp(t->candidate.format, c->format) != 0)
            continue;
        if (t->seconds <= format_limit * search->trials[champion].seconds)
            return false;
        slow++;
    }
    return slow >= FORMAT_KERNELS;
}

/* Returns whether this trial reads the arrays that the last trial read. That is so for the same
 * trial, and for one on the same format if both read A's own arrays, or run on a GPU, where trials
 * on one format share their layout. Trials on a CPU have copies of their own. */
static bool is_warm(const tess_arena *a, int64_t trial)
{
    const tess_candidate *c = &a->search->trials[trial].candidate;
    return a->warm == trial ||
           (strcmp(a->search->trials[a->warm].candidate.format, c->format) == 0 &&
            (a->device->backend->asynchronous || !(c->memory > 0)));
}

/* The most products that a batch of a trial runs before those that count. */
static int warm_runs(const tess_arena *a, int64_t trial)
{
    double times = tess_matrix_spmv_bytes(a->A) / (a->device->cache_bytes + 1);
    if (times >= 3)
        return WARM;
    if (a->warm < 0)
        return a->device->backend->asynchronous ? WARM_OTHER : WARM_FIRST;
    if (is_warm(a, trial))
        return WARM;
    if (!a->device->backend->asynchronous &&
        !has_run(a->search, a->search->trials[trial].candidate.format))
        return WARM_NEW;
    return times < 0.4 ? WARM : WARM_OTHER;
}

/* Runs up to `most` products that do not count; *count: how many it ran. On an asynchronous device
 * it runs none: the device's timer runs one by itself, and is given the others together with those
 * that count. */
static tess_status warm_up(tess_arena *a, const tess_contestant *c, int most, int *count)
{
    double seconds, before = HUGE_VAL;
    bool settled = a->device->backend->asynchronous;
    *count = 0;
    while (!settled && *count < most) {
        TESS_TRY(tess_product_time(c->plan, &spmv, 1.0, a->x, 0.0, a->y, 1, &seconds));
        settled = seconds > faster * before;
        before = seconds;
        (*count)++;
    }
    return TESS_OK;
}

tess_status tess_duel_batch(tess_arena *a, tess_contestant *c)
{
    double seconds[RUNS + WARM_FIRST];
    bool asynchronous = a->device->backend->asynchronous;
    int most = warm_runs(a, c->trial), alone = 0, with = asynchronous ? most - 1 : 0;
    TESS_TRY(warm_up(a, c, most, &alone));
    TESS_TRY(tess_product_time(c->plan, &spmv, 1.0, a->x, 0.0, a->y, RUNS + with, seconds));
    c->cold = a->warm < 0;
    a->warm = c->trial;
    a->search->spmvs += RUNS + (asynchronous ? most : alone);
    if (c->count == TESS_DUEL_RUNS)
        c->count = 0;
    memcpy(c->runs + c->count, seconds + with, RUNS * sizeof *seconds);
    c->count += RUNS;
    a->search->trials[c->trial].seconds = median(c);
    return TESS_OK;
}

bool tess_duel_room(const tess_arena *a, int64_t champion, int64_t challenger, int64_t batches)
{
    const tess_search *search = a->search;
    int first = warm_runs(a, champion), second = warm_runs(a, challenger);
    int64_t runs = batches * (RUNS + tess_max(first, second));
    return search->effort == TESS_EFFORT_EXHAUSTIVE ||
           search->spmvs + runs <= TESS_MEASURE_PRODUCTS;
}

/* Returns whether a challenger that has run one batch may be the faster. The naive choice gets the
 * wider limit: a search must not end with less. */
static bool is_promising(const tess_arena *a, const tess_contestant *champion,
                         const tess_contestant *challenger)
{
    bool naive = a->search->trials[challenger->trial].candidate.naive;
    bool asynchronous = a->device->backend->asynchronous;
    double limit = asynchronous && !naive ? glance_limit_asynchronous : glance_limit;
    return median(challenger) <= limit * median(champion);
}

/* Returns for how many candidates there must be room besides a duel: on an asynchronous device, for
 * all that are left. A glance says nearly as much there as a duel, which costs three batches more.
 * Of many sets of parameters that are expected to be alike, the best may come last. */
static int64_t looks_left(const tess_arena *a, const tess_contestant *challenger)
{
    const tess_search *search = a->search;
    if (!a->device->backend->asynchronous || search->trials[challenger->trial].candidate.naive)
        return 0;
    return search->count - 1 - challenger->trial;
}

/* Decides by one batch, where there is no room for a duel. A device that was idle may be slow at
 * first: nobody wins against the search's first batch, so the champion runs another one. */
static tess_status decide_at_glance(tess_arena *a, tess_contestant *champion,
                                    const tess_contestant *challenger, bool *won)
{
    const double clear =
        a->device->backend->asynchronous ? clear_margin_asynchronous : clear_margin;
    if (champion->cold && tess_duel_room(a, champion->trial, challenger->trial, 1)) {
        champion->count = 0;
        TESS_TRY(tess_duel_batch(a, champion));
    }
    *won = median(challenger) < clear * shortest(champion);
    return TESS_OK;
}

tess_status tess_duel(tess_arena *a, tess_contestant *champion, tess_contestant *challenger,
                      bool *won)
{
    tess_trial *t = &a->search->trials[challenger->trial];
    *won = false;
    TESS_TRY(tess_duel_batch(a, challenger));
    t->state = TESS_TRIAL_GLANCED;
    if (!is_promising(a, champion, challenger))
        return TESS_OK;
    if (!tess_duel_room(a, champion->trial, challenger->trial, 3 + looks_left(a, challenger)))
        return decide_at_glance(a, champion, challenger, won);
    champion->count = 0;
    TESS_TRY(tess_duel_batch(a, champion));
    if (!t->candidate.naive && median(challenger) > halfway_limit * median(champion))
        return TESS_OK;
    TESS_TRY(tess_duel_batch(a, champion));
    TESS_TRY(tess_duel_batch(a, challenger));
    t->state = TESS_TRIAL_TIMED;
    *won = median(challenger) < margin * median(champion) &&
           shortest(challenger) < margin * shortest(champion);
    return TESS_OK;
}
