/* Strength of a level's blocks on the device: launches of strength.cu as data. */
#pragma once

#include "cuda/solve/amg/coarsen_level.h"

enum { TESS_STRENGTH_THREADS = 128 };

/* Addresses in device memory: `scale` and `largest` have one number per row, `strength` one per
 * block. `missing`: two counts of 32 bits, which are 0 before. */
typedef struct tess_strength_arrays {
    uint64_t scale, largest, strength, missing;
} tess_strength_arrays;

/* "scale", "norms", then "drop". */
void tess_strength_launch(const char *entry, const tess_coarsen_matrix *M,
                          const tess_strength_arrays *arrays, double threshold,
                          tess_cuda_launch *launch);

/* The operation `strength` of a device (solve/pc/amg/device.h). */
tess_status tess_cuda_strength(void *state, double threshold, tess_amg_level *level);
