/* Descriptors of by_block.cu. */
#include "cuda/kernels/papers/rows.h"

enum { ROWS, UNROLL, THREADS, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [ROWS] = {"rows", {1, 2, 4}, 3}, /* per warp */
    [UNROLL] = {"unroll", {1, 2, 4}, 3},
    [THREADS] = {"threads", {128, 256}, 2},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    return (int64_t)problem->block_height * problem->block_width * p[ROWS] <= 32;
}

/* As many rows per warp as leave a mean row two turns or more, and all lanes but a few busy. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    int per_block = problem->block_height * problem->block_width;
    int64_t scalars = tess_cuda_rows_mean(problem) * per_block;
    p[ROWS] = 1;
    while (p[ROWS] < 4 && scalars < 2 * 32 / p[ROWS] &&
           32 / (2 * p[ROWS]) % per_block <= 32 / (16 * p[ROWS]) && per_block <= 32 / (2 * p[ROWS]))
        p[ROWS] *= 2;
    p[UNROLL] = scalars > 32 / p[ROWS] * 2 ? 4 : 2;
    p[THREADS] = 128;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, " -DROWS=%d -DUNROLLED=%d -DTHREADS=%d", p[ROWS], p[UNROLL], p[THREADS]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    return tess_cuda_rows_launches(problem, layout, call, "by_block", p[THREADS] / 32 * p[ROWS], 1,
                                   p[THREADS], out);
}

static bool naive(const tess_cuda_problem *problem)
{
    return problem->block_width == 1;
}

#define FAMILY by_block
#define FAMILY_NAIVE naive
#include "cuda/kernels/papers/rows_pair.inc.c"
