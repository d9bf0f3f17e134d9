/* Calibration: measures and fits the terms of the performance model of this device. */
#pragma once

#include "plan/model/model.h"

/* sample.c: the typical product of a candidate; x and y are host arrays of the matrix's
 * type. */
tess_status tess_sample_spmv(tess_device *device, const tess_matrix *A,
                             const tess_candidate *candidate, const void *x, void *y,
                             double *seconds);
/* The typical iteration of CG with pc=jacobi, and product of the same plan. */
tess_status tess_sample_iteration(tess_plan *plan, const void *b, double *product,
                                  double *iteration);

/* calibrate.c: measures a part of the model, that of one block size; 0: vectors and
 * copies. `most` is the largest product in bytes; 0: chosen. `classes`: those only, as
 * "sliced,stream"; NULL: all.
 */
tess_status tess_model_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                                 const char *classes, tess_model **out);
/* quick.c: measures how fast the device is beside what stands in for it, makes the device's model
 * so and returns the whole factor, earlier ones included. */
tess_status tess_model_measure_scale(tess_device *device, tess_model_scale *out);
/* The parts of a whole model. */
extern const int32_t tess_model_blocks[];
extern const int tess_model_block_count;
