/* The restriction R = P', whose blocks are those of P transposed, in another order; and the dead
 * rows of the coarse matrix. */
#include <float.h>

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

/* Returns the sum of |A_ii| q_i^2 for mode j of group g, which is what cancels in a coarse row of
 * rounding errors. */
static double size_of_mode(const tess_amg_level *level, int64_t g, int32_t j)
{
    const tess_matrix *A = level->A, *Q = level->tentative;
    const int64_t b = A->block_height, k = Q->block_width;
    double size = 0;
    for (int64_t m = level->aggregates.offsets[g]; m < level->aggregates.offsets[g + 1]; m++) {
        const int64_t row = level->aggregates.members[m], at = tess_matrix_find(A, row, row);
        const double *q = (const double *)Q->values + Q->row_offsets[row] * b * k + j * b;
        for (int64_t i = 0; at >= 0 && i < b; i++)
            size += fabs(((const double *)A->values)[(at * b + i) * b + i]) * q[i] * q[i];
    }
    return size;
}

/* Returns whether row j of a block (k x k) is made of rounding errors of numbers of this size. */
static bool is_rounding(const double *block, int32_t k, int32_t j, double size)
{
    double largest = 0;
    for (int32_t column = 0; column < k; column++)
        largest = fmax(largest, fabs(block[column * k + j]));
    return largest <= 64 * DBL_EPSILON * size;
}

/* Gives coarse rows of group g that are 0 but for rounding a diagonal: those of dead modes, and
 * those of modes that A maps to 0 where no other group couples to this one. */
static void revive(void *matrix, const void *of, int64_t g)
{
    const tess_amg_level *level = of;
    const tess_matrix *coarse = matrix;
    const int32_t k = coarse->block_height;
    const int64_t at = tess_matrix_find(coarse, g, g);
    const bool alone = coarse->row_offsets[g + 1] - coarse->row_offsets[g] == 1;
    if (at < 0)
        return;
    double *block = (double *)coarse->values + at * k * k, most = 0, size = 0;
    bool gone[TESS_AMG_MODES];
    for (int32_t j = 0; j < k; j++) {
        const double own = alone ? size_of_mode(level, g, j) : 0;
        gone[j] = level->dead[g * k + j] || (alone && is_rounding(block, k, j, own));
        most = gone[j] ? most : fmax(most, fabs(block[j * k + j]));
        size = fmax(size, own);
    }
    for (int32_t j = 0; j < k; j++)
        if (gone[j])
            block[j * k + j] = most > 0 ? most : size > 0 ? size : 1;
}

void tess_amg_revive(tess_ctx *ctx, const tess_amg_level *level, tess_matrix *coarse)
{
    tess_for_each(ctx, coarse->block_rows, 0, revive, coarse, level);
}
