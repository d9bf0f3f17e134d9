/* Descriptors of by_column.cu. */
#include "cuda/kernels/papers/rows.h"

enum { LANES, UNROLL, THREADS, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [LANES] = {"lanes", {8, 16, 32}, 3},
    [UNROLL] = {"unroll", {1, 2, 4}, 3},
    [THREADS] = {"threads", {128, 256}, 2},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    return problem->block_height >= 2 && problem->block_height <= p[LANES];
}

/* The narrowest group that leaves at most an eighth of its lanes idle, wider when a mean row has
 * more than four turns for it. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    int32_t bh = problem->block_height;
    int64_t scalars = tess_cuda_rows_mean(problem) * bh * problem->block_width;
    p[LANES] = 8;
    while (p[LANES] < 32 &&
           (bh > p[LANES] || p[LANES] % bh > p[LANES] / 8 || scalars > 4 * p[LANES]))
        p[LANES] *= 2;
    p[UNROLL] = 4;
    p[THREADS] = 128;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, " -DLANES=%d -DUNROLLED=%d -DTHREADS=%d", p[LANES], p[UNROLL], p[THREADS]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    return tess_cuda_rows_launches(problem, layout, call, "by_column", p[THREADS] / p[LANES], 1,
                                   p[THREADS], out);
}

static bool naive(const tess_cuda_problem *problem)
{
    return problem->block_width > 1;
}

#define FAMILY by_column
#define FAMILY_NAIVE naive
#include "cuda/kernels/papers/rows_pair.inc.c"
