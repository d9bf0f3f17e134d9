/* Block ILU(k) and IC(k): ILU(0) and IC(0) of A with fill of at most `levels` levels. */
#include "solve/pc/factors/factors.h"

static tess_status set_up(tess_plan *plan, tess_pc *pc, tess_factor_fn rows)
{
    tess_matrix A;
    tess_fill fill;
    TESS_TRY(tess_triangular_take(plan, &A));
    const tess_status status =
        tess_fill_levels(pc->ctx, &A, pc->options.levels, pc->options.fill, &fill);
    tess_triangular_give_back(plan, &A);
    TESS_TRY(status);
    return tess_triangular_set_up_fill(plan, pc, &fill, rows);
}

static tess_status set_up_iluk(tess_plan *plan, tess_pc *pc)
{
    return set_up(plan, pc, tess_ilu0_rows);
}

static tess_status set_up_ick(tess_plan *plan, tess_pc *pc)
{
    return set_up(plan, pc, tess_ic0_rows);
}

const tess_pc_ops tess_pc_iluk = {
    .name = "iluk",
    .summary = "incomplete LU factors by blocks, with `levels` levels of fill-in",
    .keys = "schedule,domains,levels,fill",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .pivots = TESS_PIVOTS_POSITIVE_IF_ASKED,
    .replaces_pivots = true,
    .set_up = set_up_iluk,
};

const tess_pc_ops tess_pc_ick = {
    .name = "ick",
    .summary = "incomplete Cholesky factors by blocks, with `levels` levels of fill-in",
    .keys = "schedule,domains,levels,fill",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .symmetric = true,
    .pivots = TESS_PIVOTS_POSITIVE,
    .set_up = set_up_ick,
};
