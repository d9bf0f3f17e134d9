/* From one level to the next: groups, the tentative prolongator, the patterns of P, A P, R and the
 * coarse matrix, and their numbers. New values of A change only the numbers. */
#include "solve/pc/amg/device.h"

#include "core/threads.h"
#include "matrix/multiply/multiply.h"

/* A coarse level with more than this share of the finer level's rows is not made. */
static const double least_gain = 0.8;

/* The most products of blocks in A P, and the most blocks of A P, per block of A. On meshes they
 * are at most 5 and 1.3. With a few long rows, or with neighbours that are not coupled with each
 * other, a smoothed prolongator would make the coarse matrix dense. Such a level takes the
 * tentative prolongator, whose coarse matrix has no more blocks than A. */
static const double most_products = 40, most_blocks = 3;
/* The most products where only A's rows are known: each neighbour counts as a group of its own. */
static const double most_neighbours = 300;

/* ---- Numbers, in patterns that exist ---- */

/* Computes P, R and the coarse matrix on the host. A plain prolongator does not depend on A's
 * values. */
static tess_status compute_on_host(tess_amg *amg, tess_amg_level *level, tess_matrix *coarse)
{
    tess_ctx *ctx = amg->ctx;
    if (!level->plain)
        TESS_TRY(tess_amg_prolong(ctx, level));
    tess_amg_count_time(amg, AMG_PROLONG);
    TESS_TRY(tess_multiply_values(ctx, level->A, level->P, level->AP));
    tess_amg_restrict_values(ctx, level);
    TESS_TRY(tess_multiply_values(ctx, level->R, level->AP, coarse));
    tess_amg_revive(ctx, level, coarse);
    return TESS_OK;
}

/* Brings the values that the host needs, and fills in those of the matrix without weak blocks. */
static tess_status filter_values(tess_amg *amg, tess_amg_level *level)
{
    if (level->device && amg->device->backend->multigrid->filters(level->device))
        return TESS_OK;
    if (level->filtered || !level->device)
        TESS_TRY(tess_amg_need_values(amg, level));
    if (level->filtered && level->A->block_height == 1)
        TESS_TRY(tess_amg_need_modes(amg, level));
    if (level->filtered)
        tess_amg_filter_values(amg->ctx, level);
    return TESS_OK;
}

/* Computes the numbers on the device, while the host plans P and R. */
static tess_status compute_on_device(const tess_pc *pc, tess_amg *amg, tess_amg_level *level)
{
    const tess_amg_device_ops *ops = amg->device->backend->multigrid;
    TESS_TRY(ops->start(level->device, level));
    tess_amg_count_time(amg, AMG_PRODUCTS);
    TESS_TRY(tess_amg_plan_transfers(pc, amg, level));
    return ops->wait(level->device);
}

