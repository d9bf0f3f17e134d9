/* Triangular preconditioners on a CUDA device: z = M^-1 r.
 *
 * The factors are computed on the host and copied; their pattern is analysed once, an update moves
 * numbers only. Calls that take a stream leave their work there and, but for create and update, do
 * not wait. All of them are made between tess_cuda_enter and tess_cuda_leave.
 */
#pragma once

#include "cuda/driver/device.h"
#include "cuda/solve/triangles.h"

typedef struct tess_cuda_factors tess_cuda_factors;

/* Device copies of pc's factors; `pc` is of a plan on this device, is not elementwise and outlives
 * them. TESS_ERR_UNSUPPORTED when there are no kernels for it. */
tess_status tess_cuda_factors_create(tess_cuda *cuda, const tess_pc *pc, cu_stream stream,
                                     tess_cuda_factors **out);
/* The same with other tile sizes and launches than tess_triangle_guess says, for measurements. */
tess_status tess_cuda_factors_create_tuned(tess_cuda *cuda, const tess_pc *pc,
                                           const tess_triangle_tuning *tuning, cu_stream stream,
                                           tess_cuda_factors **out);

/* After tess_pc_update_values: the new numbers, in the same places. Graphs that were captured stay
 * valid.
 */
tess_status tess_cuda_factors_update(tess_cuda_factors *factors, cu_stream stream);

/* z = M^-1 r, or M^-T r, which pc's options.transpose must have announced. r and z have the
 * matrix's rows, of the vectors' type, and may be the same. Neither allocates nor waits: may be
 * captured. One apply at a time, in stream order. */
tess_status tess_cuda_factors_apply(tess_cuda_factors *factors, bool transpose, cu_pointer r,
                                    cu_pointer z, cu_stream stream);

void tess_cuda_factors_destroy(tess_cuda_factors *factors); /* NULL is fine */

/* Read by one application, vectors not counted. */
double tess_cuda_factors_bytes(const tess_cuda_factors *factors);
/* Launches of one application. */
int64_t tess_cuda_factors_launches(const tess_cuda_factors *factors);
