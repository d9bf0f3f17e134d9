/* The parameters that the sliced kernels take when nothing was measured. */
#include "cuda/kernels/sliced_guess.h"

/* The number of panels that moves the fewest bytes to and from memory, in the terms that depend on
 * it (bytes):
 *   y       every panel but the first reads and writes y of the rows that it visits, 2 bh reals a
 *           row, and reads the 8 bytes of the line's length and target; starting a line costs as
 *           much time as 150 bytes more (H200: with x of 46 and 63 MB two panels take a tenth and a
 *           fifth less time than one, with 37 MB as much);
 *   misses  a scattered block finds its x in L2 with probability cache / (x / panels), where cache
 *           is 0.4 of L2: about 24 MB of an H200's 60, of which each half caches for its own SMs
 *           while the matrix streams through. A miss costs the block's bw reals and one half-used
 *           transaction of 64 bytes more.
 * Wide blocks have few misses for their bytes and stay at one panel by the same sum. */
static int guess_panels(const tess_cuda_problem *problem)
{
    if (!tess_sliced_panels_worth(problem) || problem->l2_bytes == 0)
        return 1;
    double real = (double)tess_type_size(problem->type), cache = 0.4 * (double)problem->l2_bytes;
    double x = real * (double)problem->cols, blocks = (double)problem->blocks;
    double miss = real * problem->block_width + 64, line = 2 * real * problem->block_height + 158;
    double least = 0;
    int best = 1;
    for (int i = 0; i < tess_sliced_params[PANELS].count; i++) {
        int panels = tess_sliced_params[PANELS].values[i];
        double missed = x > panels * cache ? 1 - panels * cache / x : 0;
        double visits = (double)problem->block_rows;
        visits = (panels - 1) * (visits * panels < blocks ? visits : blocks / panels);
        double bytes = visits * line + missed * problem->scattered * blocks * miss;
        if (i == 0 || bytes < least) {
            least = bytes;
            best = panels;
        }
    }
    return best;
}

static int64_t mean_row(const tess_cuda_problem *problem)
{
    return problem->blocks / (problem->block_rows > 0 ? problem->block_rows : 1);
}

/* Whether rows side by side differ so much that sorting pays, which puts rows of one length
 * together. Two things are saved:
 *   wide blocks    a thread block holds its place until its longest row ends (H200, lengths of 0 to
 *                  2 times the mean, 90 to 700 MB: sorted, with four threads a row, 1.09 to 1.34
 *                  times as fast, in ten of ten cases);
 *   narrow blocks  padding shares sectors with what is read (the same lengths, b = 1 to 8, 150 to
 *                  300 MB: 1.02 to 1.4 times as fast, in 13 of 13 cases; prolongators of 3 x 6
 *                  blocks, padded by 1.23: 1.10 times in f32, 1.16 in f64). In L2 padding
 *                  costs little, and sorting up to 10 %.
 *
 * Cubes of 27 points are padded by 1.06 to 1.3, the more the smaller they are, and sorting changes
 * 1 % there. */
static bool is_uneven(const tess_cuda_problem *problem)
{
    return tess_sliced_is_wide(problem)
               ? problem->padded > 1.5
               : problem->padded > 1.2 && !tess_cuda_fits_cache(problem, 1);
}

static void guess_irregular(const tess_cuda_problem *problem, int *p)
{
    /* Rows of very different lengths: cut the long ones, sort the rest, in windows so that y keeps
     * its order roughly. */
    int64_t mean = mean_row(problem);
    p[PANELS] = guess_panels(problem);
    if (problem->longest_row > 2 * mean + 8 || p[PANELS] > 1) {
        p[SIGMA] = 4096;
        p[LAMBDA] = 16;
        while (p[LAMBDA] < 128 && p[LAMBDA] < 2 * mean)
            p[LAMBDA] *= 2;
        if (p[LAMBDA] >= problem->longest_row)
            p[LAMBDA] = 0;
    } else if (is_uneven(problem)) {
        p[SIGMA] = 4096;
    }
}

/* Thread blocks for every multiprocessor, if smaller ones make them more. A dense matrix of 1024
 * rows has 16 threads a row in 32 thread blocks of 512, and in 64 of 256. */
static void guess_small_blocks(const tess_cuda_problem *problem, int *p)
{
    while (p[THREADS] > 64 &&
           problem->rows * p[TPR] < (int64_t)problem->multiprocessors * p[THREADS]) {
        p[THREADS] /= 2;
        if (!tess_sliced_fits(problem, p)) {
            p[THREADS] *= 2;
            return;
        }
    }
}

