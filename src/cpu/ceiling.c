/* The read ceiling: how fast threads can read at all. Every printed efficiency is a share of it.
 *
 * Each thread sums parts of an array as 1, 2, 3 or 4 streams in lockstep, one cache line at a time.
 * One stream alone meets the limit of a core's prefetcher, not of the memory. Two and more streams
 * are also measured with their cache lines prefetched, as some kernels do. The array is divided in
 * three ways: equal parts, small pieces for whichever thread comes first, and shares like those of
 * work.c.
 */
#include "cpu/ceiling.h"
#include "cpu/select.h"
#include "cpu/work.h"

/* One register: gcc lowers wider vectors through the stack, at half of the memory's speed. */
typedef double pair __attribute__((vector_size(16)));

enum { MOST_STREAMS = 4, LINE_DOUBLES = 8, LINE_PAIRS = 4 };

/* Sums `streams` stretches of `lines` cache lines each, which follow each other in memory. `ahead`:
 * how many cache lines before its use each is prefetched; 0: never. */
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

enum { PATTERNS = 7, LINES_AHEAD = 48 };

static double sum_part(const double *data, int64_t lines, int pattern)
{
    return pattern == 0   ? sum_streams(data, lines, 1, 0)
           : pattern == 1 ? sum_streams(data, lines / 2, 2, 0)
           : pattern == 2 ? sum_streams(data, lines / 3, 3, 0)
           : pattern == 3 ? sum_streams(data, lines / 4, 4, 0)
           : pattern == 4 ? sum_streams(data, lines / 2, 2, LINES_AHEAD)
           : pattern == 5 ? sum_streams(data, lines / 3, 3, LINES_AHEAD)
                          : sum_streams(data, lines / 4, 4, LINES_AHEAD);
}

/* What is read: an array of `lines` cache lines, `passes` times. */
typedef struct tess_cpu_reading {
    tess_ctx *ctx;
    double *data;
    int64_t lines;
    int threads, passes;
    int64_t *taken; /* of each thread's share: how many pieces were read, by any thread */
} reading;

/* The argument of a parallel call: what all shares of a reading use. */
typedef struct turn {
    const reading *r;
    int pattern;
    int64_t next; /* read_pieces: not yet taken */
    double sink;  /* takes the sums, so that they are computed */
} turn;

/* Seconds of one parallel call. */
static double time_of(turn *t, tess_share_fn run, double *sink)
{
    double start = tess_seconds();
    tess_parallel(t->r->ctx, t->r->threads, run, t);
    double seconds = tess_seconds() - start;
    *sink += t->sink;
    return seconds;
}

static void read_part(void *arg, int share)
{
    turn *t = arg;
    const reading *r = t->r;
    int64_t lines = r->lines / r->threads;
    double total = 0;
    for (int pass = 0; pass < r->passes; pass++) {
        total += sum_part(r->data + lines * share * LINE_DOUBLES, lines, t->pattern);
        __asm__ volatile("" ::: "memory"); /* else the compiler merges the passes */
    }
    tess_raise_double(&t->sink, total);
}

/* Returns the bytes/s when each thread reads its own part again and again. */
static double read_parts(const reading *r, int pattern, double *sink)
{
    double seconds = time_of(&(turn){r, pattern, 0, 0}, read_part, sink);
    return seconds > 0 ? 64.0 * (double)r->lines * r->passes / seconds : 0;
}

enum { PIECE_LINES = 16 * 1024 };

static void read_some(void *arg, int share)
{
    (void)share;
    turn *t = arg;
    const int64_t pieces = t->r->lines / PIECE_LINES;
    double total = 0;
    for (int64_t i; (i = tess_take(&t->next, 1)) < pieces * t->r->passes;)
        total +=
            sum_part(t->r->data + i % pieces * PIECE_LINES * LINE_DOUBLES, PIECE_LINES, t->pattern);
    tess_raise_double(&t->sink, total);
}

/* Returns the bytes/s when each thread takes the next piece that nobody has read yet; 0 if there
 * are too few pieces. Compared with equal parts, this is faster where cores get unequal shares of
 * the memory bandwidth. It is slower in cache, where a thread does not read again what its own
 * cache holds. */
static double read_pieces(const reading *r, int pattern, double *sink)
{
    int64_t pieces = r->lines / PIECE_LINES;
    if (pieces < 4 * (int64_t)r->threads)
        return 0;
    double seconds = time_of(&(turn){r, pattern, 0, 0}, read_some, sink);
    return seconds > 0 ? 64.0 * PIECE_LINES * (double)(pieces * r->passes) / seconds : 0;
}

/* Returns the sum of piece `number` of a share's tail, which is the `tail` cache lines from `data`
 * on; 0 if the tail has fewer pieces. */
static double sum_piece(const double *data, int64_t tail, int64_t number, int pattern)
{
    int64_t left = tail;
    for (; number > 0 && left > 0; number--)
        left -= tess_cpu_next_piece(64 * left) / 64;
    if (left <= 0)
        return 0;
    return sum_part(data + (tail - left) * LINE_DOUBLES, tess_cpu_next_piece(64 * left) / 64,
                    pattern);
}

