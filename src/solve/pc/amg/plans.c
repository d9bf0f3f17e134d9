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
static tess_status put_diagonal(const tess_pc *pc, const tess_amg *amg, tess_amg_level *level)
{
    const tess_backend *backend = amg->device->backend;
    const int32_t b = level->A->block_height;
    const int64_t count = level->A->block_rows * b * b;
    const double factor = 1 / (beyond * level->largest);
    tess_diagonal *diagonal = &level->diagonal;
    diagonal->type = pc->type;
    diagonal->block = b;
    diagonal->bytes = (size_t)count * tess_type_size(pc->type);
    diagonal->resident = level->device != NULL;
    if (diagonal->resident && !diagonal->blocks)
        TESS_TRY(backend->memory_alloc(amg->device, diagonal->bytes, &diagonal->blocks));
    if (diagonal->resident)
        return backend->memory_convert(level->plan, count, factor,
                                       backend->multigrid->inverse_values(level->device), TESS_F64,
                                       false, diagonal->blocks, pc->type);
    if (!diagonal->blocks)
        TESS_TRY(tess_alloc_bytes(pc->ctx, count, tess_type_size(pc->type), &diagonal->blocks));
    tess_for(pc->ctx, count, put_blocks, &(struct put_blocks){diagonal, level->inverse, factor});
    return TESS_OK;
}

/* A device that makes levels takes its first guess, because a search prices every kernel's storage
 * of every matrix of every level. On a CPU, levels of 1 x 1 blocks take BSR: a search for shapes
 * takes as long as the rest of the set-up, and a solve of a few iterations does not pay for it. */
static const tess_plan_options *options_for(const tess_device *device, const tess_matrix *A)
{
    static const tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE};
    static const tess_plan_options first = {.effort = TESS_EFFORT_ESTIMATE, .reproducible = 1};
    static const tess_plan_options plain = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    const bool host = device->threads > 0, scalars = A->block_height == 1 && A->block_width == 1;
    return device->backend->multigrid ? &first : host && scalars ? &plain : &estimate;
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

