/* What a parallel call costs when its shares are empty or short: our threads beside OpenMP's, in
 * turns, in one run.
 *
 *     tessera_bench_threads [THREADS]
 *
 * Each line has the work of a share, the pause before a call in which the caller computes alone,
 * the microseconds of a call by each side (median of rounds) and the ratio. Before each round a
 * side makes calls that do not count, so that its threads are awake and the other side's are
 * asleep.
 */
#include <omp.h>
#include <unistd.h>

#include "program.h"

enum { ROUNDS = 31 };

static void spin(double seconds)
{
    for (const double end = tess_seconds() + seconds; tess_seconds() < end;)
        continue;
}

static void share(void *arg, int number)
{
    (void)number;
    const double seconds = *(const double *)arg;
    if (seconds > 0)
        spin(seconds);
}

static void call_ours(tess_ctx *ctx, int threads, double seconds)
{
    tess_parallel(ctx, threads, share, &seconds);
}

static void call_openmp(tess_ctx *ctx, int threads, double seconds)
{
    (void)ctx;
#pragma omp parallel num_threads(threads)
    share(&seconds, omp_get_thread_num());
}

typedef void (*call_fn)(tess_ctx *ctx, int threads, double seconds);

/* Seconds of one call, without the pause before it. */
static double round_of(call_fn call, tess_ctx *ctx, int threads, double work, double pause)
{
    const int calls = work + pause > 20e-6 ? 50 : 1000;
    double total = 0;
    usleep(50000); /* OpenMP's threads spin for milliseconds after their last call */
    for (int i = 0; i < calls / 5; i++)
        call(ctx, threads, work);
    for (int i = 0; i < calls; i++) {
        if (pause > 0)
            spin(pause);
        const double start = tess_seconds();
        call(ctx, threads, work);
        total += tess_seconds() - start;
    }
    return total / calls;
}

int main(int argc, char **argv)
{
    static const struct {
        double work, pause;
    } cases[] = {{0, 0},        {1e-6, 0},      {10e-6, 0},      {100e-6, 0},
                 {1e-6, 10e-6}, {10e-6, 30e-6}, {10e-6, 300e-6}, {100e-6, 300e-6}};
    static const call_fn calls[2] = {call_ours, call_openmp};
    tess_ctx *ctx;
    check(NULL, tess_ctx_create(NULL, &ctx));
    const int threads = argc > 1 ? atoi(argv[1]) : tess_ctx_threads(ctx);
    printf("%d threads\n%10s %10s %12s %12s %8s\n", threads, "work us", "pause us", "tessera us",
           "OpenMP us", "ratio");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double times[2][ROUNDS], ratios[ROUNDS];
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < 2; i++)
                times[(r + i) % 2][r] =
                    round_of(calls[(r + i) % 2], ctx, threads, cases[c].work, cases[c].pause);
            ratios[r] = times[0][r] / times[1][r];
        }
        printf("%10.0f %10.0f %12.2f %12.2f %8.2f\n", 1e6 * cases[c].work, 1e6 * cases[c].pause,
               1e6 * tess_median(times[0], ROUNDS), 1e6 * tess_median(times[1], ROUNDS),
               tess_median(ratios, ROUNDS));
    }
    tess_ctx_destroy(ctx);
    return 0;
}
