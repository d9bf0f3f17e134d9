/* The stream of a plan, and its staging buffers for vectors in host memory. */
#include "cuda/plan/plan.h"

tess_status tess_cuda_need_stage(tess_cuda_plan *p, int which, size_t bytes)
{
    static const char *const names[] = {"a copy of x", "a copy of y", "a copy of w", "a product"};
    if (p->stage_bytes[which] >= bytes && p->stage[which])
        return TESS_OK;
    tess_cuda_free(p->cuda, p->stage[which]);
    p->stage[which] = 0;
    p->stage_bytes[which] = 0;
    TESS_TRY(tess_cuda_alloc(p->cuda, bytes, names[which], &p->stage[which]));
    p->stage_bytes[which] = bytes;
    return TESS_OK;
}

tess_status tess_cuda_refuse_capture(tess_cuda_plan *p, const char *message)
{
    int capturing = 0;
    TESS_TRY(TESS_CU(p->cuda, cuStreamIsCapturing(p->stream, &capturing)));
    return capturing ? tess_fail(p->cuda->ctx, TESS_ERR_UNSUPPORTED, "%s", message) : TESS_OK;
}

tess_status tess_cuda_check_aligned(const tess_cuda_plan *p, const char *what, cu_pointer address)
{
    const tess_type type = p->matrix.type;
    const size_t size = tess_type_size(type);
    if (!tess_is_complex(type) || address % size == 0)
        return TESS_OK;
    return tess_fail(p->cuda->ctx, TESS_ERR_ARGUMENT,
                     "%s of %s in device memory must lie at a multiple of %zu bytes: 0x%llx is not "
                     "one",
                     what, tess_type_name(type), size, (unsigned long long)address);
}

tess_status tess_cuda_set_stream(tess_plan *plan, void *stream)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    /* The old stream may still use staging buffers and workspaces. */
    tess_status status = TESS_CU(p->cuda, cuStreamSynchronize(p->stream));
    tess_cuda_leave(p->cuda);
    if (status == TESS_OK)
        p->stream = stream ? stream : p->cuda->stream;
    return status;
}
