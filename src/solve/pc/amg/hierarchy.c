/* All levels: their making, new values in the same pattern, and what cycles run on. */
#include "solve/pc/amg/amg.h"

#include "matrix/multiply.h"

/* A level with more than this share of the block rows before is not worth its cycles. */
static const double least_gain = 0.8;
/* Blocks of coarser levels couple more evenly: what is strong is then less of the largest. */
static const double threshold_falls = 0.5;
/* The largest eigenvalue is estimated from below: so much of the estimate is taken. */
static const double beyond = 1.1;

static void free_level(tess_ctx *ctx, tess_amg_level *level)
{
    tess_pc_tear_down(&level->smoother);
    if (level->owns_plan)
        tess_plan_destroy(level->plan);
    tess_plan_destroy(level->P_plan);
    tess_plan_destroy(level->R_plan);
    tess_matrix_destroy(level->cycle_A);
    tess_matrix_destroy(level->cycle_P);
    tess_matrix_destroy(level->cycle_R);
    if (level->owns_A)
        tess_matrix_destroy(level->A);
    tess_matrix_destroy(level->tentative);
    tess_matrix_destroy(level->filtered);
    tess_matrix_destroy(level->P);
    tess_matrix_destroy(level->R);
    tess_matrix_destroy(level->AP);
    tess_aggregates_free(ctx, &level->aggregates);
    TESS_FREE(ctx, level->diagonal.blocks, level->inverse, level->strength, level->dead,
              level->modes);
}

void tess_amg_clear(tess_amg *amg)
{
    tess_plan_destroy(amg->bottom_plan);
    tess_matrix_destroy(amg->cycle_bottom);
    tess_matrix_destroy(amg->bottom);
    for (int i = 0; i < TESS_AMG_LEVELS; i++)
        free_level(amg->ctx, &amg->level[i]);
    if (amg->owns_host)
        tess_device_close(amg->host);
}

double tess_amg_complexity(const tess_amg *amg)
{
    double all = 0;
    for (int i = 0; i < amg->levels; i++)
        all += (double)tess_matrix_stored(amg->level[i].A);
    const double finest = (double)tess_matrix_stored(amg->level[0].A);
    return finest > 0 ? all / finest : 1;
}

/* ---- Numbers of one level, in patterns that are there ---- */

/* Rows that the modes of a group do not reach couple to nothing: their diagonal becomes that of the
 * block's largest, which keeps the matrix definite. */
static void revive(const tess_amg_level *level, tess_matrix *coarse)
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

/* Transposed values of P, in R's pattern. */
static tess_status transpose_values(tess_ctx *ctx, tess_amg_level *level)
{
    tess_matrix *R;
    TESS_TRY(tess_matrix_transpose(ctx, level->P, &R));
    if (!level->R) {
        level->R = R;
        return TESS_OK;
    }
    memcpy(level->R->values, R->values, (size_t)tess_matrix_stored(R) * sizeof(double));
    tess_matrix_destroy(R);
    return TESS_OK;
}

/* Inverse diagonal and eigenvalue of a level, from A's numbers. */
static tess_status measure(tess_amg *amg, tess_amg_level *level)
{
    TESS_TRY(tess_amg_invert_diagonal(amg->ctx, level));
    return tess_amg_largest(amg, level);
}

/* P, R and the coarse matrix. A plain prolongator has nothing of A's values. */
static tess_status coarsen_values(const tess_amg *amg, tess_amg_level *level, tess_matrix *coarse)
{
    tess_ctx *ctx = amg->ctx;
    if (level->filtered)
        tess_amg_filter_values(ctx, level);
    if (!amg->plain)
        TESS_TRY(tess_amg_prolong(ctx, level));
    TESS_TRY(tess_multiply_values(ctx, level->A, level->P, level->AP));
    TESS_TRY(transpose_values(ctx, level));
    TESS_TRY(tess_multiply_values(ctx, level->R, level->AP, coarse));
    revive(level, coarse);
    return TESS_OK;
}

/* ---- Patterns ---- */

static tess_status smooth_prolongator(tess_ctx *ctx, tess_amg_level *level)
{
    if (!level->all_strong)
        TESS_TRY(tess_amg_filter(ctx, level));
    TESS_TRY(tess_multiply_pattern(ctx, level->filtered ? level->filtered : level->A,
                                   level->tentative, &level->P));
    if (level->filtered)
        tess_amg_filter_values(ctx, level);
    return tess_amg_prolong(ctx, level);
}