/* Loads in flight a thread: about a hundred bytes of values, less where blocks are small and many
 * threads fit, and at most half a row, since loads behind a row's end are wasted. Rows that were
 * cut and sorted are about as long as their neighbours. */
static void guess_depth(const tess_cuda_problem *problem, int *p)
{
    bool wide = tess_sliced_is_wide(problem), single = problem->type == TESS_F32;
    int bw = problem->block_width, group = tess_sliced_blocks(problem, p);
    int each = (wide ? 4 * p[V] : group * bw) * (int)tess_type_size(problem->type);
    int most = bw <= 2 || (single && bw <= 4) ? 64 : 128;
    while (p[DEPTH] < (wide ? 4 : 8) && 2 * each * p[DEPTH] <= most)
        p[DEPTH] *= 2;
    while (!wide && p[DEPTH] > 1 &&
           (p[LAMBDA] > 0 ? p[DEPTH] * group > 2
                          : p[DEPTH] * group * p[PANELS] * 2 > mean_row(problem) + 1))
        p[DEPTH] /= 2;
}

/* ---- Rounds: how often thread blocks fill the device one after the other ---- */

/* Registers of a thread: a few, two for 8 bytes of the values in flight and of their x, and two for
 * a column, this one and the next. Threads that share a wide block have their place in it too.
 * NVRTC 13 gives sm_90 within 8 of this (337 sets of wide blocks, 284 of them as many; 31 others).
 */
static int registers(const tess_cuda_problem *problem, const int *p)
{
    const int real = (int)tess_type_size(problem->type), group = tess_sliced_blocks(problem, p);
    const int loads = tess_sliced_wide_loads(problem, p);
    const int count = loads > 0 ? (real == 4 ? 19 : 22) + loads * p[V] * real / 2 + 4 * (p[TPR] > 1)
                                : 18 + p[DEPTH] * group * (problem->block_width * real / 2 + 2);
    return (int)tess_ceil_div(count, 8) * 8;
}

/* Threads that run at once on the device: 65 536 registers and at most 2048 threads a
 * multiprocessor, in whole thread blocks. */
static int64_t threads_at_once(const tess_cuda_problem *problem, const int *p)
{
    const int most = 2048 / p[THREADS], blocks = 65536 / (registers(problem, p) * p[THREADS]);
    return (int64_t)problem->multiprocessors * (blocks < most ? blocks : most) * p[THREADS];
}

static double rounds(const tess_cuda_problem *problem, const int *p)
{
    const int64_t at_once = threads_at_once(problem, p);
    return at_once > 0 ? (double)problem->rows * p[TPR] / (double)at_once : 0;
}

/* Blocks of a row that its threads have in flight: less than 1 of wide blocks. */
static double blocks_in_flight(const tess_cuda_problem *problem, const int *p)
{
    const int loads = tess_sliced_wide_loads(problem, p);
    return loads > 0 ? (double)loads * p[V] * p[TPR] / problem->block_width
                     : (double)p[DEPTH] * tess_sliced_blocks(problem, p) * p[TPR];
}

/* Whether the threads of a row wait for their loads so many times, in the mean. */
static bool waits(const tess_cuda_problem *problem, const int *p, int times)
{
    const double mean = (double)problem->blocks / (double)tess_max(problem->block_rows, 1);
    return mean >= times * p[PANELS] * blocks_in_flight(problem, p);
}

/* ---- Threads a row ---- */

/* Half of the threads that multiprocessors hold. */
static int64_t half_of_device(const tess_cuda_problem *problem)
{
    return (int64_t)problem->multiprocessors * 1024;
}

/* Threads that a row has in any case, if it has blocks for them: of cut rows two (two matrices: 1
 * and 7 % faster than one), unless segments are short and blocks narrow; of long segments four, as
 * a few of these end last (14 matrices: 12 of them 2 to 16 % faster, two 1.8 and 4.2 % slower); of
 * wide blocks' rows that were sorted and not cut four too. */
static int least_threads(const tess_cuda_problem *problem, const int *p)
{
    const bool wide = tess_sliced_is_wide(problem);
    if (p[LAMBDA] > 0)
        return p[LAMBDA] >= 64 ? 4 : p[LAMBDA] >= 32 || wide ? 2 : 1;
    return wide && is_uneven(problem) && mean_row(problem) >= 8 ? 4 : 1;
}

