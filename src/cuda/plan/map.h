/* Maps of new values: where each stored scalar of a layout comes from (update.cu).
 *
 * The given scalars are numbered 1, 2, ... in words as wide as a scalar. The layout's own
 * conversion brings these numbers into its order; padding is 0. */
#pragma once

#include "cuda/plan/variants/resident.h"

/* The numbers 1 .. count, in words of `size` bytes. The caller frees them. */
tess_status tess_cuda_number_scalars(tess_ctx *ctx, int64_t count, size_t size, void **out);
int64_t tess_cuda_number_at(const void *numbers, size_t size, int64_t i);
/* The longest runs that the numbers are made of: 4, 2 or 1 columns of `height` scalars. */
tess_cuda_map tess_cuda_runs_of(tess_ctx *ctx, const void *numbers, size_t size, int64_t count,
                                int64_t height);
