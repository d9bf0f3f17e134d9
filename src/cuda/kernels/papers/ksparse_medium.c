/* Descriptors of ksparse_medium.cu. */
#include "cuda/kernels/papers/rows.h"

enum { N_TG, N_TA, NBROWS, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [N_TG] = {"N_tg", {1, 2, 4, 8}, 4},
    [N_TA] = {"N_ta", {1, 2, 4}, 3},
    [NBROWS] = {"Nbrows_ta", {1, 2}, 2},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

/* At most 12 columns and 96 bytes per thread: registers hold two buffers of them. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int32_t bh = problem->block_height, bw = problem->block_width;
    int64_t threads = (int64_t)bh * p[N_TG] * p[N_TA], columns = tess_ceil_div(bw, p[N_TG]);
    return bh >= 5 && bh <= 45 && p[N_TG] <= bw && columns <= 12 &&
           columns * (int64_t)tess_type_size(problem->type) <= 96 && threads >= 32 &&
           threads <= 512;
}

/* About four columns per thread, and 64 threads or more. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    int32_t bh = problem->block_height, bw = problem->block_width;
    p[N_TG] = 1;
    while (p[N_TG] < 8 && bw > 4 * p[N_TG])
        p[N_TG] *= 2;
    p[N_TA] = 1;
    while (p[N_TA] < 4 && bh * p[N_TG] * p[N_TA] < 64)
        p[N_TA] *= 2;
    p[NBROWS] = 1;
}

/* Equation 2 of the paper, for BW columns. */
static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    int bw = problem->block_width, ept_max = (int)tess_ceil_div(bw, p[N_TG]);
    int threshold = (p[N_TG] - bw % p[N_TG]) % p[N_TG];
    snprintf(text, size, " -DN_TA=%d -DN_TG=%d -DNBROWS=%d -DEPT_MAX=%d -DTHRESHOLD=%d", p[N_TA],
             p[N_TG], p[NBROWS], ept_max, threshold);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    int threads = (problem->block_height * p[N_TG] * p[N_TA]);
    return tess_cuda_rows_launches(problem, layout, call, "ksparse_medium", p[N_TA] * p[NBROWS], 1,
                                   threads, out);
}

#define FAMILY ksparse_medium
#include "cuda/kernels/papers/rows_pair.inc.c"
