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

void tess_amg_revive(const tess_amg_level *level, tess_matrix *coarse)
{
    const int32_t k = coarse->block_height;
    double *values = coarse->values;
    for (int64_t g = 0; g < coarse->block_rows; g++) {
        const int64_t at = tess_matrix_find(coarse, g, g);
        double most = 0;
        if (at < 0)
            continue;
        for (int32_t j = 0; j < k; j++)
            most = fmax(most, fabs(values[(at * k + j) * k + j]));
        for (int32_t j = 0; j < k; j++)
            if (level->dead[g * k + j])
                values[(at * k + j) * k + j] = most > 0 ? most : 1;
    }
}