static void read_share(void *arg, int share)
{
    turn *t = arg;
    const reading *r = t->r;
    const int64_t lines = r->lines / r->threads, tail = tess_cpu_tail(64 * lines, r->threads) / 64;
    double total = sum_part(r->data + lines * share * LINE_DOUBLES, lines - tail, t->pattern);
    for (int64_t i = 0; i < r->threads; i++) {
        const int64_t owner = (share + i) % r->threads;
        const double *data = r->data + (lines * (owner + 1) - tail) * LINE_DOUBLES;
        double sum = 1;
        while (sum > 0) {
            sum = sum_piece(data, tail, tess_take(&r->taken[owner], 1), t->pattern);
            total += sum;
        }
    }
    tess_raise_double(&t->sink, total);
}

/* Returns the bytes/s when work is divided as kernels do it: each thread reads the first half of
 * its share, then pieces of its own tail, then pieces of other tails. 0 if shares are too small for
 * tails. */
static double read_shares(const reading *r, int pattern, double *sink)
{
    const int64_t share = r->lines / r->threads, tail = tess_cpu_tail(64 * share, r->threads) / 64;
    if (tail == 0)
        return 0;
    memset(r->taken, 0, (size_t)r->threads * sizeof *r->taken);
    double seconds = time_of(&(turn){r, pattern, 0, 0}, read_share, sink);
    return seconds > 0 ? 64.0 * (double)(share * r->threads) / seconds : 0;
}

/* Fills `samples` with one speed for each pattern and each division of the array. */
static void sample(const reading *r, double *sink, tess_readings *samples)
{
    _Static_assert(3 * PATTERNS <= TESS_READINGS, "room for each pattern");
    samples->count = 3 * PATTERNS;
    if (r->passes > 1) /* untimed: brings the array back into the cache */
        for (int i = 0; i < 3; i++)
            read_parts(&(reading){r->ctx, r->data, r->lines, r->threads, 1, r->taken}, 0, sink);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        samples->speeds[3 * pattern] = read_parts(r, pattern, sink);
        samples->speeds[3 * pattern + 1] = read_pieces(r, pattern, sink);
        samples->speeds[3 * pattern + 2] = read_shares(r, pattern, sink);
    }
}

static void end(tess_ctx *ctx, reading *r)
{
    TESS_FREE(ctx, r->data, r->taken);
}

static void fill_ones(void *arg, tess_range range)
{
    double *data = arg;
    for (int64_t i = range.first; i < range.last; i++)
        data[i] = 1;
}

/* Makes an array, first touched by the threads that will read it. One sample of a small array is
 * several passes. */
static tess_status begin(tess_ctx *ctx, int threads, double bytes, reading *out)
{
    if (threads < 1 || !(bytes >= 0) || bytes > 1e15)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "read ceiling of %g bytes by %d threads", bytes,
                         threads);
    /* Whole lines, at least a few for each stream of each thread. */
    int64_t lines = tess_max((int64_t)(bytes / 64), (int64_t)threads * MOST_STREAMS * 16);
    double *data;
    TESS_TRY(tess_alloc_bytes(ctx, lines, 64, (void **)&data));
    tess_for_shares(ctx, threads, lines * LINE_DOUBLES, fill_ones, data);
    *out = (reading){ctx, data, lines, threads, 1 + (int)(100e6 * threads / (64.0 * (double)lines)),
                     NULL};
    tess_status status = TESS_ALLOC(ctx, threads, &out->taken);
    if (status != TESS_OK)
        tess_free(ctx, data);
    return status;
}

tess_status tess_cpu_read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    reading r;
    double sink = 0, best = 0;
    TESS_TRY(begin(device->ctx, device->threads, bytes, &r));
    /* About 0.5 s in all. */
    for (int round = 0; round < 3; round++) {
        tess_readings samples;
        sample(&r, &sink, &samples);
        for (int i = 0; i < samples.count; i++)
            best = tess_max(samples.speeds[i], best);
    }
    end(device->ctx, &r);
    if (!(sink > 0) || !(best > 0))
        return tess_fail(device->ctx, TESS_ERR_INTERNAL, "the read ceiling could not be measured");
    *bytes_per_second = best;
    return TESS_OK;
}

tess_status tess_cpu_read_samples(tess_device *device, double bytes, tess_readings *samples)
{
    tess_cpu_device *cpu = device->state;
    double sink = 0;
    if (!cpu->reading || cpu->read_bytes != bytes) {
        reading r;
        tess_cpu_forget_reading(device);
        TESS_TRY(begin(device->ctx, device->threads, bytes, &r));
        tess_status status = TESS_ALLOC(device->ctx, 1, &cpu->reading);
        if (status != TESS_OK) {
            end(device->ctx, &r);
            return status;
        }
        *cpu->reading = r;
        cpu->read_bytes = bytes;
    }
    sample(cpu->reading, &sink, samples);
    return sink > 0 ? TESS_OK
                    : tess_fail(device->ctx, TESS_ERR_INTERNAL,
                                "the read ceiling could not be measured");
}

void tess_cpu_forget_reading(tess_device *device)
{
    tess_cpu_device *cpu = device->state;
    if (cpu->reading)
        end(device->ctx, cpu->reading);
    tess_free(device->ctx, cpu->reading);
    cpu->reading = NULL;
}
