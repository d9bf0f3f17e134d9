/* Descriptors of ksparse_small.cu. */
#include "cuda/kernels/papers/rows.h"

enum { N_TA, NBROWS, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [N_TA] = {"N_ta", {2, 4, 8}, 3},
    [NBROWS] = {"Nbrows_ta", {1, 2, 4}, 3},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

/* The paper's blocks are square, 2 to 5. Here: all that fit a warp and are not scalars. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    (void)p;
    int64_t per_block = (int64_t)problem->block_height * problem->block_width;
    return per_block >= 2 && per_block <= 32;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    (void)problem;
    p[N_TA] = 4;
    p[NBROWS] = 1;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, " -DN_TA=%d -DNBROWS=%d", p[N_TA], p[NBROWS]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    return tess_cuda_rows_launches(problem, layout, call, "ksparse_small", p[N_TA] * p[NBROWS], 1,
                                   (32 * p[N_TA]), out);
}

#define FAMILY ksparse_small
#include "cuda/kernels/papers/rows_pair.inc.c"
