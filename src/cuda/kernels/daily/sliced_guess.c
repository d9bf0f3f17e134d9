/* The sliced kernels' parameters when nothing was measured. The limits are an H200's; under "The
 * rules" docs/performance/choices.md has the measurements behind each. */
#include "cuda/kernels/daily/sliced_guess.h"

/* Returns the number of panels that moves the fewest bytes, in the terms that depend on it:
 *   y       Every panel but the first reads and writes y of the rows that it visits, 2 bh scalars,
 *           and reads the line's length and target, 8 bytes. A line's start costs 150 bytes.
 *   misses  A scattered block finds its x in L2 with probability cache / (x / panels). cache is 0.4
 *           of L2, about 24 MB of 60: each half caches for its own SMs, and the matrix streams
 *           through. A miss costs the block's bw scalars and a half-used transaction: 64 bytes.
 * Wide blocks have few misses per byte, so that the sum gives them one panel. */
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

/* Returns whether neighbouring rows differ so much in length that sorting pays.
 *   wide blocks    A thread block keeps its registers until its longest row ends.
 *   narrow blocks  Padding shares sectors with what is read. While L2 keeps it, it costs less than
 *                  sorting.
 * Cubes of 27 points are padded by 1.06 (large) to 1.3 (small). */
static bool is_uneven(const tess_cuda_problem *problem)
{
    return tess_sliced_is_wide(problem)
               ? problem->padded > 1.5
               : problem->padded > 1.2 && !tess_cuda_fits_cache(problem, 0.9 / problem->padded);
}

