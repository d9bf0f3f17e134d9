/* The search: see tuner.h for its shape. */
#include "plan/tuner.h"

#include <stdlib.h>
#include <string.h>

#include "plan/shapes.h"
#include "plan/wisdom.h"

/* A batch is RUNS timed products after WARM that bring the matrix back into the caches; a duel is
 * champion, challenger, challenger, champion. What just fits a cache comes back slowly, as the
 * other format's data go only as this one's arrive, and comes slowest at first, when there are yet
 * those of whoever made the matrix: without WARM_FIRST the first challenger would meet a champion
 * that has had its warming up. */
enum { RUNS = 3, WARM = 1, WARM_OTHER = 3, WARM_FIRST = 9, DUEL_RUNS = 2 * RUNS };
/* Products of a MEASURE search, and how much slower at a glance is out without a duel. */
enum { MEASURE_PRODUCTS = 60 };
static const double glance_limit = 1.15;
/* A challenger has to be faster by this; ties go to the champion. */
static const double margin = 0.99;
/* MEASURE prepares no further challenger after this many times the first plan's preparation, and
 * this many seconds: building formats must not dwarf their use. */
static const double prepare_ratio = 4, prepare_seconds = 1;

static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};

/* One side of a duel. */
typedef struct contestant {
    tess_plan *plan;
    int64_t trial;
    double runs[DUEL_RUNS];
    int count;
} contestant;

typedef struct arena {
    tess_ctx *ctx;
    const tess_matrix *A;
    tess_device *device;
    const tess_plan_options *options; /* the user's */
    tess_effort effort;               /* the user's, or ESTIMATE where measuring does not pay */
    tess_search *search;
    int64_t ahead;    /* trials before this one need not be compiled any more */
    const char *warm; /* the format that ran last, NULL at first */
    void *x, *y;
} arena;

void tess_search_free(tess_ctx *ctx, tess_search *search)
{
    if (!search)
        return;
    tess_free(ctx, search->trials);
    tess_free(ctx, search);
}

/* ---- Times ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const contestant *c)
{
    double sorted[DUEL_RUNS];
    memcpy(sorted, c->runs, sizeof sorted);
    qsort(sorted, (size_t)c->count, sizeof *sorted, by_value);
    return 0.5 * (sorted[(c->count - 1) / 2] + sorted[c->count / 2]);
}

static double shortest(const contestant *c)
{
    double least = c->runs[0];
    for (int i = 1; i < c->count; i++)
        least = c->runs[i] < least ? c->runs[i] : least;
    return least;
}

/* Products before those of a batch that count, for a plan on this format. */
static int warm_runs(const arena *a, const char *format)
{
    double times = tess_matrix_spmv_bytes(a->A) / (a->device->cache_bytes + 1);
    if (times >= 3)
        return WARM;
    if (!a->warm)
        return WARM_FIRST;
    return times < 0.4 || strcmp(a->warm, format) == 0 ? WARM : WARM_OTHER;
}

/* One batch; its first runs do not count. A backend with a clock of its own runs one more by
 * itself. */
static tess_status run_batch(arena *a, contestant *c)
{
    double seconds[RUNS + WARM_FIRST];
    const char *format = a->search->trials[c->trial].candidate.format;
    int runs = RUNS + warm_runs(a, format);
    int warm = runs - RUNS - (a->device->backend->time_product != NULL);
    TESS_TRY(tess_product_time(c->plan, &spmv, 1.0, a->x, 0.0, a->y, RUNS + warm, seconds));
    a->warm = format;
    a->search->spmvs += runs;
    if (c->count == DUEL_RUNS)
        c->count = 0;
    memcpy(c->runs + c->count, seconds + warm, RUNS * sizeof *seconds);
    c->count += RUNS;
    a->search->trials[c->trial].seconds = median(c);
    return TESS_OK;
}

/* ---- Candidates ---- */

