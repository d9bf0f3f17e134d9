/* Threads that solve by stages.
 *
 * Between two barriers threads share the rows of one stage; stages too small to be worth sharing
 * are joined, and one thread does them. Levels are passed in microseconds, where a thread that has
 * to be woken would cost as much as the work: threads wait by looking, and let others have the
 * processor only when that lasts.
 */
#include "solve/pc/staged.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* Bytes of factors worth a thread of their own: about the time of a barrier. */
enum { SHARE_BYTES = 24 << 10 };
/* Looks at the barrier before the processor is given up. */
enum { LOOKS = 4000 };

struct tess_barrier {
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint round;
};

static void pause_thread(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void await_all(tess_barrier *barrier, int threads)
{
    const unsigned round = atomic_load_explicit(&barrier->round, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 ==
        (unsigned)threads) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->round, round + 1, memory_order_release);
        return;
    }
    for (int looks = 0; atomic_load_explicit(&barrier->round, memory_order_acquire) == round;
         looks++) {
        if (looks < LOOKS)
            pause_thread();
        else
            sched_yield();
    }
}

/* The threads worth using for rows first .. last-1 of a triangle. */
static int threads_for(const tess_staged *staged, const tess_triangle *t, int64_t first,
                       int64_t last)
{
    const double block = (double)staged->block * staged->block;
    const double bytes = ((double)(t->offsets[last] - t->offsets[first]) + (double)(last - first)) *
                         block * (double)tess_type_size(staged->type);
    const double shares = bytes / SHARE_BYTES;
    return shares < 2 ? 1 : shares < staged->threads ? (int)shares : staged->threads;
}

/* Rows first .. last-1 dealt out to `used` of the threads by their blocks; the others get none. */
static void deal_rows(const tess_staged *staged, const tess_triangle *t, int64_t first,
                      int64_t last, int used, int64_t *bounds)
{
    const int64_t work = t->offsets[last] - t->offsets[first] + last - first;
    int64_t row = first;
    bounds[0] = first;
    for (int i = 1; i <= staged->threads; i++) {
        const int64_t target = i < used ? work / used * i + work % used * i / used : work;
        while (row < last && t->offsets[row] - t->offsets[first] + row - first < target)
            row++;
        bounds[i] = i < used ? row : last;
    }
}

/* The phases of one sweep: stage by stage in the order of the sweep. */
static tess_status deal_sweep(tess_staged *staged, const tess_triangle *t, bool up,
                              tess_phases *phases)
{
    const tess_stages *s = &staged->stages;
    const int64_t rows = staged->block_rows, step = staged->threads + 1;
    int64_t *bounds = NULL, count = 0;
    int most = 1;
    bool joining = false; /* the last phase is one thread's and may be continued */
    TESS_TRY(TESS_ALLOC(staged->ctx, s->count * step, &bounds));
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = up ? s->count - 1 - i : i;
        const int64_t first = up ? rows - s->offsets[at + 1] : s->offsets[at];
        const int64_t last = up ? rows - s->offsets[at] : s->offsets[at + 1];
        const int used = threads_for(staged, t, first, last);
        int64_t *own = bounds + (joining && used == 1 ? count - 1 : count++) * step;
        deal_rows(staged, t, joining && used == 1 ? own[0] : first, last, used, own);
        joining = used == 1;
        most = used > most ? used : most;
    }
    phases->count = count;
    phases->bounds = bounds;
    phases->threads = most;
    return TESS_OK;
}

tess_status tess_staged_deal(tess_staged *staged, int threads)
{
    tess_split *const splits[2] = {&staged->plain, &staged->transposed};
    staged->threads = threads;
    TESS_TRY(tess_alloc_bytes(staged->ctx, staged->block_rows * staged->block,
                              tess_type_size(staged->vector_type), &staged->work));
    TESS_TRY(TESS_CALLOC(staged->ctx, 1, &staged->barrier));
    for (int i = 0; i < 2 && splits[i]->inverse; i++) {
        TESS_TRY(deal_sweep(staged, &splits[i]->lower, false, &staged->down[i]));
        TESS_TRY(deal_sweep(staged, &splits[i]->upper, true, &staged->up[i]));
    }
    return TESS_OK;
}

static tess_sweep_fn sweep_function(const tess_staged *staged)
{
    if (staged->vector_type == TESS_F32)
        return tess_staged_sweep_f32_f32;
    return staged->type == TESS_F32 ? tess_staged_sweep_f64_f32 : tess_staged_sweep_f64_f64;
}

/* One thread's part of a sweep. There may be fewer threads than shares. */
static void run_sweep(const tess_sweep *sweep, bool up, const tess_phases *phases, int thread,
                      int threads)
{
    const tess_staged *staged = sweep->staged;
    const tess_sweep_fn run = sweep_function(staged);
    for (int64_t i = 0; i < phases->count; i++) {
        const int64_t *bounds = phases->bounds + i * (staged->threads + 1);
        for (int share = thread; share < staged->threads; share += threads)
            if (bounds[share] < bounds[share + 1])
                run(sweep, up, bounds[share], bounds[share + 1]);
        if (threads > 1)
            await_all(staged->barrier, threads);
    }
}

void tess_staged_apply(const tess_staged *staged, bool transpose, const void *r, void *z)
{
    const int which = transpose && !staged->symmetric;
    const tess_sweep sweep = {staged, which ? &staged->transposed : &staged->plain, r, z};
    const tess_phases *down = &staged->down[which], *up = &staged->up[which];
    const int threads = down->threads > up->threads ? down->threads : up->threads;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int thread = omp_get_thread_num(), all = omp_get_num_threads();
        run_sweep(&sweep, false, down, thread, all);
        run_sweep(&sweep, true, up, thread, all);
    }
}
