/* Products of one of several parts, outside a solver. Vectors are in the device's memory, or are
 * copied there: the halo goes from device to device either way. */
#include "cuda/solve/part_product.h"

#include "cuda/solve/halo.h"

/* What the plan exchanges through, with room for k vectors. Collective. */
static tess_status need_halo(tess_part_plan *p, int k, tess_cuda_halo **out)
{
    tess_cuda_halo *h = p->exchange;
    if (!h || h->vectors < k) {
        tess_cuda_halo_close(h);
        p->exchange = NULL;
        TESS_TRY(tess_cuda_halo_open(p, k, &h));
        p->exchange = h;
    }
    *out = h;
    return TESS_OK;
}

static tess_status multiply(tess_part_plan *p, const tess_part_product *m)
{
    tess_cuda_plan *own = tess_cuda_plan_of(p->own);
    const bool row_major = m->order == TESS_ORDER_ROW_MAJOR;
    tess_cuda_call call = {.beta = m->beta, .ldx = m->ldx, .ldy = m->ldy};
    tess_cuda_return back;
    tess_cuda_halo *halo;
    TESS_TRY(need_halo(p, m->k, &halo));
    TESS_TRY(tess_cuda_bring_vectors(own, m->k, row_major, m->X, m->Y, &call, &back));
    TESS_TRY(tess_cuda_halo_multiply(halo, &(tess_cuda_halo_call){.transpose = m->transpose,
                                                                  .vectors = m->k,
                                                                  .order = m->order,
                                                                  .alpha = m->alpha,
                                                                  .beta = m->beta,
                                                                  .x = call.x,
                                                                  .y = call.y,
                                                                  .ldx = m->ldx,
                                                                  .ldy = m->ldy}));
    return tess_cuda_return_vectors(own, &back);
}

tess_status tess_cuda_part_multiply(tess_plan *plan, const tess_part_product *product)
{
    tess_part_plan *p = plan->state;
    const tess_cuda *cuda = tess_cuda_plan_of(p->own)->cuda;
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(cuda, multiply(p, product));
}

void tess_cuda_part_release(tess_plan *plan)
{
    tess_part_plan *p = plan->state;
    if (!p->exchange)
        return;
    const tess_cuda *cuda = tess_cuda_plan_of(p->own)->cuda;
    const bool entered = tess_cuda_enter(cuda) == TESS_OK;
    tess_cuda_halo_close(p->exchange);
    p->exchange = NULL;
    if (entered)
        tess_cuda_leave(cuda);
}
