/* A parameter that a kernel takes when nothing was measured. */
#pragma once

#include <string.h>

#include "cuda/plan/plan.h"
#include "support/support.h"

static inline int guessed(const char *name, const tess_cuda_problem *problem, const char *param)
{
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find(name);
    int params[TESS_CUDA_PARAMS];
    kernel->guess(problem, params);
    assert_true(kernel->fits(problem, params));
    for (int i = 0; i < kernel->param_count; i++)
        if (strcmp(kernel->params[i].name, param) == 0)
            return params[i];
    fail_msg("%s has no parameter %s", name, param);
    return -1;
}
