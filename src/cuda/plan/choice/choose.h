/* Which kernels there are for a matrix, which one is taken, and what each would cost. */
#pragma once

#include "backend/shapes.h"
#include "cuda/driver/device.h"
#include "cuda/kernels/table.h"

/* ---- choose.c ---- */

/* The kernel and parameters that the options ask for, or the first kernel that fits. `skip` kernels
 * of the automatic order are passed over, because verification refused them. */
tess_status tess_cuda_choose(tess_ctx *ctx, const tess_cuda_problem *problem, tess_cuda_op op,
                             const tess_plan_options *options, int skip,
                             const tess_cuda_kernel **kernel, int *params);
tess_status tess_cuda_candidates(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list);

/* ---- shapes.c: kernels that take shapes ---- */

/* Splits options->params into shapes, which go to problem->shapes, and the rest, which goes to
 * `params` and becomes plain->params. Options that name a format with shapes but give no shapes get
 * shapes chosen for A. */
enum { TESS_CUDA_PARAMS_TEXT = 192 };
tess_status tess_cuda_take_shapes(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_plan_options *options, tess_cuda_problem *problem,
                                  char params[TESS_CUDA_PARAMS_TEXT], tess_plan_options *plain);
/* All parameters as text, shapes included. */
void tess_cuda_write_all(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                         const int *params, char *text, size_t size);
/* For a search: sets problem->shapes to the shapes that would be extracted from A for slices, or
 * for a kernel that keeps its shapes. */
tess_status tess_cuda_look_for_shapes(tess_ctx *ctx, const tess_matrix *A, bool slices,
                                      tess_cuda_problem *problem, tess_fbcsr_options *out);

/* ---- ahead.c ---- */

/* Compiles the code of several candidates at once. A failure is left to tess_cuda_prepare. */
void tess_cuda_prepare_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                             int64_t count);

/* ---- idle.c ---- */

/* Seconds in which the memory, which reads `speed` bytes per second, waits for lines of A that are
 * longer than others. */
tess_status tess_cuda_idle(tess_ctx *ctx, const tess_matrix *A, const tess_cuda_flight *flight,
                           double speed, double *seconds);

/* ---- cost.c ---- */

tess_status tess_cuda_costs(tess_device *device, const tess_matrix *A, tess_candidates *list);
/* Sets what a plan on a layout with shapes moves and occupies. tess_cuda_costs cannot tell: that is
 * known once the layout is made. */
void tess_cuda_price_layout(tess_plan *plan, const tess_cuda_layout *layout);
