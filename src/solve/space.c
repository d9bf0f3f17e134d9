/* Opening a space on the device of a plan. */
#include "solve/space.h"

tess_status tess_space_open(tess_plan *plan, const tess_pc *pc, int vectors, int slots, int systems,
                            tess_space *space)
{
    const tess_matrix *A = plan->matrix;
    if (plan->device->threads < 1)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "device '%s' has no solvers yet",
                         plan->device->backend->name);
    tess_space opened = {
        .ctx = plan->ctx,
        .plan = plan,
        .ops = &tess_space_cpu,
        .pc = pc,
        .type = A->type,
        .rows = A->rows,
        /* Whole blocks; an odd number of pairs of cache lines, lest all vectors meet in one set. */
        .stride = (tess_ceil_div(A->block_rows * A->block_height, 16) | 1) * 16,
        .block = A->block_height,
        .vectors = vectors,
        .slots = slots,
        .systems = systems,
    };
    TESS_TRY(opened.ops->open(&opened));
    *space = opened;
    return TESS_OK;
}

void tess_space_close(tess_space *space)
{
    if (space->ops)
        space->ops->close(space);
    space->ops = NULL;
}