static void guess_irregular(const tess_cuda_problem *problem, int *p)
{
    /* Lengths differ very much: long rows are cut, and the others sorted, in windows so that y is
     * still written roughly in order. */
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

/* Halves thread blocks until every multiprocessor has one. A dense matrix of 1024 rows, with 16
 * threads per row, has 64 thread blocks of 256 threads instead of 32 of 512. */
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

/* Chooses the loads in flight per thread: up to 128 bytes of values, or 64 where blocks are small
 * and many threads fit. Of narrow blocks at most half a row is in flight, as loads behind its end
 * are wasted. Cut rows are sorted, and so about as long as their neighbours: two blocks at most. */
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

/* ---- Threads per row ---- */

/* Returns half of the threads that the multiprocessors hold, 2048 each. */
static int64_t half_of_device(const tess_cuda_problem *problem)
{
    return (int64_t)problem->multiprocessors * 1024;
}

/* Returns the threads that a row gets however many that makes in all, if it has blocks for them.
 * With fewer, long segments end last.
 *   segments of 64 blocks or more   4
 *   of 32 blocks, or wide blocks    2
 *   sorted rows of wide blocks      4  where the mean row has 8 blocks or more
 *   others                          1 */
static int least_threads(const tess_cuda_problem *problem, const int *p)
{
    const bool wide = tess_sliced_is_wide(problem);
    if (p[LAMBDA] > 0)
        return p[LAMBDA] >= 64 ? 4 : p[LAMBDA] >= 32 || wide ? 2 : 1;
    return wide && is_uneven(problem) && mean_row(problem) >= 8 ? 4 : 1;
}

/* Returns the most threads in all with which cut rows take p's threads per row: with more threads
 * the last segments end sooner. `each`: blocks per thread; held: by the multiprocessors.
 *   per row  segments       each >=  threads <=
 *   any      16 or 32       3        held
 *   4        16, 32; bytes  3        7 x at once
 *   8        64 or more     10       9 x held
 *   8        64, 128        3        2, 6 x held
 *   16       narrow blocks  2, 6     1.5, 2 x held
 *   16       wide blocks    2        4.5 x at once
 *   32       128; bytes              3 x at once, where tess_sliced_alone is at least 1
 * bytes: a block's row has over 256 (32 threads: 128). Two threads read 256 in two waits each.
 * Where two read it at once, four wait as often. */
static double most_of_cut_rows(const tess_cuda_problem *problem, const int *p, double each)
{
    const double half = (double)half_of_device(problem);
    const double at_once = (double)tess_sliced_at_once(problem, p);
    const int bytes = problem->block_width * (int)tess_type_size(problem->type);
    const bool alone = 2 * tess_sliced_alone(problem, p) >= 1; /* with half the threads */
    if (p[TPR] == 32)
        return p[LAMBDA] > 64 && bytes > 128 && alone ? 3 * at_once : 0;
    if (p[TPR] >= 16 && p[LAMBDA] >= 64 && tess_sliced_is_wide(problem))
        return each < 2 ? 0 : 4.5 * at_once;
    if (p[TPR] >= 16 && p[LAMBDA] >= 64)
        return (each < 2 ? 0 : each < 6 ? 3 : 4) * half;
    if (each < 3)
        return 0;
    if (p[LAMBDA] < 64)
        return p[TPR] == 4 && bytes > 256 ? tess_max(2 * half, 7 * at_once) : 2 * half;
    return (each >= 10 ? 18 : p[LAMBDA] < 128 ? 4 : 12) * half;
}

/* Returns the most threads in all with which rows of wide blocks take p's threads per row, 8 or 16.
 *   rows    per row  each >=  threads <=
 *   sorted  8        3        3.2 x at once
 *   sorted  16       3        1.8 x at once, or 2.5 x where tess_sliced_alone is at least 1.25
 *   others           4        at once
 * Sorted rows end one after the other, so that the next round starts early. For others, a begun
 * second round costs more than the threads gain, and rows of six blocks are too short for eight
 * threads. */
static double most_of_wide_rows(const tess_cuda_problem *problem, const int *p, double each)
{
    const bool sorted = p[SIGMA] > 1;
    if (p[TPR] < 8 || each < (sorted ? 3 : 4))
        return 0;
    const double at_once = (double)tess_sliced_at_once(problem, p);
    if (!sorted || p[TPR] <= 8)
        return (sorted ? 3.2 : 1) * at_once;
    return (2 * tess_sliced_alone(problem, p) >= 1.25 ? 2.5 : 1.8) * at_once;
}

/* Returns whether rows take twice p's threads per row. That may make, of all rows together,
 *   up to least_threads per row   any number of threads
 *   2 to 16 per row               half of what the multiprocessors hold
 *   2 to 16 of cut or wide rows   most_of_cut_rows or most_of_wide_rows
 *   any number of long rows       all that the multiprocessors hold
 *   32 per row                    a quarter of it
 * Long rows: narrow blocks beyond L2, the longest row 1.4 times the mean, six waits or more. */
static bool takes_twice(const tess_cuda_problem *problem, const int *p)
{
    const int64_t half = half_of_device(problem), threads = problem->rows * 2 * p[TPR];
    const bool wide = tess_sliced_is_wide(problem);
    int twice[COUNT];
    memcpy(twice, p, sizeof twice);
    twice[TPR] *= 2;
    twice[THREADS] = tess_max(twice[THREADS], twice[TPR] < 32 ? 0 : 512); /* of 16 rows */
    const double each = (double)mean_row(problem) / (wide ? tess_sliced_dealt(twice) : twice[TPR]);
    if (threads <= (p[TPR] >= 16 ? half / 2 : half) || p[TPR] < least_threads(problem, p))
        return true;
    if (p[LAMBDA] > 0)
        return (p[TPR] < 16 || wide) && (double)threads <= most_of_cut_rows(problem, twice, each);
    if (wide)
        return p[TPR] < 16 && (double)threads <= most_of_wide_rows(problem, twice, each);
    return threads <= 2 * half && 5 * problem->longest_row >= 7 * mean_row(problem) &&
           !tess_cuda_fits_cache(problem, 0.8) && tess_sliced_waits(problem, p, 6);
}

/* Takes 256 threads per thread block of narrow blocks' rows where more of them run at once than of
 * 512: a multiprocessor has registers for one thread block of 512 threads with 72 registers, and
 * for three of 256. */
static void guess_narrow_threads(const tess_cuda_problem *problem, int *p)
{
    int fewer[COUNT];
    memcpy(fewer, p, sizeof fewer);
    fewer[THREADS] = 256;
    if (!tess_sliced_is_wide(problem) && p[THREADS] > 256 && tess_sliced_fits(problem, fewer) &&
        tess_sliced_at_once(problem, fewer) > tess_sliced_at_once(problem, p))
        p[THREADS] = 256;
}

/* Gives rows several threads where they are too few for the device. Thread blocks of wide blocks'
 * rows have at most 256 threads, as multiprocessors share few larger ones unevenly. A cache answers
 * sooner, so that at most 64 bytes are in flight. Returns whether takes_twice has chosen the
 * rounds: rows have more threads than half of what multiprocessors hold. */
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
    guess_narrow_threads(problem, p);
    int group = tess_sliced_blocks(problem, p), bytes = group * problem->block_width * real;
    bool cached = tess_cuda_fits_cache(problem, 0.8); /* an H200 keeps 50 MB of its 63 */
    while (!tess_sliced_is_wide(problem) && p[DEPTH] > 1 &&
           ((cached && bytes * p[DEPTH] > 64) ||
            (p[TPR] > before && 3 * p[DEPTH] * p[TPR] * group > mean_row(problem))))
        p[DEPTH] /= 2;
    return p[TPR] > before && problem->rows * p[TPR] > half_of_device(problem);
}

