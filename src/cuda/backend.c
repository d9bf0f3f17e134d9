/* "cuda" as a device. */
#include "cuda/solve/amg/coarsen_level.h"
#include "cuda/solve/parts/part_product.h"
#include "cuda/solve/space.h"

/* What all plans on a GPU have, whoever multiplies. */
#define ANY_PLAN                                                                                \
    .name = "cuda", .release = tess_cuda_release, .spmv = tess_cuda_spmv,                       \
    .spmv_transpose = tess_cuda_spmv_transpose, .spmv_dot = tess_cuda_spmv_dot,                 \
    .dot = tess_cuda_dot, .asynchronous = true, .set_stream = tess_cuda_set_stream,             \
    .space = &tess_cuda_space_ops, .memory_alloc = tess_cuda_memory_alloc,                      \
    .memory_free = tess_cuda_memory_free, .memory_copy_to = tess_cuda_memory_copy_to,           \
    .memory_copy_from = tess_cuda_memory_copy_from, .memory_convert = tess_cuda_memory_convert, \
    .memory_permute = tess_cuda_memory_permute, .synchronize = tess_cuda_synchronize,           \
    .owns = tess_cuda_owns

/* Plans whose products are the caller's. */
static const tess_backend operators = {
    ANY_PLAN,
    .prepare_operator = tess_cuda_prepare_operator,
    .matrix_free = true,
};

const tess_backend tess_cuda_backend = {
    ANY_PLAN,
    .kernels = tess_cuda_kernel_hash,
    .open = tess_cuda_open,
    .close = tess_cuda_close,
    .prepare = tess_cuda_prepare,
    .settle = tess_cuda_settle,
    .spmm = tess_cuda_spmm,
    .complex = &tess_cuda_complex_products,
    .fields_open = tess_cuda_fields_open,
    .fields_multiply = tess_cuda_fields_multiply,
    .update_values = tess_cuda_update_values,
    .explain = tess_cuda_explain,
    .candidates = tess_cuda_candidates,
    .costs = tess_cuda_costs,
    .shapes_in_slices = true,
    .solves_at_once = tess_cuda_solves_at_once,
    .prepare_ahead = tess_cuda_prepare_ahead,
    .read_ceiling = tess_cuda_read_ceiling,
    .time_product = tess_cuda_time_product,
    .operators = &operators,
    .host_values = tess_cuda_host_values,
    .part_space = &tess_cuda_space_ops,
    .part_open = tess_cuda_part_open,
    .part_multiply = tess_cuda_part_multiply,
    .part_release = tess_cuda_part_release,
    .multigrid = &tess_cuda_amg_ops,
};
