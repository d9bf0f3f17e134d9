/* The restriction R = P', whose blocks are those of P transposed, in another order; and the dead
 * rows of the coarse matrix. */
#include "solve/pc/amg/amg.h"

tess_status tess_amg_restrict(tess_ctx *ctx, tess_amg_level *level)
{
    TESS_TRY(TESS_ALLOC(ctx, level->P->blocks, &level->R_from));
    return tess_matrix_transpose_pattern(ctx, level->P, level->R_from, &level->R);
}

static void turn_blocks(void *arg, tess_range range)
{
    const tess_amg_level *level = arg;
    const int32_t b = level->P->block_height, k = level->P->block_width;
    const int64_t size = (int64_t)b * k;
    const double *scalars = level->P->values;
    for (int64_t at = range.first; size == 1 && at < range.last; at++)
        ((double *)level->R->values)[at] = scalars[level->R_from[at]];
    for (int64_t at = range.first; size > 1 && at < range.last; at++) {
        const double *from = (const double *)level->P->values + level->R_from[at] * size;
        double *to = (double *)level->R->values + at * size;
        for (int32_t i = 0; i < b; i++)
            for (int32_t j = 0; j < k; j++)
                to[i * k + j] = from[j * b + i];
    }
}

void tess_amg_restrict_values(tess_ctx *ctx, tess_amg_level *level)
{
    tess_for(ctx, level->R->blocks, turn_blocks, level);
}

/* Gives the dead coarse rows of group g a diagonal. */
static void revive(void *matrix, const void *of, int64_t g)
{
    const tess_amg_level *level = of;
    const tess_matrix *coarse = matrix;
    const int32_t k = coarse->block_height;
    const int64_t at = tess_matrix_find(coarse, g, g);
    double *values = coarse->values, most = 0;
    if (at < 0)
        return;
    for (int32_t j = 0; j < k; j++)
        most = fmax(most, fabs(values[(at * k + j) * k + j]));
    for (int32_t j = 0; j < k; j++)
        if (level->dead[g * k + j])
            values[(at * k + j) * k + j] = most > 0 ? most : 1;
}

void tess_amg_revive(tess_ctx *ctx, const tess_amg_level *level, tess_matrix *coarse)
{
    tess_for_each(ctx, coarse->block_rows, 0, revive, coarse, level);
}
