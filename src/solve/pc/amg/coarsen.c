/* From one level to the next: groups, the tentative prolongator, the patterns of P, A P, R and the
 * coarse matrix, and their numbers, which new values of A change alone. */
#include "solve/pc/amg/device.h"

#include "matrix/multiply.h"

/* A coarse level with more than this share of the finer level's rows is not made. */
static const double least_gain = 0.8;

/* ---- Numbers, in patterns that are there ---- */

/* Computes P, R and the coarse matrix on the host. A plain prolongator does not depend on A's
 * values. */
static tess_status compute_on_host(tess_amg *amg, tess_amg_level *level, tess_matrix *coarse)
{
    tess_ctx *ctx = amg->ctx;
    if (!amg->plain)
        TESS_TRY(tess_amg_prolong(ctx, level));
    tess_amg_count_time(amg, AMG_PROLONG);
    TESS_TRY(tess_multiply_values(ctx, level->A, level->P, level->AP));
    tess_amg_restrict_values(ctx, level);
    TESS_TRY(tess_multiply_values(ctx, level->R, level->AP, coarse));
    tess_amg_revive(level, coarse);
    return TESS_OK;
}

/* The values that the host needs, and those of the matrix without weak blocks. */
static tess_status filter_values(tess_amg *amg, tess_amg_level *level)
{
    if (level->filtered || !level->device)
        TESS_TRY(tess_amg_need_values(amg, level));
    if (level->filtered && level->A->block_height == 1)
        TESS_TRY(tess_amg_need_modes(amg, level));
    if (level->filtered)
        tess_amg_filter_values(amg->ctx, level);
    return TESS_OK;
}

tess_status tess_amg_coarsen_values(tess_amg *amg, tess_amg_level *level, tess_amg_level *next)
{
    TESS_TRY(filter_values(amg, level));
    TESS_TRY(level->device ? amg->device->backend->multigrid->compute(level->device, level)
                           : compute_on_host(amg, level, next->A));
    next->elsewhere = level->device != NULL;
    tess_amg_count_time(amg, AMG_PRODUCTS);
    return TESS_OK;
}

/* ---- Patterns ---- */

static tess_status pattern_of_P(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->filtered ? level->filtered : level->A;
    return level->P ? TESS_OK : tess_multiply_pattern(ctx, A, level->tentative, &level->P);
}

tess_status tess_amg_patterns(tess_ctx *ctx, tess_amg_level *level, tess_matrix **coarse)
{
    TESS_TRY(pattern_of_P(ctx, level));
    TESS_TRY(tess_multiply_pattern(ctx, level->A, level->P, &level->AP));
    TESS_TRY(tess_amg_restrict(ctx, level));
    return tess_multiply_pattern(ctx, level->R, level->AP, coarse);
}

/* P of a plain hierarchy, and the pattern of what P is smoothed with. */
static tess_status begin_patterns(tess_amg *amg, tess_amg_level *level)
{
    if (amg->plain)
        return tess_matrix_to_type(amg->ctx, level->tentative, TESS_F64, &level->P);
    return level->all_strong ? TESS_OK : tess_amg_filter(amg->ctx, level);
}

/* The tentative prolongator is there. */
static tess_status make_patterns(tess_amg *amg, tess_amg_level *level, tess_matrix **coarse)
{
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    TESS_TRY(begin_patterns(amg, level));
    if (level->device)
        TESS_TRY(tess_amg_or_host(
            amg, level, &kept,
            amg->device->backend->multigrid->patterns(level->device, level, coarse)));
    if (!level->device && !level->tentative->values)
        TESS_TRY(tess_amg_tentative_on_host(amg, level));
    if (!level->device)
        TESS_TRY(tess_amg_patterns(amg->ctx, level, coarse));
    tess_amg_count_time(amg, AMG_PATTERNS);
    return TESS_OK;
}

/* Patterns and numbers of scalars on the host: products have both from one walk. */
static tess_status multiply_scalars(tess_amg *amg, tess_amg_level *level, tess_matrix **coarse)
{
    tess_ctx *ctx = amg->ctx;
    TESS_TRY(begin_patterns(amg, level));
    TESS_TRY(filter_values(amg, level));
    TESS_TRY(pattern_of_P(ctx, level));
    tess_amg_count_time(amg, AMG_PATTERNS);
    if (!amg->plain)
        TESS_TRY(tess_amg_prolong(ctx, level));
    tess_amg_count_time(amg, AMG_PROLONG);
    TESS_TRY(tess_multiply_scalars(ctx, level->A, level->P, true, &level->AP));
    TESS_TRY(tess_amg_restrict(ctx, level));
    tess_amg_restrict_values(ctx, level);
    TESS_TRY(tess_multiply_scalars(ctx, level->R, level->AP, false, coarse));
    tess_amg_revive(level, *coarse);
    tess_amg_count_time(amg, AMG_PRODUCTS);
    return TESS_OK;
}

static tess_status make_tentative(tess_amg *amg, tess_amg_level *level)
{
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    TESS_TRY(tess_amg_tentative_pattern(amg->ctx, amg->modes, level));
    level[1].modes_length = level->tentative->cols;
    if (level->device)
        TESS_TRY(tess_amg_or_host(
            amg, level, &kept,
            amg->device->backend->multigrid->tentative(level->device, &amg->mode_source, level)));
    if (!level->device)
        TESS_TRY(tess_amg_tentative_on_host(amg, level));
    tess_amg_count_time(amg, AMG_TENTATIVE);
    return TESS_OK;
}

/* Makes the groups of a level. *pays: the next level is small enough to be made. */
static tess_status group(tess_amg *amg, double threshold, tess_amg_level *level, bool *pays)
{
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    if (level->device)
        TESS_TRY(tess_amg_or_host(
            amg, level, &kept,
            amg->device->backend->multigrid->strength(level->device, threshold, level)));
    if (!level->device) {
        TESS_TRY(tess_amg_need_values(amg, level));
        TESS_TRY(tess_amg_strength(amg->ctx, threshold, level));
    }
    tess_amg_count_time(amg, AMG_STRENGTH);
    TESS_TRY(tess_amg_aggregate(amg->ctx, level, &level->aggregates));
    tess_amg_count_time(amg, AMG_GROUPS);
    const int64_t count = level->aggregates.count;
    *pays = count > 0 && (double)(count * amg->modes) <=
                             least_gain * (double)(level->A->block_rows * level->A->block_height);
    return TESS_OK;
}

tess_status tess_amg_coarsen(tess_amg *amg, double threshold, tess_amg_level *level,
                             tess_amg_level *next)
{
    bool pays;
    TESS_TRY(group(amg, threshold, level, &pays));
    if (!pays)
        return tess_amg_leave_device(amg, level);
    TESS_TRY(make_tentative(amg, level));
    next->owns_A = true;
    if (!level->device && tess_multiplies_scalars(level->A, level->tentative))
        return multiply_scalars(amg, level, &next->A);
    TESS_TRY(make_patterns(amg, level, &next->A));
    return tess_amg_coarsen_values(amg, level, next);
}
