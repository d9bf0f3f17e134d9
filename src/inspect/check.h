/* Measures the CG iteration that a prediction is about. */
#pragma once

#include "backend/backend.h"

/* Runs CG with the predicted kernel, in a plan that counts as having chosen it by itself. `b` is a
 * host array. *seconds = 0: A is not symmetric with a full diagonal, as CG needs, or the kernel
 * does not run. */
tess_status tess_check_iteration(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                 const tess_predicted_kernel *kernel, const void *b,
                                 double *seconds);
