/* The rounds: every entry is prepared, verified, then timed in turn with the others and the
 * ceiling.
 *
 * Plans may hold copies of the matrix, so they live in groups of a limited size; a plan that does
 * not fit beside the others starts the next group. Within a group nothing is favoured by its place:
 * each turn begins with repetitions that are not counted, because the caches hold another's data,
 * and every round has another order, as the ceiling empties the caches and a peer's threads may
 * linger. The ceiling is the access pattern with the highest median: the highest sample of many
 * would be set beside the kernels' medians, and on a machine that others disturb no kernel could
 * reach it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "plan/tuner.h"

enum {
    ROUNDS = 7,
    UPDATES = 2,         /* a round, after one that does not count */
    IN_A_ROW = 8,        /* updates that a device waits for together */
    TURN_MAX = 1000,     /* repetitions a turn */
    GROUP_MAX = 24,      /* plans alive at once, */
    PEERS_MAX = 48,      /* beside these of other libraries */
    CEILING_GROUPS = 256 /* whose rounds have a ceiling */
};
enum { UNCOUNTED = 1, UNCOUNTED_IN_CACHE = 3 };
#define TARGET_SECONDS 0.4 /* measured time an entry */
#define SLOW_TIMES 8    /* the fastest: an entry that takes longer runs in the first round only, */
#define BEHIND_TIMES 2  /* or in the usual number of them only */
#define GROUP_BYTES 8e9 /* of matrices alive at once; plans on a GPU share what they can */
#define GROUP_BYTES_GPU 32e9

/* An entry while it is measured: a plan of ours or a peer's variant. */
typedef struct entry {
    tess_plan *plan;
    bench_variant *variant;
    bench_result *result;
    int turn;                   /* counted repetitions a turn */
    double *times, *turn_times; /* all counted so far; the last turn, the uncounted ones first */
    int timed;
    double updates[ROUNDS * UPDATES];
    int updated;
    double once;   /* seconds, at first; 0: it does not run */
    int rounds;    /* it takes part in */
    void *first_y; /* ours: the result that must come again */
} entry;

