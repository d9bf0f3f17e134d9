/* The descriptors of one mapping of mapped.c, without and with a dot product: FAMILY is its name,
 * map_FAMILY and fits_FAMILY are its functions, FAMILY_PARAMS, FAMILY_COUNT and FAMILY_GUESS the
 * rest. */
#include "core/paste.h"

#define TESS_OF(what) TESS_PASTE(what, FAMILY)

static void TESS_OF(defines_)(const tess_cuda_problem *problem, const int *p, char *text,
                              size_t size)
{
    write_defines(problem, TESS_OF(map_)(problem, p), false, text, size);
}

static void TESS_OF(defines_dot_)(const tess_cuda_problem *problem, const int *p, char *text,
                                  size_t size)
{
    write_defines(problem, TESS_OF(map_)(problem, p), true, text, size);
}

static bool TESS_OF(fits_dot_)(const tess_cuda_problem *problem, const int *p)
{
    return p[REORDER] && TESS_OF(fits_)(problem, p);
}

static void TESS_OF(layout_name_)(const tess_cuda_problem *problem, const int *p, char *text,
                                  size_t size)
{
    write_layout_name(TESS_OF(map_)(problem, p), text, size);
}

static int TESS_OF(launches_)(const tess_cuda_problem *problem, const int *p,
                              const tess_cuda_layout *layout, const tess_cuda_call *call,
                              tess_cuda_launch *out)
{
    return write_launches(problem, TESS_OF(map_)(problem, p), layout, call, false, out);
}

static int TESS_OF(launches_dot_)(const tess_cuda_problem *problem, const int *p,
                                  const tess_cuda_layout *layout, const tess_cuda_call *call,
                                  tess_cuda_launch *out)
{
    return write_launches(problem, TESS_OF(map_)(problem, p), layout, call, true, out);
}

const tess_cuda_kernel TESS_OF(tess_cuda_kernel_) = {
    .name = TESS_TEXT(FAMILY),
    .source = "mapped.cu",
    .format = "interleaved",
    .op = TESS_CUDA_SPMV,
    .complex = true,
    .params = FAMILY_PARAMS,
    .param_count = FAMILY_COUNT,
    .fits = TESS_OF(fits_),
    .guess = FAMILY_GUESS,
    .defines = TESS_OF(defines_),
    .layout_name = TESS_OF(layout_name_),
    .launches = TESS_OF(launches_),
};

const tess_cuda_kernel TESS_PASTE(TESS_OF(tess_cuda_kernel_), _dot) = {
    .name = TESS_TEXT(FAMILY) "_dot",
    .source = "mapped.cu",
    .format = "interleaved",
    .op = TESS_CUDA_SPMV_DOT,
    .product = TESS_TEXT(FAMILY),
    .params = FAMILY_PARAMS,
    .param_count = FAMILY_COUNT,
    .fits = TESS_OF(fits_dot_),
    .guess = FAMILY_GUESS,
    .defines = TESS_OF(defines_dot_),
    .layout_name = TESS_OF(layout_name_),
    .launches = TESS_OF(launches_dot_),
};

#undef TESS_OF
#undef FAMILY
#undef FAMILY_PARAMS
#undef FAMILY_COUNT
#undef FAMILY_GUESS
