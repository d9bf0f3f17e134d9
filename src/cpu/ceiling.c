/* The read ceiling: how fast threads can read at all, the 100 % of every efficiency we print.
 *
 * Each thread sums its own part of an array, walking 1, 2, 3 or 4 places of it in step, one cache
 * line at a time; one stream alone meets the limit of a core's prefetcher, not of the memory. */
#include <omp.h>

#include "cpu/cpu.h"

/* One register: gcc lowers wider vectors through the stack, at half of the memory's speed. */
typedef double pair __attribute__((vector_size(16)));

enum { MOST_STREAMS = 4, LINE_DOUBLES = 8, LINE_PAIRS = 4 };

/* Sums `streams` stretches of `lines` lines each, one after the other in memory. */
static inline __attribute__((always_inline)) double sum_streams(const double *data, int64_t lines,
                                                                const int streams)
{
    pair sums[MOST_STREAMS * LINE_PAIRS] = {{0}};
    for (int64_t i = 0; i < lines; i++) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            const pair *at = (const pair *)(data + (s * lines + i) * LINE_DOUBLES);
            sums[LINE_PAIRS * s + 0] += at[0];
            sums[LINE_PAIRS * s + 1] += at[1];
            sums[LINE_PAIRS * s + 2] += at[2];
            sums[LINE_PAIRS * s + 3] += at[3];
        }
    }
    double total = 0;
    for (int i = 0; i < LINE_PAIRS * streams; i++)
        total += sums[i][0] + sums[i][1];
    return total;
}

static double sum_part(const double *data, int64_t lines, int streams)
{
    switch (streams) {
    case 1:
        return sum_streams(data, lines, 1);
    case 2:
        return sum_streams(data, lines / 2, 2);
    case 3:
        return sum_streams(data, lines / 3, 3);
    default:
        return sum_streams(data, lines / 4, 4);
    }
}

/* Seconds of `passes` passes over the array. *sink takes the sums, so that they are computed. */
static double time_passes(const double *data, int64_t lines, int threads, int streams, int passes,
                          double *sink)
{
    double total = 0, start = tess_seconds();
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        int64_t count = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t first = lines / count * thread;
        for (int pass = 0; pass < passes; pass++) {
            total += sum_part(data + first * LINE_DOUBLES, lines / count, streams);
            __asm__ volatile("" ::: "memory"); /* or one pass would do for all */
        }
    }
    *sink += total;
    return tess_seconds() - start;
}

tess_status tess_cpu_read_ceiling(tess_ctx *ctx, int threads, double bytes,
                                  double *bytes_per_second)
{
    if (threads < 1 || !(bytes >= 0) || bytes > 1e15)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "read ceiling of %g bytes by %d threads", bytes,
                         threads);
    /* Whole lines, at least a few for each stream of each thread. */
    int64_t lines = (int64_t)(bytes / 64), least = (int64_t)threads * MOST_STREAMS * 16;
    if (lines < least)
        lines = least;
    double *data, sink = 0, best = 0;
    TESS_TRY(tess_alloc_bytes(ctx, lines, 64, (void **)&data));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < lines * LINE_DOUBLES; i++)
        data[i] = 1;

    /* About 0.1 s in all: four numbers of streams, two rounds, several passes in cache. */
    double size = (double)lines * 64;
    int passes = 1 + (int)(200e6 * threads / size);
    for (int round = 0; round < 3; round++) {
        for (int streams = 1; streams <= MOST_STREAMS; streams++) {
            double seconds = time_passes(data, lines, threads, streams, passes, &sink);
            if (seconds > 0 && size * passes / seconds > best)
                best = size * passes / seconds;
        }
    }
    tess_free(ctx, data);
    if (!(sink > 0) || !(best > 0))
        return tess_fail(ctx, TESS_ERR_INTERNAL, "the read ceiling could not be measured");
    *bytes_per_second = best;
    return TESS_OK;
}