/* Makes one round of one to two, and returns whether it did. The second round leaves most of the
 * device idle while it waits for loads. With half the loads in flight, or else half the threads,
 * all thread blocks run at once. Sorted rows, which end one after the other, are left as they are,
 * and so is a tenth more than a round of rows of different lengths. */
static bool guess_one_round(const tess_cuda_problem *problem, int *p)
{
    static const int halved[] = {DEPTH, TPR};
    const double before = tess_sliced_rounds(problem, p);
    if (p[SIGMA] > 1 || before <= 1 || before >= 2)
        return false;
    if (before <= tess_sliced_one_round(problem))
        return true;
    for (int i = 0; i < 2; i++) {
        int fewer[COUNT];
        memcpy(fewer, p, sizeof fewer);
        fewer[halved[i]] /= 2;
        if (fewer[halved[i]] < 1 || !tess_sliced_fits(problem, fewer) ||
            tess_sliced_rounds(problem, fewer) > 1)
            continue;
        memcpy(p, fewer, sizeof fewer);
        return true;
    }
    return false;
}

/* Doubles the threads per row if the kernel takes them; returns whether it did. */
static bool double_threads(const tess_cuda_problem *problem, int *p)
{
    p[TPR] *= 2;
    if (tess_sliced_fits(problem, p))
        return true;
    p[TPR] /= 2;
    return false;
}

/* Gives long rows two threads. A thread that waits for loads a dozen times keeps its registers for
 * long, and at the end of a launch thread blocks end one by one: two threads end sooner. In f64
 * four threads become eight, which are dealt the blocks. A second round that is only begun costs
 * more. Rows that do not fill the device once get their threads from guess_few_rows. */
static void guess_long_rows(const tess_cuda_problem *problem, int *p)
{
    const int before = p[TPR];
    const bool dealt = before == 4 && problem->type == TESS_F64 && tess_sliced_is_wide(problem);
    if ((before > 1 && !dealt) || tess_sliced_rounds(problem, p) < 0.9 ||
        !tess_sliced_waits(problem, p, 12))
        return;
    if (double_threads(problem, p) && tess_sliced_rounds(problem, p) > 1 &&
        tess_sliced_rounds(problem, p) < 1.9)
        p[TPR] = before;
}

/* Gives sorted rows of narrow blocks two threads, then four, while threads wait six times or more.
 * In less than three rounds the last thread blocks are a large part of the time, so that two
 * threads pay from 4.5 waits on. */
static void guess_sorted_rows(const tess_cuda_problem *problem, int *p)
{
    if (p[SIGMA] == 1 || p[LAMBDA] > 0 || tess_sliced_is_wide(problem))
        return;
    if (p[TPR] == 1 && tess_sliced_rounds(problem, p) < 3 && tess_sliced_waits(problem, p, 4.5))
        double_threads(problem, p);
    bool more = true;
    while (more && p[TPR] < 4 && tess_sliced_waits(problem, p, 6))
        more = double_threads(problem, p);
}

/* Takes larger thread blocks where rows have several threads. Thread blocks then have few rows, and
 * neighbouring ones read the same cache lines at their ends, of which larger ones have fewer. A
 * launch of hardly two rounds ends sooner in small thread blocks. With 16 threads per row of 256, a
 * warp has 16 rows in two places; of 512, 32 in one, which pays in f32 where rows are cut, make a
 * round or more, and as many threads run at once. */
