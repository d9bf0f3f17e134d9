/* Triangular preconditioners on a CUDA device: z = M^-1 r.
 *
 * The factors are computed on the host and copied. Their pattern is analysed once; an update copies
 * values only. Create and update wait for the stream; apply puts its work there and returns. All
 * calls are made between tess_cuda_enter and tess_cuda_leave.
 */
#pragma once

#include "cuda/driver/device.h"
#include "cuda/solve/triangles/triangles.h"

typedef struct tess_cuda_factors tess_cuda_factors;

/* Device copies of the factors of `pc`, which outlives them. TESS_ERR_UNSUPPORTED unless pc is made
 * of levels or colours. */
tess_status tess_cuda_factors_create(tess_cuda *cuda, const tess_pc *pc, cu_stream stream,
                                     tess_cuda_factors **out);
/* The same with other tile sizes and launches than tess_triangle_guess gives, for tests and
 * measurements. */
tess_status tess_cuda_factors_create_tuned(tess_cuda *cuda, const tess_pc *pc,
                                           const tess_triangle_tuning *tuning, cu_stream stream,
                                           tess_cuda_factors **out);

/* Copies the new values after tess_pc_update_values. Addresses stay, and so captured graphs stay
 * valid. */
tess_status tess_cuda_factors_update(tess_cuda_factors *factors, cu_stream stream);

/* z = M^-1 r, or M^-T r if pc's options.transpose asked for it. r and z have the matrix's rows, are
 * of the vectors' type, and may be the same. The call neither allocates nor waits, so it can be
 * captured. Applications share scratch memory: they must follow each other in one stream. */
tess_status tess_cuda_factors_apply(tess_cuda_factors *factors, bool transpose, cu_pointer r,
                                    cu_pointer z, cu_stream stream);

void tess_cuda_factors_destroy(tess_cuda_factors *factors); /* NULL is fine */

/* Launches of one application, for bench/solve/factors.c. */
int64_t tess_cuda_factors_launches(const tess_cuda_factors *factors);
