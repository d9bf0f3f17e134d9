/* What an iteration does between two products in one launch, on a device. */
#pragma once

#include "cuda/solve/units/loop_code.h"

struct tess_between {
    int64_t first, count; /* units */
    tess_loop_code code;
    cu_module module;
    cu_function function;
};

/* Finds the runs of units of an iteration that become one launch each, and loads their code. */
tess_status tess_cuda_need_between(tess_space *space, tess_unit_list *list);
void tess_cuda_between_free(tess_space *space, tess_unit_list *list);
tess_status tess_cuda_run_between(tess_space *space, const tess_unit_list *list,
                                  const tess_between *between, int system);
