/* Plans of parts as a backend, so that products, updates and solvers take them as any other plan.
 * The plan's matrix is the part's own square block: what preconditioners are made from. */
#include "dist/product.h"

static tess_part_plan *state_of(const tess_plan *plan)
{
    return plan->state;
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return tess_part_multiply(state_of(plan), 1, TESS_ORDER_COLUMN_MAJOR, alpha, x, 0, beta, y, 0);
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return tess_part_multiply_transpose(state_of(plan), alpha, x, beta, y);
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    return tess_part_multiply(state_of(plan), k, order, alpha, X, ldx, beta, Y, ldy);
}

static tess_status sum(tess_plan *plan, double *values, int count)
{
    tess_part_plan *p = state_of(plan);
    const double started = tess_seconds();
    const tess_status status = tess_part_sum(p->part, values, count);
    p->times.sums += tess_seconds() - started;
    return status;
}

static tess_status sum_start(tess_plan *plan, const double *values, int count)
{
    return tess_part_sum_start(state_of(plan)->part, values, count);
}

static tess_status sum_wait(tess_plan *plan, double *values)
{
    tess_part_plan *p = state_of(plan);
    const double started = tess_seconds();
    const tess_status status = tess_part_sum_wait(p->part, values);
    p->times.sums += tess_seconds() - started;
    return status;
}

static tess_status agree(tess_plan *plan, tess_status status)
{
    tess_part *part = state_of(plan)->part;
    return tess_comm_agree(part->ctx, &part->comm, status);
}

/* Vectors in host memory, where the device has memory of its own. */
static double host_dot(const tess_matrix *A, const void *x, const void *y)
{
    double sum = 0;
    for (int64_t i = 0; i < A->rows; i++)
        sum += tess_get(x, A->type, i) * tess_get(y, A->type, i);
    return sum;
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    tess_plan *own = state_of(plan)->own;
    double mine = 0;
    if (own->device->backend->owns)
        mine = host_dot(own->matrix, x, y);
    else
        TESS_TRY(own->device->backend->dot(own, x, y, &mine));
    TESS_TRY(sum(plan, &mine, 1));
    *dot = mine;
    return TESS_OK;
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    TESS_TRY(spmv(plan, alpha, x, beta, y));
    return dot_product(plan, w ? w : y, y, dot);
}

static tess_status refill(tess_part_plan *p, const void *values, bool outside, tess_plan *plan,
                          tess_matrix **kept)
{
    tess_matrix *fresh;
    TESS_TRY(tess_part_fill(p->part, values, outside, &fresh));
    const tess_status status = plan ? tess_plan_update_values(plan, fresh->values) : TESS_OK;
    if (status != TESS_OK) {
        tess_matrix_destroy(fresh);
        return status;
    }
    tess_matrix_destroy(*kept);
    *kept = fresh;
    return TESS_OK;
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_part_plan *p = state_of(plan);
    tess_status status = refill(p, values, false, p->own, &p->new_own);
    if (status == TESS_OK)
        status = refill(p, values, true, p->outside, &p->new_outside);
    return agree(plan, status);
}

/* The own block's, not the caller's: plan->matrix is the own block. */
static tess_status host_values(tess_plan *plan)
{
    const tess_part_plan *p = state_of(plan);
    plan->values = p->new_own ? p->new_own->values : p->part->own->values;
    return TESS_OK;
}

static void release(tess_plan *plan)
{
    tess_part_plan *p = state_of(plan);
    tess_halo_close(p->part, &p->one);
    tess_halo_close(p->part, &p->many);
    tess_plan_destroy(p->own);
    tess_plan_destroy(p->outside);
    tess_matrix_destroy(p->new_own);
    tess_matrix_destroy(p->new_outside);
    tess_free(plan->ctx, p);
}

static void explain(tess_plan *plan)
{
    const tess_part_plan *p = state_of(plan);
    const tess_part *part = p->part;
    tess_append(
        plan->explain, sizeof plan->explain,
        "part %d of %d: %lld of %lld rows; %lld rows of x come from %d other parts, %lld go "
        "out; blocks of others' columns by %s\n%s",
        part->comm.rank, part->comm.size, (long long)part->rows,
        (long long)part->row_ends[part->comm.size - 1], (long long)(part->halo * part->block),
        part->receive_count, (long long)(part->sent_count * part->block),
        p->outside ? p->outside->kernel : "none", tess_plan_explain(p->own));
}

