/* The tentative prolongator on the device: the launch of tentative.cu as data. */
#pragma once

#include "cuda/solve/amg/coarsen_level.h"

enum { TESS_TENTATIVE_THREADS = 128 };

/* Addresses in device memory. `given` and `coordinates` may be 0. `coarse` has modes * modes
 * scalars per group, `dead` has modes bytes per group. */
typedef struct tess_tentative_arrays {
    uint64_t offsets, members, given, coordinates, coarse, dead;
    int64_t groups, length; /* length: scalars of a given mode */
} tess_tentative_arrays;

void tess_tentative_launch(const tess_coarsen_matrix *Q, const tess_tentative_arrays *arrays,
                           const double centre[3], tess_cuda_launch *launch);
