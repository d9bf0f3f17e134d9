/* Whole iterations in one launch, on a device. */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/units/loop_code.h"

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
/* Writes the code and the layout of the loop, and sets loop->planned, where loop.cu can run the
 * stretch. */
tess_status tess_cuda_plan_loop(tess_space *space, const tess_stretch *stretch);
/* Loads a planned loop, and sets loop->fits where the device takes the cluster. */
tess_status tess_cuda_need_loop(tess_space *space);
void tess_cuda_loop_free(tess_space *space);
/* Launches iterations of one system, which run until it stops. The call does not wait. */
tess_status tess_cuda_run_loop(tess_space *space, const tess_unit_list *list, int system);
