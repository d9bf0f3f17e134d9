/* Calibration: measures and fits the terms of a device's performance model. */
#pragma once

#include "plan/model/model.h"

/* sample.c: the typical seconds of a candidate's product. x and y are host arrays of the matrix's
 * type. */
tess_status tess_sample_spmv(tess_device *device, const tess_matrix *A,
                             const tess_candidate *candidate, const void *x, void *y,
                             double *seconds);
/* The typical seconds of an iteration of CG with pc=jacobi, and of a product of the same plan. */
tess_status tess_sample_iteration(tess_plan *plan, const void *b, double *product,
                                  double *iteration);

/* calibrate.c: measures the part of the model for one block size; block = 0: vectors and copies.
 * `most` is the bytes of the largest product; 0: chosen. `classes`: only these, as "sliced,stream";
 * NULL: all.
 */
tess_status tess_model_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                                 const char *classes, tess_model **out);
/* quick.c: measures the device's speed relative to its stand-in, rescales the device's model by it,
 * and returns the total scale, which includes earlier scales. */
tess_status tess_model_measure_scale(tess_device *device, tess_model_scale *out);
/* The block sizes of a complete model. */
extern const int32_t tess_model_blocks[];
extern const int tess_model_block_count;