/* Its devices are made with the plans: none is opened by name. */
const tess_backend tess_part_backend = {
    .name = "part",
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .update_values = update_values,
    .explain = explain,
    .host_values = host_values,
    .sum = sum,
    .sum_start = sum_start,
    .sum_wait = sum_wait,
    .sum_most = TESS_PART_SUMS,
    .agree = agree,
};

/* ---- Making a plan ---- */

static tess_status make_plans(tess_part_plan *p, tess_device *device,
                              const tess_plan_options *options)
{
    const tess_part *part = p->part;
    tess_plan_options own;
    TESS_TRY(TESS_TAKE_OPTIONS(part->ctx, tess_plan_options, options, &own));
    if (own.regroup == TESS_REGROUP_ON)
        return tess_fail(part->ctx, TESS_ERR_UNSUPPORTED,
                         "regroup: a part's numbering is that of its partition: use "
                         "TESS_REGROUP_OFF");
    own.regroup = TESS_REGROUP_OFF;
    TESS_TRY(tess_plan_create(part->ctx, part->own, device, &own, &p->own));
    if (part->outside->blocks == 0)
        return TESS_OK;
    /* A kernel asked for is the own block's; the few blocks outside take what suits them. */
    const tess_plan_options guess = {.size = sizeof guess, .effort = TESS_EFFORT_ESTIMATE};
    return tess_plan_create(part->ctx, part->outside, device, &guess, &p->outside);
}

static tess_status make(tess_part *part, tess_device *device, const tess_plan_options *options,
                        tess_plan *plan)
{
    tess_part_plan *p;
    TESS_TRY(TESS_CALLOC(part->ctx, 1, &p));
    p->part = part;
    p->device = *device;
    p->backend = tess_part_backend;
    p->device.backend = &p->backend;
    p->device.performance = NULL;
    if (part->same_process)
        p->backend.space = device->backend->part_space;
    /* Vectors that the device does not keep are the host's, wherever products are computed. */
    if (device->threads < 1 && !p->backend.space)
        p->device.threads = part->ctx->threads;
    *plan = (tess_plan){.ctx = part->ctx,
                        .device = &p->device,
                        .matrix = part->own,
                        .all_rows = part->row_ends[part->comm.size - 1],
                        .local = p->backend.space ? device : NULL,
                        .values = part->own->values,
                        .version = part->own->version,
                        .state = p};
    tess_word_open(&plan->turn);
    return make_plans(p, device, options);
}

tess_status tess_plan_create_part(tess_part *part, tess_device *device,
                                  const tess_plan_options *options, tess_plan **out)
{
    if (!part || !device || !out)
        return tess_null_argument(part ? part->ctx : NULL, __func__);
    tess_plan *plan = NULL;
    tess_status status = TESS_CALLOC(part->ctx, 1, &plan);
    if (status == TESS_OK)
        status = make(part, device, options, plan);
    status = tess_comm_agree(part->ctx, &part->comm, status);
    if (status == TESS_OK)
        status = tess_halo_open(part, 1, &state_of(plan)->one);
    if (status != TESS_OK) {
        if (plan && plan->state)
            tess_plan_destroy(plan);
        else
            tess_free(part->ctx, plan);
        return status;
    }
    memcpy(plan->format, state_of(plan)->own->format, sizeof plan->format);
    memcpy(plan->kernel, state_of(plan)->own->kernel, sizeof plan->kernel);
    memcpy(plan->params, state_of(plan)->own->params, sizeof plan->params);
    *out = plan;
    return TESS_OK;
}

tess_status tess_plan_get_part_times(const tess_plan *plan, size_t size, tess_part_times *out)
{
    if (!plan || !out)
        return tess_null_argument(plan ? plan->ctx : NULL, __func__);
    if (plan->device->backend->release != release)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "tess_plan_get_part_times: the plan is not that of a part");
    memcpy(out, &state_of(plan)->times, size < sizeof *out ? size : sizeof *out);
    return TESS_OK;
}
