/* The search: see tuner.h for its shape. */
#include "plan/tuner.h"

#include "plan/duel.h"
#include "plan/wisdom/wisdom.h"

/* MEASURE prepares no further challenger after `prepare_ratio` times the first plan's preparation,
 * plus `prepare_seconds`, plus the time of the search's products: building formats must not dwarf
 * their use. */
static const double prepare_ratio = 4, prepare_seconds = 1;

void tess_search_free(tess_ctx *ctx, tess_search *search)
{
    if (!search)
        return;
    TESS_FREE(ctx, search->trials, search);
}

/* ---- Candidates ---- */

/* Compiles ahead for the trials from `first` on, as many at once as there are threads. */
static void prepare_ahead(tess_arena *a, int64_t first)
{
    tess_search *search = a->search;
    int64_t count = search->count - first;
    tess_candidate *items;
    if (first < a->ahead || !a->device->backend->prepare_ahead || a->effort == TESS_EFFORT_ESTIMATE)
        return;
    count = tess_min(count, a->ctx->threads);
    a->ahead = first + count;
    if (TESS_ALLOC(a->ctx, count, &items) != TESS_OK)
        return;
    for (int64_t i = 0; i < count; i++)
        items[i] = search->trials[first + i].candidate;
    tess_candidates_ahead(a->device, a->A, items, count);
    tess_free(a->ctx, items);
}

/* Trials share layouts: candidates on one layout need it only once. */
static tess_status prepare_trial(tess_arena *a, int64_t trial, tess_plan **plan)
{
    prepare_ahead(a, trial);
    tess_trial *t = &a->search->trials[trial];
    tess_plan_options options = *a->options;
    if (*t->candidate.kernel) {
        options.format = t->candidate.format;
        options.kernel = t->candidate.kernel;
        options.params = t->candidate.params;
    }
    double start = tess_seconds();
    tess_status status = tess_plan_prepare(a->ctx, a->A, a->device, &options, true, plan);
    t->prepare_seconds = tess_seconds() - start;
    return status;
}

void tess_trial_refuse(tess_trial *trial, const char *reason)
{
    trial->state = TESS_TRIAL_REFUSED;
    trial->seconds = 0;
    snprintf(trial->note, sizeof trial->note, "%.*s", (int)sizeof trial->note - 1, reason);
}

static void refuse(tess_arena *a, int64_t trial)
{
    tess_trial *t = &a->search->trials[trial];
    tess_trial_refuse(t, a->ctx->error);
    tess_log(a->ctx, "tuner: %s %s refused: %s", t->candidate.kernel, t->candidate.params, t->note);
}

/* ---- Duels ---- */

static void swap(tess_contestant *a, tess_contestant *b)
{
    tess_contestant kept = *a;
    *a = *b;
    *b = kept;
}

/* Whether a MEASURE search may go on to the next challenger. */
static bool budget_left(const tess_arena *a, int64_t champion, int64_t challenger, double start)
{
    const tess_search *search = a->search;
    if (search->effort == TESS_EFFORT_EXHAUSTIVE)
        return true;
    double limit = prepare_ratio * search->trials[0].prepare_seconds + prepare_seconds +
                   TESS_MEASURE_PRODUCTS * search->trials[0].seconds;
    return tess_duel_room(a, champion, challenger, 1) && tess_seconds() - start < limit;
}

/* Tries every other trial against the champion, which is prepared and ends as the winner. A
 * challenger that fails is refused; a fault of the device shows at the champion's next run. */
