/* The rounds: every entry is prepared, verified, then timed in turn with the others and the
 * ceiling.
 *
 * Plans may hold copies of the matrix, so they live in groups of a limited size. A plan that does
 * not fit beside the others starts the next group. Every round has another order, so that no place
 * in the order is better than another: the ceiling empties the caches, and a peer's threads may
 * still spin.
 *
 * The ceiling is the median of the access pattern with the highest median. The highest of all
 * samples would be compared with the kernels' medians, and on a disturbed machine no kernel could
 * reach it. */
#include <math.h>

#include "entry.h"

enum {
    GROUP_MAX = 24,      /* plans alive at once, beside the peers */
    CEILING_GROUPS = 256 /* the most groups whose rounds measure the ceiling */
};
#define SLOW_TIMES 8    /* entries slower than this times the fastest run in one round */
#define BEHIND_TIMES 2  /* entries slower than this times the fastest run in the usual rounds */
#define GROUP_BYTES 8e9 /* of matrices alive at once; a GPU's plans share arrays */
#define GROUP_BYTES_GPU 32e9

static tess_status take_ceiling(bench_session *s)
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
static void find_ceiling(bench_session *s, bench_report *report)
{
    for (int i = 0; i < TESS_READINGS && s->ceiling_rounds > 0; i++) {
        double middle = tess_median(s->ceilings[i], s->ceiling_rounds);
        double most = s->ceilings[i][s->ceiling_rounds - 1]; /* sorted now */
        report->ceiling = tess_max(middle, report->ceiling);
        report->read_most = tess_max(most, report->read_most);
    }
}

/* Sets in how many rounds each entry takes part. The slowest would take most of the time. */
static void leave_slow(const bench_session *s, bench_entry *group, int count)
{
    const int all = s->report->rounds, usual = tess_min(all, BENCH_ROUNDS);
    double fastest = INFINITY;
    for (int i = 0; i < count; i++)
        fastest = group[i].once > 0 ? tess_min(group[i].once, fastest) : fastest;
    for (int i = 0; i < count; i++) {
        double times = s->options->reps == 0 ? group[i].once / fastest : 1;
        group[i].rounds = times > SLOW_TIMES ? 1 : times > BEHIND_TIMES ? usual : all;
    }
}

void bench_order(int round, int count, int *order)
{
    for (int i = 0; i < count; i++) { /* each changes places with an earlier one */
        const uint64_t draw = (uint64_t)round * (GROUP_MAX + BENCH_PEERS_MAX) + (uint64_t)i;
        const int other = (int)tess_random_below(0, draw, i + 1);
        if (other < i)
            order[i] = order[other];
        order[other] = i;
    }
}

/* Tries and times the entries of one group, then drops them. */
static tess_status measure_group(bench_session *s, bench_entry *group, int count)
{
    tess_status status = TESS_OK;
    for (int i = 0; i < count && status == TESS_OK; i++)
        if (group[i].result->outcome == BENCH_GOOD)
            status = bench_entry_try(s, &group[i]);
    leave_slow(s, group, count);
    for (int round = 0; round < s->report->rounds && status == TESS_OK; round++) {
        int order[GROUP_MAX + BENCH_PEERS_MAX];
        bench_order(round, count, order);
        status = take_ceiling(s);
        for (int i = 0; i < count && status == TESS_OK; i++) {
            status = tess_progress(s->ctx, "measuring", (double)s->done++, (double)s->total);
            bench_entry *e = &group[order[i]];
            if (round < e->rounds)
                bench_entry_turn(s, e);
        }
    }
    for (int i = 0; i < count; i++)
        bench_entry_drop(s, &group[i]);
    return status;
}

/* The candidate that an ESTIMATE plan takes: the first that it considers. */
static int64_t estimated(const tess_candidates *list, const tess_matrix *A)
{
    int64_t first = 0;
    while (!tess_search_shapes(TESS_EFFORT_ESTIMATE, A) && first < list->count - 1 &&
           list->items[first].shaped)
        first++;
    return first;
}

/* Measures all candidates and peers in groups. Candidates from `as_they_are` on are regrouped. The
 * peers are in the first group, together with the candidates that a plan would choose. */
