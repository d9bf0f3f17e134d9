/* "cuda" as a device. */
#include "cuda/space_cuda.h"

const tess_backend tess_cuda_backend = {
    .name = "cuda",
    .open = tess_cuda_open,
    .close = tess_cuda_close,
    .prepare = tess_cuda_prepare,
    .release = tess_cuda_release,
    .settle = tess_cuda_settle,
    .spmv = tess_cuda_spmv,
    .spmv_transpose = tess_cuda_spmv_transpose,
    .spmv_dot = tess_cuda_spmv_dot,
    .spmm = tess_cuda_spmm,
    .update_values = tess_cuda_update_values,
    .explain = tess_cuda_explain,
    .candidates = tess_cuda_candidates,
    .costs = tess_cuda_costs,
    .read_ceiling = tess_cuda_read_ceiling,
    .time_product = tess_cuda_time_product,
    .set_stream = tess_cuda_set_stream,
    .space = &tess_cuda_space_ops,
    .host_values = tess_cuda_host_values,
    .memory_alloc = tess_cuda_memory_alloc,
    .memory_free = tess_cuda_memory_free,
    .memory_copy_to = tess_cuda_memory_copy_to,
    .memory_copy_from = tess_cuda_memory_copy_from,
    .synchronize = tess_cuda_synchronize,
};
