/* Finds the blocks that couple strongly, and makes A without the weak ones. */
#include "solve/pc/amg/amg.h"
#include "solve/pc/block_numbers.h"

typedef struct measuring {
    const tess_matrix *A;
    double threshold;
    double *scale;   /* 1 / sqrt(|A_ii|) of every row, 0 where the diagonal block is 0 or missing */
    double *largest; /* of every row: |A_ij| times the row's scale */
    float *strength; /* of every block */
    int64_t missing, weak; /* diagonal blocks, other blocks */
} measuring;

static void scale_rows(void *arg, tess_range range)
{
    measuring *job = arg;
    const tess_matrix *A = job->A;
    const int64_t size = (int64_t)A->block_height * A->block_width;
    int64_t missing = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t k = tess_matrix_find(A, i, i);
        const double norm = k < 0 ? 0 : block_norm((const double *)A->values + k * size, size);
        missing += k < 0;
        job->scale[i] = norm > 0 && isfinite(norm) ? 1 / sqrt(norm) : 0;
    }
    tess_take(&job->missing, missing);
}

/* Returns |A_ij| times the scale of row i, from the strength and row j's scale. */
static double beside(float strength, double scale)
{
    return strength > 0 ? (double)strength / scale : 0;
}

/* Computes the scaled norms of blocks off the diagonal, and the largest norm of each row. */
static void measure_rows(void *arg, tess_range range)
{
    const measuring *job = arg;
    const tess_matrix *A = job->A;
    const double *scale = job->scale;
    float *strength = job->strength;
    const int64_t size = (int64_t)A->block_height * A->block_width;
    for (int64_t i = range.first; i < range.last; i++) {
        double most = 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k];
            const double norm = j == i ? 0
                                       : scale[i] * scale[j] *
                                             block_norm((const double *)A->values + k * size, size);
            strength[k] = isfinite(norm) ? (float)norm : 0;
            most = fmax(most, beside(strength[k], scale[j]));
        }
        job->largest[i] = most;
    }
}

static void drop_weak(void *arg, tess_range range)
{
    measuring *job = arg;
    const tess_matrix *A = job->A;
    const double *largest = job->largest, *scale = job->scale;
    float *strength = job->strength;
    int64_t weak = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k];
            if (j == i)
                continue;
            const bool own = beside(strength[k], scale[j]) >= job->threshold * largest[i];
            const bool other = beside(strength[k], scale[i]) >= job->threshold * largest[j];
            strength[k] = !own ? 0 : other ? strength[k] : -strength[k];
            weak += !(strength[k] > 0);
        }
    }
    tess_take(&job->weak, weak);
}

tess_status tess_amg_strength(tess_ctx *ctx, double threshold, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    measuring job = {.A = A, .threshold = threshold};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &job.scale));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &job.largest));
    if (!level->strength)
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks, &level->strength));
    job.strength = level->strength;
    tess_for(ctx, A->block_rows, scale_rows, &job);
    tess_for(ctx, A->block_rows, measure_rows, &job);
    tess_for(ctx, A->block_rows, drop_weak, &job);
    level->all_strong = job.missing == 0 && job.weak == 0;
cleanup:
    TESS_FREE(ctx, job.scale, job.largest);
    return status;
}

/* ---- A without weak blocks ---- */

static bool is_kept(const tess_amg_level *level, int64_t row, int64_t k)
{
    return level->A->columns[k] == row || level->strength[k] > 0;
}

static void count_kept(void *arg, tess_range range)
{
    const tess_amg_level *level = arg;
    const tess_matrix *A = level->A;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t count = tess_matrix_find(A, i, i) < 0;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            count += is_kept(level, i, k);
        level->filtered->row_offsets[i + 1] = count;
    }
}

static void list_kept(void *arg, tess_range range)
{
    const tess_amg_level *level = arg;
    const tess_matrix *A = level->A;
    tess_matrix *F = level->filtered;
    for (int64_t i = range.first; i < range.last; i++) {
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
}

/* The filtered matrix has all diagonal blocks, whether A stores them or not. */
tess_status tess_amg_filter(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    tess_matrix *F;
    TESS_TRY(
        tess_matrix_head(ctx, TESS_F64, A->rows, A->cols, A->block_height, A->block_width, 0, &F));
    level->filtered = F;
    TESS_TRY(TESS_CALLOC(ctx, A->block_rows + 1, &F->row_offsets));
    tess_for(ctx, A->block_rows, count_kept, level);
    tess_counts_to_offsets(F->row_offsets, F->block_rows);
    TESS_TRY(tess_matrix_allocate_blocks(F, F->row_offsets[F->block_rows]));
    tess_for(ctx, A->block_rows, list_kept, level);
    return TESS_OK;
}

/* What a weak entry is multiplied by before it is added to the diagonal of its row. A scalar's
 * first mode keeps the product with its row: a_ij m_j = (a_ij m_j / m_i) m_i. Blocks are added as
 * they are. */
static double weight(const tess_amg_level *level, int64_t row, int64_t column)
{
    static const double most = 16; /* a mode that is almost 0 must not spoil the diagonal */
    if (level->A->block_height != 1 || !level->modes)
        return 1;
    const double ratio = level->modes[column] / level->modes[row];
    return fabs(ratio) <= most && fabs(ratio) >= 1 / most ? ratio : 1;
}

/* Copies strong blocks, and adds weak ones to the diagonal block of their row. */
static void filter_values(void *arg, tess_range range)
{
    const tess_amg_level *level = arg;
    const tess_matrix *A = level->A;
    tess_matrix *F = level->filtered;
    const int64_t size = (int64_t)A->block_height * A->block_width;
    const double *from = A->values;
    for (int64_t i = range.first; i < range.last; i++) {
        double *diagonal = (double *)F->values + tess_matrix_find(F, i, i) * size;
        memset(diagonal, 0, (size_t)size * sizeof *diagonal);
        int64_t at = F->row_offsets[i];
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            if (A->columns[k] == i || !is_kept(level, i, k)) {
                const double factor = weight(level, i, A->columns[k]);
                for (int64_t p = 0; p < size; p++)
                    diagonal[p] += factor * from[k * size + p];
                continue;
            }
            if (F->columns[at] == i)
                at++;
            memcpy((double *)F->values + at++ * size, from + k * size, (size_t)size * sizeof *from);
        }
    }
}

void tess_amg_filter_values(tess_ctx *ctx, tess_amg_level *level)
{
    tess_for(ctx, level->A->block_rows, filter_values, level);
}