static void guess_large_blocks(const tess_cuda_problem *problem, int *p)
{
    const bool single = problem->type == TESS_F32;
    int larger[COUNT];
    memcpy(larger, p, sizeof larger);
    larger[THREADS] = 256;
    if (tess_sliced_is_wide(problem) && p[TPR] >= (single ? 4 : 8) && p[THREADS] < 256 &&
        tess_sliced_fits(problem, larger) && tess_sliced_rounds(problem, larger) >= 1.7)
        p[THREADS] = 256;
    larger[THREADS] = 512;
    if (tess_sliced_is_wide(problem) && p[TPR] == 16 && p[THREADS] == 256 && p[LAMBDA] > 0 &&
        single && tess_sliced_fits(problem, larger) && tess_sliced_rounds(problem, larger) >= 1 &&
        tess_sliced_at_once(problem, larger) >= tess_sliced_at_once(problem, p))
        p[THREADS] = 512;
}

/* Chooses the scalars per load and the rows per slice. */
static void guess_slices(const tess_cuda_problem *problem, int *p)
{
    const int32_t bw = problem->block_width;
    if (problem->type == TESS_F32) { /* pairs across blocks pay only in long rows */
        const bool pairs = bw % 2 == 0 || tess_sliced_is_wide(problem) || mean_row(problem) >= 12;
        p[V] = bw == 4 ? 4 : pairs ? 2 : 1;
        p[C] = 64;
    }
    while (p[C] > 1 && (int64_t)p[C] * problem->block_height > 768)
        p[C] /= 2;
}

static void guess_hint(const tess_cuda_problem *problem, int *p)
{
    const int32_t bw = problem->block_width;
    if (p[PANELS] > 1)
        p[HINT] = 2;
    /* Of a matrix of a few times L2, a part stays there for the next product with hint 1. Far
     * beyond L2, small blocks are read faster without it. */
    else if (p[SIGMA] == 1 && !tess_cuda_fits_cache(problem, 8) &&
             (bw <= 3 || (problem->type == TESS_F32 && bw < 8 && bw % 2 != 0)))
        p[HINT] = 0;
    /* A matrix that fits L2 has no hint: with one, its cache lines would never displace those that
     * another kernel left to stay. An H200's L2 does not keep 57 MB. */
    if (tess_cuda_fits_cache(problem, 0.9) && p[PANELS] == 1)
        p[HINT] = 0;
}

/* Gives rows of blocks of 16 columns, or of 48 and more, several threads. Threads of wide blocks
 * share the columns, others a row's blocks. Of five blocks, four threads leave three idle in their
 * second step. */
static void guess_shared_rows(const tess_cuda_problem *problem, int *p)
{
    const int64_t mean = mean_row(problem);
    const bool wide = tess_sliced_is_wide(problem), shares_blocks = !wide && p[LAMBDA] == 0;
    if (problem->block_width == 16 || problem->block_width >= 48)
        p[TPR] = mean >= (shares_blocks ? 6 : 4) ? 4 : 2;
    if (!tess_sliced_fits(problem, p))
        p[TPR] = 1;
    while (!wide && p[TPR] > 1 && p[DEPTH] > 1 &&
           2 * p[DEPTH] * p[TPR] * tess_sliced_blocks(problem, p) > mean + 1)
        p[DEPTH] /= 2; /* at most half a row, as in guess_depth */
}

void tess_sliced_guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 1, 0, 1, 1, 1, 1, 1, 128, 1};
    memcpy(p, start, sizeof start);
    guess_slices(problem, p);
    guess_irregular(problem, p);
    guess_depth(problem, p);
    guess_hint(problem, p);
    guess_shared_rows(problem, p);
    const bool few = guess_few_rows(problem, p);
    guess_small_blocks(problem, p);
    if (!few && !guess_one_round(problem, p))
        guess_long_rows(problem, p);
    guess_sorted_rows(problem, p);
    guess_large_blocks(problem, p);
    if (tess_sliced_gathers_worth(problem))
        p[XV] = tess_sliced_widest_x(problem);
}
