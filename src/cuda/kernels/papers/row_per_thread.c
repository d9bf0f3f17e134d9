/* Descriptors of row_per_thread.cu. */
#include "cuda/kernels/papers/rows.h"

enum { SHARE, UNROLL, MOST, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [SHARE] = {"shared", {0, 1}, 2}, /* Algorithm 4, Algorithm 5 */
    [UNROLL] = {"unroll", {4, 8, 16}, 3},
    [MOST] = {"threads", {32, 1024}, 2}, /* per thread block, at most */
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

static int threads_of(const tess_cuda_problem *problem, const int *p)
{
    int64_t threads = 32 * tess_ceil_div(problem->block_height, 32);
    return (int)tess_min(threads, p[MOST]);
}

/* x of a block must fit shared memory, and the values in flight half of the registers. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    const int64_t size = (int64_t)tess_type_size(problem->type);
    return problem->block_height >= 2 && p[UNROLL] <= problem->block_width + 3 &&
           (!p[SHARE] || problem->block_width * size <= 48 << 10) &&
           p[UNROLL] * size * threads_of(problem, p) <= 128 << 10;
}

/* The paper's choice from 16 rows on. A smaller block leaves more than half of a warp idle. */
static bool worth(const tess_cuda_problem *problem)
{
    return problem->block_height >= 16;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    p[SHARE] = 0;
    p[UNROLL] = problem->block_width >= 16 ? 8 : 4;
    p[MOST] = 1024;
}

/* Thread blocks per block row. */
static int chunks_of(const tess_cuda_problem *problem, const int *p)
{
    return (int)tess_ceil_div(problem->block_height, threads_of(problem, p));
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size, " -DTHREADS=%d -DCHUNKS=%d -DSHARE=%d -DUNROLLED=%d",
             threads_of(problem, p), chunks_of(problem, p), p[SHARE], p[UNROLL]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    return tess_cuda_rows_launches(problem, layout, call, "row_per_thread", 1,
                                   chunks_of(problem, p), threads_of(problem, p), out);
}

#define FAMILY row_per_thread
#define FAMILY_WORTH worth
#include "cuda/kernels/papers/rows_pair.inc.c"