typedef struct session {
    tess_ctx *ctx;
    tess_device *device;
    const tess_matrix *A;
    const bench_options *options;
    bench_truth truth;
    void *x, *y;
    size_t y_bytes;
    void *values; /* where the device has them, for updates */
    bench_peers *peers;
    bench_report *report;
    double *ceilings[TESS_READINGS]; /* samples of each access pattern */
    int ceiling_rounds, ceiling_room;
    int64_t done, total; /* progress, in turns */
} session;

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, int count)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static void set_outcome(bench_result *result, bench_outcome outcome, const char *reason)
{
    result->outcome = outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* The error of session->y, and the verdict. */
static void judge(session *s, bench_result *result)
{
    result->error = bench_error(&s->truth, s->y);
    if (!(result->error <= BENCH_ERROR_MAX))
        set_outcome(result, BENCH_WRONG, "the result differs from ref's");
}

/* Runs the entry `reps` times. y is poisoned first, so that a row nobody wrote is seen. */
static bool run_entry(session *s, entry *e, int reps, double *seconds)
{
    if (e->variant) {
        if (bench_variant_time(e->variant, reps, seconds))
            return true;
        set_outcome(e->result, BENCH_FAILED, e->variant->refused);
        return false;
    }
    bench_poison(s->ctx, s->y, s->y_bytes);
    tess_status status =
        tess_product_time(e->plan, &s->options->product, 1, s->x, 0, s->y, reps, seconds);
    if (status == TESS_OK)
        return true;
    set_outcome(e->result, status == TESS_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED,
                tess_ctx_error(s->ctx));
    return false;
}

/* Repetitions at the beginning of a turn that do not count: what stays in a cache comes back there
 * in several. */
static int uncounted(const session *s)
{
    return s->report->bytes < 3 * s->device->cache_bytes ? UNCOUNTED_IN_CACHE : UNCOUNTED;
}

/* The first run: verified, and long enough to know how many repetitions make a turn. */
static tess_status try_entry(session *s, entry *e)
{
    double seconds[2];
    if (!run_entry(s, e, 2, seconds))
        return TESS_OK;
    if (e->variant) {
        bench_poison(s->ctx, s->y, s->y_bytes);
        if (!bench_variant_result(s->peers, e->variant, s->y, s->truth.count)) {
            set_outcome(e->result, BENCH_FAILED, e->variant->refused);
            return TESS_OK;
        }
    }
    judge(s, e->result);
    e->once = seconds[1] > 1e-9 ? seconds[1] : 1e-9;
    int rounds = s->report->rounds;
    double target = s->options->seconds > 0 ? s->options->seconds : TARGET_SECONDS;
    double wanted = (s->options->reps ? s->options->reps : target / e->once) / rounds;
    e->turn = wanted < 1 ? 1 : wanted > TURN_MAX ? TURN_MAX : (int)ceil(wanted);
    TESS_TRY(TESS_ALLOC(s->ctx, (int64_t)e->turn * rounds, &e->times));
    TESS_TRY(TESS_ALLOC(s->ctx, e->turn + uncounted(s), &e->turn_times));
    if (e->plan) {
        TESS_TRY(tess_alloc_bytes(s->ctx, (int64_t)s->y_bytes, 1, &e->first_y));
        memcpy(e->first_y, s->y, s->y_bytes);
    }
    return TESS_OK;
}

/* Until threads that wait for more work have gone to sleep: those of another process would take the
 * next entry's cores. The product after MKL's turn took up to 30 % longer. */
static void let_sleep(const entry *e)
{
    const struct timespec spinning = {.tv_nsec = 40 * 1000 * 1000};
    if (e->variant)
        nanosleep(&spinning, NULL);
}

static void take_turn(session *s, entry *e)
{
    if (!e->times || e->result->outcome != BENCH_GOOD)
        return;
    let_sleep(e);
    bool ran = run_entry(s, e, e->turn + uncounted(s), e->turn_times);
    let_sleep(e);
    if (!ran)
        return;
    memcpy(e->times + e->timed, e->turn_times + uncounted(s), (size_t)e->turn * sizeof *e->times);
    e->timed += e->turn;
    if (e->plan && !bench_same(s->ctx, e->first_y, s->y, s->y_bytes)) {
        judge(s, e->result); /* not even right any more? that is the more important message */
        if (e->result->outcome != BENCH_GOOD)
            return;
        if (e->result->peer[0]) /* that is its own affair, and its time counts */
            set_outcome(e->result, BENCH_GOOD, "not repeatable");
        else
            set_outcome(e->result, BENCH_WRONG, "the result differs from run to run");
    }
}

/* The plan gets its own values anew, from the device's memory; an asynchronous device gets
 * several updates one after the other, as it gets products, and is waited for once. */
static tess_status update(session *s, entry *e, int in_a_row, double *seconds)
{
    const double start = tess_seconds();
    for (int i = 0; i < in_a_row; i++)
        TESS_TRY(tess_plan_update_values(e->plan, s->values ? s->values : s->A->values));
    if (s->values)
        TESS_TRY(tess_device_synchronize(s->device));
    *seconds = (tess_seconds() - start) / in_a_row;
    return TESS_OK;
}

static void take_updates(session *s, entry *e)
{
    double seconds;
    if (!s->options->update || !e->plan || e->result->peer[0] || !e->times ||
        e->result->outcome != BENCH_GOOD || e->updated + UPDATES > ROUNDS * UPDATES)
        return;
    tess_status status = update(s, e, 1, &seconds);
    for (int i = 0; i < UPDATES && status == TESS_OK; i++) {
        status = update(s, e, s->values ? IN_A_ROW : 1, &seconds);
        e->updates[e->updated++] = seconds;
    }
    if (status != TESS_OK)
        set_outcome(e->result, BENCH_FAILED, tess_ctx_error(s->ctx));
}

static tess_status take_ceiling(session *s)
{
    const tess_backend *backend = s->device->backend;
    tess_readings samples = {.count = 1};
    if (!backend->read_ceiling || s->ceiling_rounds == s->ceiling_room)
        return TESS_OK;
    if (backend->read_samples)
        TESS_TRY(backend->read_samples(s->device, s->report->bytes, &samples));
    else
        TESS_TRY(backend->read_ceiling(s->device, s->report->bytes, &samples.speeds[0]));
    for (int i = 0; i < samples.count; i++)
        s->ceilings[i][s->ceiling_rounds] = samples.speeds[i];
    s->ceiling_rounds++;
    return TESS_OK;
}

/* The median of the pattern that reads fastest, and the fastest sample. */
static void find_ceiling(session *s, bench_report *report)
{
    for (int i = 0; i < TESS_READINGS && s->ceiling_rounds > 0; i++) {
        double middle = median(s->ceilings[i], s->ceiling_rounds);
        double most = s->ceilings[i][s->ceiling_rounds - 1]; /* sorted now */
        report->ceiling = middle > report->ceiling ? middle : report->ceiling;
        report->read_most = most > report->read_most ? most : report->read_most;
    }
}

static void drop_entry(session *s, entry *e)
{
    e->result->seconds = median(e->times, e->timed);
    e->result->update_seconds = median(e->updates, e->updated);
    tess_plan_destroy(e->plan);
    tess_free(s->ctx, e->times);
    tess_free(s->ctx, e->turn_times);
    tess_free(s->ctx, e->first_y);
    *e = (entry){0};
}

/* In how many rounds each takes part: the slowest would take most of the time. */
static void leave_slow(const session *s, entry *group, int count)
{
    const int all = s->report->rounds, usual = all < ROUNDS ? all : ROUNDS;
    double fastest = INFINITY;
    for (int i = 0; i < count; i++)
        fastest = group[i].once > 0 && group[i].once < fastest ? group[i].once : fastest;
    for (int i = 0; i < count; i++) {
        double times = s->options->reps == 0 ? group[i].once / fastest : 1;
        group[i].rounds = times > SLOW_TIMES ? 1 : times > BEHIND_TIMES ? usual : all;
    }
}

void bench_order(int round, int count, int *order)
{
    for (int i = 0; i < count; i++) { /* each changes places with one that came before */
        const uint64_t draw = (uint64_t)round * (GROUP_MAX + PEERS_MAX) + (uint64_t)i;
        const int other = (int)tess_random_below(0, draw, i + 1);
        if (other < i)
            order[i] = order[other];
        order[other] = i;
    }
}

/* Tries and times the entries of one group, then drops them. */
static tess_status measure_group(session *s, entry *group, int count)
{
    tess_status status = TESS_OK;
    for (int i = 0; i < count && status == TESS_OK; i++)
        if (group[i].result->outcome == BENCH_GOOD)
            status = try_entry(s, &group[i]);
    leave_slow(s, group, count);
    for (int round = 0; round < s->report->rounds && status == TESS_OK; round++) {
        int order[GROUP_MAX + PEERS_MAX];
        bench_order(round, count, order);
        status = take_ceiling(s);
        for (int i = 0; i < count && status == TESS_OK; i++) {
            status = tess_progress(s->ctx, "measuring", (double)s->done++, (double)s->total);
            entry *e = &group[order[i]];
            if (round < e->rounds) {
                take_turn(s, e);
                take_updates(s, e);
            }
        }
    }
    for (int i = 0; i < count; i++)
        drop_entry(s, &group[i]);
    return status;
}

/* A plan for the candidate. Memory is the one failure that the caller may cure, by emptying the
 * group; any other is the entry's outcome. */
static tess_status make_plan(session *s, const tess_candidate *candidate, entry *e)
{
    tess_plan_options options = {.effort = TESS_ESTIMATE,
                                 .format = candidate->format[0] ? candidate->format : NULL,
                                 .kernel = candidate->kernel[0] ? candidate->kernel : NULL,
                                 .params = candidate->params[0] ? candidate->params : NULL};
    e->result->candidate = *candidate;
    tess_status status = /* new values need a copy of one's own */
        s->options->update ? tess_plan_create(s->ctx, s->A, s->device, &options, &e->plan)
                           : tess_plan_create_shared(s->ctx, s->A, s->device, &options, &e->plan);
    if (status == TESS_ERR_MEMORY)
        return status;
    if (status != TESS_OK) {
        set_outcome(e->result, status == TESS_ERR_UNSUPPORTED ? BENCH_SKIPPED : BENCH_FAILED,
                    tess_ctx_error(s->ctx));
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

static void add_variant(bench_variant *variant, entry *e)
{
    bench_result *result = e->result;
    snprintf(result->peer, sizeof result->peer, "%s", variant->library);
    snprintf(result->version, sizeof result->version, "%s", variant->version);
    snprintf(result->candidate.kernel, sizeof result->candidate.kernel, "%s", variant->name);
    result->threads = variant->threads;
    if (variant->refused[0])
        set_outcome(result, BENCH_SKIPPED, variant->refused);
    else
        e->variant = variant;
}

/* What a plan takes that measures nothing: the first that it looks at. */
static int64_t estimated(const tess_candidates *list, const tess_matrix *A)
{
    int64_t first = 0;
    while (!tess_search_shapes(TESS_ESTIMATE, A) && first < list->count - 1 &&
           strcmp(list->items[first].format, "fbcsr") == 0)
        first++;
    return first;
}

/* All candidates, then all peers, in groups. The peers are in the first group: with ours that a
 * plan would choose. */
static tess_status measure_all(session *s, const tess_candidates *list)
{
    entry group[GROUP_MAX + PEERS_MAX] = {{0}};
    int count = 0, plans = 0;
    int64_t first = estimated(list, s->A);
    bench_result *next = s->report->results;
    double bytes = s->report->bytes;
    double fitting = (s->device->threads > 0 ? GROUP_BYTES : GROUP_BYTES_GPU) / bytes;
    int most = fitting < 1 ? 1 : fitting > GROUP_MAX ? GROUP_MAX : (int)fitting;
    for (int i = 0; s->peers && i < bench_peers_count(s->peers) && i < PEERS_MAX; i++) {
        group[count].result = next++;
        add_variant(bench_peers_variant(s->peers, i), &group[count++]);
    }
    for (int64_t i = 0; i < list->count; i++) {
        if (plans == most) {
            TESS_TRY(measure_group(s, group, count));
            count = plans = 0;
        }
        *next = (bench_result){.first = i == first, .threads = s->device->threads};
        group[count].result = next++;
        if (list->items[i].peer) {
            snprintf(group[count].result->peer, sizeof next->peer, "%s", list->items[i].kernel);
            snprintf(group[count].result->version, sizeof next->version, "%s",
                     list->items[i].version);
            group[count].result->first = false;
        }
        tess_status status = make_plan(s, &list->items[i], &group[count]);
        if (status == TESS_ERR_MEMORY && plans > 0) {
            entry waiting = group[count];
            TESS_TRY(measure_group(s, group, count));
            group[0] = waiting;
            count = plans = 0;
            status = make_plan(s, &list->items[i], &group[0]);
        }
        if (status != TESS_OK)
            set_outcome(group[count].result, BENCH_FAILED, tess_ctx_error(s->ctx));
        count++;
        plans++;
    }
    s->report->count = next - s->report->results;
    return measure_group(s, group, count);
}

static tess_status open_session(session *s)
{
    const tess_matrix *A = s->A;
    const tess_product *product = &s->options->product;
    size_t size = tess_type_size(A->type);
    int64_t x_count = tess_product_x_size(A, product);
    s->y_bytes = (size_t)tess_product_y_size(A, product) * size;
    s->ceiling_room = s->report->rounds * CEILING_GROUPS;
    for (int i = 0; i < TESS_READINGS; i++)
        TESS_TRY(TESS_CALLOC(s->ctx, s->ceiling_room, &s->ceilings[i]));
    TESS_TRY(tess_alloc_bytes(s->ctx, x_count, size, &s->x));
    TESS_TRY(tess_alloc_bytes(s->ctx, (int64_t)s->y_bytes, 1, &s->y));
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static)
    for (int64_t i = 0; i < x_count; i++) {
        double value = tess_random_unit(20, (uint64_t)i);
        if (A->type == TESS_F64)
            ((double *)s->x)[i] = value;
        else
            ((float *)s->x)[i] = (float)value;
    }
    TESS_TRY(bench_truth_create(A, product, s->x, &s->truth));
    if (s->options->update && s->device->backend->memory_copy_to) {
        const size_t bytes = (size_t)tess_matrix_stored(A) * size;
        TESS_TRY(tess_device_alloc(s->device, bytes, &s->values));
        TESS_TRY(tess_device_copy_to(s->device, s->values, A->values, bytes));
    }
    if (s->options->peers && s->options->peers_directory)
        TESS_TRY(
            bench_peers_start(A, s->x, s->options->peers_directory, s->device->threads, &s->peers));
    return TESS_OK;
}

static void close_session(session *s)
{
    bench_peers_stop(s->peers);
    bench_truth_free(s->ctx, &s->truth);
    for (int i = 0; i < TESS_READINGS; i++)
        tess_free(s->ctx, s->ceilings[i]);
    tess_device_free(s->device, s->values);
    tess_free(s->ctx, s->x);
    tess_free(s->ctx, s->y);
}

tess_status bench_measure(tess_device *device, const tess_matrix *A, const bench_options *options,
                          bench_report *report)
{
    tess_status status;
    tess_candidates list = {0};
    bench_report made = {.bytes = tess_product_bytes(A, &options->product),
                         .flops = tess_product_flops(A, &options->product)};
    made.rounds = options->rounds > 0 ? options->rounds : ROUNDS;
    made.rounds = options->reps > 0 && options->reps < made.rounds ? options->reps : made.rounds;
    session *s;
    TESS_TRY(TESS_CALLOC(device->ctx, 1, &s));
    *s = (session){
        .ctx = device->ctx, .device = device, .A = A, .options = options, .report = &made};
    TESS_TRY_CLEAN(bench_candidates(device, A, options, &list));
    TESS_TRY_CLEAN(open_session(s));
    int64_t entries = list.count + (s->peers ? bench_peers_count(s->peers) : 0);
    s->total = entries * made.rounds;
    TESS_TRY_CLEAN(TESS_CALLOC(s->ctx, entries, &made.results));
    tess_candidates_ahead(device, A, list.items, list.count);
    TESS_TRY_CLEAN(measure_all(s, &list));
    find_ceiling(s, &made);
    *report = made;
cleanup:
    if (status != TESS_OK)
        bench_report_free(device->ctx, &made);
    close_session(s);
    tess_candidates_free(device->ctx, &list);
    tess_free(device->ctx, s);
    return status;
}

void bench_report_free(tess_ctx *ctx, bench_report *report)
{
    tess_free(ctx, report->results);
    *report = (bench_report){0};
}

const bench_result *bench_best(const bench_report *report, bool peers)
{
    const bench_result *best = NULL;
    for (int64_t i = 0; i < report->count; i++) {
        const bench_result *result = &report->results[i];
        bool usable = result->outcome == BENCH_GOOD && result->seconds > 0;
        if (usable && (result->peer[0] != 0) == peers && (!best || result->seconds < best->seconds))
            best = result;
    }
    return best;
}
