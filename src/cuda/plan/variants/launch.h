/* Launches handed to the driver. Nothing here allocates or waits. */
#pragma once

#include "cuda/plan/variants/variant.h"

/* Fails where a launch has more threads, thread blocks or shared memory than the device allows. */
tess_status tess_cuda_launch_check(const tess_cuda *cuda, const tess_cuda_launch *launch);
tess_status tess_cuda_launch_one(tess_cuda *cuda, cu_function function, tess_cuda_launch *launch,
                                 cu_stream stream);
/* Whether the whole grid can be one cluster on this device. The call sets the function to allow
 * clusters of more than the 8 thread blocks that every device with clusters takes. */
bool tess_cuda_cluster_fits(tess_cuda *cuda, cu_function function, const tess_cuda_launch *launch);

/* Launches the variant in `stream`; call->arrays and call->workspace are filled in here. */
tess_status tess_cuda_run(tess_cuda *cuda, const tess_cuda_variant *variant, tess_cuda_call *call,
                          cu_stream stream);

/* As tess_cuda_run, in a solver's iteration. The launch before it in the stream is the solver's
 * own, so the product may start while that launch ends. */
tess_status tess_cuda_run_early(tess_cuda *cuda, const tess_cuda_variant *variant,
                                tess_cuda_call *call, cu_stream stream);

/* As tess_cuda_run_early, for a product with a dot product whose partial sums the caller adds up.
 * Where *partial has count 0, there are none, and the dot product is complete. */
typedef struct tess_cuda_partial_sums {
    cu_pointer sums;
    int64_t count;
} tess_cuda_partial_sums;
tess_status tess_cuda_run_partial_sums(tess_cuda *cuda, const tess_cuda_variant *variant,
                                       tess_cuda_call *call, cu_stream stream,
                                       tess_cuda_partial_sums *partial);
