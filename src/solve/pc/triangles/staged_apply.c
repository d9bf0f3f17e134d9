/* Threads that solve by stages.
 *
 * Threads share the rows of one stage, with one parallel call per stage. Stages too small to be
 * worth sharing are joined, and the caller's thread does them.
 */
#include "solve/pc/triangles/staged.h"

/* Bytes of factors that are worth another thread: they take about the time of a parallel call. */
enum { SHARE_BYTES = 24 << 10 };

/* Returns the number of threads worth using for rows first .. last-1 of a triangle. */
static int threads_for(const tess_staged *staged, const tess_triangle *t, int64_t first,
                       int64_t last)
{
    const double bytes = ((double)(t->offsets[last] - t->offsets[first]) + (double)(last - first)) *
                         (double)tess_factor_bytes(staged->type, staged->block);
    const double shares = bytes / SHARE_BYTES;
    return shares < 2 ? 1 : (int)tess_min(shares, staged->threads);
}

/* Divides rows first .. last-1 among `used` of the threads by their blocks. The other threads get
 * none. */
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

/* Makes the phases of one sweep: stage by stage in the order of the sweep. */
static tess_status deal_sweep(tess_staged *staged, const tess_triangle *t, bool up,
                              tess_phases *phases)
{
    const tess_stages *s = &staged->stages;
    const int64_t rows = staged->block_rows, step = staged->threads + 1;
    int64_t *bounds = NULL, count = 0;
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
    }
    phases->count = count;
    phases->bounds = bounds;
    return TESS_OK;
}

tess_status tess_staged_deal(tess_staged *staged, int threads)
{
    tess_split *const splits[2] = {&staged->plain, &staged->transposed};
    staged->threads = threads;
    TESS_TRY(tess_alloc_bytes(staged->ctx, staged->block_rows * staged->block,
                              tess_type_size(tess_real_type(staged->vector_type)), &staged->work));
    for (int i = 0; i < 2 && splits[i]->inverse; i++) {
        TESS_TRY(deal_sweep(staged, &splits[i]->lower, false, &staged->down[i]));
        TESS_TRY(deal_sweep(staged, &splits[i]->upper, true, &staged->up[i]));
    }
    return TESS_OK;
}

static tess_sweep_fn sweep_function(const tess_staged *staged)
{
    if (staged->vector_type == TESS_C32)
        return tess_staged_sweep_c32_c32;
    if (staged->vector_type == TESS_C64)
        return staged->type == TESS_C32 ? tess_staged_sweep_c64_c32 : tess_staged_sweep_c64_c64;
    if (staged->vector_type == TESS_F32)
        return tess_staged_sweep_f32_f32;
    return staged->type == TESS_F32 ? tess_staged_sweep_f64_f32 : tess_staged_sweep_f64_f64;
}

struct run_rows {
    const tess_sweep *sweep;
    bool up;
    const int64_t *bounds;
};

static void run_rows(void *arg, int share)
{
    const struct run_rows *job = arg;
    if (job->bounds[share] < job->bounds[share + 1])
        sweep_function(job->sweep->staged)(job->sweep, job->up, job->bounds[share],
                                           job->bounds[share + 1]);
}

/* Runs phase by phase, each with as many threads as it is worth. */
static void run_sweep(const tess_sweep *sweep, bool up, const tess_phases *phases)
{
    const tess_staged *staged = sweep->staged;
    for (int64_t i = 0; i < phases->count; i++) {
        const int64_t *bounds = phases->bounds + i * (staged->threads + 1);
        int used = staged->threads;
        while (used > 1 && bounds[used - 1] == bounds[used])
            used--;
        tess_parallel(staged->ctx, used, run_rows, &(struct run_rows){sweep, up, bounds});
    }
}

void tess_staged_apply(const tess_staged *staged, bool transpose, const void *r, void *z)
{
    const int which = transpose && !staged->symmetric;
    const tess_sweep sweep = {staged, which ? &staged->transposed : &staged->plain, r, z};
    run_sweep(&sweep, false, &staged->down[which]);
    run_sweep(&sweep, true, &staged->up[which]);
}
