/* Ranges divided among shares, and how many threads there are by default. */
#include "core/threads.h"

#include <sched.h>
#include <unistd.h>

tess_range tess_share(int64_t count, int share, int shares)
{
    const int64_t part = count / shares, longer = count % shares;
    const int64_t first = share * part + tess_min(share, longer);
    return (tess_range){first, first + part + (share < longer), share};
}

typedef struct loop {
    tess_range_fn run;
    void *arg;
    int64_t count, step, next;
    int shares;
} loop;

static void run_static(void *arg, int share)
{
    const loop *l = arg;
    l->run(l->arg, tess_share(l->count, share, l->shares));
}

void tess_for_shares(tess_ctx *ctx, int shares, int64_t count, tess_range_fn run, void *arg)
{
    if (shares > count)
        shares = (int)count;
    loop l = {.run = run, .arg = arg, .count = count, .shares = shares};
    tess_parallel(ctx, shares, run_static, &l);
}

void tess_for(tess_ctx *ctx, int64_t count, tess_range_fn run, void *arg)
{
    tess_for_shares(ctx, ctx->threads, count, run, arg);
}

static void run_dynamic(void *arg, int share)
{
    loop *l = arg;
    for (int64_t first; (first = tess_take(&l->next, l->step)) < l->count;)
        l->run(l->arg, (tess_range){first, tess_min(first + l->step, l->count), share});
}

void tess_for_dynamic(tess_ctx *ctx, int shares, int64_t count, int64_t step, tess_range_fn run,
                      void *arg)
{
    const int64_t pieces = tess_ceil_div(count, step);
    if (shares > pieces)
        shares = (int)pieces;
    loop l = {.run = run, .arg = arg, .count = count, .step = step};
    tess_parallel(ctx, shares, run_dynamic, &l);
}

typedef struct each {
    tess_item_fn item;
    void *to;
    const void *from;
} each;

static void run_items(void *arg, tess_range range)
{
    const each *e = arg;
    for (int64_t i = range.first; i < range.last; i++)
        e->item(e->to, e->from, i);
}

void tess_for_each(tess_ctx *ctx, int64_t count, int64_t step, tess_item_fn item, void *to,
                   const void *from)
{
    each e = {item, to, from};
    if (step > 0)
        tess_for_dynamic(ctx, ctx->threads, count, step, run_items, &e);
    else
        tess_for(ctx, count, run_items, &e);
}

void tess_lower(int64_t *number, int64_t to)
{
    int64_t was = __atomic_load_n(number, __ATOMIC_RELAXED);
    while (to < was &&
           !__atomic_compare_exchange_n(number, &was, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

void tess_raise(int64_t *number, int64_t to)
{
    int64_t was = __atomic_load_n(number, __ATOMIC_RELAXED);
    while (to > was &&
           !__atomic_compare_exchange_n(number, &was, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

void tess_raise_double(double *number, double to)
{
    double was;
    __atomic_load(number, &was, __ATOMIC_RELAXED);
    while (to > was &&
           !__atomic_compare_exchange(number, &was, &to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

typedef struct reducing {
    tess_reduction kind;
    tess_reduce_fn of;
    const void *from;
    int64_t result;
} reducing;

static void reduce_range(void *arg, tess_range range)
{
    reducing *r = arg;
    const int64_t value = r->of(r->from, range);
    if (r->kind == TESS_SUM)
        tess_take(&r->result, value);
    else if (r->kind == TESS_LEAST)
        tess_lower(&r->result, value);
    else
        tess_raise(&r->result, value);
}

int64_t tess_reduce(tess_ctx *ctx, int64_t count, tess_reduction kind, tess_reduce_fn of,
                    const void *from)
{
    reducing r = {kind, of, from, kind == TESS_LEAST ? INT64_MAX : 0};
    tess_for(ctx, count, reduce_range, &r);
    return r.result;
}

/* The number of processors in this thread's affinity mask, which taskset, cpusets and containers
 * set. */
int64_t tess_processors(void)
{
#ifdef __linux__
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)most);
        if (!set)
            break;
        const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

/* The OpenMP library of the program, where it has one. */
extern int omp_get_max_threads(void) __attribute__((weak));
extern int omp_get_proc_bind(void) __attribute__((weak)); /* 0: threads are not bound */
extern int omp_get_num_places(void) __attribute__((weak));
extern int omp_get_place_num_procs(int place) __attribute__((weak));
extern void omp_get_place_proc_ids(int place, int *ids) __attribute__((weak));

void tess_take_place(int share)
{
#ifdef __linux__
    if (!omp_get_proc_bind || !omp_get_num_places || !omp_get_place_num_procs ||
        !omp_get_place_proc_ids || omp_get_proc_bind() == 0 || omp_get_num_places() < 1)
        return;
    const int place = share % omp_get_num_places(), count = omp_get_place_num_procs(place);
    int *ids = malloc((size_t)(count > 0 ? count : 1) * sizeof *ids);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (ids && count > 0) {
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < count; i++)
            CPU_SET((size_t)ids[i], &set); /* ignores ids beyond the set's size */
        sched_setaffinity(0, sizeof set, &set);
    }
    free(ids);
#else
    (void)share;
#endif
}

int tess_default_threads(void)
{
    const char *text = getenv("OMP_NUM_THREADS"); /* "4", or "4,2": the first is the outer level */
    int64_t threads = 0;
    if (omp_get_max_threads)
        threads = omp_get_max_threads();
    else if (text)
        threads = strtoll(text, NULL, 10);
    if (threads < 1)
        threads = tess_processors();
    return (int)tess_max(1, tess_min(threads, TESS_THREADS_MAX));
}
