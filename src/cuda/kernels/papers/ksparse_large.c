/* Descriptors of ksparse_large.cu. */
#include "cuda/kernels/papers/rows.h"

enum { NB, N_TG, EPT, LAMBDA, COUNT };

static const tess_cuda_param params[COUNT] = {
    [NB] = {"nb", {16, 32, 64, 128}, 4},
    [N_TG] = {"N_tg", {2, 4, 8}, 3},
    [EPT] = {"ept", {2, 4, 8}, 3},
    [LAMBDA] = TESS_CUDA_LAMBDA,
};

/* The paper's restriction is N_tg * ept <= nb <= bs. Its range begins at 45; K3 works below, too,
 * and from where a strip fills a warp it is left to the measurement. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int width = p[N_TG] * p[EPT];
    return problem->block_height >= 32 && p[NB] <= problem->block_height && width <= p[NB] &&
           width <= problem->block_width && p[NB] * p[N_TG] <= 512;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    p[NB] = 32;
    p[N_TG] = 4;
    p[EPT] = 8;
    if (problem->block_height % 32 != 0 && problem->block_height % 32 <= 16 &&
        problem->block_height < 64) { /* 48: three strips of 16 instead of two half-empty ones */
        p[NB] = 16;
        p[EPT] = 4;
    }
    while (p[EPT] > 2 && p[N_TG] * p[EPT] > problem->block_width)
        p[EPT] /= 2;
    if (p[N_TG] * p[EPT] > problem->block_width)
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
#include "cuda/kernels/papers/rows_pair.inc.c"
