/* The dense inverse of the bottom's matrix on the device: launches of bottom.cu as data. */
#pragma once

#include "cuda/solve/amg/coarsen_level.h"

enum { TESS_BOTTOM_THREADS = 256, TESS_BOTTOM_TILE = 64 };

/* Addresses in device memory.
 *
 *     tiles            the lower half of across x across tiles, 0 before
 *     scale            a scalar per row of the tiles
 *     pivot            a tile
 *     column, product  `across` tiles each
 *     inverse          the result, in blocks of TESS_AMG_BOTTOM_BLOCK rows
 *     failed           a count of 32 bits, 0 before
 */
typedef struct tess_bottom_arrays {
    uint64_t tiles, scale, pivot, column, product, inverse, failed;
    int64_t rows, across;
    double least; /* smaller pivots are counted */
} tess_bottom_arrays;

void tess_bottom_defines(char *text, size_t size);
/* An entry of bottom.cu for the matrix A; `step` is the tile of "column" and "update". */
void tess_bottom_launch(const char *entry, const tess_coarsen_matrix *A,
                        const tess_bottom_arrays *arrays, int64_t step, tess_cuda_launch *launch);

/* The operations `bottom_most` and `bottom` of a device (solve/pc/amg/device.h). */
int64_t tess_cuda_bottom_most(const tess_device *device);
tess_status tess_coarsen_bottom(void *state, double least, bool *made);