/* The most threads of rows that were cut, whose threads have so many blocks each: the last segments
 * end sooner with more. Of long segments eight a row are faster than four up to nine times as many
 * as multiprocessors hold (four of five matrices with ten blocks each: 1 to 19 %), with fewer
 * blocks each up to twice as many, of segments of 128 blocks six times (two matrices: 4 and 12 %).
 * 16 of wide blocks' rows are faster than eight up to 4.2 times as many as run at once (17 of 18
 * matrices: 3 to 51 %; from 5.2 times on 13 of 13 0 to 11 % slower). */
static double most_of_cut_rows(const tess_cuda_problem *problem, const int *p, double each)
{
    const double half = (double)half_of_device(problem);
    if (p[TPR] >= 16 && p[LAMBDA] >= 64 && tess_sliced_is_wide(problem))
        return each < 2 ? 0 : 4.5 * (double)threads_at_once(problem, p);
    if (each < 3)
        return 0;
    if (p[LAMBDA] < 64)
        return 2 * half;
    if (p[TPR] >= 16)
        return (each < 6 ? 3 : 4) * half;
    return (each >= 10 ? 18 : p[LAMBDA] < 128 ? 4 : 12) * half;
}

/* The most threads of wide blocks' rows, from eight a row on (H200, 9 000 to 32 000 rows, eight
 * threads a row instead of four, or 16 instead of eight). As many as run at once are faster where
 * each has four blocks (1.08, 1.14, 1.15, 1.33 and 1.44 times, once 0.995; rows of six blocks,
 * eight threads instead of four: 0.83 to 1.0 times in five of five cases). A second round of a
 * quarter of them costs more than that (27 points, b = 49, f32: 0.82 times). Rows that are sorted
 * leave their places one after the other, so that the next round starts early: 1.25 to 1.8 times as
 * many as run at once 1.10 to 1.24 times as fast (three matrices, one with three blocks a thread),
 * 2.9 times as many 0.88 times. */
static double most_of_wide_rows(const tess_cuda_problem *problem, const int *p, double each)
{
    const bool sorted = p[SIGMA] > 1;
    return p[TPR] < 8 || each < (sorted ? 3 : 4)
               ? 0
               : (sorted ? 1.8 : 1) * (double)threads_at_once(problem, p);
}

/* Whether twice the threads a row are not too many in all: half of those that run at once. 32
 * threads a row only where that is a quarter (dense, 8 x 8 blocks, f64: 2048 rows 9.5 -> 9.0 us,
 * 4096 rows 33.5 -> 34.7). Cut rows and those of wide blocks may have more, and a third kind:
 * narrow blocks beyond L2 whose longest row is 1.4 times the mean have as many as run at once,
 * while threads wait six times and more (R of elasticity, 54 000 rows of 126 blocks, four threads
 * instead of two: 1.10 times as fast in f32, 1.16 in f64; A of its first coarse level, of 26
 * blocks: 1.06). Cubes, whose rows end together, take 2 to 3 % longer. */
static bool takes_twice(const tess_cuda_problem *problem, const int *p)
{
    const int64_t half = half_of_device(problem), threads = problem->rows * 2 * p[TPR];
    const bool wide = tess_sliced_is_wide(problem);
    int twice[COUNT];
    memcpy(twice, p, sizeof twice);
    twice[TPR] *= 2;
    const double each = (double)mean_row(problem) / (wide ? tess_sliced_dealt(twice) : twice[TPR]);
    if (threads <= (p[TPR] >= 16 ? half / 2 : half) || p[TPR] < least_threads(problem, p))
        return true;
    if (p[LAMBDA] > 0)
        return p[TPR] < 16 && (double)threads <= most_of_cut_rows(problem, twice, each);
    if (wide)
        return p[TPR] < 16 && (double)threads <= most_of_wide_rows(problem, twice, each);
    return threads <= 2 * half && 5 * problem->longest_row >= 7 * mean_row(problem) &&
           !tess_cuda_fits_cache(problem, 0.8) && waits(problem, p, 6);
}

/* Fewer rows than the device has threads for: several threads a row. Thread blocks of a wide
 * block's rows have at most 256 threads, as multiprocessors share few larger ones unevenly (H200,
 * 16 threads a row: 6 of 6 cases 4 to 27 % faster than with 512). A matrix in the cache answers
 * sooner, so fewer loads are in flight. Returns whether rows are so few that what follows, which is
 * for matrices that fill the device, does not apply. */
