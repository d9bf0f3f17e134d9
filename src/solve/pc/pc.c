/* Preconditioners by name: which is computed how. */
#include "solve/pc/staged.h"

const char *const tess_pc_names[TESS_PCS + 1] = {"none", "jacobi", "bjacobi", "ssor",
                                                 "ilu0", "ic0",    NULL};
const char *const tess_pc_schedule_names[TESS_PC_SCHEDULES + 1] = {"auto", "domains", "levels",
                                                                   "colours", NULL};

tess_status tess_pc_create(tess_plan *plan, const tess_pc_options *options, tess_pc *pc)
{
    const tess_matrix *A = plan->matrix;
    if (options->kind >= TESS_PC_BJACOBI && A->block_height != A->block_width)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s needs square blocks, but these are %d x %d",
                         tess_pc_names[options->kind], (int)A->block_height, (int)A->block_width);
    if (options->kind >= TESS_PC_SSOR && A->block_height > TESS_PC_BLOCK_MAX)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s takes blocks of at most %d x %d, not %d x %d",
                         tess_pc_names[options->kind], TESS_PC_BLOCK_MAX, TESS_PC_BLOCK_MAX,
                         (int)A->block_height, (int)A->block_width);
    const bool host = plan->device->threads > 0;
    if (options->kind >= TESS_PC_SSOR && options->schedule == TESS_PC_DOMAINS && !host)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s: schedule=domains is for processors; a GPU takes levels or colours",
                         tess_pc_names[options->kind]);
    *pc = (tess_pc){
        .ctx = plan->ctx,
        .options = *options,
        .vector_type = A->type,
        .type = options->single ? TESS_F32 : A->type,
        .threads = host ? plan->device->threads : plan->ctx->threads,
        .elementwise = options->kind == TESS_PC_JACOBI || options->kind == TESS_PC_BJACOBI,
    };
    if (options->schedule == TESS_PC_AUTO)
        pc->options.schedule = host ? TESS_PC_DOMAINS : TESS_PC_COLOURS;
    tess_status status = tess_pc_refresh(plan, pc);
    if (status != TESS_OK)
        tess_pc_destroy(pc);
    return status;
}

tess_status tess_pc_refresh(tess_plan *plan, tess_pc *pc)
{
    if (pc->options.kind == TESS_PC_NONE)
        return TESS_OK;
    if (plan->device->backend->host_values)
        TESS_TRY(plan->device->backend->host_values(plan));
    return pc->elementwise ? tess_pc_diagonal_compute(plan, pc) : tess_factors_compute(plan, pc);
}

void tess_pc_destroy(tess_pc *pc)
{
    tess_free(pc->ctx, pc->diagonal.blocks);
    pc->diagonal.blocks = NULL;
    tess_factors_destroy(pc->ctx, pc->factors);
    pc->factors = NULL;
    tess_staged_destroy(pc->staged);
    pc->staged = NULL;
}

void tess_pc_apply(const tess_pc *pc, bool transpose, const void *r, void *z)
{
    if (pc->staged)
        tess_staged_apply(pc->staged, transpose, r, z);
    else
        tess_factors_apply(pc, transpose, r, z);
}
