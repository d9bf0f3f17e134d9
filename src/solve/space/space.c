/* Opening a space on the device of a plan. */
#include "solve/space/space.h"

tess_status tess_space_open(tess_plan *plan, const tess_pc *pc, int vectors, int slots, int systems,
                            tess_space *space)
{
    const tess_matrix *A = plan->matrix;
    const tess_space_ops *ops = plan->device->backend->space;
    if (!ops && plan->device->threads < 1)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "device '%s' has no solvers",
                         plan->device->backend->name);
    tess_space opened = {
        .ctx = plan->ctx,
        .plan = plan,
        .ops = ops ? ops : &tess_space_cpu,
        .pc = pc,
        .type = A->type,
        .rows = A->rows,
        /* Whole blocks; an odd number of pairs of cache lines, lest all vectors meet in one set. */
        .stride = (tess_ceil_div(A->block_rows * A->block_height, 16) | 1) * 16,
        .block = A->block_height,
        .vectors = vectors,
        .slots = slots,
        .systems = systems,
        .stretch = 1,
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

double tess_space_step_bytes(const tess_space *space, const tess_step *step, int count)
{
    const double length = (double)space->rows * (double)tess_type_size(space->type);
    switch (step->kind) {
    case TESS_STEP_PASS:
        return count * step->vectors * length;
    case TESS_STEP_APPLY:
        return (space->plan->moves > 0 ? space->plan->moves
                                       : tess_matrix_spmv_bytes(space->plan->matrix)) +
               2 * (count - 1) * length;
    case TESS_STEP_PRECONDITION:
        return count * (step->pc->ops->bytes(step->pc) + 2 * length);
    case TESS_STEP_SCALAR:
        break;
    }
    return 0;
}

void tess_space_account(tess_space *space, const tess_step *step, int count, double seconds)
{
    space->bytes += tess_space_step_bytes(space, step, count);
    switch (step->kind) {
    case TESS_STEP_PASS:
        space->seconds[TESS_TIME_PC] += seconds * step->diagonal_share;
        space->seconds[TESS_TIME_DOTS] += seconds * step->dot_share;
        space->seconds[TESS_TIME_VECTORS] += seconds * (1 - step->diagonal_share - step->dot_share);
        break;
    case TESS_STEP_APPLY:
        space->seconds[TESS_TIME_SPMV] += seconds;
        break;
    case TESS_STEP_PRECONDITION:
        space->seconds[TESS_TIME_PC] += seconds;
        break;
    case TESS_STEP_SCALAR:
        space->seconds[TESS_TIME_VECTORS] += seconds;
        break;
    }
}
