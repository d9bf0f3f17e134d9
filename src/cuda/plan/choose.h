/* Which kernels there are for a matrix, which one is taken, and what each would cost. */
#pragma once

#include "backend/shapes.h"
#include "cuda/driver/device.h"
#include "cuda/kernels/table.h"

/* ---- choose.c ---- */

/* The kernel and parameters the options ask for, or the first that fits. `skip` kernels of the
 * automatic order are passed over (they were refused). */
tess_status tess_cuda_choose(tess_ctx *ctx, const tess_cuda_problem *problem, tess_cuda_op op,
                             const tess_plan_options *options, int skip,
                             const tess_cuda_kernel **kernel, int *params);
tess_status tess_cuda_candidates(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list);

/* ---- shapes.c: kernels that take shapes ---- */

/* Splits options->params in shapes, which go to problem->shapes, and the rest, which goes to
 * `params` and becomes plain->params. Where a format with shapes is asked for without any, they are
 * chosen for A. */
enum { TESS_CUDA_PARAMS_TEXT = 192 };
tess_status tess_cuda_take_shapes(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_plan_options *options, tess_cuda_problem *problem,
                                  char params[TESS_CUDA_PARAMS_TEXT], tess_plan_options *plain);
/* All parameters as text, shapes included. */
void tess_cuda_write_all(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                         const int *params, char *text, size_t size);
/* For a search: problem->shapes become what a format with shapes would extract. */
tess_status tess_cuda_look_for_shapes(tess_device *device, const tess_matrix *A,
                                      tess_cuda_problem *problem, tess_fbcsr_options *out);

/* ---- ahead.c ---- */

/* Compiles the code of several candidates at once. */
void tess_cuda_prepare_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                             int64_t count);

/* ---- cost.c ---- */

tess_status tess_cuda_costs(tess_device *device, const tess_matrix *A, tess_candidates *list);
