/* Whole iterations in one launch, on a device. */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/loop_code.h"

typedef struct tess_loop {
    bool planned, fits;
    tess_loop_code code;
    tess_loop_layout layout;
    cu_module module;
    cu_function function;
    tess_cuda_resident *resident;
    cu_pointer first, sources, source_first, places;
} tess_loop;

/* The backend's solves_at_once. */
bool tess_cuda_solves_at_once(tess_device *device, const tess_matrix *A);
/* Chooses the loop for a list, if it is one for loop.cu: then loop->planned. */
tess_status tess_cuda_plan_loop(tess_space *space, const tess_stretch *stretch);
/* Loads the loop that was planned: then loop->fits. */
tess_status tess_cuda_need_loop(tess_space *space);
void tess_cuda_loop_free(tess_space *space);
/* Iterations of one system until it stops; the work is in the stream. */
tess_status tess_cuda_run_loop(tess_space *space, const tess_unit_list *list, int system);