tess_status tess_amg_coarsen_values(const tess_pc *pc, tess_amg *amg, tess_amg_level *level,
                                    tess_amg_level *next)
{
    TESS_TRY(filter_values(amg, level));
    TESS_TRY(level->device ? compute_on_device(pc, amg, level)
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

/* Returns whether P has to be the tentative prolongator after all, as A P has too many blocks. */
static bool fills(const tess_amg_level *level, int64_t blocks)
{
    return !level->plain && (double)blocks > most_blocks * (double)level->A->blocks;
}

tess_status tess_amg_check_fill(tess_ctx *ctx, tess_amg_level *level, int64_t blocks)
{
    if (!fills(level, blocks))
        return TESS_OK;
    level->plain = true;
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "A P has %lld blocks, and A has %lld",
                     (long long)blocks, (long long)level->A->blocks);
}

tess_status tess_amg_patterns(tess_ctx *ctx, tess_amg_level *level, tess_matrix **coarse)
{
    TESS_TRY(pattern_of_P(ctx, level));
    if (!level->AP)
        TESS_TRY(tess_multiply_pattern(ctx, level->A, level->P, &level->AP));
    TESS_TRY(tess_amg_check_fill(ctx, level, level->AP->blocks));
    TESS_TRY(tess_amg_restrict(ctx, level));
    return tess_multiply_pattern(ctx, level->R, level->AP, coarse);
}

/* Makes P the tentative prolongator, on the host. */
static tess_status take_tentative(tess_amg *amg, tess_amg_level *level)
{
    tess_matrix_destroy(level->P);
    tess_matrix_destroy(level->AP);
    level->P = level->AP = NULL;
    level->plain = true;
    return tess_matrix_to_type(amg->ctx, level->tentative, TESS_F64, &level->P);
}

/* Makes P in a plain hierarchy, else the pattern of the matrix that P is smoothed with. */
static tess_status begin_patterns(tess_amg *amg, tess_amg_level *level)
{
    if (amg->plain)
        return take_tentative(amg, level);
    return level->all_strong ? TESS_OK : tess_amg_filter(amg->ctx, level);
}

struct factors {
    const tess_matrix *A, *B;
};

/* Counts the products of blocks in some rows of A B. */
static int64_t count_products(const void *from, tess_range rows)
{
    const struct factors *f = from;
    int64_t count = 0;
    for (int64_t k = f->A->row_offsets[rows.first]; k < f->A->row_offsets[rows.last]; k++) {
        const int64_t row = f->A->columns[k];
        count += f->B->row_offsets[row + 1] - f->B->row_offsets[row];
    }
    return count;
}

/* Returns whether A B has more than `most` products of blocks per block of A. */
static bool is_long_product(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B, double most)
{
    const int64_t count =
        tess_reduce(ctx, A->block_rows, TESS_SUM, count_products, &(struct factors){A, B});
    return (double)count > most * (double)A->blocks;
}

/* Makes P on the host: the pattern of a smoothed P where that leaves the coarse matrix sparse, else
 * the tentative prolongator. */
static tess_status choose_P(tess_amg *amg, tess_amg_level *level)
{
    if (level->plain) /* all levels are, or the device saw this one fill */
        return level->P ? TESS_OK : take_tentative(amg, level);
    TESS_TRY(pattern_of_P(amg->ctx, level));
    if (is_long_product(amg->ctx, level->A, level->P, most_products))
        return take_tentative(amg, level);
    return TESS_OK;
}

static tess_status patterns_on_host(tess_amg *amg, tess_amg_level *level, tess_matrix **coarse)
{
    TESS_TRY(choose_P(amg, level));
    TESS_TRY(tess_multiply_pattern(amg->ctx, level->A, level->P, &level->AP));
    if (fills(level, level->AP->blocks))
        TESS_TRY(take_tentative(amg, level));
    return tess_amg_patterns(amg->ctx, level, coarse);
}

/* Makes the patterns, once the tentative prolongator is made. */
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
        TESS_TRY(patterns_on_host(amg, level, coarse));
    tess_amg_count_time(amg, AMG_PATTERNS);
    return TESS_OK;
}

/* Makes patterns and numbers of scalars on the host: products have both from one walk. */
static tess_status multiply_scalars(tess_amg *amg, tess_amg_level *level, tess_matrix **coarse)
{
    tess_ctx *ctx = amg->ctx;
    TESS_TRY(begin_patterns(amg, level));
    TESS_TRY(filter_values(amg, level));
    TESS_TRY(choose_P(amg, level));
    tess_amg_count_time(amg, AMG_PATTERNS);
    if (!level->plain)
        TESS_TRY(tess_amg_prolong(ctx, level));
    tess_amg_count_time(amg, AMG_PROLONG);
    TESS_TRY(tess_multiply_scalars(ctx, level->A, level->P, true, &level->AP));
    if (fills(level, level->AP->blocks)) {
        TESS_TRY(take_tentative(amg, level));
        TESS_TRY(tess_multiply_scalars(ctx, level->A, level->P, true, &level->AP));
    }
    TESS_TRY(tess_amg_restrict(ctx, level));
    tess_amg_restrict_values(ctx, level);
    TESS_TRY(tess_multiply_scalars(ctx, level->R, level->AP, false, coarse));
    tess_amg_revive(ctx, level, *coarse);
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

/* Makes the groups, once strengths are known. */
static tess_status find_groups(tess_amg *amg, tess_amg_level *level)
{
    bool made = false;
    if (level->device)
        TESS_TRY(amg->device->backend->multigrid->groups(level->device, level, &made));
    return made ? TESS_OK
                : tess_amg_aggregate(amg->ctx, level, tess_amg_domains(level->A),
                                     &level->aggregates);
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
    TESS_TRY(find_groups(amg, level));
    tess_amg_count_time(amg, AMG_GROUPS);
    const int64_t count = level->aggregates.count;
    *pays = count > 0 && (double)(count * amg->modes) <=
                             least_gain * (double)(level->A->block_rows * level->A->block_height);
    return TESS_OK;
}

tess_status tess_amg_coarsen(const tess_pc *pc, tess_amg *amg, double threshold,
                             tess_amg_level *level, tess_amg_level *next)
{
    bool pays;
    TESS_TRY(group(amg, threshold, level, &pays));
    if (!pays)
        return tess_amg_leave_device(amg, level);
    if (level->device && is_long_product(amg->ctx, level->A, level->A, most_neighbours))
        TESS_TRY(tess_amg_leave_device(amg, level));
    TESS_TRY(make_tentative(amg, level));
    next->owns_A = true;
    if (!level->device && tess_multiplies_scalars(level->A, level->tentative))
        return multiply_scalars(amg, level, &next->A);
    TESS_TRY(make_patterns(amg, level, &next->A));
    return tess_amg_coarsen_values(pc, amg, level, next);
}