/* Before trials from `first` on are prepared: as many at once as there are threads. */
static void prepare_ahead(arena *a, int64_t first)
{
    tess_search *search = a->search;
    int64_t count = search->count - first;
    tess_candidate *items;
    if (first < a->ahead || !a->device->backend->prepare_ahead || a->effort == TESS_ESTIMATE)
        return;
    count = count < a->ctx->threads ? count : a->ctx->threads;
    a->ahead = first + count;
    if (TESS_ALLOC(a->ctx, count, &items) != TESS_OK)
        return;
    for (int64_t i = 0; i < count; i++)
        items[i] = search->trials[first + i].candidate;
    tess_candidates_ahead(a->device, a->A, items, count);
    tess_free(a->ctx, items);
}

static tess_status prepare_trial(arena *a, int64_t trial, tess_plan **plan)
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
    tess_status status = tess_plan_prepare(a->ctx, a->A, a->device, &options, plan);
    t->prepare_seconds = tess_seconds() - start;
    return status;
}

static void refuse(arena *a, int64_t trial)
{
    tess_trial *t = &a->search->trials[trial];
    t->state = TESS_TRIAL_REFUSED;
    t->seconds = 0;
    memcpy(t->note, a->ctx->error, sizeof t->note - 1);
    tess_log(a->ctx, "tuner: %s %s refused: %s", t->candidate.kernel, t->candidate.params, t->note);
}

/* ---- Duels ---- */

/* Whether `batches` more of the two are within the budget of products. */
static bool room_for(const arena *a, int64_t champion, int64_t challenger, int batches)
{
    const tess_search *search = a->search;
    const char *one = search->trials[champion].candidate.format;
    const char *other = search->trials[challenger].candidate.format;
    int first = warm_runs(a, one), second = warm_runs(a, other);
    int runs = batches * (RUNS + (first > second ? first : second));
    return search->effort == TESS_EXHAUSTIVE || search->spmvs + runs <= MEASURE_PRODUCTS;
}

/* Whether the challenger wins. */
static tess_status duel(arena *a, contestant *champion, contestant *challenger, bool *won)
{
    tess_trial *t = &a->search->trials[challenger->trial];
    *won = false;
    TESS_TRY(run_batch(a, challenger));
    t->state = TESS_TRIAL_GLANCED;
    if (median(challenger) > glance_limit * median(champion) ||
        !room_for(a, champion->trial, challenger->trial, 3))
        return TESS_OK;
    champion->count = 0;
    TESS_TRY(run_batch(a, champion));
    TESS_TRY(run_batch(a, champion));
    TESS_TRY(run_batch(a, challenger));
    t->state = TESS_TRIAL_TIMED;
    *won = median(challenger) < margin * median(champion) &&
           shortest(challenger) < margin * shortest(champion);
    return TESS_OK;
}

static void swap(contestant *a, contestant *b)
{
    contestant kept = *a;
    *a = *b;
    *b = kept;
}

/* Whether a MEASURE search may go on to the next challenger. */
static bool budget_left(const arena *a, int64_t champion, int64_t challenger, double start)
{
    const tess_search *search = a->search;
    if (search->effort == TESS_EXHAUSTIVE)
        return true;
    double limit = prepare_ratio * search->trials[0].prepare_seconds + prepare_seconds +
                   MEASURE_PRODUCTS * search->trials[0].seconds;
    return room_for(a, champion, challenger, 1) && tess_seconds() - start < limit;
}

/* Everybody against the champion, who is prepared and becomes the winner. A fault of a challenger
 * is its own; one of the device shows at the champion's next run. */
static tess_status fight(arena *a, contestant *champion)
{
    tess_search *search = a->search;
    double start = tess_seconds();
    tess_status status = run_batch(a, champion);
    if (status != TESS_OK)
        return status;
    search->trials[champion->trial].state = TESS_TRIAL_TIMED;
    for (int64_t i = champion->trial + 1;
         i < search->count && budget_left(a, champion->trial, i, start); i++) {
        if (tess_progress(a->ctx, "planning", (double)i, (double)search->count) != TESS_OK) {
            search->cancelled = true;
            break;
        }
        contestant challenger = {.trial = i};
        bool won = false;
        if (prepare_trial(a, i, &challenger.plan) != TESS_OK) {
            refuse(a, i);
            continue;
        }
        status = duel(a, champion, &challenger, &won);
        if (status != TESS_OK)
            refuse(a, i);
        if (won)
            swap(champion, &challenger);
        tess_plan_destroy(challenger.plan);
    }
    search->chosen = champion->trial;
    return TESS_OK;
}