static tess_status fight(tess_arena *a, tess_contestant *champion)
{
    tess_search *search = a->search;
    double start = tess_seconds();
    tess_status status = tess_duel_batch(a, champion);
    if (status != TESS_OK)
        return status;
    search->trials[champion->trial].state = TESS_TRIAL_TIMED;
    for (int64_t i = champion->trial + 1;
         i < search->count && budget_left(a, champion->trial, i, start); i++) {
        if (tess_duel_format_is_out(a, champion->trial, i))
            continue;
        if (tess_progress(a->ctx, "planning", (double)i, (double)search->count) != TESS_OK) {
            search->cancelled = true;
            break;
        }
        tess_contestant challenger = {.trial = i};
        bool won = false;
        if (prepare_trial(a, i, &challenger.plan) != TESS_OK) {
            refuse(a, i);
            continue;
        }
        status = tess_duel(a, champion, &challenger, &won);
        if (status != TESS_OK)
            refuse(a, i);
        if (won)
            swap(champion, &challenger);
        tess_plan_destroy(challenger.plan);
    }
    search->chosen = champion->trial;
    return TESS_OK;
}

/* The first candidate that can be prepared. If none can, the first one's error is the caller's: the
 * others were only its substitutes. */
static tess_status find_champion(tess_arena *a, int64_t from, tess_contestant *champion)
{
    tess_kept_error kept = tess_error_keep(a->ctx);
    tess_status first = TESS_OK;
    for (int64_t i = from; i < a->search->count; i++) {
        tess_status status = prepare_trial(a, i, &champion->plan);
        champion->trial = i;
        if (status == TESS_OK || status == TESS_ERR_MEMORY)
            return status;
        refuse(a, i);
        if (first == TESS_OK) {
            first = status;
            kept = tess_error_keep(a->ctx);
        }
    }
    tess_error_restore(a->ctx, &kept);
    return first;
}

static tess_status make_vectors(tess_arena *a)
{
    const tess_matrix *A = a->A;
    size_t size = tess_type_size(A->type);
    TESS_TRY(tess_alloc_bytes(a->ctx, A->cols, size, &a->x));
    TESS_TRY(tess_calloc_bytes(a->ctx, A->rows, size, &a->y));
    tess_random_vector(a->x, A->cols, A->type);
    return TESS_OK;
}

/* Searches from the first candidate on that can be prepared and run. One that fails at its first
 * run makes room for the next. */
static tess_status choose(tess_arena *a, tess_contestant *champion)
{
    TESS_TRY(find_champion(a, 0, champion));
    const bool run = a->search->count > 1 && a->effort != TESS_EFFORT_ESTIMATE;
    tess_status status = run ? fight(a, champion) : TESS_OK;
    const tess_status first = status;
    const tess_kept_error kept = tess_error_keep(a->ctx);
    while (status == TESS_ERR_DEVICE && champion->trial + 1 < a->search->count) {
        const int64_t next = champion->trial + 1;
        refuse(a, champion->trial);
        tess_plan_destroy(champion->plan);
        champion->plan = NULL;
        status = find_champion(a, next, champion);
        if (status == TESS_OK)
            status = fight(a, champion);
    }
    if (status != TESS_OK && first != TESS_OK) {
        tess_error_restore(a->ctx, &kept);
        return first;
    }
    return status;
}

static tess_status search_among(tess_arena *a, tess_plan **out)
{
    tess_contestant champion = {0};
    tess_kept_error kept = tess_error_keep(a->ctx);
    tess_status status = TESS_OK;
    if (a->search->count > 1 && a->effort != TESS_EFFORT_ESTIMATE)
        status = make_vectors(a);
    if (status == TESS_OK)
        status = choose(a, &champion);
    TESS_FREE(a->ctx, a->x, a->y);
    if (status != TESS_OK) {
        tess_plan_destroy(champion.plan);
        return status;
    }
    a->search->chosen = champion.trial;
    champion.plan->shares_layouts = a->shares_layouts;
    if (!a->shares_layouts && a->device->backend->settle)
        a->device->backend->settle(champion.plan);
    const tess_trial *expected = &a->search->trials[0];
    if (expected->state == TESS_TRIAL_REFUSED)
        tess_plan_note(champion.plan, expected->candidate.kernel, expected->note);
    champion.plan->moves = a->search->trials[champion.trial].candidate.bytes;
    champion.plan->memory = a->search->trials[champion.trial].candidate.memory;
    /* Neither a refused trial nor a stop is a failure of the caller's. */
    tess_error_restore(a->ctx, &kept);
    *out = champion.plan;
    return TESS_OK;
}

