/* The two descriptors of a family on block rows: NAME on BSR, NAME_balanced on `balanced`.
 *
 * The including file defines
 *
 *     FAMILY        the stem, also the entry point and the source
 *     FAMILY_NAIVE  the descriptor's `naive` on BSR, where it has one
 *     FAMILY_WORTH  whether a search should measure it, where that is not always so
 *     params        an array of COUNT parameters, LAMBDA the last
 *     fits, guess   without the parameter lambda
 *     defines       what follows the macros of rows.cuh
 *     launches
 */
#include "core/paste.h"

#ifdef FAMILY_WORTH
static bool worth_balanced(const tess_cuda_problem *problem)
{
    return tess_cuda_rows_uneven(problem) && FAMILY_WORTH(problem);
}
#else
#define worth_balanced tess_cuda_rows_uneven
#endif

static bool fits_plain(const tess_cuda_problem *problem, const int *p)
{
    return fits(problem, p) && tess_cuda_rows_fit(problem, 0);
}

static bool fits_balanced(const tess_cuda_problem *problem, const int *p)
{
    return fits(problem, p) && tess_cuda_rows_fit(problem, p[LAMBDA]);
}

static void guess_balanced(const tess_cuda_problem *problem, int *p)
{
    guess(problem, p);
    p[LAMBDA] = tess_cuda_rows_lambda(problem);
}

static void defines_plain(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    size_t used = tess_cuda_rows_defines(problem, false, text, size);
    defines(problem, p, text + used, size - used);
}

static void defines_balanced(const tess_cuda_problem *problem, const int *p, char *text,
                             size_t size)
{
    size_t used = tess_cuda_rows_defines(problem, true, text, size);
    defines(problem, p, text + used, size - used);
}

static void layout_name_plain(const tess_cuda_problem *problem, const int *p, char *text,
                              size_t size)
{
    (void)problem, (void)p;
    tess_cuda_rows_layout_name(0, text, size);
}

static void layout_name_balanced(const tess_cuda_problem *problem, const int *p, char *text,
                                 size_t size)
{
    (void)problem;
    tess_cuda_rows_layout_name(p[LAMBDA], text, size);
}

const tess_cuda_kernel TESS_PASTE(tess_cuda_kernel_, FAMILY) = {
    .name = TESS_TEXT(FAMILY),
    .source = TESS_TEXT(FAMILY) ".cu",
    .format = "bsr",
    .op = TESS_CUDA_SPMV,
    .complex = true,
#ifdef FAMILY_NAIVE
    .naive = FAMILY_NAIVE,
#endif
#ifdef FAMILY_WORTH
    .worth = FAMILY_WORTH,
#endif
    .params = params,
    .param_count = LAMBDA,
    .fits = fits_plain,
    .guess = guess,
    .defines = defines_plain,
    .layout_name = layout_name_plain,
    .launches = launches,
};

const tess_cuda_kernel TESS_PASTE(TESS_PASTE(tess_cuda_kernel_, FAMILY), _balanced) = {
    .name = TESS_TEXT(FAMILY) "_balanced",
    .source = TESS_TEXT(FAMILY) ".cu",
    .format = "balanced",
    .op = TESS_CUDA_SPMV,
    .complex = true,
    .worth = worth_balanced,
    .params = params,
    .param_count = COUNT,
    .fits = fits_balanced,
    .guess = guess_balanced,
    .defines = defines_balanced,
    .layout_name = layout_name_balanced,
    .launches = launches,
};