/* Groups and patterns of a level; *coarse is NULL where it does not pay. */
static tess_status coarsen(tess_amg *amg, double threshold, tess_amg_level *level,
                           tess_amg_level *next)
{
    tess_ctx *ctx = amg->ctx;
    TESS_TRY(tess_amg_strength(ctx, threshold, level));
    TESS_TRY(tess_amg_aggregate(ctx, level, &level->aggregates));
    const int64_t count = level->aggregates.count;
    if (count == 0 || (double)(count * amg->modes) >
                          least_gain * (double)(level->A->block_rows * level->A->block_height))
        return TESS_OK;
    TESS_TRY(tess_amg_tentative(ctx, amg->modes, level, &next->modes));
    next->modes_length = count * amg->modes;
    TESS_TRY(amg->plain ? tess_matrix_to_type(ctx, level->tentative, TESS_F64, &level->P)
                        : smooth_prolongator(ctx, level));
    TESS_TRY(tess_multiply_pattern(ctx, level->A, level->P, &level->AP));
    TESS_TRY(tess_multiply_values(ctx, level->A, level->P, level->AP));
    TESS_TRY(transpose_values(ctx, level));
    TESS_TRY(tess_multiply_pattern(ctx, level->R, level->AP, &next->A));
    next->owns_A = true;
    TESS_TRY(tess_multiply_values(ctx, level->R, level->AP, next->A));
    revive(level, next->A);
    return TESS_OK;
}

static bool small_enough(const tess_pc *pc, const tess_matrix *A)
{
    return A->block_rows * A->block_height <= pc->options.amg.bottom;
}

static tess_status build_levels(const tess_pc *pc, tess_amg *amg)
{
    const tess_amg_options *options = &pc->options.amg;
    double threshold = options->strength;
    amg->levels = 1;
    while (amg->levels < TESS_AMG_LEVELS && !small_enough(pc, amg->level[amg->levels - 1].A)) {
        tess_amg_level *level = &amg->level[amg->levels - 1], *next = level + 1;
        TESS_TRY(measure(amg, level));
        TESS_TRY(coarsen(amg, threshold, level, next));
        if (!next->A)
            break;
        threshold *= threshold_falls;
        amg->levels++;
    }
    const tess_amg_level *last = &amg->level[amg->levels - 1];
    if (small_enough(pc, last->A))
        return tess_amg_invert_bottom(amg->ctx, last->A, amg->symmetric, &amg->bottom);
    return TESS_OK;
}

/* ---- What cycles run on ---- */

struct put_blocks {
    const tess_diagonal *diagonal;
    const double *inverse;
    double factor;
};

static void put_blocks(void *arg, tess_range range)
{
    const struct put_blocks *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        tess_put(job->diagonal->blocks, job->diagonal->type, i, job->factor * job->inverse[i]);
}

/* The inverse diagonal over the largest eigenvalue: the smoother's polynomial is then that of 1,
 * and the steps of a cycle have no numbers that new values change. */
static tess_status put_diagonal(const tess_pc *pc, tess_amg_level *level)
{
    const int32_t b = level->A->block_height;
    const int64_t count = level->A->block_rows * b * b;
    const double factor = 1 / (beyond * level->largest);
    tess_diagonal *diagonal = &level->diagonal;
    diagonal->type = pc->type;
    diagonal->block = b;
    diagonal->bytes = (size_t)count * tess_type_size(pc->type);
    if (!diagonal->blocks)
        TESS_TRY(tess_alloc_bytes(pc->ctx, count, tess_type_size(pc->type), &diagonal->blocks));
    tess_for(pc->ctx, count, put_blocks, &(struct put_blocks){diagonal, level->inverse, factor});
    return TESS_OK;
}

/* The plan of a matrix in the preconditioner's precision, or new values for it. */
static tess_status put_plan(tess_device *device, const tess_pc *pc, tess_matrix *from,
                            tess_matrix **copy, tess_plan **plan)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *used = from;
    if (pc->type != TESS_F64) {
        tess_matrix *converted;
        TESS_TRY(tess_matrix_to_type(pc->ctx, from, pc->type, &converted));
        if (*copy && *plan) {
            memcpy((*copy)->values, converted->values,
                   (size_t)tess_matrix_stored(converted) * tess_type_size(pc->type));
            tess_matrix_destroy(converted);
        } else {
            *copy = converted;
        }
        used = *copy;
    }
    if (*plan)
        return tess_plan_update_values(*plan, used->values);
    return tess_plan_create(pc->ctx, used, device, &guess, plan);
}

