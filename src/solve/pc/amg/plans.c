/* The plans of a cycle's products, in the preconditioner's precision, and the smoother's diagonal.
 */
#include "solve/pc/amg/device.h"

/* The estimate of the largest eigenvalue is multiplied by this, because it is a lower bound. */
static const double beyond = 1.1;

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

/* Stores the inverse diagonal divided by the largest eigenvalue. The smoother's polynomial is then
 * made for eigenvalues up to 1, and new values change no number of a cycle's steps. */
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

/* A format other than BSR has to be searched for where blocks are 1 x 1. On a CPU that takes as
 * long as the rest of the set-up, and a solve of a few iterations does not pay for it. */
static const tess_plan_options *options_for(const tess_device *device, const tess_matrix *A)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE},
                                   plain = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    const bool host = device->threads > 0, scalars = A->block_height == 1 && A->block_width == 1;
    return host && scalars ? &plain : &guess;
}

/* Makes the plan of a matrix in the preconditioner's precision, or gives it new values. */
static tess_status put_plan(tess_device *device, const tess_pc *pc, tess_matrix *from,
                            tess_matrix **copy, tess_plan **plan)
{
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
    return tess_plan_create(pc->ctx, used, device, options_for(device, used), plan);
}

/* Gives a plan new values that `owner` has on the device. They do not pass the host. */
static tess_status put_values(const tess_amg *amg, const tess_pc *pc, const tess_amg_level *owner,
                              tess_amg_matrix which, void **converted, tess_plan *plan)
{
    const tess_backend *backend = amg->device->backend;
    const void *values = backend->multigrid->values(owner->device, which);
    const int64_t count = tess_matrix_stored(plan->matrix);
    if (pc->type != TESS_F64) {
        if (!*converted)
            TESS_TRY(backend->memory_alloc(amg->device, (size_t)count * tess_type_size(pc->type),
                                           converted));
        TESS_TRY(
            backend->memory_convert(plan, count, 1, values, TESS_F64, false, *converted, pc->type));
        values = *converted;
    }
    return tess_plan_update_values(plan, values);
}

/* Makes a plan of a pattern, without values: the device will fill them in. */
static tess_status create_bare(tess_device *device, const tess_pc *pc, const tess_matrix *from,
                               tess_matrix **copy, tess_plan **plan)
{
    tess_matrix *bare;
    TESS_TRY(TESS_ALLOC(pc->ctx, 1, &bare));
    *bare = *from;
    bare->type = pc->type;
    bare->values = NULL;
    bare->coordinates = NULL;
    bare->ownership = TESS_OWNERSHIP_BORROW;
    const tess_status status =
        tess_plan_create(pc->ctx, bare, device, options_for(device, bare), plan);
    if (status == TESS_OK)
        *copy = bare;
    else
        tess_matrix_destroy(bare);
    return status;
}

/* Makes or updates the plan of a matrix whose values `owner` has on the device. Storage that the
 * device cannot fill is made from a copy on the host. */
static tess_status put_from_device(tess_amg *amg, const tess_pc *pc, const tess_amg_level *owner,
                                   tess_amg_matrix which, tess_matrix *from, void **converted,
                                   tess_matrix **copy, tess_plan **plan)
{
    const tess_backend *backend = amg->device->backend;
    if (!*plan) {
        const tess_kept_error kept = tess_error_keep(amg->ctx);
        const tess_status status = create_bare(amg->device, pc, from, copy, plan);
        if (status == TESS_ERR_UNSUPPORTED) {
            tess_error_restore(amg->ctx, &kept);
            TESS_TRY(backend->memory_copy_from(amg->device, from->values,
                                               backend->multigrid->values(owner->device, which),
                                               (size_t)tess_matrix_stored(from) * sizeof(double)));
            return put_plan(amg->device, pc, from, copy, plan);
        }
        TESS_TRY(status);
    }
    return put_values(amg, pc, owner, which, converted, *plan);
}

tess_status tess_amg_put_matrix(tess_plan *plan, const tess_pc *pc, tess_amg *amg,
                                tess_amg_level *level)
{
    const tess_amg_level *above = level - 1;
    if (level == amg->level && plan->matrix->type == pc->type) {
        level->plan = plan;
        return TESS_OK;
    }
    level->owns_plan = true;
    if (level > amg->level && above->device)
        TESS_TRY(put_from_device(amg, pc, above, AMG_MATRIX_A, level->A,
                                 &level->converted[AMG_MATRIX_A], &level->cycle_A, &level->plan));
    else
        TESS_TRY(put_plan(plan->device, pc, level->A, &level->cycle_A, &level->plan));
    tess_amg_count_time(amg, AMG_PLANS_OF_A);
    return TESS_OK;
}

/* The plan of P or R, which the level's device has or the host. */
static tess_status put_transfer(tess_amg *amg, const tess_pc *pc, tess_amg_level *level,
                                tess_amg_matrix which)
{
    const bool down = which == AMG_MATRIX_R;
    tess_matrix *from = down ? level->R : level->P;
    tess_matrix **copy = down ? &level->cycle_R : &level->cycle_P;
    tess_plan **plan = down ? &level->R_plan : &level->P_plan;
    TESS_TRY(level->device ? put_from_device(amg, pc, level, which, from, &level->converted[which],
                                             copy, plan)
                           : put_plan(amg->device, pc, from, copy, plan));
    tess_amg_count_time(amg, down ? AMG_PLANS_OF_R : AMG_PLANS_OF_P);
    return TESS_OK;
}

/* What the cycle needs beside A's plan. */
static tess_status put_level(const tess_pc *pc, tess_amg *amg, int i)
{
    tess_amg_level *level = &amg->level[i];
    const bool last = i + 1 == amg->levels;
    if (last && amg->bottom) {
        TESS_TRY(put_plan(amg->device, pc, amg->bottom, &amg->cycle_bottom, &amg->bottom_plan));
        tess_amg_count_time(amg, AMG_BOTTOM);
        return TESS_OK;
    }
    TESS_TRY(amg->smoother == TESS_SMOOTHER_CHEBYSHEV ? put_diagonal(pc, level)
                                                      : tess_amg_smoother_of(pc, amg, level));
    tess_amg_count_time(amg, AMG_SMOOTHERS);
    if (last)
        return TESS_OK;
    TESS_TRY(put_transfer(amg, pc, level, AMG_MATRIX_P));
    return put_transfer(amg, pc, level, AMG_MATRIX_R);
}

tess_status tess_amg_put_levels(const tess_pc *pc, tess_amg *amg)
{
    for (int i = 0; i < amg->levels; i++)
        TESS_TRY(put_level(pc, amg, i));
    return TESS_OK;
}
