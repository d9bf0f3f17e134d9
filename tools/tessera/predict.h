/* Parts of `tessera predict`. */
#ifndef TOOLS_PREDICT_H
#define TOOLS_PREDICT_H

#include "calibrate/calibrate.h"

typedef struct map_request {
    const tess_model *model;
    tess_model_problem problem; /* block size, precision and kernel class are taken from it */
    tess_link link;
    int devices; /* at least 2 */
    bool best;
} map_request;

tess_status predict_map(tess_ctx *ctx, const char *path, const map_request *request);

/* The measured iteration of CG with pc=jacobi and that kernel, for a right-hand side b; 0: the
 * matrix is not symmetric, or CG ended too soon. */
tess_status predict_check_iteration(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_predicted_kernel *kernel, const void *b,
                                    double *seconds);

#endif
