/* Block ILUT: incomplete LU factors whose blocks are kept by their size (fill.h).
 *
 * The first numbers are those of the factorisation that found the pattern. New values are factored
 * by ILU(0) in that pattern, so that devices keep their copies of the pattern.
 */
#include "solve/pc/factors/factors.h"

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    const tess_pc_options *options = &pc->options;
    const tess_fill_options kept = {.drop = options->drop, .most = options->fill};
    tess_matrix A;
    tess_fill fill;
    if (options->given)
        return tess_triangular_set_up_fill(plan, pc, options->given, tess_ilu0_rows);
    TESS_TRY(tess_triangular_take(plan, &A));
    const tess_status status = tess_fill_threshold(pc->ctx, &A, &kept, NULL, &fill);
    tess_triangular_give_back(plan, &A);
    TESS_TRY(status);
    return tess_triangular_set_up_fill(plan, pc, &fill, tess_ilu0_rows);
}

const tess_pc_ops tess_pc_ilut = {
    .name = "ilut",
    .summary = "incomplete LU factors by blocks, which are kept by their size",
    .keys = "schedule,domains,drop,fill,pivot",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .ordered = true,
    .unsymmetric = true,
    .replaces_pivots = true,
    .set_up = set_up,
};
