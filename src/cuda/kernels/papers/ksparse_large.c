/* Descriptors of ksparse_large.cu. */
#include "cuda/kernels/papers/rows.h"

enum { NB, N_TG, EPT, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [NB] = {"nb", {4, 8, 16, 32, 64, 128}, 6},
    [N_TG] = {"N_tg", {2, 4, 8}, 3},
    [EPT] = {"ept", {2, 4, 8}, 3},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

/* The paper's restriction is N_tg * ept <= nb <= bs, and K3 "can be used for block sizes 5 x 5 and
 * up". */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int width = p[N_TG] * p[EPT];
    return problem->block_height >= 5 && p[NB] <= problem->block_height && width <= p[NB] &&
           width <= problem->block_width && p[NB] * p[N_TG] <= 512;
}

/* The paper gives K3 the blocks from 45 on. From 32 on a strip fills a warp, and a search
 * decides. */
static bool worth(const tess_cuda_problem *problem)
{
    return problem->block_height >= 32;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    p[NB] = 32;
    p[N_TG] = 4;
    p[EPT] = 8;
    while (p[NB] > 4 && p[NB] > problem->block_height)
        p[NB] /= 2;
    if (problem->block_height % 32 != 0 && problem->block_height % 32 <= 16 &&
        problem->block_height > 32 &&
        problem->block_height < 64) { /* 48: three strips of 16 instead of two half-empty ones */
        p[NB] = 16;
        p[EPT] = 4;
    }
    int widest = tess_min(problem->block_width, p[NB]);
    while (p[EPT] > 2 && p[N_TG] * p[EPT] > widest)
        p[EPT] /= 2;
    if (p[N_TG] * p[EPT] > widest)
        p[N_TG] = 2;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, " -DNB=%d -DN_TG=%d -DEPT=%d", p[NB], p[N_TG], p[EPT]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    return tess_cuda_rows_launches(problem, layout, call, "ksparse_large", 1,
                                   tess_ceil_div(problem->block_height, p[NB]), (p[NB] * p[N_TG]),
                                   out);
}

#define FAMILY ksparse_large
#define FAMILY_WORTH worth
#include "cuda/kernels/papers/rows_pair.inc.c"
