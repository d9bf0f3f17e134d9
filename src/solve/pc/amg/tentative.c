/* The tentative prolongator: the modes restricted to each group, and orthonormalised there.
 *
 *     modes on group g (rows x k)  =  Q R      Q: the prolongator's blocks of column g
 *                                              R: the coarse modes of block row g
 *
 * Every column is orthogonalised twice by Gram-Schmidt. A column that depends on the ones before it
 * becomes 0, and its coarse row is dead.
 */
#include "solve/pc/amg/device.h"

/* A column depends on others where orthogonalising leaves less than this share of its norm. */
static const double spanned = 1e-10;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Orthonormalises Q (n x k, column-major) in place. R is k x k, its column j at r + j * stride. */
static void orthonormalise(double *q, int64_t n, int32_t k, double *r, int64_t stride, bool *dead)
{
    for (int32_t j = 0; j < k; j++) {
        double *column = q + j * n;
        const double before = sqrt(dot(column, column, n));
        for (int round = 0; round < 2; round++) {
            for (int32_t l = 0; l < j; l++) {
                const double share = dot(q + l * n, column, n);
                r[j * stride + l] += share;
                for (int64_t i = 0; i < n; i++)
                    column[i] -= share * q[l * n + i];
            }
        }
        const double norm = sqrt(dot(column, column, n));
        dead[j] = !(norm > spanned * before);
        for (int64_t i = 0; i < n; i++)
            column[i] = dead[j] ? 0 : column[i] / norm;
        r[j * stride + j] = dead[j] ? 0 : norm;
    }
}

/* Gathers the modes of group g, orthonormalises them and writes the blocks of its rows. */
static void do_group(const tess_amg_level *level, int32_t k, int64_t g, double *q,
                     double *coarse_modes)
{
    const tess_aggregates *groups = &level->aggregates;
    const int32_t b = level->A->block_height;
    const int64_t first = groups->offsets[g], members = groups->offsets[g + 1] - first;
    const int64_t n = members * b;
    for (int32_t j = 0; j < k; j++)
        for (int64_t i = 0; i < members; i++)
            memcpy(q + j * n + i * b,
                   level->modes + j * level->modes_length + (int64_t)groups->members[first + i] * b,
                   (size_t)b * sizeof *q);
    orthonormalise(q, n, k, coarse_modes + g * k, groups->count * k, level->dead + g * k);
    double *values = level->tentative->values;
    for (int64_t i = 0; i < members; i++) {
        double *block = values + level->tentative->row_offsets[groups->members[first + i]] * b * k;
        for (int32_t j = 0; j < k; j++)
            memcpy(block + j * b, q + j * n + i * b, (size_t)b * sizeof *q);
    }
}

struct do_groups {
    const tess_amg_level *level;
    int32_t modes;
    double *scratch;
    int64_t room;
    double *coarse;
};

static void do_groups(void *arg, tess_range groups)
{
    const struct do_groups *job = arg;
    for (int64_t g = groups.first; g < groups.last; g++)
        do_group(job->level, job->modes, g, job->scratch + groups.share * job->room, job->coarse);
}

static int64_t largest_group(const tess_aggregates *groups)
{
    int64_t most = 0;
    for (int64_t g = 0; g < groups->count; g++)
        most = tess_max(most, groups->offsets[g + 1] - groups->offsets[g]);
    return most;
}

static void count_blocks(void *prolongator, const void *groups, int64_t i)
{
    ((tess_matrix *)prolongator)->row_offsets[i + 1] =
        ((const tess_aggregates *)groups)->of[i] >= 0;
}

static void put_columns(void *prolongator, const void *groups, int64_t i)
{
    tess_matrix *Q = prolongator;
    const int32_t g = ((const tess_aggregates *)groups)->of[i];
    if (g >= 0)
        Q->columns[Q->row_offsets[i]] = g;
}

tess_status tess_amg_tentative_pattern(tess_ctx *ctx, int32_t modes, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    const tess_aggregates *groups = &level->aggregates;
    tess_matrix *Q;
    tess_status status;
    TESS_TRY(tess_matrix_head(ctx, TESS_F64, A->rows, groups->count * modes, A->block_height, modes,
                              groups->offsets[groups->count], &Q));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, Q->block_rows + 1, &Q->row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, Q->blocks, &Q->columns));
    tess_for_each(ctx, A->block_rows, 0, count_blocks, Q, groups);
    tess_counts_to_offsets(Q->row_offsets, A->block_rows);
    tess_for_each(ctx, A->block_rows, 0, put_columns, Q, groups);
    level->tentative = Q;
    return TESS_OK;
cleanup:
    tess_matrix_destroy(Q);
    return status;
}

tess_status tess_amg_tentative(tess_ctx *ctx, tess_amg_level *level, double **coarse_modes)
{
    const tess_aggregates *groups = &level->aggregates;
    tess_matrix *Q = level->tentative;
    const int32_t b = Q->block_height, modes = Q->block_width;
    const int64_t room = largest_group(groups) * b * modes;
    double *coarse = NULL, *scratch = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, tess_matrix_stored(Q), sizeof(double), &Q->values));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, groups->count * modes, &level->dead));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, groups->count * modes * modes, &coarse));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, room * ctx->threads, &scratch));
    tess_for(ctx, groups->count, do_groups,
             &(struct do_groups){level, modes, scratch, room, coarse});
    *coarse_modes = coarse;
    coarse = NULL;
cleanup:
    TESS_FREE(ctx, coarse, scratch);
    return status;
}

tess_status tess_amg_need_modes(const tess_amg *amg, tess_amg_level *level)
{
    const tess_backend *backend = amg->device->backend;
    if (level->modes)
        return TESS_OK;
    if (level == amg->level)
        return tess_amg_make_modes(amg->ctx, &amg->mode_source, &level->modes);
    const int64_t count = level->modes_length * amg->modes;
    TESS_TRY(TESS_ALLOC(amg->ctx, count, &level->modes));
    return backend->memory_copy_from(amg->device, level->modes,
                                     backend->multigrid->modes(level[-1].device),
                                     (size_t)count * sizeof(double));
}

tess_status tess_amg_tentative_on_host(const tess_amg *amg, tess_amg_level *level)
{
    TESS_TRY(tess_amg_need_modes(amg, level));
    return tess_amg_tentative(amg->ctx, level, &level[1].modes);
}