/* Gives a plan new values that are on the device. They do not pass the host. */
static tess_status put_values(const tess_amg *amg, const tess_pc *pc, const void *values,
                              void **converted, tess_plan *plan)
{
    const tess_backend *backend = amg->device->backend;
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

/* A matrix of a level, with its plan. */
typedef struct planned {
    tess_amg_matrix which;
    tess_matrix *from, **copy;
    tess_plan **plan;
} planned;

static planned plan_of(tess_amg_level *level, tess_amg_matrix which)
{
    const planned all[AMG_MATRICES] = {
        [AMG_MATRIX_A] = {which, level->A, &level->cycle_A, &level->plan},
        [AMG_MATRIX_P] = {which, level->P, &level->cycle_P, &level->P_plan},
        [AMG_MATRIX_R] = {which, level->R, &level->cycle_R, &level->R_plan},
    };
    return all[which];
}

/* Brings the matrix's values to the host. `values`: their address on the device. */
static tess_status bring_values(const tess_amg *amg, tess_amg_level *level, const planned *m,
                                const void *values)
{
    if (m->which == AMG_MATRIX_A)
        return tess_amg_need_values(amg, level);
    return amg->device->backend->memory_copy_from(
        amg->device, m->from->values, values, (size_t)tess_matrix_stored(m->from) * sizeof(double));
}

/* Makes a plan without values for a matrix whose values are on the device. No plan is made where
 * the device cannot fill its storage. */
static tess_status need_bare(const tess_amg *amg, const tess_pc *pc, const planned *m)
{
    if (*m->plan)
        return TESS_OK;
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    const tess_status status = create_bare(amg->device, pc, m->from, m->copy, m->plan);
    if (status != TESS_ERR_UNSUPPORTED)
        return status;
    tess_error_restore(amg->ctx, &kept);
    return TESS_OK;
}

static void count_transfer(tess_amg *amg, tess_amg_matrix which)
{
    tess_amg_count_time(amg, which == AMG_MATRIX_R ? AMG_PLANS_OF_R : AMG_PLANS_OF_P);
}

tess_status tess_amg_plan_transfers(const tess_pc *pc, tess_amg *amg, tess_amg_level *level)
{
    static const tess_amg_matrix both[] = {AMG_MATRIX_P, AMG_MATRIX_R};
    for (int i = 0; i < 2; i++) {
        const planned m = plan_of(level, both[i]);
        TESS_TRY(need_bare(amg, pc, &m));
        count_transfer(amg, both[i]);
    }
    return TESS_OK;
}

/* Makes or updates the plan of a matrix whose `values` are on the device. Storage that the device
 * cannot fill is made from a copy on the host. */
static tess_status put_from_device(const tess_amg *amg, const tess_pc *pc, tess_amg_level *level,
                                   tess_amg_matrix which, const void *values)
{
    const planned m = plan_of(level, which);
    TESS_TRY(need_bare(amg, pc, &m));
    if (!*m.plan) {
        TESS_TRY(bring_values(amg, level, &m, values));
        return put_plan(amg->device, pc, m.from, m.copy, m.plan);
    }
    return put_values(amg, pc, values, &level->converted[which], *m.plan);
}

tess_status tess_amg_put_matrix(tess_plan *plan, const tess_pc *pc, tess_amg *amg,
                                tess_amg_level *level)
{
    const tess_amg_device_ops *ops = amg->device->backend->multigrid;
    const bool finest = level == amg->level;
    const void *values = NULL;
    if (finest && plan->matrix->type == pc->type) {
        level->plan = plan;
        return TESS_OK;
    }
    level->owns_plan = true;
    if (finest && level->device)
        TESS_TRY(ops->own_values(level->device, level, &values));
    else if (!finest && level[-1].device)
        values = ops->values(level[-1].device, AMG_MATRIX_A);
    else
        TESS_TRY(tess_amg_need_values(amg, level));
    TESS_TRY(values ? put_from_device(amg, pc, level, AMG_MATRIX_A, values)
                    : put_plan(amg->device, pc, level->A, &level->cycle_A, &level->plan));
    tess_amg_count_time(amg, AMG_PLANS_OF_A);
    return TESS_OK;
}

/* Makes or updates the plan of P or R, whose values the level's device has, or else the host. */
static tess_status put_transfer(tess_amg *amg, const tess_pc *pc, tess_amg_level *level,
                                tess_amg_matrix which)
{
    const planned m = plan_of(level, which);
    TESS_TRY(level->device
                 ? put_from_device(amg, pc, level, which,
                                   amg->device->backend->multigrid->values(level->device, which))
                 : put_plan(amg->device, pc, m.from, m.copy, m.plan));
    count_transfer(amg, which);
    return TESS_OK;
}

/* Makes or updates the plan of the bottom's inverse. */
static tess_status put_bottom(const tess_pc *pc, tess_amg *amg)
{
    const tess_backend *backend = amg->device->backend;
    const planned m = {.from = amg->bottom, .copy = &amg->cycle_bottom, .plan = &amg->bottom_plan};
    if (!amg->bottom_elsewhere)
        return put_plan(amg->device, pc, m.from, m.copy, m.plan);
    const void *values = backend->multigrid->bottom_values(amg->level[amg->levels - 2].device);
    TESS_TRY(need_bare(amg, pc, &m));
    if (*m.plan)
        return put_values(amg, pc, values, &amg->bottom_converted, *m.plan);
    TESS_TRY(backend->memory_copy_from(amg->device, m.from->values, values,
                                       (size_t)tess_matrix_stored(m.from) * sizeof(double)));
    return put_plan(amg->device, pc, m.from, m.copy, m.plan);
}

/* Makes or updates what the cycle needs beside A's plan. */
static tess_status put_level(const tess_pc *pc, tess_amg *amg, int i)
{
    tess_amg_level *level = &amg->level[i];
    const bool last = i + 1 == amg->levels;
    if (last && amg->bottom) {
        TESS_TRY(put_bottom(pc, amg));
        tess_amg_count_time(amg, AMG_BOTTOM);
        return TESS_OK;
    }
    TESS_TRY(amg->smoother == TESS_SMOOTHER_CHEBYSHEV ? put_diagonal(pc, amg, level)
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
