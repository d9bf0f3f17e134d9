/* Which blocks couple strongly, and A without the others. */
#include "solve/pc/amg/amg.h"

#include <math.h>
#include <string.h>

static double block_norm(const double *block, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += block[i] * block[i];
    return sqrt(sum);
}

/* 1 / sqrt(|A_ii|) of every row, 0 where the diagonal block is 0 or missing. */
static void scale_rows(tess_ctx *ctx, const tess_matrix *A, double *scale, bool *diagonal_stored)
{
    const int64_t size = (int64_t)A->block_height * A->block_width;
    int64_t missing = 0;
#pragma omp parallel for schedule(static) reduction(+ : missing) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t k = tess_matrix_find(A, i, i);
        const double norm = k < 0 ? 0 : block_norm((const double *)A->values + k * size, size);
        missing += k < 0;
        scale[i] = norm > 0 && isfinite(norm) ? 1 / sqrt(norm) : 0;
    }
    *diagonal_stored = missing == 0;
}

/* Norms of the blocks off the diagonal, scaled, and the largest of each row. */
static void measure_rows(tess_ctx *ctx, const tess_matrix *A, const double *scale, float *strength,
                         float *largest)
{
    const int64_t size = (int64_t)A->block_height * A->block_width;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        float most = 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k];
            const double norm = j == i ? 0
                                       : scale[i] * scale[j] *
                                             block_norm((const double *)A->values + k * size, size);
            strength[k] = isfinite(norm) ? (float)norm : 0;
            most = strength[k] > most ? strength[k] : most;
        }
        largest[i] = most;
    }
}

tess_status tess_amg_strength(tess_ctx *ctx, double threshold, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    double *scale = NULL;
    float *largest = NULL;
    int64_t weak = 0;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &scale));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &largest));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks, &level->strength));
    float *strength = level->strength;
    scale_rows(ctx, A, scale, &level->all_strong);
    measure_rows(ctx, A, scale, strength, largest);
#pragma omp parallel for schedule(static) reduction(+ : weak) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k];
            if (j == i)
                continue;
            const float least = largest[i] < largest[j] ? largest[i] : largest[j];
            if ((double)strength[k] < threshold * (double)least)
                strength[k] = 0;
            weak += !(strength[k] > 0);
        }
    }
    level->all_strong &= weak == 0;
cleanup:
    tess_free(ctx, scale);
    tess_free(ctx, largest);
    return status;
}

/* ---- A without weak blocks ---- */

static bool is_kept(const tess_amg_level *level, int64_t row, int64_t k)
{
    return level->A->columns[k] == row || level->strength[k] > 0;
}

/* The diagonal is always there, stored in A or not. */
tess_status tess_amg_filter(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    tess_matrix *F;
    TESS_TRY(
        tess_matrix_head(ctx, TESS_F64, A->rows, A->cols, A->block_height, A->block_width, 0, &F));
    level->filtered = F;
    TESS_TRY(TESS_CALLOC(ctx, A->block_rows + 1, &F->row_offsets));
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t count = tess_matrix_find(A, i, i) < 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            count += is_kept(level, i, k);
        F->row_offsets[i + 1] = count;
    }
    tess_counts_to_offsets(F->row_offsets, F->block_rows);
    TESS_TRY(tess_matrix_allocate_blocks(F, F->row_offsets[F->block_rows]));
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t at = F->row_offsets[i];
        bool diagonal = tess_matrix_find(A, i, i) >= 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            if (!diagonal && A->columns[k] > i) {
                F->columns[at++] = (int32_t)i;
                diagonal = true;
            }
            if (is_kept(level, i, k))
                F->columns[at++] = A->columns[k];
        }
        if (!diagonal)
            F->columns[at] = (int32_t)i;
    }
    return TESS_OK;
}

void tess_amg_filter_values(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    tess_matrix *F = level->filtered;
    const int64_t size = (int64_t)A->block_height * A->block_width;
    const double *from = A->values;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        double *diagonal = (double *)F->values + tess_matrix_find(F, i, i) * size;
        memset(diagonal, 0, (size_t)size * sizeof *diagonal);
        int64_t at = F->row_offsets[i];
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            if (A->columns[k] == i || !is_kept(level, i, k)) {
                for (int64_t p = 0; p < size; p++)
                    diagonal[p] += from[k * size + p];
                continue;
            }
            if (F->columns[at] == i)
                at++;
            memcpy((double *)F->values + at++ * size, from + k * size, (size_t)size * sizeof *from);
        }
    }
}
