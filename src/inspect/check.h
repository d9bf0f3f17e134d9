/* A CG iteration as it was predicted, run. */
#pragma once

#include "backend/backend.h"

/* With that kernel, in a plan that is as free as one that chose it; `b` is a host array. 0: CG
 * needs a symmetric matrix with a diagonal, and this is none, or the kernel does not run. */
tess_status tess_check_iteration(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                 const tess_predicted_kernel *kernel, const void *b,
                                 double *seconds);
