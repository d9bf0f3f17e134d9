/* Products of one of several parts, outside a solver. Vectors are in the device's memory, or are
 * copied there: what parts exchange goes from device to device either way. */
#include "cuda/solve/parts/part_product.h"

#include "cuda/solve/parts/form.h"

/* The halo that the plan exchanges through, with room for k vectors. Making it is collective.
 * `status` is that of what came before. */
static tess_status need_halo(tess_part_plan *p, int k, tess_status status, tess_cuda_halo **out)
{
    void **kept = &p->exchange[k > 1];
    tess_cuda_halo *h = *kept;
    /* Channels to parts of other processes have a fixed number of vectors. */
    if (!h || h->vectors < k || (h->ranks && h->vectors != k)) {
        TESS_TRY(tess_comm_agree(p->part->ctx, &p->part->comm, status));
        tess_cuda_halo_close(h);
        *kept = NULL;
        TESS_TRY(tess_cuda_halo_open(p, k, &h));
        *kept = h;
    }
    *out = h;
    return TESS_OK;
}

/* `status` is that of what came before. */
static tess_status multiply(tess_part_plan *p, const tess_part_product *m, tess_status status)
{
    tess_cuda_plan *own = tess_cuda_plan_of(p->own);
    const bool row_major = m->order == TESS_ORDER_ROW_MAJOR;
    tess_cuda_call call = {.beta = m->beta, .ldx = m->ldx, .ldy = m->ldy};
    tess_cuda_return back;
    tess_cuda_halo *halo;
    TESS_TRY(need_halo(p, m->k, status, &halo));
    TESS_THEN(tess_cuda_bring_vectors(own, m->k, row_major, m->X, m->Y, &call, &back));
    if (status != TESS_OK)
        return halo->ranks ? tess_cuda_halo_skip(halo, m->transpose, status) : status;
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

tess_status tess_cuda_part_multiply(tess_plan *plan, const tess_part_product *product,
                                    tess_status status)
{
    tess_part_plan *p = plan->state;
    const tess_cuda *cuda = tess_cuda_plan_of(p->own)->cuda;
    const tess_status entered = tess_cuda_enter(cuda);
    status = multiply(p, product, status == TESS_OK ? entered : status);
    if (entered == TESS_OK)
        status = tess_cuda_leave_with(cuda, status);
    /* Parts of other processes fail together, as the forms of the papers do in host memory. */
    return p->form->work && !p->part->same_process && !product->transpose
               ? tess_comm_agree(plan->ctx, &p->part->comm, status)
               : status;
}

tess_status tess_cuda_part_open(tess_plan *plan)
{
    tess_part_plan *p = plan->state;
    const tess_cuda *cuda = tess_cuda_plan_of(p->own)->cuda;
    tess_cuda_halo *halo;
    if (p->part->same_process) /* made when it is first needed */
        return TESS_OK;
    const tess_status entered = tess_cuda_enter(cuda);
    const tess_status status = need_halo(p, 1, entered, &halo);
    return entered == TESS_OK ? tess_cuda_leave_with(cuda, status) : status;
}

void tess_cuda_part_release(tess_plan *plan)
{
    tess_part_plan *p = plan->state;
    if (!p->exchange[0] && !p->exchange[1])
        return;
    const tess_cuda *cuda = tess_cuda_plan_of(p->own)->cuda;
    const bool entered = tess_cuda_enter(cuda) == TESS_OK;
    for (int i = 0; i < 2; i++) {
        tess_cuda_halo_close(p->exchange[i]);
        p->exchange[i] = NULL;
    }
    if (entered)
        tess_cuda_leave(cuda);
}