/* The first candidate that can be prepared. If none can, the first one's failure is told: the
 * others were only its substitutes. */
static tess_status find_champion(arena *a, contestant *champion)
{
    char error[sizeof a->ctx->error];
    tess_status first = TESS_OK;
    for (int64_t i = 0; i < a->search->count; i++) {
        tess_status status = prepare_trial(a, i, &champion->plan);
        champion->trial = i;
        if (status == TESS_OK || status == TESS_ERR_MEMORY)
            return status;
        refuse(a, i);
        if (first == TESS_OK) {
            first = status;
            memcpy(error, a->ctx->error, sizeof error);
        }
    }
    memcpy(a->ctx->error, error, sizeof error);
    return first;
}

static tess_status make_vectors(arena *a)
{
    const tess_matrix *A = a->A;
    size_t size = tess_type_size(A->type);
    TESS_TRY(tess_alloc_bytes(a->ctx, A->cols, size, &a->x));
    TESS_TRY(tess_calloc_bytes(a->ctx, A->rows, size, &a->y));
    for (int64_t i = 0; i < A->cols; i++) {
        double value = tess_random_unit(1, (uint64_t)i);
        if (A->type == TESS_F64)
            ((double *)a->x)[i] = value;
        else
            ((float *)a->x)[i] = (float)value;
    }
    return TESS_OK;
}

static tess_status search_among(arena *a, tess_plan **out)
{
    contestant champion = {0};
    char error[sizeof a->ctx->error];
    memcpy(error, a->ctx->error, sizeof error);
    bool shared = a->device->one_matrix;
    a->device->one_matrix = true; /* candidates on one layout need it only once */
    tess_status status = find_champion(a, &champion);
    if (status != TESS_OK) {
        a->device->one_matrix = shared;
        return status;
    }
    a->search->chosen = champion.trial;
    if (a->search->count > 1 && a->effort != TESS_ESTIMATE) {
        status = make_vectors(a);
        if (status == TESS_OK)
            status = fight(a, &champion);
        tess_free(a->ctx, a->x);
        tess_free(a->ctx, a->y);
    }
    a->device->one_matrix = shared;
    if (!shared && a->device->backend->settle)
        a->device->backend->settle(champion.plan);
    if (status != TESS_OK) {
        tess_plan_destroy(champion.plan);
        return status;
    }
    /* What was refused on the way, or the stop, is no failure of the caller's. */
    memcpy(a->ctx->error, error, sizeof error);
    *out = champion.plan;
    return TESS_OK;
}

/* ---- Wisdom ---- */

/* Whether the choice is the library's: then wisdom may make it, and is told what was found. */
static bool open_choice(const tess_plan_options *options)
{
    return !options->format && !options->kernel && !options->params && !options->reproducible;
}

/* Whether this matrix has shapes as the last one of its class had: of those a class says nothing.
 */
static bool worth_shapes(const arena *a)
{
    static const double least_saved = 0.15;
    tess_fbcsr_options shapes;
    char error[sizeof a->ctx->error];
    memcpy(error, a->ctx->error, sizeof error);
    bool worth = tess_shapes_look(a->ctx, a->A, &shapes) == TESS_OK && shapes.saved >= least_saved;
    memcpy(a->ctx->error, error, sizeof error);
    return worth;
}

/* A plan as it was chosen for the last matrix of this class; *out stays NULL when nothing is known,
 * or what is known does not work here any more. */
