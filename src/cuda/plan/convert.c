/* Copies vectors in device memory with a factor and from one precision to another: for refinement,
 * and for products of a caller's operator with alpha and beta. */
#include "cuda/kernels/support.h"
#include "cuda/plan/plan.h"

enum { THREADS = 256 };

tess_status tess_cuda_convert(const tess_cuda_plan *plan, int64_t count, double scale,
                              const void *from, tess_type from_type, bool add, void *to,
                              tess_type to_type)
{
    tess_cuda *cuda = plan->cuda;
    char defines[80];
    cu_function function;
    tess_cuda_launch launch;
    snprintf(defines, sizeof defines, "-DFROM=%zu -DTO=%zu -DADD=%d -DTHREADS=%d",
             tess_type_size(from_type), tess_type_size(to_type), add, THREADS);
    TESS_TRY(tess_cuda_helper(cuda, "convert.cu", defines, "convert", &function));
    tess_cuda_launch_start(&launch, "convert", tess_ceil_div(count, THREADS), THREADS);
    TESS_CUDA_POINTERS(&launch, tess_cuda_address(from), tess_cuda_address(to));
    TESS_CUDA_INTEGERS(&launch, count);
    TESS_CUDA_NUMBERS(&launch, scale);
    return tess_cuda_launch_one(cuda, function, &launch, plan->stream);
}

tess_status tess_cuda_memory_convert(tess_plan *plan, int64_t count, double scale, const void *from,
                                     tess_type from_type, bool add, void *to, tess_type to_type)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(plan);
    if (count == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(
        p->cuda, tess_cuda_convert(p, count, scale, from, from_type, add, to, to_type));
}