static bool guess_few_rows(const tess_cuda_problem *problem, int *p)
{
    int before = p[TPR], real = (int)tess_type_size(problem->type);
    while (p[TPR] < 32 && takes_twice(problem, p)) {
        p[TPR] *= 2;
        const int most = tess_sliced_is_wide(problem) && p[TPR] < 32 ? 256 : 512;
        while (p[THREADS] < 32 * p[TPR] && p[THREADS] < most)
            p[THREADS] *= 2;
        if (!tess_sliced_fits(problem, p)) {
            p[TPR] /= 2;
            while (p[THREADS] > 128 && !tess_sliced_fits(problem, p)) /* more registers each */
                p[THREADS] /= 2;
            break;
        }
    }
    int group = tess_sliced_blocks(problem, p), bytes = group * problem->block_width * real;
    bool cached = tess_cuda_fits_cache(problem, 0.8); /* an H200 keeps 50 MB of its 63 */
    while (p[TPR] > before && !tess_sliced_is_wide(problem) && p[DEPTH] > 1 &&
           ((cached && bytes * p[DEPTH] > 64) || 3 * p[DEPTH] * p[TPR] * group > mean_row(problem)))
        p[DEPTH] /= 2;
    return p[TPR] > before && problem->rows * p[TPR] > half_of_device(problem);
}

/* Between one round and two the second leaves most of the device idle while it waits for its loads.
 * With half the loads in flight, or else half the threads, all thread blocks run at once. H200, 27
 * points, b = 32, f64, 323 MB: 1.6 rounds 82.1 us, one 78.5; b = 19, f32: 1.04 rounds 92.6 us, one
 * 88.4. Rows that are sorted end one after the other, the shortest last. In the cache two
 * threads of a row stay two (dw8192, b = 16, f32: 1.7 rounds 12.7 us, one round at least 13.8). */
static bool guess_one_round(const tess_cuda_problem *problem, int *p)
{
    static const int halved[] = {DEPTH, TPR};
    const double before = rounds(problem, p);
    const bool cached = tess_cuda_fits_cache(problem, 0.8);
    if (p[SIGMA] > 1 || before <= 1 || before >= 2)
        return false;
    for (int i = 0; i < 2; i++) {
        int fewer[COUNT];
        memcpy(fewer, p, sizeof fewer);
        fewer[halved[i]] /= 2;
        const bool few = fewer[halved[i]] < (halved[i] == TPR && cached ? 2 : 1);
        if (few || !tess_sliced_fits(problem, fewer) || rounds(problem, fewer) > 1)
            continue;
        memcpy(p, fewer, sizeof fewer);
        return true;
    }
    return false;
}

/* Twice the threads a row, if the kernel takes them. */
static bool double_threads(const tess_cuda_problem *problem, int *p)
{
    p[TPR] *= 2;
    if (tess_sliced_fits(problem, p))
        return true;
    p[TPR] /= 2;
    return false;
}

/* A thread that waits for its loads a dozen times holds its place for long, and at the end of a
 * launch thread blocks end one by one: two threads a row end sooner. H200, 27 points, f64: b = 10
 * 82.8 -> 78.3 us, b = 5 to 11 of 1.1 GB 1 to 2 %; of 7 points, where threads wait 3 or 4 times, it
 * costs 2 to 4 %. So do eight that are dealt the blocks instead of four, in f64 (27 points, b = 50:
 * 82.6 -> 77.4 us, b = 48 to 59 2 % in the mean; f32 up to 12 % slower). A second round
 * that is begun costs more (b = 44, f64, two threads and 1.8 rounds: 153.5 us, one thread and one
 * round: 146.3). Rows that do not fill the device once get threads by guess_few_rows. */
static void guess_long_rows(const tess_cuda_problem *problem, int *p)
{
    const int before = p[TPR];
    const bool dealt = before == 4 && problem->type == TESS_F64 && tess_sliced_is_wide(problem);
    if ((before > 1 && !dealt) || rounds(problem, p) < 0.9 || !waits(problem, p, 12))
        return;
    if (double_threads(problem, p) && rounds(problem, p) > 1 && rounds(problem, p) < 1.9)
        p[TPR] = before;
}

/* Sorted rows of narrow blocks get two threads, then four, while threads wait six times for their
 * loads (H200, 13 matrices with lengths of 0 to 2 times the mean: two threads are 2 to 7 % faster
 * in the five that wait as often, between 2 % faster and 8 % slower in the others). */
