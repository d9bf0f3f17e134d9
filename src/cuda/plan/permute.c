/* Brings vectors in device memory into another order of their rows (backend/permute.h). */
#include "cuda/kernels/support.h"
#include "cuda/plan/plan.h"

enum { THREADS = 256 };

static tess_status permute(const tess_cuda_plan *p, const tess_permute *pass)
{
    tess_cuda *cuda = p->cuda;
    const int64_t nodes = pass->rows / (pass->fields > 0 ? pass->fields : 1);
    char defines[96];
    cu_function function;
    tess_cuda_launch launch;
    snprintf(defines, sizeof defines, "-DREAL=%zu -DFIELDS=%d -DTO_FIELDS=%d -DADD=%d -DTHREADS=%d",
             tess_type_size(pass->type), (int)pass->fields, pass->fields > 0 && pass->to_fields,
             pass->beta != 0, THREADS);
    TESS_TRY(tess_cuda_helper(cuda, "permute.cu", defines, "permute", &function));
    tess_cuda_launch_start(&launch, "permute", tess_ceil_div(nodes, THREADS), THREADS);
    TESS_CUDA_POINTERS(&launch, tess_cuda_address(pass->source), tess_cuda_address(pass->from),
                       tess_cuda_address(pass->to));
    TESS_CUDA_INTEGERS(&launch, nodes, pass->vectors, pass->from_row, pass->from_vector,
                       pass->to_row, pass->to_vector);
    TESS_CUDA_NUMBERS(&launch, pass->beta);
    return tess_cuda_launch_one(cuda, function, &launch, p->stream);
}

tess_status tess_cuda_memory_permute(tess_plan *plan, const tess_permute *pass)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(plan);
    if (pass->rows == 0 || pass->vectors == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, permute(p, pass));
}
