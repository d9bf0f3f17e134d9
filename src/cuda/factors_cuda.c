/* Triangular factors on the device. */
#include "cuda/factors_cuda.h"

tess_status tess_cuda_factors_create(tess_cuda *cuda, const tess_pc *pc, cu_stream stream,
                                     tess_cuda_factors **out)
{
    (void)stream, (void)out;
    return tess_fail(cuda->ctx, TESS_ERR_UNSUPPORTED, "device '%s' has no pc=%s", cuda->name,
                     tess_pc_names[pc->options.kind]);
}

tess_status tess_cuda_factors_refresh(tess_cuda_factors *factors, cu_stream stream)
{
    (void)factors, (void)stream;
    return TESS_ERR_UNSUPPORTED;
}

tess_status tess_cuda_factors_need_transpose(tess_cuda_factors *factors, cu_stream stream)
{
    (void)factors, (void)stream;
    return TESS_ERR_UNSUPPORTED;
}

tess_status tess_cuda_factors_apply(tess_cuda_factors *factors, bool transpose, cu_pointer r,
                                    cu_pointer z, cu_stream stream)
{
    (void)factors, (void)transpose, (void)r, (void)z, (void)stream;
    return TESS_ERR_UNSUPPORTED;
}

void tess_cuda_factors_destroy(tess_cuda_factors *factors)
{
    (void)factors;
}

double tess_cuda_factors_bytes(const tess_cuda_factors *factors)
{
    (void)factors;
    return 0;
}
