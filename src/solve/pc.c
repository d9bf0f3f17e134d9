/* Preconditioners by name: which is computed how. */
#include "solve/pc.h"

const char *const tess_pc_names[TESS_PCS + 1] = {"none", "jacobi", "bjacobi", "ssor",
                                                 "ilu0", "ic0",    NULL};

tess_status tess_pc_create(tess_plan *plan, const tess_pc_options *options, tess_pc *pc)
{
    const tess_matrix *A = plan->matrix;
    if (options->kind >= TESS_PC_BJACOBI && A->block_height != A->block_width)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s needs square blocks, but these are %d x %d",
                         tess_pc_names[options->kind], (int)A->block_height, (int)A->block_width);
    *pc = (tess_pc){
        .ctx = plan->ctx,
        .options = *options,
        .vector_type = A->type,
        .type = options->single ? TESS_F32 : A->type,
        .elementwise = options->kind == TESS_PC_JACOBI || options->kind == TESS_PC_BJACOBI,
    };
    tess_status status = tess_pc_refresh(plan, pc);
    if (status != TESS_OK)
        tess_pc_destroy(pc);
    return status;
}

tess_status tess_pc_refresh(tess_plan *plan, tess_pc *pc)
{
    if (pc->options.kind == TESS_PC_NONE)
        return TESS_OK;
    if (pc->elementwise)
        return tess_pc_diagonal_compute(plan, pc);
    return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "pc=%s is not there yet",
                     tess_pc_names[pc->options.kind]);
}

void tess_pc_destroy(tess_pc *pc)
{
    tess_free(pc->ctx, pc->diagonal.blocks);
    pc->diagonal.blocks = NULL;
}

void tess_pc_apply(const tess_pc *pc, bool transpose, const void *r, void *z)
{
    (void)pc, (void)transpose, (void)r, (void)z;
}