static void guess_sorted_rows(const tess_cuda_problem *problem, int *p)
{
    if (p[SIGMA] == 1 || p[LAMBDA] > 0 || tess_sliced_is_wide(problem))
        return;
    bool more = true;
    while (more && p[TPR] < 4 && waits(problem, p, 6))
        more = double_threads(problem, p);
}

/* Several threads a row leave few rows to a thread block, and neighbouring thread blocks read the
 * same cache lines at their ends: with 256 threads these are half as many. H200, four threads a row
 * in f32: 22 of 22 matrices of b = 48 to 64 0.5 to 2.5 % faster; eight in f64: 13 of 16 0.4 to 9 %
 * faster, three 1.0 to 1.7 % slower. A launch that hardly fills the device twice counts on small
 * thread blocks (27 points, b = 50, f64, one round: 7 % slower). */
static void guess_large_blocks(const tess_cuda_problem *problem, int *p)
{
    int larger[COUNT];
    memcpy(larger, p, sizeof larger);
    larger[THREADS] = 256;
    if (tess_sliced_is_wide(problem) && p[TPR] >= (problem->type == TESS_F32 ? 4 : 8) &&
        p[THREADS] < 256 && tess_sliced_fits(problem, larger) && rounds(problem, larger) >= 1.7)
        p[THREADS] = 256;
}

void tess_sliced_flight(const tess_cuda_problem *problem, const int *p, tess_cuda_flight *out)
{
    const double threads = (double)threads_at_once(problem, p);
    *out = (tess_cuda_flight){.blocks = blocks_in_flight(problem, p),
                              .lines = threads / p[TPR] / problem->block_height,
                              .split = p[LAMBDA],
                              .sorted = p[SIGMA] > 1};
}

void tess_sliced_guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 1, 0, 1, 1, 1, 1, 1, 128, 1};
    memcpy(p, start, sizeof start);
    bool single = problem->type == TESS_F32;
    int32_t bh = problem->block_height, bw = problem->block_width;
    int64_t mean = mean_row(problem);
    if (single) { /* pairs across blocks pay only in long rows */
        p[V] = bw == 4 ? 4 : bw % 2 == 0 || tess_sliced_is_wide(problem) || mean >= 12 ? 2 : 1;
        p[C] = 64;
    }
    while (p[C] > 1 && (int64_t)p[C] * bh > 768)
        p[C] /= 2;
    guess_irregular(problem, p);
    guess_depth(problem, p);
    if (p[PANELS] > 1)
        p[HINT] = 2;
    /* Small blocks that come from far beyond L2 are read 1 % faster unmarked. Of a few times L2
     * some would stay for the next product and does if marked (H200, b = 2, 7 points: 175 MB 10 %
     * faster, 27 points: 308 MB 7 %, 1.1 GB 1 % slower). */
    else if (p[SIGMA] == 1 && !tess_cuda_fits_cache(problem, 8) &&
             (bw <= 3 || (single && bw < 8 && bw % 2 != 0)))
        p[HINT] = 0;
    /* A matrix that fits the cache is not marked to be evicted first: its cache lines would never
     * displace those that another kernel left to stay (H200, 39 MB: 10 or 15 us). */
    if (tess_cuda_fits_cache(problem, 1) && p[PANELS] == 1)
        p[HINT] = 0;
    /* Threads of wide blocks share the columns. Others share a row's blocks: of five, four threads
     * would be idle in most of their second step (dw8192, b = 16, f32: 13.3 us, with two 12.5). */
    const bool shares_blocks = !tess_sliced_is_wide(problem) && p[LAMBDA] == 0;
    if (bw == 16 || bw >= 48)
        p[TPR] = mean >= (shares_blocks ? 6 : 4) ? 4 : 2;
    if (!tess_sliced_fits(problem, p))
        p[TPR] = 1;
    while (!tess_sliced_is_wide(problem) && p[TPR] > 1 && p[DEPTH] > 1 &&
           2 * p[DEPTH] * p[TPR] * tess_sliced_blocks(problem, p) > mean + 1)
        p[DEPTH] /= 2; /* at most half a row, as above */
    const bool few = guess_few_rows(problem, p);
    guess_small_blocks(problem, p);
    if (!few && !guess_one_round(problem, p))
        guess_long_rows(problem, p);
    guess_sorted_rows(problem, p);
    guess_large_blocks(problem, p);
    if (tess_sliced_gathers_worth(problem))
        p[XV] = tess_sliced_widest_x(problem);
}
