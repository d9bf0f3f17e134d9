/* Opening a space on the device of a plan. */
#include "solve/space/space.h"

/* Returns a stride for whole blocks that is an odd multiple of 16 scalars, which are two cache
 * lines of f64. Otherwise all vectors could meet in one set of a cache. */
static int64_t stride_of(int64_t rows, int32_t block)
{
    return (tess_ceil_div(tess_ceil_div(rows, block) * block, 16) | 1) * 16;
}

/* Finds the levels and the places of all vectors. */
static tess_status lay_out(tess_space *space)
{
    const tess_pc_own *own = &space->pc->own;
    const int method_vectors = space->vectors - own->vectors;
    TESS_TRY(TESS_ALLOC(space->ctx, own->levels + 1, &space->level));
    TESS_TRY(TESS_ALLOC(space->ctx, space->vectors, &space->place));
    space->level[0] = (tess_space_level){space->rows, space->stride, space->block, space->type};
    for (int i = 0; i < own->levels; i++) {
        const tess_vector_level *from = &own->level[i];
        space->level[i + 1] = (tess_space_level){from->rows, stride_of(from->rows, from->block),
                                                 from->block, from->type};
    }
    int64_t at = 0;
    for (int v = 0; v < space->vectors; v++) {
        const int level =
            v < method_vectors || !own->vector_level ? 0 : own->vector_level[v - method_vectors];
        int64_t bytes;
        space->place[v] = (tess_vector_place){at, level};
        if (!tess_mul(space->level[level].stride *
                          (int64_t)tess_type_size(space->level[level].type),
                      space->systems, &bytes) ||
            __builtin_add_overflow(at, bytes, &at))
            return tess_fail(space->ctx, TESS_ERR_OVERFLOW, "the vectors do not fit any memory");
    }
    space->data_bytes = at;
    return TESS_OK;
}

static void forget_layout(tess_space *space)
{
    TESS_FREE(space->ctx, space->level, space->place);
    space->level = NULL;
    space->place = NULL;
}

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
        .stride = stride_of(A->rows, A->block_height),
        .block = A->block_height,
        .vectors = vectors,
        .slots = slots,
        .systems = systems,
        .stretch = 1,
    };
    tess_status status = lay_out(&opened);
    if (status == TESS_OK)
        status = opened.ops->open(&opened);
    if (status != TESS_OK) {
        forget_layout(&opened);
        return status;
    }
    *space = opened;
    return TESS_OK;
}

void tess_space_close(tess_space *space)
{
    if (space->ops) {
        space->ops->close(space);
        forget_layout(space);
    }
    space->ops = NULL;
}

double tess_space_step_bytes(const tess_space *space, const tess_step *step, int count)
{
    const tess_space_level *level = &space->level[step->level];
    const double length = (double)level->rows * (double)tess_type_size(level->type);
    switch (step->kind) {
    case TESS_STEP_PASS:
        return count * step->vectors * length;
    case TESS_STEP_APPLY: {
        const tess_matrix *A = step->plan ? step->plan->matrix : space->plan->matrix;
        const double vectors =
            (double)(A->rows + A->cols) * (double)tess_type_size(A->type) * (count - 1);
        const double more = (double)A->rows * (double)tess_type_size(A->type) * count;
        const double once =
            !step->plan && space->plan->moves > 0 ? space->plan->moves : tess_matrix_spmv_bytes(A);
        return once + vectors + (step->plan && step->beta != 0 ? more : 0);
    }
    case TESS_STEP_CONVERT:
        return count * (double)level->rows * (sizeof(double) + sizeof(float));
    case TESS_STEP_PRECONDITION:
        return count * (step->pc->ops->bytes(step->pc) + 2 * length);
    case TESS_STEP_SCALAR:
        break;
    }
    return 0;
}

/* Returns the level whose work a step is. A product between two levels is the finer one's, a
 * conversion is the preconditioner's. */
static int level_of(const tess_space *space, const tess_step *step)
{
    if (step->kind != TESS_STEP_APPLY && step->kind != TESS_STEP_CONVERT)
        return step->level;
    const int x = space->place[step->x].level, y = space->place[step->y].level;
    return (step->kind == TESS_STEP_APPLY) == (x < y) ? x : y;
}

static void divide(const tess_step *step, double amount, double times[TESS_TIMES])
{
    if (step->level > 0 || (step->kind == TESS_STEP_APPLY && step->plan)) {
        times[TESS_TIME_PC] += amount;
        return;
    }
    switch (step->kind) {
    case TESS_STEP_PASS:
        times[TESS_TIME_PC] += amount * step->diagonal_share;
        times[TESS_TIME_DOTS] += amount * step->dot_share;
        times[TESS_TIME_VECTORS] += amount * (1 - step->diagonal_share - step->dot_share);
        break;
    case TESS_STEP_APPLY:
        times[TESS_TIME_SPMV] += amount;
        break;
    case TESS_STEP_CONVERT:
    case TESS_STEP_PRECONDITION:
        times[TESS_TIME_PC] += amount;
        break;
    case TESS_STEP_SCALAR:
        times[TESS_TIME_VECTORS] += amount;
        break;
    }
}

void tess_step_divide(const tess_space *space, const tess_step *step, double amount,
                      double times[TESS_TIMES])
{
    const double before = times[TESS_TIME_PC];
    divide(step, amount, times);
    if (times[TESS_TIME_PC] > before)
        times[tess_min(TESS_TIME_LEVEL + level_of(space, step), TESS_TIMES - 1)] +=
            times[TESS_TIME_PC] - before;
}

void tess_space_account(tess_space *space, const tess_step *step, int count, double seconds)
{
    const double bytes = tess_space_step_bytes(space, step, count);
    space->bytes += bytes;
    tess_step_divide(space, step, bytes, space->moved);
    tess_step_divide(space, step, seconds, space->seconds);
}