static tess_status measure_all(bench_session *s, const tess_candidates *list, int64_t as_they_are)
{
    bench_entry group[GROUP_MAX + BENCH_PEERS_MAX] = {{0}};
    int count = 0, plans = 0;
    int64_t first = estimated(list, s->A);
    bench_result *next = s->report->results;
    double bytes = s->report->bytes;
    double fitting = (s->device->threads > 0 ? GROUP_BYTES : GROUP_BYTES_GPU) / bytes;
    int most = (int)tess_clamp(fitting, 1, GROUP_MAX);
    for (int i = 0; s->peers && i < bench_peers_count(s->peers) && i < BENCH_PEERS_MAX; i++) {
        group[count].result = next++;
        bench_entry_take(bench_peers_variant(s->peers, i), &group[count++]);
    }
    for (int64_t i = 0; i < list->count; i++) {
        if (plans == most) {
            TESS_TRY(measure_group(s, group, count));
            count = plans = 0;
        }
        *next = (bench_result){
            .first = i == first, .regrouped = i >= as_they_are, .threads = s->device->threads};
        group[count].result = next++;
        tess_status status = bench_entry_make(s, &list->items[i], &group[count]);
        if (status == TESS_ERR_MEMORY && plans > 0) {
            bench_entry waiting = group[count];
            TESS_TRY(measure_group(s, group, count));
            group[0] = waiting;
            count = plans = 0;
            status = bench_entry_make(s, &list->items[i], &group[0]);
        }
        if (status != TESS_OK)
            bench_set_outcome(group[count].result, BENCH_FAILED, tess_ctx_error(s->ctx));
        count++;
        plans++;
    }
    s->report->count = next - s->report->results;
    return measure_group(s, group, count);
}

struct draw_numbers {
    const tess_matrix *A;
    bench_session *s;
};

static void draw_numbers(void *arg, tess_range range)
{
    const struct draw_numbers *job = arg;
    for (int64_t i = range.first; i < range.last; i++) {
        tess_put(job->s->x, tess_real_type(job->A->type), i, tess_random_unit(20, (uint64_t)i));
    }
}

static tess_status open_session(bench_session *s)
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
    tess_for(s->ctx, tess_is_complex(A->type) ? 2 * x_count : x_count, draw_numbers,
             &(struct draw_numbers){A, s});
    TESS_TRY(bench_truth_create(A, product, s->x, &s->truth));
    if (s->options->update && s->device->backend->memory_copy_to) {
        const size_t bytes = (size_t)tess_matrix_stored(A) * size;
        TESS_TRY(tess_device_alloc(s->device, bytes, &s->values));
        TESS_TRY(tess_device_copy_to(s->device, s->values, A->values, bytes));
    }
    return s->options->peers && product->kind == TESS_PRODUCT_SPMV
               ? bench_peers_start(s->device, A, s->x, s->options->peers_directory, &s->peers)
               : TESS_OK;
}

static void close_session(bench_session *s)
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
    made.rounds = options->rounds > 0 ? options->rounds : BENCH_ROUNDS;
    made.rounds = options->reps > 0 ? tess_min(options->reps, made.rounds) : made.rounds;
    bench_session *s;
    TESS_TRY(TESS_CALLOC(device->ctx, 1, &s));
    *s = (bench_session){
        .ctx = device->ctx, .device = device, .A = A, .options = options, .report = &made};
    TESS_TRY_CLEAN(bench_candidates(device, A, options, &list));
    const int64_t as_they_are = list.count;
    if (options->regroup)
        TESS_TRY_CLEAN(tess_candidates_add(device->ctx, &list, &(tess_candidate){0}));
    TESS_TRY_CLEAN(open_session(s));
    int64_t entries = list.count + (s->peers ? bench_peers_count(s->peers) : 0);
    s->total = entries * made.rounds;
    TESS_TRY_CLEAN(TESS_CALLOC(s->ctx, entries, &made.results));
    tess_candidates_ahead(device, A, list.items, as_they_are);
    TESS_TRY_CLEAN(measure_all(s, &list, as_they_are));
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
