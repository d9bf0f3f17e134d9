/* The read ceiling: how fast threads can read at all, the 100 % of every efficiency we print.
 *
 * Each thread sums parts of an array, walking 1, 2, 3 or 4 places in step, one cache line at a
 * time; one stream alone meets the limit of a core's prefetcher, not of the memory. With two the
 * lines are also asked for ahead of their use, as some kernels do. */
#include <omp.h>

#include "cpu/cpu.h"

/* One register: gcc lowers wider vectors through the stack, at half of the memory's speed. */
typedef double pair __attribute__((vector_size(16)));

enum { MOST_STREAMS = 4, LINE_DOUBLES = 8, LINE_PAIRS = 4 };

/* Sums `streams` stretches of `lines` lines each, one after the other in memory; `ahead`: lines
 * before its use that each is asked for, 0: not at all. */
static inline __attribute__((always_inline)) double sum_streams(const double *data, int64_t lines,
                                                                const int streams, const int ahead)
{
    pair sums[MOST_STREAMS * LINE_PAIRS] = {{0}};
    for (int64_t i = 0; i < lines; i++) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            const pair *at = (const pair *)(data + (s * lines + i) * LINE_DOUBLES);
            if (ahead > 0)
                __builtin_prefetch((const char *)at + 64 * ahead);
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

enum { PATTERNS = 5, LINES_AHEAD = 48 };

static double sum_part(const double *data, int64_t lines, int pattern)
{
    switch (pattern) {
    case 0:
        return sum_streams(data, lines, 1, 0);
    case 1:
        return sum_streams(data, lines / 2, 2, 0);
    case 2:
        return sum_streams(data, lines / 3, 3, 0);
    case 3:
        return sum_streams(data, lines / 4, 4, 0);
    default:
        return sum_streams(data, lines / 2, 2, LINES_AHEAD);
    }
}

/* What is read: `passes` times the lines of an array. */
typedef struct reading {
    const double *data;
    int64_t lines;
    int threads, passes;
} reading;

/* Bytes a second when each thread reads its own part again and again. *sink takes the sums, so that
 * they are computed. */
static double read_parts(const reading *r, int pattern, double *sink)
{
    double total = 0, start = tess_seconds();
#pragma omp parallel num_threads(r->threads) reduction(+ : total)
    {
        int64_t count = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t first = r->lines / count * thread;
        for (int pass = 0; pass < r->passes; pass++) {
            total += sum_part(r->data + first * LINE_DOUBLES, r->lines / count, pattern);
            __asm__ volatile("" ::: "memory"); /* or one pass would do for all */
        }
    }
    *sink += total;
    double seconds = tess_seconds() - start;
    return seconds > 0 ? 64.0 * (double)r->lines * r->passes / seconds : 0;
}

/* The same when pieces go to whoever comes first: more where cores get unequal parts of the
 * memory's speed, less in cache, where a thread does not meet its own part again. */
static double read_pieces(const reading *r, int pattern, double *sink)
{
    enum { PIECE_LINES = 16 * 1024 };
    int64_t pieces = r->lines / PIECE_LINES, next = 0;
    double total = 0, start = tess_seconds();
    if (pieces < 4 * (int64_t)r->threads)
        return 0;
#pragma omp parallel num_threads(r->threads) reduction(+ : total)
    for (int64_t i; (i = tess_cpu_take(&next)) < pieces * r->passes;)
        total += sum_part(r->data + i % pieces * PIECE_LINES * LINE_DOUBLES, PIECE_LINES, pattern);
    *sink += total;
    double seconds = tess_seconds() - start;
    return seconds > 0 ? 64.0 * PIECE_LINES * (double)(pieces * r->passes) / seconds : 0;
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

    /* About 0.25 s in all: five patterns, two ways, three rounds, several passes in cache. */
    const reading r = {data, lines, threads, 1 + (int)(100e6 * threads / (64.0 * (double)lines))};
    for (int round = 0; round < 3; round++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            double parts = read_parts(&r, pattern, &sink);
            double pieces = read_pieces(&r, pattern, &sink);
            best = parts > best ? parts : best;
            best = pieces > best ? pieces : best;
        }
    }
    tess_free(ctx, data);
    if (!(sink > 0) || !(best > 0))
        return tess_fail(ctx, TESS_ERR_INTERNAL, "the read ceiling could not be measured");
    *bytes_per_second = best;
    return TESS_OK;
}
