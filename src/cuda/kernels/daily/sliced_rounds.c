/* How many threads of a sliced kernel run at once, and how often they wait. */
#include "cuda/kernels/daily/sliced_guess.h"

/* Returns the registers of a thread: a base, one per 4 bytes of the values in flight and of their
 * x, and two per column number, this one and the next. Threads that share a wide block also keep
 * their place in it. NVRTC 13 gives sm_90 within 8 of this number (337 sets of parameters for wide
 * blocks, 284 of them exactly; 31 others). */
static int registers(const tess_cuda_problem *problem, const int *p)
{
    const int real = (int)tess_type_size(problem->type), group = tess_sliced_blocks(problem, p);
    const int loads = tess_sliced_wide_loads(problem, p);
    const int count = loads > 0 ? (real == 4 ? 19 : 22) + loads * p[V] * real / 2 + 4 * (p[TPR] > 1)
                                : 18 + p[DEPTH] * group * (problem->block_width * real / 2 + 2);
    return (int)tess_ceil_div(count, 8) * 8;
}

int64_t tess_sliced_at_once(const tess_cuda_problem *problem, const int *p)
{
    const int most = 2048 / p[THREADS], blocks = 65536 / (registers(problem, p) * p[THREADS]);
    return (int64_t)problem->multiprocessors * tess_min(blocks, most) * p[THREADS];
}

double tess_sliced_rounds(const tess_cuda_problem *problem, const int *p)
{
    const int64_t at_once = tess_sliced_at_once(problem, p);
    return at_once > 0 ? (double)problem->rows * p[TPR] / (double)at_once : 0;
}

/* Returns the blocks of a row that its threads have in flight: of a wide block maybe a part. */
static double blocks_in_flight(const tess_cuda_problem *problem, const int *p)
{
    const int loads = tess_sliced_wide_loads(problem, p);
    return loads > 0 ? (double)loads * p[V] * p[TPR] / problem->block_width
                     : (double)p[DEPTH] * tess_sliced_blocks(problem, p) * p[TPR];
}

bool tess_sliced_waits(const tess_cuda_problem *problem, const int *p, double times)
{
    const double mean = (double)problem->blocks / (double)tess_max(problem->block_rows, 1);
    return mean >= times * p[PANELS] * blocks_in_flight(problem, p);
}

/* While others run, a wait takes 1 us, in which a multiprocessor of an H200 reads 33 KB. A cache
 * answers sooner. */
double tess_sliced_alone(const tess_cuda_problem *problem, const int *p)
{
    const double real = (double)tess_type_size(problem->type), at_a_time = 33e3;
    const double block = problem->block_height * (double)problem->block_width * real + 4;
    const double line = p[LAMBDA] > 0 ? p[LAMBDA] : (double)problem->longest_row;
    if (tess_cuda_fits_cache(problem, 0.8))
        return 0;
    return line / blocks_in_flight(problem, p) * problem->multiprocessors * at_a_time /
           ((double)tess_max(problem->blocks, 1) * block);
}

double tess_sliced_one_round(const tess_cuda_problem *problem)
{
    return 4 * problem->longest_row * problem->block_rows >= 5 * problem->blocks ? 1.1 : 1;
}

void tess_sliced_flight(const tess_cuda_problem *problem, const int *p, tess_cuda_flight *out)
{
    const double threads = (double)tess_sliced_at_once(problem, p);
    *out = (tess_cuda_flight){.blocks = blocks_in_flight(problem, p),
                              .lines = threads / p[TPR] / problem->block_height,
                              .split = p[LAMBDA],
                              .sorted = p[SIGMA] > 1};
}