static tess_status put_level(tess_plan *plan, const tess_pc *pc, tess_amg *amg, int i)
{
    tess_amg_level *level = &amg->level[i];
    tess_device *device = plan->device;
    const bool last = i + 1 == amg->levels;
    if (last && amg->bottom)
        return put_plan(device, pc, amg->bottom, &amg->cycle_bottom, &amg->bottom_plan);
    if (amg->smoother == TESS_SMOOTHER_CHEBYSHEV)
        TESS_TRY(put_diagonal(pc, level));
    if (i == 0 && plan->matrix->type == pc->type) {
        level->plan = plan;
    } else {
        level->owns_plan = true;
        TESS_TRY(put_plan(device, pc, level->A, &level->cycle_A, &level->plan));
    }
    if (amg->smoother != TESS_SMOOTHER_CHEBYSHEV)
        TESS_TRY(tess_amg_smoother_of(pc, amg, level));
    if (last)
        return TESS_OK;
    TESS_TRY(put_plan(device, pc, level->P, &level->cycle_P, &level->P_plan));
    return put_plan(device, pc, level->R, &level->cycle_R, &level->R_plan);
}

/* A in double precision. */
static tess_status finest(tess_plan *plan, tess_amg *amg)
{
    tess_amg_level *level = &amg->level[0];
    const tess_matrix present = tess_plan_present(plan);
    tess_matrix *A;
    if (present.type == TESS_F64) {
        TESS_TRY(TESS_ALLOC(amg->ctx, 1, &A));
        *A = present;
        A->ownership = TESS_OWNERSHIP_BORROW;
        A->coordinates = NULL;
    } else {
        TESS_TRY(tess_matrix_to_type(amg->ctx, &present, TESS_F64, &A));
    }
    if (level->owns_A)
        tess_matrix_destroy(level->A);
    level->A = A;
    level->owns_A = true;
    return TESS_OK;
}

/* Products of the set-up are the host's. */
static tess_status find_host(tess_plan *plan, tess_amg *amg)
{
    char name[32] = "cpu";
    if (plan->device->threads > 0) {
        amg->host = plan->device;
        return TESS_OK;
    }
    TESS_TRY(tess_device_open(amg->ctx, name, &amg->host));
    amg->owns_host = true;
    return TESS_OK;
}

tess_status tess_amg_build(tess_plan *plan, tess_pc *pc, tess_amg *amg)
{
    TESS_TRY(find_host(plan, amg));
    TESS_TRY(finest(plan, amg));
    tess_amg_level *level = &amg->level[0];
    TESS_TRY(tess_amg_modes(pc, plan->matrix, &amg->modes, &level->modes_length, &level->modes));
    if (plan->device == amg->host && plan->matrix->type == TESS_F64)
        level->plan = plan;
    TESS_TRY(build_levels(pc, amg));
    if (!amg->bottom && !amg->level[amg->levels - 1].inverse)
        TESS_TRY(measure(amg, &amg->level[amg->levels - 1]));
    level->plan = NULL;
    for (int i = 0; i < amg->levels; i++)
        TESS_TRY(put_level(plan, pc, amg, i));
    return TESS_OK;
}

tess_status tess_amg_update(tess_plan *plan, tess_pc *pc, tess_amg *amg)
{
    TESS_TRY(finest(plan, amg));
    for (int i = 0; i < amg->levels; i++) {
        tess_amg_level *level = &amg->level[i];
        if (i > 0 && level->plan && !level->cycle_A)
            TESS_TRY(tess_plan_update_values(level->plan, level->A->values));
        if (i + 1 < amg->levels || !amg->bottom)
            TESS_TRY(measure(amg, level));
        if (i + 1 < amg->levels)
            TESS_TRY(coarsen_values(amg, level, level[1].A));
    }
    if (amg->bottom) {
        tess_matrix *inverse;
        TESS_TRY(tess_amg_invert_bottom(amg->ctx, amg->level[amg->levels - 1].A, amg->symmetric,
                                        &inverse));
        memcpy(amg->bottom->values, inverse->values,
               (size_t)tess_matrix_stored(inverse) * sizeof(double));
        tess_matrix_destroy(inverse);
    }
    for (int i = 0; i < amg->levels; i++)
        TESS_TRY(put_level(plan, pc, amg, i));
    return TESS_OK;
}
