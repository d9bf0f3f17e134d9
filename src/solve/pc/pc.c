/* Preconditioners by name, and what all of them share. */
#include "solve/pc/pc.h"

const tess_pc_ops *const tess_pcs[] = {
#define PC(name, file) &tess_pc_##name,
#include "solve/pc/pcs.def"
    NULL,
};

const char *const tess_pc_names[] = {
#define PC(name, file) #name,
#include "solve/pc/pcs.def"
    NULL,
};

const char *const tess_pc_schedule_names[TESS_PC_SCHEDULES + 1] = {"auto", "domains", "levels",
                                                                   "colours", NULL};

/* Whether the preconditioner can be made of the plan's blocks on its device. */
static tess_status check_traits(const tess_plan *plan, const tess_pc_options *options)
{
    const tess_pc_ops *ops = options->ops;
    const int height = (int)plan->matrix->block_height, width = (int)plan->matrix->block_width;
    if (ops->square_blocks && height != width)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s needs square blocks, but these are %d x %d", ops->name, height,
                         width);
    if (ops->largest_block > 0 && height > ops->largest_block)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s takes blocks of at most %d x %d, not %d x %d", ops->name,
                         (int)ops->largest_block, (int)ops->largest_block, height, width);
    if (ops->triangular && options->schedule == TESS_PC_DOMAINS && plan->device->threads < 1)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s: schedule=domains is for processors; a GPU takes levels or colours",
                         ops->name);
    if (ops->ordered && (options->schedule == TESS_PC_COLOURS || options->domains > 1))
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s keeps the order of the rows: schedule=levels, or domains=1",
                         ops->name);
    return TESS_OK;
}

tess_matrix tess_plan_present(const tess_plan *plan)
{
    tess_matrix A = *plan->matrix;
    A.values = (void *)(uintptr_t)plan->values;
    return A;
}

/* `compute` is set_up or update; NULL of an identity. */
static tess_status with_host_values(tess_plan *plan, tess_pc *pc,
                                    tess_status (*compute)(tess_plan *, tess_pc *))
{
    if (!compute)
        return TESS_OK;
    if (plan->device->backend->host_values)
        TESS_TRY(plan->device->backend->host_values(plan));
    return compute(plan, pc);
}

tess_status tess_pc_set_up(tess_plan *plan, const tess_pc_options *options, tess_pc *pc)
{
    const tess_matrix *A = plan->matrix;
    const bool host = plan->device->threads > 0;
    TESS_TRY(check_traits(plan, options));
    *pc = (tess_pc){
        .ctx = plan->ctx,
        .ops = options->ops,
        .options = *options,
        .vector_type = A->type,
        .type = options->single ? TESS_F32 : A->type,
        .threads = host ? plan->device->threads : plan->ctx->threads,
    };
    if (options->schedule == TESS_PC_AUTO)
        pc->options.schedule = host               ? TESS_PC_DOMAINS
                               : pc->ops->ordered ? TESS_PC_LEVELS
                                                  : TESS_PC_COLOURS;
    if (pc->ops->ordered)
        pc->options.domains = 1;
    const tess_status status = with_host_values(plan, pc, pc->ops->set_up);
    if (status != TESS_OK)
        tess_pc_tear_down(pc);
    return status;
}

tess_status tess_pc_update_values(tess_plan *plan, tess_pc *pc)
{
    return with_host_values(plan, pc, pc->ops->update);
}

void tess_pc_tear_down(tess_pc *pc)
{
    if (pc->state)
        pc->ops->free(pc);
    pc->state = NULL;
}

static int append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    if (pc->ops->identity)
        return r;
    pc->ops->append(pc, steps, r, z, transpose);
    return z;
}

int tess_pc_append(const tess_pc *pc, tess_steps *steps, int r, int z)
{
    return append(pc, steps, r, z, false);
}

int tess_pc_append_transpose(const tess_pc *pc, tess_steps *steps, int r, int z)
{
    return append(pc, steps, r, z, true);
}

void tess_pc_append_step(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    tess_step_precondition(steps, pc, r, z, transpose);
}