/* ---- The whole ---- */

/* Whether the choice is the library's: then wisdom may make it, and is told what was found. */
static bool open_choice(const tess_plan_options *options)
{
    return !options->format && !options->kernel && !tess_search_closed(options);
}

/* Whether there is anything to choose. */
static bool worth_choosing(const tess_arena *a)
{
    const tess_plan_options *options = a->options;
    return !tess_search_closed(options) && a->device->backend->candidates && a->A->blocks > 0;
}

static tess_status search_and_keep(tess_arena *a, tess_plan **out)
{
    tess_search *search;
    TESS_TRY(TESS_ALLOC(a->ctx, 1, &search));
    *search = (tess_search){.effort = a->effort,
                            .open = open_choice(a->options),
                            .small = a->effort == TESS_EFFORT_ESTIMATE &&
                                     a->options->effort == TESS_EFFORT_MEASURE};
    a->search = search;
    a->warm = -1;
    double start = tess_seconds();
    tess_status status = tess_search_list(search, a->device, a->A, a->options);
    /* Nothing listed: the backend says in its own words what is wrong with the options. */
    if (status == TESS_OK)
        status = search->count > 0 ? search_among(a, out)
                                   : tess_plan_prepare(a->ctx, a->A, a->device, a->options,
                                                       a->shares_layouts, out);
    if (status != TESS_OK) {
        tess_search_free(a->ctx, search);
        return status;
    }
    search->seconds = tess_seconds() - start;
    (*out)->search = search;
    return TESS_OK;
}

static tess_status search_in(tess_arena *a, bool fresh, tess_plan **out)
{
    tess_ctx *ctx = a->ctx;
    const tess_matrix *A = a->A;
    tess_device *device = a->device;
    const tess_plan_options *options = a->options;
    bool tiny = tess_matrix_spmv_bytes(A) < TESS_TUNER_LEAST_BYTES;
    if (tiny && !fresh && a->effort == TESS_EFFORT_MEASURE)
        a->effort = TESS_EFFORT_ESTIMATE;
    /* Without a model an estimate is the backend's own guess. */
    bool guess = a->effort == TESS_EFFORT_ESTIMATE && !device->backend->costs;
    char key[TESS_WISDOM_KEY];
    tess_plan *plan = NULL;
    if (!worth_choosing(a))
        return tess_plan_prepare(ctx, A, device, options, a->shares_layouts, out);
    bool open = open_choice(options) && tess_wisdom_enabled(ctx) &&
                !(tiny && a->effort == TESS_EFFORT_ESTIMATE);
    if (open)
        tess_wisdom_key(device, A, key);
    if (open && !fresh)
        tess_search_recall(a, key, &plan);
    if (!plan && guess)
        return tess_plan_prepare(ctx, A, device, options, a->shares_layouts, out);
    if (!plan) {
        TESS_TRY(search_and_keep(a, &plan));
        if (open && a->search->count > 0)
            tess_search_remember(a, key);
    }
    *out = plan;
    return TESS_OK;
}

tess_status tess_plan_search(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                             const tess_plan_options *options, bool fresh, tess_plan **out)
{
    tess_arena a = {
        .ctx = ctx, .A = A, .device = device, .options = options, .effort = options->effort};
    return search_in(&a, fresh, out);
}

tess_status tess_plan_search_shared(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_plan_options *options, tess_plan **out)
{
    tess_arena a = {.ctx = ctx,
                    .A = A,
                    .device = device,
                    .options = options,
                    .effort = options->effort,
                    .shares_layouts = true};
    return search_in(&a, false, out);
}