static void recall(arena *a, const char *key, tess_plan **out)
{
    tess_ctx *ctx = a->ctx;
    const tess_wisdom_entry *entry = tess_wisdom_find(ctx, key);
    if (!entry || (a->options->effort == TESS_EXHAUSTIVE && entry->effort != TESS_EXHAUSTIVE))
        return;
    if (strcmp(entry->candidate.format, "fbcsr") == 0 && !worth_shapes(a))
        return;
    tess_search *search;
    char error[sizeof ctx->error];
    memcpy(error, ctx->error, sizeof error);
    tess_status status = TESS_ALLOC(ctx, 1, &search);
    if (status == TESS_OK) {
        tess_plan_options options = {.format = entry->candidate.format,
                                     .kernel = entry->candidate.kernel,
                                     .params = entry->candidate.params};
        status = tess_plan_prepare(ctx, a->A, a->device, &options, out);
        if (status != TESS_OK)
            tess_free(ctx, search);
    }
    if (status != TESS_OK) {
        tess_log(ctx, "wisdom: '%s' for '%s' does not apply: %s", entry->candidate.kernel, key,
                 ctx->error);
        memcpy(ctx->error, error, sizeof error);
        return;
    }
    *search = (tess_search){.effort = entry->effort,
                            .remembered = true,
                            .seconds_then = entry->seconds,
                            .bytes_then = entry->bytes};
    (*out)->search = search;
}

static void remember(const arena *a, const char *key)
{
    const tess_search *search = a->search;
    const tess_trial *winner = &search->trials[search->chosen];
    tess_wisdom_entry entry = {.candidate = winner->candidate,
                               .seconds = winner->seconds,
                               .bytes = tess_matrix_spmv_bytes(a->A),
                               .effort = search->cancelled ? TESS_MEASURE : search->effort};
    if (winner->seconds <= 0 || search->count < 2)
        return;
    if (strcmp(winner->candidate.format, "fbcsr") == 0)
        entry.candidate.params[0] = '\0'; /* the next one has its own shapes */
    memcpy(entry.key, key, sizeof entry.key);
    tess_wisdom_remember(a->ctx, &entry);
}

/* ---- The whole ---- */

/* Whether there is anything to choose. */
static bool worth_choosing(const arena *a)
{
    const tess_plan_options *options = a->options;
    return !options->params && !options->reproducible && a->device->backend->candidates &&
           a->A->blocks > 0;
}

static tess_status search_and_keep(arena *a, tess_plan **out)
{
    tess_search *search;
    TESS_TRY(TESS_ALLOC(a->ctx, 1, &search));
    *search = (tess_search){.effort = a->effort};
    a->search = search;
    double start = tess_seconds();
    tess_status status = tess_search_list(search, a->device, a->A, a->options);
    /* Nothing listed: the backend says in its own words what is wrong with the options. */
    if (status == TESS_OK)
        status = search->count > 0 ? search_among(a, out)
                                   : tess_plan_prepare(a->ctx, a->A, a->device, a->options, out);
    if (status != TESS_OK) {
        tess_search_free(a->ctx, search);
        return status;
    }
    search->seconds = tess_seconds() - start;
    (*out)->search = search;
    return TESS_OK;
}

tess_status tess_plan_search(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                             const tess_plan_options *options, bool fresh, tess_plan **out)
{
    arena a = {.ctx = ctx, .A = A, .device = device, .options = options, .effort = options->effort};
    bool tiny = tess_matrix_spmv_bytes(A) < TESS_TUNER_LEAST_BYTES;
    if (tiny && !fresh && a.effort == TESS_MEASURE)
        a.effort = TESS_ESTIMATE;
    /* Without a model an estimate is the backend's own guess. */
    bool guess = a.effort == TESS_ESTIMATE && !device->backend->costs;
    char key[TESS_WISDOM_KEY];
    tess_plan *plan = NULL;
    if (!worth_choosing(&a))
        return tess_plan_prepare(ctx, A, device, options, out);
    bool open =
        open_choice(options) && tess_wisdom_enabled() && !(tiny && a.effort == TESS_ESTIMATE);
    if (open)
        tess_wisdom_key(device, A, "spmv", key);
    if (open && !fresh)
        recall(&a, key, &plan);
    if (!plan && guess)
        return tess_plan_prepare(ctx, A, device, options, out);
    if (!plan) {
        TESS_TRY(search_and_keep(&a, &plan));
        if (open && a.search->count > 0)
            remember(&a, key);
    }
    *out = plan;
    return TESS_OK;
}
