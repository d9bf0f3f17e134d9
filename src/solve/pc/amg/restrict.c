/* The restriction R = P', whose blocks are those of P transposed, in another order; and the dead
 * rows of the coarse matrix. */
#include "solve/pc/amg/amg.h"

static void number_block(void *numbers, const void *none, int64_t i)
{
    (void)none;
    ((double *)numbers)[i] = (double)i;
}

static void take_number(void *to, const void *numbers, int64_t i)
{
    ((int64_t *)to)[i] = (int64_t)((const double *)numbers)[i];
}

/* Transposes the matrix of P's pattern whose entries are the numbers of P's blocks. */
static tess_status transpose_numbers(tess_ctx *ctx, const tess_matrix *P, tess_matrix **out)
{
    double *numbers;
    TESS_TRY(TESS_ALLOC(ctx, P->blocks, &numbers));
    tess_for_each(ctx, P->blocks, 0, number_block, numbers, NULL);
    tess_matrix numbered = *P;
    numbered.rows = P->block_rows;
    numbered.cols = P->block_cols;
    numbered.block_height = numbered.block_width = 1;
    numbered.values = numbers;
    const tess_status status = tess_matrix_transpose(ctx, &numbered, out);
    tess_free(ctx, numbers);
    return status;
}

tess_status tess_amg_restrict(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *P = level->P;
    tess_matrix *turned = NULL;
    tess_status status;
    TESS_TRY_CLEAN(transpose_numbers(ctx, P, &turned));
    TESS_TRY_CLEAN(tess_matrix_allocate(ctx, P->type, P->cols, P->rows, P->block_width,
                                        P->block_height, P->blocks, &level->R));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, P->blocks, &level->R_from));
    memcpy(level->R->row_offsets, turned->row_offsets,
           (size_t)(turned->block_rows + 1) * sizeof *turned->row_offsets);
    memcpy(level->R->columns, turned->columns, (size_t)P->blocks * sizeof *turned->columns);
    tess_for_each(ctx, P->blocks, 0, take_number, level->R_from, turned->values);
cleanup:
    tess_matrix_destroy(turned);
    return status;
}

static void turn_blocks(void *arg, tess_range range)
{
    const tess_amg_level *level = arg;
    const int32_t b = level->P->block_height, k = level->P->block_width;
    const int64_t size = (int64_t)b * k;
    for (int64_t at = range.first; at < range.last; at++) {
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
