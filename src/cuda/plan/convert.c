/* Vectors from one precision to the other in device memory, for refinement. */
#include <stdio.h>

#include "cuda/kernels/support.h"
#include "cuda/solve/space.h"

enum { THREADS = 256 };

static tess_status need_code(tess_cuda *cuda, size_t from, bool add, size_t to,
                             tess_cuda_code **out)
{
    char defines[80];
    tess_cuda_code *code = &cuda->convert[from == 8][add][to == 8];
    *out = code;
    if (code->module)
        return TESS_OK;
    snprintf(defines, sizeof defines, "-DFROM=%zu -DTO=%zu -DADD=%d -DTHREADS=%d", from, to, add,
             THREADS);
    return tess_cuda_load_function(cuda, "convert.cu", defines, "convert", &code->module,
                                   &code->function);
}

static tess_status convert(const tess_cuda_plan *plan, int64_t count, double scale,
                           const void *from, tess_type from_type, bool add, void *to,
                           tess_type to_type)
{
    tess_cuda *cuda = plan->cuda;
    tess_cuda_code *code;
    tess_cuda_launch launch;
    TESS_TRY(need_code(cuda, tess_type_size(from_type), add, tess_type_size(to_type), &code));
    tess_cuda_launch_start(&launch, "convert", (unsigned)tess_ceil_div(count, THREADS), THREADS);
    tess_cuda_arg_pointer(&launch, tess_cuda_address(from));
    tess_cuda_arg_pointer(&launch, tess_cuda_address(to));
    tess_cuda_arg_integer(&launch, count);
    tess_cuda_arg_number(&launch, scale);
    return tess_cuda_launch_one(cuda, code->function, &launch, plan->stream);
}

tess_status tess_cuda_memory_convert(tess_plan *plan, int64_t count, double scale, const void *from,
                                     tess_type from_type, bool add, void *to, tess_type to_type)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(plan);
    if (count == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_enter(p->cuda));
    tess_status status = convert(p, count, scale, from, from_type, add, to, to_type);
    tess_cuda_leave(p->cuda);
    return status;
}

void tess_cuda_convert_free(tess_cuda *cuda)
{
    for (int i = 0; i < 8; i++) {
        const tess_cuda_code *code = &cuda->convert[i & 1][i >> 1 & 1][i >> 2];
        if (code->module)
            (void)cuda->driver.cuModuleUnload(code->module);
    }
}
