/* Plans without a matrix: the caller's operator multiplies vectors in device memory, in the plan's
 * stream. */
#include "cuda/plan/plan.h"

tess_status tess_cuda_prepare_operator(tess_plan *plan, const tess_operator *A)
{
    tess_cuda_plan *p;
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &p));
    p->cuda = tess_cuda_of(plan->device);
    p->stream = p->cuda->stream;
    p->given = plan->matrix;
    p->matrix = *plan->matrix;
    p->caller = *A;
    plan->state = p;
    return TESS_OK;
}

tess_status tess_cuda_call_operator(const tess_cuda_plan *p, const tess_operator *A,
                                    const char *what, bool transpose, cu_pointer x, cu_pointer y)
{
    const tess_status status =
        A->apply(A->user, transpose, (const void *)(uintptr_t)x, (void *)(uintptr_t)y, p->stream);
    return status == TESS_OK ? TESS_OK
                             : tess_fail(p->cuda->ctx, status, "the caller's %s failed: %s%s", what,
                                         tess_status_text(status),
                                         transpose ? " (it was asked for the transpose)" : "");
}

tess_status tess_cuda_multiply_operator(tess_cuda_plan *p, bool transpose,
                                        const tess_cuda_call *call)
{
    const tess_operator *A = &p->caller;
    void *y = (void *)(uintptr_t)call->y;
    if (call->alpha == 1 && call->beta == 0)
        return tess_cuda_call_operator(p, A, "operator", transpose, call->x, call->y);
    TESS_TRY(
        tess_cuda_need_stage(p, TESS_STAGE_PRODUCT, (size_t)A->rows * tess_type_size(A->type)));
    const cu_pointer product = p->stage[TESS_STAGE_PRODUCT];
    TESS_TRY(tess_cuda_call_operator(p, A, "operator", transpose, call->x, product));
    if (call->beta != 0)
        TESS_TRY(tess_cuda_convert(p, A->rows, call->beta, y, A->type, false, y, A->type));
    return tess_cuda_convert(p, A->rows, call->alpha, (const void *)(uintptr_t)product, A->type,
                             call->beta != 0, y, A->type);
}
