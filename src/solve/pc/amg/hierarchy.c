/* Makes all levels, and fills in new values in the same pattern. */
#include "solve/pc/amg/device.h"

#include <float.h>

/* The threshold of strength is multiplied by this from level to level, because blocks of coarser
 * levels couple more evenly. */
static const double threshold_falls = 0.5;

static void free_level(tess_amg *amg, tess_amg_level *level)
{
    tess_ctx *ctx = amg->ctx;
    tess_pc_tear_down(&level->smoother);
    if (level->owns_plan)
        tess_plan_destroy(level->plan);
    tess_plan_destroy(level->P_plan);
    tess_plan_destroy(level->R_plan);
    for (int i = 0; i < AMG_MATRICES; i++)
        if (level->converted[i])
            amg->device->backend->memory_free(amg->device, level->converted[i]);
    if (level->device)
        amg->device->backend->multigrid->destroy(level->device);
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
    if (level->diagonal.resident)
        amg->device->backend->memory_free(amg->device, level->diagonal.blocks);
    else
        tess_free(ctx, level->diagonal.blocks);
    TESS_FREE(ctx, level->inverse, level->strength, level->dead, level->modes, level->R_from);
}

void tess_amg_clear(tess_amg *amg)
{
    tess_plan_destroy(amg->bottom_plan);
    tess_matrix_destroy(amg->cycle_bottom);
    tess_matrix_destroy(amg->bottom);
    if (amg->bottom_converted)
        amg->device->backend->memory_free(amg->device, amg->bottom_converted);
    for (int i = 0; i < TESS_AMG_LEVELS; i++)
        free_level(amg, &amg->level[i]);
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

/* ---- The device's part ---- */

tess_status tess_amg_leave_device(tess_amg *amg, tess_amg_level *level)
{
    if (level->device)
        amg->device->backend->multigrid->destroy(level->device);
    level->device = NULL;
    return tess_amg_need_inverse(amg, level);
}

tess_status tess_amg_or_host(tess_amg *amg, tess_amg_level *level, const tess_kept_error *kept,
                             tess_status status)
{
    if (status != TESS_ERR_UNSUPPORTED)
        return status;
    tess_log(amg->ctx, "pc=amg: level %d is computed on the host: %s", (int)(level - amg->level),
             tess_ctx_error(amg->ctx));
    tess_error_restore(amg->ctx, kept);
    return tess_amg_leave_device(amg, level);
}

/* Places the level on the device, unless that has no room or no kernel for it. Hierarchies with
 * factors as smoothers, and those with plain prolongators, are made on the host. */
static tess_status place_level(tess_amg *amg, tess_plan *plan, tess_amg_level *level)
{
    const tess_amg_device_ops *ops = amg->device->backend->multigrid;
    void *above = level == amg->level ? NULL : level[-1].device;
    const bool smoothed = !amg->plain && amg->smoother == TESS_SMOOTHER_CHEBYSHEV;
    if (!ops || !smoothed || (level > amg->level && !above))
        return TESS_OK;
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    TESS_TRY(tess_amg_or_host(amg, level, &kept, ops->create(plan, level, above, &level->device)));
    tess_amg_count_time(amg, AMG_PLACING);
    return TESS_OK;
}

/* ---- Numbers of one level, in patterns that exist ---- */

tess_status tess_amg_need_values(const tess_amg *amg, tess_amg_level *level)
{
    const tess_backend *backend = amg->device->backend;
    if (!level->elsewhere)
        return TESS_OK;
    if (level == amg->level) { /* the plan's, which are only read */
        TESS_TRY(tess_plan_host_values(amg->plan));
        level->A->values = tess_plan_present(amg->plan).values;
    } else {
        TESS_TRY(
            backend->memory_copy_from(amg->device, level->A->values,
                                      backend->multigrid->values(level[-1].device, AMG_MATRIX_A),
                                      (size_t)tess_matrix_stored(level->A) * sizeof(double)));
    }
    level->elsewhere = false;
    return TESS_OK;
}

/* The device and the host round differently, so both use the host's inverse afterwards. */
tess_status tess_amg_need_inverse(const tess_amg *amg, tess_amg_level *level)
{
    if (!level->inverse_elsewhere)
        return TESS_OK;
    TESS_TRY(tess_amg_need_values(amg, level));
    TESS_TRY(tess_amg_invert_diagonal(amg->ctx, level));
    if (level->device)
        TESS_TRY(amg->device->backend->multigrid->put_inverse(level->device, level));
    level->inverse_elsewhere = false;
    return TESS_OK;
}

static tess_status invert_diagonal(tess_amg *amg, tess_amg_level *level)
{
    bool singular = false;
    level->inverse_elsewhere = level->device != NULL;
    if (level->device)
        TESS_TRY(amg->device->backend->multigrid->inverse(level->device, level, &singular));
    if (singular)
        return tess_amg_need_inverse(amg, level);
    return level->device ? TESS_OK : tess_amg_invert_diagonal(amg->ctx, level);
}

/* Computes the inverse diagonal and the eigenvalue of a level from A's numbers; `plan` is the
 * finest level's. */
static tess_status measure(tess_amg *amg, tess_plan *plan, tess_amg_level *level)
{
    tess_plan *own = level == amg->level ? plan : level->plan;
    if (!level->device)
        TESS_TRY(tess_amg_need_values(amg, level));
    TESS_TRY(invert_diagonal(amg, level));
    tess_amg_count_time(amg, AMG_DIAGONAL);
    TESS_TRY(tess_amg_largest(amg, own, level));
    tess_amg_count_time(amg, AMG_EIGENVALUE);
    return TESS_OK;
}

/* ---- The bottom ---- */

/* The scalars of a level's vectors. */
static int64_t unknowns(const tess_matrix *A)
{
    return A->block_rows * A->block_height;
}

/* Returns the largest pivot of a matrix with a diagonal of ones that may be a rounding error: one
 * of the sweeps in f64 or, where the inverse is stored in f32, one of the inverse's numbers. Those
 * are up to 1 / pivot. Errors of the size of the inverse's least eigenvalue, about 1, would make it
 * indefinite. */
static double least_pivot(const tess_pc *pc, int64_t rows)
{
    const double sweeps = 64 * (double)rows * DBL_EPSILON;
    return pc->type == TESS_F64 ? sweeps : fmax(sweeps, 5 * sqrt((double)rows) * FLT_EPSILON);
}

/* The device inverts the last level's matrix, if it is small enough for that. */
static tess_status invert_on_device(const tess_pc *pc, tess_amg *amg, bool *made)
{
    const tess_amg_device_ops *ops = amg->device->backend->multigrid;
    const tess_amg_level *last = &amg->level[amg->levels - 1];
    const int64_t rows = unknowns(last->A);
    *made = false;
    if (amg->levels == 1 || !last[-1].device || !amg->symmetric)
        return TESS_OK;
    const int64_t given = pc->options.amg.bottom;
    if (rows > (given > 0 ? given : ops->bottom_most(amg->device)))
        return TESS_OK;
    TESS_TRY(ops->bottom(last[-1].device, least_pivot(pc, rows), made));
    if (!*made)
        tess_log(amg->ctx,
                 "pc=amg: the device does not invert level %d of %lld unknowns: it is "
                 "not definite, or there is no room",
                 amg->levels - 1, (long long)rows);
    return TESS_OK;
}

/* Makes the inverse of the last level's matrix on the host. */
static tess_status invert_on_host(const tess_pc *pc, tess_amg *amg)
{
    tess_amg_level *last = &amg->level[amg->levels - 1];
    const int64_t rows = unknowns(last->A);
    double pivot;
    TESS_TRY(tess_amg_need_values(amg, last));
    TESS_TRY(tess_amg_dense_pattern(amg->ctx, rows, last->A->block_height, &amg->bottom));
    TESS_TRY(tess_amg_invert_bottom(amg->ctx, last->A, amg->symmetric, 0, amg->bottom, &pivot));
    if (pivot > least_pivot(pc, rows))
        return TESS_OK;
    tess_matrix_destroy(amg->bottom);
    amg->bottom = NULL;
    tess_log(amg->ctx, "pc=amg: f32 does not hold the inverse of level %d, whose least pivot is %g",
             amg->levels - 1, pivot);
    return TESS_OK;
}

/* Makes amg->bottom, if the last level is small enough. */
static tess_status make_bottom(const tess_pc *pc, tess_amg *amg)
{
    enum { MOST = 500 }; /* of the host, where one thread factors the matrix */
    const int64_t rows = unknowns(amg->level[amg->levels - 1].A), given = pc->options.amg.bottom;
    TESS_TRY(invert_on_device(pc, amg, &amg->bottom_elsewhere));
    if (amg->bottom_elsewhere)
        TESS_TRY(tess_amg_dense_pattern(amg->ctx, rows, TESS_AMG_BOTTOM_BLOCK, &amg->bottom));
    else if (rows <= (given > 0 ? given : MOST))
        TESS_TRY(invert_on_host(pc, amg));
    tess_amg_count_time(amg, AMG_BOTTOM);
    return TESS_OK;
}

/* Fills amg->bottom with new values. The levels stay, so a pivot for which make_bottom would not
 * have made it counts as 0. */
static tess_status update_bottom(const tess_pc *pc, tess_amg *amg)
{
    const tess_backend *backend = amg->device->backend;
    tess_amg_level *last = &amg->level[amg->levels - 1];
    const double least = least_pivot(pc, unknowns(last->A));
    double pivot;
    bool made = false;
    if (amg->bottom_elsewhere)
        TESS_TRY(backend->multigrid->bottom(last[-1].device, least, &made));
    if (!made) {
        TESS_TRY(tess_amg_need_values(amg, last));
        TESS_TRY(
            tess_amg_invert_bottom(amg->ctx, last->A, amg->symmetric, least, amg->bottom, &pivot));
    }
    if (!made && amg->bottom_elsewhere)
        TESS_TRY(backend->memory_copy_to(
            amg->device, backend->multigrid->bottom_values(last[-1].device), amg->bottom->values,
            (size_t)tess_matrix_stored(amg->bottom) * sizeof(double)));
    tess_amg_count_time(amg, AMG_BOTTOM);
    return TESS_OK;
}

/* ---- All levels ---- */

static tess_status build_levels(tess_plan *plan, const tess_pc *pc, tess_amg *amg)
{
    const tess_amg_options *options = &pc->options.amg;
    double threshold = options->strength;
    amg->levels = 1;
    TESS_TRY(make_bottom(pc, amg));
    while (!amg->bottom && amg->levels < TESS_AMG_LEVELS) {
        tess_amg_level *level = &amg->level[amg->levels - 1], *next = level + 1;
        TESS_TRY(place_level(amg, plan, level));
        TESS_TRY(tess_amg_put_matrix(plan, pc, amg, level));
        TESS_TRY(measure(amg, plan, level));
        TESS_TRY(tess_amg_coarsen(pc, amg, threshold, level, next));
        if (!next->A)
            break;
        threshold *= threshold_falls;
        amg->levels++;
        TESS_TRY(make_bottom(pc, amg));
    }
    tess_amg_level *last = &amg->level[amg->levels - 1];
    if (!amg->bottom && !last->inverse && !last->inverse_elsewhere) {
        TESS_TRY(tess_amg_put_matrix(plan, pc, amg, last));
        TESS_TRY(measure(amg, plan, last));
    }
    return TESS_OK;
}

/* Sets level 0's A in double precision: the plan's arrays, or a copy. Values that the device has
 * come to the host once they are needed there. */
static tess_status finest(tess_plan *plan, tess_amg *amg)
{
    tess_amg_level *level = &amg->level[0];
    tess_matrix *A;
    amg->plan = plan;
    level->elsewhere = plan->matrix->type == TESS_F64;
    if (level->elsewhere) {
        TESS_TRY(TESS_ALLOC(amg->ctx, 1, &A));
        *A = tess_plan_present(plan);
        A->ownership = TESS_OWNERSHIP_BORROW;
        A->coordinates = NULL;
    } else {
        TESS_TRY(tess_plan_host_values(plan));
        const tess_matrix present = tess_plan_present(plan);
        TESS_TRY(tess_matrix_to_type(amg->ctx, &present, TESS_F64, &A));
    }
    if (level->owns_A)
        tess_matrix_destroy(level->A);
    level->A = A;
    level->owns_A = true;
    return TESS_OK;
}

/* Finds the CPU that computes the set-up's products: the plan's device, or one opened for it. */
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
    tess_amg_level *level = &amg->level[0];
    tess_amg_start_clock(amg);
    amg->device = plan->device;
    TESS_TRY(find_host(plan, amg));
    TESS_TRY(finest(plan, amg));
    TESS_TRY(tess_amg_find_modes(pc, plan->matrix, &amg->mode_source));
    amg->modes = amg->mode_source.count;
    level->modes_length = unknowns(level->A);
    tess_amg_count_time(amg, AMG_MODES);
    TESS_TRY(build_levels(plan, pc, amg));
    return tess_amg_put_levels(pc, amg);
}

tess_status tess_amg_update(tess_plan *plan, tess_pc *pc, tess_amg *amg)
{
    tess_amg_start_clock(amg);
    TESS_TRY(finest(plan, amg));
    for (int i = 0; i < amg->levels; i++) {
        tess_amg_level *level = &amg->level[i];
        if (i + 1 < amg->levels || !amg->bottom) {
            TESS_TRY(tess_amg_put_matrix(plan, pc, amg, level));
            TESS_TRY(measure(amg, plan, level));
        }
        if (i + 1 < amg->levels)
            TESS_TRY(tess_amg_coarsen_values(pc, amg, level, level + 1));
    }
    if (amg->bottom)
        TESS_TRY(update_bottom(pc, amg));
    return tess_amg_put_levels(pc, amg);
}
